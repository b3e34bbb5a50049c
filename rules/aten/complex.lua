-- rules/aten/complex.lua: complex numbers: values whose last dimension holds the real and the imaginary part.

local aten = require("t2o.rules").namespace("aten")
local complex = require("t2o.complex")
local translate = require("t2o.translate")
local types = require("t2o.types")
local util = require("t2o.util")

local parts, join, pair = complex.parts, complex.join, complex.pair
local dtype_of, rank_of = complex.dtype_of, complex.rank

local function rule(schemas, fn)
  for _, schema in ipairs(type(schemas) == "table" and schemas or { schemas }) do
    aten:rule(schema, { complex = true }, fn)
  end
end

local function itself(_, a) return a.self end

-- ---- to and from pairs ----

-- Each is a copy: what is complex for one reader is not for the other.
rule({ "view_as_real(Tensor(a) self) -> Tensor(a)", "view_as_real_copy(Tensor self) -> Tensor" },
  function(g, a) return g.Identity(a.self) end)
rule({ "view_as_complex(Tensor(a) self) -> Tensor(a)", "view_as_complex_copy(Tensor self) -> Tensor" },
  function(g, a) return g.Identity(a.self) end)

rule("complex(Tensor real, Tensor imag) -> Tensor", function(_, a) return join(a.real, a.imag) end)
rule("polar(Tensor abs, Tensor angle) -> Tensor", function(g, a)
  return join(g.Mul(a.abs, g.Cos(a.angle)), g.Mul(a.abs, g.Sin(a.angle)))
end)
rule("real(Tensor(a) self) -> Tensor(a)", function(_, a) return (parts(a.self)) end)
rule("imag(Tensor(a) self) -> Tensor(a)", function(_, a) return (select(2, parts(a.self))) end)

local function conj(_, a) return complex.conj(a.self) end

rule({
  "_conj(Tensor(a) self) -> Tensor(a)", "conj(Tensor(a) self) -> Tensor(a)", "conj_physical(Tensor self) -> Tensor",
  "_conj_physical(Tensor self) -> Tensor",
}, conj)
rule({ "resolve_conj(Tensor(a) self) -> Tensor(a)", "resolve_neg(Tensor(a) self) -> Tensor(a)" }, itself)
rule({ "clone", "contiguous", "alias", "alias_copy", "detach", "detach_", "detach_copy", "lift", "lift_fresh",
       "lift_fresh_copy", "positive", "dropout", "cpu" }, itself)

-- Real numbers become complex with a part of 0; the other way only real parts count.
local function convert(_, a, n)
  local out = n.outputs[1].dtype
  if types.is_complex(out) then return pair(a.self, types.real_of(out)) end
  return (parts(a.self)):to(out)
end

rule({ "to.dtype", "to.device", "to.dtype_layout", "to.prim_Device", "to.prim_dtype", "to.other", "type_as",
       "_to_copy" }, convert)

-- ---- sizes and orders ----

local DIM, SELF_DIM = { "dim" }, { dim = { "dim" } }

