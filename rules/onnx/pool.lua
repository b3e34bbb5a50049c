-- rules/onnx/pool.lua: pooling.

local core = require("t2o.core")
local types = require("t2o.types")
local windows = require("t2o.windows")
local backend = require("t2o.back")
local onnx = backend.registry

local all, fill, equal = windows.all, windows.fill, windows.equal

local function zeros(rank) return fill(nil, rank, 0) end

-- ---- of everything ----

local function spatial(t, x)
  if not core.field(x, "known_rank") then t.decline("pooling of a tensor of unknown rank") end
  local dims = {}
  for i = 2, x.rank - 1 do dims[#dims + 1] = i end
  return dims
end

onnx:rule("GlobalAveragePool(X)", function(t, n) return t.aten["mean.dim"](n.X, spatial(t, n.X), true) end)
onnx:rule("GlobalMaxPool(X)", function(t, n) return t.aten.amax(n.X, spatial(t, n.X), true) end)
onnx:rule("GlobalLpPool(X) {p=2}", function(t, n)
  return t.aten.linalg_vector_norm(n.X, n.p, spatial(t, n.X), true)
end)

-- ---- of windows ----

-- Padding that PyTorch's pools do themselves: the same on both sides, at most half a window.
local function plain(w, reach)
  if not equal(w.before, w.after) then return false end
  for i = 1, w.rank do
    local p = w.before[i]
    if math.type(p) ~= "integer" or p < 0 or p > reach[i] // 2 then return false end
  end
  return true
end

-- With ceil_mode the last windows may reach beyond the padding: how far beyond each size they end.
local function ends(n, w)
  if n.ceil_mode == 0 then return w.after end
  local out = {}
  for i = 1, w.rank do
    local count, size = n.outputs[1]:size(i + 1), n.X:size(i + 1)
    out[i] = (count - 1) * w.stride[i] + w.reach[i] - size - w.before[i]
  end
  return out
end

local function least(dtype)
  if types.is_float(dtype) then return -math.huge end
  return types.is_unsigned(dtype) and 0 or -(1 << (types.bits(dtype) - 1))
end

local MAX = { "max_pool1d", "max_pool2d", "max_pool3d" }

-- The numbers of elements in the whole input, of numbers in each (padded) map.
local function whole_indices(t, n, w, indices, padded)
  local size, rank = {}, w.rank
  for i = 1, rank do size[i] = n.X:size(i + 1) end
  local places, divisor = {}, 1
  if not padded and n.storage_order == 0 then
    places = indices
  else
    local rest = indices
    for i = rank, 1, -1 do
      local wide = padded and size[i] + w.before[i] + padded[i] or size[i]
      places[i] = i > 1 and t.aten["remainder.Scalar"](rest, wide) or rest
      rest = i > 1 and t.aten["div.Tensor_mode"](rest, wide, { rounding_mode = "floor" })
      if padded and w.before[i] ~= 0 then places[i] = t.aten["sub.Tensor"](places[i], w.before[i]) end
    end
    local sum
    for j = 1, rank do
      local i = n.storage_order == 0 and rank + 1 - j or j
      local part = j > 1 and t.aten["mul.Tensor"](places[i], divisor) or places[i]
      sum, divisor = sum and t.aten["add.Tensor"](sum, part) or part, divisor * size[i]
    end
    places = sum
  end
  local each = 1
  for i = 1, rank do each = each * size[i] end
  local count = n.X:size(0) * n.X:size(1)
  if count == 1 then return places end
  local shape = { n.X:size(0), n.X:size(1), table.unpack(fill(nil, rank, 1)) }
  local first = t.aten["arange.start_step"](0, count * each, each)
  return t.aten["add.Tensor"](places, t.aten.reshape(first, shape))
end

onnx:rule("MaxPool(X) {auto_pad='NOTSET', ceil_mode=0, storage_order=0}", function(t, n)
  local w = windows.of(n, n.X, n.kernel_shape)
  local op, dtype = MAX[w.rank], n.outputs[1].dtype
  local x, before, ceil, padded = n.X, w.before, n.ceil_mode ~= 0, nil
  if not plain(w, w.reach) then
    padded = ends(n, w)
    x, before, ceil = windows.pad(t, x, w.before, padded, least(dtype)), zeros(w.rank), false
  end
  local narrow = types.is_int(dtype) and w.rank ~= 2
  if narrow or not op then
    if t.wants(n.outputs[2]) then t.decline("indices of a pool over " .. w.rank .. " dimensions of " .. dtype) end
    if not padded then x = windows.pad(t, x, w.before, ends(n, w), least(dtype)) end
    local dims
    x, dims = windows.unfold(t, x, w)
    return t.aten.amax(x, dims)
  end
  if not t.wants(n.outputs[2]) then return t.aten[op](x, w.kernel, w.stride, before, w.dilation, ceil) end
  local y, indices = t.aten[op .. "_with_indices"](x, w.kernel, w.stride, before, w.dilation, ceil)
  return y, whole_indices(t, n, w, indices, padded)
end)

local AVERAGE = { "avg_pool1d", "avg_pool2d", "avg_pool3d" }

onnx:rule("AveragePool(X) {auto_pad='NOTSET', ceil_mode=0, count_include_pad=0}", function(t, n)
  local w = windows.of(n, n.X, n.kernel_shape)
  local op, counts_pad = AVERAGE[w.rank], n.count_include_pad ~= 0
  local dense = op and all(w.dilation, 1)
  if dense and plain(w, w.kernel) then
    return t.aten[op](n.X, w.kernel, w.stride, w.before, n.ceil_mode ~= 0, counts_pad)
  end
  local beyond = ends(n, w)
  local none = all(w.before, 0) and all(beyond, 0)
  local x = windows.pad(t, n.X, w.before, beyond)
  if none or counts_pad and equal(beyond, w.after) then
    if dense then return t.aten[op](x, w.kernel, w.stride, zeros(w.rank)) end
    local dims
    x, dims = windows.unfold(t, x, w)
    return t.aten["mean.dim"](x, dims)
  end
  -- the sum by the number of elements that count
  local ones = t.aten.ones_like(n.X)
  if counts_pad then
    local rest = {}
    for i = 1, w.rank do rest[i] = beyond[i] - w.after[i] end
    ones = windows.pad(t, windows.pad(t, ones, w.before, w.after, 1), zeros(w.rank), rest)
  else
    ones = windows.pad(t, ones, w.before, beyond)
  end
  if dense then
    local zero = zeros(w.rank)
    return t.aten["div.Tensor"](t.aten[op](x, w.kernel, w.stride, zero), t.aten[op](ones, w.kernel, w.stride, zero))
  end
  local dims
  x, dims = windows.unfold(t, x, w)
  ones = windows.unfold(t, ones, w)
  return t.aten["div.Tensor"](t.aten["sum.dim_IntList"](x, dims), t.aten["sum.dim_IntList"](ones, dims))
end)

onnx:rule("LpPool(X) {auto_pad='NOTSET', ceil_mode=0, p=2}", function(t, n)
  local w = windows.of(n, n.X, n.kernel_shape)
  local x, dims = windows.unfold(t, windows.pad(t, n.X, w.before, ends(n, w)), w)
  return t.aten.linalg_vector_norm(x, n.p, dims)
end)

-- ---- back ----

backend.t.declare("_operator", "sub(SymInt a, SymInt b) -> SymInt")

onnx:rule("MaxUnpool(X, I, output_shape?)", function(t, n)
  local w = windows.of(n, n.X, n.kernel_shape)
  local own, wanted, count = { n.X:size(0), n.X:size(1) }, n.output_shape and t.sizes(n.output_shape), 1
  for i = 1, w.rank do
    own[i + 2] = (n.X:size(i + 1) - 1) * w.stride[i] + w.kernel[i] - w.before[i] - w.after[i]
  end
  for i = 1, #own do count = count * own[i] end
  local flat = t.aten["flatten.using_ints"]
  local y = t.aten["scatter.src"](t.aten.new_zeros(n.X, { count }), 0, flat(n.I), flat(n.X))
  y = t.aten.reshape(y, own)
  if not wanted then return y end
  local none, more = fill(nil, #own, 0), {}
  for i = 1, #own do
    more[i] = core.is_value(wanted[i]) and t._operator.sub(wanted[i], own[i]) or wanted[i] - own[i]
  end
  return windows.pad(t, y, none, more)
end)
