-- rules/aten/activation.lua: activation functions.

local aten = require("t2o.rules").namespace("aten")

aten:map {
  ["relu(Tensor self) -> Tensor"] = "Relu",
  ["sigmoid(Tensor self) -> Tensor"] = "Sigmoid",
  ["tanh(Tensor self) -> Tensor"] = "Tanh",
}