for op, spec in pairs {
  ["view"] = { size = "size" }, ["_unsafe_view"] = { size = "size" }, ["view_copy"] = { size = "size" },
  ["reshape"] = { size = "shape" }, ["expand"] = { size = "size" }, ["expand_copy"] = { size = "size" },
  ["broadcast_to"] = { size = "size" }, ["repeat"] = { size = "repeats", ending = 1 },
  ["tile"] = { size = "dims", ending = 1 },
  ["flatten.using_ints"] = { dim = { "start_dim", "end_dim" } }, ["unflatten.int"] = SELF_DIM,
  ["squeeze"] = {}, ["squeeze.dim"] = SELF_DIM, ["squeeze.dims"] = SELF_DIM,
  ["squeeze_copy"] = {}, ["squeeze_copy.dim"] = SELF_DIM, ["squeeze_copy.dims"] = SELF_DIM,
  ["narrow_copy"] = SELF_DIM, ["unsafe_split.Tensor"] = SELF_DIM, ["split_with_sizes_copy"] = SELF_DIM,
  ["unsafe_chunk"] = SELF_DIM, ["unbind_copy.int"] = SELF_DIM, ["split_copy.Tensor"] = SELF_DIM,
  ["unsafe_split_with_sizes"] = SELF_DIM, ["unsqueeze"] = { dim = DIM, more = 1 },
  ["unsqueeze_copy"] = { dim = DIM, more = 1 },
  ["transpose.int"] = { dim = { "dim0", "dim1" } }, ["swapdims"] = { dim = { "dim0", "dim1" } },
  ["swapaxes"] = { dim = { "axis0", "axis1" } }, ["transpose_copy.int"] = { dim = { "dim0", "dim1" } },
  ["permute"] = { dim = { "dims" }, order = "dims" }, ["permute_copy"] = { dim = { "dims" }, order = "dims" },
  ["movedim.int"] = { dim = { "source", "destination" } }, ["moveaxis.int"] = { dim = { "source", "destination" } },
  ["movedim.intlist"] = { dim = { "source", "destination" } },
  ["moveaxis.intlist"] = { dim = { "source", "destination" } },
  ["slice.Tensor"] = SELF_DIM, ["slice_copy.Tensor"] = SELF_DIM, ["select.int"] = SELF_DIM,
  ["select_copy.int"] = SELF_DIM, ["narrow"] = SELF_DIM, ["split.Tensor"] = SELF_DIM, ["split.sizes"] = SELF_DIM,
  ["split_with_sizes"] = SELF_DIM, ["chunk"] = SELF_DIM, ["unbind.int"] = SELF_DIM,
  ["tensor_split.sections"] = SELF_DIM, ["tensor_split.indices"] = SELF_DIM,
  ["cat"] = { data = { "tensors" }, dim = DIM }, ["concat"] = { data = { "tensors" }, dim = DIM },
  ["concatenate"] = { data = { "tensors" }, dim = DIM },
  ["stack"] = { data = { "tensors" }, dim = DIM, more = 1 },
  ["flip"] = { dim = { "dims" } }, ["fliplr"] = {}, ["flipud"] = {}, ["index_select"] = SELF_DIM,
  ["cumsum"] = SELF_DIM, ["index.Tensor"] = {},
} do
  rule(op, complex.in_pairs("aten::" .. op, spec))
end

-- Whatever moves elements can be done to each part.
for op, data in pairs {
  ["expand_as"] = { "self", "other" }, ["roll"] = { "self" }, ["diagonal"] = { "self" }, ["diagonal_copy"] = { "self" },
  ["diag_embed"] = { "self" }, ["diag"] = { "self" }, ["tril"] = { "self" }, ["triu"] = { "self" },
  ["gather"] = { "self" }, ["rot90"] = { "self" }, ["unfold"] = { "self" },
  ["view_as"] = { "self", "other" }, ["reshape_as"] = { "self", "other" }, ["numpy_T"] = { "self" },
  ["repeat_interleave.self_int"] = { "self" }, ["take_along_dim"] = { "self" }, ["ravel"] = { "self" },
  ["masked_select"] = { "self" }, ["trace"] = { "self" }, ["sum"] = { "self" }, ["mean"] = { "self" },
  ["slice_scatter"] = { "self", "src" }, ["select_scatter"] = { "self", "src" },
  ["diagonal_scatter"] = { "self", "src" }, ["index_put"] = { "self", "values" }, ["copy"] = { "self", "src" },
  ["index_add"] = { "self", "source" }, ["scatter_add"] = { "self", "src" }, ["scatter.src"] = { "self", "src" },
  ["masked_fill.Scalar"] = { "self", "value" }, ["masked_fill.Tensor"] = { "self", "value" },
  ["where.self"] = { "self", "other" }, ["where.ScalarOther"] = { "self", "other" },
  ["where.ScalarSelf"] = { "self", "other" }, ["hstack"] = { "tensors" }, ["vstack"] = { "tensors" },
  ["dstack"] = { "tensors" }, ["atleast_1d"] = { "self" }, ["atleast_2d"] = { "self" }, ["atleast_3d"] = { "self" },
  ["broadcast_tensors"] = { "tensors" }, ["meshgrid"] = { "tensors" }, ["meshgrid.indexing"] = { "tensors" },
  ["fft_fftshift"] = { "self" }, ["fft_ifftshift"] = { "self" }, ["constant_pad_nd"] = { "self", "value" },
  ["as_strided"] = { "self" }, ["block_diag"] = { "tensors" }, ["fill.Scalar"] = { "self", "value" },
  ["fill.Tensor"] = { "self", "value" },
  ["unfold_copy"] = { "self" }, ["as_strided_copy"] = { "self" }, ["as_strided_scatter"] = { "self", "src" },
  ["hsplit.int"] = { "self" }, ["hsplit.array"] = { "self" }, ["vsplit.int"] = { "self" },
  ["vsplit.array"] = { "self" }, ["dsplit.int"] = { "self" }, ["dsplit.array"] = { "self" },
  ["tensor_split.tensor_indices_or_sections"] = { "self" }, ["take"] = { "self" }, ["put"] = { "self", "source" },
  ["index_copy"] = { "self", "source" }, ["index_fill.int_Scalar"] = { "self", "value" },
  ["index_fill.int_Tensor"] = { "self", "value" }, ["scatter.value"] = { "self", "value" },
  ["masked_scatter"] = { "self", "source" }, ["repeat_interleave.self_Tensor"] = { "self" },
  ["pixel_shuffle"] = { "self" }, ["pixel_unshuffle"] = { "self" }, ["channel_shuffle"] = { "self" },
  ["im2col"] = { "self" }, ["diff"] = { "self", "prepend", "append" }, ["diagflat"] = { "self" },
  ["zero"] = { "self" }, ["sum_to_size"] = { "self" }, ["lerp.Scalar"] = { "self", "end_" },
  ["nansum"] = { "self" }, ["avg_pool1d"] = { "self" }, ["avg_pool2d"] = { "self" },
} do
  rule(op, complex.by_parts("aten::" .. op, data))
