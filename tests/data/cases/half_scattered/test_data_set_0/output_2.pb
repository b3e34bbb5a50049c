
Boutput_2JW6Ú;Z¾Â1~@P¿d<ÃVAºEl?