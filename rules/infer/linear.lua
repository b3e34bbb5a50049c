-- rules/infer/linear.lua: products of matrices.

local infer = require("t2o.infer")

infer.registry:rule("Gemm", function(n)
  local a, b = infer.shape(n, 1), infer.shape(n, 2)
  if not (a and b) then return nil end
  return { n.attrs.transA == 1 and a[2] or a[1], n.attrs.transB == 1 and b[1] or b[2] }
end)

infer.registry:rule("MatMul", function(n)
  local a, b = infer.shape(n, 1), infer.shape(n, 2)
  if not (a and b) then return nil end
  local left, right = #a == 1, #b == 1
  if left then a = { 1, a[1] } end
  if right then b = { b[1], 1 } end
  local out = infer.broadcast({ table.unpack(a, 1, #a - 2) }, { table.unpack(b, 1, #b - 2) })
  if not left then out[#out + 1] = a[#a - 1] end
  if not right then out[#out + 1] = b[#b] end
  return out
end)
