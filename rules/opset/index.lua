-- rules/opset/index.lua: reading and writing at positions, and picking the largest.

local lib = require("t2o.opset")
local opset = lib.registry
local types = require("t2o.types")
local util = require("t2o.util")

local function size_of(g, x, d) return g.Shape(x, { start = d, ["end"] = d + 1 }) end

local function range(g, size)
  return g.Range(g.scalar(0, "int64"), g.Squeeze(size, g.ints { 0 }), g.scalar(1, "int64"))
end

-- Indices that count from the start.
local function from_start(g, indices, size)
  indices = indices:to("int64")
  return g.Where(g.Less(indices, g.scalar(0, "int64")), g.Add(indices, size), indices)
end

-- ---- one element for each index ----

-- Where the elements stand in the data, laid out flat.
local function flat_positions(g, data, indices, axis)
  local rank = lib.rank(data)
  local stride, position = g.ints { 1 }, nil
  for d = rank - 1, 0, -1 do
    local at = from_start(g, indices, size_of(g, data, axis))
    if d ~= axis then
      at = range(g, size_of(g, indices, d))
      if d < rank - 1 then at = g.Unsqueeze(at, g.ints(util.range(1, rank - 1 - d))) end
    end
    at = g.Mul(at, stride)
    position = position and g.Add(position, at) or at
    stride = g.Mul(stride, size_of(g, data, d))
  end
  return position
end

opset:express("GatherElements(data, indices) {axis=0}", { below = 11 }, function(g, n)
  local axis = util.dim(n.axis, lib.rank(n.data))
  return g.Gather(g.Reshape(n.data, g.ints { -1 }), flat_positions(g, n.data, n.indices, axis))
end)

opset:lower("ScatterElements(data, indices, updates) {axis=0}", { below = 11 }, function(g, n)
  return g.Scatter(n.data, n.indices, n.updates, { axis = util.dim(n.axis, lib.rank(n.data)) })
end)

-- ---- one block for each tuple of indices ----

-- The tuples as positions among `depth` dims of the data from the dim `first` on, one for each tuple.
local function tuple_positions(g, data, indices, first, depth)
  local last = lib.rank(indices) - 1
  local stride, position = g.ints { 1 }, nil
  for i = depth - 1, 0, -1 do
    local size = size_of(g, data, first + i)
    local at = from_start(g, g.Gather(indices, g.scalar(i, "int64"), { axis = last }), size)
    at = g.Mul(at, stride)
    position = position and g.Add(position, at) or at
    stride = g.Mul(stride, size)
  end
  return position, stride
end

local function tuple_depth(g, indices)
  local depth = indices:size(-1)
  if not util.is_static(depth) then g.decline("tuples of unknown length") end
  return depth
end

local function gather_nd(g, n)
  local data, indices, batch = n.data, n.indices, n.batch_dims
  local depth = tuple_depth(g, indices)
  local rank, irank = lib.rank(data), lib.rank(indices)
  local position, block = tuple_positions(g, data, indices, batch, depth)
  for d = batch - 1, 0, -1 do
    local at = range(g, size_of(g, indices, d))
    if irank - 2 > d then at = g.Unsqueeze(at, g.ints(util.range(1, irank - 2 - d))) end
    position = g.Add(position, g.Mul(at, block))
    block = g.Mul(block, size_of(g, data, d))
  end
  local shape = block
  if rank > batch + depth then shape = g.Concat(block, g.Shape(data, { start = batch + depth }), { axis = 0 }) end
  return g.Gather(g.Reshape(data, shape), position)
end

opset:express("GatherND(data, indices) {batch_dims=0}", { below = 12 }, function(g, n)
  if n.batch_dims > 0 then return gather_nd(g, n) end
end)
opset:lower("GatherND(data, indices)", { below = 12 }, function(_, n)
  if n.attrs.batch_dims then return lib.again(n, nil, {}) end
end)
opset:express("GatherND(data, indices) {batch_dims=0}", { below = 11 }, gather_nd)

opset:express("ScatterND(data, indices, updates)", { below = 11 }, function(g, n)
  local depth = tuple_depth(g, n.indices)
  local position, count = tuple_positions(g, n.data, n.indices, 0, depth)
  position = g.Reshape(position, g.ints { -1, 1 })
  local flat = g.Reshape(n.data, g.Concat(count, g.ints { -1 }, { axis = 0 }))
  local width = size_of(g, flat, 1)
  local shape = g.Concat(g.Shape(position, { start = 0, ["end"] = 1 }), width, { axis = 0 })
  local out = g.ScatterElements(flat, g.Expand(position, shape), g.Reshape(n.updates, shape), { axis = 0 })
  return g.Reshape(out, g.Shape(n.data))
end)

-- ---- updates that are added up, multiplied ...: one after the other, so that none gets lost ----

local REDUCE = { add = "Add", mul = "Mul", max = "Max", min = "Min" }

