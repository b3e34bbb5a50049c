Boutput_0Jğ	M<
iW>