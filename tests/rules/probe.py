"""Archives and rules made on the spot, to convert one ONNX operator the way a rule would build it.

A Form is an operator in its newest signature. archive() writes a program with one node of a made-up
op, rule() the Lua rule that builds the operator for it; reference() says what it should compute.
"""
import json
import zipfile

import numpy as np
import onnx
from onnx import helper, numpy_helper

NEWEST = onnx.defs.onnx_opset_version()
DTYPES = {"uint8": 1, "int8": 2, "int16": 3, "int32": 4, "int64": 5, "float16": 6, "float32": 7,
          "float64": 8, "bool": 12, "bfloat16": 13, "uint16": 28, "uint32": 34, "uint64": 35}


class Form:
    """op(inputs, **attrs): arrays are inputs of the model, const(array) constants, None left out."""

    def __init__(self, op, *inputs, outputs=1, lowest=9, tol=None, name=None, newest=None, want=None,
                 **attrs):
        self.op, self.inputs, self.outputs, self.attrs = op, inputs, outputs, attrs
        self.lowest, self.tol = lowest, tol  # the first opset that can express it; (rtol, atol)
        self.newest = newest  # the opset whose result is the right one, where ONNX Runtime lacks the newer
        self.want = want  # what it computes, where nobody else can say
        self.name = name or op

    @property
    def arrays(self):
        return [i for i in self.inputs if i is not None and not isinstance(i, const)]


class const:  # pylint: disable=too-few-public-methods
    """A constant input."""

    def __init__(self, value, dtype=None):
        self.array = np.asarray(value, dtype)


# ---- the archive ----

def _sizes(shape, dynamic):
    if not dynamic:
        return [{"as_int": int(d)} for d in shape]
    return [{"as_expr": {"expr_str": f"Symbol('{dynamic}{d}', positive=True, integer=True)",
                         "hint": {"as_int": int(d)}}} if d > 1 else {"as_int": int(d)} for d in shape]


def _meta(array, dynamic):
    return {"dtype": DTYPES[str(array.dtype)], "sizes": _sizes(array.shape, dynamic),
            "requires_grad": False, "device": {"type": "cpu", "index": None}, "strides": [{"as_int": 1}] * array.ndim,
            "storage_offset": {"as_int": 0}, "layout": 7}


def _tensor(name):
    return {"as_tensor": {"name": name}}


def archive(path, form, results, dynamic=False):
    """A program of one node probe::run; dynamic: sizes over 1 are symbols, equal ones the same."""
    xs = [f"x{i}" for i in range(len(form.arrays))]
    ys = [f"y{i}" for i in range(len(results))]
    values = {n: _meta(v, dynamic and "s") for n, v in zip(xs, form.arrays)}
    values |= {n: _meta(v, dynamic and n + "u") for n, v in zip(ys, results)}
    node = {"target": "torch.ops.probe.run.default", "outputs": [_tensor(n) for n in ys], "metadata": {},
            "inputs": [{"name": n, "arg": _tensor(n), "kind": 1} for n in xs],
            "is_hop_single_tensor_return": None, "name": "run"}
    graph = {"inputs": [_tensor(n) for n in xs], "outputs": [_tensor(n) for n in ys], "nodes": [node],
             "tensor_values": values, "sym_int_values": {}, "sym_bool_values": {}, "sym_float_values": {},
             "is_single_tensor_return": False, "custom_obj_values": {}}
    signature = {"input_specs": [{"user_input": {"arg": _tensor(n)}} for n in xs],
                 "output_specs": [{"user_output": {"arg": _tensor(n)}} for n in ys]}
    program = {"graph_module": {"graph": graph, "signature": signature, "module_call_graph": [], "metadata": {},
                                "treespec_namedtuple_fields": {}},
               "opset_version": {"aten": 10}, "range_constraints": {}, "verifiers": ["TRAINING"],
               "schema_version": {"major": 8, "minor": 20}, "torch_version": "2.13.0", "guards_code": []}
    records = {"archive_format": "pt2", "archive_version": "0", "byteorder": "little",
               "data/weights/model_weights_config.json": '{"config": {}}',
               "data/constants/model_constants_config.json": '{"config": {}}',
               "models/model.json": json.dumps(program)}
    with zipfile.ZipFile(path, "w") as z:
        for name, text in records.items():
            z.writestr("model/" + name, text)


# ---- the rule ----

def _lua(value):
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
    return f'g.const({_lua(array.astype(float).tolist() if array.dtype.kind not in "biu" else array.tolist())}, "{array.dtype}")'


def rule(form):
    """The Lua text of a rule for probe::run."""
    names, args = iter(range(99)), []
    for i in form.inputs:
        args.append("nil" if i is None else _lua_const(i.array) if isinstance(i, const) else f"a.x{next(names)}")
    attrs = {k: v for k, v in form.attrs.items() if v is not None}
    attrs["outputs"] = form.outputs
    pairs = []
    for k, v in attrs.items():
        pairs.append(f'["{k}"] = ' + (_lua_const(v) if isinstance(v, np.ndarray) else _lua(v)))
    tensors = ", ".join(f"Tensor x{i}" for i in range(len(form.arrays)))
    returns = ", ".join(["Tensor"] * form.outputs)
    return f'''local probe = require("t2o.rules").namespace("probe")
probe:rule("run({tensors}) -> ({returns})", function(g, a)
  local r = table.pack(g.{form.op}({", ".join(args)}, {{ {", ".join(pairs)} }}))
  if type(r[1]) == "table" then return table.unpack(r[1]) end
  return table.unpack(r)
end)
'''


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
    attrs = {k: numpy_helper.from_array(v) if isinstance(v, np.ndarray) else v for k, v in form.attrs.items()}
    outputs = [f"y{i}" for i in range(form.outputs)]
    node = helper.make_node(form.op, inputs, outputs, **attrs)
    graph = helper.make_graph([node], "g", graph_inputs, [helper.make_empty_tensor_value_info(o) for o in outputs],
                              initialisers)
    m = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
    m = onnx.shape_inference.infer_shapes(m)
    return m


def run(m, arrays):
    """Outputs of a model (ModelProto or path) in ONNX Runtime."""
    import onnxruntime as ort  # pylint: disable=import-outside-toplevel
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    data = m.SerializeToString() if isinstance(m, onnx.ModelProto) else str(m)
    session = ort.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    return session.run(None, {i.name: a for i, a in zip(session.get_inputs(), arrays)})


def reference(form):
    """By ONNX Runtime where it has the operator, else by ONNX's own reference implementation."""
    if form.want:
        return form.want
    schema = onnx.defs.get_schema(form.op)
    for opset in (form.newest,) if form.newest else (24, 23, 22):
        if opset >= schema.since_version or form.newest:
            try:
                return run(model(form, opset), form.arrays)
            except Exception:  # pylint: disable=broad-except
                pass
    from onnx.reference import ReferenceEvaluator  # pylint: disable=import-outside-toplevel
    m = model(form, NEWEST)
    return ReferenceEvaluator(m).run(None, {i.name: a for i, a in zip(m.graph.input, form.arrays)})
