-- rules/aten/norm.lua: batch, layer, group, instance and RMS normalisation.

local aten = require("t2o.rules").namespace("aten")
local util = require("t2o.util")

-- Statistics are computed in single precision at least, as PyTorch does for halves.
local function work_dtype(x)
  return x.dtype == "float64" and "float64" or "float32"
end

-- What the archive records for the i-th result, where the node has one.
local function recorded(n, i, default)
  local out = n.outputs[i]
  return out and out.kind == "tensor" and out.dtype or default
end

-- x less its mean over axes, times rstd; mean, rstd and variance keep the axes with size 1.
local function standardise(g, x, axes, eps)
  x = x:to(work_dtype(x))
  local over = g.ints(axes)
  local mean = g.ReduceMean(x, over)
  local centred = x - mean
  local var = g.ReduceMean(centred * centred, over)
  local rstd = g.Reciprocal(g.Sqrt(var + eps))
  return centred * rstd, mean, rstd, var
end

local function affine(y, weight, bias)
  if weight then y = y * weight:to(y.dtype) end
  return bias and y + bias:to(y.dtype) or y
end

local function affine_channels(g, y, weight, bias)
  return affine(y, weight and util.per_channel(g, weight, y.rank), bias and util.per_channel(g, bias, y.rank))
end

-- ---- batches ----

-- With the given statistics.
local function batch_eval(g, x, weight, bias, mean, var, eps)
  if util.contains(x.shape, 0) then return x end -- ONNX takes no operand of rank 1, which PyTorch lets pass when empty
  local dtype = (weight or bias or mean).dtype
  return g.BatchNormalization(x, weight or g.ones(mean.shape, dtype), bias or g.zeros(mean.shape, dtype), mean, var,
                              { epsilon = eps })
end

-- With the batch's own statistics: result, mean, rstd and variance of the channels.
local function batch_train(g, x, weight, bias, eps)
  local axes = { 0, table.unpack(util.range(2, x.rank - 1)) }
  local y, mean, rstd, var = standardise(g, x, axes, eps)
  local channels = { x:size(1) }
  return affine_channels(g, y, weight, bias):to(x.dtype), g.reshape(mean, channels), g.reshape(rstd, channels),
         g.reshape(var, channels)
end

local function batch_norm(g, a, training)
  if training or not a.running_mean then return batch_train(g, a.input, a.weight, a.bias, a.eps) end
  return batch_eval(g, a.input, a.weight, a.bias, a.running_mean, a.running_var, a.eps)
end

-- The second and third result; without training these are empty.
local function native_batch_norm(g, a, n, training)
  local y, mean, rstd, var = batch_norm(g, a, training)
  if not mean then
    return y, g.zeros({ 0 }, recorded(n, 2, "float32")), g.zeros({ 0 }, recorded(n, 3, "float32"))
  end
  return y, mean:to(recorded(n, 2, mean.dtype)), rstd:to(recorded(n, 3, mean.dtype)), mean, var
end

-- The running statistics after a step of training; PyTorch keeps the unbiased variance.
local function updated(g, a, mean, var)
  if not mean then return a.running_mean, a.running_var end
  local x, m = a.input, a.momentum
  local count = x:size(0) * util.product(x.shape, 3)
  local size = g.scalar(count, var.dtype)
  local unbiased = var * size / (size - 1.0)
  local function blend(old, new) return (old:to(new.dtype) * (1 - m) + new * m):to(old.dtype) end
  return blend(a.running_mean, mean), blend(a.running_var, unbiased)
end

local function only_three(y, mean, rstd) return y, mean, rstd end
local function reserve(g) return g.zeros({ 0 }, "uint8") end

aten:rule("batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, "
          .. "bool training, float momentum, float eps, bool cudnn_enabled) -> Tensor",
  function(g, a) return (batch_norm(g, a, a.training)) end)

for _, schema in ipairs {
  "native_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, "
    .. "bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
  "_native_batch_norm_legit(Tensor input, Tensor? weight, Tensor? bias, Tensor(a!) running_mean, "
    .. "Tensor(b!) running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
  "_native_batch_norm_legit.no_stats(Tensor input, Tensor? weight, Tensor? bias, bool training, float momentum, "
    .. "float eps) -> (Tensor, Tensor, Tensor)",
  "_native_batch_norm_legit_no_training(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, "
    .. "Tensor running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
} do
  aten:rule(schema, function(g, a, n) return only_three(native_batch_norm(g, a, n, a.training)) end)
