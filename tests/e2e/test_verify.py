"""t2o verify and record: two models on the same inputs. PyTorch is not needed: what it computed stands beside the
inputs of each case. With PyTorch at hand: tests/torch/run_verify.py."""
import importlib.util
import json
import os
import shutil
import sys

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from paths import BINARY, CASES, MLP, ROOT

PT2 = ROOT / "tests" / "data" / "pt2"
STATE = ROOT / "tests" / "data" / "state"
HERE = {"T2O_PYTHON": sys.executable}


@pytest.fixture(scope="session")
def script():
    """python/verify.py as a module."""
    spec = importlib.util.spec_from_file_location("verify_script", ROOT / "python" / "verify.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def verify(t2o):
    """Compare, with an expected exit status; returns the finished process."""
    def run(status, *args, env=None):
        done = t2o("verify", *args, env={**HERE, **(env or {})})
        assert done.returncode == status, done.stdout + done.stderr
        return done
    return run


@pytest.fixture
def report(verify):
    """The same as JSON."""
    def run(status, *args):
        whole = json.loads(verify(status, *args, "--json").stdout)
        assert whole["exit_code"] == status and whole["ok"] == (status == 0)
        return whole
    return run


def make(path, nodes, inputs, outputs, initializers=(), opset=20):
    """Write an ONNX model. Inputs and outputs are (name, dtype, dims)."""
    info = [[helper.make_tensor_value_info(*v) for v in group] for group in (inputs, outputs)]
    constants = [numpy_helper.from_array(a, n) for n, a in initializers]
    graph = helper.make_graph(nodes, "g", *info, constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9), path)
    return path


def two_outputs(path, change=lambda m: None):
    """y = softmax(x w), z = x w."""
    w = np.random.default_rng(1).standard_normal((3, 4)).astype(np.float32)
    make(path, [helper.make_node("MatMul", ["x", "w"], ["z"]), helper.make_node("Softmax", ["z"], ["y"], axis=-1)],
         [("x", TensorProto.FLOAT, ["batch", 3])],
         [("y", TensorProto.FLOAT, ["batch", 4]), ("z", TensorProto.FLOAT, ["batch", 4])], [("w", w)])
    model = onnx.load(path)
    change(model)
    onnx.save(model, path)
    return path


# ---- what is equal ----

@pytest.mark.parametrize("name", ["dynamic_mlp", "complex_rotary", "complex_weight", "half_precision", "nested_inputs",
                                  "output_twice", "carried_sizes", "embedding", "promotion", "dynamic_cat"])
def test_an_archive_by_its_recorded_outputs(t2o, report, out, name):
    done = t2o("convert", CASES / name / "model.pt2", "-o", out)
    assert done.returncode == 0, done.stderr
    r = report(0, CASES / name / "model.pt2", out, "--inputs", CASES / name)["verify"]
    assert r["a"]["runtime"] == "recorded outputs" and r["b"]["runtime"].startswith("ONNX Runtime")
    assert all(o["cosine"] is None or o["cosine"] > 0.999 for o in r["outputs"])
    assert len(r["inputs"]) == len(list((CASES / name).glob("test_data_set_*")))


def test_one_model_by_its_recorded_outputs(t2o, verify, out):
    assert t2o("convert", MLP, "-o", out).returncode == 0
    assert "equal: 2 outputs" in verify(0, out, "--inputs", MLP.parent).stdout  # two data sets


def test_opsets_of_one_model(t2o, verify, tmp_path):
    """Random inputs: indices stay below the rows of their table."""
    paths = [tmp_path / f"{opset}.onnx" for opset in (13, 20)]
    for path, opset in zip(paths, (13, 20)):
        assert t2o("convert", PT2 / "tied.pt2", "-o", path, "--opset", opset).returncode == 0
    for seed in range(3):
        verify(0, *paths, "--seed", seed)


def test_complex_outputs(report, t2o, out, tmp_path):
    """Complex on one side, a last dimension of 2 on the other."""
    x = np.random.default_rng(0).standard_normal((2, 3, 2)).astype(np.float32)
    make(out, [helper.make_node("Neg", ["x"], ["y"])], [("x", TensorProto.FLOAT, [2, 3, 2])],
         [("y", TensorProto.FLOAT, [2, 3, 2])])
    for name, array in (("input_0", x), ("output_0", -x.view(np.complex64)[..., 0])):
        (tmp_path / f"{name}.pb").write_bytes(numpy_helper.from_array(array, name).SerializeToString())
    r = report(0, out, "--inputs", tmp_path)
    assert r["verify"]["outputs"][0]["type"] == "f32[2, 3, 2]"


