"""Archives and rules made on the spot, to convert ONNX operators the way a rule would build them.

A Form is an operator in its newest signature. archive() writes a program with one node of a made-up
op for each form, rules() the Lua rules that build the operators for them; reference() says what a
form should compute. Nothing here needs PyTorch.
"""
import json
import zipfile

import numpy as np
import onnx
from onnx import helper, numpy_helper

NEWEST = onnx.defs.onnx_opset_version()
DTYPES = {"uint8": 1, "int8": 2, "int16": 3, "int32": 4, "int64": 5, "float16": 6, "float32": 7,
          "float64": 8, "bool": 12, "bfloat16": 13, "uint16": 28, "uint32": 34, "uint64": 35}


class const:  # pylint: disable=invalid-name,too-few-public-methods
    """A constant input."""

    def __init__(self, value, dtype=None):
        self.array = np.asarray(value, dtype)


class Form:
    """op(inputs, **attrs): arrays are inputs of the model, const(...) constants, None left out.

    lowest   the first opset that can express it; dynamic: the same where sizes are symbols
    highest  the last that ONNX Runtime has a kernel for, where that is not the newest
    tol      (rtol, atol) where the usual ones are too strict
    judge    "onnx" where ONNX Runtime is no judge of the newest version: ONNX's own reference is
    want     what it computes, where neither can say
    """

    def __init__(self, op, *inputs, outputs=1, lowest=9, highest=NEWEST, dynamic=None, tol=None,
                 judge=None, want=None, **attrs):
        self.op, self.inputs, self.outputs, self.attrs = op, inputs, outputs, attrs
        self.lowest, self.tol, self.judge, self.want = lowest, tol, judge, want
        self.highest = highest
        self.dynamic = max(lowest, dynamic or lowest)

    @property
    def arrays(self):
        return [i for i in self.inputs if i is not None and not isinstance(i, const)]

    def __str__(self):
        shown = [f"{i.dtype}{list(i.shape)}" for i in self.arrays]
        shown += [f"{k}={v}" for k, v in self.attrs.items()]
        return f"{self.op}({', '.join(shown)})"


# ---- the archive ----

def _size(d, prefix):
    if not prefix or d < 2:
        return {"as_int": int(d)}
    return {"as_expr": {"expr_str": f"Symbol('{prefix}{d}', positive=True, integer=True)",
                        "hint": {"as_int": int(d)}}}


def _meta(array, prefix):
    return {"dtype": DTYPES[str(array.dtype)], "sizes": [_size(d, prefix) for d in array.shape],
            "requires_grad": False, "device": {"type": "cpu", "index": None}, "layout": 7,
            "strides": [{"as_int": 1}] * array.ndim, "storage_offset": {"as_int": 0}}


def _tensor(name):
    return {"as_tensor": {"name": name}}


def archive(path, forms, results, dynamic=False):
    """One node probe::f<i> a form; dynamic: sizes over 1 are symbols, equal ones of a form the same."""
    values, nodes, inputs, outputs = {}, [], [], []
    for i, (form, arrays) in enumerate(zip(forms, results)):
        xs = [f"f{i}_x{j}" for j in range(len(form.arrays))]
        ys = [f"f{i}_y{j}" for j in range(len(arrays))]
        values |= {n: _meta(v, dynamic and f"s{i}_") for n, v in zip(xs, form.arrays)}
        values |= {n: _meta(v, dynamic and f"u_{n}_") for n, v in zip(ys, arrays)}
        nodes.append({"target": f"torch.ops.probe.f{i}.default", "metadata": {}, "name": f"f{i}",
                      "inputs": [{"name": f"x{j}", "arg": _tensor(n), "kind": 1}
                                 for j, n in enumerate(xs)],
                      "outputs": [_tensor(n) for n in ys], "is_hop_single_tensor_return": None})
        inputs += xs
        outputs += ys
    graph = {"inputs": [_tensor(n) for n in inputs], "outputs": [_tensor(n) for n in outputs],
             "nodes": nodes, "tensor_values": values, "sym_int_values": {}, "sym_bool_values": {},
             "sym_float_values": {}, "is_single_tensor_return": False, "custom_obj_values": {}}
    signature = {"input_specs": [{"user_input": {"arg": _tensor(n)}} for n in inputs],
                 "output_specs": [{"user_output": {"arg": _tensor(n)}} for n in outputs]}
    program = {"graph_module": {"graph": graph, "signature": signature, "module_call_graph": [],
                                "metadata": {}, "treespec_namedtuple_fields": {}},
               "opset_version": {"aten": 10}, "range_constraints": {}, "verifiers": ["TRAINING"],
               "schema_version": {"major": 8, "minor": 20}, "torch_version": "2.13.0",
               "guards_code": []}
    records = {"archive_format": "pt2", "archive_version": "0", "byteorder": "little",
               "data/weights/model_weights_config.json": '{"config": {}}',
               "data/constants/model_constants_config.json": '{"config": {}}',
               "models/model.json": json.dumps(program)}
    with zipfile.ZipFile(path, "w") as z:
        for name, text in records.items():
            z.writestr("model/" + name, text)


