-- rules/aten/index.lua: elements chosen by indices or masks, and written to by them.

local aten = require("t2o.rules").namespace("aten")
local infer = require("t2o.infer")
local util = require("t2o.util")

local function family(schemas, fn)
  for _, schema in ipairs(schemas) do aten:rule(schema, fn) end
end

local function flat(g, x) return g.reshape(x, { util.product(x.shape) }) end
local function at_least_1d(g, x) return x.rank == 0 and g.reshape(x, { 1 }) or x end

local function permute(g, x, perm)
  for i, p in ipairs(perm) do
    if p ~= i - 1 then return g.Transpose(x, { perm = perm }) end
  end
  return x
end

local function inverse(perm)
  local out = {}
  for i, p in ipairs(perm) do out[p + 1] = i - 1 end
  return out
end

-- ---- masks ----

local function expand(g, x, shape)
  return util.same_shape(x.shape, shape) and x or g.expand(x, shape)
end

local function where(g, condition, x, y, dtype)
  x, y = util.promote(x, y, dtype)
  return util.where(g, condition:to("bool"), x, y)
end

for overload, kinds in pairs { self = "Tensor Tensor", ScalarOther = "Tensor Scalar", ScalarSelf = "Scalar Tensor",
                               Scalar = "Scalar Scalar" } do
  local x, y = kinds:match("(%a+) (%a+)")
  local schema = string.format("where.%s(Tensor condition, %s self, %s other) -> Tensor", overload, x, y)
  aten:rule(schema, function(g, a) return where(g, a.condition, a.self, a.other) end)
end

family({
  "masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor",
  "masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor",
}, function(g, a) return where(g, a.mask, a.value, a.self, a.self.dtype) end)

aten:rule("masked_select(Tensor self, Tensor mask) -> Tensor", function(g, a)
  local shape = infer.broadcast(a.self.shape, a.mask.shape)
  local mask = flat(g, expand(g, a.mask:to("bool"), shape))
  return g.Compress(flat(g, expand(g, a.self, shape)), mask, { axis = 0 })
end)

-- The k-th element of source goes to the k-th place where the mask is true.
aten:rule("masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor", function(g, a)
  local shape = infer.broadcast(a.self.shape, a.mask.shape)
  local mask = flat(g, expand(g, a.mask:to("bool"), shape))
  local number = g.CumSum(mask:to("int64"), g.scalar(0, "int64")) - g.scalar(1, "int64")
  -- one more element, for places before the first true one and for an empty source
  local source = g.Concat(flat(g, a.source), g.zeros({ 1 }, a.source.dtype), { axis = 0 })
  local y = util.where(g, mask, g.Gather(source, number), flat(g, expand(g, a.self, shape)))
  return g.reshape(y, shape)
end)

-- ---- where something is not 0 ----

local HAS_NONZERO = { bool = true, float32 = true, int32 = true, int64 = true, uint8 = true }

-- One row of indices a dimension; of a scalar a row more than it has dimensions.
local function nonzero_rows(g, x)
  return g.NonZero(at_least_1d(g, HAS_NONZERO[x.dtype] and x or x:to("bool")))
end

local function nonzero(g, x)
  local found = g.Transpose(nonzero_rows(g, x), { perm = { 1, 0 } })
  return x.rank == 0 and g.Slice(found, g.ints { 0 }, g.ints { 0 }, g.ints { 1 }) or found
end

-- The rows of indices as vectors.
local function unbind_rows(g, rows, count)
  if count == 1 then return { n = 1, g.Squeeze(rows, g.ints { 0 }) } end
  local out = { n = count }
  for i = 1, count do out[i] = g.Gather(rows, g.scalar(i - 1, "int64"), { axis = 0 }) end
  return out
end

family({ "nonzero(Tensor self) -> Tensor", "argwhere(Tensor self) -> Tensor" }, function(g, a)
  return nonzero(g, a.self)
end)
aten:rule("nonzero_numpy(Tensor self) -> Tensor[]", function(g, a)
  return unbind_rows(g, nonzero_rows(g, a.self), math.max(a.self.rank, 1))
end)
aten:rule("where(Tensor condition) -> Tensor[]", function(g, a)
  return unbind_rows(g, nonzero_rows(g, a.condition), math.max(a.condition.rank, 1))
end)
aten:rule("nonzero_static(Tensor self, *, SymInt size, int fill_value=-1) -> Tensor", function(g, a)
  local found = g.Concat(nonzero(g, a.self), g.full({ a.size, a.self.rank }, a.fill_value, "int64"), { axis = 0 })
  return g.Slice(found, g.ints { 0 }, g.ints { a.size }, g.ints { 0 })
end)

-- ---- one index ----

local function index_of(g, v)
  return (v.dtype == "int64" or v.dtype == "int32") and v or v:to("int64")
