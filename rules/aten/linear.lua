-- rules/aten/linear.lua: products of matrices and vectors.

local aten = require("t2o.rules").namespace("aten")
local util = require("t2o.util")

-- ONNX multiplies matrices of floats and of integers of 32 and 64 bits. Smaller integers are
-- multiplied in 32 bits: cutting the result off is the same as wrapping around on the way.
local SMALL = { int8 = true, int16 = true, uint8 = true, uint16 = true }

local function matmul(g, x, y)
  if not SMALL[x.dtype] then return g.MatMul(x, y) end
  return g.MatMul(x:to("int32"), y:to("int32")):to(x.dtype)
end

local function transposed(g, x)
  if x.rank < 2 then return x end
  return g.Transpose(x, { perm = { 1, 0 } })
end

-- ---- layers ----

aten:rule("linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor", function(g, a)
  local x, w = a.input, a.weight
  if x.rank == 2 and w.rank == 2 and util.is_float(x.dtype) then
    return g.Gemm(x, w, a.bias, { transB = 1 })
  end
  local y = matmul(g, x, transposed(g, w))
  return a.bias and y + a.bias or y
end)

aten:rule("bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None) "
          .. "-> Tensor", function(g, a)
  local x, y, w = a.input1, a.input2, a.weight
  -- [..., 1, 1, i] with [o, i, j] is [..., o, 1, j]; that with [..., 1, j, 1] is [..., o, 1, 1]
  local left = g.MatMul(g.Unsqueeze(x, g.ints { -2, -3 }), w)
  local z = g.MatMul(left, g.Unsqueeze(y, g.ints { -1, -3 }))
  z = g.Squeeze(z, g.ints { -1, -2 })
  return a.bias and z + a.bias or z
end)

-- The operands with dims of 1 put in, multiplied, and summed up along dims. With these dims it is a bilinear form.
aten:rule("_trilinear(Tensor i1, Tensor i2, Tensor i3, int[] expand1, int[] expand2, int[] expand3, int[] sumdim, "
          .. "int unroll_dim=1) -> Tensor", function(g, a)
  local dims = table.concat({ util.show(a.expand1), util.show(a.expand2), util.show(a.expand3), util.show(a.sumdim) })
  if dims == "[1, 3][0][1, 2][2, 3]" then return g.aten.bilinear(a.i1, a.i3, a.i2) end
  local function spread(x, axes) return #axes > 0 and g.Unsqueeze(x, g.ints(axes)) or x end
  local y = spread(a.i1, a.expand1) * spread(a.i2, a.expand2) * spread(a.i3, a.expand3)
  return #a.sumdim > 0 and g.ReduceSum(y, g.ints(a.sumdim), { keepdims = 0 }) or y
end)

-- ---- products ----

-- What x was before its first dimensions were put into one; nil where they were not. Programs in basic operators have
-- a matrix product between two such changes of shape, where PyTorch's own multiplies as it is.
local function unflattened(g, x)
  local inputs = g.made_by(x, "Reshape")
  local wide = inputs and inputs[1]
  if not wide or wide.rank <= x.rank then return nil end
  for d = 1 - x.rank, -1 do
    if not util.equal(wide:size(d), x:size(d)) then return nil end
  end
  return util.equal(util.product(wide.shape, 1, wide.rank - x.rank + 1), x:size(0)) and wide or nil
end

-- The first dimensions that both factors of a batch of products had, or had in one of them.
local function batch_dims(g, x, y)
  local wide, other = unflattened(g, x), unflattened(g, y)
  if not wide then wide, other = other, nil end
  if not wide then return nil end
  local dims = table.move(wide.shape, 1, wide.rank - 2, 1, {})
  local same = other and util.same_shape(dims, table.move(other.shape, 1, other.rank - 2, 1, {}))
  return (same or util.all_static(dims)) and dims or nil
end

for schema, name in pairs {
  ["matmul(Tensor self, Tensor other) -> Tensor"] = "other",
  ["linalg_matmul(Tensor self, Tensor other) -> Tensor"] = "other",
  ["mv(Tensor self, Tensor vec) -> Tensor"] = "vec",
  ["dot(Tensor self, Tensor tensor) -> Tensor"] = "tensor",
  ["vdot(Tensor self, Tensor other) -> Tensor"] = "other",
} do
  aten:rule(schema, function(g, a) return matmul(g, a.self, a[name]) end)
end

aten:rule("mm(Tensor self, Tensor mat2) -> Tensor", function(g, a)
  return g.reshape(matmul(g, unflattened(g, a.self) or a.self, a.mat2), { a.self:size(0), a.mat2:size(1) })
end)

