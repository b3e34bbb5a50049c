"""What a module made of ONNX looks like: steps as the functions they were, blocks as one class, weights in their place."""
import ast
import json
import re
import zipfile

import numpy as np
import onnx
import pytest
from onnx import helper as h
from onnx import numpy_helper as nh

from paths import CASES

RNG = np.random.default_rng(0)


def node(op, inputs, outputs, *modules, **attrs):
    """modules: (path, class) from the outermost on, as PyTorch's exporter says them."""
    n = h.make_node(op, inputs, outputs, **attrs)
    if modules:
        paths, classes = zip(*modules)
        n.metadata_props.add(key="pkg.torch.onnx.name_scopes", value=repr(["", *paths, outputs[0]]))
        n.metadata_props.add(key="pkg.torch.onnx.class_hierarchy", value=repr(["net.Net", *classes, "aten.op"]))
    return n


@pytest.fixture
def to_python(t2o, tmp_path):
    """Write a model (nodes, {name: array}, x's shape, y's shape) and convert it: the text, the names of weights."""
    def run(nodes, weights, x, y, dtype=1):
        infos = [h.make_tensor_value_info("x", dtype, x), h.make_tensor_value_info("y", 1, y)]
        graph = h.make_graph(nodes, "g", infos[:1], infos[1:], [nh.from_array(a, n) for n, a in weights.items()])
        path = tmp_path / "net.onnx"
        model = h.make_model(graph, opset_imports=[h.make_opsetid("", 20)], ir_version=10)
        onnx.save(onnx.shape_inference.infer_shapes(model), path)
        return of_model(path)

    def of_model(path):
        done = t2o("convert", path, "-o", tmp_path / "net.py")
        assert done.returncode == 0, done.stderr
        weights = tmp_path / "net.safetensors"
        names = {}
        if weights.exists():
            data = weights.read_bytes()
            names = json.loads(data[8:8 + int.from_bytes(data[:8], "little")])
            names.pop("__metadata__", None)
        return (tmp_path / "net.py").read_text().split("\n\n\ndef ")[0], sorted(names)
    run.of_model = of_model
    return run


