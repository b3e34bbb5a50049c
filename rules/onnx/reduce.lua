-- rules/onnx/reduce.lua: reductions over axes.

local core = require("t2o.core")
local onnx = require("t2o.back").registry
local backmath = require("t2o.backmath")
local util = require("t2o.util")
local is_int, is_unsigned = backmath.is_int, backmath.is_unsigned

-- The dims that a reduction goes over: a list, or nil for all of them; {} for none.
local function dims_of(t, n)
  local dims = n.axes and t.sizes(n.axes) or {}
  local count = dims.n or #dims
  if count > 0 then
    for i = 1, count do dims[i] = backmath.axis(dims[i], n.data) end
    return dims
  end
  if n.noop_with_empty_axes ~= 0 then return {} end
  return backmath.has_rank(n.data) and backmath.all_dims(n.data.rank) or nil
end

local function is_none(dims) return dims ~= nil and (dims.n or #dims) == 0 end

-- Sum and the like of all dims to a number without dims: the short form.
local function is_all(n, dims)
  return n.keepdims == 0 and (dims == nil or backmath.has_rank(n.data) and (dims.n or #dims) == n.data.rank)
end

local function sum(t, n, x, dims, dtype)
  if is_none(dims) then return x end
  if is_all(n, dims) then return t.aten.sum(x, { dtype = dtype }) end
  return t.aten["sum.dim_IntList"](x, dims or {}, n.keepdims ~= 0, { dtype = dtype })
end

-- Integers of up to 64 bits are summed in int64, floats in their own dtype.
local function sum_in(t, n, x, dims)
  local dtype = n.data.dtype
  if not is_int(dtype) then return sum(t, n, x, dims) end
  if is_none(dims) then return x end
  if is_unsigned(dtype) then return t.aten["to.dtype"](sum(t, n, x, dims), dtype) end
  return sum(t, n, x, dims, dtype)
end

local function reduction(header, fn)
  onnx:rule(header .. " {keepdims=1, noop_with_empty_axes=0}", function(t, n)
    return fn(t, n, n.data, dims_of(t, n))
  end)
end

-- PyTorch's functions of floats on integers: in 64 bits and back.
local function of_floats(header, fn)
  reduction(header, function(t, n, x, dims)
    local dtype = n.data.dtype
    if not is_int(dtype) then return fn(t, n, x, dims) end
    return t.aten["to.dtype"](fn(t, n, t.aten["to.dtype"](x, "float64"), dims), dtype)
  end)
end

reduction("ReduceSum(data, axes?)", sum_in)

reduction("ReduceSumSquare(data, axes?)", function(t, n, x, dims)
  return backmath.narrow(sum_in(t, n, t.aten.square(backmath.wide(x)), dims), x.dtype)
end)

of_floats("ReduceMean(data, axes?)", function(t, n, x, dims)
  if is_none(dims) then return x end
  if is_all(n, dims) then return t.aten.mean(x) end
  return t.aten["mean.dim"](x, dims or {}, n.keepdims ~= 0)
end)

reduction("ReduceL1(data, axes?)", function(t, n, x, dims)
  local dtype = x.dtype
  if is_int(dtype) then return sum_in(t, n, is_unsigned(dtype) and x or t.aten.abs(x), dims) end
  if is_none(dims) then return t.aten.abs(x) end
  return t.aten.linalg_vector_norm(x, 1, dims, n.keepdims ~= 0)
end)

of_floats("ReduceL2(data, axes?)", function(t, n, x, dims)
  if is_none(dims) then return t.aten.abs(x) end
  return t.aten.linalg_vector_norm(x, 2, dims, n.keepdims ~= 0)
end)

of_floats("ReduceLogSum(data, axes?)", function(t, n, x, dims) return t.aten.log(sum(t, n, x, dims)) end)

of_floats("ReduceLogSumExp(data, axes?)", function(t, n, x, dims)
  if is_none(dims) then return x end
  return t.aten.logsumexp(x, dims or t.decline("a reduction over all dims of which nobody knows how many"),
                          n.keepdims ~= 0)
end)

reduction("ReduceProd(data, axes?)", function(t, n, x, dims)
  local dtype = x.dtype
  if is_none(dims) then return x end
  local held = is_int(dtype) and not is_unsigned(dtype) and dtype or nil
  if is_all(n, dims) then
    x = t.aten.prod(x, { dtype = held })
  else
    if not dims then t.decline("a product over all dims of which nobody knows how many") end
    -- one at a time, the last first, so that those before keep their numbers
    local order = table.move(dims, 1, dims.n or #dims, 1, {})
    if #order > 1 and n.keepdims == 0 then
      for _, d in ipairs(order) do
        if not math.type(d) or d < 0 then t.decline("a product over axes that are known at run time only") end
      end
      table.sort(order, function(a, b) return a > b end)
    end
    for _, d in ipairs(order) do x = t.aten["prod.dim_int"](x, d, n.keepdims ~= 0, { dtype = held }) end
  end
  return is_unsigned(dtype) and t.aten["to.dtype"](x, dtype) or x
end)

-- ---- the extremes ----

-- By their bits, as PyTorch computes with them.
local SMALLEST = { uint8 = 0, uint16 = 0, uint32 = 0, uint64 = 0, int8 = -128, int16 = -32768, int32 = -2147483648,
  int64 = math.mininteger, bool = false }
local LARGEST = { uint8 = 255, uint16 = 65535, uint32 = 4294967295, uint64 = -1, int8 = 127,
  int16 = 32767, int32 = 2147483647,
  int64 = math.maxinteger, bool = true }

-- Elements of a value; nil where they are known at run time only.
local function count(v)
  local out = 1
  for _, size in ipairs(backmath.has_rank(v) and v.shape or { "?" }) do
    if size == 0 then return 0 end
    out = out and math.type(size) and out * size or nil
  end
  return out
end

-- Whether something is made of nothing.
local function is_empty(x, y) return count(x) == 0 and (count(y) or 0) > 0 end

-- Whether a size may be 0 that is reduced; PyTorch's exporters write down what would have raised there too.
local function may_be_empty(n, dims)
  if n.node and #core.modules(n.node) > 0 then return false end
  if not (dims and backmath.has_rank(n.data)) then return true end
  for i = 1, dims.n or #dims do
    local size = math.type(dims[i]) and n.data:size(dims[i])
    if not size or not math.type(size) and util.compare(size, 0) ~= 1 then return true end
  end
  return false
end

local function extreme(header, name, of_nothing, infinity)
  reduction(header, function(t, n, x, dims)
    local dtype = x.dtype
    if is_none(dims) then return x end
    local value = of_nothing[dtype]
    if value == nil then value = backmath.is_float(dtype) and infinity or t.decline("the extreme of nothing") end
    if is_empty(x, n.outputs[1]) then
      local all = t.aten.full(n.outputs[1].shape, value, { dtype = backmath.computing(dtype) })
      return backmath.narrow(all, dtype)
    end
    local wide, back = backmath.ordered(x)
    local guarded = t.python and may_be_empty(n, dims)
    if is_all(n, dims) then dims = {} end
    if guarded then
      if dtype == "uint64" then value = value ~ math.mininteger end
      return back(t.helper[name .. "_or"](wide, dims or {}, n.keepdims ~= 0, value))
    end
    return back(t.aten[name](wide, dims or {}, n.keepdims ~= 0))
  end)
end

extreme("ReduceMax(data, axes?)", "amax", SMALLEST, -math.huge)
extreme("ReduceMin(data, axes?)", "amin", LARGEST, math.huge)

-- ---- running sums and products ----

-- Each place with what is before it instead: the first one holds what begins, the last one goes.
local function exclusive(t, x, axis, begin)
  local like = begin == 0 and t.aten.zeros_like or t.aten.ones_like
  if not math.type(axis) then
    local first = t.aten.zeros({ 1 }, { dtype = "int64" })
    return t.aten["index_fill.int_Scalar"](t.aten.roll(x, { 1 }, { axis }), axis, first, begin)
  end
  local first = t.aten["slice.Tensor"](x, axis, 0, 1)
  local others = t.aten["slice.Tensor"](x, axis, 0, -1)
  return t.aten.cat({ like(first), others }, axis)
end

local function running(header, name, begin)
  onnx:rule(header .. " {exclusive=0, reverse=0}", function(t, n)
    local x, axis, dtype = backmath.wide(n.x), backmath.axis(t.item(n.axis), n.x), n.x.dtype
    if n.reverse ~= 0 then x = t.aten.flip(x, { axis }) end
    x = t.aten[name](x, axis, { dtype = is_int(dtype) and not is_unsigned(dtype) and dtype or nil })
    if n.exclusive ~= 0 then x = exclusive(t, x, axis, begin) end
    if n.reverse ~= 0 then x = t.aten.flip(x, { axis }) end
    return is_unsigned(dtype) and t.aten["to.dtype"](x, dtype) or x
  end)
end

running("CumSum(x, axis)", "cumsum", 0)
running("CumProd(x, axis)", "cumprod", 1)
