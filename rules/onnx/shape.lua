-- rules/onnx/shape.lua: shapes, and what moves, joins, cuts and pads elements.

local core = require("t2o.core")
local pieces = require("t2o.pieces")
local back = require("t2o.back")
local backmath = require("t2o.backmath")
local util = require("t2o.util")
local onnx = back.registry

local END = math.maxinteger

local function rank_of(v) return core.field(v, "known_rank") and v.rank or nil end

local function is_int(x) return math.type(x) == "integer" end

local function all_ints(list)
  for i = 1, list.n or #list do
    if not is_int(list[i]) then return false end
  end
  return true
end

local function all_known(list)
  for i = 1, list.n or #list do
    if core.is_value(list[i]) then return false end
  end
  return true
end

-- The sizes of v as a shape for one call: numbers and sizes where they can be told, else the list that is read at once.
local function target_shape(t, v)
  if t.knows_sizes(v) then return t.sizes(v) end
  if t.python then return { t.helper.to_list(v) } end
  return t.sizes(v)
end

onnx:rule("Identity(input)", function(_, n) return n.input end)

-- ---- another shape, the same order ----

-- The dim from which on all are made one, where nothing else changes; nil for others.
local function flat_from(x, sizes)
  local rank = rank_of(x)
  if not rank or #sizes >= rank or sizes[#sizes] ~= -1 then return nil end
  for i = 1, #sizes - 1 do
    if not util.equal(sizes[i], x:size(i - 1)) then return nil end
  end
  return #sizes - 1
end

local function has_wildcard(sizes)
  for i = 1, sizes.n or #sizes do
    if sizes[i] == -1 then return true end
  end
end

-- What had the shape of the result before.
local function had_shape(n, x)
  local out = n.outputs[1]
  return core.field(out, "known_rank") and pieces.before(x, out.shape) or nil
end

local function size_of(t, x, i)
  if rank_of(x) then return x:size(i) end
  return t.aten["sym_size.int"](x, i)
end