def weights(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def scalar(x):
    return np.array(x, np.float32)


# ---------------------------------------------------------------- functions out of their steps
def attention(scale, mask=None, guard=None, turned=(0, 1, 3, 2)):
    """softmax(q * scale @ k^T [+ mask]) @ v of one x[2, 3, 4, 8], with the mask and what is done to its empty rows."""
    nodes = [node("Transpose", ["x"], ["k"], perm=turned), node("Mul", ["x", "scale"], ["q"]),
             node("MatMul", ["q", "k"], ["s"])]
    if mask == "float":
        nodes.append(node("Add", ["s", "mask"], ["m"]))
    elif mask:
        nodes.append(node("Where", ["mask", "s", "low"], ["m"]))
    nodes.append(node("Softmax", ["m" if mask else "s"], ["w"], axis=-1))
    if guard == "nan":
        nodes += [node("IsNaN", ["w"], ["bad"]), node("Where", ["bad", "zero", "w"], ["w2"])]
    elif guard == "mask":
        nodes.append(node("Where", ["mask", "w", "zero"], ["w2"]))
    nodes.append(node("MatMul", ["w2" if guard else "w", "x"], ["y"]))
    held = {"scale": scalar(scale), "low": scalar(-np.inf), "zero": scalar(0)}
    if mask == "float":
        held["mask"] = weights(4, 4)
    elif mask:
        held["mask"] = np.tril(np.ones((4, 4), bool)) if mask == "causal" else weights(4, 4) > 0
    return nodes, held


@pytest.mark.parametrize("scale, mask, guard, want", [
    (8 ** -0.5, None, None, r"scaled_dot_product_attention\(x, x, x\)"),
    (0.25, None, None, r"scaled_dot_product_attention\(x, x, x, scale=0.25\)"),
    (0.25, "float", "nan", r"scaled_dot_product_attention\(x, x, x, attn_mask=self\.\w+, scale=0.25\)"),
    (0.25, "bool", "mask", r"scaled_dot_product_attention\(x, x, x, attn_mask=self\.\w+, scale=0.25\)"),
    (0.25, "causal", None, r"scaled_dot_product_attention\(x, x, x, is_causal=True, scale=0.25\)"),
    # a row that sees nothing is NaN here, and 0 in PyTorch's function
    (0.25, "float", None, None), (0.25, "bool", None, None)])
def test_attention(to_python, scale, mask, guard, want):
    text, _ = to_python(*attention(scale, mask, guard), [2, 3, 4, 8], [2, 3, 4, 8])
    flat = re.sub(r"\s+", " ", text).replace("( ", "(").replace(" )", ")")
    assert re.search(want, flat) if want else "softmax" in text and "scaled_dot" not in text


def test_keys_that_are_not_turned_are_no_attention(to_python):
    nodes, held = attention(0.25, turned=(0, 3, 1, 2))
    nodes[2] = node("MatMul", ["q", "k"], ["s"])
    text, _ = to_python(nodes, held, [2, 2, 2, 2], [2, 2, 2, 2])
    assert "scaled_dot" not in text


@pytest.mark.parametrize("nodes, want", [
    ([node("Sigmoid", ["x"], ["s"]), node("Mul", ["x", "s"], ["y"])], "F.silu(x)"),
    ([node("Sigmoid", ["x"], ["s"]), node("Mul", ["s", "x"], ["y"])], "F.silu(x)"),
    ([node("Div", ["x", "root"], ["d"]), node("Erf", ["d"], ["e"]), node("Add", ["e", "one"], ["a"]),
      node("Mul", ["x", "a"], ["m"]), node("Mul", ["m", "half"], ["y"])], "F.gelu(x)"),
    ([node("Mul", ["x", "half"], ["d"]), node("Erf", ["d"], ["e"]), node("Add", ["e", "one"], ["a"]),
      node("Mul", ["x", "a"], ["m"]), node("Mul", ["m", "half"], ["y"])], "erf"),
    ([node("Sigmoid", ["x"], ["s"]), node("Mul", ["s", "s"], ["y"])], "sigmoid")])
def test_activations(to_python, nodes, want):
    held = {"root": scalar(2 ** 0.5), "one": scalar(1), "half": scalar(0.5)}
    assert want in to_python(nodes, held, [2, 3], [2, 3])[0]


# ---------------------------------------------------------------- modules
BLOCKS = [("layers", "torch.nn.modules.container.ModuleList")]


def block(i):
    return (f"layers.{i}", "net.Block")


def test_what_blocks_share_is_computed_in_each(to_python):
    """The exporter kept one Neg of two: the second block reads the first's."""
    nodes = [node("Abs", ["x"], ["s"]), node("Mul", ["x", "layers.0.weight"], ["a"], block(0)),
             node("Neg", ["s"], ["n"], block(0)), node("Add", ["a", "n"], ["b"], block(0)),
             node("Mul", ["b", "layers.1.weight"], ["c"], block(1)), node("Add", ["c", "n"], ["y"], block(1))]
    text, names = to_python(nodes, {f"layers.{i}.weight": weights(3) for i in range(2)}, [2, 3], [2, 3])
    assert text.count("class Block") == 1 and names == ["layers.0.weight", "layers.1.weight"]
    assert "nn.ModuleList([Block(), Block()])" in text


def test_what_a_block_gives_to_the_next_stays_its_result(to_python):
    nodes = [node("Neg", ["x"], ["n"], block(0)), node("Mul", ["n", "layers.1.weight"], ["y"], block(1))]
    text, _ = to_python(nodes, {"layers.1.weight": weights(3)}, [2, 3], [2, 3])
    assert text.count("-x") == 1


def linear(x, weight, bias, y, path):
    """As PyTorch's exporter writes nn.Linear on three dims, its weight turned and without a name."""
    where = (path, "torch.nn.modules.linear.Linear")
    return [node("MatMul", [x, weight], [y + "_p"], where), node("Add", [y + "_p", bias], [y], where)]


def test_equal_weights_that_are_stored_once(to_python):
    """Both layers' biases are zeros, which the exporter keeps by the first's name."""
    nodes = linear("x", "val_0", "a.bias", "h", "a") + linear("h", "val_1", "a.bias", "y", "b")
    held = {"val_0": weights(4, 4), "val_1": weights(4, 4), "a.bias": np.zeros(4, np.float32)}
    text, names = to_python(nodes, held, [2, 3, 4], [2, 3, 4])
    assert names == ["a.bias", "a.weight", "b.weight"]
    assert text.count("nn.Linear(4, 4)") == 2 and "self.b.bias = self.a.bias" in text


def test_a_module_that_is_called_twice(to_python):
    """Its weight was turned once for each call."""
    turned = weights(4, 4)
    nodes = linear("x", "val_0", "a.bias", "h", "a") + linear("h", "val_1", "a.bias", "y", "a")
    text, names = to_python(nodes, {"val_0": turned, "val_1": turned, "a.bias": weights(4)}, [2, 3, 4], [2, 3, 4])
    assert names == ["a.bias", "a.weight"] and "return self.a(self.a(x))" in text


def test_a_tied_head(to_python):
    """The embedding is stored by the name of the head."""
    nodes = [node("Gather", ["head.weight", "x"], ["e"], ("embed", "torch.nn.modules.sparse.Embedding")),
             node("Transpose", ["head.weight"], ["t"], ("head", "torch.nn.modules.linear.Linear"), perm=[1, 0]),
             node("MatMul", ["e", "t"], ["y"], ("head", "torch.nn.modules.linear.Linear"))]
    text, names = to_python(nodes, {"head.weight": weights(5, 4)}, [2, 3], [2, 3, 5], dtype=7)
    assert names == ["head.weight"] and "self.embed = nn.Embedding(5, 4)" in text
    assert "self.head = nn.Linear(4, 5, bias=False)" in text and "self.embed.weight = self.head.weight" in text


def test_a_constant_of_a_module_that_turned_out_a_layer(to_python):
    """The embedding's class scales; the weight is the head's, so that it is no class of its own but part of its caller."""
    nodes = [node("Gather", ["head.weight", "x"], ["e"], ("head", "net.Scaled")),
             node("Mul", ["e", "by"], ["s"], ("head", "net.Scaled")),
             node("Transpose", ["head.weight"], ["t"], ("head", "torch.nn.modules.linear.Linear"), perm=[1, 0]),
             node("MatMul", ["s", "t"], ["y"], ("head", "torch.nn.modules.linear.Linear"))]
    text, names = to_python(nodes, {"head.weight": weights(5, 4), "by": weights(4)}, [2, 3], [2, 3, 5], dtype=7)
    for name in names:
        assert re.search(rf"\b{name.split('.')[-1]}\b", text), name
    assert len(names) == 2


def test_names_that_are_no_identifiers_stay(to_python):
    _, names = to_python([node("Mul", ["x", "block-0.weight"], ["y"])], {"block-0.weight": weights(3)}, [2, 3], [2, 3])
    assert names == ["block-0.weight"]


def test_attention_modules(t2o, tmp_path, to_python):
    """There and back: the class that it was."""
    assert t2o("convert", CASES.parent / "options" / "attention.pt2", "-o", tmp_path / "a.onnx").returncode == 0
    text, names = to_python.of_model(tmp_path / "a.onnx")
    assert text.count("nn.MultiheadAttention(8, 2, batch_first=True)") == 2 and "in_proj_weight" not in text
    assert "own.in_proj_weight" in names and "other.out_proj.bias" in names


def test_the_class_of_blocks(t2o, tmp_path, to_python):
    assert t2o("convert", CASES.parent / "options" / "blocks.pt2", "-o", tmp_path / "a.onnx").returncode == 0
    text, names = to_python.of_model(tmp_path / "a.onnx")
    assert "class Block(nn.Module)" in text and text.count("class ") == 2 and "layers.2.norm.bias" in names


# ---------------------------------------------------------------- sizes and numbers
def test_a_size_that_only_a_dropped_result_shows(to_python):
    """Of the two parts only the size of the second is read."""
    nodes = [node("NonZero", ["x"], ["z"]), node("Shape", ["z"], ["l"], start=1),
             node("Sub", ["l", "one"], ["rest"]), node("Concat", ["one", "rest"], ["sizes"], axis=0),
             node("Split", ["z", "sizes"], ["first", "second"], axis=1),
             node("Shape", ["second"], ["n"], start=1),
             node("ConstantOfShape", ["n"], ["y"], value=h.make_tensor("v", 1, [1], [2.0]))]
    text, _ = to_python(nodes, {"one": np.array([1])}, [4], ["n"])
    assert re.search(r"shape\[\d\]", text)


def test_the_largest_float(to_python):
    text, _ = to_python([node("Min", ["x", "most"], ["y"])], {"most": np.finfo(np.float32).max.reshape(())}, [2], [2])
    assert "3.4028234663852886e+38" in text


# ---------------------------------------------------------------- comments
def test_comments_name_the_nodes(t2o, tmp_path):
    """A name is one line of a comment, whatever is in it."""
    names = ["first", "bad\nname = 1", "\r\"\"\"", "ж" * 200]
    nodes = [h.make_node("Neg" if i % 2 else "Sin", [f"v{i}" if i else "x"], [f"v{i + 1}" if i < 3 else "y"], name=n)
             for i, n in enumerate(names)]
    infos = [h.make_tensor_value_info(n, 1, [2]) for n in "xy"]
    model = h.make_model(h.make_graph(nodes, "g", infos[:1], infos[1:]), opset_imports=[h.make_opsetid("", 20)])
    model.ir_version = 10
    onnx.save(model, tmp_path / "a.onnx")
    for args in ((), ("--comments",)):
        assert t2o("convert", tmp_path / "a.onnx", "-o", tmp_path / "a.py", *args).returncode == 0
        text = (tmp_path / "a.py").read_text()
        tree = ast.parse(text)
        assert max(map(len, text.splitlines())) <= 100
        assert ("# first, bad?name = 1, " in text) == bool(args)
        assert not [n for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id == "name"]


# ---------------------------------------------------------------- 16 bits
def half(nodes, weights):
    """y = f(x) of bfloat16[2, 3, 4], for runtimes that have no kernel: each is cast up, the result down."""
    infos = [h.make_tensor_value_info(n, onnx.TensorProto.BFLOAT16, [2, 3, 4]) for n in "xy"]
    held = [h.make_tensor(n, onnx.TensorProto.BFLOAT16, a.shape, a.ravel().tolist()) for n, a in weights.items()]
    graph = h.make_graph(nodes, "g", infos[:1], infos[1:], held)
    return onnx.shape_inference.infer_shapes(h.make_model(graph, opset_imports=[h.make_opsetid("", 20)], ir_version=10))


def up(name):
    return node("Cast", [name], [f"{name}_up"], to=onnx.TensorProto.FLOAT)


def down(name, y="y"):
    return node("Cast", [name], [y], to=onnx.TensorProto.BFLOAT16)


DOT = h.make_node("Transpose", ["x_up"], ["t"], perm=[0, 2, 1])


@pytest.mark.parametrize("nodes, held, want, refused", [
    ([up("x"), node("Add", ["x_up", "x_up"], ["s"]), down("s")], {}, "x + x", "float32"),
    ([up("x"), node("Gelu", ["x_up"], ["s"]), down("s")], {}, "F.gelu(x)", "float32"),
    ([up("x"), up("a.weight"), up("a.bias"), node("Transpose", ["a.weight_up"], ["w"], perm=[1, 0]),
      node("MatMul", ["x_up", "w"], ["p"]), node("Add", ["p", "a.bias_up"], ["s"]), down("s")],
     {"a.weight": weights(4, 4), "a.bias": weights(4)}, "nn.Linear(4, 4, dtype=torch.bfloat16)", "float32"),
    # two steps round once here, twice in 16 bits
    ([up("x"), node("Exp", ["x_up"], ["e"]), node("Add", ["e", "x_up"], ["s"]), down("s")], {}, "float32", "impossible"),
    # attention that was written in 32 bits
    ([up("x"), DOT, node("MatMul", ["x_up", "t"], ["p"]), node("Softmax", ["p"], ["w"], axis=-1),
      node("MatMul", ["w", "x_up"], ["s"]), down("s")], {}, "float32", "impossible")])
def test_sixteen_bits(tmp_path, to_python, nodes, held, want, refused):
    onnx.save(half(nodes, held), tmp_path / "half.onnx")
    text, _ = to_python.of_model(tmp_path / "half.onnx")
    assert want in text and refused not in text


# ---------------------------------------------------------------- modules in the names of nodes, as TorchScript's exporter says
def named(op, inputs, outputs, name, **attrs):
    return h.make_node(op, inputs, outputs, name=name, **attrs)


def test_modules_by_names_of_nodes(to_python):
    """Of a Sequential of two linear layers, whose weights were turned; the second's bias equals the first's."""
    nodes = [named("MatMul", ["x", "onnx::MatMul_7"], ["a"], "/net/net.0/MatMul"),
             named("Add", ["a", "net.0.bias"], ["b"], "/net/net.0/Add"),
             named("Relu", ["b"], ["c"], "/net/net.1/Relu"),
             named("MatMul", ["c", "onnx::MatMul_8"], ["d"], "/net/net.2/MatMul"),
             named("Add", ["d", "net.0.bias"], ["e"], "/net/net.2/Add"), named("Sin", ["e"], ["y"], "/Sin")]
    held = {"onnx::MatMul_7": weights(4, 4), "onnx::MatMul_8": weights(4, 4), "net.0.bias": weights(4)}
    text, names = to_python(nodes, held, [2, 3, 4], [2, 3, 4])
    assert names == ["net.0.bias", "net.0.weight", "net.2.weight"]
    assert text.count("nn.Linear(4, 4)") == 2 and "self.net[2].bias = self.net[0].bias" in text
    assert "(x).relu()).sin()" in text


def test_names_that_say_less_than_those_of_weights(to_python):
    """A model traced before it was exported: all nodes are in one module, the weights tell more."""
    nodes = [named("Gemm", ["x", "net.a.fc.weight", "net.a.fc.bias"], ["h"], "/net/Gemm", transB=1),
             named("Gemm", ["h", "net.b.fc.weight", "net.b.fc.bias"], ["y"], "/net/Gemm_1", transB=1)]
    held = {f"net.{m}.fc.{n}": weights(*s) for m in "ab" for n, s in (("weight", (4, 4)), ("bias", (4,)))}
    text, _ = to_python(nodes, held, [2, 4], [2, 4])
    assert text.count("nn.Linear(4, 4)") == 1 and "class A(" in text


def test_constants_of_an_exporter_are_no_parameters(to_python):
    nodes = [named("Constant", [], ["/net/Constant_2_output_0"], "/net/Constant_2", value=nh.from_array(weights(3))),
             named("Mul", ["x", "/net/Constant_2_output_0"], ["m"], "/net/Mul"),
             named("Mul", ["m", "scale"], ["y"], "/net/Mul_1")]
    text, _ = to_python(nodes, {"scale": weights(3)}, [2, 3], [2, 3])
    assert text.count("nn.Parameter") == 1


def norm(**changed):
    """(x - mean) / sqrt(var + eps) * weight + bias, as it is written before opset 17."""
    a = {"axes": [-1], "exponent": "two", **changed}
    axes = nh.from_array(np.array(a["axes"]), "axes")
    return [node("ReduceMean", ["x", "axes"], ["m"], keepdims=1), node("Sub", ["x", "m"], ["d"]),
            node("Pow", ["d", a["exponent"]], ["p"]), node("ReduceMean", ["p", "axes"], ["v"], keepdims=1),
            node("Add", ["v", "eps"], ["e"]), node("Sqrt", ["e"], ["s"]), node("Div", ["d", "s"], ["n"]),
            node("Mul", ["n", "ln.weight"], ["w"]), node("Add", ["w", "ln.bias"], ["y"])], \
        {"axes": nh.to_array(axes), "two": scalar(2), "three": scalar(3), "eps": scalar(1e-5), "ln.weight": weights(4),
         "ln.bias": weights(4)}


@pytest.mark.parametrize("changed, want", [({}, True), ({"axes": [2]}, True), ({"axes": [1]}, False),
                                           ({"axes": [1, 2]}, False), ({"exponent": "three"}, False)])
def test_layer_norm(to_python, changed, want):
    text, _ = to_python(*norm(**changed), [2, 4, 4], [2, 4, 4])
    assert ("self.ln = nn.LayerNorm(4)" in text) == want


def root_mean_square(weight="norm.weight", exponent="two", inverse="Reciprocal"):
    """x / sqrt(mean(x^2) + eps) * weight, as PyTorch's exporter writes it."""
    nodes = [node("Pow", ["x", exponent], ["p"]), node("ReduceMean", ["p", "axes"], ["v"], keepdims=1),
             node("Add", ["v", "eps"], ["e"]), node("Sqrt", ["e"], ["s"])]
    if inverse == "Reciprocal":
        nodes += [node("Reciprocal", ["s"], ["r"]), node("Mul", ["x", "r"], ["n"])]
    else:
        nodes += [node("Div", ["x", "s"], ["n"])]
    held = {"two": scalar(2), "three": scalar(3), "eps": scalar(1e-6), "axes": np.array([-1]), weight: weights(4)}
    return [*nodes, node("Mul", [weight, "n"], ["y"])], held


@pytest.mark.parametrize("changed, want", [({}, True), ({"inverse": "Div"}, True), ({"exponent": "three"}, False)])
def test_rms_norm(to_python, changed, want):
    text, _ = to_python(*root_mean_square(**changed), [2, 3, 4], [2, 3, 4])
    assert ("self.norm = nn.RMSNorm(4, eps=1e-06)" in text) == want


def test_an_rms_norm_whose_steps_are_read(to_python):
    nodes, held = root_mean_square()
    nodes[-1].output[0] = "z"
    nodes.append(node("Add", ["z", "r"], ["y"]))
    text, _ = to_python(nodes, held, [2, 3, 4], [2, 3, 4])
    assert "RMSNorm" not in text and ".rsqrt()" in text


def tanh_gelu(cubic=0.044715, root=(2 / np.pi) ** 0.5):
    nodes = [node("Pow", ["x", "three"], ["q"]), node("Mul", ["q", "cubic"], ["k"]), node("Add", ["x", "k"], ["s"]),
             node("Mul", ["s", "root"], ["u"]), node("Tanh", ["u"], ["t"]), node("Add", ["t", "one"], ["a"]),
             node("Mul", ["x", "half"], ["h"]), node("Mul", ["h", "a"], ["y"])]
    return nodes, {n: scalar(x) for n, x in {"three": 3, "cubic": cubic, "root": root, "one": 1, "half": 0.5}.items()}


@pytest.mark.parametrize("changed, want", [({}, True), ({"cubic": 0.05}, False), ({"root": 0.8}, False)])
def test_gelu_by_tanh(to_python, changed, want):
    text, _ = to_python(*tanh_gelu(**changed), [2, 3], [2, 3])
    assert ('F.gelu(x, approximate="tanh")' in text) == want


def test_gelu_by_tanh_in_sixteen_bits(tmp_path, to_python):
    """Its steps round."""
    nodes, held = tanh_gelu()
    onnx.save(half(nodes, held), tmp_path / "half.onnx")
    assert ".tanh()" in to_python.of_model(tmp_path / "half.onnx")[0]


@pytest.mark.parametrize("op, number, want", [("Add", -3.0, "x - 3.0"), ("Sub", -3.0, "x + 3.0"), ("Mul", 0.1, "x * 0.1"),
                                              ("Add", -np.inf, 'x - float("inf")'), ("Pow", 2.0, "x ** 2"),
                                              ("PRelu", 0.1, "torch.tensor(0.1, device=x.device)")])
def test_numbers_as_people_write_them(to_python, op, number, want):
    text, _ = to_python([node(op, ["x", "n"], ["y"])], {"n": scalar(number)}, [2, 3], [2, 3])
    assert re.search(re.escape(want) + r"(?!\.?\d)", text)


def test_running_statistics_are_not_tied(to_python):
    """Mean and bias are one tensor of zeros, variance and weight one of ones; training changes the statistics."""
    n = node("BatchNormalization", ["x", "a.weight", "a.bias", "a.bias", "a.weight"], ["y"],
             ("a", "torch.nn.modules.batchnorm.BatchNorm2d"))
    held = {"a.weight": np.ones(3, np.float32), "a.bias": np.zeros(3, np.float32)}
    text, names = to_python([n], held, [2, 3, 4, 4], [2, 3, 4, 4])
    assert "nn.BatchNorm2d(3)" in text and "running_mean =" not in text
    assert names == ["a.bias", "a.running_mean", "a.running_var", "a.weight"]


def test_a_state_of_another_size_is_refused(t2o, tmp_path):
    """PyTorch's exporter writes projections of an LSTM so, which no runtime takes."""
    held = {"w": weights(1, 16, 3), "r": weights(1, 16, 4), "c": weights(1, 2, 8)}
    graph = h.make_graph([h.make_node("LSTM", ["x", "w", "r", "", "", "", "c"], ["y"], hidden_size=4)], "g",
                         [h.make_tensor_value_info("x", 1, [5, 2, 3])], [h.make_tensor_value_info("y", 1, [5, 1, 2, 4])],
                         [nh.from_array(a, n) for n, a in held.items()])
    onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 20)], ir_version=10), tmp_path / "a.onnx")
    done = t2o("convert", tmp_path / "a.onnx", "-o", tmp_path / "a.py")
    assert done.returncode == 3 and "a state of 8 numbers for a hidden size of 4" in done.stderr


