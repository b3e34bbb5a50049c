-- rules/aten/resize.lua: interpolation to other sizes.

local aten = require("t2o.rules").namespace("aten")
local util = require("t2o.util")

local function single(x) return (string.unpack("<f", string.pack("<f", x))) end

-- The bfloat16 next to x: the upper half of a float32, rounded to even.
local function brief(x)
  local bits = string.unpack("<I4", string.pack("<f", x))
  bits = bits + 0x7fff + (bits >> 16 & 1) & 0xffff0000
  return (string.unpack("<f", string.pack("<I4", bits)))
end

local function itself(x) return x end

-- Axes to resize: { dim, have, want, scale }; scale is the factor that was given, nil where it follows from the sizes;
-- ignored_at lists the whole factors that count in its place where the run finds the sizes to be such.
local function axes_of(x, want, scales)
  local axes, m = {}, #want
  for i = 1, m do
    local scale = scales and scales[i] or nil
    if scale and scale <= 0 then scale = nil end
    axes[i] = { dim = x.rank - m + i - 1, have = x:size(i - m - 1), want = want[i], scale = scale }
  end
  return axes
end

local function is_fixed(axis) return util.is_static(axis.have) and util.is_static(axis.want) end

-- Whether the factor says just what the sizes say.
local function follows(axis)
  return not axis.scale or is_fixed(axis) and axis.have * axis.scale == axis.want
end

-- Whether have * scale, computed in single precision, is the wanted size: where a runtime is given factors. One that
-- leaves the size as it is does not count: runtimes then copy.
local function reaches(axis)
  local s = axis.scale
  if not s then return false end
  if is_fixed(axis) then
    return math.floor(single(axis.have * single(s))) == axis.want and (axis.have ~= axis.want or s == 1)
  end
  return s == math.floor(s) and s > 1 or s < 1 and 1 / s == math.floor(1 / s) and single(s) == s
end

local function all(axes, test)
  for _, axis in ipairs(axes) do
    if not test(axis) then return false end
  end
  return true
end

-- ---- in one operator ----

-- Resize with sizes or factors for the axes; nil where neither is what PyTorch computes with.
local function operator(g, x, axes, attrs, ignores_scale)
  local dims, sizes, scales = {}, {}, {}
  for i, axis in ipairs(axes) do dims[i], sizes[i], scales[i] = axis.dim, axis.want, axis.scale end
  attrs.axes = dims
  if ignores_scale or all(axes, follows) then return g.Resize(x, nil, nil, g.ints(sizes), attrs) end
  if all(axes, reaches) then return g.Resize(x, nil, g.const(scales, "float32"), attrs) end
end

-- ---- step by step: where elements come from is computed, and they are gathered along each axis ----

-- The distance of two results in the input, as a value of a float dtype.
local function ratio(g, axis, dtype, align)
  if align then
    if util.equal(axis.want, 1) then return g.scalar(0.0, dtype) end
    return g.scalar(axis.have - 1, dtype) / g.scalar(axis.want - 1, dtype)
  end
  if not axis.scale then return g.scalar(axis.have, dtype) / g.scalar(axis.want, dtype) end
  local step = g.scalar(1 / axis.scale, dtype)
  for _, times in ipairs(axis.ignored_at or {}) do
    local met = g.Equal(g.scalar(axis.want, "int64"), g.scalar(axis.have * times, "int64"))
    step = g.Where(met, g.scalar(1 / times, dtype), step)
  end
  return step
end

-- Where each result stands in the input, as floats of the axis' length.
local function positions(g, axis, dtype, align)
  local i, step = util.arange(g, axis.want):to(dtype), ratio(g, axis, dtype, align)
  if align then return i * step end
  return (i + 0.5) * step - 0.5
end

local function clipped(g, index, axis)
  local zero = g.scalar(0, "int64")
  return g.Min(g.Max(index, zero), g.scalar(axis.have - 1, "int64"))
end

-- The sum of the elements at these indices with these weights; both of the axis' length.
local function weighted(g, x, axis, terms)
  local shape, y = util.fill(1, x.rank - axis.dim), nil
  shape[1] = axis.want
  for _, term in ipairs(terms) do
    local part = g.Gather(x, clipped(g, term.index, axis), { axis = axis.dim }) * g.reshape(term.weight, shape)
    y = y and y + part or part
  end
  return y
end

