-- rules/quantized/torchao.lua: torchao's affine quantisation by blocks, and that to 8-bit floats.

local quant = require("t2o.quant")
local types = require("t2o.types")
local util = require("t2o.util")
local torchao = require("t2o.rules").namespace("torchao")

-- Ends of the range, where the call does not give them.
local function range(g, a, dtype)
  if quant.float8_max(dtype) then g.decline("whole steps in %s", dtype) end
  local low, high = types.limits(dtype)
  return a.quant_min or low, a.quant_max or high
end

local function has_elements(v) return v and not util.equal(util.product(v.shape), 0) and v or nil end

-- A zero point that is no integer stands for another formula.
local function integer_zero(g, v)
  v = has_elements(v)
  if v and not types.is_int(v.dtype) then g.decline("a zero point of %s", v.dtype) end
  return v
end

torchao:rule("quantize_affine(Tensor input, SymInt[] block_size, Tensor scale, Tensor? zero_point, "
             .. "ScalarType output_dtype, Scalar? quant_min=None, Scalar? quant_max=None) -> Tensor", function(g, a)
  local low, high = range(g, a, a.output_dtype)
  return quant.quantize(g, a.input, a.scale, integer_zero(g, a.zero_point), a.output_dtype,
                        quant.layout(g, a.input.shape, a.block_size), low, high)
end)

torchao:rule("dequantize_affine(Tensor input, SymInt[] block_size, Tensor scale, Tensor? zero_point, "
             .. "ScalarType input_dtype, Scalar? quant_min=None, Scalar? quant_max=None, "
             .. "ScalarType output_dtype=6) -> Tensor", function(g, a, n)
  local low, high = range(g, a, a.input.dtype)
  local y = quant.dequantize(g, a.input, a.scale, integer_zero(g, a.zero_point),
                             quant.layout(g, a.input.shape, a.block_size), low, high)
  return y:to(n.outputs[1].dtype)
end)

-- ---- parameters that are chosen at run time ----

-- The input with a dimension for each block and one for what is in it; the dims to reduce.
local function in_blocks(g, x, block)
  local shape, dims = {}, {}
  for i, size in ipairs(x.shape) do
    local whole = block[i] == -1 or util.equal(block[i], size)
    if not whole and not util.equal(block[i], 1) then
      shape[#shape + 1] = size // block[i]
      size = block[i]
    end
    shape[#shape + 1] = size
    if not util.equal(block[i], 1) then dims[#dims + 1] = #shape - 1 end
  end
  return g.reshape(x, shape), dims
end

local SMALLEST = { float32 = 2.0 ^ -126, bfloat16 = 2.0 ^ -126, float16 = 2.0 ^ -14 }

local function without_clipping(g, low, high, quant_min, quant_max)
  local below = quant.rounded(g, "Div", low, g.scalar(quant_min, low))
  local above = quant.rounded(g, "Div", high, g.scalar(quant_max, high))
  return g.Where(g.Greater(below, above), below, above)
end

-- mapping -> function(g, low, high, quant_min, quant_max, at_least) -> scale, zero point
local function symmetric(scale_of)
  return function(g, low, high, quant_min, quant_max, at_least)
    local scale = quant.bounded(g, scale_of(g, low, high, quant_min, quant_max), at_least)
    local middle = (quant_max + quant_min + 1) / 2
    middle = middle < 0 and math.ceil(middle) or math.floor(middle)
    return scale, g.full(scale.shape, middle, scale.dtype)
  end
end

local MAPPINGS = {
  SYMMETRIC = symmetric(function(g, low, high, quant_min, quant_max)
    return quant.symmetric_scale(g, low, high, quant_max - quant_min)
  end),
  SYMMETRIC_NO_CLIPPING_ERR = symmetric(without_clipping),
  ASYMMETRIC = function(g, low, high, quant_min, quant_max, at_least)
    local scale = quant.bounded(g, quant.affine_scale(g, low, high, quant_max - quant_min), at_least)
    return scale, quant.zero_point(g, low, scale, quant_min, quant_max)
  end,
}

torchao:rule("choose_qparams_affine(Tensor? input, str mapping_type, SymInt[] block_size, ScalarType target_dtype, "
             .. "Scalar? quant_min=None, Scalar? quant_max=None, float? eps=None, ScalarType? scale_dtype=None, "
             .. "ScalarType? zero_point_dtype=None, bool keepdim=False) -> (Tensor, Tensor)", function(g, a, n)
  local choose = MAPPINGS[a.mapping_type] or g.decline("the mapping %s", a.mapping_type)
  local quant_min, quant_max = range(g, a, a.target_dtype)
  local x, dims = in_blocks(g, a.input, a.block_size)
  local low, high = quant.range_of(g, x, dims, a.keepdim)
  local scale, zero = choose(g, low, high, quant_min, quant_max, a.eps or SMALLEST[x.dtype])
  scale, zero = g.reshape(scale, n.outputs[1].shape), g.reshape(zero, n.outputs[2].shape)
  return scale:to(n.outputs[1].dtype), zero:to(n.outputs[2].dtype)
end)

-- ---- 8-bit floats ----

local DTYPES = { [6] = "float32", [24] = "float8_e4m3fn" } -- what schemas have as defaults

-- The blocks that scales of a shape are for: one scale for all, or so many along each dimension.
local function layout_of(g, x, scale)
  if util.equal(util.product(scale.shape), 1) then return { sizes = {} } end
  if scale.rank ~= x.rank then g.decline("scales of rank %d for a tensor of rank %d", scale.rank, x.rank) end
  local block = {}
  for i, size in ipairs(x.shape) do block[i] = util.equal(scale:size(i - 1), 1) and -1 or size // scale:size(i - 1) end
  return quant.layout(g, x.shape, block)
end

torchao:rule("quantize_affine_float8_non_decomposed(Tensor tensor, Tensor scale, ScalarType float8_dtype=24) -> Tensor",
  function(g, a, n)
    local layout = layout_of(g, a.tensor, a.scale)
    return quant.quantize_by_division(g, a.tensor, a.scale, nil, n.outputs[1].dtype, layout)
  end)

torchao:rule("dequantize_affine_float8_non_decomposed(Tensor tensor, Tensor scale, ScalarType output_dtype=6) "
             .. "-> Tensor", function(g, a, n)
  return quant.dequantize(g, a.tensor, a.scale, nil, layout_of(g, a.tensor, a.scale)):to(n.outputs[1].dtype)
end)

torchao:rule("choose_scale_float8(Tensor tensor, SymInt[] block_size, ScalarType float8_dtype=24, "
             .. "ScalarType scale_dtype=6, float? hp_value_lb=None, float? hp_value_ub=None) -> Tensor",
  function(g, a, n)
    local dtype = DTYPES[a.float8_dtype] or a.float8_dtype
    local limit = quant.float8_max(dtype) or g.decline("scales for %s", dtype)
    if (DTYPES[a.scale_dtype] or a.scale_dtype) ~= "float32" then g.decline("scales of %s", a.scale_dtype) end
    local x, dims = in_blocks(g, a.tensor, a.block_size)
    local most = g.Abs(x)
    if dims[1] then most = g.ReduceMax(most, g.ints(dims), { keepdims = 1 }) end
    if a.hp_value_lb then most = g.Max(most, g.scalar(a.hp_value_lb, most)) end
    if a.hp_value_ub then most = g.Min(most, g.scalar(a.hp_value_ub, most)) end
    return g.reshape(quant.rounded(g, "Div", most, g.scalar(limit, most)), n.outputs[1].shape):to("float32")
  end)
