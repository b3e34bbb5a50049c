-- rules/aten/conv.lua: convolutions and transposed convolutions.

local aten = require("t2o.rules").namespace("aten")
local util = require("t2o.util")

-- ---- one form for all of them ----

-- A list of m entries; one entry stands for all.
local function widen(list, m)
  return #list == m and list or util.fill(list[1], m)
end

-- before and after, m entries each, as ONNX wants pads
local function both_sides(padding)
  return table.move(padding, 1, #padding, #padding + 1, util.copy(padding))
end

-- PyTorch puts the odd element of 'same' behind.
local function named_padding(g, name, weight, dilation)
  local m, pads = weight.rank - 2, {}
  for i = 1, m do
    local total = name == "same" and dilation[i] * (weight:size(i + 1) - 1) or 0
    if not util.is_static(total) then g.decline("'same' padding for a kernel of dynamic size") end
    pads[i], pads[m + i] = total // 2, total - total // 2
  end
  return pads
end

-- ---- by matrix products: of integers, which ONNX does not convolve, and of float64, which ONNX Runtime does not ----

-- [N, C, sizes] to [N, groups, C/groups * kernel, windows]; the second result is the number of windows along each axis
local function patches(g, x, kernel, c)
  local m, before, after, counts = #kernel, { 0, 0 }, { 0, 0 }, {}
  for i = 1, m do before[i + 2], after[i + 2] = c.pads[i], c.pads[m + i] end
  x = g.Pad(x, g.ints(table.move(after, 1, #after, #before + 1, before)))
  local perm, shape = { 0, 1 }, { x:size(0), c.groups }
  for i = m, 1, -1 do
    counts[i] = (x:size(i + 1) - (kernel[i] - 1) * c.dilation[i] - 1) // c.stride[i] + 1
    local at = util.window_positions(g, counts[i], kernel[i], c.stride[i], c.dilation[i])
    x = g.Gather(x, at, { axis = i + 1 })
  end
  for i = 1, m do perm[i + 2], perm[m + i + 2] = 2 * i + 1, 2 * i end
  shape[3], shape[4] = x:size(1) // c.groups * util.product(kernel), util.product(counts)
  return g.reshape(g.Transpose(x, { perm = perm }), shape), counts
end

local function matrix_conv(g, x, w, b, c)
  local dtype = x.dtype
  local work = (dtype == "int64" or dtype == "float64") and dtype or "int32"
  local kernel = { table.unpack(w.shape, 3) }
  if not util.all_static(kernel) then g.decline("a convolution of %s with a kernel of dynamic size", dtype) end
  local out = w:size(0)
  local columns, counts = patches(g, x:to(work), kernel, c)
  local rows = g.reshape(w:to(work), { c.groups, out // c.groups, w:size(1) * util.product(kernel) })
  local y = g.reshape(g.MatMul(rows, columns), { x:size(0), out, table.unpack(counts) }):to(dtype)
  return b and y + util.per_channel(g, b, y.rank) or y
end

-- A transposed convolution is one of the input with zeros strewn in, with the kernel turned round.
local function matrix_conv_transpose(g, x, w, b, c)
  local m = w.rank - 2
  local pads, strewn = {}, {}
  for i = 1, m do
    local s, reach = c.stride[i], c.dilation[i] * (w:size(i + 1) - 1)
    pads[i], pads[m + i] = reach - c.pads[i], reach - c.pads[m + i] + c.output_padding[i] - (s - 1)
    strewn[i] = x:size(i + 1) * s
  end
  for i = m, 1, -1 do
    local wide = g.Unsqueeze(x, g.ints { i + 2 })
    local zeros = util.fill(0, 2 * wide.rank)
    zeros[wide.rank + i + 3] = c.stride[i] - 1
    local shape = wide.shape
    table.remove(shape, i + 3)
    shape[i + 2] = strewn[i]
    x = g.reshape(g.Pad(wide, g.ints(zeros)), shape)
  end
  local axes = util.range(2, m + 1)
  w = g.Slice(w, g.ints(util.fill(-1, m)), g.ints(util.fill(math.mininteger, m)), g.ints(axes),
              g.ints(util.fill(-1, m)))
  local spatial, each = { table.unpack(w.shape, 3) }, w:size(0) // c.groups
  local swap = { 0, 2, 1, table.unpack(util.range(3, m + 2)) }
  local grouped = g.reshape(w, { c.groups, each, w:size(1), table.unpack(spatial) })
  w = g.reshape(g.Transpose(grouped, { perm = swap }), { c.groups * w:size(1), each, table.unpack(spatial) })
  return matrix_conv(g, x, w, b, { groups = c.groups, dilation = c.dilation, pads = pads, stride = util.fill(1, m) })
end

-- ---- the rules ----

-- Runtimes refuse output_padding that is not below the stride, as PyTorch allows it under dilation: everything that the
-- kernels reach is computed, and cut or filled to size.
local function wide_output(g, x, w, b, c, attrs)
  local m, edges = w.rank - 2, util.fill(0, 2 * w.rank)
  for i = 1, m do
    edges[i + 2], edges[w.rank + i + 2] = -c.pads[i], c.output_padding[i] - c.pads[m + i]
  end
  attrs.pads = nil
  local y = g.Pad(g.ConvTranspose(x, w, attrs), g.ints(edges))
  return b and y + util.per_channel(g, b, y.rank) or y
end

local function float_conv_transpose(g, x, w, b, c, attrs)
  for i, extra in ipairs(c.output_padding) do
    if extra > 0 and extra >= c.stride[i] then return wide_output(g, x, w, b, c, attrs) end
  end
  attrs.output_padding = c.output_padding
  return g.ConvTranspose(x, w, b, attrs)
end

local function on_batch(g, x, w, b, c)
  local is_int = util.is_int(x.dtype)
  if not is_int and not util.is_float(x.dtype) then g.decline("a convolution of " .. x.dtype) end
  if is_int or x.dtype == "float64" and g.target == "ort_cpu" then
    return (c.transposed and matrix_conv_transpose or matrix_conv)(g, x, w, b, c)
  end
  local kernel = { table.unpack(w.shape, 3) }
  local attrs = { strides = c.stride, pads = c.pads, dilations = c.dilation, group = c.groups,
                  kernel_shape = util.all_static(kernel) and kernel or nil }
  if c.transposed then return float_conv_transpose(g, x, w, b, c, attrs) end
  return g.Conv(x, w, b, attrs)
end

local function convolve(g, a, transposed)
  local x, w, m = a.input, a.weight, a.weight.rank - 2
  local c = { stride = widen(a.stride, m), dilation = widen(a.dilation, m), groups = a.groups, transposed = transposed,
              output_padding = widen(a.output_padding or { 0 }, m) }
  local named = type(a.padding) == "string"
  c.pads = named and named_padding(g, a.padding, w, c.dilation) or both_sides(widen(a.padding, m))
  for _, list in ipairs { c.stride, c.dilation, c.pads, c.output_padding, { c.groups } } do
    if not util.all_static(list) then g.decline("a convolution whose stride, padding or groups are dynamic") end
  end
  if x.rank == w.rank then return on_batch(g, x, w, a.bias, c) end
  return g.Squeeze(on_batch(g, g.Unsqueeze(x, g.ints { 0 }), w, a.bias, c), g.ints { 0 })
end

local function conv(g, a) return convolve(g, a, false) end
local function conv_transpose(g, a) return convolve(g, a, true) end
local function either(g, a) return convolve(g, a, a.transposed) end

for m, ones in ipairs { "[1]", "[1, 1]", "[1, 1, 1]" } do
  local zeros = ones:gsub("1", "0")
  local name, list = "conv" .. m .. "d", "SymInt[" .. m .. "]"
  aten:rule(string.format("%s(Tensor input, Tensor weight, Tensor? bias=None, %s stride=%s, %s padding=%s, "
    .. "%s dilation=%s, SymInt groups=1) -> Tensor", name, list, ones, list, zeros, list, ones), conv)
  aten:rule(string.format("%s.padding(Tensor input, Tensor weight, Tensor? bias=None, %s stride=%s, "
    .. "str padding=\"valid\", %s dilation=%s, SymInt groups=1) -> Tensor", name, list, ones, list, ones), conv)
  aten:rule(string.format("conv_transpose%dd%s(Tensor input, Tensor weight, Tensor? bias=None, %s stride=%s, "
    .. "%s padding=%s, %s output_padding=%s, SymInt groups=1, %s dilation=%s) -> Tensor", m, m > 1 and ".input" or "",
    list, ones, list, zeros, list, zeros, list, ones), conv_transpose)
end

aten:rule("convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, "
          .. "SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups) -> Tensor", either)
aten:rule("_convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, "
          .. "SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups, bool benchmark, "
          .. "bool deterministic, bool cudnn_enabled, bool allow_tf32) -> Tensor", either)
aten:rule("_convolution.deprecated(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, "
          .. "SymInt[] dilation, bool transposed, int[] output_padding, SymInt groups, bool benchmark, "
          .. "bool deterministic, bool cudnn_enabled) -> Tensor", either)
aten:rule("_convolution_mode(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, str padding, "
          .. "SymInt[] dilation, SymInt groups) -> Tensor", conv)

-- Every input channel has kernels of its own.
local function depthwise(g, a)
  a.input, a.groups = a.self, a.self:size(-a.weight.rank + 1)
  return convolve(g, a, false)
end

aten:rule("_conv_depthwise2d(Tensor self, Tensor weight, SymInt[2] kernel_size, Tensor? bias, SymInt[2] stride, "
          .. "SymInt[2] padding, SymInt[2] dilation) -> Tensor", depthwise)
aten:rule("conv_depthwise3d(Tensor self, Tensor weight, SymInt[3] kernel_size, Tensor? bias, SymInt[3] stride, "
          .. "SymInt[3] padding, SymInt[3] dilation) -> Tensor", depthwise)

aten:rule("conv_tbc(Tensor self, Tensor weight, Tensor bias, int pad=0) -> Tensor", function(g, a)
  local x = g.Transpose(a.self, { perm = { 1, 2, 0 } })
  local w = g.Transpose(a.weight, { perm = { 2, 1, 0 } })
  return g.Transpose(g.Conv(x, w, a.bias, { pads = { a.pad, a.pad } }), { perm = { 2, 0, 1 } })
end)

-- Names that are put together above, for the index of rules (tools/name_hints.py):
-- "conv1d" "conv1d.padding" "conv2d" "conv2d.padding" "conv3d" "conv3d.padding" "conv_transpose1d"
-- "conv_transpose2d.input" "conv_transpose3d.input"
