"""What rules build, row by row: `t2o rules test` over the files beside this one."""
import json
import os
import pathlib
import subprocess

import pytest

HERE = pathlib.Path(__file__).resolve().parent
BINARY = pathlib.Path(os.environ.get("T2O", HERE.parents[1] / "build" / "t2o")).resolve()
FILES = sorted(HERE.glob("*/*.lua"))


def t2o(*words):
    return subprocess.run([BINARY, "--no-user-rules", *words], capture_output=True, text=True)


@pytest.mark.parametrize("path", FILES, ids=[str(f.relative_to(HERE)) for f in FILES])
def test_rows(path):
    done = t2o("rules", "test", path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_rule_has_a_row():
    """A rule without a row is one that nobody has compared with PyTorch; without_rows.txt names the few that are
    compared elsewhere, and says why."""
    listed = {r["op"] for r in json.loads(t2o("rules", "list", "--json").stdout)}
    rows = set()
    for path in FILES:
        text = path.read_text()
        namespace = text.partition('namespace = "')[2].partition('"')[0]
        rows |= {f"{namespace}::" + line.partition('"')[2].partition('"')[0]
                 for line in text.splitlines() if line.startswith('  { "')}
    named = (HERE / "without_rows.txt").read_text().splitlines()
    without = {line for line in named if not line.startswith("#")}
    assert sorted(listed - rows - without) == []
    assert sorted(without - (listed - rows)) == [], "these have a row by now, or are gone"
