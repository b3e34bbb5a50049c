-- rules/onnx/norm.lua: normalisations and dropout.

local core = require("t2o.core")
local types = require("t2o.types")
local util = require("t2o.util")
local onnx = require("t2o.back").registry

-- Dims of an input; those from `first` on.
local function dims_from(first, rank)
  local out = {}
  for i = first, rank - 1 do out[#out + 1] = i end
  return out
end

-- ---- over the batch ----

-- Statistics of the batch, as they are mixed into those of all batches.
local function mixed(t, old, now, momentum)
  local kept, new = t.aten["mul.Tensor"](old, momentum), t.aten["mul.Tensor"](now, t.rounded(1 - momentum))
  return t.aten["add.Tensor"](kept, new)
end

-- Whether some of these sizes is known not to be 1: PyTorch's functions refuse statistics of one element, and operators
-- do not.
local function not_one(...)
  for _, size in ipairs { ... } do
    if math.type(size) and size ~= 1 then return true end
  end
  return false
end

local function spatial(x) return core.field(x, "known_rank") and { table.unpack(x.shape, 3) } or {} end

-- Whether the exporter says that this is a layer, which is as strict.
local function is_layer(n, class)
  local modules = n.node and core.modules(n.node) or {}
  return #modules > 0 and modules[#modules]:find(class .. "%dd$") ~= nil
end

onnx:rule("BatchNormalization(X, scale, B, input_mean, input_var) {epsilon=1e-05, momentum=0.9, training_mode=0}",
  function(t, n)
    local momentum = t.rounded(1 - n.momentum)
    if n.training_mode == 0 then
      return t.aten.batch_norm(n.X, n.scale, n.B, t.buffer(n.input_mean), t.buffer(n.input_var), false, momentum,
                               n.epsilon, true)
    end
    local ranked = core.field(n.X, "known_rank")
    local several = not t.python or ranked and not_one(n.X:size(0), table.unpack(spatial(n.X)))
    local norm = several and t.aten.batch_norm or t.helper.batch_norm
    local y = norm(n.X, n.scale, n.B, nil, nil, true, momentum, n.epsilon, true)
    if not t.wants(n.outputs[2]) and not t.wants(n.outputs[3]) then return y end
    local dims = { 0, table.unpack(dims_from(2, n.X.rank)) }
    local mean = t.aten["mean.dim"](n.X, dims)
    local var = t.aten["var.correction"](n.X, dims, { correction = 0 })
    return y, mixed(t, t.buffer(n.input_mean), mean, n.momentum), mixed(t, t.buffer(n.input_var), var, n.momentum)
  end)

-- ---- over each sample ----

onnx:rule("InstanceNormalization(input, scale, B) {epsilon=1e-05}", function(t, n)
  local several = not t.python or is_layer(n, "InstanceNorm") or not_one(table.unpack(spatial(n.input)))
  local norm = several and t.aten.instance_norm or t.helper.instance_norm
  return norm(n.input, n.scale, n.B, nil, nil, true, 0.1, n.epsilon, true)
end)

onnx:rule("GroupNormalization(X, scale, bias) {epsilon=1e-05}", function(t, n)
  local ranked, x = core.field(n.X, "known_rank"), n.X
  local channels = n.scale.is_constant and n.scale:size(0) or ranked and x:size(1)
  local each = math.type(channels) and channels // n.num_groups or 1
  local several = not t.python or not_one(each, ranked and x:size(0) or 1, table.unpack(spatial(x)))
  local norm = several and t.aten.group_norm or t.helper.group_norm
  return norm(x, n.num_groups, n.scale, n.bias, n.epsilon)
end)

-- The sizes from the axis on, which are normalised together; the last result says whether the weight has just them.
local function normalized(t, x, axis, weight)
  if not core.field(x, "known_rank") then
    if axis < 0 and core.field(weight, "known_rank") and weight.rank == -axis then return weight.shape, true end
    t.decline("a normalisation of a tensor of unknown rank")
  end
  local shape = {}
  for i = util.dim(axis, x.rank), x.rank - 1 do shape[#shape + 1] = x:size(i) end
  local same = core.field(weight, "known_rank") and weight.rank == #shape
  for i = 1, same and #shape or 0 do
    local size = weight:size(i - 1)
    if weight.is_constant and util.compare(size, shape[i]) == nil then shape[i] = size end
    same = same and util.equal(size, shape[i])
  end
  return shape, same
end

local function last_dims(count)
  local out = {}
  for i = count, 1, -1 do out[#out + 1] = -i end
  return out
end

onnx:rule("LayerNormalization(X, Scale, B?) {axis=-1, epsilon=1e-05, stash_type=1}", function(t, n)
  local shape, same = normalized(t, n.X, n.axis, n.Scale)
  local with_bias = not n.B or core.field(n.B, "known_rank") and util.same_shape(n.B.shape, n.Scale.shape)
  local y
  if same and with_bias then
    y = t.aten.layer_norm(n.X, shape, n.Scale, n.B, n.epsilon)
  else
    y = t.aten["mul.Tensor"](t.aten.layer_norm(n.X, shape, nil, nil, n.epsilon), n.Scale)
    if n.B then y = t.aten["add.Tensor"](y, n.B) end
  end
  if not t.wants(n.outputs[2]) and not t.wants(n.outputs[3]) then return y end
  local wide = n.stash_type == 1 and types.is_float(n.X.dtype) and t.to(n.X, "float32") or n.X
  local dims = last_dims(#shape)
  local mean = t.aten["mean.dim"](wide, dims, true)
  local var = t.aten["var.correction"](wide, dims, { correction = 0, keepdim = true })
  return y, mean, t.aten.rsqrt(t.aten["add.Tensor"](var, n.epsilon))
end)

onnx:rule("RMSNormalization(X, scale) {axis=-1, epsilon=1e-05, stash_type=1}", function(t, n)
  local shape, same = normalized(t, n.X, n.axis, n.scale)
  if same then return t.aten.rms_norm(n.X, shape, n.scale, n.epsilon) end
  return t.aten["mul.Tensor"](t.aten.rms_norm(n.X, shape, nil, n.epsilon), n.scale)
end)

onnx:rule("MeanVarianceNormalization(X)", function(t, n)
  local axes = n.axes or { 0, 2, 3 }
  local mean = t.aten["mean.dim"](n.X, axes, true)
  local std = t.aten["std.correction"](n.X, axes, { correction = 0, keepdim = true })
  return t.aten["div.Tensor"](t.aten["sub.Tensor"](n.X, mean), t.aten["add.Tensor"](std, 1e-9))
end)

-- ---- by norms ----

onnx:rule("LpNormalization(input) {axis=-1, p=2}", function(t, n)
  if t.python then return t.helper.normalize(n.input, n.p + 0.0, n.axis) end
  local norm = t.aten.linalg_vector_norm(n.input, n.p, { n.axis }, true)
  return t.aten["div.Tensor"](n.input, t.aten.clamp_min(norm, 1e-12))
end)

onnx:rule("LRN(X) {alpha=0.0001, beta=0.75, bias=1.0}", function(t, n)
  local size = n.size
  if t.python and size % 2 == 1 then
    return t.helper.local_response_norm(n.X, size, n.alpha, n.beta, n.bias)
  end
  local pads = {}
  for i = 1, 2 * (n.X.rank - 2) do pads[i] = 0 end
  pads[#pads + 1], pads[#pads + 2] = (size - 1) // 2, size // 2
  local squares = t.aten.pad(t.aten.square(n.X), pads)
  local sums = t.aten["sum.dim_IntList"](t.aten.unfold(squares, 1, size, 1), { -1 })
  local base = t.aten["add.Tensor"](t.aten["mul.Tensor"](sums, n.alpha / size), n.bias)
  return t.aten["div.Tensor"](n.X, t.aten["pow.Tensor_Scalar"](base, n.beta))
end)

-- ---- dropout ----

onnx:rule("Dropout(data, ratio?, training_mode?)", function(t, n)
  local ratio, training = 0.5, false
  if n.ratio then ratio = t.shortest(t.number(n.ratio), n.ratio.dtype) or t.aten.item(n.ratio) end
  if n.training_mode then training = t.number(n.training_mode) end
  if training == nil then
    if t.wants(n.outputs[2]) then
      return t.helper.dropout_with_mask(n.data, n.ratio or t.scalar(0.5, "float32"), n.training_mode)
    end
    return t.helper.dropout_if(n.data, ratio, n.training_mode)
  end
  if training == true or training == 1 then
    if t.wants(n.outputs[2]) then return t.aten.native_dropout(n.data, ratio, true) end
    return t.aten.dropout(n.data, ratio, true)
  end
  local y = t.aten.dropout(n.data, ratio, false)
  return y, t.wants(n.outputs[2]) and t.aten.ones_like(n.data, { dtype = "bool" }) or nil
end)
