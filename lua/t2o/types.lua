-- lua/t2o/types.lua: dtypes: categories, PyTorch's promotion, limits.

local core = require("t2o.core")

local M = {}

local KIND = {
  bool = "bool", uint8 = "int", int8 = "int", int16 = "int", int32 = "int", int64 = "int", uint16 = "int",
  uint32 = "int", uint64 = "int", float16 = "float", bfloat16 = "float", float32 = "float", float64 = "float",
  complex32 = "complex", complex64 = "complex", complex128 = "complex",
  float8_e4m3fn = "float", float8_e5m2 = "float", float8_e4m3fnuz = "float", float8_e5m2fnuz = "float",
  float8_e8m0fnu = "float",
}
local LEVEL = { bool = 0, int = 1, float = 2, complex = 3 }
local BITS = {
  bool = 8, uint8 = 8, int8 = 8, int16 = 16, int32 = 32, int64 = 64, uint16 = 16, uint32 = 32, uint64 = 64,
  float16 = 16, bfloat16 = 16, float32 = 32, float64 = 64, complex32 = 32, complex64 = 64, complex128 = 128,
}
local SIGNED = { "int8", "int16", "int32", "int64" }
local FLOAT_OF = { complex32 = "float16", complex64 = "float32", complex128 = "float64" }
local COMPLEX_OF = { float16 = "complex32", bfloat16 = "complex64", float32 = "complex64", float64 = "complex128" }

-- Values that stand for a Python number: they count less in promotion than a tensor does.
local wrapped = setmetatable({}, { __mode = "k" })

function M.mark_wrapped(v, number)
  if number == nil then number = false end -- not known here
  wrapped[v] = number
end

function M.is_wrapped(v) return wrapped[v] ~= nil end

--- The number that a value stands for; what is no value is returned as it is.
function M.number_of(x)
  if core.is_value(x) then return wrapped[x] end
  return x
end

function M.kind(dtype) return KIND[dtype] end
function M.bits(dtype) return BITS[dtype] end
function M.is_float(dtype) return KIND[dtype] == "float" end
function M.is_int(dtype) return KIND[dtype] == "int" end
function M.is_complex(dtype) return KIND[dtype] == "complex" end
function M.is_unsigned(dtype) return dtype:find("^u") ~= nil end
function M.real_of(dtype) return FLOAT_OF[dtype] or dtype end

local function promote_ints(a, b)
  local ua, ub = M.is_unsigned(a), M.is_unsigned(b)
  if ua == ub then return BITS[a] >= BITS[b] and a or b end
  local u, s = ua and a or b, ua and b or a
  if BITS[s] > BITS[u] then return s end
  for _, name in ipairs(SIGNED) do
    if BITS[name] > BITS[u] then return name end
  end
  core.decline(string.format("PyTorch has no common dtype of %s and %s", a, b))
end

--- torch.promote_types.
function M.promote(a, b)
  if a == b then return a end
  local ka, kb = KIND[a], KIND[b]
  if ka ~= kb then
    local high, low = a, b
    if LEVEL[ka] < LEVEL[kb] then high, low = b, a end
    if KIND[high] == "complex" and KIND[low] == "float" then return M.promote(high, COMPLEX_OF[low]) end
    return high
  end
  if ka == "int" then return promote_ints(a, b) end
  if BITS[a] and BITS[b] and BITS[a] ~= BITS[b] then return BITS[a] > BITS[b] and a or b end
  if ka == "float" and BITS[a] == 16 and BITS[b] == 16 then return "float32" end
  core.decline(string.format("no common dtype of %s and %s", a, b))
end

local DEFAULT = { bool = "bool", int = "int64", float = "float32", complex = "complex64" }

local function number_kind(x)
  if type(x) == "boolean" then return "bool" end
  if core.is_dim(x) or math.type(x) == "integer" then return "int" end
  if type(x) == "table" then return "complex" end
  return "float"
end

--- torch.result_type of values and Python numbers: tensors with dimensions count before those without, these before
--- numbers; within the same kind of dtype only the first group has a say.
function M.result_type(...)
  local dims, zero, number
  for i = 1, select("#", ...) do
    local x = select(i, ...)
    if not core.is_value(x) then
      local d = DEFAULT[number_kind(x)]
      number = number and M.promote(number, d) or d
    elseif wrapped[x] ~= nil then
      local d = DEFAULT[KIND[x.dtype]]
      number = number and M.promote(number, d) or d
    elseif x.rank > 0 then
      dims = dims and M.promote(dims, x.dtype) or x.dtype
    else
      zero = zero and M.promote(zero, x.dtype) or x.dtype
    end
  end
  local function combine(high, low)
    if not high then return low end
    if not low or LEVEL[KIND[low]] <= LEVEL[KIND[high]] then return high end
    if KIND[low] == "complex" and KIND[high] == "float" then return COMPLEX_OF[high] end
    return low
  end
  return combine(dims, combine(zero, number))
end

--- The dtype in which an op computes that makes floats of integers.
function M.float_result(...)
  local d = M.result_type(...)
  return (KIND[d] == "float" or KIND[d] == "complex") and d or "float32"
end

local LIMITS = {
  bool = { 0, 1 }, uint8 = { 0, 255 }, int8 = { -128, 127 }, int16 = { -32768, 32767 }, uint16 = { 0, 65535 },
  int32 = { -2147483648, 2147483647 }, uint32 = { 0, 4294967295 }, int64 = { math.mininteger, math.maxinteger },
  float16 = { -65504.0, 65504.0 }, float32 = { -3.4028234663852886e38, 3.4028234663852886e38 },
  float64 = { -1.7976931348623157e308, 1.7976931348623157e308 },
  bfloat16 = { -3.3895313892515355e38, 3.3895313892515355e38 },
}

--- Smallest and largest finite number of a dtype.
function M.limits(dtype)
  local l = LIMITS[dtype]
  if not l then core.decline("the limits of " .. dtype .. " are not known") end
  return l[1], l[2]
end

return M
