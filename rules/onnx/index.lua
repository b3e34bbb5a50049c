-- rules/onnx/index.lua: elements picked, written and ordered by index.

local core = require("t2o.core")
local backmath = require("t2o.backmath")
local backsign = require("t2o.backsign")
local onnx = require("t2o.back").registry
local util = require("t2o.util")
local ordered, widened = backmath.ordered, backmath.widened

local function rank_of(v) return core.field(v, "known_rank") and v.rank or nil end

local function is_int(x) return math.type(x) == "integer" end

-- What makes no negative numbers, in any case or of numbers that are none; see lua/t2o/backsign.lua.
local not_negative = backsign.not_negative

-- Indices of a dim counted from its start.
local function from_start(t, index, x, axis)
  index = t.to(index, "int64")
  if not_negative(t, index) then return index end
  return t.aten["remainder.Scalar"](index, x:size(axis))
end

-- The list of n times nothing, with index i (from 0) being v.
local function at(n, v)
  local out = { n = n + 1 }
  out[n + 1] = v
  return out
end

-- ---- picked ----

-- Whether the node is the only one of a module whose weight it reads, or of one that is called an embedding.
local function is_from_embedding(n)
  local modules = n.node and core.modules(n.node) or {}
  local path, class = modules[#modules - 1], modules[#modules]
  if not path then return false end
  return class:find("Embedding$") ~= nil or class == "" and n.data.name:gsub("^p_", "") == path .. ".weight"
end

-- Rows of a weight by numbers that are not counted from the end: an embedding.
local function is_embedding(t, n)
  local x, index = n.data, n.indices
  if n.axis ~= 0 or core.signature(x).spec ~= "PARAMETER" or x.rank ~= 2 then return false end
  if index.is_constant or (rank_of(index) or 0) < 1 then return false end
  return is_from_embedding(n) or not_negative(t, index, x.name:find("weight$") ~= nil)
end

onnx:rule("Gather(data, indices) {axis=0}", function(t, n)
  local x, index = n.data, n.indices
  local axis = n.axis < 0 and util.dim(n.axis, x.rank) or n.axis
  local one = t.number(index)
  if one and rank_of(index) == 0 then return t.aten["select.int"](x, axis, one) end
  if is_embedding(t, n) then return t.aten.embedding(x, index) end
  local y, back = widened(x)
  return back(t.aten["index.Tensor"](y, at(axis, index)))
end)

onnx:rule("GatherElements(data, indices) {axis=0}", function(t, n)
  local axis = n.axis
  local x, back = widened(n.data)
  return back(t.aten.gather(x, axis, from_start(t, n.indices, n.data, axis)))
end)

-- How many dims the last one of indices tells.
local function told_dims(t, indices)
  local count = rank_of(indices) and indices:size(-1)
  if not is_int(count) then t.decline("indices of which it is not known how many dims they tell") end
  return count
end

-- One index tensor for each of the last dim's entries, behind those that count batch dims up.
local function index_list(t, x, indices, batch)
  local count = told_dims(t, indices)
  local list, rank = {}, indices.rank
  for i = 1, batch do
    local up = t.aten.arange(x:size(i - 1))
    if i < rank - 1 then
      local shape = util.fill(1, rank - i)
      shape[1] = -1
      up = t.aten.reshape(up, shape)
    end
    list[i] = up
  end
  local parts = count == 1 and { t.aten["select.int"](indices, -1, 0) }
    or t.list(count, "aten::unbind.int", indices, -1)
  for i = 1, count do list[batch + i] = parts[i] end
  return list
end

onnx:rule("GatherND(data, indices) {batch_dims=0}", function(t, n)
  local x, back = widened(n.data)
  return back(t.aten["index.Tensor"](x, index_list(t, n.data, n.indices, n.batch_dims)))
end)

onnx:rule("Compress(input, condition) {axis}", function(t, n)
  local keep = t.aten["select.int"](t.aten.nonzero(n.condition), 1, 0)
  local x, back = widened(n.attrs.axis and n.input or t.aten.reshape(n.input, { -1 }))
  return back(t.aten.index_select(x, n.attrs.axis or 0, keep))
end)

-- A number without dims counts as one of a dim.
onnx:rule("NonZero(X)", function(t, n)
  local x, rank = widened(n.X), rank_of(n.X)
  if not rank and t.python then x = t.helper.with_a_dim(x) end
  if rank == 0 then x = t.aten.reshape(x, { 1 }) end
  return t.aten.t(t.aten.nonzero(x))
end)

onnx:rule("Where(condition, X, Y)", function(t, n)
  local dtype = n.X.dtype
  local plain = backmath.computing(dtype) == dtype
  local x, y = plain and t.literal(n.X), plain and t.literal(n.Y)
  if y and not x then return t.aten["where.ScalarOther"](n.condition, n.X, y) end
  if x and not y then return t.aten["where.ScalarSelf"](n.condition, x, n.Y) end
  return t.aten["where.self"](n.condition, n.X, n.Y)
end)

-- ---- written ----

local REDUCE = { add = "sum", mul = "prod", max = "amax", min = "amin" }

-- What is written to, what is written, and what makes the result: in their order for the largest and the smallest.
local function operands(n)
  local take = (n.reduction == "max" or n.reduction == "min") and ordered or widened
  local x, back = take(n.data)
  return x, (take(n.updates)), back
end

onnx:rule("ScatterElements(data, indices, updates) {axis=0, reduction='none'}", function(t, n)
  local index = from_start(t, n.indices, n.data, n.axis)
  local x, updates, back = operands(n)
  if n.reduction == "none" then return back(t.aten["scatter.src"](x, n.axis, index, updates)) end
  if n.reduction == "add" then return back(t.aten.scatter_add(x, n.axis, index, updates)) end
  return back(t.aten["scatter_reduce.two"](x, n.axis, index, updates, REDUCE[n.reduction]))
end)

-- Indices of several dims as one of their product.
local function joined_index(t, x, indices, count)
  local sum, stride = nil, 1
  indices = t.to(indices, "int64")
  for i = count, 1, -1 do
    local one = t.aten["select.int"](indices, -1, i - 1)
    if not not_negative(t, indices) then one = t.aten["remainder.Scalar"](one, x:size(i - 1)) end
    if stride ~= 1 then one = t.aten["mul.Tensor"](one, stride) end
    sum = sum and t.aten["add.Tensor"](sum, one) or one
    stride = stride * x:size(i - 1)
  end
  return t.aten.reshape(sum, { -1, 1 }), stride
end

onnx:rule("ScatterND(data, indices, updates) {reduction='none'}", function(t, n)
  local x, updates, back = operands(n)
  if n.reduction == "none" or n.reduction == "add" then
    local list = index_list(t, n.data, n.indices, 0)
    return back(t.aten.index_put(x, list, updates, n.reduction == "add" or nil))
  end
  local count = told_dims(t, n.indices)
  local index, rows = joined_index(t, n.data, n.indices, count)
  local flat = t.aten.reshape(updates, { t.aten["sym_size.int"](index, 0), -1 })
  index = t.aten.expand_as(index, flat)
  local y = t.aten["scatter_reduce.two"](t.aten.reshape(x, { rows, -1 }), 0, index, flat, REDUCE[n.reduction])
  return back(t.aten.reshape(y, n.data.shape))
end)

onnx:rule("TensorScatter(past_cache, update, write_indices?) {axis=-2, mode='linear'}", function(t, n)
  local x, rank = n.past_cache, n.past_cache.rank
  local axis = util.dim(n.axis, rank)
  local positions = t.aten.arange(n.update:size(axis))
  local shape = util.fill(1, rank)
  shape[axis + 1] = -1
  positions = t.aten.reshape(positions, shape)
  if n.write_indices then
    local first = util.fill(1, rank)
    first[1] = -1
    positions = t.aten["add.Tensor"](t.aten.reshape(n.write_indices, first), positions)
  end
  if n.mode == "circular" then positions = t.aten["remainder.Scalar"](positions, x:size(axis)) end
  local wide, back = widened(x)
  return back(t.aten["scatter.src"](wide, axis, t.aten.expand_as(positions, n.update), (widened(n.update))))
end)

-- ---- the largest, in order ----

for op, name in pairs { ["ArgMax"] = "argmax", ["ArgMin"] = "argmin" } do
  onnx:rule(op .. "(data) {axis=0, keepdims=1, select_last_index=0}", function(t, n)
    local x, axis, keeps = ordered(n.data), n.axis, n.keepdims ~= 0
    if n.select_last_index == 0 then return t.aten[name](x, axis, keeps or nil) end
    local last = t.aten[name](t.aten.flip(x, { axis }), axis, keeps or nil)
    return t.aten["rsub.Scalar"](last, n.data:size(axis) - 1)
  end)
end

onnx:rule("TopK(X, K) {axis=-1, largest=1, sorted=1}", function(t, n)
  local x, back = ordered(n.X)
  local k = t.item(n.K)
  -- of equal elements those in front are taken, for which topk does not vouch
  local values, indices = t.aten["sort.stable"](x, { stable = true, dim = n.axis, descending = n.largest ~= 0 })
  local rank = rank_of(n.X)
  local axis = rank and util.dim(n.axis, rank) or n.axis
  local function first(v) return t.aten["slice.Tensor"](v, axis, 0, k) end
  return back(first(values)), first(indices)
end)

-- Rows (or elements) without repetition, the first place of each, which one each element is, and how many there are.
onnx:rule("Unique(X) {axis, sorted=1}", function(t, n)
  local x, back = ordered(n.X)
  local axis = n.attrs.axis
  local y, inverse, counts
  if axis then
    axis = util.dim(axis, n.X.rank)
    y, inverse, counts = t.aten.unique_dim(x, axis, true, true, true)
  else
    y, inverse, counts = t.aten._unique2(t.aten.reshape(x, { -1 }), true, true, true)
    axis = 0
  end
  local at_each = t.aten.arange(t.aten["sym_size.int"](inverse, 0))
  local far = t.aten.full_like(counts, math.maxinteger)
  local first = t.aten["scatter_reduce.two"](far, 0, inverse, at_each, "amin")
  if n.sorted ~= 0 then return back(y), first, inverse, counts end
  local order = t.aten.argsort(first)
  local function sorted(v, dim) return t.aten.index_select(v, dim, order) end
  inverse = t.aten["index.Tensor"](t.aten.argsort(order), { inverse })
  return back(sorted(y, axis)), sorted(first, 0), inverse, sorted(counts, 0)
end)

onnx:rule("ReverseSequence(input, sequence_lens) {batch_axis=1, time_axis=0}", function(t, n)
  local x = n.input
  local count = x:size(n.time_axis)
  local steps, lengths = t.aten.arange(count), n.sequence_lens
  local shape = util.fill(1, x.rank)
  shape[n.batch_axis + 1] = -1
  lengths = t.aten.reshape(lengths, shape)
  shape = util.fill(1, x.rank)
  shape[n.time_axis + 1] = -1
  steps = t.aten.reshape(steps, shape)
  local mirrored = t.aten["sub.Tensor"](t.aten["sub.Scalar"](lengths, 1), steps)
  local index = t.aten["where.self"](t.aten["lt.Tensor"](steps, lengths), mirrored, steps)
  local y, back = widened(x)
  return back(t.aten.gather(y, n.time_axis, t.aten.expand_as(index, x)))
end)

-- ---- made of numbers ----

onnx:rule("OneHot(indices, depth, values) {axis=-1}", function(t, n)
  local rank = n.indices.rank
  local axis = util.dim(n.axis, rank + 1)
  local depth = t.number(n.depth)
  depth = depth and math.tointeger(depth) or t.item(t.to(n.depth, "int64"))
  local index = t.to(n.indices, "int64")
  if not not_negative(t, index) then
    local up = t.aten["add.Tensor"](index, depth)
    index = t.aten["where.self"](t.aten["lt.Scalar"](index, 0), up, index)
  end
  local classes = t.aten.arange(depth)
  if axis < rank then
    local shape = util.fill(1, rank - axis + 1)
    shape[1] = -1
    classes = t.aten.reshape(classes, shape)
  end
  local hit = t.aten["eq.Tensor"](t.aten.unsqueeze(index, axis), classes)
  local off, on = t.aten["select.int"](n.values, 0, 0), t.aten["select.int"](n.values, 0, 1)
  local numbers = t.numbers(n.values)
  if numbers and numbers[1] == 0 and numbers[2] == 1 then return t.aten["to.dtype"](hit, n.values.dtype) end
  return t.aten["where.self"](hit, on, off)
end)

for op, name in pairs { [1] = "triu", [0] = "tril" } do
  onnx:rule("Trilu(input, k?) {upper=1}", { when = function(n) return n.upper == op end }, function(t, n)
    local x, back = widened(n.input)
    local k = n.k and (t.item(n.k)) or 0
    return back(t.aten[name](x, k ~= 0 and k or nil))
  end)
end
