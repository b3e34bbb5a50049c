"""Write the small cases in tests/data/cases and the wrong inputs in tests/data/bad.

    python make_fixtures.py [--only PATTERN]

Needs PyTorch 2.13, and torchao 0.18 for some of the quantised models. A case is a tiny module with
its inputs and what PyTorch computes from them, in the layout of tests/e2e/case.py. Every case is
seeded by its name, so a run leaves the same bytes.
"""
import argparse
import fnmatch
import io
import json
import math
import pathlib
import re
import shutil
import sys
import warnings
import zipfile
import zlib

import torch
import torch.nn.functional as F
from torch import nn
from torch._higher_order_ops.associative_scan import associative_scan, associative_scan_op
from torch._higher_order_ops.hints_wrap import hints_wrapper
from torch._higher_order_ops.map import map as control_map
from torch._higher_order_ops.out_dtype import out_dtype
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop
from torch.export import Dim
from torch.utils import _pytree as pytree

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "torch"))
import common  # noqa: E402

warnings.filterwarnings("ignore")
CASES = {}
BIG = 2**63 - 1  # what torch.export writes for an open end of a slice
FOLDERS = re.compile(r'File "(?:[^"]*/site-packages/|[^"]*/(?=[^"/]*"))')
randn, DYN = torch.randn, Dim.DYNAMIC


# ------------------------------------------------------------------ how cases are written
def case(make=None, **facts):
    """Register a function that returns (module, inputs[, inputs of other sizes]).

    dynamic=... and strict=True go to torch.export, decompose=True runs its decompositions, state=[...]
    names buffers whose new values are outputs too; anything else becomes a fact in case.json, as
    rules="file in tests/data/rules".
    """
    def register(make):
        CASES[make.__name__] = (make, facts)
        return make
    return register(make) if make else register


def module(forward, **parts):
    """A function of (self, inputs...) as a module with these parts; tensors become buffers."""
    m = type("Case", (nn.Module,), {"forward": forward})()
    for name, part in parts.items():
        plain = isinstance(part, torch.Tensor) and not isinstance(part, nn.Parameter)
        m.register_buffer(name, part) if plain else setattr(m, name, part)
    return m


def many(*layers):
    """Several layers, each applied to the same input."""
    return module(lambda self, x: [m(x) for m in self.layers], layers=nn.ModuleList(layers))


def ints(*shape, low=-9, high=10):
    return torch.randint(low, high, shape)


def bools(*shape):
    return torch.rand(shape) > 0.4


# ------------------------------------------------------------------ convolutions
@case
def conv1d():
    return many(nn.Conv1d(4, 6, 3), nn.Conv1d(4, 6, 3, stride=2, padding=2, dilation=2),
                nn.Conv1d(4, 8, 3, groups=2, bias=False), nn.Conv1d(4, 4, 4, padding="same"),
                nn.Conv1d(4, 3, 3, padding="valid")), [randn(2, 4, 11)]


@case
def conv2d():
    return many(nn.Conv2d(4, 6, 3, stride=2, padding=1), nn.Conv2d(4, 4, (3, 2), padding=(0, 2)),
                nn.Conv2d(4, 8, 3, groups=4, dilation=2), nn.Conv2d(4, 6, 1, bias=False),
                nn.Conv2d(4, 2, (2, 3), padding="same", dilation=(1, 2))), [randn(2, 4, 9, 8)]


@case
def conv2d_padding_modes():
    return many(nn.Conv2d(2, 3, 3, padding=2, padding_mode="reflect"),
                nn.Conv2d(2, 3, 3, padding=(1, 2), padding_mode="circular"),
                nn.Conv2d(2, 3, 4, padding="same", padding_mode="replicate")), [randn(1, 2, 6, 7)]


@case
def conv3d():
    return many(nn.Conv3d(2, 4, 3, padding=1), nn.Conv3d(2, 2, (1, 2, 2), stride=(1, 2, 1)),
                nn.Conv3d(2, 4, 2, groups=2, bias=False)), [randn(1, 2, 4, 5, 4)]


@case
def conv_unbatched():
    return many(nn.Conv2d(3, 4, 3, padding=1), nn.ConvTranspose2d(3, 2, 2, stride=2)), \
        [randn(3, 6, 5)]


@case
def conv_computed_weight():
    return module(lambda self, x, w, b: (F.conv2d(x, w * 2, b), F.conv2d(x, w, padding="same"))), \
        [randn(1, 3, 6, 6), randn(4, 3, 3, 3), randn(4)]


@case
def conv_transpose1d():
    return many(nn.ConvTranspose1d(4, 6, 3), nn.ConvTranspose1d(4, 4, 3, 2, 1, output_padding=1),
                nn.ConvTranspose1d(4, 6, 4, groups=2, dilation=2, bias=False)), [randn(2, 4, 6)]


@case
def conv_transpose2d():
    return many(nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1, output_padding=1),
                nn.ConvTranspose2d(4, 4, 4, stride=2, groups=4, dilation=2),
                nn.ConvTranspose2d(4, 2, (3, 2), (1, 3), (1, 0), (0, 2), bias=False)), \
        [randn(1, 4, 5, 4)]


@case
def conv_transpose3d():
    return many(nn.ConvTranspose3d(2, 3, 2, stride=2), nn.ConvTranspose3d(2, 2, 3, 2, 1, 1)), \
        [randn(1, 2, 2, 3, 3)]


@case
def conv_channels_last():
    m = many(nn.Conv2d(3, 4, 3), nn.Conv2d(3, 6, (2, 3), groups=3))
    return m.to(memory_format=torch.channels_last), [randn(1, 3, 5, 6)]


# ------------------------------------------------------------------ normalisation
def settle(m):
    """Statistics and scales that differ from 0 and 1, so that a wrong use of them shows."""
    for name, t in [*m.named_parameters(), *m.named_buffers()]:
        if t.is_floating_point():
            t.data = torch.rand_like(t) + 0.5 if "var" in name else t.data + randn(t.shape) * 0.3
    return m


@case
def batch_norm():
    return settle(module(
        lambda self, a, b, c: (self.flat(a), self.line(a.unsqueeze(-1)), self.plain(b),
                               self.image(b), F.batch_norm(
                                   c, self.plain.running_mean, self.plain.running_var)),
        flat=nn.BatchNorm1d(3), line=nn.BatchNorm1d(3, eps=0.1), image=nn.BatchNorm2d(3),
        plain=nn.BatchNorm2d(3, affine=False))), \
        [randn(4, 3), randn(2, 3, 4, 5), randn(1, 3, 2, 2, 3)]


@case
def batch_norm_batch_statistics():
    """Training, or no statistics to use: those of the batch. running_var would be unbiased."""
    return settle(module(
        lambda self, x: (self.none(x), self.bare(x), F.batch_norm(x, None, None, training=True),
                         F.batch_norm(x, self.mean.clone(), self.var.clone(), self.none.weight,
                                      training=True)),
        none=nn.BatchNorm2d(3, track_running_stats=False), mean=randn(3), var=torch.rand(3),
        bare=nn.BatchNorm2d(3, affine=False, track_running_stats=False))), [randn(2, 3, 4, 5)]


@case
def conv_batch_norm():
    return settle(nn.Sequential(nn.Conv2d(3, 4, 3, bias=False), nn.BatchNorm2d(4), nn.ReLU(),
                                nn.Conv2d(4, 4, 3, padding=1), nn.BatchNorm2d(4))), \
        [randn(2, 3, 6, 6)]


@case
def layer_norm():
    return settle(many(nn.LayerNorm(6), nn.LayerNorm([4, 6], eps=0.1), nn.LayerNorm(6, bias=False),
                       nn.LayerNorm([3, 4, 6], elementwise_affine=False))), [randn(2, 3, 4, 6)]


@case
def group_norm():
    return settle(many(nn.GroupNorm(2, 6), nn.GroupNorm(6, 6, eps=0.1),
                       nn.GroupNorm(1, 6, affine=False))), [randn(2, 6, 4, 3)]


@case
def instance_norm():
    return settle(module(
        lambda self, x: (self.a(x), self.b(x), self.c(x), self.d(x.flatten(2))),
        a=nn.InstanceNorm2d(3), b=nn.InstanceNorm2d(3, affine=True, eps=0.1),
        c=nn.InstanceNorm2d(3, affine=True, track_running_stats=True), d=nn.InstanceNorm1d(3))), \
        [randn(2, 3, 4, 5)]


@case
def rms_norm():
    return settle(many(nn.RMSNorm(6), nn.RMSNorm([4, 6], eps=0.1),
                       nn.RMSNorm(6, elementwise_affine=False))), [randn(2, 4, 6)]


@case
def other_norms():
    return module(lambda self, x: (F.local_response_norm(x, 3), F.normalize(x, dim=1),
                                   F.normalize(x, p=1.0, dim=-1), torch.linalg.vector_norm(x, 2),
                                   x.norm(dim=(1, 2), keepdim=True))), [randn(2, 6, 4)]


# ------------------------------------------------------------------ activations
@case
def activations_smooth():
    return many(nn.Sigmoid(), nn.Tanh(), nn.GELU(), nn.GELU("tanh"), nn.SiLU(), nn.Mish(),
                nn.Softplus(), nn.Softplus(2, 1), nn.LogSigmoid(), nn.Softsign(),
                nn.Tanhshrink()), [randn(3, 7) * 3]


@case
def activations_piecewise():
    return many(nn.ReLU(), nn.ReLU6(), nn.LeakyReLU(0.2), nn.Hardtanh(-0.5, 2), nn.Hardsigmoid(),
                nn.Hardswish(), nn.Hardshrink(), nn.Softshrink(0.3), nn.Threshold(0.1, 20),
                nn.RReLU()), [randn(3, 7) * 3]


@case
def activations_exponential():
    return many(nn.ELU(), nn.ELU(0.5), nn.SELU(), nn.CELU(0.7)), [randn(3, 7) * 2]


@case
def activations_with_channels():
    return module(lambda self, x: (self.one(x), self.each(x), F.glu(x, 1), F.glu(x, -1)),
                  one=nn.PReLU(), each=nn.PReLU(6, init=0.3)), [randn(2, 6, 4)]


@case
def activations_in_place():
    def forward(self, x):
        y = F.relu_(x * 2)
        y.add_(1).mul_(0.5)
        y += x
        z = F.hardswish(y - 1, inplace=True)
        z.sub_(y, alpha=2).clamp_(-3, 3)
        return z, F.silu(x + 0, inplace=True), F.leaky_relu_(x + 1, 0.1)
    return module(forward), [randn(2, 5)]


@case
def softmax():
    return module(lambda self, x: (x.softmax(-1), x.softmax(1), F.log_softmax(x, 0),
                                   F.softmin(x, 2), x.softmax(1, dtype=torch.float64))), \
        [randn(2, 3, 4)]


@case
def dropout():
    return nn.Sequential(nn.Dropout(0.5), nn.Dropout2d(0.3), nn.Dropout(0.1, inplace=True),
                         nn.AlphaDropout(0.2)), [randn(2, 3, 4, 4)]


# ------------------------------------------------------------------ pooling
@case
def max_pool():
    return module(
        lambda self, x: (F.max_pool2d(x, 2), F.max_pool2d(x, 3, 2, 1, ceil_mode=True),
                         F.max_pool2d(x, (2, 3), 1, dilation=2), F.max_pool1d(x[0], 3, 2, 1),
                         F.max_pool3d(x, 2, 1), F.max_pool2d(x, 2, 2, 1, ceil_mode=True))), \
        [randn(1, 3, 7, 8)]


