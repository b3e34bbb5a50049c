-- rules/aten/loss.lua: losses and distances.

local aten = require("t2o.rules").namespace("aten")
local types = require("t2o.types")
local util = require("t2o.util")

local NONE, MEAN = 0, 1

local function total(g, x)
  return x.rank == 0 and x or g.ReduceSum(x, nil, { keepdims = 0 })
end

-- The mean of no elements is not a number.
local function reduced(g, x, reduction)
  if reduction == NONE then return x end
  if reduction ~= MEAN then return total(g, x) end
  return util.equal(util.product(x.shape), 0) and g.Div(total(g, x), g.scalar(0, x)) or g.aten["mean"](x)
end

local function sum_of(g, x, d) return g.ReduceSum(x, g.ints { d }, { keepdims = 0 }) end
local function at_least(g, x, low) return g.Max(x, g.scalar(low, x)) end
local function norm(g, x, p, dims, keepdim) return g.aten["linalg_vector_norm"](x, p, dims, keepdim) end

-- log(1 + exp(x)) for x <= 0
local function log1p_exp(g, x) return g.aten["log1p"](g.Exp(x)) end

-- ---- regression ----

-- A loss of the difference between input and target.
local function of_difference(schema, fn)
  aten:rule(schema, function(g, a)
    local x, y = util.promote(a.self, a.target)
    return reduced(g, fn(g, g.Sub(x, y), a), a.reduction)
  end)
end

of_difference("l1_loss(Tensor self, Tensor target, int reduction=1) -> Tensor", function(g, d) return g.Abs(d) end)
of_difference("mse_loss(Tensor self, Tensor target, int reduction=1) -> Tensor", function(g, d)
  return g.Mul(d, d)
end)

of_difference("smooth_l1_loss(Tensor self, Tensor target, int reduction=1, float beta=1.) -> Tensor",
              function(g, d, a)
  d = g.Abs(d)
  if a.beta == 0 then return d end
  local beta = g.scalar(a.beta, d)
  return g.Where(g.Less(d, beta), g.Mul(d, d) * 0.5 / beta, d - 0.5 * a.beta)
end)

of_difference("huber_loss(Tensor self, Tensor target, int reduction=1, float delta=1.) -> Tensor",
              function(g, d, a)
  d = g.Abs(d)
  local near = g.LessOrEqual(d, g.scalar(a.delta, d))
  return g.Where(near, g.Mul(d, d) * 0.5, (d - 0.5 * a.delta) * a.delta)
end)

aten:rule("poisson_nll_loss(Tensor input, Tensor target, bool log_input, bool full, float eps, int reduction) "
          .. "-> Tensor", function(g, a)
  local x, y = a.input, a.target
  local loss = a.log_input and g.aten["exp"](x) - y * x or x - y * g.Log(x + a.eps)
  if a.full then
    -- Stirling's formula for the logarithm of the factorial
    local t = y:to(loss.dtype)
    local term = t * g.Log(t) - t + g.Log(t * (2 * math.pi)) * 0.5
    loss = loss + g.Where(g.LessOrEqual(t, g.scalar(1, t)), g.scalar(0, t), term)
  end
  return reduced(g, loss, a.reduction)
end)

-- ---- probabilities ----

aten:rule("binary_cross_entropy(Tensor self, Tensor target, Tensor? weight=None, int reduction=1) -> Tensor",
          function(g, a)
  local x, y = a.self, a.target
  local one = g.scalar(1, x)
  local hit = at_least(g, g.Log(x), -100)
  local miss = at_least(g, g.Log(g.Sub(one, x)), -100)
  local loss = (y - one) * miss - y * hit
  return reduced(g, a.weight and loss * a.weight or loss, a.reduction)
end)

