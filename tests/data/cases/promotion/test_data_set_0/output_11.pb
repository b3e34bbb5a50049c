
B	output_11J¡QF≈H2…OH‘≈