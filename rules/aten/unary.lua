-- rules/aten/unary.lua: functions of one number: rounding, exponentials, trigonometry, classification.

local aten = require("t2o.rules").namespace("aten")
local types = require("t2o.types")
local util = require("t2o.util")

local function each(names, fn)
  for _, name in ipairs(names) do
    aten:rule(name .. "(Tensor self) -> Tensor", function(g, a) return fn(g, a.self) end)
  end
end

-- Functions that make floats of integers.
local function each_float(names, fn)
  each(names, function(g, x)
    return fn(g, types.is_float(x.dtype) and x or x:to("float32"))
  end)
end

local function negative(g, x) return g.Less(x, g.scalar(0, x)) end

-- ---- signs and rounding ----

each({ "abs", "absolute" }, function(g, x) return g.Abs(x) end)

each({ "neg", "negative" }, function(g, x)
  return types.is_unsigned(x.dtype) and g.Sub(g.scalar(0, x), x) or g.Neg(x)
end)

-- The sign of what is not a number is 0.
each({ "sign", "sgn" }, function(g, x)
  if x.dtype == "bool" then return x end
  return types.is_float(x.dtype) and g.Where(g.IsNaN(x), g.scalar(0, x), g.Sign(x)) or g.Sign(x)
end)

local function truncate(g, x) return g.Where(negative(g, x), g.Ceil(x), g.Floor(x)) end

-- Integers are whole already.
local function each_rounding(names, fn)
  each(names, function(g, x) return types.is_float(x.dtype) and fn(g, x) or x end)
end

each_rounding({ "floor" }, function(g, x) return g.Floor(x) end)
each_rounding({ "ceil" }, function(g, x) return g.Ceil(x) end)
each_rounding({ "round" }, function(g, x) return g.Round(x) end)
each_rounding({ "trunc", "fix" }, truncate)
each_float({ "frac" }, function(g, x) return g.Sub(x, truncate(g, x)) end)

local function round_decimals(g, x, decimals)
  if not types.is_float(x.dtype) then return x end
  if decimals == 0 then return g.Round(x) end
  local scale = g.scalar(10.0 ^ math.abs(decimals), x)
  if decimals < 0 then return g.Mul(g.Round(g.Div(x, scale)), scale) end
  return g.Div(g.Round(g.Mul(x, scale)), scale)
end

aten:rule("round.decimals(Tensor self, *, int decimals) -> Tensor", function(g, a)
  return round_decimals(g, a.self, a.decimals)
end)
aten:rule("special_round(Tensor self, *, int decimals=0) -> Tensor", function(g, a)
  return round_decimals(g, a.self, a.decimals)
end)

-- ---- one ONNX operator each ----

for op, names in pairs {
  Exp = { "exp" }, Log = { "log" }, Sqrt = { "sqrt" }, Reciprocal = { "reciprocal" }, Sin = { "sin" },
  Cos = { "cos" }, Sigmoid = { "special_expit" },
} do
  each_float(names, function(g, x) return g[op](x) end)
end

each_float({ "rsqrt" }, function(g, x) return g.Reciprocal(g.Sqrt(x)) end)

-- Functions that runtimes have for float32 alone are put together of others for float64.
local function half_width(g, x) return g.Mul(x, g.scalar(0.5, x)) end

-- log(1 + x): near 0 the rounding of 1 + x is made good by the ratio of x to what was really added.
local function log1p(g, x)
  local one = g.scalar(1, x)
  local u = g.Add(one, x)
  local added = g.Sub(u, one)
  local zero = g.Equal(added, g.scalar(0, x))
  local near = g.Mul(g.Log(u), g.Div(x, g.Where(zero, one, added)))
  local small = g.Less(g.Abs(x), g.scalar(0.5, x))
  return g.Where(zero, x, g.Where(small, near, g.Log(u)))
end

-- exp(x) - 1: near 0 by the tangent, which loses nothing there.
local function expm1(g, x)
  local one = g.scalar(1, x)
  local t = g.Tanh(half_width(g, x))
  local near = g.Div(g.Add(t, t), g.Sub(one, t))
  return g.Where(g.Less(g.Abs(x), one), near, g.Sub(g.Exp(x), one))
