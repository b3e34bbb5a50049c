-- rules/opset/signal.lua: Fourier transforms and windows.

local lib = require("t2o.opset")
local opset = lib.registry
local util = require("t2o.util")

-- ---- DFT ----

opset:lower("DFT(input, dft_length?, axis?) {inverse=0, onesided=0}", { below = 20 }, function(_, n)
  local axis = n.axis and lib.known_integers(n.axis, "its axis")[1] or -2
  return lib.again(n, { n.input, n.dft_length }, lib.attrs(n, { axis = util.dim(axis, lib.rank(n.input)) }))
end)

-- Cosines and sines of a transform of a known length: rows are samples, columns frequencies.
local function waves(rows, columns, length, sign, weight)
  local cos, sin = {}, {}
  for t = 0, rows - 1 do
    cos[t + 1], sin[t + 1] = {}, {}
    for f = 0, columns - 1 do
      local angle = 2 * math.pi * ((t * f) % length) / length
      cos[t + 1][f + 1], sin[t + 1][f + 1] = math.cos(angle) * weight, sign * math.sin(angle) * weight
    end
  end
  return cos, sin
end

opset:express("DFT(input, dft_length?) {axis=1, inverse=0, onesided=0}", { below = 17 }, function(g, n)
  local rank = lib.rank(n.input)
  local axis = util.dim(n.axis, rank)
  local have, parts = n.input:size(axis), n.input:size(rank - 1)
  local length = n.dft_length and lib.known_integers(n.dft_length, "its length")[1] or have
  if not util.all_static { have, length, parts } then g.decline("a signal of unknown length") end
  if n.inverse == 1 and n.onesided == 1 then g.decline("a one-sided inverse") end
  local columns = n.onesided == 1 and length // 2 + 1 or length
  local rows = math.min(have, length)
  local sign, weight = n.inverse == 1 and 1 or -1, n.inverse == 1 and 1 / length or 1.0
  local cos, sin = waves(rows, columns, length, sign, weight)
  -- the axis last, before the parts, so that a product runs over it
  local perm, back = util.to_last(rank - 1, axis)
  local function part(i)
    local x = g.Gather(n.input, g.scalar(i, "int64"), { axis = rank - 1 })
    if rows < have then x = g.Slice(x, g.const { 0 }, g.const { rows }, g.const { axis }) end
    return g.Transpose(x, { perm = perm })
  end
  local function times(x, matrix) return g.MatMul(x, g.const(matrix, n.input.dtype)) end
  local re = part(0)
  local real, imaginary = times(re, cos), times(re, sin)
  if parts == 2 then
    local im = part(1)
    real, imaginary = g.Sub(real, times(im, sin)), g.Add(imaginary, times(im, cos))
  end
  local function out(x) return g.Unsqueeze(g.Transpose(x, { perm = back }), g.const { rank - 1 }) end
  return g.Concat(out(real), out(imaginary), { axis = rank - 1 })
end)

-- ---- windows: sums of cosines ----

local DTYPES = {
  [1] = "float32", [2] = "uint8", [3] = "int8", [4] = "uint16", [5] = "int16", [6] = "int32", [7] = "int64",
  [10] = "float16", [11] = "float64", [12] = "uint32", [13] = "uint64", [16] = "bfloat16",
}

local function window(op, terms)
  opset:express(op .. "(size) {output_datatype=1, periodic=1}", { below = 17 }, function(g, n)
    local size = g.Reshape(n.size, g.full({ 0 }, 0, "int64")):to("int64")
    local i = g.Range(g.scalar(0, "int64"), size, g.scalar(1, "int64")):to("float32")
    local span = (n.periodic == 1 and size or g.Sub(size, g.scalar(1, "int64"))):to("float32")
    local angle, y = g.Div(i * (2 * math.pi), span), nil
    for k, a in ipairs(terms) do
      local term = k == 1 and a or g.Cos(angle * (k - 1.0)) * a
      y = y and y + term or term
    end
    return y:to(DTYPES[n.output_datatype])
  end)
end

window("HannWindow", { 0.5, -0.5 })
window("HammingWindow", { 25 / 46, -21 / 46 })
window("BlackmanWindow", { 0.42, -0.5, 0.08 })
