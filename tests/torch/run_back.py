"""There and back with PyTorch at hand: every case to ONNX by t2o, that to Python source and to an archive, both run.

    python run_back.py DIR... [--only PATTERN]

DIR is what make_models.py or make_trained.py wrote. Of each case the module and the archive have to give PyTorch's
outputs, parameters have to have the names and shapes of the original, and a backward pass finite gradients. Exit
status 1 if anything fails. Needs PyTorch and onnx.
"""
import argparse
import fnmatch
import os
import pathlib
import subprocess
import sys
import tempfile

os.environ.setdefault("OMP_NUM_THREADS", "1")
import torch  # noqa: E402

import run_cases  # noqa: E402
import run_python as py  # noqa: E402

case = run_cases.case


def convert(source, target, *options):
    done = subprocess.run([run_cases.T2O, "convert", source, "-o", target, "-q", *options], capture_output=True, text=True,
                          errors="replace", timeout=py.LIMIT_SECONDS)
    if done.returncode:
        raise py.Failed("unsupported" if done.returncode == 3 else "convert_error",
                        f"{target.suffix}: {run_cases.one_line(done.stderr)}")


def outputs(model, folder):
    inputs = [py.to_torch(p) for p in case.read_data(folder, "input")]
    return py.flatten(model(*inputs))


def compare(what, got, folder):
    problem = case.compare(case.read_data(folder, "output"), [py.to_numpy(x) for x in got], least_atol=1e-6)
    if problem:
        raise py.Failed("mismatch", f"{what}: {problem}")


def check_names(model, pt2):
    """Every float weight that the graph reads is there under its name; so are no others."""
    want = py.archived_state(pt2)
    got = {n: list(t.shape) for n, t in model.state_dict().items()}
    odd = sorted(n for n in got if got[n] != want.get(n))
    missing = sorted({n for n, _ in model.named_parameters(remove_duplicate=False)} ^ {n for n in want if n in got} - {
        n for n, _ in model.named_buffers()})
    if odd or missing:
        raise py.Failed("state", f"the first weight that differs is {(odd or missing)[0]}")


def check_gradients(model, folder):
    model.zero_grad()
    floats = [x for x in outputs(model, folder) if x.is_floating_point() and x.requires_grad]
    if not floats:
        return
    sum(x.float().square().mean() for x in floats).backward()
    if not all(p.grad.isfinite().all() for p in model.parameters() if p.grad is not None):
        raise py.Failed("gradient", "a gradient is not finite")


def check(folder, work):
    pt2, onnx = folder / "model.pt2", work / "model.onnx"
    convert(pt2, onnx, "--state", "const")
    convert(onnx, work / "back.py")
    convert(onnx, work / "back.pt2")
    model = py.import_file(work / "back.py").load()
    archive = torch.export.load(work / "back.pt2").module()
    with torch.no_grad():
        compare(".py", outputs(model, folder), folder)
        compare(".pt2", outputs(archive, folder), folder)
    check_names(model, pt2)
    check_gradients(model, folder)


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("dirs", nargs="+", type=pathlib.Path)
    p.add_argument("--only", default="*")
    a = p.parse_args()
    folders = [f.parent for d in a.dirs for f in sorted(d.glob("*/case.json")) if fnmatch.fnmatch(f.parent.name, a.only)]
    failed = 0
    for folder in folders:
        with tempfile.TemporaryDirectory() as work:
            try:
                check(folder, pathlib.Path(work))
                status = "ok"
            except py.Failed as e:
                status = " ".join(map(str, e.args))
            except Exception as e:  # whatever the generated code raises is its fault
                status = f"{type(e).__name__}: {run_cases.one_line(str(e))}"
        failed += status != "ok"
        if status != "ok":
            print(f"{folder.name:40} {status}", flush=True)
    print(f"there and back: {len(folders) - failed} of {len(folders)} ok")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
