-- rules/quantized/decomposed.lua: quantize and dequantize as torch.ao writes them, one to one as QuantizeLinear and
-- DequantizeLinear; scales that are chosen at run time are computed as PyTorch does.

local quant = require("t2o.quant")
local util = require("t2o.util")
local quantized = require("t2o.rules").namespace("quantized_decomposed")

-- ---- one scale for all ----

local function quantize_per_tensor(g, a)
  return quant.quantize(g, a.input:to("float32"), quant.as_number(a.scale), a.zero_point, a.dtype, { sizes = {} },
                        a.quant_min, a.quant_max)
end

local function dequantize_per_tensor(g, a, n)
  local wide = not (a.input.dtype == "int8" or a.input.dtype == "uint8")
  if wide and util.is_half(n.outputs[1].dtype) then g.decline("%s as 16-bit floats, in 16 bits", a.input.dtype) end
  local y = quant.dequantize(g, a.input, a.scale, a.zero_point, { sizes = {} }, a.quant_min, a.quant_max)
  return y:to(n.outputs[1].dtype)
end

for overload, kinds in pairs {
  [""] = { "float", "int", "int quant_min, int quant_max" },
  [".tensor"] = { "Tensor", "Tensor", "int quant_min, int quant_max" },
  [".tensor2"] = { "Tensor", "Tensor", "Tensor quant_min, Tensor quant_max" },
} do
  local arguments = string.format("(Tensor input, %s scale, %s zero_point, %s, ScalarType dtype", table.unpack(kinds))
  quantized:rule("quantize_per_tensor" .. overload .. arguments .. ") -> Tensor", quantize_per_tensor)
  quantized:rule("dequantize_per_tensor" .. overload .. arguments .. ", *, ScalarType? out_dtype=None) -> Tensor",
                 dequantize_per_tensor)
end

-- Both are recorded in wider dtypes, with a dimension.
local function chosen(g, scale, zero, n, only_recorded)
  scale, zero = g.reshape(scale, n.outputs[1].shape), g.reshape(zero, n.outputs[2].shape)
  return quant.widened(scale, n.outputs[1].dtype, only_recorded), zero:to(n.outputs[2].dtype)
end

quantized:rule("choose_qparams.tensor(Tensor input, int quant_min, int quant_max, float eps, ScalarType dtype) "
               .. "-> (Tensor, Tensor)", function(g, a, n)
  local low, high = quant.range_of(g, a.input)
  local scale = quant.bounded(g, quant.affine_scale(g, low, high, a.quant_max - a.quant_min), a.eps, "float32")
  return chosen(g, scale, quant.zero_point(g, low, scale, a.quant_min, a.quant_max), n)
end)

quantized:rule("choose_qparams_symmetric.tensor(Tensor input, int quant_min, int quant_max, float eps, "
               .. "ScalarType dtype) -> (Tensor, Tensor)", function(g, a, n)
  local low, high = quant.range_of(g, a.input)
  local scale = quant.symmetric_scale(g, low, high, a.quant_max - a.quant_min)
  local zero = g.const({ a.dtype == "uint8" and 128 or 0 }, n.outputs[2].dtype)
  return chosen(g, quant.bounded(g, scale, a.eps, "float32"), zero, n)
end)

-- ---- one for each channel ----

-- What is computed in the dtype of the scales is recorded in another one.
local function recorded(y, scales, n)
  local dtype = quant.dtype_of(scales)
  if util.is_half(dtype) then y = y:to(dtype) end
  return y:to(n.outputs[1].dtype)
end

quantized:rule("quantize_per_channel(Tensor input, Tensor scales, Tensor zero_points, int axis, int quant_min, "
               .. "int quant_max, ScalarType dtype) -> Tensor", function(g, a)
  return quant.quantize(g, a.input:to("float32"), a.scales, a.zero_points, a.dtype, quant.along(a.input, a.axis),
                        a.quant_min, a.quant_max)
end)
quantized:rule("dequantize_per_channel(Tensor input, Tensor scales, Tensor? zero_points, int axis, int quant_min, "
               .. "int quant_max, ScalarType dtype, *, ScalarType? out_dtype=None) -> Tensor", function(g, a, n)
  local y = quant.dequantize(g, a.input, a.scales, a.zero_points, quant.along(a.input, a.axis), a.quant_min,
                             a.quant_max)
  return recorded(y, a.scales, n)
end)
quantized:rule("fake_quant_per_channel(Tensor input, Tensor scales, Tensor zero_points, int axis, int quant_min, "
               .. "int quant_max) -> Tensor", function(g, a)
  return g.aten["fake_quantize_per_channel_affine"](a.input, a.scales:to("float32"), a.zero_points:to("int32"),
                                                    a.axis, a.quant_min, a.quant_max)
end)

