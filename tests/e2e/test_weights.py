"""Where weights go: into the model, a file beside it, nowhere, or they stay in the archive."""
import shutil

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx.external_data_helper import ExternalDataInfo

from paths import ROOT

DIGITS = ROOT / "examples" / "digits" / "digits.pt2"


@pytest.fixture
def images():
    return np.load(DIGITS.parent / "heldout.npz")["images"][:4].astype(np.float32)


def scores(path, images):
    return ort.InferenceSession(str(path), providers=["CPUExecutionProvider"]).run(None, {"image": images})[0]


def outside(path):
    model = onnx.load(str(path), load_external_data=False)
    return [ExternalDataInfo(i) for i in model.graph.initializer if i.data_location == onnx.TensorProto.EXTERNAL]


@pytest.fixture
def embedded(t2o, tmp_path, images):
    path = tmp_path / "embedded.onnx"
    assert t2o("convert", DIGITS, "-o", path).returncode == 0
    return scores(path, images)


def test_external_weights_stand_in_one_aligned_file(t2o, out, images, embedded):
    assert t2o("convert", DIGITS, "-o", out, "--weights", "external", "--align", "4096").returncode == 0
    assert sorted(f.name for f in out.parent.iterdir()) == ["model.onnx", "model.onnx.data"]
    found = outside(out)
    assert {i.location for i in found} == {"model.onnx.data"} and all(i.offset % 64 == 0 for i in found)
    ends = sorted((i.offset, i.offset + i.length) for i in found)
    assert all(a[1] <= b[0] for a, b in zip(ends, ends[1:]))
    assert ends[-1][1] == (out.parent / "model.onnx.data").stat().st_size
    onnx.checker.check_model(str(out))
    assert np.array_equal(scores(out, images), embedded)


def test_small_tensors_stay_in_the_model(t2o, out):
    assert t2o("convert", DIGITS, "-o", out, "--weights", "external").returncode == 0
    model = onnx.load(str(out), load_external_data=False)
    assert all(len(i.raw_data) < 1024 for i in model.graph.initializer)


def test_linked_weights_stay_in_the_archive(t2o, out, images, embedded):
    (out.parent / "archive").mkdir()
    archive = shutil.copy(DIGITS, out.parent / "archive")
    assert t2o("convert", archive, "-o", out, "--weights", "link").returncode == 0
    assert {i.location for i in outside(out)} == {"archive/digits.pt2"}
    assert out.stat().st_size < 40_000
    assert np.array_equal(scores(out, images), embedded)


def test_a_link_needs_the_archive_below_the_model(refused):
    assert "is not in the folder of" in refused(2, "E0201", DIGITS, "--weights", "link")


def test_converted_weights_are_written_where_they_go(t2o, out, images, embedded):
    """float16 weights are not in the archive as they are: a link embeds them, external streams them."""
    shutil.copy(DIGITS, out.parent)
    for mode in ("link", "external"):
        done = t2o("convert", out.parent / "digits.pt2", "-o", out, "--weights", mode, "--float16")
        assert done.returncode == 0
        assert np.abs(scores(out, images) - embedded).max() < 0.1


def test_weights_can_be_left_out(convert):
    model = convert(DIGITS, "--weights", "none")
    names = [v.name for v in model.graph.input]
    assert names[0] == "image" and "classifier.weight" in names
    assert not [i for i in model.graph.initializer if i.name.startswith(("features", "classifier"))]


def test_the_same_bytes(t2o, tmp_path):
    written = []
    for run in range(2):
        path = tmp_path / str(run) / "model.onnx"
        path.parent.mkdir()
        assert t2o("convert", DIGITS, "-o", path, "--weights", "external").returncode == 0
        written.append([f.read_bytes() for f in sorted(path.parent.iterdir())])
    assert written[0] == written[1]


@pytest.mark.parametrize("args, said", [(["--weights", "extern"], "takes embed, external, link or none"),
                                        (["--align", "100"], "takes a power of two")])
def test_wrong_options(refused, args, said):
    assert said in refused(2, "E0201", DIGITS, *args)
