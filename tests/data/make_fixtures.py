"""Write the small cases in tests/data/cases and the wrong inputs in tests/data/bad.

    python make_fixtures.py [--only PATTERN]

Needs PyTorch 2.13. A case is a tiny module with its inputs and what PyTorch computes from them, in
the layout of tests/e2e/case.py. Every case is seeded by its name, so a run leaves the same bytes.
"""
import argparse
import fnmatch
import io
import json
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

    dynamic=... goes to torch.export, decompose=True runs its decompositions; anything else becomes a
    fact in case.json.
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


# ------------------------------------------------------------------ sizes as floats, decompositions
@case(dynamic=({0: DYN, 1: DYN},))
def sizes_as_floats():
    def forward(self, x):
        n, d = x.shape
        return (x * (n / 2), x * d**-0.5, x * (1 - 1 / n), torch.full((2,), n * 0.5), x.clamp(max=n / 20),
                torch.full_like(x, n / d), x.long() * (n / 2), torch.add(x, x, alpha=n / 2))
    return module(forward), [randn(4, 6)], [randn(5, 7)]


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


def export(net, inputs, dynamic=None, keep_trace=False, decompose=False):
    program = torch.export.export(net, tuple(inputs), dynamic_shapes=dynamic)
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
    program = export(net, inputs, facts.pop("dynamic", None), decompose=facts.pop("decompose", False))
    folder = root / name
    shutil.rmtree(folder, ignore_errors=True)
    targets = sorted({str(n.target) for n in program.graph.nodes if n.op == "call_function"})
    targets = [t for t in targets if not t.startswith("<")]
    for index, values in enumerate([inputs, *others]):
        want = evaluate(net, values)
        again = evaluate(program.module(check_guards=False), values)
        got = [common.numpy_helper.to_array(common.to_proto(t, "")) for t in again]
        if reason := common.compare([common.to_proto(t, "") for t in want], got):
            raise ValueError(f"{name}: the exported program disagrees: {reason}")
        if index == 0:
            common.write_case(folder, program, leaves(values), want, name=name, **facts,
                              targets=targets)
        else:
            common.write_data(folder, leaves(values), want, index)
    return sum(f.stat().st_size for f in folder.rglob("*") if f.is_file())


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
        for stale in {f.name for f in (HERE / "cases").iterdir()} - set(CASES):
            shutil.rmtree(HERE / "cases" / stale)
    print(f"{total} bytes in all")


if __name__ == "__main__":
    main()
