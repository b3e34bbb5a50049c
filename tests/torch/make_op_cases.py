"""Write cases of single operators: overloads that no sample of PyTorch's operator database reaches.

    python make_op_cases.py --out DIR [--only PATTERN]

Each case is one call, torch.ops.<namespace>.<name>.<overload>(...), whose tensors are the program's inputs. Where
torch.export would rewrite the call, the node is put into the graph by hand, as a decomposition or a pass would leave
it. tests/rules/make_rows.py makes rows of the cases that run_cases.py finds right. Every case is seeded by its name.
"""
import argparse
import collections
import fnmatch
import itertools
import math
import operator
import pathlib
import shutil
import sys
import warnings
import zlib

import torch
import tvshim  # noqa: F401  (before torchvision)
import torch.nn.functional as F
import torchvision  # noqa: F401
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode, UnsupportedOperatorException
from torch.ao.quantization.fx import _decomposed  # noqa: F401  (its operators)
from torch.utils import _pytree as pytree

import common

warnings.filterwarnings("ignore")
CALLS = collections.defaultdict(list)
INF, NAN = math.inf, math.nan
randn = torch.randn
f32, f64, f16, i8, u8, i32, i64 = (torch.float32, torch.float64, torch.float16, torch.int8, torch.uint8, torch.int32,
                                   torch.int64)


class Call:
    """Arguments of an operator.

    `keep` chooses among its results, `judge` turns random ones into what is certain, and `by` computes those that are
    kept where the operator has no kernel for the CPU.
    """
    def __init__(self, *args, keep=None, judge=None, by=None, **kwargs):
        self.args, self.kwargs, self.keep, self.judge, self.by = args, kwargs, keep, judge, by


def calls(names, *makers):
    """Registers makers of calls for some operators: "aten.name.overload"; without a namespace aten's."""
    for name in names.split():
        if name.partition(".")[0] not in ("prims", "quantized_decomposed", "torchvision"):
            name = "aten." + name
        CALLS[name] += makers


# ------------------------------------------------------------------ values
def real(*shape, low=-2.0, high=2.0, dtype=f32):
    return torch.empty(shape).uniform_(low, high).to(dtype)


def whole(*shape, low=-5, high=6, dtype=i64):
    return torch.randint(low, high, shape, dtype=dtype)


def truth(*shape):
    return torch.rand(shape) > 0.4


def at(*values, dtype=None):
    return torch.tensor(values, dtype=dtype)


def square(n, batch=(), dtype=f32):
    """Well-conditioned square matrices, not symmetric."""
    return (randn(*batch, n, n) * 0.4 + torch.eye(n) * 2).to(dtype)


def definite(n, dtype=f32):
    a = square(n, dtype=dtype)
    return a @ a.mT


# ------------------------------------------------------------------ elementwise
def one(low, high, *special):
    """Makers for a function of one tensor whose domain is between low and high."""
    def values(shape, dtype):
        x = real(*shape, low=low, high=high)
        if special:
            some = at(*special, dtype=f32)[:x.numel()]
            x.view(-1)[:len(some)] = some
        return x.to(dtype)
    return (lambda: Call(values((2, 3), f32)), lambda: Call(values((7,), f64)), lambda: Call(values((2, 4), f16)),
            lambda: Call(values((), f32)))


SIGNED = (lambda: Call(whole(2, 3)), lambda: Call(whole(4, dtype=i32)))
BOTH = one(-3, 3, NAN, -INF, -0.0, 2.5)

calls("absolute negative fix prims.abs prims.neg prims.sign", *BOTH, *SIGNED)
calls("arccos arcsin prims.acos prims.asin special_erfinv prims.erf_inv", *one(-1, 1, NAN, 1.0, -1.0))
calls("arctanh prims.atanh", *one(-0.9, 0.9, NAN, 1.0))
calls("arccosh prims.acosh", *one(1, 5, NAN, 1.0, INF))
calls("arcsinh arctan special_erf special_erfc special_exp2 special_expit special_expm1 special_sinc "
      "prims.asinh prims.atan prims.cos prims.sin prims.tan prims.cosh prims.sinh prims.tanh prims.erf prims.erfc "
      "prims.exp prims.exp2 prims.expm1 prims.ceil prims.floor prims.round prims.trunc prims.cbrt", *BOTH)
calls("arctan special_erf special_exp2 special_expit special_sinc", *SIGNED)
calls("prims.isfinite", *one(-3, 3, NAN, -INF, -0.0))
calls("prims.log prims.log2 prims.log10 prims.sqrt prims.rsqrt prims.reciprocal", *one(0.1, 9, NAN, 0.0, INF))
calls("special_log1p prims.log1p", *one(-0.9, 4, NAN, -1.0, INF))
calls("special_digamma special_psi prims.digamma", *one(0.2, 9, -1.5, -0.5))
calls("special_gammaln prims.lgamma", *one(0.2, 9, -1.5, 1.0, INF))
calls("prims.ndtri", *one(0.02, 0.98, 0.0, 1.0)[:2])
calls("special_i0 prims.bessel_i0 prims.bessel_i0e prims.bessel_i1 prims.bessel_i1e", *one(-4, 4, 9.0))
calls("prims.erfcx", *one(-4, 4, 9.0)[:2])
calls("prims.bessel_j0 prims.bessel_j1 prims.spherical_bessel_j0",
      lambda: Call(real(2, 3, low=-9, high=9)), lambda: Call(at(0.0, 0.3, 20.0, -4.0)),
      lambda: Call(real(5, low=-9, high=9, dtype=f64)))
calls("prims.bitwise_not", lambda: Call(whole(2, 3)), lambda: Call(truth(2, 3)),
      lambda: Call(whole(3, dtype=u8, low=0)))
calls("prims.frexp", lambda: Call(at(0.0, 3.7, -0.02, 1024.0, 5e-3)), lambda: Call(real(2, 3, dtype=f64)))
COMPLEX = lambda *s: torch.complex(real(*s), real(*s))
calls("prims.conj prims.conj_physical prims.real prims.neg prims.exp prims.view_of", lambda: Call(COMPLEX(2, 3)))
calls("prims.mul prims.add", lambda: Call(COMPLEX(2, 3), COMPLEX(2, 3)))
calls("prims.convert_element_type", lambda: Call(COMPLEX(3), torch.complex128))
calls("_conj_physical conj detach_copy lift lift_fresh "
      "cpu to_dense prims.view_of prims.clone", lambda: Call(real(2, 3)), lambda: Call(whole(3)))
calls("special_logit", *one(0.1, 0.9), lambda: Call(at(-0.2, 0.01, 0.5, 1.3), 0.1))
calls("special_round", *BOTH, lambda: Call(real(2, 3) * 9, decimals=1), lambda: Call(real(2, 3) * 90, decimals=-1))
calls("special_multigammaln", lambda: Call(real(2, 3, low=2, high=6), 3), lambda: Call(real(4, low=1, high=6), 2))
calls("log_sigmoid_forward", lambda: Call(real(2, 3) * 5, keep=[0]))
calls("_prelu_kernel", lambda: Call(real(2, 3, 2), real(1, 3, 1)))
calls("_log_softmax_backward_data", lambda: Call(real(2, 3), real(2, 3).log_softmax(1), 1, f32),
      lambda: Call(real(2, 3), real(2, 3).log_softmax(0), 0, f32))
calls("zero", lambda: Call(real(2, 3)), lambda: Call(whole(2)))
calls("fill.Tensor", lambda: Call(real(2, 3), at(2.5).view(())), lambda: Call(whole(2, 3), at(2.5).view(())))
calls("prims.fill", lambda: Call(real(2, 3), 2.5), lambda: Call(whole(2, 3), 2))

for name, dtype in dict(Byte=u8, Char=i8, Double=f64, Float=f32, Half=f16, Int=i32, Long=i64,
      Short=torch.int16).items():
    calls(f"_cast_{name}", lambda: Call(at(0.0, 1.9, 2.5, 99.7)), lambda: Call(whole(2, 3, low=0)),
          lambda: Call(truth(2, 3)))

