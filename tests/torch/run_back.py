"""There and back with PyTorch at hand: every case to ONNX by t2o, that to Python source and to an archive, both run.

    python run_back.py DIR... [--only PATTERN]

DIR is what make_models.py or make_trained.py wrote. Of each case the module and the archive have to give PyTorch's
outputs, parameters have to have the names, shapes and gradients of the original; a few steps of training lower the loss,
and the trained module can be exported and converted again. Exit status 1 if anything fails. Needs PyTorch, onnx and
ONNX Runtime.
"""
import argparse
import fnmatch
import os
import pathlib
import subprocess
import sys
import tempfile

os.environ.setdefault("OMP_NUM_THREADS", "1")
import onnx  # noqa: E402
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


def loss_of(call, folder):
    """The distance of its outputs from zero; None where no weight matters to them."""
    floats = [x for x in outputs(call, folder) if x.is_floating_point() and x.requires_grad]
    return sum(x.float().square().mean() for x in floats) if floats else None


def gradients(model, call, folder):
    """{name of a parameter: gradient of the loss} without those that have none; tied ones under all their names."""
    model.zero_grad()
    loss = loss_of(call, folder)
    if loss is not None:
        loss.backward()
    return {n: p.grad for n, p in model.named_parameters(remove_duplicate=False) if p.grad is not None}


def check_gradients(model, pt2, folder):
    """They are those of the module that was exported, to 1e-4 of the largest."""
    program = torch.export.load(pt2)
    original = program.module().requires_grad_(True)  # some are saved frozen
    def call(*inputs):
        args, kwargs = torch.utils._pytree.tree_unflatten(inputs, program.call_spec.in_spec)
        return original(*args, **kwargs)
    want, got = gradients(original, call, folder), gradients(model, model, folder)
    scale = max((float(g.abs().max()) for g in want.values()), default=1.0)
    for name, g in got.items():
        if name not in want:  # it has another kind in the original
            if not g.isfinite().all():
                raise py.Failed("gradient", f"{name}: not finite")
        elif float((g - want[name]).abs().max()) > 1e-4 * scale:
            raise py.Failed("gradient", f"{name}: {float((g - want[name]).abs().max()) / scale:.1e} of the largest off")
    if got and not want:
        raise py.Failed("gradient", "none in the original")
    if want.keys() - got.keys():
        raise py.Failed("gradient", f"none for {min(want.keys() - got.keys())}")
    return len(got)


def check_training(model, folder, work):
    """A few steps down the gradient, in training mode, lower the loss; the trained module is exported, and converted."""
    first = float(loss_of(model, folder))
    for _ in range(4):
        model.train()
        grads = gradients(model, model, folder)
        norm = sum(float(g.float().square().sum()) for g in grads.values()) ** 0.5
        weight = sum(float(p.float().square().sum()) for p in model.parameters()) ** 0.5
        with torch.no_grad():
            for p in {id(p): p for p in model.parameters() if p.grad is not None}.values():
                p -= 1e-4 * weight / max(norm, 1e-12) * p.grad
        model.eval()
    last = float(loss_of(model, folder))
    if not last < first:
        raise py.Failed("training", f"the loss went from {first:g} to {last:g}")
    inputs = tuple(py.to_torch(p) for p in case.read_data(folder, "input"))
    torch.export.save(torch.export.export(model, inputs), work / "again.pt2")
    convert(work / "again.pt2", work / "again.onnx")
    with torch.no_grad():
        want = [onnx.numpy_helper.from_array(py.to_numpy(x)) for x in outputs(model, folder)]
    problem = case.compare(want, case.run_ort(work / "again.onnx", case.read_data(folder, "input")), least_atol=1e-5)
    if problem:
        raise py.Failed("mismatch", f"trained: {problem}")


def check(folder, work):
    pt2, middle = folder / "model.pt2", work / "model.onnx"
    convert(pt2, middle, "--state", "const")
    convert(middle, work / "back.py")
    convert(middle, work / "back.pt2")
    model = py.import_file(work / "back.py").load()
    archive = torch.export.load(work / "back.pt2").module()
    with torch.no_grad():
        compare(".py", outputs(model, folder), folder)
        compare(".pt2", outputs(archive, folder), folder)
    check_names(model, pt2)
    if check_gradients(model, pt2, folder):
        check_training(model, folder, work)


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
