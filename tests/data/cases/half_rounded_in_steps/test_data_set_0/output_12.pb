
B	output_12JHbFÍF7ARÃƒ½éF°Dl¾•AUBÄAÄ	ÍÈØDE!½ûµ¬D™½±¿àB®99É5¼AÃCG«2´ÖMá»Õ6ŒBABYAWF