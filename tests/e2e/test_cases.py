"""Every small case converts at several opsets, is valid ONNX, and computes what PyTorch did."""
import json

import onnx
import pytest

import case
from paths import CASES

NAMES = sorted(f.parent.name for f in CASES.glob("*/case.json"))
OPSETS = (None, 13, 18, 21)  # None: what t2o chooses by itself
OTHERS = (9, 11, 24)
ALSO_AT_OTHERS = ("conv2d", "conv_transpose2d", "batch_norm", "layer_norm", "max_pool", "avg_pool",
                  "linear", "matmuls", "arithmetic", "views", "slices", "splits", "softmax",
                  "sums_and_means", "pads", "activations_smooth", "activations_piecewise",
                  "dynamic_mlp", "dynamic_conv", "lstm")

# (case, opset) -> why it cannot be converted or run there; passing all the same is a failure
LIMITS = {
    ("max_pool", 9): "dilations of MaxPool begin with opset 10",
    ("fourier_dynamic", 13): "DFT, for a signal of unknown length, begins with opset 17",
    ("torchao_float8", 13): "8-bit floats begin with opset 19",
    ("torchao_float8", 18): "8-bit floats begin with opset 19",
}


def runs():
    for name in NAMES:
        for opset in OPSETS + OTHERS * (name in ALSO_AT_OTHERS):
            reason = LIMITS.get((name, opset))
            marks = [pytest.mark.xfail(reason=reason, strict=True)] if reason else []
            yield pytest.param(name, opset, marks=marks, id=f"{name}-{opset or 'default'}")


@pytest.mark.parametrize("name, opset", list(runs()))
def test_case(name, opset, t2o, out):
    folder = CASES / name
    facts = json.loads((folder / "case.json").read_text())
    choice = ["--opset", opset] if opset else []
    choice += ["-r", CASES.parent / "rules" / facts["rules"]] if "rules" in facts else []
    done = t2o("convert", folder / "model.pt2", "-o", out, *choice)
    assert done.returncode == 0, done.stderr
    onnx.checker.check_model(str(out), full_check=True)
    imports = {o.domain: o.version for o in onnx.load(str(out)).opset_import}
    assert imports[""] == opset if opset else imports[""] >= 18
    for index in range(case.data_sets(folder)):
        got = case.run_ort(out, case.read_data(folder, "input", index))
        want = case.read_data(folder, "output", index)
        assert not case.compare(want, got, least_atol=facts.get("atol", 0)), f"data set {index}"
