-- rules/opset/arith.lua: arithmetic, comparisons, running sums: operators and dtypes that older opsets lack.

local lib = require("t2o.opset")
local opset = lib.registry
local types = require("t2o.types")
local util = require("t2o.util")

-- ---- dtypes that came late, where another one computes the same ----

-- 16 bits are computed in 32 by every runtime anyway.
local BFLOAT16_SINCE = {
  [16] = { "GreaterOrEqual", "LeakyRelu", "LessOrEqual", "PRelu", "Where" },
  [20] = { "IsInf" },
  [22] = {
    "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "AveragePool", "Conv", "ConvTranspose", "Cos", "Cosh",
    "DeformConv", "Det", "Elu", "GRU", "GlobalAveragePool", "GlobalLpPool", "GlobalMaxPool", "GridSample",
    "HardSigmoid", "HardSwish", "InstanceNormalization", "LSTM", "LpNormalization", "LpPool", "MaxPool", "MaxUnpool",
    "Mish", "NegativeLogLikelihoodLoss", "RNN", "RoiAlign", "Round", "Selu", "Sin", "Sinh", "Softplus", "Softsign",
    "Tan", "ThresholdedRelu",
  },
  [24] = { "TopK" },
  [28] = { "Compress", "Einsum", "OneHot", "ReverseSequence" },
}

for below, ops in pairs(BFLOAT16_SINCE) do
  for _, op in ipairs(ops) do
    opset:lower(op .. "()", { below = below }, function(g, n)
      local ins = n.inputs
      for i = 1, ins.n do
        if ins[i] and ins[i].dtype == "bfloat16" then return lib.computed_in(g, n, "float32", "bfloat16") end
      end
    end)
  end
end

opset:lower("IsInf(X)", { below = 20 }, function(g, n)
  if n.X.dtype == "float16" then return lib.computed_in(g, n, "float32") end
end)

opset:lower("CumSum(x, axis)", { below = 14 }, function(g, n)
  if types.bits(n.x.dtype) == 16 then return lib.computed_in(g, n, "float32") end
end)

opset:lower("Range(start, limit, delta)", { below = 27 }, function(g, n)
  if types.bits(n.start.dtype) == 16 and types.is_float(n.start.dtype) then
    return g.Range(n.start:to("float32"), n.limit:to("float32"), n.delta:to("float32")):to(n.start.dtype)
  end
  if n.attrs.stash_type then return lib.again(n, nil, {}) end
end)

-- The low bits of a sum, difference or product do not depend on how many there are above them.
local SMALL = { int8 = "int32", int16 = "int32", uint8 = "int32", uint16 = "int64" }

for _, op in ipairs { "Add", "Div", "Mul", "Sub" } do
  opset:lower(op .. "(A, B)", { below = 14 }, function(g, n)
    if SMALL[n.A.dtype] then return lib.computed_in(g, n, SMALL[n.A.dtype]) end
  end)
end

-- ---- Max, Min, Clip ----

local function extreme(op, wins)
  opset:express(op .. "()", { below = 12 }, function(g, n)
    local y = n.inputs[1]
    if types.is_float(y.dtype) then return end
    for i = 2, n.inputs.n do y = g.Where(g[wins](y, n.inputs[i]), y, n.inputs[i]) end
    return n.inputs.n == 1 and g.Identity(y) or y
  end)
end

extreme("Max", "Greater")
extreme("Min", "Less")

local function limited(g, n)
  local y = n.input
  if n.min then y = g.Max(y, n.min) end
  if n.max then y = g.Min(y, n.max) end
  return y == n.input and g.Identity(y) or y
end

opset:express("Clip(input, min?, max?)", { below = 12 }, function(g, n)
  if not types.is_float(n.input.dtype) then return limited(g, n) end
end)

opset:lower("Clip(input, min?, max?)", { below = 11 }, function(g, n)
  local min, max = n.min, n.max
  if not util.all_constant(min, max) or n.input.dtype == "float64" then return limited(g, n) end
  return lib.again(n, { n.input }, { min = min and min:item() + 0.0, max = max and max:item() + 0.0 })
end)