end

rule("pad(Tensor self, SymInt[] pad, str mode=\"constant\", float? value=None) -> Tensor",
     complex.by_parts("aten::pad", { "self", "value" }))

local function swap_last(g, z)
  local rank = rank_of(z)
  if rank < 2 then return z end
  local perm = util.range(0, rank)
  perm[rank - 1], perm[rank] = rank - 1, rank - 2
  return complex.mark(g.Transpose(z, { perm = perm }))
end

rule({ "t", "t_copy", "mT" }, function(g, a) return swap_last(g, a.self) end)
rule({ "mH", "matrix_H", "adjoint" }, function(g, a) return complex.conj(swap_last(g, a.self)) end)

-- ---- tensors of one number ----

for op, data in pairs {
  ["zeros"] = {}, ["zeros_like"] = { "self" }, ["new_zeros"] = { "self" }, ["full"] = { "fill_value" },
  ["full_like"] = { "self", "fill_value" }, ["new_full"] = { "self", "fill_value" }, ["scalar_tensor"] = { "s" },
} do
  rule(op, complex.by_parts("aten::" .. op, data))
end

for _, op in ipairs { "ones", "ones_like", "new_ones" } do
  rule(op, function(_, a, n)
    local re = complex.part("aten::" .. op, { "self" }, a, n, 1)
    return types.is_complex(n.outputs[1].dtype) and join(re, 0) or re
  end)
end

-- ---- sums and products ----

local function is_complex(x) return type(x) == "table" or type(x) == "userdata" and x.is_complex end

local function times(g, x, y, dtype)
  if not is_complex(x) then x, y = y, x end
  if not is_complex(y) then return complex.mark(g.Mul(pair(x, dtype), complex.factor(y, dtype))) end
  local a, b = parts(pair(x, dtype))
  local c, d = parts(pair(y, dtype))
  return join(g.Sub(g.Mul(a, c), g.Mul(b, d)), g.Add(g.Mul(a, d), g.Mul(b, c)))
end

local function sum(op, reverse)
  return function(g, a, n)
    local dtype, x, y = dtype_of(n), a.self, a.other
    if reverse then x, y = y, x end
    if a.alpha ~= 1 then y = times(g, pair(y, dtype), a.alpha, dtype) end
    return complex.mark(g[op](pair(x, dtype), pair(y, dtype)))
  end
end

for _, overload in ipairs { ".Tensor", ".Scalar" } do
  rule("add" .. overload, sum("Add"))
  rule("sub" .. overload, sum("Sub"))
  rule("subtract" .. overload, sum("Sub"))
  rule("rsub" .. overload, sum("Sub", true))
end

-- By the larger part of the divisor first, so that squares neither overflow nor vanish.
local function reciprocal(g, y, dtype)
  local c, d = parts(pair(y, dtype))
  local scale = g.Reciprocal(g.Max(g.Abs(c), g.Abs(d)))
  c, d = g.Mul(c, scale), g.Mul(d, scale)
  local size = g.Div(scale, g.Add(g.Mul(c, c), g.Mul(d, d)))
  return join(g.Mul(c, size), g.Neg(g.Mul(d, size)))
