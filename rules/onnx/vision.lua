-- rules/onnx/vision.lua: regions and grids of images.

local onnx = require("t2o.back").registry

onnx:rule("RoiAlign(X, rois, batch_indices) {mode='avg', output_height=1, output_width=1, sampling_ratio=0, "
  .. "spatial_scale=1.0, coordinate_transformation_mode='half_pixel'}", function(t, n)
  local shift = n.coordinate_transformation_mode == "half_pixel" and 0.5 or 0.0
  return t.helper.roi_align(n.X, n.rois, n.batch_indices, { n.output_height, n.output_width }, n.spatial_scale,
                            n.sampling_ratio, shift, n.mode == "max")
end)

onnx:rule("MaxRoiPool(X, rois) {spatial_scale=1.0}", function(t, n)
  return t.helper.roi_max_pool(n.X, n.rois, n.pooled_shape, n.spatial_scale)
end)

local MODES = { linear = 0, nearest = 1, cubic = 2 }
local BORDERS = { zeros = 0, border = 1, reflection = 2 }

onnx:rule("GridSample(X, grid) {mode='linear', padding_mode='zeros', align_corners=0}", function(t, n)
  local rank = n.X.rank
  if rank ~= 4 and rank ~= 5 or rank == 5 and n.mode == "cubic" then
    t.decline("GridSample of rank " .. rank .. " in mode " .. n.mode)
  end
  return t.aten.grid_sampler(n.X, t.to(n.grid, n.X.dtype), MODES[n.mode], BORDERS[n.padding_mode],
                             n.align_corners ~= 0)
end)

onnx:rule("AffineGrid(theta, size) {align_corners=0}", function(t, n)
  return t.aten.affine_grid_generator(n.theta, t.sizes(n.size), n.align_corners ~= 0)
end)

onnx:rule("NonMaxSuppression(boxes, scores, max_output_boxes_per_class?, iou_threshold?, score_threshold?) "
  .. "{center_point_box=0}", function(t, n)
  local limit = n.max_output_boxes_per_class
  if not limit then return t.aten.zeros({ 0, 3 }, { dtype = "int64" }) end
  local function number(v) return v and (t.number(v) or t.aten.item(v)) or nil end
  return t.helper.non_max_suppression(n.boxes, n.scores, number(limit), number(n.iou_threshold) or 0.0,
                                      number(n.score_threshold), n.center_point_box ~= 0)
end)