def test_a_folded_norm(to_python):
    """The exporter says a kind of the last layer's weights, and none of those that it computed."""
    conv = node("Conv", ["x", "m.conv.weight", "m.conv.weight_bias"], ["c"], ("m.bn", "torch.nn.modules.BatchNorm2d"),
                kernel_shape=[3, 3])
    scaled = node("Mul", ["c", "m.scale"], ["y"], ("m", "net.Net"))
    held = {"m.conv.weight": weights(4, 3, 3, 3), "m.conv.weight_bias": weights(4), "m.scale": weights(4, 1, 1)}
    text, names = to_python([conv, scaled], held, [1, 3, 5, 5], [1, 4, 3, 3])
    assert "self.conv = nn.Conv2d(3, 4, 3)" in text and names == ["m.conv.bias", "m.conv.weight", "m.scale"]


def test_an_initialiser_that_is_an_input_too(to_python, t2o, tmp_path):
    """As exporters write with keep_initializers_as_inputs."""
    held = [nh.from_array(weights(4, 3), "fc.weight"), nh.from_array(weights(4), "fc.bias")]
    infos = [h.make_tensor_value_info(n, 1, s) for n, s in (("fc.weight", [4, 3]), ("fc.bias", [4]), ("x", [2, 3]), ("y", [2, 4]))]
    graph = h.make_graph([node("Gemm", ["x", "fc.weight", "fc.bias"], ["y"], transB=1)], "g", infos[:3], infos[3:], held)
    onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 20)], ir_version=10), tmp_path / "a.onnx")
    text, names = to_python.of_model(tmp_path / "a.onnx")
    assert "def forward(self, x):" in text and "nn.Linear(3, 4)" in text and names == ["fc.bias", "fc.weight"]


