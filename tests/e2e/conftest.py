"""Fixtures that run the binary the way a user does."""
import os
import resource
import subprocess

import pytest

from paths import BINARY, RELU


def pytest_sessionstart(session):
    if not os.access(BINARY, os.X_OK):
        pytest.exit(f"no such program: {BINARY} (run make, or set T2O)", returncode=2)


@pytest.fixture
def t2o(tmp_path):
    """Run t2o with no rules but its own; returns the finished process."""
    def run(*args, timeout=60, cwd=None, env=None, limits=None):
        def limit():
            for what, most in (limits or {}).items():
                resource.setrlimit(what, (most, most))
        clean = {k: v for k, v in os.environ.items() if not k.startswith("T2O")}
        clean["XDG_CONFIG_HOME"] = str(tmp_path / "no-config")
        return subprocess.run([BINARY, *map(str, args)], stdin=subprocess.DEVNULL, cwd=cwd,
                              capture_output=True, text=True, errors="replace", timeout=timeout,
                              preexec_fn=limit, env={**clean, **(env or {})})
    return run


@pytest.fixture
def out(tmp_path):
    """Where to write a model: alone in its folder, so that what a failed run leaves is seen."""
    folder = tmp_path / "out"
    folder.mkdir()
    return folder / "model.onnx"


@pytest.fixture
def convert(t2o, out):
    """Convert a model that must succeed; returns it as an onnx.ModelProto."""
    def run(model, *args, **kw):
        import onnx
        done = t2o("convert", model, "-o", out, *args, **kw)
        assert done.returncode == 0, done.stderr
        assert [f.name for f in out.parent.iterdir()] == [out.name]
        onnx.checker.check_model(str(out), full_check=True)
        return onnx.load(str(out))
    return run


@pytest.fixture
def refused(t2o, out):
    """Convert a model that must fail this way; returns what was said. Leaves no file behind."""
    def run(status, code, model, *args, **kw):
        done = t2o("convert", model, "-o", out, *args, **kw)
        assert done.returncode == status, done.stderr
        assert f"error[{code}" in done.stderr
        assert done.stdout == ""
        assert list(out.parent.iterdir()) == []
        return done.stderr
    return run


@pytest.fixture
def rules(tmp_path):
    """Write a rule file; returns its path."""
    def write(text, name="mine.lua"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path
    return write


@pytest.fixture
def relu_rule(rules):
    """Write a rule file whose third line is the body of a rule for aten::relu."""
    def write(body, name="mine.lua"):
        return rules(f'local aten = require("t2o.rules").namespace("aten")\n'
                     f'aten:rule("{RELU}", function(g, a)\n  {body}\nend)\n', name)
    return write
