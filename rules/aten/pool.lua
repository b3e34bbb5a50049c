-- rules/aten/pool.lua: pools, adaptive and fractional pools, and the way back from max pools.

local aten = require("t2o.rules").namespace("aten")
local types = require("t2o.types")
local util = require("t2o.util")

-- ---- what all pools share ----

-- fn on [N, C, sizes]; a batch of one is put around an input without batch and taken off its results.
local function on_batch(g, x, m, fn)
  if x.rank == m + 2 then return fn(x) end
  local y, indices = fn(g.Unsqueeze(x, g.ints { 0 }))
  return g.Squeeze(y, g.ints { 0 }), indices and g.Squeeze(indices, g.ints { 0 })
end

local function widen(list, m, default)
  if list == nil or #list == 0 then return default end
  return #list == m and list or util.fill(list[1], m)
end

-- Kernel, stride and so on, an entry for each axis.
local function windows_of(a, m)
  local kernel = widen(a.kernel_size, m)
  return { m = m, kernel = kernel, stride = widen(a.stride, m, kernel), padding = widen(a.padding, m, util.fill(0, m)),
           dilation = widen(a.dilation, m, util.fill(1, m)), ceil = a.ceil_mode }
end

-- With ceil_mode a last window may lie partly behind the padding, but has to begin in the input or the padding before.
local function count_of(c, i, size)
  local s, p = c.stride[i], c.padding[i]
  local room = size + 2 * p - c.dilation[i] * (c.kernel[i] - 1) - 1
  if not c.ceil or s == 1 then return room // s + 1 end
  return util.min((room + s - 1) // s + 1, (size + p + s - 1) // s)
end

-- Sets counts, and `after`: the padding behind that makes a plain pool see the same windows (integers or dims); `fixed`
-- tells that these are integers.
local function lay_out(c, x)
  c.counts, c.after, c.fixed = {}, {}, true
  for i = 1, c.m do
    local size, p = x:size(i + 1), c.padding[i]
    c.counts[i] = count_of(c, i, size)
    local reach = (c.counts[i] - 1) * c.stride[i] + c.dilation[i] * (c.kernel[i] - 1) + 1
    local exact = reach - size - p
    if not c.ceil or c.stride[i] == 1 then exact = p end
    if util.is_static(exact) then exact = math.max(exact, p) else c.fixed = false end
    c.after[i] = exact
  end
  return c
end

local function pad(g, x, before, after, value)
  local list = util.fill(0, 2 * x.rank)
  for i = 1, #before do
    list[x.rank - #before + i], list[2 * x.rank - #before + i] = before[i], after[i]
  end
  return g.Pad(x, g.ints(list), g.scalar(value, x.dtype))
end

local function sides(before, after)
  return table.move(after, 1, #after, #before + 1, util.copy(before))
end

-- [N, C, sizes] to [N, C, windows, kernel]: the elements of all windows, kernel flattened; at[i]: int64[count, kernel].
local function gather_windows(g, x, at)
  local m, perm = #at, { 0, 1 }
  local shape, elements = { x:size(0), x:size(1) }, 1
  for i = 1, m do
    perm[i + 2], perm[m + i + 2] = 2 * i, 2 * i + 1
    shape[i + 2], elements = at[i]:size(0), elements * at[i]:size(1)
  end
  for i = m, 1, -1 do x = g.Gather(x, at[i], { axis = i + 1 }) end
  shape[m + 3] = elements
  return g.reshape(g.Transpose(x, { perm = perm }), shape)
end

-- A value of one entry a window of axis i (of m), shaped to broadcast over [N, C, windows].
local function along(g, v, i, m)
  local shape = util.fill(1, m)
  shape[i] = v:size(0)
  return g.reshape(v, shape)
end

-- ---- max pools ----

-- Which element of its window was the largest -> where that stands in the plane. starts[i]: where the windows of axis i
-- begin, of a shape that broadcasts.
local function plane_indices(g, winner, kernel, starts, dilation, sizes)
  local flat
  for i = 1, #kernel do
    local inner, k = util.product(kernel, i + 1), winner
    if inner ~= 1 then k = g.Div(k, g.scalar(inner, "int64")) end
    if i > 1 then k = g.Mod(k, g.scalar(kernel[i], "int64")) end
    local at = starts[i] + k * g.scalar(dilation[i], "int64")
    flat = flat and flat * g.scalar(sizes[i], "int64") + at or at
  end
  return flat
end

local function lowest(dtype)
  return types.is_float(dtype) and -math.huge or (types.limits(dtype))
end

-- For dtypes that ONNX's MaxPool does not take.
local function max_of_windows(g, x, c, with_indices)
  local padded, at, starts = pad(g, x, c.padding, c.after, lowest(x.dtype)), {}, {}
  for i = 1, c.m do
    at[i] = util.window_positions(g, c.counts[i], c.kernel[i], c.stride[i], c.dilation[i])
    local begin = util.arange(g, c.counts[i]) * g.scalar(c.stride[i], "int64") - g.scalar(c.padding[i], "int64")
    starts[i] = along(g, begin, i, c.m)
  end
  local all = gather_windows(g, padded, at)
  local y = g.ReduceMax(all, g.ints { -1 }, { keepdims = 0 })
  if not with_indices then return y end
  local winner = g.ArgMax(all, { axis = all.rank - 1, keepdims = 0 })
  return y, plane_indices(g, winner, c.kernel, starts, c.dilation, { table.unpack(x.shape, 3) })
end

-- Indices into a padded plane as indices into the plane.
local function without_padding(g, flat, padded, before, sizes)
  local m, factor, out = #before, 1, nil
  for i = m, 1, -1 do
    local at = flat
    if i > 1 then
      local size = g.scalar(padded[i], "int64")
      at, flat = g.Mod(flat, size), g.Div(flat, size)
    end
    at = (at - g.scalar(before[i], "int64")) * g.scalar(factor, "int64")
    out, factor = out and out + at or at, factor * sizes[i]
  end
  return out
end

local IN_ONNX = { float16 = true, bfloat16 = true, float32 = true, float64 = true, int8 = true, uint8 = true }
local EXACT_IN = { int16 = "float32", uint16 = "float32", int32 = "float64", uint32 = "float64" }

local function max_pool(g, x, c, with_indices)
  local dtype = x.dtype
  lay_out(c, x)
  if not IN_ONNX[dtype] and not EXACT_IN[dtype] then return max_of_windows(g, x, c, with_indices) end
  if EXACT_IN[dtype] then x = x:to(EXACT_IN[dtype]) end
  local sizes, source = { table.unpack(x.shape, 3) }, x
  local narrow = c.fixed -- runtimes want less padding than kernel
  for i = 1, c.m do narrow = narrow and c.after[i] < c.kernel[i] and c.padding[i] < c.kernel[i] end
  if not narrow then x = pad(g, x, c.padding, c.after, lowest(x.dtype)) end
  local y, indices = g.MaxPool(x, {
    kernel_shape = c.kernel, strides = c.stride, dilations = c.dilation,
    pads = narrow and sides(c.padding, c.after) or nil, outputs = with_indices and 2 or 1,
  })
  if not with_indices then return y:to(dtype) end
  -- ONNX counts through the whole tensor, PyTorch through a plane
  local planes = { table.unpack(x.shape, 3) }
  indices = g.Mod(indices, g.scalar(util.product(planes), "int64"))
  if x ~= source then indices = without_padding(g, indices, planes, c.padding, sizes) end
  return y:to(dtype), indices
end

for m = 1, 3 do
  local zero, one = m == 1 and "[0]" or "0", m == 1 and "[1]" or "1"
  local arguments = string.format("(Tensor self, int[%d] kernel_size, int[%d] stride=[], int[%d] padding=%s, "
    .. "int[%d] dilation=%s, bool ceil_mode=False)", m, m, m, zero, m, one)
  aten:rule("max_pool" .. m .. "d" .. arguments .. " -> Tensor", function(g, a)
    return (on_batch(g, a.self, m, function(x) return max_pool(g, x, windows_of(a, m)) end))
  end)
  aten:rule("max_pool" .. m .. "d_with_indices" .. arguments .. " -> (Tensor, Tensor)", function(g, a)
    return on_batch(g, a.self, m, function(x) return max_pool(g, x, windows_of(a, m), true) end)
  end)
end

-- ---- average pools ----

-- By how many elements the sum of each window is divided, as int64 that broadcasts over [N, C, windows].
local function divisors(g, x, c, count_include_pad)
  local out
  for i = 1, c.m do
    local p = c.padding[i]
    local first = util.arange(g, c.counts[i]) * g.scalar(c.stride[i], "int64") - g.scalar(p, "int64")
    local stop = g.scalar(x:size(i + 1) + (count_include_pad and p or 0), "int64")
    local last = g.Min(first + g.scalar(c.kernel[i], "int64"), stop)
    if not count_include_pad then first = g.Max(first, g.scalar(0, "int64")) end
    local count = along(g, last - first, i, c.m)
    out = out and out * count or count
  end
  return out
end

-- By sums: of integers, which are divided towards zero, and of float64, which ONNX Runtime does not pool.
local function summed_avg_pool(g, x, c, a)
  local dtype, work = x.dtype, types.is_int(x.dtype) and "int64" or x.dtype
  local y = x:to(work)
  local divisor = a.divisor_override and g.scalar(a.divisor_override, work)
    or divisors(g, x, c, a.count_include_pad):to(work)
  y = pad(g, y, c.padding, c.after, 0)
  for i = c.m, 1, -1 do
    local at = util.window_positions(g, c.counts[i], c.kernel[i], c.stride[i], 1)
    y = g.ReduceSum(g.Gather(y, at, { axis = i + 1 }), g.ints { i + 2 }, { keepdims = 0 })
  end
  return g.Div(y, divisor):to(dtype)
end

local function avg_pool(g, x, c, a)
  lay_out(c, x)
  if types.is_int(x.dtype) or x.dtype == "float64" and g.target == "ort_cpu" then
    return summed_avg_pool(g, x, c, a)
  end
  local elements, attrs = util.product(c.kernel), { kernel_shape = c.kernel, strides = c.stride }
  if not c.fixed then
    local sum = g.AveragePool(pad(g, x, c.padding, c.after, 0), attrs) * g.scalar(elements + 0.0, x.dtype)
    if a.divisor_override then return sum / g.scalar(a.divisor_override, x.dtype) end
    return sum / divisors(g, x, c, a.count_include_pad):to(x.dtype)
  end
  attrs.pads = sides(c.padding, c.after)
  if a.divisor_override then
    attrs.count_include_pad = 1
    local y = g.AveragePool(x, attrs)
    return a.divisor_override == elements and y or y * (elements / a.divisor_override)
  end
  attrs.count_include_pad = a.count_include_pad and 1 or 0
  if a.count_include_pad and not util.same_shape(c.after, c.padding) then
    -- the padding counts, what a last window has behind it does not
    local extra = {}
    for i = 1, c.m do extra[i] = c.after[i] - c.padding[i] end
    attrs.count_include_pad, attrs.pads = 0, sides(util.fill(0, c.m), extra)
    x = pad(g, x, c.padding, c.padding, 0)
  end
  return g.AveragePool(x, attrs)
end

for m = 1, 3 do
  local zero = m == 1 and "[0]" or "0"
  aten:rule(string.format("avg_pool%dd(Tensor self, int[%d] kernel_size, int[%d] stride=[], int[%d] padding=%s, "
    .. "bool ceil_mode=False, bool count_include_pad=True%s) -> Tensor", m, m, m, m, zero,
    m > 1 and ", int? divisor_override=None" or ""),
    function(g, a)
      return (on_batch(g, a.self, m, function(x) return avg_pool(g, x, windows_of(a, m), a) end))
    end)
end

-- ---- adaptive pools: window i of m spans floor(i*n/m) to ceil((i+1)*n/m) ----

-- Starts and lengths int64[m] of the windows and a bound of the lengths.
local function adaptive_windows(g, n, m)
  if util.is_static(n) and util.is_static(m) then
    local starts, lengths, longest = {}, {}, 0
    for i = 0, m - 1 do
      local first, stop = i * n // m, ((i + 1) * n + m - 1) // m
      starts[i + 1], lengths[i + 1] = first, stop - first
      longest = math.max(longest, stop - first)
    end
    return g.const(starts, "int64"), g.const(lengths, "int64"), longest
  end
  local i, have, want = util.arange(g, m), g.scalar(n, "int64"), g.scalar(m, "int64")
  local starts = g.Div(i * have, want)
  local stops = g.Div((i + g.scalar(1, "int64")) * have + g.scalar(m - 1, "int64"), want)
  return starts, stops - starts, m == 1 and n or n // m + 2
end

-- Where the elements of the windows stand: int64[m, longest], short windows filled up with their
-- last element; and which are no filling.
local function adaptive_positions(g, n, m)
  local starts, lengths, longest = adaptive_windows(g, n, m)
  local k = g.reshape(util.arange(g, longest), { 1, longest })
  local column = g.reshape(lengths, { m, 1 })
  local last = column - g.scalar(1, "int64")
  return g.reshape(starts, { m, 1 }) + g.Min(k, last), g.Less(k, column), starts, lengths
end

-- The mean over the windows of one axis.
local function mean_along(g, x, axis, want)
  local have = x:size(axis)
  if util.equal(have, want) then return x end
  if want == 1 then return g.ReduceMean(x, g.ints { axis }) end
  local at, real, _, lengths = adaptive_positions(g, have, want)
  local right = util.fill(1, x.rank - axis - 1)
  local function shaped(v, ...) return g.reshape(v, table.move(right, 1, #right, select("#", ...) + 1, { ... })) end
  local parts = g.Gather(x, at, { axis = axis })
  parts = g.Where(shaped(real, want, at:size(1)), parts, g.scalar(0, x.dtype))
  local sum = g.ReduceSum(parts, g.ints { axis + 1 }, { keepdims = 0 })
  return sum / shaped(lengths:to(x.dtype), want)
end

local function adaptive_avg_pool(g, a, m)
  local x, want = a.self, widen(a.output_size, m)
  local have = { table.unpack(x.shape, x.rank - m + 1) }
  if util.same_shape(have, want) then return x end
  if util.same_shape(want, util.fill(1, m)) then
    return g.ReduceMean(x, g.ints(util.range(x.rank - m, x.rank - 1)))
  end
  local kernel = util.exact_windows(have, want)
  if kernel and not util.contains(kernel, 0) then
    return (on_batch(g, x, m, function(v) return g.AveragePool(v, { kernel_shape = kernel, strides = kernel }) end))
  end
  for i = 1, m do x = mean_along(g, x, x.rank - m + i - 1, want[i]) end
  return x
end

local function adaptive_max_pool(g, x, want)
  local m, have = #want, { table.unpack(x.shape, 3) }
  local kernel = util.exact_windows(have, want)
  if kernel and not util.contains(kernel, 0) then
    return max_pool(g, x, windows_of({ kernel_size = kernel }, m), true)
  end
  local at, starts, lengths = {}, {}, {}
  for i = 1, m do
    local positions, _, first = adaptive_positions(g, have[i], want[i])
    at[i], starts[i], lengths[i] = positions, along(g, first, i, m), positions:size(1)
  end
  local all = gather_windows(g, x, at)
  local winner = g.ArgMax(all, { axis = all.rank - 1, keepdims = 0 })
  return g.ReduceMax(all, g.ints { -1 }, { keepdims = 0 }),
         plane_indices(g, winner, lengths, starts, util.fill(1, m), have)
end

for m = 1, 3 do
  local function avg(g, a) return adaptive_avg_pool(g, a, m) end
  local arguments = string.format("adaptive_avg_pool%dd(Tensor self, %s[%d] output_size) -> Tensor", m,
                                  m == 1 and "int" or "SymInt", m)
  aten:rule(arguments, avg)
  if m > 1 then aten:rule("_" .. arguments, avg) end
  aten:rule(string.format("adaptive_max_pool%dd(Tensor self, int[%d] output_size) -> (Tensor, Tensor)", m, m),
    function(g, a)
      return on_batch(g, a.self, m, function(x) return adaptive_max_pool(g, x, widen(a.output_size, m)) end)
    end)
end

-- ---- fractional pools: each plane has starts of its own, from a random number an axis ----

-- int64[N, C, want]
local function fractional_starts(g, sample, have, kernel, want)
  local alpha = g.scalar(have - kernel, sample.dtype) / g.scalar(math.max(want - 1, 1), sample.dtype)
  local first = (sample * alpha):to("int64")
  local last = first * g.scalar(0, "int64") + g.scalar(have - kernel, "int64") -- one for every plane
  if want == 1 then return last end
  local starts = ((util.arange(g, want - 1):to(sample.dtype) + sample) * alpha):to("int64") - first
  return g.Concat(starts, last, { axis = 2 })
end

-- column[i]: which of the samples belongs to axis i (0-based)
local function fractional_max_pool(g, x, a, column)
  local m = #column
  local kernel, want = widen(a.kernel_size, m), widen(a.output_size, m)
  local sizes, starts, flat = { table.unpack(x.shape, 3) }, {}, nil
  for i = 1, m do
    local sample = g.Slice(a.random_samples, g.ints { column[i] }, g.ints { column[i] + 1 }, g.ints { 2 })
    local first = fractional_starts(g, sample, sizes[i], kernel[i], want[i])
    local shape, steps = util.fill(1, m), util.fill(1, m)
    shape[i], steps[i] = want[i], kernel[i]
    starts[i] = g.reshape(first, { first:size(0), first:size(1), table.unpack(shape) })
    local wide = g.reshape(starts[i], { first:size(0), first:size(1), table.unpack(sides(shape, util.fill(1, m))) })
    local at = wide + g.reshape(util.arange(g, kernel[i]), steps)
    flat = flat and flat * g.scalar(sizes[i], "int64") + at or at
  end
  local outer = { x:size(0), x:size(1) }
  local planes = g.reshape(x, { outer[1], outer[2], util.product(sizes) })
  local places = g.reshape(flat, { outer[1], outer[2], util.product(want) * util.product(kernel) })
  local all = g.reshape(g.GatherElements(planes, places, { axis = 2 }),
                        { outer[1], outer[2], table.unpack(sides(want, { util.product(kernel) })) })
  local winner = g.ArgMax(all, { axis = m + 2, keepdims = 0 })
  return g.ReduceMax(all, g.ints { -1 }, { keepdims = 0 }),
         plane_indices(g, winner, kernel, starts, util.fill(1, m), sizes)
end

for m, column in pairs { [2] = { 1, 0 }, [3] = { 0, 1, 2 } } do
  aten:rule(string.format("fractional_max_pool%dd(Tensor self, int[%d] kernel_size, int[%d] output_size, "
    .. "Tensor random_samples) -> (Tensor, Tensor)", m, m, m),
    function(g, a)
      return on_batch(g, a.self, m, function(x) return fractional_max_pool(g, x, a, column) end)
    end)
end

-- ---- the way back ----

-- values at their indices in planes of zeros; where two share an index, the last one stays or, with add, both count.
local function scatter_planes(g, values, indices, sizes, add)
  local rank = values.rank
  local m = #sizes
  local outer = { table.unpack(values.shape, 1, rank - m) }
  local function flat(v) return g.reshape(v, sides(outer, { util.product(v.shape, rank - m + 1) })) end
  local planes = g.zeros(sides(outer, { util.product(sizes) }), values.dtype)
  local y = g.ScatterElements(planes, flat(indices), flat(values),
                              { axis = rank - m, reduction = add and "add" or nil })
  return g.reshape(y, sides(outer, sizes))
end

aten:rule("max_unpool2d(Tensor self, Tensor indices, SymInt[2] output_size) -> Tensor",
  function(g, a) return scatter_planes(g, a.self, a.indices, a.output_size) end)
aten:rule("max_unpool3d(Tensor self, Tensor indices, SymInt[3] output_size, int[3] stride, int[3] padding) -> Tensor",
  function(g, a) return scatter_planes(g, a.self, a.indices, a.output_size) end)

aten:rule("max_pool2d_with_indices_backward(Tensor grad_output, Tensor self, int[2] kernel_size, int[2] stride, "
          .. "int[2] padding, int[2] dilation, bool ceil_mode, Tensor indices) -> Tensor",
  function(g, a)
    local x = a.self
    return scatter_planes(g, a.grad_output, a.indices, { x:size(-2), x:size(-1) }, true)
  end)

-- Names that are put together above, for the index of rules (tools/name_hints.py):
-- "_adaptive_avg_pool2d" "_adaptive_avg_pool3d" "adaptive_avg_pool1d" "adaptive_avg_pool2d"
-- "adaptive_avg_pool3d" "adaptive_max_pool1d" "adaptive_max_pool2d" "adaptive_max_pool3d" "avg_pool1d"
-- "avg_pool2d" "avg_pool3d" "fractional_max_pool2d" "fractional_max_pool3d" "max_pool1d"
-- "max_pool1d_with_indices" "max_pool2d" "max_pool2d_with_indices" "max_pool3d"
-- "max_pool3d_with_indices"
