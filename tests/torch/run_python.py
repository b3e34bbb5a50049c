"""Convert every case to Python source with t2o, run the module, compare, look at its state and train a step.

    python run_python.py DIR... [--only PATTERN] [--keep DIR] [--import FILE.py]
        [--converter "build/t2o convert {pt2} -o {py}"] [--ruff ruff]

DIR is what make_models.py, make_trained.py or make_op_cases.py wrote. For each case: model.py is imported and loaded;
its outputs have to be PyTorch's; its state_dict has to have the archive's names and shapes; ruff's default rules, the
length of lines and Python 3.10's grammar have to hold; where outputs depend on parameters, a backward pass has to give
them finite gradients. Exit status 1 if anything fails. Needs PyTorch, onnx and ruff.
"""
import argparse
import ast
import contextlib
import fnmatch
import importlib.util
import io
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile

os.environ.setdefault("OMP_NUM_THREADS", "1")
import torch  # noqa: E402

import run_cases  # noqa: E402

with contextlib.suppress(ImportError):
    import tvshim  # noqa: F401

case = run_cases.case
COMMAND = shlex.quote(run_cases.T2O) + " convert {pt2} -o {py}"
MAX_COLUMNS = 100
LIMIT_SECONDS = 120


class Failed(Exception):
    """Carries a status and a message."""


def convert(converter, pt2, py):
    command = [part.format(pt2=pt2, py=py) for part in shlex.split(converter)]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=LIMIT_SECONDS)
    if done.returncode:
        raise Failed("unsupported" if done.returncode == 3 else "convert_error", run_cases.one_line(done.stderr))


def import_file(path, name="converted"):
    spec = importlib.util.spec_from_file_location(name, path)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def archived_state(pt2):
    """Names and shapes of the archive's state_dict."""
    with zipfile.ZipFile(pt2) as z:
        config = next(n for n in z.namelist() if n.endswith("_weights_config.json"))
        entries = json.loads(z.read(config))["config"]
    return {name: [d["as_int"] for d in entry["tensor_meta"]["sizes"]] for name, entry in entries.items()}


def check_state(model, pt2):
    want, got = archived_state(pt2), {n: list(t.shape) for n, t in model.state_dict().items()}
    odd = sorted(set(want) ^ set(got)) or sorted(n for n in want if want[n] != got[n])
    if odd:
        raise Failed("state", f"{len(odd)} entries differ, the first is {odd[0]}")


def to_torch(proto):
    from onnx import TensorProto, numpy_helper
    array = numpy_helper.to_array(proto)
    if proto.data_type == TensorProto.BFLOAT16:
        return torch.frombuffer(bytearray(proto.raw_data), dtype=torch.bfloat16).reshape(tuple(proto.dims)) \
            if proto.raw_data else torch.empty(tuple(proto.dims), dtype=torch.bfloat16)
    return torch.from_numpy(array.copy()) if array.shape else torch.tensor(array.item(), dtype=torch.from_numpy(
        array.reshape(1).copy()).dtype)


def flatten(value):
    if isinstance(value, dict):
        return [y for x in value.values() for y in flatten(x)]
    if isinstance(value, (list, tuple)):
        return [y for x in value for y in flatten(x)]
    return [] if value is None else [value]


def to_numpy(x):
    t = torch.as_tensor(x).detach().cpu()
    return t.resolve_conj().numpy() if t.dtype != torch.bfloat16 else bfloat16_array(t)


def bfloat16_array(t):
    import ml_dtypes
    return t.float().numpy().astype(ml_dtypes.bfloat16)


def arguments(pt2, inputs):
    """The flat inputs of a case as (args, kwargs), in the way that the archive says they nest."""
    with zipfile.ZipFile(pt2) as z:
        program = json.loads(z.read(next(n for n in z.namelist() if re.search(r"models/[^/]*\.json$", n))))
    calls = program["graph_module"]["module_call_graph"]
    spec = json.loads(next(c for c in calls if not c["fqn"])["signature"]["in_spec"])[1]
    leaves = iter(inputs)

    def build(s):
        if s["type"] is None:
            return next(leaves)
        items = [build(c) for c in s["children_spec"]]
        if "ict" in s["type"]:
            return dict(zip(json.loads(s["context"]), items))
        return items if s["type"] == "builtins.list" else tuple(items)
    try:
        args, kwargs = build(spec)
    except (StopIteration, RuntimeError):  # inputs that are constants of the program
        return inputs, {}
    return (args, kwargs) if next(leaves, None) is None else (inputs, {})


def user_outputs(pt2):
    """How many outputs are the program's own: None and text are no tensors of the case."""
    with zipfile.ZipFile(pt2) as z:
        program = json.loads(z.read(next(n for n in z.namelist() if re.search(r"models/[^/]*\.json$", n))))
    specs = program["graph_module"]["signature"]["output_specs"]
    return sum("user_output" in s and "as_none" not in s["user_output"]["arg"] for s in specs)


