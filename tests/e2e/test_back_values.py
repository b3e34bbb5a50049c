"""Numbers of ONNX where PyTorch's functions give others, or raise: what the module that is made of a model says."""
import re

import numpy as np
import onnx
import pytest
from onnx import helper as h
from onnx import numpy_helper as nh

FLOAT, UINT16, INT32, INT64, BOOL, UINT32, UINT64 = 1, 4, 6, 7, 9, 12, 13


def node(op, inputs, outputs, **attrs):
    return h.make_node(op, inputs, outputs, **attrs)


@pytest.fixture
def convert(t2o, tmp_path):
    """Write a model (nodes, {input: (dtype, shape)}, {output: dtype}, {name: array}) and convert it."""
    def run(nodes, inputs, outputs, weights=None, opset=21, to="net.py"):
        graph = h.make_graph(nodes, "g", [h.make_tensor_value_info(n, *info) for n, info in inputs.items()],
                             [h.make_tensor_value_info(n, dtype, None) for n, dtype in outputs.items()],
                             [nh.from_array(np.asarray(a), n) for n, a in (weights or {}).items()])
        model = h.make_model(graph, opset_imports=[h.make_opsetid("", opset)], ir_version=10)
        onnx.save(model, tmp_path / "net.onnx")
        return t2o("convert", tmp_path / "net.onnx", "-o", tmp_path / to)
    return run


@pytest.fixture
def to_python(convert, tmp_path):
    """The text of the module: helpers and classes."""
    def run(*args, **kwargs):
        done = convert(*args, **kwargs)
        assert done.returncode == 0, done.stderr
        return re.split(r"\n\n\ndef (?:load|read_weights)\(", (tmp_path / "net.py").read_text())[0]
    return run


# ---------------------------------------------------------------- ranges
@pytest.mark.parametrize("start, limit, step, want", [
    (2, 5, 1, "arange(2, 5,"), (5, 2, 1, "arange(5, 5,"), (5, 2, -2, "arange(5, 2, -2,"), (2, 5, -1, "arange(2, 2, -1,"),
    (0, -3, 1, "arange(0,"), (None, 5, 1, "max("), (5, None, -1, "min("), (2, 5, None, "counted(2, 5,")])
def test_a_range_whose_limit_lies_before_its_start(to_python, start, limit, step, want):
    """It is empty; torch.arange raises."""
    numbers = {"start": start, "limit": limit, "step": step}
    known = {n: np.int64(x) for n, x in numbers.items() if x is not None}
    inputs = {n: (INT64, []) for n in numbers if n not in known}
    text = to_python([node("Range", [*numbers], ["r"]), node("Add", ["r", "x"], ["y"])],
                     {"x": (INT64, [1]), **inputs}, {"y": INT64}, known)
    assert want in text


@pytest.mark.parametrize("first, add, want", [(0, 2, "arange(x.shape[0] + 2,"), (2, 2, "arange(2, x.shape[0] + 2,"),
                                              (0, -2, "arange(max(x.shape[0] - 2, 0),")])
def test_a_range_up_to_a_size(to_python, first, add, want):
    nodes = [node("Shape", ["x"], ["s"], end=1), node("Squeeze", ["s"], ["n"]), node("Add", ["n", "add"], ["limit"]),
             node("Range", ["first", "limit", "one"], ["y"])]
    text = to_python(nodes, {"x": (FLOAT, ["n"])}, {"y": INT64},
                     {"add": np.int64(add), "first": np.int64(first), "one": np.int64(1)})
    assert want in text.replace("\n", "")


# ---------------------------------------------------------------- embeddings
COMPUTED = [node("Add", ["x", "k"], ["i"])], [node("Neg", ["x"], ["i"])], [node("TopK", ["x", "k"], ["v", "i"])], \
    [node("Mul", ["x", "k"], ["i"])], [node("Sub", ["x", "k"], ["m"]), node("Reshape", ["m", "k"], ["i"])], \
    [node("Range", ["from", "to", "step"], ["i"])]


@pytest.mark.parametrize("nodes, k, name, want", [
    ([], [0], "e.weight", True), ([], [0], "w", False), (COMPUTED[0], [2], "e.weight", True),
    (COMPUTED[0], [-2], "e.weight", False), (COMPUTED[1], [0], "e.weight", False), (COMPUTED[2], [1], "e.weight", True),
    (COMPUTED[2], [1], "w", True), (COMPUTED[3], [-1], "e.weight", False), (COMPUTED[3], [2], "e.weight", True),
    (COMPUTED[4], [3], "e.weight", False), (COMPUTED[5], [0], "e.weight", False)])