onnx:rule("Reshape(data, shape) {allowzero=0}", function(t, n)
  local before = had_shape(n, n.data)
  if before then return before end
  if not t.knows_sizes(n.shape) and t.python and (n.allowzero == 0 or not t.counts_sizes(n.shape)) then
    if n.allowzero ~= 0 then return t.aten.reshape(n.data, { t.helper.to_list(n.shape) }) end
    return t.helper.reshape_by(n.data, n.shape)
  end
  local sizes = t.sizes(n.shape)
  for i = 1, n.allowzero == 0 and (sizes.n or #sizes) or 0 do
    if sizes[i] == 0 then
      sizes[i] = size_of(t, n.data, i - 1)
    elseif core.is_value(sizes[i]) and i <= (rank_of(n.data) or 0) then -- 0 at run time
      local given = t.aten["select.int"](n.shape, 0, i - 1)
      local wanted = t.aten["where.ScalarSelf"](t.aten["eq.Scalar"](given, 0), n.data:size(i - 1), given)
      sizes[i] = t.item(wanted)
    end
  end
  local axis = flat_from(n.data, sizes)
  if axis then return t.aten["flatten.using_ints"](n.data, axis) end
  -- a size that is not said cannot be told where others are 0
  local out = n.outputs[1]
  if has_wildcard(sizes) and rank_of(out) == #sizes then
    for i = 1, #sizes do
      if out:size(i - 1) == 0 and sizes[i] == -1 then sizes[i] = 0 end
    end
  end
  return t.aten.reshape(n.data, sizes)
end)

onnx:rule("Flatten(input) {axis=1}", function(t, n)
  local axis, rank = n.axis, rank_of(n.input)
  if not rank then
    if axis == 1 then return t.aten["flatten.using_ints"](n.input, 1) end
    return t.decline("Flatten of an unknown rank")
  end
  if axis < 0 then axis = axis + rank end
  if axis == 0 or rank == 0 then return t.aten.reshape(n.input, { 1, -1 }) end
  if axis == rank then return t.aten.reshape(n.input, { -1, 1 }) end
  local x = axis < rank - 1 and t.aten["flatten.using_ints"](n.input, axis) or n.input
  return axis == 1 and x or t.aten["flatten.using_ints"](x, 0, axis - 1)
end)

-- The two dims that a permutation exchanges; nil where it does more.
local function exchanged(perm)
  local moved = {}
  for i, p in ipairs(perm) do
    if p ~= i - 1 then moved[#moved + 1] = i - 1 end
  end
  if #moved == 2 then return moved[1], moved[2] end
end

onnx:rule("Transpose(data)", function(t, n)
  local perm, rank = n.perm, rank_of(n.data)
  if not perm and not rank then return t.helper.reverse_dims(n.data) end
  if not perm then
    perm = {}
    for i = 1, rank do perm[i] = rank - i end
  end
  local before = pieces.unturned(n.data, perm)
  if before then return before end
  local a, b = exchanged(perm)
  if a and #perm == 2 then return t.aten.t(n.data) end
  if a then return t.aten["transpose.int"](n.data, a, b) end
  return t.aten.permute(n.data, perm)
end)

-- Axes as numbers, or nil where they are known at run time only.
local function axes_of(t, v)
  if not v then return nil end
  return t.knows_sizes(v) and t.sizes(v) or nil
end

-- In an archive: dims of size 1 come and go by the shape that results, where it is known.
local function to_known_shape(t, n)
  local out = n.outputs[1]
  if t.python or not rank_of(out) then return nil end
  return t.aten.reshape(n.data, out.shape)
end

onnx:rule("Squeeze(data, axes?)", function(t, n)
  local before = had_shape(n, n.data)
  if before then return before end
  if not n.axes then return t.aten.squeeze(n.data) end
  local axes = axes_of(t, n.axes)
  if not axes or not all_ints(axes) then
    return to_known_shape(t, n) or t.helper.squeeze_at(n.data, n.axes)
  end
  if #axes == 0 then return n.data end
  if #axes == 1 then return t.aten["squeeze.dim"](n.data, axes[1]) end
  return t.aten["squeeze.dims"](n.data, axes)
end)

-- The axes in the order in which they can be put in one by one.
local function insertion_order(t, axes, rank)
  local out, negative = {}, 0
  for i, a in ipairs(axes) do
    out[i] = rank and a < 0 and a + rank + #axes or a
    if out[i] < 0 then negative = negative + 1 end
  end
  if negative > 0 and negative < #axes then t.decline("axes from both ends of an unknown rank") end
  table.sort(out, function(a, b) return negative == 0 and a < b or negative > 0 and a > b end)
  return out
end

onnx:rule("Unsqueeze(data, axes)", function(t, n)
  local axes = axes_of(t, n.axes)
  if not axes or not all_ints(axes) then
    return to_known_shape(t, n) or t.helper.unsqueeze_at(n.data, n.axes)
  end
  local y = n.data
  for _, axis in ipairs(insertion_order(t, axes, rank_of(n.data))) do y = t.aten.unsqueeze(y, axis) end
  return y
end)

-- ---- repeated ----

-- What expand takes for each dim: -1 where the size stays. nil where a size may go either way.
local function expansion(x, sizes)
  local rank = rank_of(x)
  if not rank then return nil end
  local out, offset = {}, math.max(#sizes - rank, 0)
  for i = 1, math.max(#sizes, rank) do
    local want = i > math.max(rank - #sizes, 0) and sizes[i - math.max(rank - #sizes, 0)] or 1
    local have = i > offset and x:size(i - offset - 1) or nil
    if have == nil or have == 1 then
      out[i] = have == 1 and want == 1 and -1 or want
    elseif want == 1 or util.equal(want, have) then
      out[i] = -1
    elseif is_int(have) then
      out[i] = -1
    elseif is_int(want) and want ~= 1 then
      out[i] = want
    else
      return nil
    end
  end
  return out
end

local function stays(sizes)
  for _, d in ipairs(sizes) do
    if d ~= -1 then return false end
  end
  return true
end

onnx:rule("Expand(input, shape)", function(t, n)
  local sizes = t.knows_sizes(n.shape) and t.sizes(n.shape)
  local dims = sizes and expansion(n.input, sizes)
  if dims then return stays(dims) and n.input or t.aten.expand(n.input, dims) end
  if t.python then return t.helper.expand_by(n.input, n.shape) end
  local like = t.aten["expand"](t.aten.full({}, 0), sizes or t.sizes(n.shape))
  return (t.list(2, "aten::broadcast_tensors", { n.input, like }))[1]
end)

onnx:rule("Tile(input, repeats)", function(t, n)
  return t.aten["repeat"](n.input, target_shape(t, n.repeats))
end)

-- ---- joined and cut ----

onnx:rule("Concat() {axis}", function(t, n)
  if n.inputs.n == 1 then return n.inputs[1] end
  return pieces.uncut(n.inputs, n.axis) or t.aten.cat(n.inputs, n.axis)
end)

local function equal_parts(list)
  for i = 2, #list do
    if list[i] ~= list[1] then return false end
  end
  return true
end

-- The sizes of so many parts: all the same but the last ones, which get what is left.
local function parts_of(size, count)
  local sizes, each = {}, (size + count - 1) // count
  for i = 1, count do sizes[i] = util.max(util.min(each, size - (i - 1) * each), 0) end
  return sizes
end

onnx:rule("Split(input, split?) {axis=0}", function(t, n)
  local count = n.outputs.n
  if n.split then
    local sizes = t.sizes(n.split, count)
    if #sizes == 1 then return n.input end
    if all_ints(sizes) and equal_parts(sizes) and sizes[1] > 0 then
      return table.unpack(t.list(count, "aten::split.Tensor", n.input, sizes[1], n.axis))
    end
    return table.unpack(t.list(count, "aten::split_with_sizes", n.input, sizes, n.axis))
  end
  local size = rank_of(n.input) and n.input:size(util.dim(n.axis, n.input.rank)) or nil
  local even = size and size % count == 0
  if even and size ~= 0 or not n.attrs.num_outputs and not is_int(size) then -- what does not come out even is an error
    return table.unpack(t.list(count, "aten::chunk", n.input, count, n.axis))
  end
  if t.python and not is_int(size) then
    return table.unpack(t.list(count, "helper::split_evenly", n.input, count, n.axis))
  end
  if not size then t.decline("parts of a dim of unknown size") end
  return table.unpack(t.list(count, "aten::split_with_sizes", n.input, parts_of(size, count), n.axis))
end)

local FAR = 0x7fffffff -- what stands for the end of a dim, as 32 bits have it

-- Numbers that are known, or nil.
local function known_ints(t, v)
  local list = v and t.knows_sizes(v) and t.sizes(v)
  return list and all_ints(list) and list or nil
end

-- Start and stop, as far as they say more than that all is taken.
local function trimmed(start, stop, size)
  if is_int(start) and start <= -FAR then start = 0 end
  if is_int(stop) and stop <= -FAR then stop = 0 end
  if is_int(stop) and (stop >= FAR or is_int(size) and stop >= size) then stop = END end
  return start, stop
end

-- The cuts of a slice: { axis, start, stop, step } each; nil where that is known at run time only.
local function cuts_of(t, n)
  local axes, steps, rank = known_ints(t, n.axes), known_ints(t, n.steps), rank_of(n.data)
  local count = axes and #axes or t.counts_sizes(n.starts) or t.counts_sizes(n.ends)
  if n.axes and not axes or n.steps and not steps or not count then return nil end
  local starts, stops, out = t.sizes(n.starts, count), t.sizes(n.ends, count), {}
  for i = 1, count do
    local axis, step = axes and axes[i] or i - 1, steps and steps[i] or 1
    if rank then axis = util.dim(axis, rank) end
    local start, stop = starts[i], stops[i]
    if step < 0 and not (is_int(start) and is_int(stop) and (rank or start >= -1)) then return nil end
    if step > 0 then start, stop = trimmed(start, stop, rank and n.data:size(axis)) end
    if step ~= 1 or start ~= 0 or stop ~= END then out[#out + 1] = { axis, start, stop, step } end
  end
  return out
end

-- The place where a walk backwards begins, behind it: one that lies before the dim is moved to its first element.
local function behind_start(start, size)
  if start == -1 or start >= FAR then return END end
  if start >= 0 then return is_int(size) and start + 1 >= size and END or start + 1 end
  return is_int(size) and math.max(start + size, 0) + 1 or util.max(size + (start + 1), 1)
end

-- The elements from stop + 1 to start, turned round.
local function backwards(t, n, x, cut)
  local axis, start, stop, step = table.unpack(cut)
  local size = rank_of(n.data) and n.data:size(axis)
  local first = (stop == -1 or stop >= FAR) and END or stop + 1
  if is_int(size) and first < 0 then first = math.max(first + size, 0) end
  if first <= -FAR then first = 0 end
  local last = behind_start(start, size)
  local y = (first == 0 and last == END) and x or t.aten["slice.Tensor"](x, axis, first, last, 1)
  y = t.aten.flip(y, { axis })
  return step == -1 and y or t.aten["slice.Tensor"](y, axis, 0, END, -step)
end

local AXIS, STEP = 1, 4 -- fields of a cut

local function any_negative(cuts, field)
  for _, cut in ipairs(cuts) do
    if cut[field] < 0 then return true end
  end
  return false
end

-- Several dims at once, as Python has it: x[:, 1:3, ::2].
local function one_index(t, x, cuts)
  local starts, stops, steps = {}, {}, {}
  for _, cut in ipairs(cuts) do
    local i = cut[1] + 1
    for k = #starts + 1, i do starts[k], stops[k], steps[k] = 0, END, 1 end
    starts[i], stops[i], steps[i] = cut[2], cut[3], cut[4]
  end
  return t.helper.slices(x, starts, stops, steps)
end

onnx:rule("Slice(data, starts, ends, axes?, steps?)", function(t, n)
  local cuts = cuts_of(t, n)
  if cuts and not any_negative(cuts, STEP) then
    if t.python and #cuts > 1 and not any_negative(cuts, AXIS) then return one_index(t, n.data, cuts) end
    local y = n.data
    for _, cut in ipairs(cuts) do y = t.aten["slice.Tensor"](y, table.unpack(cut)) end
    return y
  end
  local x, narrow = backmath.widened(n.data)
  if not cuts then return narrow(t.helper.slice_dims(x, n.starts, n.ends, n.axes, n.steps)) end
  for _, cut in ipairs(cuts) do
    x = cut[4] > 0 and t.aten["slice.Tensor"](x, table.unpack(cut)) or backwards(t, n, x, cut)
  end
  return narrow(x)
end)

-- ---- padded ----

back.t.declare("_operator", "neg(SymInt a) -> SymInt")
back.t.declare("_operator", "add(SymInt a, SymInt b) -> SymInt")

-- Numbers that are read at run time are values.
local function negated(t, x) return core.is_value(x) and t._operator.neg(x) or -x end
local function sum(t, x, y)
  if core.is_value(x) or core.is_value(y) then return t._operator.add(x, y) end
  return x + y
end

-- What stands at positions before - n .. n + after of a dim, as an index.
local function edge_index(t, mode, size, before, after)
  local at = t.aten["arange.start"](negated(t, before), sum(t, size, after))
  if mode == "edge" then return t.aten.clamp(at, 0, size - 1) end
  if mode == "wrap" then return t.aten["remainder.Scalar"](at, size) end
  if size == 1 then return t.aten.zeros_like(at) end
  at = t.aten["remainder.Scalar"](at, 2 * (size - 1))
  return t.aten.minimum(at, t.aten["rsub.Scalar"](at, 2 * (size - 1)))
end

local MODES = { edge = "replicate", reflect = "reflect", wrap = "circular" }

-- How many dims in front PyTorch's padding leaves alone: one or two.
local function leading(before, after)
  local first = 1
  while first < #before and before[first] == 0 and after[first] == 0 do first = first + 1 end
  return math.min(first - 1, 2)
end

-- Whether PyTorch's own padding does it: of the last dims, with two or less in front.
local function is_plain(n, before, after, rank)
  if not rank or rank < 2 or rank > 5 or not n.data.dtype:find("^float[36]") then return false end
  local margin = n.mode == "reflect" and 1 or 0
  for i = 1, rank do
    if not (is_int(before[i]) and is_int(after[i])) or before[i] < 0 or after[i] < 0 then return false end
    local size = n.data:size(i - 1)
    local most = math.max(before[i], after[i]) + margin
    if most > margin and n.mode ~= "edge" and is_int(size) and most > size then return false end
  end
  local lead = leading(before, after)
  return lead >= 1 and rank - lead <= 3
end

-- PyTorch lists padding from the last dim on; dims in front that have none are left out.
local function from_last(before, after, all)
  local first, out = 1, {}
  while not all and first < #before and before[first] == 0 and after[first] == 0 do first = first + 1 end
  for i = #before, first, -1 do
    out[#out + 1] = before[i]
    out[#out + 1] = after[i]
  end
  return out
end

local function nothing(before, after)
  for i = 1, #before do
    if before[i] ~= 0 or after[i] ~= 0 then return false end
  end
  return true
end

-- Padding before and after each dim, or nil where it is not known how many dims there are.
local function pads_of(t, n, rank)
  local axes = n.axes and t.knows_sizes(n.axes) and t.sizes(n.axes)
  if n.axes and not axes or not t.counts_sizes(n.pads) then return nil end
  local pads = t.sizes(n.pads)
  local count = (pads.n or #pads) // 2
  rank = rank or not axes and count
  if not rank then return nil end
  local before, after = util.fill(0, rank), util.fill(0, rank)
  for i = 1, count do
    local axis = axes and util.dim(axes[i], rank) or i - 1
    before[axis + 1], after[axis + 1] = pads[i], pads[count + i]
  end
  return before, after
end

-- Negative padding is cut off, before anything looks at what is left: that, the padding and the sizes.
local function cropped(t, x, before, after, shape)
  local y, sizes = x, {}
  before, after = util.copy(before), util.copy(after)
  for i = 1, #before do
    sizes[i] = shape[i]
    local first, last = before[i], after[i]
    if is_int(first) and is_int(last) and math.min(first, last) < 0 then
      before[i], after[i] = math.max(first, 0), math.max(last, 0)
      sizes[i] = sizes[i] + math.min(first, 0) + math.min(last, 0)
      y = t.aten["slice.Tensor"](y, i - 1, math.max(-first, 0), last < 0 and last or END, 1)
    end
  end
  return y, before, after, sizes
end

local EXACT = 1 << 53 -- up to here doubles hold integers, which is what aten::pad takes

-- Padding with a number.
local function filled(t, n, before, after)
  local v, pads = n.constant_value, from_last(before, after)
  local value = t.shortest(t.number(v), n.data.dtype)
  if type(value) == "boolean" then value = value and 1 or 0 end
  if not v or value == 0 then return t.aten.pad(n.data, pads) end
  local x, narrow = backmath.widened(n.data)
  if value and (math.type(value) == "float" or value > -EXACT and value < EXACT) then
    return narrow(t.aten.pad(x, pads, "constant", value))
  end
  if not value and not n.data.dtype:find("int64") then
    return narrow(t.aten.pad(x, pads, "constant", t.aten._local_scalar_dense(v)))
  end
  -- what is padded with zeros, moved there and back
  local by = value or backmath.wide(v)
  return narrow(t.aten["add.Tensor"](t.aten.pad(t.aten["sub.Tensor"](x, by), pads), by))
end

-- Whether all of it is known before the run.
local function is_known(t, n, before, after)
  if not (before and rank_of(n.data)) then return false end
  return not t.python or all_known(before) and all_known(after)
end

onnx:rule("Pad(data, pads, constant_value?, axes?) {mode='constant'}", function(t, n)
  local rank = rank_of(n.data)
  local before, after = pads_of(t, n, rank)
  if before and nothing(before, after) then return n.data end
  if before and n.mode == "constant" then return filled(t, n, before, after) end
  if before and is_plain(n, before, after, rank) then
    local first = leading(before, after) + 1
    local inner = { table.unpack(before, first) }
    return t.aten.pad(n.data, from_last(inner, { table.unpack(after, first) }, true), MODES[n.mode])
  end
  local x, narrow = backmath.widened(n.data)
  if not is_known(t, n, before, after) then
    return narrow(t.helper.pad_dims(x, n.pads, n.constant_value, n.axes, n.mode))
  end
  local y, sizes
  y, before, after, sizes = cropped(t, x, before, after, n.data.shape)
  for i = 1, #before do
    if before[i] ~= 0 or after[i] ~= 0 then
      y = t.aten.index_select(y, i - 1, edge_index(t, n.mode, sizes[i], before[i], after[i]))
    end
  end
  return narrow(y)
end)

-- ---- blocks and depth ----

onnx:rule("DepthToSpace(input) {blocksize, mode='DCR'}", function(t, n)
  local b, x = n.blocksize, n.input
  if n.mode == "CRD" then return t.aten.pixel_shuffle(x, b) end
  local c, h, w = x:size(1), x:size(2), x:size(3)
  local y = t.aten.reshape(x, { x:size(0), b, b, c // (b * b), h, w })
  return t.aten.reshape(t.aten.permute(y, { 0, 3, 4, 1, 5, 2 }), { x:size(0), c // (b * b), h * b, w * b })
end)

onnx:rule("SpaceToDepth(input) {blocksize, mode='DCR'}", function(t, n)
  local b, x = n.blocksize, n.input
  if n.mode == "CRD" then return t.aten.pixel_unshuffle(x, b) end
  local c, h, w = x:size(1), x:size(2), x:size(3)
  local y = t.aten.reshape(x, { x:size(0), c, h // b, b, w // b, b })
  return t.aten.reshape(t.aten.permute(y, { 0, 3, 5, 1, 2, 4 }), { x:size(0), c * b * b, h // b, w // b })
end)

-- ---- sums of patches ----

local function numbers_or(list, n, value)
  return list and #list > 0 and list or util.fill(value, n)
end

onnx:rule("Col2Im(input, image_shape, block_shape)", function(t, n)
  local image, block = t.sizes(n.image_shape), t.sizes(n.block_shape)
  local rank = #image
  local pads = numbers_or(n.pads, 2 * rank, 0)
  local strides, dilations = numbers_or(n.strides, rank, 1), numbers_or(n.dilations, rank, 1)
  local even = rank == 2 and pads[1] == pads[3] and pads[2] == pads[4]
  if even then return t.aten.col2im(n.input, image, block, dilations, { pads[1], pads[2] }, strides) end
  return t.helper.fold_patches(n.input, image, block, strides, dilations, pads)
end)

-- ---- cropped or padded at both ends ----

local function cropped_or_padded(t, n, axes)
  local x, narrow = backmath.widened(n.input_data)
  return narrow(t.helper.center_crop_pad(x, n.shape, axes))
end

onnx:rule("CenterCropPad(input_data, shape)", function(t, n)
  local x = n.input_data
  if not rank_of(x) then t.decline("an input of unknown rank") end
  local axes = n.attrs.axes or util.dims(nil, x.rank)
  local want, y = t.sizes(n.shape, #axes), x
  for i, axis in ipairs(axes) do
    axis = util.dim(axis, x.rank)
    local have = x:size(axis)
    if not (is_int(have) and is_int(want[i])) then return cropped_or_padded(t, n, axes) end
    local more = want[i] - have
    if more < 0 then
      local start = -more // 2
      y = t.aten["slice.Tensor"](y, axis, start, start + want[i], 1)
    elseif more > 0 then
      local pads = util.fill(0, 2 * (x.rank - 1 - axis))
      pads[#pads + 1] = more // 2
      pads[#pads + 1] = more - more // 2
      y = t.aten.pad(y, pads)
    end
  end
  return y
end)