def run(model, folder, facts, index):
    inputs = [to_torch(p) for p in case.read_data(folder, "input", index)]
    expected = case.read_data(folder, "output", index)
    args, kwargs = arguments(folder / "model.pt2", inputs)
    with torch.no_grad():
        got = flatten(model(*args, **kwargs))
    got = [to_numpy(x) for x in got]
    expected = expected[:user_outputs(folder / "model.pt2")]  # behind them stands changed state
    sensitive = facts.get("atol", 0)
    reason = case.compare(expected, got, ignore=facts.get("ignore", ()), least_atol=sensitive, whole_model=True)
    if reason:
        raise Failed("mismatch", reason)


def backward(load, folder):
    """One step: every gradient that there is has to be finite, and there has to be one."""
    model = load()
    inputs = [to_torch(p) for p in case.read_data(folder, "input", 0)]
    trainable = [p for p in model.parameters() if p.requires_grad and p.is_floating_point()]
    detach = torch.Tensor.detach
    torch.Tensor.detach = lambda self: self  # some wrappers of the zoo cut their outputs off
    try:
        args, kwargs = arguments(folder / "model.pt2", inputs)
        outputs = [x for x in flatten(model(*args, **kwargs)) if isinstance(x, torch.Tensor) and x.requires_grad]
    finally:
        torch.Tensor.detach = detach
    if not trainable or not outputs:
        return
    try:
        sum(x.abs().float().mean() for x in outputs).backward()
    except RuntimeError as e:
        if "no autograd formula was registered" in str(e):  # a custom operator of the zoo
            return
        raise
    with_gradient = [p for p in trainable if p.grad is not None]
    if not with_gradient:
        raise Failed("gradient", "no parameter has a gradient")
    if not all(torch.isfinite(p.grad).all() for p in with_gradient):
        raise Failed("gradient", "a gradient is not finite")


def lint(path, ruff):
    source = path.read_text()
    ast.parse(source, feature_version=(3, 10))
    long = [i for i, line in enumerate(source.splitlines(), 1) if len(line) > MAX_COLUMNS]
    if long:
        raise Failed("style", f"line {long[0]} has over {MAX_COLUMNS} columns")
    done = subprocess.run([ruff, "check", "--isolated", "--target-version", "py310", "--output-format", "concise", path],
                          capture_output=True, text=True)
    if done.returncode:
        raise Failed("style", run_cases.one_line(done.stdout))


def measure(folder, args, home):
    facts = run_cases.facts_of(folder)
    py = home / "model.py"
    row = dict(status="ok", message="", convert_s=0.0)
    start = time.time()
    try:
        convert(args.converter, folder / "model.pt2", py)
        row["convert_s"] = time.time() - start
        row["lines"] = len(py.read_text().splitlines())
        with case.time_limit(LIMIT_SECONDS), contextlib.redirect_stdout(io.StringIO()):
            load = import_file(py).load
            model = load()
            check_state(model, folder / "model.pt2")
            for index in range(case.data_sets(folder)):
                torch.manual_seed(0)
                run(load(), folder, facts, index)
            lint(py, args.ruff)
            backward(load, folder)
    except Failed as e:
        row.update(status=e.args[0], message=e.args[1])
    except (Exception, case.TimeUp) as e:
        row.update(status="run_error", message=run_cases.one_line(f"{type(e).__name__}: {e}") + where(e, py))
    return row


def where(e, py):
    """The last line of the module that an exception passed."""
    lines, at = py.read_text().splitlines() if py.exists() else [], e.__traceback__
    found = ""
    while at:
        if at.tb_frame.f_code.co_filename == str(py):
            found = f" [{at.tb_lineno}: {lines[at.tb_lineno - 1].strip()}]"
        at = at.tb_next
    return found


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("cases", nargs="+", type=pathlib.Path)
    p.add_argument("--only", default="*")
    p.add_argument("--keep", type=pathlib.Path)
    p.add_argument("--converter", default=COMMAND)
    p.add_argument("--ruff", default=shutil.which("ruff") or "ruff")
    p.add_argument("--import", dest="extra", action="append", default=[], help="a file that declares custom operators")
    a = p.parse_args()
    torch.set_num_threads(1)
    for i, path in enumerate(a.extra):
        import_file(path, f"extra_{i}")
    passed, failures = 0, []
    for root in a.cases:
        for name in run_cases.find_cases(root):
            if not any(fnmatch.fnmatch(name, x) for x in a.only.split(",")):
                continue
            with tempfile.TemporaryDirectory() as scratch:
                home = a.keep / name if a.keep else pathlib.Path(scratch)
                home.mkdir(parents=True, exist_ok=True)
                row = measure(root / name, a, home)
            print(f"{name:34} {row['status']:14} {row.get('lines', 0):6} lines {row['convert_s']:6.2f} s"
                  f"  {re.sub(chr(10), ' ', row['message'])}", flush=True)
            passed += row["status"] == "ok"
            if row["status"] != "ok":
                failures.append(name)
    print(f"{passed} passed, {len(failures)} failed")
    sys.exit(bool(failures) or not passed)


if __name__ == "__main__":
    main()
