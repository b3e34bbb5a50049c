-- tests/rules/torchvision/ops.lua: what the rules in rules/torchvision/ops.lua build.

return {
  namespace = "torchvision",
  { "nms", { dets = "f32[40, 4]", scores = "f32[40]", iou_threshold = 0.5 }, "i64[u0]",
    want = "Gather(NonMaxSuppression(Unsqueeze(dets, {0}), Unsqueeze(scores, {0, 1}), {40}, {0.5}), 2, axis=1)" },
  { "ps_roi_pool", { input = "f32[1, 8, 6, 6]", rois = "f32[k, 5]", spatial_scale = 0.5, pooled_height = 2, pooled_width = 2 }, { "f32[k, 2, 2, 2]", "i32[k, 2, 2, 2]" },
    nodes = 71 },
  { "deform_conv2d", { input = "f32[1, 2, 5, 5]", weight = "f32[4, 1, 3, 3]", offset = "f32[1, 36, 3, 3]", mask = "f32[1, 0]", bias = "f32[4]", stride_h = 2, stride_w = 2, pad_h = 1, pad_w = 1, dilation_h = 1, dilation_w = 1, groups = 2, offset_groups = 2, use_mask = false }, "f32[1, 4, 3, 3]",
    want = "DeformConv(input, weight, offset, bias, dilations={1, 1}, group=2, offset_group=2, pads={1, 1, 1, 1}, strides={2, 2})" },
  { "ps_roi_align", { input = "f32[1, 8, 8, 8]", rois = "f32[3, 5]", spatial_scale = 1.0, pooled_height = 2, pooled_width = 2, sampling_ratio = 2 }, { "f32[3, 2, 2, 2]", "-" },
    want = "Reshape(Gather(Reshape(RoiAlign(input, Slice(rois, {1}, {5}, {1}), Cast(Squeeze(Slice(rois, {0}, {1}, {1}), {1}), to=int64), coordinate_transformation_mode=half_pixel, output_height=2, output_width=2, sampling_ratio=2, spatial_scale=1), {3, 2, 16}), {0, 5, 10, 15}, axis=2), {3, 2, 2, 2})" },
  { "roi_align", { input = "f32[1, 2, 8, 8]", rois = "f32[3, 5]", spatial_scale = 0.5, pooled_height = 3, pooled_width = 2, sampling_ratio = 2, aligned = true }, "f32[3, 2, 3, 2]",
    want = "RoiAlign(input, Slice(rois, {1}, {5}, {1}), Cast(Squeeze(Slice(rois, {0}, {1}, {1}), {1}), to=int64), coordinate_transformation_mode=half_pixel, output_height=3, output_width=2, sampling_ratio=2, spatial_scale=0.5)" },
  { "roi_pool", { input = "f32[1, 2, 9, 9]", rois = "f32[3, 5]", spatial_scale = 0.5, pooled_height = 1, pooled_width = 2 }, { "f32[3, 2, 1, 2]", "-" },
    want = "MaxRoiPool(input, rois, pooled_shape={1, 2}, spatial_scale=0.5)" },
  { "roi_pool", { input = "f32[1, 2, 9, 9]", rois = "f32[3, 5]", spatial_scale = 1.0, pooled_height = 2, pooled_width = 3 }, { "f32[3, 2, 2, 3]", "-" },
    want = "MaxRoiPool(input, rois, pooled_shape={2, 3}, spatial_scale=1)" },
}
