#!/bin/sh
# What a compiler does not say. `make lint` runs it; under CI (and as root) what is missing is installed first.
# Each check prints PASS, FAIL with what it found, or SKIP with the Debian package that it needs.
cd "$(dirname "$0")/.." || exit 1
passed=0 failed=0
python=${PYTHON:-python3}
jobs=$(nproc 2>/dev/null || echo 1)
found=$(mktemp)
trap 'rm -f "$found"' EXIT

install_tools() { # nothing where they are there
  command -v luacheck >/dev/null && command -v clang-tidy >/dev/null && return
  command -v apt-get >/dev/null && [ "$(id -u)" = 0 ] || return
  apt-get update -q >/dev/null && DEBIAN_FRONTEND=noninteractive apt-get install -q -y lua-check clang-tidy >/dev/null
}
[ -n "$CI" ] && install_tools

check() { # check NAME COMMAND...: the command's output counts when it fails
  name=$1
  shift
  if "$@" >"$found" 2>&1; then
    passed=$((passed + 1))
    echo "PASS $name$(grep -v '^$' "$found" | tail -1 | sed 's/^/: /' | cut -c 1-100)"
  else
    failed=$((failed + 1))
    echo "FAIL $name"
    head -60 "$found" | sed 's/^/  /'
  fi
}

lua_checked() { luacheck --no-color -q lua rules tests/rules examples; }

tidy() { # a file a process: clang-tidy 14 carries its notes on va_list from one file into the next
  ls src/*/*.c | xargs -P "$jobs" -n 1 sh -c \
    'clang-tidy --quiet "$@" -- -std=c11 -D_GNU_SOURCE -Isrc -Ibuild/gen '"$(pkg-config --cflags lua5.4 libprotobuf-c \
    libcjson minizip)"' 2>/dev/null' tidy
}

werror() { make -s -j"$jobs" BUILD=build/werror WERROR=1 CC=gcc all; }

if command -v luacheck >/dev/null; then check luacheck lua_checked; else echo 'SKIP luacheck (Debian package lua-check)'; fi
check 'layers and libraries' "$python" tools/check_source.py layers
check 'names of operators' "$python" tools/check_source.py names
check 'tabs, blanks, width' "$python" tools/check_source.py text
check 'stubs of the Lua API' "$python" tools/check_source.py stubs
if command -v gcc >/dev/null; then check 'gcc -Werror' werror; else echo 'SKIP -Werror (Debian package gcc)'; fi
if command -v clang-tidy >/dev/null; then check clang-tidy tidy; else echo 'SKIP clang-tidy (Debian package clang-tidy)'; fi
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
