-- rules/onnx/random.lua: random numbers, from PyTorch's generator: seeds of the model are not kept.

local onnx = require("t2o.back").registry

local function scaled(t, x, scale, shift)
  if scale ~= 1 then x = t.aten["mul.Tensor"](x, scale) end
  return shift ~= 0 and t.aten["add.Tensor"](x, shift) or x
end

onnx:rule("RandomNormal() {mean=0.0, scale=1.0}", function(t, n)
  return scaled(t, t.aten.randn(n.shape, { dtype = n.outputs[1].dtype }), n.scale, n.mean)
end)

onnx:rule("RandomUniform() {low=0.0, high=1.0}", function(t, n)
  return scaled(t, t.aten.rand(n.shape, { dtype = n.outputs[1].dtype }), n.high - n.low, n.low)
end)

onnx:rule("RandomNormalLike(input) {mean=0.0, scale=1.0}", function(t, n)
  return scaled(t, t.aten.randn_like(n.input, { dtype = n.outputs[1].dtype }), n.scale, n.mean)
end)

onnx:rule("RandomUniformLike(input) {low=0.0, high=1.0}", function(t, n)
  return scaled(t, t.aten.rand_like(n.input, { dtype = n.outputs[1].dtype }), n.high - n.low, n.low)
end)

onnx:rule("Bernoulli(input)", function(t, n) return t.to(t.aten.bernoulli(n.input), n.outputs[1].dtype) end)

-- The input holds logarithms, which need not be normalised.
onnx:rule("Multinomial(input) {sample_size=1}", function(t, n)
  local drawn = t.aten.multinomial(t.aten["softmax.int"](n.input, -1), n.sample_size, true)
  local dtype = n.outputs[1].dtype
  return dtype == "int64" and drawn or t.aten["to.dtype"](drawn, dtype)
end)
