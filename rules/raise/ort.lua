-- rules/raise/ort.lua: operators that ONNX Runtime's optimiser leaves in ONNX's own domain.

local core = require("t2o.core")
local opset = require("t2o.opset").registry

local ANY = 1000 -- no opset of ONNX has them

opset:raise("SimplifiedLayerNormalization(X, scale) {axis=-1, epsilon=1e-5}", { below = ANY }, function(g, n)
  if n.outputs.n > 1 then core.decline("its second output") end
  return g.RMSNormalization(n.X, n.scale, { axis = n.axis, epsilon = n.epsilon })
end)