aten:rule("binary_cross_entropy_with_logits(Tensor self, Tensor target, Tensor? weight=None, "
          .. "Tensor? pos_weight=None, int reduction=1) -> Tensor", function(g, a)
  local x, y = util.promote(a.self, a.target)
  -- minus the logarithm of the sigmoid
  local off = at_least(g, g.Neg(x), 0) + log1p_exp(g, g.Neg(g.Abs(x)))
  if a.pos_weight then off = off * ((a.pos_weight - 1) * y + 1) end
  local loss = (1 - y) * x + off
  return reduced(g, a.weight and loss * a.weight or loss, a.reduction)
end)

aten:rule("kl_div(Tensor self, Tensor target, int reduction=1, *, bool log_target=False) -> Tensor",
          function(g, a)
  local x, y = util.promote(a.self, a.target)
  local loss
  if a.log_target then
    loss = g.Exp(y) * (y - x)
  else
    local zero = g.scalar(0, y)
    loss = g.Where(g.Equal(y, zero), zero, y * g.Log(y)) - y * x
  end
  return reduced(g, loss, a.reduction)
end)

-- ---- classes ----

-- What the loss of each sample is made of: -x of its class, its weight and its class as an index. The classes lie
-- along dim 1, or along the only one; samples of the class to ignore weigh nothing.
local function picked(g, x, target, weight, ignore)
  local axis = x.rank == 1 and 0 or 1
  target = target:to("int64")
  local ignored = g.Equal(target, g.scalar(ignore, target))
  local index = g.Where(ignored, g.scalar(0, target), target)
  local at = g.ints { axis }
  local loss
  if x.rank == 1 then
    loss = g.Neg(target.rank == 0 and g.Gather(x, index) or g.GatherElements(x, index))
  else
    loss = g.Neg(g.Squeeze(g.GatherElements(x, g.Unsqueeze(index, at), { axis = axis }), at))
  end
  local each = weight and g.Gather(weight, index) or g.expand(g.scalar(1, x), target.shape)
  return loss, g.Where(ignored, g.scalar(0, x), each)
end

-- The mean is weighted.
local function weighted(g, loss, weights, reduction)
  local each = g.Where(g.Equal(weights, g.scalar(0, weights)), g.scalar(0, loss), g.Mul(loss, weights))
  if reduction == NONE then return each, g.scalar(0, loss) end
  local sum, weight = total(g, each), total(g, weights)
  return reduction == MEAN and g.Div(sum, weight) or sum, weight
end

local function nll(g, a)
  local loss, weights = picked(g, a.self, a.target, a.weight, a.ignore_index)
  return weighted(g, loss, weights, a.reduction)
end

for _, name in ipairs { "nll_loss", "nll_loss2d", "nll_loss_nd" } do
  aten:rule(name .. "(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt ignore_index=-100) "
            .. "-> Tensor", function(g, a) return (nll(g, a)) end)
end
for _, name in ipairs { "nll_loss_forward", "nll_loss2d_forward" } do
  aten:rule(name .. "(Tensor self, Tensor target, Tensor? weight, int reduction, SymInt ignore_index) "
            .. "-> (Tensor output, Tensor total_weight)", nll)
end

-- A weight of one per class, to broadcast along the dim of the classes.
local function per_class(g, weight, rank)
  return rank == 1 and weight or util.per_channel(g, weight, rank)
end

local function cross_entropy_of_probabilities(g, a, log_p, axis)
  local classes = log_p:size(axis)
  local y = a.target
  if a.label_smoothing > 0 then
    y = y * (1 - a.label_smoothing) + g.Div(g.scalar(a.label_smoothing, y), g.scalar(classes, y))
  end
  local loss = g.Neg(log_p * y)
  if a.weight then loss = loss * per_class(g, a.weight, log_p.rank) end
  loss = sum_of(g, loss, axis)
  return reduced(g, loss, a.reduction)
end

