-- rules/opset/axes.lua: axes and sizes that were attributes before they became inputs, and were counted from the start
-- only before opset 11.

local lib = require("t2o.opset")
local opset = lib.registry
local util = require("t2o.util")

-- ---- reductions ----

-- What a reduction over no axes does to the elements, where that is something at all.
local WITHOUT_AXES = {
  ReduceL1 = function(g, x) return g.Abs(x) end,
  ReduceL2 = function(g, x) return g.Abs(x) end,
  ReduceLogSum = function(g, x) return g.Log(x) end,
  ReduceSumSquare = function(g, x) return g.Mul(x, x) end,
}

local function axes_to_attribute(g, n)
  local axes = n.axes and lib.known_integers(n.axes, "its axes")
  if axes and #axes == 0 then axes = nil end
  if not axes and n.noop_with_empty_axes == 1 then
    return (WITHOUT_AXES[n.op] or g.Identity)(g, n.data)
  end
  return lib.again(n, { n.data }, lib.attrs(n, { noop_with_empty_axes = false, axes = axes }))
end

for _, op in ipairs {
  "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd",
  "ReduceSum", "ReduceSumSquare",
} do
  local fn = axes_to_attribute
  if WITHOUT_AXES[op] == nil then
    fn = function(g, n)
      if (not n.axes or #(lib.integers(n.axes) or { 1 }) == 0) and n.noop_with_empty_axes == 1 then
        return g.Identity(n.data)
      end
      return axes_to_attribute(g, n)
    end
  end
  local below = op == "ReduceSum" and 13 or 18
  opset:lower(op .. "(data, axes?) {keepdims=1, noop_with_empty_axes=0}", { below = below }, fn)
end

for _, op in ipairs { "ReduceMax", "ReduceMin" } do
  opset:lower(op .. "(data, axes?)", { below = 20 }, function(g, n)
    if n.data.dtype == "bool" then return lib.computed_in(g, n, "int32") end
  end)
  opset:lower(op .. "(data)", { below = 12 }, function(g, n)
    if n.data.dtype == "int8" or n.data.dtype == "uint8" then return lib.computed_in(g, n, "int32") end
  end)
end

-- ---- Squeeze, Unsqueeze, Split ----

for _, op in ipairs { "Squeeze", "Unsqueeze" } do
  opset:lower(op .. "(data, axes?)", { below = 13 }, function(_, n)
    return lib.again(n, { n.data }, { axes = n.axes and lib.known_integers(n.axes, "its axes") })
  end)
end

-- Sizes of the pieces of a dim where all but the last are equally long.
local function equal_sizes(d, count)
  local size = (d + count - 1) // count
  local sizes = util.fill(size, count - 1)
  sizes[count] = d - size * (count - 1)
  return sizes
end

opset:lower("Split(input, split?) {axis=0, num_outputs}", { below = 18 }, function(g, n)
  if not n.num_outputs then return end
  local split = n.split
  if not split then
    local d = n.input:size(util.dim(n.axis, lib.rank(n.input)))
    if not util.equal(d % n.num_outputs, 0) then split = g.ints(equal_sizes(d, n.num_outputs)) end
  end
  return lib.again(n, { n.input, split }, lib.attrs(n, { num_outputs = false }))
end)

opset:lower("Split(input, split?) {axis=0}", { below = 13 }, function(g, n)
  local sizes = n.split and lib.integers(n.split)
  if sizes or not n.split then return lib.again(n, { n.input }, lib.attrs(n, { split = sizes })) end
  local out, first = {}, g.ints { 0 }
  for i = 1, n.outputs.n do
    local last = first + g.Gather(n.split, g.ints { i - 1 })
    out[i] = g.Slice(n.input, first, last, g.ints { n.axis })
    first = last
  end
  return table.unpack(out)
end)

-- ---- negative axes ----

local function is_negative(axes)
  for _, a in ipairs(axes) do
    if a < 0 then return true end
  end
  return false
end

local function count_from_start(_, n)
  local axis, axes = n.axis, n.axes
  if not (axis and axis < 0) and not (axes and is_negative(axes)) then return end
  local rank = lib.rank(n.inputs[1])
  if n.op == "Unsqueeze" then rank = rank + #axes end
  if n.op == "OneHot" then rank = rank + 1 end
  local changes = { axis = axis and util.dim(axis, rank), axes = axes and util.dims(axes, rank) }
  return lib.again(n, nil, lib.attrs(n, changes))
end

for _, op in ipairs {
  "ArgMax", "ArgMin", "Compress", "Concat", "Flatten", "Hardmax", "LogSoftmax", "ReduceL1", "ReduceL2", "ReduceLogSum",
  "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare", "Softmax",
  "Split", "Squeeze", "Unsqueeze",
} do
  opset:lower(op .. "()", { below = 11 }, count_from_start)
end

-- ---- Softmax and its kin: before opset 13 they looked at all dims from the axis on as one ----

for _, op in ipairs { "Softmax", "LogSoftmax", "Hardmax" } do
  opset:lower(op .. "(input) {axis=-1}", { below = 13 }, function(g, n)
    local rank = lib.rank(n.input)
    local axis = util.dim(n.axis, rank)
    if axis == rank - 1 then return lib.again(n, nil, { axis = axis }) end
    local perm, back = util.to_last(rank, axis)
    local y = g[op](g.Transpose(n.input, { perm = perm }), { axis = rank - 1 })
    return g.Transpose(y, { perm = back })
  end)
end

opset:lower("Gather(data, indices) {axis=0}", { below = 11 }, function(g, n)
  local list = n.indices.is_constant and lib.integers(n.indices)
  if not list or not is_negative(list) then return end
  local size = n.data:size(util.dim(n.axis, lib.rank(n.data)))
  local shifted = g.Where(g.Less(n.indices, g.scalar(0, n.indices)), n.indices + size, n.indices)
  return lib.again(n, { n.data, shifted })
end)
