
B	output_14JH,D3J1MæÈœÀ>:ÍN4Ë4ÄOGkPRBÛN¦Ã.;%N?H[ÃoLL9HÆKÏ;JR ¸~OÞGÏ<(ÊÍ±8Ê³S