def test_bodies_of_one_name_stay_two(t2o, tmp_path):
    """In an archive they are attributes of one module."""
    bodies = [h.make_graph([h.make_node(op, ["x"], [op])], "b", [], [h.make_tensor_value_info(op, 1, [2])])
              for op in ("Neg", "Abs")]
    graph = h.make_graph([h.make_node("If", ["c"], ["y"], then_branch=bodies[0], else_branch=bodies[1])], "g",
                         [h.make_tensor_value_info("x", 1, [2]), h.make_tensor_value_info("c", 9, [])],
                         [h.make_tensor_value_info("y", 1, [2])])
    onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 20)], ir_version=10), tmp_path / "a.onnx")
    for a, b in (("a.onnx", "a.pt2"), ("a.pt2", "b.onnx")):
        assert t2o("convert", tmp_path / a, "-o", tmp_path / b).returncode == 0
    with zipfile.ZipFile(tmp_path / "a.pt2") as z:
        name, = (n for n in z.namelist() if n.endswith("models/model.json"))
        text = z.read(name).decode()
    named = re.findall(r'"as_graph": \{"name": "(\w+)"', text)
    assert len(named) == len(set(named)) == 2


def test_names_that_modules_and_python_have(to_python):
    """No weight, layer or argument can be called so: PyTorch finds its own first, or Python has no such name."""
    held = {"to.weight": weights(4, 4), "to.bias": weights(4), "type": weights(4), "class.lambda": weights(4)}
    nodes = [node("Gemm", ["x", "to.weight", "to.bias"], ["a"], transB=1), node("Add", ["a", "type"], ["b"]),
             node("Mul", ["b", "class.lambda"], ["y"])]
    text, names = to_python(nodes, held, [2, 4], [2, 4])
    assert names == ["class_.lambda_", "to_.bias", "to_.weight", "type_"] and "self.to_ = nn.Linear(4, 4)" in text


