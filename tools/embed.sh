#!/bin/sh
# Prints an assembler-backed C file that holds the given files: embed.sh FILE ... > embed.c
set -e
echo '#include "script/embedded.h"'
i=0
for f in "$@"; do
  printf '__asm__(".section .rodata\\n.balign 8\\nt2o_file_%d:\\n.incbin \\"%s\\"\\nt2o_file_%d_end:\\n.byte 0\\n.previous\\n");\n' $i "$f" $i
  printf 'extern const char t2o_file_%d[], t2o_file_%d_end[];\n' $i $i
  i=$((i + 1))
done
echo 'const t2o_embedded_file t2o_embedded[] = {'
i=0
for f in "$@"; do
  printf '    { "%s", t2o_file_%d, t2o_file_%d_end },\n' "$f" $i $i
  i=$((i + 1))
done
echo '    { 0, 0, 0 },'
echo '};'
