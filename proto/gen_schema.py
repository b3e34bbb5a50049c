#!/usr/bin/env python3
"""Writes src/onnx/schema_table.inc from the registry of the installed onnx package.

    python3 proto/gen_schema.py > src/onnx/schema_table.inc

Every version of every operator of the domain ai.onnx goes in, sorted by name and version, so that
the same onnx release gives the same bytes. Lists of parameters and attributes that are alike are
written once and shared.
"""
import sys

import numpy as np
import onnx
from onnx import defs, helper

# ONNX's spelling of element types -> the number in graph/dtype.h, which is TensorProto's.
DTYPES = {
    "float": 1, "uint8": 2, "int8": 3, "uint16": 4, "int16": 5, "int32": 6, "int64": 7,
    "string": 8, "bool": 9, "float16": 10, "double": 11, "uint32": 12, "uint64": 13,
    "complex64": 14, "complex128": 15, "bfloat16": 16, "float8e4m3fn": 17, "float8e4m3fnuz": 18,
    "float8e5m2": 19, "float8e5m2fnuz": 20, "uint4": 21, "int4": 22, "float4e2m1": 23,
    "float8e8m0": 24, "uint2": 25, "int2": 26,
}
# Types without a PyTorch counterpart: t2o has no values of them.
UNUSED = {"float6e2m3", "float6e3m2"}
CONTAINERS = {"seq": 32, "optional": 33, "map": 34}
OPTIONS = {"Single": "T2O_SINGLE", "Optional": "T2O_OPTIONAL", "Variadic": "T2O_VARIADIC"}
NO_LIMIT = 65535


def type_bit(text):
    """The bit of "tensor(float)"; of a container only what kind of container it is."""
    head, _, rest = text.partition("(")
    if head in CONTAINERS:
        return 1 << CONTAINERS[head]
    if head != "tensor":
        sys.exit(f"gen_schema.py: unknown type {text}")
    element = rest[:-1]
    return 0 if element in UNUSED else 1 << DTYPES[element]


def type_set(texts):
    bits = 0
    for text in texts:
        bits |= type_bit(text)
    return bits


def c_string(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def c_bool(value):
    return "1" if value else "0"


def param_text(param, variables):
    variable = c_string(param.type_str) if param.type_str in variables else "NULL"
    option = OPTIONS[param.option.name]
    heterogeneous = c_bool(option == "T2O_VARIADIC" and not param.is_homogeneous)
    types = f"{type_set(param.types):#x}"
    return f"{{{c_string(param.name)}, {variable}, {types}, {option}, {heterogeneous}}}"


def shortest_float(value):
    """The fewest digits that give the same float32."""
    text = str(np.float32(value))
    return text[:-2] if text.endswith(".0") else text


def item_text(item):
    if isinstance(item, bytes):
        return item.decode()
    return shortest_float(item) if isinstance(item, float) else str(item)


def default_text(attribute):
    if not attribute.default_value.name:
        return None
    value = helper.get_attribute_value(attribute.default_value)
    if isinstance(value, bytes):
        return value.decode()
    items = value if hasattr(value, "__len__") else [value]
    return ",".join(item_text(item) for item in items)


def attribute_text(attribute):
    default = default_text(attribute)
    text = "NULL" if default is None else c_string(default)
    kind = f"T2O_ATTR_{attribute.type.name}"
    return f"{{{c_string(attribute.name)}, {kind}, {c_bool(attribute.required)}, {text}}}"


class Shared:
    """Arrays of one C type; the same list of items gets the same array."""

    def __init__(self, c_type, prefix):
        self.c_type, self.prefix, self.names, self.lines = c_type, prefix, {}, []

    def name(self, items):
        if not items:
            return "NULL"
        key = tuple(items)
        if key not in self.names:
            name = self.names[key] = f"{self.prefix}{len(self.names)}"
            body = ",\n    ".join(items)
            self.lines.append(f"static const {self.c_type} {name}[] = {{\n    {body} }};")
        return self.names[key]


def limit(value):
    return min(value, NO_LIMIT)


def schema_text(schema, params, attributes):
    variables = {constraint.type_param_str for constraint in schema.type_constraints}
    inputs = [param_text(p, variables) for p in schema.inputs]
    outputs = [param_text(p, variables) for p in schema.outputs]
    attrs = [attribute_text(schema.attributes[name]) for name in sorted(schema.attributes)]
    limits = [schema.min_input, schema.max_input, schema.min_output, schema.max_output]
    numbers = [len(inputs), len(outputs), len(attrs)] + [limit(n) for n in limits]
    arrays = [params.name(inputs), params.name(outputs), attributes.name(attrs)]
    head = [c_string(schema.name), str(schema.since_version), c_bool(schema.deprecated)]
    repeats = c_bool(schema.node_determinism == defs.OpSchema.NodeDeterminism.Deterministic)
    return "    {" + ", ".join(head + arrays + [str(n) for n in numbers] + [repeats]) + "},"


def ir_versions():
    """(opset, IR version) of the releases that brought a new opset, in order."""
    seen = {}
    for _, ir_version, opset, *_ in helper.VERSION_TABLE:
        seen.setdefault(opset, ir_version)
    return sorted(seen.items())


def main():
    schemas = [s for s in defs.get_all_schemas_with_history() if s.domain == ""]
    schemas.sort(key=lambda s: (s.name.encode(), s.since_version))
    params, attributes = Shared("t2o_param", "p"), Shared("t2o_attr_schema", "a")
    rows = [schema_text(s, params, attributes) for s in schemas]
    print(f"/* Made by proto/gen_schema.py from onnx {onnx.__version__}. Do not edit. */")
    print(f"#define NEWEST_OPSET {defs.onnx_opset_version()}\n")
    print("\n".join(params.lines), "\n".join(attributes.lines), sep="\n\n")
    print("\nstatic const t2o_schema table[] = {", *rows, "};", sep="\n")
    print("\nstatic const struct { int opset, ir_version; } ir_versions[] = {")
    print("\n".join(f"    {{{opset}, {ir}}}," for opset, ir in ir_versions()), "};", sep="\n")


if __name__ == "__main__":
    main()
