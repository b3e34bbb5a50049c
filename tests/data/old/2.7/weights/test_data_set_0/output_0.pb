Boutput_0J`lwBè¢/Ã&aÃ$Ãà‹B
#þB±y„B Ð-ÃòHbÃøvÃt|ŒB¦jCØ'—Bïþ,Ã€aÃ	”ÃÐÑnBDèôB$@‡BnF3Ãú…eÃšOÃsAˆBƒüB