-- lua/t2o/quant.lua: what rules of quantisation share: how scales lie over a tensor, QuantizeLinear, DequantizeLinear.
--
-- One call of PyTorch becomes one node. PyTorch multiplies by the reciprocal of the scale where ONNX divides, so a
-- value in the very middle between two steps may fall to the other one. With a scale that is known before the run the
-- node has the call's own scale all the same: runtimes fuse what stands between a DequantizeLinear and a QuantizeLinear
-- by it. Scales of the data itself put its extremes on such a middle; there the product is built, and quantised in
-- steps of 1.

local core = require("t2o.core")
local types = require("t2o.types")
local util = require("t2o.util")

local M = {}

local FLOAT8 = { float8_e4m3fn = 448.0, float8_e5m2 = 57344.0, float8_e4m3fnuz = 240.0, float8_e5m2fnuz = 57344.0 }
local INTEGERS = { int8 = true, uint8 = true, int16 = true, uint16 = true }
local HALVES = { int8 = "int4", uint8 = "uint4" }
local NIBBLE = { int4 = { -8, 7 }, uint4 = { 0, 15 } }

--- The largest number of an 8-bit float; nil of other dtypes.
function M.float8_max(dtype) return FLOAT8[dtype] end

-- ---- how scales lie ----

local function is_whole(size, block) return block == -1 or util.equal(size, block) end

-- Blocks along one axis. A block that has an extent in other dimensions too is so many, all of one scale.
local function blocked(g, shape, block)
  local axis
  for i, size in ipairs(shape) do
    if not util.equal(block[i], 1) and not util.equal(size, 1) then axis = i end
  end
  axis = axis or #shape
  local extent = is_whole(shape[axis], block[axis]) and shape[axis] or block[axis]
  if not util.is_static(extent) then g.decline("blocks of a size that only the run knows") end
  local layout = { axis = axis - 1, block_size = extent, sizes = {}, times = {} }
  for i, size in ipairs(shape) do
    local whole = is_whole(size, block[i])
    layout.sizes[i] = whole and 1 or size // block[i]
    layout.times[i] = i == axis and 1 or whole and size or block[i]
    layout.repeats = layout.repeats or not util.equal(layout.times[i], 1)
  end
  return layout
end

