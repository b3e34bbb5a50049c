-- rules/prims/shape.lua: prims that reduce, move or make elements.

local prims = require("t2o.rules").namespace("prims")
local util = require("t2o.util")

-- ---- reductions ----

-- An empty list of dims leaves everything as it is; none at all means all of them.
local function reduction(name, fn)
  prims:rule(name, function(g, a)
    local y = a.inp
    if not (a.dims and #a.dims == 0) then y = fn(g, a) end
    return a.output_dtype and y:to(a.output_dtype) or y
  end)
end

local SIGNATURE = "(Tensor inp, int[]? dims, *, ScalarType? output_dtype=None) -> Tensor"

for _, name in ipairs { "amax", "amin" } do
  reduction(name .. SIGNATURE, function(g, a) return g.aten[name](a.inp, a.dims or {}) end)
end

for name, op in pairs { sum = "ReduceSum", prod = "ReduceProd" } do
  reduction(name .. SIGNATURE, function(g, a)
    local x = a.inp
    if x.rank == 0 then return x end
    return g[op](x, g.ints(util.dims(a.dims, x.rank)), { keepdims = 0 })
  end)
end

reduction("var(Tensor inp, int[]? dims, float? correction=1, *, ScalarType? output_dtype=None) -> Tensor",
          function(g, a)
  return g.aten["var.correction"](a.inp, a.dims, a.correction, false)
end)

-- ---- shapes ----

prims:rule("broadcast_in_dim(Tensor a, SymInt[] shape, int[] broadcast_dimensions) -> Tensor", function(g, a)
  local dims = util.fill(1, #a.shape)
  for i, d in ipairs(a.broadcast_dimensions) do dims[d + 1] = a.a.shape[i] end
  local x = g.reshape(a.a, dims)
  return util.same_shape(x.shape, a.shape) and x or g.expand(x, a.shape)
end)

-- The dims from `start` to `end` as one.
local function collapse(g, a)
  local x, dims = a.a, {}
  if x.rank == 0 then return g.reshape(x, { 1 }) end
  for i = 1, x.rank do
    if i <= a.start + 1 or i > a.end_ + 1 then
      dims[#dims + 1] = i == a.start + 1 and util.product(x.shape, i, a.end_ + 1) or x.shape[i]
    end
  end
  return g.reshape(x, dims)
end

prims:rule("collapse_view(Tensor a, int start, int end) -> Tensor", collapse)
prims:rule("collapse(Tensor a, int start, int end) -> Tensor", collapse)

prims:rule("split_dim(Tensor a, int dim, SymInt outer_length) -> Tensor", function(g, a)
  local dims = a.a.shape
  dims[a.dim + 1] = dims[a.dim + 1] // a.outer_length
  table.insert(dims, a.dim + 1, a.outer_length)
  return g.reshape(a.a, dims)
end)

prims:rule("squeeze(Tensor a, int[] dimensions) -> Tensor", function(g, a)
  local dims = util.dims(a.dimensions, a.a.rank, true)
  return #dims > 0 and g.Squeeze(a.a, g.ints(dims)) or a.a
end)

prims:rule("transpose(Tensor a, int[] permutation) -> Tensor", function(g, a)
  return a.a.rank > 0 and g.Transpose(a.a, { perm = a.permutation }) or a.a
end)

prims:rule("reshape(Tensor a, SymInt[] shape) -> Tensor", function(g, a) return g.reshape(a.a, a.shape) end)

prims:rule("rev(Tensor a, int[] dims) -> Tensor", function(g, a) return g.aten.flip(a.a, a.dims) end)

prims:rule("cat(Tensor[] tensors, int dim) -> Tensor", function(g, a) return g.aten.cat(a.tensors, a.dim) end)

-- ---- new tensors ----

prims:rule("iota(SymInt length, *, SymInt start, SymInt step, ScalarType dtype, Device device, bool requires_grad) "
           .. "-> Tensor", function(g, a)
  local one = g.const(1, "int64")
  local counted = g.Range(g.const(0, "int64"), g.scalar(a.length, "int64"), one)
  return (counted * g.scalar(a.step, "int64") + g.scalar(a.start, "int64")):to(a.dtype)
end)

prims:rule("full(SymInt[] shape, Scalar fill_value, *, ScalarType dtype, Device device, bool requires_grad) "
           .. "-> Tensor", function(g, a) return g.expand(g.scalar(a.fill_value, a.dtype), a.shape) end)

prims:rule("full_like(Tensor a, Scalar fill_value, *, ScalarType dtype, Device device, bool requires_grad) "
           .. "-> Tensor", function(g, a) return g.expand(g.scalar(a.fill_value, a.dtype), a.a.shape) end)

prims:rule("fill(Tensor self, Scalar value) -> Tensor", function(g, a)
  return g.expand(g.scalar(a.value, a.self), a.self.shape)
end)

prims:rule("scalar_tensor(Scalar s, *, ScalarType? dtype=None, Device? device=None) -> Tensor", function(g, a)
  return a.dtype and g.scalar(a.s, a.dtype) or g.scalar(a.s)
end)

-- Names that are put together above, for the index of rules (tools/name_hints.py):
-- "prod" "sum"
