-- rules/aten/factory.lua: tensors made of numbers.

local aten = require("t2o.rules").namespace("aten")
local core = require("t2o.core")
local types = require("t2o.types")
local util = require("t2o.util")

local OPTIONS = ", *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"
local LIKE_OPTIONS = OPTIONS .. ", MemoryFormat? memory_format=None"
local LARGE = 4096 -- elements, above which a constant is better made at run time

-- ---- one number everywhere ----

local function filled(g, shape, x, dtype)
  if util.all_static(shape) and util.product(shape) <= LARGE and type(x) ~= "userdata" then
    return g.full(shape, g.scalar(x, dtype):item(), dtype)
  end
  return g.expand(g.scalar(x, dtype), shape)
end

local function number_dtype(x)
  if type(x) == "boolean" then return "bool" end
  if type(x) == "userdata" then
    if not core.is_value(x) then return "int64" end
    return types.is_wrapped(x) and types.is_float(x.dtype) and "float32" or x.dtype
  end
  return math.type(x) == "float" and "float32" or "int64"
end

aten:rule("full(SymInt[] size, Scalar fill_value" .. OPTIONS .. ") -> Tensor", function(g, a)
  return filled(g, a.size, a.fill_value, a.dtype or number_dtype(a.fill_value))
end)
aten:rule("full_like(Tensor self, Scalar fill_value" .. LIKE_OPTIONS .. ") -> Tensor", function(g, a)
  return filled(g, a.self.shape, a.fill_value, a.dtype or a.self.dtype)
end)
aten:rule("new_full(Tensor self, SymInt[] size, Scalar fill_value" .. OPTIONS .. ") -> Tensor", function(g, a)
  return filled(g, a.size, a.fill_value, a.dtype or a.self.dtype)
end)
aten:rule("scalar_tensor(Scalar s" .. OPTIONS .. ") -> Tensor", function(g, a)
  return g.scalar(a.s, a.dtype or "float32")
end)

-- What nobody has written yet may be anything: zeros, so that every run gives the same.
local function of_size(number)
  return function(g, a) return filled(g, a.size, number, a.dtype or "float32") end
end
local function of_like(number)
  return function(g, a) return filled(g, a.self.shape, number, a.dtype or a.self.dtype) end
end
local function of_new(number)
  return function(g, a) return filled(g, a.size, number, a.dtype or a.self.dtype) end
end

for name, number in pairs { zeros = 0, ones = 1, empty = 0 } do
  local overload = name == "empty" and "empty.memory_format" or name
  local options = name == "empty" and LIKE_OPTIONS or OPTIONS
  aten:rule(overload .. "(SymInt[] size" .. options .. ") -> Tensor", of_size(number))
  aten:rule(name .. "_like(Tensor self" .. LIKE_OPTIONS .. ") -> Tensor", of_like(number))
  aten:rule("new_" .. name .. "(Tensor self, SymInt[] size" .. OPTIONS .. ") -> Tensor", of_new(number))
end
aten:rule("empty_strided(SymInt[] size, SymInt[] stride" .. OPTIONS .. ") -> Tensor", of_size(0))
aten:rule("empty_permuted(SymInt[] size, int[] physical_layout" .. OPTIONS .. ") -> Tensor", of_size(0))
aten:rule("new_empty_strided(Tensor self, SymInt[] size, SymInt[] stride" .. OPTIONS .. ") -> Tensor", of_new(0))

aten:rule("fill.Scalar(Tensor self, Scalar value) -> Tensor", function(g, a)
  return filled(g, a.self.shape, a.value, a.self.dtype)
end)
aten:rule("fill.Tensor(Tensor self, Tensor value) -> Tensor", function(g, a)
  return filled(g, a.self.shape, a.value, a.self.dtype)
end)
aten:rule("zero(Tensor self) -> Tensor", function(g, a) return filled(g, a.self.shape, 0, a.self.dtype) end)

-- ---- numbers in a row ----

