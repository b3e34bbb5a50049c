-- rules/aten/quantize.lua: fake quantisation: rounded to a grid and back, in floating point.

local aten = require("t2o.rules").namespace("aten")

-- PyTorch multiplies by the reciprocal of the scale; a division would round some ties to the other side.
local function to_grid(g, x, scale, zero, low, high)
  local inverse = g.Reciprocal(scale)
  local q = g.Round(x * inverse) + zero
  local inside = g.Min(g.Max(q, g.scalar(low, q)), g.scalar(high, q))
  return (inside - zero) * scale, g.And(q:ge(low), q:le(high))
end

local function per_tensor(g, a)
  local x = a.self
  return to_grid(g, x, g.scalar(a.scale, x), g.scalar(a.zero_point, x), a.quant_min, a.quant_max)
end

-- Scale and zero point of each index along the axis, shaped to broadcast.
local function per_channel(g, a)
  local x, dims = a.self, {}
  for i = 1, x.rank do dims[i] = 1 end
  dims[a.axis + 1] = x:size(a.axis)
  local scale, zero = g.reshape(a.scale:to(x.dtype), dims), g.reshape(a.zero_point:to(x.dtype), dims)
  return to_grid(g, x, scale, zero, a.quant_min, a.quant_max)
end

local function result(fn)
  return function(g, a) return (fn(g, a)) end
end

aten:rule("fake_quantize_per_tensor_affine(Tensor self, float scale, int zero_point, int quant_min, int quant_max) "
          .. "-> Tensor", result(per_tensor))
aten:rule("fake_quantize_per_tensor_affine.tensor_qparams(Tensor self, Tensor scale, Tensor zero_point, int quant_min, "
          .. "int quant_max) -> Tensor", result(function(g, a)
  a.scale, a.zero_point = g.reshape(a.scale, {}), g.reshape(a.zero_point, {})
  return per_tensor(g, a)
end))
aten:rule("fake_quantize_per_tensor_affine_cachemask(Tensor self, float scale, int zero_point, int quant_min, "
          .. "int quant_max) -> (Tensor output, Tensor mask)", per_tensor)
aten:rule("_fake_quantize_per_tensor_affine_cachemask_tensor_qparams(Tensor self, Tensor scale, Tensor zero_point, "
          .. "Tensor fake_quant_enabled, int quant_min, int quant_max) -> (Tensor output, Tensor mask)", function(g, a)
  if not a.fake_quant_enabled.is_constant or a.fake_quant_enabled:tolist()[1] ~= 1 then
    return g.decline("fake quantisation that is switched at run time")
  end
  a.scale, a.zero_point = g.reshape(a.scale, {}), g.reshape(a.zero_point, {})
  return per_tensor(g, a)
end)
aten:rule("fake_quantize_per_channel_affine(Tensor self, Tensor scale, Tensor zero_point, int axis, int quant_min, "
          .. "int quant_max) -> Tensor", result(per_channel))
aten:rule("fake_quantize_per_channel_affine_cachemask(Tensor self, Tensor scale, Tensor zero_point, int axis, "
          .. "int quant_min, int quant_max) -> (Tensor output, Tensor mask)", per_channel)
