"""Killed at any moment, or with the disk full, a target is the old file or the whole new one."""
import random
import resource
import signal
import subprocess
import sys
import time

import pytest

from paths import BINARY, ROOT

sys.path.insert(0, str(ROOT / "tests" / "bench"))
import archive  # noqa: E402

TIMES = 12


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """Takes long enough to be killed in the middle."""
    path = tmp_path_factory.mktemp("models") / "model.pt2"
    archive.layers(path, 400)
    return path


def files(folder):
    return {p.name: p.read_bytes() for p in folder.iterdir()}


def command(model, out, *args):
    return [BINARY, "--no-user-rules", "-q", "convert", model, "-o", out, *args]


@pytest.mark.parametrize("name, args", [
    ("model.onnx", ()), ("model.onnx", ("--weights", "external")), ("model.py", ())], ids=["embed", "external", "py"])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=["kill", "term"])
def test_killed(model, tmp_path, name, args, number):
    new, folder = tmp_path / "new", tmp_path / "out"
    new.mkdir()
    folder.mkdir()
    start = time.monotonic()
    subprocess.run(command(model, new / name, *args), check=True)
    whole = time.monotonic() - start
    after = files(new)
    before = {n: b"older" for n in after}
    rng = random.Random(0)
    for i in range(TIMES):
        for old in folder.iterdir():
            old.unlink()
        for n, data in before.items():
            (folder / n).write_bytes(data)
        process = subprocess.Popen(command(model, folder / name, *args))
        time.sleep(whole * (0.6 * i / TIMES + 0.6 * rng.random()))
        process.send_signal(number)
        ended = process.wait()
        left = files(folder)
        rest = [n for n in left if n not in after]
        assert not rest or (ended == -signal.SIGKILL and all(n.endswith(".part") for n in rest))
        # of two files, both are whole before either gets its name; an old model never stands beside new weights
        missing = [n for n in after if n not in left]
        assert not missing or (missing == [name] and len(after) > 1 and ended == -signal.SIGKILL)
        assert all(left[n] in (before[n], after[n]) for n in after if n in left), ended
        assert left.get(name) != before[name] or all(left[n] == before[n] for n in after)
        if ended == 0:
            assert left == after


def limited(size):
    def set_limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    return set_limit


@pytest.mark.parametrize("name, args", [
    ("model.onnx", ()), ("model.onnx", ("--weights", "external")), ("model.py", ())], ids=["embed", "external", "py"])
@pytest.mark.parametrize("size", [0, 1000, 300000])
def test_no_more_room_in_a_file(model, tmp_path, name, args, size):
    (tmp_path / name).write_bytes(b"older")
    done = subprocess.run(command(model, tmp_path / name, *args), capture_output=True, text=True,
                          preexec_fn=limited(size))
    assert done.returncode == 1 and "error[E0101]" in done.stderr
    assert files(tmp_path) == {name: b"older"}


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 256 kB."""
    place = tmp_path / "disk"
    place.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", place], capture_output=True).returncode:
        pytest.skip("a file system can be mounted by root only")
    yield place
    subprocess.run(["umount", place], check=True)


@pytest.mark.parametrize("name, args", [
    ("model.onnx", ()), ("model.onnx", ("--weights", "external")), ("model.py", ())], ids=["embed", "external", "py"])
def test_disk_full(model, small_disk, name, args):
    (small_disk / name).write_bytes(b"older")
    done = subprocess.run(command(model, small_disk / name, *args), capture_output=True, text=True)
    assert done.returncode == 1 and "error[E0101]" in done.stderr and "No space left" in done.stderr
    assert files(small_disk) == {name: b"older"}