-- ---- one for each row (token) ----

quantized:rule("choose_qparams_per_token(Tensor input, ScalarType dtype) -> (Tensor, Tensor)", function(g, a, n)
  local most = g.ReduceMax(g.Abs(a.input), g.ints { -1 }, { keepdims = 1 })
  if most.dtype == "float16" then most = most:to("float32") end
  local scale = quant.rounded(g, "Div", quant.bounded(g, most, 1e-5), g.scalar(127, most))
  return chosen(g, scale, g.full(n.outputs[2].shape, 0, n.outputs[2].dtype), n, true)
end)

for _, name in ipairs { "choose_qparams_per_token_asymmetric", "_choose_qparams_per_token_asymmetric_impl" } do
  quantized:rule(name .. "(Tensor input, ScalarType dtype) -> (Tensor, Tensor)", function(g, a, n)
    local low, high = quant.range_of(g, a.input, { -1 }, true)
    local scale = quant.bounded(g, quant.affine_scale(g, low, high, 255), 2.0 ^ -23)
    local first, last = quant.rounded(g, "Div", low, scale), quant.rounded(g, "Div", high, scale)
    local least, most = g.scalar(-128, scale), g.scalar(127, scale)
    local sum = quant.rounded(g, "Add", quant.rounded(g, "Add", least, first), quant.rounded(g, "Add", most, last))
    local zero = g.Where(g.Greater(sum, g.scalar(0, sum)), quant.rounded(g, "Sub", least, first),
                         quant.rounded(g, "Sub", most, last))
    zero = g.Round(g.Min(g.Max(zero, least), most))
    return chosen(g, scale, zero, n)
  end)
end

quantized:rule("quantize_per_token(Tensor input, Tensor scales, Tensor zero_points, int quant_min, int quant_max, "
               .. "ScalarType dtype) -> Tensor", function(g, a)
  return quant.quantize(g, a.input, a.scales, a.zero_points, a.dtype, quant.per_row(g, a.input), a.quant_min,
                        a.quant_max, true)
end)
quantized:rule("dequantize_per_token(Tensor input, Tensor scales, Tensor zero_points, int quant_min, int quant_max, "
               .. "ScalarType dtype, ScalarType output_dtype) -> Tensor", function(g, a, n)
  local y = quant.dequantize(g, a.input, a.scales, a.zero_points, quant.per_row(g, a.input), a.quant_min, a.quant_max)
  return recorded(y, a.scales, n)
end)

-- ---- one for each group of a row ----

local function groups(g, x, scales, size)
  local whole = scales:size(-1) == 1 and util.compare(x:size(-1), size) == -1
  return quant.layout(g, x.shape, { 1, whole and -1 or size })
end

quantized:rule("quantize_per_channel_group(Tensor input, Tensor scales, Tensor zero_points, int quant_min, "
               .. "int quant_max, ScalarType dtype, int group_size) -> Tensor", function(g, a)
  return quant.quantize(g, a.input, a.scales, a.zero_points, a.dtype, groups(g, a.input, a.scales, a.group_size),
                        a.quant_min, a.quant_max, true)
end)
quantized:rule("dequantize_per_channel_group(Tensor input, Tensor scales, Tensor? zero_points, int quant_min, "
               .. "int quant_max, ScalarType dtype, int group_size, ScalarType output_dtype) -> Tensor",
  function(g, a, n)
    local y = quant.dequantize(g, a.input, a.scales, a.zero_points, groups(g, a.input, a.scales, a.group_size),
                               a.quant_min, a.quant_max)
    return recorded(y, a.scales, n)
  end)

-- ---- casts ----

quantized:rule("convert_element_type.no_fuse(Tensor input, ScalarType dtype) -> Tensor", function(_, a)
  return a.input:to(a.dtype)
end)

-- Names that are put together above, for the index of rules (tools/name_hints.py):
-- "dequantize_per_tensor.tensor" "dequantize_per_tensor.tensor2" "quantize_per_tensor.tensor"
-- "quantize_per_tensor.tensor2"
