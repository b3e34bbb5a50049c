#!/bin/sh
# deps.sh build|python: sees to it that what is needed to build (or to test) is installed. Debian packages are
# installed by root or with sudo; elsewhere the one command to run is printed.
set -e
missing=
need() { # need PACKAGE COMMAND...: the package, when the command fails
  package=$1
  shift
  "$@" >/dev/null 2>&1 || missing="$missing $package"
}
case $1 in
build)
  need gcc sh -c 'command -v cc'
  need pkg-config command -v pkg-config
  need liblua5.4-dev pkg-config --exists lua5.4
  need libprotobuf-c-dev pkg-config --exists libprotobuf-c
  need protobuf-c-compiler command -v protoc-c
  need libcjson-dev pkg-config --exists libcjson
  need libminizip-dev pkg-config --exists minizip
  need libcmocka-dev pkg-config --exists cmocka
  ;;
python)
  need python3 command -v python3
  need python3-venv python3 -c 'import venv, ensurepip'
  ;;
esac
[ -z "$missing" ] && exit 0
if command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" = 0 ]; then
  as=
elif command -v apt-get >/dev/null 2>&1 && command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
  as=sudo
else
  echo "missing:$missing" >&2
  echo "run: sudo apt-get install$missing" >&2
  exit 1
fi
echo "installing$missing"
$as apt-get update -q >/dev/null
DEBIAN_FRONTEND=noninteractive $as apt-get install -q -y $missing >/dev/null
