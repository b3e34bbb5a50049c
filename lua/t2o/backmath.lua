-- lua/t2o/backmath.lua: what rules/onnx share for numbers: dtypes that PyTorch stores but does not compute in,
-- constants as literals, unsigned 64-bit integers.

local core = require("t2o.core")
local t = require("t2o.back").t
local util = require("t2o.util")

local M = {}

-- PyTorch has no arithmetic for these: they are computed in a dtype that holds their values, uint64 by its bits.
local WIDE = { uint16 = "int32", uint32 = "int64", uint64 = "int64" }

function M.is_int(dtype) return dtype:find("int") ~= nil end
function M.is_unsigned(dtype) return dtype:find("^uint") ~= nil end
function M.is_float(dtype) return dtype:find("float") ~= nil end
function M.is_float8(dtype) return dtype:find("^float8") ~= nil end

--- The dtype in which PyTorch computes with values of a dtype.
function M.computing(dtype) return WIDE[dtype] or M.is_float8(dtype) and "float32" or dtype end

--- v in the dtype in which PyTorch computes.
function M.wide(v) return t.to(v, M.computing(v.dtype)) end

--- v where PyTorch has kernels for it, and what makes a result of the dtype that it had: for what only moves elements.
function M.widened(v)
  local dtype = v.dtype
  local wide = WIDE[dtype]
  if not wide then return v, function(y) return y end end
  return t.to(v, wide), function(y) return t.aten["to.dtype"](y, dtype) end
end

local function has_rank(v) return core.field(v, "known_rank") end

--- What stands for v in a call that takes a tensor or a number: a constant of one number as that number.
function M.operand(v)
  local x = v and t.literal(v)
  if x == nil then return v and M.wide(v) end
  return x
end

--- Undoes what `wide` did: a result in the dtype that the ONNX output has.
function M.narrow(v, dtype)
  if M.computing(dtype) == dtype then return v end
  return t.aten["to.dtype"](v, dtype)
end

--- x and y for an operator that takes a number as the second only: at most one of them is a number; and whether they
--- have changed places.
function M.pair(a, b)
  local y = M.operand(b)
  if not core.is_value(y) then return M.wide(a), y, false end
  local x = M.operand(a)
  if not core.is_value(x) then return y, x, true end
  return x, y, false
end

-- ---- unsigned integers of 64 bits, in int64 ----

local LOWEST = math.mininteger

--- The same order, but signed.
function M.flip(v) return t.aten["bitwise_xor.Scalar"](v, LOWEST) end

--- The same as `widened`, in the order of the numbers.
function M.ordered(v)
  local wide, back = M.widened(v)
  if v.dtype ~= "uint64" then return wide, back end
  return M.flip(wide), function(y) return back(M.flip(y)) end
end

--- Compares: op is "lt", "le", "gt", "ge" of the operands' own dtypes.
function M.compare(op, a, b)
  if a.dtype == "uint64" then
    return t.aten[op .. ".Tensor"](M.flip(M.wide(a)), M.flip(M.wide(b)))
  end
  local x, y, swapped = M.pair(a, b)
  if swapped then op = ({ lt = "gt", le = "ge", gt = "lt", ge = "le" })[op] end
  return t.aten[op .. (core.is_value(y) and ".Tensor" or ".Scalar")](x, y)
end

--- The larger or smaller of two: op is "maximum" or "minimum".
function M.extreme(op, a, b, dtype)
  if dtype == "uint64" then return M.flip(t.aten[op](M.flip(a), M.flip(b))) end
  return t.aten[op](a, b)
end

-- Quotient of unsigned numbers x and y, by halves: (x / 2 / y) * 2 is at most one too small, and a y that does not fit
-- goes into x once at most.
function M.divide_unsigned(x, y)
  local half = t.aten["bitwise_and.Scalar"](t.aten["__rshift__.Scalar"](x, 1), math.maxinteger)
  local safe = t.aten["clamp_min"](y, 1)
  local q = t.aten["mul.Tensor"](t.aten["div.Tensor_mode"](half, safe, { rounding_mode = "trunc" }), 2)
  local rest = t.aten["sub.Tensor"](x, t.aten["mul.Tensor"](q, y))
  local flipped = M.flip(y)
  q = t.aten["add.Tensor"](q, t.aten["ge.Tensor"](M.flip(rest), flipped))
  local once = t.aten["to.dtype"](t.aten["ge.Tensor"](M.flip(x), flipped), "int64")
  return t.aten["where.self"](t.aten["lt.Scalar"](y, 0), once, q)
end

-- ---- dtypes of few bits ----

--- What carries integers of 4 and 2 bits: PyTorch has no such dtypes.
M.CARRIER = { int4 = "int8", uint4 = "uint8", int2 = "int8", uint2 = "uint8" }

M.RANGE = {
  uint8 = { 0, 255 }, int8 = { -128, 127 }, uint16 = { 0, 65535 }, int16 = { -32768, 32767 }, uint4 = { 0, 15 },
  int4 = { -8, 7 }, uint2 = { 0, 3 }, int2 = { -2, 1 },
}

M.LARGEST = {
  float8_e4m3fn = 448.0, float8_e4m3fnuz = 240.0, float8_e5m2 = 57344.0, float8_e5m2fnuz = 57344.0,
}

--- x of 16 bits or more as 8-bit floats.
function M.to_float8(x, dtype, saturate)
  local largest = M.LARGEST[dtype]
  if saturate then
    x = t.aten.clamp(x, -largest, largest)
  elseif dtype == "float8_e4m3fn" then -- where PyTorch saturates: what would round to more than the largest
    x = t.aten["masked_fill.Scalar"](x, t.aten["gt.Scalar"](t.aten.abs(x), largest + 16), 0 / 0)
  end
  return t.aten["to.dtype"](x, dtype)
end

-- ---- shapes ----

--- A list of the dims 0 .. rank - 1.
function M.all_dims(rank)
  local out = {}
  for i = 1, rank do out[i] = i - 1 end
  return out
end

--- v's elements along `axis` of something of the rank: (n) as (n, 1, 1).
function M.along(v, axis, rank)
  if axis < 0 then axis = axis + rank end
  if axis == rank - 1 then return v end
  local sizes = { -1 }
  for i = 1, rank - 1 - axis do sizes[i + 1] = 1 end
  return t.aten.reshape(v, sizes)
end

--- An axis counted from the front where the rank is known.
function M.axis(axis, v)
  if has_rank(v) and v.rank == 1 then return 0 end
  if math.type(axis) and axis < 0 and has_rank(v) then return axis + v.rank end
  return axis
end

--- [batch, length, heads * size] as [batch, heads, length, size].
function M.split_heads(x, heads)
  return t.aten["transpose.int"](t.aten["unflatten.int"](x, 2, { heads, -1 }), 1, 2)
end

--- And back.
function M.merge_heads(x) return t.aten["flatten.using_ints"](t.aten["transpose.int"](x, 1, 2), 2) end

M.has_rank = has_rank
M.dim = util.dim

return M
