-- rules/onnx/math.lua: functions of one number.

local forms = require("t2o.backforms")
local onnx = require("t2o.back").registry

for op, name in pairs {
  ["Floor(X)"] = "floor", ["Ceil(X)"] = "ceil", ["Round(X)"] = "round",
  ["Sqrt(X)"] = "sqrt", ["Exp(input)"] = "exp", ["Log(input)"] = "log",
  ["Sin(input)"] = "sin", ["Cos(input)"] = "cos", ["Tan(input)"] = "tan",
  ["Asin(input)"] = "asin", ["Acos(input)"] = "acos", ["Atan(input)"] = "atan",
  ["Sinh(input)"] = "sinh", ["Cosh(input)"] = "cosh", ["Asinh(input)"] = "asinh", ["Acosh(input)"] = "acosh",
  ["Atanh(input)"] = "atanh",
} do
  onnx:rule(op, function(t, n) return t.aten[name](n.inputs[1]) end)
end

onnx:rule("Reciprocal(X)", function(t, n) return forms.rsqrt(t, n, n.X) or t.aten.reciprocal(n.X) end)

-- Of integers too.
onnx:rule("Erf(input)", function(t, n)
  local y = t.aten.erf(n.input)
  return n.input.dtype:find("int") and t.aten["to.dtype"](y, n.input.dtype) or y
end)
