-- rules/aten/reduce.lua: reductions: sums, means, extremes, norms, variances.

local aten = require("t2o.rules").namespace("aten")
local core = require("t2o.core")
local types = require("t2o.types")
local util = require("t2o.util")

-- An ONNX reduction over a list of dims (nil or empty: all of them).
local function over(g, op, x, dims, keepdim)
  if x.rank == 0 then
    if op == "ReduceL1" or op == "ReduceL2" then return g.Abs(x) end
    return op == "ReduceSumSquare" and g.Mul(x, x) or x
  end
  return g[op](x, g.ints(util.dims(dims, x.rank)), { keepdims = keepdim and 1 or 0 })
end

-- How many elements one result comes from: an integer or a dim.
local function count_of(x, dims)
  local n = 1
  for _, d in ipairs(util.dims(dims, x.rank)) do n = n * x.shape[d + 1] end
  return n
end

local function one_dim(d) return d and { d } or nil end

-- Integers add up in int64.
local function accumulate_type(x, dtype)
  return dtype or types.is_float(x.dtype) and x.dtype or "int64"
end

local function as_float(x) return types.is_float(x.dtype) and x or x:to("float32") end

-- ---- sums and means ----

local function total(op)
  return function(g, a)
    return over(g, op, a.self:to(accumulate_type(a.self, a.dtype)), a.dim, a.keepdim)
  end
end

aten:rule("sum(Tensor self, *, ScalarType? dtype=None) -> Tensor", total("ReduceSum"))
aten:rule("sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
          total("ReduceSum"))
aten:rule("prod(Tensor self, *, ScalarType? dtype=None) -> Tensor", total("ReduceProd"))
aten:rule("prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
          function(g, a)
  return over(g, "ReduceProd", a.self:to(accumulate_type(a.self, a.dtype)), { a.dim }, a.keepdim)
end)

-- Of no elements the mean is not a number, which runtimes do not agree about.
local function mean(g, x, dims, keepdim)
  if util.equal(count_of(x, dims), 0) then return over(g, "ReduceSum", x, dims, keepdim) / g.scalar(0, x) end
  return over(g, "ReduceMean", x, dims, keepdim)
end

local function mean_rule(g, a) return mean(g, a.dtype and a.self:to(a.dtype) or a.self, a.dim, a.keepdim) end

aten:rule("mean(Tensor self, *, ScalarType? dtype=None) -> Tensor", mean_rule)
aten:rule("mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor", mean_rule)

-- x with 0 for what is not a number
local function without_nan(g, x)
  return types.is_float(x.dtype) and g.Where(g.IsNaN(x), g.scalar(0, x), x) or x
end

aten:rule("nansum(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
          function(g, a)
  local x = without_nan(g, a.self)
  return over(g, "ReduceSum", x:to(accumulate_type(x, a.dtype)), a.dim, a.keepdim)
end)

aten:rule("nanmean(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
          function(g, a)
  local x = a.dtype and a.self:to(a.dtype) or a.self
  local count = over(g, "ReduceSum", g.Not(g.IsNaN(x)):to(x.dtype), a.dim, a.keepdim)
  return g.Div(over(g, "ReduceSum", without_nan(g, x), a.dim, a.keepdim), count)
end)

local function count_nonzero(g, x, dims)
  return over(g, "ReduceSum", x:to("bool"):to("int64"), dims)
end

aten:rule("count_nonzero(Tensor self, int? dim=None) -> Tensor", function(g, a)
  return count_nonzero(g, a.self, one_dim(a.dim))
end)
aten:rule("count_nonzero.dim_IntList(Tensor self, int[] dim) -> Tensor", function(g, a)
  return count_nonzero(g, a.self, a.dim)
end)

-- ---- all and any ----

