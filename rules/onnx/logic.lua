-- rules/onnx/logic.lua: comparisons, truth values and bits.

local core = require("t2o.core")
local onnx = require("t2o.back").registry
local backmath = require("t2o.backmath")

for header, name in pairs {
  ["Less(A, B)"] = "lt", ["LessOrEqual(A, B)"] = "le", ["Greater(A, B)"] = "gt", ["GreaterOrEqual(A, B)"] = "ge",
} do
  onnx:rule(header, function(_, n) return backmath.compare(name, n.A, n.B) end)
end

onnx:rule("Equal(A, B)", function(t, n)
  if n.A.dtype == "string" then return t.helper.equal_strings(n.A, n.B) end
  local x, y = backmath.pair(n.A, n.B)
  return t.aten[core.is_value(y) and "eq.Tensor" or "eq.Scalar"](x, y)
end)

onnx:map {
  ["And(A, B)"] = "aten::bitwise_and.Tensor", ["Or(A, B)"] = "aten::bitwise_or.Tensor",
  ["Xor(A, B)"] = "aten::bitwise_xor.Tensor", ["Not(X)"] = "aten::bitwise_not",
}

for header, name in pairs {
  ["BitwiseAnd(A, B)"] = "and", ["BitwiseOr(A, B)"] = "or", ["BitwiseXor(A, B)"] = "xor",
} do
  onnx:rule(header, function(t, n)
    local x, y = backmath.pair(n.A, n.B)
    return backmath.narrow(t.aten["bitwise_" .. name .. (core.is_value(y) and ".Tensor" or ".Scalar")](x, y), n.A.dtype)
  end)
end

onnx:rule("BitwiseNot(X)", function(t, n)
  return backmath.narrow(t.aten.bitwise_not(backmath.wide(n.X)), n.X.dtype)
end)

onnx:rule("BitShift(X, Y) {direction}", function(t, n)
  local x, y = backmath.wide(n.X), backmath.wide(n.Y)
  local left = n.direction == "LEFT"
  local out = t.aten[left and "bitwise_left_shift.Tensor" or "bitwise_right_shift.Tensor"](x, y)
  if not left and n.X.dtype == "uint64" then
    -- the sign that came in is none
    local kept = t.aten["bitwise_left_shift.Tensor"](t.aten.full_like(x, -1), t.aten["rsub.Scalar"](y, 64))
    out = t.aten["bitwise_and.Tensor"](out, t.aten.bitwise_not(kept))
  end
  return backmath.narrow(out, n.X.dtype)
end)

onnx:map { ["IsNaN(X)"] = "aten::isnan" }

onnx:rule("IsInf(X) {detect_negative=1, detect_positive=1}", function(t, n)
  local x = backmath.wide(n.X)
  if n.detect_negative ~= 0 and n.detect_positive ~= 0 then return t.aten.isinf(x) end
  if n.detect_negative ~= 0 then return t.aten.isneginf(x) end
  if n.detect_positive ~= 0 then return t.aten.isposinf(x) end
  return t.aten.zeros_like(n.X, { dtype = "bool" })
end)