@pytest.mark.parametrize("name", ["sequences", "functions", "optional_output", "external", "typed_fields"])
def test_every_kind_of_onnx(t2o, verify, tmp_path, name):
    """Sequences are compared element by element."""
    folder = ROOT / "tests" / "data" / "onnx" / name
    assert t2o("convert", folder / "model.onnx", "-o", tmp_path / "new.onnx").returncode == 0
    values = np.load(folder / "data.npz")
    files = []
    for i in range(sum(k.startswith("in") for k in values.files)):
        files += ["--inputs", tmp_path / f"{i}.npy"]
        np.save(files[-1], values[f"in{i}"])
    verify(0, folder / "model.onnx", tmp_path / "new.onnx", *files)


# ---- what is not ----

def alter_weight(model):
    w = model.graph.initializer[0]
    w.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(w) + np.float32(0.01), w.name))


def alter_attribute(model):
    model.graph.node[1].attribute[0].i = 0


def swap_outputs(model):
    model.graph.output.reverse()


def drop_output(model):
    del model.graph.output[1]


def widen_output(model):
    model.graph.node.append(helper.make_node("Cast", ["z"], ["z64"], to=TensorProto.DOUBLE))
    model.graph.output[1].CopyFrom(helper.make_tensor_value_info("z64", TensorProto.DOUBLE, ["batch", 4]))


def reshape_output(model):
    model.graph.node.append(helper.make_node("Transpose", ["z"], ["zt"]))
    model.graph.output[1].CopyFrom(helper.make_tensor_value_info("zt", TensorProto.FLOAT, [4, "batch"]))


def add_input(model):
    model.graph.input.append(helper.make_tensor_value_info("extra", TensorProto.FLOAT, [1]))


@pytest.mark.parametrize("change, said", [
    (alter_weight, "elements past the tolerance"), (alter_attribute, "elements past the tolerance"),
    (swap_outputs, "in another order"), (drop_output, "1 outputs instead of 2"),
    (widen_output, "float64 instead of float32"), (reshape_output, "shape [4, 2] instead of [2, 4]"),
    (add_input, "has 1 inputs")])
def test_an_altered_model(verify, tmp_path, change, said):
    a, b = two_outputs(tmp_path / "a.onnx"), two_outputs(tmp_path / "b.onnx", change)
    done = verify(4, a, b)
    assert said in " ".join((done.stdout + done.stderr).split()) and "error[E0401]" in done.stderr
    assert all(len(line) <= 80 for line in done.stdout.replace(str(tmp_path), "").splitlines())


def test_names_that_changed_places(verify, tmp_path):
    """The same values by position, but whoever asks by name gets another."""
    nodes = [helper.make_node("Neg", ["x"], [o]) for o in "pq"]
    paths = [make(tmp_path / f"{names}.onnx", nodes, [("x", TensorProto.FLOAT, [2])],
                  [(o, TensorProto.FLOAT, [2]) for o in names]) for names in ("pq", "qp")]
    assert "in another order" in verify(4, *paths).stdout
    verify(0, paths[0], paths[0])


def test_renamed_outputs_go_by_position(t2o, verify, tmp_path):
    a, b = tmp_path / "a.onnx", tmp_path / "b.onnx"
    assert t2o("convert", MLP, "-o", a).returncode == 0
    assert t2o("convert", MLP, "-o", b, "--output-names", "scores", "--input-names", "image").returncode == 0
    assert "linear_1 ~ scores" in verify(0, a, b).stdout


def test_tolerances(verify, tmp_path):
    a, b = two_outputs(tmp_path / "a.onnx"), two_outputs(tmp_path / "b.onnx", alter_weight)
    verify(0, a, b, "--rtol", 0.5)
    verify(0, a, b, "--atol", "1.0")
    verify(4, a, b, "--rtol", 1e-6)


def test_integers_and_nan(report, tmp_path):
    """Integers are equal or not; NaN equals NaN, but no number."""
    rows = []
    for name, shift in (("a", 0), ("b", 1)):
        rows.append(make(tmp_path / f"{name}.onnx", [
            helper.make_node("Add", ["i", "shift"], ["j"]), helper.make_node("Sqrt", ["x"], ["y"]),
            helper.make_node("Identity", ["mark"], ["m"])],
            [("i", TensorProto.INT64, [3]), ("x", TensorProto.FLOAT, [64])],
            [("j", TensorProto.INT64, [3]), ("y", TensorProto.FLOAT, [64]), ("m", TensorProto.FLOAT, [2])],
            [("shift", np.array([0, shift, 0])), ("mark", np.array([np.nan, np.nan if shift else 1], np.float32))]))
    assert report(0, rows[0], rows[0])["verify"]["outputs"][1]["ok"]
    j, y, m = report(4, *rows)["verify"]["outputs"]
    assert j["reason"] == "1 of 3 elements differ" and y["ok"] and "NaN" in m["reason"]


