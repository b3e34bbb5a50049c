-- rules/aten/scatter.lua: tensors with some of their elements replaced, or combined with others.

local aten = require("t2o.rules").namespace("aten")
local types = require("t2o.types")
local util = require("t2o.util")

local function at_least_1d(g, x) return x.rank == 0 and g.reshape(x, { 1 }) or x end
local function flat(g, x) return g.reshape(x, { util.product(x.shape) }) end

local REDUCTIONS = {
  add = "add", sum = "add", multiply = "mul", prod = "mul", amax = "max", amin = "min", mean = "add",
}

-- An operand of which a result with x is x.
local function neutral(g, reduction, dtype)
  if reduction == "add" then return 0 end
  if reduction == "mul" then return 1 end
  if types.is_float(dtype) then return reduction == "max" and -math.huge or math.huge end
  local least, most = types.limits(dtype)
  return reduction == "max" and least or most
end

-- src may be larger than index: only what stands under an index counts.
local function under(g, src, index)
  if util.same_shape(src.shape, index.shape) then return src end
  return g.Slice(src, g.ints(util.fill(0, src.rank)), g.ints(index.shape), g.ints(util.range(0, src.rank - 1)))
end

-- The mean of what was added: integers are rounded down. Where nothing was added, one element is divided by 1.
local function divided(g, total, x, dim, index, include_self)
  local ones = g.full(index.shape, 1, "int32")
  local start = g.full(x.shape, include_self and 1 or 0, "int32")
  local count = g.ScatterElements(start, index, ones, { axis = dim, reduction = "add" })
  count = g.Max(count, g.scalar(1, "int32")):to(x.dtype)
  return types.is_float(x.dtype) and g.Div(total, count) or total // count
end

-- A maximum or minimum with NaN is NaN, which the operator does not promise.
local function with_nan(g, y, x, dim, index, src)
  local x_bad, src_bad = g.IsNaN(x):to("int32"), g.IsNaN(src):to("int32")
  local bad = g.ScatterElements(x_bad, index, src_bad, { axis = dim, reduction = "max" })
  return g.Where(bad:to("bool"), g.scalar(0 / 0, y.dtype), y)
end

-- What is computed in another dtype: ONNX reduces no booleans, ONNX Runtime no floats of 16 bits.
local COMPUTED_AS = { bool = "int32", float16 = "float32", bfloat16 = "float32" }

-- x with src combined into it at index along dim; reduce is nil where src simply takes the place.
local function scatter(g, x, dim, index, src, reduce, include_self)
  if util.contains(index.shape, 0) then return x end
  local wide = reduce and COMPUTED_AS[x.dtype]
  if wide then return scatter(g, x:to(wide), dim, index, src:to(wide), reduce, include_self):to(x.dtype) end
  local shape, base = x.shape, at_least_1d(g, x)
  index, src = at_least_1d(g, index:to("int64")), at_least_1d(g, src:to(x.dtype))
  src = under(g, src, index)
  local reduction = reduce and REDUCTIONS[reduce]
  if reduce and not reduction then return g.decline("no such reduction: %s", reduce) end
  if reduce and include_self == false then
    local start = g.full(index.shape, neutral(g, reduction, x.dtype), x.dtype)
    base = g.ScatterElements(base, index, start, { axis = dim })
  end
  local y = g.ScatterElements(base, index, src, { axis = dim, reduction = reduction })
  if types.is_float(x.dtype) and (reduce == "amax" or reduce == "amin") then
    y = with_nan(g, y, base, dim, index, src)
  end
  if reduce == "mean" then y = divided(g, y, base, dim, index, include_self) end
  return g.reshape(y, shape)
end

local function number_under(g, a)
  return g.expand(g.scalar(a.value, a.self.dtype), a.index.shape)
end

aten:rule("scatter.src(Tensor self, int dim, Tensor index, Tensor src) -> Tensor", function(g, a)
  return scatter(g, a.self, util.dim(a.dim, a.self.rank), a.index, a.src)
end)
aten:rule("scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor", function(g, a)
  return scatter(g, a.self, util.dim(a.dim, a.self.rank), a.index, number_under(g, a))
end)
aten:rule("scatter.reduce(Tensor self, int dim, Tensor index, Tensor src, *, str reduce) -> Tensor", function(g, a)
  return scatter(g, a.self, util.dim(a.dim, a.self.rank), a.index, a.src, a.reduce)
end)
aten:rule("scatter.value_reduce(Tensor self, int dim, Tensor index, Scalar value, *, str reduce) -> Tensor",
  function(g, a)
    return scatter(g, a.self, util.dim(a.dim, a.self.rank), a.index, number_under(g, a), a.reduce)
  end)
