"""PyTorch's own op database: every operator with PyTorch's sample inputs, compared with PyTorch's results.

tests/data/opcases.tar.xz holds 6,388 programs of one operator each, with inputs and outputs (tests/e2e/case.py says how
a case lies on disk). By default two cases of every operator and dtype run; T2O_OPS=all runs them all. refused.tsv names
the cases that cannot be converted, with the error's code: one that passes all the same fails here.
"""
import collections
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile

import onnx
import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))
import case  # noqa: E402

BINARY = pathlib.Path(os.environ.get("T2O", HERE.parents[1] / "build" / "t2o")).resolve()
BUNDLE = HERE.parent / "data" / "opcases.tar.xz"
OPSET = 18
REFUSED = dict(line.split("\t") for line in (HERE / "refused.tsv").read_text().splitlines() if line[:1] != "#")


def op_of(name):
    """'nn.functional.conv2d.float32.3' -> 'nn.functional.conv2d', 'nn.functional.conv2d.float32'"""
    group = name.rpartition(".")[0]
    return group.rpartition(".")[0], group


def chosen(names):
    """First and last case of each operator and dtype, or all."""
    if os.environ.get("T2O_OPS") == "all":
        return sorted(names)
    groups = collections.defaultdict(list)
    for name in names:
        groups[op_of(name)[1]].append(name)
    kept = set()
    for group in groups.values():
        group.sort(key=lambda n: int(n.rpartition(".")[2]))
        kept.update((group[0], group[-1]))
    return sorted(kept)


def outcome(folder):
    """None when the converted model gives PyTorch's numbers, else what went wrong: 'E0301', or a sentence."""
    folder = pathlib.Path(folder)
    model = folder / "model.onnx"
    facts = json.loads((folder / "case.json").read_text())
    done = subprocess.run([BINARY, "--no-user-rules", "convert", "-q", folder / "model.pt2", "-o", model, "--opset",
                           str(OPSET)], capture_output=True, text=True, errors="replace", timeout=60)
    if done.returncode:
        code = done.stderr.partition("[")[2].partition("]")[0]
        return code if done.returncode == 3 and code else f"exit {done.returncode}: {done.stderr[:300]}"
    try:
        onnx.checker.check_model(str(model), full_check=True)
        for index in range(case.data_sets(folder)):
            got = case.run_ort(model, case.read_data(folder, "input", index), names=facts.get("input_names"))
            why = case.compare(case.read_data(folder, "output", index), got, ignore=facts.get("ignore", ()),
                               least_atol=facts.get("atol", 0))
            if why:
                return why
    except Exception as e:  # the checker's and the runtime's complaints are of many types
        return f"{type(e).__name__}: {str(e)[:300]}"
    return None


@pytest.fixture(scope="module")
def outcomes():
    """case -> what outcome() says"""
    with tempfile.TemporaryDirectory() as scratch:
        with tarfile.open(BUNDLE) as bundle:
            members = collections.defaultdict(list)
            for member in bundle.getmembers():
                if member.isfile() and member.name.count("/") >= 2:
                    members[member.name.split("/")[1]].append(member)
            names = chosen(members)
            bundle.extractall(scratch, [m for name in names for m in members[name]], filter="data")
        folders = [os.path.join(scratch, "ops", name) for name in names]
        with concurrent.futures.ProcessPoolExecutor(2) as pool:
            return dict(zip(names, pool.map(outcome, folders, chunksize=8)))


def operators():
    with tarfile.open(BUNDLE) as bundle:
        names = {m.name.split("/")[1] for m in bundle if m.name.count("/") >= 1}
    return sorted({op_of(n)[0] for n in names if n.count(".") >= 2})


@pytest.mark.parametrize("op", operators())
def test_op(op, outcomes):
    wrong = {name: why for name, why in outcomes.items()
             if op_of(name)[0] == op and why != REFUSED.get(name)}
    assert not wrong