-- ---- powers and remainders ----

local function is_small_power(v)
  local x = v.is_constant and v.rank == 0 and v:item()
  return math.type(x) == "integer" and x >= 1 and x <= 4 and x
end

opset:express("Pow(X, Y)", { below = 12 }, function(g, n)
  local x, y = n.X, n.Y
  if types.is_float(x.dtype) then
    if y.dtype == x.dtype then return end
    local dtype = types.is_float(y.dtype) and types.promote(x.dtype, y.dtype) or x.dtype
    return g.Pow(x:to(dtype), y:to(dtype)):to(x.dtype)
  end
  local times = is_small_power(y)
  if times then
    local power = x
    for _ = 2, times do power = g.Mul(power, x) end
    return times == 1 and g.Identity(x) or power
  end
  return g.Pow(x:to("float64"), y:to("float64")):to(x.dtype) -- exact below 2^53
end)

-- Where the signs differ, a remainder that is not 0 moves by one divisor.
local function with_sign_of_divisor(g, r, b)
  local zero = g.scalar(0, r)
  local off = g.And(g.Not(g.Equal(r, zero)), g.Xor(g.Less(r, zero), g.Less(b, zero)))
  return g.Where(off, g.Add(r, b), r)
end

opset:lower("Mod(A, B) {fmod=0}", { below = 28 }, function(g, n)
  if n.fmod == 0 and types.is_float(n.A.dtype) then
    return with_sign_of_divisor(g, g.Mod(n.A, n.B, { fmod = 1 }), n.B)
  end
end)

-- The quotient cut off, in a dtype in which it is exact up to 2^29 (of float32), and put right by one where the
-- division rounded up.
local function float_remainder(g, a, b)
  local x, y = a:to("float64"), b:to("float64")
  local q = g.Div(x, y)
  local r = g.Sub(x, g.Mul(g.Mul(g.Floor(g.Abs(q)), g.Sign(q)), y))
  local zero = g.scalar(0, r)
  local wrong = g.And(g.Not(g.Equal(r, zero)), g.Xor(g.Less(r, zero), g.Less(x, zero)))
  r = g.Where(wrong, g.Add(r, g.Mul(g.Abs(y), g.Sign(x))), r)
  local endless = g.And(g.IsInf(y), g.Not(g.IsInf(x)))
  return g.Where(endless, x, r):to(a.dtype)
end

opset:express("Mod(A, B) {fmod=0}", { below = 10 }, function(g, n)
  if n.A.dtype == "float64" then g.decline("a remainder of 64 bits would not be exact") end
  if types.is_float(n.A.dtype) then return float_remainder(g, n.A, n.B) end
  local r = g.Sub(n.A, g.Mul(g.Div(n.A, n.B), n.B))
  if n.fmod == 1 or types.is_unsigned(n.A.dtype) then return r end
  return with_sign_of_divisor(g, r, n.B)
end)

-- ---- comparisons ----

local function ordered(op, strict, opposite)
  opset:express(op .. "(A, B)", { below = 12 }, function(g, n)
    if types.is_float(n.A.dtype) then return g.Or(g[strict](n.A, n.B), g.Equal(n.A, n.B)) end
    return g.Not(g[opposite](n.A, n.B))
  end)
end

ordered("GreaterOrEqual", "Greater", "Less")
ordered("LessOrEqual", "Less", "Greater")

opset:express("Equal(A, B)", { below = 11 }, function(g, n)
  local dtype = n.A.dtype
  if dtype == "bool" or dtype == "int32" or dtype == "int64" then return end
  if types.is_int(dtype) and types.bits(dtype) < 64 then return g.Equal(n.A:to("int64"), n.B:to("int64")) end
  local differ = g.Or(g.Less(n.A, n.B), g.Greater(n.A, n.B))
  if types.is_float(dtype) then differ = g.Or(differ, g.Or(g.IsNaN(n.A), g.IsNaN(n.B))) end
  return g.Not(differ)
end)

