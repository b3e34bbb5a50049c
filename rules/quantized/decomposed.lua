-- rules/quantized/decomposed.lua: quantize and dequantize as torch.ao writes them, one to one as QuantizeLinear and
-- DequantizeLinear.

local types = require("t2o.types")
local quantized = require("t2o.rules").namespace("quantized_decomposed")

local KERNELS = { int8 = true, uint8 = true, int16 = true, uint16 = true }

local function check(g, dtype)
  if not KERNELS[dtype] then g.decline("quantisation to %s", dtype) end
end

-- A range that is narrower than the dtype's (weights at -127 to 127) is cut out afterwards.
local function clipped(g, q, a)
  local low, high = types.limits(q.dtype)
  if a.quant_min <= low and a.quant_max >= high then return q end
  return g.Clip(q, g.scalar(a.quant_min, q), g.scalar(a.quant_max, q))
end

local function parameters(g, scale, zero, dtype, shape)
  scale = g.scalar(scale, "float32")
  zero = zero == nil and g.scalar(0, dtype) or g.scalar(zero, dtype)
  if shape then return g.reshape(scale, shape), g.reshape(zero, shape) end
  return scale, zero
end

local function quantize(g, a, scale, zero, attrs)
  check(g, a.dtype)
  return clipped(g, g.QuantizeLinear(a.input:to("float32"), scale, zero, attrs), a)
end

local function dequantize(g, a, n, scale, zero, attrs)
  check(g, a.input.dtype)
  return g.DequantizeLinear(a.input, scale, zero, attrs):to(n.outputs[1].dtype)
end

for overload, kinds in pairs {
  [""] = { "float", "int", "int quant_min, int quant_max" },
  [".tensor"] = { "Tensor", "Tensor", "int quant_min, int quant_max" },
} do
  local scale, zero, range = table.unpack(kinds)
  local shape = overload ~= "" and {} or nil
  quantized:rule("quantize_per_tensor" .. overload .. "(Tensor input, " .. scale .. " scale, " .. zero
                 .. " zero_point, " .. range .. ", ScalarType dtype) -> Tensor", function(g, a)
    return quantize(g, a, parameters(g, a.scale, a.zero_point, a.dtype, shape))
  end)
  quantized:rule("dequantize_per_tensor" .. overload .. "(Tensor input, " .. scale .. " scale, " .. zero
                 .. " zero_point, " .. range .. ", ScalarType dtype, *, ScalarType? out_dtype=None) -> Tensor",
    function(g, a, n)
      return dequantize(g, a, n, parameters(g, a.scale, a.zero_point, a.input.dtype, shape))
    end)
end

-- One zero for each channel, where none are given.
local function channel_parameters(g, a, dtype)
  local scale = a.scales:to("float32")
  local zero = a.zero_points and a.zero_points:to(dtype) or g.full({ scale:size(0) }, 0, dtype)
  return scale, zero, { axis = a.axis }
end

quantized:rule("quantize_per_channel(Tensor input, Tensor scales, Tensor zero_points, int axis, int quant_min, "
               .. "int quant_max, ScalarType dtype) -> Tensor", function(g, a)
  return quantize(g, a, channel_parameters(g, a, a.dtype))
end)
quantized:rule("dequantize_per_channel(Tensor input, Tensor scales, Tensor? zero_points, int axis, int quant_min, "
               .. "int quant_max, ScalarType dtype, *, ScalarType? out_dtype=None) -> Tensor", function(g, a, n)
  return dequantize(g, a, n, channel_parameters(g, a, a.input.dtype))
end)

-- Names that are put together above, for the index of rules (tools/name_hints.py):
-- "dequantize_per_tensor.tensor" "quantize_per_tensor.tensor"
