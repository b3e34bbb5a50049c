-- rules/aten/spectrum.lua: Fourier transforms with complex numbers on one side or both.
--
-- Transforms of a known length that is no power of two are products with a matrix: ONNX Runtime's DFT is slow and
-- inexact there. What cannot be a matrix is computed by DFT in double precision.

local aten = require("t2o.rules").namespace("aten")
local complex = require("t2o.complex")
local types = require("t2o.types")
local util = require("t2o.util")

local LARGEST_MATRIX = 1 << 21 -- elements
local ANY = { complex = "both" } -- numbers

local function rule(schema, fn) aten:rule(schema, { complex = true }, fn) end

local function is_power_of_two(n) return math.type(n) == "integer" and n > 0 and n & (n - 1) == 0 end

-- ---- along the last dimension before the parts ----

-- The matrix from `rows` points (of `from` parts) to `columns` frequencies (of `to` parts), the parts of a point side
-- by side: multiplied with x + iy, the wave cos + i*sin gives (x*cos - y*sin) + i*(x*sin + y*cos).
local function matrix(g, rows, columns, t, dtype)
  local out = {}
  for k = 0, rows - 1 do
    local lines = { {}, t.from == 2 and {} or nil }
    local weight = t.weight and t.weight(k) * t.scale or t.scale
    for j = 0, columns - 1 do
      local angle = t.sign * 2 * math.pi * ((k * j) % t.points) / t.points
      local cos, sin, at = weight * math.cos(angle), weight * math.sin(angle), j * t.to
      lines[1][at + 1] = cos
      if t.to == 2 then lines[1][at + 2] = sin end
      if t.from == 2 then
        lines[2][at + 1] = -sin
        if t.to == 2 then lines[2][at + 2] = cos end
      end
    end
    for _, line in ipairs(lines) do out[#out + 1] = line end
  end
  return g.const(out, dtype)
end

-- x, of rows points of t.from parts (without a dimension for them where that is 1), to columns points of t.to parts.
local function by_matrix(g, x, rows, columns, t)
  local dims = { table.unpack(x.shape, 1, x.rank - (t.from == 2 and 2 or 1)) }
  local flat = util.copy(dims)
  flat[#flat + 1] = rows * t.from
  local y = g.MatMul(g.reshape(x, flat), matrix(g, rows, columns, t, x.dtype))
  dims[#dims + 1] = columns
  if t.to == 2 then dims[#dims + 1] = 2 end
  return g.reshape(y, dims)
end

local function fits(rows, columns, t)
  return util.all_static { rows, columns } and rows > 0 and columns > 0
    and rows * columns * t.from * t.to <= LARGEST_MATRIX
end

local function cut(g, x, axis, count)
  return g.Slice(x, g.ints { 0 }, g.ints { count }, g.ints { axis })
end

-- fn on values in a precision in which DFT is exact enough for this number of points.
local function precisely(x, points, fn)
  if is_power_of_two(points) or x.dtype == "float64" then return fn(x) end
  return fn(x:to("float64")):to(x.dtype)
end

local function scaled(g, x, scale)
  if scale == 1 then return x end
  return g.Mul(x, type(scale) == "number" and g.scalar(scale, x) or scale:to(x.dtype))
end

-- The DFT of points along the last dimension but one of pairs. The inverse is that of conjugates: ONNX Runtime's own is
-- inexact in double precision.
local function dft(g, z, points, sign, onesided)
  local length = not util.equal(z:size(-2), points) and g.scalar(points, "int64") or nil
  if sign > 0 and z:size(-1) == 2 then z = complex.conj(z) end
  local y = g.DFT(z, length, g.scalar(z.rank - 2, "int64"), { onesided = onesided and 1 or 0 })
  return sign > 0 and complex.conj(y) or y
end

-- Points along the last dimension (before the parts) of x, which is real or complex, to `points` frequencies, or to the
-- first half of them.
local function forward(g, x, points, sign, scale, onesided)
  local from = x.is_complex and 2 or 1
  local axis = x.rank - from
  local have = x:size(axis)
  local columns = onesided and points // 2 + 1 or points
  if util.is_static(have) and util.is_static(points) and have > points then
    x, have = cut(g, x, axis, points), points
    if from == 2 then complex.mark(x) end
  end
  local t = { from = from, to = 2, sign = sign, points = points, scale = scale }
  if not is_power_of_two(points) and type(scale) == "number" and fits(have, columns, t) then
    return complex.mark(by_matrix(g, x, have, columns, t))
  end
  local z = from == 2 and x or g.Unsqueeze(x, g.ints { x.rank })
  local y = precisely(z, points, function(v) return dft(g, v, points, sign, onesided) end)
  return complex.mark(scaled(g, y, scale))
end

-- The first half of a spectrum whose other half is its conjugate, to real points.
local function back(g, z, points, sign, scale)
  local from = z.is_complex and 2 or 1
  local axis = z.rank - from
  local have = z:size(axis)
  local half = points // 2 + 1
  if util.is_static(have) and util.is_static(half) and have > half then z, have = cut(g, z, axis, half), half end
  -- all but the ends count twice
  local function weight(k) return (k == 0 or 2 * k == points) and 1 or 2 end
  local t = { from = from, to = 1, sign = sign, points = points, scale = scale, weight = weight }
  if type(scale) == "number" and fits(have, points, t) then return by_matrix(g, z, have, points, t) end
  if not util.equal(have, half) then
    g.decline("half a spectrum of %s points for %s", tostring(have), tostring(points))
  end
  if from == 1 then z = complex.pair(z, z.dtype) end
  local first, last = (points - 1) // 2, g.ints { 0 }
  local rest = g.Slice(z, g.ints { first }, last, g.ints { axis }, g.ints { -1 })
  local whole = g.Concat(z, complex.conj(rest), { axis = axis })
  local y = precisely(whole, points, function(v)
    return g.Gather(dft(g, v, points, sign), g.scalar(0, "int64"), { axis = z.rank - 1 })
  end)
  return scaled(g, y, scale)
end

-- fn on x with a dim (of those without the parts) brought to the end.
local function at_end(g, x, dim, fn)
  local rank = x.is_complex and x.rank - 1 or x.rank
  local to, from = util.to_last(rank, dim)
  if dim == rank - 1 then return fn(x) end
  local function order(v, perm)
    local list = util.copy(perm)
    if v.is_complex then list[#list + 1] = rank end
    local y = g.Transpose(v, { perm = list })
    return v.is_complex and complex.mark(y) or y
  end
  return order(fn(order(x, to)), from)
end

-- ---- several dimensions ----

local function whole_rank(x) return x.is_complex and x.rank - 1 or x.rank end

-- p: dims (counted from 0) and points for each, sign, scale, kind: "complex", "half" (of the result, real input) or
-- "real" (result).
local function transform(g, x, p)
  local last = #p.dims
  if p.kind == "half" then
    x = at_end(g, x, p.dims[last], function(v) return forward(g, v, p.points[last], p.sign, p.scale, true) end)
  end
  for i = last - (p.kind == "complex" and 0 or 1), 1, -1 do
    local scale = p.kind == "complex" and i == last and p.scale or 1
    x = at_end(g, x, p.dims[i], function(v) return forward(g, v, p.points[i], p.sign, scale) end)
  end
  if p.kind ~= "real" then return x end
  return at_end(g, x, p.dims[last], function(v) return back(g, v, p.points[last], p.sign, p.scale) end)
end

-- What a norm ("backward", "ortho", "forward") makes of so many points on a way (forward or not).
local function scale_of(g, points, norm, is_forward)
  local count = util.product(points)
  if norm == "ortho" then
    if util.is_static(count) then return 1 / math.sqrt(count) end
    return g.Reciprocal(g.Sqrt(g.scalar(count, "float64")))
  end
  if (norm == "forward") ~= is_forward then return 1 end
  if util.is_static(count) then return 1 / count end
  return g.Reciprocal(g.scalar(count, "float64"))
end

-- The dims and points of a call with n and dim, or s and dim.
local function plan(x, a, kind)
  local rank = whole_rank(x)
  local dims, sizes = a.dim, a.s
  if type(dims) == "number" then dims, sizes = { dims }, a.n and { a.n } end
  if not dims then dims = util.range(rank - (sizes and #sizes or rank), rank - 1) end
  local out, points = {}, {}
  for i, d in ipairs(dims) do
    out[i] = util.dim(d, rank)
    local size = x.shape[out[i] + 1]
    if kind == "real" and i == #dims then size = 2 * (size - 1) end
    points[i] = sizes and sizes[i] ~= -1 and sizes[i] or size
  end
  return out, points
end

local function input(a, n)
  local dtype = complex.dtype_of(n)
  return a.self.is_complex and complex.pair(a.self, dtype) or a.self:to(dtype)
end

local function spectral(kind, is_forward)
  return function(g, a, n)
    local x = input(a, n)
    local dims, points = plan(x, a, kind)
    if #dims == 0 then return x.is_complex and x or complex.pair(x, x.dtype) end
    local sign = is_forward and -1 or 1
    local scale = scale_of(g, points, a.norm or "backward", is_forward)
    return transform(g, x, { dims = dims, points = points, sign = sign, scale = scale, kind = kind })
  end
end

for name, fn in pairs {
  ["fft_fft"] = spectral("complex", true), ["fft_ifft"] = spectral("complex", false),
  ["fft_rfft"] = spectral("half", true), ["fft_irfft"] = spectral("real", false),
  ["fft_hfft"] = spectral("real", true), ["fft_ihfft"] = spectral("half", false),
} do
  aten:rule(name .. "(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor", ANY, fn)
  aten:rule(name .. "2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) -> Tensor", ANY, fn)
  aten:rule(name .. "n(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) -> Tensor", ANY, fn)
end

-- ---- what the transforms are made of after decomposition ----

local NORMS = { [0] = function() return 1 end, function(n) return 1 / math.sqrt(n) end, function(n) return 1 / n end }

local function plain_scale(g, points, norm)
  local count = util.product(points)
  if util.is_static(count) then return NORMS[norm](count) end
  return norm == 0 and 1 or scale_of(g, points, norm == 1 and "ortho" or "forward", true)
end

local function decomposed(kind, sign_of)
  return function(g, a, n)
    local x = input(a, n)
    local dims, points = {}, {}
    for i, d in ipairs(a.dim) do
      dims[i] = util.dim(d, whole_rank(x))
      points[i] = x.shape[dims[i] + 1]
    end
    if a.last_dim_size then points[#points] = a.last_dim_size end
    if #dims == 0 then return complex.pair(x, x.dtype) end
    local form = kind
    if kind == "half" and not a.onesided then form = "complex" end
    return transform(g, x, { dims = dims, points = points, sign = sign_of(a), kind = form,
                             scale = plain_scale(g, points, a.normalization) })
  end
end

rule("_fft_r2c(Tensor self, int[] dim, int normalization, bool onesided) -> Tensor",
     decomposed("half", function() return -1 end))
rule("_fft_c2r(Tensor self, int[] dim, int normalization, SymInt last_dim_size) -> Tensor",
     decomposed("real", function() return 1 end))
rule("_fft_c2c(Tensor self, SymInt[] dim, int normalization, bool forward) -> Tensor",
     decomposed("complex", function(a) return a.forward and -1 or 1 end))

-- ---- short-time transforms ----

-- A window in the middle of n_fft points; nil where it is of ones.
local function full_window(g, a, dtype)
  local length = a.win_length or a.n_fft
  local w = a.window and a.window:to(dtype)
  if not w and length == a.n_fft then return nil end
  w = w or g.full({ length }, 1, dtype)
  local left = (a.n_fft - length) // 2
  if length == a.n_fft then return w end
  return g.Pad(w, g.ints { left, a.n_fft - length - left })
end

-- The rows of a matrix of waves as the weights of a convolution: [bins * parts, 1, points].
local function filters(g, points, bins, sign, weight, dtype)
  local out = {}
  for k = 0, bins - 1 do
    local cos, sin = {}, {}
    for j = 0, points - 1 do
      local angle = 2 * math.pi * ((k * j) % points) / points
      cos[j + 1], sin[j + 1] = weight(k) * math.cos(angle), sign * weight(k) * math.sin(angle)
    end
    out[#out + 1], out[#out + 2] = { cos }, { sin }
  end
  return g.const(out, dtype)
end

-- x: [batch, samples]. A convolution with waves under the window.
local function stft(g, a, x)
  local points, hop = a.n_fft, a.hop_length or a.n_fft // 4
  local dtype, onesided = x.dtype, a.onesided ~= false
  local bins = onesided and points // 2 + 1 or points
  if bins * points * 2 > LARGEST_MATRIX * 2 then g.decline("a window of %d points", points) end
  local scale = a.normalized and 1 / math.sqrt(points) or 1
  local w = filters(g, points, bins, -1, function() return scale end, dtype)
  local window = full_window(g, a, dtype)
  if window then w = g.Mul(w, window) end
  local y = g.Conv(g.Unsqueeze(x, g.ints { 1 }), w, nil, { strides = { hop }, kernel_shape = { points } })
  local frames = y:size(2)
  y = g.reshape(y, { x:size(0), bins, 2, frames })
  return g.Transpose(y, { perm = { 0, 1, 3, 2 } })
end

local function analyse(g, a, n)
  local x = a.self
  if x.is_complex then g.decline("a short-time transform of complex samples") end
  if a.align_to_window then g.decline("frames that are aligned to the window") end
  local flat = x.rank == 1
  x = flat and g.Unsqueeze(x, g.ints { 0 }) or x
  if a.center then
    local half = a.n_fft // 2
    x = g.aten.pad(g.Unsqueeze(x, g.ints { 1 }), { half, half }, a.pad_mode)
    x = g.Squeeze(x, g.ints { 1 })
  end
  local y = stft(g, a, x)
  y = flat and g.Squeeze(y, g.ints { 0 }) or y
  return types.is_complex(n.outputs[1].dtype) and complex.mark(y) or y
end

local STFT = "(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, %s"
  .. "bool normalized=False, bool? onesided=None, bool? return_complex=None, bool? align_to_window=None) -> Tensor"

for overload, more in pairs { [""] = "", [".center"] = "bool center=True, str pad_mode=\"reflect\", " } do
  aten:rule("stft" .. overload .. STFT:format(more), ANY, analyse)
end

-- Frames are laid over each other by a transposed convolution, and so is the square of the window, by which the sum is
-- divided.
rule("istft(Tensor self, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, "
     .. "bool center=True, bool normalized=False, bool? onesided=None, int? length=None, "
     .. "bool return_complex=False) -> Tensor",
  function(g, a)
    local z, points, hop = a.self, a.n_fft, a.hop_length or a.n_fft // 4
    if a.return_complex then g.decline("complex samples") end
    local flat, dtype, bins = z.rank == 3, z.dtype, points // 2 + 1
    -- of a whole spectrum PyTorch takes the first half, too
    if not util.equal(z:size(-3), bins) then z = cut(g, z, z.rank - 3, bins) end
    if bins * points * 2 > LARGEST_MATRIX * 2 then g.decline("a window of %d points", points) end
    z = flat and g.Unsqueeze(z, g.ints { 0 }) or z
    local batch, frames = z:size(0), z:size(2)
    local scale = a.normalized and 1 / math.sqrt(points) or 1 / points
    local w = filters(g, points, bins, -1, function(k)
      return (k == 0 or 2 * k == points) and scale or 2 * scale
    end, dtype)
    local window = full_window(g, a, dtype) or g.full({ points }, 1, dtype)
    local x = g.reshape(g.Transpose(z, { perm = { 0, 1, 3, 2 } }), { batch, bins * 2, frames })
    local attrs = { strides = { hop }, kernel_shape = { points } }
    local sum = g.ConvTranspose(x, g.Mul(w, window), nil, attrs)
    local ones = g.expand(g.scalar(1, dtype), { 1, 1, frames })
    local weight = g.ConvTranspose(ones, g.reshape(g.Mul(window, window), { 1, 1, points }), nil, attrs)
    local start = a.center and points // 2 or 0
    local total = (frames - 1) * hop + points
    local stop = a.length and start + a.length or a.center and total - points // 2 or total
    local reach = a.length and util.compare(stop, total)
    if a.length and reach ~= -1 and reach ~= 0 then g.decline("more samples than there are") end
    local function kept(v) return g.Slice(v, g.ints { start }, g.ints { stop }, g.ints { 2 }) end
    local y = g.Squeeze(g.Div(kept(sum), kept(weight)), g.ints { 1 })
    return flat and g.Squeeze(y, g.ints { 0 }) or y
  end)

-- Names that are put together above, for the index of rules (tools/name_hints.py):
-- "fft_fft2" "fft_fftn" "fft_hfft2" "fft_hfftn" "fft_ifft2" "fft_ifftn" "fft_ihfft2" "fft_ihfftn"
-- "fft_irfft2" "fft_irfftn" "fft_rfft2" "fft_rfftn" "stft.center"
