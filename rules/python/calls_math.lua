-- rules/python/calls_math.lua: bits and random numbers.

local python = require("t2o.pyrules").registry

python:operator {
  ["bitwise_left_shift.Tensor"] = "<<", ["bitwise_left_shift.Tensor_Scalar"] = "<<",
  ["bitwise_right_shift.Tensor"] = ">>", ["bitwise_right_shift.Tensor_Scalar"] = ">>",
}

python:method { "isposinf", "isneginf", "bernoulli", "multinomial" }

python:call("torch", { "rand", "randn", "rand_like", "randn_like" })
