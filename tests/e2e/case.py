"""Test cases: how they lie on disk, how a converted model is run, when its answer is right.

A case is a folder in the layout of ONNX's own backend tests:

    <case>/model.pt2                        the archive to convert
    <case>/test_data_set_0/input_<i>.pb     ONNX TensorProto, in the order of the flattened inputs
    <case>/test_data_set_0/output_<i>.pb    what PyTorch computed, in the order of the outputs
    <case>/test_data_set_1/...              optional: the same model with other sizes
    <case>/case.json                        facts: dtype, family, opsets, source, ...

Nothing here needs PyTorch; what writes cases is tests/torch/common.py.
"""
import contextlib
import pathlib
import signal

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

# relative and absolute tolerance, by the dtype of the expected value
TOL = {"float64": (1e-6, 1e-7), "float32": (1e-3, 1e-4),
       "float16": (2e-2, 2e-3), "bfloat16": (5e-2, 1e-2)}


class InputMismatch(RuntimeError):
    """The model's inputs are not the case's."""


class TimeUp(BaseException):
    """Raised by time_limit; not an Exception, so that no library's handler swallows it."""


@contextlib.contextmanager
def time_limit(seconds):
    """Raise TimeUp in the body after so many seconds (main thread, not inside C code)."""
    def up(signum, frame):
        raise TimeUp(f"over {seconds} s")
    before = signal.signal(signal.SIGALRM, up)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def data_sets(folder):
    """How many data sets a case has."""
    return len(list(pathlib.Path(folder).glob("test_data_set_*")))


def read_data(folder, kind, index=0):
    """The TensorProtos of one kind ('input' or 'output') of a data set, in order."""
    data = pathlib.Path(folder) / f"test_data_set_{index}"
    out = []
    while (f := data / f"{kind}_{len(out)}.pb").exists():
        out.append(onnx.load_tensor_from_string(f.read_bytes()))
    return out


def run_ort(model, protos, disable_optimizations=False, names=None):
    """Run a model in ONNX Runtime on TensorProtos given in input order; returns arrays.

    A model with fewer inputs than protos is fed by name if `names` (those of the protos) has all
    of its inputs; any other difference in number raises InputMismatch.
    """
    import onnxruntime as ort
    options = ort.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    if disable_optimizations:
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    load = lambda m: ort.InferenceSession(m, options, providers=["CPUExecutionProvider"])
    session = load(str(model))
    if any(o.type == "tensor(bfloat16)" for o in session.get_outputs()):
        session = load(_widen_bf16_outputs(model))
    ins = session.get_inputs()
    if len(ins) != len(protos):
        named = dict(zip(names or (), protos))
        if len(ins) > len(protos) or not all(i.name in named for i in ins):
            raise InputMismatch(f"model has {len(ins)} inputs, the case has {len(protos)}")
        protos = [named[i.name] for i in ins]
    feed = {i.name: _ort_value(ort, p) for i, p in zip(ins, protos)}
    # copies, taken while the inputs live: an output may share an input's memory
    got = [o.numpy().copy() for o in session.run_with_ort_values(None, feed)]
    return [_narrow(g) if o.name.endswith(_WIDE) else g
            for g, o in zip(got, session.get_outputs())]


_WIDE = "__bf16_as_f32"


def _ort_value(ort, proto):
    array = np.ascontiguousarray(numpy_helper.to_array(proto)).reshape(tuple(proto.dims))
    if proto.data_type != TensorProto.BFLOAT16:
        return ort.OrtValue.ortvalue_from_numpy(array)
    make = ort.OrtValue.ortvalue_from_numpy_with_onnx_type
    return make(array.view(np.uint16), proto.data_type)


def _narrow(array):
    import ml_dtypes
    return array.astype(ml_dtypes.bfloat16)


def _widen_bf16_outputs(model):
    """NumPy has no bfloat16, so ONNX Runtime cannot hand it out: cast such outputs to float."""
    m = onnx.load(str(model))
    for o in m.graph.output:
        if o.type.tensor_type.elem_type == TensorProto.BFLOAT16:
            wide = o.name + _WIDE
            m.graph.node.append(onnx.helper.make_node("Cast", [o.name], [wide],
                                                      to=TensorProto.FLOAT))
            o.name, o.type.tensor_type.elem_type = wide, TensorProto.FLOAT
    return m.SerializeToString()


def compare(expected, got, ignore=(), whole_model=False, least_atol=0):
    """None when equal within TOL, else a one-line reason. Shapes and dtypes must be the same.

    Rounding adds up over a whole model, in proportion to what it computes with: there the absolute
    tolerance is at least the relative one times the root mean square of the expected output.
    least_atol is what two right answers of this very case were seen to differ by.
    """
    if len(expected) != len(got):
        return f"{len(got)} outputs, expected {len(expected)}"
    for i, (p, g) in enumerate(zip(expected, got)):
        if i not in ignore:
            reason = _differs(numpy_helper.to_array(p), np.asarray(g), whole_model, least_atol)
            if reason:
                return f"output {i}: {reason}"
    return None


def _differs(want, got, whole_model, least_atol):
    if want.shape != got.shape:
        return f"shape {got.shape}, expected {want.shape}"
    if want.dtype != got.dtype:
        return f"dtype {got.dtype}, expected {want.dtype}"
    if want.dtype.kind in "biu":
        wrong = int((want != got).sum())
        return f"{wrong} of {want.size} elements differ" if wrong else None
    rtol, atol = TOL.get(str(want.dtype), TOL["float32"])
    atol = max(atol, least_atol)
    wide = np.complex128 if want.dtype.kind == "c" else np.float64
    w, g = want.astype(wide), got.astype(wide)
    finite = np.abs(w[np.isfinite(w)])
    if whole_model and finite.size:
        atol = max(atol, rtol * np.sqrt(np.mean(finite ** 2)))
    if np.allclose(w, g, rtol=rtol, atol=atol, equal_nan=True):
        return None
    with np.errstate(all="ignore"):
        d = np.abs(w - g)
    d = d[~np.isnan(d)]  # NaN where one side is NaN, or both the same infinity
    if d.size and d.max() > 0:
        return f"max abs difference {d.max():.3g}"
    return "NaN or infinity where the other side has none"
