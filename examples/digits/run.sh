#!/bin/sh
# Convert the trained digit classifier and score it: run.sh [digits.onnx]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
out=${1:-$root/build/digits.onnx}
mkdir -p "$(dirname "$out")"
"${T2O:-$root/build/t2o}" convert "$here/digits.pt2" -o "$out"
"${PYTHON:-python3}" "$here/evaluate.py" "$out"