def test_rows_counted_from_the_end_are_no_embedding(to_python, nodes, k, name, want):
    """ONNX's Gather takes negative indices; inputs of a model that read a module's weight are taken for ids."""
    numbers = {"k": np.array(k), "from": np.int64(-2), "to": np.int64(2), "step": np.int64(1)}
    text = to_python([*nodes, node("Gather", [name, "i" if nodes else "x"], ["y"])], {"x": (INT64, [4])}, {"y": FLOAT},
                     {name: np.zeros((6, 3), np.float32), **numbers})
    assert ("mbedding(" in text) == want and ("weight[" in text or ".w[" in text) != want


# ---------------------------------------------------------------- parts
@pytest.mark.parametrize("size, want", [("n", "split_evenly(x, 3, 0)"), (None, "split_evenly(x, 3, 0)"), (6, "x.chunk(3)"),
                                        (7, "x.split((3, 3, 1))"), (4, "x.split((2, 2, 0))")])
def test_parts_of_a_size(to_python, size, want):
    """torch.chunk gives fewer parts where they come out even earlier."""
    text = to_python([node("Split", ["x"], ["a", "b", "c"], num_outputs=3)], {"x": (FLOAT, size and [size])},
                     {n: FLOAT for n in "abc"})
    assert want in text


# ---------------------------------------------------------------- unsigned integers
MOVED = {
    "flip": ([node("Slice", ["x", "last", "far", "zero", "last"], ["y"])], "x.to(torch.{})"),
    "pad": ([node("Pad", ["x", "pads"], ["y"], mode="edge")], "x.to(torch.{})"),
    "eye": ([node("EyeLike", ["two"], ["y"], dtype=0)], "dtype=torch.{}"),
    "band": ([node("EyeLike", ["two"], ["y"], dtype=0, k=1)], "dtype=torch.{})"),
    "range": ([node("Range", ["a", "b", "c"], ["y"])], "dtype=torch.{}"),
    "sum": ([node("Sum", ["x", "x"], ["y"])], "x.to(torch.{})"),
}


@pytest.mark.parametrize("name", MOVED)
@pytest.mark.parametrize("dtype, wide", [(UINT16, "int32"), (UINT32, "int64"), (UINT64, "int64")])
def test_where_pytorch_has_no_kernel(to_python, name, dtype, wide):
    nodes, want = MOVED[name]
    nodes = [onnx.NodeProto.FromString(n.SerializeToString()) for n in nodes]
    for attr in (a for n in nodes for a in n.attribute if a.name == "dtype"):
        attr.i = dtype
    held = {"last": [-1], "far": [-9], "zero": [0], "pads": [1, 2], "two": np.zeros((2, 2), np.float32)}
    narrow = h.tensor_dtype_to_np_dtype(dtype)
    held |= {n: narrow.type(i) for i, n in enumerate("acb", 1)}
    text = to_python(nodes, {"x": (dtype, [4])}, {"y": dtype}, {n: np.array(a) for n, a in held.items()})
    assert want.format(wide) in text and f".to(torch.{narrow})" in text


def test_the_order_of_large_unsigned_integers(to_python):
    """They are negative where PyTorch computes."""
    nodes = [node("ArgMax", ["x"], ["a"], axis=0), node("TopK", ["x", "k"], ["v", "i"]),
             node("ScatterElements", ["x", "i", "v"], ["m"], reduction="max")]
    text = to_python(nodes, {"x": (UINT64, [4])}, {"a": INT64, "v": UINT64, "m": UINT64}, {"k": np.array([2])})
    assert text.count("-9223372036854775808") >= 3


@pytest.mark.parametrize("dtype, value, want", [
    (UINT64, 2 ** 63, "F.pad(x.to(torch.int64) - -9223372036854775808, (1, 2)) + -9223372036854775808"),
    (INT64, 2 ** 53 + 1, "F.pad(x - 9007199254740993, (1, 2)) + 9007199254740993"), (INT64, 3, "F.pad(x, (1, 2), value=3")])
def test_padding_with_numbers_that_no_double_holds(to_python, dtype, value, want):
    value = np.array(value, h.tensor_dtype_to_np_dtype(dtype))
    text = to_python([node("Pad", ["x", "p", "v"], ["y"])], {"x": (dtype, [4])}, {"y": dtype},
                     {"p": np.array([1, 2]), "v": value})
    assert want in text


@pytest.mark.parametrize("value", [2 ** 63, 2 ** 64 - 1])
def test_large_unsigned_constants(to_python, convert, value):
    n, held = [node("Where", ["c", "x", "v"], ["y"])], {"v": np.array(value, np.uint64)}
    args = n, {"c": (BOOL, [4]), "x": (UINT64, [4])}, {"y": UINT64}, held
    assert hex(value) in to_python(*args)
    assert convert(*args, to="net.pt2").returncode == 0


