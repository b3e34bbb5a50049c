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
