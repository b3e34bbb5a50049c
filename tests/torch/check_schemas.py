"""Every schema string in rules/ against the one that PyTorch registers: python check_schemas.py

A rule's schema is where names, types and defaults of arguments come from, so a slip in one is a wrong model. Alias marks
((a), (a!)) are not compared: rules never see them.
"""
import json
import os
import pathlib
import re
import subprocess
import sys

import torch
import torch.ao.quantization.fx._decomposed  # noqa: F401  (quantized_decomposed)
import tvshim  # noqa: F401  (torchvision's operators)
try:
    import torchao  # noqa: F401
except ImportError:
    torchao = None

ROOT = pathlib.Path(__file__).resolve().parents[2]
T2O = os.environ.get("T2O", str(ROOT / "build" / "t2o"))
# PyTorch registers no schema for these, or only when the package is imported.
OURS = {"higher_order", "_operator", "torch", "math", "transformers", "predispatch"} | (set() if torchao else {"torchao"})


def plain(schema):
    """A schema without namespace, alias marks and blanks that mean nothing."""
    text = re.sub(r"\((?:[a-z]\d*!?|\*|[a-z]\|[a-z]|[a-z]\s*->\s*\*)(?:\s*->\s*[a-z*])?\)", "", schema)
    text = re.sub(r"^[\w]+::", "", text).replace(".default(", "(")
    return re.sub(r"\s+", " ", text).replace("( ", "(").strip()


def registered(op):
    """PyTorch's schema of "aten::add.Tensor", or None."""
    ns, _, name = op.partition("::")
    packet, _, overload = name.partition(".")
    try:
        return str(getattr(getattr(getattr(torch.ops, ns), packet), overload or "default")._schema)
    except (AttributeError, RuntimeError):
        return None


def in_place(op):
    ns, _, name = op.partition("::")
    packet, dot, overload = name.partition(".")
    schema = registered(f"{ns}::{packet}_{dot}{overload}")
    return schema and schema.replace(f"{packet}_", packet, 1)


def main():
    said = subprocess.run([T2O, "--no-user-rules", "rules", "list", "--json"], capture_output=True, text=True, check=True)
    passed = failed = skipped = 0
    for rule in json.loads(said.stdout):
        executorch = rule["rule"].startswith("rules/quantized/executorch.lua")
        if executorch or rule["op"].partition("::")[0] in OURS or not rule["schema"]:
            skipped += 1
            continue
        # a functional form that exists only in place (normal_) is the engine's own
        theirs = registered(rule["op"]) or in_place(rule["op"])
        if theirs is None:
            failed += 1
            print(f"{rule['rule']}: PyTorch {torch.__version__} has no {rule['op']}")
        elif plain(theirs) != plain(rule["schema"]):
            failed += 1
            print(f"{rule['rule']}: {rule['op']}\n  ours   {plain(rule['schema'])}\n  theirs {plain(theirs)}")
        else:
            passed += 1
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
