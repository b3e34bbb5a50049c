-- rules/infer/ml.lua: shapes of ai.onnx.ml.

local infer = require("t2o.infer")

infer.registry:rule({
  "ai.onnx.ml::Binarizer", "ai.onnx.ml::Imputer", "ai.onnx.ml::LabelEncoder", "ai.onnx.ml::Normalizer",
  "ai.onnx.ml::Scaler",
}, function(n) return infer.shape(n, 1) end)

infer.registry:rule("ai.onnx.ml::LinearRegressor", function(n)
  local x = infer.shape(n, 1)
  return x and #x == 2 and { x[1], infer.attr(n, "targets", 1) } or nil
end)