def test_numbers_of_few_digits_where_they_are_the_same(to_python):
    nodes = [node("Pad", ["x", "p", "v"], ["a"]), node("Max", ["a", "v", "a"], ["b"]), node("Dropout", ["b", "v"], ["y"])]
    text = to_python(nodes, {"x": (FLOAT, [4])}, {"y": FLOAT}, {"p": np.array([1, 2]), "v": np.float32(0.1)})
    assert text.count("0.1") == 3 and "0.1000" not in text


# ---------------------------------------------------------------- edges
@pytest.mark.parametrize("start, stop, size, want", [
    (-1, -9, 5, "x.flip"), (-100, -200, 5, "x[:1].flip"), (-7, -100, 5, "x[:1].flip"), (-2, -5, 5, "x[1:4].flip"), (-2, -4, "n", "x[-3:max(x.shape[0] - 1, 1)].flip"),
    (100, 0, 5, "x[1:].flip"), (3, -2 ** 31, "n", "x[:4].flip"), (-3, -2 ** 31, "n", "x[: max(x.shape[0] - 2, 1)].flip"),
    (-3, -100, None, "slice_dims(x,")])
def test_backwards_from_before_the_start(to_python, start, stop, size, want):
    """Such a start is moved to the first element, in PyTorch and Python it is none."""
    held = {"s": [start], "e": [stop], "axes": [0], "step": [-1]}
    text = to_python([node("Slice", ["x", *held], ["y"])], {"x": (FLOAT, size and [size])}, {"y": FLOAT},
                     {n: np.array(a) for n, a in held.items()})
    assert want.replace(" ", "") in text.replace(" ", "")


@pytest.mark.parametrize("shape, want", [([], "x.reshape(1).nonzero()"), (None, "torch.atleast_1d(x).nonzero()"),
                                         (["n"], "x.nonzero()")])
def test_places_of_a_number(to_python, shape, want):
    assert want in to_python([node("NonZero", ["x"], ["y"])], {"x": (FLOAT, shape)}, {"y": INT64})


@pytest.mark.parametrize("mode", ["edge", "reflect", "wrap"])
def test_negative_padding_is_cut_off_first(to_python, mode):
    text = to_python([node("Pad", ["x", "p"], ["y"], mode=mode)], {"x": (FLOAT, [5])}, {"y": FLOAT},
                     {"p": np.array([-1, 2])})
    assert "x[1:]" in text and "torch.arange(0, 6" in text


def test_the_extreme_of_nothing(to_python):
    text = to_python([node("ReduceMin", ["x", "a"], ["y"])], {"x": (UINT64, [2, 0])}, {"y": UINT64}, {"a": np.array([1])})
    assert "torch.full((2, 1), -1, dtype=torch.int64" in text


@pytest.mark.parametrize("size, axes, want", [("n", [1], 'amax_or(x, (1,), True, -float("inf"))'), ("n", [0], "x.amax(dim=0"),
                                              (3, [1], "x.amax(dim=1"), (None, None, "amax_or(x, (), True")])
def test_the_extreme_of_what_may_be_nothing(to_python, size, axes, want):
    held = {} if axes is None else {"a": np.array(axes)}
    text = to_python([node("ReduceMax", ["x", *held], ["y"])], {"x": (FLOAT, size and [2, size])}, {"y": FLOAT}, held)
    assert want in text


# ---------------------------------------------------------------- statistics of one element
NORMS = {
    "instance": (node("InstanceNormalization", ["x", "w", "b"], ["y"]), "torch.instance_norm(", "F.instance_norm("),
    "group": (node("GroupNormalization", ["x", "w", "b"], ["y"], num_groups=3), "torch.group_norm(", "F.group_norm("),
    "batch": (node("BatchNormalization", ["x", "w", "b", "w", "b"], ["y", "", ""], training_mode=1),
              "torch.batch_norm(", "F.batch_norm("),
}


@pytest.mark.parametrize("name", NORMS)
@pytest.mark.parametrize("shape, one", [([1, 3, 1, 1], True), ([1, 3, "h", "w"], True), ([1, 3, 4, "w"], False)])
def test_statistics_of_one_element(to_python, name, shape, one):
    """PyTorch's functions refuse them; what is of several elements for sure stays a function or a layer."""
    n, operator, function = NORMS[name]
    text = to_python([n], {"x": (FLOAT, shape), "w": (FLOAT, [3]), "b": (FLOAT, [3])}, {"y": FLOAT})
    assert (operator in text) == one and (function in text) != one


