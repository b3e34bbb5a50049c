-- rules/onnx/training.lua: one step of an optimiser.

local onnx = require("t2o.back").registry

-- Inputs behind rate and time: `groups` lists of as many tensors each, as steps { x, g, ... }.
local function steps_of(t, n, groups)
  local count = (n.inputs.n - 2) // groups
  if count * groups ~= n.inputs.n - 2 then t.decline("a number of inputs that is no multiple of " .. groups) end
  local out = {}
  for i = 1, count do
    out[i] = {}
    for group = 1, groups do out[i][group] = n.inputs[2 + (group - 1) * count + i] end
  end
  return out
end

-- Results of the steps: first those of all tensors, then their states.
local function results_of(steps, results)
  local out, count = {}, #steps
  for group = 1, #results[1] do
    for i = 1, count do out[(group - 1) * count + i] = results[i][group] end
  end
  return table.unpack(out)
end

local function each(t, n, groups, step)
  local steps, results = steps_of(t, n, groups), {}
  for i, inputs in ipairs(steps) do results[i] = { step(table.unpack(inputs)) } end
  return results_of(steps, results)
end

local function weighted(t, x, factor, y, by)
  if factor == 0 then return by and by ~= 1 and t.aten["mul.Tensor"](y, by) or y end
  local scaled = by and by ~= 1 and t.aten["mul.Tensor"](y, by) or y
  return t.aten["add.Tensor"](scaled, x, { alpha = factor ~= 1 and factor or nil })
end

onnx:rule("ai.onnx.preview.training::Adagrad(R, T) {decay_factor=0.0, epsilon=1e-06, norm_coefficient=0.0}",
  function(t, n)
    local aten = t.aten
    local rate = n.R
    if n.decay_factor ~= 0 then
      local decay = aten["add.Tensor"](aten["mul.Tensor"](n.T, n.decay_factor), 1)
      rate = aten["div.Tensor"](rate, decay)
    end
    return each(t, n, 3, function(x, g, h)
      g = weighted(t, x, n.norm_coefficient, g)
      h = aten["add.Tensor"](h, aten.square(g))
      local root = aten["add.Tensor"](aten.sqrt(h), n.epsilon)
      return aten["sub.Tensor"](x, aten["div.Tensor"](aten["mul.Tensor"](rate, g), root)), h
    end)
  end)

onnx:rule("ai.onnx.preview.training::Adam(R, T) {alpha=0.9, beta=0.999, epsilon=1e-06, norm_coefficient=0.0, "
  .. "norm_coefficient_post=0.0}", function(t, n)
  local aten = t.aten
  local function rest(factor) -- 1 - factor ** T
    return aten["rsub.Scalar"](aten["pow.Scalar"](factor, n.T), 1)
  end
  local corrected = aten["div.Tensor"](aten["mul.Tensor"](n.R, aten.sqrt(rest(n.beta))), rest(n.alpha))
  local rate = aten["where.self"](aten["gt.Scalar"](n.T, 0), corrected, n.R)
  return each(t, n, 4, function(x, g, v, h)
    g = weighted(t, x, n.norm_coefficient, g)
    v = weighted(t, v, n.alpha, g, t.rounded(1 - n.alpha))
    h = weighted(t, h, n.beta, aten.square(g), t.rounded(1 - n.beta))
    local step = aten["div.Tensor"](v, aten["add.Tensor"](aten.sqrt(h), n.epsilon))
    local y = aten["sub.Tensor"](x, aten["mul.Tensor"](rate, step))
    if n.norm_coefficient_post ~= 0 then y = aten["mul.Tensor"](y, t.rounded(1 - n.norm_coefficient_post)) end
    return y, v, h
  end)
end)

onnx:rule("ai.onnx.preview.training::Momentum(R, T) {alpha, beta, mode, norm_coefficient=0.0}", function(t, n)
  local aten = t.aten
  local beta = n.beta
  if beta ~= 1 then -- the first step counts the whole gradient
    beta = aten["where.self"](aten["gt.Scalar"](n.T, 0), t.scalar(beta, "float32"), t.scalar(1.0, "float32"))
  end
  return each(t, n, 3, function(x, g, v)
    g = weighted(t, x, n.norm_coefficient, g)
    v = weighted(t, v, n.alpha, g, beta)
    local step = n.mode == "nesterov" and weighted(t, v, n.alpha, g) or v
    return aten["sub.Tensor"](x, aten["mul.Tensor"](n.R, step)), v
  end)
end)
