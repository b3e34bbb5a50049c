
Boutput_0JF<084){¼‹´ğ³