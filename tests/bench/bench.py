"""Speed and memory of whole processes, as ratios in one run: python bench.py [--runs N]

    resnet18     t2o convert of a 47 MB archive against cp of the same file; peak memory beyond the mapped file
    20 nodes     a small program: what starting up costs
    growth       time a node costs for 1,000 and for 10,000 nodes
"""
import argparse
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

import archive

ROOT = pathlib.Path(__file__).resolve().parents[2]
T2O = os.environ.get("T2O", str(ROOT / "build" / "t2o"))


# The peak memory of a process counts that of the one it was forked from: a small interpreter starts what is measured.
MEASURE = """
import os, sys, time
start = time.perf_counter()
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
_, status, usage = os.wait4(pid, 0)
print(time.perf_counter() - start, usage.ru_maxrss * 1024, os.waitstatus_to_exitcode(status))
"""


def run(command):
    """(seconds, peak memory in bytes) of one process."""
    command = [shutil.which(str(command[0])), *map(str, command[1:])]
    done = subprocess.run([sys.executable, "-S", "-E", "-c", MEASURE, *command], capture_output=True, text=True)
    seconds, peak, code = done.stdout.split()
    if code != "0":
        sys.exit(f"{' '.join(command)}: {done.stderr}")
    return float(seconds), int(peak)


def alternate(runs, *commands):
    """Median seconds and peak memory of each command, the commands taking turns."""
    rows = [[run(c) for c in commands] for _ in range(runs + 1)][1:]
    return [(statistics.median(r[i][0] for r in rows), max(r[i][1] for r in rows)) for i in range(len(commands))]


def convert(model, out):
    return [T2O, "--no-user-rules", "convert", model, "-o", out]


def verdict(name, value, unit, bar):
    print(f"{name:44} {value:8.2f} {unit:6} (bar {bar}) {'ok' if value <= bar else 'OVER'}")
    return value <= bar


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--runs", type=int, default=15)
    a = p.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        d = pathlib.Path(folder)
        archive.resnet18(d / "resnet18.pt2")
        size = (d / "resnet18.pt2").stat().st_size
        (ours, peak), (copy, _) = alternate(a.runs, convert(d / "resnet18.pt2", d / "r.onnx"),
                                            ["cp", "--reflink=never", d / "resnet18.pt2", d / "copy.pt2"])
        print(f"resnet18, {size / 1e6:.1f} MB: t2o {ours * 1e3:.1f} ms, cp {copy * 1e3:.1f} ms")
        good = [verdict("resnet18: time against cp", ours / copy, "x", 3),
                verdict("resnet18: peak memory beyond the file", (peak - size) / 1e6, "MB", 40)]
        archive.chain(d / "small.pt2", 20)
        archive.chain(d / "k1.pt2", 1000)
        archive.chain(d / "k10.pt2", 10000)
        (small, _), (k1, _), (k10, _) = alternate(a.runs, convert(d / "small.pt2", d / "s.onnx"),
                                                  convert(d / "k1.pt2", d / "1.onnx"),
                                                  convert(d / "k10.pt2", d / "10.onnx"))
        good += [verdict("20 nodes: whole process", small * 1e3, "ms", 15),
                 verdict("10 times the nodes: time", (k10 - small) / (k1 - small), "x", 12)]
    sys.exit(0 if all(good) else 1)


if __name__ == "__main__":
    main()