PAIRS = (lambda: Call(real(2, 3), real(2, 3)), lambda: Call(real(2, 3, dtype=f64), real(2, 3, dtype=f64)))
BROADCAST = (lambda: Call(real(2, 1, 3), real(4, 1)),)
WHOLE_PAIRS = (lambda: Call(whole(2, 3), whole(2, 3)), lambda: Call(whole(2, 3, dtype=i32), whole(2, 3, dtype=i32)))
calls("arctan2 prims.atan2", *PAIRS, lambda: Call(at(0.0, -0.0, 1.0, -INF), at(-1.0, -1.0, 0.0, INF)))
calls("greater.Tensor greater_equal.Tensor less.Tensor less_equal.Tensor not_equal.Tensor multiply.Tensor",
      *PAIRS, *WHOLE_PAIRS, *BROADCAST, lambda: Call(whole(2, 3), real(3)))
calls("prims.ge prims.gt prims.le prims.lt prims.eq prims.ne prims.add prims.sub prims.mul prims.maximum "
      "prims.minimum", *PAIRS, *WHOLE_PAIRS, lambda: Call(at(NAN, 1.0, 3.0), at(1.0, 1.0, NAN)))
calls("prims.fmax prims.fmin", *PAIRS, lambda: Call(at(NAN, 1.0, 3.0), at(1.0, 1.0, NAN)))
calls("prims.fmod prims.remainder prims.div", lambda: Call(at(7.5, -7.5, 7.5, -7.5), at(2.0, 2.0, -2.0, -2.0)),
      lambda: Call(at(7, -7, 7, -7), at(2, 2, -2, -2)))
calls("prims.hypot", *PAIRS)
calls("prims.nextafter", *PAIRS, lambda: Call(at(0.0, 1.0, -1.0), at(1.0, INF, -1.0)))
calls("prims.pow", lambda: Call(real(2, 3, low=0.1), real(2, 3)), lambda: Call(at(-2.0, 3.0), at(3.0, -1.0)),
      lambda: Call(at(-2, 3), at(3, 2)))
calls("prims.gcd", *WHOLE_PAIRS, lambda: Call(at(12, 0, -18, 35), at(18, 5, 12, 64)))
calls("special_gammainc special_gammaincc prims.igamma prims.igammac",
      lambda: Call(real(2, 3, low=0.3, high=4), real(2, 3, low=0.1, high=6)),
      lambda: Call(real(5, low=0.3, high=4, dtype=f64), real(5, low=0.1, high=6, dtype=f64)))
calls("prims.zeta", lambda: Call(real(2, 3, low=1.2, high=4), real(2, 3, low=0.3, high=4)))
calls("special_zeta.other_scalar", lambda: Call(real(2, 3, low=1.2, high=4), 1.5), lambda: Call(at(2.0, 3.0), 2))
calls("special_zeta.self_scalar", lambda: Call(2.5, real(2, 3, low=0.3, high=4)), lambda: Call(3, at(1.0, 2.0)))
calls("special_xlogy", lambda: Call(at(0.0, 2.0, -1.0, 0.0), at(0.0, 3.0, 0.5, NAN)),
      lambda: Call(whole(2, 3), whole(2, 3, low=1)))
calls("special_xlogy.other_scalar special_xlog1py.other_scalar xlogy.Scalar_Other",
      lambda: Call(at(0.0, 2.0, -1.0), 3.5), lambda: Call(at(0, 2, -1), 3))
calls("special_xlogy.self_scalar special_xlog1py.self_scalar xlogy.Scalar_Self",
      lambda: Call(2.5, at(0.5, 2.0, 1.0)), lambda: Call(0, at(0.5, 2.0, 0.0)), lambda: Call(3, at(1, 2, 5)))
calls("prims.where", lambda: Call(truth(2, 3), real(2, 3), real(2, 3)), lambda: Call(truth(4), whole(4), whole(4)))

BITS = (lambda: Call(whole(2, 3), whole(2, 3)), lambda: Call(whole(2, 3, dtype=i32), whole(2, 3, dtype=i32)),
        lambda: Call(whole(2, 3, low=0, high=200, dtype=u8), whole(2, 3, low=0, high=200, dtype=u8)))
calls("prims.bitwise_and prims.bitwise_or prims.bitwise_xor", *BITS, lambda: Call(truth(2, 3), truth(2, 3)))
calls("bitwise_and.Scalar bitwise_or.Scalar bitwise_xor.Scalar", lambda: Call(whole(2, 3), 6),
      lambda: Call(whole(2, 3, dtype=i32), -3), lambda: Call(truth(2, 3), True), lambda: Call(truth(4), 3))
calls("bitwise_and.Scalar_Tensor bitwise_or.Scalar_Tensor bitwise_xor.Scalar_Tensor", lambda: Call(6, whole(2, 3)),
      lambda: Call(-3, whole(2, 3, dtype=i32)), lambda: Call(True, truth(2, 3)))
SHIFTS = (lambda: Call(at(5, -5, 1, -9), at(1, 2, 40, 1)),
      lambda: Call(at(5, -5, 7, dtype=i32), at(1, 2, 3, dtype=i32)),
          lambda: Call(at(5, 200, 7, dtype=u8), at(1, 2, 3, dtype=u8)))
calls("__lshift__.Tensor __rshift__.Tensor prims.shift_left prims.shift_right_arithmetic", *SHIFTS)
calls("bitwise_left_shift.Tensor_Scalar bitwise_right_shift.Tensor_Scalar", lambda: Call(at(5, -5, 1, -9), 2),
      lambda: Call(at(5, -5, 7, dtype=i32), 1))
calls("bitwise_left_shift.Scalar_Tensor bitwise_right_shift.Scalar_Tensor", lambda: Call(9, at(1, 2, 0)),
      lambda: Call(-9, at(1, 2, 3, dtype=i32)))

NUMBERS = (lambda: Call(real(2, 3), 1.5), lambda: Call(whole(2, 3), 2), lambda: Call(whole(2, 3), 0.5),
           lambda: Call(real(2, 2, dtype=f16), 1))
calls("greater.Scalar greater_equal.Scalar less.Scalar less_equal.Scalar not_equal.Scalar multiply.Scalar "
      "divide.Scalar true_divide.Scalar subtract.Scalar", *NUMBERS)
calls("subtract.Scalar _add_relu.Scalar", lambda: Call(real(2, 3), 1.5, 2), lambda: Call(whole(2, 3), 2, 3))
calls("_add_relu.Scalar", lambda: Call(real(2, 3), 0.5))
calls("_add_relu.Tensor", lambda: Call(real(2, 3), real(3)), lambda: Call(real(2, 3), real(2, 3), alpha=-2))
for mode in (None, "floor", "trunc"):
    calls("div.Scalar_mode divide.Scalar_mode",
          lambda mode=mode: Call(at(7.5, -7.5, 3.0), 2.0, rounding_mode=mode),
          lambda mode=mode: Call(at(7, -7, 4), -2, rounding_mode=mode))
    calls("divide.Tensor_mode",
          lambda mode=mode: Call(at(7.5, -7.5, 3.0), at(2.0, 2.0, -2.0), rounding_mode=mode),
          lambda mode=mode: Call(at(7, -7, 4), at(2, 2, -3), rounding_mode=mode))
calls("floor_divide.Scalar", lambda: Call(at(1.0, -1.0, 0.7, 2.9, -6.0), 0.1),
      lambda: Call(at(7.5, -7.5, 3.0), 2.0), lambda: Call(at(7, -7, 4), 2),
      lambda: Call(at(7, -7, 4), -2.0))
calls("remainder.Scalar_Tensor", lambda: Call(7.5, at(2.0, -2.0, 4.0)), lambda: Call(-7, at(2, -2, 4)))
calls("float_power.Scalar", lambda: Call(2.5, real(2, 3)), lambda: Call(2, whole(2, 3)))
calls("float_power.Tensor_Scalar", lambda: Call(real(2, 3, low=0.1), 2.5), lambda: Call(whole(2, 3), 2))
calls("clamp_max", lambda: Call(real(2, 3), 0.5), lambda: Call(whole(2, 3), 2), lambda: Call(whole(2, 3), 1.5))
calls("clip", lambda: Call(real(2, 3), -0.5, 1.0), lambda: Call(whole(2, 3), None, 2), lambda: Call(real(2, 3), -0.5))
calls("clip.Tensor", lambda: Call(real(2, 3), real(3), real(3) + 1), lambda: Call(real(2, 3), None, real(3)),
      lambda: Call(real(2, 3), real(3)))