@case
def max_pool_indices():
    return module(lambda self, x: (*F.max_pool2d(x, 2, return_indices=True),
                                   *F.max_pool2d(x, 3, 2, 1, ceil_mode=True, return_indices=True),
                                   *F.max_pool1d(x[0], 2, return_indices=True))), \
        [randn(2, 3, 6, 7)]


@case
def avg_pool():
    return module(
        lambda self, x: (F.avg_pool2d(x, 2), F.avg_pool2d(x, 3, 2, 1),
                         F.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
                         F.avg_pool1d(x[0], 3, 2, 1), F.avg_pool3d(x, 2, 1, 1))), \
        [randn(1, 3, 7, 8)]


@case
def avg_pool_ceil():
    """A last window that starts in the padding is dropped; padding beyond it never counts."""
    return module(
        lambda self, x: (F.avg_pool2d(x, 3, 2, 1, ceil_mode=True),
                         F.avg_pool2d(x, 3, 2, 1, ceil_mode=True, count_include_pad=False),
                         F.avg_pool2d(x, 2, 3, 1, ceil_mode=True),
                         F.avg_pool2d(x, (2, 3), divisor_override=5),
                         F.avg_pool1d(x[0], 4, 3, ceil_mode=True))), [randn(1, 2, 8, 6)]


@case
def adaptive_pool():
    return module(
        lambda self, x: (F.adaptive_avg_pool2d(x, 1), F.adaptive_avg_pool2d(x, (4, 3)),
                         F.adaptive_avg_pool2d(x, (3, 4)), F.adaptive_avg_pool2d(x, (None, 2)),
                         F.adaptive_avg_pool1d(x[0], 4), F.adaptive_avg_pool3d(x, (1, 3, 5)))), \
        [randn(1, 2, 8, 6)]


@case
def adaptive_max_pool():
    return module(
        lambda self, x: (F.adaptive_max_pool2d(x, 1), F.adaptive_max_pool2d(x, (4, 3)),
                         F.adaptive_max_pool2d(x, (3, 4)), F.adaptive_max_pool1d(x[0], 5),
                         *F.adaptive_max_pool2d(x, 2, return_indices=True))), [randn(1, 2, 8, 6)]


BOXES = torch.library.Library("torchvision", "FRAGMENT")
BOXES.define("ps_roi_pool(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, "
             "SymInt pooled_width) -> (Tensor, Tensor)")


@torch.library.impl(BOXES, "ps_roi_pool", "CPU")
def bin_means(x, boxes, scale, rows, columns):
    """The mean of each bin, which has channels of its own; the image's last row and column are in none."""
    def nearest(v):
        return int(math.copysign(math.floor(abs(v) + 0.5), v))

    def span(first, last, i, bins, size):
        step = max(last - first, 1) / bins
        return [min(max(end + first, 0), size - 1) for end in (math.floor(i * step), math.ceil((i + 1) * step))]

    shape = len(boxes), x.shape[1] // (rows * columns), rows, columns
    source = torch.arange(shape[1] * rows * columns, dtype=torch.int32).view(1, *shape[1:]).repeat(len(boxes), 1, 1, 1)
    out = torch.zeros(shape, dtype=x.dtype)
    for n, (image, *corners) in enumerate(boxes.tolist()):
        left, top, right, bottom = (nearest(c * scale) for c in corners)
        for c in range(shape[1]):
            for i in range(rows):
                for j in range(columns):
                    (a, b), (p, q) = span(top, bottom, i, rows, x.shape[2]), span(left, right, j, columns, x.shape[3])
                    if a < b and p < q:
                        out[n, c, i, j] = x[int(image), source[n, c, i, j], a:b, p:q].mean()
    return out, source


@torch.library.register_fake("torchvision::ps_roi_pool")
def _(x, boxes, scale, rows, columns):
    shape = boxes.shape[0], x.shape[1] // (rows * columns), rows, columns
    return x.new_empty(shape), x.new_empty(shape, dtype=torch.int32)


@case(dynamic=({0: DYN}, {0: DYN}, {0: DYN}))
def position_sensitive_pool():
    """Regions that end in the middle between pixels, lie outside of the image, or are empty."""
    def forward(self, x, one, boxes):
        pool = torch.ops.torchvision.ps_roi_pool
        return *pool(x, boxes, 0.5, 3, 2), pool(one[:1], boxes * torch.tensor([0.0, 1, 1, 1, 1]), 1.0, 2, 2)[0]
    boxes = torch.tensor([[0.0, 1, 3, 13, 12], [1, 5, -7, 21, 30], [1, 0, 0, 0, 0], [0, 9, 9, 3, 2],
                          [1, -1, -5, 7, 9], [0, 60, 60, 80, 80]])
    return module(forward), [randn(2, 12, 9, 8), randn(3, 8, 9, 8), boxes], \
        [randn(3, 12, 9, 8), randn(2, 8, 9, 8), boxes[:3]]


# ------------------------------------------------------------------ arithmetic
@case
def arithmetic():
    def forward(self, x, y):
        return (torch.add(x, y, alpha=2), torch.sub(x, y, alpha=0.5), x * 2 - 1, 3 - x, 1 / x,
                x / y, torch.div(x, y, rounding_mode="trunc"), -x,
                torch.div(x, y, rounding_mode="floor"), torch.rsub(x, y, alpha=3))
    return module(forward), [randn(2, 3) * 4, torch.rand(3) + 0.5]


