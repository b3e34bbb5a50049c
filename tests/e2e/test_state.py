"""What a model changes is not lost: state becomes an input with a default, and an output."""
import numpy as np
import onnxruntime as ort
import pytest

import case
from paths import CASES

COUNTER = CASES.parent / "pt2" / "mutation_training_ir.pt2"
STATE = CASES.parent / "state"


def session(path):
    options = ort.SessionOptions()
    options.log_severity_level = 3
    return ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def test_state_is_an_input_and_an_output(t2o, out):
    done = t2o("convert", COUNTER, "-o", out)
    assert done.returncode == 0 and "'count'" in done.stderr
    s = session(out)
    assert [i.name for i in s.get_overridable_initializers()] == ["w", "count", "cache"]
    assert [o.name for o in s.get_outputs()][-4:] == ["w.out", "count.out", "cache.out", "y.out"]
    x = {i.name: np.ones(i.shape, np.float32) for i in s.get_inputs()}
    first, = s.run(["count.out"], x)
    second, = s.run(["count.out"], {**x, "count": first})
    assert second == first + 1


def test_state_can_be_dropped(t2o, out):
    assert t2o("convert", COUNTER, "-o", out, "--state", "const").returncode == 0
    s = session(out)
    assert not s.get_overridable_initializers() and len(s.get_outputs()) == 2


def test_state_can_be_refused(t2o, out):
    done = t2o("convert", COUNTER, "-o", out, "--state", "error")
    assert done.returncode == 3 and "error[E0306]" in done.stderr and not out.exists()


@pytest.mark.parametrize("mode", ["io", "const"])
def test_same_user_outputs(t2o, tmp_path, mode):
    path = tmp_path / f"{mode}.onnx"
    assert t2o("convert", COUNTER, "-o", path, "--state", mode).returncode == 0
    s = session(path)
    x = {i.name: np.full(i.shape, 2, np.float32) for i in s.get_inputs()}
    got = s.run([o.name for o in s.get_outputs()[:2]], x)
    assert all(np.isfinite(g).all() for g in got)


def test_state_of_two_names(t2o, out):
    """It goes by the buffer's, and what is written under one name is read under the other."""
    done = t2o("convert", STATE / "recorder.pt2", "-o", out)
    assert done.returncode == 0, done.stderr
    s = session(out)
    assert [o.name for o in s.get_outputs()][2:] == ["rows.out", "length.out"]
    state = {}
    for step in range(3):
        x, = case.read_data(STATE / "recorder", "input", step)
        got = s.run(None, {"x": case.numpy_helper.to_array(x), **state})
        assert not case.compare(case.read_data(STATE / "recorder", "output", step), got)
        state = {"rows": got[2], "length": got[3]}


def test_state_that_overlaps(t2o, out):
    done = t2o("convert", STATE / "overlap.pt2", "-o", out)
    assert done.returncode == 3 and "error[E0304]" in done.stderr and "'b_high'" in done.stderr
