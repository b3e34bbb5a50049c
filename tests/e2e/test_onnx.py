"""ONNX models are read, brought to other opsets, and compute what they did."""
import json
import resource
import shutil

import numpy as np
import onnx
import onnxruntime as ort
import pytest

from paths import ROOT

MODELS = ROOT / "tests" / "data" / "onnx"
NAMES = sorted(f.parent.name for f in MODELS.glob("*/model.onnx"))
OPSETS = (11, 17, 22)
# (model, opset) -> why it cannot be said there
LIMITS = {}


def data(folder, kind):
    values = np.load(folder / "data.npz")
    return [values[f"{kind}{i}"] for i in range(sum(k.startswith(kind) for k in values.files))]


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize("name", NAMES)
def test_model(name, opset, t2o, out):
    done = t2o("convert", MODELS / name / "model.onnx", "-o", out, "--opset", opset)
    assert done.returncode == 0, done.stderr
    onnx.checker.check_model(str(out), full_check=True)
    session = ort.InferenceSession(str(out), providers=["CPUExecutionProvider"])
    feeds = dict(zip([i.name for i in session.get_inputs()], data(MODELS / name, "in")))
    for got, want in zip(session.run(None, feeds), data(MODELS / name, "out"), strict=True):
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-6)


def test_names_and_metadata_stay(convert):
    m = convert(MODELS / "conv_relu" / "model.onnx", "--opset", 18)
    assert [n.name for n in m.graph.node] == ["stem.conv", "stem.act"]
    assert {i.name for i in m.graph.initializer} == {"stem.conv.weight", "stem.conv.bias"}
    assert m.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "batch-size"
    assert {p.key: p.value for p in m.graph.node[0].metadata_props}["pkg.torch.onnx.name_scopes"].endswith("'conv2d']")


def test_info(t2o):
    done = t2o("info", MODELS / "conv_relu" / "model.onnx")
    assert done.returncode == 0
    assert "opset  ai.onnx 17" in done.stdout and "1  Conv" in done.stdout
    facts = json.loads(t2o("info", "--json", MODELS / "functions" / "model.onnx").stdout)
    assert facts["opsets"] == {"": 17, "my": 1} and facts["operators"]["onnx::Mul"] == 2


def test_custom_operators_pass(t2o, out, tmp_path):
    node = onnx.helper.make_node("Thing", ["x"], ["y"], domain="com.acme", strength=3.5)
    graph = onnx.helper.make_graph([node], "g", [onnx.helper.make_tensor_value_info("x", 1, [2])],
                                   [onnx.helper.make_tensor_value_info("y", 1, [2])])
    imports = [onnx.helper.make_opsetid("", 17), onnx.helper.make_opsetid("com.acme", 7)]
    path = tmp_path / "custom.onnx"
    onnx.save(onnx.helper.make_model(graph, opset_imports=imports, ir_version=8), str(path))
    done = t2o("convert", path, "-o", out)
    assert done.returncode == 0, done.stderr
    m = onnx.load(str(out))
    assert (m.graph.node[0].domain, m.graph.node[0].op_type, m.graph.node[0].attribute[0].f) == ("com.acme", "Thing", 3.5)
    assert {o.domain: o.version for o in m.opset_import}["com.acme"] == 7


def broken(change, name="conv_relu"):
    m = onnx.load(str(MODELS / name / "model.onnx"))
    change(m)
    return m


FAULTS = {
    "undefined": (5, "E0508", lambda m: m.graph.node[1].input.__setitem__(0, "nowhere"), "node 'stem.act' (Relu) uses 'nowhere'"),
    "twice": (5, "E0508", lambda m: m.graph.node.append(onnx.helper.make_node("Neg", ["x"], ["c"])), "'c' is defined twice"),
    "cycle": (5, "E0508", lambda m: m.graph.node[0].input.__setitem__(0, "y"), "has a cycle"),
    "unknown": (3, "E0301", lambda m: setattr(m.graph.node[1], "op_type", "Rellu"), "no operator 'Rellu' (node 'stem.act')"),
    "attribute": (5, "E0508", lambda m: setattr(m.graph.node[0].attribute[0], "name", "kernel"), "no attribute 'kernel'"),
    "dims": (5, "E0508", lambda m: m.graph.initializer[0].dims.extend([1 << 62, 1 << 62]), "impossible dimensions"),
    "short": (5, "E0507", lambda m: m.graph.initializer[0].dims.extend([2]), "less data than elements"),
    "opset": (5, "E0509", lambda m: setattr(m.opset_import[0], "version", 999), "999"),
    "output": (5, "E0508", lambda m: setattr(m.graph.output[0], "name", "z"), "output 'z'"),
}


