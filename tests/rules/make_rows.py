"""Writes the rows of tests/rules from archives whose conversion was compared with PyTorch's numbers.

    python make_rows.py [--add] DIR=results.jsonl ...

DIR holds cases, results.jsonl what tests/torch/run_cases.py said of them. Of every overload that a rule converts two
calls are taken from cases that are ok; what the rule builds for them becomes the row. So a row says: this is what was
right when it was written. A change of a row in a review is a change of what users get: compare the numbers again.
--add leaves the rows that are there as they are, and adds those of operators that have none.
"""
import argparse
import collections
import json
import pathlib
import re
import subprocess
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
T2O = ROOT / "build" / "t2o"
DTYPES = {1: "u8", 2: "i8", 3: "i16", 4: "i32", 5: "i64", 6: "f16", 7: "f32", 8: "f64", 10: "c64", 11: "c128",
          12: "bool", 13: "bf16", 28: "u16", 34: "u32", 35: "u64"}
NAMES = {1: "uint8", 2: "int8", 3: "int16", 4: "int32", 5: "int64", 6: "float16", 7: "float32", 8: "float64",
         10: "complex64", 11: "complex128", 12: "bool", 13: "bfloat16", 28: "uint16", 34: "uint32", 35: "uint64"}
NUMBERS = {"as_sym_int": "symint", "as_sym_float": "symfloat", "as_sym_bool": "symbool"}


class NotARow(Exception):
    """The call has a part that a row cannot say."""


def dim(d):
    if "as_int" in d:
        return str(d["as_int"])
    symbol = re.fullmatch(r"Symbol\('(\w+)'.*?\)", d["as_expr"]["expr_str"])
    if not symbol:
        raise NotARow
    return symbol[1]


def tensor(graph, name):
    meta = graph["tensor_values"].get(name)
    if not meta or meta["dtype"] not in DTYPES:
        raise NotARow
    return f'"{DTYPES[meta["dtype"]]}[{", ".join(map(dim, meta["sizes"]))}]"'


def number(x):
    if isinstance(x, bool):
        return str(x).lower()
    if isinstance(x, str):
        return {"Infinity": "math.huge", "-Infinity": "-math.huge", "NaN": "0.0 / 0.0"}[x]
    return repr(x)


def table(items):
    return "{ " + ", ".join(items) + " }" if items else "{}"


def argument(graph, arg):
    """The Lua text of an argument; None where it is None."""
    (tag, value), = arg.items()
    if tag == "as_none":
        return None
    if tag == "as_tensor":
        return tensor(graph, value["name"])
    if tag == "as_tensors":
        return table([tensor(graph, v["name"]) for v in value])
    if tag == "as_optional_tensors":
        texts = [tensor(graph, v["as_tensor"]["name"]) if "as_tensor" in v else "nil" for v in value]
        return table([*texts, f"n = {len(texts)}"])
    if tag in ("as_int", "as_float", "as_bool"):
        return number(value)
    if tag in ("as_ints", "as_floats", "as_bools"):
        return table([number(v) for v in value])
    if tag == "as_string":
        return json.dumps(value)
    if tag == "as_scalar_type" and value in NAMES:
        return f'"{NAMES[value]}"'
    raise NotARow


def names_in(x):
    """The names of all values that a part of a program mentions."""
    if isinstance(x, list):
        return set().union(*map(names_in, x))
    if isinstance(x, dict):
        return {v for k, v in x.items() if k in ("name", "as_name")}.union(*map(names_in, x.values()))
    return set()


def values_read(graph):
    return names_in([[i["arg"] for i in n["inputs"]] for n in graph["nodes"]] + graph["outputs"])


def results(graph, outputs):
    """What a call gives; "-" for what nobody reads, since nobody compared it."""
    texts, read = [], values_read(graph)
    for o in outputs:
        if not names_in(o) & read:
            texts.append('"-"')
        elif "as_tensor" in o:
            texts.append(tensor(graph, o["as_tensor"]["name"]))
        elif "as_tensors" in o:
            texts.append(table([tensor(graph, v["name"]) for v in o["as_tensors"]]))
        elif next(iter(o)) in NUMBERS:
            texts.append(f'"{NUMBERS[next(iter(o))]}"')
        else:
            raise NotARow
    return texts[0] if len(texts) == 1 and texts[0][0] == '"' else table(texts)


def call(graph, node):
    """(op, Lua text of the row's first three fields)"""
    if node["name"] and any(o.get("as_tensor", {}).get("name", "").startswith("?") for o in node["outputs"]):
        raise NotARow
    args = []
    skipped = {"as_device", "as_layout", "as_memory_format"}
    for i in node["inputs"]:
        if next(iter(i["arg"])) in skipped:
            continue
        text = argument(graph, i["arg"])
        if text is not None:
            key = i["name"] if i["name"] not in ("end", "in", "not") else f'["{i["name"]}"]'
            args.append(f"{key} = {text}")
    return f'{table(args)}, {results(graph, node["outputs"])}'