def test_a_layer_with_something_round_it(to_python):
    """Its module has a turn and initial zeros of a computed size beside the layer: they are not the layer's."""
    held = {"gru.W": weights(1, 12, 3), "gru.R": weights(1, 12, 4), "gru.zero": np.zeros((1, 1, 1), np.float32),
            "one": np.array([1]), "four": np.array([4]), "axis": np.array([1])}
    gru = ("gru", "torch.nn.modules.rnn.GRU")
    nodes = [node("Shape", ["x"], ["batch"], gru, start=1, end=2), node("Concat", ["one", "batch", "four"], ["state"], gru, axis=0),
             node("Expand", ["gru.zero", "state"], ["h"], gru),
             node("GRU", ["x", "gru.W", "gru.R", "", "", "h"], ["s"], gru, hidden_size=4, linear_before_reset=1),
             node("Squeeze", ["s", "axis"], ["t"], gru), node("Transpose", ["t"], ["y"], gru, perm=[1, 0, 2])]
    text, _ = to_python(nodes, held, [5, "n", 3], ["n", 5, 4])
    assert "self.gru = nn.GRU(3, 4, bias=False)" in text and "return self.gru(x)[0].transpose(0, 1)" in text


def test_the_bias_of_a_recurrent_layer_in_steps(to_python):
    """The exporter turned the weight, which lost its name: it is known by the bias's."""
    held = {"val_1": weights(3, 4), "m.bias_ih_l0_reverse": weights(4)}
    text, names = to_python([node("MatMul", ["x", "val_1"], ["p"]), node("Add", ["p", "m.bias_ih_l0_reverse"], ["y"])],
                            held, [2, 3], [2, 4])
    assert names == ["m.bias_ih_l0_reverse", "m.weight_ih_l0_reverse"]
    assert "torch.zeros((4, 3))" in text and "F.linear(" in text