opset:express("IsInf(X) {detect_negative=1, detect_positive=1}", { below = 10 }, function(g, n)
  local low, high = types.limits(n.X.dtype)
  local above = g.Greater(n.X, g.scalar(high, n.X))
  local below = g.Less(n.X, g.scalar(low, n.X))
  if n.detect_negative == 0 and n.detect_positive == 0 then return g.And(above, below) end
  if n.detect_negative == 0 then return above end
  if n.detect_positive == 0 then return below end
  return g.Or(above, below)
end)

opset:express("Round(X)", { below = 11 }, function(g, n)
  return lib.widened(n.X, function(x)
    local floor = g.Floor(x)
    local rest, half = g.Sub(x, floor), g.scalar(0.5, x)
    local odd = g.Less(g.Floor(floor * 0.5), floor * 0.5)
    local tie = g.Not(g.Or(g.Less(rest, half), g.Greater(rest, half)))
    local up = g.Or(g.Greater(rest, half), g.And(tie, odd))
    return g.Where(g.IsInf(x), x, g.Where(up, g.Add(floor, g.scalar(1, x)), floor))
  end)
end)

-- ---- bits ----

-- -1 - x turns all bits around.
local function bitwise_not(g, x)
  local low, high = types.limits(x.dtype)
  return g.Sub(g.scalar(types.is_unsigned(x.dtype) and high or low + high, x), x)
end

opset:express("BitwiseNot(X)", { below = 18 }, function(g, n)
  if n.X.dtype ~= "uint64" then return bitwise_not(g, n.X) end
end)

-- The bits of x in a new last dim, the lowest first: the one that stands for the sign is told by a comparison.
local function bits_of(g, x, powers)
  x = g.Unsqueeze(x:to("int64"), g.ints { -1 })
  local low = g.Mod(g.Div(g.Sub(x, g.Mod(x, powers)), powers), g.const { 2 })
  return g.Concat(low, g.Less(x, g.const { 0 }):to("int64"), { axis = -1 })
end

