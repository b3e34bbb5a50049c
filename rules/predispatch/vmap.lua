-- rules/predispatch/vmap.lua: vmap: where its batches begin and end, and how operators are called for all of a batch.

local vmap = require("t2o.rules").namespace("predispatch")
local core = require("t2o.core")
local batch = require("t2o.batch")
local util = require("t2o.util")

local form = batch.registry

vmap:drop { "lazy_load_decompositions", "_vmap_increment_nesting", "_vmap_decrement_nesting" }
vmap:view("_add_batch_dim")
vmap:view("_remove_batch_dim")

local function moved(g, v, from, to)
  if from == to then return v end
  local order = util.range(0, v.rank - 1)
  table.insert(order, to + 1, table.remove(order, from + 1))
  return g.Transpose(v, { perm = order })
end

vmap:rule("_add_batch_dim(Tensor self, int batch_dim, int level) -> Tensor", function(g, a)
  local mask, n = batch.levels(a.self)
  local dim = util.dim(a.batch_dim, a.self.rank - n)
  return batch.set_levels(moved(g, g.Identity(a.self), n + dim, n), mask | 1 << a.level)
end)

-- Levels end in the reverse of the order in which they began.
vmap:rule("_remove_batch_dim(Tensor self, int level, SymInt batch_size, int out_dim) -> Tensor", function(g, a)
  local mask, n = batch.levels(a.self)
  local bit = 1 << a.level
  local v, rest = a.self, mask & ~bit
  local count = rest == mask and n or n - 1
  local dim = util.dim(a.out_dim, v.rank - n + 1)
  if rest == mask then
    local shape = v.shape
    table.insert(shape, count + dim + 1, a.batch_size)
    v = g.expand(g.Unsqueeze(v, g.ints { count + dim }), shape)
  else
    v = moved(g, g.Identity(v), count, count + dim)
  end
  return batch.set_levels(v, rest)
end)

-- ---- element by element ----

local function aligned(a, mask)
  local rank = 0
  for _, x in pairs(a) do
    if core.is_value(x) then rank = math.max(rank, batch.rank(x)) end
  end
  for key, x in pairs(a) do
    if core.is_value(x) then a[key] = batch.align(x, mask, rank) end
  end
  return a
end

form:form([[
  abs acos acosh add addcdiv addcmul asin asinh atan atan2 atanh bitwise_and bitwise_left_shift bitwise_not bitwise_or
  bitwise_right_shift bitwise_xor ceil celu clamp clamp_max clamp_min clone contiguous copy copysign cos cosh deg2rad
  detach digamma div elu eq erf erfc erfinv exp exp2 expm1 fill floor floor_divide fmax fmin fmod frac full_like ge
  gelu gt hardsigmoid hardswish hardtanh heaviside hypot isfinite isinf isnan isneginf isposinf le leaky_relu lerp
  lgamma log log10 log1p log2 logaddexp logaddexp2 logical_and logical_not logical_or logical_xor logit lt
  masked_fill max.other maximum min.other minimum mish mul ne neg nextafter ones_like pow rad2deg reciprocal relu
  relu6 remainder round rsqrt rsub selu sgn sigmoid sign signbit silu sin sinc sinh softplus sqrt square sub tan
  tanh to trunc true_divide where.self where.Scalar where.ScalarSelf where.ScalarOther xlogy zeros_like
  __and__ __or__ __xor__ _to_copy
]], function(_, a, c) return c.call(aligned(a, c.mask)) end)

-- What depends on the dtype only is the same for all.
form:form("new_zeros new_ones new_full new_empty", function(_, a, c)
  c.mask = 0
  return c.call(a)
end)

-- ---- along dimensions ----

local function shifted(d, n, rank)
  if type(d) ~= "table" then return util.dim(d, rank) + n end
  local out = {}
  for i, x in ipairs(d) do out[i] = util.dim(x, rank) + n end
  return out
end

