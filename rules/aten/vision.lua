-- rules/aten/vision.lua: channels to pixels and back, sampling by a grid, windows as columns.

local aten = require("t2o.rules").namespace("aten")
local types = require("t2o.types")
local util = require("t2o.util")

-- ---- pixels and channels ----

-- x reshaped to `parts` behind its outer dims, transposed there, and reshaped to `dims`; perm counts from
-- the first part.
local function regroup(g, x, parts, perm, dims)
  local outer = { table.unpack(x.shape, 1, x.rank - 3) }
  local function behind(list) return table.move(list, 1, #list, #outer + 1, util.copy(outer)) end
  local order = util.range(0, #outer - 1)
  for i, p in ipairs(perm) do order[#outer + i] = #outer + p end
  return g.reshape(g.Transpose(g.reshape(x, behind(parts)), { perm = order }), behind(dims))
end

aten:rule("pixel_shuffle(Tensor self, int upscale_factor) -> Tensor", function(g, a)
  local x, r = a.self, a.upscale_factor
  if x.rank == 4 and types.is_float(x.dtype) then return g.DepthToSpace(x, { blocksize = r, mode = "CRD" }) end
  local c, h, w = x:size(-3) // (r * r), x:size(-2), x:size(-1)
  return regroup(g, x, { c, r, r, h, w }, { 0, 3, 1, 4, 2 }, { c, h * r, w * r })
end)

aten:rule("pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor", function(g, a)
  local x, r = a.self, a.downscale_factor
  local c, h, w = x:size(-3), x:size(-2) // r, x:size(-1) // r
  return regroup(g, x, { c, h, r, w, r }, { 0, 2, 4, 1, 3 }, { c * (r * r), h, w })
end)

local function channel_shuffle(g, a)
  local x, groups = a.self, a.groups
  local inner = { table.unpack(x.shape, 3) }
  local parts = { x:size(0), groups, x:size(1) // groups, table.unpack(inner) }
  local perm = { 0, 2, 1, table.unpack(util.range(3, #parts - 1)) }
  return g.reshape(g.Transpose(g.reshape(x, parts), { perm = perm }), x.shape)
end

aten:rule("channel_shuffle(Tensor self, SymInt groups) -> Tensor", channel_shuffle)
aten:rule("native_channel_shuffle(Tensor self, SymInt groups) -> Tensor", channel_shuffle)

-- ---- grids ----

local INTERPOLATION = { [0] = "linear", "nearest", "cubic" }
local PADDING = { [0] = "zeros", "border", "reflection" }

-- Volumes, before ONNX samples them itself. Where grid points to along an axis of this size, in elements.
local function coordinate(g, grid, k, size, padding, align)
  local u = g.Squeeze(g.Slice(grid, g.ints { k }, g.ints { k + 1 }, g.ints { 4 }), g.ints { 4 })
  local s, last = g.scalar(size, u.dtype), g.scalar(size - 1, u.dtype)
  u = align and (u + 1.0) * 0.5 * last or ((u + 1.0) * s - 1.0) * 0.5
  if padding == 0 then return u end
  if padding == 2 then
    -- there and back again: what is left of two spans, mirrored in their middle
    local low = align and 0.0 or -0.5
    local span = g.Max(align and last or s, g.scalar(1.0, u.dtype))
    local away = g.Mod(g.Abs(u - low), span * 2.0, { fmod = 1 })
    u = g.Min(away, span * 2.0 - away) + low
  end
  return g.Min(g.Max(u, g.scalar(0.0, u.dtype)), last)
end

-- The one or two elements next to a coordinate: { index, weight }, the weight nil for the only one.
local function neighbours(g, u, mode)
  if mode == 1 then return { { g.Round(u) } } end
  local low = g.Floor(u)
  local t = u - low
  return { { low, 1.0 - t }, { low + 1.0, t } }
end

local function times(p, q) return p and q and p * q or p or q end

-- Calls use with every choice of a neighbour in each axis: its flat index, weight, and whether it lies in the volume.
local function each_corner(g, around, sizes, use, i, flat, weight, inside)
  i = i or 1
  if i > #sizes then return use(flat, weight, inside) end
  for _, near in ipairs(around[i]) do
    local last = g.scalar(sizes[i] - 1, near[1].dtype)
    local at = g.Min(g.Max(near[1], g.scalar(0.0, last.dtype)), last)
    local index, within = at:to("int64"), g.Equal(at, near[1])
    each_corner(g, around, sizes, use, i + 1, flat and flat * g.scalar(sizes[i], "int64") + index or index,
                times(weight, near[2]), inside and g.And(inside, within) or within)
  end
end

local function sample_volume(g, x, grid, mode, padding, align)
  local n, c, sizes, around = x:size(0), x:size(1), { table.unpack(x.shape, 3) }, {}
  for i = 1, 3 do around[i] = neighbours(g, coordinate(g, grid, 3 - i, sizes[i], padding, align), mode) end
  local points = util.product(grid.shape, 2, 4)
  local volume, sum = g.reshape(x, { n, c, util.product(sizes) }), nil
  local function row(v) return g.reshape(v, { n, 1, points }) end
  each_corner(g, around, sizes, function(flat, weight, inside)
    local y = g.GatherElements(volume, g.expand(row(flat), { n, c, points }), { axis = 2 })
    if weight then y = y * row(weight) end
    y = g.Where(row(inside), y, g.scalar(0.0, y.dtype))
    sum = sum and sum + y or y
  end)
  return g.reshape(sum, { n, c, grid:size(1), grid:size(2), grid:size(3) })
end

-- Half the sizes of the axes that the grid's last dim speaks of, the last axis first; as PyTorch has them in 16 bits.
local function half_sizes(g, a)
  local x, less, list, dtype = a.input, a.align_corners and 1 or 0, {}, a.grid.dtype
  for i = x.rank, 3, -1 do list[#list + 1] = x:size(i - 1) - less end
  if not util.all_static(list) then return (g.ints(list):to("float32") * 0.5):to(dtype):to("float32") end
  for i, size in ipairs(list) do list[i] = size / 2 end
  return g.const(list, dtype):to("float32")
end

-- Coordinates mirrored at both ends of their axes, each step rounded.
local function mirrored(g, u, scale, a, round)
  local low, span = a.align_corners and 0.0 or -0.5, g.Max(scale * 4.0, g.scalar(1.0, scale))
  local away = g.Abs(round(u - low))
  local rest = round(away - round(g.Floor(round(away / span)) * span))
  u = round(g.Min(rest, round(span - rest)) + low)
  return g.Min(g.Max(u, g.scalar(0.0, u)), a.align_corners and scale * 2.0 or scale * 2.0 - 1.0)
end

-- A grid of 16-bit floats as float32. PyTorch rounds on the way to the coordinates, by up to an element: these steps
-- are done, and undone without rounding.
local function rounded_grid(g, a, reflect)
  local scale = half_sizes(g, a)
  local function round(v) return v:to(a.grid.dtype):to("float32") end
  local u = round(round(a.grid:to("float32") + 1.0) * scale)
  if not a.align_corners then u = round(u - 0.5) end
  if reflect then u = mirrored(g, u, scale, a, round) end
  if a.interpolation_mode == 1 then u = g.Round(u) end
  if not a.align_corners then return (u + 0.5) / scale - 1.0 end
  return u / g.Max(scale, g.scalar(0.5, scale)) - 1.0
end

local function grid_sampler(g, a)
  local x, grid, padding = a.input, a.grid, a.padding_mode
  if x.rank == 5 and a.interpolation_mode == 2 then g.decline("cubic sampling of volumes") end
  if util.is_half(grid.dtype) then
    local reflect = padding == 2 and a.interpolation_mode ~= 2
    x, grid, padding = x:to("float32"), rounded_grid(g, a, reflect), reflect and 1 or padding
  end
  if x.rank == 5 and g.opset < 20 then
    return sample_volume(g, x, grid, a.interpolation_mode, padding, a.align_corners):to(a.input.dtype)
  end
  local y = g.GridSample(x, grid, { mode = INTERPOLATION[a.interpolation_mode], padding_mode = PADDING[padding],
                                    align_corners = a.align_corners })
  return y:to(a.input.dtype)
end

for _, name in ipairs { "grid_sampler", "grid_sampler_2d", "grid_sampler_3d" } do
  aten:rule(name .. "(Tensor input, Tensor grid, int interpolation_mode, int padding_mode, "
            .. "bool align_corners) -> Tensor", grid_sampler)
end

aten:rule("affine_grid_generator(Tensor theta, SymInt[] size, bool align_corners) -> Tensor", function(g, a)
  return g.AffineGrid(a.theta, g.ints(a.size), { align_corners = a.align_corners })
end)

-- ---- windows as columns ----

aten:rule("im2col(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> Tensor",
  function(g, a)
    local x, pads, outer = a.self, util.fill(0, 2 * a.self.rank), { table.unpack(a.self.shape, 1, a.self.rank - 3) }
    local channels, at, first = x:size(-3), {}, x.rank - 2
    for i = 1, 2 do
      local kernel, p = a.kernel_size[i], a.padding[i]
      local room = x:size(first + i - 1) + 2 * p - a.dilation[i] * (kernel - 1) - 1
      at[i] = util.window_positions(g, room // a.stride[i] + 1, kernel, a.stride[i], a.dilation[i])
      pads[first + i], pads[x.rank + first + i] = p, p
    end
    if not util.same_shape(a.padding, { 0, 0 }) then x = g.Pad(x, g.ints(pads)) end
    x = g.Gather(g.Gather(x, at[2], { axis = first + 1 }), at[1], { axis = first })
    local shape = table.move({ channels * a.kernel_size[1] * a.kernel_size[2], at[1]:size(0) * at[2]:size(0) }, 1, 2,
                             #outer + 1, outer)
    local perm = util.range(0, first - 1)
    for i, p in ipairs { 1, 3, 0, 2 } do perm[first + i] = first + p end
    return g.reshape(g.Transpose(x, { perm = perm }), shape)
  end)

aten:rule("col2im(Tensor self, SymInt[2] output_size, int[2] kernel_size, int[2] dilation, int[2] padding, "
          .. "int[2] stride) -> Tensor",
  function(g, a)
    local x, p = a.self, a.padding
    if x.rank == 2 then x = g.Unsqueeze(x, g.ints { 0 }) end
    local y = g.Col2Im(x, g.ints(a.output_size), g.ints(a.kernel_size),
                       { dilations = a.dilation, pads = { p[1], p[2], p[1], p[2] }, strides = a.stride })
    return a.self.rank == 2 and g.Squeeze(y, g.ints { 0 }) or y
  end)