def program_of(path):
    with zipfile.ZipFile(path) as z:
        name, = (n for n in z.namelist() if n.endswith("models/model.json"))
        return json.loads(z.read(name))


def write_model(path, nodes, x, y):
    infos = [h.make_tensor_value_info(n, 1, s) for n, s in (*x.items(), ("y", y))]
    graph = h.make_graph(nodes, "g", infos[:-1], infos[-1:])
    onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 20)], ir_version=10), path)
    return path


def test_an_example_that_the_model_takes(t2o, tmp_path):
    """torch.export.load tries a size on every shape; 4 is too small for a window of 7."""
    pool = h.make_node("MaxPool", ["x"], ["y"], kernel_shape=[7])
    model = write_model(tmp_path / "a.onnx", [pool], {"x": [1, 3, "n"]}, [1, 3, "n - 6"])
    assert t2o("convert", model, "-o", tmp_path / "a.pt2").returncode == 0
    sizes = program_of(tmp_path / "a.pt2")["graph_module"]["graph"]["tensor_values"]["x"]["sizes"]
    assert sizes[2]["as_expr"]["hint"] == {"as_int": 8}


@pytest.mark.parametrize("name", ["?", "None", ""])
def test_sizes_without_a_name_are_not_the_same(t2o, tmp_path, name):
    model = write_model(tmp_path / "a.onnx", [h.make_node("Neg", ["x"], ["y"])], {"x": [name, name, "n", "n"]},
                        [name, name, "n", "n"])
    assert t2o("convert", model, "-o", tmp_path / "a.pt2").returncode == 0
    sizes = program_of(tmp_path / "a.pt2")["graph_module"]["graph"]["tensor_values"]["x"]["sizes"]
    texts = [s["as_expr"]["expr_str"] for s in sizes]
    assert texts[2] == texts[3] and len(set(texts)) == 3