end

aten:rule("index_select(Tensor self, int dim, Tensor index) -> Tensor", function(g, a)
  if a.self.rank == 0 then return a.self end
  return g.Gather(a.self, index_of(g, at_least_1d(g, a.index)), { axis = util.dim(a.dim, a.self.rank) })
end)

local function gather(g, x, dim, index)
  if util.contains(index.shape, 0) then return g.zeros(index.shape, x.dtype) end
  local y = g.GatherElements(at_least_1d(g, x), index_of(g, at_least_1d(g, index)), { axis = dim })
  return index.rank == 0 and g.reshape(y, {}) or y
end

aten:rule("gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor", function(g, a)
  return gather(g, a.self, util.dim(a.dim, a.self.rank), a.index)
end)
aten:rule("take(Tensor self, Tensor index) -> Tensor", function(g, a)
  return g.Gather(flat(g, a.self), index_of(g, a.index))
end)
aten:rule("take_along_dim(Tensor self, Tensor indices, int? dim=None) -> Tensor", function(g, a)
  if not a.dim then return gather(g, flat(g, a.self), 0, flat(g, a.indices)) end
  local dim = util.dim(a.dim, a.self.rank)
  local x_shape, index_shape = a.self.shape, a.indices.shape
  x_shape[dim + 1], index_shape[dim + 1] = 1, 1
  local shape = infer.broadcast(x_shape, index_shape)
  local function spread(v)
    local target = util.copy(shape)
    target[dim + 1] = v:size(dim)
    return expand(g, v, target)
  end
  return gather(g, spread(a.self), dim, spread(a.indices))
end)

-- ---- several indices ----