end

each_float({ "log1p", "special_log1p" }, log1p)
each_float({ "expm1", "special_expm1" }, expm1)
each_float({ "exp2", "special_exp2" }, function(g, x) return g.Pow(g.scalar(2, x), x) end)
each_float({ "log2" }, function(g, x) return g.Div(g.Log(x), g.scalar(math.log(2), x)) end)
each_float({ "log10" }, function(g, x) return g.Div(g.Log(x), g.scalar(math.log(10), x)) end)

local function signed_as(g, y, x) return g.Where(negative(g, x), g.Neg(y), y) end

local DOUBLE = {}

function DOUBLE.Tan(g, x) return g.Div(g.Sin(x), g.Cos(x)) end

function DOUBLE.Sinh(g, x)
  local e = expm1(g, g.Abs(x))
  local y = half_width(g, g.Add(e, g.Div(e, g.Add(e, g.scalar(1, x)))))
  local large = g.Exp(g.Sub(g.Abs(x), g.scalar(math.log(2), x)))
  return signed_as(g, g.Where(g.Greater(g.Abs(x), g.scalar(40, x)), large, y), x)
end

function DOUBLE.Cosh(g, x)
  local h = g.Exp(half_width(g, g.Abs(x)))
  return g.Add(g.Mul(half_width(g, h), h), g.Div(g.scalar(0.5, x), g.Mul(h, h)))
end

function DOUBLE.Asinh(g, x)
  local y, one = g.Abs(x), g.scalar(1, x)
  local square = g.Mul(y, y)
  local more = g.Add(y, g.Div(square, g.Add(one, g.Sqrt(g.Add(square, one)))))
  local far = g.Add(g.Log(y), g.scalar(math.log(2), x))
  return signed_as(g, g.Where(g.Greater(y, g.scalar(1e8, x)), far, log1p(g, more)), x)
end

function DOUBLE.Acosh(g, x)
  local one = g.scalar(1, x)
  local t = g.Sub(x, one)
  local root = g.Sqrt(g.Add(g.Add(t, t), g.Mul(t, t)))
  local far = g.Add(g.Log(x), g.scalar(math.log(2), x))
  local y = g.Where(g.Greater(x, g.scalar(1e8, x)), far, log1p(g, g.Add(t, root)))
  return g.Where(g.Less(x, one), g.scalar(0 / 0, x), y)
end

function DOUBLE.Atanh(g, x)
  return half_width(g, g.Sub(log1p(g, x), log1p(g, g.Neg(x))))
end

-- The arc tangent by halving the angle three times and a series; of large x by that of 1/x.
local function atan_double(g, x)
  local one = g.scalar(1, x)
  local y = g.Abs(x)
  local large = g.Greater(y, one)
  local t = g.Where(large, g.Reciprocal(y), y)
  for _ = 1, 3 do t = g.Div(t, g.Add(one, g.Sqrt(g.Add(one, g.Mul(t, t))))) end
  local square, sum = g.Neg(g.Mul(t, t)), g.scalar(1 / 23, x)
  for i = 21, 1, -2 do sum = g.Add(g.Mul(sum, square), g.scalar(1 / i, x)) end
  local angle = g.Mul(g.Mul(t, sum), g.scalar(8, x))
  return signed_as(g, g.Where(large, g.Sub(g.scalar(math.pi / 2, x), angle), angle), x)
end

DOUBLE.Atan = atan_double

function DOUBLE.Asin(g, x)
  local one = g.scalar(1, x)
  local root = g.Sqrt(g.Mul(g.Sub(one, x), g.Add(one, x)))
  return g.Mul(g.scalar(2, x), atan_double(g, g.Div(x, g.Add(one, root))))
end

function DOUBLE.Acos(g, x)
  local one = g.scalar(1, x)
  local ratio = g.Div(g.Sqrt(g.Sub(one, x)), g.Sqrt(g.Add(one, x)))
  return g.Mul(g.scalar(2, x), atan_double(g, ratio))
