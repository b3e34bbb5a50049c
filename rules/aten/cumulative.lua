-- rules/aten/cumulative.lua: running sums, products and extremes; differences and integrals of samples.

local aten = require("t2o.rules").namespace("aten")
local types = require("t2o.types")
local util = require("t2o.util")

local function is_empty(x) return util.equal(util.product(x.shape), 0) end

-- ---- running sums and products ----

-- ONNX adds up 32 and 64 bits only; of narrower integers the low bits are the same.
local NARROW = { uint8 = "int32", int8 = "int32", int16 = "int32", uint16 = "int32" }

local function running(op)
  return function(g, a)
    local x = a.self
    local dtype = a.dtype or types.is_float(x.dtype) and x.dtype or "int64"
    x = x:to(dtype):to(NARROW[dtype] or dtype)
    if x.rank > 0 and not is_empty(x) then x = g[op](x, g.const(util.dim(a.dim, x.rank), "int64")) end
    return x:to(dtype)
  end
end

aten:rule("cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor", running("CumSum"))
aten:rule("cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor", running("CumProd"))

-- ---- what needs the result so far ----

-- The shape of x without a dim.
local function shape_without(x, axis)
  local out = util.copy(x.shape)
  table.remove(out, axis + 1)
  return out
end

-- Goes along a dim: fn(state..., x at that place) gives the next states, all of which are put out at each place.
local function along(g, x, axis, states, fn)
  local specs, k = {}, #states
  for i, s in ipairs(states) do specs[i] = { s.dtype, s.shape } end
  specs[k + 1] = { x.dtype, shape_without(x, axis) }
  local body = g.body("step", specs, function(...)
    local after = { fn(...) }
    for i = 1, k do after[k + i] = g.Identity(after[i]) end
    return table.unpack(after)
  end)
  local args = util.copy(states)
  args[k + 1] = x
  args[k + 2] = { body = body, num_scan_inputs = 1, scan_input_axes = { axis }, outputs = 2 * k,
                  scan_output_axes = util.fill(axis, k) }
  local out = g.Scan(table.unpack(args))
  return table.unpack(out, k + 1)
end

local function log_cumulative(g, a)
  local x = types.is_float(a.self.dtype) and a.self or a.self:to("float32")
  if x.rank == 0 or is_empty(x) then return x end
  local axis = util.dim(a.dim, x.rank)
  local start = g.expand(g.scalar(-math.huge, x), shape_without(x, axis))
  local one = g.scalar(1, x)
  return (along(g, x, axis, { start }, function(sum, y)
    local more = g.Log(g.Add(one, g.Exp(g.Neg(g.Abs(g.Sub(sum, y))))))
    local equal = g.And(g.Equal(sum, y), g.IsInf(y))
    return g.Where(equal, y, g.Add(g.Max(sum, y), more))
  end))
end

aten:rule("logcumsumexp(Tensor self, int dim) -> Tensor", log_cumulative)
aten:rule("_logcumsumexp(Tensor self, int dim) -> Tensor", log_cumulative)

local STAND_IN = { bool = "uint8", int16 = "int32", uint16 = "int32" }

-- The latest of equal extremes counts; what is not a number is one, and the latest of these.
local function extremes(op)
  return function(g, a)
    local dtype = a.self.dtype
    local x = a.self:to(STAND_IN[dtype] or dtype)
    if x.rank == 0 then return a.self, g.const(0, "int64") end
    if is_empty(x) then return a.self, g.expand(g.const(0, "int64"), x.shape) end
    local axis = util.dim(a.dim, x.rank)
    local first = g.Gather(x, g.const(0, "int64"), { axis = axis })
    local nowhere = g.expand(g.const(0, "int64"), first.shape)
    local values, indices = along(g, x, axis, { first, nowhere, nowhere }, function(best, at, here, y)
      local take = g[op](y, best)
      if types.is_float(y.dtype) then take = g.Or(take, g.IsNaN(y)) end
      return g.Where(take, y, best), g.Where(take, here, at), g.Add(here, g.const(1, "int64"))
    end)
    return values:to(dtype), indices
  end
end

aten:rule("cummax(Tensor self, int dim) -> (Tensor values, Tensor indices)", extremes("GreaterOrEqual"))
aten:rule("cummin(Tensor self, int dim) -> (Tensor values, Tensor indices)", extremes("LessOrEqual"))

-- ---- neighbours ----

local function part(g, x, d, first, last)
  return g.Slice(x, g.ints { first }, g.ints { last }, g.ints { util.dim(d, x.rank) })
end

-- All but the last and all but the first along a dim.
local function neighbours(g, x, d)
  return part(g, x, d, 0, -1), part(g, x, d, 1, math.maxinteger)
end

