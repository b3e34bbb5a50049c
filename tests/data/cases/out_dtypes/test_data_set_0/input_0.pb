Binput_0JıÊ9
ypŠ:
]Ú