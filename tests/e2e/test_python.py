"""t2o convert MODEL.pt2 -o OUT.py: the source and its weights, without PyTorch. That the modules compute the same and
train is measured with PyTorch at hand: tests/torch/run_python.py."""
import ast
import json
import zipfile

import numpy as np
import pytest

from paths import BAD, CASES, MLP

GOLDEN = sorted(f.parent.name for f in CASES.glob("*/model.py"))
NUMPY = {"F32": "<f4", "F64": "<f8", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I8": "i1", "U8": "u1", "BOOL": "?",
         "C64": "<c8"}


@pytest.fixture
def to_python(t2o, tmp_path):
    """Convert a model that must succeed; returns the path of the source."""
    def run(model, *args):
        folder = tmp_path / "python"
        folder.mkdir(exist_ok=True)
        done = t2o("convert", model, "-o", folder / "model.py", *args)
        assert done.returncode == 0, done.stderr
        assert sorted(f.name for f in folder.iterdir()) == ["model.py", "model.safetensors"]
        return folder / "model.py"
    return run


def read_safetensors(path):
    """The header, and the tensors as arrays."""
    data = path.read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:start])
    header.pop("__metadata__", None)
    return header, {name: np.frombuffer(data[start:][slice(*e["data_offsets"])], NUMPY[e["dtype"]]).reshape(e["shape"])
                    for name, e in header.items() if e["dtype"] in NUMPY}, len(data) - start


def archived_weights(pt2):
    """name -> (record, sizes) of the archive's state_dict, and the archive's records."""
    with zipfile.ZipFile(pt2) as z:
        name = next(n for n in z.namelist() if n.endswith("_weights_config.json"))
        config = json.loads(z.read(name))["config"]
        records = {e["path_name"]: z.read(name.rpartition("/")[0] + "/" + e["path_name"]) for e in config.values()}
    return {n: (e["path_name"], [d["as_int"] for d in e["tensor_meta"]["sizes"]]) for n, e in config.items()}, records


@pytest.mark.parametrize("name", GOLDEN)
def test_the_text(to_python, name):
    """The source of small models, as it should read."""
    assert to_python(CASES / name / "model.pt2").read_text() == (CASES / name / "model.py").read_text()


# What has no form in Python yet: writes through views in a custom operator, a product in a wider type, vmap, numbers
# that a loop carries.
REFUSED = ["associative_scans", "carried_sizes", "out_dtypes", "vmapped", "written_arguments_functional"]


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(refused, out, name):
    assert "has no form in Python" in refused(3, "E0302", CASES / name / "model.pt2", "-o", out.with_name("model.py"))


@pytest.mark.parametrize("name", sorted(f.parent.name for f in CASES.glob("*/model.pt2")
                                        if f.parent.name not in REFUSED))
def test_every_case_gives_a_module(to_python, name):
    source = to_python(CASES / name / "model.pt2").read_text()
    tree = ast.parse(source, feature_version=(3, 10))
    assert source.endswith("\n") and "\t" not in source
    assert max(map(len, source.splitlines())) <= 100
    assert [n.name for n in tree.body if isinstance(n, ast.FunctionDef)][-1] == "load"
    assert "Model" in [n.name for n in tree.body if isinstance(n, ast.ClassDef)]


def test_weights_are_those_of_the_archive(to_python):
    """Names, shapes and bytes; what is aligned to its elements may be mapped."""
    header, arrays, size = read_safetensors(to_python(MLP).with_suffix(".safetensors"))
    weights, records = archived_weights(MLP)
    assert set(header) == set(weights)
    for name, (record, sizes) in weights.items():
        assert list(arrays[name].shape) == sizes
        assert arrays[name].tobytes() == records[record][:arrays[name].nbytes]
    assert max(e["data_offsets"][1] for e in header.values()) == size


def test_offsets_leave_no_gap_and_are_aligned(to_python):
    path = to_python(CASES / "conv_batch_norm" / "model.pt2").with_suffix(".safetensors")
    header, arrays, _ = read_safetensors(path)
    spans = sorted(e["data_offsets"] for e in header.values())
    assert spans[0][0] == 0 and all(a[1] == b[0] for a, b in zip(spans, spans[1:]))
    assert int.from_bytes(path.read_bytes()[:8], "little") % 8 == 0
    assert all(header[n]["data_offsets"][0] % a.dtype.itemsize == 0 for n, a in arrays.items())


