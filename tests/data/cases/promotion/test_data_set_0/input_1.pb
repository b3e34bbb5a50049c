
Binput_1Jò=D='>½<C®<