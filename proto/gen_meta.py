#!/usr/bin/env python3
"""Writes lua/meta/onnx.lua, the stubs of ONNX's operators as builder functions, from the installed onnx package.

    python3 proto/gen_meta.py > lua/meta/onnx.lua

The newest opset; sorted, so that the same onnx release gives the same bytes.
"""
import numpy as np
import onnx
from onnx import defs, helper

NAMES = {"float": "float32", "double": "float64", "float8e4m3fn": "float8_e4m3fn", "float8e5m2": "float8_e5m2",
         "float8e4m3fnuz": "float8_e4m3fnuz", "float8e5m2fnuz": "float8_e5m2fnuz"}
FLOATS = ["bfloat16", "float16", "float32", "float64"]
SIGNED = ["int8", "int16", "int32", "int64"]
UNSIGNED = ["uint8", "uint16", "uint32", "uint64"]
COMPLEX = ["complex64", "complex128"]
# What is left out of lists: few runtimes have kernels, and no rule makes them.
RARE = {"uint4", "int4", "uint2", "int2", "float4e2m1", "float8e8m0", "float6e2m3", "float6e3m2", "string",
        "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz"}
GROUPS = [("any float", FLOATS), ("any signed integer", SIGNED), ("any unsigned integer", UNSIGNED),
          ("complex", COMPLEX)]
ATTRS = {"INT": "integer", "INTS": "integer[]", "FLOAT": "number", "FLOATS": "number[]", "STRING": "string",
         "STRINGS": "string[]", "TENSOR": "t2o.Value", "GRAPH": "fun(g: t2o.Builder): t2o.Value ...",
         "TYPE_PROTO": "any", "SPARSE_TENSOR": "any", "TENSORS": "any", "GRAPHS": "any", "TYPE_PROTOS": "any",
         "SPARSE_TENSORS": "any"}
KEYWORDS = {"end", "then", "else", "if", "in", "not", "and", "or", "repeat", "until", "for", "function", "local"}
WIDTH = 116


def type_words(texts):
    """The element types in PyTorch's names, groups in a word."""
    containers = sorted({t.partition("(")[0] for t in texts} - {"tensor"})
    have = {NAMES.get(t[7:-1], t[7:-1]) for t in texts if t.startswith("tensor(")}
    if {"bool", *FLOATS[1:], *SIGNED, *UNSIGNED, *COMPLEX} <= have:
        words, have = ["any type"], set()
    else:
        words = []
    for word, group in GROUPS:
        if set(group) <= have:
            words.append(word)
            have -= set(group)
    words += sorted(have - RARE) or ([] if words else sorted(have))
    words += [{"seq": "a list of tensors", "optional": "an optional", "map": "a map"}.get(c, c) for c in containers]
    return ", ".join(words)


def safe(name):
    return name + "_" if name in KEYWORDS else name


def default_text(attribute):
    if not attribute.default_value.name:
        return ""
    value = helper.get_attribute_value(attribute.default_value)
    if isinstance(value, bytes):
        return f' = "{value.decode()}"'
    if isinstance(value, float):
        return f" = {str(np.float32(value))}"
    return f" = {value}" if not isinstance(value, list) else f" = {{ {', '.join(map(str, value))} }}"


def wrapped(prefix, text):
    out, line = [], prefix
    for word in text.split():
        if len(line) + len(word) + 1 > WIDTH:
            out.append(line)
            line = prefix
        line += " " + word
    return out + [line]


def type_line(schema):
    """What types there are, once for each type variable."""
    seen = {}
    for p in list(schema.inputs) + list(schema.outputs):
        seen.setdefault((p.type_str, frozenset(p.types)), []).append(p.name)
    parts = [f"{', '.join(dict.fromkeys(names))}: {type_words(types)}" for (_, types), names in seen.items()]
    return "; ".join(parts) + "." if parts else ""


def attrs_class(schema):
    lines = [f"---@class t2o.onnx.{schema.name}: t2o.Attrs"]
    for name in sorted(schema.attributes):
        a = schema.attributes[name]
        field = f'["{name}"]' if name in KEYWORDS else name
        optional = "" if a.required else "?"
        lines.append(f"---@field {field}{optional} {ATTRS[a.type.name]}{default_text(a)}")
    return lines


def function(schema):
    lines = [f"--- ONNX {schema.name}, since opset {schema.since_version} in this form."]
    lines += wrapped("---", type_line(schema)) if type_line(schema) else []
    attrs = bool(schema.attributes)
    names, variadic = [], False
    for p in schema.inputs:
        if p.option.name == "Variadic":
            variadic = True
            break
        optional = "?" if p.option.name == "Optional" else ""
        lines.append(f"---@param {safe(p.name)}{optional} t2o.Value")
        names.append(safe(p.name))
    table = f"t2o.onnx.{schema.name}" if attrs else "t2o.Attrs"
    if variadic:
        lines.append(f"---@param ... t2o.Value|{table} # as many as there are, then the attributes")
        names.append("...")
    else:
        lines.append(f"---@param attrs? {table}")
        names.append("attrs")
    if any(p.option.name == "Variadic" for p in schema.outputs):
        lines.append("---@return t2o.Value[] # as many as attrs.outputs says")
    else:
        for p in schema.outputs:
            optional = "?" if p.option.name == "Optional" else ""
            note = " # where attrs.outputs asks for it" if optional else ""
            lines.append(f"---@return t2o.Value{optional} {safe(p.name)}{note}")
    return lines + [f"function g.{schema.name}({', '.join(names)}) end"]


def main():
    newest = {}
    for schema in defs.get_all_schemas():
        if schema.domain == "" and not schema.deprecated:
            newest[schema.name] = schema
    print("---@meta _\n")
    print(f"-- Made by proto/gen_meta.py from onnx {onnx.__version__}: the operators of opset "
          f"{defs.onnx_opset_version()}. Do not edit.\n")
    print("---@class t2o.Builder\nlocal g = {}")
    for name in sorted(newest):
        schema = newest[name]
        print()
        if schema.attributes:
            print("\n".join(attrs_class(schema)), end="\n\n")
        print("\n".join(function(schema)))


if __name__ == "__main__":
    main()
