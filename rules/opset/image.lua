-- rules/opset/image.lua: resizing, sampling and pooling of images.

local lib = require("t2o.opset")
local opset = lib.registry
local util = require("t2o.util")

-- ---- Resize ----

local RESIZE = "Resize(X, roi?, scales?, sizes?) {antialias=0, axes, coordinate_transformation_mode='half_pixel', "
               .. "cubic_coeff_a=-0.75, exclude_outside=0, keep_aspect_ratio_policy='stretch', mode='nearest', "
               .. "nearest_mode='round_prefer_floor'}"

-- Runtimes compute in 32 bits, which decides whether an element lies half-way between two others.
local function rounded(x) return (string.unpack("f", string.pack("f", x))) end

-- What the dims given by axes are stretched by, where the sizes are known; a dim that stays as it is need not be known.
local function stretches(n, axes, rank)
  if n.scales then return n.scales.is_constant and n.scales:tolist() or nil end
  local sizes = n.sizes and lib.sizes(n.sizes)
  if not sizes then return nil end
  local out = {}
  for i, axis in ipairs(axes) do
    local have = n.X:size(util.dim(axis, rank))
    local static = util.is_static(have) and util.is_static(sizes[i])
    if not static and have ~= sizes[i] then return nil end
    out[i] = static and sizes[i] / have or 1.0
  end
  return out, sizes
end

-- What each dim is resized to and by: lists over all dims, or nil where it is not known before the run.
local function plan(n)
  local rank = lib.rank(n.X)
  local axes = n.axes or util.range(0, rank - 1)
  local stretch, sizes = stretches(n, axes, rank)
  if not stretch then return nil end
  local common = nil
  if sizes and n.keep_aspect_ratio_policy and n.keep_aspect_ratio_policy ~= "stretch" then
    common = (n.keep_aspect_ratio_policy == "not_larger" and math.min or math.max)(table.unpack(stretch))
  end
  local p = { sizes = util.copy(n.X.shape), scales = util.fill(1.0, rank), rank = rank }
  for i, axis in ipairs(axes) do
    local d = util.dim(axis, rank) + 1
    local have, by = p.sizes[d], common or stretch[i]
    if not (util.is_static(have) or by == 1) then return nil end
    p.scales[d] = rounded(by)
    if by ~= 1 then
      p.sizes[d] = common and math.floor(have * by + 0.5) or sizes and sizes[i] or math.floor(have * by)
    end
  end
  return p
end

-- Where an element of the result lies in the input.
local ORIGIN = {
  half_pixel = function(i, scale) return rounded(rounded((i + 0.5) / scale) - 0.5) end,
  half_pixel_symmetric = function(i, scale, have, want)
    local adjust = want / (scale * have)
    return have / 2 * (1 - adjust) + (i + 0.5) / scale - 0.5
  end,
  pytorch_half_pixel = function(i, scale, _, want)
    return want > 1 and rounded(rounded((i + 0.5) / scale) - 0.5) or 0.0
  end,
  align_corners = function(i, _, have, want)
    return want > 1 and rounded(rounded(i * (have - 1)) / (want - 1)) or 0.0
  end,
  asymmetric = function(i, scale) return rounded(i / scale) end,
}

local NEAREST = {
  round_prefer_floor = function(x) return math.ceil(x - 0.5) end,
  round_prefer_ceil = function(x) return math.floor(x + 0.5) end,
  floor = math.floor,
  ceil = math.ceil,
}

local function triangle(x) return math.max(0.0, 1 - math.abs(x)) end

local function cubic(a)
  return function(x)
    x = math.abs(x)
    if x < 1 then return ((a + 2) * x - (a + 3)) * x * x + 1 end
    if x < 2 then return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a end
    return 0.0
  end
end

