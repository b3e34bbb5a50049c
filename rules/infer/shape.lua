-- rules/infer/shape.lua: operators that move elements.

local infer = require("t2o.infer")

infer.registry:rule("Transpose", function(n)
  local x = infer.shape(n, 1)
  if not x then return nil end
  local out = {}
  for i = 1, #x do
    out[i] = n.attrs.perm and x[n.attrs.perm[i] + 1] or x[#x + 1 - i]
  end
  return out
end)
