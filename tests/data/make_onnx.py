#!/usr/bin/env python3
"""Makes tests/data/onnx: small ONNX models, each a folder with model.onnx and data.npz (in0.., out0..).

    build/venv/bin/python tests/data/make_onnx.py

What a file may say in several ways is said here in each: fields of tensors, old signatures, bodies, functions, external
data. Outputs are those of ONNX Runtime where it takes the model, else of onnx's reference implementation. Files that are
there stay as they are.
"""
import pathlib

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper as nh
from onnx.reference import ReferenceEvaluator

OUT = pathlib.Path(__file__).resolve().parent / "onnx"
RNG = np.random.default_rng(1)
MODELS = {}


def info(name, shape, dtype=T.FLOAT):
    return h.make_tensor_value_info(name, dtype, shape)


def weights(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def model(nodes, inputs, outputs, initializers=(), opset=17, ir=8, **kw):
    functions = kw.pop("functions", [])
    imports = [h.make_opsetid("", opset)] + [h.make_opsetid(d, 1) for d in kw.pop("domains", [])]
    graph = h.make_graph(nodes, "g", inputs, outputs, list(initializers), **kw)
    return h.make_model(graph, opset_imports=imports, ir_version=ir, functions=functions)


def case(fn):
    MODELS[fn.__name__] = fn
    return fn


@case
def conv_relu():
    nodes = [h.make_node("Conv", ["x", "w", "b"], ["c"], name="stem.conv", kernel_shape=[3, 3]),
             h.make_node("Relu", ["c"], ["y"], name="stem.act")]
    m = model(nodes, [info("x", ["batch-size", 3, 8, 8])], [info("y", ["batch-size", 4, 6, 6])],
              [nh.from_array(weights(4, 3, 3, 3), "stem.conv.weight"), nh.from_array(weights(4), "stem.conv.bias")])
    m.graph.node[0].input[1:] = ["stem.conv.weight", "stem.conv.bias"]
    m.graph.node[0].metadata_props.add(key="pkg.torch.onnx.name_scopes", value="['', 'stem', 'stem.conv', 'conv2d']")
    return m, [weights(2, 3, 8, 8)]


@case
def opset_6():
    """Axes, limits and broadcasting as they were; sizes as attributes; every initialiser an input."""
    nodes = [h.make_node("BatchNormalization", ["x", "s", "b", "m", "v"], ["n"], is_test=1, epsilon=1e-3),
             h.make_node("Add", ["n", "c"], ["a"], broadcast=1, axis=1),
             h.make_node("Clip", ["a"], ["k"], min=-0.5, max=1.5),
             h.make_node("Unsqueeze", ["k"], ["u"], axes=[0]),
             h.make_node("ReduceMean", ["u"], ["r"], axes=[0], keepdims=0),
             h.make_node("Slice", ["r"], ["l"], axes=[2], starts=[1], ends=[1000]),
             h.make_node("Pad", ["l"], ["p"], pads=[0, 0, 1, 0, 0, 0, 1, 2], value=0.5),
             h.make_node("Dropout", ["p"], ["d"], is_test=1),
             h.make_node("Softmax", ["d"], ["y"])]
    p = {"s": weights(3), "b": weights(3), "m": weights(3), "v": np.abs(weights(3)), "c": weights(3)}
    x = weights(2, 3, 4, 5)
    s, b, m, v, c = (a.reshape(3, 1, 1) for a in p.values())
    k = np.clip((x - m) / np.sqrt(v + 1e-3) * s + b + c, -0.5, 1.5)[:, :, 1:]
    flat = np.pad(k, ((0, 0), (0, 0), (1, 1), (0, 2)), constant_values=0.5).reshape(2, -1)
    e = np.exp(flat - flat.max(1, keepdims=True))
    want = (e / e.sum(1, keepdims=True)).reshape(2, 3, 5, 7).astype(np.float32)
    made = model(nodes, [info("x", [2, 3, 4, 5])] + [info(n, [3]) for n in p], [info("y", [2, 3, 5, 7])],
                 [nh.from_array(a, n) for n, a in p.items()], opset=6, ir=3)
    return made, [x], [want]


@case
def opset_9():
    nodes = [h.make_node("Upsample", ["x", "scales"], ["u"], mode="linear"),
             h.make_node("TopK", ["u"], ["v", "i"], axis=-1, k=3), h.make_node("Softmax", ["v"], ["s"], axis=2),
             h.make_node("Dropout", ["s"], ["y"], ratio=0.3)]
    return model(nodes, [info("x", [1, 2, 3, 4])], [info("y", None), info("i", None, T.INT64)],
                 [nh.from_array(np.array([1, 1, 2, 2], np.float32), "scales")], opset=9, ir=4), [weights(1, 2, 3, 4)]


@case
def typed_fields():
    """Elements in the fields of their types instead of raw bytes."""
    f16 = h.make_tensor("f16", T.FLOAT16, [3], np.array([1.5, -2, 0.25], np.float16).view(np.uint16).astype(int).tolist())
    f16.ClearField("raw_data")
    f16.ClearField("int32_data")
    f16.int32_data.extend(np.array([1.5, -2, 0.25], np.float16).view(np.uint16).astype(int).tolist())
    tensors = [h.make_tensor("f32", T.FLOAT, [3], [1.5, -2.0, 3.0]), h.make_tensor("f64", T.DOUBLE, [3], [1.0, 2.0, 3.0]),
               h.make_tensor("i32", T.INT32, [3], [1, -2, 3]), h.make_tensor("i64", T.INT64, [3], [1, -2, 3]),
               h.make_tensor("u8", T.UINT8, [3], [1, 2, 255]), h.make_tensor("i8", T.INT8, [3], [1, -2, 3]),
               h.make_tensor("u64", T.UINT64, [3], [1, 2, 3]), h.make_tensor("b", T.BOOL, [3], [True, False, True]), f16]
    nodes, total = [], "x"
    for t in tensors:
        nodes.append(h.make_node("Cast", [t.name], [t.name + "_f"], to=T.FLOAT))
        nodes.append(h.make_node("Add", [total, t.name + "_f"], ["y" if t is f16 else t.name + "_sum"]))
        total = t.name + "_sum"
    return model(nodes, [info("x", [3])], [info("y", [3])], tensors), [weights(3)]


@case
def constants():
    """Constant nodes in all their forms, a sparse initialiser, and a constant that is an output."""
    sparse = h.make_sparse_tensor(h.make_tensor("sp", T.FLOAT, [2], [1.0, 2.0]), h.make_tensor("", T.INT64, [2, 2], [0, 1, 1, 2]),
                                  [2, 3])
    nodes = [h.make_node("Constant", [], ["a"], value_float=2.0), h.make_node("Constant", [], ["b"], value_floats=[1.0, 2.0, 3.0]),
             h.make_node("Constant", [], ["c"], value_ints=[2, 3]),
             h.make_node("Constant", [], ["t"], value=nh.from_array(weights(2, 3))),
             h.make_node("Reshape", ["x", "c"], ["r"]), h.make_node("Mul", ["r", "a"], ["m"]),
             h.make_node("Add", ["m", "b"], ["n"]), h.make_node("Add", ["n", "sp"], ["y"])]
    m = model(nodes, [info("x", [6])], [info("y", [2, 3]), info("t", [2, 3])])
    m.graph.sparse_initializer.append(sparse)
    return m, [weights(6)]


@case
def bodies():
    """A loop whose carried value grows, an If inside that reads outer values; types of the body's inputs left out."""
    yes = h.make_graph([h.make_node("Add", ["x", "before"], ["more"])], "yes", [], [h.make_empty_tensor_value_info("more")])
    no = h.make_graph([h.make_node("Mul", ["before", "x"], ["less"])], "no", [], [h.make_empty_tensor_value_info("less")])
    body = h.make_graph(
        [h.make_node("Mod", ["i", "two"], ["odd"]), h.make_node("Cast", ["odd"], ["is_odd"], to=T.BOOL),
         h.make_node("If", ["is_odd"], ["after"], then_branch=yes, else_branch=no),
         h.make_node("Identity", ["go"], ["go_on"]), h.make_node("ReduceSum", ["after"], ["total"], keepdims=0)],
        "body", [h.make_empty_tensor_value_info(n) for n in ("i", "go", "before")],
        [h.make_empty_tensor_value_info(n) for n in ("go_on", "after", "total")])
    m = model([h.make_node("Loop", ["n", "", "x"], ["y", "totals"], body=body)], [info("x", ["k"])],
              [info("y", ["k"]), info("totals", [None])],
              [nh.from_array(np.array(5), "n"), nh.from_array(np.array(2), "two")])
    x = weights(4)
    after, totals = x, []
    for i in range(5):
        after = after + x if i % 2 else after * x
        totals.append(after.sum())
    return m, [x], [after, np.array(totals, np.float32)]


@case
def functions():
    """A function with an attribute, called twice, once by another function, with an input left out."""
    scale = h.make_function("my", "Scale", ["a", "b"], ["r"],
                            [h.make_node("Constant", [], ["k"]), h.make_node("Mul", ["a", "k"], ["t"]),
                             h.make_node("Clip", ["t", "b"], ["r"])], [h.make_opsetid("", 17)], attributes=["factor"])
    ref = scale.node[0].attribute.add(name="value_float", ref_attr_name="factor", type=onnx.AttributeProto.FLOAT)
    assert ref.name
    twice = h.make_function("my", "Twice", ["x"], ["y"],
                            [h.make_node("Scale", ["x"], ["h"], domain="my", factor=2.0),
                             h.make_node("Identity", ["h"], ["y"])], [h.make_opsetid("", 17), h.make_opsetid("my", 1)])
    nodes = [h.make_node("Twice", ["x"], ["t"], domain="my", name="first"),
             h.make_node("Scale", ["t", "low"], ["y"], domain="my", name="second", factor=0.25)]
    return model(nodes, [info("x", [3])], [info("y", [3])], [nh.from_array(np.array(0.0, np.float32), "low")],
                 functions=[scale, twice], domains=["my"]), [weights(3)]


@case
def sequences():
    nodes = [h.make_node("SplitToSequence", ["x"], ["s"], axis=0), h.make_node("SequenceInsert", ["s", "x0"], ["s2"]),
             h.make_node("ConcatFromSequence", ["s2"], ["y"], axis=0), h.make_node("SequenceLength", ["s2"], ["n"])]
    return model(nodes, [info("x", [2, 3]), info("x0", [1, 3])], [info("y", ["n", 3]), info("n", [], T.INT64)]), \
        [weights(2, 3), weights(1, 3)]


@case
def any_order():
    """Nodes that stand before what they need, an output that is an input, and names that are no identifiers."""
    nodes = [h.make_node("Mul", ["a b", "x"], ["y"]), h.make_node("Neg", ["x"], ["a b"])]
    m = model(nodes, [info("x", ["a b/c", 2])], [info("y", ["a b/c", 2]), info("x", ["a b/c", 2])])
    return m, [weights(3, 2)]


@case
def optional_output():
    """An output in the middle that is left out."""
    nodes = [h.make_node("LSTM", ["x", "w", "r"], ["", "h", "c"], hidden_size=2)]
    return model(nodes, [info("x", [3, 1, 2])], [info("h", None), info("c", None)],
                 [nh.from_array(weights(1, 8, 2), "w"), nh.from_array(weights(1, 8, 2), "r")]), [weights(3, 1, 2)]


@case
def external():
    m = model([h.make_node("MatMul", ["x", "w"], ["m"]), h.make_node("Add", ["m", "b"], ["y"])], [info("x", [2, 16])],
              [info("y", [2, 40])], [nh.from_array(weights(16, 40), "w"), nh.from_array(weights(40), "b")])
    return m, [weights(2, 16)]


def outputs(path, m, inputs):
    """What ONNX Runtime computes, else the reference."""
    feeds = dict(zip([i.name for i in m.graph.input], inputs))
    try:
        return ort.InferenceSession(str(path), providers=["CPUExecutionProvider"]).run(None, feeds)
    except Exception:  # noqa: BLE001: older than ONNX Runtime, or newer
        return ReferenceEvaluator(m).run(None, feeds)


def main():
    for name, fn in MODELS.items():
        m, inputs, *known = fn()
        folder = OUT / name
        if (folder / "data.npz").exists():
            continue
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "model.onnx"
        plain = onnx.ModelProto.FromString(m.SerializeToString())
        if name == "external":
            onnx.save(m, str(path), save_as_external_data=True, location="weights.bin", size_threshold=64)
        else:
            path.write_bytes(m.SerializeToString(deterministic=True))
        made = known[0] if known else outputs(path, plain, inputs)
        np.savez(folder / "data.npz", **{f"in{i}": x for i, x in enumerate(inputs)},
                 **{f"out{i}": x for i, x in enumerate(made)})
        print(name)


if __name__ == "__main__":
    main()
