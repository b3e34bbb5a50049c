#!/bin/sh
# Prints an assembler-backed C file that holds the given files, and their bytecode in FOLDER where that has some:
# embed.sh FOLDER FILE ... > embed.c
set -e
folder=$1
shift
echo '#include "script/embedded.h"'
hold() { # hold SYMBOL FILE
  printf '__asm__(".section .rodata\\n.balign 8\\n%s:\\n.incbin \\"%s\\"\\n%s_end:\\n.byte 0\\n.previous\\n");\n' "$1" "$2" "$1"
  printf 'extern const char %s[], %s_end[];\n' "$1" "$1"
}
i=0
for f in "$@"; do
  hold t2o_file_$i "$f"
  [ ! -f "$folder/$f" ] || hold t2o_code_$i "$folder/$f"
  i=$((i + 1))
done
echo 'const t2o_embedded_file t2o_embedded[] = {'
i=0
for f in "$@"; do
  code="0, 0"
  [ ! -f "$folder/$f" ] || code="t2o_code_$i, t2o_code_${i}_end"
  printf '    { "%s", t2o_file_%d, t2o_file_%d_end, %s },\n' "$f" $i $i "$code"
  i=$((i + 1))
done
echo '    { 0, 0, 0, 0, 0 },'
echo '};'