local function truncated(x)
  return math.type(x) == "float" and math.tointeger(x < 0 and math.ceil(x) or math.floor(x)) or x
end

-- fn(i) for i = 0 .. count - 1 as a constant, computed in floats of 64 bits where fn gives floats.
local function list_of(g, count, dtype, fn)
  local out = {}
  for i = 1, count do
    local x = fn(i - 1)
    out[i] = util.is_int(dtype) and truncated(x) or x
  end
  return count == 0 and g.zeros({ 0 }, dtype) or g.const(out, dtype)
end

-- 0, 1, 2 ... : count of them, an integer or a dim.
local function naturals(g, count)
  return g.Range(g.scalar(0, "int64"), g.scalar(count, "int64"), g.scalar(1, "int64"))
end

local function is_whole(x) return type(x) == "userdata" or math.type(x) == "integer" end

-- How many steps lie before the end; nil where that is not a matter of integers and known numbers.
local function step_count(start, stop, step)
  if type(step) == "userdata" then return nil end
  if is_whole(start) and is_whole(stop) and is_whole(step) then
    if step < 0 then start, stop, step = stop, start, -step end
    return util.max((stop - start + (step - 1)) // step, 0)
  end
  if type(start) == "userdata" or type(stop) == "userdata" then return nil end
  return math.max(0, math.ceil((stop - start) / step))
end

-- Numbers that are only known at run time.
local function range_of_values(g, start, stop, step, dtype)
  local function real(x) return g.scalar(x, "float64") end
  return g.Range(real(start), real(stop), real(step)):to(dtype or "float32")
end

local function range(g, start, stop, step, dtype, n)
  if core.is_value(start) or core.is_value(stop) or core.is_value(step) then
    return range_of_values(g, start, stop, step, dtype)
  end
  local whole = is_whole(start) and is_whole(stop) and is_whole(step)
  dtype = dtype or (whole and "int64" or "float32")
  -- of int64 the numbers themselves are converted first, of narrower integers the results
  if dtype == "int64" then start, stop, step = truncated(start), truncated(stop), truncated(step) end
  local count = step_count(start, stop, step) or n.outputs[1].shape[1]
  if util.is_int(dtype) then start, step = truncated(start), truncated(step) end
  if util.is_static(count) and count <= LARGE and type(start) ~= "userdata" then
    return list_of(g, count, dtype, function(i) return start + i * step end)
  end
  if is_whole(start) and is_whole(step) then
    if start == 0 and step == 1 then return naturals(g, count):to(dtype) end
    local stop_at = g.scalar(start + count * step, "int64")
    return g.Range(g.scalar(start, "int64"), stop_at, g.scalar(step, "int64")):to(dtype)
  end
  -- the running sum of a Range would collect rounding errors
  local x = naturals(g, count):to("float64") * g.scalar(step, "float64") + g.scalar(start, "float64")
  return x:to(dtype)
end

aten:rule("arange(Scalar end" .. OPTIONS .. ") -> Tensor", function(g, a, n)
  return range(g, 0, a.end_, 1, a.dtype, n)
end)
aten:rule("arange.start(Scalar start, Scalar end" .. OPTIONS .. ") -> Tensor", function(g, a, n)
  return range(g, a.start, a.end_, 1, a.dtype, n)
end)
aten:rule("arange.start_step(Scalar start, Scalar end, Scalar step=1" .. OPTIONS .. ") -> Tensor", function(g, a, n)
  return range(g, a.start, a.end_, a.step, a.dtype, n)
end)

-- With both ends, and of floats unless a dtype is asked for.
local function closed_range(g, a, n)
  local dtype, step = a.dtype or "float32", a.step or 1
  local count = n.outputs[1].shape[1]
  if not util.is_static(count) then return g.decline("a range of a dynamic size") end
  local start = util.is_int(dtype) and truncated(a.start) or a.start
  return list_of(g, count, dtype, function(i) return start + i * step end)
end

aten:rule("range(Scalar start, Scalar end" .. OPTIONS .. ") -> Tensor", closed_range)
aten:rule("range.step(Scalar start, Scalar end, Scalar step=1" .. OPTIONS .. ") -> Tensor", closed_range)

-- `steps` numbers from start to stop with both ends. The second half counts back from stop, so that it is met exactly.
local function spaced(g, start, stop, steps, dtype)
  if steps == 1 then return g.reshape(start, { 1 }) end
  local first, second = steps // 2, steps - steps // 2
  local step = (stop - start) / (steps - 1)
  local rising = start + step * list_of(g, first, dtype, function(i) return i end)
  local falling = stop - step * list_of(g, second, dtype, function(i) return second - 1 - i end)
  return g.Concat(rising, falling, { axis = 0 })
end

local function known_spaced(start, stop, steps)
  local step = steps > 1 and (stop - start) / (steps - 1) or 0.0
  return function(i)
    return i < steps // 2 and start + step * i or steps == 1 and start + 0.0 or stop - step * (steps - 1 - i)
  end
end

-- The ends of a row of integers are integers.
local function end_as(x, dtype) return util.is_int(dtype) and truncated(x) or x end

local function row(g, a, power)
  local dtype = a.dtype or "float32"
  if a.steps == 0 then return g.zeros({ 0 }, dtype) end
  if type(a.start) == "number" and type(a.end_) == "number" then
    local x = known_spaced(end_as(a.start, dtype), end_as(a.end_, dtype), a.steps)
    return list_of(g, a.steps, dtype, power and function(i) return a.base ^ x(i) end or x)
  end
  local function float(x) return g.scalar(x, util.is_int(dtype) and dtype or "float64"):to("float64") end
  local x = spaced(g, float(a.start), float(a.end_), a.steps, "float64")
  return (power and g.Pow(g.scalar(a.base, "float64"), x) or x):to(dtype)
end

for _, kinds in ipairs { "Scalar Scalar", "Tensor Tensor", "Tensor Scalar", "Scalar Tensor" } do
  local first, second = kinds:match("(%a+) (%a+)")
  local overload = kinds == "Scalar Scalar" and "" or "." .. first .. "_" .. second
  local ends = string.format("(%s start, %s end, int steps", first, second)
  aten:rule("linspace" .. overload .. ends .. OPTIONS .. ") -> Tensor", function(g, a) return row(g, a, false) end)
  aten:rule("logspace" .. overload .. ends .. ", float base=10." .. OPTIONS .. ") -> Tensor", function(g, a)
    return row(g, a, true)
  end)
end

-- ---- the identity ----

local function eye(g, rows, columns, dtype)
  if util.all_static { rows, columns } and rows * columns <= LARGE then
    if rows * columns == 0 then return g.zeros({ rows, columns }, dtype) end
    local out = {}
    for i = 1, rows do
      out[i] = util.fill(0, columns)
      if i <= columns then out[i][i] = 1 end
    end
    return g.const(out, dtype)
  end
  return g.Equal(g.Unsqueeze(naturals(g, rows), g.ints { 1 }), naturals(g, columns)):to(dtype)
end

aten:rule("eye(SymInt n" .. OPTIONS .. ") -> Tensor", function(g, a) return eye(g, a.n, a.n, a.dtype or "float32") end)
aten:rule("eye.m(SymInt n, SymInt m" .. OPTIONS .. ") -> Tensor", function(g, a)
  return eye(g, a.n, a.m, a.dtype or "float32")
end)

-- Names that are put together above, for the index of rules (tools/name_hints.py):
-- "empty_like" "linspace.Scalar_Tensor" "linspace.Tensor_Scalar" "linspace.Tensor_Tensor"
-- "logspace.Scalar_Tensor" "logspace.Tensor_Scalar" "logspace.Tensor_Tensor" "new_empty" "new_ones"
-- "new_zeros" "ones" "ones_like" "zeros" "zeros_like"
