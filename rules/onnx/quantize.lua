-- rules/onnx/quantize.lua: quantised numbers: integers are computed exactly, as kernels for them do.

local core = require("t2o.core")
local onnx = require("t2o.back").registry
local backmath = require("t2o.backmath")

local function is_number(v) return not core.is_value(v) end

-- ---- scales and zero points ----

-- Each number of a scale as often as its block is long.
local function blocks(t, v, x, axis, size)
  axis = backmath.axis(axis, x)
  local out = t.aten["repeat_interleave.self_int"](v, size, axis)
  local there, needed = v:size(axis) * size, x:size(axis)
  return core.compare(there, needed) == 0 and out or t.aten["slice.Tensor"](out, axis, 0, needed)
end

-- A scale or zero point in a shape that goes with x: one number, one for each place along the axis, or one a block.
local function spread(t, v, x, axis, block)
  if not v then return nil end
  local number = t.literal(v)
  if number then return number end
  t.buffer(v)
  if not backmath.has_rank(v) or v.rank == 0 then return v end
  if block and block > 0 then return blocks(t, v, x, axis, block) end
  if v.rank > 1 or not backmath.has_rank(x) then return v end
  if x.rank == 0 then return t.aten.reshape(v, {}) end
  if v:size(0) == 1 then return v end
  return backmath.along(v, axis, x.rank)
end

-- A scale, which was spread, in a dtype.
local function cast(t, v, from, dtype)
  if is_number(v) or from == dtype then return v end
  return t.aten["to.dtype"](v, dtype)
end

-- What is computed in 32 bits and rounded once.
local function working(dtype) return dtype == "float64" and dtype or "float32" end

-- (x - zero_point) as floats or integers of a dtype.
local function centred(t, x, zero, dtype)
  local out = t.to(t.buffer(x), dtype)
  if zero == nil or zero == 0 then return out end
  if not is_number(zero) and backmath.is_int(dtype) then zero = t.to(zero, dtype) end
  return t.aten["sub.Tensor"](out, zero)
end

local function scaled(t, x, scale)
  if scale == 1 then return x end
  return t.aten["mul.Tensor"](x, scale)
end

-- A float (scaled already) as an integer of the dtype.
local function rounded(t, x, zero, dtype)
  local low, high = table.unpack(backmath.RANGE[dtype])
  x = t.aten.round(x)
  if zero ~= nil and zero ~= 0 then x = t.aten["add.Tensor"](x, zero) end
  return t.aten["to.dtype"](t.aten.clamp(x, low, high), backmath.CARRIER[dtype] or dtype)
end

local function quantize(t, x, scale, zero, dtype)
  if scale ~= 1 then x = t.aten["div.Tensor"](x, scale) end
  return rounded(t, x, zero, dtype)
end

local function dequantize(t, x, scale, zero) return scaled(t, centred(t, x, zero, "float32"), scale) end

-- The operands of one tensor that comes with a scale and a zero point.
local function read(t, x, scale, zero)
  return dequantize(t, x, spread(t, scale, x, 0), spread(t, zero, x, 0))
end

local function write(t, y, scale, zero, n)
  local dtype = n.outputs[1].dtype
  return quantize(t, y, spread(t, scale, y, 0), spread(t, zero, y, 0), dtype)
end

-- ---- the two operators ----

local function takes_zero(dtype) return not backmath.is_float(dtype) end

local function dequantize_linear(t, n)
  local dtype = n.outputs[1].dtype
  local scale = spread(t, n.x_scale, n.x, n.axis, n.block_size)
  local zero = takes_zero(n.x.dtype) and spread(t, n.x_zero_point, n.x, n.axis, n.block_size) or nil
  local held = working(dtype)
  local y = scaled(t, centred(t, n.x, zero, held), cast(t, scale, n.x_scale.dtype, held))
  return held == dtype and y or t.aten["to.dtype"](y, dtype)
end

local function quantize_linear(t, n)
  local dtype = n.outputs[1].dtype
  local precision = n.attrs.precision or n.y_scale.dtype
  local scale = cast(t, spread(t, n.y_scale, n.x, n.axis, n.block_size), n.y_scale.dtype, precision)
  local zero = spread(t, n.y_zero_point, n.x, n.axis, n.block_size)
  local x = t.to(n.x, precision)
  if scale ~= 1 then x = t.aten["div.Tensor"](x, scale) end
  if backmath.LARGEST[dtype] then return backmath.to_float8(x, dtype, n.saturate ~= 0) end
  if backmath.is_float(dtype) then return t.helper.to_float4(x) end
  if precision ~= "float32" and precision ~= "float64" then -- 16 bits hold neither the limits nor the sum
    return rounded(t, t.aten["to.dtype"](x, "float32"), zero, dtype)
  end
  return rounded(t, x, zero, dtype)
