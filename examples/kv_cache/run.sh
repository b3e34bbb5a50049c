#!/bin/sh
# Convert a decoder whose key-value cache is in buffers, and let it continue a text in ONNX Runtime.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
out=$root/build/decoder.onnx
mkdir -p "$root/build"
"${T2O:-$root/build/t2o}" convert "$here/decoder.pt2" -o "$out"
"${PYTHON:-python3}" "$here/generate.py" "$out"