aten:rule("diff(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None) -> Tensor",
          function(g, a)
  local x, d = a.self, util.dim(a.dim, a.self.rank)
  if a.n == 0 then return x end
  if a.prepend or a.append then
    local dtype = types.result_type(x, a.prepend or x, a.append or x)
    local pieces = { x:to(dtype) }
    if a.prepend then table.insert(pieces, 1, a.prepend:to(dtype)) end
    if a.append then pieces[#pieces + 1] = a.append:to(dtype) end
    pieces[#pieces + 1] = { axis = d }
    x = g.Concat(table.unpack(pieces))
  end
  local size, times = x.shape[d + 1], a.n
  if util.is_static(size) then times = math.min(times, size) end
  for _ = 1, times do
    local left, right = neighbours(g, x, d)
    x = x.dtype == "bool" and g.Xor(left, right) or g.Sub(right, left)
  end
  return x
end)

-- The places of samples as a tensor that broadcasts with them.
local function places(g, a)
  local x, rank = a.x, a.y.rank
  local dims = util.fill(1, rank)
  if x.rank == 1 then
    dims[util.dim(a.dim, rank) + 1] = x.shape[1]
  elseif x.rank < rank then
    for i = 1, x.rank do dims[rank - x.rank + i] = x.shape[i] end
  else
    return x
  end
  return g.reshape(x, dims)
end

-- Twice the area between neighbouring samples.
local function areas(g, a)
  local left, right = neighbours(g, a.y, a.dim)
  if not a.x then return (left + right) * a.dx end
  local from, to = neighbours(g, places(g, a), a.dim)
  return (left + right) * (to - from)
end

local function halved(x) return x / 2.0 end

local function trapezoid(g, a)
  local area = areas(g, a)
  if not types.is_float(area.dtype) then area = area:to("int64") end
  return halved(g.ReduceSum(area, g.ints { util.dim(a.dim, area.rank) }, { keepdims = 0 }))
end

local function cumulative_trapezoid(g, a)
  local area = areas(g, a)
  if not types.is_float(area.dtype) then area = area:to("int64") end
  return halved(g.CumSum(area, g.const(util.dim(a.dim, area.rank), "int64")))
end

for name, fn in pairs { trapezoid = trapezoid, trapz = trapezoid, cumulative_trapezoid = cumulative_trapezoid } do
  local step = name == "trapz" and "float dx=1." or "Scalar dx=1"
  aten:rule(name .. ".x(Tensor y, Tensor x, *, int dim=-1) -> Tensor", fn)
  aten:rule(name .. ".dx(Tensor y, *, " .. step .. ", int dim=-1) -> Tensor", fn)
end

-- ---- gradients ----

-- The steps between samples along a dim: a number, or differences of the places that a tensor gives.
local function steps_of(g, x, spacing, d)
  if type(spacing) == "number" then return nil, spacing end
  local dims = util.fill(1, x.rank)
  dims[d + 1] = spacing.shape[1]
  local from, to = neighbours(g, g.reshape(spacing, dims), d)
  return g.Sub(to, from)
end

-- The weights of three samples for the slope at the first (-1), the middle (0) or the last (1) of them, p and q being
-- the steps between.
local function three_points(p, q, at)
  local sum = p + q
  if at < 0 then return -(p * 2.0 + q) / (p * sum), sum / (p * q), -p / (q * sum) end
  if at == 0 then return -q / (p * sum), (q - p) / (p * q), p / (q * sum) end
  return q / (p * sum), -sum / (p * q), (q * 2.0 + p) / (q * sum)
end

local END = math.maxinteger

-- In the order of PyTorch's steps, on which the result depends in 16 bits.
local function gradient_along(g, x, spacing, d, order)
  local steps, h = steps_of(g, x, spacing, d)
  local function sample(first, last) return part(g, x, d, first, last) end
  local function step(first, last) return steps and part(g, steps, d, first, last) or h + 0.0 end
  local function curve(x0, x1, x2, p, q, at)
    local a, b, c = three_points(p, q, at)
    return x0 * a + x1 * b + x2 * c
  end
  local first, last
  if order == 1 then
    first = (sample(1, 2) - sample(0, 1)) / step(0, 1)
    last = (sample(-1, END) - sample(-2, -1)) / step(-1, END)
  elseif steps then
    first = curve(sample(0, 1), sample(1, 2), sample(2, 3), step(0, 1), step(1, 2), -1)
    last = curve(sample(-3, -2), sample(-2, -1), sample(-1, END), step(-2, -1), step(-1, END), 1)
  else
    first = (sample(0, 1) * -1.5 + sample(1, 2) * 2.0 - sample(2, 3) * 0.5) / step()
    last = (sample(-3, -2) * 0.5 - sample(-2, -1) * 2.0 + sample(-1, END) * 1.5) / step()
  end
  local middle
  if steps then
    middle = curve(sample(0, -2), sample(1, -1), sample(2, END), step(0, -1), step(1, END), 0)
  else
    middle = (sample(2, END) - sample(0, -2)) / step() / 2.0
  end
  return g.Concat(first, middle, last, { axis = d })
end

local function gradient(g, a)
  local x = types.is_float(a.self.dtype) and a.self or a.self:to("float32")
  local dims = a.dim
  if dims == nil then dims = util.range(0, x.rank - 1) end
  if type(dims) ~= "table" then dims = { dims } end
  local out = {}
  for i, d in ipairs(dims) do
    local spacing = a.spacing == nil and 1 or a.spacing
    if type(spacing) == "table" then spacing = spacing[i] end
    out[i] = gradient_along(g, x, spacing, util.dim(d, x.rank), a.edge_order)
  end
  return out
end

for overload, arguments in pairs {
  scalarint = "Scalar? spacing=None, int? dim=None", scalararray = "Scalar spacing, int[] dim", array = "int[] dim",
  scalarrayint = "Scalar[] spacing, int? dim=None", scalarrayarray = "Scalar[] spacing, int[] dim",
  tensorarrayint = "Tensor[] spacing, int? dim=None", tensorarray = "Tensor[] spacing, int[] dim",
} do
  aten:rule("gradient." .. overload .. "(Tensor self, *, " .. arguments .. ", int edge_order=1) -> Tensor[]", gradient)
end

-- Names that are put together above, for the index of rules (tools/name_hints.py):
-- "cumulative_trapezoid.dx" "cumulative_trapezoid.x" "gradient.array" "gradient.scalararray"
-- "gradient.scalarint" "gradient.scalarrayarray" "gradient.scalarrayint" "gradient.tensorarray"
-- "gradient.tensorarrayint" "trapezoid.dx" "trapezoid.x" "trapz.dx" "trapz.x"