end

local function quotient(g, x, y, dtype)
  if is_complex(y) then return times(g, x, reciprocal(g, y, dtype), dtype) end
  return complex.mark(g.Div(pair(x, dtype), complex.factor(y, dtype)))
end

for _, overload in ipairs { ".Tensor", ".Scalar" } do
  for _, name in ipairs { "mul", "multiply" } do
    rule(name .. overload, function(g, a, n) return times(g, a.self, a.other, dtype_of(n)) end)
  end
  for _, name in ipairs { "div", "divide", "true_divide" } do
    rule(name .. overload, function(g, a, n) return quotient(g, a.self, a.other, dtype_of(n)) end)
  end
end
rule("reciprocal", function(g, a, n) return reciprocal(g, a.self, dtype_of(n)) end)
rule({ "neg", "negative" }, function(g, a) return complex.mark(g.Neg(a.self)) end)
rule("square", function(g, a, n) return times(g, a.self, a.self, dtype_of(n)) end)

for _, op in ipairs { "addcmul", "addcdiv" } do
  local fn = op == "addcmul" and times or quotient
  rule(op, function(g, a, n)
    local dtype = dtype_of(n)
    local y = fn(g, a.tensor1, a.tensor2, dtype)
    if a.value ~= 1 then y = times(g, y, a.value, dtype) end
    return complex.mark(g.Add(pair(a.self, dtype), pair(y, dtype)))
  end)
end

for _, op in ipairs { "sum.dim_IntList", "mean.dim" } do
  local all, some = complex.by_parts("aten::" .. op, { "self" }), complex.in_pairs("aten::" .. op, SELF_DIM)
  rule(op, function(g, a, n)
    local none = not a.dim or type(a.dim) == "table" and #a.dim == 0
    return (none and all or some)(g, a, n)
  end)
end

-- ---- products of matrices ----

local function product(op, first, second)
  return function(_, a, n)
    local dtype = dtype_of(n)
    local function real(x, y)
      local args = { [first] = x, [second] = y }
      return translate.as_real("aten::" .. op, args, complex.real_node(n))
    end
    local function cast(x) return x.is_complex and pair(x, dtype) or x:to(dtype) end
    return complex.product(real, cast(a[first]), cast(a[second]))
  end
end

for op, second in pairs {
  ["matmul"] = "other", ["mm"] = "mat2", ["bmm"] = "mat2", ["mv"] = "vec", ["dot"] = "tensor", ["outer"] = "vec2",
  ["ger"] = "vec2", ["inner"] = "other", ["kron"] = "other",
} do
  rule(op, product(op, "self", second))
