-- rules/aten/compare.lua: comparisons, logic, bits.

local aten = require("t2o.rules").namespace("aten")
local types = require("t2o.types")
local util = require("t2o.util")

local function both(names, fn)
  for _, name in ipairs(names) do
    aten:rule(name .. ".Tensor(Tensor self, Tensor other) -> Tensor", fn)
    aten:rule(name .. ".Scalar(Tensor self, Scalar other) -> Tensor", fn)
  end
end

-- ---- order ----

-- ONNX orders numbers only: false and true as 0 and 1
local function ordered(op)
  return function(g, a)
    local x, y, dtype = util.promote(a.self, a.other)
    if dtype == "bool" then x, y = x:to("uint8"), y:to("uint8") end
    return g[op](x, y)
  end
end

both({ "lt", "less" }, ordered("Less"))
both({ "le", "less_equal" }, ordered("LessOrEqual"))
both({ "gt", "greater" }, ordered("Greater"))
both({ "ge", "greater_equal" }, ordered("GreaterOrEqual"))

local function equal(g, a)
  local x, y = util.promote(a.self, a.other)
  return g.Equal(x, y)
end

both({ "eq" }, equal)
both({ "ne", "not_equal" }, function(g, a) return g.Not(equal(g, a)) end)

-- |self - other| <= atol + |rtol * other|, with infinities close to themselves only.
local function close(g, x, y, a)
  if not types.is_float(types.result_type(x, y)) then
    x, y = x:to("float32"), y:to("float32")
  end
  x, y = util.promote(x, y)
  local same = g.Equal(x, y)
  if a.equal_nan then same = g.Or(same, g.And(g.IsNaN(x), g.IsNaN(y))) end
  if a.rtol == 0 and a.atol == 0 then return same end
  local off = g.Abs(g.Sub(x, y))
  local allowed = g.Abs(y * a.rtol) + a.atol
  return g.Or(same, g.And(g.LessOrEqual(off, allowed), g.Not(g.IsInf(off))))
end

aten:rule("isclose(Tensor self, Tensor other, float rtol=1.0000000000000001e-05, float atol=1e-08, "
          .. "bool equal_nan=False) -> Tensor", function(g, a) return close(g, a.self, a.other, a) end)

-- Whether all of a bool tensor is true.
local function all_true(g, x)
  return g.Equal(g.ReduceSum(g.Not(x):to("int32"), nil, { keepdims = 0 }), g.scalar(0, "int32"))
end

aten:rule("allclose(Tensor self, Tensor other, float rtol=1.0000000000000001e-05, float atol=1e-08, "
          .. "bool equal_nan=False) -> bool", function(g, a)
  return all_true(g, close(g, a.self, a.other, a))
end)

aten:rule("equal(Tensor self, Tensor other) -> bool", function(g, a)
  if not util.same_shape(a.self.shape, a.other.shape) then g.decline("tensors whose sizes may differ") end
  return all_true(g, equal(g, a))
end)

-- ---- logic ----

local function truth(x) return x:to("bool") end

for name, op in pairs { logical_and = "And", logical_or = "Or", logical_xor = "Xor" } do
  aten:rule(name .. "(Tensor self, Tensor other) -> Tensor", function(g, a)
    return g[op](truth(a.self), truth(a.other))
  end)
end

aten:rule("logical_not(Tensor self) -> Tensor", function(g, a) return g.Not(truth(a.self)) end)

-- ---- bits ----

local function bitwise(logical, op)
  return function(g, a)
    local x, y, dtype = util.promote(a.self, a.other)
    return g[dtype == "bool" and logical or op](x, y)
  end
end

for name, ops in pairs { ["and"] = { "And", "BitwiseAnd" }, ["or"] = { "Or", "BitwiseOr" },
                         xor = { "Xor", "BitwiseXor" } } do
  local fn = bitwise(ops[1], ops[2])
  both({ "bitwise_" .. name, "__" .. name .. "__" }, fn)
  aten:rule("bitwise_" .. name .. ".Scalar_Tensor(Scalar self, Tensor other) -> Tensor", fn)
end