# ---- state ----

def test_state_is_compared(t2o, report, verify, tmp_path):
    a, b, const = (tmp_path / f"{n}.onnx" for n in ("a", "b", "const"))
    for path, *options in ((a,), (b, "--opset", 17), (const, "--state", "const")):
        assert t2o("convert", PT2 / "mutation_training_ir.pt2", "-o", path, *options).returncode == 0
    states = [o["name"] for o in report(0, a, b)["verify"]["outputs"] if o["state"]]
    assert states == ["w", "count", "cache", "y"]
    assert "not compared" in verify(0, a, const).stderr
    model = onnx.load(b)
    count = next(t for t in model.graph.initializer if t.name == "count")
    count.CopyFrom(numpy_helper.from_array(np.array(7), "count"))
    onnx.save(model, b)
    assert "count.out" in verify(4, a, b).stdout
    model = onnx.load(a)
    model.graph.output.pop()
    onnx.save(model, b)
    assert "state that only one model returns: y" in verify(4, a, b).stdout
    model.graph.output.insert(0, model.graph.output.pop())
    onnx.save(model, b)
    assert "state that stands among the other outputs" in verify(4, a, b).stdout


def test_recorded_outputs_that_hold_state(t2o, verify, tmp_path, out):
    """The first data set of the recorder: its outputs end with the state."""
    assert t2o("convert", STATE / "recorder.pt2", "-o", out).returncode == 0
    verify(0, out, "--inputs", STATE / "recorder" / "test_data_set_0")


# ---- inputs ----

