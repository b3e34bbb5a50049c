"""What a converted model looks like: names, sizes, weights stored once."""
import collections
import json

import onnx
import pytest

from paths import CASES, MLP


def weights(model):
    return [t.name for t in model.graph.initializer]


def test_weights_keep_their_names(convert):
    model = convert(CASES / "conv2d" / "model.pt2")
    assert {"layers.0.weight", "layers.0.bias", "layers.3.weight"} <= set(weights(model))


def test_names_are_unique(convert):
    graph = convert(CASES / "output_is_input" / "model.pt2").graph
    ends = [v.name for v in [*graph.input, *graph.output]]
    assert len(ends) == len(set(ends)) == 5
    nodes = [n.name for n in graph.node]
    assert all(nodes) and len(nodes) == len(set(nodes))


def test_inputs_are_named_by_the_signature(convert):
    graph = convert(CASES / "arithmetic" / "model.pt2").graph
    assert [v.name for v in graph.input] == ["x", "y"]


def test_unused_input_stays(convert):
    graph = convert(CASES / "unused_input" / "model.pt2").graph
    assert [v.name for v in graph.input] == ["x", "y"]


def test_free_sizes(convert):
    graph = convert(MLP).graph
    batch, features = graph.input[0].type.tensor_type.shape.dim
    assert batch.dim_param and features.dim_value == 4
    assert graph.output[0].type.tensor_type.shape.dim[0].dim_param == batch.dim_param


def test_shared_weight_is_stored_once(convert):
    model = convert(CASES / "tied_weights" / "model.pt2")
    large = [t for t in model.graph.initializer if len(t.dims) == 2]
    assert len(large) == 1


def test_nothing_is_computed_twice(convert):
    nodes = convert(CASES / "decomposed_products" / "model.pt2").graph.node
    calls = [(n.op_type, *n.input, *sorted(str(a) for a in n.attribute)) for n in nodes]
    assert len(calls) == len(set(calls))


def test_products_need_no_other_shapes(convert):
    """Of the six changes of shape around products, those stay that a linear layer has in a program of layers."""
    nodes = [n.op_type for n in convert(CASES / "decomposed_products" / "model.pt2").graph.node]
    assert nodes.count("Reshape") == 4 and nodes.count("Unsqueeze") == 2


def test_dropout_disappears(convert):
    assert "Dropout" not in {n.op_type for n in convert(CASES / "dropout" / "model.pt2").graph.node}


def test_model_says_who_made_it(convert):
    model = convert(MLP)
    assert model.producer_name == "t2o" and model.ir_version >= 8
    assert onnx.helper.find_min_ir_version_for(model.opset_import) <= model.ir_version


# ------------------------------------------------------------------ quantised
def stored(model, dtype):
    return {t.name for t in model.graph.initializer if t.data_type == dtype}


@pytest.mark.parametrize("name, quantize, dequantize", [
    ("quantized_pt2e", 5, 8), ("quantized_in_training", 6, 6), ("torchao_int4", 2, 4), ("torchao_int8", 2, 0)])
@pytest.mark.parametrize("opset", [13, 18, 21, 24])
def test_what_quantises_stays(t2o, out, name, quantize, dequantize, opset):
    done = t2o("convert", CASES / name / "model.pt2", "-o", out, "--opset", opset, "--json")
    counts = json.loads(done.stdout)["quantized"]
    assert counts == {"quantize": {"torch": quantize, "onnx": quantize},
                      "dequantize": {"torch": dequantize, "onnx": dequantize}}
    nodes = collections.Counter(n.op_type for n in onnx.load(str(out)).graph.node)
    assert (nodes["QuantizeLinear"], nodes["DequantizeLinear"]) == (quantize, dequantize)


def test_nothing_is_said_of_others(t2o, out):
    done = t2o("convert", MLP, "-o", out, "--json")
    assert "quantized" not in json.loads(done.stdout)
    assert "quantised" not in t2o("convert", MLP, "-o", out).stderr


def test_weights_of_4_bits(convert):
    """In a dtype of their own where ONNX has it, else as bytes."""
    names = {f"{layer}.parametrizations.weight.original0" for layer in (0, 2)}
    assert names <= stored(convert(CASES / "torchao_int4" / "model.pt2", "--opset", 21), onnx.TensorProto.INT4)
    assert names <= stored(convert(CASES / "torchao_int4" / "model.pt2", "--opset", 20), onnx.TensorProto.INT8)