local function cross_entropy_of_classes(g, a, log_p, axis)
  local loss, weights = picked(g, log_p, a.target, a.weight, a.ignore_index)
  local plain = weighted(g, loss, weights, a.reduction)
  if a.label_smoothing == 0 then return plain end
  -- the same with all classes as targets
  local all = g.Neg(a.weight and log_p * per_class(g, a.weight, log_p.rank) or log_p)
  all = sum_of(g, all, axis)
  local counted = g.Not(g.Equal(a.target, g.scalar(a.ignore_index, a.target)))
  all = g.Where(counted, all, g.scalar(0, all))
  if a.reduction ~= NONE then all = total(g, all) end
  if a.reduction == MEAN then all = g.Div(all, total(g, weights)) end
  local share = g.Div(g.scalar(a.label_smoothing, all), g.scalar(log_p:size(axis), all))
  return plain * (1 - a.label_smoothing) + all * share
end

aten:rule("cross_entropy_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, "
          .. "SymInt ignore_index=-100, float label_smoothing=0.) -> Tensor", function(g, a)
  local axis = a.self.rank == 1 and 0 or 1
  local log_p = g.LogSoftmax(a.self, { axis = axis })
  local fn = types.is_float(a.target.dtype) and cross_entropy_of_probabilities or cross_entropy_of_classes
  return fn(g, a, log_p, axis)
end)

-- ---- margins ----

-- In float16 the exponential overflows where PyTorch's does: a runtime may compute it in 32 bits and not round.
aten:rule("soft_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor", function(g, a)
  local x = g.Neg(a.self * a.target)
  local e = x.dtype == "float16" and g.Exp(x:to("float32")):to("float16") or g.Exp(x)
  return reduced(g, g.aten["log1p"](e), a.reduction)
end)

aten:rule("hinge_embedding_loss(Tensor self, Tensor target, float margin=1., int reduction=1) -> Tensor",
          function(g, a)
  local x, y = a.self, a.target
  local zero = g.scalar(0, x)
  local far = g.Where(g.Equal(y, g.scalar(1, y)), zero, at_least(g, g.scalar(a.margin, x) - x, 0))
  return reduced(g, far + g.Where(g.Equal(y, g.scalar(-1, y)), zero, x), a.reduction)
end)

aten:rule("margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, float margin=0., int reduction=1) "
          .. "-> Tensor", function(g, a)
  local loss = a.target * (a.input2 - a.input1) + a.margin
  return reduced(g, at_least(g, loss, 0), a.reduction)
end)

aten:rule("cosine_embedding_loss(Tensor input1, Tensor input2, Tensor target, float margin=0., int reduction=1) "
          .. "-> Tensor", function(g, a)
  local x, y, t = a.input1, a.input2, a.target
  local d = t.rank == 0 and 0 or 1
  local function product(u, v)
    local p = u * v
    return sum_of(g, types.is_float(p.dtype) and p or p:to("int64"), d)
  end
  local cosine = product(x, y) / g.aten["sqrt"]((product(x, x) + 1e-12) * (product(y, y) + 1e-12))
  local zero = g.scalar(0, cosine)
  local near = g.Where(g.Equal(t, g.scalar(1, t)), g.scalar(1, cosine) - cosine, zero)
  local far = g.Where(g.Equal(t, g.scalar(-1, t)), at_least(g, cosine - a.margin, 0), zero)
  return reduced(g, near + far, a.reduction)
end)

local function pairwise_distance(g, x, y, p, eps, keepdim)
  local d = x - y
  d = types.is_float(d.dtype) and d or d:to("float32")
  return norm(g, d + eps, p, { -1 }, keepdim)
end

aten:rule("triplet_margin_loss(Tensor anchor, Tensor positive, Tensor negative, float margin=1., float p=2., "
          .. "float eps=9.9999999999999995e-07, bool swap=False, int reduction=1) -> Tensor", function(g, a)
  local near = pairwise_distance(g, a.anchor, a.positive, a.p, a.eps)
  local far = pairwise_distance(g, a.anchor, a.negative, a.p, a.eps)
  if a.swap then far = g.Min(far, pairwise_distance(g, a.positive, a.negative, a.p, a.eps)) end
  return reduced(g, at_least(g, near - far + a.margin, 0), a.reduction)
end)

