-- rules/transformers/ops.lua: operators that transformers registers.

local transformers = require("t2o.rules").namespace("transformers")

-- What it uses for experts in place of torch's own wherever that cannot be exported.
transformers:rule("grouped_mm_fallback(Tensor input, Tensor weight, Tensor offs) -> Tensor", function(g, a)
  return g.aten._grouped_mm(a.input, a.weight, a.offs)
end)
