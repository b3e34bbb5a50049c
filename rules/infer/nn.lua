-- rules/infer/nn.lua: convolutions, pools, norms, recurrences, attention, resampling, losses.

local core = require("t2o.core")
local infer = require("t2o.infer")

-- ---- windows ----

local function entry(list, i, default) return list and list[i] or default end

-- How many windows fit along the i-th of m spatial sizes.
local function windows(n, d, k, i, m)
  local stride, dilation = entry(n.attrs.strides, i, 1), entry(n.attrs.dilations, i, 1)
  local auto = n.attrs.auto_pad or "NOTSET"
  if auto == "SAME_UPPER" or auto == "SAME_LOWER" then return infer.ceil_div(d, stride) end
  local pads = auto ~= "VALID" and n.attrs.pads or nil
  local before, after = entry(pads, i, 0), entry(pads, m + i, 0)
  local room = d + before + after - (dilation * (k - 1) + 1)
  if infer.attr(n, "ceil_mode", 0) == 0 then return room // stride + 1 end
  -- a window that would begin in the padding behind the input does not count
  return infer.min(infer.ceil_div(room, stride) + 1, infer.ceil_div(d + before, stride))
end

local function convolution(n, x, w)
  if not (x and w) then return w and infer.fresh(#w) end
  local out = { x[1], w[1] }
  for i = 1, #x - 2 do
    out[i + 2] = windows(n, x[i + 2], entry(n.attrs.kernel_shape, i, w[i + 2]), i, #x - 2)
  end
  return out
end

infer.registry:rule({ "Conv", "ConvInteger", "DeformConv", "com.microsoft::FusedConv" }, function(n)
  return convolution(n, infer.shape(n, 1), infer.shape(n, 2))
end)

infer.registry:rule("QLinearConv", function(n)
  return convolution(n, infer.shape(n, 1), infer.shape(n, 4))
end)

infer.registry:rule("ConvTranspose", function(n)
  local x, w = infer.shape(n, 1), infer.shape(n, 2)
  if not (x and w) then return nil end
  local a, m = n.attrs, #x - 2
  local out = { x[1], w[2] * infer.attr(n, "group", 1) }
  for i = 1, m do
    local stride, k = entry(a.strides, i, 1), entry(a.kernel_shape, i, w[i + 2])
    if a.output_shape then
      out[i + 2] = a.output_shape[#a.output_shape - m + i]
    elseif a.auto_pad == "SAME_UPPER" or a.auto_pad == "SAME_LOWER" then
      out[i + 2] = x[i + 2] * stride
    else
      out[i + 2] = stride * (x[i + 2] - 1) + entry(a.output_padding, i, 0)
        + (k - 1) * entry(a.dilations, i, 1) + 1 - entry(a.pads, i, 0) - entry(a.pads, m + i, 0)
    end
  end
  return out
end)

infer.registry:rule({ "AveragePool", "LpPool", "MaxPool" }, function(n)
  local x = infer.shape(n, 1)
  if not x then return nil end
  local out, m = { x[1], x[2] }, #x - 2
  for i = 1, m do out[i + 2] = windows(n, x[i + 2], n.attrs.kernel_shape[i], i, m) end
  return out, out
end)

infer.registry:rule({ "GlobalAveragePool", "GlobalLpPool", "GlobalMaxPool" }, function(n)
  local x = infer.shape(n, 1)
  for i = 3, x and #x or 0 do x[i] = 1 end
  return x
end)

infer.registry:rule("MaxUnpool", function(n)
  local x, a = infer.shape(n, 1), n.attrs
  if not x then return nil end
  if n.inputs[3] then return infer.content(n, 3) or infer.fresh(#x) end
  for i = 1, #x - 2 do
    x[i + 2] = (x[i + 2] - 1) * entry(a.strides, i, 1) + a.kernel_shape[i]
      - entry(a.pads, i, 0) - entry(a.pads, #x - 2 + i, 0)
  end
  return x
end)

infer.registry:rule("MaxRoiPool", function(n)
  local x, rois = infer.shape(n, 1), infer.shape(n, 2)
  return x and rois and { rois[1], x[2], n.attrs.pooled_shape[1], n.attrs.pooled_shape[2] }
end)

infer.registry:rule("RoiAlign", function(n)
  local x, rois = infer.shape(n, 1), infer.shape(n, 2)
  if not (x and rois) then return nil end
  return { rois[1], x[2], infer.attr(n, "output_height", 1), infer.attr(n, "output_width", 1) }
end)

infer.registry:rule("Col2Im", function(n)
  local x, image, block = infer.shape(n, 1), infer.content(n, 2), infer.content(n, 3)
  local m = image and #image or infer.length(n, 2)
  if not (x and m) then return nil end
  local channels = block and x[2] // infer.product(block) or core.fresh()
  return { x[1], channels, table.unpack(image or infer.fresh(m)) }
end)

infer.registry:rule("CausalConvWithState", function(n)
  local x, w = infer.shape(n, 1), infer.shape(n, 2)
  return x, x and w and { x[1], x[2], w[3] - 1 } or nil
end)

-- ---- norms ----

infer.registry:rule({
  "GroupNormalization", "InstanceNormalization", "LRN", "LpNormalization",
  "MeanVarianceNormalization", "RMSNormalization",
}, function(n) return infer.shape(n, 1) end)

infer.registry:rule("BatchNormalization", function(n)
  local mean, var = infer.shape(n, 4), infer.shape(n, 5)
  return infer.shape(n, 1), mean, var, mean, var
end)

infer.registry:rule("LayerNormalization", function(n)
  local x = infer.shape(n, 1)
  if not x then return nil end
  local axis, statistics = infer.axis(infer.attr(n, "axis", -1), #x), {}
  for i, d in ipairs(x) do statistics[i] = i < axis and d or 1 end
  return x, statistics, statistics
end)

-- ---- recurrences ----

infer.registry:rule({ "GRU", "LSTM", "RNN" }, function(n)
  local x, r = infer.shape(n, 1) or infer.fresh(3), infer.shape(n, 3)
  local hidden = n.attrs.hidden_size or r and r[3]
  if not hidden then return nil end
  local directions = n.attrs.direction == "bidirectional" and 2 or 1
  if infer.attr(n, "layout", 0) ~= 0 then
    local last = { x[1], directions, hidden }
    return { x[1], x[2], directions, hidden }, last, last
  end
  local last = { directions, x[2], hidden }
  return { x[1], directions, x[2], hidden }, last, last
end)

-- ---- attention ----

-- [B, heads, length, size] of an operand of rank 4, or of one of rank 3, heads side by side.
local function by_heads(x, heads)
  if not x or #x == 4 then return x end
  return heads and { x[1], heads, x[2], x[3] // heads }
end

infer.registry:rule("Attention", function(n)
  local packed = infer.shape(n, 1)
  local q = by_heads(packed, n.attrs.q_num_heads)
  local k = by_heads(infer.shape(n, 2), n.attrs.kv_num_heads)
  local v = by_heads(infer.shape(n, 3), n.attrs.kv_num_heads)
  if not (q and k and v) then return nil end
  local past = infer.shape(n, 5)
  if n.inputs[5] and not past then past = infer.fresh(4) end
  local total = past and past[3] + k[3] or k[3]
  local y = #packed == 4 and { q[1], q[2], q[3], v[4] } or { q[1], q[3], q[2] * v[4] }
  return y, { k[1], k[2], total, k[4] }, { v[1], v[2], total, v[4] }, { q[1], q[2], q[3], total }
end)

infer.registry:rule("LinearAttention", function(n)
  local q, k, v = infer.shape(n, 1), infer.shape(n, 2), infer.shape(n, 3)
  if not (q and k and v) then return nil end
  local heads = n.attrs.kv_num_heads
  local key_size, value_size = k[3] // heads, v[3] // heads
  return { q[1], q[2], n.attrs.q_num_heads * value_size }, { q[1], heads, key_size, value_size }
end)

infer.registry:rule("RotaryEmbedding", function(n) return infer.shape(n, 1) end)

-- ---- resampling ----

local function single(x) return (string.unpack("<f", string.pack("<f", x))) end

-- floor(d * factor), in single precision as runtimes compute it.
local function scaled(d, factor)
  factor = single(factor)
  if math.type(d) == "integer" then return math.tointeger(math.floor(single(d * factor))) end
  local whole = math.tointeger(factor * 256)
  return whole and d * whole // 256 or core.fresh()
end

local function by_scales(x, scales)
  if not scales then return infer.fresh(#x) end
  for i, factor in ipairs(scales) do x[i] = scaled(x[i], factor) end
  return x
end

infer.registry:rule("Upsample", function(n)
  local x = infer.shape(n, 1)
  return x and by_scales(x, n.attrs.scales or infer.numbers(n, 2))
end)

-- Sizes are bounds within which the aspect ratio is kept: rounded sizes of the axes in question.
local function keep_ratio(x, axes, sizes, pick)
  local scale
  for i, axis in ipairs(axes) do
    if math.type(sizes[i]) ~= "integer" or math.type(x[axis]) ~= "integer" then return false end
    local s = sizes[i] / x[axis]
    scale = scale and pick(scale, s) or s
  end
  for _, axis in ipairs(axes) do x[axis] = math.floor(scale * x[axis] + 0.5) end
  return true
end

infer.registry:rule("Resize", function(n)
  local x = infer.shape(n, 1)
  if not x then return nil end
  local axes, policy = {}, n.attrs.keep_aspect_ratio_policy or "stretch"
  for i = 1, n.attrs.axes and #n.attrs.axes or #x do
    axes[i] = n.attrs.axes and infer.axis(n.attrs.axes[i], #x) or i
  end
  local sizes, scales
  if n.inputs.n == 2 then -- the signature of opset 10
    scales = infer.numbers(n, 2)
  elseif n.inputs[4] then
    sizes = infer.content(n, 4)
  else
    scales = infer.numbers(n, 3)
  end
  if sizes and policy ~= "stretch" then
    if keep_ratio(x, axes, sizes, policy == "not_larger" and math.min or math.max) then return x end
    sizes = nil
  end
  for i, axis in ipairs(axes) do
    x[axis] = sizes and sizes[i] or scales and scaled(x[axis], scales[i]) or core.fresh()
  end
  return x
end)

infer.registry:rule("GridSample", function(n)
  local x, grid = infer.shape(n, 1), infer.shape(n, 2)
  return x and grid and { x[1], x[2], table.unpack(grid, 2, #grid - 1) }
end)

infer.registry:rule("AffineGrid", function(n)
  local size, rank = infer.content(n, 2), infer.length(n, 2)
  if not size then
    if not rank then return nil end
    size = infer.fresh(rank)
  end
  local out = { size[1], table.unpack(size, 3) }
  out[#out + 1] = #size - 2
  return out
end)

infer.registry:rule("NonMaxSuppression", function() return { core.fresh(), 3 } end)

-- ---- losses ----

local function loss(n)
  if (n.attrs.reduction or "mean") ~= "none" then return {} end
  return infer.shape(n, 2)
end

infer.registry:rule("NegativeLogLikelihoodLoss", loss)

infer.registry:rule("SoftmaxCrossEntropyLoss", function(n) return loss(n), infer.shape(n, 1) end)
