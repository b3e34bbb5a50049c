-- rules/infer/random.lua: random numbers.

local infer = require("t2o.infer")

infer.registry:rule({ "RandomNormal", "RandomUniform" }, function(n) return n.attrs.shape end)

infer.registry:rule("Multinomial", function(n)
  local x = infer.shape(n, 1)
  return x and { x[1], infer.attr(n, "sample_size", 1) }
end)
