"""Convert every case of a folder, check the model, run it and compare with what PyTorch computed.

    python run_cases.py --cases DIR --out results.jsonl [--opset 18] [--limit N] [--only a,b]
        [--keep DIR] [--converter "build/t2o convert {pt2} -o {onnx} --opset {opset}"]

The converter is a command, or `torch-onnx` for PyTorch's own exporter. One JSON line per case;
summarize.py adds them up. The statuses:
    ok                 the outputs agree
    unsupported        the converter says that it has no translation (exit status 3)
    convert_error      any other failure to convert (also: it crashed, or took over 60 s)
    invalid_model      onnx.checker rejects the model
    ort_unimplemented  ONNX Runtime lacks a kernel for a valid model
    runtime_error      ONNX Runtime fails in any other way (also: it crashed, or took over 60 s)
    mismatch           other values, shapes, dtypes, inputs or outputs
Cases already in the results are passed over, so an interrupted run continues. The cases run in a
child process: a crash inside ONNX Runtime costs one case.
"""
import argparse
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]
import case  # noqa: E402

T2O = os.environ.get("T2O", str(HERE.parents[1] / "build" / "t2o"))
COMMAND = shlex.quote(T2O) + " convert {pt2} -o {onnx} --opset {opset}"
LIMIT_SECONDS = 60
TOO_LONG = f"over {LIMIT_SECONDS} s"
CHUNK = 500


def read_lines(path):
    path = pathlib.Path(path)
    return [json.loads(x) for x in path.read_text().splitlines()] if path.exists() else []


def facts_of(folder):
    return json.loads((pathlib.Path(folder) / "case.json").read_text())


def find_cases(root):
    """The case folders' names: those of index.jsonl, or every folder that holds a model.pt2."""
    root = pathlib.Path(root)
    listed = [r["case"] for r in read_lines(root / "index.jsonl")]
    return listed or sorted(str(f.parent.relative_to(root)) for f in root.rglob("model.pt2"))


def one_line(text, limit=200):
    lines = [x.strip() for x in str(text).splitlines() if x.strip()]
    return re.sub(r"\s+", " ", lines[0])[:limit] if lines else ""


# ------------------------------------------------------------------ converting
def convert_by_command(template, pt2, path, opset):
    """Run the command; returns (status, message), status None when it succeeded."""
    command = [part.format(pt2=pt2, onnx=path, opset=opset) for part in shlex.split(template)]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              errors="replace", timeout=LIMIT_SECONDS)
    except subprocess.TimeoutExpired:
        return "convert_error", TOO_LONG
    if done.returncode == 0:
        return (None, "") if path.exists() else ("convert_error", "exit status 0, but no model")
    if done.returncode < 0:
        return "convert_error", f"killed by signal {-done.returncode}"
    message = one_line(done.stderr or done.stdout) or f"exit status {done.returncode}"
    return "unsupported" if done.returncode == 3 else "convert_error", message


def convert_by_torch(pt2, path, opset):
    """The same with PyTorch's exporter, to have its figures beside ours."""
    import torch
    import tvshim  # noqa: F401
    import torchvision  # noqa: F401
    try:
        with case.time_limit(LIMIT_SECONDS):
            program = torch.onnx.export(torch.export.load(str(pt2)), (), dynamo=True,
                                        opset_version=opset, verbose=False)
            program.save(str(path))
    except case.TimeUp as e:
        return "convert_error", str(e)
    except Exception as e:
        while e.__cause__:
            e = e.__cause__
        kind = "unsupported" if "No ONNX function found" in str(e) else "convert_error"
        return kind, one_line(f"{type(e).__name__}: {e}")
    return None, ""


# ------------------------------------------------------------------ measuring
def measure(folder, converter, opset, path, on_stage=lambda stage: None):
    """One case's result: a dict with status, message, convert_s and opset."""
    row = dict(status="ok", message="", convert_s=None, opset=None)
    on_stage("convert")
    start = time.time()
    if converter == "torch-onnx":
        status, message = convert_by_torch(folder / "model.pt2", path, opset)
    else:
        status, message = convert_by_command(converter, folder / "model.pt2", path, opset)
    row["convert_s"] = round(time.time() - start, 3)
    if status:
        return {**row, "status": status, "message": message}

    on_stage("check")
    complaint = check_model(path, row)
    on_stage("run")
    status, message = run_and_compare(folder, path)
    if complaint:  # the checker's word stands; what the runtime made of it is kept beside it
        return {**row, "status": "invalid_model", "message": complaint, "despite": status}
    return {**row, "status": status, "message": message}


def check_model(path, row):
    """What onnx.checker has to say, or None; notes the opsets in the row."""
    import onnx
    try:
        imports = onnx.load(str(path), load_external_data=False).opset_import
        row["opset"] = {o.domain: o.version for o in imports}
        small = sum(f.stat().st_size for f in path.parent.iterdir()) < 2**31
        onnx.checker.check_model(str(path), full_check=small)
    except Exception as e:
        return one_line(" ".join(x.strip() for x in str(e).splitlines()[:3]))