aten:rule("bitwise_not(Tensor self) -> Tensor", function(g, a)
  return a.self.dtype == "bool" and g.Not(a.self) or g.BitwiseNot(a.self)
end)

-- Shifts are products and quotients with powers of 2: ONNX shifts signed integers since opset 28 only. `limit` is the
-- largest shift that is one power of 2 of the dtype; from `bits` on (and below 0) nothing is left.
local function shift_operands(g, a)
  local x, n, dtype = util.promote(a.self, a.other)
  if not types.is_int(dtype) then g.decline("a shift of %s", dtype) end
  local bits = types.bits(dtype)
  local limit = types.is_unsigned(dtype) and bits - 1 or bits - 2
  local beyond = g.GreaterOrEqual(n, g.scalar(bits, n))
  if not types.is_unsigned(dtype) then beyond = g.Or(beyond, g.Less(n, g.scalar(0, n))) end
  local first = util.where(g, beyond, g.scalar(0, n), n)
  local over = g.Greater(first, g.scalar(limit, n))
  first = util.where(g, over, g.scalar(limit, n), first)
  local factor = g.Pow(g.scalar(2.0, "float64"), first:to("float64")):to(dtype)
  return x, factor, over, beyond
end

local function shift_left(g, a)
  local x, factor, over, beyond = shift_operands(g, a)
  local y = g.Mul(x, factor)
  if not types.is_unsigned(x.dtype) then y = util.where(g, over, g.Add(y, y), y) end
  return util.where(g, beyond, g.scalar(0, y), y)
end

local function shift_right(g, a)
  local x, factor, over, beyond = shift_operands(g, a)
  local y = x // factor
  if types.is_unsigned(x.dtype) then return util.where(g, beyond, g.scalar(0, y), y) end
  local sign = util.where(g, g.Less(x, g.scalar(0, x)), g.scalar(-1, x), g.scalar(0, x))
  return util.where(g, g.Or(over, beyond), sign, y)
end

for name, fn in pairs { left = shift_left, right = shift_right } do
  both({ "__" .. name:sub(1, 1) .. "shift__" }, fn)
  aten:rule("bitwise_" .. name .. "_shift.Tensor(Tensor self, Tensor other) -> Tensor", fn)
  aten:rule("bitwise_" .. name .. "_shift.Tensor_Scalar(Tensor self, Scalar other) -> Tensor", fn)
  aten:rule("bitwise_" .. name .. "_shift.Scalar_Tensor(Scalar self, Tensor other) -> Tensor", fn)
end

-- Names that are put together above, for the index of rules (tools/name_hints.py):
-- "__and__.Scalar" "__and__.Tensor" "__lshift__.Scalar" "__lshift__.Tensor" "__or__.Scalar"
-- "__or__.Tensor" "__rshift__.Scalar" "__rshift__.Tensor" "__xor__.Scalar" "__xor__.Tensor"
-- "bitwise_and.Scalar" "bitwise_and.Scalar_Tensor" "bitwise_and.Tensor"
-- "bitwise_left_shift.Scalar_Tensor" "bitwise_left_shift.Tensor" "bitwise_left_shift.Tensor_Scalar"
-- "bitwise_or.Scalar" "bitwise_or.Scalar_Tensor" "bitwise_or.Tensor"
-- "bitwise_right_shift.Scalar_Tensor" "bitwise_right_shift.Tensor" "bitwise_right_shift.Tensor_Scalar"
-- "bitwise_xor.Scalar" "bitwise_xor.Scalar_Tensor" "bitwise_xor.Tensor" "eq.Scalar" "eq.Tensor"
-- "ge.Scalar" "ge.Tensor" "greater.Scalar" "greater.Tensor" "greater_equal.Scalar"
-- "greater_equal.Tensor" "gt.Scalar" "gt.Tensor" "le.Scalar" "le.Tensor" "less.Scalar" "less.Tensor"
-- "less_equal.Scalar" "less_equal.Tensor" "logical_and" "logical_or" "logical_xor" "lt.Scalar"
-- "lt.Tensor" "ne.Scalar" "ne.Tensor" "not_equal.Scalar" "not_equal.Tensor"
