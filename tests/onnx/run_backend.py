"""ONNX's own test cases through t2o and back into ONNX Runtime.

    run_backend.py CASES [--opsets same,22,newest] [--only GLOB] [--out FILE.jsonl] [--jobs N]

CASES holds a folder a case: model.onnx and test_data_set_0/{input,output}_N.pb. Each model is read and written again at
each opset; ONNX Runtime runs the original and what t2o wrote, and both are compared with the expected outputs. What
counts: ok; same (the original does not run either, or is as wrong); declined (t2o said that it cannot be expressed at
this opset); worse (anything else) with what went wrong.
"""
import argparse
import collections
import ctypes
import concurrent.futures
import fnmatch
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime as ort
from onnx import numpy_helper

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = os.environ.get("T2O", str(ROOT / "build" / "t2o"))
NEWEST = 26  # the newest opset that this ONNX Runtime takes


def from_proto(data, info):
    kind = info.type.WhichOneof("value")
    if kind == "sequence_type":
        return numpy_helper.to_list(onnx.SequenceProto.FromString(data))
    if kind == "optional_type":
        return numpy_helper.to_optional(onnx.OptionalProto.FromString(data))
    if kind == "map_type":
        return numpy_helper.to_dict(onnx.MapProto.FromString(data))
    return onnx.TensorProto.FromString(data)


def value(x):
    return numpy_helper.to_array(x) if isinstance(x, onnx.TensorProto) else x


def feed(x):
    """Narrow types go in by their bits, which NumPy has no names for."""
    if not isinstance(x, onnx.TensorProto):
        return x
    array = numpy_helper.to_array(x)
    if array.dtype.kind in "biufcOSU" and array.dtype.itemsize and x.data_type <= 15:
        return array
    return ort.OrtValue.ortvalue_from_numpy_with_onnx_type(array.view(np.uint8 if array.dtype.itemsize == 1 else np.uint16),
                                                           x.data_type)


def taken(o):
    """An output: as an array, or as bytes where NumPy has no name for its type."""
    if not o.is_tensor():
        return [taken(x) for x in o.to_list()] if hasattr(o, "to_list") else o
    try:
        return o.numpy()
    except Exception:  # noqa: BLE001
        return ctypes.string_at(o.data_ptr(), o.tensor_size_in_bytes())


def run(path, feeds):
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    names = [i.name for i in session.get_inputs()]
    given = dict(zip(names, feeds))
    plain = {f"tensor({t})" for t in ("float", "double", "float16", "string", "bool")} | {
        f"tensor({u}int{n})" for u in ("", "u") for n in (8, 16, 32, 64)}
    narrow = any(o.type.startswith("tensor(") and o.type not in plain for o in session.get_outputs())
    if (narrow or any(isinstance(x, ort.OrtValue) for x in feeds)) and all(
            isinstance(x, (np.ndarray, ort.OrtValue)) for x in feeds):
        given = {k: x if isinstance(x, ort.OrtValue) else ort.OrtValue.ortvalue_from_numpy(x) for k, x in given.items()}
        return [taken(o) for o in session.run_with_ort_values(None, given)]
    return session.run(None, {k: x for k, x in given.items() if x is not None})


def difference(got, want, rtol, atol):
    """What differs, or None."""
    if isinstance(want, (list, tuple)):
        if not isinstance(got, (list, tuple)) or len(got) != len(want):
            return "length of a sequence"
        return next(filter(None, (difference(g, w, rtol, atol) for g, w in zip(got, want))), None)
    if want is None or got is None:
        return None if got is want else "None"
    if isinstance(got, bytes):
        packed = numpy_helper.from_array(np.asarray(want)).raw_data
        if want.dtype.itemsize * want.size != len(got) or want.dtype.name in ("int2", "uint2", "int4", "uint4"):
            return None if got == packed else "bits"
        got = np.frombuffer(got, want.dtype).reshape(want.shape)
    got, want = np.asarray(got), np.asarray(want)
    if got.shape != want.shape:
        return f"shape {list(got.shape)} instead of {list(want.shape)}"
    if want.dtype.kind in "OSU":
        return None if (got.astype(object) == want.astype(object)).all() else "strings"
    if got.dtype != want.dtype and got.dtype.itemsize == want.dtype.itemsize:
        got = got.view(want.dtype)
    if got.dtype != want.dtype:
        return f"dtype {got.dtype} instead of {want.dtype}"
    if want.dtype.kind not in "biufc":
        got, want = got.astype(np.float32), want.astype(np.float32)
    if not np.allclose(got, want, rtol=rtol, atol=atol, equal_nan=True):
        return f"values: {np.abs(got.astype(np.float64) - want.astype(np.float64)).max() if got.size else 0}"
    return None