calls("bucketize.Scalar", lambda: Call(2.5, at(1.0, 2.0, 3.0)), lambda: Call(2, at(1, 2, 3), right=True),
      lambda: Call(2, at(1, 2, 3), out_int32=True), lambda: Call(2.5, at(1, 2, 3)))
calls("isin.Scalar_Tensor", lambda: Call(2, at(1, 2, 3)), lambda: Call(2.5, at(1.0, 2.0), invert=True),
      lambda: Call(2.5, at(1, 2)))
calls("isin.Tensor_Scalar", lambda: Call(whole(2, 3, high=0), -2),
      lambda: Call(at(1.0, 2.5), 2.5, invert=True), lambda: Call(at(1, 2), 2.5))

for kind in ("chebyshev_polynomial_t", "chebyshev_polynomial_u", "chebyshev_polynomial_v", "chebyshev_polynomial_w",
             "hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p",
             "shifted_chebyshev_polynomial_t", "shifted_chebyshev_polynomial_u", "shifted_chebyshev_polynomial_v",
             "shifted_chebyshev_polynomial_w"):
    calls(f"special_{kind}.n_scalar", lambda: Call(real(2, 3, low=-0.9, high=0.9), 3),
          lambda: Call(at(0.3, 1.0, 1.7), 4),
          lambda: Call(at(0.3, 0.8, dtype=f64), 2))
    calls(f"special_{kind}.x_scalar", lambda: Call(0.4, at(0.0, 1.0, 2.0, 5.0)), lambda: Call(1.5, at(3.0, 4.0)))


# ------------------------------------------------------------------ lists of tensors
def two(make):
    return [make(2, 3), make(4)]


FLOATS = (lambda: Call(two(real)), lambda: Call([real(2, dtype=f64), real(1, 3, dtype=f64)]))
POSITIVE = (lambda: Call(two(lambda *s: real(*s, low=0.2, high=5))),)
UNIT = (lambda: Call(two(lambda *s: real(*s, low=-0.9, high=0.9))),)
calls(" ".join("_foreach_" + n for n in "abs atan ceil cos cosh erf erfc exp expm1 floor frac max neg round sigmoid "
               "sign sin sinh tan tanh trunc clone".split()), *FLOATS)
calls(" ".join("_foreach_" + n for n in "lgamma log log10 log1p log2 reciprocal rsqrt sqrt".split()), *POSITIVE)
calls("_foreach_acos _foreach_asin", *UNIT)
calls("_foreach_abs _foreach_neg _foreach_sign _foreach_max", lambda: Call(two(whole)))
SCALED = " ".join(f"_foreach_{n}.{{}}" for n in "add sub mul div clamp_max clamp_min maximum minimum".split())
calls(SCALED.format(*["Scalar"] * 8), lambda: Call(two(real), 0.75), lambda: Call(two(whole), 2))
calls(SCALED.format(*["ScalarList"] * 8), lambda: Call(two(real), [0.75, -0.5]), lambda: Call(two(whole), [2, 3]))
calls(SCALED.format(*["List"] * 8), lambda: Call(two(real), two(real)),
      lambda: Call(two(whole), [whole(2, 3, low=1), whole(4, low=1)]))
calls("_foreach_add.List _foreach_sub.List", lambda: Call(two(real), two(real), alpha=3))
calls("_foreach_add.Tensor", lambda: Call(two(real), at(1.5).view(())),
      lambda: Call(two(real), at(1.5).view(()), alpha=2))
calls("_foreach_mul.Tensor _foreach_div.Tensor", lambda: Call(two(real), at(1.5).view(())))
calls("_foreach_addcmul.Scalar _foreach_addcdiv.Scalar", lambda: Call(two(real), two(real), two(real)),
      lambda: Call(two(real), two(real), two(real), 0.5))
calls("_foreach_addcmul.ScalarList _foreach_addcdiv.ScalarList",
      lambda: Call(two(real), two(real), two(real), [0.5, -2.0]))
calls("_foreach_lerp.List", lambda: Call(two(real), two(real), two(torch.rand)))
calls("_foreach_lerp.Scalar", lambda: Call(two(real), two(real), 0.3))
calls("_foreach_lerp.ScalarList", lambda: Call(two(real), two(real), [0.3, 0.8]))
calls("_foreach_norm.Scalar", lambda: Call(two(real)), lambda: Call(two(real), 1), lambda: Call(two(real), INF))
calls("_foreach_pow.Scalar", lambda: Call(two(torch.rand), 2.5), lambda: Call(two(whole), 2))
calls("_foreach_pow.ScalarList", lambda: Call(two(torch.rand), [2.5, -0.5]))
calls("_foreach_pow.List", lambda: Call(two(torch.rand), two(real)))
calls("_foreach_pow.ScalarAndTensor", lambda: Call(2.5, two(real)), lambda: Call(2, two(real)))


# ------------------------------------------------------------------ reductions, norms, statistics
REDUCED = (lambda: Call(real(2, 3), [0, 1]), lambda: Call(real(2, 3, 2), [0, 2]), lambda: Call(real(2, 3), [1]))
calls("prims.sum prims.prod prims.amax prims.amin", *REDUCED, lambda: Call(whole(2, 3), [1]))
calls("prims.var", lambda: Call(real(2, 3), [1], 0), lambda: Call(real(2, 3, 2), [0, 2], 1))
calls("_aminmax", lambda: Call(real(2, 3)), lambda: Call(whole(2, 3)))
calls("_aminmax.dim", lambda: Call(real(2, 3), 1), lambda: Call(real(2, 3), 0, True))
calls("_is_all_true _is_any_true", lambda: Call(truth(2, 3)), lambda: Call(torch.ones(3, dtype=torch.bool)),
      lambda: Call(torch.zeros(3, dtype=torch.bool)))
calls("allclose", lambda: Call(real(3), real(3)), lambda: Call(at(1.0, 2.0), at(1.0, 2.0 + 1e-6)),
      lambda: Call(at(1.0, NAN), at(1.0, NAN), equal_nan=True))
calls("equal", lambda: Call(real(3), real(3)), lambda: Call(at(1, 2), at(1, 2)))
calls("item _local_scalar_dense", lambda: Call(at(3).view(())), lambda: Call(at(2.5)))
calls("norm.Scalar", lambda: Call(real(2, 3)), lambda: Call(real(2, 3), 1), lambda: Call(real(4), INF))
calls("native_norm", lambda: Call(real(2, 3), by=torch.norm), lambda: Call(real(2, 3), 1, by=torch.norm))
calls("norm.ScalarOpt_dim", lambda: Call(real(2, 3), None, [1]), lambda: Call(real(2, 3), 3, [0], True),
      lambda: Call(real(2, 3), -INF, [0, 1]), lambda: Call(real(2, 3), 0, [1]))
calls("norm.ScalarOpt_dim_dtype", lambda: Call(real(2, 3), 2, [1], True, dtype=f64),
      lambda: Call(real(2, 3), None, [0], False, dtype=f64))
calls("native_norm.ScalarOpt_dim_dtype", lambda: Call(real(2, 3), 2, [1], True, None, by=torch.norm),
      lambda: Call(real(2, 3), None, [0], False, f64, by=lambda x, p, *rest: torch.norm(x, 2, *rest[:2], dtype=f64)))
calls("norm.ScalarOpt_dtype", lambda: Call(real(2, 3), None, dtype=f64), lambda: Call(real(2, 3), 1, dtype=f64))
calls("norm_except_dim", lambda: Call(real(3, 2, 2)), lambda: Call(real(3, 2, 2), 2, 2),
      lambda: Call(real(3, 2), 1, -1))
calls("_weight_norm_interface", lambda: Call(real(3, 2, 2), real(3, 1, 1)),
      lambda: Call(real(3, 2, 2), real(1, 1, 2), 2))
calls("frobenius_norm.dim", lambda: Call(real(2, 3, 2), [0, 1]), lambda: Call(real(2, 3), [1], True))
calls("nuclear_norm", lambda: Call(real(3, 2)), lambda: Call(real(2, 3), True))
calls("nuclear_norm.dim", lambda: Call(real(3, 2), [0, 1]), lambda: Call(real(2, 3, 3), [1, 2], True))
calls("linalg_norm.ord_str", lambda: Call(real(2, 3), "fro"), lambda: Call(real(3, 2), "nuc"),
      lambda: Call(real(2, 3, 2), "fro", [0, 2], True, dtype=f64))
