
Boutput_0J(A„xB&Œ_BMBÅP_BÌ°GB-¾'BÄ¨Bì™BÊÔPB_B