def attempt(path, feeds, wants, rtol, atol):
    """("ok" | "mismatch" | "fails", what)"""
    try:
        got = run(path, feeds)
    except Exception as e:  # noqa: BLE001: whatever it raises is the result
        return "fails", str(e).split("\n")[0][:300]
    wrong = next(filter(None, (difference(g, value(w), rtol, atol) for g, w in zip(got, wants))), None)
    return ("mismatch", wrong) if wrong else ("ok", "")


def convert(source, target, opset):
    done = subprocess.run([BINARY, "convert", str(source), "-o", str(target), "--opset", str(opset)],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=120)
    text = [line for line in done.stderr.splitlines() if line.startswith("error")]
    return done.returncode, text[0][:300] if text else done.stderr[:300]


def one(folder, opsets):
    model = onnx.load(str(folder / "model.onnx"), load_external_data=False)
    facts = json.loads((folder / "case.json").read_text()) if (folder / "case.json").exists() else {}
    rtol, atol = facts.get("rtol", 1e-3), facts.get("atol", 1e-7)
    filled = {i.name for i in model.graph.initializer}
    data = folder / "test_data_set_0"

    def read(kind, infos):
        return [from_proto((data / f"{kind}_{i}.pb").read_bytes(), info) for i, info in enumerate(infos)]
    own = next((o.version for o in model.opset_import if o.domain in ("", "ai.onnx")), 0)
    try:
        feeds = [feed(x) for x in read("input", [i for i in model.graph.input if i.name not in filled])]
        wants = read("output", model.graph.output)
    except Exception as e:  # noqa: BLE001
        return [{"name": folder.name, "opset": "-", "status": "same", "what": f"data: {e}"[:200]}]
    before, why = attempt(folder / "model.onnx", feeds, wants, rtol, atol)
    rows = []
    for wanted in opsets:
        opset = max(9, min(own or 9, NEWEST)) if wanted == "same" else NEWEST if wanted == "newest" else int(wanted)
        row = {"name": folder.name, "opset": wanted, "own": own, "original": before, "why": why}
        with tempfile.TemporaryDirectory() as scratch:
            out = pathlib.Path(scratch) / "out.onnx"
            code, text = convert(folder / "model.onnx", out, opset)
            if code:
                row["status"] = "declined" if "E0303" in text else "worse" if before == "ok" else "same"
                row["what"] = text
            else:
                after, what = attempt(out, feeds, wants, rtol, atol)
                row["status"] = "ok" if after == "ok" else "same" if before != "ok" else "worse"
                row["what"] = f"{after}: {what}" if what else ""
        rows.append(row)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("cases", type=pathlib.Path)
    parser.add_argument("--opsets", default="same,22,newest")
    parser.add_argument("--only", default="*")
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--jobs", type=int, default=1)
    o = parser.parse_args()
    folders = sorted(f.parent for f in o.cases.glob("*/model.onnx") if fnmatch.fnmatch(f.parent.name, o.only))
    rows = []
    with concurrent.futures.ProcessPoolExecutor(o.jobs) as pool:
        for result in pool.map(one, folders, [o.opsets.split(",")] * len(folders), chunksize=8):
            rows += result
    if o.out:
        o.out.write_text("".join(json.dumps(r) + "\n" for r in rows))
    for row in rows:
        if row["status"] == "worse":
            print(f"{row['name']} -> {row['opset']}: {row['what']}")
    for opset in o.opsets.split(","):
        here = [r for r in rows if r["opset"] == opset]
        counts = collections.Counter(r["status"] for r in here)
        wrong = sum(r["status"] == "worse" and r["what"].startswith("mismatch") for r in here)
        runs = sum(r.get("original") == "ok" for r in here)
        kept = sum(r.get("original") == "ok" and r["status"] == "ok" for r in here)
        print(f"opset {opset}: {dict(counts)}; {wrong} wrong; {kept} of the {runs} that run before are ok")
    return any(r["status"] == "worse" for r in rows)


if __name__ == "__main__":
    sys.exit(main())
