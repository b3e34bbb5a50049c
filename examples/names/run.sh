#!/bin/sh
# Other names for inputs, outputs and weights; a module as a function.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
out=$root/build/names.onnx
"${T2O:-$root/build/t2o}" convert "$here/../digits/digits.pt2" -o "$out" --input-names pixels --output-names scores \
  --rename '*.weight=backbone.*.weight' --functions Conv2d
"${PYTHON:-python3}" "$here/look.py" "$out"
"${PYTHON:-python3}" "$here/../digits/evaluate.py" "$out"