calls("special_logsumexp", lambda: Call(real(2, 3), [1]), lambda: Call(real(2, 3), [0, 1], True))
calls("_logcumsumexp", lambda: Call(real(2, 3), 1), lambda: Call(real(2, 3) * 30, 0))
calls("special_softmax", lambda: Call(real(2, 3), 1), lambda: Call(real(2, 3), -2, f64))
calls("special_log_softmax", lambda: Call(real(2, 3), 1), lambda: Call(real(2, 3), 0, dtype=f64))
calls("histogramdd.int_bins", lambda: Call(real(6, 2), 3, keep=[0, 1, 2]),
      lambda: Call(real(6, 2), 2, [-2.0, 2.0, -1.0, 2.0], keep=[0, 1, 2]))
calls("gradient.array", lambda: Call(real(4, 3), dim=[0, 1]), lambda: Call(real(4, 5), dim=[1], edge_order=2))
calls("gradient.scalararray", lambda: Call(real(4, 3), spacing=0.5, dim=[0, 1]))
calls("gradient.tensorarrayint", lambda: Call(real(4), spacing=[at(0.0, 1.0, 3.0, 3.5)]),
      lambda: Call(real(2, 4), spacing=[at(0.0, 1.0, 3.0, 3.5)], dim=1))


# ------------------------------------------------------------------ matrices
calls("_addmm_activation", lambda: Call(real(4), real(2, 3), real(3, 4)),
      lambda: Call(real(2, 4), real(2, 3), real(3, 4), beta=0.5, alpha=2.0, use_gelu=True))
calls("_euclidean_dist", lambda: Call(real(3, 2), real(4, 2)), lambda: Call(real(2, 3, 2), real(2, 4, 2)))
calls("_int_mm", lambda: Call(whole(17, 8, low=-90, high=90, dtype=i8), whole(8, 16, low=-90, high=90, dtype=i8)))
calls("_grouped_mm", lambda: Call(real(2, 4, 8, dtype=torch.bfloat16), real(2, 8, 16, dtype=torch.bfloat16)),
      lambda: Call(real(8, 8, dtype=torch.bfloat16), real(2, 8, 16, dtype=torch.bfloat16), at(3, 8, dtype=i32)))
WIDENED = lambda x, y, dtype: x.to(dtype) @ y.to(dtype)
calls("bmm.dtype", lambda: Call(real(2, 2, 3, dtype=f16), real(2, 3, 4, dtype=f16), f32, by=WIDENED))
calls("mm.dtype", lambda: Call(real(2, 3, dtype=f16), real(3, 4, dtype=f16), f32, by=WIDENED))
calls("linalg_matmul", lambda: Call(real(2, 3), real(3, 4)), lambda: Call(real(3), real(2, 3, 4)))
calls("chain_matmul", lambda: Call([real(2, 3), real(3, 4), real(4, 2)]), lambda: Call([real(2, 3), real(3, 2)]))
calls("ger", lambda: Call(real(3), real(4)), lambda: Call(whole(3), whole(4)))
calls("det", lambda: Call(square(3)), lambda: Call(square(2, (2,))))
calls("slogdet", lambda: Call(square(3)), lambda: Call(square(2, (2,))))
calls("inverse", lambda: Call(square(3)), lambda: Call(square(2, (2,), f64)))
calls("matrix_power", lambda: Call(square(3), 3), lambda: Call(square(2, (2,)), 0), lambda: Call(square(3), -2))
calls("linalg_cond.p_str", lambda: Call(square(3), "fro"), lambda: Call(square(3), "nuc"))
calls("linalg_matrix_rank", lambda: Call(square(3), 0.5), lambda: Call(definite(3), 0.5, True))
calls("linalg_pinv", lambda: Call(real(4, 3), 1e-5), lambda: Call(definite(3), 1e-5, True))
calls("linalg_pinv.rcond_tensor", lambda: Call(real(4, 3), at(1e-5).view(())))
calls("_cholesky_solve_helper", lambda: Call(real(3, 2), torch.linalg.cholesky(definite(3)), False),
      lambda: Call(real(3, 2), torch.linalg.cholesky(definite(3)).mT.contiguous(), True))
calls("orgqr", lambda: Call(*torch.geqrf(real(4, 3))), lambda: Call(*torch.geqrf(square(3))))


# ------------------------------------------------------------------ shapes, indexing
calls("_reshape_copy _unsafe_view prims.reshape", lambda: Call(real(2, 6), [3, 4]), lambda: Call(whole(2, 3), [6]))
calls("_reshape_copy", lambda: Call(real(2, 6), [-1, 4]))
calls("_reshape_alias", lambda: Call(real(2, 6), [3, 4], [4, 1]))
calls("_stack", lambda: Call([real(2, 3), real(2, 3)]), lambda: Call([whole(3), whole(3)], -1))
calls("concat concatenate", lambda: Call([real(2, 3), real(1, 3)]), lambda: Call([real(2, 3), whole(2, 1)], -1))
calls("prims.cat", lambda: Call([real(2, 3), real(1, 3)], 0))
calls("row_stack", lambda: Call([real(3), real(3)]), lambda: Call([real(2, 3), real(1, 3)]))
calls("meshgrid", lambda: Call([real(2), real(3)]), lambda: Call([whole(2), whole(3), whole(2)]))
calls("moveaxis.int", lambda: Call(real(2, 3, 4), 0, -1), lambda: Call(real(2, 3, 4), -1, 1))
calls("moveaxis.intlist", lambda: Call(real(2, 3, 4), [0, 1], [-1, 0]))
calls("swapaxes swapdims", lambda: Call(real(2, 3, 4), 0, -1))
calls("narrow.Tensor", lambda: Call(real(4, 3), 0, at(1).view(()), 2), lambda: Call(real(2, 5), -1, at(2).view(()), 3))
calls("native_channel_shuffle", lambda: Call(real(2, 6, 3, 2), 3))
calls("pad_sequence", lambda: Call([real(3, 2), real(1, 2)]), lambda: Call([real(3), real(2)], True, -1.0, "left"))
calls("select_copy.int", lambda: Call(real(2, 3), 1, -1), lambda: Call(whole(3, 2), 0, 1))
calls("slice_copy.Tensor", lambda: Call(real(5, 2), 0, 1, -1), lambda: Call(real(2, 7), 1, None, None, 3))
calls("split.sizes", lambda: Call(real(6, 2), [1, 2, 3]), lambda: Call(real(2, 5), [2, 3], -1))
calls("unsafe_split_with_sizes", lambda: Call(real(6, 2), [1, 2, 3]), lambda: Call(real(2, 5), [2, 3], -1))
calls("split_copy.Tensor", lambda: Call(real(5, 2), 2), lambda: Call(real(2, 6), 3, -1))
calls("squeeze_copy.dims", lambda: Call(real(1, 3, 1), [0, 2]), lambda: Call(real(1, 3, 1), [-1, 1]))
calls("to.other", lambda: Call(real(2, 3), whole(2)), lambda: Call(whole(2, 3), real(1), False, True))
calls("to.prim_dtype", lambda: Call(real(2, 3) * 3, i64), lambda: Call(whole(2, 3), f32))
calls("to.prim_Device", lambda: Call(real(2, 3), torch.device("cpu")),
      lambda: Call(real(2, 3), torch.device("cpu"), f64))
calls("view.dtype view_copy.dtype", lambda: Call(real(2, 4), i32), lambda: Call(whole(2, 3, dtype=i32), f32),
      lambda: Call(real(2, 3), f32))
calls("requires_grad_", lambda: Call(real(2, 3)))
calls("where", lambda: Call(truth(2, 3)), lambda: Call(whole(4, low=0, high=2)))
calls("_unsafe_index.Tensor", lambda: Call(real(4, 3), [at(0, -1, 2)]), lambda: Call(real(4, 3), [None, at(0, 2)]))
calls("_unsafe_index_put", lambda: Call(real(4, 3), [at(0, 2)], real(2, 3)),
      lambda: Call(real(4, 3), [at(0, 0), at(1, 1)], real(2), True))
