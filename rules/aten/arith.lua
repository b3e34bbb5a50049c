-- rules/aten/arith.lua: sums, products, quotients, remainders, powers, bounds.

local aten = require("t2o.rules").namespace("aten")
local types = require("t2o.types")
local util = require("t2o.util")

-- Registers fn for op(self, other) in each of the overloads.
local SIGNATURES = {
  Tensor = ".Tensor(Tensor self, Tensor other%s) -> Tensor",
  Scalar = ".Scalar(Tensor self, Scalar other%s) -> Tensor",
  Scalar_Tensor = ".Scalar_Tensor(Scalar self, Tensor other%s) -> Tensor",
  plain = "(Tensor self, Tensor other%s) -> Tensor",
  other = ".other(Tensor self, Tensor other%s) -> Tensor",
}

local function binary(names, overloads, fn, more)
  for _, name in ipairs(names) do
    for _, o in ipairs(overloads) do
      aten:rule(name .. SIGNATURES[o]:format(more and (o == "Tensor" and more[1] or more[2]) or ""), fn)
    end
  end
end

local BOTH = { "Tensor", "Scalar" }
local ALPHA = { ", *, Scalar alpha=1", ", Scalar alpha=1" }

-- ---- sums and products ----

local function is_one(x) return x == 1 or x == true end

-- x + alpha * y; y takes the common dtype first, so that alpha is not rounded to its own
local function sum_scaled(g, x, y, alpha)
  if is_one(alpha) then return x + y end
  local dtype = types.result_type(x, y)
  return x + g.scalar(y, dtype) * g.scalar(alpha, dtype)
end

local function minus(g, x, y, alpha)
  local dtype = types.result_type(x, y)
  if not is_one(alpha) then y = g.scalar(y, dtype) * g.scalar(alpha, dtype) end
  return x - y
end

binary({ "add" }, BOTH, function(g, a) return sum_scaled(g, a.self, a.other, a.alpha) end, ALPHA)
binary({ "sub", "subtract" }, BOTH, function(g, a) return minus(g, a.self, a.other, a.alpha) end, ALPHA)
binary({ "rsub" }, BOTH, function(g, a) return minus(g, a.other, a.self, a.alpha) end, ALPHA)
-- PyTorch makes 0 of a NaN here, which Relu does not.
binary({ "_add_relu" }, BOTH, function(g, a)
  local y = sum_scaled(g, a.self, a.other, a.alpha)
  local zero = g.scalar(0, y)
  return g.Where(g.Greater(y, zero), y, zero)
end, ALPHA)
binary({ "mul", "multiply" }, BOTH, function(_, a) return a.self * a.other end)

-- The arguments in the dtype that they have in common.
local function alike(g, ...)
  local dtype = types.result_type(...)
  local out = { ... }
  for i, x in ipairs(out) do out[i] = g.scalar(x, dtype) end
  return table.unpack(out)
end

local function times(g, x, value)
  return is_one(value) and x or x * g.scalar(value, x.dtype)
end

aten:rule("addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor", function(g, a)
  local x, y, z = alike(g, a.self, a.tensor1, a.tensor2)
  return x + times(g, y, a.value) * z
end)

aten:rule("addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor", function(g, a)
  local x, y, z = alike(g, a.self, a.tensor1, a.tensor2)
  return x + times(g, y, a.value) / z
end)

-- From the end that is nearer, so that a weight of 1 gives exactly `end`.
aten:rule("lerp.Scalar(Tensor self, Tensor end, Scalar weight) -> Tensor", function(g, a)
  local x, y = alike(g, a.self, a.end_)
  if math.abs(a.weight) < 0.5 then return x + (y - x) * a.weight end
  return y - (y - x) * (1 - a.weight)
end)

aten:rule("lerp.Tensor(Tensor self, Tensor end, Tensor weight) -> Tensor", function(g, a)
  local x, y, w = alike(g, a.self, a.end_, a.weight)
  local near = g.Less(g.Abs(w), g.scalar(0.5, w))
  return g.Where(near, x + w * (y - x), y - (y - x) * (g.scalar(1, w) - w))
end)

-- ---- quotients ----

local function truncated(g, x)
  return g.Where(g.Less(x, g.scalar(0, x)), g.Ceil(x), g.Floor(x))
end

-- The largest whole number that is no more than x / y. Rounding the quotient may pass over it, so the remainder is
-- taken off first; a division by 0 has none.
local function float_floor(g, x, y)
  local zero, one = g.scalar(0, x), g.scalar(1, x)
  local r = g.Mod(x, y, { fmod = 1 })
  local q = g.Div(g.Sub(x, r), y)
  local differ = g.Xor(g.Less(r, zero), g.Less(y, zero))
  q = g.Where(g.And(g.Not(g.Equal(r, zero)), differ), g.Sub(q, one), q)
  local whole = g.Floor(q)
  whole = g.Where(g.Greater(g.Sub(q, whole), g.scalar(0.5, x)), g.Add(whole, one), whole)
  return g.Where(g.Equal(y, zero), g.Div(x, y), whole)
