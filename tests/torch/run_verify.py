"""Verify conversions, then alter them and see that it shows.

    python run_verify.py DIR... [--only PATTERN,...] [--to onnx|py]

DIR is what make_models.py or make_trained.py wrote. Each case is converted; `t2o verify` has to find the result equal
to the archive, and has to end with status 4 after one weight, one attribute or one output of the ONNX model was
altered. Exit status 1 if anything else happens. Needs PyTorch, onnx and onnxruntime.
"""
import argparse
import fnmatch
import json
import os
import pathlib
import subprocess
import sys
import tempfile

os.environ.setdefault("OMP_NUM_THREADS", "1")
import numpy as np  # noqa: E402
import onnx  # noqa: E402
import onnxruntime  # noqa: E402
from onnx import numpy_helper  # noqa: E402

import run_cases  # noqa: E402

LIMIT_SECONDS = 300
# Other values for an attribute: what makes a difference to the numbers, wherever the operator stands.
ALTERED = {
    ("LayerNormalization", "epsilon"): lambda v: v + 0.5, ("BatchNormalization", "epsilon"): lambda v: v + 0.5,
    ("RMSNormalization", "epsilon"): lambda v: v + 0.5, ("GroupNormalization", "epsilon"): lambda v: v + 0.5,
    ("InstanceNormalization", "epsilon"): lambda v: v + 0.5, ("LeakyRelu", "alpha"): lambda v: v + 0.5,
    ("Gemm", "alpha"): lambda v: v + 0.5, ("Softmax", "axis"): lambda v: v - 1, ("Conv", "strides"): lambda v: [3] * len(v),
    ("MaxPool", "strides"): lambda v: [3] * len(v), ("Gather", "axis"): lambda v: v + 1,
    ("LSTM", "direction"): lambda v: b"reverse", ("GRU", "direction"): lambda v: b"reverse",
    ("Transpose", "perm"): lambda v: v[::-1], ("Concat", "axis"): lambda v: 0,
    ("ReduceMean", "keepdims"): lambda v: 1 - v,
}


def verify(a, b, *args):
    """The exit status, and what was said."""
    env = {**os.environ, "T2O_PYTHON": sys.executable}
    done = subprocess.run([run_cases.T2O, "verify", str(a), str(b), "--json", *args], capture_output=True, text=True,
                          env=env, timeout=LIMIT_SECONDS)
    report = json.loads(done.stdout)
    faults = [d["message"] for d in report["diagnostics"]]
    faults += [o["reason"] for o in (report["verify"] or {}).get("outputs", []) if o["reason"]]
    return done.returncode, "; ".join(faults)[:200]


def alter_weight(model, path):
    """Noise of a tenth of its size on the matrix in the middle of the model."""
    matrices = [t for t in model.graph.initializer if len(t.dims) > 1 and min(t.dims) > 1
                and t.data_type in (onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16, onnx.TensorProto.DOUBLE)]
    if not matrices:
        return None
    tensor = matrices[len(matrices) // 2]
    w = numpy_helper.to_array(tensor)
    noise = np.random.default_rng(0).standard_normal(w.shape) * np.sqrt(np.mean(w.astype(np.float64) ** 2)) / 10
    tensor.CopyFrom(numpy_helper.from_array((w + noise).astype(w.dtype), tensor.name))
    onnx.save(model, path)
    return tensor.name


def runs(path):
    """Whether the runtime takes the model and its shapes."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        feed = {}
        for i in session.get_inputs():
            shape = [d if isinstance(d, int) else 4 for d in i.shape]
            dtype = {"tensor(int64)": np.int64, "tensor(float)": np.float32}.get(i.type)
            if dtype is None:
                return True
            feed[i.name] = np.ones(shape, dtype)
        session.run(None, feed)
    except Exception:
        return False
    return True


def alter_attribute(model, path):
    """The first attribute of the table whose other value ONNX Runtime accepts."""
    for (op, name), other in ALTERED.items():
        for node in [n for n in model.graph.node if n.op_type == op][:3]:
            for i, attribute in enumerate(node.attribute):
                if attribute.name != name:
                    continue
                before = onnx.helper.get_attribute_value(attribute)
                if other(before) == before:
                    continue
                node.attribute[i].CopyFrom(onnx.helper.make_attribute(name, other(before)))
                onnx.save(model, path)
                if runs(path):
                    return f"{op}.{name}"
                node.attribute[i].CopyFrom(onnx.helper.make_attribute(name, before))
    return None


def alter_output(model, path):
    """Two outputs change places where there are two; else the only one is larger, by a little."""
    outputs = model.graph.output
    if len(outputs) > 1:
        first = onnx.ValueInfoProto()
        first.CopyFrom(outputs[0])
        outputs[0].CopyFrom(outputs[1])
        outputs[1].CopyFrom(first)
        what = "two swapped"
    else:
        name = outputs[0].name
        for node in model.graph.node:
            for group in (node.input, node.output):
                group[:] = [f"{name}__before" if n == name else n for n in group]
        dtype = outputs[0].type.tensor_type.elem_type
        factor = 1.01 if dtype in (onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE) else 1.25
        model.graph.initializer.append(numpy_helper.from_array(np.array(factor, np.float32), f"{name}__factor"))
        make = onnx.helper.make_node
        model.graph.node.extend([
            make("Cast", [f"{name}__before"], [f"{name}__wide"], to=onnx.TensorProto.FLOAT),
            make("Mul", [f"{name}__wide", f"{name}__factor"], [f"{name}__scaled"]),
            make("Cast", [f"{name}__scaled"], [name], to=dtype)])
        what = f"times {factor}"
    onnx.save(model, path)
    return what


def convert(pt2, output):
    done = subprocess.run([run_cases.T2O, "convert", str(pt2), "-o", str(output), "-q"], capture_output=True, text=True,
                          timeout=LIMIT_SECONDS)
    return run_cases.one_line(done.stderr) if done.returncode else None


def measure(pt2, to, home):
    """Lines of (what, passed, detail)."""
    converted = home / f"model.{to}"
    fault = convert(pt2, converted)
    if fault:
        yield "convert", False, fault
        return
    status, said = verify(pt2, converted)
    yield "equal", status == 0, said
    if to != "onnx":
        return
    for kind, alter in (("weight", alter_weight), ("attribute", alter_attribute), ("output", alter_output)):
        changed = home / f"{kind}.onnx"
        what = alter(onnx.load(converted), changed)
        if what is None:
            yield kind, True, "nothing to alter"
            continue
        status, said = verify(pt2, changed)
        yield kind, status == 4, f"{what}: status {status}: {said}"


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("cases", nargs="+", type=pathlib.Path)
    p.add_argument("--only", default="*")
    p.add_argument("--to", choices=("onnx", "py"), default="onnx")
    a = p.parse_args()
    passed, failures, altered = 0, 0, 0
    for root in a.cases:
        for name in run_cases.find_cases(root):
            if not any(fnmatch.fnmatch(name, x) for x in a.only.split(",")):
                continue
            words = []
            with tempfile.TemporaryDirectory() as scratch:
                for what, ok, detail in measure(root / name / "model.pt2", a.to, pathlib.Path(scratch)):
                    words.append(f"{what} {'ok' if ok else 'FAILED: ' + detail}")
                    passed, failures = passed + ok, failures + (not ok)
                    altered += what != "equal" and ok and detail != "nothing to alter"
            print(f"{name:28} {', '.join(words)}", flush=True)
    print(f"{passed} passed, {failures} failed, {altered} alterations found")
    sys.exit(bool(failures) or not passed)


if __name__ == "__main__":
    main()