calls("_unique", lambda: Call(at(3, 1, 3, 2, 1)), lambda: Call(at(3, 1, 3, 2, 1), True, True))
calls("unique_dim_consecutive", lambda: Call(at([1, 2], [1, 2], [0, 2], [1, 2]), 0, True, True),
      lambda: Call(at([1, 1, 0], [2, 2, 3]), 1, keep=[0]))
calls("prims.broadcast_in_dim", lambda: Call(real(3), [2, 3], [1]), lambda: Call(real(2, 1), [2, 4, 3], [0, 2]))
calls("prims.collapse prims.collapse_view", lambda: Call(real(2, 3, 4), 0, 1), lambda: Call(real(2, 3, 4), 1, 2))
calls("prims.split_dim", lambda: Call(real(6, 2), 0, 2), lambda: Call(real(2, 6), 1, 3))
calls("prims.squeeze", lambda: Call(real(1, 3, 1), [0, 2]), lambda: Call(real(1, 3), [0]))
calls("prims.transpose", lambda: Call(real(2, 3, 4), [2, 0, 1]))
calls("prims.rev", lambda: Call(real(2, 3), [1]), lambda: Call(real(2, 3), [0, 1]))
calls("prims.convert_element_type", lambda: Call(real(2, 3) * 3, i64), lambda: Call(truth(3), f32))
calls("prims.copy_strided", lambda: Call(real(2, 3), [1, 2]))
calls("prims.device_put", lambda: Call(real(2, 3), torch.device("cpu")))


# ------------------------------------------------------------------ new tensors
CPU = dict(device=torch.device("cpu"), requires_grad=False)
for window in ("bartlett", "blackman", "hamming", "hann", "kaiser"):
    calls(f"{window}_window", lambda: Call(7), lambda: Call(1), lambda: Call(6, dtype=f64))
    calls(f"{window}_window.periodic", lambda: Call(7, False), lambda: Call(6, True), lambda: Call(1, True))
calls("hamming_window.periodic_alpha", lambda: Call(6, True, 0.6), lambda: Call(7, False, 0.5, dtype=f64))
calls("hamming_window.periodic_alpha_beta", lambda: Call(6, True, 0.6, 0.3), lambda: Call(7, False, 0.5, 0.4))
calls("kaiser_window.beta", lambda: Call(6, True, 8.0), lambda: Call(7, False, 5.0))
calls("fft_fftfreq fft_rfftfreq", lambda: Call(6), lambda: Call(7, 0.5), lambda: Call(5, dtype=f64))
calls("range", lambda: Call(1, 4), lambda: Call(0.5, 3.5), lambda: Call(1, 4, dtype=i64))
calls("range.step", lambda: Call(1, 9, 2), lambda: Call(3.0, 0.0, -0.75), lambda: Call(5, 0, -2, dtype=i64))
calls("prims.iota", lambda: Call(5, start=2, step=3, dtype=i64, **CPU),
      lambda: Call(4, start=0, step=-1, dtype=i32, **CPU))
calls("prims.full", lambda: Call([2, 3], 2.5, dtype=f32, **CPU), lambda: Call([], 3, dtype=i64, **CPU))
calls("prims.full_like", lambda: Call(real(2, 3), 2.5, dtype=f32, **CPU), lambda: Call(real(2), 3, dtype=i64, **CPU))
calls("prims.scalar_tensor", lambda: Call(2.5, dtype=f64, device=torch.device("cpu")),
      lambda: Call(3, dtype=i64, device=torch.device("cpu")))


def shape_only(y):
    return torch.zeros_like(y)


calls("new_empty", lambda: Call(real(3), [2, 3], judge=shape_only),
      lambda: Call(real(3), [2], dtype=i64, judge=shape_only))
calls("new_empty_strided", lambda: Call(real(3), [2, 3], [1, 2], judge=shape_only))
calls("empty_strided", lambda: Call([2, 3], [1, 2], dtype=f32, judge=shape_only))


# ------------------------------------------------------------------ random: how the numbers are distributed
N = 4000


def near(mean, spread, low=-INF, high=INF):
    """Says whether N numbers have this mean, within six standard errors, and lie within bounds."""
    def judge(y):
        y = y.to(f64)
        close = (y.mean() - mean).abs() < 6 * spread / N ** 0.5
        return close & (y.amin() >= low) & (y.amax() <= high)
    return judge


def median(middle, quarter):
    """The same by quartiles, for distributions that have no mean."""
    def judge(y):
        below, within = (y < middle).to(f64).mean(), ((y - middle).abs() < quarter).to(f64).mean()
        return ((below - 0.5).abs() < 0.05) & ((within - 0.5).abs() < 0.05)
    return judge


def some(dtype=f32):
    return torch.zeros(N, dtype=dtype)