@pytest.mark.parametrize("fault", sorted(FAULTS))
def test_faults_are_named(fault, refused, tmp_path):
    status, code, change, text = FAULTS[fault]
    path = tmp_path / "broken.onnx"
    path.write_bytes(broken(change).SerializeToString())
    assert text in refused(status, code, path)


def test_a_cut_file(refused, tmp_path):
    path = tmp_path / "cut.onnx"
    path.write_bytes((MODELS / "conv_relu" / "model.onnx").read_bytes()[:-7])
    refused(5, "E0508", path)


@pytest.mark.parametrize("location", ("../weights.bin", "/etc/passwd", "a/../../weights.bin", "..", ""))
def test_external_data_stay_in_the_folder(location, refused, tmp_path):
    folder = tmp_path / "model"
    shutil.copytree(MODELS / "external", folder)
    m = onnx.load(str(folder / "model.onnx"), load_external_data=False)
    for t in m.graph.initializer:
        for e in t.external_data:
            if e.key == "location":
                e.value = location
    (folder / "model.onnx").write_bytes(m.SerializeToString())
    assert "no path below the model's folder" in refused(5, "E0508", folder / "model.onnx")


def test_external_data_are_long_enough(refused, tmp_path):
    folder = tmp_path / "model"
    shutil.copytree(MODELS / "external", folder)
    (folder / "weights.bin").write_bytes(b"\0" * 100)
    refused(5, "E0507", folder / "model.onnx")


def test_a_function_that_calls_itself(refused, tmp_path):
    def change(m):
        m.functions[1].node[0].op_type = "Twice"
    path = tmp_path / "broken.onnx"
    path.write_bytes(broken(change, "functions").SerializeToString())
    assert "calls itself" in refused(5, "E0509", path)


def test_an_output_that_stands_twice(convert, tmp_path):
    path = tmp_path / "twice.onnx"
    path.write_bytes(broken(lambda m: m.graph.output.append(m.graph.output[0])).SerializeToString())
    assert [o.name for o in convert(path).graph.output] == ["y", "y_1"]


def saved(path, nodes, inits=(), shape=(2,), opset=18):
    """One input x, one output y, float."""
    info = [onnx.helper.make_tensor_value_info(n, 1, shape) for n in "xy"]
    graph = onnx.helper.make_graph(nodes, "g", info[:1], info[1:], list(inits))
    imports = [onnx.helper.make_opsetid("", opset), onnx.helper.make_opsetid("my", 1)]
    path.write_bytes(onnx.helper.make_model(graph, opset_imports=imports, ir_version=10).SerializeToString())
    return path


def test_a_body_defines_names_of_its_own(convert, out, tmp_path):
    """Both branches give 'y', which is what the If itself gives outside: no cycle."""
    def branch(op):
        y = onnx.helper.make_tensor_value_info("y", 1, [2])
        return onnx.helper.make_graph([onnx.helper.make_node(op, ["x"], ["y"])], op, [], [y])
    condition = onnx.helper.make_tensor("c", onnx.TensorProto.BOOL, [], [True])
    node = onnx.helper.make_node("If", ["c"], ["y"], then_branch=branch("Neg"), else_branch=branch("Abs"))
    convert(saved(tmp_path / "if.onnx", [node], [condition]))
    x = np.array([-2, 3], np.float32)
    np.testing.assert_array_equal(ort.InferenceSession(str(out)).run(None, {"x": x})[0], -x)


