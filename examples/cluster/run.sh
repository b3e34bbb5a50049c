#!/bin/sh
# Converts some models on a Dask cluster of two workers of this machine; Dask goes into an environment of its own.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
venv=$root/build/venv-cluster
if [ ! -e "$venv/ready" ]; then
  python3 -m venv "$venv"
  if ! "$venv/bin/pip" install -q --disable-pip-version-check -r "$here/requirements.txt" 2>"$venv/pip.log"; then
    echo "SKIP cluster: dask.distributed cannot be installed here ($(tail -1 "$venv/pip.log"))"
    exit 0
  fi
  touch "$venv/ready"
fi
"$venv/bin/python" "$here/check.py" "${T2O:-$root/build/t2o}" "$root/build/cluster"