INTEGERS = near(4.5, 2.9, 0, 9)
calls("randn", lambda: Call([N], dtype=f32, judge=near(0, 1)), lambda: Call([40, N // 40], dtype=f64, judge=near(0, 1)))
calls("rand_like", lambda: Call(some(), judge=near(0.5, 0.3, 0, 1)))
calls("randn_like", lambda: Call(some(), judge=near(0, 1)), lambda: Call(some(), dtype=f64, judge=near(0, 1)))
calls("randint", lambda: Call(10, [N], judge=INTEGERS), lambda: Call(10, [N], dtype=f32, judge=INTEGERS))
calls("randint.low", lambda: Call(5, 15, [N], judge=near(9.5, 2.9, 5, 14)))
calls("randint_like", lambda: Call(some(), 10, judge=INTEGERS), lambda: Call(some(i64), 10, judge=INTEGERS))
calls("randint_like.low_dtype", lambda: Call(some(i64), 5, 15, judge=near(9.5, 2.9, 5, 14)))
calls("randperm", lambda: Call(40, judge=lambda y: y.sort().values),
      lambda: Call(9, dtype=i32, judge=lambda y: y.sort().values))
calls("uniform", lambda: Call(some(), judge=near(0.5, 0.3, 0, 1)),
      lambda: Call(some(), -1.0, 3.0, judge=near(1, 1.2, -1, 3)))
calls("normal normal_functional", lambda: Call(some(), judge=near(0, 1)),
      lambda: Call(some(), 3.0, 0.5, judge=near(3, 0.5)))
calls("normal.Tensor_float", lambda: Call(some() + 3, 0.5, judge=near(3, 0.5)), lambda: Call(some(), judge=near(0, 1)))
calls("normal.float_Tensor", lambda: Call(3.0, some() + 0.5, judge=near(3, 0.5)))
calls("normal.Tensor_Tensor", lambda: Call(some() + 3, some() + 0.5, judge=near(3, 0.5)))
calls("normal.float_float", lambda: Call(3.0, 0.5, [N], judge=near(3, 0.5)),
      lambda: Call(3.0, 0.5, [N], dtype=f64, judge=near(3, 0.5)))
calls("exponential", lambda: Call(some(), judge=near(1, 1, 0)), lambda: Call(some(), 2.0, judge=near(0.5, 0.5, 0)))
calls("log_normal", lambda: Call(some(), 0.0, 0.5, judge=near(math.exp(0.125), 0.61, 0)))
calls("cauchy", lambda: Call(some(), judge=median(0, 1)), lambda: Call(some(), 2.0, 3.0, judge=median(2, 3)))
calls("geometric", lambda: Call(some(), 0.25, judge=near(4, 3.5, 1)))
calls("bernoulli", lambda: Call(some() + 0.3, judge=near(0.3, 0.46, 0, 1)))
calls("bernoulli.p", lambda: Call(some(), 0.3, judge=near(0.3, 0.46, 0, 1)),
      lambda: Call(some(i64), 0.3, judge=near(0.3, 0.46, 0, 1)))
calls("bernoulli.Tensor", lambda: Call(some(), some() + 0.3, judge=near(0.3, 0.46, 0, 1)))
calls("multinomial", lambda: Call(at(0.1, 0.0, 0.6, 0.3), N, True, judge=near(2.1, 0.83, 0, 3)),
      lambda: Call(at([0.1, 0.0, 0.6, 0.3], [1.0, 0.0, 2.0, 3.0]), 3, judge=lambda y: y.sort(-1).values))
calls("native_dropout", lambda: Call(some() + 1, 0.5, True, keep=[0], judge=near(1, 1, 0, 2)),
      lambda: Call(real(2, 3), 0.5, False))
calls("rrelu_with_noise", lambda: Call(real(2, 3), torch.zeros(2, 3)),
      lambda: Call(real(2, 3), torch.zeros(2, 3), 0.1, 0.2))
calls("rrelu_with_noise_functional", lambda: Call(real(2, 3), torch.zeros(2, 3), keep=[0]),
      lambda: Call(some() - 1, some(), 0.1, 0.3, True, keep=[0], judge=near(-0.2, 0.06, -0.3, -0.1)))


# ------------------------------------------------------------------ layers
def statistics(n):
    return [real(n, low=0.5), real(n), real(n, low=-1, high=1), real(n, low=0.5, high=3)]


calls("_batch_norm_no_update", lambda: Call(real(2, 3, 4), *statistics(3), 0.1, 1e-3, keep=[0]),
      lambda: Call(real(2, 3), None, None, *statistics(3)[2:], 0.1, 1e-5, keep=[0]))
calls("_batch_norm_with_update_functional",
      lambda: Call(real(2, 3, 4), *statistics(3), 0.1, 1e-3, keep=[0, 1, 2, 4, 5]))
calls("_native_batch_norm_legit_functional", lambda: Call(real(2, 3, 4), *statistics(3), True, 0.1, 1e-3),
      lambda: Call(real(2, 3, 4), *statistics(3), False, 0.1, 1e-3, keep=[0, 3, 4]))
calls("cudnn_batch_norm", lambda: Call(real(2, 3, 4), *statistics(3), False, 0.1, 1e-3, keep=[0], by=lambda x, w, b,
      m, v, *_:
                                       F.batch_norm(x, m, v, w, b, eps=1e-3)))
calls("_fused_rms_norm", lambda: Call(real(2, 4), [4], real(4), 1e-5), lambda: Call(real(2, 3, 4), [3, 4], None, None))
DEPTHWISE = lambda x, w, _, b, *rest: (F.conv2d if x.dim() == 4 else F.conv3d)(x, w, b, *rest, groups=x.shape[1])
calls("_conv_depthwise2d", lambda: Call(real(1, 3, 5, 5), real(3, 1, 3, 3), [3, 3], None, [1, 1], [0, 0], [1, 1],
      by=DEPTHWISE),
      lambda: Call(real(1, 3, 6, 5), real(6, 1, 3, 2), [3, 2], real(6), [2, 1], [1, 1], [1, 2], by=DEPTHWISE))
calls("conv_depthwise3d", lambda: Call(real(1, 2, 3, 4, 4), real(2, 1, 2, 2, 2), [2, 2, 2], real(2), [1, 1, 1], [0,
      1, 0],
                                      [1, 1, 1], by=DEPTHWISE))
SET = (False, False, False)
calls("_convolution", lambda: Call(real(1, 4, 5, 5), real(6, 2, 3, 3), real(6), [2, 1], [1, 1], [1, 1], False, [0,
      0], 2,
                                   *SET, False),
      lambda: Call(real(1, 2, 4), real(2, 3, 3), None, [2], [1], [1], True, [1], 1, *SET, False))
calls("_convolution.deprecated", lambda: Call(real(1, 4, 5, 5), real(6, 2, 3, 3), real(6), [2, 1], [1, 1], [1, 1],
      False,
                                              [0, 0], 2, *SET))
calls("_convolution_mode", lambda: Call(real(1, 2, 6), real(3, 2, 4), real(3), [1], "same", [1], 1),
      lambda: Call(real(1, 4, 5, 5), real(4, 2, 3, 3), None, [2, 2], "valid", [1, 1], 2))
calls("conv_tbc", lambda: Call(real(5, 2, 3), real(3, 3, 4), real(4)),
      lambda: Call(real(5, 2, 3), real(3, 3, 4), real(4), 1))
BAG = (lambda: at(0, 2, 4, 1, 3), lambda: at(0, 2))
for mode in (0, 1, 2):
    calls("embedding_bag _embedding_bag",
          lambda mode=mode: Call(real(5, 3), BAG[0](), BAG[1](), False, mode, keep=[0]))
calls("embedding_bag _embedding_bag",
      lambda: Call(real(5, 3), BAG[0](), at(0, 2, 5), False, 0, False, real(5), True, keep=[0]))
calls("_embedding_bag", lambda: Call(real(5, 3), BAG[0](), BAG[1](), False, 1, False, None, False, 2, keep=[0]))
for heads in (4, 2):
    qkv = lambda heads=heads: [real(1, 4, 3, 8), real(1, heads, 5, 8), real(1, heads, 5, 8)]
    calls("_scaled_dot_product_attention_math",
          lambda qkv=qkv, heads=heads: Call(*qkv(), enable_gqa=heads == 2, keep=[0]))
QKV = lambda: [real(1, 2, 4, 8), real(1, 2, 4, 8), real(1, 2, 4, 8)]
calls("_scaled_dot_product_attention_math", lambda: Call(*QKV(), real(4, 4), scale=0.3),
      lambda: Call(*QKV(), None, 0.0, True))
ATTENTION = dict(keep=[0], by=lambda q, k, v, *_, scale=None: F.scaled_dot_product_attention(q, k, v, scale=scale))
MASKED = dict(keep=[0], by=lambda q, k, v, mask, *_, scale=None: F.scaled_dot_product_attention(q, k, v, mask,
      scale=scale))
CAUSAL = dict(keep=[0], by=lambda q, k, v, *_, scale=None: F.scaled_dot_product_attention(q, k, v, None, 0.0, True,
      scale=scale))
calls("_scaled_dot_product_efficient_attention", lambda: Call(*QKV(), None, False, **ATTENTION),
      lambda: Call(*QKV(), real(1, 2, 4, 4), False, 0.0, False, scale=0.3, **MASKED),
      lambda: Call(*QKV(), None, False, 0.0, True, **CAUSAL))
calls("_scaled_dot_product_flash_attention", lambda: Call(*QKV(), **ATTENTION),
      lambda: Call(*QKV(), 0.0, True, scale=0.3, **CAUSAL))
calls("_scaled_dot_product_flash_attention_for_cpu", lambda: Call(*QKV()), lambda: Call(*QKV(), 0.0, True, scale=0.3),
      lambda: Call(*QKV(), attn_mask=real(4, 4)))
CELL = lambda n: [real(2, 3), real(2, 4), real(4 * n, 3), real(4 * n, 4)]
calls("rnn_relu_cell rnn_tanh_cell", lambda: Call(*CELL(1)), lambda: Call(*CELL(1), real(4), real(4)))
calls("gru_cell", lambda: Call(*CELL(3)), lambda: Call(*CELL(3), real(12), real(12)))
calls("rnn_relu.input", lambda: Call(real(5, 2, 3), real(1, 2, 4), [real(4, 3), real(4, 4), real(4), real(4)], True,
      1, 0.0,
                                     False, False, False),
      lambda: Call(real(2, 5, 3), real(2, 2, 4), [real(4, 3), real(4, 4), real(4, 3), real(4, 4)], False, 1, 0.0, False,
                   True, True))


# ------------------------------------------------------------------ losses
LABELS = lambda: at(0, 2, 1, 2)
calls("nll_loss nll_loss_forward", lambda: Call(real(4, 3), LABELS(), None, 1, -100),
      lambda: Call(real(4, 3), LABELS(), real(3, low=0.2), 0, 1),
      lambda: Call(real(4, 3), LABELS(), real(3, low=0.2), 2, 2),
      lambda: Call(real(3), at(2).view(()), real(3, low=0.2), 1, -100))
PIXELS = lambda: whole(2, 2, 2, low=0, high=3)
calls("nll_loss2d nll_loss2d_forward", lambda: Call(real(2, 3, 2, 2), PIXELS(), None, 1, -100),
      lambda: Call(real(2, 3, 2, 2), PIXELS(), real(3, low=0.2), 0, 1),
      lambda: Call(real(2, 3, 2, 2), PIXELS(), real(3, low=0.2), 1, 1))
calls("multilabel_margin_loss_forward", lambda: Call(real(2, 4), at([3, 0, -1, 1], [1, 2, 3, -1]), 1),
      lambda: Call(at(0.1, NAN, 0.7), at(2, 0, -1), 1),
      lambda: Call(real(2, 4), at([3, 0, -1, 1], [-1, 2, 3, -1]), 0), lambda: Call(real(4), at(3, 0, -1, 1), 2))


# ------------------------------------------------------------------ padding, resizing
calls("reflection_pad1d replication_pad1d", lambda: Call(real(2, 3, 5), [2, 1]), lambda: Call(real(3, 5), [0, 3]))
calls("reflection_pad2d replication_pad2d", lambda: Call(real(1, 2, 4, 5), [2, 1, 0, 3]),
      lambda: Call(real(2, 4, 5), [1, 1, 1, 1]))
calls("reflection_pad3d replication_pad3d", lambda: Call(real(1, 2, 3, 4, 5), [2, 1, 0, 3, 1, 1]))
calls("_pad_circular", lambda: Call(real(1, 2, 4), [2, 1]), lambda: Call(real(1, 2, 4, 5), [2, 1, 0, 3]))
for mode in (0, 1, 2, 3):
    calls("_pad_enum", lambda mode=mode: Call(real(1, 2, 4, 5), [2, 1, 0, 3], mode, 1.5 if mode == 3 else None))
calls("upsample_nearest1d _upsample_nearest_exact1d", lambda: Call(real(1, 2, 5), [8]),
      lambda: Call(real(1, 2, 5), [12], 2.5),
      lambda: Call(real(1, 2, 5), [3]))
calls("upsample_nearest2d _upsample_nearest_exact2d", lambda: Call(real(1, 2, 3, 5), [7, 4]),
      lambda: Call(real(1, 2, 3, 5), [7, 12], 2.4, 2.5))
calls("upsample_nearest3d _upsample_nearest_exact3d", lambda: Call(real(1, 1, 2, 3, 4), [3, 7, 5]),
      lambda: Call(real(1, 1, 2, 3, 4), [4, 7, 10], 2.0, 2.4, 2.5))
for corners in (False, True):
    calls("upsample_linear1d", lambda corners=corners: Call(real(1, 2, 5), [8], corners),
          lambda corners=corners: Call(real(1, 2, 5), [12], corners, 2.5))
    calls("upsample_bilinear2d upsample_bicubic2d", lambda corners=corners: Call(real(1, 2, 3, 5), [7, 4], corners),
          lambda corners=corners: Call(real(1, 2, 3, 5), [7, 12], corners, 2.4, 2.5))
    calls("upsample_trilinear3d", lambda corners=corners: Call(real(1, 1, 2, 3, 4), [3, 7, 5], corners),
          lambda corners=corners: Call(real(1, 1, 2, 3, 4), [4, 7, 10], corners, 2.0, 2.4, 2.5))
    calls("_upsample_bicubic2d_aa", lambda corners=corners: Call(real(1, 2, 6, 8), [4, 5], corners),
          lambda corners=corners: Call(real(1, 2, 3, 5), [7, 9], corners))


# ------------------------------------------------------------------ quantization
QUANTIZED = lambda *s: real(*s, low=-9, high=9)
calls("fake_quantize_per_tensor_affine fake_quantize_per_tensor_affine_cachemask",
      lambda: Call(QUANTIZED(2, 3), 0.05, 3, -128, 127), lambda: Call(QUANTIZED(7), 0.1, 0, 0, 15))
calls("fake_quantize_per_tensor_affine.tensor_qparams",
      lambda: Call(QUANTIZED(2, 3), at(0.05), at(3, dtype=i32), -128, 127))
calls("_fake_quantize_per_tensor_affine_cachemask_tensor_qparams",
      lambda: Call(QUANTIZED(2, 3), at(0.05), at(3, dtype=i32), at(1), -128, 127),
      lambda: Call(QUANTIZED(2, 3), at(0.05), at(3, dtype=i32), at(0), -128, 127))
calls("fake_quantize_per_channel_affine fake_quantize_per_channel_affine_cachemask",
      lambda: Call(QUANTIZED(2, 3), at(0.05, 0.1, 0.02), at(3, 0, -5, dtype=i32), 1, -128, 127),
      lambda: Call(QUANTIZED(3, 2, 2), at(0.05, 0.1, 0.02), at(3, 0, 5, dtype=i32), 0, 0, 255))
calls("quantized_decomposed.quantize_per_tensor.tensor",
      lambda: Call(QUANTIZED(2, 3), at(0.05).view(()), at(3).view(()), -128, 127, i8),
      lambda: Call(QUANTIZED(2, 3), at(0.05).view(()), at(3).view(()), 0, 255, u8))
calls("quantized_decomposed.dequantize_per_tensor.tensor",
      lambda: Call(whole(2, 3, low=-99, high=99, dtype=i8), at(0.05).view(()), at(3).view(()), -128, 127, i8))
calls("quantized_decomposed.quantize_per_channel",
      lambda: Call(QUANTIZED(2, 3), at(0.05, 0.1, 0.02), at(3, 0, -5), 1, -128, 127, i8))


# ------------------------------------------------------------------ torchvision: written out, for want of its kernels
def sample(image, y, x):
    """Bilinear samples of one image [c, h, w] at y and x, 0 outside."""
    h, w = image.shape[-2:]
    out = 0
    for dy in (0, 1):
        for dx in (0, 1):
            r, c = y.floor() + dy, x.floor() + dx
            weight = (1 - (y - r).abs()) * (1 - (x - c).abs())
            inside = (r >= 0) & (r < h) & (c >= 0) & (c < w)
            out = out + image[:, r.clamp(0, h - 1).long(), c.clamp(0, w - 1).long()] * weight * inside
    return out


def roi_pool(x, boxes, scale, height, width):
    """The largest value in each cell of each box, whose corners are whole pixels."""
    out = torch.zeros(len(boxes), x.shape[1], height, width)
    for i, (image, *corners) in enumerate(boxes.tolist()):
        left, top, right, bottom = (math.floor(c * scale + 0.5) for c in corners)
        high, wide = max(bottom - top + 1, 1) / height, max(right - left + 1, 1) / width
        for r in range(height):
            for c in range(width):
                rows = slice(top + math.floor(r * high), top + math.ceil((r + 1) * high))
                columns = slice(left + math.floor(c * wide), left + math.ceil((c + 1) * wide))
                out[i, :, r, c] = x[int(image), :, rows, columns].amax((-2, -1))
    return out


def ps_roi_align(x, boxes, scale, height, width, samples):
    """As roi_align, each cell of the result being taken from channels of its own."""
    every = roi_align(x, boxes, scale, height, width, samples, True)
    every = every.view(len(boxes), -1, height, width, height, width)
    return torch.einsum("nchwhw->nchw", every)


def deform_conv2d(x, weight, offset, mask, bias, *numbers):
    """A convolution whose samples are moved, and weighted."""
    stride, pad, dilation, (groups, offset_groups, use_mask) = numbers[0:2], numbers[2:4], numbers[4:6], numbers[6:]
    (rows, columns), (height, width) = weight.shape[-2:], offset.shape[-2:]
    x = F.pad(x, (pad[1], pad[1], pad[0], pad[0]))
    moved = torch.zeros(*x.shape[:2], rows, columns, height, width)
    offset = offset.view(len(x), offset_groups, rows, columns, 2, height, width)
    mask = mask.view(len(x), offset_groups, rows, columns, height, width) if use_mask else None
    size = x.shape[1] // offset_groups
    grid = torch.meshgrid(torch.arange(height) * stride[0], torch.arange(width) * stride[1], indexing="ij")
    for n, g, r, c in itertools.product(range(len(x)), range(offset_groups), range(rows), range(columns)):
        y_at, x_at = (grid[i] + k * dilation[i] + offset[n, g, r, c, i] for i, k in enumerate((r, c)))
        got = sample(x[n, g * size:(g + 1) * size], y_at, x_at)
        moved[n, g * size:(g + 1) * size, r, c] = got * mask[n, g, r, c] if use_mask else got
    moved = moved.view(len(x), groups, -1, height * width)
    out = weight.view(groups, weight.shape[0] // groups, -1) @ moved
    return out.view(len(x), -1, height, width) + bias.view(-1, 1, 1)


BOXES = lambda: at([0.0, 0.5, 1.0, 6.0, 5.5], [0.0, 2.0, 0.0, 7.0, 7.5], [0.0, 1.0, 3.0, 3.0, 4.0])
roi_align = torchvision.ops.roi_align.__globals__["_roi_align"]
calls("torchvision.roi_align", lambda: Call(real(1, 2, 8, 8), BOXES(), 1.0, 2, 2, 2, False, by=roi_align),
      lambda: Call(real(1, 2, 8, 8), BOXES(), 0.5, 3, 2, 2, True, by=roi_align),
      lambda: Call(real(1, 2, 8, 8), BOXES(), 1.0, 2, 2, -1, True, by=roi_align))
calls("torchvision.roi_pool", lambda: Call(real(1, 2, 9, 9), BOXES(), 1.0, 2, 3, keep=[0], by=roi_pool),
      lambda: Call(real(1, 2, 9, 9), BOXES(), 0.5, 1, 2, keep=[0], by=roi_pool))
calls("torchvision.ps_roi_align", lambda: Call(real(1, 8, 8, 8), BOXES(), 1.0, 2, 2, 2, keep=[0], by=ps_roi_align))
calls("torchvision.deform_conv2d",
      lambda: Call(real(1, 2, 5, 5), real(3, 2, 3, 3), real(1, 18, 3, 3), real(1, 9, 3, 3), real(3), 1, 1, 0, 0, 1,
      1, 1, 1,
                   True, by=deform_conv2d),
      lambda: Call(real(1, 2, 5, 5), real(4, 1, 3, 3), real(1, 36, 3, 3), torch.zeros(1, 0), real(4), 2, 2, 1, 1, 1,
      1, 2, 2,
                   False, by=deform_conv2d))


# ------------------------------------------------------------------ from a call to a case
def overload_of(name):
    """The overload, and the form in which it is called: what is only made of an in-place form is called in place."""
    namespace, op, *rest = name.split(".")
    packets = getattr(torch.ops, namespace)
    find = lambda n: getattr(getattr(packets, n, None), rest[0] if rest else "default", None)
    return find(op) or find(op + "_")


def in_place(overload):
    return any(a.alias_info and a.alias_info.is_write for a in overload._schema.arguments)


def results_of(call, value):
    """The chosen tensors and numbers of a result, as they leave the program."""
    leaves = [v for v in pytree.tree_leaves(value) if v is not None]
    if call.keep is not None:
        leaves = [leaves[i] for i in call.keep]
    return tuple(call.judge(v) for v in leaves) if call.judge else tuple(leaves)


def make_module(overload, call):
    """(module, inputs): the call with all but its tensors fixed."""
    leaves, spec = pytree.tree_flatten((call.args, call.kwargs))
    slots = [i for i, v in enumerate(leaves) if isinstance(v, torch.Tensor)]

    class Op(nn.Module):
        def forward(self, *inputs):
            values = list(leaves)
            for i, t in zip(slots, inputs):
                values[i] = t.clone() if in_place(overload) else t
            args, kwargs = pytree.tree_unflatten(values, spec)
            if call.by:
                return tuple(pytree.tree_leaves(call.by(*args, **kwargs)))
            return results_of(call, overload(*args, **kwargs))

    return Op(), [leaves[i] for i in slots], (leaves, spec, slots)


def calls_it(program, overload):
    return any(n.target is overload for n in program.graph.nodes)


def export(overload, call):
    """(program, inputs, outputs, how): by torch.export, or with the node put in."""
    module, inputs, parts = make_module(overload, call)
    outputs = module(*[t.clone() for t in inputs])
    if call.by:
        return graft(overload, call, inputs, outputs, parts), inputs, outputs, "grafted"
    reason = None
    try:
        program = torch.export.export(module, tuple(inputs), strict=False)
        if calls_it(program, overload):
            return program, inputs, outputs, "exported"
        program = program.run_decompositions()
        if calls_it(program, overload):
            return program, inputs, outputs, "decomposed"
    except Exception as e:  # what cannot be traced may still stand in a graph
        reason = e
    if call.judge:
        raise reason or ValueError("torch.export rewrites the call")
    return graft(overload, call, inputs, outputs, parts), inputs, outputs, "grafted"


def graft(overload, call, inputs, outputs, parts):
    """A program of the inputs whose one node is the call."""
    class Base(nn.Module):
        def forward(self, *inputs):
            return tuple(torch.ones(1) * (i + 2) for i in range(len(outputs)))

    program = torch.export.export(Base(), tuple(inputs), strict=False)
    graph, fake = program.graph, FakeTensorMode(allow_non_fake_inputs=True)
    end = graph.output_node()
    end.args = ((),)
    for n in reversed(list(graph.nodes)):
        if n.op == "call_function":
            graph.erase_node(n)
    leaves, spec, slots = parts
    values = list(leaves)
    for i, n in zip(slots, (n for n in graph.nodes if n.op == "placeholder")):
        values[i] = n
    args, kwargs = pytree.tree_unflatten(values, spec)
    result = result_of(overload, call, [v.clone() if isinstance(v, torch.Tensor) else v for v in leaves], spec, fake)
    with graph.inserting_before(end):
        node = graph.call_function(overload, args, kwargs)
        leaf_nodes = unpack(graph, node, result)
    if call.keep is not None:
        leaf_nodes = [leaf_nodes[i] for i in call.keep]
    end.args = (tuple(leaf_nodes),)
    end.meta["val"] = tuple(n.meta["val"] for n in leaf_nodes)
    for spec, n in zip(program.graph_signature.output_specs, leaf_nodes):
        spec.arg = type(spec.arg)(name=n.name)
    program.graph_module.recompile()
    return program


def result_of(overload, call, leaves, spec, fake):
    """What the operator gives, without its numbers."""
    to_fake = lambda v: fake.from_tensor(v) if isinstance(v, torch.Tensor) else v
    args, kwargs = pytree.tree_unflatten(leaves, spec)
    if not call.by:
        return pytree.tree_map(to_fake, overload(*args, **kwargs))
    try:
        with fake:
            fakes = pytree.tree_map(to_fake, (args, kwargs))
            return overload(*fakes[0], **fakes[1])
    except (NotImplementedError, UnsupportedOperatorException):  # PyTorch knows not even its shapes
        result, n = pytree.tree_map(to_fake, call.by(*args, **kwargs)), len(overload._schema.returns)
        return result if n == 1 else (result, *[to_fake(torch.zeros(result.shape, dtype=i32))] * (n - 1))


def unpack(graph, node, result):
    """Sets what a node gives; returns the nodes of its leaves."""
    node.meta["val"] = result
    if not isinstance(result, (tuple, list)):
        return [node]
    out = []
    for i, part in enumerate(result):
        if part is not None:
            out += unpack(graph, graph.call_function(operator.getitem, (node, i)), part)
    return out


def plain(v):
    """Complex numbers as pairs of real ones, which they are in the converted model."""
    return torch.view_as_real(v.resolve_conj()) if isinstance(v, torch.Tensor) and v.is_complex() else v


def build(name, index, folder):
    torch.manual_seed(zlib.crc32(f"{name} {index}".encode()))
    call, overload = CALLS[name][index](), overload_of(name)
    program, inputs, outputs, how = export(overload, call)
    dtypes = [str(t.dtype).removeprefix("torch.") for t in inputs]
    common.write_case(folder, program, list(map(plain, inputs)), list(map(plain, outputs)), name=folder.name,
      op=name, dtype=(dtypes or [""])[0], how=how,
                      input_names=list(program.graph_signature.user_inputs))
    return how


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--out", required=True, type=pathlib.Path)
    p.add_argument("--only", default="*")
    a = p.parse_args()
    failed = 0
    for name in sorted(fnmatch.filter(CALLS, a.only)):
        for i in range(len(CALLS[name])):
            folder = a.out / f"{name}.{i}"
            shutil.rmtree(folder, ignore_errors=True)
            try:
                how = build(name, i, folder)
                print(f"{folder.name}: {how}", flush=True)
            except Exception as e:
                shutil.rmtree(folder, ignore_errors=True)
                failed += 1
                print(f"{folder.name}: {type(e).__name__}: {str(e).strip().splitlines()[:1]}", flush=True)
    print(f"{failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