aten:rule("bmm(Tensor self, Tensor mat2) -> Tensor", function(g, a)
  local x, y = a.self, a.mat2
  local dims = batch_dims(g, x, y)
  if not dims then return matmul(g, x, y) end
  local function spread(v)
    return g.reshape(v, table.move(v.shape, 2, 3, #dims + 1, util.copy(dims)))
  end
  return g.reshape(matmul(g, spread(x), spread(y)), { x:size(0), x:size(1), y:size(2) })
end)

-- A product in a dtype of its own.
local function wide(g, a)
  return g.MatMul(a.self:to(a.out_dtype), a.mat2:to(a.out_dtype))
end

aten:rule("mm.dtype(Tensor self, Tensor mat2, ScalarType out_dtype) -> Tensor", wide)
aten:rule("bmm.dtype(Tensor self, Tensor mat2, ScalarType out_dtype) -> Tensor", wide)
aten:rule("_int_mm(Tensor self, Tensor mat2) -> Tensor", function(g, a)
  return g.MatMulInteger(a.self, a.mat2)
end)

-- The sum over the last dims of both.
aten:rule("inner(Tensor self, Tensor other) -> Tensor", function(g, a, n)
  local x, y = a.self, a.other
  if x.rank == 0 or y.rank == 0 then return x * y end
  if y.rank <= 2 then return matmul(g, x, transposed(g, y)) end
  local rows = g.reshape(y, { util.product(y.shape, 1, y.rank - 1), y:size(-1) })
  return g.reshape(matmul(g, x, transposed(g, rows)), n.outputs[1].shape)
end)

local function outer(g, x, y)
  return g.Unsqueeze(x, g.ints { 1 }) * g.Unsqueeze(y, g.ints { 0 })
end

aten:rule("outer(Tensor self, Tensor vec2) -> Tensor", function(g, a)
  return outer(g, a.self, a.vec2)
end)
aten:rule("ger(Tensor self, Tensor vec2) -> Tensor", function(g, a)
  return outer(g, a.self, a.vec2)
end)

local function chain(g, list)
  local y = list[1]
  for i = 2, list.n or #list do y = matmul(g, y, list[i]) end
  return y
end

aten:rule("chain_matmul(Tensor[] matrices) -> Tensor", function(g, a)
  return chain(g, a.matrices)
end)
aten:rule("linalg_multi_dot(Tensor[] tensors) -> Tensor", function(g, a)
  return chain(g, a.tensors)
end)

-- Every element of one with every block of the other: dims of both in turn, then joined in pairs.
aten:rule("kron(Tensor self, Tensor other) -> Tensor", function(g, a, n)
  local x, y = a.self, a.other
  local rank = math.max(x.rank, y.rank)
  local left, right = {}, {}
  for i = 1, rank do
    left[2 * i - 1], left[2 * i] = x.shape[i - rank + x.rank] or 1, 1
    right[2 * i - 1], right[2 * i] = 1, y.shape[i - rank + y.rank] or 1
  end
  return g.reshape(g.reshape(x, left) * g.reshape(y, right), n.outputs[1].shape)
end)

-- ---- products of groups ----

-- The groups along an axis, of which `ends` tells where each ends; then what lies behind the last.
local function groups_of(g, x, ends, axis)
  local starts = g.Concat(g.ints { 0 }, ends, { axis = 0 })
  local stops = g.Concat(ends, g.ints { x:size(axis) }, { axis = 0 })
  return g.Split(x, g.Sub(stops, starts), { axis = axis, outputs = ends:size(0) + 1 })
end

-- Matrix i of a stack.
local function matrix(g, x, i)
  return g.Gather(x, g.scalar(i - 1, "int64"), { axis = 0 })
end

-- Both in groups of what is summed over: a stack of products.
local function stack_of_products(g, x, y, count)
  local out = {}
  for i = 1, count do out[i] = g.Unsqueeze(g.MatMul(x[i], y[i]), g.ints { 0 }) end
  out[count + 1] = { axis = 0 }
  return g.Concat(table.unpack(out))
end

-- One in groups of rows or columns, the other a stack. What is in no group gives 0.
local function groups_of_products(g, x, y, count, axis)
  local out = {}
  local rest
  for i = 1, count do
    out[i] = axis == 0 and g.MatMul(x[i], matrix(g, y, i)) or g.MatMul(matrix(g, x, i), y[i])
  end
  if axis == 0 then
    rest = g.Concat(g.Shape(x[count + 1], { start = 0, ["end"] = 1 }), g.ints { y:size(2) }, { axis = 0 })
  else
    rest = g.Concat(g.ints { x:size(1) }, g.Shape(y[count + 1], { start = 1 }), { axis = 0 })
  end
  out[count + 1] = g.ConstantOfShape(rest, { value = g.const({ 0 }, out[1].dtype) })
  out[count + 2] = { axis = axis }
  return g.Concat(table.unpack(out))
end

aten:rule("_grouped_mm(Tensor self, Tensor mat2, Tensor? offs=None, Tensor? bias=None, ScalarType? out_dtype=None) "
          .. "-> Tensor",
  function(g, a, n)
    if a.bias then g.decline("a bias of grouped products") end
    local dtype = n.outputs[1].dtype
    local x, y = a.self:to(dtype), a.mat2:to(dtype)
    if x.rank == 3 and y.rank == 3 then return g.MatMul(x, y) end
    local ends = a.offs:to("int64")
    local count = ends:size(0)
    if not util.is_static(count) or count == 0 then g.decline("%s groups", tostring(count)) end
    if x.rank == 3 then return groups_of_products(g, x, groups_of(g, y, ends, 1), count, 1) end
    if y.rank == 3 then return groups_of_products(g, groups_of(g, x, ends, 0), y, count, 0) end
    return stack_of_products(g, groups_of(g, x, ends, 1), groups_of(g, y, ends, 0), count)
  end)

-- ---- with something added ----

-- A factor as the element type takes it: cut off to an integer, or true and false.
local function factor_in(dtype, factor)
  if factor == true then factor = 1 elseif factor == false then factor = 0 end
  if dtype == "bool" then return factor ~= 0 end
  if util.is_float(dtype) then return factor + 0.0 end
  return factor < 0 and math.ceil(factor) or math.floor(factor)
end

local function scaled(x, factor)
  if factor == 1 or factor == true then return x end
  return x * factor
end

-- beta * c + alpha * product; with beta 0 c does not count, not even where it is NaN
local function added(c, product, a)
  local y = scaled(product, factor_in(product.dtype, a.alpha))
  local beta = factor_in(product.dtype, a.beta)
  if beta == 0 or beta == false then return y end
  return scaled(c, beta) + y
end

-- The same for 16-bit floats as PyTorch does it: in 32 bits, rounded once.
local function added_once(c, product, a)
  local dtype = product.dtype
  if not util.is_half(dtype) or (a.alpha == 1 and a.beta == 1) then return added(c, product, a) end
  return added(c:to("float32"), product:to("float32"), a):to(dtype)
end

-- Gemm's factors are float32: in float64 only some are exact.
local function fits_gemm(a)
  local dtype = a.mat1.dtype
  if dtype == "float64" then return a.alpha == 1 and (a.beta == 1 or a.beta == 0) end
  return util.is_float(dtype)
end

local function addmm(g, a, n)
  local x = not util.is_half(a.mat1.dtype) and a.self.rank == 1 and unflattened(g, a.mat1)
  if x then return g.reshape(added(a.self, matmul(g, x, a.mat2), a), n.outputs[1].shape) end
  if not fits_gemm(a) then return added(a.self, matmul(g, a.mat1, a.mat2), a) end
  local c = a.beta ~= 0 and a.self or nil
  return g.Gemm(a.mat1, a.mat2, c, { alpha = a.alpha, beta = a.beta })
end

aten:rule("addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) "
          .. "-> Tensor", addmm)
aten:rule("_addmm_activation(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, "
          .. "Scalar alpha=1, "
          .. "bool use_gelu=False) -> Tensor", function(g, a, n)
  local y = addmm(g, a, n)
  return a.use_gelu and g.aten.gelu(y) or g.Relu(y)
end)

aten:rule("addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) "
          .. "-> Tensor", function(g, a)
  return added(a.self, matmul(g, a.mat, a.vec), a)
end)

aten:rule("addr(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
  function(g, a, n)
    local dtype = n.outputs[1].dtype
    local x = scaled(a.vec1:to(dtype), factor_in(dtype, a.alpha))
    return added(a.self:to(dtype), outer(g, x, a.vec2:to(dtype)), { alpha = 1, beta = a.beta })
  end)

aten:rule("baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) "
          .. "-> Tensor",
  function(g, a) return added_once(a.self, matmul(g, a.batch1, a.batch2), a) end)

-- On 16-bit floats PyTorch rounds after each product.
local function added_in_turn(g, a, count)
  local function wide(x) return x:to("float32") end
  local sum, beta = a.self, a.beta
  for i = 0, count - 1 do
    local at = g.scalar(i, "int64")
    local x, y = g.Gather(a.batch1, at, { axis = 0 }), g.Gather(a.batch2, at, { axis = 0 })
    sum = g.aten.addmm(wide(sum), wide(x), wide(y), beta, a.alpha):to(a.self.dtype)
    beta = 1
  end
  return sum
end

-- The sum over the batch is one product of [n, b * m] and [b * m, p].
aten:rule("addbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) "
          .. "-> Tensor",
  function(g, a)
    local x, y = a.batch1, a.batch2
    if util.is_half(x.dtype) and math.type(x:size(0)) == "integer" and x:size(0) < 65 then
      return added_in_turn(g, a, x:size(0))
    end
    local inner = x:size(0) * x:size(2)
    local left = g.reshape(g.Transpose(x, { perm = { 1, 0, 2 } }), { x:size(1), inner })
    return added(a.self, matmul(g, left, g.reshape(y, { inner, y:size(2) })), a)
  end)