-- The indices as { dims they stand for (from 0), vectors or tensors of int64 }: a mask is the places where it is true.
local function by_dimension(g, indices)
  local dims, tensors, dim = {}, {}, 0
  for i = 1, indices.n or #indices do
    local v = indices[i]
    local count = 1
    if v and (v.dtype == "bool" or v.dtype == "uint8") then
      if v.rank == 0 then g.decline("a mask without dimensions as an index") end
      count = v.rank
      for k, row in ipairs(unbind_rows(g, nonzero_rows(g, v), count)) do
        dims[#dims + 1], tensors[#tensors + 1] = dim + k - 1, row
      end
    elseif v then
      dims[#dims + 1], tensors[#tensors + 1] = dim, v:to("int64")
    end
    dim = dim + count
  end
  return dims, tensors
end

-- The indices broadcast together, as one tensor whose last dimension holds one of each; and their common shape.
local function joined(g, tensors)
  local shape, same, sum = tensors[1].shape, true, tensors[1]
  for i = 2, #tensors do
    same = same and util.same_shape(shape, tensors[i].shape)
    shape = infer.broadcast(shape, tensors[i].shape)
  end
  local target
  if not same and not util.all_static(shape) then
    for i = 2, #tensors do sum = g.Add(sum, tensors[i]) end
    target = g.Shape(sum)
  end
  local parts = {}
  for i, v in ipairs(tensors) do
    if not util.same_shape(v.shape, shape) then v = target and g.Expand(v, target) or g.expand(v, shape) end
    parts[i] = g.Unsqueeze(v, g.ints { -1 })
  end
  if #parts == 1 then return parts[1], shape end
  parts[#parts + 1] = { axis = -1 }
  return g.Concat(table.unpack(parts)), shape
end

-- How x is laid out for the indices: their dims first (`perm`). In the result the dims of the indices (`rank` of them)
-- stand where the first indexed dimension stood if these were neighbours, and in front if not (`place`).
local function layout(x, dims, rank)
  local perm, indexed, neighbours = {}, {}, true
  for i, d in ipairs(dims) do
    perm[i], indexed[d] = d, true
    neighbours = neighbours and d == dims[1] + i - 1
  end
  for d = 0, x.rank - 1 do
    if not indexed[d] then perm[#perm + 1] = d end
  end
  local place, order = neighbours and dims[1] or 0, {}
  for i = 1, place do order[i] = rank + i - 1 end
  for i = 0, rank - 1 do order[#order + 1] = i end
  for i = rank + place, rank + x.rank - #dims - 1 do order[#order + 1] = i end
  return { perm = perm, place = place, order = order, first_rest = #dims + 1 }
end

-- The mask, its dimension and rank, where the only index is one.
local function only_mask(indices)
  local mask, dim, others
  for i = 1, indices.n or #indices do
    local v = indices[i]
    others = others or mask and v
    if v and not mask then mask, dim = v, i - 1 end
  end
  if others or not mask or mask.rank == 0 or not (mask.dtype == "bool" or mask.dtype == "uint8") then return nil end
  return mask:to("bool"), dim
end

local function masked(g, x, mask, dim)
  local dims = { table.unpack(x.shape, 1, dim) }
  dims[dim + 1] = util.product(x.shape, dim + 1, dim + mask.rank)
  for i = dim + mask.rank + 1, x.rank do dims[#dims + 1] = x.shape[i] end
  return g.Compress(g.reshape(x, dims), flat(g, mask), { axis = dim })
end

local function index(g, x, indices)
  local mask, at = only_mask(indices)
  if mask then return masked(g, x, mask, at) end
  local dims, tensors = by_dimension(g, indices)
  if #dims == 0 then return x end
  if #dims == 1 then return g.Gather(x, tensors[1], { axis = dims[1] }) end
  local places, shape = joined(g, tensors)
  local l = layout(x, dims, #shape)
  return permute(g, g.GatherND(permute(g, x, l.perm), places), l.order)
end

family({
  "index.Tensor(Tensor self, Tensor?[] indices) -> Tensor",
  "_unsafe_index.Tensor(Tensor self, Tensor?[] indices) -> Tensor",
}, function(g, a) return index(g, a.self, a.indices) end)

-- values with the sizes of what the indices select, its dims in the order of the scattering.
local function updates(g, x, values, places, shape, l)
  local before, after = {}, {}
  for i = l.first_rest, x.rank do
    local list = i - l.first_rest < l.place and before or after
    list[#list + 1] = x:size(l.perm[i])
  end
  local want = util.copy(before)
  for _, list in ipairs { shape, after } do
    for _, d in ipairs(list) do want[#want + 1] = d end
  end
  while values.rank > #want do values = g.Squeeze(values, g.ints { 0 }) end
  if not util.same_shape(values.shape, want) then
    if util.all_static(shape) then
      values = g.expand(values, want)
    else
      values = g.Expand(values, g.Concat(g.ints(before), g.Shape(places, { start = 0, ["end"] = #shape }),
                                         g.ints(after), { axis = 0 }))
    end
  end
  return permute(g, values, inverse(l.order))
end

-- A number goes wherever the mask is true, which takes no indices.
local function put_number(g, x, mask, dim, value, accumulate)
  local dims = util.fill(1, x.rank)
  for i, d in ipairs(mask.shape) do dims[dim + i] = d end
  value = g.reshape(value, {})
  return util.where(g, g.reshape(mask, dims), accumulate and g.Add(x, value) or value, x)
end

-- What is computed in another dtype: ONNX adds no booleans, ONNX Runtime no floats of 16 bits in a scatter.
local COMPUTED_AS = { bool = "int32", float16 = "float32", bfloat16 = "float32" }

local function index_put(g, x, indices, values, accumulate)
  local wide = accumulate and COMPUTED_AS[x.dtype]
  if wide then return index_put(g, x:to(wide), indices, values:to(wide), true):to(x.dtype) end
  values = values:to(x.dtype)
  local mask, at = only_mask(indices)
  if mask and util.equal(util.product(values.shape), 1) then return put_number(g, x, mask, at, values, accumulate) end
  local dims, tensors = by_dimension(g, indices)
  if #dims == 0 then return g.decline("no index at all") end
  local places, shape = joined(g, tensors)
  local l = layout(x, dims, #shape)
  local y = g.ScatterND(permute(g, x, l.perm), places, updates(g, x, values, places, shape, l),
                        accumulate and { reduction = "add" } or {})
  return permute(g, y, inverse(l.perm))
end

family({
  "index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor",
  "_unsafe_index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor",
}, function(g, a) return index_put(g, a.self, a.indices, a.values, a.accumulate) end)

-- Indices where the mask is false may be anything: they are brought within bounds, and what they select is not used.
local function within_bounds(g, x, indices)
  local out = { n = indices.n }
  for i = 1, indices.n do
    local v = indices[i]
    if v then
      local last = g.scalar(x:size(i - 1) - 1, "int64")
      out[i] = g.Max(g.Min(v:to("int64"), last), g.scalar(0, "int64"))
    end
  end
  return out
end

aten:rule("_unsafe_masked_index(Tensor self, Tensor mask, Tensor?[] indices, Scalar fill) -> Tensor", function(g, a)
  local x = index(g, a.self, within_bounds(g, a.self, a.indices))
  return where(g, a.mask, x, g.scalar(a.fill, x.dtype))
end)
aten:rule("_unsafe_masked_index_put_accumulate(Tensor self, Tensor mask, Tensor?[] indices, Tensor values) -> Tensor",
  function(g, a)
    local values = where(g, a.mask, a.values, g.scalar(0, a.values.dtype))
    return index_put(g, a.self, within_bounds(g, a.self, a.indices), values, true)
  end)

-- Names that are put together above, for the index of rules (tools/name_hints.py):
-- "where.Scalar" "where.ScalarOther" "where.ScalarSelf" "where.self"
