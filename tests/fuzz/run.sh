#!/bin/sh
# Looks for faults in how damaged archives are read and converted: first the mutations of mutate.py, which every run
# repeats, then afl++ for FUZZ_SECONDS (60) where it is installed, guided by what it reaches.
cd "$(dirname "$0")/../.." || exit 1
python=${PYTHON:-python3}
seconds=${FUZZ_SECONDS:-60}
T2O=${T2O:-build/asan/t2o}
export T2O

[ -x "$T2O" ] || { echo "no program at $T2O (make asan builds it)" >&2; exit 1; }
mkdir -p build/fuzz
"$python" tests/fuzz/mutate.py --keep build/fuzz/faults || exit 1
rmdir build/fuzz/faults 2>/dev/null

cc=$(command -v afl-clang-fast || command -v afl-gcc-fast)
if [ -z "$cc" ] || ! command -v afl-fuzz >/dev/null; then
  echo 'SKIP afl-fuzz (Debian package afl++)'
  exit 0
fi
echo "afl-fuzz for $seconds s"
AFL_QUIET=1 AFL_USE_ASAN=1 make -s BUILD=build/afl CC="$cc" build/afl/t2o >build/fuzz/build.log 2>&1 ||
  { tail -20 build/fuzz/build.log; exit 1; }
rm -rf build/fuzz/seeds build/fuzz/out
mkdir -p build/fuzz/seeds
n=0
for f in tests/data/pt2/*.pt2 tests/data/cases/*/model.pt2; do # the small ones: a round costs less
  [ "$(wc -c <"$f")" -le 12000 ] || continue
  n=$((n + 1))
  cp "$f" "build/fuzz/seeds/$n.pt2"
  [ "$n" -lt 24 ] || break
done
export AFL_NO_UI=1 AFL_SKIP_CPUFREQ=1 AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES=1 AFL_NO_AFFINITY=1 AFL_FORKSRV_INIT_TMOUT=20000
export AFL_PYTHON_MODULE=mutate PYTHONPATH=tests/fuzz
export ASAN_OPTIONS=abort_on_error=1:symbolize=0:detect_leaks=0:allocator_may_return_null=0
afl-fuzz -i build/fuzz/seeds -o build/fuzz/out -V "$seconds" -m none -t 5000 -- \
  build/afl/t2o convert --no-user-rules --stop-after check @@ >build/fuzz/afl.log 2>&1
crashes=$(find build/fuzz/out -path '*crashes*' -name 'id:*' 2>/dev/null | wc -l)
hangs=$(find build/fuzz/out -path '*hangs*' -name 'id:*' 2>/dev/null | wc -l)
runs=$(sed -n 's/^execs_done *: //p' build/fuzz/out/default/fuzzer_stats 2>/dev/null)
[ -n "$runs" ] || { tail -20 build/fuzz/afl.log; exit 1; }
echo "$runs runs: $crashes crashes, $hangs hangs (build/fuzz/out)"
[ "$crashes$hangs" = 00 ]
