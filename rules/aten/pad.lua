-- rules/aten/pad.lua: padding by a constant, by reflection, by the edge, and around.

local aten = require("t2o.rules").namespace("aten")
local util = require("t2o.util")

-- PyTorch's list begins with the last dim, two entries each: entries before and after of every dim of x.
local function per_dim(x, list)
  local before, after = util.fill(0, x.rank), util.fill(0, x.rank)
  for i = 1, #list // 2 do
    before[x.rank - i + 1], after[x.rank - i + 1] = list[2 * i - 1], list[2 * i]
  end
  return before, after
end

local function all_zero(list)
  for _, p in ipairs(list) do
    if p ~= 0 then return false end
  end
  return true
end

local function joined(before, after)
  return table.move(after, 1, #after, #before + 1, util.copy(before))
end

-- Entries of one sign; the other ones 0.
local function split(list)
  local more, less = {}, {}
  for i, p in ipairs(list) do
    local negative = p < 0
    more[i], less[i] = negative and 0 or p, negative and p or 0
  end
  return more, less
end

-- Takes off what the negative entries say.
local function crop(g, x, before, after)
  local starts, ends, axes = {}, {}, {}
  for i = 1, #before do
    if before[i] ~= 0 or after[i] ~= 0 then
      starts[#starts + 1], axes[#axes + 1] = 0 - before[i], i - 1
      ends[#ends + 1] = after[i] ~= 0 and after[i] or math.maxinteger
    end
  end
  return #axes > 0 and g.Slice(x, g.ints(starts), g.ints(ends), g.ints(axes)) or x
end

local function constant_pad(g, x, list, value)
  if all_zero(list) then return x end
  return g.Pad(x, g.ints(joined(per_dim(x, list))), g.scalar(value or 0, x.dtype))
end

-- Reflected and repeated elements are those of the whole input: what is cut off is cut off afterwards.
local function mirrored_pad(mode)
  return function(g, x, list)
    if all_zero(list) then return x end
    local before, after = per_dim(x, list)
    local more_before, less_before = split(before)
    local more_after, less_after = split(after)
    local pads = joined(more_before, more_after)
    if not all_zero(pads) then x = g.Pad(x, g.ints(pads), nil, { mode = mode }) end
    return crop(g, x, less_before, less_after)
  end
end

-- Around goes what is left after cutting.
local function circular_pad(g, x, list)
  local before, after = per_dim(x, list)
  local more_before, less_before = split(before)
  local more_after, less_after = split(after)
  x = crop(g, x, less_before, less_after)
  for i = 1, x.rank do
    local axes, pieces = g.ints { i - 1 }, { x, { axis = i - 1 } }
    if more_before[i] ~= 0 then
      table.insert(pieces, 1, g.Slice(x, g.ints { 0 - more_before[i] }, g.ints { math.maxinteger }, axes))
    end
    if more_after[i] ~= 0 then
      table.insert(pieces, #pieces, g.Slice(x, g.ints { 0 }, g.ints { more_after[i] }, axes))
    end
    if #pieces > 2 then x = g.Concat(table.unpack(pieces)) end
  end
  return x
end

local reflect, replicate = mirrored_pad("reflect"), mirrored_pad("edge")
local MODES = { constant = constant_pad, reflect = reflect, replicate = replicate, circular = circular_pad,
                [0] = reflect, [1] = replicate, [2] = circular_pad, [3] = constant_pad }

local function pad(g, a)
  local mode = MODES[a.mode]
  if not mode then g.decline("padding mode '%s'", tostring(a.mode)) end
  return mode(g, a.self, a.pad, a.value)
end

aten:rule("pad(Tensor self, SymInt[] pad, str mode=\"constant\", float? value=None) -> Tensor", pad)
aten:rule("_pad_enum(Tensor self, SymInt[] pad, int mode, float? value=None) -> Tensor", pad)
aten:rule("constant_pad_nd(Tensor self, SymInt[] pad, Scalar value=0) -> Tensor",
  function(g, a) return constant_pad(g, a.self, a.pad, a.value) end)
aten:rule("_pad_circular(Tensor self, SymInt[] pad) -> Tensor",
  function(g, a) return circular_pad(g, a.self, a.pad) end)

for m = 1, 3 do
  for name, fn in pairs { reflection_pad = reflect, replication_pad = replicate } do
    aten:rule(string.format("%s%dd(Tensor self, SymInt[%d] padding) -> Tensor", name, m, 2 * m),
      function(g, a) return fn(g, a.self, a.padding) end)
  end
end

-- Names that are put together above, for the index of rules (tools/name_hints.py):
-- "reflection_pad1d" "reflection_pad2d" "reflection_pad3d" "replication_pad1d" "replication_pad2d"
-- "replication_pad3d"