--- How scales lie over a tensor of a shape, given the block that one is for (-1: all of a dimension): the attributes
--- axis and block_size, and the sizes of the scale.
function M.layout(g, shape, block)
  if #block ~= #shape then g.decline("blocks of rank %d over a tensor of rank %d", #block, #shape) end
  local several = {}
  for i, size in ipairs(shape) do
    if not is_whole(size, block[i]) then several[#several + 1] = i end
  end
  local first = several[1]
  if not first then return { sizes = {} } end
  if not several[2] and util.equal(block[first], 1) then return { axis = first - 1, sizes = { shape[first] } } end
  return blocked(g, shape, block)
end

--- One scale for each index along an axis.
function M.along(x, axis)
  axis = util.dim(axis, x.rank)
  return { axis = axis, sizes = { x:size(axis) } }
end

--- One scale for each row of the last dimension.
function M.per_row(g, x)
  local block = util.fill(1, x.rank)
  block[x.rank] = x:size(-1)
  return M.layout(g, x.shape, block)
end

-- Each element as often as its block is wide in the dimensions without blocks of their own.
local function repeated(g, v, layout)
  local apart, wide, merged = {}, {}, {}
  for i, size in ipairs(layout.sizes) do
    apart[2 * i - 1], apart[2 * i] = size, 1
    wide[2 * i - 1], wide[2 * i] = size, layout.times[i]
    merged[i] = size * layout.times[i]
  end
  return g.reshape(g.expand(g.reshape(v, apart), wide), merged)
end

-- A constant is one in the model too, of the dtype and shape asked for: runtimes want it to be.
local function constant(v, dtype, sizes)
  if not (v.is_constant and util.all_static(sizes)) or util.product(v.shape) > 65536 then return nil end
  if v.dtype == dtype and util.same_shape(v.shape, sizes) then return v end
  local elements = core.elements(v, 65536)
  if types.is_int(dtype) then
    for i, x in ipairs(elements) do
      elements[i] = math.tointeger(x)
      if not elements[i] then return nil end
    end
  end
  return core.constant(dtype, sizes, elements)
end

local narrow = setmetatable({}, { __mode = "k" }) -- value -> what was cast to it, nothing being lost
local actual = setmetatable({}, { __mode = "k" }) -- the same where PyTorch itself goes on with that

--- v in a wider dtype, as PyTorch records it; what quantises by it goes on with v. With `only_recorded` so does
--- PyTorch.
function M.widened(v, dtype, only_recorded)
  local out = v:to(dtype)
  if out ~= v then narrow[out], actual[out] = v, only_recorded and v or nil end
  return out
end

--- The dtype that PyTorch computes in with v, whatever is recorded.
function M.dtype_of(v) return (actual[v] or v).dtype end

--- A scale that PyTorch takes as a Python number: what it multiplies with is a float32 then.
function M.as_number(v) return core.is_value(v) and (narrow[v] or v):to("float32") or v end

-- Scale or zero point, of any shape with as many elements, as a dtype and as the layout wants it.
local function arranged(g, v, dtype, layout)
  local ready = not layout.repeats and constant(v, dtype, layout.sizes)
  if ready then return ready end
  v = narrow[v] or v
  v = g.reshape(v:to(dtype), layout.sizes)
  return layout.repeats and repeated(g, v, layout) or v
end

--- A value of that layout, shaped so that it goes with x element by element.
function M.spread(g, v, x, layout)
  if not layout.axis then return v end
  local dims, over = util.fill(1, x.rank), layout.axis + 1
  if not layout.block_size then
    dims[over] = x:size(layout.axis)
    return g.reshape(v, dims)
  end
  if util.equal(layout.block_size, x:size(layout.axis)) then return v end
  local apart, wide = {}, {}
  for i = 1, x.rank do
    local size = v:size(i - 1)
    apart[#apart + 1], wide[#wide + 1] = size, size
    if i == over then apart[#apart + 1], wide[#wide + 1] = 1, layout.block_size end
  end
  return g.reshape(g.expand(g.reshape(v, apart), wide), x.shape)
end

local function attributes(layout)
  return { axis = layout.axis, block_size = layout.block_size }
end

-- ---- the two operators ----

local function check_range(g, zero, dtype)
  if FLOAT8[dtype] or core.is_value(zero) and not core.is_literal(zero, 1) then return end
  local low, high = types.limits(dtype)
  local number = core.is_value(zero) and zero:tolist()[1] or not core.is_value(zero) and zero
  if number and (number < low or number > high) then g.decline("a zero point of %s for %s", number, dtype) end
end

-- Zero points that are floats hold whole numbers, as PyTorch's own functions make them.
local function zero_of(g, zero, dtype, layout)
  if zero == nil then
    local sizes = util.copy(layout.sizes)
    for i, times in ipairs(layout.times or {}) do sizes[i] = sizes[i] * times end
    return g.full(sizes, 0, dtype)
  end
  check_range(g, zero, dtype)
  return arranged(g, core.is_value(zero) and zero or g.scalar(zero, dtype), dtype, layout)
end

local function scale_of(g, scale, layout)
  return arranged(g, core.is_value(scale) and scale or g.scalar(scale, "float32"), "float32", layout)
end

local function check(g, dtype)
  if dtype == "int32" then g.decline("quantisation to int32, which ONNX has not") end
  if not (INTEGERS[dtype] or FLOAT8[dtype]) then g.decline("quantisation to %s", dtype) end
end

-- A range that is narrower than the dtype's (weights at -127 to 127) is cut out afterwards.
local function clipped(g, q, low, high)
  if FLOAT8[q.dtype] then return q end
  local least, most = types.limits(q.dtype)
  local function limit(x, bound, beyond)
    if core.is_value(x) then return x.is_constant and x:item() or x end
    return x == nil and bound or beyond(x, bound)
  end
  low, high = limit(low, least, math.max), limit(high, most, math.min)
  if low == least and high == most then return q end
  return g.Clip(q, g.scalar(low, q), g.scalar(high, q))
end

--- x in steps of the scale, as a dtype, cut to low and high: by a division.
function M.quantize_by_division(g, x, scale, zero, dtype, layout, low, high)
  check(g, dtype)
  scale = scale_of(g, scale, layout)
  return clipped(g, g.QuantizeLinear(x:to("float32"), scale, zero_of(g, zero, dtype, layout), attributes(layout)),
                 low, high)
end

-- 4-bit numbers stand in bytes in PyTorch. A weight whose range says so is stored in its own dtype, where ONNX has it.
local packed = setmetatable({}, { __mode = "k" })

local function in_nibbles(g, v, low, high)
  local dtype = HALVES[v.dtype]
  local range = NIBBLE[dtype]
  if g.opset < 21 or not range or type(low) ~= "number" or low < range[1] or high > range[2] then return nil end
  if packed[v] == nil then packed[v] = v.is_constant and core.packed(v, dtype) or false end
  return packed[v] or nil
end

-- Accumulators and biases are quantised without a zero point.
local function without_zero(g, zero)
  local list = type(zero) == "number" and { zero } or zero and zero.is_constant and zero:tolist() or {}
  for _, x in ipairs(list) do
    if x ~= 0 then g.decline("int32 with a zero point") end
  end
  if zero and not list[1] then g.decline("int32 with a zero point") end
end

--- Numbers of steps as float32; low and high are the range that they are in.
function M.dequantize(g, q, scale, zero, layout, low, high)
  if q.dtype == "int32" then zero = without_zero(g, zero) else check(g, q.dtype) end
  scale = scale_of(g, scale, layout)
  zero = zero and zero_of(g, zero, q.dtype, layout)
  local small, small_zero = in_nibbles(g, q, low, high), zero and in_nibbles(g, zero, low, high)
  if small and (small_zero or not zero) then q, zero = small, small_zero end
  return g.DequantizeLinear(q, scale, zero, attributes(layout))
end

--- An operator on values of one dtype, rounded to it: runtimes that widen 16 bits by themselves go on in 32.
function M.rounded(g, op, x, y)
  if not util.is_half(x.dtype) then return g[op](x, y) end
  return g[op](x:to("float32"), y and y:to("float32")):to(x.dtype)
end

local rounded = M.rounded

-- x times the reciprocal of the scale, in the dtype that PyTorch computes in; with `early` the zero point is added
-- before it rounds.
local function product(g, x, scale, early, layout)
  if not core.is_value(scale) then return g.Mul(x, g.scalar(1.0 / scale, x)) end
  scale = actual[scale] or scale
  local common = types.promote(x.dtype, scale.dtype)
  local function spread(v) return M.spread(g, arranged(g, v, common, layout), x, layout) end
  local y = rounded(g, "Mul", x:to(common), rounded(g, "Reciprocal", spread(scale)))
  if early then y = rounded(g, "Add", y, spread(early)) end
  return common == "float64" and g.Round(y) or y
end

local function is_known(v) return not core.is_value(v) or v.is_constant end

--- x in steps of the scale, as a dtype, cut to low and high: as PyTorch computes it, in the dtype of x and scale. With
--- `early` the sum with the zero point is what is rounded.
function M.quantize(g, x, scale, zero, dtype, layout, low, high, early)
  local is_half = util.is_half(x.dtype) and (not core.is_value(scale) or util.is_half(scale.dtype))
  if is_known(scale) and not x.is_constant and not is_half then
    return M.quantize_by_division(g, x, scale, zero, dtype, layout, low, high)
  end
  x = product(g, x, scale, early and zero, layout)
  if early then zero = nil end
  local one = zero and g.full(layout.sizes, 1.0, "float32") or 1.0
  return M.quantize_by_division(g, x, one, zero, dtype, zero and layout or { sizes = {} }, low, high)
end

-- ---- the report ----

-- How often a call quantises and goes back.
local function steps_of(op)
  local name = op:match("::_?(.*)$") or ""
  if name:find("^fake_quant") or name:find("^fused_moving_avg_obs_fake_quant") then return 1, 1 end
  local back = name:find("^dequantize_") or name:find("^embedding_byte")
  return name:find("^quantize_") and 1 or 0, back and 1 or 0
end

--- For the report of a conversion: from { op = number of nodes } of both graphs a JSON object and a line of text; nil
--- where nothing quantises.
function M.counts(torch, onnx)
  local quantize, dequantize = 0, 0
  for op, n in pairs(torch) do
    local q, d = steps_of(op)
    quantize, dequantize = quantize + q * n, dequantize + d * n
  end
  if quantize + dequantize == 0 then return nil end
  local q, d = onnx["onnx::QuantizeLinear"] or 0, onnx["onnx::DequantizeLinear"] or 0
  return string.format('{"quantize": {"torch": %d, "onnx": %d}, "dequantize": {"torch": %d, "onnx": %d}}', quantize, q,
                       dequantize, d),
    string.format("quantised: %d QuantizeLinear of %d calls, %d DequantizeLinear of %d", q, quantize, d, dequantize)
end

-- ---- parameters from data ----

--- Least and largest over dims (all, where nil), stretched to hold 0.
function M.range_of(g, x, dims, keepdims)
  local axes, attrs = dims and g.ints(dims), { keepdims = keepdims and 1 or 0 }
  local zero = g.scalar(0, x)
  return g.Min(g.ReduceMin(x, axes, attrs), zero), g.Max(g.ReduceMax(x, axes, attrs), zero)
end

--- A scale of at least so much, compared as a dtype (its own, where nil).
function M.bounded(g, scale, at_least, dtype)
  scale = scale:to(dtype or scale.dtype)
  return g.Max(scale, g.scalar(at_least, scale))
end

--- The scale that takes low to high (floats that hold 0) to the ends of a range of so many steps.
function M.affine_scale(g, low, high, steps)
  return rounded(g, "Div", rounded(g, "Sub", high, low), g.scalar(steps, low))
end

--- The scale for numbers as far on both sides.
function M.symmetric_scale(g, low, high, steps)
  return rounded(g, "Div", g.Max(g.Neg(low), high), g.scalar(steps / 2, low))
end

--- Where 0 stands in a range that begins with low; a float.
function M.zero_point(g, low, scale, quant_min, quant_max)
  local zero = rounded(g, "Sub", g.scalar(quant_min, scale), g.Round(rounded(g, "Div", low:to(scale.dtype), scale)))
  return g.Min(g.Max(zero, g.scalar(quant_min, zero)), g.scalar(quant_max, zero))
end

return M
