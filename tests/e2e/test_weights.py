"""Where weights go: into the model, a file beside it, nowhere, or they stay in the archive."""
import json
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


@pytest.mark.parametrize("args, said", [(["--weights", "extern"], "takes embed, external, external-safetensors, link or none"),
                                        (["--align", "100"], "takes a power of two")])
def test_wrong_options(refused, args, said):
    assert said in refused(2, "E0201", DIGITS, *args)


def read_safetensors(path):
    data = path.read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    return {n: (e, data[start + e["data_offsets"][0]:start + e["data_offsets"][1]])
            for n, e in json.loads(data[8:start]).items() if n != "__metadata__"}


def test_weights_in_a_safetensors_file(t2o, out, images, embedded):
    assert t2o("convert", DIGITS, "-o", out, "--weights", "external-safetensors").returncode == 0
    assert sorted(f.name for f in out.parent.iterdir()) == ["model.onnx", "model.safetensors"]
    onnx.checker.check_model(str(out))
    assert np.array_equal(scores(out, images), embedded)
    held, found = read_safetensors(out.with_name("model.safetensors")), outside(out)
    assert {i.location for i in found} == {"model.safetensors"} and "classifier.bias" in held
    whole = {i.name: onnx.numpy_helper.to_array(i) for i in onnx.load(str(out)).graph.initializer}
    for name, (entry, data) in held.items():
        assert entry["shape"] == list(whole[name].shape) and data == whole[name].tobytes()
    # the same layout again out of this model
    again = out.with_name("again.onnx")
    assert t2o("convert", out, "-o", again, "--weights", "external-safetensors").returncode == 0
    assert again.with_suffix(".safetensors").read_bytes() == out.with_suffix(".safetensors").read_bytes()


def test_the_source_of_weights_is_not_written_over(t2o, out):
    assert t2o("convert", DIGITS, "-o", out, "--weights", "external-safetensors").returncode == 0
    weights = out.with_suffix(".safetensors")
    before = weights.read_bytes()
    done = t2o("convert", DIGITS, "-o", out, "--weights", "external-safetensors", "--weights-from", weights)
    assert done.returncode == 2 and "is where the weights come from" in done.stderr
    assert weights.read_bytes() == before


@pytest.mark.parametrize("mode", ["embed", "external", "external-safetensors", "link"])
def test_data_are_checked(t2o, out, mode):
    archive = shutil.copy(DIGITS, out.parent)
    assert t2o("convert", archive, "-o", out, "--weights", mode).returncode == 0
    done = t2o("info", "--check-data", "--json", out)
    assert done.returncode == 0, done.stderr
    found, = json.loads(done.stdout)["data"]
    place = {"embed": "model.onnx", "external": "model.onnx.data", "link": "digits.pt2"}
    assert found["file"].endswith(place.get(mode, "model.safetensors"))
    assert found["first"] + found["bytes"] <= found["end"] <= found["size"]
    assert "data   " in t2o("info", "--check-data", archive).stdout


def test_weights_that_overlap_are_found(t2o, out):
    assert t2o("convert", DIGITS, "-o", out, "--weights", "external").returncode == 0
    model = onnx.load(str(out), load_external_data=False)
    moved = [e for i in model.graph.initializer for e in i.external_data if e.key == "offset"]
    moved[-1].value = str(int(moved[0].value) + 64)
    out.write_bytes(model.SerializeToString())
    assert t2o("info", out).returncode == 0
    done = t2o("info", "--check-data", out)
    assert done.returncode == 5 and "error[E0507]" in done.stderr and "overlap" in done.stderr