aten:rule("scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor", function(g, a)
  return scatter(g, a.self, util.dim(a.dim, a.self.rank), a.index, a.src, "sum")
end)
aten:rule("scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, "
          .. "bool include_self=True) -> Tensor",
  function(g, a)
    return scatter(g, a.self, util.dim(a.dim, a.self.rank), a.index, a.src, a.reduce, a.include_self)
  end)

-- ---- whole slices at once ----

-- A vector of indices along dim, one for each element of a tensor of this shape.
local function spread(g, index, dim, shape)
  local dims = util.fill(1, #shape)
  dims[dim + 1] = index.rank == 0 and 1 or index:size(0)
  return g.expand(g.reshape(index:to("int64"), dims), shape)
end

local function index_scatter(g, a, src, reduce, include_self)
  local dim = util.dim(a.dim, a.self.rank)
  src = at_least_1d(g, src)
  return scatter(g, a.self, dim, spread(g, a.index, dim, src.shape), src, reduce, include_self)
end

aten:rule("index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor", function(g, a)
  local source = a.source
  if a.alpha ~= 1 and a.alpha ~= true then source = source * g.scalar(a.alpha, source.dtype) end
  return index_scatter(g, a, source, "sum")
end)
aten:rule("index_copy(Tensor self, int dim, Tensor index, Tensor source) -> Tensor", function(g, a)
  return index_scatter(g, a, a.source)
end)
aten:rule("index_reduce(Tensor self, int dim, Tensor index, Tensor source, str reduce, *, "
          .. "bool include_self=True) -> Tensor",
  function(g, a) return index_scatter(g, a, a.source, a.reduce, a.include_self) end)

local function index_fill(g, a)
  local x = at_least_1d(g, a.self)
  local shape = x.shape
  shape[util.dim(a.dim, x.rank) + 1] = a.index.rank == 0 and 1 or a.index:size(0)
  return index_scatter(g, a, g.expand(g.scalar(a.value, x.dtype), shape))
end

aten:rule("index_fill.int_Scalar(Tensor self, int dim, Tensor index, Scalar value) -> Tensor", index_fill)
aten:rule("index_fill.int_Tensor(Tensor self, int dim, Tensor index, Tensor value) -> Tensor", index_fill)

aten:rule("put(Tensor self, Tensor index, Tensor source, bool accumulate=False) -> Tensor", function(g, a)
  local y = scatter(g, flat(g, a.self), 0, flat(g, a.index), flat(g, a.source), a.accumulate and "sum" or nil)
  return g.reshape(y, a.self.shape)
end)

-- ---- into a window ----

local function cut(g, x, dim, start, stop)
  return g.Slice(x, g.ints { start }, g.ints { stop }, g.ints { dim })
end

-- x with src in place of what begins at start (within bounds) along dim.
local function replaced(g, x, src, dim, start)
  local stop, parts = start + src:size(dim), {}
  if start ~= 0 then parts[1] = cut(g, x, dim, 0, start) end
  parts[#parts + 1] = src
  if not util.equal(stop, x:size(dim)) then parts[#parts + 1] = cut(g, x, dim, stop, math.maxinteger) end
  if #parts == 1 then return src end
  parts[#parts + 1] = { axis = dim }
  return g.Concat(table.unpack(parts))
end

local function from_front(d, size)
  return util.compare(d, 0) == -1 and d + size or d
end

aten:rule("select_scatter(Tensor self, Tensor src, int dim, SymInt index) -> Tensor", function(g, a)
  local x, dim = a.self, util.dim(a.dim, a.self.rank)
  local row = g.Unsqueeze(a.src:to(x.dtype), g.ints { dim })
  return replaced(g, x, row, dim, from_front(a.index, x:size(dim)))
end)

aten:rule("slice_scatter(Tensor self, Tensor src, int dim=0, SymInt? start=None, SymInt? end=None, "
          .. "SymInt step=1) -> Tensor",
  function(g, a)
    local x, dim = a.self, util.dim(a.dim, a.self.rank)
    local size, src, step = x:size(dim), a.src:to(x.dtype), a.step
    local start = util.min(util.max(from_front(a.start or 0, size), 0), size)
    local stop = util.max(util.min(from_front(a.end_ or math.maxinteger, size), size), start)
    local want = x.shape
    want[dim + 1] = (stop - start + (step - 1)) // step
    if not util.same_shape(src.shape, want) then src = g.expand(src, want) end
    if step == 1 then return replaced(g, x, src, dim, start) end
    local places = util.arange(g, want[dim + 1]) * g.scalar(step, "int64") + g.scalar(start, "int64")
    return scatter(g, x, dim, spread(g, places, dim, want), src)
  end)
