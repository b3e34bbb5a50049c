"""What a converted model looks like: names, sizes, weights stored once."""
import onnx

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


def test_dropout_disappears(convert):
    assert "Dropout" not in {n.op_type for n in convert(CASES / "dropout" / "model.pt2").graph.node}


def test_model_says_who_made_it(convert):
    model = convert(MLP)
    assert model.producer_name == "t2o" and model.ir_version >= 8
    assert onnx.helper.find_min_ir_version_for(model.opset_import) <= model.ir_version