end

local function by_dtype(op)
  return function(g, x) return x.dtype == "float64" and DOUBLE[op](g, x) or g[op](x) end
end

for op, names in pairs {
  Tan = { "tan" }, Sinh = { "sinh" }, Cosh = { "cosh" }, Asin = { "asin", "arcsin" }, Acos = { "acos", "arccos" },
  Atan = { "atan", "arctan" }, Asinh = { "asinh", "arcsinh" }, Acosh = { "acosh", "arccosh" },
  Atanh = { "atanh", "arctanh" },
} do
  each_float(names, by_dtype(op))
end

-- ---- two arguments ----

-- Whether the sign bit is set: also that of a negative 0, which division tells.
local function sign_bit(g, x)
  if types.is_unsigned(x.dtype) or x.dtype == "bool" then return g.expand(g.scalar(false, "bool"), x.shape) end
  if not types.is_float(x.dtype) then return negative(g, x) end
  return g.Or(negative(g, x), g.Equal(g.Reciprocal(x), g.scalar(-math.huge, x)))
end

each({ "signbit" }, sign_bit)

-- The angle of (x, y): that of the smaller to the larger, then moved into its octant.
local function atan2(g, a)
  local dtype = types.float_result(a.self, a.other)
  local y, x = a.self:to(dtype), a.other:to(dtype)
  local ax, ay = g.Abs(x), g.Abs(y)
  local large = g.Max(ax, ay)
  local ratio = g.Div(g.Min(ax, ay), large)
  ratio = g.Where(g.Equal(large, g.scalar(0, x)), large, ratio)
  ratio = g.Where(g.And(g.IsInf(ax), g.IsInf(ay)), g.scalar(1, x), ratio)
  local angle = by_dtype("Atan")(g, ratio)
  angle = g.Where(g.Greater(ay, ax), g.Sub(g.scalar(math.pi / 2, x), angle), angle)
  angle = g.Where(sign_bit(g, x), g.Sub(g.scalar(math.pi, x), angle), angle)
  return g.Where(sign_bit(g, y), g.Neg(angle), angle)
end

for _, name in ipairs { "atan2", "arctan2" } do
  aten:rule(name .. "(Tensor self, Tensor other) -> Tensor", atan2)
end

local function copysign(g, a)
  local dtype = types.float_result(a.self, a.other)
  local x, y = g.Abs(g.scalar(a.self, dtype)), g.scalar(a.other, dtype)
  return g.Where(sign_bit(g, y), g.Neg(x), x)
end

aten:rule("copysign.Tensor(Tensor self, Tensor other) -> Tensor", copysign)
aten:rule("copysign.Scalar(Tensor self, Scalar other) -> Tensor", copysign)

-- The root of the sum of squares, scaled so that the squares stay in range.
aten:rule("hypot(Tensor self, Tensor other) -> Tensor", function(g, a)
  local x, y = util.promote(a.self, a.other)
  x, y = g.Abs(x), g.Abs(y)
  local large, zero = g.Max(x, y), g.scalar(0, x)
  local safe = g.Where(g.Or(g.Equal(large, zero), g.IsInf(large)), g.scalar(1, x), large)
  local u, v = g.Div(x, safe), g.Div(y, safe)
  local root = g.Mul(safe, g.Sqrt(g.Add(g.Mul(u, u), g.Mul(v, v))))
  return g.Where(g.Or(g.IsInf(x), g.IsInf(y)), g.scalar(math.huge, x), root)
end)

-- log(b^x + b^y), from the larger of the two.
local function log_add(g, a, log_base)
  local x, y = util.promote(a.self, a.other)
  local large = g.Max(x, y)
  local gap = g.Neg(g.Abs(g.Sub(x, y)))
  local more
  if log_base then
    local base = g.scalar(log_base, x)
    more = g.Div(log1p(g, g.Exp(g.Mul(gap, base))), base)
  else
    more = log1p(g, g.Exp(gap))
  end
  -- two equal infinities have no gap
  return g.Where(g.And(g.Equal(x, y), g.IsInf(x)), x, g.Add(large, more))
