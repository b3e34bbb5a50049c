-- rules/aten/fft.lua: Fourier transforms with real results of real input, frequencies, shifts.
--
-- ONNX has no complex operators, so a transform with a complex result has no rule.

local aten = require("t2o.rules").namespace("aten")
local util = require("t2o.util")

local FACTORY = ", *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
  .. "bool? pin_memory=None) -> Tensor"

-- ---- frequencies and shifts ----

local function frequencies(numbers)
  return function(g, a, n)
    local out = {}
    for i, k in ipairs(numbers(a.n)) do out[i] = k / (a.d * a.n) end
    return g.const(out, n.outputs[1].dtype)
  end
end

aten:rule("fft_fftfreq(int n, float d=1." .. FACTORY, frequencies(function(n)
  local list = util.range(0, (n - 1) // 2)
  for k = -(n // 2), -1 do list[#list + 1] = k end
  return list
end))
aten:rule("fft_rfftfreq(int n, float d=1." .. FACTORY, frequencies(function(n)
  return util.range(0, n // 2)
end))

-- Cuts each dim in two and swaps the parts.
local function shift(g, x, dims, size_of_first)
  for _, d in ipairs(util.dims(dims, x.rank)) do
    local first = size_of_first(x:size(d))
    local parts = g.Split(x, g.ints { first, x:size(d) - first }, { axis = d, outputs = 2 })
    x = g.Concat(parts[2], parts[1], { axis = d })
  end
  return x
end

aten:rule("fft_fftshift(Tensor self, int[1]? dim=None) -> Tensor", function(g, a)
  return shift(g, a.self, a.dim, function(n) return n - n // 2 end)
end)
aten:rule("fft_ifftshift(Tensor self, int[1]? dim=None) -> Tensor", function(g, a)
  return shift(g, a.self, a.dim, function(n) return n // 2 end)
end)

-- ---- real results ----

-- rows x columns of weight(k) * fn(2 pi k j / period): a transform as a matrix.
local function waves(g, fn, rows, columns, period, weight, dtype)
  if rows * columns > 1 << 22 then g.decline("a transform of %d points as a matrix", period) end
  local out = {}
  for k = 0, rows - 1 do
    local line = {}
    for j = 0, columns - 1 do
      line[j + 1] = weight(k) * fn(2 * math.pi * ((k * j) % period) / period)
    end
    out[k + 1] = line
  end
  return g.const(out, dtype)
end

-- x, of which the first rows along a dim count, times a matrix along it.
local function along(g, x, d, matrix, rows)
  local from, back = util.to_last(x.rank, d)
  local last = d == x.rank - 1
  if rows < x:size(d) then x = g.Slice(x, g.ints { 0 }, g.ints { rows }, g.ints { d }) end
  if last then return g.MatMul(x, matrix) end
  return g.Transpose(g.MatMul(g.Transpose(x, { perm = from }), matrix), { perm = back })
end

local function one() return 1 end

-- Real x to n complex points along d.
local function to_complex(g, re, im, d, n)
  local rows = math.min(re:size(d), n)
  local cos = waves(g, math.cos, rows, n, n, one, re.dtype)
  local sin = waves(g, math.sin, rows, n, n, one, re.dtype)
  local a, b = along(g, re, d, cos, rows), along(g, re, d, sin, rows)
  if not im then return a, b end
  return g.Sub(a, along(g, im, d, sin, rows)), g.Add(b, along(g, im, d, cos, rows))
end

-- Half of a spectrum that is symmetric to n real points: all but the ends count twice.
local function to_real(g, re, im, d, n)
  local rows = math.min(re:size(d), n // 2 + 1)
  local function weight(k) return (k == 0 or 2 * k == n) and 1 or 2 end
  local y = along(g, re, d, waves(g, math.cos, rows, n, n, weight, re.dtype), rows)
  if not im then return y end
  return g.Sub(y, along(g, im, d, waves(g, math.sin, rows, n, n, weight, im.dtype), rows))
end

-- The dims to transform and the sizes of the result along them.
local function plan(g, x, sizes, dims)
  if not dims then
    local count = sizes and #sizes or x.rank
    dims = util.range(x.rank - count, x.rank - 1)
  end
  local where, points = {}, {}
  for i, d in ipairs(dims) do
    where[i] = util.dim(d, x.rank)
    local size = x:size(where[i])
    points[i] = sizes and sizes[i] ~= -1 and sizes[i] or (i == #dims and 2 * (size - 1) or size)
    if not (util.is_static(points[i]) and util.is_static(size)) then
      g.decline("a transform of dynamic size")
    end
  end
  return where, points
end

local function complex_to_real(g, a, n, scale_by)
  local x = a.self:to(n.outputs[1].dtype)
  local sizes, dims = a.s, a.dim
  if a.n then sizes = { a.n } end
  if type(dims) == "number" then dims = { dims } end
  local where, points = plan(g, x, sizes, dims)
  local im
  for i = 1, #where - 1 do x, im = to_complex(g, x, im, where[i], points[i]) end
  local y = to_real(g, x, im, where[#where], points[#where])
  return y * scale_by(util.product(points), a.norm or "backward")
end

-- The inverse transforms divide by the number of points unless `norm` says otherwise; hfft goes the
-- other way, and for real input differs in nothing else.
local function inverse(points, norm)
  return norm == "backward" and 1 / points or norm == "ortho" and 1 / math.sqrt(points) or 1.0
end
local function forward(points, norm)
  return norm == "forward" and 1 / points or norm == "ortho" and 1 / math.sqrt(points) or 1.0
end

for name, scale_by in pairs { irfft = inverse, hfft = forward } do
  local function rule(g, a, n) return complex_to_real(g, a, n, scale_by) end
  local op = "fft_" .. name
  aten:rule(op .. "(Tensor self, SymInt? n=None, int dim=-1, str? norm=None) -> Tensor", rule)
  aten:rule(op .. "2(Tensor self, SymInt[1]? s=None, int[1] dim=[-2, -1], str? norm=None) "
            .. "-> Tensor", rule)
  aten:rule(op .. "n(Tensor self, SymInt[1]? s=None, int[1]? dim=None, str? norm=None) "
            .. "-> Tensor", rule)
end