@case
def modulo():
    def forward(self, x, i):
        return (x % 2, torch.fmod(x, 2), torch.remainder(x, -1.5), i % 3, torch.fmod(i, 3), i // 3,
                torch.remainder(i, -3), torch.div(i, 4, rounding_mode="trunc"), x // 0.7)
    return module(forward), [randn(2, 5) * 5, ints(2, 5)]


@case
def promotion():
    """A Python number never widens a tensor of its own kind; integers divide to floats."""
    def forward(self, i, h, b, f):
        return (i + 1.5, i / 2, i * 2, h + 1.5, h * f, i + f, b + 1, b * 2.5, b + i, i.sum() / 4,
                f + torch.tensor(2, dtype=torch.float64), h + i)
    return module(forward), [ints(2, 3), randn(2, 3).half(), bools(2, 3), randn(2, 3)]


@case
def powers():
    def forward(self, x, y, i):
        return (x ** 2, x.abs() ** 0.5, x ** 3, 2 ** x, x.abs() ** y, i ** 2, x.abs().rsqrt(),
                x.abs().sqrt(), x.square(), x.reciprocal(), x.abs().log(), x.exp())
    return module(forward), [randn(2, 3) + 3, randn(2, 3), ints(2, 3)]


@case
def unary():
    def forward(self, x):
        u = x.tanh() * 0.9
        return (x.sin(), x.cos(), u.tan(), u.asin(), u.acos(), x.atan(), x.sinh(), x.erf(),
                x.sign(), x.expm1(), (x.abs()).log1p(), x.abs().log2(), u.atanh(), u.logit())
    return module(forward), [randn(2, 3)]


@case
def rounding():
    return module(lambda self, x: (x.round(), x.floor(), x.ceil(), x.trunc(), x.frac(),
                                   x.round(decimals=1))), \
        [torch.tensor([-2.5, -1.5, -0.3, 0.5, 1.5, 2.46, 7.0])]


@case
def clamps():
    def forward(self, x, y, i):
        return (x.clamp(-1, 1), x.clamp(min=0), x.clamp(max=0.5), x.clamp(y - 1, y), i.clamp(-2, 3),
                i.clamp(min=0.5), torch.maximum(x, y), torch.minimum(x, y), x.clamp(min=y))
    return module(forward), [randn(2, 3), randn(3), ints(2, 3)]


@case
def matmuls():
    def forward(self, v, m, b, w):
        return (v @ v, v @ m, m @ v, m @ m, b @ m, v @ b, b @ w, b @ v, torch.bmm(b, b),
                torch.mm(m, m), torch.mv(m, v), torch.dot(v, v), torch.outer(v, v))
    return module(forward), [randn(4), randn(4, 4), randn(3, 4, 4), randn(2, 1, 4, 5)]


@case
def added_products():
    def forward(self, m, v, b):
        return (torch.addmm(v, m, m), torch.addmm(m, m, m, beta=0.5, alpha=2),
                torch.addmm(m, m, m, beta=0), torch.baddbmm(b, b, b, beta=2, alpha=0.5),
                torch.addmv(v, m, v, alpha=3), torch.addbmm(m, b, b), torch.addcmul(m, m, v),
                torch.addcdiv(m, m, v, value=2), torch.lerp(m, v, 0.3))
    return module(forward), [randn(3, 3), randn(3) + 4, randn(2, 3, 3)]


@case
def einsum():
    return module(lambda self, x, y: (torch.einsum("bij,bjk->bik", x, y),
                                      torch.einsum("bij->bji", x), torch.einsum("bij,bjk->", x, y),
                                      torch.einsum("bii->bi", y))), [randn(2, 3, 4), randn(2, 4, 4)]


@case
def linear():
    def forward(self, v, m, t):
        return self.a(v), self.a(m), self.a(t), self.b(m), F.linear(m, self.a.weight * 2)
    return module(forward, a=nn.Linear(4, 3), b=nn.Linear(4, 2, bias=False)), \
        [randn(4), randn(2, 4), randn(2, 3, 4)]


@case
def bilinear():
    return module(lambda self, x, y: self.m(x, y), m=nn.Bilinear(3, 4, 2)), \
        [randn(5, 3), randn(5, 4)]


# ------------------------------------------------------------------ shapes
@case
def views():
    def forward(self, x):
        return (x.reshape(2, -1), x.view(6, 4), x.flatten(), x.flatten(1), x.unflatten(2, (2, -1)),
                x[0].t(), x.permute(2, 0, 1), x.transpose(-1, 0), x.movedim(0, -1), x.mT,
                x.contiguous().view(-1))
    return module(forward), [randn(2, 3, 4)]


@case
def squeezes():
    def forward(self, x):
        return (x.squeeze(), x.squeeze(0), x.squeeze(-1), x.squeeze((0, 2)), x.squeeze(1),
                x.unsqueeze(0), x.unsqueeze(-1), x[0, 0, 0, 0].unsqueeze(0))
    return module(forward), [randn(1, 3, 1, 2)]


@case
def expands():
    def forward(self, x, y):
        return (x.expand(2, 3, 4), x.expand(-1, -1, 2), y.expand_as(x), x.repeat(2, 1, 3),
                y.repeat(2, 3), x.tile(2, 2), x.repeat_interleave(2, 1), x.broadcast_to(5, 1, 3, 4),
                *torch.broadcast_tensors(x, y))
    return module(forward), [randn(1, 3, 1), randn(1)]


@case
def cat_and_stack():
    def forward(self, x, y, i):
        return (torch.cat([x, y]), torch.cat([x, x, x], -1), torch.stack([x, x], 1),
                torch.stack([y, y], -1), torch.cat([x, i[:2]]), torch.hstack([x, x]),
                torch.vstack([x, y]), torch.cat([y[:0], y]))
    return module(forward), [randn(2, 3), randn(4, 3), ints(4, 3)]


@case
def splits():
    def forward(self, x):
        return (*x.split(2), *x.split([1, 4], 0), *x.chunk(3, 0), *x.chunk(4, -1), *x[:2].unbind(),
                *x.tensor_split(3), *x.tensor_split((1, 3), 1))
    return module(forward), [randn(5, 6)]


@case
def slices():
    a = torch.ops.aten.slice.Tensor
    def forward(self, x):
        return (x[1:], x[:, -3:-1], x[::2], x[:, 1::3], x[-99:99], x[3], x[:, -1], x[..., None, :2],
                a(x, 0, 1, BIG), a(x, -1, None, None, 2), a(x, 1, -BIG - 1, -2), x[4:2],
                x.narrow(1, 2, 3), x.select(-2, -1), x.diff(), x.unfold(1, 3, 2))
    return module(forward), [randn(5, 7)]


@case
def flips():
    return module(lambda self, x: (x.flip(0), x.flip(-1, 0), x.roll(1), x.roll(-2, 1), x.rot90(),
                                   x.roll((1, 2), (0, 1)), x.tril(), x.triu(1), x.diagonal())), \
        [randn(3, 4)]


@case
def indexing():
    """Several index tensors side by side stay in place; with a gap between, they go in front."""
    def forward(self, x, i, j):
        return (x[i], x[i, j], x[:, i], x[:, i, j], x[i, :, j], x[:, i, :, j],
                x[:, i.view(2, 1), j], x[-1, i], x[i - 1], x[None, i])
    return module(forward), [randn(3, 3, 3, 3), torch.tensor([2, 0]), torch.tensor([1, 2])]


@case
def indexing_bool():
    """The number of rows depends on the data."""
    return module(lambda self, x, m, r: (x[m], x[r], x[:, r[:2]], torch.masked_select(x, m))), \
        [randn(3, 2), bools(3, 2), torch.tensor([True, False, True])]


@case
def gathers():
    def forward(self, x, i, v):
        return (x.gather(1, i), x.gather(0, i % 3), x.index_select(1, v), x.index_select(-2, v % 3),
                torch.take_along_dim(x, i, 1), x.take(v), x.index_fill(1, v, 3.0))
    return module(forward), [randn(3, 4), ints(3, 2, low=0, high=4), torch.tensor([3, 0, 1])]


@case
def scatters():
    def forward(self, x, y, i, v):
        return (x.scatter(1, i, y), x.scatter(1, i, 2.0), x.scatter_add(0, i % 3, y),
                x.index_copy(1, v, y), x.index_add(1, v, y, alpha=2), x.index_put((v,), y[:2, :1]),
                x.index_put((v, v), y[0], accumulate=True), x.slice_scatter(y, 1, 1, 3),
                x.select_scatter(y[:, 0], 1, -1))
    return module(forward), [randn(3, 4), randn(3, 2), torch.tensor([[3, 0], [1, 2], [0, 1]]),
                             torch.tensor([2, 0])]


@case
def write_into_slices():
    def forward(self, x):
        y = x.clone()
        y[:, 1:3] = x[:, :2] * 2
        y[-1] += 1
        y[..., 0].mul_(3)
        y[:, ::2].relu_()
        return y
    return module(forward), [randn(3, 5)]


@case
def write_into_copies():
    def forward(self, x):
        moved = x.permute(1, 2, 0).contiguous()  # a copy
        moved[:, :, 0] += 1
        moved[:, :, 1] *= 3
        doubled = x * 2
        same, other = doubled.to(torch.float32), doubled.to(torch.float64)
        same[0].add_(1)
        other[1].zero_()
        return moved, x + 1, doubled + same, other

    return module(forward), [randn(3, 4, 5)]


@case
def weight_norms():
    norm = torch.nn.utils.parametrizations.weight_norm
    return many(norm(nn.Conv1d(4, 6, 3)), norm(nn.Conv1d(4, 6, 3), dim=2), norm(nn.Conv1d(4, 6, 3), dim=None)), \
        [randn(2, 4, 8)]


@case
def out_arguments():
    """Results that are written into tensors, views and tensors of other sizes and dtypes."""
    def forward(self, x, y):
        rows, places = torch.zeros(2, 4), torch.zeros(2, 4, dtype=torch.int64)
        torch.max(x, 1, out=(rows[0], places[1]))
        torch.sum(y, 1, out=rows[1])
        z = x.clone()
        torch.add(z, z, alpha=0.5, out=z)
        torch.sin(z[0], out=z[1])
        wide = torch.empty(4, 5, dtype=torch.float64)
        torch.mul(x, 3, out=wide)
        fresh = torch.empty(0)
        r = torch.matmul(x, y.t(), out=fresh)
        fresh.add_(1)
        both = torch.zeros(9, 5)
        torch.cat([x, y], out=both[1:])
        torch.xlogy(x.abs(), y.abs(), out=both[0:4])
        torch.arange(5, out=both[8])
        values, order = torch.empty(4, 5), torch.empty(4, 5, dtype=torch.int64)
        torch.sort(x, 1, out=(values, order))
        parts = torch.zeros(4, 5, dtype=torch.complex64)
        torch.mul(x, y, out=parts.imag)
        return rows, places, z, wide, fresh * 1, r, both, values, order, torch.view_as_real(parts)
    return module(forward), [randn(4, 5), randn(4, 5)]


@case
def writes_through_parts():
    """Views of complex numbers, windows and uneven pieces, written in place."""
    def forward(self, x, y):
        z = torch.complex(x, y)
        z.real.mul_(2)
        z.imag[1:].add_(1)
        turned = torch.complex(x, y).clone()
        turned.conj().imag.mul_(3)
        a, b, c = x.clone(), x.clone(), x.clone()
        a.unfold(1, 2, 2).mul_(3)
        a.unfold(-2, 1, 2)[:, 1:].neg_()
        b.unfold(1, 2, 3).add_(10)
        for i, piece in enumerate(torch.tensor_split(c, 4, 1)):
            piece.add_(i)
        torch.tensor_split(c, (1, -2), 0)[1].neg_()
        torch.hsplit(c, 2)[1].mul_(2)
        torch.vsplit(c, [1])[1].sub_(1)
        d = torch.stack([x, y], 2).clone()
        left, right = torch.dsplit(d, 2)
        right.copy_(left)
        return torch.view_as_real(z), torch.view_as_real(turned), a, b, c, d
    return module(forward), [randn(4, 6), randn(4, 6)]


# ------------------------------------------------------------------ reductions
@case
def sums_and_means():
    def forward(self, x, i, b):
        return (x.sum(), x.sum(1), x.sum((0, -1), keepdim=True), x.mean(), x.mean(-1, keepdim=True),
                x.mean((0, 1)), i.sum(), i.sum(0, dtype=torch.float32), b.sum(1), x.prod(1),
                i.prod(), x.sum(1, dtype=torch.float64), i.mean(dtype=torch.float32))
    return module(forward), [randn(2, 3, 4), ints(2, 3), bools(2, 3)]


@case
def extremes():
    def forward(self, x, i):
        return (x.max(), x.min(), *x.max(1), *x.min(-1, keepdim=True), x.amax((0, 2)), i.amax(0),
                x.amin(1, keepdim=True), x.argmax(), x.argmax(1), x.argmin(-1, keepdim=True),
                *x.aminmax(dim=0))
    return module(forward), [randn(2, 3, 4), ints(3, 4)]


@case
def extremes_of_nan():
    """What is not a number is every extreme of what it is in; infinities of both signs are none."""
    def forward(self, x, i):
        x = torch.where(x > 0.8, torch.nan, x)
        x = torch.where(x.abs() < 0.2, x.sign() * torch.inf, x)
        return (x.amax(0), x.amin(1, keepdim=True), x.max(), x.min(), *x.max(1), *x.min(0), *x.aminmax(dim=0),
                x.argmax(0), x.argmin(1), x.norm(float("inf"), 1), torch.linalg.vector_norm(x, -float("inf"), 0),
                torch.linalg.matrix_norm(x.nan_to_num(0), float("inf")), x.half().amax(0), x.double().amin(0),
                i.float().amax(0))
    return module(forward), [randn(4, 5), ints(4, 3)]


@case
def statistics():
    def forward(self, x):
        return (x.var(), x.var(1), x.std(-1, keepdim=True), x.var((0, 2), unbiased=False),
                x.var(1, correction=2), *torch.var_mean(x, 1), x.logsumexp(1), x.norm(),
                x.norm(1, -1), x.norm(float("inf"), 1), x.logsumexp((0, 1), keepdim=True))
    return module(forward), [randn(2, 5, 4)]


@case
def logic_reductions():
    return module(lambda self, b, x: (b.any(), b.all(), b.any(1), b.all(0, keepdim=True),
                                      (x > 9).any(), x.count_nonzero(1), x.bool().all(1))), \
        [bools(3, 4), ints(3, 4, low=0, high=3)]


@case
def sorting():
    def forward(self, x):
        return (*x.topk(3), *x.topk(2, 0, largest=False), *x.sort(), *x.sort(0, descending=True),
                x.argsort(1), x.cumsum(1), x.cumsum(0), x.cumprod(1), *x.median(1))
    return module(forward), [randn(4, 5)]


# ------------------------------------------------------------------ lookups, creation, masks
@case
def embedding():
    """padding_idx matters in training only: its row is read like any other."""
    return module(lambda self, i: (self.a(i), self.b(i[0]), F.embedding(i % 3, self.b.weight)),
                  a=nn.Embedding(7, 4, padding_idx=0), b=nn.Embedding(7, 3)), \
        [torch.tensor([[0, 3, 6], [1, 0, 2]])]


@case
def embedding_bag():
    return module(lambda self, i, o: (self.total(i, o), self.mean(i, o), self.total(i.view(3, 3))),
                  total=nn.EmbeddingBag(9, 4, mode="sum"), mean=nn.EmbeddingBag(9, 4)), \
        [ints(9, low=0, high=9), torch.tensor([0, 3, 7])]


@case
def creation():
    def forward(self, x):
        return (torch.arange(5) + x.size(0), torch.arange(2, 11, 3), torch.arange(0, 1, 0.25),
                torch.full((2, 3), 1.5), torch.zeros(2, 3, dtype=torch.int64), torch.ones(3) * x,
                torch.eye(3), torch.linspace(0, 1, 5), torch.tensor([1.0, 2.0, 3.0]) + x,
                torch.full((2,), 7), torch.full((2,), True))
    return module(forward), [randn(2, 3)]


@case
def creation_like():
    def forward(self, x, i):
        return (torch.zeros_like(x), torch.ones_like(i), torch.full_like(x, 2.5), x.new_ones(2, 2),
                torch.zeros_like(x, dtype=torch.bool), x.new_zeros(3), i.new_full((2,), 9),
                torch.empty_like(x).fill_(4), x.new_tensor([1.0, 2.0]))
    return module(forward), [randn(2, 3), ints(2)]


@case
def masks():
    def forward(self, x, y, m):
        return (torch.where(m, x, y), torch.where(m, x, 0.5), torch.where(m, 1.0, 2.0),
                x.masked_fill(m, -1e9), x.masked_fill(m, y.sum()), torch.where(x > y, x, -y),
                x.masked_fill(~m, float("-inf")), x.masked_scatter(m, y), x.nan_to_num(0.0))
    return module(forward), [randn(3, 4), randn(3, 4), bools(3, 4)]


@case
def comparisons():
    def forward(self, x, y, i):
        return (x == y, x != 0, x < y, x <= 0.5, x > y, x >= 0, i == 2, i > 1.5, i >= x, x.eq(i),
                torch.isclose(x, x + 1e-9))
    return module(forward), [randn(2, 3), randn(2, 3), ints(2, 3)]


@case
def logic():
    def forward(self, a, b, i, x):
        return (a & b, a | b, a ^ b, ~a, a.logical_and(b), a.logical_or(i), a.logical_xor(b),
                i.logical_not(), i & 6, i | 1, i ^ 3, ~i, i << 2, i >> 1, (x / 0).isnan(),
                (x / 0).isinf(), x.isfinite())
    return module(forward), \
        [bools(2, 3), bools(2, 3), ints(2, 3, low=0), torch.tensor([0.0, 1, -1])]


@case
def conversions():
    def forward(self, x, i, b):
        return (x.long(), x.int(), x.bool(), x.half(), x.double(), i.float(), i.bool(), b.float(),
                b.long(), x.to(torch.uint8), i.type_as(x), x.to(i), x.to(torch.int8).float(),
                x.half().float())
    return module(forward), [torch.tensor([2.7, 0.0, 1.5, 100.2]), ints(4), bools(4)]


# ------------------------------------------------------------------ attention, recurrence
@case
def attention():
    sdpa = F.scaled_dot_product_attention

    def forward(self, q, k, v, seen, bias):
        return (sdpa(q, k, v), sdpa(q, k, v, attn_mask=seen), sdpa(q, k, v, attn_mask=bias),
                sdpa(q, k, v, is_causal=True), sdpa(q, k, v, scale=0.7), sdpa(q[0], k[0], v[0]))
    return module(forward), [randn(2, 3, 5, 4), randn(2, 3, 6, 4), randn(2, 3, 6, 2),
                             torch.ones(5, 6).tril(1).bool(), randn(1, 3, 5, 6)]


@case
def attention_grouped():
    def forward(self, q, k, v):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
    return module(forward), [randn(2, 4, 5, 4), randn(2, 2, 5, 4), randn(2, 2, 5, 4)]


@case
def multihead_attention():
    def forward(self, x, pad):
        return self.m(x, x, x, key_padding_mask=pad, need_weights=False)[0]
    pad = torch.tensor([[False] * 4, [False, False, True, True]])
    return module(forward, m=nn.MultiheadAttention(8, 2, batch_first=True)), [randn(2, 4, 8), pad]


@case
def lstm():
    def forward(self, x, h, c):
        return self.a(x), self.b(x, (h, c)), self.c(x.transpose(0, 1))
    return module(forward, a=nn.LSTM(3, 4), b=nn.LSTM(3, 4),
                  c=nn.LSTM(3, 2, batch_first=True, bias=False)), \
        [randn(5, 2, 3), randn(1, 2, 4), randn(1, 2, 4)]


@case
def lstm_stacked():
    return module(lambda self, x, h, c: self.m(x, (h, c)),
                  m=nn.LSTM(3, 4, 2, bidirectional=True, batch_first=True, dropout=0.5)), \
        [randn(2, 5, 3), randn(4, 2, 4), randn(4, 2, 4)]


@case
def gru():
    def forward(self, x, h):
        return self.a(x), self.b(x, h), self.c(x.transpose(0, 1))
    return module(forward, a=nn.GRU(3, 4), b=nn.GRU(3, 4),
                  c=nn.GRU(3, 2, batch_first=True, bias=False)), [randn(5, 2, 3), randn(1, 2, 4)]


@case
def gru_stacked():
    return module(lambda self, x, h: self.m(x, h), m=nn.GRU(3, 4, 2, bidirectional=True)), \
        [randn(5, 2, 3), randn(4, 2, 4)]


@case
def rnn():
    return many(nn.RNN(3, 4), nn.RNN(3, 4, 2, nonlinearity="relu", bidirectional=True)), \
        [randn(5, 2, 3)]


# ------------------------------------------------------------------ resizing, padding
@case
def interpolate_nearest():
    up = F.interpolate
    return module(lambda self, x: (up(x, scale_factor=2), up(x, size=(7, 3)), up(x[0], size=9),
                                   up(x, scale_factor=(1.5, 0.5)),
                                   up(x.unsqueeze(2), size=(2, 8, 5)),
                                   up(x, size=(7, 3), mode="nearest-exact"),
                                   up(x, scale_factor=2.0, mode="nearest-exact"))), \
        [randn(1, 2, 4, 5)]


@case
def interpolate_linear():
    up = F.interpolate
    return module(
        lambda self, x: (up(x, size=(7, 9), mode="bilinear"), up(x[0], size=8, mode="linear"),
                         up(x, size=(7, 9), mode="bilinear", align_corners=True),
                         up(x, scale_factor=1.7, mode="bilinear"),
                         up(x, scale_factor=1.7, mode="bilinear", recompute_scale_factor=True),
                         up(x.unsqueeze(2), size=(2, 6, 7), mode="trilinear"))), \
        [randn(1, 2, 4, 5)]


@case
def interpolate_cubic():
    up = F.interpolate
    return module(
        lambda self, x: (up(x, size=(7, 9), mode="bicubic"), up(x, scale_factor=2, mode="bicubic"),
                         up(x, size=(7, 9), mode="bicubic", align_corners=True))), \
        [randn(1, 2, 4, 5)]


@case
def pads():
    def forward(self, x):
        return (F.pad(x, (1, 2)), F.pad(x, (1, 0, 2, 1), value=1.5), F.pad(x, (-1, 2, 0, -1)),
                F.pad(x, (2, 1, 1, 2), "reflect"), F.pad(x, (3, 1, 0, 2), "replicate"),
                F.pad(x, (2, 1, 1, 0), "circular"), F.pad(x[0], (1, 2), "reflect"),
                F.pad(x.long(), (1, 1), value=-3))
    return module(forward), [randn(1, 2, 4, 5) * 3]


@case
def shuffles():
    return many(nn.PixelShuffle(2), nn.PixelUnshuffle(2), nn.ChannelShuffle(4)), [randn(1, 8, 4, 6)]


@case
def fold_unfold():
    return module(lambda self, x: (F.unfold(x, (2, 3), padding=1, stride=2),
                                   F.fold(F.unfold(x, 2), (5, 6), 2))), [randn(1, 2, 5, 6)]


@case
def losses():
    def forward(self, x, y, t):
        return (F.cross_entropy(x, t), F.mse_loss(x, y), F.l1_loss(x, y, reduction="sum"),
                F.nll_loss(x.log_softmax(1), t, reduction="none"), F.smooth_l1_loss(x, y),
                F.binary_cross_entropy_with_logits(x, y.sigmoid()))
    return module(forward), [randn(4, 3), randn(4, 3), torch.tensor([2, 0, 1, 1])]


# ------------------------------------------------------------------ whole programs: names, sizes
@case
def tied_weights():
    m = module(lambda self, i: self.out(self.table(i)), table=nn.Embedding(6, 4),
               out=nn.Linear(4, 6, bias=False))
    m.out.weight = m.table.weight
    return m, [torch.tensor([[1, 5, 0]])]


@case
def output_is_input():
    return module(lambda self, x, y: (x, x + y, y)), [randn(2, 3), randn(3)]


@case
def output_twice():
    def forward(self, x):
        y = x.relu()
        return y, y, y.view(-1), self.w
    return module(forward, w=nn.Parameter(randn(2))), [randn(2, 3)]


@case
def unused_input():
    return module(lambda self, x, y: x * 2), [randn(2), randn(3)]


@case
def nested_inputs():
    return module(lambda self, pair, named: {"sum": pair[0] + named["b"],
                                             "rest": [pair[1] - named["a"]]}), \
        [(randn(2), randn(2)), {"a": randn(2), "b": randn(2)}]


@case
def half_precision():
    m = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.LayerNorm(6), nn.Linear(6, 2))
    return m.half(), [randn(3, 4).half()]


