-- custom.lua: mylib::swish_bias with ONNX's own operators.

local mylib = require("t2o.rules").namespace("mylib")

mylib:rule("swish_bias(Tensor x, Tensor b, float beta=1.0) -> Tensor", function(g, a)
  local y = a.x + a.b
  return y * g.Sigmoid(y * a.beta)
end)