-- Writes update after update; slice(i) gives the indices and updates of one turn.
local function in_turns(g, data, count, turn)
  local body = g.body("updates", { { "int64", {} }, { "bool", {} }, { data.dtype, data.shape } },
    function(i, go_on, now)
      return g.Identity(go_on), turn(i, now)
    end)
  local y = g.Loop(count, g.const(true), data, { body = body, outputs = 1 })
  return type(y) == "table" and y[1] or y
end

local function scatter_elements(g, n)
  local rank = lib.rank(n.data)
  local axis, op = util.dim(n.axis, rank), REDUCE[n.reduction]
  local count = g.Squeeze(size_of(g, n.indices, axis), g.ints { 0 })
  return in_turns(g, n.data, count, function(i, now)
    local at = g.Reshape(i, g.ints { 1 })
    local indices = g.Gather(n.indices, at, { axis = axis })
    local updates = g.Gather(n.updates, at, { axis = axis })
    local value = g[op](g.GatherElements(now, indices, { axis = axis }), updates)
    return g.ScatterElements(now, indices, value, { axis = axis })
  end)
end

local function scatter_nd(g, n)
  local depth, op = tuple_depth(g, n.indices), REDUCE[n.reduction]
  local rank = lib.rank(n.data)
  local tuples = g.Reshape(n.indices, g.ints { -1, depth })
  local shape = g.ints { -1 }
  if rank > depth then shape = g.Concat(shape, g.Shape(n.data, { start = depth }), { axis = 0 }) end
  local blocks = g.Reshape(n.updates, shape)
  local count = g.Squeeze(size_of(g, tuples, 0), g.ints { 0 })
  return in_turns(g, n.data, count, function(i, now)
    local at = g.Reshape(i, g.ints { 1 })
    local indices, updates = g.Gather(tuples, at), g.Gather(blocks, at)
    return g.ScatterND(now, indices, g[op](g.GatherND(now, indices), updates))
  end)
end

local function reducing(op, form)
  local text = op .. "(data, indices, updates) {axis=0, reduction='none'}"
  opset:express(text, { below = 18 }, function(g, n)
    if n.reduction == "max" or n.reduction == "min" then return form(g, n) end
  end)
  opset:express(text, { below = 16 }, function(g, n)
    if n.reduction ~= "none" then return form(g, n) end
  end)
  opset:lower(text, { below = 16 }, function(_, n)
    if n.attrs.reduction then return lib.again(n, nil, lib.attrs(n, { reduction = false })) end
  end)
end

reducing("ScatterElements", scatter_elements)
reducing("ScatterND", scatter_nd)

opset:express("TensorScatter(past_cache, update, write_indices?) {axis=-2, mode='linear'}", { below = 24 },
  function(g, n)
    local cache, update = n.past_cache, n.update
    local rank = lib.rank(cache)
    local axis = util.dim(n.axis, rank)
    local at = range(g, size_of(g, update, axis))
    if axis < rank - 1 then at = g.Unsqueeze(at, g.ints(util.range(1, rank - 1 - axis))) end
    if n.write_indices then at = g.Add(at, g.Unsqueeze(n.write_indices, g.ints(util.range(1, rank - 1)))) end
    if n.mode == "circular" then at = g.Mod(at, size_of(g, cache, axis)) end
    return g.ScatterElements(cache, g.Expand(at, g.Shape(update)), update, { axis = axis })
  end)

-- ---- the largest ----

for _, op in ipairs { "ArgMax", "ArgMin" } do
  opset:lower(op .. "(data) {axis=0, keepdims=1, select_last_index=0}", { below = 12 }, function(g, n)
    if not n.attrs.select_last_index then return end
    local attrs = lib.attrs(n, { select_last_index = false })
    if n.select_last_index == 0 then return lib.again(n, nil, attrs) end
    local axis = g.ints { util.dim(n.axis, lib.rank(n.data)) }
    return lib.at_newest(function()
      local turned = g.Slice(n.data, g.ints { -1 }, g.ints { math.mininteger }, axis, g.ints { -1 })
      local size = g.Gather(g.Shape(n.data), g.Squeeze(axis, g.ints { 0 }))
      return g.Sub(g.Sub(size, g.scalar(1, "int64")), g[op](turned, attrs))
    end)
  end)
end

opset:lower("TopK(X, K) {axis=-1, largest=1, sorted=1}", { below = 11 }, function(g, n)
  local x, dtype = n.X, n.X.dtype
  if dtype == "int64" or dtype == "uint64" then g.decline("64-bit integers are not exact in any dtype it has there") end
  if not types.is_float(dtype) then x = x:to("float64") end
  if n.largest == 0 then x = g.Neg(x) end
  local values, indices = g.TopK(x, n.K, { axis = util.dim(n.axis, lib.rank(x)), outputs = 2 })
  if n.largest == 0 then values = g.Neg(values) end
  return values:to(dtype), indices
end)

opset:lower("TopK(X, K)", { below = 10 }, function(_, n)
  return lib.again(n, { n.X }, lib.attrs(n, { k = lib.known_integers(n.K, "its sizes")[1] }))
end)