# ---------------------------------------------------------------- unknown ranks
@pytest.mark.parametrize("n", [
    node("DepthToSpace", ["x"], ["y"], blocksize=2), node("Gather", ["x", "i"], ["y"], axis=-2), node("LRN", ["x"], ["y"], size=2),
    node("ScatterElements", ["x", "i", "x"], ["y"], axis=-1), node("OneHot", ["i", "i", "x"], ["y"], axis=0),
    node("ScatterND", ["x", "i", "x"], ["y"], reduction="mul"), node("CenterCropPad", ["x", "i"], ["y"])])
def test_an_unknown_rank_that_is_asked_for(convert, n):
    done = convert([n], {"x": (FLOAT, None), "i": (INT64, None)}, {"y": FLOAT})
    assert done.returncode == 3 and "error[E0302]: unsupported use of " + n.op_type in done.stderr


@pytest.mark.parametrize("n, want", [
    (node("Pad", ["x", "i"], ["y"], mode="edge"), "pad_dims(x,"), (node("NonZero", ["x"], ["y"]), "atleast_1d"),
    (node("Reshape", ["x", "zero"], ["y"]), "x.reshape(x.shape[0], -1)")])
def test_an_unknown_rank_that_need_not_be_known(to_python, n, want):
    y = INT64 if n.op_type == "NonZero" else FLOAT
    assert want in to_python([n], {"x": (FLOAT, None), "i": (INT64, [4])}, {"y": y}, {"zero": np.array([0, -1])})


# ---------------------------------------------------------------- resampling
@pytest.mark.parametrize("name, want", [("/up/Resize", "F.interpolate("), ("", "resize(")])
def test_corners_of_a_length_that_is_rounded(to_python, name, want):
    """ONNX counts from the length before it is rounded; PyTorch, and so what its exporters write, from the rounded one."""
    n = node("Resize", ["x", "", "s"], ["y"], mode="linear", coordinate_transformation_mode="align_corners", name=name)
    text = to_python([n], {"x": (FLOAT, [1, 2, 4, 5])}, {"y": FLOAT}, {"s": np.array([1, 1, 1.5, 1.7], np.float32)})
    assert want in text


# ---------------------------------------------------------------- powers
@pytest.mark.parametrize("base, exponent, want", [
    (INT64, np.int64(-1), "x ** torch.tensor(-1)"), (INT64, np.int64(2), "x ** 2"), (FLOAT, np.int64(-1), "x ** -1"),
    (INT32, np.float32(-0.5), "x.to(torch.float64) ** torch.tensor(-0.5, device=x.device).to(torch.float64)")])
def test_negative_powers_of_integers(to_python, base, exponent, want):
    """PyTorch refuses a negative number there, and takes a tensor."""
    assert want in to_python([node("Pow", ["x", "e"], ["y"])], {"x": (base, [3])}, {"y": base}, {"e": exponent})


# ---------------------------------------------------------------- devices
def test_numbers_are_made_where_the_inputs_are(to_python):
    """A number of the CPU goes with tensors of any device in arithmetic, not in other functions."""
    nodes = [node("Div", ["half", "x"], ["a"]), node("PRelu", ["a", "half"], ["y"])]
    text = to_python(nodes, {"x": (FLOAT, [2, 3])}, {"y": FLOAT}, {"half": np.float32(0.5)})
    assert "torch.tensor(0.5) / x" in text and "torch.tensor(0.5, device=x.device).reshape(1)" in text


def test_numbers_of_rounds(to_python):
    """Such numbers are stacked, where a loop may not run there is nothing."""
    infos = [h.make_tensor_value_info(n, dtype, []) for n, dtype in (("i", INT64), ("c", BOOL), ("d", BOOL), ("j", INT64))]
    body = h.make_graph([node("Identity", ["c"], ["d"]), node("Identity", ["i"], ["j"])], "b", infos[:2], infos[2:])
    text = to_python([node("Loop", ["n", "go"], ["y"], body=body)], {"n": (INT64, [])}, {"y": INT64},
                     {"go": np.array(True)})
    assert "i = torch.tensor(i, device=n.device)" in text and "torch.empty(0, dtype=torch.int64, device=n.device)" in text


def test_an_argument_with_the_name_of_what_is_called(to_python):
    nodes = [node("SplitToSequence", ["list"], ["s"], keepdims=1), node("ConcatFromSequence", ["s"], ["y"], axis=0)]
    assert "list(list_2.split(" in to_python(nodes, {"list": (FLOAT, [4])}, {"y": FLOAT})
