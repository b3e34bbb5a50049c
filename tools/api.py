#!/usr/bin/env python3
"""Prints docs/api.md from the stubs in lua/meta."""
import pathlib
import re

META = pathlib.Path(__file__).resolve().parents[1] / "lua" / "meta"
# (file, title): in the order of the page.
FILES = [("value", "Values, sizes, nodes"), ("rules", 'Registering rules: `require("t2o.rules")`'),
         ("builder", "The builder `g`"), ("util", '`require("t2o.util")`'), ("types", '`require("t2o.types")`'),
         ("infer", 'Shapes of ONNX operators: `require("t2o.infer")`'),
         ("opset", 'Older opsets: `require("t2o.opset")`'), ("compat", "Names of the Python tool")]
HEAD = """# The Lua API

Made by `make docs` from the stubs in `lua/meta`, which editors with a Lua language server read too (add `lua/meta` to
`workspace.library`). [writing-rules.md](writing-rules.md) shows how it is used.

A function **fails** with an error at the rule's line, or **declines**: then the next rule for the operator is asked."""


class Stubs:
    """The entries of a file: (kind, name, signature, doc, params, returns, fields)."""

    def __init__(self, text):
        self.entries, self.classes, self.intro = [], {}, ""
        self.clear()
        for line in text.splitlines():
            self.read(line)

    def clear(self):
        self.doc, self.params, self.returns, self.fields, self.type, self.alias = [], [], [], [], None, None

    def read(self, line):
        if line.startswith("---@"):
            self.tag(*re.match(r"---@(\w+)\s*(.*)", line).groups())
        elif line.startswith("---|") and self.alias:
            self.alias[1].append(line[4:].strip())
        elif line.startswith("---"):
            self.doc.append(line[3:].removeprefix(" "))
        elif line.startswith("-- ") and not self.entries:
            self.intro += line[3:] + "\n"
        else:
            made = re.match(r"(?:local )?function ([\w.:]+)\((.*?)\)", line)
            if made:
                self.entries.append(("function", *made.groups(), self.doc, self.params, self.returns, []))
            elif self.type:
                self.entries.append(("class", self.type, "", self.doc, [], [], self.fields))
                owner = re.match(r"local (\w+) =", line)
                if owner:
                    self.classes[owner[1]] = self.type
            elif self.alias:
                self.entries.append(("alias", self.alias[0], " | ".join(self.alias[1]), self.doc, [], [], []))
            self.clear()

    def tag(self, name, rest):
        if name == "class":
            self.type = rest.partition(":")[0].strip()
        elif name == "alias":
            word, _, rest = rest.partition(" ")
            self.alias = (word, [rest] if rest else [])
        elif name == "field":
            self.fields.append(rest)
        elif name == "param":
            self.params.append(rest)
        elif name == "return":
            self.returns.append(rest)


def split_type(text):
    """A type and what is said behind it: types have no blanks but inside brackets, after ':' and ','."""
    depth = 0
    for i, c in enumerate(text):
        depth += (c in "({[<") - (c in ")}]>")
        if c == " " and depth == 0 and text[i - 1] not in ":,|" and text[i + 1:i + 2] not in ("|", ""):
            return text[:i], text[i + 1:].removeprefix("# ")
    return text, ""


def brief(kind):
    return kind.replace("t2o.", "")


def item(text):
    """A list item of `name type words`."""
    name, _, rest = text.partition(" ")
    kind, words = split_type(rest)
    if words.startswith("..."):
        kind, words = kind + " ...", words[3:].strip()
    optional = name.endswith("?")
    return f"- `{name.rstrip('?')}`: `{brief(kind)}`{', optional' if optional else ''}{': ' + words if words else ''}"


def returned(text):
    kind, words = split_type(text)
    several = words.startswith("...")
    words = words.removeprefix("...").strip()
    return f"- returns `{brief(kind)}{' ...' if several else ''}`{' ' + words if words else ''}"


def paragraph(doc):
    return re.sub(r"^(Fails|Declines):", r"**\1:**", "\n".join(doc), flags=re.M)


def signature(stubs, name, args):
    owner = re.split(r"[.:]", name)[0]
    shown = {"Value": "value", "Dim": "dim", "Namespace": "namespace", "Tape": "tape",
             "InferRegistry": "infer.registry", "OpsetRegistry": "opset.registry"}.get(owner, owner)
    return f"{shown}{name[len(owner):]}({args})"


def section(title, stubs):
    out = [f"\n## {title}", ""]
    if stubs.intro:
        out += [stubs.intro.strip(), ""]
    for kind, name, rest, doc, params, returns, fields in stubs.entries:
        if kind == "alias":
            out += [f"### {brief(name)}", "", *([paragraph(doc), ""] if doc else []), f"`{brief(rest)}`", ""]
            continue
        if kind == "class" and not (doc or fields):
            continue
        out += [f"### {brief(name)}" if kind == "class" else f"### `{signature(stubs, name, rest)}`", ""]
        out += [paragraph(doc), ""] if doc else []
        lines = [item(f) for f in fields if not f.startswith("[")] + [item(p) for p in params] + [returned(r) for r in returns]
        out += lines + [""] if lines else []
    return "\n".join(out).rstrip() + "\n"


def operators():
    """One row an operator: how it is called, and the attributes."""
    text = (META / "onnx.lua").read_text()
    version = re.search(r"the operators of opset (\d+)", text)[1]
    attrs = {m[1]: m[2] for m in re.finditer(r"^---@class t2o\.onnx\.(\w+): t2o\.Attrs\n((?:---@field.*\n)*)", text, re.M)}
    out = [f"\n## ONNX operators: opset {version}", "", "| function | attributes |", "|---|---|"]
    for m in re.finditer(r"((?:^---.*\n)*)^function g\.(\w+)\((.*)\) end", text, re.M):
        optional = set(re.findall(r"---@param (\w+)\? t2o\.Value", m[1]))
        names = [n + "?" if n in optional else n for n in m[3].split(", ") if n != "attrs"]
        fields = [f[0] + (f[1] and f" = {f[1]}") for f in re.findall(
            r"---@field (?:\[\")?(\w+)(?:\"\])?\??.*?(?: = (.*))?$", attrs.get(m[2], ""), re.M)]
        out.append(f"| `g.{m[2]}({', '.join(names)})` | {', '.join(f'`{f}`' for f in fields)} |")
    return "\n".join(out)


def main():
    print(HEAD)
    for name, title in FILES:
        print(section(title, Stubs((META / f"{name}.lua").read_text())), end="")
    print(operators())


if __name__ == "__main__":
    main()
