"""Runs convert.py on two workers and checks what it reports: check.py T2O FOLDER"""
import json
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
CASES = HERE.parents[1] / "tests" / "data" / "cases"
NAMES = ("dynamic_mlp", "conv2d", "lstm", "softmax", "adaptive_pool", "arithmetic")

# Stands in the place of t2o: it crashes at the first attempt at one model, and says where that was.
CRASHES_ONCE = """#!/bin/sh
case "$*" in *conv2d*) if mkdir "{0}/crashed" 2>/dev/null; then kill -SEGV $$; fi ;; esac
exec "{1}" "$@"
"""


def convert(models, out, t2o):
    done = subprocess.run([sys.executable, HERE / "convert.py", models, "-d", out, "--workers", "2", "--t2o", t2o, "--",
                           "--opset", "18", "--no-user-rules"], capture_output=True, text=True)
    return done, [json.loads(line) for line in (out / "report.jsonl").read_text().splitlines()]


def main(t2o, folder):
    shutil.rmtree(folder, ignore_errors=True)
    models, out = folder / "models", folder / "out"
    (models / "more").mkdir(parents=True)
    for i, name in enumerate(NAMES):
        shutil.copy(CASES / name / "model.pt2", (models / "more" if i % 2 else models) / f"{name}.pt2")
    (models / "broken.pt2").write_bytes(b"PK\x03\x04")
    unsteady = folder / "t2o"
    unsteady.write_text(CRASHES_ONCE.format(folder, t2o))
    unsteady.chmod(0o755)

    done, reports = convert(models, out, unsteady)
    print(done.stderr, end="")
    inputs = [r["input"] for r in reports]
    assert done.returncode == 7 and inputs == sorted(inputs) and len(inputs) == len(NAMES) + 1
    assert (folder / "crashed").exists()
    for r in reports:
        assert r["ok"] is not r["input"].endswith("broken.pt2"), r
        assert not r["ok"] or (pathlib.Path(r["output"]).exists() and r["opset"] == 18)
    workers = {r["process"] for r in reports}
    assert len(workers) == 2, workers

    subprocess.run([t2o, "convert", models, "-d", folder / "here", "-q", "--opset", "18", "--no-user-rules"],
                   stderr=subprocess.DEVNULL)
    made = {p.relative_to(folder / "here"): p.read_bytes() for p in (folder / "here").rglob("*.onnx")}
    assert made == {p.relative_to(out): p.read_bytes() for p in out.rglob("*.onnx")} and len(made) == len(NAMES)

    done, reports = convert(models, out, t2o)
    assert all(r.get("skipped") for r in reports if r["ok"]), reports
    print(f"two workers, a crash that was tried again, the bytes of one machine; {len(NAMES)} up to date the second time")


if __name__ == "__main__":
    main(str(pathlib.Path(sys.argv[1]).resolve()), pathlib.Path(sys.argv[2]).resolve())
