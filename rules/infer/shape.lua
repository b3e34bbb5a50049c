-- rules/infer/shape.lua: operators that move, select or repeat elements.

local core = require("t2o.core")
local infer = require("t2o.infer")

-- ---- the same elements under other sizes ----

infer.registry:rule("Transpose", function(n)
  local x = infer.shape(n, 1)
  if not x then return nil end
  local out = {}
  for i = 1, #x do
    out[i] = n.attrs.perm and x[n.attrs.perm[i] + 1] or x[#x + 1 - i]
  end
  return out
end)

-- product(have) // product(want), equal factors first: sums need not be multiplied out for them.
local function quotient(have, want)
  local count, top, bottom = {}, {}, {}
  for _, d in ipairs(want) do count[d] = (count[d] or 0) + 1 end
  for _, d in ipairs(have) do
    if d ~= 0 and (count[d] or 0) > 0 then count[d] = count[d] - 1 else top[#top + 1] = d end
  end
  for d, times in pairs(count) do
    for _ = 1, times do bottom[#bottom + 1] = d end
  end
  local by = infer.product(bottom)
  if by == 0 then return core.fresh() end
  return infer.product(top) // by
end

infer.registry:rule("Reshape", function(n)
  local x, target = infer.shape(n, 1), n.attrs.shape or infer.content(n, 2)
  if not target then
    local rank = infer.length(n, 2)
    return rank and infer.fresh(rank)
  end
  local out, rest, open = {}, {}, nil
  for i, d in ipairs(target) do
    if d == 0 and infer.attr(n, "allowzero", 0) == 0 then d = x and x[i] or core.fresh() end
    out[i] = d
    if d == -1 then open = i else rest[#rest + 1] = d end
  end
  if open then out[open] = x and quotient(x, rest) or core.fresh() end
  return out
end)

infer.registry:rule("Flatten", function(n)
  local x = infer.shape(n, 1)
  if not x then return nil end
  local axis = infer.attr(n, "axis", 1)
  axis = axis < 0 and axis + #x or axis
  return { infer.product(x, 1, axis), infer.product(x, axis + 1) }
end)

infer.registry:rule("Squeeze", function(n)
  local x = infer.shape(n, 1)
  if not x then return nil end
  local axes = infer.axes(n, 2, #x)
  if axes == nil then
    local fewer = infer.length(n, 2)
    return fewer and infer.fresh(#x - fewer)
  end
  local out = {}
  for i, d in ipairs(x) do
    local order = not axes and core.compare(d, 1)
    if not axes and order == nil then return nil end -- 1 or not: the rank hangs on it
    if axes and not axes[i] or order and order ~= 0 then out[#out + 1] = d end
  end
  return out
end)

infer.registry:rule("Unsqueeze", function(n)
  local x = infer.shape(n, 1)
  if not x then return nil end
  local more = n.attrs.axes and #n.attrs.axes or infer.length(n, 2)
  local axes = more and infer.axes(n, 2, #x + more)
  if not axes then return more and infer.fresh(#x + more) end
  local out, next_dim = {}, 1
  for i = 1, #x + more do
    if axes[i] then
      out[i] = 1
    else
      out[i], next_dim = x[next_dim], next_dim + 1
    end
  end
  return out
end)

infer.registry:rule("SpaceToDepth", function(n)
  local x, b = infer.shape(n, 1), n.attrs.blocksize
  return x and { x[1], x[2] * (b * b), x[3] // b, x[4] // b }
end)

infer.registry:rule("DepthToSpace", function(n)
  local x, b = infer.shape(n, 1), n.attrs.blocksize
  return x and { x[1], x[2] // (b * b), x[3] * b, x[4] * b }
end)

-- ---- joining and cutting ----

infer.registry:rule("Concat", function(n)
  local out, known, axis
  for i = 1, n.inputs.n do
    local x = infer.shape(n, i)
    if x and not out then
      out, known, axis = x, i == 1, infer.axis(infer.attr(n, "axis", 1), #x)
    elseif x then
      for k, d in ipairs(x) do
        if k == axis then
          out[k] = out[k] + d
        elseif math.type(d) == "integer" then
          out[k] = d
        end
      end
    else
      known = false
    end
  end
  if out and not known then out[axis] = core.fresh() end
  return out
end)

-- The sizes of count pieces of d: equal ones, the last of what is left.
local function pieces(d, count)
  local out, size = {}, infer.ceil_div(d, count)
  for i = 1, count - 1 do out[i] = size end
  out[count] = d - size * (count - 1)
  return out
end

infer.registry:rule("Split", function(n)
  local x = infer.shape(n, 1)
  if not x then return nil end
  local axis = infer.axis(infer.attr(n, "axis", 0), #x)
  local sizes = n.attrs.split or infer.content(n, 2)
    or n.inputs[2] and infer.fresh(n.outputs) or pieces(x[axis], n.outputs)
  local out = {}
  for i = 1, n.outputs do
    out[i] = { table.unpack(x) }
    out[i][axis] = sizes[i]
  end
  return table.unpack(out, 1, n.outputs)
end)

local HUGE = 1 << 62 -- from here on a bound stands for "to the end"

-- How many elements a slice takes that walks forward, negative where none; nil where not known.
local function forward(d, start, stop, step)
  local to_end = math.type(stop) == "integer" and stop >= HUGE
  if infer.not_negative(start) then
    -- a start behind the end leaves a negative count, which the caller makes 0
    if math.type(start) == "integer" and start >= HUGE then return 0 end
  elseif core.compare(start, 0) == -1 then
    if start == math.mininteger then start = -HUGE end
    if to_end and step == 1 then return infer.min(d, 0 - start) end
    start = infer.max(0, d + start)
  else
    return nil
  end
  if to_end then
    stop = d
  elseif infer.not_negative(stop) then
    stop = infer.min(stop, d)
  elseif core.compare(stop, 0) == -1 then
    stop = math.type(stop) == "integer" and stop < -HUGE and 0 or d + stop
  else
    return nil
  end
  return infer.ceil_div(stop - start, step)
end

-- The same for one that walks backward, by -step.
local function backward(d, start, stop, step)
  if math.type(start) ~= "integer" or math.type(stop) ~= "integer" then return nil end
  if d == 0 then return 0 end
  if start == -1 or start >= HUGE then
    start = d - 1
  elseif start < 0 then
    start = start < -HUGE and 0 or infer.max(0, d + start)
  else
    start = infer.min(start, d - 1)
  end
  if stop < -HUGE then
    stop = -1
  elseif stop < 0 then
    stop = infer.max(-1, d + stop)
  else
    stop = infer.min(stop, d - 1)
  end
  return infer.ceil_div(start - stop, step)
end

local function sliced(d, start, stop, step)
  if math.type(step) ~= "integer" or step == 0 then return core.fresh() end
  local count
  if step > 0 then
    count = forward(d, start, stop, math.min(step, HUGE >> 1))
  else
    count = backward(d, start, stop, math.min(-math.max(step, -HUGE), HUGE >> 1))
  end
  return count and infer.max(0, count) or core.fresh()
end

infer.registry:rule("Slice", function(n)
  local x, a = infer.shape(n, 1), n.attrs
  if not x then return nil end
  local axes, starts = a.axes or infer.content(n, 4), a.starts or infer.content(n, 2)
  local stops, steps = a.ends or infer.content(n, 3), infer.content(n, 5)
  if n.inputs[4] and not axes then return infer.fresh(#x) end
  local count = axes and #axes or starts and #starts or infer.length(n, 2)
  if not count then return infer.fresh(#x) end
  for i = 1, count do
    local axis = infer.axis(axes and axes[i] or i - 1, #x)
    local step = 1
    if n.inputs[5] then step = steps and steps[i] end
    local known = starts and stops and step
    x[axis] = known and sliced(x[axis], starts[i], stops[i], step) or core.fresh()
  end
  return x
end)

infer.registry:rule("Pad", function(n)
  local x = infer.shape(n, 1)
  if not x then return nil end
  local pads = n.attrs.pads or n.attrs.paddings or infer.content(n, 2)
  local axes = infer.content(n, 4)
  if not pads or n.inputs[4] and not axes then return infer.fresh(#x) end
  local m = #pads // 2
  for i = 1, m do
    local axis = axes and infer.axis(axes[i], #x) or i
    x[axis] = x[axis] + pads[i] + pads[m + i]
  end
  return x
end)

infer.registry:rule("CenterCropPad", function(n)
  local x, sizes, axes = infer.shape(n, 1), infer.content(n, 2), n.attrs.axes
  if not x then return nil end
  for i = 1, axes and #axes or #x do
    x[axes and infer.axis(axes[i], #x) or i] = sizes and sizes[i] or core.fresh()
  end
  return x
end)

-- ---- repeating ----

infer.registry:rule("Expand", function(n)
  local x, target = infer.shape(n, 1), infer.content(n, 2)
  local rank = target and #target or infer.length(n, 2)
  if not (x and rank) then return nil end
  if target then return infer.broadcast(x, target) end
  local out = infer.fresh(math.max(rank, #x))
  for i = 1, #x do
    -- only a size of 1 can become another one
    local order = core.compare(x[i], 1)
    if #x - i + 1 > rank or order and order ~= 0 then out[#out - #x + i] = x[i] end
  end
  return out
end)

infer.registry:rule("Tile", function(n)
  local x, repeats = infer.shape(n, 1), infer.content(n, 2)
  if not x then return nil end
  if n.inputs[3] or not repeats then return infer.fresh(#x) end
  for i = 1, #x do x[i] = x[i] * repeats[i] end
  return x
end)

-- ---- selecting ----

infer.registry:rule("Gather", function(n)
  local x, indices = infer.shape(n, 1), infer.shape(n, 2)
  if not (x and indices) then return nil end
  local axis = infer.axis(infer.attr(n, "axis", 0), #x)
  local out = { table.unpack(x, 1, axis - 1) }
  for _, d in ipairs(indices) do out[#out + 1] = d end
  for i = axis + 1, #x do out[#out + 1] = x[i] end
  return out
end)

infer.registry:rule("GatherElements", function(n) return infer.shape(n, 2) end)

infer.registry:rule("GatherND", function(n)
  local x, indices = infer.shape(n, 1), infer.shape(n, 2)
  local depth = indices and indices[#indices]
  if not x or math.type(depth) ~= "integer" then return nil end
  local out = { table.unpack(indices, 1, #indices - 1) }
  for i = infer.attr(n, "batch_dims", 0) + depth + 1, #x do out[#out + 1] = x[i] end
  return out
end)

infer.registry:rule("Compress", function(n)
  local x = infer.shape(n, 1)
  if not n.attrs.axis then return { core.fresh() } end
  if x then x[infer.axis(n.attrs.axis, #x)] = core.fresh() end
  return x
end)

infer.registry:rule("NonZero", function(n)
  local x = infer.shape(n, 1)
  -- what a scalar gives is not agreed on
  return { x and #x > 0 and #x or core.fresh(), core.fresh() }
end)

infer.registry:rule("Unique", function(n)
  local x, found = infer.shape(n, 1), core.fresh()
  if not x then return nil, { found }, nil, { found } end
  if not n.attrs.axis then return { found }, { found }, { infer.product(x) }, { found } end
  local axis = infer.axis(n.attrs.axis, #x)
  local all = x[axis]
  x[axis] = found
  return x, { found }, { all }, { found }
end)

infer.registry:rule("OneHot", function(n)
  local x, depth = infer.shape(n, 1), infer.content(n, 2)
  if not x then return nil end
  local axis = infer.axis(infer.attr(n, "axis", -1), #x + 1)
  table.insert(x, axis, depth and depth[1] or core.fresh())
  return x
end)

-- ---- of sizes, and by them ----

infer.registry:rule("Shape", function(n)
  local x = infer.shape(n, 1)
  if not x then return { core.fresh() } end
  local first, last = infer.bounds(n, #x)
  return { math.max(0, last - first) }
end)

infer.registry:rule({ "Size", "SequenceLength", "OptionalHasElement" }, function() return {} end)

infer.registry:rule("ConstantOfShape", function(n)
  local rank = infer.length(n, 1)
  return infer.content(n, 1) or rank and infer.fresh(rank)
end)

infer.registry:rule("Range", function(n)
  local start, limit, delta = infer.numbers(n, 1), infer.numbers(n, 2), infer.numbers(n, 3)
  if not (start and limit and delta) then return { core.fresh() } end
  start, limit, delta = start[1], limit[1], delta[1]
  if math.type(start) == "float" then return { math.max(0, math.ceil((limit - start) / delta)) } end
  if math.type(delta) ~= "integer" or delta == 0 then return { core.fresh() } end
  if delta < 0 then start, limit, delta = limit, start, -delta end
  return { infer.max(0, infer.ceil_div(limit - start, delta)) }
end)

infer.registry:rule("Constant", function(n)
  local a = n.attrs
  if a.value then return a.value.shape end
  local list = a.value_ints or a.value_floats or a.value_strings
  return list and { #list } or {}
end)