local function step_of(axis, align)
  if align then return axis.want > 1 and (axis.have - 1) / (axis.want - 1) or 0.0 end
  return axis.scale and 1 / axis.scale or axis.have / axis.want
end

-- The sums of the elements in each row, weighted.
local function combined(g, x, axis, places, weights)
  local shape = { axis.want, #places[1], table.unpack(util.fill(1, x.rank - axis.dim - 1)) }
  local parts = g.Gather(x, g.const(places, "int64"), { axis = axis.dim })
  return g.ReduceSum(parts * g.reshape(g.const(weights, x.dtype), shape), g.ints { axis.dim + 1 }, { keepdims = 0 })
end

-- The two ways to weigh the elements around a place, t behind the first of them: of numbers and of values. `first` is
-- where they begin, `bounded` that no place is before the first element. `round` is what PyTorch does to weights.
local linear_weights = { first = 0, bounded = true }
function linear_weights.of(t, round)
  t = round(t)
  return { round(1.0 - t), t }
end

local CUBIC = -0.75
local cubic_weights = { first = -1 }
function cubic_weights.of(t, round)
  local function near(d) return ((CUBIC + 2.0) * d - (CUBIC + 3.0)) * d * d + 1.0 end
  local function far(d) return ((CUBIC * d - 5.0 * CUBIC) * d + 8.0 * CUBIC) * d - 4.0 * CUBIC end
  return { round(far(t + 1.0)), round(near(t)), round(near(1.0 - t)), round(far(2.0 - t)) }
end

local function computed_terms(g, axis, dtype, align, weights, round)
  local at = positions(g, axis, dtype, align)
  if weights.bounded then at = g.Max(at, g.scalar(0.0, dtype)) end
  local floor = g.Floor(at)
  local index, terms = floor:to("int64"), {}
  for k, weight in ipairs(weights.of(at - floor, round)) do
    terms[k] = { index = index + g.scalar(weights.first + k - 1, "int64"), weight = weight }
  end
  return terms
end

-- The same for sizes that are known: rows of elements and of weights, one for each result. `keep` rounds to the dtype
-- in which PyTorch computes the places.
local function fixed_rows(axis, align, weights, keep, round)
  local step, places, rows = keep(step_of(axis, align)), {}, {}
  for i = 0, axis.want - 1 do
    local at = align and keep(i * step) or keep(keep((i + 0.5) * step) - 0.5)
    if weights.bounded then at = math.max(at, 0.0) end
    local floor, place = math.floor(at), {}
    local row = weights.of(at - floor, round)
    for k = 1, #row do place[k] = math.min(math.max(floor + weights.first + k - 1, 0), axis.have - 1) end
    places[i + 1], rows[i + 1] = place, row
  end
  return places, rows
end

local function step_by_step(g, x, axes, weights, align)
  local dtype, work = x.dtype, x.dtype == "float64" and "float64" or "float32"
  local function round(w) return util.is_half(dtype) and w:to(dtype):to(work) or w end
  local y = x:to(work)
  for _, axis in ipairs(axes) do
    if is_fixed(axis) then
      local keep = work == "float64" and itself or single
      y = combined(g, y, axis, fixed_rows(axis, align, weights, keep, dtype == "bfloat16" and brief or itself))
    elseif not (util.equal(axis.have, axis.want) and follows(axis)) then
      y = weighted(g, y, axis, computed_terms(g, axis, work, align, weights, round))
    end
  end
  return y:to(dtype)
end

-- ---- nearest ----

-- A result's place in the input (0-based): PyTorch's, and ONNX's with exact and with single precision.
local function nearest_places(axis, exact, i)
  local shift = exact and 0.5 or 0.0
  local step = axis.scale and single(1 / axis.scale) or single(axis.have / axis.want)
  local torch = math.floor(single((i + shift) * step))
  local factor = axis.scale and not follows(axis) and axis.scale or axis.want / axis.have
  local real = math.floor((i + shift) / factor)
  local float = math.floor(single(single((i + shift) / single(factor)) - shift) + shift)
  local last = axis.have - 1
  return math.min(torch, last), math.min(real, last), math.max(0, math.min(float, last))
end

-- Whole factors, and those whose reciprocal is a power of two.
local function divides_exactly(factor)
  if factor == math.floor(factor) then return true end
  local step = math.tointeger(1 / factor)
  return step and step & (step - 1) == 0
end

-- Whether ONNX's rounding gives PyTorch's elements.
local function rounds_alike(exact)
  return function(axis)
    if not is_fixed(axis) then return axis.scale and divides_exactly(axis.scale) end
    for i = 0, axis.want - 1 do
      local torch, real, float = nearest_places(axis, exact, i)
      if torch ~= real or torch ~= float then return false end
    end
    return true
  end
end

local function nearest_index(g, axis, exact)
  if is_fixed(axis) and axis.want > 0 then
    local list = {}
    for i = 0, axis.want - 1 do list[i + 1] = nearest_places(axis, exact, i) end
    return g.const(list, "int64")
  end
  local i = util.arange(g, axis.want):to("float32")
  local at = g.Floor((exact and i + 0.5 or i) * ratio(g, axis, "float32"))
  return clipped(g, at:to("int64"), axis)
end

local RESIZABLE = { float16 = true, bfloat16 = true, float32 = true, uint8 = true }

local function nearest(g, x, axes, exact)
  if RESIZABLE[x.dtype] and all(axes, rounds_alike(exact)) then
    local y = operator(g, x, axes, exact and { mode = "nearest", nearest_mode = "round_prefer_ceil" }
                       or { mode = "nearest", coordinate_transformation_mode = "asymmetric", nearest_mode = "floor" })
    if y then return y end
  end
  for _, axis in ipairs(axes) do
    if not (util.equal(axis.have, axis.want) and follows(axis)) then
      x = g.Gather(x, nearest_index(g, axis, exact), { axis = axis.dim })
    end
  end
  return x
end

-- ---- linear and cubic ----

-- `rounds`: PyTorch has the weights in the dtype of the tensor, which bfloat16 shows.
local function smooth(mode, weights, rounds)
  return function(g, x, axes, align)
    if not util.is_float(x.dtype) then g.decline("%s interpolation of %s", mode, x.dtype) end
    local how = align and "align_corners" or "half_pixel"
    local attrs = { mode = mode, coordinate_transformation_mode = how,
                    cubic_coeff_a = mode == "cubic" and CUBIC or nil }
    if rounds and x.dtype == "bfloat16" then return step_by_step(g, x, axes, weights, align) end
    return RESIZABLE[x.dtype] and operator(g, x, axes, attrs, align) or step_by_step(g, x, axes, weights, align)
  end
end

-- ---- with antialiasing: windows that widen with the step, so that nothing is skipped ----

local function triangle(d) return math.max(0.0, 1.0 - math.abs(d)) end

local function sharp_cubic(d) -- with the coefficient -0.5
  d = math.abs(d)
  if d < 1 then return (1.5 * d - 2.5) * d * d + 1.0 end
  return d < 2 and ((-0.5 * d + 2.5) * d - 4.0) * d + 2.0 or 0.0
end

-- Which elements each result is made of, and their weights: lists of want rows, as long as the longest.
local function filter_rows(axis, align, filter, reach)
  local step = step_of(axis, align)
  local wide = math.max(step, 1.0)
  local firsts, rows, longest = {}, {}, 0
  for i = 1, axis.want do
    local centre, row, sum = step * (i - 0.5), {}, 0.0
    local first = math.max(math.floor(centre - reach * wide + 0.5), 0)
    for k = first, math.min(math.floor(centre + reach * wide + 0.5), axis.have) - 1 do
      row[#row + 1] = filter((k - centre + 0.5) / wide)
      sum = sum + row[#row]
    end
    for k = 1, #row do row[k] = row[k] / sum end
    firsts[i], rows[i], longest = first, row, math.max(longest, #row)
  end
  local places = {}
  for i, row in ipairs(rows) do
    places[i] = {}
    for k = 1, longest do
      places[i][k], row[k] = math.min(firsts[i] + k - 1, axis.have - 1), row[k] or 0.0
    end
  end
  return places, rows
end

local function filtered(g, x, axis, align, filter, reach)
  return combined(g, x, axis, filter_rows(axis, align, filter, reach))
end

local function antialiased(mode, filter, reach)
  return function(g, x, axes, align)
    if not util.is_float(x.dtype) then g.decline("%s interpolation of %s", mode, x.dtype) end
    if RESIZABLE[x.dtype] and not align then
      local attrs = { mode = mode, antialias = 1, exclude_outside = 1,
                      cubic_coeff_a = mode == "cubic" and -0.5 or nil }
      local y = operator(g, x, axes, attrs)
      if y then return y end
    end
    if not all(axes, is_fixed) then g.decline("antialiased interpolation of a dynamic size by this factor") end
    local y = x:to(x.dtype == "float64" and "float64" or "float32")
    for _, axis in ipairs(axes) do y = filtered(g, y, axis, align, filter, reach) end
    return y:to(x.dtype)
  end
end

-- ---- the rules ----

local function same_size(axes, align)
  return all(axes, function(axis) return util.equal(axis.have, axis.want) and (align or follows(axis)) end)
end

-- In some modes PyTorch takes no notice of a given factor where an axis keeps its size or, in nearest2d,
-- doubles it.
local KEEPS = { linear = { 1 }, nearest2d = { 1, 2 } }

-- Whether floor(have * scale) may be have * times, for more than one element.
local function may_meet(axis, times)
  local over = axis.scale - times
  return not is_fixed(axis) and (util.is_static(axis.want) or over > 0 and over < 0.5)
end

local function drop_ignored_factor(axis, keeps)
  axis.ignored_at = {}
  for _, times in ipairs(keeps or {}) do
    if util.equal(axis.want, axis.have * times) then axis.scale = nil end
    if axis.scale and may_meet(axis, times) then table.insert(axis.ignored_at, times) end
  end
end

local function resize(g, x, want, scales, kind, align)
  local axes = axes_of(x, want, scales)
  for _, axis in ipairs(axes) do drop_ignored_factor(axis, KEEPS[kind.keeps]) end
  return same_size(axes, align) and x or kind.build(g, x, axes, align)
end

local function of_vec(kind, m)
  return function(g, a, n)
    local want = a.output_size or { table.unpack(n.outputs[1].shape, 3) }
    return resize(g, a.input, want, not a.output_size and a.scale_factors or nil, kind, a.align_corners)
  end
end

local SCALES = { { "scales" }, { "scales_h", "scales_w" }, { "scales_d", "scales_h", "scales_w" } }

local function of_default(kind, m)
  return function(g, a)
    local scales = {}
    for i, name in ipairs(SCALES[m]) do scales[i] = a[name] or false end
    return resize(g, a.self, a.output_size, scales, kind, a.align_corners)
  end
end

local function register(name, m, kind, align)
  local corners = align and "bool align_corners, " or ""
  local scales = {}
  for i, scale in ipairs(SCALES[m]) do scales[i] = "float? " .. scale .. "=None" end
  aten:rule(string.format("%s(Tensor self, SymInt[%d] output_size, %s%s) -> Tensor", name, m, corners,
                          table.concat(scales, ", ")), of_default(kind, m))
  aten:rule(string.format("%s.vec(Tensor input, SymInt[]? output_size, %sfloat[]? scale_factors) -> Tensor", name,
                          corners), of_vec(kind, m))
end

local function nearest_kind(m, exact)
  return { keeps = m == 2 and not exact and "nearest2d" or nil,
           build = function(g, x, axes) return nearest(g, x, axes, exact) end }
end

for m = 1, 3 do
  register("upsample_nearest" .. m .. "d", m, nearest_kind(m, false))
  register("_upsample_nearest_exact" .. m .. "d", m, nearest_kind(m, true))
end

for m, name in ipairs { "upsample_linear1d", "upsample_bilinear2d", "upsample_trilinear3d" } do
  register(name, m, { keeps = "linear", build = smooth("linear", linear_weights, m ~= 2) }, true)
end
register("upsample_bicubic2d", 2, { build = smooth("cubic", cubic_weights, true) }, true)
register("_upsample_bilinear2d_aa", 2, { keeps = "linear", build = antialiased("linear", triangle, 1) }, true)
register("_upsample_bicubic2d_aa", 2, { keeps = "linear", build = antialiased("cubic", sharp_cubic, 2) }, true)

-- Names that are put together above, for the index of rules (tools/name_hints.py):
-- "_upsample_bicubic2d_aa.vec" "_upsample_bilinear2d_aa.vec" "_upsample_nearest_exact1d"
-- "_upsample_nearest_exact1d.vec" "_upsample_nearest_exact2d" "_upsample_nearest_exact2d.vec"
-- "_upsample_nearest_exact3d" "_upsample_nearest_exact3d.vec" "upsample_bicubic2d.vec"
-- "upsample_bilinear2d.vec" "upsample_linear1d.vec" "upsample_nearest1d" "upsample_nearest1d.vec"
-- "upsample_nearest2d" "upsample_nearest2d.vec" "upsample_nearest3d" "upsample_nearest3d.vec"
-- "upsample_trilinear3d.vec"