@case
def half_rounded_once():
    """What PyTorch computes in 32 bits and rounds at the end."""
    def forward(self, x, y, z):
        q = x.unsqueeze(0)
        return [F.silu(x), F.softplus(x * 60), F.logsigmoid(y * 60), torch.addcmul(x, y, z, value=0.3),
                torch.lerp(x, y, 0.3), torch.hypot(x, y), x.std(1), torch.logaddexp(x, y),
                F.scaled_dot_product_attention(q * 8, q * 4, q), torch.baddbmm(q, q, q.mT, beta=0.6, alpha=0.2)]
    return module(lambda self, *inputs: [y for two in (inputs[:3], inputs[3:]) for y in forward(self, *two)]), \
        [randn(6, 6).to(d) for d in (torch.bfloat16, torch.float16) for _ in range(3)]


@case
def half_rounded_in_steps():
    """What PyTorch rounds after each step, with numbers in 32 bits here and in 16 there."""
    def forward(self, x, y, v):
        return [*torch.gradient(x, spacing=[2.0, 0.7], edge_order=2), torch.addr(x, v, v, beta=0.6, alpha=0.2),
                torch.addbmm(x, y, y, beta=0.6, alpha=0.2), torch.div(x, y[0], rounding_mode="trunc"),
                torch.div(torch.full_like(v, 8), torch.full_like(v, 0.40014648), rounding_mode="trunc"),
                torch.floor_divide(v, 0.1), torch.remainder(v, 0.1), F.threshold(v, 0.1, 9.0),
                torch.nextafter(x, y[0]), F.soft_margin_loss(x * 9, y[0])]
    return module(lambda self, *inputs: [y for two in (inputs[:3], inputs[3:]) for y in forward(self, *two)]), \
        [t.to(d) for d in (torch.bfloat16, torch.float16)
         for t in (randn(6, 6) * 4, randn(5, 6, 6) * 4, torch.arange(-3, 3) / 10 + 0.1)]


@case
def half_resized():
    """PyTorch has coordinates and weights in 16 bits."""
    def forward(self, x, y, v):
        return [F.grid_sample(x, y * 2, "bilinear", "reflection", False),
                F.grid_sample(x, y, "nearest", "zeros", True),
                F.interpolate(x, scale_factor=1.7, mode="bicubic"),
                F.interpolate(v, scale_factor=1.7, mode="trilinear")]
    return module(lambda self, *inputs: [y for two in (inputs[:3], inputs[3:]) for y in forward(self, *two)]), \
        [t.to(d) for d in (torch.bfloat16, torch.float16)
         for t in (randn(1, 2, 5, 6), randn(1, 4, 4, 2), randn(1, 1, 3, 3, 3))]


@case
def half_scattered():
    """Sums into places, which runtimes do not have in 16 bits."""
    def forward(self, x, i, y):
        return [x.scatter_add(1, i, y), x.index_put((i[:, 0], i[:, 1]), y[:, 0], accumulate=True)]
    return module(lambda self, x, y, i: [*forward(self, x, i, x * 2), *forward(self, y, i, y * 2)]), \
        [randn(4, 3).bfloat16(), randn(4, 3).half(), torch.stack([torch.randperm(3) for _ in range(4)])]


@case
def double_windows():
    return many(nn.Conv2d(4, 6, 3, stride=2, padding=1, groups=2), nn.Conv2d(4, 2, (2, 3), dilation=(1, 2)),
                nn.ConvTranspose2d(4, 2, 3, stride=2, padding=1, output_padding=1),
                nn.AvgPool2d(3, 2, 1, ceil_mode=True), nn.GELU()).double(), [randn(2, 4, 7, 6).double()]


@case
def double_precision():
    m = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 2))
    return m.double(), [randn(3, 4).double()]


@case
def bool_input():
    return module(lambda self, b, x: (b.float() @ x, ~b, x * b.unsqueeze(-1).any(0))), \
        [bools(2, 3), randn(3, 2)]


@case
def int32_input():
    return module(lambda self, i: (i + 1, i * i, i.sum(), i // 2, i.float(), i[:, 1:], i > 2)), \
        [ints(2, 3).int()]


@case(dynamic=({0: DYN},))
def dynamic_mlp():
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3)), [randn(2, 4)], [randn(5, 4)]


