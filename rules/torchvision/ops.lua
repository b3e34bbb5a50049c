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

-- Every bin has channels of its own: of the bins of all channels, those stay that belong together.
torchvision:rule("ps_roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, "
                 .. "SymInt pooled_width, int sampling_ratio) -> (Tensor, Tensor)",
  function(g, a)
    local h, w = a.pooled_height, a.pooled_width
    local all, bins, own = roi_align(g, a, true), h * w, {}
    local regions, channels = all:size(0), all:size(1) // bins
    for i = 1, bins do own[i] = (i - 1) * (bins + 1) end
    local y = g.Gather(g.reshape(all, { regions, channels, bins * bins }), g.const(own, "int64"), { axis = 2 })
    return g.reshape(y, { regions, channels, h, w })
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
