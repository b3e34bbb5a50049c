-- rules/opset/shape.lua: operators that move, cut and pad elements, and sizes.

local lib = require("t2o.opset")
local opset = lib.registry
local types = require("t2o.types")
local util = require("t2o.util")

-- ---- sizes ----

opset:lower("Shape(data) {start=0, end}", { below = 15 }, function(g, n)
  local first, last = n.start, n["end"]
  if first == 0 and not last then
    if n.attrs.start then return lib.again(n, nil, {}) end
    return
  end
  local shape = g.Shape(n.data)
  if last and last == first + 1 and (first >= 0 or last < 0) and first < lib.rank(n.data) then
    return g.Gather(shape, g.const { util.dim(first, n.data.rank) })
  end
  return g.Slice(shape, g.ints { first }, g.ints { last or math.maxinteger }, g.ints { 0 })
end)

-- A target that has a 0 of its own makes an empty tensor, whatever is in the input.
opset:express("Reshape(data, shape) {allowzero=0}", { below = 14 }, function(g, n)
  if n.allowzero == 0 then return end
  local sizes = lib.integers(n.shape)
  if sizes and not util.contains(sizes, 0) then return g.Reshape(n.data, n.shape) end
  for _, d in ipairs(lib.sizes(n.shape) or {}) do
    if d == 0 then return g.ConstantOfShape(n.shape, { value = g.zeros({ 1 }, n.data.dtype) }) end
  end
  g.decline("allowzero, and a shape that is computed at run time")
end)

opset:lower("Reshape(data, shape)", { below = 14 }, function(_, n)
  if n.attrs.allowzero then return lib.again(n, nil, {}) end
end)

opset:lower("ConstantOfShape(input) {value}", { below = 20 }, function(g, n)
  if n.value and n.value.dtype == "bfloat16" then
    return g.ConstantOfShape(n.input, { value = n.value:to("float32") }):to("bfloat16")
  end
end)

-- ---- Cast ----

for _, op in ipairs { "Cast", "CastLike" } do
  opset:lower(op .. "()", { below = 24 }, function(_, n)
    if n.attrs.round_mode then return lib.again(n, nil, lib.attrs(n, { round_mode = false })) end
  end)
  opset:lower(op .. "()", { below = 19 }, function(_, n)
    if n.attrs.saturate then return lib.again(n, nil, lib.attrs(n, { saturate = false })) end
  end)
end

opset:express("CastLike(input, target_type)", { below = 15 }, function(g, n)
  return g.Cast(n.input, { to = n.target_type.dtype })
end)

-- ---- Slice ----

local function all_ones(list)
  for _, x in ipairs(list or {}) do
    if x ~= 1 then return false end
  end
  return true
end

-- A bound as it counts from the start, held within low and high (values of one element).
local function bound(g, v, size, low, high)
  v = g.Where(g.Less(v, g.ints { 0 }), g.Add(v, size), v)
  return g.Min(g.Max(v, low), high)
end

-- One axis of a Slice as a Gather of the positions.
local function gathered(g, x, start, stop, axis, step)
  local size = g.Shape(x, { start = axis, ["end"] = axis + 1 })
  local zero, last = g.ints { 0 }, g.Sub(size, g.ints { 1 })
  if step > 0 then
    start, stop = bound(g, start, size, zero, size), bound(g, stop, size, zero, size)
  else
    start, stop = bound(g, start, size, zero, last), bound(g, stop, size, g.ints { -1 }, last)
  end
  local function scalar(v) return g.Squeeze(v, g.ints { 0 }) end
  return g.Gather(x, g.Range(scalar(start), scalar(stop), g.scalar(step, "int64")), { axis = axis })
end

