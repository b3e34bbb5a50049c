"""Options of convert: dimensions, names, 16-bit floats, functions, operators without a rule."""
import numpy as np
import onnx
import pytest

import case
from paths import CASES

OPTIONS = CASES.parent / "options"
BLOCKS = OPTIONS / "blocks.pt2"            # tokens f32[s52, s27, 8] -> f32[s52, 3]
CUSTOM = OPTIONS / "custom_arguments.pt2"  # mylib::pick(x, [y, x], None, size, mode, device)
DERIVED = CASES / "dynamic_sizes" / "model.pt2"


def dims(value):
    return [d.dim_param or d.dim_value for d in value.type.tensor_type.shape.dim]


def shapes(model):
    return [dims(v) for v in (*model.graph.input, *model.graph.output)]


def ranges(model):
    props = {p.key: p.value for p in model.graph.metadata_props}
    return props["pkg.torch.export.ExportedProgram.range_constraints"]


def same_numbers(out, folder, atol=0.0):
    got = case.run_ort(out, case.read_data(folder, "input"))
    assert not case.compare(case.read_data(folder, "output"), got, least_atol=atol)


# ---------------------------------------------------------------- dimensions
@pytest.mark.parametrize("place", ["s52=batch", "tokens:0=batch", "tokens:-3=batch"])
def test_a_dimension_gets_a_name(convert, out, place):
    model = convert(BLOCKS, "--dim", place)
    assert shapes(model) == [["batch", "s27", 8], ["batch", 3]]
    assert "batch: VR[2, int_oo]" in ranges(model) and "s52" not in ranges(model)
    same_numbers(out, OPTIONS / "blocks")


def test_a_dimension_gets_a_size(convert):
    model = convert(BLOCKS, "--dim", "s52=batch", "--set", "batch=1")
    assert shapes(model) == [[1, "s27", 8], [1, 3]]
    assert "batch" not in ranges(model)


def test_a_size_holds_wherever_the_symbol_stands(convert):
    model = convert(CASES / "dynamic_attention" / "model.pt2", "--set", "x:1=5")
    assert shapes(model) == [["s77", 5, 6], ["s77", 30]]
    assert "Shape" not in {n.op_type for n in convert(BLOCKS, "--set", "s52=2", "--set", "s27=4").graph.node}


@pytest.mark.parametrize("args, said", [
    (["--dim", "s9=batch"], "symbols of the inputs: s52, s27"),
    (["--dim", "tokens:2=width"], "the dimension is 8, not a symbol"),
    (["--dim", "tokens:3=width"], "input tokens has dimensions 0 to 2"),
    (["--dim", "s52=my batch"], "a place and a name are due"),
    (["--dim", "s52=n", "--dim", "s27=n"], "another dimension has that name"),
    (["--dim", "s52=s27"], "another dimension has that name"),
    (["--set", "token:0=4"], "there is no input 'token'"),
    (["--set", "s52=-1"], "a place and a size are due"),
    (["--set", "s52=0"], "s52 is at least 2"),
    (["--set", "tokens:2=9"], "the dimension is fixed to 8"),
    (["--set", "s52=3", "--set", "tokens:0=4"], "it is set to 3 by another"),
])
def test_a_wrong_dimension_is_refused(refused, args, said):
    assert said in refused(2, "E0201", BLOCKS, *args)


def test_a_dimension_can_be_required_to_vary(refused, convert):
    assert "dimension tokens:2 is fixed to 8" in refused(1, "E0104", BLOCKS, "--require-dynamic", "tokens:2")
    convert(BLOCKS, "--require-dynamic", "tokens:0", "--require-dynamic", "s27")


# ---------------------------------------------------------------- names
def test_inputs_outputs_and_weights_get_names(convert, out):
    model = convert(BLOCKS, "--input-names", "ids", "--output-names", "logits", "--rename", "layers.*.*=h.*.sub.*")
    assert [v.name for v in model.graph.input] == ["ids"]
    assert [v.name for v in model.graph.output] == ["logits"]
    names = [i.name for i in model.graph.initializer]
    assert "h.0.sub.linear.weight" in names and "head.bias" in names
    same_numbers(out, OPTIONS / "blocks")


def test_an_inner_value_gives_way(convert, out):
    model = convert(BLOCKS, "--output-names", "relu", "--rename", "layers.0.linear.bias=relu_1")
    assert model.graph.output[0].name == "relu"
    same_numbers(out, OPTIONS / "blocks")


@pytest.mark.parametrize("args, said", [
    (["--input-names", "a,b"], "2 names for 1"),
    (["--input-names", "a,,b"], "takes names with commas between them"),
    (["--output-names", "tokens"], "the name 'tokens' is taken"),
    (["--rename", "layers"], "a pattern and a name are due"),
])
def test_wrong_names_are_refused(refused, args, said):
    assert said in refused(2, "E0201", BLOCKS, *args)


# ---------------------------------------------------------------- operators without a rule
def test_an_unknown_operator_can_be_kept(convert):
    model = convert(CUSTOM, "--unknown", "keep")
    node, = [n for n in model.graph.node if n.domain == "mylib"]
    attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    assert node.op_type == "pick" and len(node.output) == 2
    assert attributes == {"mode": b"near", "device": b"cpu", "input_names": [b"x", b"ys.0", b"ys.1", b"size"]}
    assert list(node.input[:3]) == ["x", "y", "x"]
    assert ("mylib", 1) in {(o.domain, o.version) for o in model.opset_import}