@case(dynamic=({0: DYN, 2: DYN, 3: DYN},))
def dynamic_conv():
    return settle(nn.Sequential(nn.Conv2d(3, 4, 3, 2, 1), nn.BatchNorm2d(4), nn.ReLU(True),
                                nn.MaxPool2d(2), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                                nn.Linear(4, 2))), [randn(2, 3, 12, 16)], [randn(3, 3, 20, 9)]


@case(dynamic=({0: DYN, 1: DYN},))
def dynamic_attention():
    def forward(self, x):
        b, s, d = x.shape
        heads = x.view(b, s, 2, d // 2).transpose(1, 2)
        mask = torch.full((s, s), float("-inf")).triu(1)
        y = (heads @ heads.mT + mask).softmax(-1) @ heads
        return y.transpose(1, 2).reshape(b, -1)
    return module(forward), [randn(2, 4, 6)], [randn(3, 7, 6)]


@case(dynamic=({0: DYN, 1: DYN},))
def dynamic_sizes():
    def forward(self, x):
        b, s, d = x.shape
        return (x + torch.arange(s).unsqueeze(-1) * 2, x.new_zeros(b, s + 1), x[:, -1],
                x[:, : s // 2], x.sum() / (b * s), x.expand(2, b, s, d)[1], x.view(-1, d),
                x.flatten())
    return module(forward), [randn(2, 4, 6)], [randn(3, 7, 6)]


@case(dynamic=({0: DYN}, {0: DYN}))
def dynamic_cat():
    def forward(self, x, y):
        z = torch.cat([x, y])
        return z, z.view(-1), torch.zeros_like(z), z[x.size(0):], x.repeat(2, 1), F.pad(z, (0, 1))
    return module(forward), [randn(2, 3), randn(4, 3)], [randn(5, 3), randn(2, 3)]


@case(dynamic=({2: DYN, 3: DYN},))
def dynamic_resize():
    return module(lambda self, x: (F.interpolate(x, scale_factor=2, mode="bilinear"),
                                   F.interpolate(x, scale_factor=2), F.avg_pool2d(x, 2),
                                   F.interpolate(x[:, :, ::2], size=x.shape[-2:]))), \
        [randn(1, 2, 4, 6)], [randn(1, 2, 7, 5)]


@case(dynamic=({2: DYN, 3: DYN},))
def dynamic_resize_by_odd_factors():
    # which count for nothing where the size stays, or in nearest2d doubles
    return module(lambda self, x: [F.interpolate(x, scale_factor=(2.1, 1.1), mode=mode)
                                   for mode in ("nearest", "nearest-exact", "bilinear")]), \
        [randn(1, 2, 6, 5)], [randn(1, 2, 12, 14)]


# ------------------------------------------------------------------ complex numbers
@case
def complex_arithmetic():
    def forward(self, x, y):
        z, w = torch.view_as_complex(x), torch.complex(y, y + 1)
        results = (z * w, z / w, z * y, (z + 2j) * (1 - 0.5j), z - w, z.conj() * w.exp(), z @ w.mT,
                   torch.cat([z, w]).sum(-1), torch.where(y > 0, z, w), z.reshape(-1)[1:].flip(0))
        return z.abs(), z.angle(), z == w, z.real, w.imag, [torch.view_as_real(r) for r in results]
    return module(forward), [randn(3, 4, 2), randn(3, 4)]


@case
def complex_rotary():
    def forward(self, q):
        pairs = torch.view_as_complex(q.reshape(*q.shape[:-1], -1, 2))
        turned = pairs * self.turns[: q.shape[1]].view(1, q.shape[1], 1, -1)
        return torch.view_as_real(turned).flatten(3)
    turns = torch.polar(torch.ones(8, 4), torch.outer(torch.arange(8.), 10. ** -torch.arange(4.)))
    return module(forward, turns=turns), [randn(2, 5, 2, 8)]


@case
def complex_weight():
    def forward(self, x):
        y = torch.fft.rfft(x, norm="ortho") @ self.strided
        return torch.fft.irfft(y.unsqueeze(1), n=10, norm="ortho"), torch.view_as_real(self.strided)
    return module(forward, strided=randn(12, 7, dtype=torch.complex64)[::2].mT), [randn(3, 12)]


@case
def fourier():
    def forward(self, x):
        z = torch.complex(x, x.roll(1, -1))
        fft = torch.fft
        results = (fft.fft(z), fft.ifft(z, n=8), fft.rfft(x, dim=0), fft.fft2(z, norm="ortho"),
                   fft.ihfft(x).resolve_conj(), fft.rfftn(x, norm="forward"),
                   fft.ifftn(z, s=(3, 4)))
        return fft.irfft(z), fft.irfft2(z, s=(4, 5)), fft.hfft(z), fft.irfft(x), \
            [torch.view_as_real(r) for r in results]
    return module(forward), [randn(3, 4, 6)]


@case(dynamic=({0: DYN, 1: DYN},))
def fourier_dynamic():
    def forward(self, x):
        z = torch.fft.rfft(x)
        return z.abs(), torch.fft.irfft(z, n=x.shape[-1]), torch.fft.fft(z, dim=0).real
    return module(forward), [randn(3, 7)], [randn(5, 10)]


@case(dynamic=({1: DYN},))
def spectrogram():
    def forward(self, x):
        z = torch.stft(x, 16, 4, 12, window=self.window, return_complex=True)
        return z.abs().pow(2), torch.istft(z, 16, 4, 12, window=self.window)
    return module(forward, window=torch.hann_window(12)), [randn(2, 50)], [randn(2, 81)]


# ------------------------------------------------------------------ ranks, parts, matrices
@case
def quantiles():
    def forward(self, x):
        holes = torch.where(x > 1, torch.nan, x)
        return (torch.quantile(x, 0.3), torch.quantile(holes, self.q, dim=0, keepdim=True),
                torch.nanquantile(holes, self.q, dim=-1),
                [torch.nanquantile(holes, 0.4, dim=1, interpolation=i)
                 for i in ("lower", "higher", "nearest", "midpoint")])
    return module(forward, q=torch.tensor([0.0, 0.25, 0.9, 1.0])), [randn(4, 5)]


@case
def histograms():
    def forward(self, x, w):
        counts, edges = torch.histogram(x[:, 0], 4, weight=w, density=True)
        grid, (rows, columns) = torch.histogramdd(x, [3, 4])
        inside, _ = torch.histogram(x, self.edges)
        return counts, edges, grid, rows, columns, inside
    return module(forward, edges=torch.tensor([-1.0, -0.5, 0.5, 2.0])), [randn(12, 2), torch.rand(12)]


@case
def segments():
    def forward(self, x):
        return ([torch.segment_reduce(x, r, lengths=self.lengths, unsafe=True)
                 for r in ("sum", "mean", "max", "min", "prod")],
                torch.segment_reduce(x, "mean", offsets=self.offsets, initial=2.0),
                torch.segment_reduce(x, "max", offsets=self.offsets, initial=0.5))
    return module(forward, lengths=torch.tensor([1, 0, 3]), offsets=torch.tensor([0, 2, 2, 4])), [randn(4, 3)]


@case
def matrix_exponentials():
    return module(lambda self, x: (torch.matrix_exp(x), torch.matrix_exp(x * 4),
                                   torch.matrix_exp(x.double()))), [randn(3, 4, 4)]


@case
def values_of_factorisations():
    def forward(self, x):
        return (torch.linalg.svd(x).S, torch.linalg.eigh(x @ x.mT).eigenvalues, torch.svd(x).S,
                torch.vander(x[0, 0], increasing=True))
    return module(forward), [randn(2, 4, 3)]


@case
def similarity_to_one_vector():
    # the length of what is spread along the dim counts all of it
    return module(lambda self, x, y: (F.cosine_similarity(x, y, dim=1), F.cosine_similarity(y, x, dim=1))), \
        [randn(2, 3, 4), randn(2, 1, 4)]


@case
def einsum_of_integers():
    return module(lambda self, x, y: (torch.einsum("iji->j", x), torch.einsum("ij->ji", y),
                                      torch.einsum("ij,jk->ik", y, y))), \
        [ints(3, 2, 3).int(), ints(3, 3).int()]


# ------------------------------------------------------------------ control flow
@case(dynamic=({0: DYN, 1: DYN},))
def branches():
    """Conditions on numbers and on sizes, of bodies that read values around them."""
    def forward(self, x):
        n, d = x.shape
        swapped = torch.cond(x.sum() > 0, lambda a: a.flip(0) * self.scale, lambda a: a - 1, (x,))
        wide = torch.cond(torch.sym_not(d > 5), lambda a: a.cumsum(0), lambda a: a.cumsum(1), (x,))
        both = torch.cond((n > 3) & (d == 6), lambda a: (a + 1, a * 2), lambda a: (a - 1, a * 3), (x,))
        either = torch.cond((n < 3) | (d != 6), lambda a: a.exp(), lambda a: a.sin(), (x,))
        return swapped, wide, *both, either
    return module(forward, scale=randn(1)), [randn(4, 6)], [randn(2, 5)]


@case(dynamic=({0: DYN},))
def loops():
    """One that ends by a count, one by what it computes, and a scan with its running value."""
    def forward(self, x):
        count = torch.zeros((), dtype=torch.int64)
        _, power = while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, (a @ self.weight).tanh()), (count, x))
        halvings, small = while_loop(lambda i, a: a.abs().sum() > 1, lambda i, a: (i + 1, a / 2), (count, x))
        last, steps = scan(lambda carry, row: ((carry * 0.5 + row).sin(), carry + row), x[0] * 0, x, dim=0)
        return power, halvings, small, last, steps
    return module(forward, weight=randn(3, 3)), [randn(5, 3)], [randn(2, 3)]


@case(dynamic=({0: DYN},))
def nested_control():
    """Weights, sizes and values of the bodies around are used three bodies deep."""
    def forward(self, x):
        n = x.shape[0]

        def step(carry, row):
            def shrink(i, h):
                return i + 1, torch.cond(h.sum() > 0, lambda h: h @ self.weight + row, lambda h: h * self.bias - row * n, (h,))
            count, h = while_loop(lambda i, h: (i < 3) & (h.abs().sum() < 50), shrink,
                                  (carry.new_zeros((), dtype=torch.int64), carry))
            return h, h * 2 + count
        inside = torch.cond(x.max() > 1, lambda x: torch.cond(x.min() < -1, lambda x: x.sin(), lambda x: x @ self.weight, (x,)),
                            lambda x: torch.cat([x, x]).reshape(2 * n, 4)[n:] + n, (x,))
        return *scan(step, x[0] * 0, x, reverse=True), inside, n * 2 + 1
    return module(forward, weight=randn(4, 4), bias=randn(4)), [randn(5, 4)], [randn(2, 4) / 4]


