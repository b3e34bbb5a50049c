-- rules/aten/linear.lua: products of matrices.

local aten = require("t2o.rules").namespace("aten")

aten:rule("linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor", function(g, a)
  if a.input.rank == 2 then return g.Gemm(a.input, a.weight, a.bias, { transB = 1 }) end
  local y = g.MatMul(a.input, g.Transpose(a.weight, { perm = { 1, 0 } }))
  return a.bias and y + a.bias or y
end)
