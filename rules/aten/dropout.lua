-- rules/aten/dropout.lua: dropout, which does nothing outside of training.

local aten = require("t2o.rules").namespace("aten")

local RANDOM = "dropout in training is random; export the model in evaluation mode: model.eval()"

-- What of dropout is not random: none of the elements dropped, or all.
for _, name in ipairs { "dropout", "feature_dropout", "alpha_dropout", "feature_alpha_dropout" } do
  aten:rule(name .. "(Tensor input, float p, bool train) -> Tensor", function(g, a)
    if not a.train or a.p == 0 then return g.Identity(a.input) end
    if a.p ~= 1 then g.decline(RANDOM) end
    return g.Mul(a.input, g.scalar(0, a.input.dtype))
  end)
end

-- A missing `train` means training.
aten:rule("native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor)", function(g, a)
  local all = a.train == false or a.p == 0
  if not all and a.p ~= 1 then g.decline(RANDOM) end
  local y = all and g.Identity(a.input) or g.Mul(a.input, g.scalar(0, a.input.dtype))
  return y, g.full(a.input.shape, all, "bool")
end)

aten:rule("native_dropout_backward(Tensor grad_output, Tensor mask, float scale) "
          .. "-> Tensor", function(_, a)
  return a.grad_output * a.mask * a.scale
end)
