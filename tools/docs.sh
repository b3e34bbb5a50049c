#!/bin/sh
# docs.sh FOLDER: writes the pages of docs/ that are made from the program and from lua/meta, and copies the others.
set -e
cd "$(dirname "$0")/.."
t2o=${T2O:-build/t2o}
python=${PYTHON:-python3}
out=${1:?usage: docs.sh FOLDER}
mkdir -p "$out"
case $(cd "$out" && pwd) in
"$(pwd)/docs") ;;
*) cp docs/writing-rules.md "$out/" ;;
esac

{
  echo '# Operators with a rule'
  echo
  echo "Made by \`make docs\` from \`t2o rules list\`: $("$t2o" rules list --no-user-rules | wc -l | tr -d ' ') operators."
  echo 'A rule may decline some calls of its operator; `t2o check MODEL.pt2` says what becomes of a given model.'
  echo
  "$t2o" rules list --markdown --no-user-rules
} >"$out/coverage.md"

{
  echo '# Error codes'
  echo
  echo 'Made by `make docs` from `t2o explain`. The two digits after the E are the exit code of the run.'
  "$t2o" explain | while read -r code title; do
    printf '\n## %s: %s\n\n' "$code" "$title"
    "$t2o" explain "$code" | tail -n +3 | sed -e :a -e '/^\n*$/{$d;N;ba' -e '}'
  done
} >"$out/errors.md"

"$python" tools/api.py >"$out/api.md"
