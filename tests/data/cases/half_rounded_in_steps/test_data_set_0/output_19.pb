
B	output_19J€H€H€H€Hf2Í4