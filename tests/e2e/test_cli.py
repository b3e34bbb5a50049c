"""What the command line promises: exit statuses, errors, files, rules given by the user."""
import json
import shutil

import onnx
import pytest

import case
from paths import BAD, CASES, MLP, RELU

MISSING = BAD / "missing_op.pt2"  # uses mylib::foo twice, in blocks.0 and blocks.1
FOO = "foo(Tensor x, float beta=1.0) -> Tensor"
MYLIB = 'local mylib = require("t2o.rules").namespace("mylib")\n'
SWISH = MYLIB + f'''mylib:rule("{FOO}", function(g, a)
  return a.x * g.Sigmoid(a.x * a.beta)
end)
'''


def ops(model):
    return [n.op_type for n in model.graph.node]


# ------------------------------------------------------------------ general manners
def test_version(t2o):
    done = t2o("--version")
    assert done.returncode == 0 and done.stdout.startswith("t2o ") and not done.stderr


@pytest.mark.parametrize("command", ["", "convert", "attach", "check", "verify", "record", "info", "rules"])
def test_help_fits_a_terminal(t2o, command):
    done = t2o(*command.split(), "--help")
    assert done.returncode == 0 and max(map(len, done.stdout.splitlines())) <= 80


def test_help(t2o):
    done = t2o("--help")
    assert done.returncode == 0 and not done.stderr
    for command in ("convert", "check", "info", "rules", "explain"):
        assert command in done.stdout
    done = t2o("convert", "--help")
    assert done.returncode == 0 and "--opset" in done.stdout


@pytest.mark.parametrize("args", [
    (), ("convert",), ("frobnicate",), ("convert", MLP, "--frobnicate"), ("--frobnicate",),
    ("convert", MLP, "-o"), *(("convert", MLP, "-o", "x.onnx", "--opset", n)
                              for n in ("5", "99", "a", "-1", "")),
    ("rules", "frobnicate"), ("rules", "which"), ("explain", "E9999"), ("info",), ("check",)],
    ids=lambda args: " ".join(str(a).rpartition("/")[2] for a in args[-2:]) or "nothing")
def test_usage_errors(t2o, tmp_path, args):
    folder = tmp_path / "empty"
    folder.mkdir()
    done = t2o(*args, cwd=folder)
    assert done.returncode == 2
    assert done.stderr and not done.stdout
    assert not list(folder.iterdir())


def test_plain_text_where_there_is_no_terminal(t2o, out):
    done = t2o("convert", MLP, "-o", out)
    assert "\x1b" not in done.stdout + done.stderr and "\r" not in done.stderr


def test_quiet(t2o, out):
    done = t2o("--quiet", "convert", MLP, "-o", out)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_global_options_before_or_after(t2o, tmp_path, relu_rule):
    rule = relu_rule("return g.Neg(a.self)")
    first, second = tmp_path / "1.onnx", tmp_path / "2.onnx"
    assert t2o("-r", rule, "convert", MLP, "-o", first).returncode == 0
    assert t2o("convert", MLP, "-o", second, "-r", rule).returncode == 0
    assert first.read_bytes() == second.read_bytes()
    assert "Neg" in ops(onnx.load(str(first)))


def test_same_bytes_twice(t2o, tmp_path):
    for name in ("conv2d", "lstm", "dynamic_sizes"):
        made = [tmp_path / f"{name}{i}.onnx" for i in (1, 2)]
        for path in made:
            assert t2o("convert", CASES / name / "model.pt2", "-o", path).returncode == 0
        assert made[0].read_bytes() == made[1].read_bytes()


def test_opset_is_respected(convert):
    for opset in (11, 17, 22):
        model = convert(MLP, "--opset", opset)
        assert [o.version for o in model.opset_import if o.domain == ""] == [opset]


# ------------------------------------------------------------------ operators without a rule
def test_missing_op(refused):
    said = refused(3, "E0301", MISSING)
    for text in ("mylib::foo", "2", "blocks.0", "make_fixtures.py:", "t2o rules stub mylib::foo"):
        assert text in said


def test_missing_op_leaves_the_old_file(t2o, out):
    out.write_bytes(b"older")
    assert t2o("convert", MISSING, "-o", out).returncode == 3
    assert out.read_bytes() == b"older" and len(list(out.parent.iterdir())) == 1


def test_declined(refused, rules):
    rule = rules(MYLIB + f'mylib:rule("{FOO}", function(g) return g.decline("only at night") end)')
    said = refused(3, "E0302", MISSING, "-r", rule)
    assert "mylib::foo" in said and "only at night" in said


