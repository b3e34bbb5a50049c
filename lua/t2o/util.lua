-- lua/t2o/util.lua: small helpers that rules share.

local core = require("t2o.core")
local types = require("t2o.types")
local values = require("t2o.value")

local M = {}

--- A dim counted from 0, of a rank; negative from the end. A 0-d value has one dim for this purpose.
function M.dim(d, rank)
  rank = math.max(rank, 1)
  local i = d < 0 and d + rank or d
  if i < 0 or i >= rank then core.decline(string.format("dimension %d of a value of rank %d", d, rank)) end
  return i
end

--- A list of dims (nil or empty: all of them, unless `empty_is_none`), each counted from 0, in order.
function M.dims(list, rank, empty_is_none)
  local out = {}
  if list == nil or (#list == 0 and not empty_is_none) then
    for i = 1, rank do out[i] = i - 1 end
    return out
  end
  if rank == 0 then return out end
  for i, d in ipairs(list) do out[i] = M.dim(d, rank) end
  table.sort(out)
  return out
end

function M.is_static(d) return math.type(d) == "integer" end

function M.all_static(list)
  for i = 1, list.n or #list do
    if math.type(list[i]) ~= "integer" then return false end
  end
  return true
end

function M.all_constant(...)
  for i = 1, select("#", ...) do
    local v = select(i, ...)
    if v ~= nil and not v.is_constant then return false end
  end
  return true
end

--- "[1, s77, 3]"
function M.show(list)
  local out = {}
  for i = 1, list.n or #list do out[i] = tostring(list[i]) end
  return "[" .. table.concat(out, ", ") .. "]"
end

--- The product of sizes: an integer or a dim; 1 of none.
function M.product(list, first, last)
  local p = 1
  for i = first or 1, last or #list do p = p * list[i] end
  return p
end

function M.max(a, b) return core.dim_call("Max", a, b) end
function M.min(a, b) return core.dim_call("Min", a, b) end

--- -1, 0 or 1 as a < b, a == b, a > b is certain; nil where it is not known.
function M.compare(a, b) return core.compare(a, b) end

function M.equal(a, b) return core.compare(a, b) == 0 end

function M.same_shape(a, b)
  if #a ~= #b then return false end
  for i = 1, #a do
    if a[i] ~= b[i] and core.compare(a[i], b[i]) ~= 0 then return false end
  end
  return true
end

function M.copy(list)
  local out = {}
  for i = 1, #list do out[i] = list[i] end
  return out
end

function M.range(first, last)
  local out = {}
  for i = first, last do out[#out + 1] = i end
  return out
end

function M.fill(value, n)
  local out = {}
  for i = 1, n do out[i] = value end
  return out
end

function M.contains(list, x)
  for _, y in ipairs(list) do
    if x == y then return true end
  end
  return false
end

--- The order of dims that brings `last` (0-based) to the end; and the order that brings it back (its inverse).
function M.to_last(rank, last)
  local perm, inverse = {}, {}
  for i = 0, rank - 1 do
    if i ~= last then perm[#perm + 1] = i end
  end
  perm[#perm + 1] = last
  for i, p in ipairs(perm) do inverse[p + 1] = i - 1 end
  return perm, inverse
end

--- Both operands in their common dtype, PyTorch's way; a third result is that dtype.
function M.promote(x, y, dtype)
  local a, b, common = values.common(x, y, dtype)
  return a, b, common
end

--- Kernel and stride that give the windows of an adaptive pool, for one list of dims; nil where windows differ.
function M.exact_windows(have, want)
  local kernel = {}
  for i = 1, #have do
    if not (M.is_static(have[i]) and M.is_static(want[i])) or want[i] == 0 or have[i] % want[i] ~= 0 then return nil end
    kernel[i] = have[i] // want[i]
  end
  return kernel
end

--- A weight of one per channel, shaped to broadcast over [N, C, ...] of a rank.
function M.per_channel(g, v, rank)
  local dims = { v:size(0) }
  for i = 2, rank - 1 do dims[i] = 1 end
  return g.reshape(v, dims)
end

--- 0 .. n - 1 as int64[n]; n is an integer or a dim.
function M.arange(g, n)
  if M.is_static(n) then return n > 0 and g.const(M.range(0, n - 1), "int64") or g.ints {} end
  return g.Range(g.scalar(0, "int64"), g.scalar(n, "int64"), g.scalar(1, "int64"))
end

--- Where the elements of windows stand along an axis: int64[count, kernel]; count is an integer or a dim.
function M.window_positions(g, count, kernel, stride, dilation)
  local starts, steps = M.arange(g, count), {}
  for k = 1, kernel do steps[k] = (k - 1) * dilation end
  if not M.is_static(count) or count == 0 then
    return g.reshape(starts, { count, 1 }) * g.scalar(stride, "int64") + g.const({ steps }, "int64")
  end
  local rows = {}
  for i = 1, count do
    rows[i] = {}
    for k = 1, kernel do rows[i][k] = (i - 1) * stride + steps[k] end
  end
  return g.const(rows, "int64")
end

--- Where of two values of one dtype; for dtypes that the operator is seldom there for, in another form.
function M.where(g, condition, x, y)
  if x.dtype == "bool" then return g.Or(g.And(condition, x), g.And(g.Not(condition), y)) end
  if x.dtype == "int16" or x.dtype == "uint16" then
    return g.Where(condition, x:to("int32"), y:to("int32")):to(x.dtype)
  end
  return g.Where(condition, x, y)
end

--- A polynomial in x, its coefficients from the lowest power on.
function M.polynomial(g, x, c)
  local y = g.scalar(c[#c], x)
  for i = #c - 1, 1, -1 do y = g.Add(g.Mul(y, x), g.scalar(c[i], x)) end
  return y
end

--- A Chebyshev series at y in [-1, 1], by Clenshaw's recurrence; in single precision without the terms that do not
--- count.
function M.chebyshev(g, y, c)
  local n = #c
  while y.dtype ~= "float64" and n > 2 and math.abs(c[n]) < 1e-9 * math.abs(c[1]) do n = n - 1 end
  local twice, before, b = g.Add(y, y), nil, g.scalar(c[n], y)
  for i = n - 1, 2, -1 do
    local product = g.Mul(twice, b)
    before, b = b, g.Add(before and g.Sub(product, before) or product, g.scalar(c[i], y))
  end
  local last = g.Mul(y, b)
  return g.Add(before and g.Sub(last, before) or last, g.scalar(c[1], y))
end

--- fn(g, x) for x of float32 or float64: integers and narrower floats compute in float32.
function M.in_single(x, fn, g)
  if x.dtype == "float32" or x.dtype == "float64" then return fn(g, x) end
  local y = fn(g, x:to("float32"))
  return types.is_float(x.dtype) and y:to(x.dtype) or y
end

M.is_float = types.is_float
M.is_int = types.is_int

local LARGEST = 0x1.fffffep127 -- of 32 bits: PyTorch refuses numbers beyond it, be it in the last digit

--- A float of 32 bits as the shortest decimal that gives the same one; anything else as it is.
function M.shortest(x)
  if math.type(x) ~= "float" or x ~= x or x == math.huge or x == -math.huge then return x end
  for digits = 1, 9 do
    local short = tonumber(string.format("%." .. digits .. "g", x)) + 0.0
    if math.abs(short) <= LARGEST and string.unpack("f", string.pack("f", short)) == x then return short end
  end
  return x
end

function M.is_half(dtype) return dtype == "float16" or dtype == "bfloat16" end

M.result_type = types.result_type

return M
