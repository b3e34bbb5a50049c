
Binput_3JHÇÇÀ
A=5ÁX¹Áå½ÍÄÞ@æµ“Â[FÃÅwB	@À=A`C¬8ù;fEö?YDlAØ¹¢G{ºDGDÅvÅ«Ä»¥´ºA