def test_an_unknown_operator_is_refused_otherwise(refused):
    assert "no rule for mylib::pick" in refused(3, "E0301", CUSTOM)


# ---------------------------------------------------------------- 16-bit floats
def dtypes(model):
    return [i.data_type for i in model.graph.initializer if i.name.startswith(("layers", "head"))]


def test_float16(convert, out):
    model = convert(BLOCKS, "--float16")
    assert set(dtypes(model)) == {onnx.TensorProto.FLOAT16}
    assert [v.type.tensor_type.elem_type for v in (*model.graph.input, *model.graph.output)] == [1, 1]
    same_numbers(out, OPTIONS / "blocks", atol=5e-3)


def test_bfloat16(convert, out):
    assert set(dtypes(convert(BLOCKS, "--bfloat16"))) == {onnx.TensorProto.BFLOAT16}
    same_numbers(out, OPTIONS / "blocks", atol=4e-2)


def test_inputs_and_outputs_too(convert):
    model = convert(BLOCKS, "--float16", "--convert-io")
    assert [v.type.tensor_type.elem_type for v in (*model.graph.input, *model.graph.output)] == [10, 10]
    assert dims(model.graph.input[0]) == ["s52", "s27", 8]


@pytest.mark.parametrize("glob", ["layers.1", "layers.1.*", "*.layers.1"])
def test_a_module_is_kept(convert, glob):
    model = convert(BLOCKS, "--float16", "--keep", glob)
    kept = {i.name for i in model.graph.initializer if i.data_type == 1 and i.name.startswith("layers")}
    assert kept == ({f"layers.1.{n}" for n in ("linear.weight", "linear.bias", "norm.weight", "norm.bias")}
                    if glob != "*.layers.1" else set())


@pytest.mark.parametrize("glob", ["LayerNormalization", "aten::layer_norm", "layer_norm", "LayerNorm"])
def test_an_operator_is_kept(convert, glob):
    model = convert(BLOCKS, "--float16", "--keep", glob)
    kept = {i.name for i in model.graph.initializer if i.data_type == 1 and i.name.startswith("layers")}
    assert kept == {f"layers.{i}.norm.{n}" for i in range(3) for n in ("weight", "bias")}


def test_a_weight_that_is_too_large_becomes_the_largest(convert, out):
    model = convert(OPTIONS / "large_constants.pt2", "--float16")
    assert all(np.isfinite(onnx.numpy_helper.to_array(i)).all() for i in model.graph.initializer)
    same_numbers(out, OPTIONS / "large_constants", atol=1e-3)


@pytest.mark.parametrize("args", [["--float16", "--bfloat16"], ["--keep", "x"], ["--convert-io"]])
def test_options_that_make_no_sense(refused, args):
    refused(2, "E0201", BLOCKS, *args)


@pytest.mark.parametrize("option", ("--rtol", "--atol"))
@pytest.mark.parametrize("value", ("-1", "nan", "1e-3x", ""))
def test_tolerances_are_numbers(refused, option, value):
    assert f"{option} takes a number that is not negative" in refused(2, "E0201", BLOCKS, "--verify", option, value)


def test_what_the_opset_has_not_is_said(t2o, out):
    done = t2o("convert", CASES / "conv2d" / "model.pt2", "-o", out, "--bfloat16")
    assert done.returncode == 0 and "Conv (from opset 22)" in done.stderr


# ---------------------------------------------------------------- functions
def test_equal_modules_are_one_function(convert, out):
    model = convert(BLOCKS, "--functions", "Block")
    function, = model.functions
    assert (function.domain, function.name) == ("make_fixtures", "Block")
    calls = [n for n in model.graph.node if n.op_type == "Block"]
    assert [n.name for n in calls] == ["layers.0", "layers.1", "layers.2"]
    assert list(function.input)[1:] == ["linear.weight", "linear.bias", "norm.weight", "norm.bias"]
    same_numbers(out, OPTIONS / "blocks")


def test_a_path_names_one_module(convert, out):
    model = convert(BLOCKS, "--functions", "layers.1", "--opset", "13")
    assert [n.name for n in model.graph.node if n.domain] == ["layers.1"] and len(model.functions) == 1
    same_numbers(out, OPTIONS / "blocks")


@pytest.mark.parametrize("globs", (("Block",), ("Block", "Pair"), ("Linear", "Pair")))
def test_calls_of_a_module_may_stand_apart(convert, out, globs):
    model = convert(OPTIONS / "interleaved.pt2", *(a for g in globs for a in ("--functions", g)))
    calls = [n for n in model.graph.node if n.op_type == "Block"]
    assert len(calls) == (2 if "Block" in globs else 0) and len({n.name for n in calls}) == len(calls)
    same_numbers(out, OPTIONS / "interleaved")


def test_a_glob_that_names_none_is_said(t2o, out):
    done = t2o("convert", BLOCKS, "-o", out, "--functions", "Blok")
    assert done.returncode == 0 and "no module has such a class or path" in done.stderr
