#!/bin/sh
# Branches and loops become If, Scan and Loop, and take as many rounds as they do in PyTorch.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
t2o=${T2O:-$root/build/t2o}
out=$root/build/decoder.onnx
rm -f "$out"
"$t2o" convert "$here/decoder.pt2" -o "$out"
"${PYTHON:-python3}" "$here/evaluate.py" "$out"