def run_and_compare(folder, path):
    """(status, message) of one model in ONNX Runtime on all of a case's data sets."""
    for index in range(case.data_sets(folder)):
        status, message = run_one_set(folder, path, index)
        if status != "ok":
            return status, f"set {index}: {message}" if index else message
    return "ok", ""


def run_one_set(folder, path, index):
    """A quantised case may pass without optimisations: fused integer kernels can saturate."""
    facts = facts_of(folder)
    status, message = run_once(folder, facts, path, index, plain=False)
    if status == "mismatch" and facts.get("family") == "quantized":
        return run_once(folder, facts, path, index, plain=True)
    return status, message


def run_once(folder, facts, path, index, plain):
    inputs = case.read_data(folder, "input", index)
    try:
        with case.time_limit(LIMIT_SECONDS):
            got = case.run_ort(path, inputs, plain, names=facts.get("input_names"))
    except case.TimeUp as e:
        return "runtime_error", str(e)
    except case.InputMismatch as e:
        return "mismatch", one_line(e)
    except Exception as e:
        status = "ort_unimplemented" if "NOT_IMPLEMENTED" in str(e) else "runtime_error"
        return status, one_line(f"{type(e).__name__}: {e}")
    reason = case.compare(case.read_data(folder, "output", index), got,
                          ignore=facts.get("ignore", ()), least_atol=facts.get("atol", 0),
                          whole_model="model" in facts or facts.get("kind") == "real")
    return ("mismatch", one_line(reason)) if reason else ("ok", "")


# ------------------------------------------------------------------ many cases
def identity(root, name):
    facts = facts_of(pathlib.Path(root) / name)
    return dict(case=name, op=facts.get("op", facts.get("model", name)),
                dtype=facts.get("dtype", ""))


def worker(args):
    """Measure the cases named on standard input, one a line."""
    root, stage_file = pathlib.Path(args.cases), pathlib.Path(args.out + ".stage")
    for name in sys.stdin.read().split():
        with tempfile.TemporaryDirectory() as scratch, open(args.out, "a") as out:
            home = pathlib.Path(args.keep) / name if args.keep else pathlib.Path(scratch)
            home.mkdir(parents=True, exist_ok=True)
            row = measure(root / name, args.converter, args.opset, home / "model.onnx",
                          lambda stage: stage_file.write_text(f"{name}\t{stage}"))
            out.write(json.dumps({**identity(root, name), **row}) + "\n")
        if row["message"] == TOO_LONG:  # what was cut short may have left disorder behind
            return


def run_worker(args, names):
    """Run one worker over these cases; returns None, or why it ended early."""
    stage_file = pathlib.Path(args.out + ".stage")
    stage_file.write_text("")
    child = subprocess.Popen([sys.executable, __file__, *sys.argv[1:], "--worker"],
                             stdin=subprocess.PIPE, text=True)
    child.stdin.write("\n".join(names))
    child.stdin.close()
    while child.poll() is None:
        time.sleep(0.2)
        if time.time() - stage_file.stat().st_mtime > 3 * LIMIT_SECONDS:
            child.kill()
            child.wait()
            return "hung"
    return None if child.returncode == 0 else f"the process died ({child.returncode})"


def record_death(args, ended):
    """Write the line of the case in which a worker ended."""
    name, _, stage = pathlib.Path(args.out + ".stage").read_text().partition("\t")
    if not name or name in {r["case"] for r in read_lines(args.out)}:
        sys.exit(f"the worker cannot start: {ended}")
    status = {"convert": "convert_error", "check": "invalid_model"}.get(stage, "runtime_error")
    row = dict(status=status, message=f"{ended} in {stage}", convert_s=None, opset=None)
    with open(args.out, "a") as out:
        out.write(json.dumps({**identity(args.cases, name), **row}) + "\n")


def main(args):
    todo = find_cases(args.cases)
    if args.only:
        wanted = set(args.only.split(","))
        todo = [n for n in todo if n in wanted or identity(args.cases, n)["op"] in wanted]
    todo = todo[:args.limit]
    start = time.time()
    while True:
        done = {r["case"] for r in read_lines(args.out)}
        left = [n for n in todo if n not in done]
        print(f"{len(todo) - len(left)}/{len(todo)} cases, {time.time() - start:.0f} s", flush=True)
        if not left:
            break
        if ended := run_worker(args, left[:CHUNK]):
            record_death(args, ended)
    pathlib.Path(args.out + ".stage").unlink(missing_ok=True)


def parse():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--cases", required=True)
    p.add_argument("--out", required=True)
    p.add_argument("--converter", default=COMMAND)
    p.add_argument("--opset", type=int, default=18)
    p.add_argument("--limit", type=int, help="only the first N cases")
    p.add_argument("--only", help="only these cases or ops")
    p.add_argument("--keep", help="keep the models under this folder")
    p.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    return p.parse_args()


if __name__ == "__main__":
    arguments = parse()
    worker(arguments) if arguments.worker else main(arguments)