@case(dynamic=({0: DYN},))
def size_arithmetic():
    """Roots, quotients, halves and choices of a size, in numbers and in shapes."""
    def forward(self, x):
        n = x.shape[0]
        y = x * torch.sym_float(n) ** 0.5 + torch.sym_ite(n > 4, n + 1, n * 2) + math.trunc(n * 0.75) - n % 3
        z = y * torch.sym_sqrt(n) + n / 4
        return z, x.new_zeros(math.trunc(n * 1.25)), x.new_ones(n // 2 + n * 2), \
            x.new_full((torch.sym_max(n, 5) - torch.sym_min(n - 3, 2),), 2.0)
    return module(forward), [randn(7)], [randn(4)], [randn(10)]


@case(dynamic=({0: DYN},))
def carried_sizes():
    """Integers that loops carry, one loop in another; they choose rows and come out of the model."""
    def forward(self, x):
        def around(n, a):
            m, b = while_loop(lambda m, b: m < n + 2, lambda m, b: (m + 1, b * 0.9 + m), (n - 1, a))
            return n - 1, b + m + x.narrow(0, n - 1, 1)
        n, a = while_loop(lambda n, a: n > 1, around, (x.shape[0], x))
        k, z = while_loop(lambda k, z: k < x.shape[0] * 2, lambda k, z: (k + 2, z @ self.weight + k), (x.shape[0] + 1, a))
        return n, a, k, z, k + n
    return module(forward, weight=randn(4, 4)), [randn(3, 4)], [randn(6, 4)]


@case(dynamic=({0: DYN}, None, None))
def mapped_rows():
    def forward(self, x, y, z):
        n = x.shape[0]
        rows = control_map(lambda r: (r @ self.weight + n, r.sum() > 0), x)
        pairs = control_map(lambda r, w: r[0] * w + r[1].max(), (y, y + 2), z)
        nested = control_map(lambda r: control_map(lambda q: q * z.sum(), r) + r.mean(), y.reshape(3, 2, 2))
        return *rows, pairs, nested, control_map(lambda r: torch.cond(r.sum() > 0, lambda r: r @ self.weight, lambda r: -r, (r,)), y)
    return module(forward, weight=randn(4, 4)), [randn(5, 4), randn(3, 4), randn(4)], \
        [randn(1, 4), randn(3, 4), randn(4)]


@case(dynamic=({0: DYN}, {0: DYN}))
def associative_scan_ops():
    """As they are exported for GPUs: the operator itself, with a body for one step."""
    def forward(self, x, y):
        total = associative_scan_op(lambda a, b, w: (a + b * w,), (x,), (self.weight,))
        line = associative_scan_op(lambda a, b, c, d: (a * c, b * c + d), (x, y), ())
        return *total, *line, *associative_scan_op(lambda a, b: (torch.maximum(a, b),), (x.long(),), ())
    return module(forward, weight=torch.ones(3)), [randn(5, 3), randn(5, 3)], [randn(1, 3), randn(1, 3)]


@case
def associative_scans():
    """In the generic mode, which is vmap on slices."""
    def forward(self, x, y, m):
        add = associative_scan(torch.add, x, 1, reverse=True, combine_mode="generic")
        line = associative_scan(lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), (x, y), 0, combine_mode="generic")
        return add, *line, associative_scan(torch.matmul, m, 0, combine_mode="generic")
    return module(forward), [randn(3, 3), randn(3, 3), randn(3, 2, 2)]


@case
def vmapped():
    """Operators on one of a batch: their dimensions, sizes and ranks are not those of the whole."""
    def forward(self, x, y, z):
        weight, bias = self.weight, self.bias
        pairs = torch.vmap(torch.vmap(torch.dot, (None, 0)), (0, None))(x, y)
        mask = torch.vmap(torch.vmap(lambda i, j: (i >= j) & (j > 0), (None, 0)), (0, None))(x[:, 0], y[:, 0])
        softmax = torch.vmap(lambda a: (weight @ a).softmax(0) + a.amax(), 1)(z)
        parts = torch.vmap(lambda a: torch.cat([a, bias])[1:].reshape(7, 1).t().unsqueeze(0) + a.mean())(x)
        stacked = torch.vmap(lambda a: (torch.stack([a, bias], -1).sum(-1, keepdim=True), a.sum() * 2, bias))(y)
        outer = torch.vmap(lambda a: (torch.outer(a, bias) @ a, a.expand(2, 4).transpose(0, 1), a[1:].cumsum(0)))(x)
        return pairs, mask, softmax, parts, *stacked, *outer
    return module(forward, weight=randn(4, 4), bias=randn(4)), [randn(3, 4), randn(5, 4), randn(4, 2)]


# ------------------------------------------------------------------ regions
@case(strict=True)
def regions():
    """Checkpoints, parts that are compiled once, hints and no_grad change nothing."""
    twice = torch.compiler.nested_compile_region(lambda net, x: net(x).relu() * 2)

    def forward(self, x):
        with torch.no_grad():
            y = twice(self.linear, twice(self.linear, x))
        hinted = hints_wrapper(lambda a, w: (a @ w).relu(), (y, self.linear.weight), {}, hints={"fast": True})
        with torch.enable_grad():
            return y, hinted + 1, torch.cond(x.sum() > 0, lambda x: twice(self.linear, x), lambda x: x - 1, (x,))
    return module(forward, linear=nn.Linear(4, 4)), [randn(3, 4)], [-randn(3, 4).abs()]


@case
def autocast_layers():
    """Products in the region's dtype; what is made of two dtypes; regions within that are off, or of another dtype."""
    def forward(self, x, image):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = self.linear(x)
            z = self.norm(y)
            with torch.autocast("cpu", enabled=False):
                exact = self.linear(x)
            with torch.autocast("cpu", dtype=torch.float16):
                half = x @ x.t()
            products = y @ torch.softmax(z, -1).transpose(-1, -2), torch.einsum("ij,kj->ik", x, x), x.mm(x.t()).add_(1.0)
            joined = torch.cat([y, exact], -1), torch.stack([y, z])
            return y, z, exact, half, *products, *joined, self.conv(image), x.double() @ x.double().t()
    return module(forward, linear=nn.Linear(8, 6), norm=nn.LayerNorm(6), conv=nn.Conv2d(2, 3, 3)), \
        [randn(5, 8), randn(1, 2, 6, 6)]


@case
def autocast_to_float32():
    """What is computed in 32 bits on 16-bit floats, and what stays in 16."""
    def forward(self, x, target):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = x.bfloat16()
            losses = F.mse_loss(y, y + 1), F.cross_entropy(y, target), F.nll_loss(y, target), F.smooth_l1_loss(y, y * 2)
            return *losses, y.prod(1), F.pad(y, (1, 2), "reflect"), torch.cdist(y, y), y.sum(1), y.exp(), F.gelu(y)
    return module(forward), [randn(4, 6), torch.tensor([0, 5, 2, 2])]


@case
def out_dtypes():
    def forward(self, x, y, image, kernel):
        mm = out_dtype(torch.ops.aten.mm.default, torch.int32, x, y)
        mul = out_dtype(torch.ops.aten.mul.Tensor, torch.int32, x, x)
        conv = out_dtype(torch.ops.aten.conv2d.default, torch.int32, image, kernel, None, [1, 1], [1, 1])
        return mm, mul, conv, out_dtype(torch.ops.aten.mul.Scalar, torch.int32, x, 100)
    small = lambda *shape: ints(*shape, low=-128, high=128).to(torch.int8)
    return module(forward), [small(3, 4), small(4, 5), small(1, 2, 5, 5), small(3, 2, 3, 3)]


# ------------------------------------------------------------------ state that is not seen in the graph
@case(dynamic=({0: DYN},), state=["batch.running_mean", "batch.running_var", "batch.num_batches_tracked",
                                  "instance.running_mean", "instance.running_var"])
def statistics_of_training():
    """Normalisations write their statistics beside the result, in models that were exported in training."""
    def forward(self, x):
        return self.instance(self.batch(self.batch(x)) * 2)
    net = module(forward, batch=nn.BatchNorm2d(3), instance=nn.InstanceNorm2d(3, track_running_stats=True, momentum=0.3))
    net.eval = lambda: net  # the module is exported as it is
    return net, [randn(4, 3, 5, 5) * 2 + 1], [randn(2, 3, 5, 5)]


# ------------------------------------------------------------------ operators that write their arguments
@torch.library.custom_op("written::bump", mutates_args=("x",))
def bump(x: torch.Tensor, by: float) -> torch.Tensor:
    x.add_(by)
    return x * 2


@torch.library.custom_op("written::scale", mutates_args=("xs", "total"))
def scale(xs: list[torch.Tensor], by: torch.Tensor, total: torch.Tensor | None) -> None:
    for x in xs:
        x.mul_(by)
    if total is not None:
        total.add_(by)


bump.register_fake(lambda x, by: torch.empty_like(x))
scale.register_fake(lambda xs, by, total: None)


def writes(self, x):
    y, total = x * 2, x.sin()
    turned = y.t()
    doubled = torch.ops.written.bump(turned[1], 1.5)
    before = y + 1
    torch.ops.written.scale([y[:, 1:3], before], x[0, 0], total)
    torch.ops.written.scale([total[0]], x[0, 1], None)
    return y, turned, doubled, before, total


@case()
def many_views():
    def forward(self, x):
        y = x.clone()
        rows = y.unbind(0)
        y.add_(1)
        return rows[0] * 2, rows[68]
    return module(forward), [randn(70, 2)]


@case(rules="written.lua")
def written_arguments():
    return module(writes), [randn(3, 4)]


@case(rules="written.lua", decompose=True)
def written_arguments_functional():
    return module(writes), [randn(3, 4)]


# ------------------------------------------------------------------ sizes as floats, decompositions
@case(dynamic=({0: DYN, 1: DYN},))
def sizes_as_floats():
    def forward(self, x):
        n, d = x.shape
        return (x * (n / 2), x * d**-0.5, x * (1 - 1 / n), torch.full((2,), n * 0.5), x.clamp(max=n / 20),
                torch.full_like(x, n / d), x.long() * (n / 2), torch.add(x, x, alpha=n / 2))
    return module(forward), [randn(4, 6)], [randn(5, 7)]


@case(dynamic=({0: DYN, 1: DYN},))
def remainders_of_sizes():
    def forward(self, x):
        n, d = x.shape
        part = n / 10
        return (x * (-part % 0.3), x * torch.sym_max(part, 0.7), x * torch.sym_min(part, d),
                x + torch.sym_float(d), x * (2.0 - part), x * (n / d)**2, x.add(x, alpha=-(d / 4)), x * (part - d / 3))
    return module(forward), [randn(10, 3)], [randn(7, 4)]


@case(dynamic=({0: DYN}, {0: DYN}))
def sequences_filled_up():
    return module(lambda self, x, y: nn.utils.rnn.pad_sequence([x, y], True, 2.0)), \
        [randn(4, 3), randn(2, 3)], [randn(3, 3), randn(6, 3)]


@case(decompose=True)
def decomposed_layers():
    def forward(self, x):
        y = self.norm(self.conv(x)).relu()
        z = F.interpolate(y, scale_factor=2, mode="bilinear").flatten(2).mT
        return F.scaled_dot_product_attention(z, z, z).softmax(-1), F.gelu(self.layer_norm(z)).std(1), y[:, ::2] * 2
    return module(forward, conv=nn.Conv2d(2, 4, 3), norm=nn.BatchNorm2d(4), layer_norm=nn.LayerNorm(4)), \
        [randn(2, 2, 5, 5)]


@case(decompose=True, dynamic=({0: DYN},))
def decomposed_products():
    """Products that decompositions put between changes of shape; orders and dimensions put one on another."""
    def forward(self, x):
        heads = self.plain(x).unflatten(-1, (2, 3)).transpose(1, 2)
        mixed = (heads @ heads.mT) @ heads
        y = self.biased(mixed.transpose(1, 2).flatten(2)) * 1 + x.permute(2, 0, 1).permute(1, 2, 0)
        places = (torch.arange(4) + 0)[None][:, None].unsqueeze(-1)
        return y, places * x.unsqueeze(0).unsqueeze(2), torch.bmm(x, x.mT), x.view(-1, 6) @ self.plain.weight
    return module(forward, plain=nn.Linear(6, 6, bias=False), biased=nn.Linear(6, 6)), \
        [randn(3, 4, 6)], [randn(5, 4, 6)]


