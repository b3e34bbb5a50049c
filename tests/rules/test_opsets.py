"""rules/opset: every operator in its newest form, at every opset, computes what the newest does.

All forms stand in one model, so that an opset costs one conversion and one session.
"""
import os
import pathlib
import subprocess

import numpy as np
import onnx
import pytest

import probe
from opset_forms import FORMS, REFUSED

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = os.environ.get("T2O", str(ROOT / "build" / "t2o"))
TOL = {"float64": (1e-6, 1e-7), "float32": (1e-3, 1e-4), "float16": (2e-2, 2e-3)}
RUNS = 24  # the newest opset that ONNX Runtime has kernels for
STEPS = [(opset, False) for opset in range(9, probe.NEWEST + 1)]
STEPS += [(opset, True) for opset in (9, 10, 12, 15, 17, 20, 22, probe.NEWEST)]


def convert(folder, forms, results, opset, dynamic=False):
    probe.archive(folder / "m.pt2", forms, results, dynamic)
    (folder / "rules.lua").write_text(probe.rules(forms))
    return subprocess.run([BINARY, "-r", folder / "rules.lua", "convert", folder / "m.pt2", "-o",
                           folder / "m.onnx", "--opset", str(opset)], capture_output=True,
                          text=True, check=False)


def difference(form, want, got):
    if want.shape != got.shape or want.dtype != got.dtype:
        return f"{got.dtype}{got.shape} instead of {want.dtype}{want.shape}"
    if want.dtype.kind in "biu":
        return None if (want == got).all() else f"{(want != got).sum()} elements differ"
    rtol, atol = form.tol or TOL[str(want.dtype)]
    if np.allclose(want, got, rtol=rtol, atol=atol, equal_nan=True):
        return None
    return f"{np.nanmax(np.abs(want.astype(float) - got))} apart"


@pytest.fixture(scope="module")
def right():
    """What each form computes."""
    return {form: probe.reference(form) for form in FORMS}


@pytest.mark.parametrize("opset, dynamic", STEPS)
def test_same_numbers(tmp_path, right, opset, dynamic):
    forms = [f for f in FORMS if (f.dynamic if dynamic else f.lowest) <= opset <= f.highest]
    done = convert(tmp_path, forms, [right[f] for f in forms], opset, dynamic)
    assert done.returncode == 0, done.stderr
    onnx.checker.check_model(str(tmp_path / "m.onnx"), full_check=True)
    if opset > RUNS:
        return
    got = iter(probe.run(tmp_path / "m.onnx", [a for f in forms for a in f.arrays]))
    wrong = []
    for f in forms:
        for want, y in zip(right[f], [next(got) for _ in range(f.outputs)]):
            reason = difference(f, want, y)
            if reason:
                wrong.append(f"{f}: {reason}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("form, opset, why", REFUSED, ids=lambda x: str(x)[:40])
def test_refused(tmp_path, form, opset, why):
    done = convert(tmp_path, [form], [probe.reference(form)], opset)
    assert done.returncode == 3, done.stderr
    assert "error[E0303]" in done.stderr
    assert form.op in done.stderr and why in done.stderr