-- Operators of one tensor; the arguments of these keys are dimensions of it, or of a result with `more` of them.
local function along(names, keys, more)
  form:form(names, function(_, a, c)
    local rank = batch.rank(a.self) + (more or 0)
    for _, key in ipairs(keys) do
      local none = a[key] == nil or (type(a[key]) == "table" and #a[key] == 0)
      if rank == 0 or (none and rank > 1) then batch.refuse("no dimension is given") end
      if none then a[key] = 0 end
      a[key] = shifted(a[key], c.n, rank)
    end
    return c.call(a)
  end)
end

along([[
  softmax log_softmax _softmax _log_softmax cumsum cumprod logcumsumexp logsumexp select.int slice.Tensor narrow
  squeeze.dim squeeze.dims argmax argmin var.correction std.correction prod.dim_int max.dim min.dim sort topk glu
  unbind.int split.Tensor chunk index_select
]], { "dim" })
along("flip", { "dims" })
along("transpose.int", { "dim0", "dim1" })
along("unsqueeze", { "dim" }, 1)

form:form("t", function(_, a, c)
  if batch.rank(a.self) < 2 then return a.self end
  return c.call({ self = a.self, dim0 = c.n, dim1 = c.n + 1 }, "aten::transpose.int")
end)

form:form("permute", function(_, a, c)
  local own = shifted(a.dims, c.n, batch.rank(a.self))
  a.dims = table.move(own, 1, #own, c.n + 1, util.range(0, c.n - 1))
  return c.call(a)
end)

-- Over all dimensions of one of the batch, where none are given.
local function reduce(names, op)
  form:form(names, function(_, a, c)
    local rank, dims = batch.rank(a.self), a.dim
    if type(dims) == "number" then dims = { dims } end
    if dims == nil or #dims == 0 then dims = util.range(0, rank - 1) end
    if rank == 0 then return a.self:to(c.node.outputs[1].dtype) end
    return c.call({ self = a.self, dim = shifted(dims, c.n, rank), keepdim = a.keepdim or false, dtype = a.dtype }, op)
  end)
end

reduce("sum", "aten::sum.dim_IntList")
reduce("mean", "aten::mean.dim")
reduce("any", "aten::any.dims")
reduce("all", "aten::all.dims")
reduce("max amax", "aten::amax")
reduce("min amin", "aten::amin")

-- ---- sizes ----

local function sized(names, key)
  form:form(names, function(_, a, c)
    local own = a[key]
    a[key] = table.move(own, 1, #own, c.n + 1, batch.sizes(c.mask, { a.self }))
    a.self = names == "expand" and batch.align(a.self, c.mask, #own) or a.self
    return c.call(a)
  end)
end

sized("view _unsafe_view expand_copy", "size")
sized("reshape", "shape")
sized("expand", "size")

-- All take the sizes of the batch, as those that are joined have equal ones.
local function joined(names, more)
  form:form(names, function(_, a, c)
    local values = table.move(a.tensors, 1, #a.tensors, 1, {})
    for i, v in ipairs(values) do a.tensors[i] = batch.spread(v, c.mask, values) end
    a.dim = shifted(a.dim, c.n, batch.rank(values[1]) + more)
    return c.call(a)
  end)
end

joined("cat", 0)
joined("stack", 1)

-- ---- products, look-ups ----

local function widened(g, v, axis)
  local wide = g.Unsqueeze(v, g.ints { axis })
  core.set_batch(wide, (batch.levels(v)))
  return wide
end

form:form("outer ger", function(g, a, c)
  local x, y = widened(g, a.self, -1), widened(g, a.vec2, -2)
  return c.call(aligned({ self = x, other = y }, c.mask), "aten::mul.Tensor")
end)

-- Vectors become matrices, and lose the dimension again.
form:form("matmul mm bmm mv dot", function(g, a, c)
  local x, y = a.self, a.other or a.mat2 or a.vec or a.tensor
  local rank_x, rank_y = batch.rank(x), batch.rank(y)
  local rank, gone = math.max(rank_x, rank_y, 2), {}
  local function matrix(v, own, axis)
    if own > 1 then return batch.align(v, c.mask, rank) end
    gone[#gone + 1] = axis
    return batch.align(widened(g, v, axis), c.mask, rank)
  end
  x, y = matrix(x, rank_x, -2), matrix(y, rank_y, -1)
  local z = c.call({ self = x, other = y }, "aten::matmul")
  return #gone == 0 and z or g.Squeeze(z, g.ints(gone))
end)

form:form("linear", function(_, a, c)
  if batch.levels(a.weight) ~= 0 or (a.bias and batch.levels(a.bias) ~= 0) then
    batch.refuse("each of the batch has its own weights")
  end
  return c.call(a)
end)

form:form("embedding", function(_, a, c)
  if batch.levels(a.weight) ~= 0 then batch.refuse("each of the batch has its own weights") end
  return c.call(a)
end)

form:form("index.Tensor", function(_, a, c)
  if batch.levels(a.self) ~= 0 or #a.indices ~= a.indices.n then batch.refuse("what is indexed differs") end
  aligned(a.indices, c.mask)
  return c.call(a)
end)
