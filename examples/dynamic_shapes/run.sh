#!/bin/sh
# One archive three times: the batch size named, fixed, and a dimension required that cannot vary.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
t2o=${T2O:-$root/build/t2o}
model=$here/../digits/digits.pt2
out=$root/build/dynamic_shapes
mkdir -p "$out"
"$t2o" check "$model" | grep '^input'
"$t2o" convert "$model" -o "$out/named.onnx" --dim image:0=batch --require-dynamic image:0
"$t2o" convert "$model" -o "$out/one.onnx" --dim image:0=batch --set batch=1
if "$t2o" convert "$model" -o "$out/none.onnx" --require-dynamic image:2; then
  echo "expected an error" >&2
  exit 1
fi
"${PYTHON:-python3}" "$here/evaluate.py" "$out"
