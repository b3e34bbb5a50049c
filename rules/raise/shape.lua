-- rules/raise/shape.lua: what operators that move, cut and pad elements had as attributes.

local lib = require("t2o.opset")
local opset = lib.registry
local util = require("t2o.util")

opset:raise("Reshape(data) {shape}", { below = 5 }, function(g, n)
  return g.Reshape(n.data, g.const(n.shape or {}, "int64"))
end)

opset:raise("Concat() {axis}", { below = 4 }, function(_, n)
  if not n.axis then return lib.again(n, nil, { axis = 1 }) end
end)

opset:raise("Tile(input, tiles, axis)", { below = 6 }, function(g, n)
  local axis = util.dim(lib.known_integers(n.axis, "its axis")[1], lib.rank(n.input))
  return lib.at_newest(function()
    local pieces = { g.Reshape(n.tiles:to("int64"), g.const { 1 }), { axis = 0 } }
    if axis > 0 then table.insert(pieces, 1, g.const(util.fill(1, axis))) end
    local behind = n.input.rank - 1 - axis
    if behind > 0 then table.insert(pieces, #pieces, g.const(util.fill(1, behind))) end
    return g.Tile(n.input, g.Concat(table.unpack(pieces)))
  end)
end)

opset:raise("Slice(data) {axes, starts, ends}", { below = 10 }, function(g, n)
  local axes = n.axes and g.const(n.axes, "int64") or nil
  return g.Slice(n.data, g.const(n.starts, "int64"), g.const(n.ends, "int64"), axes)
end)

opset:raise("Pad(data) {mode='constant', paddings}", { below = 2 }, function(_, n)
  return lib.again(n, nil, lib.attrs(n, { paddings = false, pads = n.paddings }))
end)

opset:raise("Pad(data) {mode='constant', pads, value=0.0}", { below = 11 }, function(g, n)
  local value = n.mode == "constant" and n.value ~= 0 and g.scalar(n.value, n.data) or nil
  return g.Pad(n.data, g.const(n.pads, "int64"), value, { mode = n.mode })
end)

local function split(g, n, sizes)
  local attrs = { axis = n.axis, num_outputs = not sizes and n.outputs.n or nil }
  return table.unpack(lib.build("Split", { n.inputs[1], sizes, n = 2 }, attrs, n.outputs.n))
end

local function sizes_of(g, n)
  if n.attrs.split and #n.attrs.split > 0 then return g.const(n.attrs.split, "int64") end
end

opset:raise("Split(input, split?) {axis=0, split}", { below = 2 }, function(g, n)
  return lib.at_newest(split, g, n, n.inputs[2] and n.inputs[2]:to("int64") or sizes_of(g, n))
end)

opset:raise("Split(input) {axis=0, split}", { below = 13 }, function(g, n)
  return lib.at_newest(split, g, n, sizes_of(g, n))
end)

opset:raise("Split(input, split?) {axis=0}", { below = 18 }, function(g, n)
  if not n.inputs[2] then return split(g, n) end
end)

-- Indices were those of ScatterElements.
opset:raise("Scatter(data, indices, updates) {axis=0}", { below = 11 }, function(g, n)
  return g.ScatterElements(n.data, n.indices, n.updates, { axis = n.axis })
end)

opset:raise("DFT(input, dft_length?) {axis=1, inverse=0, onesided=0}", { below = 20 }, function(g, n)
  return g.DFT(n.input, n.dft_length, g.scalar(n.axis, "int64"), { inverse = n.inverse, onesided = n.onesided })
end)
