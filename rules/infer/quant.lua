-- rules/infer/quant.lua: quantisation: the shape stays.

local infer = require("t2o.infer")

infer.registry:rule({ "QuantizeLinear", "DequantizeLinear" }, function(n)
  return infer.shape(n, 1)
end)

infer.registry:rule("DynamicQuantizeLinear", function(n) return infer.shape(n, 1), {}, {} end)