@case(decompose=True, dynamic=({0: DYN},))
def decomposed_pool():
    # the mean's strides are set to those of channels_last, for a number of images that is not known
    net = nn.AdaptiveAvgPool2d(1)
    return module(lambda self, x: (net(x).flatten(1), torch.as_strided(x, (x.shape[0], 2, 2), (18, 3, 1), 1))), \
        [randn(3, 2, 3, 3)], [randn(5, 2, 3, 3)]


@case(decompose=True)
def decomposed_matrices():
    # errors are checked by calls that are chained by tokens
    def forward(self, x, b):
        m = x @ x.mT + torch.eye(3)
        return (torch.linalg.inv(m), torch.linalg.solve(m, b), torch.linalg.cholesky(m), torch.linalg.det(m),
                torch.linalg.slogdet(m)[1], torch.linalg.svdvals(x), F.bilinear(b, b, self.w))
    return module(forward, w=randn(2, 2, 2)), [randn(2, 3, 3), randn(2, 3, 2)]


# ------------------------------------------------------------------ from a module to files
def scrub(program, keep_trace=False):
    """Leave out what differs from run to run, names folders of this machine or only takes room."""
    for graph in (m for m in program.graph_module.modules() if isinstance(m, torch.fx.GraphModule)):
        for node in graph.graph.nodes:
            for key in ("from_node", "torch_fn"):
                node.meta.pop(key, None)
            trace = node.meta.pop("stack_trace", None)
            if trace and keep_trace:
                node.meta["stack_trace"] = FOLDERS.sub('File "', trace)
    program.example_inputs = None
    return program


def leaves(value):
    return [v.detach() if isinstance(v, torch.Tensor) else v for v in pytree.tree_leaves(value)]


def export(net, inputs, dynamic=None, keep_trace=False, decompose=False, strict=False):
    program = torch.export.export(net, tuple(inputs), dynamic_shapes=dynamic, strict=strict)
    return scrub(program.run_decompositions() if decompose else program, keep_trace)


def evaluate(net, inputs):
    clones = pytree.tree_map(torch.clone, tuple(inputs))
    return leaves(net(*clones))


def write(name, root):
    """Export one case, see that the program agrees with the module, save both."""
    make, facts = CASES[name]
    torch.manual_seed(zlib.crc32(name.encode()))
    net, inputs, *others = make()
    net.eval()
    facts = dict(facts)
    program = export(net, inputs, facts.pop("dynamic", None), decompose=facts.pop("decompose", False),
                     strict=facts.pop("strict", False))
    state, kept = facts.pop("state", ()), {n: b.clone() for n, b in net.state_dict().items()}
    folder = root / name
    shutil.rmtree(folder, ignore_errors=True)
    targets = sorted({str(n.target) for n in program.graph.nodes if n.op == "call_function"})
    targets = [t for t in targets if not t.startswith("<")]
    for index, values in enumerate([inputs, *others]):
        want = evaluate(net, values)
        after = [net.state_dict()[n].clone() for n in state]
        net.load_state_dict(kept)
        again = evaluate(program.module(check_guards=False), values)
        net.load_state_dict(kept)
        got = [common.numpy_helper.to_array(common.to_proto(t, "")) for t in again]
        if reason := common.compare([common.to_proto(t, "") for t in want], got):
            raise ValueError(f"{name}: the exported program disagrees: {reason}")
        want += after
        if index == 0:
            common.write_case(folder, program, leaves(values), want, name=name, **facts,
                              targets=targets)
        else:
            common.write_data(folder, leaves(values), want, index)
    return sum(f.stat().st_size for f in folder.rglob("*") if f.is_file())


# ------------------------------------------------------------------ quantised
def steps():
    """The operators that quantise, as torch itself brings them."""
    import torch.ao.quantization.fx._decomposed  # noqa: F401
    return torch.ops.quantized_decomposed


@case
def quantized_steps():
    """Ranges of dtypes and narrower ones, values on the middle between two steps, values outside."""
    q = steps()

    def forward(self, x):
        out = []
        for dtype, low, high in ((torch.int8, -128, 127), (torch.int8, -127, 120), (torch.uint8, 0, 255),
                                 (torch.uint8, 0, 15), (torch.int16, -32768, 32767)):
            for y in (x, x.half(), x.bfloat16()):
                out.append(q.quantize_per_tensor(y, 0.25, 3, low, high, dtype))
            out.append(q.dequantize_per_tensor(out[-1], 0.25, 3, low, high, dtype))
            out.append(q.quantize_per_channel(x, self.scales, self.points, 1, low, high, dtype))
            out.append(q.dequantize_per_channel(out[-1], self.scales, self.points, 1, low, high, dtype))
        bytes_ = q.quantize_per_tensor.tensor(x, self.scale, self.point, -128, 127, torch.int8)
        out.append(q.dequantize_per_tensor.tensor(bytes_, self.scale, self.point, -128, 127, torch.int8))
        out.append(q.quantize_per_tensor.tensor2(x, self.scale, self.point, self.low, self.high, torch.int8))
        out.append(q.dequantize_per_tensor(self.sums, 0.25, 0, -2**31, 2**31 - 1, torch.int32))
        out.append(q.dequantize_per_channel(bytes_, self.scales.bfloat16(), None, 1, -128, 127, torch.int8,
                                            out_dtype=torch.bfloat16))
        return out
    x = torch.arange(-40, 40).reshape(10, 4, 2) / 8
    x[0, 0] = torch.tensor([1e6, -1e6])
    return module(forward, scales=torch.tensor([0.25, 0.5, 0.037, 2.0]), points=torch.tensor([0, 3, 7, 15]),
                  scale=torch.tensor([0.05], dtype=torch.float64), point=torch.tensor([2]),
                  low=torch.tensor(-8), high=torch.tensor(7), sums=ints(10, low=-70000, high=70000).int()), [x]


@case(dynamic=[{0: DYN}, None])
def quantized_at_run_time():
    """Scales that the data gives: its extremes lie on the middle between two steps."""
    q = steps()

    def forward(self, x, w):
        out = []
        for choose, dtype, low, high in ((q.choose_qparams.tensor, torch.uint8, 0, 255),
                                         (q.choose_qparams.tensor, torch.int8, -128, 127),
                                         (q.choose_qparams_symmetric.tensor, torch.int8, -128, 127),
                                         (q.choose_qparams_symmetric.tensor, torch.uint8, 0, 255)):
            scale, point = choose(x, low, high, 1e-5, dtype)
            y = q.quantize_per_tensor.tensor(x, scale, point, low, high, dtype)
            out += [scale, point, y, q.dequantize_per_tensor.tensor(y, scale, point, low, high, dtype)]
        for y in (x, x.half(), x.bfloat16()):
            for choose in (q.choose_qparams_per_token, q.choose_qparams_per_token_asymmetric):
                scale, point = choose(y, torch.int8)
                out.append(q.quantize_per_token(y, scale, point, -128, 127, torch.int8))
                out.append(q.dequantize_per_token(out[-1], scale, point, -128, 127, torch.int8, torch.float32))
        scale = w.abs().amax(1) / 127.5
        point = torch.zeros_like(scale, dtype=torch.int64)
        out.append(q.quantize_per_channel(w, scale, point, 0, -128, 127, torch.int8))
        out.append(q.quantize_per_channel(self.w, self.scale, self.point, 0, -128, 127, torch.int8))
        return out
    w = randn(6, 5)
    return module(forward, w=w, scale=w.abs().amax(1) / 127.5, point=torch.zeros(6, dtype=torch.int64)), \
        [randn(4, 3, 8), randn(6, 5)], [randn(2, 3, 8) * 5, randn(6, 5)]


@case
def quantized_groups():
    """Weights of 4 bits with a scale for each 8 of a row; a tensor in their place."""
    q = steps()

    def forward(self, x, w):
        out = []
        for points in (self.points, None):
            def back(w, scales, dtype):
                return q.dequantize_per_channel_group(w, scales, points, -8, 7, torch.int8, 8, dtype)
            out += [x @ back(self.w, self.scales, torch.float32).T, back(w, self.scales, torch.float32),
                    back(self.w, self.scales.bfloat16(), torch.bfloat16)]
        return [*out, q.quantize_per_channel_group(x, self.scales, self.points, -8, 7, torch.int8, 8)]
    return module(forward, w=ints(6, 32, low=-8, high=8).to(torch.int8), scales=torch.rand(6, 4) / 4 + 0.02,
                  points=ints(6, 4, low=-8, high=8).to(torch.int8)), \
        [randn(6, 32), ints(6, 32, low=-8, high=8).to(torch.int8)]


@case(dynamic=[{0: DYN}, None])
def quantized_products():
    """Sums of products of 8-bit integers, as large as they can be; weights of 8 bits."""
    def forward(self, x, y):
        return [torch._int_mm(x, self.w), torch.ops.aten._weight_int8pack_mm(y, self.w8, self.scales)]
    x, w = ints(20, 32, low=-128, high=128), ints(32, 8, low=-128, high=128)
    x[0], w[:, 0] = -128, -128
    return module(forward, w=w.to(torch.int8), w8=ints(16, 32, low=-128, high=128).to(torch.int8),
                  scales=torch.rand(16) / 100), [x.to(torch.int8), randn(5, 32)]


class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.bn, self.head = nn.Conv2d(3, 6, 3, padding=1), nn.BatchNorm2d(6), nn.Linear(6, 5)
        self.bn.running_mean.normal_()
        self.bn.running_var.uniform_(0.5, 2)

    def forward(self, x):
        x = torch.relu(self.bn(self.conv(x)))
        return self.head(torch.relu(x + 0.5).mean((2, 3)))


def calibrated(net, inputs, qat=False):
    """A model as torchao quantises it for XNNPACK, and before the weights are converted."""
    from torchao.quantization.pt2e import quantize_pt2e as pt2e
    from torchao.testing.pt2e import _xnnpack_quantizer as xnnpack
    config = xnnpack.get_symmetric_quantization_config(is_per_channel=True, is_qat=qat)
    prepare = pt2e.prepare_qat_pt2e if qat else pt2e.prepare_pt2e
    net = torch.export.export(net.train(qat), inputs).module()
    net = prepare(net, xnnpack.XNNPACKQuantizer().set_global(config))
    for _ in range(3):
        net(*(x + randn(x.shape) / 10 for x in inputs))
    return net


@case(atol=0.05)
def quantized_pt2e():
    from torchao.quantization.pt2e import quantize_pt2e as pt2e
    inputs = [randn(2, 3, 8, 8)]
    net = pt2e.convert_pt2e(calibrated(Small(), tuple(inputs)))
    net.eval = lambda: net  # it refuses to
    return net, inputs


@case(atol=0.05)
def quantized_in_training():
    """Fake quantisation, its observers switched off."""
    from torchao.quantization import pt2e
    inputs = [randn(2, 3, 6, 6)]
    layers = nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(64, 5)
    net = calibrated(nn.Sequential(*layers), tuple(inputs), qat=True)
    for part in net.modules():
        if hasattr(part, "disable_observer"):
            part.disable_observer()
    pt2e.move_exported_model_to_eval(net)
    net.eval = lambda: net
    return net, inputs


