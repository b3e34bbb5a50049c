#!/bin/sh
# Without the rule the model is refused, with it the numbers are PyTorch's.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
t2o=${T2O:-$root/build/t2o}
out=$root/build/head.onnx
rm -f "$out"
if "$t2o" convert "$here/head.pt2" -o "$out"; then
  echo "expected an error" >&2
  exit 1
fi
[ ! -e "$out" ]
"$t2o" convert "$here/head.pt2" --unknown keep -o "$out" --dump-after check | grep mylib::swish_bias
"$t2o" convert "$here/head.pt2" -r "$here/custom.lua" -o "$out"
"${PYTHON:-python3}" "$here/evaluate.py" "$out"