# ---- the rules ----

def _lua(value):
    if isinstance(value, np.ndarray):
        return _lua_const(value)
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return "{ " + ", ".join(_lua(v) for v in value) + " }"
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, (int, np.integer)):
        return "math.mininteger" if value == -2**63 else str(int(value))
    if np.isinf(value):
        return "math.huge" if value > 0 else "-math.huge"
    return "(0/0)" if np.isnan(value) else repr(float(value))


def _lua_const(array):
    if array.size == 0:
        return f'g.full({_lua(list(array.shape))}, 0, "{array.dtype}")'
    numbers = array if array.dtype.kind in "biu" else array.astype(float)
    return f'g.const({_lua(numbers.tolist())}, "{array.dtype}")'


def _rule(i, form):
    names, args = iter(range(99)), []
    for x in form.inputs:
        args.append("nil" if x is None else _lua(x.array) if isinstance(x, const)
                    else f"a.x{next(names)}")
    attrs = form.attrs | {"outputs": form.outputs}
    args.append("{ " + ", ".join(f'["{k}"] = {_lua(v)}' for k, v in attrs.items()) + " }")
    takes = ", ".join(f"Tensor x{j}" for j in range(len(form.arrays)))
    gives = ", ".join(["Tensor"] * form.outputs)
    return f'''probe:rule("f{i}({takes}) -> ({gives})", function(g, a)
  return results(g.{form.op}({", ".join(args)}))
end)
'''


def rules(forms):
    """The Lua text of the rules for probe::f<i>."""
    head = '''local probe = require("t2o.rules").namespace("probe")
local function results(first, ...)
  if type(first) == "table" then return table.unpack(first) end
  return first, ...
end
'''
    return head + "".join(_rule(i, form) for i, form in enumerate(forms))


# ---- what it should compute ----

def model(form, opset):
    """The operator itself as a model."""
    names, inputs, initialisers, graph_inputs = iter(range(99)), [], [], []
    for i, x in enumerate(form.inputs):
        if x is None:
            inputs.append("")
        elif isinstance(x, const):
            inputs.append(f"c{i}")
            initialisers.append(numpy_helper.from_array(x.array, f"c{i}"))
        else:
            inputs.append(f"x{next(names)}")
            kind = helper.np_dtype_to_tensor_dtype(x.dtype)
            graph_inputs.append(helper.make_tensor_value_info(inputs[-1], kind, x.shape))
    attrs = {k: numpy_helper.from_array(v) if isinstance(v, np.ndarray) else v
             for k, v in form.attrs.items()}
    outputs = [f"y{i}" for i in range(form.outputs)]
    node = helper.make_node(form.op, inputs, outputs, **attrs)
    unknown = [helper.make_empty_tensor_value_info(o) for o in outputs]
    graph = helper.make_graph([node], "g", graph_inputs, unknown, initialisers)
    opsets = [helper.make_opsetid("", opset)]
    return onnx.shape_inference.infer_shapes(
        helper.make_model(graph, opset_imports=opsets, ir_version=10))


def run(m, arrays):
    """Outputs of a model (ModelProto or path) in ONNX Runtime."""
    import onnxruntime as ort  # pylint: disable=import-outside-toplevel
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    data = m.SerializeToString() if isinstance(m, onnx.ModelProto) else str(m)
    session = ort.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    return session.run(None, {i.name: a for i, a in zip(session.get_inputs(), arrays)})


def reference(form):
    """By ONNX Runtime where it has the newest version, else by ONNX's own implementation."""
    if form.want:
        return form.want
    if form.judge != "onnx" and onnx.defs.get_schema(form.op).since_version <= 24:
        try:
            return run(model(form, 24), form.arrays)
        except Exception:  # pylint: disable=broad-except
            pass  # no kernel for this dtype
    from onnx.reference import ReferenceEvaluator  # pylint: disable=import-outside-toplevel
    m = model(form, NEWEST)
    got = ReferenceEvaluator(m).run(None, {i.name: a for i, a in zip(m.graph.input, form.arrays)})
    return [np.asarray(y) for y in got]
