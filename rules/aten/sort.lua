-- rules/aten/sort.lua: order, ranks, sets and counts.

local aten = require("t2o.rules").namespace("aten")
local types = require("t2o.types")
local util = require("t2o.util")

local function at_least_1d(g, x) return x.rank == 0 and g.reshape(x, { 1 }) or x end
local function flat(g, x) return g.reshape(x, { util.product(x.shape) }) end
local function unsqueeze(g, x, dim) return g.Unsqueeze(x, g.ints { dim }) end
local function int(g, x) return g.scalar(x, "int64") end
local function sum(g, x, dim) return g.ReduceSum(x, g.ints { dim }, { keepdims = 0 }) end

-- ---- order ----

-- A dtype that TopK takes, in which values keep their order and come back as they were.
local ORDERED_AS = { bool = "uint8", float16 = "float32", bfloat16 = "float32", uint16 = "int32", uint32 = "int64" }

-- The k least or greatest along dim, and where they stand. TopK puts the first of equals first, so it is stable.
local function top(g, x, k, dim, largest)
  local one_d = at_least_1d(g, x)
  if one_d:size(dim) == 0 or k == 0 then
    local dims = one_d.shape
    dims[dim + 1] = k
    return g.full(dims, 0, x.dtype), g.full(dims, 0, "int64")
  end
  local v, i = g.TopK(one_d:to(ORDERED_AS[x.dtype] or x.dtype), g.ints { k },
                      { axis = dim, largest = largest, sorted = 1, outputs = 2 })
  v = v:to(x.dtype)
  if x.rank == 0 then return g.reshape(v, {}), g.reshape(i, {}) end
  return v, i
end

local function sort(g, a)
  local dim = util.dim(a.dim, a.self.rank)
  return top(g, a.self, a.self.rank == 0 and 1 or a.self:size(dim), dim, a.descending)
end

aten:rule("sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)", sort)
aten:rule("sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False) -> "
          .. "(Tensor values, Tensor indices)", sort)

local function argsort(g, a) return (select(2, sort(g, a))) end

aten:rule("argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor", argsort)
aten:rule("argsort.stable(Tensor self, *, bool stable, int dim=-1, bool descending=False) -> Tensor", argsort)
aten:rule("msort(Tensor self) -> Tensor", function(g, a)
  return (sort(g, { self = a.self, dim = 0, descending = false }))
end)
aten:rule("topk(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True) -> "
          .. "(Tensor values, Tensor indices)",
  function(g, a) return top(g, a.self, a.k, util.dim(a.dim, a.self.rank), a.largest) end)

-- ---- ranks ----

-- x without dim, or with 1 for its size.
local function reduced(g, x, dim, keepdim)
  return keepdim and x or g.Squeeze(x, g.ints { dim })
end

-- The element of rank k (from 1, an integer or a dim) along dim, and where it stands.
local function kth(g, x, k, dim, keepdim)
  local v, i = top(g, x, k, dim, false)
  if x.rank == 0 then return v, i end
  local function last(t)
    return reduced(g, g.Slice(t, g.ints { k - 1 }, g.ints { k }, g.ints { dim }), dim, keepdim)
  end
  return last(v), last(i)
end

aten:rule("kthvalue(Tensor self, SymInt k, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)",
  function(g, a) return kth(g, a.self, a.k, util.dim(a.dim, a.self.rank), a.keepdim) end)

