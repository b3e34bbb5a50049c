"""Archives of older versions of PyTorch, in their own layouts and schemas, compute what that version did."""
import json

import numpy as np
import onnx
import pytest

import case
from paths import CASES

OLD = CASES.parent / "old"
PT2 = CASES.parent / "pt2"
RUNS = sorted(f.parent.relative_to(OLD).as_posix() for f in OLD.glob("*/*/case.json"))


@pytest.mark.parametrize("name", RUNS)
def test_case(name, t2o, out):
    folder = OLD / name
    done = t2o("convert", folder / "model.pt2", "-o", out, "--state", "const")
    assert done.returncode == 0, done.stderr
    onnx.checker.check_model(str(out), full_check=True)
    for index in range(case.data_sets(folder)):
        got = case.run_ort(out, case.read_data(folder, "input", index))
        assert not case.compare(case.read_data(folder, "output", index), got), f"data set {index}"


@pytest.mark.parametrize("name", RUNS)
def test_info_names_the_versions(name, t2o):
    facts = json.loads((OLD / name / "case.json").read_text())
    done = t2o("info", OLD / name / "model.pt2")
    assert done.returncode == 0, done.stderr
    schema = json.loads(t2o("info", "--json", OLD / name / "model.pt2").stdout)["schema_version"]
    assert f"PyTorch {facts['torch']}, schema {schema[0]}.{schema[1]}, ATen opset 10" in done.stdout
    assert "sample inputs ((" in done.stdout
    assert done.stderr == ""


def test_tied_weights_are_stored_once(convert):
    for name in ("tied", "t28_tied", "t26_tied"):
        model = convert(PT2 / f"{name}.pt2")
        assert [sorted(i.dims) for i in model.graph.initializer].count([3, 5]) == 1


def test_a_subclass_is_shown_but_not_converted(t2o, refused):
    for name in ("subclass_weight", "t28_subclass_weight"):
        assert t2o("info", PT2 / f"{name}.pt2").returncode == 0
        assert "two_tensor.TwoTensor" in refused(3, "E0305", PT2 / f"{name}.pt2")


def test_tensors_inside_a_subclass_are_weights(t2o, out):
    """Of a layer that torchao has quantised and whose weight was not unwrapped; the values are PyTorch's."""
    done = t2o("convert", PT2 / "torchao_int8.pt2", "-o", out)
    assert done.returncode == 0, done.stderr
    assert {"0.weight.qdata", "0.weight.scale"} <= {i.name for i in onnx.load(str(out)).graph.initializer}
    x = onnx.numpy_helper.from_array(np.array([[1, -2, 0.5, 4]], np.float32))
    got, = case.run_ort(out, [x])
    assert np.allclose(got, [[-2.2617526054382324, 1.2470157146453857]], rtol=1e-6)


def test_all_models_are_shown(t2o):
    done = t2o("info", PT2 / "multi_model.pt2")
    assert done.returncode == 0 and done.stderr == ""
    assert "model encoder (shown)" in done.stdout and "model decoder (shown)" in done.stdout


@pytest.fixture
def edited(tmp_path):
    """An archive with a text in it replaced by one of the same length: stored records carry no check that is read."""
    def edit(old, new):
        data = (PT2 / "mlp.pt2").read_bytes()
        assert old in data and len(old) == len(new)
        path = tmp_path / "edited.pt2"
        path.write_bytes(data.replace(old, new))
        return path
    return edit


def test_a_newer_minor_schema_is_converted(t2o, out, edited):
    done = t2o("convert", edited(b'"minor": 20', b'"minor": 99'), "-o", out)
    assert done.returncode == 0 and "warning: " in done.stderr and "schema version 8.99" in done.stderr


def test_a_newer_major_schema_is_refused(refused, edited):
    assert "newer than those that are read" in refused(5, "E0506", edited(b'"major": 8', b'"major": 9'))


def test_an_unknown_argument_is_not_taken_for_none(refused, edited):
    path = edited(b'{"as_string": "tanh"}', b'{"as_strong": "tanh"}')
    assert '{"as_strong":"tanh"}' in refused(3, "E0305", path)