end

aten:rule("cudnn_batch_norm(Tensor input, Tensor weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, "
          .. "bool training, float exponential_average_factor, float epsilon) -> (Tensor, Tensor, Tensor, Tensor)",
  function(g, a)
    a.eps = a.epsilon
    return (batch_norm(g, a, a.training))
  end)

aten:rule("_native_batch_norm_legit_functional(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, "
          .. "Tensor running_var, bool training, float momentum, float eps) "
          .. "-> (Tensor, Tensor, Tensor, Tensor running_mean_out, Tensor running_var_out)",
  function(g, a, n)
    local y, mean, rstd, batch_mean, batch_var = native_batch_norm(g, a, n, a.training)
    return y, mean, rstd, updated(g, a, batch_mean, batch_var)
  end)

aten:rule("_batch_norm_with_update(Tensor input, Tensor? weight, Tensor? bias, Tensor(a!) running_mean, "
          .. "Tensor(b!) running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor, Tensor)",
  function(g, a, n)
    local y, mean, rstd = native_batch_norm(g, a, n, true)
    return y, mean, rstd, reserve(g)
  end)

aten:rule("_batch_norm_with_update_functional(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, "
          .. "Tensor running_var, float momentum, float eps) "
          .. "-> (Tensor, Tensor, Tensor, Tensor, Tensor running_mean_out, Tensor running_var_out)",
  function(g, a, n)
    local y, mean, rstd, batch_mean, batch_var = native_batch_norm(g, a, n, true)
    return y, mean, rstd, reserve(g), updated(g, a, batch_mean, batch_var)
  end)

aten:rule("_batch_norm_no_update(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, "
          .. "Tensor? running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor, Tensor)",
  function(g, a, n)
    local y, mean, rstd = native_batch_norm(g, a, n, false)
    return y, mean, rstd, reserve(g)
  end)

-- ---- instances ----

aten:rule("instance_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, "
          .. "bool use_input_stats, float momentum, float eps, bool cudnn_enabled) -> Tensor",
  function(g, a)
    local x, c = a.input, { a.input:size(1) }
    if not a.use_input_stats then
      return batch_eval(g, x, a.weight, a.bias, a.running_mean, a.running_var, a.eps)
    end
    local w, b = a.weight or g.ones(c, x.dtype), a.bias or g.zeros(c, x.dtype)
    if x.dtype ~= "float64" and w.dtype == x.dtype and b.dtype == x.dtype then
      return g.InstanceNormalization(x, w, b, { epsilon = a.eps })
    end
    local y = standardise(g, x, util.range(2, x.rank - 1), a.eps)
    return affine_channels(g, y, a.weight, a.bias):to(x.dtype)
  end)

-- ---- layers ----

-- ONNX computes LayerNormalization and its like in single precision, whatever the dtype; and in one dtype.
local function in_one_operator(x, weight, bias)
  return x.dtype ~= "float64" and (not weight or weight.dtype == x.dtype) and (not bias or bias.dtype == x.dtype)
end

local function layer_norm(g, a)
  local x, m = a.input, #a.normalized_shape
  if in_one_operator(x, a.weight, a.bias) then
    return g.LayerNormalization(x, a.weight or g.ones(a.normalized_shape, x.dtype), a.bias,
                                { axis = -m, epsilon = a.eps, outputs = 3 })
  end
  local y, mean, rstd = standardise(g, x, util.range(x.rank - m, x.rank - 1), a.eps)
  return affine(y, a.weight, a.bias):to(x.dtype), mean, rstd
end

aten:rule("layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, Tensor? bias=None, "
          .. "float eps=1.0000000000000001e-05, bool cudnn_enable=True) -> Tensor",
  function(g, a) return (layer_norm(g, a)) end)

