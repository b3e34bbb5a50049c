-- rules/opset/norm.lua: normalisations as the operators that they are made of.

local lib = require("t2o.opset")
local opset = lib.registry
local types = require("t2o.types")
local util = require("t2o.util")

-- The dtype in which the statistics are computed, by the number that ONNX gives it. What follows is computed in it too
-- and rounded once, as PyTorch does.
local STASH = { [1] = "float32", [10] = "float16", [11] = "float64", [16] = "bfloat16" }

local function stash(x, stash_type)
  local dtype = STASH[stash_type] or x.dtype
  return x.dtype == "float64" and x or x:to(dtype)
end

-- x without its mean, and the reciprocal of its deviation, over some axes.
local function standardise(g, x, axes, epsilon)
  local mean = g.ReduceMean(x, g.ints(axes), { keepdims = 1 })
  local centred = g.Sub(x, mean)
  local variance = g.ReduceMean(g.Mul(centred, centred), g.ints(axes), { keepdims = 1 })
  return centred, g.Sqrt(variance + epsilon), mean
end

opset:express("LayerNormalization(X, Scale, B?) {axis=-1, epsilon=1e-5, stash_type=1}", { below = 17 }, function(g, n)
  local rank = lib.rank(n.X)
  local axes = util.range(util.dim(n.axis, rank), rank - 1)
  local centred, deviation, mean = standardise(g, stash(n.X, n.stash_type), axes, n.epsilon)
  local normal = g.Div(centred, deviation)
  local y = g.Mul(normal, n.Scale:to(normal.dtype))
  if n.B then y = g.Add(y, n.B:to(y.dtype)) end
  local function also(i, v) return n.outputs[i] and v:to(n.outputs[i].dtype) end
  return y:to(n.X.dtype), also(2, mean), also(3, g.Reciprocal(deviation))
end)

opset:express("RMSNormalization(X, scale) {axis=-1, epsilon=1e-5, stash_type=1}", { below = 23 }, function(g, n)
  local rank = lib.rank(n.X)
  local x = stash(n.X, n.stash_type)
  local axes = util.range(util.dim(n.axis, rank), rank - 1)
  local square = g.ReduceMean(g.Mul(x, x), g.ints(axes), { keepdims = 1 })
  local normal = g.Div(x, g.Sqrt(square + n.epsilon))
  return g.Mul(normal, n.scale:to(normal.dtype)):to(n.scale.dtype)
end)

-- The deprecated form of opset 18 has one scale a group; it is not used.
opset:express("GroupNormalization(X, scale, bias) {epsilon=1e-5, num_groups, stash_type=1}", { below = 21 },
  function(g, n)
    local rank, groups = lib.rank(n.X), n.num_groups
    local x = stash(n.X, n.stash_type)
    local grouped = g.Reshape(x, g.ints { 0, groups, -1 })
    local normal
    if x.dtype == "float32" then
      local one, zero = g.ones({ groups }, x.dtype), g.zeros({ groups }, x.dtype)
      normal = g.InstanceNormalization(grouped, one, zero, { epsilon = n.epsilon })
    else
      local centred, deviation = standardise(g, grouped, { 2 }, n.epsilon)
      normal = g.Div(centred, deviation)
    end
    normal = g.Reshape(normal, g.Shape(n.X))
    local function per_channel(v)
      v = v:to(normal.dtype)
      return rank == 2 and v or g.Unsqueeze(v, g.ints(util.range(1, rank - 2)))
    end
    return g.Add(g.Mul(normal, per_channel(n.scale)), per_channel(n.bias)):to(n.X.dtype)
  end)

-- ---- BatchNormalization ----

local function batch_statistics(g, n)
  local rank = lib.rank(n.X)
  local axes = { 0 }
  for i = 2, rank - 1 do axes[#axes + 1] = i end
  local wide = types.bits(n.X.dtype) == 16 and n.X:to("float32") or n.X
  local centred, deviation, mean = standardise(g, wide, axes, n.epsilon)
  local variance = g.ReduceMean(g.Mul(centred, centred), g.ints(axes), { keepdims = 0 })
  local function per_channel(v)
    v = v:to(wide.dtype)
    return rank > 2 and g.Unsqueeze(v, g.ints(util.range(1, rank - 2))) or v
  end
  local y = g.Add(g.Mul(g.Div(centred, deviation), per_channel(n.scale)), per_channel(n.B)):to(n.X.dtype)
  local function running(before, now)
    return g.Add(before * n.momentum, now:to(before.dtype) * (1 - n.momentum))
  end
  return y, running(n.input_mean, g.Reshape(mean, g.ints { -1 })), running(n.input_var, variance)
end

local BATCH_NORM = "BatchNormalization(X, scale, B, input_mean, input_var) "
                   .. "{epsilon=1e-5, momentum=0.9, training_mode=0}"

-- All in the dtype of X from opset 14 down, where it is not among the wider ones.
opset:lower(BATCH_NORM, { below = 15 }, function(g, n)
  local dtype, inputs = n.X.dtype, {}
  for i = 2, 5 do dtype = types.promote(dtype, n.inputs[i].dtype) end
  for i = 1, 5 do inputs[i] = n.inputs[i]:to(dtype) end
  local mixed = false
  for i = 1, 5 do mixed = mixed or inputs[i] ~= n.inputs[i] end
  if not mixed or n.training_mode == 1 then return end
  return g.BatchNormalization(inputs[1], inputs[2], inputs[3], inputs[4], inputs[5], n.attrs):to(n.X.dtype)
end)

opset:express(BATCH_NORM, { below = 14 }, function(g, n)
  if n.training_mode == 1 then return batch_statistics(g, n) end
end)

opset:lower(BATCH_NORM, { below = 14 }, function(_, n)
  if n.attrs.training_mode then return lib.again(n, nil, lib.attrs(n, { training_mode = false })) end
end)