-- x as a batch, of one sample (and that of one class) where it has no dim for it.
local function batch(g, x, rank)
  return x.rank < rank and g.reshape(x, { 1, x.rank > 0 and rank > 1 and x:size(0) or rank > 1 and 1 or nil }) or x
end

local function unbatch(g, loss, x, reduction)
  return reduction == NONE and x.rank < 2 and g.Squeeze(loss, g.ints { 0 }) or reduced(g, loss, reduction)
end

-- What is above 0; a NaN is not, and does not count.
local function positive(g, x) return g.Where(g.Greater(x, g.scalar(0, x)), x, g.scalar(0, x)) end

aten:rule("multi_margin_loss(Tensor self, Tensor target, Scalar p=1, Scalar margin=1, Tensor? weight=None, "
          .. "int reduction=1) -> Tensor", function(g, a)
  local x, target = batch(g, a.self, 2), batch(g, a.target, 1)
  local index = g.Unsqueeze(target, g.ints { 1 })
  local own = g.GatherElements(x, index, { axis = 1 })
  local off = positive(g, g.scalar(a.margin, x) - own + x)
  if a.p == 2 then off = g.Mul(off, off) end
  if a.weight then off = off * g.Gather(a.weight, index) end
  local class = g.Range(g.const(0), g.scalar(x:size(1), "int64"), g.const(1))
  off = g.Where(g.Equal(class, index), g.scalar(0, x), off)
  return unbatch(g, g.Div(sum_of(g, off, 1), g.scalar(x:size(1), x)), a.self, a.reduction)
end)

-- The targets of a sample end before the first negative one. Each class that is no target is compared with each target.
local function multilabel_margin(g, a)
  local x, target = batch(g, a.self, 2), batch(g, a.target, 2)
  local zero, last = g.scalar(0, x), g.ints { 2 }
  local ended = g.CumSum(g.Less(target, g.scalar(0, target)):to("int64"), g.const(1))
  local valid = g.Equal(ended, g.const(0))
  local index = g.Where(valid, target, g.scalar(0, target))
  local class = g.Range(g.const(0), g.scalar(x:size(1), "int64"), g.const(1))
  local same = g.And(g.Equal(g.Unsqueeze(index, last), class), g.Unsqueeze(valid, last))
  local is_target = g.Greater(sum_of(g, same:to("int32"), 1), g.scalar(0, "int32"))
  local own = g.GatherElements(x, index, { axis = 1 })
  local off = positive(g, g.scalar(1, x) - g.Unsqueeze(own, last) + g.Unsqueeze(x, g.ints { 1 }))
  local counts = g.And(g.Unsqueeze(valid, last), g.Unsqueeze(g.Not(is_target), g.ints { 1 }))
  off = g.ReduceSum(g.Where(counts, off, zero), g.ints { 1, 2 }, { keepdims = 0 })
  local loss = g.Div(off, g.scalar(x:size(1), x))
  return unbatch(g, loss, a.self, a.reduction), g.reshape(is_target:to(x.dtype), a.target.shape)
end

aten:rule("multilabel_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor", function(g, a)
  return (multilabel_margin(g, a))
end)
aten:rule("multilabel_margin_loss_forward(Tensor self, Tensor target, int reduction) "
          .. "-> (Tensor output, Tensor is_target)", function(g, a)
  return multilabel_margin(g, a)
end)

-- ---- distances ----

aten:rule("pairwise_distance(Tensor x1, Tensor x2, float p=2., float eps=9.9999999999999995e-07, "
          .. "bool keepdim=False) -> Tensor", function(g, a)
  return pairwise_distance(g, a.x1, a.x2, a.p, a.eps, a.keepdim)
end)

