-- rules/onnx/loss.lua: losses.

local onnx = require("t2o.back").registry

local REDUCTIONS = { none = 0, mean = 1, sum = 2 }

onnx:rule("NegativeLogLikelihoodLoss(input, target, weight?) {reduction='mean'}", function(t, n)
  return t.aten.nll_loss_nd(n.input, t.to(n.target, "int64"), n.weight, REDUCTIONS[n.reduction], n.ignore_index)
end)

onnx:rule("SoftmaxCrossEntropyLoss(scores, labels, weights?) {reduction='mean'}", function(t, n)
  local labels, reduction = t.to(n.labels, "int64"), REDUCTIONS[n.reduction]
  if not t.wants(n.outputs[2]) then
    return t.aten.cross_entropy_loss(n.scores, labels, n.weights, reduction, n.ignore_index)
  end
  local logs = t.aten["log_softmax.int"](n.scores, 1)
  return t.aten.nll_loss_nd(logs, labels, n.weights, reduction, n.ignore_index), logs
end)
