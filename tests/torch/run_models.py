"""Convert every case with t2o at several opsets, run the models, print a table.

    python run_models.py DIR... [--opsets "20 13 18 21"] [--only PATTERN] [--converter COMMAND]

DIR is what make_models.py or make_trained.py wrote. Exit status 1 if anything fails. Needs
onnx and onnxruntime, not PyTorch; the statuses are those of run_cases.py.
"""
import argparse
import fnmatch
import pathlib
import sys
import tempfile

import run_cases


def measure_all(folder, converter, opsets):
    """One case's result at each opset."""
    for opset in opsets:
        with tempfile.TemporaryDirectory() as scratch:
            path = pathlib.Path(scratch) / "model.onnx"
            yield opset, run_cases.measure(folder, converter, opset, path)


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("cases", nargs="+", type=pathlib.Path)
    p.add_argument("--opsets", default="20 13 18 21")
    p.add_argument("--only", default="*")
    p.add_argument("--converter", default=run_cases.COMMAND)
    a = p.parse_args()
    opsets = [int(x) for x in a.opsets.replace(",", " ").split()]
    folders = [root / n for root in a.cases for n in run_cases.find_cases(root)
               if fnmatch.fnmatch(n, a.only)]
    print(f"{'model':28}" + "".join(f"{f'opset {o}':>20}" for o in opsets), flush=True)
    passed, failures = 0, []
    for folder in folders:
        print(f"{folder.name:28}", end="", flush=True)
        for opset, row in measure_all(folder, a.converter, opsets):
            print(f"{row['status']:>13}{row['convert_s']:5.2f} s", end="", flush=True)
            passed += row["status"] == "ok"
            if row["status"] != "ok":
                failures.append(f"{folder.name} at {opset}: {row['status']}: {row['message']}")
        print(flush=True)
    print(*failures, sep="\n")
    print(f"{passed} passed, {len(failures)} failed")
    sys.exit(bool(failures) or not passed)


if __name__ == "__main__":
    main()