-- The lower one of the middle two. One NaN makes the result NaN, and the first of them is where it stands.
local function median(g, x, dim, keepdim)
  local v, i = kth(g, x, x.rank == 0 and 1 or (x:size(dim) + 1) // 2, dim, keepdim)
  if not types.is_float(x.dtype) or x.rank == 0 then return v, i end
  local bad = g.IsNaN(x):to("int32")
  local any = g.ReduceMax(bad, g.ints { dim }, { keepdims = keepdim }):to("bool")
  local first = g.ArgMax(bad, { axis = dim, keepdims = keepdim })
  return g.Where(any, g.scalar(0 / 0, x.dtype), v), g.Where(any, first, i)
end

-- The same among what is no NaN: TopK has these behind the numbers.
local function nanmedian(g, x, dim, keepdim)
  if not types.is_float(x.dtype) or x.rank == 0 then return median(g, x, dim, keepdim) end
  local v, i = top(g, x, x:size(dim), dim, false)
  local count = g.ReduceSum(g.Not(g.IsNaN(x)):to("int64"), g.ints { dim }, { keepdims = 1 })
  local middle = g.Div(g.Max(count - int(g, 1), int(g, 0)), int(g, 2))
  local function pick(t) return reduced(g, g.GatherElements(t, middle, { axis = dim }), dim, keepdim) end
  return pick(v), pick(i)
end

for name, fn in pairs { median = median, nanmedian = nanmedian } do
  aten:rule(name .. "(Tensor self) -> Tensor", function(g, a)
    local x = flat(g, a.self)
    if x:size(0) == 0 then return g.decline("the median of nothing") end
    return (fn(g, x, 0, false))
  end)
  aten:rule(name .. ".dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
    function(g, a) return fn(g, a.self, util.dim(a.dim, a.self.rank), a.keepdim) end)
end


-- Both neighbours of a rank that is no whole number, or one of them, in rows of `count` numbers (NaN is behind them).
local PICK = { lower = "Floor", higher = "Ceil", nearest = "Round", linear = "Floor", midpoint = "Floor" }

local function at_ranks(g, rows, ranks, interpolation)
  local pick = PICK[interpolation] or g.decline("an interpolation '%s'", interpolation)
  local function at(places) return g.GatherElements(rows, places:to("int64"), { axis = -1 }) end
  local below = g[pick](ranks)
  if interpolation ~= "linear" and interpolation ~= "midpoint" then return at(below) end
  local weight = interpolation == "linear" and g.Sub(ranks, below) or g.scalar(0.5, ranks)
  return g.aten["lerp.Tensor"](at(below), at(g.Ceil(ranks)), weight)
end

local function quantile(g, a, n, ignore_nan)
  local x, q = a.self, a.q
  if not util.is_float(x.dtype) then g.decline("quantiles of %s", x.dtype) end
  if type(q) == "number" then q = g.scalar(q, x.dtype) end
  local dim = a.dim and util.dim(a.dim, x.rank)
  if not dim or x.rank == 0 then
    x = flat(g, x)
  else
    x = g.Transpose(x, { perm = (util.to_last(x.rank, dim)) })
  end
  local bad, size = g.IsNaN(x), x:size(-1)
  local rows = top(g, g.Where(bad, g.scalar(math.huge, x.dtype), x), size, x.rank - 1, false)
  local numbers = g.ReduceSum(g.Not(bad):to("int64"), g.ints { -1 }, { keepdims = 1 })
  local some_bad = g.Less(numbers, g.scalar(size, "int64"))
  local last = ignore_nan and (numbers - int(g, 1)):to(x.dtype) or g.scalar(size - 1, x.dtype)
  local ranks = g.Max(g.Mul(at_least_1d(g, q), last), g.scalar(0, x.dtype))
  local dims = util.copy(x.shape)
  dims[#dims] = q.rank == 0 and 1 or q:size(0)
  local y = at_ranks(g, rows, g.expand(ranks, dims), a.interpolation)
  -- without a number among them, or where each must be one
  local spoilt = ignore_nan and g.Equal(numbers, int(g, 0)) or some_bad
  y = g.Where(spoilt, g.scalar(0 / 0, x.dtype), y)
  local order = { x.rank - 1 }
  for i = 0, x.rank - 2 do order[i + 2] = i end
  return g.reshape(g.Transpose(y, { perm = order }), n.outputs[1].shape)
end

for _, name in ipairs { "quantile", "nanquantile" } do
  local rest = "int? dim=None, bool keepdim=False, *, str interpolation=\"linear\") -> Tensor"
  local function fn(g, a, n) return quantile(g, a, n, name == "nanquantile") end
  aten:rule(name .. "(Tensor self, Tensor q, " .. rest, fn)
  aten:rule(name .. ".scalar(Tensor self, float q, " .. rest, fn)
end

-- The value that stands there most often, the least of several; and the last place of it.
aten:rule("mode(Tensor self, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)", function(g, a)
  local x, dim = a.self, util.dim(a.dim, a.self.rank)
  if x.rank == 0 then return x, int(g, 0) end
  local perm, back = util.to_last(x.rank, dim)
  local row = g.Transpose(x, { perm = perm })
  local times = sum(g, g.Equal(unsqueeze(g, row, -1), unsqueeze(g, row, -2)):to("int64"), -1)
  local most = g.Equal(times, g.ReduceMax(times, g.ints { -1 }))
  -- a sorted row of what stands there most often begins with the least
  local narrow = x.dtype == "bool" or util.is_int(x.dtype) and types.bits(x.dtype) < 32
  local order_as = narrow and "int32" or ORDERED_AS[x.dtype] or x.dtype
  local key = row:to(order_as)
  local limit = types.is_float(order_as) and math.huge or select(2, types.limits(order_as))
  local least = g.ReduceMin(g.Where(most, key, g.scalar(limit, order_as)), g.ints { -1 })
  local here = g.And(g.Equal(key, least), most):to("int32")
  local place = g.ArgMax(here, { axis = -1, select_last_index = 1, keepdims = 1 })
  local function result(t) return reduced(g, g.Transpose(t, { perm = back }), dim, a.keepdim) end
  return result(least:to(x.dtype)), result(place)
end)

-- ---- sets ----

-- A dtype in which ONNX Runtime compares for Unique.
local UNIQUE_AS = {
  bool = "int8", uint8 = "int64", int16 = "int64", int32 = "int64", uint16 = "int64", uint32 = "int64",
  float16 = "float32", bfloat16 = "float32",
}

-- The different elements (along an axis, or all) in order; of which each one was; and how many there were of each.
local function unique(g, x, axis)
  local key = x:to(UNIQUE_AS[x.dtype] or x.dtype)
  local y, _, inverse, counts = g.Unique(key, { axis = axis, sorted = 1, outputs = 4 })
  return y:to(x.dtype), inverse, counts
end

-- What nobody has asked for is empty.
local function asked(g, wanted, x) return wanted and x or g.zeros({ 0 }, "int64") end

local function unique_of_all(g, a)
  local y, inverse, counts = unique(g, a.self)
  return y, g.reshape(inverse, a.self.shape), counts
end

aten:rule("_unique2(Tensor self, bool sorted=True, bool return_inverse=False, bool return_counts=False) -> "
          .. "(Tensor, Tensor, Tensor)",
  function(g, a)
    local y, inverse, counts = unique_of_all(g, a)
    return y, asked(g, a.return_inverse, inverse), asked(g, a.return_counts, counts)
  end)
aten:rule("_unique(Tensor self, bool sorted=True, bool return_inverse=False) -> (Tensor, Tensor)", function(g, a)
  local y, inverse = unique_of_all(g, a)
  return y, asked(g, a.return_inverse, inverse)
end)
aten:rule("unique_dim(Tensor self, int dim, bool sorted=True, bool return_inverse=False, "
          .. "bool return_counts=False) -> (Tensor, Tensor, Tensor)",
  function(g, a) return unique(g, a.self, util.dim(a.dim, a.self.rank)) end)

-- Whether each slice along dim differs from the one before it; the first one always does.
local function changes(g, x, dim)
  local function part(from, to) return g.Slice(x, g.ints { from }, g.ints { to }, g.ints { dim }) end
  local differ = g.Not(g.Equal(part(1, math.maxinteger), part(0, -1))):to("int32")
  local others = {}
  for d = 0, x.rank - 1 do
    if d ~= dim then others[#others + 1] = d end
  end
  if #others > 0 then differ = g.ReduceMax(differ, g.ints(others), { keepdims = 0 }) end
  return g.Concat(g.const({ true }), differ:to("bool"), { axis = 0 })
end

local function unique_consecutive(g, x, dim)
  if x:size(dim) == 0 then return x, g.zeros({ 0 }, "int64"), g.zeros({ 0 }, "int64") end
  local new = changes(g, x, dim)
  local inverse = g.CumSum(new:to("int64"), int(g, 0)) - int(g, 1)
  local starts = g.Squeeze(g.NonZero(new), g.ints { 0 })
  local next_starts = g.Slice(starts, g.ints { 1 }, g.ints { math.maxinteger }, g.ints { 0 })
  local ends = g.Concat(next_starts, g.ints { x:size(dim) }, { axis = 0 })
  return g.Compress(x, new, { axis = dim }), inverse, g.Sub(ends, starts)
end

aten:rule("unique_consecutive(Tensor self, bool return_inverse=False, bool return_counts=False, int? dim=None) -> "
          .. "(Tensor, Tensor, Tensor)",
  function(g, a, n)
    local x, dim = a.self, a.dim
    -- PyTorch 2.13 counts dims twice in the shape that it records for the last one, given as -1
    if dim and #n.outputs[1].shape ~= x.rank then g.decline("the archive records another rank; give dim from 0 on") end
    if x.rank == 0 or not dim then x, dim = flat(g, x), 0 end
    dim = util.dim(dim, x.rank)
    local y, inverse, counts = unique_consecutive(g, x, dim)
    if a.dim then return y, inverse, counts end
    return y, asked(g, a.return_inverse, g.reshape(inverse, a.self.shape)), asked(g, a.return_counts, counts)
  end)
aten:rule("unique_dim_consecutive(Tensor self, int dim, bool return_inverse=False, bool return_counts=False) -> "
          .. "(Tensor, Tensor, Tensor)",
  function(g, a) return unique_consecutive(g, a.self, util.dim(a.dim, a.self.rank)) end)

-- A number of a kind above the tensor's, 2.5 beside integers, keeps its own.
local function number_beside(g, x, tensor) return g.scalar(x, types.result_type(tensor, x)) end

local function isin(g, elements, test, invert)
  elements, test = util.promote(elements, test)
  local found = sum(g, g.Equal(unsqueeze(g, elements, -1), flat(g, test)):to("int64"), -1)
  found = found:to("bool")
  return invert and g.Not(found) or found
end

for overload, kinds in pairs { Tensor_Tensor = "Tensor elements, Tensor test_elements",
                               Tensor_Scalar = "Tensor elements, Scalar test_element",
                               Scalar_Tensor = "Scalar element, Tensor test_elements" } do
  local options = "*, bool assume_unique=False, bool invert=False"
  aten:rule(string.format("isin.%s(%s, %s) -> Tensor", overload, kinds, options), function(g, a)
    local elements, test = a.elements, a.test_elements
    if not elements then elements = number_beside(g, a.element, test) end
    if not test then test = number_beside(g, a.test_element, elements) end
    return isin(g, elements, test, a.invert)
  end)
end

-- ---- places and counts ----

-- How many elements of a sorted sequence stand before v: written so that NaN counts as greater than all.
local function place(g, sequence, v, right)
  if sequence.dtype == "bool" then sequence, v = sequence:to("int32"), v:to("int32") end
  local beyond = right and g.Greater(sequence, v) or g.GreaterOrEqual(sequence, v)
  return sum(g, g.Not(beyond):to("int64"), -1)
end

local function searchsorted(g, sequence, v, right, out_int32)
  sequence, v = util.promote(sequence, v)
  if sequence.rank > 1 then sequence = unsqueeze(g, sequence, -2) end
  local out = place(g, sequence, unsqueeze(g, v, -1), right)
  return out_int32 and out:to("int32") or out
end

for _, kind in ipairs { "Tensor", "Scalar" } do
  aten:rule("searchsorted." .. kind .. "(Tensor sorted_sequence, " .. kind .. " self, *, bool out_int32=False, "
            .. "bool right=False, str? side=None, Tensor? sorter=None) -> Tensor",
    function(g, a)
      local sequence = a.sorted_sequence
      if a.sorter then sequence = g.GatherElements(sequence, a.sorter, { axis = -1 }) end
      local v = kind == "Tensor" and a.self or number_beside(g, a.self, sequence)
      return searchsorted(g, sequence, v, a.right or a.side == "right", a.out_int32)
    end)
  aten:rule("bucketize." .. kind .. "(" .. kind .. " self, Tensor boundaries, *, bool out_int32=False, "
            .. "bool right=False) -> Tensor",
    function(g, a)
      local v = kind == "Tensor" and a.self or number_beside(g, a.self, a.boundaries)
      return searchsorted(g, a.boundaries, v, a.right, a.out_int32)
    end)
end

-- x's elements sorted into `bins` equal parts of what lies between the bounds; the last part has its end in it.
aten:rule("histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor", function(g, a)
  local x = flat(g, a.self)
  local low, high = g.scalar(a.min, x.dtype), g.scalar(a.max, x.dtype)
  if a.min == a.max and x:size(0) ~= 0 then
    low, high = g.ReduceMin(x, nil, { keepdims = 0 }), g.ReduceMax(x, nil, { keepdims = 0 })
  end
  if a.min == a.max then
    local same, one = g.Equal(low, high), g.scalar(1, x.dtype)
    low, high = g.Where(same, low - one, low), g.Where(same, high + one, high)
  end
  local real = types.is_float(x.dtype) and x.dtype or "float64"
  local scaled = (x - low):to(real) / (high - low):to(real) * g.scalar(a.bins, real)
  local bin = g.Min(scaled:to("int64"), int(g, a.bins - 1))
  local inside = g.And(g.GreaterOrEqual(x, low), g.LessOrEqual(x, high))
  local hit = g.And(g.Equal(unsqueeze(g, bin, -1), util.arange(g, a.bins)), unsqueeze(g, inside, -1))
  return sum(g, hit:to("int64"), 0):to(x.dtype)
end)

-- The ends of `bins` equal parts of what lies between two numbers, or between the least and the greatest element.
local function equal_parts(g, x, bins, range)
  if not range and util.contains(x.shape, 0) then range = { 0.0, 1.0 } end
  local low, high
  if range then
    low, high = range[1], range[2]
    if low == high then low, high = low - 0.5, high + 0.5 end
    low, high = g.scalar(low, x.dtype), g.scalar(high, x.dtype)
  else
    low, high = g.ReduceMin(x, nil, { keepdims = 0 }), g.ReduceMax(x, nil, { keepdims = 0 })
    local half = g.Where(g.Equal(low, high), g.scalar(0.5, x.dtype), g.scalar(0, x.dtype))
    low, high = g.Sub(low, half), g.Add(high, half)
  end
  local step, rising, falling = g.Div(g.Sub(high, low), g.scalar(bins, x.dtype)), {}, {}
  for i = 0, bins do
    local side = i < (bins + 1) // 2 and rising or falling
    side[#side + 1] = side == rising and i or bins - i
  end
  local pieces = { #rising > 0 and g.Add(low, g.Mul(step, g.const(rising, x.dtype))) or false,
                   g.Sub(high, g.Mul(step, g.const(falling, x.dtype))) }
  return pieces[1] and g.Concat(pieces[1], pieces[2], { axis = 0 }) or pieces[2]
end

-- How much lies in each part of a space: x is [points, axes], edges has the ends of the parts of each axis. The last
-- part has its end in it.
local function histogram(g, x, edges, weight, density)
  local where, total, inside, dims = nil, 1, nil, {}
  for i, e in ipairs(edges) do
    local v = g.Gather(x, int(g, i - 1), { axis = 1 })
    local first, last = g.Gather(e, int(g, 0)), g.Gather(e, int(g, -1))
    local within = g.And(g.GreaterOrEqual(v, first), g.LessOrEqual(v, last))
    dims[i] = e:size(0) - 1
    local bin = g.Min(place(g, e, unsqueeze(g, v, -1), true) - int(g, 1), g.scalar(dims[i] - 1, "int64"))
    where = where and where * g.scalar(dims[i], "int64") + bin or bin
    inside, total = inside and g.And(inside, within) or within, total * dims[i]
  end
  local zero = g.scalar(0, x.dtype)
  local amount = weight and flat(g, weight):to(x.dtype) or g.scalar(1, x.dtype)
  local counted = g.expand(g.Where(inside, amount, zero), { x:size(0) })
  local y = g.ScatterElements(g.full({ total }, 0, x.dtype), g.Where(inside, where, int(g, 0)), counted,
                              { axis = 0, reduction = "add" })
  y = g.reshape(y, dims)
  if not density then return y end
  y = g.Div(y, g.ReduceSum(y, nil, { keepdims = 0 }))
  for i, e in ipairs(edges) do
    local widths = g.Sub(g.Slice(e, g.ints { 1 }, g.ints { math.maxinteger }, g.ints { 0 }),
                         g.Slice(e, g.ints { 0 }, g.ints { -1 }, g.ints { 0 }))
    local shape = util.fill(1, #edges)
    shape[i] = dims[i]
    y = g.Div(y, g.reshape(widths, shape))
  end
  return y
end

local OPTIONS = "Tensor? weight=None, bool density=False) -> "

aten:rule("histogram.bins_tensor(Tensor self, Tensor bins, *, " .. OPTIONS .. "(Tensor hist, Tensor bin_edges)",
  function(g, a)
    return histogram(g, unsqueeze(g, flat(g, a.self), 1), { a.bins }, a.weight, a.density), a.bins
  end)
aten:rule("histogram.bin_ct(Tensor self, int bins=100, *, float[]? range=None, " .. OPTIONS
          .. "(Tensor hist, Tensor bin_edges)", function(g, a)
  local edges = equal_parts(g, a.self, a.bins, a.range)
  return histogram(g, unsqueeze(g, flat(g, a.self), 1), { edges }, a.weight, a.density), edges
end)

-- Points may be laid out in several dims; the last one has their coordinates.
local function points(g, x) return g.reshape(x, { util.product(x.shape, 1, x.rank - 1), x:size(-1) }) end

local function histogramdd(g, a)
  local x, edges = points(g, a.self), {}
  for i = 1, x:size(1) do
    local bins = type(a.bins) == "table" and a.bins[i] or a.bins
    edges[i] = bins
    if type(bins) == "number" then
      local column = g.Gather(x, int(g, i - 1), { axis = 1 })
      edges[i] = equal_parts(g, column, bins, a.range and { a.range[2 * i - 1], a.range[2 * i] })
    end
  end
  return histogram(g, x, edges, a.weight, a.density), edges
end

for overload, bins in pairs {
  [""] = "int[] bins", [".int_bins"] = "int bins", [".TensorList_bins"] = "Tensor[] bins",
} do
  aten:rule("histogramdd" .. overload .. "(Tensor self, " .. bins .. ", float[]? range=None, " .. OPTIONS
            .. "(Tensor hist, Tensor[] bin_edges)", histogramdd)
end

aten:rule("bincount(Tensor self, Tensor? weights=None, SymInt minlength=0) -> Tensor", function(g, a)
  local x, dtype = a.self:to("int64"), "int64"
  if a.weights then dtype = a.weights.dtype == "float32" and "float32" or "float64" end
  local largest = g.ReduceMax(g.Concat(x, g.ints { a.minlength - 1 }, { axis = 0 }), nil, { keepdims = 0 })
  local size = g.Reshape(largest + int(g, 1), g.ints { 1 })
  local ones = a.weights and a.weights:to(dtype) or g.expand(int(g, 1), x.shape)
  return g.ScatterElements(g.Expand(g.scalar(0, dtype), size), x, ones, { axis = 0, reduction = "add" })
end)

local function counts_only(g, a) return (histogramdd(g, a)) end

aten:rule("_histogramdd_from_bin_cts(Tensor self, int[] bins, *, float[]? range=None, " .. OPTIONS .. "Tensor",
          counts_only)
aten:rule("_histogramdd_from_bin_tensors(Tensor self, Tensor[] bins, *, " .. OPTIONS .. "Tensor", counts_only)
aten:rule("_histogramdd_bin_edges(Tensor self, int[] bins, *, float[]? range=None, " .. OPTIONS .. "Tensor[]",
          function(g, a) return (select(2, histogramdd(g, a))) end)

-- Names that are put together above, for the index of rules (tools/name_hints.py):
-- "bucketize.Scalar" "bucketize.Tensor" "histogramdd.TensorList_bins" "histogramdd.int_bins"
-- "isin.Scalar_Tensor" "isin.Tensor_Scalar" "isin.Tensor_Tensor" "median" "median.dim" "nanmedian"
-- "nanmedian.dim" "nanquantile.scalar" "quantile.scalar" "searchsorted.Scalar" "searchsorted.Tensor"
