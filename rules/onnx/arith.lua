-- rules/onnx/arith.lua: arithmetic.

local core = require("t2o.core")
local forms = require("t2o.backforms")
local linear = require("t2o.backlinear")
local onnx = require("t2o.back").registry
local backmath = require("t2o.backmath")
local is_int, is_unsigned, narrow, pair, wide = backmath.is_int, backmath.is_unsigned, backmath.narrow, backmath.pair,
  backmath.wide

onnx:rule("Add(A, B)", function(t, n)
  local layer = linear.sum(t, n)
  if layer then return layer end
  local x, y = pair(n.A, n.B)
  local norm = core.is_value(y) and forms.layer_norm(t, x, y)
  if norm then return norm end
  return narrow(t.aten["add.Tensor"](x, y), n.A.dtype)
end)

onnx:rule("Mul(A, B)", function(t, n)
  local x, y = pair(n.A, n.B)
  local form = forms.activation(t, n, x, y) or core.is_value(y) and forms.rms_norm(t, n, x, y)
  return form or narrow(t.aten["mul.Tensor"](x, y), n.A.dtype)
end)

onnx:rule("Sub(A, B)", function(t, n)
  local x, y, swapped = pair(n.A, n.B)
  if swapped then return narrow(t.aten["rsub.Scalar"](x, y), n.A.dtype) end
  return narrow(t.aten["sub.Tensor"](x, y), n.A.dtype)
end)

onnx:rule("Div(A, B)", function(t, n)
  local dtype = n.A.dtype
  if dtype == "uint64" then return t.to(backmath.divide_unsigned(wide(n.A), wide(n.B)), dtype) end
  local y = backmath.operand(n.B)
  if is_int(dtype) then
    return narrow(t.aten["div.Tensor_mode"](wide(n.A), y, { rounding_mode = "trunc" }), dtype)
  end
  if t.literal(n.A) == 1 and core.is_value(y) then return forms.rsqrt(t, n, y) or t.aten.reciprocal(y) end
  return t.aten["div.Tensor"](n.A, y)
end)

onnx:rule("Mod(A, B) {fmod=0}", function(t, n)
  local dtype = n.A.dtype
  if dtype == "uint64" then
    local x, y = wide(n.A), wide(n.B)
    local whole = t.aten["mul.Tensor"](backmath.divide_unsigned(x, y), y)
    return t.to(t.aten["sub.Tensor"](x, whole), dtype)
  end
  local op = n.fmod ~= 0 and "fmod" or "remainder"
  local y = backmath.operand(n.B)
  return narrow(t.aten[op .. (core.is_value(y) and ".Tensor" or ".Scalar")](wide(n.A), y), dtype)
end)

-- The result has the dtype of the base. What PyTorch promotes by itself to more is cut back.
onnx:rule("Pow(X, Y)", function(t, n)
  local base, exponent = n.X.dtype, n.Y.dtype
  local y = backmath.operand(n.Y)
  local number = not core.is_value(y)
  local direct = base == exponent or not is_int(base) and is_int(exponent)
  if number and is_int(base) and y < 0 then number, y, direct = false, wide(n.Y), is_int(exponent) end
  if number and not is_int(base) and y == math.floor(y) and math.abs(y) < 64 then y = math.tointeger(y) end
  if number and is_int(base) and y == math.floor(y) and y >= 0 and y < 64 then y, direct = math.tointeger(y), true end
  if number and not is_int(base) then direct = true end
  if direct then
    return narrow(t.aten["pow." .. (number and "Tensor_Scalar" or "Tensor_Tensor")](wide(n.X), y), base)
  end
  local common = is_int(base) and is_int(exponent) and "int64" or "float64"
  return t.to(t.aten["pow.Tensor_Tensor"](t.to(n.X, common), t.to(n.Y, common)), base)
end)

onnx:rule("Neg(X)", function(t, n) return t.aten.neg(wide(n.X)) end)

onnx:rule("Abs(X)", function(t, n)
  if is_unsigned(n.X.dtype) then return n.X end
  return t.aten.abs(n.X)
end)

onnx:rule("Sign(input)", function(t, n)
  local dtype = n.input.dtype
  if is_unsigned(dtype) then return t.to(t.aten["ne.Scalar"](n.input, 0), dtype) end
  return t.aten.sign(n.input)
end)

-- ---- several inputs ----

local function fold(n, step)
  local out = n.inputs[1]
  for i = 2, n.inputs.n do out = step(out, n.inputs[i]) end
  return out
end

local function sum(t, n)
  return fold(n, function(a, b)
    local x, y = pair(a, b)
    return t.aten["add.Tensor"](x, y)
  end)
end

onnx:rule("Sum(data_0)", function(t, n)
  return n.inputs.n > 1 and narrow(sum(t, n), n.inputs[1].dtype) or n.inputs[1]
end)

onnx:rule("Mean(data_0)", function(t, n)
  return n.inputs.n > 1 and narrow(t.aten["div.Tensor"](sum(t, n), n.inputs.n), n.inputs[1].dtype) or n.inputs[1]
end)

local function extreme(header, name, clamp)
  onnx:rule(header, function(t, n)
    if n.inputs.n == 1 then return n.inputs[1] end
    local dtype, out = n.inputs[1].dtype, nil
    if n.inputs.n == 2 and dtype ~= "uint64" then
      local x, y = pair(n.inputs[1], n.inputs[2])
      if not core.is_value(y) then
        return narrow(t.aten[clamp](x, y), dtype)
      end
    end
    local ins = n.inputs
    for i = 1, ins.n do
      local v = wide(ins[i])
      out = out and backmath.extreme(name, out, v, dtype) or v
    end
    return narrow(out, dtype)
  end)
end
extreme("Max(data_0)", "maximum", "clamp_min")
extreme("Min(data_0)", "minimum", "clamp_max")

-- A bound as a number, or as a tensor without dimensions.
local function bound(t, v)
  local x = backmath.operand(v)
  if not core.is_value(x) then return x, true end
  return core.field(v, "known_rank") and v.rank == 0 and x or t.aten.reshape(x, {}), false
end

-- Where the bounds cross, the upper one holds in both.
onnx:rule("Clip(input, min?, max?)", function(t, n)
  local dtype = n.input.dtype
  if not n.min and not n.max then return n.input end
  local x = wide(n.input)
  if dtype == "uint64" then
    if n.min then x = backmath.extreme("maximum", x, wide(n.min), dtype) end
    if n.max then x = backmath.extreme("minimum", x, wide(n.max), dtype) end
    return t.to(x, dtype)
  end
  local low, low_is_number = bound(t, n.min)
  local high, high_is_number = bound(t, n.max)
  if low_is_number and high_is_number and low == 0 and high == 6 then return narrow(t.aten.relu6(x), dtype) end
  if low_is_number and high_is_number then
    return narrow(t.aten.clamp(x, low, high), dtype)
  end
  if low and low_is_number then low = t.scalar(low, backmath.computing(dtype)) end
  if high and high_is_number then high = t.scalar(high, backmath.computing(dtype)) end
  return narrow(t.aten["clamp.Tensor"](x, low, high), dtype)
end)
