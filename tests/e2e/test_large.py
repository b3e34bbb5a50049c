"""Archives that are larger than 4 GiB (a hole in a sparse file): the numbers of 64 bits in the zip, and little memory."""
import resource
import subprocess
import sys

import onnx
import pytest
from onnx.external_data_helper import ExternalDataInfo

from paths import BINARY, ROOT

sys.path.insert(0, str(ROOT / "tests" / "bench"))
import archive  # noqa: E402

GIB = 1 << 30


def little_memory():
    resource.setrlimit(resource.RLIMIT_DATA, (100 << 20,) * 2)


@pytest.fixture
def large(tmp_path):
    path = tmp_path / "large.pt2"
    archive.products(path, 5, 1 << 20, 1024, hole=True)
    if path.stat().st_blocks * 512 > GIB:
        pytest.skip("the file system has no sparse files")
    assert path.stat().st_size > 20 * GIB
    return path


def test_linked(large, tmp_path):
    out = tmp_path / "model.onnx"
    subprocess.run([BINARY, "--no-user-rules", "convert", large, "-o", out, "--weights", "link"], check=True,
                   preexec_fn=None if "asan" in BINARY.parts else little_memory)
    places = [ExternalDataInfo(i) for i in onnx.load(str(out), load_external_data=False).graph.initializer]
    assert len(places) == 5 and {p.location for p in places} == {"large.pt2"}
    assert all(p.length == 4 * GIB for p in places)
    starts = sorted(p.offset for p in places)
    assert all(a + 4 * GIB <= b for a, b in zip(starts, starts[1:])) and starts[-1] + 4 * GIB < large.stat().st_size