-- The result is bool but for uint8, which PyTorch keeps. An empty list of dims reduces nothing.
local function quantifier(invert)
  return function(g, a)
    local x = a.self:to("bool")
    local dims = math.type(a.dim) == "integer" and { a.dim } or a.dim
    if not (dims and #dims == 0) and x.rank > 0 then
      local counted = invert and g.Not(x) or x
      local found = g.Greater(over(g, "ReduceSum", counted:to("int32"), dims, a.keepdim), g.scalar(0, "int32"))
      x = invert and g.Not(found) or found
    end
    return a.self.dtype == "uint8" and x:to("uint8") or x
  end
end

for name, fn in pairs { all = quantifier(true), any = quantifier(false) } do
  aten:rule(name .. "(Tensor self) -> Tensor", fn)
  aten:rule(name .. ".dim(Tensor self, int dim, bool keepdim=False) -> Tensor", fn)
  aten:rule(name .. ".dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor", fn)
end
aten:rule("_is_all_true(Tensor self) -> Tensor", quantifier(true))
aten:rule("_is_any_true(Tensor self) -> Tensor", quantifier(false))

-- ---- extremes ----

-- bool and 16-bit integers are reduced in a dtype for which ONNX has the reduction.
local STAND_IN = { bool = "uint8", int16 = "int32", uint16 = "int32" }

-- Whether an element may be not a number, as no integer and nothing cast from one is.
local function may_hold_nan(x)
  if not types.is_float(x.dtype) then return false end
  local made_by = core.producer(x)
  return not (made_by and made_by.op == "onnx::Cast" and not types.is_float(made_by.inputs[1].dtype))
end

-- One element that is not a number makes the result so, which runtimes do not see to. A sum of sizes cannot become
-- it in another way, as a sum of infinities can.
local function extreme(g, op, x, dims, keepdim)
  local y = over(g, op, x:to(STAND_IN[x.dtype] or x.dtype), dims, keepdim):to(x.dtype)
  if x.rank == 0 or not may_hold_nan(x) then return y end
  local sizes = over(g, "ReduceL1", x, dims, keepdim)
  return g.Where(g.IsNaN(sizes), sizes, y)
end

-- What is not a number is the extreme, which runtimes do not see so: beyond every other number then.
local function comparable(g, op, x)
  if not types.is_float(x.dtype) then return x:to(STAND_IN[x.dtype] or x.dtype) end
  local low, high = types.limits(x.dtype)
  local finite = op == "ArgMax" and g.Min(x, g.scalar(high, x)) or g.Max(x, g.scalar(low, x))
  return g.Where(g.IsNaN(x), g.scalar(op == "ArgMax" and math.huge or -math.huge, x), finite)
end

-- Where along a dim the first extreme is; over all of the elements without a dim.
local function where_extreme(g, op, x, d, keepdim)
  if x.rank == 0 then return g.const(0, "int64") end
  x = comparable(g, op, x)
  local axis = d and util.dim(d, x.rank) or 0
  local flat = d and x or g.reshape(x, { util.product(x.shape) })
  local index = g[op](flat, { axis = axis, keepdims = keepdim and d and 1 or 0 })
  return keepdim and not d and g.reshape(index, util.fill(1, x.rank)) or index
end

for name, ops in pairs { max = { "ReduceMax", "ArgMax" }, min = { "ReduceMin", "ArgMin" } } do
  local reduce, arg = ops[1], ops[2]
  aten:rule("a" .. name .. "(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor", function(g, a)
    return extreme(g, reduce, a.self, a.dim, a.keepdim)
  end)
  aten:rule(name .. "(Tensor self) -> Tensor", function(g, a) return extreme(g, reduce, a.self) end)
  aten:rule(name .. ".dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
            function(g, a)
    return extreme(g, reduce, a.self, { a.dim }, a.keepdim), where_extreme(g, arg, a.self, a.dim, a.keepdim)
  end)
  aten:rule("arg" .. name .. "(Tensor self, int? dim=None, bool keepdim=False) -> Tensor", function(g, a)
    return where_extreme(g, arg, a.self, a.dim, a.keepdim)
  end)
end

aten:rule("aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)", function(g, a)
  local dims = one_dim(a.dim)
  return extreme(g, "ReduceMin", a.self, dims, a.keepdim), extreme(g, "ReduceMax", a.self, dims, a.keepdim)
end)

-- ---- norms ----

local function norm(g, x, p, dims, keepdim)
  if p == math.huge then return extreme(g, "ReduceMax", g.Abs(x), dims, keepdim) end
  if p == -math.huge then return extreme(g, "ReduceMin", g.Abs(x), dims, keepdim) end
  if p == 0 then return over(g, "ReduceSum", x:to("bool"):to(x.dtype), dims, keepdim) end
  if p == 1 then return over(g, "ReduceL1", x, dims, keepdim) end
  if p == 2 then return over(g, "ReduceL2", x, dims, keepdim) end
  local powers = g.Pow(g.Abs(x), g.scalar(p, x))
  return g.Pow(over(g, "ReduceSum", powers, dims, keepdim), g.scalar(1 / p, x))
end

local function norm_rule(g, a)
  local p = a.ord or a.p or 2
  if type(p) ~= "number" then g.decline("a norm of an order that is no number") end
  return norm(g, as_float(a.dtype and a.self:to(a.dtype) or a.self), p, a.dim, a.keepdim)
end

aten:rule("linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, "
          .. "ScalarType? dtype=None) -> Tensor", norm_rule)
aten:rule("norm.Scalar(Tensor self, Scalar p=2) -> Tensor", norm_rule)
aten:rule("norm.ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool keepdim=False) -> Tensor", norm_rule)
aten:rule("norm.ScalarOpt_dim_dtype(Tensor self, Scalar? p, int[1] dim, bool keepdim, *, ScalarType dtype) "
          .. "-> Tensor", norm_rule)
aten:rule("norm.ScalarOpt_dtype(Tensor self, Scalar? p, *, ScalarType dtype) -> Tensor", norm_rule)
aten:rule("native_norm(Tensor self, Scalar p=2) -> Tensor", norm_rule)
aten:rule("native_norm.ScalarOpt_dim_dtype(Tensor self, Scalar? p, int[1] dim, bool keepdim, "
          .. "ScalarType? dtype) -> Tensor", norm_rule)

aten:rule("norm_except_dim(Tensor v, int pow=2, int dim=0) -> Tensor", function(g, a)
  local dims = {}
  for d = 0, a.v.rank - 1 do
    if a.dim == -1 or d ~= util.dim(a.dim, a.v.rank) then dims[#dims + 1] = d end
  end
  if #dims == 0 then return g.Abs(a.v) end
  return norm(g, a.v, a.pow, dims, a.dim ~= -1)
end)

aten:rule("logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor", function(g, a)
  return over(g, "ReduceLogSumExp", as_float(a.self), a.dim, a.keepdim)
end)
aten:rule("special_logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor", function(g, a)
  return over(g, "ReduceLogSumExp", as_float(a.self), a.dim, a.keepdim)
end)

-- ---- variances ----

-- The sum of squares over n - correction, which counts as 0 where it is less.
local function divisor(g, n, correction, dtype)
  if math.type(n) == "integer" then return g.scalar(math.max(n - correction, 0), dtype) end
  if correction == 0 then return g.scalar(n, dtype) end
  return g.Max(g.Sub(g.scalar(n, dtype), g.scalar(correction, dtype)), g.scalar(0, dtype))
end

local function variance(g, x, a)
  local correction = a.correction
  if correction == nil then correction = (a.unbiased == nil or a.unbiased) and 1 or 0 end
  local middle = mean(g, x, a.dim, true)
  local squares = over(g, "ReduceSumSquare", g.Sub(x, middle), a.dim, a.keepdim)
  return g.Div(squares, divisor(g, count_of(x, a.dim), correction, x.dtype)), middle
end

local function both_of(g, a, spread)
  local v = variance(g, a.self, a)
  return spread(g, v), mean(g, a.self, a.dim, a.keepdim)
end

local SIGNATURES = {
  "%s(Tensor self, bool unbiased=True) -> ",
  "%s.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> ",
  "%s.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> ",
}

for name, spread in pairs { var = function(_, v) return v end, std = function(g, v) return g.Sqrt(v) end } do
  for _, signature in ipairs(SIGNATURES) do
    aten:rule(signature:format(name) .. "Tensor", function(g, a)
      return spread(g, (variance(g, a.self, a)))
    end)
    aten:rule(signature:format(name .. "_mean") .. "(Tensor, Tensor)", function(g, a)
      return both_of(g, a, spread)
    end)
  end
end

-- The dims that were broadcast are summed up again.
aten:rule("sum_to_size(Tensor self, SymInt[] size) -> Tensor", function(g, a)
  local x, dims = a.self, {}
  if #a.size == 0 then return g.aten["sum"](x) end
  local extra = x.rank - #a.size
  for i = 1, x.rank do
    local want = a.size[i - extra]
    if i <= extra or (util.equal(want, 1) and not util.equal(x.shape[i], 1)) then dims[#dims + 1] = i - 1 end
  end
  if #dims == 0 then return x end
  x = x:to(accumulate_type(x))
  return g.reshape(g.ReduceSum(x, g.ints(dims), { keepdims = 1 }), a.size)
end)

-- ---- segments ----

-- Where the segments along an axis begin and end: [..., segments].
local function bounds_of(g, a)
  if a.offsets then
    local function part(first, last)
      return g.Slice(a.offsets, g.ints { first }, g.ints { last }, g.ints { -1 }):to("int64")
    end
    return part(0, -1), part(1, math.maxinteger)
  end
  local lengths = a.lengths:to("int64")
  local ends = g.CumSum(lengths, g.scalar(-1, "int64"))
  return g.Sub(ends, lengths), ends
end

local SEGMENT = {
  sum = { "sum.dim_IntList", 0, "Add" }, prod = { "prod.dim_int", 1, "Mul" }, mean = { "sum.dim_IntList", 0, "Add" },
  max = { "amax", -math.huge, "maximum" }, min = { "amin", math.huge, "minimum" },
}

-- An initial value counts as an element, but not in the number by which a mean is divided.
aten:rule("segment_reduce(Tensor data, str reduce, *, Tensor? lengths=None, Tensor? indices=None, "
          .. "Tensor? offsets=None, "
          .. "int axis=0, bool unsafe=False, Scalar? initial=None) -> Tensor", function(g, a)
  local x, axis = a.data, util.dim(a.axis, a.data.rank)
  local reduce, neutral, join = table.unpack(SEGMENT[a.reduce] or {})
  if not reduce or a.indices or not (a.lengths or a.offsets) then g.decline("this reduction of segments") end
  local first, last = bounds_of(g, a)
  local place = util.arange(g, x:size(axis))
  local function column(v) return g.Unsqueeze(v, g.ints { -1 }) end
  local inside = g.And(g.GreaterOrEqual(place, column(first)), g.Less(place, column(last)))
  local mask = inside
  for _ = axis + 2, x.rank do mask = column(mask) end
  local rows = g.Where(mask, g.Unsqueeze(x, g.ints { axis }), g.scalar(neutral, x.dtype))
  local dim = axis + 1
  local y = g.aten[reduce](rows, reduce == "prod.dim_int" and dim or { dim }, false)
  if a.initial then
    local start = g.scalar(a.initial, x.dtype)
    y = join:find("^%u") and g[join](y, start) or g.aten[join](y, start)
  end
  if a.reduce ~= "mean" then return y end
  local count = g.Sub(last, first):to(x.dtype)
  for _ = axis + 2, x.rank do count = column(count) end
  return a.initial and g.Div(y, g.Max(count, g.scalar(1, x.dtype))) or g.Div(y, count)
end)

aten:rule("_aminmax(Tensor self) -> (Tensor, Tensor)", function(g, a) return g.aten.aminmax(a.self) end)
aten:rule("_aminmax.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor, Tensor)", function(g, a)
  return g.aten.aminmax(a.self, { dim = a.dim, keepdim = a.keepdim })
end)

-- ---- hashes ----

-- The bits of a number in double precision. Those of float32 and narrower ones are all normal there.
local function bits_of(g, x)
  if not types.is_float(x.dtype) then return x:to("int64") end
  if x.dtype == "float64" then g.decline("the bits of float64") end
  local function whole(v) return g.scalar(v, "int64") end
  x = x:to("float64")
  local m, e = g.aten["frexp.Tensor"](x)
  local zero = g.Equal(x, g.scalar(0, x))
  local fraction = g.Abs(m) * g.scalar(2.0 ^ 53, x)
  local normal = (e:to("int64") + whole(1022)) * whole(1 << 52) + (fraction - g.scalar(2.0 ^ 52, x)):to("int64")
  local bits = g.Where(g.IsInf(x), whole(2047 << 52), normal)
  bits = g.Where(zero, whole(0), g.Where(g.IsNaN(x), whole(4095 << 51), bits))
  return bits + g.Where(g.aten.signbit(x), whole(math.mininteger), whole(0))
end

-- The exclusive or of all, halves at a time.
aten:rule("hash_tensor(Tensor self, int[1] dim=[], *, bool keepdim=False, int mode=0) -> Tensor", function(g, a, n)
  if a.mode ~= 0 then g.decline("a hash of mode %d", a.mode) end
  local x, order, others, count = bits_of(g, a.self), {}, {}, 1
  local dims = util.dims(a.dim, x.rank)
  for i = 0, x.rank - 1 do
    if not util.contains(dims, i) then
      order[#order + 1], others[#others + 1] = i, x.shape[i + 1]
    end
  end
  for _, d in ipairs(dims) do
    order[#order + 1], count = d, count * x.shape[d + 1]
  end
  if not util.is_static(count) then g.decline("a hash of %s elements", tostring(count)) end
  others[#others + 1] = count
  if x.rank > 0 then x = g.Transpose(x, { perm = order }) end
  x = g.reshape(x, others)
  local axis = #others - 1
  while count > 1 do
    local half = count // 2
    local pieces = g.Split(x, g.ints { half, half, count - 2 * half }, { axis = axis, outputs = 3 })
    x = g.BitwiseXor(pieces[1], pieces[2])
    if count % 2 == 1 then x = g.Concat(x, pieces[3], { axis = axis }) end
    count = half + count % 2
  end
  if count == 0 then x = g.zeros(n.outputs[1].shape, "int64") end
  return g.reshape(x, n.outputs[1].shape):to("uint64")
end)

-- Names that are put together above, for the index of rules (tools/name_hints.py):
-- "all" "all.dim" "all.dims" "any" "any.dim" "any.dims" "argmax" "argmin" "max" "max.dim" "min"
-- "min.dim" "std" "std.correction" "std.dim" "std_mean" "std_mean.correction" "std_mean.dim" "var"
-- "var.correction" "var.dim" "var_mean" "var_mean.correction" "var_mean.dim"