opset:lower("Slice(data, starts, ends, axes?, steps?)", { below = 10 }, function(g, n)
  local starts, ends = lib.integers(n.starts), lib.integers(n.ends)
  local steps = n.steps and lib.known_integers(n.steps, "its steps")
  local rank = lib.rank(n.data)
  local axes = n.axes and lib.known_integers(n.axes, "its axes")
  if not axes then
    local count = starts and #starts or n.starts:size(0)
    axes = util.range(0, count - 1)
  end
  for i, axis in ipairs(axes) do axes[i] = util.dim(axis, rank) end
  if starts and ends and all_ones(steps) then
    return lib.again(n, { n.data }, { starts = starts, ends = ends, axes = axes })
  end
  return lib.at_newest(function()
    local x = n.data
    for i, axis in ipairs(axes) do
      local function element(v) return g.Gather(v, g.const { i - 1 }):to("int64") end
      x = gathered(g, x, element(n.starts), element(n.ends), axis, steps and steps[i] or 1)
    end
    return x
  end)
end)

-- ---- Pad ----

-- All pads of all dims, of those of some axes: a list, or a value.
local function full_pads(g, n, rank)
  local known = lib.integers(n.pads)
  if not n.axes then return known, n.pads end
  local axes = lib.known_integers(n.axes, "its axes")
  local of_dim = {}
  for i, axis in ipairs(axes) do of_dim[util.dim(axis, rank)] = i end
  local list, pieces = {}, {}
  for side = 0, 1 do
    for d = 0, rank - 1 do
      local at = of_dim[d] and of_dim[d] - 1 + side * #axes
      list[#list + 1] = at and known and known[at + 1] or 0
      pieces[#pieces + 1] = at and g.Gather(n.pads, g.const { at }) or g.ints { 0 }
    end
  end
  if known then return list, g.const(list) end
  pieces[#pieces + 1] = { axis = 0 }
  return nil, g.Concat(table.unpack(pieces))
end

opset:lower("Pad(data, pads, constant_value?, axes?) {mode='constant'}", { below = 18 }, function(g, n)
  if not n.axes then return end
  local _, pads = full_pads(g, n, lib.rank(n.data))
  return lib.again(n, { n.data, pads, n.constant_value })
end)

-- Positions of the elements of one dim after padding.
local POSITIONS = {
  edge = function(g, size, before, after)
    return g.const(util.fill(0, before)), g.Expand(size - 1, g.ints { after })
  end,
  reflect = function(g, size, before, after)
    local first = {}
    for i = before, 1, -1 do first[#first + 1] = i end
    return g.const(first), g.Sub(size - 2, g.const(util.range(0, after - 1)))
  end,
  wrap = function(g, size, before, after)
    local last = {}
    for i = before, 1, -1 do last[#last + 1] = i end
    return g.Sub(size, g.const(last)), g.const(util.range(0, after - 1))
  end,
}

local function pad_by_gather(g, x, pads, mode)
  local rank = lib.rank(x)
  for d = 0, rank - 1 do
    local before, after = pads[d + 1], pads[d + 1 + rank]
    if before < 0 or after < 0 then g.decline("negative pads in the mode %s", mode) end
    if before > 0 or after > 0 then
      local size = g.Shape(x, { start = d, ["end"] = d + 1 })
      local all = g.Range(g.scalar(0, "int64"), g.Squeeze(size, g.ints { 0 }), g.scalar(1, "int64"))
      local pieces = { all, { axis = 0 } }
      local first, last = POSITIONS[mode](g, size, before, after)
      if before > 0 then table.insert(pieces, 1, first) end
      if after > 0 then table.insert(pieces, #pieces, last) end
      x = g.Gather(x, g.Concat(table.unpack(pieces)), { axis = d })
    end
  end
  return x
end

-- Blocks of the value at both ends of each dim; negative pads cut off.
local function pad_by_concat(g, x, pads, value)
  local rank = lib.rank(x)
  value = value and g.Reshape(value, g.const({}, "int64")) or g.scalar(0, x)
  for d = 0, rank - 1 do
    local before, after = pads[d + 1], pads[d + 1 + rank]
    if before < 0 or after < 0 then
      x = g.Slice(x, g.ints { math.max(0, -before) }, g.ints { after < 0 and after or math.maxinteger }, g.ints { d })
    end
    local function block(count)
      local shape = { g.ints { count }, { axis = 0 } }
      if d > 0 then table.insert(shape, 1, g.Shape(x, { start = 0, ["end"] = d })) end
      if d < rank - 1 then table.insert(shape, #shape, g.Shape(x, { start = d + 1 })) end
      return g.Expand(value, g.Concat(table.unpack(shape)))
    end
    local pieces = { x, { axis = d } }
    if before > 0 then table.insert(pieces, 1, block(before)) end
    if after > 0 then table.insert(pieces, #pieces, block(after)) end
    if #pieces > 2 then x = g.Concat(table.unpack(pieces)) end
  end
  return x
end

-- 8-bit floats came to Cast, Reshape and the operators of quantisation first.
for _, text in ipairs { "Transpose(data)", "Squeeze(data, axes?)", "Unsqueeze(data, axes)", "Flatten(input)" } do
  opset:express(text, { below = 21 }, function(g, n)
    if n.inputs[1].dtype:find("^float8") then return lib.computed_in(g, n, "float32") end
  end)
end

local PAD = "Pad(data, pads, constant_value?, axes?) {mode='constant'}"

opset:express(PAD, { below = 19 }, function(g, n)
  if n.mode ~= "wrap" then return end
  local pads = full_pads(g, n, lib.rank(n.data)) or g.decline("pads that are computed at run time")
  return pad_by_gather(g, n.data, pads, "wrap")
end)

opset:lower(PAD, { below = 13 }, function(g, n)
  if n.data.dtype == "bool" then return lib.computed_in(g, n, "int32") end
end)

local function fits_float32(v)
  return v.dtype ~= "float64" or string.unpack("f", string.pack("f", v:item())) == v:item() or v:item() ~= v:item()
end

opset:lower(PAD, { below = 11 }, function(g, n)
  local pads, value = lib.known_integers(n.pads, "its pads"), n.constant_value
  local plain = not value or (value.is_constant and fits_float32(value))
  if types.is_float(n.data.dtype) and (plain or n.mode ~= "constant") then
    local x = n.mode == "constant" and value and value:item() + 0.0 or nil
    return lib.again(n, { n.data }, { mode = n.mode, pads = pads, value = x })
  end
  return lib.at_newest(function()
    if n.mode == "constant" then return pad_by_concat(g, n.data, pads, value) end
    return pad_by_gather(g, n.data, pads, n.mode)
  end)
end)

opset:express("CenterCropPad(input_data, shape) {axes}", { below = 18 }, function(g, n)
  local x, rank = n.input_data, lib.rank(n.input_data)
  local want = lib.known_integers(n.shape, "its sizes")
  local axes = n.axes or util.range(0, rank - 1)
  local pads = util.fill(0, 2 * rank)
  for i, axis in ipairs(axes) do
    local d = util.dim(axis, rank)
    local have = x:size(d)
    if not util.is_static(have) then g.decline("a crop of a dim of unknown size") end
    local extra = want[i] - have
    local before = extra < 0 and -((-extra) // 2) or extra // 2
    pads[d + 1], pads[d + 1 + rank] = before, extra - before
  end
  return g.Pad(x, g.const(pads))
end)

-- ---- triangles, depth and space ----

opset:express("Trilu(input, k?) {upper=1}", { below = 14 }, function(g, n)
  local x, zero, one = n.input, g.scalar(0, "int64"), g.scalar(1, "int64")
  local function positions(d)
    local size = g.Squeeze(g.Shape(x, { start = d, ["end"] = d ~= -1 and d + 1 or nil }), g.ints { 0 })
    return g.Range(zero, size, one)
  end
  local rows, columns = g.Unsqueeze(positions(-2), g.ints { 1 }), positions(-1)
  if n.k then rows = g.Add(rows, n.k:to("int64")) end
  local keep = n.upper == 1 and g.Not(g.Less(columns, rows)) or g.Not(g.Less(rows, columns))
  if x.dtype == "bool" then return g.And(x, keep) end
  return g.Where(keep, x, g.scalar(0, x))
end)

-- Blocks that are moved by a Reshape, a Transpose and a Reshape.
local function block_transpose(g, x, shape, perm, result)
  return g.reshape(g.Transpose(g.reshape(x, shape), { perm = perm }), result)
end

opset:lower("DepthToSpace(input) {mode='DCR', blocksize}", { below = 11 }, function(g, n)
  if n.mode == "DCR" then return lib.again(n, nil, { blocksize = n.blocksize }) end
  local s, b = n.input.shape, n.blocksize
  local c = s[2] // (b * b)
  local shape, result = { s[1], c, b, b, s[3], s[4] }, { s[1], c, s[3] * b, s[4] * b }
  return block_transpose(g, n.input, shape, { 0, 1, 4, 2, 5, 3 }, result)
end)

opset:lower("SpaceToDepth(input) {mode='DCR', blocksize}", { below = 28 }, function(g, n)
  if n.mode == "DCR" then return lib.again(n, nil, { blocksize = n.blocksize }) end
  local s, b = n.input.shape, n.blocksize
  local h, w = s[3] // b, s[4] // b
  return block_transpose(g, n.input, { s[1], s[2], h, b, w, b }, { 0, 1, 3, 5, 2, 4 }, { s[1], s[2] * b * b, h, w })
end)

-- Patches add up where they overlap: a transposed convolution with a weight of one per place in the patch.
opset:express("Col2Im(input, image_shape, block_shape) {dilations, pads, strides}", { below = 18 }, function(g, n)
  local image = lib.known_integers(n.image_shape, "its sizes")
  local block = lib.known_integers(n.block_shape, "its sizes")
  local rank, places = #block, util.product(block)
  local channels = n.input:size(1)
  if not util.is_static(channels) then g.decline("an unknown number of channels") end
  local strides, dilations = n.strides or util.fill(1, rank), n.dilations or util.fill(1, rank)
  local pads = n.pads or util.fill(0, 2 * rank)
  local patches, rest = {}, {}
  for i = 1, rank do
    local span = dilations[i] * (block[i] - 1) + 1
    local room = image[i] + pads[i] + pads[i + rank] - span
    patches[i], rest[i] = room // strides[i] + 1, room % strides[i]
  end
  local weight, shape = {}, { channels, 1, table.unpack(block) }
  for c = 0, channels - 1 do
    for i = 1, places do weight[c * places + i] = (c % places) + 1 == i and 1 or 0 end
  end
  return lib.widened(n.input, function(x)
    local w = g.Reshape(g.const(weight, x.dtype), g.const(shape))
    return g.ConvTranspose(g.Reshape(x, g.const { 0, 0, table.unpack(patches) }), w, {
      strides = strides, dilations = dilations, pads = pads, output_padding = rest, group = channels // places,
      kernel_shape = block,
    })
  end)
end)

-- ---- layout of recurrent networks: batch first is a transposition before and after ----

local function batch_last(g, v)
  return v and g.Transpose(v, { perm = { 1, 0, 2 } })
end

local function batch_first(op, states)
  opset:lower(op .. "(X, W, R, B?, sequence_lens?, initial_h?, initial_c?, P?) {layout=0}", { below = 14 },
    function(g, n)
      if n.layout == 0 then
        if n.attrs.layout then return lib.again(n, nil, lib.attrs(n, { layout = false })) end
        return
      end
      local inputs = { n = n.inputs.n + 1, table.unpack(n.inputs, 1, n.inputs.n) }
      inputs[1] = batch_last(g, n.X)
      for i = 6, 5 + states do inputs[i] = batch_last(g, inputs[i]) end
      inputs[inputs.n] = lib.attrs(n, { layout = false, outputs = 1 + states })
      local y = table.pack(g[op](table.unpack(inputs, 1, inputs.n)))
      y[1] = g.Transpose(y[1], { perm = { 2, 0, 1, 3 } })
      for i = 2, 1 + states do y[i] = batch_last(g, y[i]) end
      return table.unpack(y)
    end)
end

batch_first("RNN", 1)
batch_first("GRU", 1)
batch_first("LSTM", 2)