-- One row of weights over the inputs of a dim: the filter around the origin, wider where the image gets smaller.
local function row(n, filter, reach, origin, scale, have)
  local wide = n.antialias == 1 and math.max(1.0, 1 / scale) or 1.0
  local weights, sum = util.fill(0.0, have), 0.0
  for at = math.floor(origin - reach * wide), math.ceil(origin + reach * wide) do
    local w = filter((at - origin) / wide)
    local within = at >= 0 and at < have
    if within or n.exclude_outside ~= 1 then
      local k = math.max(0, math.min(have - 1, at)) + 1
      weights[k] = weights[k] + w
      sum = sum + w
    end
  end
  for i = 1, have do weights[i] = weights[i] / sum end
  return weights
end

local function times_matrix(g, x, d, rows)
  local rank = x.rank
  local perm, back = util.to_last(rank, d)
  local function turned(v, order) return d < rank - 1 and g.Transpose(v, { perm = order }) or v end
  return turned(g.MatMul(turned(x, perm), g.Transpose(g.const(rows, x.dtype), { perm = { 1, 0 } })), back)
end

-- Dim by dim: a Gather of the nearest, else a product with the weights.
local function resize_by_dims(g, n, p)
  local origin_of = ORIGIN[n.coordinate_transformation_mode]
  if not origin_of then g.decline("the coordinates %s", n.coordinate_transformation_mode) end
  if n.mode ~= "nearest" and not util.is_float(n.X.dtype) then g.decline("interpolation of integers") end
  local function resized(x)
    for d = 0, p.rank - 1 do
      local have, want, scale = n.X:size(d), p.sizes[d + 1], p.scales[d + 1]
      if have ~= want or scale ~= 1 then
        local rows = {}
        for i = 0, want - 1 do
          local origin = origin_of(i, scale, have, want)
          if n.mode == "nearest" then
            rows[i + 1] = math.max(0, math.min(have - 1, NEAREST[n.nearest_mode](origin)))
          elseif n.mode == "linear" then
            if n.antialias == 0 then origin = math.max(0.0, math.min(have - 1.0, origin)) end
            rows[i + 1] = row(n, triangle, 1, origin, scale, have)
          else
            rows[i + 1] = row(n, cubic(n.cubic_coeff_a), 2, origin, scale, have)
          end
        end
        x = n.mode == "nearest" and g.Gather(x, g.const(rows), { axis = d }) or times_matrix(g, x, d, rows)
      end
    end
    return x == n.X and g.Identity(x) or x
  end
  if n.mode == "nearest" then return resized(n.X) end
  return lib.widened(n.X, resized)
end

opset:lower(RESIZE, { below = 19 }, function(g, n)
  if n.coordinate_transformation_mode ~= "half_pixel_symmetric" then return end
  local p = plan(n)
  for d = 1, p and p.rank or 0 do
    if n.scales and p.scales[d] ~= 1 and p.sizes[d] ~= n.X:size(d - 1) * p.scales[d] then
      return lib.at_newest(resize_by_dims, g, n, p)
    end
  end
  if n.scales and not p then g.decline("scales of an image of unknown size") end
  return lib.again(n, nil, lib.attrs(n, { coordinate_transformation_mode = "half_pixel" }))
end)

-- A list for some axes as one for all dims.
local function for_all_dims(g, n, list, rest)
  local rank = lib.rank(n.X)
  local pieces = {}
  for d = 0, rank - 1 do pieces[d + 1] = rest(d) end
  for i, axis in ipairs(n.axes) do pieces[util.dim(axis, rank) + 1] = g.Gather(list, g.const { i - 1 }) end
  pieces[rank + 1] = { axis = 0 }
  return g.Concat(table.unpack(pieces))
end

opset:lower(RESIZE, { below = 18 }, function(g, n)
  local newer = n.attrs.antialias or n.axes or n.attrs.keep_aspect_ratio_policy
  if not newer then return end
  local p = plan(n)
  local function dims() return lib.at_newest(resize_by_dims, g, n, p) end
  if n.antialias == 1 then return p and dims() or g.decline("antialias of an image of unknown size") end
  local scales, sizes = n.scales, n.sizes
  if sizes and n.keep_aspect_ratio_policy ~= "stretch" then
    return p and dims() or g.decline("an aspect ratio of an image of unknown size")
  end
  if n.roi and n.axes then g.decline("a region of some axes") end
  if n.axes then
    scales = scales and for_all_dims(g, n, scales, function() return g.const { 1.0 } end)
    sizes = sizes and for_all_dims(g, n, sizes, function(d)
      return lib.at_newest(function() return g.Shape(n.X, { start = d, ["end"] = d + 1 }) end)
    end)
    if p and n.scales then scales = g.const(p.scales, "float32") end
  end
  return lib.again(n, { n.X, n.roi, scales, sizes, n = 4 },
                   lib.attrs(n, { antialias = false, axes = false, keep_aspect_ratio_policy = false }))
end)

