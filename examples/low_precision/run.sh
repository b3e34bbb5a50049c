#!/bin/sh
# The digit classifier in float16: half the bytes, the same score.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
t2o=${T2O:-$root/build/t2o}
python=${PYTHON:-python3}
out=$root/build/low_precision
mkdir -p "$out"
"$t2o" convert "$here/../digits/digits.pt2" -o "$out/float32.onnx" --strip meta
"$t2o" convert "$here/../digits/digits.pt2" -o "$out/float16.onnx" --strip meta --float16
"$t2o" convert "$here/../digits/digits.pt2" -o "$out/kept.onnx" --strip meta --float16 --keep Gemm
"$python" "$here/../digits/evaluate.py" "$out/float16.onnx"
"$python" "$here/look.py" "$out"