aten:rule("native_layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor? bias, float eps) "
          .. "-> (Tensor, Tensor, Tensor)",
  function(g, a, n)
    local y, mean, rstd = layer_norm(g, a)
    return y, mean:to(recorded(n, 2, mean.dtype)), rstd:to(recorded(n, 3, rstd.dtype))
  end)

local EPSILON = { float64 = 2.0 ^ -52 } -- that of the dtype in which the mean is taken

-- x over its root mean square, and the reciprocal of that
local function by_rms(g, x, m, eps)
  local v = x:to(work_dtype(x))
  local rstd = g.Reciprocal(g.Sqrt(g.ReduceMean(v * v, g.ints(util.range(x.rank - m, x.rank - 1))) + eps))
  return v * rstd, rstd
end

local function rms_epsilon(a) return a.eps or EPSILON[a.input.dtype] or 2.0 ^ -23 end

aten:rule("rms_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, float? eps=None) -> Tensor",
  function(g, a, n)
    local x, w, m = a.input, a.weight, #a.normalized_shape
    if in_one_operator(x, w) then
      return g.RMSNormalization(x, w or g.ones(a.normalized_shape, x.dtype), { axis = -m, epsilon = rms_epsilon(a) })
    end
    return affine(by_rms(g, x, m, rms_epsilon(a)), w):to(recorded(n, 1, util.result_type(x, w or x)))
  end)

aten:rule("_fused_rms_norm(Tensor input, int[] normalized_shape, Tensor? weight, float? eps) -> (Tensor, Tensor)",
  function(g, a, n)
    local y, rstd = by_rms(g, a.input, #a.normalized_shape, rms_epsilon(a))
    return affine(y, a.weight):to(recorded(n, 1, a.input.dtype)), rstd:to(recorded(n, 2, rstd.dtype))
  end)

-- ---- weights ----

-- v over its norm over all dims but one (or all, dim -1), times g; and that norm.
local function weight_norm(g, a)
  local v = a.v:to(work_dtype(a.v))
  local norm = g.aten.norm_except_dim(v, 2, a.dim)
  return (v * (a.g:to(v.dtype) / norm)):to(a.v.dtype), norm
end

aten:rule("_weight_norm(Tensor v, Tensor g, int dim=0) -> Tensor", function(g, a) return (weight_norm(g, a)) end)
aten:rule("_weight_norm_interface(Tensor v, Tensor g, int dim=0) -> (Tensor, Tensor)", function(g, a, n)
  local y, norm = weight_norm(g, a)
  return y, norm:to(recorded(n, 2, norm.dtype))
end)

-- ---- groups ----

-- [N, groups, the rest]
local function in_groups(g, x, groups)
  return g.reshape(x, { x:size(0), groups, util.product(x.shape, 2) // groups })
end

local function group_statistics(g, x, groups, eps)
  local y, mean, rstd = standardise(g, in_groups(g, x, groups), { 2 }, eps)
  return g.reshape(y, x.shape), mean, rstd
end

local function group_norm(g, x, groups, weight, bias, eps)
  local c = { x:size(1) }
  if not (in_one_operator(x, weight, bias) and x.rank > 2) then
    return affine_channels(g, group_statistics(g, x, groups, eps), weight, bias):to(x.dtype)
  end
  return g.GroupNormalization(x, weight or g.ones(c, x.dtype), bias or g.zeros(c, x.dtype),
                              { num_groups = groups, epsilon = eps })
end

aten:rule("group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, "
          .. "float eps=1.0000000000000001e-05, bool cudnn_enabled=True) -> Tensor",
  function(g, a) return group_norm(g, a.input, a.num_groups, a.weight, a.bias, a.eps) end)

aten:rule("native_group_norm(Tensor input, Tensor? weight, Tensor? bias, SymInt N, SymInt C, SymInt HxW, int group, "
          .. "float eps) -> (Tensor, Tensor, Tensor)",
  function(g, a, n)
    local x, shape = a.input, { a.N, a.group }
    local y, mean, rstd = group_statistics(g, x, a.group, a.eps)
    return affine_channels(g, y, a.weight, a.bias):to(x.dtype), g.reshape(mean, shape):to(recorded(n, 2, mean.dtype)),
           g.reshape(rstd, shape):to(recorded(n, 3, rstd.dtype))
  end)