@case
def torchao_blocks():
    """torchao's affine operators by blocks of all forms, of a weight and at run time."""
    import torchao  # noqa: F401
    ao = torch.ops.torchao

    def forward(self, x, w):
        out = []
        f32, bf16 = torch.float32, torch.bfloat16
        for rows, columns, dtype in ((6, 32, f32), (1, 32, bf16), (6, 1, f32), (1, 8, f32), (2, 8, bf16), (3, 1, f32)):
            def back(q, scale, point, low, high):
                return ao.dequantize_affine(q, [rows, columns], scale, point, torch.int8, low, high, output_dtype=dtype)
            for mapping in ("SYMMETRIC", "ASYMMETRIC", "SYMMETRIC_NO_CLIPPING_ERR"):
                scale, point = ao.choose_qparams_affine(x.to(dtype), mapping, [rows, columns], torch.int8, -128, 127,
                                                        zero_point_dtype=torch.int8, keepdim=True)
                q = ao.quantize_affine(x.to(dtype), [rows, columns], scale, point, torch.int8, -128, 127)
                out += [scale, q, back(q, scale, point, -128, 127)]
            shape = (6 // rows, 32 // columns)
            scale = (self.scales[:shape[0], :shape[1]] / 4 + 0.02).to(dtype)
            out += [back(self.w, scale, None, -8, 7), back(w, scale, None, -8, 7)]
        return out
    return module(forward, w=ints(6, 32, low=-8, high=8).to(torch.int8), scales=torch.rand(6, 32)), \
        [randn(6, 32), ints(6, 32, low=-8, high=8).to(torch.int8)]


def by_torchao(config, net):
    from torchao.quantization import quantize_
    from torchao.utils import unwrap_tensor_subclass
    quantize_(net, config)
    return unwrap_tensor_subclass(net)


def two_layers():
    return nn.Sequential(nn.Linear(64, 48), nn.ReLU(), nn.Linear(48, 10)).eval()


@case(dynamic=[{0: DYN}])
def torchao_int4():
    """8-bit activations with a scale for each row, 4-bit weights with one for each 16."""
    from torchao.quantization import Int8DynamicActivationIntxWeightConfig, PerGroup
    config = Int8DynamicActivationIntxWeightConfig(weight_dtype=torch.int4, weight_granularity=PerGroup(16))
    return by_torchao(config, two_layers()), [randn(5, 3, 64)], [randn(2, 3, 64)]


@case(dynamic=[{0: DYN}])
def torchao_int8():
    from torchao.quantization import Int8DynamicActivationInt8WeightConfig
    return by_torchao(Int8DynamicActivationInt8WeightConfig(), two_layers()), [randn(5, 64)], [randn(3, 64)]


@case
def torchao_float8():
    """Weights in 8-bit floats, and what is quantised to them."""
    from torchao.quantization import Float8WeightOnlyConfig
    ao = torch.ops.torchao
    net = by_torchao(Float8WeightOnlyConfig(), two_layers())

    def forward(self, x):
        out = [self.net(x)]
        for dtype in (torch.float8_e4m3fn, torch.float8_e5m2):
            for scale in (self.scales[:1, :1], self.scales[:, :1], self.scales[:, :8], self.scales[:3, :8]):
                q = ao.quantize_affine_float8_non_decomposed(x * 50, scale, dtype)
                out += [q.float(), ao.dequantize_affine_float8_non_decomposed(q, scale)]
            out.append(ao.choose_scale_float8(x, [1, 8], dtype))
        return out
    return module(forward, net=net, scales=torch.rand(6, 8) + 0.02), [randn(6, 64)]


# ------------------------------------------------------------------ wrong inputs
@torch.library.custom_op("mylib::foo", mutates_args=())
def foo(x: torch.Tensor, beta: float = 1.0) -> torch.Tensor:
    return x * torch.sigmoid(x * beta)


@foo.register_fake
def _(x, beta=1.0):
    return torch.empty_like(x)


class Gate(nn.Module):
    def __init__(self, beta):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.beta = beta

    def forward(self, x):
        return torch.ops.mylib.foo(self.linear(x), self.beta)


class Gates(nn.Module):
    """Two uses of an operator that no rule knows, in blocks.0 and blocks.1."""
    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(Gate(1.0), Gate(2.0))

    def forward(self, x):
        return self.blocks(x).relu()


def view_write(self, x):
    x = x.clone()
    y = x[0]
    y.add_(1)
    return x


def edited(archive, edit):
    """The bytes of an archive whose records went through edit(name, data) -> data or None."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(archive)) as old, zipfile.ZipFile(out, "w") as new:
        for info in old.infolist():
            data = edit(info.filename, old.read(info))
            if data is not None:
                kind = zipfile.ZIP_DEFLATED if len(data) > 30000 else zipfile.ZIP_STORED
                new.writestr(zipfile.ZipInfo(info.filename), data, kind)
    return out.getvalue()


def saved(program):
    out = io.BytesIO()
    torch.export.save(program, out)
    return out.getvalue()


def write_bad(root):
    """Files that must be refused, each with its own error.

    missing_op can be converted once a rule is given, view_write by a converter that keeps track of
    views: the folders of those names hold what PyTorch computes.
    """
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    x = randn(2, 4)
    good = saved(export(net, [x]))
    model, config = "models/model.json", "data/weights/model_weights_config.json"
    swap = lambda end, change: edited(good, lambda n, d: change(d) if n.endswith(end) else d)
    root.mkdir(parents=True, exist_ok=True)
    files = {
        "truncated.pt2": good[:len(good) * 2 // 3],
        "empty.pt2": b"",
        "text.pt2": b"this is not a model\n",
        "no_model.pt2": edited(good, lambda n, d: None if n.endswith(model) else d),
        "no_weight.pt2": edited(good, lambda n, d: None if n.endswith("weight_0") else d),
        "short_weight.pt2": swap("weight_0", lambda d: d[:8]),
        "bad_json.pt2": swap(model, lambda d: d[:len(d) // 2]),
        "deep_json.pt2": swap(model, lambda d: b"[" * 200000),
        "huge_sizes.pt2": swap(config, lambda d: d.replace(b'_int": 8', b'_int": %d' % 2**62)),
        "outside_path.pt2": swap(config, lambda d: d.replace(b"weight_0", b"../../../etc/passwd")),
        "plain.zip": edited(good, lambda n, d: b"hello" if n.endswith("byteorder") else None),
    }
    for name, data in files.items():
        (root / name).write_bytes(data)
    torch.jit.save(torch.jit.trace(net, x), root / "torchscript.pt")
    torch.save(net.state_dict(), root / "state_dict.pt")
    for name, net in (("missing_op", Gates()), ("view_write", module(view_write))):
        (root / f"{name}.pt2").write_bytes(saved(export(net, [x], keep_trace=True)))
        common.write_data(root / name, [x], evaluate(net, [x]))


# ------------------------------------------------------------------ models for options of convert
@torch.library.custom_op("mylib::pick", mutates_args=())
def pick(x: torch.Tensor, ys: list[torch.Tensor], z: torch.Tensor | None, size: int, mode: str,
         device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
    return x + sum(ys), x * size


@pick.register_fake
def _(x, ys, z, size, mode, device):
    return torch.empty_like(x), torch.empty_like(x)


def picked(self, x, y):
    a, b = torch.ops.mylib.pick(x, [y, x], None, x.shape[0], "near", torch.device("cpu"))
    return a + b


def masked(self, x):
    return (x.masked_fill(x < 0, torch.finfo(x.dtype).min) + self.mask).softmax(-1)


class Block(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.linear = nn.Linear(n, n)
        self.norm = nn.LayerNorm(n)

    def forward(self, x):
        return x + self.norm(self.linear(x).relu())


class Blocks(nn.Module):
    """Three equal blocks, dynamic in the batch and the length."""
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(*(Block(8) for _ in range(3)))
        self.head = nn.Linear(8, 3)

    def forward(self, tokens):
        return self.head(self.layers(tokens).mean(1))


class Pair(nn.Module):
    def __init__(self):
        super().__init__()
        self.left, self.right = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, y, x):
        return self.left(y), self.right(x)


class Interleaved(nn.Module):
    """A block's second call comes after what reads its first: the calls are two, and the other module stands between."""
    def __init__(self):
        super().__init__()
        self.block, self.pair = Block(4), Pair()

    def forward(self, x, again):
        return *self.pair(self.block(x), x), self.block(again)


class Attention(nn.Module):
    """One that attends to itself, one to something else."""
    def __init__(self):
        super().__init__()
        self.own, self.other = (nn.MultiheadAttention(8, 2, batch_first=True) for _ in range(2))

    def forward(self, x, memory):
        x = x + self.own(x, x, x, need_weights=False)[0]
        return self.other(x, memory, memory, need_weights=False)[0]


def write_options(root):
    """Models that tests/e2e/test_options.py converts, with what PyTorch computes."""
    torch.manual_seed(0)
    root.mkdir(parents=True, exist_ok=True)
    two = {0: DYN, 1: DYN}
    nets = {"blocks": (Blocks(), [randn(2, 5, 8)], [two]),
            "large_constants": (module(masked, mask=torch.tensor([0, 0, -3e38, 0])), [randn(3, 4)], None),
            "custom_arguments": (module(picked), [randn(3, 4), randn(3, 4)], [{0: DYN}, {0: DYN}]),
            "interleaved": (Interleaved(), [randn(2, 4), randn(2, 4)], None),
            "attention": (Attention(), [randn(2, 5, 8), randn(2, 3, 8)], None)}
    for name, (net, inputs, dynamic) in nets.items():
        program = export(net.eval(), inputs, dynamic=dynamic, keep_trace=True)
        (root / f"{name}.pt2").write_bytes(saved(program))
        common.write_data(root / name, inputs, evaluate(net.eval(), inputs))


class Cells:
    """Holds state, and is no module: torch.export records what it holds again, as constants."""
    def __init__(self):
        self.rows, self.length = torch.zeros(4, 3), torch.tensor(0)


class Recorder(nn.Module):
    """Writes x into the next row; the state goes by two names, and once through a `to` that changes nothing."""
    def __init__(self):
        super().__init__()
        self.cells = Cells()
        self.register_buffer("rows", self.cells.rows, persistent=False)
        self.register_buffer("length", self.cells.length, persistent=False)

    def forward(self, x):
        at = self.cells.length.to(device=x.device, dtype=torch.int64)
        self.cells.rows.index_copy_(0, at.reshape(1), x)
        self.cells.length.add_(1)
        return self.rows.sum(0), at * 2 + self.length


class Overlap(nn.Module):
    """Two buffers that have a part of their memory in common."""
    def __init__(self):
        super().__init__()
        whole = torch.arange(4.)
        self.register_buffer("low", whole[:3])
        self.register_buffer("high", whole[1:])

    def forward(self, x):
        self.low.add_(x)
        return self.high * 2


def write_state(root):
    """Models that tests/e2e/test_state.py runs step after step; expected are the results, then the state."""
    torch.manual_seed(0)
    root.mkdir(parents=True, exist_ok=True)
    program = torch.export.export(Recorder(), (randn(1, 3),), strict=False)
    (root / "recorder.pt2").write_bytes(saved(program))
    net = Recorder()
    for name, buffer in net.named_buffers():
        buffer.copy_(program.constants[name])  # tracing did a part of the first step
    for index in range(3):
        x = randn(1, 3)
        common.write_data(root / "recorder", [x], [*net(x), net.rows, net.length], index)
    (root / "overlap.pt2").write_bytes(saved(torch.export.export(Overlap(), (torch.ones(3),))))


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--only", default="*")
    a = p.parse_args()
    total = 0
    for name in fnmatch.filter(CASES, a.only):
        size = write(name, HERE / "cases")
        total += size
        print(f"{name:28} {size:7} bytes", flush=True)
    if a.only == "*":
        write_bad(HERE / "bad")
        write_options(HERE / "options")
        write_state(HERE / "state")
        for stale in {f.name for f in (HERE / "cases").iterdir()} - set(CASES):
            shutil.rmtree(HERE / "cases" / stale)
    print(f"{total} bytes in all")


if __name__ == "__main__":
    main()
