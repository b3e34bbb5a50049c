-- lua/t2o/value.lua: what values can do in rules: fields, operators with PyTorch's promotion, reading of constants.

local core = require("t2o.core")
local types = require("t2o.types")

local M = {}
local methods = {}
local meta = core.value_meta
local field = core.field

--- What is called with a value whose rank or shape is asked for and not known; the error says so where there is none.
M.on_unknown_shape = nil

function meta.__index(v, key)
  local method = methods[key]
  if method then return method end
  if M.on_unknown_shape and (key == "shape" or key == "rank") and not field(v, "known_rank") then
    M.on_unknown_shape(v)
  end
  local value = field(v, key)
  if value == nil and key ~= "name" and key ~= "device" then
    error("a value has no field '" .. tostring(key) .. "'", 2)
  end
  return value
end

function meta.__tostring(v)
  return string.format("value %s", field(v, "name") or "")
end

--- Size of a dimension, counted from the end where negative: an integer or a dim.
function methods.size(v, d)
  local rank = v.rank
  local i = d < 0 and d + rank or d
  if i < 0 or i >= rank then error(string.format("dimension %d of a value of rank %d", d, rank), 2) end
  return v.shape[i + 1]
end

--- The elements of a small constant as a flat list.
function methods.tolist(v) return core.elements(v) end

--- The element of a constant of one element.
function methods.item(v)
  local list = core.elements(v, 1)
  if #list ~= 1 then error("item() of a value of no or several elements", 2) end
  return list[1]
end

local build -- lua/t2o/builder.lua, which needs this file first
function M.set_builder(b) build = b end

function methods.to(v, dtype)
  if v.dtype == dtype then return v end
  local out = build.cast(v, dtype)
  return out
end

--- Both operands as values of their common dtype (of `dtype` where given).
function M.common(x, y, dtype)
  dtype = dtype or types.result_type(x, y)
  local like = core.is_value(x) and x or y
  if not core.is_value(x) then x = build.scalar(x, dtype) end
  if not core.is_value(y) then y = build.scalar(y, dtype) end
  return x:to(dtype), y:to(dtype), dtype, like
end

local function is_zero(x) return x == 0 end

-- Whether x + y is x: an integer 0, which has no sign to change.
local function is_nothing(y, x)
  return types.number_of(y) == 0 and core.is_value(x) and types.is_int(x.dtype) and types.result_type(x, y) == x.dtype
end

-- Whether x * y is x: y is 1 and has no say in the dtype.
local function is_one(y, x)
  return types.number_of(y) == 1 and core.is_value(x) and x.dtype ~= "bool" and types.result_type(x, y) == x.dtype
end

function meta.__add(x, y)
  if is_zero(y) and types.is_float(x.dtype) then return x end
  if is_zero(x) and types.is_float(y.dtype) then return y end
  if is_nothing(y, x) then return x end
  if is_nothing(x, y) then return y end
  x, y = M.common(x, y)
  return x.dtype == "bool" and build.Or(x, y) or build.Add(x, y)
end

function meta.__sub(x, y)
  x, y = M.common(x, y)
  return build.Sub(x, y)
end

function meta.__mul(x, y)
  if is_one(y, x) then return x end
  if is_one(x, y) then return y end
  x, y = M.common(x, y)
  return x.dtype == "bool" and build.And(x, y) or build.Mul(x, y)
end

function meta.__div(x, y)
  x, y = M.common(x, y, types.float_result(x, y))
  return build.Div(x, y)
end

--- Rounds towards minus infinity.
function meta.__idiv(x, y)
  local dtype
  x, y, dtype = M.common(x, y)
  if types.is_float(dtype) then return build.Floor(build.Div(x, y)) end
  -- ONNX divides integers towards zero: correct where the remainder is not 0 and the signs differ
  local q = build.Div(x, y)
  if types.is_unsigned(dtype) then return q end
  local r = build.Sub(x, build.Mul(q, y))
  local zero = build.scalar(0, dtype)
  local differ = build.Xor(build.Less(r, zero), build.Less(y, zero))
  local off = build.And(build.Not(build.Equal(r, zero)), differ)
  return build.Sub(q, build.Cast(off, { to = dtype }))
end

--- Takes the sign of the divisor, as Python's.
function meta.__mod(x, y)
  local dtype
  x, y, dtype = M.common(x, y)
  if types.is_int(dtype) then return build.Mod(x, y) end
  local r = build.Mod(x, y, { fmod = 1 })
  local zero = build.scalar(0, dtype)
  local differ = build.Xor(build.Less(r, zero), build.Less(y, zero))
  local off = build.And(build.Not(build.Equal(r, zero)), differ)
  return build.Where(off, build.Add(r, y), r)
end

function meta.__pow(x, y)
  x, y = M.common(x, y)
  return build.Pow(x, y)
end

function meta.__unm(x) return build.Neg(x) end

local function comparison(name, op, invert)
  methods[name] = function(x, y)
    x, y = M.common(x, y)
    local r = build[op](x, y)
    return invert and build.Not(r) or r
  end
end

comparison("lt", "Less")
comparison("le", "LessOrEqual")
comparison("gt", "Greater")
comparison("ge", "GreaterOrEqual")
comparison("eq", "Equal")
comparison("ne", "Equal", true)

for name, fn in pairs(methods) do methods[name] = core.guard(fn) end

return M
