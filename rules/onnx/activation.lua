-- rules/onnx/activation.lua: activation functions as torch calls.

local core = require("t2o.core")
local onnx = require("t2o.back").registry
local backmath = require("t2o.backmath")

onnx:map {
  ["Sigmoid(X)"] = "aten::sigmoid", ["Tanh(input)"] = "aten::tanh",
  ["Mish(X)"] = "aten::mish", ["HardSwish(X)"] = "aten::hardswish",
  ["Softplus(X)"] = "aten::softplus",
}

onnx:rule("Relu(X)", function(t, n) return t.aten.relu(n.X) end)

onnx:rule("Softsign(input)", function(t, n)
  if t.python then return t.helper.softsign(n.input) end
  return t.aten["div.Tensor"](n.input, t.aten["add.Tensor"](t.aten.abs(n.input), 1))
end)

onnx:rule("LeakyRelu(X) {alpha=0.01}", function(t, n) return t.aten.leaky_relu(n.X, n.alpha) end)
onnx:rule("Elu(X) {alpha=1.0}", function(t, n) return t.aten.elu(n.X, n.alpha) end)
onnx:rule("Celu(X) {alpha=1.0}", function(t, n) return t.aten.celu(n.X, n.alpha) end)
onnx:rule("ThresholdedRelu(X) {alpha=1.0}", function(t, n) return t.aten.threshold(n.X, n.alpha, 0) end)
onnx:rule("Gelu(X) {approximate='none'}", function(t, n) return t.aten.gelu(n.X, { approximate = n.approximate }) end)

-- The constants with which a network keeps mean and variance.
local ALPHA, GAMMA = 1.6732632423543772, 1.0507009873554805

onnx:rule("Selu(X) {alpha=1.6732632, gamma=1.0507010}", function(t, n)
  if math.abs(n.alpha - ALPHA) < 1e-6 and math.abs(n.gamma - GAMMA) < 1e-6 then return t.aten.selu(n.X) end
  return t.aten["mul.Tensor"](t.aten.elu(n.X, n.alpha), n.gamma)
end)

onnx:rule("HardSigmoid(X) {alpha=0.2, beta=0.5}", function(t, n)
  if math.abs(n.alpha - 1 / 6) < 1e-7 and n.beta == 0.5 then return t.aten.hardsigmoid(n.X) end
  return t.aten.clamp(t.aten["add.Tensor"](t.aten["mul.Tensor"](n.X, n.alpha), n.beta), 0, 1)
end)

local function swish(t, x, alpha)
  if alpha == 1 then return t.aten.silu(x) end
  return t.aten["mul.Tensor"](x, t.aten.sigmoid(t.aten["mul.Tensor"](x, alpha)))
end

onnx:rule("Swish(X) {alpha=1.0}", function(t, n) return swish(t, n.X, n.alpha) end)

onnx:rule("SwiGLU(A, B) {alpha=1.0}", function(t, n)
  return t.aten["mul.Tensor"](swish(t, n.A, n.alpha), n.B)
end)

onnx:rule("Shrink(X) {bias=0.0, lambd=0.5}", function(t, n)
  local dtype = n.X.dtype
  if dtype == "uint64" then t.decline("unsigned integers of 64 bits") end
  if not backmath.is_int(dtype) then
    if n.bias == 0 then return t.aten.hardshrink(n.X, n.lambd) end
    if n.bias == n.lambd then return t.aten.softshrink(n.X, n.lambd) end
  end
  local x = backmath.wide(n.X)
  local up, down = t.aten["add.Tensor"](x, n.bias), t.aten["sub.Tensor"](x, n.bias)
  local right = t.aten["where.ScalarOther"](t.aten["gt.Scalar"](x, n.lambd), down, 0)
  local out = t.aten["where.self"](t.aten["lt.Scalar"](x, -n.lambd), up, right)
  return backmath.is_int(dtype) and t.aten["to.dtype"](out, dtype) or out
end)

-- The slope as PyTorch takes it: one number, or one for each channel; nil for other forms.
local function slopes(t, x, slope)
  if not backmath.is_float(x.dtype) or not backmath.has_rank(slope) or not backmath.has_rank(x) then return nil end
  local shape, count = slope.shape, nil
  for i = 1, #shape do
    if shape[i] ~= 1 then
      if count then return nil end
      count = i
    end
  end
  if #shape > x.rank then return nil end
  if not count then return #shape == 1 and slope or t.aten.reshape(slope, { 1 }) end
  if x.rank < 2 or #shape - count ~= x.rank - 2 then return nil end
  -- a size that is known at run time only may be 1 and then is no count of channels
  if core.compare(shape[count], x:size(1)) ~= 0 then return nil end
  return #shape == 1 and slope or t.aten["flatten.using_ints"](slope)
end

onnx:rule("PRelu(X, slope)", function(t, n)
  local weight = slopes(t, n.X, n.slope)
  if weight then return t.aten.prelu(n.X, weight) end
  if backmath.is_unsigned(n.X.dtype) then return n.X end
  local x, slope = backmath.wide(n.X), backmath.wide(n.slope)
  local out = t.aten["where.self"](t.aten["lt.Scalar"](x, 0), t.aten["mul.Tensor"](x, slope), x)
  return backmath.narrow(out, n.X.dtype)
end)

-- ---- along an axis ----

onnx:rule("Softmax(input) {axis=-1}", function(t, n) return t.aten["softmax.int"](n.input, n.axis) end)
onnx:rule("LogSoftmax(input) {axis=-1}", function(t, n) return t.aten["log_softmax.int"](n.input, n.axis) end)

onnx:rule("Hardmax(input) {axis=-1}", function(t, n)
  local largest = t.aten.argmax(n.input, n.axis, true)
  return t.aten["scatter.value"](t.aten.zeros_like(n.input), n.axis, largest, 1)
end)