end

-- The number that a divisor is, where it is one.
local function known_number(y)
  if type(y) == "userdata" and types.is_wrapped(y) and y.is_constant then y = y:item() end
  return type(y) == "number" and y or nil
end

local function floor_divide(g, x, y)
  local dtype
  local number = known_number(y)
  x, y, dtype = util.promote(x, y)
  if types.is_float(dtype) then return float_floor(g, x, y) end
  if types.is_unsigned(dtype) or not (number and number > 0) then return x // y end
  -- a quotient cut off towards 0 is too large by one where its product is
  local q = g.Div(x, y)
  return g.Sub(q, g.Greater(g.Mul(q, y), x):to(dtype))
end

local function divide(g, a)
  if a.rounding_mode == "floor" then return floor_divide(g, a.self, a.other) end
  if a.rounding_mode ~= "trunc" then return a.self / a.other end
  local x, y, dtype = util.promote(a.self, a.other)
  if dtype == "float16" then
    -- a runtime that computes in 32 bits would not round the quotient, which may reach the next number
    return truncated(g, g.Div(x:to("float32"), y:to("float32")):to(dtype):to("float32")):to(dtype)
  end
  if types.is_float(dtype) then return truncated(g, g.Div(x, y)) end
  return g.Div(x, y)
end

binary({ "div", "divide", "true_divide" }, BOTH, divide)
for _, name in ipairs { "div", "divide" } do
  aten:rule(name .. ".Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor", divide)
  aten:rule(name .. ".Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor", divide)
end
binary({ "floor_divide" }, { "plain", "Scalar" }, function(g, a) return floor_divide(g, a.self, a.other) end)

binary({ "remainder" }, { "Tensor", "Scalar", "Scalar_Tensor" }, function(_, a)
  local x, y = util.promote(a.self, a.other)
  return x % y
end)

binary({ "fmod" }, BOTH, function(g, a)
  local x, y = util.promote(a.self, a.other)
  return g.Mod(x, y, { fmod = 1 })
end)

-- ---- powers ----

-- x^n for a whole number n >= 0, by squares: exact, and wraps as the dtype does.
local function whole_power(g, x, n)
  local result
  while n > 0 do
    if n % 2 == 1 then result = result and g.Mul(result, x) or x end
    n = n // 2
    if n > 0 then x = g.Mul(x, x) end
  end
  return result or g.expand(g.scalar(1, x), x.shape)
end

-- Integer powers of integers. ONNX computes them in floats, which are not exact. Exponents beyond 63 act as 62 or 63,
-- which makes no difference to 0, 1 and -1; a power of anything else has left int64 by then.
local function integer_power(g, x, n)
  local dtype = x.dtype
  n = n:to("int64")
  local two, one = g.scalar(2, n), g.scalar(1, x)
  local negative = g.Less(n, g.scalar(0, n))
  local odd_one = g.Mod(n, two)
  local rest = g.Where(g.Greater(n, g.scalar(63, n)), g.Add(odd_one, g.scalar(62, n)), n)
  rest = g.Where(negative, odd_one, rest)
  local result, base = one, x
  for i = 1, 6 do
    local odd = g.Equal(g.Mod(rest, two), g.scalar(1, n))
    result = util.where(g, odd, g.Mul(result, base), result)
    if i < 6 then
      base = g.Mul(base, base)
      rest = g.Div(rest, two)
    end
  end
  if types.is_unsigned(dtype) then return result end
  -- of the negative powers only those of 1 and -1 are not 0
  local unit = g.Equal(g.Abs(x), one)
  return util.where(g, g.And(negative, g.Not(unit)), g.scalar(0, x), result)
end

-- The exponents that PyTorch takes as these functions, which differ from powers at minus infinity and at -0.
local FLOAT_POWERS = {
  [0] = function(g, x) return g.expand(g.scalar(1, x), x.shape) end,
  [1] = function(g, x) return g.Identity(x) end,
  [0.5] = function(g, x) return g.Sqrt(x) end,
  [-0.5] = function(g, x) return g.Reciprocal(g.Sqrt(x)) end,
  [-1] = function(g, x) return g.Reciprocal(x) end,
}

local function power(g, x, n)
  local dtype
  local base, exponent = x, n
  x, n, dtype = util.promote(x, n)
  if dtype == "bool" then g.decline("a power of bool") end
  if types.is_float(dtype) then
    local special = types.bits(dtype) > 16 and FLOAT_POWERS[exponent]
    return special and special(g, x) or g.Pow(x, n)
  end
  if math.type(exponent) == "integer" then
    if exponent < 0 then g.decline("PyTorch has no negative powers of integers") end
    return whole_power(g, x, exponent)
  end
  return integer_power(g, g.scalar(base, dtype), n)
end