-- The number that bits from `first` on make, 32 at a time: runtimes add up integers in floats. The last is the sign.
local function weighted(g, bits, first, last, count)
  local weights = {}
  for i = first, last - 1 do weights[#weights + 1] = 1 << (i - first) end
  if last == count then weights[#weights + 1] = -(1 << (count - first)) end
  local part = g.Slice(bits, g.const { first }, g.const { first + #weights }, g.const { -1 })
  return g.ReduceSum(g.Mul(part, g.const(weights)), g.ints { -1 }, { keepdims = 0 })
end

local function bitwise(op, combine)
  opset:express(op .. "(A, B)", { below = 18 }, function(g, n)
    local dtype = n.A.dtype
    if dtype == "uint64" then g.decline("64 bits without a sign") end
    local count = types.bits(dtype) - (types.is_unsigned(dtype) and 0 or 1)
    local powers = {}
    for i = 0, count - 1 do powers[i + 1] = 1 << i end
    local bits = combine(g, bits_of(g, n.A, g.const(powers)), bits_of(g, n.B, g.const(powers)))
    local low = weighted(g, bits, 0, math.min(count, 32), count)
    if count <= 32 then return low:to(dtype) end
    return g.Add(low, g.Mul(weighted(g, bits, 32, count, count), g.scalar(1 << 32, "int64")))
  end)
end

bitwise("BitwiseAnd", function(g, a, b) return g.Mul(a, b) end)
bitwise("BitwiseOr", function(g, a, b) return g.Max(a, b) end)
bitwise("BitwiseXor", function(g, a, b) return g.Abs(g.Sub(a, b)) end)

local UNSIGNED = { int8 = "uint8", int16 = "uint32", int32 = "uint32", int64 = "uint64" }

opset:lower("BitShift(X, Y) {direction}", { below = 28 }, function(g, n)
  local x, unsigned = n.X, UNSIGNED[n.X.dtype]
  if not unsigned then return end
  local zero = g.scalar(0, x)
  local beyond = g.Or(g.Less(n.Y, zero), g.Greater(n.Y, g.scalar(types.bits(x.dtype) - 1, x)))
  local y = g.Where(beyond, zero, n.Y):to(unsigned)
  local function shift(v) return g.BitShift(v:to(unsigned), y, { direction = n.direction }):to(x.dtype) end
  if n.direction == "LEFT" then return g.Where(beyond, zero, shift(x)) end
  -- a negative number is shifted with its bits turned around: zeros come in, which are ones in the end
  local negative = g.Less(x, zero)
  local shifted = g.Where(beyond, zero, shift(g.Where(negative, bitwise_not(g, x), x)))
  return g.Where(negative, bitwise_not(g, shifted), shifted)
end)

-- ---- ranges and running sums ----

-- 0, 1, ... up to a length of shape [1] that is known at the run.
local function counted(g, length)
  local ones = g.ConstantOfShape(length, { value = g.ones({ 1 }, "float32") })
  return g.Squeeze(g.NonZero(ones), g.ints { 0 })
end

opset:express("Range(start, limit, delta)", { below = 11 }, function(g, n)
  local start, limit, delta, dtype = n.start, n.limit, n.delta, n.start.dtype
  local one, zero = delta.is_constant and delta:item() == 1, start.is_constant and start:item() == 0
  local wide = types.is_float(dtype) and dtype or "int64"
  local distance = zero and limit or g.Sub(limit, start)
  local length = distance:to(wide)
  if types.is_float(dtype) then
    length = g.Ceil(one and length or g.Div(length, delta)):to("int64")
  elseif not one then
    local step = delta:to(wide)
    local whole = g.Div(length, step)
    local rest = g.Mul(g.Sub(length, g.Mul(whole, step)), g.Sign(step))
    length = g.Add(whole, g.Greater(rest, g.scalar(0, rest)):to("int64"))
  end
  length = g.Max(g.Reshape(length, g.ints { 1 }), g.ints { 0 })
  local y = counted(g, length):to(dtype)
  if not one then y = g.Mul(y, delta) end
  return zero and y or g.Add(y, start)
end)

-- A Scan along the axis: the state is what was added up (or multiplied) so far.
local function running(g, n, x, op, neutral)
  local axis = util.dim(lib.known_integers(n.axis, "its axis")[1], lib.rank(x))
  local rest, perm = {}, {}
  for i = 0, x.rank - 1 do
    if i ~= axis then rest[#rest + 1] = x:size(i) end
  end
  for i = 1, x.rank do perm[i] = i - 1 end
  table.remove(perm, axis + 1)
  local shape = g.Gather(g.Shape(x), g.ints(perm))
  local first = g.Expand(g.scalar(neutral, x), shape)
  local body = g.body("running", { { x.dtype, rest }, { x.dtype, rest } }, function(before, element)
    local after = g[op](before, element)
    return after, g.Identity(n.exclusive == 1 and before or after)
  end)
  local direction = { n.reverse == 1 and 1 or 0 }
  local out = g.Scan(first, x, {
    body = body, num_scan_inputs = 1, scan_input_axes = { axis }, scan_output_axes = { axis },
    scan_input_directions = direction, scan_output_directions = direction, outputs = 2,
  })
  return out[2]
end

opset:express("CumSum(x, axis) {exclusive=0, reverse=0}", { below = 11 }, function(g, n)
  return running(g, n, n.x, "Add", 0)
end)

opset:express("CumProd(x, axis) {exclusive=0, reverse=0}", { below = 26 }, function(g, n)
  return lib.widened(n.x, function(x) return running(g, n, x, "Mul", 1) end)
end)
-- ---- products ----

opset:lower("Gemm(A, B, C?)", { below = 11 }, function(g, n)
  if not n.C then return lib.again(n, { n.A, n.B, g.zeros({ 1 }, n.A.dtype) }) end
end)