def test_layers_of_rules_have_a_limit(refused, rules):
    files = [rules("return", f"{i}.lua") for i in range(70)]
    assert "layers of rules" in refused(2, "E0201", MISSING, *(a for f in files for a in ("-r", f)))


def test_check_lists_missing_ops(t2o, tmp_path):
    done = t2o("check", MISSING, cwd=tmp_path)
    assert done.returncode == 3 and "mylib::foo" in done.stdout + done.stderr
    done = t2o("check", MISSING, "--json", cwd=tmp_path)
    assert done.returncode == 3
    report = json.loads(done.stdout)
    assert "mylib::foo" in json.dumps(report)
    assert not [f for f in tmp_path.rglob("*") if f.is_file()]


def test_check_of_a_good_model(t2o, tmp_path):
    done = t2o("check", MLP, "--opset", "13", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert isinstance(json.loads(done.stdout), dict)
    assert not [f for f in tmp_path.rglob("*") if f.is_file()]


# ------------------------------------------------------------------ inputs and outputs
@pytest.mark.parametrize("name, code, words", [
    ("truncated.pt2", "E0503", ""),
    ("empty.pt2", "E05", ""),
    ("text.pt2", "E0502", ""),
    ("plain.zip", "E0502", ""),
    ("torchscript.pt", "E0502", "TorchScript"),
    ("state_dict.pt", "E0502", "state_dict"),
    ("no_model.pt2", "E05", ""),
    ("no_weight.pt2", "E0507", "0.weight"),
    ("short_weight.pt2", "E0507", "0.weight"),
    ("bad_json.pt2", "E0504", ""),
    ("deep_json.pt2", "E0504", ""),
    ("huge_sizes.pt2", "E05", ""),
    ("outside_path.pt2", "E05", "")])
def test_wrong_input(refused, name, code, words):
    said = refused(5, code, BAD / name)
    assert name in said and words in said


def test_no_such_input(refused, tmp_path):
    assert "absent.pt2" in refused(5, "E0501", tmp_path / "absent.pt2")


def test_directory_as_input(refused, tmp_path):
    assert "director" in refused(5, "E0501", tmp_path)


@pytest.mark.parametrize("command", ["check", "info"])
def test_wrong_input_of_other_commands(t2o, command):
    done = t2o(command, BAD / "torchscript.pt")
    assert done.returncode == 5 and "TorchScript" in done.stderr


def test_every_truncation_is_refused(t2o, tmp_path, out):
    good = MLP.read_bytes()
    for part in range(0, 20):
        cut = tmp_path / "cut.pt2"
        cut.write_bytes(good[:len(good) * part // 20])
        done = t2o("convert", cut, "-o", out)
        assert done.returncode == 5, f"cut at {part}/20: {done.stderr}"
        assert not list(out.parent.iterdir())


def test_output_folder_is_made(t2o, tmp_path):
    done = t2o("convert", MLP, "-o", tmp_path / "a" / "b" / "model.onnx")
    assert done.returncode == 0 and (tmp_path / "a" / "b" / "model.onnx").exists()
    assert t2o("convert", BAD / "missing_op.pt2", "-o", tmp_path / "c" / "model.onnx").returncode == 3
    assert not (tmp_path / "c").exists()


def test_output_folder_cannot_be_made(t2o, tmp_path):
    (tmp_path / "file").write_text("x")
    done = t2o("convert", MLP, "-o", tmp_path / "file" / "model.onnx")
    assert done.returncode == 1 and "error[E0101]" in done.stderr


def test_output_is_a_folder(t2o, out):
    out.mkdir()
    done = t2o("convert", MLP, "-o", out)
    assert done.returncode == 1 and "error[E0101]" in done.stderr
    assert list(out.parent.iterdir()) == [out] and not list(out.iterdir())


def test_output_over_an_older_file(convert, out):
    out.write_bytes(b"older")
    convert(MLP)


def test_write_through_a_view_is_never_lost(t2o, out):
    """Right, or refused; dropping the write would be a wrong model."""
    done = t2o("convert", BAD / "view_write.pt2", "-o", out)
    if done.returncode:
        assert "error[E0304]" in done.stderr and not out.exists()
        return
    got = case.run_ort(out, case.read_data(BAD / "view_write", "input"))
    assert not case.compare(case.read_data(BAD / "view_write", "output"), got)


# ------------------------------------------------------------------ rules of the user
def test_override(convert, relu_rule):
    assert "Relu" in ops(convert(MLP))
    overridden = ops(convert(MLP, "-r", relu_rule("return g.Neg(a.self)")))
    assert "Neg" in overridden and "Relu" not in overridden


def test_the_last_rule_file_wins(convert, relu_rule):
    first = relu_rule("return g.Neg(a.self)", "b.lua")
    last = relu_rule("return g.Abs(a.self)", "a.lua")
    found = ops(convert(MLP, "-r", first, "-r", last))
    assert "Abs" in found and "Neg" not in found


def test_rules_from_a_folder_and_the_environment(convert, relu_rule, tmp_path):
    relu_rule("return g.Neg(a.self)", "more/extra.lua")
    assert "Neg" in ops(convert(MLP, "-r", tmp_path / "more"))
    assert "Neg" in ops(convert(MLP, env={"T2O_RULES": str(tmp_path / "more")}))
    relu_rule("return g.Abs(a.self)", "config/t2o/rules/extra.lua")
    assert "Abs" in ops(convert(MLP, env={"XDG_CONFIG_HOME": str(tmp_path / "config")}))


def test_the_working_folder_is_not_searched(convert, relu_rule, tmp_path):
    relu_rule("return g.Neg(a.self)", "rules/aten/activation.lua")
    assert "Neg" not in ops(convert(MLP, cwd=tmp_path))


def test_decline_falls_back(convert, relu_rule):
    assert "Relu" in ops(convert(MLP, "-r", relu_rule('return g.decline("not today")')))


def test_wrap(convert, rules):
    rule = rules('local aten = require("t2o.rules").namespace("aten")\n'
                 'aten:wrap("relu", function(base, g, a, n) return g.Neg(base(g, a, n)) end)\n')
    found = ops(convert(MLP, "-r", rule))
    assert "Neg" in found and "Relu" in found


def test_rule_for_a_custom_op(convert, rules, out):
    convert(MISSING, "-r", rules(SWISH))
    got = case.run_ort(out, case.read_data(BAD / "missing_op", "input"))
    assert not case.compare(case.read_data(BAD / "missing_op", "output"), got)


def test_rule_with_a_custom_domain(convert, rules):
    model = convert(MISSING, "-r", rules(MYLIB + f'''mylib:rule("{FOO}", function(g, a)
  return g.custom("com.acme", "Swish", {{ a.x }}, {{ beta = a.beta }})
end)'''))
    assert "com.acme" in {o.domain for o in model.opset_import}
    nodes = [n for n in model.graph.node if n.domain == "com.acme"]
    assert [n.op_type for n in nodes] == ["Swish", "Swish"]
    assert [onnx.helper.get_attribute_value(n.attribute[0]) for n in nodes] == [1.0, 2.0]


def test_register_mapping(convert, rules):
    found = ops(convert(MLP, "-r", rules('register_mapping("aten::relu", "Neg")')))
    assert "Neg" in found and "Relu" not in found


def test_register_op(convert, rules):
    model = convert(MISSING, "-r", rules('''
register_op({ "mylib::foo", "mylib::foo.default" }, "PRelu", function(node, value_map, tape, opset)
  return { value_map[node.args[1]], tape:constant(0.25) }, {}
end)'''))
    assert ops(model).count("PRelu") == 2


def test_register_op_with_attributes(convert, rules):
    model = convert(MISSING, "-r", rules('''
register_op({ "mylib::foo", "mylib::foo.default" }, "LeakyRelu", function(node, value_map)
  return { value_map[node.args[1]] }, { alpha = 0.25 }
end)'''))
    nodes = [n for n in model.graph.node if n.op_type == "LeakyRelu"]
    assert [onnx.helper.get_attribute_value(n.attribute[0]) for n in nodes] == [0.25, 0.25]


# ------------------------------------------------------------------ rules that are wrong
@pytest.mark.parametrize("code, body", [
    ("E0602", 'error("no luck")'),
    ("E0602", "return a.self.nothing.at_all"),
    ("E0603", "return g.Relu(a.self, { slope = 1.0 })"),
    ("E0603", "return g.NoSuchOperator(a.self)"),
    ("E0603", "return g.Relu()"),
    ("E0603", "return g.Relu(a.self, a.self)"),
    ("E0603", 'return g.Softmax(a.self, { axis = "last" })'),
    ("E0603", "return g.Not(a.self)"),
    ("E0604", 'return a.self:to("float64")'),
    ("E0604", "return g.ReduceSum(a.self)"),
    ("E0605", "while true do end")])
def test_wrong_rule(refused, relu_rule, code, body):
    said = refused(6, code, MLP, "-r", relu_rule(body), timeout=60)
    assert "mine.lua:3" in said or (code == "E0604" and "mine.lua:2" in said)
    assert "relu" in said


def test_rule_that_eats_all_memory(refused, relu_rule):
    body = "local t = {}; for i = 1, 1e12 do t[i] = ('x'):rep(1000) .. i end"
    assert "relu" in refused(6, "E0605", MLP, "-r", relu_rule(body), timeout=60)


def test_rule_that_returns_nothing(t2o, out, relu_rule):
    done = t2o("convert", MLP, "-o", out, "-r", relu_rule("local unused = g.Relu(a.self)"))
    assert done.returncode == 6 and "mine.lua" in done.stderr and not out.exists()


def test_rule_file_with_a_syntax_error(refused, rules):
    said = refused(6, "E0601", MLP, "-r", rules("local x = 1\nlocal y = = 2\n"))
    assert "mine.lua:2" in said


def test_rule_file_that_fails_or_never_ends(refused, rules):
    assert "mine.lua:2" in refused(6, "E0601", MLP, "-r", rules('\nerror("at load")\n'))
    refused(6, "E060", MLP, "-r", rules("while true do end"), timeout=60)


def test_no_such_rule_file(t2o, out, tmp_path):
    done = t2o("convert", MLP, "-o", out, "-r", tmp_path / "absent.lua")
    assert done.returncode and "absent.lua" in done.stderr and not out.exists()


def test_two_rules_for_one_op(refused, rules):
    rule = f'aten:rule("{RELU}", function(g, a) return g.Relu(a.self) end)\n'
    said = refused(6, "E0606", MLP, "-r", rules(
        'local aten = require("t2o.rules").namespace("aten")\n' + rule + "\n\n" + rule))
    assert "mine.lua:2" in said and "mine.lua:5" in said


@pytest.mark.parametrize("name", ["io", "os", "debug", "package", "loadfile", "dofile"])
def test_sandbox(convert, rules, name):
    """Rules cannot reach files, processes or bytecode."""
    convert(MLP, "-r", rules(f'assert({name} == nil, "{name} can be reached")\n'))


# ------------------------------------------------------------------ other commands
def test_info(t2o):
    done = t2o("info", MLP)
    assert done.returncode == 0 and done.stdout
    done = t2o("info", MLP, "--json")
    assert done.returncode == 0
    assert isinstance(json.loads(done.stdout), dict) and "2.13.0" in done.stdout


def test_rules_list(t2o):
    done = t2o("rules", "list")
    assert done.returncode == 0
    assert "aten::relu" in done.stdout and "aten::conv2d" in done.stdout


def test_rules_which(t2o, relu_rule):
    done = t2o("rules", "which", "aten::relu")
    assert done.returncode == 0 and "activation.lua:" in done.stdout
    done = t2o("rules", "which", "aten::relu", "-r", relu_rule("return g.Neg(a.self)"))
    assert done.returncode == 0 and "mine.lua:2" in done.stdout
    assert t2o("rules", "which", "aten::no_such_op").returncode != 0


def test_rules_stub(t2o, convert, rules):
    done = t2o("rules", "stub", "aten::foo")
    assert done.returncode == 0 and not done.stderr
    assert 'namespace("aten")' in done.stdout and "foo(" in done.stdout
    convert(MLP, "-r", rules(done.stdout))  # it loads


def test_explain(t2o):
    done = t2o("explain", "E0301")
    assert done.returncode == 0 and "rule" in done.stdout
    assert t2o("explain", "e0301").stdout == done.stdout


def test_runs_from_anywhere(t2o, tmp_path, out):
    """Found by a relative path, from another folder, with a model whose name has blanks."""
    shutil.copy(MLP, tmp_path / "my model.pt2")
    done = t2o("convert", "my model.pt2", "-o", "out/model.onnx", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert out.exists()


def test_dumped_rules_convert(t2o, tmp_path, out):
    """The built-in rules work as a layer of a user's own."""
    folder = tmp_path / "rules"
    assert t2o("rules", "dump", folder).returncode == 0
    assert (folder / "aten" / "conv.lua").exists()
    done = t2o("convert", CASES / "conv2d" / "model.pt2", "-o", out, "-r", folder)
    assert done.returncode == 0, done.stderr
