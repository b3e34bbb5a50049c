#!/usr/bin/env python3
"""Checks of the source that no compiler makes: check_source.py layers|names|text|stubs.

Each prints a line for every fault, `file:line: what`, and ends with exit code 1 when there is one.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]

# Who may include whom: cli -> script -> {pt2, onnx, python, pass} -> graph -> base, downward only.
MAY_INCLUDE = {
    "base": set(), "graph": {"base"}, "pass": {"base", "graph"}, "pt2": {"base", "graph"},
    "onnx": {"base", "graph"}, "python": {"base", "graph"},
    "script": {"base", "graph", "onnx/schema.h", "onnx/onnx.h"},
    "cli": {"base", "graph", "pass", "pt2", "onnx", "python", "script"},
}
# A library's header and the only files that may include it.
OUTSIDE = [
    (r"minizip|zip\.h", {"src/pt2/archive.c", "src/pt2/zip.c"}),
    (r"cJSON", {"src/pt2/json.c"}),
    (r"protobuf-c|onnx\.pb-c\.h", {"src/onnx/write.c", "src/onnx/read.c"}),
    (r"\blua\.h|lauxlib|lualib", {"src/script/"}),
]
MEMORY = {"src/base/arena.c": {"calloc", "free"},
          "src/base/file.c": {"free"},                 # what realpath gave
          "src/script/state.c": {"malloc", "realloc", "free"},   # Lua's allocator
          "src/script/load.c": {"free"}}               # what realpath gave
# Names of operators in C, beside src/pass: (file, names).
SPELT = {
    "src/graph/expr.c": {"Add", "Mul", "Max", "Min", "Mod", "Pow", "Identity"},  # sympy's functions
    "src/graph/infix.c": {"Add", "Sub", "Mul", "Mod", "Pow", "And", "Or", "Not"},
    "src/script/translate.c": {"onnx::Identity", "onnx::Cast"},                  # what joins the ends of a graph
    "src/pt2/write.c": {"Add", "Mul", "Max", "Min", "Mod", "higher_order::while_loop"},  # sympy's; a body's form
    "src/script/build.c": {"onnx::Identity"},                                    # and of a body
    "src/onnx/read.c": {"onnx::Identity", "Constant"},                           # the same, and constants of a file
}
C_LIMIT, C_PREFERRED, LUA_LIMIT, LUA_PREFERRED = 120, 100, 120, 100

faults = []


def fault(path, line, what):
    faults.append(f"{path}:{line}: {what}")


def files(*patterns):
    for pattern in patterns:
        for path in sorted(ROOT.glob(pattern)):
            yield path.relative_to(ROOT).as_posix(), path.read_text()


TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)+\'|/\*.*?\*/|//[^\n]*', re.S)


def without_comments(text):
    """The text with comments made blank, lines kept."""
    return TOKEN.sub(lambda m: re.sub(r"[^\n]", " ", m[0]) if m[0][0] == "/" else m[0], text)


def without_strings(text):
    return TOKEN.sub(lambda m: '""' if m[0][0] == '"' else m[0], text)


def check_include(path, line, bracket, name):
    folder = path.split("/")[1]
    if name.endswith(".inc") or "embedded" in name:
        return
    for pattern, allowed in OUTSIDE:
        if (bracket == "<" or "/" not in name) and re.search(pattern, name):
            if not any(path == a or a.endswith("/") and path.startswith(a) for a in allowed):
                fault(path, line, f"{name} belongs to {' and '.join(sorted(allowed))}")
            return
    if bracket == "<":
        return
    room = name.split("/")[0]
    if room not in MAY_INCLUDE:
        fault(path, line, f"no such part of src/: {name}")
    elif room != folder and not {room, name} & MAY_INCLUDE[folder]:
        fault(path, line, f"{folder}/ may not include {name}")


def layers():
    for path, text in files("src/*/*.[ch]"):
        if path.split("/")[1] not in MAY_INCLUDE:
            fault(path, 1, "a folder whose place among the layers is not known")
            continue
        clean = without_comments(text)
        for i, line in enumerate(clean.splitlines(), 1):
            include = re.match(r'\s*#\s*include\s*([<"])([^">]+)', line)
            if include:
                check_include(path, i, *include.groups())
            for call in re.findall(r"\b(malloc|calloc|realloc|free)\s*\(", without_strings(line)):
                if call not in MEMORY.get(path, ()):
                    fault(path, i, f"{call}() outside of base/: memory comes from the session's arena")


def operators():
    table = (ROOT / "src/onnx/schema_table.inc").read_text()
    return set(re.findall(r'^    \{"(\w+)", \d+, [01], ', table, re.M))


def names():
    onnx = operators()
    if len(onnx) < 150:
        fault("src/onnx/schema_table.inc", 1, "its rows cannot be read here")
    for path, text in files("src/*/*.[ch]"):
        if path.startswith("src/pass/"):
            continue
        for i, line in enumerate(without_comments(text).splitlines(), 1):
            for literal in re.findall(r'"((?:[^"\\]|\\.)*)"', line):
                op = literal in onnx or re.match(
                    r"(aten|prims|prim|onnx|higher_order|_operator|math|quantized\w*|torchvision|mylib)::\w", literal)
                if op and literal not in SPELT.get(path, ()):
                    fault(path, i, f'"{literal}": what an operator means is said in Lua')


def text():
    wide = {}
    for kind, limit, preferred, patterns in (
            ("C", C_LIMIT, C_PREFERRED, ("src/*/*.[ch]", "tests/unit/*.c")),
            ("Lua", LUA_LIMIT, LUA_PREFERRED, ("lua/**/*.lua", "rules/**/*.lua", "tests/rules/**/*.lua",
                                               "examples/**/*.lua"))):
        for path, content in files(*patterns):
            generated = path.startswith(("lua/meta/onnx", "tests/rules/")) or path.endswith("_kernels.lua")
            most = sys.maxsize if generated else limit
            for i, line in enumerate(content.split("\n"), 1):
                if "\t" in line:
                    fault(path, i, "a tab")
                if line != line.rstrip():
                    fault(path, i, "blanks at the end of the line")
                if len(line) > most:
                    fault(path, i, f"{len(line)} columns, {most} are the limit")
                wide[kind] = wide.get(kind, 0) + (len(line) > preferred and not generated)
            if content and not content.endswith("\n") or content.endswith("\n\n"):
                fault(path, content.count("\n"), "ends with no newline, or with an empty line")
    print(", ".join(f"{n} lines of {kind} over 100 columns" for kind, n in wide.items()))


# ---- stubs ----

def stubbed():
    """Functions and fields declared in lua/meta, each as (class or module, name)."""
    found, fields = set(), set()
    for _, content in files("lua/meta/*.lua"):
        current = None
        for line in content.splitlines():
            made = re.match(r"---@class ([\w.]+)", line)
            field = re.match(r"---@field (?:private )?([\w]+)\??", line)
            function = re.match(r"function ([\w.]+)[.:](\w+)\(", line) or re.match(r"function ()(\w+)\(", line)
            if made:
                current = made[1]
            elif field and current:
                fields.add((current.removeprefix("t2o."), field[1]))
            elif function:
                found.add((function[1], function[2]))
    return found, fields


# Where the API is made, what a name is declared under in lua/meta, and how to find the names.
SOURCES = [
    ("lua/t2o/rules.lua", "Namespace", r"^function namespace:(\w+)"),
    ("lua/t2o/rules.lua", "rules", r"^function M\.(namespace)\b"),
    ("lua/t2o/rules.lua", "", r"^local function (register_\w+)"),
    ("lua/t2o/builder.lua", "g", r"^function g\.(\w+)"),
    ("lua/t2o/value.lua", "Value", r"^function methods\.(\w+)"),
    ("lua/t2o/value.lua", "Value", r'^comparison\("(\w+)"'),
    ("lua/t2o/util.lua", "util", r"^(?:function )?M\.(\w+)"),
    ("lua/t2o/types.lua", "types", r"^function M\.(\w+)"),
    ("lua/t2o/infer.lua", "infer", r"^function M\.(\w+)"),
    ("lua/t2o/infer.lua", "InferRegistry", r"^function registry:(\w+)"),
    ("lua/t2o/opset.lua", "opset", r"^(?:function )?M\.(\w+)"),
    ("lua/t2o/opset.lua", "OpsetRegistry", r"^function registry:(\w+)"),
    ("lua/t2o/compat.lua", "Tape", r"^(?:function )?tape[:.](\w+)"),
    ("src/script/node.c", "Node", r'strcmp\(key, "(\w+)"\)'),
    ("src/script/value.c", "Dim", r'strcmp\(key, "(kind|name|args)"\)'),
    ("src/script/value.c", "Value", r'strcmp\(key, "(dtype|rank|shape|name|is_constant|kind|content)"\)'),
]
# Functions that the library itself uses of its modules; not for rules.
INTERNAL = {("infer", "apply"), ("infer", "has"), ("types", "mark_wrapped"), ("opset", "lower"), ("opset", "registry"),
            ("infer", "types"), ("infer", "enter_bodies"), ("infer", "take_type"), ("infer", "is_body"), ("infer", "exact"),
            ("opset", "raisings"), ("opset", "apply"), ("opset", "take_type")}


def stubs():
    have, fields = stubbed()
    made = set()
    for path, owner, pattern in SOURCES:
        content = (ROOT / path).read_text()
        matches = list(re.finditer(pattern, content, re.M))
        if not matches:
            fault(path, 1, f"nothing matches {pattern}: has the API moved?")
        for m in matches:
            key = (owner, m[1])
            if m[1].startswith("_") or key in INTERNAL:
                continue
            made.add(key)
            if key not in have | fields:
                line = content.count("\n", 0, m.start()) + 1
                fault(path, line, f"{'.'.join(filter(None, key))} has no stub in lua/meta")
    for owner, name in sorted(have - made):
        if not (owner == "g" and name[0].isupper()):
            fault("lua/meta", 1, f"{owner}.{name} has a stub and is nowhere made")
    for op in sorted(operators_of_meta()):
        fault("lua/meta/onnx.lua", 1, f"no stub of {op}: run proto/gen_meta.py")
    print(f"{len(made)} functions and fields with stubs, {len(operators())} operators in the table")


def operators_of_meta():
    """Operators of the newest opset without a stub."""
    table = (ROOT / "src/onnx/schema_table.inc").read_text()
    newest = {}
    for name, version, deprecated in re.findall(r'^    \{"(\w+)", (\d+), ([01]), ', table, re.M):
        if int(version) >= newest.get(name, (0, 0))[0]:
            newest[name] = (int(version), int(deprecated))
    content = (ROOT / "lua/meta/onnx.lua").read_text()
    have = set(re.findall(r"^function g\.(\w+)\(", content, re.M))
    return {name for name, (_, deprecated) in newest.items() if not deprecated} - have


def main():
    checks = {"layers": layers, "names": names, "text": text, "stubs": stubs}
    if len(sys.argv) != 2 or sys.argv[1] not in checks:
        sys.exit(__doc__)
    checks[sys.argv[1]]()
    print("\n".join(faults), end="\n" if faults else "")
    return len(faults) > 0


if __name__ == "__main__":
    sys.exit(main())