def test_an_example_in_a_body(t2o, tmp_path):
    """Frames of sound, cut out in a branch: the size is a quotient."""
    conv = h.make_node("MaxPool", ["x"], ["b"], kernel_shape=[256], strides=[128])
    bodies = [h.make_graph([conv], "a", [], [h.make_tensor_value_info("b", 1, [1, 2, None])]),
              h.make_graph([h.make_node("MaxPool", ["x"], ["c"], kernel_shape=[256], strides=[128])], "b", [],
                           [h.make_tensor_value_info("c", 1, [1, 2, None])])]
    graph = h.make_graph([h.make_node("If", ["k"], ["y"], then_branch=bodies[0], else_branch=bodies[1])], "g",
                         [h.make_tensor_value_info("x", 1, [1, 2, "n"]), h.make_tensor_value_info("k", 9, [])],
                         [h.make_tensor_value_info("y", 1, [1, 2, None])])
    onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 20)], ir_version=10), tmp_path / "a.onnx")
    assert t2o("convert", tmp_path / "a.onnx", "-o", tmp_path / "a.pt2").returncode == 0
    sizes = program_of(tmp_path / "a.pt2")["graph_module"]["graph"]["tensor_values"]["x"]["sizes"]
    assert sizes[2]["as_expr"]["hint"]["as_int"] >= 256 + 128