end
rule("vdot", function(g, a, n)
  local x = is_complex(a.self) and complex.conj(a.self) or a.self
  return product("dot", "self", "tensor")(g, { self = x, tensor = a.other }, n)
end)
-- The real rule is given the operands and whatever else the call says; a bias is added afterwards.
local function convolution(op)
  return function(g, a, n)
    local dtype = dtype_of(n)
    local function real(x, w)
      local args = {}
      for k, v in pairs(a) do args[k] = v end
      args.input, args.weight, args.bias = x, w, nil
      return translate.as_real("aten::" .. op, args, complex.real_node(n))
    end
    local function cast(x) return x.is_complex and pair(x, dtype) or x:to(dtype) end
    local y = complex.product(real, cast(a.input), cast(a.weight))
    if not a.bias then return y end
    local dims = util.fill(1, rank_of(y))
    dims[#dims - #a.stride] = a.bias:size(0)
    dims[#dims + 1] = 2
    return complex.mark(g.Add(y, g.reshape(pair(a.bias, dtype), dims)))
  end
end

for _, op in ipairs {
  "conv1d", "conv1d.padding", "conv2d", "conv2d.padding", "conv3d", "conv3d.padding", "conv_transpose1d",
  "conv_transpose2d.input", "conv_transpose3d.input",
} do
  rule(op, convolution(op))
end

rule("linalg_matmul", function(g, a, n) return product("matmul", "self", "other")(g, a, n) end)

for _, op in ipairs { "addmm", "baddbmm" } do
  local names = op == "addmm" and { "mat1", "mat2", "mm" } or { "batch1", "batch2", "bmm" }
  rule(op, function(g, a, n)
    local dtype = dtype_of(n)
    local y = product(names[3], "self", "mat2")(g, { self = a[names[1]], mat2 = a[names[2]] }, n)
    if a.alpha ~= 1 then y = times(g, y, a.alpha, dtype) end
    if a.beta == 0 then return y end
    local x = a.beta == 1 and pair(a.self, dtype) or times(g, a.self, a.beta, dtype)
    return complex.mark(g.Add(x, y))
  end)
end

rule("linear", function(g, a, n)
  local y = product("linear", "input", "weight")(g, a, n)
  return a.bias and complex.mark(g.Add(y, pair(a.bias, dtype_of(n)))) or y
end)

-- One operand after the other joins a product that is linear in each.
rule("einsum", function(g, a, n)
  local dtype = dtype_of(n)
  if #a.tensors > 2 then g.decline("an einsum of more than two complex tensors") end
  local function real(...)
    return translate.as_real("aten::einsum", { equation = a.equation, tensors = { n = #a.tensors, ... } },
                             complex.real_node(n))
  end
  local x = pair(a.tensors[1], dtype)
  if not a.tensors[2] then
    local re, im = parts(x)
    return join(real(re), real(im))
  end
  return complex.product(real, x, is_complex(a.tensors[2]) and pair(a.tensors[2], dtype) or a.tensors[2]:to(dtype))
end)

-- ---- functions ----

-- Squares of single precision are taken in double: they would overflow where the length does not.
local function length(g, z)
  local wide = z.dtype == "float64" and z or z:to("float64")
  return g.ReduceL2(wide, g.ints { z.rank - 1 }, { keepdims = 0 }):to(z.dtype)
end

local function angle(g, z)
  local re, im = parts(z)
  return g.aten.atan2(im, re)
end

rule({ "abs", "absolute" }, function(g, a) return length(g, a.self) end)
rule("angle", function(g, a) return angle(g, a.self) end)
rule({ "sgn", "sign" }, function(g, a)
  local size = length(g, a.self)
  local divisor = g.Where(g.Equal(size, g.scalar(0, size)), g.scalar(1, size), size)
  return complex.mark(g.Div(a.self, complex.factor(divisor, size.dtype)))
end)

local function exp(g, z)
  local re, im = parts(z)
  local size = g.Exp(re)
  return join(g.Mul(size, g.Cos(im)), g.Mul(size, g.Sin(im)))
end
local function log(g, z) return join(g.Log(length(g, z)), angle(g, z)) end

-- sqrt((|z| + |x|) / 2) is the larger part of the root, the other follows from 2 * product = imaginary part.
local function sqrt(g, z)
  local re, im = parts(z)
  local zero, half = g.scalar(0, re), g.scalar(0.5, re)
  local large = g.Sqrt(g.Mul(half, g.Add(length(g, z), g.Abs(re))))
  local none = g.Equal(large, zero)
  local small = g.Div(g.Mul(half, g.Abs(im)), g.Where(none, g.scalar(1, re), large))
  local right = g.GreaterOrEqual(re, zero)
  local imaginary = g.Where(right, small, large)
  -- the sign of the imaginary part, that of -0 included
  local negative = g.Or(g.Less(im, zero), g.Less(g.Reciprocal(im), zero))
  return join(g.Where(right, large, small), g.Where(negative, g.Neg(imaginary), imaginary))
end

rule("exp", function(g, a) return exp(g, a.self) end)
rule("log", function(g, a) return log(g, a.self) end)
rule("sqrt", function(g, a) return sqrt(g, a.self) end)
rule("rsqrt", function(g, a, n) return reciprocal(g, sqrt(g, a.self), dtype_of(n)) end)

for op, base in pairs { ["log2"] = 2, ["log10"] = 10 } do
  rule(op, function(g, a)
    return complex.mark(g.Div(log(g, a.self), g.scalar(math.log(base), a.self)))
  end)
end

-- sin(x + iy) = sin x cosh y + i cos x sinh y, and so on; hyperbolic ones with the parts exchanged.
local function waves(first, second, third, fourth, negative)
  return function(g, a)
    local re, im = parts(a.self)
    local imaginary = g.Mul(g[third](re), g[fourth](im))
    return join(g.Mul(g[first](re), g[second](im)), negative and g.Neg(imaginary) or imaginary)
  end
end

rule("sin", waves("Sin", "Cosh", "Cos", "Sinh"))
rule("cos", waves("Cos", "Cosh", "Sin", "Sinh", true))
rule("sinh", waves("Sinh", "Cos", "Cosh", "Sin"))
rule("cosh", waves("Cosh", "Cos", "Sinh", "Sin"))

-- z^n for a whole number n >= 1, by squares.
local function whole_power(g, z, n, dtype)
  local result
  while n > 0 do
    if n % 2 == 1 then result = result and times(g, result, z, dtype) or z end
    n = n // 2
    if n > 0 then z = times(g, z, z, dtype) end
  end
  return result
end

local function power(g, z, n, dtype)
  local whole = type(n) == "number" and math.tointeger(n)
  if whole and math.abs(whole) > 64 or type(n) == "table" then whole = nil end
  if n == 0.5 then return sqrt(g, pair(z, dtype)) end
  if whole == 0 then return join(g.expand(g.scalar(1, dtype), (parts(z)).shape), 0) end
  if whole then
    local y = whole_power(g, pair(z, dtype), math.abs(whole), dtype)
    return whole > 0 and y or reciprocal(g, y, dtype)
  end
  return g.decline("a complex power that is not a small whole number")
end

rule({ "pow.Tensor_Scalar", "pow.Tensor_Tensor" }, function(g, a, n)
  local exponent = a.exponent
  if type(exponent) == "userdata" and exponent.is_constant and exponent.rank == 0 then exponent = exponent:item() end
  return power(g, a.self, exponent, dtype_of(n))
end)

-- tan(x + iy) = (sin 2x + i sinh 2y) / (cos 2x + cosh 2y), in a form that does not overflow.
local function tangent(g, re, im)
  local t, h = g.Tan(re), g.Tanh(im)
  local th = g.Mul(t, h)
  local size = g.Add(g.scalar(1, re), g.Mul(th, th))
  local one = g.scalar(1, re)
  return g.Div(g.Mul(t, g.Sub(one, g.Mul(h, h))), size), g.Div(g.Mul(h, g.Add(one, g.Mul(t, t))), size)
end

rule("tan", function(g, a) return join(tangent(g, parts(a.self))) end)
rule("tanh", function(g, a)
  local re, im = parts(a.self)
  local imaginary, real = tangent(g, im, re)
  return join(real, imaginary)
end)

rule("linalg_vector_norm", function(g, a, n)
  local args = {}
  for k, v in pairs(a) do args[k] = v end
  args.self = length(g, a.self)
  return translate.as_real("aten::linalg_vector_norm", args, n)
end)

-- ---- comparisons ----

-- Whether each number is another than 0.
local function truth(g, x)
  if not is_complex(x) then return x:to("bool") end
  return g.ReduceMax(x:to("bool"):to("int32"), g.ints { -1 }, { keepdims = 0 }):to("bool")
end

for _, op in ipairs {
  "all", "all.dim", "any", "any.dim", "count_nonzero", "count_nonzero.dim_IntList", "nonzero", "argwhere",
  "logical_not", "logical_and", "logical_or", "logical_xor",
} do
  rule(op, function(g, a, n)
    local args = {}
    for k, v in pairs(a) do args[k] = v end
    args.self, args.other = truth(g, a.self), a.other and truth(g, a.other)
    return translate.as_real("aten::" .. op, args, n)
  end)
end

local function equal(g, a)
  local dtype = is_complex(a.self) and a.self.dtype or a.other.dtype
  if type(a.other) == "userdata" and a.other.dtype == "float64" then dtype = "float64" end
  local same = g.Equal(pair(a.self, dtype), pair(a.other, dtype))
  return g.ReduceMin(same:to("int32"), g.ints { -1 }, { keepdims = 0 }):to("bool")
end

for _, overload in ipairs { ".Tensor", ".Scalar" } do
  rule("eq" .. overload, equal)
  rule("ne" .. overload, function(g, a) return g.Not(equal(g, a)) end)
end

for op, both in pairs { ["isnan"] = "Or", ["isinf"] = "Or", ["isfinite"] = "And" } do
  rule(op, function(g, a, n)
    local re, im = parts(a.self)
    local function ask(x) return translate.as_real("aten::" .. op, { self = x }, n) end
    return g[both](ask(re), ask(im))
  end)
end
rule("isreal", function(g, a)
  local _, im = parts(a.self)
  return g.Equal(im, g.scalar(0, im))
end)
