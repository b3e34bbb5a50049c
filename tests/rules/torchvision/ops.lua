-- tests/rules/torchvision/ops.lua: what the rules in rules/torchvision/ops.lua build.

return {
  namespace = "torchvision",
  { "nms", { dets = "f32[40, 4]", scores = "f32[40]", iou_threshold = 0.5 }, "i64[u0]",
    want = "Gather(NonMaxSuppression(Unsqueeze(dets, {0}), Unsqueeze(scores, {0, 1}), {40}, {0.5}), 2, axis=1)" },
}