end

for _, domain in ipairs { "", "com.microsoft::" } do
  onnx:rule(domain .. "DequantizeLinear(x, x_scale, x_zero_point?) {axis=1, block_size=0}", dequantize_linear)
  onnx:rule(domain .. "QuantizeLinear(x, y_scale, y_zero_point?) {axis=1, block_size=0, saturate=1}", quantize_linear)
end

-- The range always holds 0; of nothing but zeros the scale is 1.
local function dynamic(t, x)
  local low = t.aten.clamp(t.aten.min(x), nil, 0)
  local range = t.aten["sub.Tensor"](t.aten.clamp(t.aten.max(x), 0), low)
  local scale = t.aten["div.Tensor"](range, 255)
  scale = t.aten["masked_fill.Scalar"](scale, t.aten["eq.Scalar"](range, 0), 1)
  local zero = t.aten.clamp(t.aten.round(t.aten["div.Tensor"](t.aten.neg(low), scale)), 0, 255)
  return quantize(t, x, scale, zero, "uint8"), scale, zero
end

onnx:rule("DynamicQuantizeLinear(x)", function(t, n)
  local y, scale, zero = dynamic(t, n.x)
  return y, scale, t.aten["to.dtype"](zero, "uint8")
end)

-- ---- products ----

-- One number for each row as a column.
local function rows(t, v)
  if not v then return nil end
  local number = t.literal(v)
  if number then return number end
  if backmath.is_float(v.dtype) then t.buffer(v) end
  if backmath.has_rank(v) and v.rank == 1 and v:size(0) ~= 1 then return t.aten.unsqueeze(v, -1) end
  return v
end

local function columns(t, v)
  local number = v and t.literal(v)
  if number then return number end
  return v and t.buffer(v)
end

local function product(t, a, a_zero, b, b_zero)
  return t.aten.matmul(centred(t, a, rows(t, a_zero), "int32"), centred(t, b, columns(t, b_zero), "int32"))
end

onnx:rule("MatMulInteger(A, B, a_zero_point?, b_zero_point?)", function(t, n)
  return product(t, n.A, n.a_zero_point, n.B, n.b_zero_point)
end)

local function single(x) return is_number(x) and string.unpack("f", string.pack("f", x)) or x end

-- a * b / c in 32 bits; numbers are multiplied here.
local function factor(t, a, b, c)
  local ab
  if is_number(a) and is_number(b) then
    ab = single(a * b)
  else
    if is_number(a) then a, b = b, a end
    ab = t.aten["mul.Tensor"](a, b)
  end
  if c == nil then return ab end
  if is_number(ab) and is_number(c) then return single(ab / c) end
  if is_number(ab) then return t.aten["mul.Tensor"](t.aten.reciprocal(c), ab) end
  return t.aten["div.Tensor"](ab, c)
end

onnx:rule("QLinearMatMul(a, a_scale, a_zero_point, b, b_scale, b_zero_point, y_scale, y_zero_point)", function(t, n)
  local sums = t.aten["to.dtype"](product(t, n.a, n.a_zero_point, n.b, n.b_zero_point), "float32")
  local scale = factor(t, rows(t, n.a_scale), columns(t, n.b_scale), rows(t, n.y_scale))
  return rounded(t, scaled(t, sums, scale), rows(t, n.y_zero_point), n.outputs[1].dtype)
end)

onnx:rule("com.microsoft::MatMulIntegerToFloat(A, B, a_scale, b_scale, a_zero_point?, b_zero_point?, bias?)",
  function(t, n)
    local dtype = n.outputs[1].dtype
    local sums = t.aten["to.dtype"](product(t, n.A, n.a_zero_point, n.B, n.b_zero_point), dtype)
    local y = scaled(t, sums, factor(t, rows(t, n.a_scale), columns(t, n.b_scale)))
    return n.bias and t.aten["add.Tensor"](y, n.bias) or y
  end)

onnx:rule("com.microsoft::DynamicQuantizeMatMul(A, B, b_scale, b_zero_point?, bias?)", function(t, n)
  local a, scale, zero = dynamic(t, n.A)
  core.copy_shape(a, n.A)
  local b = centred(t, n.B, columns(t, n.b_zero_point), "int32")
  local whole = t.aten["sub.Tensor"](t.aten["to.dtype"](a, "int32"), t.aten["to.dtype"](zero, "int32"))
  local sums = t.aten["to.dtype"](t.aten.matmul(whole, b), "float32")
  local y = scaled(t, sums, factor(t, scale, columns(t, n.b_scale)))
  return n.bias and t.aten["add.Tensor"](y, n.bias) or y
end)