opset:lower(RESIZE, { below = 13 }, function(g, n)
  local empty = g.full({ 0 }, 0, "float32")
  return lib.again(n, { n.X, n.roi or empty, n.scales or empty, n.sizes, n = 4 })
end)

local function each(list, test)
  for _, x in ipairs(list) do
    if not test(x) then return false end
  end
  return true
end

-- Before opset 11 every element lay at i / scale, and the nearest was the one before it; where an image gets smaller
-- runtimes differ in that.
local function is_old_form(n, scales)
  if n.mode == "cubic" or n.exclude_outside == 1 then return false end
  local plain = n.coordinate_transformation_mode == "asymmetric"
  if n.mode == "linear" then return plain end
  if not scales or not each(scales, function(x) return x >= 1 end) then return false end
  if plain then return n.nearest_mode == "floor" end
  local repeats = each(scales, function(x) return x % 1 == 0 end)
  return repeats and n.coordinate_transformation_mode == "half_pixel" and n.nearest_mode:find("^round") ~= nil
end

opset:lower(RESIZE, { below = 11 }, function(g, n)
  if n.scales and n.scales.is_constant and n.scales:size(0) == 0 then n.scales = nil end
  if n.scales and is_old_form(n, n.scales.is_constant and n.scales:tolist()) then
    return lib.again(n, { n.X, n.scales }, { mode = n.mode })
  end
  local p = plan(n)
  if not p then g.decline("an image of unknown size") end
  return lib.at_newest(resize_by_dims, g, n, p)
end)

opset:lower("Resize(X, scales) {mode='nearest'}", { below = 10 }, function(g, n)
  local scales = n.scales.is_constant and n.scales:tolist() or {}
  local smaller = #scales == 0
  for _, s in ipairs(scales) do smaller = smaller or s < 1 end
  if not smaller then return g.Upsample(n.X, n.scales, { mode = n.mode }) end
  local p = plan(n) or g.decline("an image of unknown size, or scales that are computed at run time")
  for _, name in ipairs { "antialias", "exclude_outside" } do n[name] = 0 end
  n.coordinate_transformation_mode, n.nearest_mode = "asymmetric", "floor"
  return lib.at_newest(resize_by_dims, g, n, p)
end)

-- ---- GridSample, AffineGrid ----

local OLD_MODES = { linear = "bilinear", cubic = "bicubic" }

opset:lower("GridSample(X, grid) {align_corners=0, mode='linear', padding_mode='zeros'}", { below = 20 }, function(g, n)
  if lib.rank(n.X) ~= 4 then g.decline("volumes") end
  return lib.again(n, nil, lib.attrs(n, { mode = OLD_MODES[n.mode] or n.mode }))
end)