aten:rule("cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-08) -> Tensor", function(g, a)
  local x, y = util.promote(a.x1, a.x2)
  -- a dim is one of the common shape
  local rank = math.max(x.rank, y.rank, 1)
  local d = { util.dim(a.dim, rank) - rank }
  local function unit(v) return v / at_least(g, norm(g, v, 2, d, true), a.eps) end
  if x.rank == 0 and y.rank == 0 then return unit(x) * unit(y) end
  local function ranked(v)
    if v.rank == rank then return v end
    local ones = util.fill(1, rank - v.rank)
    for _, size in ipairs(v.shape) do ones[#ones + 1] = size end
    return g.reshape(v, ones)
  end
  x, y = ranked(x), ranked(y)
  -- one that is spread along the dim is longer by that
  local function along(v, w)
    local one, other = v:size(d[1]), w:size(d[1])
    if util.equal(one, other) then return v end
    local dims = util.fill(1, rank)
    dims[rank + d[1] + 1] = other
    return g.expand(v, dims)
  end
  return g.ReduceSum(unit(along(x, y)) * unit(along(y, x)), g.ints { rank + d[1] }, { keepdims = 0 })
end)

aten:rule("dist(Tensor self, Tensor other, Scalar p=2) -> Tensor", function(g, a)
  return norm(g, a.self - a.other, a.p)
end)

-- |x - y|^2 = |x|^2 + |y|^2 - 2 x y, for every row of x and of y
local function euclidean(g, x, y)
  local function squares(v) return g.ReduceSumSquare(v, g.ints { v.rank - 1 }) end
  local perm = util.range(0, y.rank - 1)
  perm[y.rank], perm[y.rank - 1] = perm[y.rank - 1], perm[y.rank]
  local turned = g.Transpose(y, { perm = perm })
  local yy = g.Transpose(squares(y), { perm = perm })
  return g.Sqrt(at_least(g, squares(x) + yy - g.MatMul(x, turned) * 2, 0))
end

-- Few rows are compared one by one, which is more exact; PyTorch does so up to 25 of them.
local function few(d) return util.is_static(d) and d <= 25 end

local function cdist(g, a)
  local x, y = a.x1, a.x2
  local mode = a.compute_mode or 0
  local small = few(x:size(-2)) and few(y:size(-2))
  if a.p == 2 and (mode == 1 or mode == 0 and not small) then return euclidean(g, x, y) end
  local d = g.Unsqueeze(x, g.ints { x.rank - 1 }) - g.Unsqueeze(y, g.ints { y.rank - 2 })
  return norm(g, d, a.p, { -1 })
end

aten:rule("cdist(Tensor x1, Tensor x2, float p=2., int? compute_mode=None) -> Tensor", cdist)
aten:rule("_cdist_forward(Tensor x1, Tensor x2, float p, int? compute_mode) -> Tensor", cdist)
aten:rule("_euclidean_dist(Tensor x1, Tensor x2) -> Tensor", function(g, a) return euclidean(g, a.x1, a.x2) end)

-- Each pair of rows once.
local function pdist(g, a)
  local rows = a.self:size(0)
  if not util.is_static(rows) then g.decline("pairs of a dynamic number of rows") end
  local left, right = {}, {}
  for i = 0, rows - 1 do
    for j = i + 1, rows - 1 do
      left[#left + 1], right[#right + 1] = i, j
    end
  end
  return norm(g, g.Gather(a.self, g.ints(left)) - g.Gather(a.self, g.ints(right)), a.p, { -1 })
end

aten:rule("pdist(Tensor self, float p=2.) -> Tensor", pdist)
aten:rule("_pdist_forward(Tensor self, float p=2.) -> Tensor", pdist)

-- Slices along a dim whose norm is too large are brought down to it.
aten:rule("renorm(Tensor self, Scalar p, int dim, Scalar maxnorm) -> Tensor", function(g, a)
  local x, dims = a.self, {}
  for d = 0, x.rank - 1 do
    if d ~= util.dim(a.dim, x.rank) then dims[#dims + 1] = d end
  end
  local size = norm(g, x, a.p, dims, true)
  local limit = g.scalar(a.maxnorm, x)
  local factor = g.Where(g.Greater(size, limit), limit / (size + 1e-7), g.scalar(1, x))
  return x * factor
end)