onnx:rule("com.microsoft::QGemm(A, a_scale, a_zero_point, B, b_scale, b_zero_point, C?, y_scale?, y_zero_point?)"
  .. " {alpha=1.0, transA=0, transB=0}", function(t, n)
  local a = centred(t, n.A, columns(t, n.a_zero_point), "int32")
  local b = centred(t, n.B, (n.transB ~= 0 and rows or columns)(t, n.b_zero_point), "int32")
  if n.transA ~= 0 then a = t.aten.t(a) end
  if n.transB ~= 0 then b = t.aten.t(b) end
  local sums = t.aten.matmul(a, b)
  if n.C then sums = t.aten["add.Tensor"](sums, n.C) end
  local scale = factor(t, columns(t, n.a_scale), columns(t, n.b_scale), columns(t, n.y_scale))
  if n.alpha ~= 1 then scale = factor(t, scale, n.alpha) end
  local y = scaled(t, t.aten["to.dtype"](sums, "float32"), scale)
  if not n.y_scale then return y end
  return rounded(t, y, columns(t, n.y_zero_point), n.outputs[1].dtype)
end)

-- ---- convolutions, exact in 64-bit floats ----

local function convolution(t, n, x, x_zero, w, w_zero)
  local by_output = w_zero
  if not is_number(w_zero) and w_zero and backmath.has_rank(w_zero) and w_zero.rank == 1 then
    by_output = backmath.along(w_zero, 0, w.rank)
  end
  local whole = { centred(t, x, x_zero, "float64"), centred(t, w, by_output, "float64") }
  core.copy_shape(whole[1], x)
  core.copy_shape(whole[2], w)
  return t.onnx("Conv", whole, n.attrs, n.outputs)
end

onnx:rule("ConvInteger(x, w, x_zero_point?, w_zero_point?)", function(t, n)
  local y = convolution(t, n, n.x, backmath.operand(n.x_zero_point), n.w, backmath.operand(n.w_zero_point))
  return t.aten["to.dtype"](y, "int32")
end)

-- One number for each channel of the output.
local function channels(t, v, n)
  local number = v and t.literal(v)
  if number or not v then return number end
  t.buffer(v)
  if v.rank == 0 or v:size(0) == 1 then return v end
  return backmath.along(v, 1, n.w.rank)
end

onnx:rule("QLinearConv(x, x_scale, x_zero_point, w, w_scale, w_zero_point, y_scale, y_zero_point, B?)", function(t, n)
  local sums = convolution(t, n, n.x, backmath.operand(n.x_zero_point), n.w, backmath.operand(n.w_zero_point))
  if n.B then sums = t.aten["add.Tensor"](sums, backmath.along(n.B, 1, n.w.rank)) end
  local scale = factor(t, channels(t, n.x_scale, n), channels(t, n.w_scale, n), channels(t, n.y_scale, n))
  return rounded(t, scaled(t, t.aten["to.dtype"](sums, "float32"), scale), channels(t, n.y_zero_point, n),
                 n.outputs[1].dtype)
end)

-- ---- ONNX Runtime's operators on quantised tensors ----

local PAIR = "(A, A_scale, A_zero_point, B, B_scale, B_zero_point, C_scale, C_zero_point)"

for op, name in pairs { ["com.microsoft::QLinearAdd"] = "add.Tensor", ["com.microsoft::QLinearMul"] = "mul.Tensor" } do
  onnx:rule(op .. PAIR, function(t, n)
    local a, b = read(t, n.A, n.A_scale, n.A_zero_point), read(t, n.B, n.B_scale, n.B_zero_point)
    return write(t, t.aten[name](a, b), n.C_scale, n.C_zero_point, n)
  end)
end

local function of_one(header, fn)
  onnx:rule(header, function(t, n)
    local x = read(t, n.X, n.X_scale, n.X_zero_point)
    core.copy_shape(x, n.X)
    return write(t, fn(t, x, n), n.Y_scale, n.Y_zero_point, n)
  end)
end

of_one("com.microsoft::QLinearSigmoid(X, X_scale, X_zero_point, Y_scale, Y_zero_point)",
       function(t, x) return t.aten.sigmoid(x) end)
of_one("com.microsoft::QLinearLeakyRelu(X, X_scale, X_zero_point, Y_scale, Y_zero_point) {alpha=0.01}",
       function(t, x, n) return t.aten.leaky_relu(x, n.alpha) end)
of_one("com.microsoft::QLinearSoftmax(X, X_scale, X_zero_point, Y_scale, Y_zero_point) {axis=-1}", function(t, x, n)
  if (n.attrs.opset or 13) < 13 and backmath.axis(n.axis, n.X) ~= n.X.rank - 1 then
    t.decline("a softmax over several axes")
  end
  return t.aten["softmax.int"](x, n.axis)
end)

