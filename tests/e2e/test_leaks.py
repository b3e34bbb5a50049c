"""No error path leaks or touches memory that is not its own: the runs of test_cli under valgrind."""
import shutil
import subprocess

import pytest
from paths import BAD, BINARY, CASES

VALGRIND = ["valgrind", "-q", "--leak-check=full", "--errors-for-leak-kinds=all", "--show-leak-kinds=all",
            "--error-exitcode=99"]
GOOD = CASES / "linear" / "model.pt2"

RULES = {
    "syntax": "local x = = 3",
    "lua_error": "local aten = require('t2o.rules').namespace('aten')\n"
                 "aten:rule('linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor', function(g, a)\n"
                 "  return a.nothing.at.all\nend)",
    "invalid_node": "local aten = require('t2o.rules').namespace('aten')\n"
                    "aten:rule('linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor', function(g, a)\n"
                    "  return g.Gemm(a.input)\nend)",
    "memory": "local s = 'x' while true do s = s .. s end",
}

RUNS = [
    (["convert", GOOD, "-o", "{out}"], 0),
    (["check", GOOD, "--json"], 0),
    (["info", GOOD, "--verbose"], 0),
    (["rules", "list"], 0),
    (["convert", BAD / "missing_op.pt2", "-o", "{out}"], 3),
    (["convert", BAD / "truncated.pt2", "-o", "{out}"], 5),
    (["convert", BAD / "torchscript.pt", "-o", "{out}"], 5),
    (["convert", BAD, "-o", "{out}"], 5),
    (["convert", GOOD, "-o", "/dev/null/folder/model.onnx"], 1),
    (["convert", GOOD, "-o", "{out}.py"], 0),
    (["convert", GOOD, "-o", "{out}.pt2"], 0),
    (["convert", CASES.parent / "onnx" / "missing.onnx", "-o", "{out}.py"], 5),
    *[(["convert", GOOD, "-o", "{out}", "-r", name], 6) for name in RULES],
]


@pytest.mark.skipif(not shutil.which("valgrind"), reason="valgrind is not installed")
@pytest.mark.skipif("asan" in str(BINARY), reason="valgrind cannot run a binary with sanitizers")
@pytest.mark.parametrize("arguments, code", RUNS, ids=[f"{r[0][0]}-{i}" for i, r in enumerate(RUNS)])
def test_no_leak(tmp_path, arguments, code):
    for name, text in RULES.items():
        (tmp_path / name).write_text(text)
    out = tmp_path / "model.onnx"
    words = [str(w).replace("{out}", str(out)) for w in arguments]
    done = subprocess.run([*VALGRIND, BINARY, *words], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    written = [f for f in tmp_path.glob("model.onnx*") if f.suffix != ".safetensors"]
    assert len(written) == (code == 0 and arguments[0] == "convert")
