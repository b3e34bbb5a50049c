-- rules/prims/elementwise.lua: prims that are ops of aten by another name.

local prims = require("t2o.rules").namespace("prims")
local types = require("t2o.types")

local ANY = { complex = "both" } -- the rule of aten's op says which numbers it takes

for prim, op in pairs {
  abs = "abs", acos = "acos", acosh = "acosh", asin = "asin", asinh = "asinh", atan = "atan", atanh = "atanh",
  bessel_i0 = "i0", bessel_i0e = "special_i0e", bessel_i1 = "special_i1", bessel_i1e = "special_i1e",
  bessel_j0 = "special_bessel_j0", bessel_j1 = "special_bessel_j1", bitwise_not = "bitwise_not", ceil = "ceil",
  conj_physical = "conj_physical", cos = "cos", cosh = "cosh", digamma = "digamma", erf = "erf", erf_inv = "erfinv",
  erfc = "erfc", erfcx = "special_erfcx", exp = "exp", exp2 = "exp2", expm1 = "expm1", floor = "floor",
  isfinite = "isfinite", lgamma = "lgamma", log = "log", log10 = "log10", log1p = "log1p", log2 = "log2",
  ndtri = "special_ndtri", neg = "neg", real = "real", reciprocal = "reciprocal", round = "round", rsqrt = "rsqrt",
  sign = "sign", sin = "sin", sinh = "sinh", spherical_bessel_j0 = "special_spherical_bessel_j0",
  sqrt = "sqrt", tan = "tan", tanh = "tanh", trunc = "trunc",
} do
  prims:rule(prim .. "(Tensor self) -> Tensor", ANY, function(g, a) return g.aten[op](a.self) end)
end

for prim, op in pairs {
  add = "add.Tensor", atan2 = "atan2", bitwise_and = "bitwise_and.Tensor", bitwise_or = "bitwise_or.Tensor",
  bitwise_xor = "bitwise_xor.Tensor", eq = "eq.Tensor", fmax = "fmax", fmin = "fmin", fmod = "fmod.Tensor",
  gcd = "gcd", ge = "ge.Tensor", gt = "gt.Tensor", hypot = "hypot", igamma = "igamma", igammac = "igammac",
  le = "le.Tensor", lt = "lt.Tensor", maximum = "maximum", minimum = "minimum", mul = "mul.Tensor",
  ne = "ne.Tensor", nextafter = "nextafter", pow = "pow.Tensor_Tensor", remainder = "remainder.Tensor",
  shift_left = "bitwise_left_shift.Tensor", shift_right_arithmetic = "bitwise_right_shift.Tensor",
  sub = "sub.Tensor", zeta = "special_zeta",
} do
  prims:rule(prim .. "(Tensor self, Tensor other) -> Tensor", ANY, function(g, a)
    return g.aten[op](a.self, a.other)
  end)
end

-- Of integers the quotient is an integer, cut off.
prims:rule("div(Tensor self, Tensor other) -> Tensor", function(g, a)
  local whole = types.is_int(types.result_type(a.self, a.other))
  return g.aten["div.Tensor_mode"](a.self, a.other, { rounding_mode = whole and "trunc" or nil })
end)

prims:rule("cbrt(Tensor self) -> Tensor", function(g, a)
  local x = a.self
  return g.Mul(g.Sign(x), g.Pow(g.Abs(x), g.scalar(1 / 3, x)))
end)

prims:rule("where(Tensor pred, Tensor a, Tensor b) -> Tensor", function(g, a)
  return g.aten["where.self"](a.pred, a.a, a.b)
end)

prims:rule("frexp(Tensor self) -> (Tensor mantissa, Tensor exponent)", function(g, a)
  return g.aten["frexp.Tensor"](a.self)
end)

prims:rule("conj(Tensor a) -> Tensor", ANY, function(g, a) return g.aten._conj(a.a) end)

prims:rule("convert_element_type(Tensor a, ScalarType dtype) -> Tensor", ANY, function(g, a)
  return g.aten["to.dtype"](a.a, a.dtype)
end)

for _, signature in ipairs {
  "device_put(Tensor a, Device device, bool non_blocking=False) -> Tensor",
  "clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor", "view_of(Tensor a) -> Tensor",
  "copy_strided(Tensor a, SymInt[] stride) -> Tensor",
} do
  prims:rule(signature, ANY, function(g, a) return g.aten.positive(a.a or a.self) end)
end

-- Names that are put together above, for the index of rules (tools/name_hints.py):
-- "add" "bessel_i0" "bessel_i0e" "bessel_i1" "bessel_i1e" "bessel_j0" "bessel_j1" "bitwise_and"
-- "bitwise_or" "bitwise_xor" "eq" "erf_inv" "erfcx" "fmod" "ge" "gt" "le" "lt" "mul" "ndtri" "ne"
-- "pow" "remainder" "shift_left" "shift_right_arithmetic" "spherical_bessel_j0" "sub" "zeta"