def op_of(target):
    parts = target.removeprefix("torch.ops.").split(".")
    if not target.startswith("torch.ops.") or len(parts) != 3:
        raise NotARow
    return f"{parts[0]}::{parts[1]}" + ("" if parts[2] == "default" else f".{parts[2]}")


def program(path):
    archive = zipfile.ZipFile(path)
    name = next(n for n in archive.namelist() if "/models/" in n and n.endswith(".json"))
    return json.loads(archive.read(name))["graph_module"]["graph"]


def collect(rows, cases, good, listed):
    """Adds to op -> row texts. A call in place is one of the rule that the engine makes of it."""
    for name in good:
        graph = program(cases / name / "model.pt2")
        for node in graph["nodes"]:
            try:
                op = op_of(node["target"])
                rows[op if op in listed else re.sub(r"_(?=$|\.)", "", op)].add(call(graph, node))
            except NotARow:
                continue


def choose(texts):
    """One short call, and the one with the most arguments."""
    ordered = sorted(texts, key=lambda t: (len(t), t))
    ordered = [t for t in ordered if len(t) < 300]
    most = max(ordered, key=lambda t: (t.count(" = "), -len(t), t), default=None)
    return list(dict.fromkeys([*ordered[:1], *([most] if most else [])]))


def build(path, n):
    """What each row of a file builds: the text behind "= N op: "."""
    said = subprocess.run([T2O, "--no-user-rules", "rules", "test", "-v", path], capture_output=True, text=True).stdout
    found = dict(re.findall(r"^= (\d+) \S+: (.*)$", said, re.M))
    return [found.get(str(i + 1), "") for i in range(n)]


def row_text(op, text, built):
    if built.startswith("E0"):
        code, _, reason = built.partition(": ")
        return f'  {{ "{op}", {text},\n    fails = "{code}" }},\n'
    if re.fullmatch(r"\d+ nodes", built):
        return f'  {{ "{op}", {text},\n    nodes = {built.split()[0]} }},\n'
    parts = built.split(" ; ")
    want = json.dumps(parts[0]) if len(parts) == 1 else table([json.dumps(p) for p in parts])
    if len(want) > 500:
        nodes = len(re.findall(r"\b[A-Z]\w*\(", built))
        return f'  {{ "{op}", {text},\n    nodes = {nodes} }},\n'
    return f'  {{ "{op}", {text},\n    want = {want} }},\n'


def row_files():
    """The files of rows beside this one."""
    return sorted(pathlib.Path(__file__).resolve().parent.glob("*/*.lua"))


def ops_with_rows(path):
    text = path.read_text()
    namespace = text.partition('namespace = "')[2].partition('"')[0]
    return {f"{namespace}::{op}" for op in re.findall(r'^  \{ "([^"]+)"', text, re.M)}


def write(path, head, entries):
    """Writes the rows of these calls behind the head; returns how many."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(head + "".join(f'  {{ "{op}", {text} }},\n' for op, text in entries) + "}\n")
    before = len(re.findall(r'^  \{ "', head, re.M))
    built = build(path, before + len(entries))[before:]
    texts = [row_text(op, text, b) for (op, text), b in zip(entries, built) if b]
    path.write_text(head + "".join(t for t in texts if t) + "}\n")
    return sum(t is not None for t in texts)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("sources", nargs="+", metavar="DIR=RESULTS")
    p.add_argument("--add", action="store_true", help="keep the rows there are; add those of operators without")
    a = p.parse_args()
    listed = json.loads(subprocess.run([T2O, "--no-user-rules", "rules", "list", "--json"], capture_output=True,
                                       text=True, check=True).stdout)
    rows = collections.defaultdict(set)
    for source in a.sources:
        cases, _, results = source.partition("=")
        said = map(json.loads, pathlib.Path(results).read_text().splitlines())
        collect(rows, pathlib.Path(cases), [r["case"] for r in said if r["status"] == "ok"], {e["op"] for e in listed})
    have = set().union(*map(ops_with_rows, row_files())) if a.add else set()
    files = collections.defaultdict(list)
    for entry in listed:
        ns, op = entry["op"].split("::")
        family = entry["rule"].removeprefix("rules/").rpartition(":")[0]
        for text in choose(rows.get(entry["op"], ())) if entry["op"] not in have else ():
            files[family, ns].append((op, text))
    for (family, ns), entries in sorted(files.items()):
        stem, suffix = family.removesuffix(".lua"), "" if family.startswith((ns + "/", "aten/")) else f"_{ns}"
        path = ROOT / "tests" / "rules" / f"{stem}{suffix}.lua"
        head = f"-- tests/rules/{stem}{suffix}.lua: what the rules in rules/{family} build.\n\nreturn {{\n" \
               f'  namespace = "{ns}",\n'
        if a.add and path.exists():
            head = path.read_text().removesuffix("}\n")
        print(f"{path.relative_to(ROOT)}: {write(path, head, entries)} rows")


if __name__ == "__main__":
    main()