def test_arguments_in_an_archive(t2o, tmp_path):
    """torch.fx writes code with these names."""
    model = write_model(tmp_path / "a.onnx", [h.make_node("Sub", ["class", "torch"], ["y"])],
                        {"class": [2], "torch": [2]}, [2])
    assert t2o("convert", model, "-o", tmp_path / "a.pt2").returncode == 0
    names = program_of(tmp_path / "a.pt2")["graph_module"]["signature"]["input_specs"]
    assert [n["user_input"]["arg"]["as_tensor"]["name"] for n in names] == ["class_", "torch_"]


@pytest.mark.parametrize("names, producer, found", [
    (("c/kernel:0", "c/bias:0"), "tf2onnx", True), (("c.w_0", "c.b_0"), "PaddlePaddle", True),
    (("c_weights", "c_bn_offset"), "pytorch", False)])
def test_weights_by_the_names_of_other_frameworks(t2o, tmp_path, names, producer, found):
    """A parameter of PyTorch's that is called alike keeps its name."""
    held = [nh.from_array(a, n) for a, n in zip((weights(4, 3, 3, 3), weights(4)), names)]
    graph = h.make_graph([h.make_node("Conv", ["x", *names], ["y"])], "g", [h.make_tensor_value_info("x", 1, [1, 3, 5, 5])],
                         [h.make_tensor_value_info("y", 1, [1, 4, 3, 3])], held)
    onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 20)], ir_version=10, producer_name=producer),
              tmp_path / "a.onnx")
    assert t2o("convert", tmp_path / "a.onnx", "-o", tmp_path / "a.py").returncode == 0
    text = (tmp_path / "a.py").read_text()
    assert ("self.c = nn.Conv2d(3, 4, 3)" in text) == found and ("self.c_weights = " in text) != found


def test_an_input_of_unknown_rank(t2o, tmp_path):
    model = write_model(tmp_path / "a.onnx", [h.make_node("Neg", ["x"], ["y"])], {"x": None}, None)
    done = t2o("convert", model, "-o", tmp_path / "a.pt2")
    assert done.returncode == 3 and "input 'x' has an unknown rank" in done.stderr and "-o NAME.py" in done.stderr
    assert t2o("convert", model, "-o", tmp_path / "a.py").returncode == 0


# ---------------------------------------------------------------- large ones
def row(n):
    """One step behind the other."""
    names = ["x"] + [f"v{i}" for i in range(n)]
    return [h.make_node("Neg", [a], [b]) for a, b in zip(names, names[1:])], names[-1], [2]


def many_parts(n):
    """One value cut into many, all of them read."""
    parts = [f"s{i}" for i in range(n)]
    middle = [h.make_node("Neg", [p], [p + "n"]) for p in parts]
    return [h.make_node("Split", ["x"], parts, num_outputs=n), *middle,
            h.make_node("Concat", [p + "n" for p in parts], ["y"], axis=0)], "y", [n]


@pytest.mark.parametrize("build", [row, many_parts])
def test_large_graphs(t2o, tmp_path, build):
    """Quadratic work would take more instructions than a rule may."""
    nodes, result, shape = build(6000)
    graph = h.make_graph(nodes, "g", [h.make_tensor_value_info("x", 1, shape)],
                         [h.make_tensor_value_info(result, 1, shape)])
    onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 20)], ir_version=10), tmp_path / "a.onnx")
    for a, b in (("a.onnx", "a.pt2"), ("a.onnx", "a.py"), ("a.pt2", "b.onnx")):
        done = t2o("convert", tmp_path / a, "-o", tmp_path / b)
        assert done.returncode == 0, done.stderr
