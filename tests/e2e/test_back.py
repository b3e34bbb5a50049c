"""There and back: .pt2 to ONNX, that to an archive again, and the archive to ONNX, with the numbers of PyTorch."""
import json
import zipfile

import numpy as np
import onnx
import pytest

import case
from paths import CASES, ROOT

NAMES = sorted(f.parent.name for f in CASES.glob("*/case.json"))
LIMITS = {  # what cannot go all the way
    "carried_sizes": "a size that a loop carries is a tensor in ONNX",
    "extremes_of_nan": "ArgMax of ONNX passes NaN over, PyTorch's takes it",
    "fourier": "complex numbers come back as pairs",
    "fourier_dynamic": "a slice whose ends are computed is Python source only",
    "statistics_of_training": "--state const drops the statistics",
    "written_arguments": "the operators are the test's own",
    "written_arguments_functional": "the operators are the test's own",
}


@pytest.mark.parametrize("name", [n for n in NAMES if n not in LIMITS])
def test_there_and_back(name, t2o, tmp_path):
    folder, facts = CASES / name, json.loads((CASES / name / "case.json").read_text())
    steps = [folder / "model.pt2", tmp_path / "a.onnx", tmp_path / "b.pt2", tmp_path / "c.onnx"]
    rules = ["-r", CASES.parent / "rules" / facts["rules"]] if facts.get("rules") else []
    for a, b in zip(steps, steps[1:]):
        done = t2o("convert", a, "-o", b, "--state", "const", *rules)
        assert done.returncode == 0, f"{a.name} to {b.name}: {done.stderr}"
    for index in range(case.data_sets(folder)):
        got = case.run_ort(steps[-1], case.read_data(folder, "input", index))
        want = case.read_data(folder, "output", index)[:len(got) if facts.get("state") else None]
        assert not case.compare(want, got, least_atol=max(facts.get("atol", 0), 1e-6))


def test_weights_keep_their_names(t2o, tmp_path):
    """An archive made of a model that says what its weights are has the state_dict of the original."""
    digits = ROOT / "examples" / "digits" / "digits.pt2"
    for a, b in ((digits, "a.onnx"), (tmp_path / "a.onnx", "b.pt2"), (tmp_path / "b.pt2", "b.py"), (digits, "c.py")):
        assert t2o("convert", a, "-o", tmp_path / b).returncode == 0
    names = [header(tmp_path / f"{n}.safetensors") for n in "bc"]
    assert {n: names[0][n] for n in names[0]} == {n: names[1][n] for n in names[0]}
    assert set(names[1]) - set(names[0]) == {n for n in names[1] if n.endswith("num_batches_tracked")}


def header(path):
    data = path.read_bytes()
    entries = json.loads(data[8:8 + int.from_bytes(data[:8], "little")])
    return {n: (e["dtype"], e["shape"]) for n, e in entries.items() if n != "__metadata__"}


def test_a_rule_of_ones_own(t2o, tmp_path):
    """It comes before the built-in one, whose file is run later."""
    model, mine = tmp_path / "a.onnx", tmp_path / "mine.lua"
    mine.write_text('require("t2o.back").registry:rule("Relu(X)", function(t, n) return t.aten.sigmoid(n.X) end)\n')
    assert t2o("convert", CASES / "dynamic_mlp" / "model.pt2", "-o", model).returncode == 0
    assert t2o("convert", model, "-r", mine, "-o", tmp_path / "a.py").returncode == 0
    assert "sigmoid" in (tmp_path / "a.py").read_text()


def test_operators_without_a_rule_are_told_at_once(t2o, tmp_path):
    x, y = (onnx.helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, [2]) for n in "xy")
    nodes = [onnx.helper.make_node("First", ["x"], ["a"], domain="acme"),
             onnx.helper.make_node("Second", ["a"], ["y"], domain="acme")]
    imports = [onnx.helper.make_opsetid("", 20), onnx.helper.make_opsetid("acme", 1)]
    onnx.save(onnx.helper.make_model(onnx.helper.make_graph(nodes, "g", [x], [y]), opset_imports=imports, ir_version=10),
              tmp_path / "a.onnx")
    done = t2o("convert", tmp_path / "a.onnx", "-o", tmp_path / "a.py")
    assert done.returncode == 3 and "acme::First, acme::Second" in done.stderr and not (tmp_path / "a.py").exists()


def program(path):
    with zipfile.ZipFile(path) as z:
        name, = (n for n in z.namelist() if n.endswith("models/model.json"))
        return json.loads(z.read(name))


def test_ranges_come_back(t2o, tmp_path):
    first = CASES / "dynamic_attention" / "model.pt2"
    for a, b in ((first, "a.onnx"), (tmp_path / "a.onnx", "b.pt2")):
        assert t2o("convert", a, "-o", tmp_path / b).returncode == 0
    want, got = (program(p)["range_constraints"] for p in (first, tmp_path / "b.pt2"))
    assert want and {n: got[n] for n in want} == want


@pytest.mark.parametrize("text", ("{s0: VR[2, int_oo]}", "{n: VR[5, 3]}", "{n: VR[x, 3]}", "{n: VR[1", "{n", "n: ", "{}", "}"))
def test_ranges_of_another_form_are_passed_over(t2o, tmp_path, text):
    model = saved(tmp_path / "a.onnx", [onnx.helper.make_node("Neg", ["x"], ["y"])], ["n"])
    model.graph.metadata_props.add(key="pkg.torch.export.ExportedProgram.range_constraints", value=text)
    onnx.save(model, tmp_path / "a.onnx")
    assert t2o("convert", tmp_path / "a.onnx", "-o", tmp_path / "a.pt2").returncode == 0
    assert program(tmp_path / "a.pt2")["range_constraints"] == {"s_n": {"min_val": 0, "max_val": None}}


def saved(path, nodes, shape, weights=()):
    x, y = (onnx.helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, shape) for n in "xy")
    graph = onnx.helper.make_graph(nodes, "g", [x], [y], list(weights))
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 20)], ir_version=10)
    onnx.save(model, path)
    return model


def test_a_weight_is_not_named_as_a_module(t2o, tmp_path):
    weights = [onnx.numpy_helper.from_array(np.ones(2, np.float32), n) for n in ("a", "a.weight")]
    nodes = [onnx.helper.make_node("Mul", ["x", "a"], ["m"]), onnx.helper.make_node("Mul", ["m", "a.weight"], ["y"])]
    saved(tmp_path / "a.onnx", nodes, [2], weights)
    assert t2o("convert", tmp_path / "a.onnx", "-o", tmp_path / "a.py").returncode == 0
    assert sorted(header(tmp_path / "a.safetensors")) == ["a.weight", "a_1"]
