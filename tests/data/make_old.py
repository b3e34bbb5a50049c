"""Write the cases in tests/data/old: one folder for the PyTorch at hand, whose layout and schema they show.

    python make_old.py [FOLDER]

Runs with PyTorch 2.5 and everything after it, and onnx; each version that changed something has its folder. A case is
laid out as in tests/data/cases.
"""
import copy
import io
import pathlib
import shutil
import sys
import warnings
import zipfile
import zlib

import torch
import torch.nn.functional as F
from torch import nn
from torch.export import Dim
from torch.utils import _pytree as pytree

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "torch"))
import common  # noqa: E402

warnings.filterwarnings("ignore")
VERSION = ".".join(torch.__version__.split(".")[:2])


class Weights(nn.Module):
    """Tied and transposed weights, views of one storage, most dtypes, a buffer that is not saved, an empty one."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(6, 4)
        self.head = nn.Linear(4, 6, bias=False)
        self.head.weight = self.table.weight
        self.turned = nn.Parameter(torch.randn(4, 4).t())
        line = torch.arange(24.0)
        self.register_buffer("middle", line[4:8])
        self.register_buffer("steps", line[3:15:3])
        self.register_buffer("passing", torch.randn(4), persistent=False)
        self.register_buffer("spread", torch.randn(1, 1).expand(3, 4))
        self.register_buffer("last", torch.randn(1, 4, 2, 2).to(memory_format=torch.channels_last))
        self.register_buffer("flags", torch.tensor([True, False, True, True]))
        self.register_buffer("wide", torch.randn(4, dtype=torch.float64))
        self.register_buffer("narrow", torch.randn(4).to(torch.float16))
        self.register_buffer("brain", torch.randn(4).to(torch.bfloat16))
        self.register_buffer("small", torch.arange(4, dtype=torch.int8))
        self.register_buffer("empty", torch.zeros(0, 4))
        self.register_buffer("count", torch.tensor(3))

    def forward(self, i):
        x = self.table(i) @ self.turned + self.middle * self.steps + self.passing + self.spread.sum(0)
        x = x + self.last.sum((0, 2, 3)) + self.small + self.empty.sum() + self.count
        x = torch.where(self.flags, x, x * self.narrow.float() + self.brain.float())
        return self.head(x), x * self.wide


class Sizes(nn.Module):
    def forward(self, x):
        n, m = x.shape
        y = F.pad(x, (0, n % 3)).reshape(-1)
        return (torch.cat([x, x[:, :2]], 1).reshape(n * (m + 2)), x.sum(0) / n, y[: n * m // 2 + 1],
                torch.zeros(2 * n - 1, m // 2 + 1) + n)


class Branches(nn.Module):
    """A condition, what it returns being one thing; a region without gradients; a buffer that changes."""

    def __init__(self):
        super().__init__()
        self.one, self.other = nn.Linear(3, 3), nn.Linear(3, 3)
        self.register_buffer("seen", torch.zeros(3))

    def forward(self, x):
        y = torch.cond(x.sum() > 0, lambda x: self.one(x), lambda x: self.other(x) * 2, (x,))
        with torch.no_grad():
            z = y.relu()
        self.seen.add_(x.sum(0))
        return z + self.seen, y


class Numbers(nn.Module):
    """Floats that are none in JSON, results that come as lists, dtypes and memory formats as arguments."""

    def forward(self, x):
        inf = float("inf")
        a, b = torch.split(x, [1, 3], 1)
        return (x.clamp(-inf, 0.25), torch.full_like(x, inf), x.masked_fill(x > 1, -inf), x * 1e-30 * 1e30,
                torch.where(x > 0, x, -inf), x.to(torch.int32), x.contiguous(memory_format=torch.preserve_format),
                a + b, *torch.topk(x, 2), *x.unbind(), x[:, torch.tensor([2, 0])], torch.tensor([1.5, 2.5]).sum() + x)


class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.out = nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), nn.Linear(12, 2)

    def forward(self, x):
        return self.out(F.max_pool2d(F.gelu(self.norm(self.conv(x)), approximate="tanh"), 2).flatten(1))


class Recurrent(nn.Module):
    """The shapes that PyTorch up to 2.12 records of the last states are wrong."""

    def __init__(self):
        super().__init__()
        self.cells = nn.LSTM(3, 4, num_layers=2, batch_first=True)

    def forward(self, x):
        y, (h, c) = self.cells(x)
        return y, h, c


CASES = {
    "weights": (Weights, [torch.tensor([[1, 2], [0, 5]])], None),
    "sizes": (Sizes, [torch.randn(4, 6)], [{0: Dim("n", min=2, max=64), 1: Dim("m", min=3, max=64)}]),
    "branches": (Branches, [torch.ones(2, 3)], None),
    "numbers": (Numbers, [torch.tensor([[0.5, -1.5, 2.0, 0.0], [3.0, -0.25, 1.0, 7.0]])], None),
    "recurrent": (Recurrent, [torch.randn(2, 5, 3)], None),
    "layers": (Layers, [torch.randn(1, 2, 6, 6)], None),
}
OTHERS = {"sizes": [[torch.randn(7, 9)]], "branches": [[-torch.ones(2, 3)]]}


def leaves(value):
    return [v.detach() for v in pytree.tree_leaves(value)]


def scrub(program):
    """Leave out what names folders of this machine or only takes room."""
    for graph in (m for m in program.graph_module.modules() if isinstance(m, torch.fx.GraphModule)):
        for node in graph.graph.nodes:
            for key in ("from_node", "torch_fn", "stack_trace", "source_fn_stack"):
                node.meta.pop(key, None)
    return program


def write(name, root):
    make, inputs, dynamic = CASES[name]
    torch.manual_seed(zlib.crc32(name.encode()))
    net = make().eval()
    program = scrub(torch.export.export(net, tuple(inputs), dynamic_shapes=dynamic))
    shutil.rmtree(root / name, ignore_errors=True)
    for index, values in enumerate([inputs, *OTHERS.get(name, [])]):
        want = leaves(copy.deepcopy(net)(*values))
        if index == 0:
            common.write_case(root / name, program, values, want, name=name, torch=torch.__version__)
        else:
            common.write_data(root / name, values, want, index)


def repickled(data):
    """A torch.save file in the format that it had before PyTorch 1.6."""
    out = io.BytesIO()
    torch.save(torch.load(io.BytesIO(data), weights_only=False), out, _use_new_zipfile_serialization=False)
    return out.getvalue()


def write_legacy(source, target):
    """A case again, with such pickles in its archive."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target)
    with zipfile.ZipFile(source / "model.pt2") as old, zipfile.ZipFile(target / "model.pt2", "w") as new:
        for entry in old.infolist():
            data = old.read(entry)
            new.writestr(entry, repickled(data) if entry.filename.endswith(".pt") and data else data)


def main():
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "old"
    for name in CASES:
        write(name, root / VERSION)
    if VERSION == "2.5":
        write_legacy(root / VERSION / "weights", root / VERSION / "weights_legacy")


if __name__ == "__main__":
    main()