def test_inputs_as_files(verify, tmp_path):
    a = two_outputs(tmp_path / "a.onnx")
    x = np.ones((5, 3), np.float32)
    np.save(tmp_path / "x.npy", x)
    np.savez(tmp_path / "x.npz", x=x)
    (tmp_path / "x.pb").write_bytes(numpy_helper.from_array(x, "x").SerializeToString())
    header = json.dumps({"x": {"dtype": "F32", "shape": [5, 3], "data_offsets": [0, 60]}}).encode()
    (tmp_path / "x.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + x.tobytes())
    for kind in ("npy", "npz", "pb", "safetensors"):
        assert "x f32[5, 3]" in verify(0, a, a, "--inputs", tmp_path / f"x.{kind}").stdout


def test_sizes_and_seeds(report, tmp_path):
    a = two_outputs(tmp_path / "a.onnx")
    shape = lambda *args: report(0, a, a, *args)["verify"]["inputs"][0]["tensors"][0]["shape"]  # noqa: E731
    assert shape() == [2, 3] and shape("--set", "batch=5") == [5, 3] and shape("--set", "x:0=7") == [7, 3]
    seeds = [report(0, a, a, "--seed", seed)["verify"]["inputs"][0]["source"] for seed in (1, 2)]
    assert seeds == ["random, seed 1", "random, seed 2"]


@pytest.mark.parametrize("name, content", [("a.npy", b"no"), ("a.pb", b"\xff\xff"), ("a.npz", b"PK"), ("a.txt", b""),
                                           ("a.safetensors", b"\xff" * 9), ("absent.npy", None)])
def test_files_that_are_no_inputs(verify, tmp_path, name, content):
    a = two_outputs(tmp_path / "a.onnx")
    if content is not None:
        (tmp_path / name).write_bytes(content)
    assert "error[E0510]" in verify(5, a, a, "--inputs", tmp_path / name).stderr


def test_inputs_that_do_not_fit(verify, tmp_path):
    a = two_outputs(tmp_path / "a.onnx")
    np.savez(tmp_path / "x.npz", p=np.ones(3, np.float32), q=np.ones(3, np.float32))
    assert "takes 1 inputs (x)" in verify(5, a, a, "--inputs", tmp_path / "x.npz").stderr
    np.save(tmp_path / "x.npy", np.ones((2, 7), np.float32))
    assert "error[E0106]" in verify(1, a, a, "--inputs", tmp_path / "x.npy").stderr


def test_samples_of_archives(script):
    """Read without PyTorch, of every layout."""
    for name in ("mlp", "dynamic", "multi_output", "arg_zoo", "cond", "tied", "t26_tied", "t28_tied"):
        archive = script.Archive(str(PT2 / f"{name}.pt2"))
        feed = archive.samples()
        assert [t.dtype for _, t in feed.tensors()] == [s.dtype for s in archive.slots()], name
        assert script.fits(feed, [archive]), name
    assert script.Archive(str(PT2 / "tied.pt2")).rows() == {"ids": 5}


# ---- recordings ----

def test_a_recording_takes_the_place_of_a_model(t2o, verify, tmp_path):
    a, b = two_outputs(tmp_path / "a.onnx"), two_outputs(tmp_path / "b.onnx", alter_weight)
    done = t2o("record", a, "-o", tmp_path / "a.npz", "--set", "batch=3", env=HERE)
    assert done.returncode == 0 and done.stdout == "" and "2 outputs" in done.stderr
    assert "x f32[3, 3]" in verify(0, tmp_path / "a.npz", a).stdout
    verify(4, tmp_path / "a.npz", b)
    assert "error[E0201]" in verify(2, tmp_path / "a.npz", a, "--inputs", tmp_path / "a.npz").stderr
    with np.load(tmp_path / "a.npz", allow_pickle=False) as z:
        assert z["input_0"].shape == (3, 3) and json.loads(str(z["t2o"]))["outputs"][0]["name"] == "y"


def test_dtypes_that_numpy_lacks(t2o, verify, tmp_path):
    types = [TensorProto.BFLOAT16, TensorProto.FLOAT8E4M3FN, TensorProto.FLOAT8E5M2, TensorProto.FLOAT16]
    a = make(tmp_path / "a.onnx", [helper.make_node("Cast", ["x"], [f"y{t}"], to=t) for t in types],
             [("x", TensorProto.BFLOAT16, [50])], [(f"y{t}", t, [50]) for t in types])
    assert t2o("record", a, "-o", tmp_path / "a.npz", env=HERE).returncode == 0
    text = verify(0, tmp_path / "a.npz", a).stdout
    assert "x bf16[50]" in text and "f8e4m3fn[50]" in text and "f8e5m2[50]" in text


def test_nothing_is_left_of_a_record_that_fails(t2o, tmp_path):
    a = two_outputs(tmp_path / "a.onnx")
    done = t2o("record", a, "-o", tmp_path / "absent" / "a.npz", env=HERE)
    assert done.returncode == 1 and "error[E0101]" in done.stderr
    assert t2o("record", a, env=HERE).returncode == 2


# ---- runtimes ----

def without(tmp_path, package):
    """An interpreter that has no such package."""
    (tmp_path / "block").mkdir(exist_ok=True)
    (tmp_path / "block" / f"{package}.py").write_text("raise ImportError\n")
    wrapper = tmp_path / "python"
    wrapper.write_text(f'#!/bin/sh\nPYTHONPATH={tmp_path}/block exec {sys.executable} "$@"\n')
    wrapper.chmod(0o755)
    return {"T2O_PYTHON": str(wrapper)}


@pytest.mark.parametrize("package", ["numpy", "onnxruntime"])
def test_a_package_that_is_missing(verify, tmp_path, package):
    a = two_outputs(tmp_path / "a.onnx")
    said = verify(1, a, a, env=without(tmp_path, package)).stderr
    assert "error[E0105]" in said and f"-m pip install {package}" in said


def test_pytorch_that_is_missing(verify, t2o, tmp_path, out):
    """The archive's samples are there, what PyTorch makes of them is not."""
    assert t2o("convert", PT2 / "mlp.pt2", "-o", out).returncode == 0
    said = verify(1, PT2 / "mlp.pt2", out, env=without(tmp_path, "torch")).stderr
    assert "error[E0105]" in said and "pip install torch" in said and "t2o record" in said


def test_python_that_is_missing(verify, tmp_path):
    a = two_outputs(tmp_path / "a.onnx")
    said = verify(1, a, a, env={"T2O_PYTHON": str(tmp_path / "absent")}).stderr
    assert "error[E0105]" in said and "T2O_PYTHON" in said
    (tmp_path / "dies").write_text("#!/bin/sh\nkill -9 $$\n")
    (tmp_path / "dies").chmod(0o755)
    assert "ended by signal 9" in verify(1, a, a, env={"T2O_PYTHON": str(tmp_path / "dies")}).stderr


def test_the_copy_in_the_binary(tmp_path):
    """Alone in a folder, with a numpy of its own in the working directory."""
    import subprocess
    shutil.copy(BINARY, tmp_path / "t2o")
    a = two_outputs(tmp_path / "a.onnx")
    (tmp_path / "numpy.py").write_text("raise SystemExit(77)\n")
    done = subprocess.run([tmp_path / "t2o", "verify", "a.onnx", a], cwd=tmp_path, capture_output=True, text=True,
                          env={**os.environ, **HERE})
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("A: a.onnx (ONNX Runtime")


# ---- convert --verify ----

def test_convert_verifies(t2o, out):
    done = t2o("convert", MLP, "-o", out, "--verify", "--inputs", MLP.parent, env=HERE)
    assert done.returncode == 0 and "equal" in done.stdout and str(out) in done.stderr
    report = json.loads(t2o("convert", MLP, "-o", out, "--verify", "--inputs", MLP.parent, "--json", env=HERE).stdout)
    assert report["verify"]["ok"] and report["ok"]


def test_convert_says_what_differs(t2o, relu_rule, out):
    """The file stays."""
    args = ["convert", MLP, "-o", out, "--verify", "--inputs", MLP.parent, "-r", relu_rule("return g.Neg(a.self)")]
    done = t2o(*args, env=HERE)
    assert done.returncode == 4 and "error[E0401]" in done.stderr and "DIFFERS" in done.stdout and out.exists()
    report = json.loads(t2o(*args, "--json", env=HERE).stdout)
    assert report["exit_code"] == 4 and not report["verify"]["ok"] and report["output"] == str(out)


@pytest.mark.parametrize("options", [("--float16",), ("--bfloat16",), ("--float16", "--convert-io")])
def test_convert_to_16_bits(t2o, out, options):
    done = t2o("convert", MLP, "-o", out, "--verify", "--inputs", MLP.parent, *options, env=HERE)
    assert done.returncode == 0, done.stdout + done.stderr


# ---- usage ----

@pytest.mark.parametrize("args", [[], ["a.onnx"], ["a", "b", "c"], ["a", "b", "--rtol", "x"], ["a", "b", "--atol=-1"]])
def test_wrong_use(verify, args):
    assert "error[E0201]" in verify(2, *args).stderr


def test_wrong_sizes(verify, tmp_path):
    a = two_outputs(tmp_path / "a.onnx")
    assert "batch" in verify(2, a, a, "--set", "sequence=3").stderr
    verify(2, a, a, "--set", "batch=many")
    assert "error[E0501]" in verify(5, a, tmp_path / "absent.onnx").stderr


# ---- the script's own readers, held against other packages ----

@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"])
def test_float8(script, dtype):
    codes = np.arange(256, dtype=np.uint8)
    want = codes.view(getattr(ml_dtypes, dtype)).astype(np.float64)
    np.testing.assert_array_equal(script.Tensor(dtype, codes).numbers(), want)


def test_bfloat16(script):
    x = np.random.default_rng(0).standard_normal(1000) * 10.0 ** np.arange(-25, 25).repeat(20)
    x = np.append(x, [np.nan, np.inf, -np.inf, 0.0])
    got = script.encode(x, "bfloat16")
    want = x.astype(np.float32).astype(ml_dtypes.bfloat16)
    np.testing.assert_array_equal(got.numbers(), want.astype(np.float64))


@pytest.mark.parametrize("raw", [False, True])
@pytest.mark.parametrize("kind", ["FLOAT", "UINT8", "INT8", "UINT16", "INT16", "INT32", "INT64", "BOOL", "FLOAT16", "DOUBLE",
                                  "UINT32", "UINT64", "COMPLEX64", "COMPLEX128", "BFLOAT16"])
def test_tensors_of_protobuf(script, kind, raw):
    number = getattr(TensorProto, kind)
    array = np.array([[0, 1, 2], [3, 100, 1]]).astype(helper.tensor_dtype_to_np_dtype(number))
    if kind in ("INT8", "INT64", "FLOAT"):
        array = -array
    proto = numpy_helper.from_array(array, "x") if raw else helper.make_tensor("x", number, (2, 3), array.ravel())
    name, tensor = script.read_proto(proto.SerializeToString())
    assert name == "x" and tensor.shape == (2, 3)
    np.testing.assert_array_equal(tensor.numbers().astype(np.complex128), array.astype(np.complex128))


def test_sizes_of_expressions(script):
    sizes = {"s0": 4, "s1": 6}.__getitem__
    for text, want in (("2*s0 - 1", 7), ("(s1//2) + 1", 4), ("Max(s0, 5)*s0", 20), ("Mod(s0, 3)", 1), ("s0**2", 16),
                       ("Add(Symbol('s0', positive=True), Integer(1))", 5), ("unknown", None), ("__import__('os')", None)):
        assert script.evaluate(text, sizes) == want, text