def test_lists_of_types_pass(t2o, out, tmp_path):
    node = onnx.helper.make_node("Foo", ["x"], ["y"], domain="my")
    attr = node.attribute.add(name="types", type=onnx.AttributeProto.TYPE_PROTOS)
    attr.type_protos.extend([onnx.helper.make_tensor_type_proto(t, None) for t in (1, 7)])
    assert t2o("convert", saved(tmp_path / "types.onnx", [node]), "-o", out).returncode == 0
    assert onnx.load(str(out)).graph.node[0].attribute[0].type_protos == attr.type_protos


def test_many_external_files(t2o, out, tmp_path):
    """More files than a process may hold open."""
    rng, nodes, weights, before = np.random.default_rng(0), [], [], "x"
    for i in range(80):
        t = onnx.numpy_helper.from_array(rng.standard_normal(300).astype(np.float32), f"w{i}")
        (tmp_path / f"w{i}.bin").write_bytes(t.raw_data)
        onnx.external_data_helper.set_external_data(t, f"w{i}.bin")
        t.ClearField("raw_data")
        weights.append(t)
        nodes.append(onnx.helper.make_node("Add", [before, t.name], [f"s{i}"]))
        before = f"s{i}"
    nodes.append(onnx.helper.make_node("Neg", [before], ["y"]))
    path = saved(tmp_path / "many.onnx", nodes, weights, [300])
    done = t2o("convert", path, "-o", out, limits={resource.RLIMIT_NOFILE: 40})
    assert done.returncode == 0, done.stderr
    x = np.zeros(300, np.float32)
    want, got = (ort.InferenceSession(str(p)).run(None, {"x": x})[0] for p in (path, out))
    np.testing.assert_array_equal(got, want)


def test_four_bits_go_to_the_data_file(t2o, out, tmp_path):
    weight = onnx.TensorProto(name="q", data_type=onnx.TensorProto.INT4, dims=[64, 64], raw_data=bytes(range(256)) * 8)
    nodes = [onnx.helper.make_node("DequantizeLinear", ["q", "s"], ["d"]), onnx.helper.make_node("MatMul", ["x", "d"], ["y"])]
    path = saved(tmp_path / "int4.onnx", nodes, [weight, onnx.helper.make_tensor("s", 1, [], [0.5])], [1, 64], 21)
    assert t2o("convert", path, "-o", out, "--weights", "external").returncode == 0
    read = onnx.load(str(out))
    assert read.graph.initializer[0].raw_data == weight.raw_data and out.with_name(out.name + ".data").exists()


def test_functions_differ_in_their_strings(t2o, out, tmp_path):
    """Two calls of a class, one comparing with 'a' and one with 'b': not one function."""
    nodes = []
    for i, text in enumerate((b"a", b"b")):
        constant = onnx.helper.make_tensor("v", onnx.TensorProto.STRING, [1], [text])
        pair = [onnx.helper.make_node("Constant", [], [f"c{i}"], value=constant),
                onnx.helper.make_node("Equal", ["x", f"c{i}"], [f"e{i}"])]
        for n in pair:
            n.metadata_props.add(key="pkg.torch.onnx.class_hierarchy", value="['net.Net', 'net.Is', 'aten.eq']")
            n.metadata_props.add(key="pkg.torch.onnx.name_scopes", value=f"['', 'is{i}', 'eq{i}']")
        nodes += pair
    outputs = [onnx.helper.make_tensor_value_info(f"e{i}", onnx.TensorProto.BOOL, [2]) for i in range(2)]
    x = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.STRING, [2])
    graph = onnx.helper.make_graph(nodes, "g", [x], outputs)
    path = tmp_path / "strings.onnx"
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 20)], ir_version=10), path)
    done = t2o("convert", path, "-o", out, "--functions", "Is")
    assert done.returncode == 0, done.stderr
    got = ort.InferenceSession(str(out)).run(None, {"x": np.array(["a", "b"], object)})
    assert [g.tolist() for g in got] == [[True, False], [False, True]]
