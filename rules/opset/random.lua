-- rules/opset/random.lua: dropout and draws.

local lib = require("t2o.opset")
local opset = lib.registry

local function all_true(g, x)
  return g.Expand(g.const(true), g.Shape(x))
end

opset:express("Dropout(data, ratio?, training_mode?) {seed}", { below = 12 }, function(g, n)
  local training = n.training_mode
  if training and not training.is_constant then g.decline("a training mode that is computed at run time") end
  if not (training and training:item()) then return g.Identity(n.data), all_true(g, n.data) end
  local ratio = n.ratio and n.ratio:to("float32") or g.scalar(0.5, "float32")
  local draw = g.RandomUniformLike(n.data, { dtype = 1, seed = n.seed and n.seed + 0.0 })
  local mask = g.Not(g.Less(draw, ratio))
  local scale = g.Div(g.scalar(1, "float32"), g.Sub(g.scalar(1, "float32"), ratio)):to(n.data.dtype)
  return g.Where(mask, g.Mul(n.data, scale), g.scalar(0, n.data)), mask
end)

opset:express("Bernoulli(input) {dtype, seed}", { below = 15 }, function(g, n)
  local draw = g.RandomUniformLike(n.input, { dtype = 1, seed = n.seed })
  return g.Less(draw, n.input:to("float32")):to(n.outputs[1].dtype)
end)

-- A dtype that the older version cannot make is made from another one.
for _, op in ipairs { "EyeLike", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike" } do
  opset:lower(op .. "()", { below = 22 }, function(g, n)
    if n.outputs[1].dtype ~= "bfloat16" then return end
    local inputs = { n = n.inputs.n + 1, table.unpack(n.inputs, 1, n.inputs.n) }
    if inputs[1] then inputs[1] = inputs[1]:to("float32") end
    inputs[inputs.n] = lib.attrs(n, { dtype = 1 })
    return g[op](table.unpack(inputs, 1, inputs.n)):to("bfloat16")
  end)
end