end

aten:rule("logaddexp(Tensor self, Tensor other) -> Tensor", function(g, a) return log_add(g, a) end)
aten:rule("logaddexp2(Tensor self, Tensor other) -> Tensor", function(g, a) return log_add(g, a, math.log(2)) end)

aten:rule("heaviside(Tensor self, Tensor values) -> Tensor", function(g, a)
  local x, v, dtype = util.promote(a.self, a.values)
  if dtype == "bool" then return g.Or(x, v) end
  local zero = g.scalar(0, x)
  return util.where(g, g.Equal(x, zero), v, g.Greater(x, zero):to(dtype))
end)

-- self * 2^other
aten:rule("ldexp.Tensor(Tensor self, Tensor other) -> Tensor", function(g, a)
  local dtype = types.float_result(a.other)
  return a.self * g.Pow(g.scalar(2, dtype), g.scalar(a.other, dtype))
end)

-- ---- classes of floats ----

-- Integers are finite numbers.
local function all_of(g, x, truth) return g.expand(g.scalar(truth, "bool"), x.shape) end

local function each_class(names, truth, fn)
  each(names, function(g, x)
    return types.is_float(x.dtype) and fn(g, x) or all_of(g, x, truth)
  end)
end

each_class({ "isnan" }, false, function(g, x) return g.IsNaN(x) end)
each_class({ "isinf" }, false, function(g, x) return g.IsInf(x) end)
each_class({ "isposinf" }, false, function(g, x) return g.IsInf(x, { detect_negative = 0 }) end)
each_class({ "isneginf" }, false, function(g, x) return g.IsInf(x, { detect_positive = 0 }) end)
each_class({ "isfinite" }, true, function(g, x) return g.Less(g.Abs(x), g.scalar(math.huge, x)) end)
each({ "isreal" }, function(g, x) return all_of(g, x, true) end)

aten:rule("nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor",
          function(g, a)
  local x = a.self
  if not types.is_float(x.dtype) then return x end
  local low, high = types.limits(x.dtype)
  local y = g.Where(g.IsNaN(x), g.scalar(a.nan or 0.0, x), x)
  y = g.Where(g.Equal(x, g.scalar(math.huge, x)), g.scalar(a.posinf or high, x), y)
  return g.Where(g.Equal(x, g.scalar(-math.huge, x)), g.scalar(a.neginf or low, x), y)
end)

-- ---- real and complex ----

local function only_real(fn)
  return function(g, x)
    if types.is_complex(x.dtype) then g.decline("complex numbers") end
    return fn(g, x)
  end
end

each({ "positive", "real", "conj", "_conj", "conj_physical", "_conj_physical", "resolve_conj", "resolve_neg" },
     only_real(function(_, x) return x end))

-- 0 or pi
each_float({ "angle" }, only_real(function(g, x)
  local y = g.Where(negative(g, x), g.scalar(math.pi, x), g.scalar(0, x))
  return g.Where(g.IsNaN(x), x, y)
end))

-- ---- angles, sinc ----

each_float({ "deg2rad" }, function(g, x) return g.Mul(x, g.scalar(math.pi / 180, x)) end)
each_float({ "rad2deg" }, function(g, x) return g.Mul(x, g.scalar(180 / math.pi, x)) end)

each_float({ "sinc", "special_sinc" }, function(g, x)
  local zero = g.Equal(x, g.scalar(0, x))
  local t = g.Mul(x, g.scalar(math.pi, x))
  return g.Where(zero, g.scalar(1, x), g.Div(g.Sin(t), t))
end)

-- ---- the inverse of the sigmoid ----

local function logit(g, a)
  local x = types.is_float(a.self.dtype) and a.self or a.self:to("float32")
  if a.eps then x = g.Clip(x, g.scalar(a.eps, x), g.scalar(1 - a.eps, x)) end
  return g.Log(g.Div(x, g.Sub(g.scalar(1, x), x)))
end

aten:rule("logit(Tensor self, float? eps=None) -> Tensor", logit)
aten:rule("special_logit(Tensor self, float? eps=None) -> Tensor", logit)