aten:rule("pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor", function(g, a)
  return power(g, a.self, a.exponent)
end)
aten:rule("pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor", function(g, a)
  return power(g, a.self, a.exponent)
end)
aten:rule("pow.Scalar(Scalar self, Tensor exponent) -> Tensor", function(g, a)
  return power(g, a.self, a.exponent)
end)

local function float_power(g, a)
  local n = a.exponent
  if type(n) ~= "number" then n = g.scalar(n, "float64") end
  return power(g, g.scalar(a.self, "float64"), n)
end

aten:rule("float_power.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor", float_power)
aten:rule("float_power.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor", float_power)
aten:rule("float_power.Scalar(Scalar self, Tensor exponent) -> Tensor", float_power)

aten:rule("square(Tensor self) -> Tensor", function(g, a)
  local x = a.self.dtype == "bool" and a.self:to("int64") or a.self
  return g.Mul(x, x)
end)

-- ---- the larger and the smaller ----

local LOGICAL = { Max = "Or", Min = "And" }
local COMPARISON = { Max = "Greater", Min = "Less" }

-- ONNX Runtime has no Max and Min of 16-bit integers
local function extreme(g, op, x, y)
  local dtype
  x, y, dtype = util.promote(x, y)
  if dtype == "bool" then return g[LOGICAL[op]](x, y) end
  if types.is_int(dtype) and types.bits(dtype) == 16 then
    return util.where(g, g[COMPARISON[op]](x, y), x, y)
  end
  return g[op](x, y)
end

-- The other one where one is not a number.
local function extreme_number(g, op, x, y)
  local dtype
  x, y, dtype = util.promote(x, y)
  if not types.is_float(dtype) then return extreme(g, op, x, y) end
  return g.Where(g.IsNaN(x), y, g.Where(g.IsNaN(y), x, g[op](x, y)))
end

for op, name in pairs { Max = "max", Min = "min" } do
  local function fn(g, a) return extreme(g, op, a.self, a.other) end
  binary({ name .. "imum" }, { "plain" }, fn)
  binary({ name }, { "other" }, fn)
  binary({ "f" .. name }, { "plain" }, function(g, a) return extreme_number(g, op, a.self, a.other) end)
end

-- The lower bound first: where the two cross, the upper one wins. One bound alone is no Clip: for the other one
-- runtimes take the largest number of the dtype, which an infinity then becomes.
local function clamp_tensors(g, x, low, high)
  local dtype = types.result_type(x, low or x, high or x)
  x = x:to(dtype)
  if low then x = extreme(g, "Max", x, low:to(dtype)) end
  return high and extreme(g, "Min", x, high:to(dtype)) or x
end

local function clamp(g, x, low, high)
  if low ~= low or high ~= high then g.decline("a bound that is not a number") end
  local dtype = types.result_type(x, low == nil and x or low, high == nil and x or high)
  local bottom, top = low ~= nil and g.scalar(low, dtype), high ~= nil and g.scalar(high, dtype)
  if not (bottom and top) or types.bits(dtype) == 16 then
    return clamp_tensors(g, x:to(dtype), bottom or nil, top or nil)
  end
  return g.Clip(x:to(dtype), bottom, top)
end

for _, name in ipairs { "clamp", "clip" } do
  aten:rule(name .. "(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor", function(g, a)
    return clamp(g, a.self, a.min, a.max)
  end)
  aten:rule(name .. ".Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor", function(g, a)
    return clamp_tensors(g, a.self, a.min, a.max)
  end)
end
aten:rule("clamp_min(Tensor self, Scalar min) -> Tensor", function(g, a) return clamp(g, a.self, a.min) end)
aten:rule("clamp_max(Tensor self, Scalar max) -> Tensor", function(g, a) return clamp(g, a.self, nil, a.max) end)
aten:rule("clamp_min.Tensor(Tensor self, Tensor min) -> Tensor", function(g, a)
  return clamp_tensors(g, a.self, a.min)
end)
aten:rule("clamp_max.Tensor(Tensor self, Tensor max) -> Tensor", function(g, a)
  return clamp_tensors(g, a.self, nil, a.max)
end)

-- Names that are put together above, for the index of rules (tools/name_hints.py):
-- "_add_relu.Scalar" "_add_relu.Tensor" "add.Scalar" "add.Tensor" "clamp.Tensor" "clip.Tensor"
-- "div.Scalar" "div.Scalar_mode" "div.Tensor" "div.Tensor_mode" "divide.Scalar" "divide.Scalar_mode"
-- "divide.Tensor" "divide.Tensor_mode" "floor_divide.Scalar" "fmax" "fmin" "fmod.Scalar" "fmod.Tensor"
-- "max.other" "maximum" "min.other" "minimum" "mul.Scalar" "mul.Tensor" "multiply.Scalar"
-- "multiply.Tensor" "remainder.Scalar" "remainder.Scalar_Tensor" "remainder.Tensor" "rsub.Scalar"
-- "rsub.Tensor" "sub.Scalar" "sub.Tensor" "subtract.Scalar" "subtract.Tensor" "true_divide.Scalar"
-- "true_divide.Tensor"
