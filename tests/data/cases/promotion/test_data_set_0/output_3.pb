
Boutput_3JùA¢AB0/EWA