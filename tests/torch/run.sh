#!/bin/sh
# Makes the model cases with PyTorch (installed into build/) and converts them at four opsets; then decoders with a
# key-value cache, token by token; and alters some, to see that verify notices. One line at the end of each.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
venv=$root/build/venv-torch
cases=$root/build/models
if [ ! -e "$venv/ready" ]; then
  python3 -m venv "$venv"
  pip="$venv/bin/pip install -q --disable-pip-version-check"
  $pip torch==2.13.0
  # torchvision asks for a PyTorch of its own build; its Python models run beside another one (tvshim.py)
  $pip --no-deps torchvision
  $pip transformers onnx onnxruntime ml_dtypes pillow
  touch "$venv/ready"
fi
python=$venv/bin/python
if [ ! -e "$cases/ready" ]; then
  "$python" "$here/make_models.py" --out "$cases/seeded"
  "$python" "$here/make_trained.py" --out "$cases/trained"
  touch "$cases/ready"
fi
"$python" "$here/check_schemas.py"
export T2O="${T2O:-$root/build/t2o}"
"$python" "$here/run_models.py" "$cases/seeded" "$cases/trained"
"$python" "$here/run_verify.py" "$cases/seeded" "$cases/trained" --only 'tv_resnet18,hf_bert,hf_clip,mtcnn_onet'
"$python" "$here/run_decoders.py"
"$python" -W ignore "$here/run_back.py" "$cases/seeded" "$cases/trained"
