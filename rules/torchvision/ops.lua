-- rules/torchvision/ops.lua: boxes, regions of interest, deformable convolution.

local torchvision = require("t2o.rules").namespace("torchvision")
local util = require("t2o.util")

torchvision:rule("nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor", function(g, a)
  if a.iou_threshold < 0 or a.iou_threshold > 1 then g.decline("an IoU threshold outside of 0 to 1") end
  if a.dets.dtype == "float64" then g.decline("ONNX selects boxes in single precision only") end
  local boxes = g.Unsqueeze(a.dets:to("float32"), g.ints { 0 })
  local scores = g.Unsqueeze(a.scores:to("float32"), g.ints { 0, 1 })
  local chosen = g.NonMaxSuppression(boxes, scores, g.ints { a.dets:size(0) }, g.const({ a.iou_threshold }, "float32"))
  return g.Gather(chosen, g.const(2, "int64"), { axis = 1 }) -- rows are batch, class, box
end)

-- The regions' image numbers and their corners.
local function split_rois(g, rois)
  local axis = g.ints { 1 }
  local image = g.Squeeze(g.Slice(rois, g.ints { 0 }, g.ints { 1 }, axis), axis)
  return image:to("int64"), g.Slice(rois, g.ints { 1 }, g.ints { 5 }, axis)
end

local function roi_align(g, a, aligned)
  if not util.all_static { a.pooled_height, a.pooled_width } then g.decline("a dynamic number of bins") end
  local image, corners = split_rois(g, a.rois)
  return g.RoiAlign(a.input, corners, image, {
    coordinate_transformation_mode = aligned and "half_pixel" or "output_half_pixel", spatial_scale = a.spatial_scale,
    output_height = a.pooled_height, output_width = a.pooled_width, sampling_ratio = math.max(a.sampling_ratio, 0),
  })
end

torchvision:rule("roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width, "
                 .. "int sampling_ratio, bool aligned) -> Tensor",
  function(g, a) return roi_align(g, a, a.aligned) end)

-- The second result, which element was the largest, has no form in ONNX.
torchvision:rule("roi_pool(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width) "
                 .. "-> (Tensor, Tensor)",
  function(g, a)
    return g.MaxRoiPool(a.input, a.rois, { pooled_shape = { a.pooled_height, a.pooled_width },
                                           spatial_scale = a.spatial_scale })
  end)

-- From which channel each bin of each region was taken, where every bin has its own.
local function channel_of_each(g, shape)
  local channels = util.product(shape, 2)
  local one = { 1, table.unpack(shape, 2) }
  return g.expand(g.reshape(util.arange(g, channels):to("int32"), one), shape)
end

-- Every bin has channels of its own: of the bins of all channels, those stay that belong together.
torchvision:rule("ps_roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, "
                 .. "SymInt pooled_width, int sampling_ratio) -> (Tensor, Tensor)",
  function(g, a)
    local h, w = a.pooled_height, a.pooled_width
    local all, bins, own = roi_align(g, a, true), h * w, {}
    local regions, channels = all:size(0), all:size(1) // bins
    for i = 1, bins do own[i] = (i - 1) * (bins + 1) end
    local y = g.Gather(g.reshape(all, { regions, channels, bins * bins }), g.const(own, "int64"), { axis = 2 })
    local shape = { regions, channels, h, w }
    return g.reshape(y, shape), channel_of_each(g, shape)
  end)

-- To the nearest whole number, halves away from 0.
local function rounded(g, x)
  local size = g.Abs(x)
  local whole = g.Floor(size)
  local up = g.GreaterOrEqual(size - whole, g.scalar(0.5, x.dtype)):to(x.dtype)
  return g.Sign(x) * (whole + up)
end

-- Of bins along one axis: 1 for the pixels in each, [regions, bins, pixels], and their number, [regions, bins, 1]. The
-- last pixel is in none, as in torchvision.
local function bins_of(g, from, to, bins, pixels)
  local dtype = from.dtype
  local function clipped(x) return g.Min(g.Max(x + from, g.scalar(0, dtype)), g.scalar(pixels - 1, dtype)) end
  local size = g.Max(to - from, g.scalar(1, dtype)) / g.scalar(bins, dtype)
  local number = g.reshape(util.arange(g, bins), { 1, bins, 1 }):to(dtype)
  local first = clipped(g.Floor(number * size))
  local last = clipped(g.Ceil((number + g.scalar(1, dtype)) * size))
  local place = util.arange(g, pixels):to(dtype)
  local inside = g.And(g.GreaterOrEqual(place, first), g.Less(place, last)):to(dtype)
  return inside, g.Max(last - first, g.scalar(0, dtype))
end

-- The mean of each bin over the pixels that begin in it, every bin having channels of its own.
torchvision:rule("ps_roi_pool(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, "
                 .. "SymInt pooled_width) -> (Tensor, Tensor)",
  function(g, a, n)
    local h, w, x = a.pooled_height, a.pooled_width, a.input
    if not util.all_static { h, w } then g.decline("a dynamic number of bins") end
    local image, corners = split_rois(g, a.rois)
    local regions, channels = a.rois:size(0), x:size(1) // (h * w)
    local edges = g.Unsqueeze(rounded(g, corners * g.scalar(a.spatial_scale, corners.dtype)), g.ints { -1 })
    local left, top, right, bottom = table.unpack(g.Split(edges, { axis = 1, num_outputs = 4, outputs = 4 }))
    local rows, tall = bins_of(g, top, bottom, h, x:size(2))
    local columns, wide = bins_of(g, left, right, w, x:size(3))
    local each = util.equal(x:size(0), 1) and 1 or regions
    if each ~= 1 then x = g.Gather(x, image, { axis = 0 }) end
    x = g.reshape(x, { each, channels, h, w, x:size(2), x:size(3) })
    local y = g.MatMul(x, g.Unsqueeze(columns, g.ints { 1, 2, 5 }))
    y = g.MatMul(g.Unsqueeze(rows, g.ints { 1, 3, 4 }), y)
    local area = tall * g.Transpose(wide, { perm = { 0, 2, 1 } })
    y = g.reshape(y, n.outputs[1].shape) / g.Max(g.Unsqueeze(area, g.ints { 1 }), g.scalar(1, x.dtype))
    return y, channel_of_each(g, n.outputs[2].shape)
  end)

torchvision:rule("deform_conv2d(Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, SymInt stride_h, "
                 .. "SymInt stride_w, SymInt pad_h, SymInt pad_w, SymInt dilation_h, SymInt dilation_w, SymInt groups, "
                 .. "SymInt offset_groups, bool use_mask) -> Tensor",
  function(g, a)
    return g.DeformConv(a.input, a.weight, a.offset, a.bias, a.use_mask and a.mask or nil, {
      strides = { a.stride_h, a.stride_w }, pads = { a.pad_h, a.pad_w, a.pad_h, a.pad_w },
      dilations = { a.dilation_h, a.dilation_w }, group = a.groups, offset_group = a.offset_groups,
    })
  end)
