#!/usr/bin/env python3
"""Writes, at the end of each rule file, the operators' names that the file puts together at run time: name_hints.py

A built-in rule file runs when an operator is asked for whose name stands in it in quotes (src/script/load.c). Rules that
are registered in loops spell no names; without the comment that is written here, all files would have to run. A stale
comment costs time and nothing else.
"""
import collections
import json
import pathlib
import re
import subprocess
import textwrap

ROOT = pathlib.Path(__file__).resolve().parents[1]
HEAD = "-- Names that are put together above, for the index of rules (tools/name_hints.py):"


def spelt(text):
    return set(re.findall(r'"([\w.]+)', text))


listed = json.loads(subprocess.run([ROOT / "build" / "t2o", "--no-user-rules", "rules", "list", "--json"],
                                   capture_output=True, text=True, check=True).stdout)
names = collections.defaultdict(set)
for rule in listed:
    names[rule["rule"].rpartition(":")[0]].add(rule["op"].partition("::")[2])
for path, ops in sorted(names.items()):
    file = ROOT / path
    text = file.read_text().partition("\n" + HEAD)[0].rstrip("\n") + "\n"
    missing = sorted(ops - spelt(text))
    if missing:
        lines = textwrap.wrap(" ".join(f'"{n}"' for n in missing), 100, break_long_words=False)
        text += "\n" + HEAD + "\n" + "".join(f"-- {line}\n" for line in lines)
    if text != file.read_text():
        file.write_text(text)
        print(f"{path}: {len(missing)} names")