def test_a_tied_weight_stands_once(to_python):
    py = to_python(CASES / "tied_weights" / "model.pt2")
    header, _, _ = read_safetensors(py.with_suffix(".safetensors"))
    weights, _ = archived_weights(CASES / "tied_weights" / "model.pt2")
    assert len(weights) == len(header) + 1
    assert "self.out.weight = self.table.weight" in py.read_text()


def test_the_same_bytes_again(to_python):
    model = CASES / "multihead_attention" / "model.pt2"
    first = [to_python(model).with_suffix(s).read_bytes() for s in (".py", ".safetensors")]
    assert first == [to_python(model).with_suffix(s).read_bytes() for s in (".py", ".safetensors")]


def test_sizes_stay_open(to_python):
    source = to_python(CASES / "dynamic_sizes" / "model.pt2").read_text()
    assert ".shape[" in source


def without_places(pt2, path):
    """A copy of an archive that does not say which module and line a node comes from, as an ONNX model would not."""
    def strip(x):
        if isinstance(x, dict):
            return {k: {} if k == "metadata" and "target" in x else strip(v) for k, v in x.items()}
        return [strip(v) for v in x] if isinstance(x, list) else x
    with zipfile.ZipFile(pt2) as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if name.endswith("models/model.json"):
                data = json.dumps(strip(json.loads(data))).encode()
            new.writestr(name, data)
    return path


MODULES = {True: """
        self.fc1 = nn.Linear(4, 8)
        self.act = nn.ReLU()
        self.blocks = nn.Sequential(nn.Linear(8, 8), nn.GELU(approximate="tanh"))
        self.fc2 = nn.Linear(8, 2)

    def forward(self, x):
        input = self.blocks(self.act(self.fc1(x)))
        return self.fc2(input)
""", False: """
        self.fc1 = nn.Linear(4, 8)
        self.blocks = nn.ModuleList([nn.Linear(8, 8)])
        self.fc2 = nn.Linear(8, 2)

    def forward(self, x):
        x = F.gelu(self.blocks[0](self.fc1(x).relu()), approximate="tanh")
        return self.fc2(x)
"""}


@pytest.mark.parametrize("known", MODULES)
def test_modules_are_found_by_the_names_of_weights(to_python, tmp_path, known):
    """By what the archive says of each node, or without it by what the weights are called."""
    pt2 = CASES.parent / "pt2" / "mlp.pt2"
    source = to_python(pt2 if known else without_places(pt2, tmp_path / "plain.pt2")).read_text()
    assert MODULES[known] in source


def test_a_rule_of_the_user_comes_first(to_python, rules):
    mine = rules('local python = require("t2o.pyrules").registry\n'
                 'python:form { ["mul.Tensor"] = "torch.mul({self}, {other})" }\n')
    assert "torch.mul(" not in to_python(CASES / "arithmetic" / "model.pt2").read_text()
    assert "torch.mul(" in to_python(CASES / "arithmetic" / "model.pt2", "-r", mine).read_text()


def test_a_place_that_cannot_be_written(t2o, tmp_path):
    (tmp_path / "file").write_text("x")
    done = t2o("convert", MLP, "-o", tmp_path / "file" / "model.py")
    assert done.returncode == 1 and "error[E0101" in done.stderr
    (tmp_path / "model.py").mkdir()
    done = t2o("convert", MLP, "-o", tmp_path / "model.py")
    assert done.returncode == 1 and not list(tmp_path.glob("*.part")) and not list(tmp_path.glob("*.safetensors"))


def test_a_custom_operator_is_called_as_it_is(to_python):
    """No rule is needed: PyTorch has the operator."""
    assert "torch.ops.mylib.foo.default(" in to_python(BAD / "missing_op.pt2").read_text()


def test_the_report(t2o, tmp_path):
    done = t2o("convert", MLP, "-o", tmp_path / "model.py", "--json")
    report = json.loads(done.stdout)
    assert done.returncode == 0 and report["ok"] and report["output"].endswith("model.py")