-- Channels that come last are put in front for the while.
local function channels_first(t, x, n, fn)
  if (n.attrs.channels_last or 0) == 0 then return fn(x) end
  local there, back = { 0, n.X.rank - 1 }, { 0 }
  for i = 1, n.X.rank - 2 do there[i + 2], back[i + 1] = i, i + 1 end
  back[n.X.rank] = 1
  return t.aten.permute(fn(t.aten.permute(x, there)), back)
end

of_one("com.microsoft::QLinearGlobalAveragePool(X, X_scale, X_zero_point, Y_scale, Y_zero_point)", function(t, x, n)
  return channels_first(t, x, n, function(v)
    local dims = {}
    for i = 2, n.X.rank - 1 do dims[#dims + 1] = i end
    return t.aten["mean.dim"](v, dims, true)
  end)
end)

of_one("com.microsoft::QLinearAveragePool(X, X_scale, X_zero_point, Y_scale, Y_zero_point)", function(t, x, n)
  if (n.attrs.channels_last or 0) ~= 0 then t.decline("channels that come last") end
  return t.onnx("AveragePool", { x }, n.attrs, n.outputs)
end)

of_one("com.microsoft::QLinearReduceMean(X, X_scale, X_zero_point, Y_scale, Y_zero_point) {keepdims=1}",
       function(t, x, n)
  return t.aten["mean.dim"](x, n.attrs.axes or backmath.all_dims(n.X.rank), n.keepdims ~= 0)
end)

onnx:rule("com.microsoft::QLinearWhere(c, X, x_scale, x_zero_point, Y, y_scale, y_zero_point, z_scale, z_zero_point)",
  function(t, n)
    local x, y = read(t, n.X, n.x_scale, n.x_zero_point), read(t, n.Y, n.y_scale, n.y_zero_point)
    return write(t, t.aten["where.self"](n.c, x, y), n.z_scale, n.z_zero_point, n)
  end)

onnx:rule("com.microsoft::QLinearConcat(Y_scale, Y_zero_point) {axis}", function(t, n)
  local parts = {}
  for i = 3, n.inputs.n, 3 do parts[#parts + 1] = read(t, n.inputs[i], n.inputs[i + 1], n.inputs[i + 2]) end
  return write(t, t.aten.cat(parts, n.axis), n.Y_scale, n.Y_zero_point, n)
end)

-- ---- weights of a few bits, packed into bytes along the reduced dimension ----

-- The numbers in each byte of the last dimension, those in the low bits first.
local function unpacked(t, v, bits)
  if bits == 8 then return v end
  local parts = {}
  for i = 0, 8 // bits - 1 do
    local shifted = i == 0 and v or t.aten["__rshift__.Scalar"](v, i * bits)
    parts[i + 1] = t.aten["bitwise_and.Scalar"](shifted, (1 << bits) - 1)
  end
  return t.aten["flatten.using_ints"](t.aten.stack(parts, -1), -2)
end

local function block_zeros(t, n, count, dtype)
  local zeros = n.zero_points
  if not zeros then return 1 << (n.bits - 1) end
  t.buffer(zeros)
  if zeros.dtype ~= "uint8" then return t.aten.reshape(zeros, { n.N, count, 1 }) end
  local whole = unpacked(t, t.aten.reshape(zeros, { n.N, -1 }), n.bits)
  if count * n.bits % 8 ~= 0 then whole = t.aten["slice.Tensor"](whole, 1, 0, count) end
  return t.aten["to.dtype"](t.aten.unsqueeze(whole, -1), dtype)
end

onnx:rule("com.microsoft::MatMulNBits(A, B, scales, zero_points?, g_idx?, bias?) {bits=4}", function(t, n)
  if n.g_idx then t.decline("groups by an index") end
  local dtype, count = n.A.dtype, (n.K + n.block_size - 1) // n.block_size
  t.buffer(n.B)
  t.buffer(n.scales)
  local w
  if t.python and n.scales.dtype == dtype then
    if n.zero_points then t.buffer(n.zero_points) end
    w = t.helper.unpack_weight(n.B, n.scales, n.bits, n.zero_points)
  else
    w = t.aten["to.dtype"](unpacked(t, t.aten.reshape(n.B, { n.N, count, -1 }), n.bits), dtype)
    w = t.aten["sub.Tensor"](w, block_zeros(t, n, count, dtype))
    w = t.aten["mul.Tensor"](w, t.to(t.aten.reshape(n.scales, { n.N, count, 1 }), dtype))
    w = t.aten["flatten.using_ints"](w, 1)
  end
  if count * n.block_size ~= n.K then w = t.aten["slice.Tensor"](w, 1, 0, n.K) end
  return t.aten.linear(n.A, w, n.bias)
end)
