#!/bin/sh
# As many QuantizeLinear and DequantizeLinear as PyTorch had calls, weights in 8 and 4 bits, the numbers PyTorch's.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
t2o=${T2O:-$root/build/t2o}
for model in "int8 13" "int4 21"; do
  name=${model% *}
  "$t2o" convert "$here/$name.pt2" -o "$root/build/$name.onnx" --opset "${model#* }" --json >"$root/build/$name.json"
  "${PYTHON:-python3}" "$here/evaluate.py" "$root/build/$name.json"
done