-- A normalised coordinate in elements of a dim of a size (0-d, of the coordinate's dtype).
local function in_elements(g, x, size, align_corners)
  local one = g.scalar(1, x)
  if align_corners == 1 then return g.Mul(g.Add(x, one) * 0.5, g.Sub(size, one)) end
  return g.Sub(g.Mul(g.Add(x, one), size), one) * 0.5
end

local function clamped(g, x, size)
  return g.Min(g.Max(x, g.scalar(0, x)), g.Sub(size, g.scalar(1, x)))
end

-- Back and forth between the borders: the corners' centres, or their outer edges.
local function reflected(g, x, size, align_corners)
  local low = g.scalar(align_corners == 1 and 0 or -0.5, x)
  local span = align_corners == 1 and g.Sub(size, g.scalar(1, x)) or size
  local away = g.Abs(g.Sub(x, low))
  local safe = g.Max(span, g.scalar(1e-6, x))
  local turns = g.Floor(g.Div(away, safe))
  local rest = g.Sub(away, g.Mul(turns, safe))
  local odd = g.Greater(g.Sub(turns * 0.5, g.Floor(turns * 0.5)), g.scalar(0.25, x))
  return clamped(g, g.Add(g.Where(odd, g.Sub(span, rest), rest), low), size)
end

-- The elements at whole coordinates (of shape [batch, 1, places]), 0 where they lie outside.
local function picked(g, flat, x, y, width, height)
  local function inside(v, size) return g.And(g.Not(g.Less(v, g.scalar(0, v))), g.Less(v, size)) end
  local within = g.And(inside(x, width), inside(y, height))
  local at = g.Add(g.Mul(clamped(g, y, height), width), clamped(g, x, width)):to("int64")
  local shape = g.Concat(g.Shape(flat, { start = 0, ["end"] = 2 }), g.Shape(at, { start = 2 }), { axis = 0 })
  return g.Where(within, g.GatherElements(flat, g.Expand(at, shape), { axis = 2 }), g.scalar(0, flat))
end

opset:express("GridSample(X, grid) {align_corners=0, mode='bilinear', padding_mode='zeros'}", { below = 16 },
  function(g, n)
    if lib.rank(n.X) ~= 4 or n.mode == "bicubic" or n.mode == "cubic" then g.decline("the mode %s", n.mode) end
    local wide = n.X.dtype == "float64" and "float64" or "float32"
    local x = n.X:to(wide)
    local flat = g.Reshape(x, g.const { 0, 0, -1 })
    local function size_of(d) return g.Gather(g.Shape(x), g.scalar(d, "int64")):to(wide) end
    local width, height = size_of(3), size_of(2)
    local function coordinate(i, size)
      local v = g.Gather(n.grid:to(wide), g.scalar(i, "int64"), { axis = 3 })
      v = in_elements(g, g.Unsqueeze(g.Flatten(v, { axis = 1 }), g.const { 1 }), size, n.align_corners)
      if n.padding_mode == "border" then return clamped(g, v, size) end
      return n.padding_mode == "reflection" and reflected(g, v, size, n.align_corners) or v
    end
    local u, v, y = coordinate(0, width), coordinate(1, height), nil
    if n.mode == "nearest" then
      y = picked(g, flat, g.Round(u), g.Round(v), width, height)
    else
      local left, top, one = g.Floor(u), g.Floor(v), g.scalar(1, wide)
      for i = 0, 3 do
        local right, bottom = i % 2 == 1, i // 2 == 1
        local a, b = right and g.Add(left, one) or left, bottom and g.Add(top, one) or top
        local weight = g.Mul(g.Sub(one, g.Abs(g.Sub(u, a))), g.Sub(one, g.Abs(g.Sub(v, b))))
        local part = g.Mul(picked(g, flat, a, b, width, height), weight)
        y = y and g.Add(y, part) or part
      end
    end
    local outer, places = g.Shape(x, { start = 0, ["end"] = 2 }), g.Shape(n.grid, { start = 1, ["end"] = 3 })
    return g.Reshape(y, g.Concat(outer, places, { axis = 0 })):to(n.X.dtype)
  end)

-- Evenly spaced from -1 to 1 over a size (a value of shape [1]); without align_corners they are centres of the cells.
local function spaced(g, size, align_corners)
  local i = g.Range(g.scalar(0, "int64"), g.Squeeze(size, g.ints { 0 }), g.scalar(1, "int64")):to("float32")
  local count = size:to("float32")
  if align_corners == 1 then
    local last = g.Max(g.Sub(count, g.const { 1.0 }), g.const { 1.0 })
    local x = g.Sub(g.Div(i * 2.0, last), g.const { 1.0 })
    return g.Where(g.Greater(count, g.const { 1.0 }), x, g.const { 0.0 })
  end
  return g.Sub(g.Div(i * 2.0 + 1.0, count), g.const { 1.0 })
end

opset:express("AffineGrid(theta, size) {align_corners=0}", { below = 20 }, function(g, n)
  local spatial = lib.rank(n.outputs[1]) - 2
  return lib.widened(n.theta, function(theta)
    local axes, sizes = {}, {}
    for d = 1, spatial do sizes[d] = g.Gather(n.size, g.const { d + 1 }) end
    local shape = util.copy(sizes)
    shape[spatial + 1] = g.ints { 1 }
    shape[spatial + 2] = { axis = 0 }
    local full = g.Concat(table.unpack(shape))
    -- the last dim of the grid is x, then y, then z
    for d = spatial, 1, -1 do
      local x = spaced(g, sizes[d], n.align_corners):to(theta.dtype)
      axes[#axes + 1] = g.Expand(g.Unsqueeze(x, g.ints(util.range(1, spatial - d + 1))), full)
    end
    axes[spatial + 1] = g.Expand(g.scalar(1, theta), full)
    axes[spatial + 2] = { axis = spatial }
    local points = g.Reshape(g.Concat(table.unpack(axes)), g.const { 1, -1, spatial + 1 })
    local grid = g.MatMul(points, g.Transpose(theta, { perm = { 0, 2, 1 } }))
    sizes[spatial + 1] = g.ints { spatial }
    table.insert(sizes, 1, g.Shape(theta, { start = 0, ["end"] = 1 }))
    sizes[spatial + 3] = { axis = 0 }
    return g.Reshape(grid, g.Concat(table.unpack(sizes)))
  end)
end)

-- ---- pooling ----

local function all_are(list, x)
  for _, y in ipairs(list or {}) do
    if x ~= y then return false end
  end
  return true
end

-- Attributes of later versions that say what the older one does anyway.
local function drop_defaults(names, below, op)
  opset:lower(op .. "()", { below = below }, function(_, n)
    local attrs, changed = {}, false
    for name, value in pairs(n.attrs) do
      local default = names[name]
      local plain = default ~= nil and all_are(type(value) == "table" and value or { value }, default)
      if plain then changed = true else attrs[name] = value end
    end
    if changed then return lib.again(n, nil, attrs) end
  end)
end

drop_defaults({ dilations = 1 }, 19, "AveragePool")
drop_defaults({ dilations = 1, ceil_mode = 0 }, 18, "LpPool")
drop_defaults({ ceil_mode = 0 }, 10, "AveragePool")

opset:lower("RoiAlign(X, rois, batch_indices) {coordinate_transformation_mode='half_pixel'}", { below = 16 },
  function(g, n)
    if n.coordinate_transformation_mode ~= "output_half_pixel" then g.decline("the coordinates half_pixel") end
    return lib.again(n, nil, lib.attrs(n, { coordinate_transformation_mode = false }))
  end)

opset:lower("MaxPool(X)", { below = 12 }, function(g, n)
  if n.X.dtype == "int8" or n.X.dtype == "uint8" then return lib.computed_in(g, n, "float32") end
end)

-- A last window that hangs over the edge is one that reaches into more padding.
opset:lower("MaxPool(X) {kernel_shape, strides, pads, dilations, ceil_mode=0}", { below = 10 }, function(g, n)
  if not all_are(n.dilations, 1) then g.decline("dilations") end
  local attrs = lib.attrs(n, { dilations = false, ceil_mode = false })
  if n.ceil_mode == 0 then return lib.again(n, nil, attrs) end
  local rank = #n.kernel_shape
  local strides, pads = n.strides or util.fill(1, rank), util.copy(n.pads or util.fill(0, 2 * rank))
  for i = 1, rank do
    local size = n.X:size(i + 1)
    if not util.is_static(size) then g.decline("ceil_mode, and an image of unknown size") end
    local windows = n.outputs[1]:size(i + 1)
    local reach = (windows - 1) * strides[i] + n.kernel_shape[i]
    pads[i + rank] = math.max(pads[i + rank], reach - size - pads[i])
  end
  attrs.pads = pads
  return lib.again(n, nil, attrs)
end)
