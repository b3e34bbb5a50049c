"""Speed and memory of whole processes, as ratios in one run: python bench.py [--runs N]

    resnet18     t2o convert of a 47 MB archive against cp of the same file; peak memory beyond the mapped file
    20 nodes     a small program: what starting up costs
    growth       time a node costs for 1,000 and for 10,000 nodes
"""
import argparse
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

import archive

ROOT = pathlib.Path(__file__).resolve().parents[2]
T2O = os.environ.get("T2O", str(ROOT / "build" / "t2o"))


def run(command):
    """(seconds, peak memory in bytes) of one process."""
    start = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    said = child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    seconds = time.perf_counter() - start
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        sys.exit(f"{' '.join(map(str, command))}: {said.decode()}")
    return seconds, usage.ru_maxrss * 1024


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
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
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
