"""Several models in one call: a process each, reports in order, what is up to date stays."""
import json
import os
import pty
import shutil
import signal
import subprocess
import sys
import time

import onnx
import pytest

from paths import BAD, BINARY, CASES, MLP, ROOT

CONV = CASES / "conv2d" / "model.pt2"
LSTM = CASES / "lstm" / "model.pt2"
sys.path.insert(0, str(ROOT / "tests" / "bench"))
import archive  # noqa: E402

DIGITS = ROOT / "examples" / "digits" / "digits.pt2"  # weights that are large enough for a file of their own
MISSING = BAD / "missing_op.pt2"


@pytest.fixture
def folder(tmp_path):
    """Models in a folder and below it, two of which cannot be converted."""
    root = tmp_path / "in"
    (root / "sub" / "deep").mkdir(parents=True)
    for name, source in (("a.pt2", MLP), ("sub/b.pt2", CONV), ("sub/deep/a.pt2", LSTM), ("missing.pt2", MISSING),
                         ("cut.pt2", BAD / "truncated.pt2")):
        shutil.copy(source, root / name)
    (root / "notes.txt").write_text("no model")
    return root


def lines(done):
    return [json.loads(line) for line in done.stdout.splitlines()]


def files(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_a_failing_model_stops_no_other(t2o, folder, tmp_path):
    done = t2o("convert", folder, "-d", tmp_path / "out")
    assert done.returncode == 7 and done.stdout == ""
    assert sorted(files(tmp_path / "out")) == ["a.onnx", "sub/b.onnx", "sub/deep/a.onnx"]
    for text in ("missing.pt2: failed", "error[E0301]", "cut.pt2: failed", "error[E0503]", "error[E0701]",
                 "5 models: 3 converted, 2 failed"):
        assert text in done.stderr
    assert "\r" not in done.stderr


def test_a_line_for_each_model_in_order(t2o, folder, tmp_path):
    done = t2o("convert", LSTM, folder, "-d", tmp_path / "out", "--json", "--jobs", "3")
    reports = lines(done)
    names = [os.path.relpath(r["input"], folder) for r in reports[1:]]
    assert reports[0]["input"] == str(LSTM)
    assert names == ["a.pt2", "cut.pt2", "missing.pt2", "sub/b.pt2", "sub/deep/a.pt2"]
    assert [r["exit_code"] for r in reports] == [0, 0, 5, 3, 0, 0]
    single = lines(t2o("convert", CONV, "-o", tmp_path / "single.onnx", "--json"))[0]
    assert {**single, "input": "", "output": ""} == {**reports[4], "input": "", "output": ""}


def test_same_bytes_whatever_jobs_is(t2o, folder, tmp_path):
    made = []
    for jobs in ("1", "4"):
        done = t2o("convert", folder, "-d", tmp_path / jobs, "--jobs", jobs, "--json")
        made.append((files(tmp_path / jobs), done.stdout.replace(str(tmp_path / jobs), "")))
    assert made[0] == made[1]
    assert t2o("convert", folder / "a.pt2", "-o", tmp_path / "alone.onnx").returncode == 0
    assert made[0][0]["a.onnx"] == (tmp_path / "alone.onnx").read_bytes()


def test_options_count_for_every_model(t2o, folder, tmp_path):
    t2o("convert", folder, DIGITS, "-d", tmp_path / "out", "--opset", "17", "--weights", "external")
    for name in ("a.onnx", "sub/b.onnx"):
        model = onnx.load(str(tmp_path / "out" / name))
        assert model.opset_import[0].version == 17
    assert (tmp_path / "out" / "digits.onnx.data").exists()


def test_beside_the_inputs(t2o, folder):
    assert t2o("convert", folder / "a.pt2", folder / "sub" / "b.pt2").returncode == 0
    assert (folder / "a.onnx").exists() and (folder / "sub" / "b.onnx").exists()


@pytest.mark.parametrize("kind", ["py", "pt2"])
def test_way_back(t2o, tmp_path, kind):
    t2o("convert", MLP, "-o", tmp_path / "mlp.onnx")
    t2o("convert", CONV, "-o", tmp_path / "conv.onnx")
    for _ in range(2):  # what was written is not read the second time
        done = t2o("convert", tmp_path, "-d", tmp_path / "back", "--to", kind)
        assert done.returncode == 0, done.stderr
        assert {f"mlp.{kind}", f"conv.{kind}"} <= set(files(tmp_path / "back"))
    done = t2o("convert", tmp_path, "-d", tmp_path / "back", "--to", kind, "--skip-existing")
    assert done.returncode == 0 and "2 up to date" in done.stderr


# ------------------------------------------------------------------ wrong use
def test_two_models_for_one_name(t2o, folder, tmp_path):
    done = t2o("convert", folder / "a.pt2", folder / "sub" / "deep" / "a.pt2", "-d", tmp_path / "out")
    assert done.returncode == 2 and "deep/a.pt2" in done.stderr and not (tmp_path / "out").exists()


def test_a_model_given_twice_counts_once(t2o, folder, tmp_path):
    done = t2o("convert", folder / "a.pt2", folder / "a.pt2", "-d", tmp_path / "out", "--json")
    assert done.returncode == 0 and len(lines(done)) == 1


@pytest.mark.parametrize("args", [("-o", "x.onnx"), ("-d", "out", "-o", "x.onnx"), ("-d", "out", "--to", "tflite"),
                                  ("-d", "out", "--jobs", "many")], ids=" ".join)
def test_usage(t2o, folder, tmp_path, args):
    done = t2o("convert", folder / "a.pt2", folder / "sub" / "b.pt2", *args, cwd=tmp_path)
    assert done.returncode == 2 and not (tmp_path / "out").exists() and not (tmp_path / "x.onnx").exists()


def test_no_output_replaces_an_input(t2o, tmp_path):
    t2o("convert", MLP, "-o", tmp_path / "a.onnx")
    before = files(tmp_path)
    done = t2o("convert", tmp_path / "a.onnx", MLP, "-d", tmp_path)
    assert done.returncode == 2 and files(tmp_path) == before


def test_folder_without_models(t2o, tmp_path):
    (tmp_path / "empty").mkdir()
    done = t2o("convert", tmp_path / "empty", "-d", tmp_path / "out")
    assert done.returncode == 5 and "empty" in done.stderr


def test_output_folder_is_a_file(t2o, tmp_path):
    (tmp_path / "out").write_text("file")
    assert t2o("convert", MLP, "-d", tmp_path / "out").returncode == 1


# ------------------------------------------------------------------ what is up to date
def test_skip_existing(t2o, folder, tmp_path, relu_rule):
    def run(*args):
        done = t2o("convert", folder, "-d", tmp_path / "out", "--skip-existing", "--json", *args)
        return [os.path.basename(r["output"]) for r in lines(done) if r["ok"] and not r.get("skipped")]
    everything = ["a.onnx", "b.onnx", "a.onnx"]
    assert run() == everything
    times = {p: p.stat().st_mtime_ns for p in (tmp_path / "out").rglob("*.onnx")}
    assert run() == []
    assert times == {p: p.stat().st_mtime_ns for p in (tmp_path / "out").rglob("*.onnx")}
    assert run("--opset", "18") == everything and run("--opset", "18") == []
    rule = relu_rule("return g.Neg(a.self)")
    assert run("-r", rule) == everything and run("-r", rule) == []
    relu_rule("return g.Abs(a.self)")
    assert run("-r", rule) == everything
    shutil.copyfile(CONV, folder / "a.pt2")  # another model
    assert run("-r", rule) == ["a.onnx"]
    os.utime(folder / "a.pt2", (1, 1))  # its time is not what counts
    assert run("-r", rule) == []
    (tmp_path / "out" / "a.onnx").write_bytes(b"cut short")
    assert run("-r", rule) == ["a.onnx"]


def test_weights_that_are_gone_are_written_again(t2o, tmp_path):
    args = ("convert", DIGITS, "-d", tmp_path, "--weights", "external", "--skip-existing", "--json")
    assert "skipped" not in lines(t2o(*args))[0] and lines(t2o(*args))[0]["skipped"]
    (tmp_path / "digits.onnx.data").unlink()
    assert "skipped" not in lines(t2o(*args))[0] and (tmp_path / "digits.onnx.data").exists()


def test_input_with_other_weights(t2o, tmp_path):
    """An ONNX model has no checksums: it is read as a whole, and so are its external data."""
    model = tmp_path / "model.onnx"
    t2o("convert", DIGITS, "-o", model, "--weights", "external")
    args = ("convert", model, "-d", tmp_path / "out", "--to", "py", "--skip-existing", "--json")
    assert "skipped" not in lines(t2o(*args))[0] and lines(t2o(*args))[0]["skipped"]
    data = bytearray((tmp_path / "model.onnx.data").read_bytes())
    data[5] ^= 1
    (tmp_path / "model.onnx.data").write_bytes(data)
    assert "skipped" not in lines(t2o(*args))[0]


def test_skip_existing_of_one(t2o, out):
    for word in ("initializers", "up to date"):
        assert word in t2o("convert", MLP, "-o", out, "--skip-existing").stderr


# ------------------------------------------------------------------ processes
def children(pid):
    return [int(c) for c in open(f"/proc/{pid}/task/{pid}/children").read().split()]


def wait_for(found, seconds=20):
    end = time.monotonic() + seconds
    while not (value := found()):
        assert time.monotonic() < end
        time.sleep(0.01)
    return value


@pytest.fixture
def stuck(folder, tmp_path):
    """A batch one model of which takes long; (process, the child that converts it)."""
    archive.chain(folder / "large.pt2", 40000)
    process = subprocess.Popen([BINARY, "convert", folder, "-d", tmp_path / "out", "--json", "--jobs", "1",
                                "--no-user-rules"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    def slow():
        for child in children(process.pid):
            if float(open(f"/proc/{child}/stat").read().split()[13]) > 20:  # hundredths of a second
                return child
    yield process, wait_for(slow)
    process.kill()
    process.communicate()


def test_a_crash_is_one_model_that_failed(stuck):
    process, child = stuck
    os.kill(child, signal.SIGKILL)
    out, err = process.communicate(timeout=30)
    reports = [json.loads(line) for line in out.splitlines()]
    assert process.returncode == 7 and len(reports) == 6
    crashed = [r for r in reports if r["diagnostics"] and r["diagnostics"][0]["code"] == "E0107"]
    assert len(crashed) == 1 and crashed[0]["input"].endswith("large.pt2") and crashed[0]["output"] is None
    assert "signal 9" in crashed[0]["diagnostics"][0]["message"] and "error[E0107]" in err


def test_children_end_with_their_parent(stuck):
    process, child = stuck
    process.kill()
    def gone():
        try:
            return open(f"/proc/{child}/stat").read().split()[2] == "Z"
        except FileNotFoundError:
            return True
    wait_for(gone)


@pytest.mark.parametrize("quiet", [False, True])
def test_progress_on_a_terminal(folder, tmp_path, quiet):
    ours, theirs = pty.openpty()
    process = subprocess.Popen([BINARY, "convert", folder, "-d", tmp_path / "out", "--no-user-rules",
                                *(["--quiet"] if quiet else [])],
                               stderr=theirs, stdout=subprocess.DEVNULL, env={**os.environ, "NO_COLOR": "1"})
    os.close(theirs)
    said = b""
    while True:
        try:
            block = os.read(ours, 4096)
        except OSError:
            break
        if not block:
            break
        said += block
    os.close(ours)
    assert process.wait() == 7
    assert (b"[0/5]" in said) is not quiet and b"\x1b" not in said
    assert all(len(part) <= 80 for line in said.split(b"\n") for part in line.rstrip(b"\r").split(b"\r") if b"/5]" in part)
