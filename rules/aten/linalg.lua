-- rules/aten/linalg.lua: linear algebra: determinants, inverses, factorisations, norms.
--
-- Eliminations are an ONNX Loop over the columns, for batches of matrices of any size, known or
-- not. Singular values are found by rotations in so many sweeps. Vectors of eigenvalues and
-- singular values, whose signs are free, have no rule.

local core = require("t2o.core")
local aten = require("t2o.rules").namespace("aten")
local infer = require("t2o.infer")
local util = require("t2o.util")

-- ---- helpers ----

local function range(g, n)
  return g.Range(g.scalar(0, "int64"), g.scalar(n, "int64"), g.scalar(1, "int64"))
end

local function column(g, v) return g.Unsqueeze(v, g.ints { -1 }) end
local function row(g, v) return g.Unsqueeze(v, g.ints { -2 }) end

-- Column or row k of matrices, without the dim of size 1.
local function column_at(g, m, k) return g.Gather(m, k, { axis = -1 }) end
local function row_at(g, m, k) return g.Gather(m, k, { axis = -2 }) end

local function batch_of(m) return { table.unpack(m.shape, 1, m.rank - 2) } end

local function with(list, ...)
  local out = util.copy(list)
  for i = 1, select("#", ...) do out[#out + 1] = (select(i, ...)) end
  return out
end

local function matrix_transpose(g, m)
  local perm = util.range(0, m.rank - 1)
  perm[m.rank], perm[m.rank - 1] = m.rank - 2, m.rank - 1
  return g.Transpose(m, { perm = perm })
end

-- fn(k, states...) gives the next states; k counts from 0. The states keep their dtypes and shapes.
local function loop(g, count, states, fn)
  local specs = { { "int64", {} }, { "bool", {} } }
  local args = { g.scalar(count, "int64"), g.scalar(true, "bool") }
  for _, s in ipairs(states) do
    specs[#specs + 1] = { s.dtype, s.shape }
    args[#args + 1] = s
  end
  local body = g.body("body", specs, function(k, going, ...)
    return g.Identity(going), fn(k, ...)
  end)
  args[#args + 1] = { body = body, outputs = #states }
  local out = g.Loop(table.unpack(args))
  for i, s in ipairs(states) do core.set_shape(out[i], s.shape) end
  return table.unpack(out)
end

-- A rule that need not compute where the result has no elements.
local function unless_empty(fn)
  return function(g, a, n)
    local outs, known = {}, true
    for i = 1, n.outputs.n or #n.outputs do
      local shape = n.outputs[i].shape
      known = known and util.contains(shape, 0)
      outs[i] = known and g.zeros(shape, n.outputs[i].dtype)
    end
    if known then return table.unpack(outs) end
    return fn(g, a, n)
  end
end

local function ones_on_diagonal(g, rows, columns, dtype)
  return g.Equal(column(g, range(g, rows)), range(g, columns)):to(dtype)
end

local function identity_like(g, m)
  return g.expand(ones_on_diagonal(g, m:size(-1), m:size(-1), m.dtype), m.shape)
end

local function diagonal_of(g, m, size)
  local on = g.Equal(column(g, range(g, m:size(-2))), range(g, m:size(-1)))
  local d = g.ReduceSum(g.Where(on, m, g.scalar(0, m.dtype)), g.ints { -1 }, { keepdims = 0 })
  return g.Slice(d, g.ints { 0 }, g.ints { size }, g.ints { -1 })
end

local function first_columns(g, m, count)
  return g.Slice(m, g.ints { 0 }, g.ints { count }, g.ints { -1 })
end
local function first_rows(g, m, count)
  return g.Slice(m, g.ints { 0 }, g.ints { count }, g.ints { -2 })
end
local function columns_from(g, m, first)
  return g.Slice(m, g.ints { first }, g.ints { math.maxinteger }, g.ints { -1 })
end

local function lower(g, m, k) return g.Trilu(m, g.scalar(k, "int64"), { upper = 0 }) end
local function upper(g, m, k) return g.Trilu(m, g.scalar(k, "int64"), { upper = 1 }) end

-- ---- elimination ----

-- Brings the row with the largest element of column k, from row k on, to place k. Returns the
-- matrices, the order in which the rows now are, and the place where row k's came from.
local function pivoted(g, m, k)
  local i = range(g, m:size(-2))
  local size = g.Where(g.Less(i, k), g.scalar(-1, m.dtype), g.Abs(column_at(g, m, k)))
  local place = g.ArgMax(size, { axis = -1, keepdims = 1 })
  local order = g.Where(g.Equal(i, k), place, g.Where(g.Equal(i, place), k, i))
  local all = g.Expand(column(g, order), g.Shape(m))
  return g.GatherElements(m, all, { axis = -2 }), order, place
end

-- x with a * x = b, by Gauss and Jordan.
local function solve(g, a, b)
  local n = a:size(-1)
  local batch = infer.broadcast(batch_of(a), batch_of(b))
  a, b = g.expand(a, with(batch, n, n)), g.expand(b, with(batch, n, b:size(-1)))
  local m = g.Concat(a, b, { axis = -1 })
  m = loop(g, n, { m }, function(k, step)
    local rows = pivoted(g, step, k)
    local pivot = row_at(g, rows, k)
    local scaled = row(g, g.Div(pivot, column(g, column_at(g, pivot, k))))
    local rest = g.Sub(rows, g.Mul(column(g, column_at(g, rows, k)), scaled))
    return g.Where(g.Equal(column(g, range(g, n)), k), scaled, rest)
  end)
  local x = columns_from(g, m, n)
  core.set_shape(x, with(batch, n, b:size(-1)))
  return x
end

-- The factors in one matrix as LAPACK packs them, the order of the rows, and the places rows came
-- from (from 0).
local function lu(g, m)
  local rows, count = m:size(-2), util.min(m:size(-2), m:size(-1))
  local batch = batch_of(m)
  local order = g.expand(range(g, rows), with(batch, rows))
  local places = g.expand(g.scalar(0, "int64"), with(batch, count))
  return loop(g, count, { m, order, places }, function(k, step, was, list)
    local swapped, now, place = pivoted(g, step, k)
    local zero, i, j = g.scalar(0, m.dtype), range(g, rows), range(g, m:size(-1))
    local pivot = row(g, g.Where(g.Less(j, k), zero, row_at(g, swapped, k)))
    local top = column(g, column_at(g, pivot, k))
    local safe = g.Where(g.Equal(top, zero), g.scalar(1, m.dtype), top)
    local below = g.Greater(column(g, i), k)
    local factors = g.Where(below, g.Div(column(g, column_at(g, swapped, k)), safe), zero)
    local rest = g.Sub(swapped, g.Mul(factors, pivot))
    local here = g.And(below, g.Equal(j, k))
    return g.Where(here, factors, rest), g.GatherElements(was, now, { axis = -1 }),
      g.Where(g.Equal(range(g, count), k), place, list)
  end)
end

-- ---- determinants ----

local function det(g, m, n)
  if util.contains({ m:size(-1), 1 }, 0) then return g.ones(n.outputs[1].shape, m.dtype) end
  if m.dtype ~= "float64" then return g.Det(m) end
  local sign, size = g.aten.linalg_slogdet(m)
  return sign * g.Exp(size)
end

-- Signs and logarithms of absolute values: the product itself may be out of range.
local function sign_and_log(g, m)
  local dtype, count = m.dtype, m:size(-1)
  local packed, _, places = lu(g, m)
  local diagonal = diagonal_of(g, packed, count)
  local kept = g.Equal(places, range(g, count))
  local signs = g.Where(kept, g.Sign(diagonal), g.Neg(g.Sign(diagonal)))
  return g.ReduceProd(signs, g.ints { -1 }, { keepdims = 0 }),
    g.ReduceSum(g.Log(g.Abs(diagonal)), g.ints { -1 }, { keepdims = 0 }):to(dtype)
end

local function slogdet(g, m, shape)
  if m:size(-1) == 0 then return g.ones(shape, m.dtype), g.zeros(shape, m.dtype) end
  return sign_and_log(g, m)
end

for schema, name in pairs {
  ["det(Tensor self) -> Tensor"] = "self", ["linalg_det(Tensor A) -> Tensor"] = "A",
} do
  aten:rule(schema, unless_empty(function(g, a, n) return det(g, a[name], n) end))
end

for schema, name in pairs {
  ["slogdet(Tensor self) -> (Tensor sign, Tensor logabsdet)"] = "self",
  ["linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet)"] = "A",
} do
  aten:rule(schema, unless_empty(function(g, a, n)
    return slogdet(g, a[name], n.outputs[1].shape)
  end))
end

-- The factors are those of the transposed matrix, which PyTorch need not copy for LAPACK.
local function transposed_factors(g, m)
  local packed, _, places = lu(g, matrix_transpose(g, m))
  return packed, g.Add(places, g.scalar(1, "int64")):to("int32")
end

aten:rule("_linalg_det(Tensor A) -> (Tensor result, Tensor LU, Tensor pivots)", unless_empty(function(g, a, n)
  return det(g, a.A, n), transposed_factors(g, a.A)
end))
aten:rule("_linalg_slogdet(Tensor A) -> (Tensor sign, Tensor logabsdet, Tensor LU, Tensor pivots)",
  unless_empty(function(g, a, n)
    local sign, size = slogdet(g, a.A, n.outputs[1].shape)
    return sign, size, transposed_factors(g, a.A)
  end))

aten:rule("logdet(Tensor self) -> Tensor", unless_empty(function(g, a, n)
  local sign, size = slogdet(g, a.self, n.outputs[1].shape)
  local zero, nan = g.scalar(0, a.self.dtype), g.scalar(0 / 0, a.self.dtype)
  return g.Where(g.Less(sign, zero), nan, size)
end))

-- ---- inverses and solutions ----

local function inverse(g, m) return solve(g, m, identity_like(g, m)) end

for schema, name in pairs {
  ["inverse(Tensor self) -> Tensor"] = "self", ["linalg_inv(Tensor A) -> Tensor"] = "A",
} do
  aten:rule(schema, unless_empty(function(g, a) return inverse(g, a[name]) end))
end

-- LAPACK's `info`: the first place, from 1, at which `bad` holds; 0 where it does not.
local function first_bad(g, bad)
  bad = bad:to("int32")
  local place = g.Add(g.ArgMax(bad, { axis = -1, keepdims = 0 }), g.scalar(1, "int64")):to("int32")
  return g.Mul(place, g.ReduceMax(bad, g.ints { -1 }, { keepdims = 0 }))
end

local function no_info(g, out) return g.zeros(out.shape, out.dtype) end

local function packed_info(g, packed)
  local diagonal = diagonal_of(g, packed, util.min(packed:size(-2), packed:size(-1)))
  return first_bad(g, g.Equal(diagonal, g.scalar(0, packed.dtype)))
end

local function singular_info(g, m) return packed_info(g, (lu(g, m))) end

aten:rule("linalg_inv_ex(Tensor A, *, bool check_errors=False) -> (Tensor inverse, Tensor info)",
  function(g, a, n)
    if util.contains(a.A.shape, 0) then return g.Identity(a.A), no_info(g, n.outputs[2]) end
    return inverse(g, a.A), singular_info(g, a.A)
  end)

-- B is a vector, or a batch of vectors that is shaped as A's rows are.
local function is_vector(m, b)
  if b.rank == 1 then return true end
  return b.rank == m.rank - 1 and util.same_shape(b.shape, { table.unpack(m.shape, 1, m.rank - 1) })
end

local function solution(g, m, b, left)
  if is_vector(m, b) then return g.Squeeze(solve(g, m, column(g, b)), g.ints { -1 }) end
  if left then return solve(g, m, b) end
  return matrix_transpose(g, solve(g, matrix_transpose(g, m), matrix_transpose(g, b)))
end

aten:rule("linalg_solve(Tensor A, Tensor B, *, bool left=True) -> Tensor",
  unless_empty(function(g, a) return solution(g, a.A, a.B, a.left) end))

aten:rule("linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) "
          .. "-> (Tensor result, Tensor info)", function(g, a, n)
  local out = n.outputs[1]
  if util.contains(out.shape, 0) then
    return g.zeros(out.shape, out.dtype), no_info(g, n.outputs[2])
  end
  return solution(g, a.A, a.B, a.left), singular_info(g, a.A)
end)

aten:rule("_linalg_solve_ex(Tensor A, Tensor B, *, bool left=True, bool check_errors=False) "
          .. "-> (Tensor result, Tensor LU, Tensor pivots, Tensor info)", function(g, a, n)
  local function zeros(i) return g.zeros(n.outputs[i].shape, n.outputs[i].dtype) end
  if util.contains(a.A.shape, 0) then return zeros(1), zeros(2), zeros(3), zeros(4) end
  local packed, pivots = transposed_factors(g, a.A)
  local empty = util.contains(n.outputs[1].shape, 0)
  return empty and zeros(1) or solution(g, a.A, a.B, a.left), packed, pivots, packed_info(g, packed)
end)

aten:rule("linalg_tensorinv(Tensor self, int ind=2) -> Tensor", unless_empty(function(g, a, n)
  local x = a.self
  local size = util.product(x.shape, 1, a.ind)
  return g.reshape(inverse(g, g.reshape(x, { size, size })), n.outputs[1].shape)
end))

aten:rule("linalg_tensorsolve(Tensor self, Tensor other, int[]? dims=None) -> Tensor",
  unless_empty(function(g, a, n)
    local x, perm = a.self, {}
    local moved = {}
    for i, d in ipairs(a.dims or {}) do moved[i] = util.dim(d, x.rank) end
    for d = 0, x.rank - 1 do
      if not util.contains(moved, d) then perm[#perm + 1] = d end
    end
    for _, d in ipairs(moved) do perm[#perm + 1] = d end
    if #moved > 0 then x = g.Transpose(x, { perm = perm }) end
    local size = util.product(a.other.shape)
    local y = solve(g, g.reshape(x, { size, size }), g.reshape(a.other, { size, 1 }))
    return g.reshape(y, n.outputs[1].shape)
  end))

-- ---- triangles ----

local function triangle(g, m, is_upper, unit)
  local t = is_upper and upper(g, m, unit and 1 or 0) or lower(g, m, unit and -1 or 0)
  return unit and g.Add(t, ones_on_diagonal(g, m:size(-1), m:size(-1), m.dtype)) or t
end

aten:rule("linalg_solve_triangular(Tensor self, Tensor B, *, bool upper, bool left=True, "
          .. "bool unitriangular=False) "
          .. "-> Tensor", unless_empty(function(g, a)
  local t = triangle(g, a.self, a.upper, a.unitriangular)
  if a.left then return solve(g, t, a.B) end
  return matrix_transpose(g, solve(g, matrix_transpose(g, t), matrix_transpose(g, a.B)))
end))

aten:rule("triangular_solve(Tensor self, Tensor A, bool upper=True, bool transpose=False, "
          .. "bool unitriangular=False) "
          .. "-> (Tensor solution, Tensor cloned_coefficient)", function(g, a, n)
  local out = n.outputs
  if util.contains(out[1].shape, 0) then
    return g.zeros(out[1].shape, out[1].dtype), g.expand(a.A, out[2].shape)
  end
  local t = triangle(g, a.A, a.upper, a.unitriangular)
  return solve(g, a.transpose and matrix_transpose(g, t) or t, a.self), g.expand(a.A, out[2].shape)
end)

-- ---- Cholesky ----

-- Column by column: what is left of column k, over the root of its element on the diagonal.
local function cholesky(g, m)
  local size = m:size(-1)
  local start = g.expand(g.scalar(0, m.dtype), m.shape)
  return (loop(g, size, { start }, function(k, l)
    local i = range(g, size)
    local rest = g.Sub(column(g, column_at(g, m, k)), g.MatMul(l, column(g, row_at(g, l, k))))
    local top = row_at(g, rest, k)
    local next_column = g.Div(rest, g.Sqrt(row(g, top)))
    local here = g.And(g.Equal(i, k), g.GreaterOrEqual(column(g, i), k))
    return g.Where(here, next_column, l)
  end))
end

local function cholesky_factor(g, a)
  local m = a.upper and matrix_transpose(g, a.self) or a.self
  local l = cholesky(g, m)
  return a.upper and matrix_transpose(g, l) or l
end

aten:rule("linalg_cholesky(Tensor self, *, bool upper=False) "
          .. "-> Tensor", unless_empty(cholesky_factor))
aten:rule("cholesky(Tensor self, bool upper=False) -> Tensor", unless_empty(cholesky_factor))
aten:rule("linalg_cholesky_ex(Tensor self, *, bool upper=False, bool check_errors=False) "
          .. "-> (Tensor L, Tensor info)",
  function(g, a, n)
    if util.contains(a.self.shape, 0) then return g.Identity(a.self), no_info(g, n.outputs[2]) end
    local l = cholesky_factor(g, a)
    local good = g.Greater(diagonal_of(g, l, l:size(-1)), g.scalar(0, l.dtype))
    return l, first_bad(g, g.Not(good))
  end)

-- The matrix of which f is the factor.
local function of_factor(g, f, is_upper)
  f = is_upper and upper(g, f, 0) or lower(g, f, 0)
  local t = matrix_transpose(g, f)
  return is_upper and g.MatMul(t, f) or g.MatMul(f, t)
end

aten:rule("cholesky_solve(Tensor self, Tensor input2, bool upper=False) "
          .. "-> Tensor", unless_empty(function(g, a)
  local f = triangle(g, a.input2, a.upper)
  local t = matrix_transpose(g, f)
  local first, second = f, t
  if a.upper then first, second = t, f end
  return solve(g, second, solve(g, first, a.self))
end))

aten:rule("cholesky_inverse(Tensor self, bool upper=False) -> Tensor", unless_empty(function(g, a)
  return inverse(g, of_factor(g, a.self, a.upper))
end))

-- ---- LU ----

local function packed_lu(g, m, pivot)
  if pivot == false then g.decline("a factorisation without pivoting") end
  local packed, order, places = lu(g, m)
  return packed, g.Add(places, g.scalar(1, "int64")):to("int32"), order
end

-- L and U of a packed matrix.
local function unpacked(g, packed)
  local rows, columns = packed:size(-2), packed:size(-1)
  local count = util.min(rows, columns)
  local l = lower(g, first_columns(g, packed, count), -1)
  return g.Add(l, ones_on_diagonal(g, rows, count, packed.dtype)),
    upper(g, first_rows(g, packed, count), 0)
end

local function permutation(g, order, dtype)
  return g.Equal(column(g, range(g, order:size(-1))), row(g, order)):to(dtype)
end

aten:rule("linalg_lu_factor(Tensor A, *, bool pivot=True) -> (Tensor LU, Tensor pivots)",
  unless_empty(function(g, a)
    local packed, pivots = packed_lu(g, a.A, a.pivot)
    return packed, pivots
  end))

local function lu_with_info(name)
  return unless_empty(function(g, a)
    local packed, pivots = packed_lu(g, a[name], a.pivot)
    return packed, pivots, packed_info(g, packed)
  end)
end

aten:rule("linalg_lu_factor_ex(Tensor A, *, bool pivot=True, bool check_errors=False) "
          .. "-> (Tensor LU, Tensor pivots, Tensor info)", lu_with_info("A"))
aten:rule("_lu_with_info(Tensor self, bool pivot=True, bool check_errors=True) "
          .. "-> (Tensor LU, Tensor pivots, Tensor info)", lu_with_info("self"))

aten:rule("linalg_lu(Tensor A, *, bool pivot=True) -> (Tensor P, Tensor L, Tensor U)",
  unless_empty(function(g, a)
    local packed, _, order = packed_lu(g, a.A, a.pivot)
    return permutation(g, order, a.A.dtype), unpacked(g, packed)
  end))

-- The order of rows after the swaps that pivots (from 1) tell, one after the other.
local function order_of(g, pivots, rows)
  local batch, places = { table.unpack(pivots.shape, 1, pivots.rank - 1) }, pivots:to("int64")
  local start = g.expand(range(g, rows), with(batch, rows))
  return (loop(g, pivots:size(-1), { start }, function(k, order)
    local i = range(g, rows)
    local place = column(g, g.Sub(column_at(g, places, k), g.scalar(1, "int64")))
    local from = g.Where(g.Equal(i, k), place, g.Where(g.Equal(i, place), k, i))
    return g.GatherElements(order, g.Expand(from, g.Shape(order)), { axis = -1 })
  end))
end

aten:rule("lu_unpack(Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, "
          .. "bool unpack_pivots=True) "
          .. "-> (Tensor P, Tensor L, Tensor U)", unless_empty(function(g, a)
  if not (a.unpack_data and a.unpack_pivots) then g.decline("only a part of the factors") end
  local order = order_of(g, a.LU_pivots, a.LU_data:size(-2))
  return permutation(g, order, a.LU_data.dtype), unpacked(g, a.LU_data)
end))

-- The matrix of which these are the factors.
local function of_factors(g, packed, pivots)
  local l, u = unpacked(g, packed)
  local p = permutation(g, order_of(g, pivots, packed:size(-2)), packed.dtype)
  return g.MatMul(p, g.MatMul(l, u))
end

aten:rule("linalg_lu_solve(Tensor LU, Tensor pivots, Tensor B, *, bool left=True, "
          .. "bool adjoint=False) -> Tensor",
  unless_empty(function(g, a)
    local m, b = of_factors(g, a.LU, a.pivots), a.B
    if a.adjoint == a.left then m = matrix_transpose(g, m) end
    if a.left then return solve(g, m, b) end
    return matrix_transpose(g, solve(g, m, matrix_transpose(g, b)))
  end))
aten:rule("lu_solve(Tensor self, Tensor LU_data, Tensor LU_pivots) "
          .. "-> Tensor", unless_empty(function(g, a)
  return solve(g, of_factors(g, a.LU_data, a.LU_pivots), a.self)
end))

-- ---- reflections ----

-- m - tau * v * (v' * m) for a column v and a number tau for each matrix
local function reflected(g, m, v, tau)
  local weights = g.MatMul(matrix_transpose(g, v), m)
  return g.Sub(m, g.Mul(g.Mul(v, weights), tau))
end

-- The product of the reflections whose vectors stand below the diagonal of m, as its first columns.
local function orthogonal(g, m, tau, columns)
  local rows, count = m:size(-2), tau:size(-1)
  local start = g.expand(ones_on_diagonal(g, rows, columns, m.dtype),
                         with(batch_of(m), rows, columns))
  return (loop(g, count, { start }, function(step, q)
    local k, i = g.Sub(g.scalar(count - 1, "int64"), step), range(g, rows)
    local v = g.Where(g.Greater(i, k), column_at(g, m, k), g.Equal(i, k):to(m.dtype))
    return reflected(g, q, column(g, v), column(g, column(g, column_at(g, tau, k))))
  end))
end

aten:rule("linalg_householder_product(Tensor input, Tensor tau) "
          .. "-> Tensor", unless_empty(function(g, a)
  return orthogonal(g, a.input, a.tau, a.input:size(-1))
end))

-- The reflection that leaves only the first, alpha, of alpha and what is below it (the same for all
-- of a batch): the vector behind its leading 1, tau, and what alpha becomes. Nothing below: no
-- reflection.
local function reflection(g, alpha, below)
  local zero, one = g.scalar(0, alpha.dtype), g.scalar(1, alpha.dtype)
  local squares = g.ReduceSumSquare(below, g.ints { -1 }, { keepdims = 1 })
  local none = g.Equal(squares, zero)
  local length = g.Sqrt(g.Add(g.Mul(alpha, alpha), squares))
  local beta = g.Where(none, alpha, g.Where(g.Less(alpha, zero), length, g.Neg(length)))
  local tau = g.Where(none, zero, g.Div(g.Sub(beta, alpha), g.Where(none, one, beta)))
  local scale = g.Where(none, one, g.Sub(alpha, beta))
  return g.Div(below, scale), tau, beta
end

-- LAPACK's geqrf: R on and above the diagonal, the reflections' vectors below, and their factors.
local function geqrf(g, m)
  local rows, columns = m:size(-2), m:size(-1)
  local count = util.min(rows, columns)
  local taus = g.expand(g.scalar(0, m.dtype), with(batch_of(m), count))
  return loop(g, count, { m, taus }, function(k, step, list)
    local i, j, zero = range(g, rows), range(g, columns), g.scalar(0, m.dtype)
    local here = column_at(g, step, k)
    local is_top = g.Equal(i, k)
    local alpha = column(g, column_at(g, here, k))
    local rest, tau, beta = reflection(g, alpha, g.Where(g.Greater(i, k), here, zero))
    local v = column(g, g.Where(is_top, g.scalar(1, m.dtype), rest))
    local stored = g.Where(is_top, beta, g.Where(g.Greater(i, k), rest, here))
    local after = g.Where(g.Greater(j, k), reflected(g, step, v, column(g, tau)), step)
    return g.Where(g.Equal(j, k), column(g, stored), after),
      g.Where(g.Equal(range(g, count), k), tau, list)
  end)
end

aten:rule("geqrf(Tensor self) -> (Tensor a, Tensor tau)", unless_empty(function(g, a)
  return geqrf(g, a.self)
end))

local function qr(g, m, n, complete)
  local packed, tau = geqrf(g, m)
  local rows, count = m:size(-2), util.min(m:size(-2), m:size(-1))
  local vectors = first_columns(g, packed, count)
  core.set_shape(vectors, with(batch_of(m), rows, count))
  local r = upper(g, complete and packed or first_rows(g, packed, count), 0)
  if n.outputs[1].shape[1] == 0 then return g.zeros(n.outputs[1].shape, m.dtype), r end
  return orthogonal(g, vectors, tau, complete and rows or count), r
end

aten:rule("linalg_qr(Tensor A, str mode=\"reduced\") -> (Tensor Q, "
          .. "Tensor R)", unless_empty(function(g, a, n)
  if util.contains(a.A.shape, 0) then g.decline("a factorisation of no elements") end
  return qr(g, a.A, n, a.mode == "complete")
end))
aten:rule("qr(Tensor self, bool some=True) -> (Tensor Q, Tensor R)", unless_empty(function(g, a, n)
  if util.contains(a.self.shape, 0) then g.decline("a factorisation of no elements") end
  return qr(g, a.self, n, not a.some)
end))

aten:rule("ormqr(Tensor self, Tensor input2, Tensor input3, bool left=True, "
          .. "bool transpose=False) -> Tensor",
  unless_empty(function(g, a)
    local q = orthogonal(g, a.self, a.input2, a.self:size(-2))
    if a.transpose then q = matrix_transpose(g, q) end
    return a.left and g.MatMul(q, a.input3) or g.MatMul(a.input3, q)
  end))

-- ---- exponential ----

-- The series up to the 18th power in five products (Bader, Blanes and Casas, 2019), with their factors of 1, A, A^2,
-- A^3
-- and A^6. PyTorch computes it so: what rounding does to it is then much the same.
local FACTORS = {
  { 0, -1.00365581030144618291e-01, -8.02924648241156932449e-03, -8.92138498045729985177e-04, 0 },
  { 0, 3.97849749499645077844e-01, 1.36783778460411720168e+00, 4.98289622525382669416e-01,
    -6.37898194594723280150e-04 },
  { -1.09676396052962061844e+01, 1.68015813878906206114e+00, 5.71779846478865511061e-02, -6.98210122488052056106e-03,
    3.34975017086070470649e-05 },
  { -9.04316832390810593223e-02, -6.76404519071381882256e-02, 6.75961301770459654925e-02, 2.95552570429315521194e-02,
    -1.39180257516060693404e-05 },
  { 0, 0, -9.23364619367118555360e-02, -1.69364939002081722752e-02, -1.40086798182036094347e-05 },
}

local function series(g, m)
  local square = g.MatMul(m, m)
  local cube = g.MatMul(m, square)
  local powers, sums = { identity_like(g, m), m, square, cube, g.MatMul(cube, cube) }, {}
  for i, factors in ipairs(FACTORS) do
    for k, factor in ipairs(factors) do
      local term = factor ~= 0 and g.Mul(powers[k], g.scalar(factor, m.dtype))
      sums[i] = sums[i] and term and g.Add(sums[i], term) or sums[i] or term or nil
    end
  end
  local ninth = g.Add(g.MatMul(sums[1], sums[5]), sums[4])
  return g.Add(sums[2], g.MatMul(g.Add(sums[3], ninth), ninth))
end

-- The series of m / 2^s, short enough for it to hold, squared s times; each matrix has its s.
local function matrix_exp(g, a)
  if a.self.dtype ~= "float32" and a.self.dtype ~= "float64" then
    g.decline("the exponential of a matrix in %s: where it overflows depends on every rounding", a.self.dtype)
  end
  local m = a.self
  local zero, longest = g.scalar(0, m.dtype), m.dtype == "float64" and 1.090863719290036 or 3.010066362817634
  local sums = g.ReduceSum(g.Abs(m), g.ints { -2 }, { keepdims = 1 })
  local norm = g.ReduceMax(sums, g.ints { -1 }, { keepdims = 1 })
  local times = g.Max(g.Ceil(g.Log(norm / longest) * (1 / math.log(2))), zero)
  local first = series(g, m / g.Pow(g.scalar(2, m.dtype), times))
  local most = g.ReduceMax(times, nil, { keepdims = 0 }):to("int64")
  return (loop(g, most, { first }, function(step, y)
    return g.Where(g.Less(step:to(m.dtype), times), g.MatMul(y, y), y)
  end))
end

aten:rule("matrix_exp(Tensor self) -> Tensor", unless_empty(matrix_exp))
aten:rule("linalg_matrix_exp(Tensor self) -> Tensor", unless_empty(matrix_exp))

-- ---- small things ----

aten:rule("linalg_cross(Tensor self, Tensor other, *, int dim=-1) -> Tensor", function(g, a)
  local dim = util.dim(a.dim, a.self.rank)
  local function parts(v)
    return table.unpack(g.Split(v, g.ints { 1, 1, 1 }, { axis = dim, outputs = 3 }))
  end
  local x1, x2, x3 = parts(a.self)
  local y1, y2, y3 = parts(a.other)
  return g.Concat(x2 * y3 - x3 * y2, x3 * y1 - x1 * y3, x1 * y2 - x2 * y1, { axis = dim })
end)

-- By default along the first dim of size 3.
aten:rule("cross(Tensor self, Tensor other, int? dim=None) -> Tensor", function(g, a)
  local dim = a.dim
  for i, d in ipairs(a.self.shape) do
    if dim == nil and util.equal(d, 3) then dim = i - 1 end
  end
  if not dim then g.decline("no dim is known to be of size 3") end
  return g.aten.linalg_cross(a.self, a.other, { dim = dim })
end)

aten:rule("trace(Tensor self) -> Tensor", function(g, a, n)
  local x = a.self:to(n.outputs[1].dtype)
  local on = g.Equal(column(g, range(g, x:size(0))), range(g, x:size(1)))
  return g.ReduceSum(g.Where(on, x, g.scalar(0, x.dtype)), nil, { keepdims = 0 })
end)

aten:rule("linalg_vecdot(Tensor x, Tensor y, *, int dim=-1) -> Tensor", function(g, a, n)
  local product = (a.x * a.y):to(n.outputs[1].dtype)
  return g.ReduceSum(product, g.ints { util.dim(a.dim, product.rank) }, { keepdims = 0 })
end)

-- Powers 0 to N - 1 along a new last dim.
aten:rule("linalg_vander(Tensor x, *, SymInt? N=None) -> Tensor", function(g, a, n)
  local x = a.x:to(n.outputs[1].dtype)
  if x.rank == 0 then x = g.reshape(x, { 1 }) end
  local count = a.N or x:size(-1)
  if not util.is_static(count) or count > 256 then
    g.decline("%s powers of a vector", tostring(count))
  end
  if count == 0 then return g.zeros(n.outputs[1].shape, x.dtype) end
  x = column(g, x)
  local powers = { g.expand(g.scalar(1, x.dtype), x.shape), x }
  for i = 3, count do powers[i] = powers[i - 1] * x end
  if count == 1 then return powers[1] end
  powers[count + 1] = { axis = x.rank - 1 }
  return g.Concat(table.unpack(powers, 1, count + 1))
end)

-- Squares of squares, for each bit of the exponent.
local function power(g, m, n)
  local result
  while true do
    if n % 2 == 1 then result = result and g.MatMul(result, m) or m end
    n = n // 2
    if n == 0 then return result end
    m = g.MatMul(m, m)
  end
end

local matrix_power = unless_empty(function(g, a)
  local m, n = a.self, a.n
  if n == 0 then return identity_like(g, m) end
  if n < 0 then m, n = inverse(g, m), -n end
  return power(g, m, n)
end)

aten:rule("linalg_matrix_power(Tensor self, int n) -> Tensor", matrix_power)
aten:rule("matrix_power(Tensor self, int n) -> Tensor", matrix_power)

-- ---- singular values ----

-- A tournament of n columns (n even): in each of n - 1 rounds all meet in pairs. The columns of a
-- round, first partners before second ones, and where each column is found in that list.
local function rounds(n)
  local order, lists, places = util.range(0, n - 1), {}, {}
  for r = 1, n - 1 do
    local list, place = {}, {}
    for i = 1, n // 2 do list[i], list[n // 2 + i] = order[i], order[n + 1 - i] end
    for i, c in ipairs(list) do place[c + 1] = i - 1 end
    lists[r], places[r] = list, place
    table.insert(order, 2, table.remove(order))
  end
  return lists, places
end

-- Cosine and sine of the rotations that make columns p and q orthogonal.
local function rotation(g, p, q)
  local zero, one = g.scalar(0, p.dtype), g.scalar(1, p.dtype)
  local function dot(x, y) return g.ReduceSum(g.Mul(x, y), g.ints { -2 }, { keepdims = 1 }) end
  local mixed = dot(p, q)
  local none = g.Equal(mixed, zero)
  local zeta = (dot(q, q) - dot(p, p)) / (g.Where(none, one, mixed) * 2.0)
  local root = g.Abs(zeta) + g.Sqrt(zeta * zeta + 1.0)
  local tangent = g.Where(none, zero, g.Div(g.Where(g.Less(zeta, zero), g.Neg(one), one), root))
  local cosine = g.Div(one, g.Sqrt(tangent * tangent + 1.0))
  return cosine, cosine * tangent
end

-- Rotates columns of m until all are orthogonal (Hestenes). Returns these, and the product of the
-- rotations: m times that. A tall matrix of a known number of columns; one of zeros may come behind
-- the last.
local SWEEPS = { float32 = 10, float64 = 14 }

local function orthogonalised(g, m)
  local rows, n = m:size(-2), m:size(-1)
  if not util.is_static(n) or n > 128 then
    g.decline("singular values of a matrix with %s columns", tostring(n))
  end
  local sweeps = SWEEPS[m.dtype] or g.decline("singular values in %s", m.dtype)
  local one = g.expand(ones_on_diagonal(g, n, n, m.dtype), with(batch_of(m), n, n))
  local all = g.Concat(m, one, { axis = -2 })
  if n % 2 == 1 then
    local nothing = g.expand(g.scalar(0, m.dtype), with(batch_of(m), rows + n, 1))
    all = g.Concat(all, nothing, { axis = -1 })
    n = n + 1
  end
  core.set_shape(all, with(batch_of(m), rows + m:size(-1), n))
  local lists, places = rounds(n)
  lists, places = g.const(lists, "int64"), g.const(places, "int64")
  local count = g.scalar(n - 1, "int64")
  all = loop(g, sweeps * (n - 1), { all }, function(step, now)
    local turn = g.Mod(step, count)
    local sorted = g.Gather(now, g.Gather(lists, turn, { axis = 0 }), { axis = -1 })
    local half = g.Split(sorted, g.ints { n // 2, n // 2 }, { axis = sorted.rank - 1, outputs = 2 })
    local c, s = rotation(g, first_rows(g, half[1], rows), first_rows(g, half[2], rows))
    local p, q = half[1] * c - half[2] * s, half[1] * s + half[2] * c
    local mixed = g.Concat(p, q, { axis = -1 })
    return g.Gather(mixed, g.Gather(places, turn, { axis = 0 }), { axis = -1 })
  end)
  local used = first_columns(g, all, m:size(-1))
  return first_rows(g, used, rows),
    g.Slice(used, g.ints { rows }, g.ints { math.maxinteger }, g.ints { -2 })
end

local function tall(g, m)
  local order = util.compare(m:size(-2), m:size(-1))
  if not order then g.decline("singular values of a matrix that may be wide or tall") end
  if order < 0 then return matrix_transpose(g, m), true end
  return m, false
end

-- Unsorted.
local function singular_values(g, m)
  local columns = orthogonalised(g, (tall(g, m)))
  return g.Sqrt(g.ReduceSumSquare(columns, g.ints { -2 }, { keepdims = 0 }))
end

local function sorted(g, values, largest)
  local k = g.Shape(values, { start = -1 })
  return (g.TopK(values, k, { axis = -1, largest = largest and 1 or 0, outputs = 2 }))
end

aten:rule("linalg_svdvals(Tensor A, *, str? driver=None) -> Tensor", unless_empty(function(g, a)
  return sorted(g, singular_values(g, a.A), true)
end))

-- Which of the right vectors LAPACK gives is its own affair: only the values are certain.
local function values_only(g, n, ...)
  for _, i in ipairs { ... } do
    if n.outputs[i].is_used then g.decline("singular vectors or eigenvectors: their signs are not defined") end
  end
end

for schema, name in pairs {
  ["svd(Tensor self, bool some=True, bool compute_uv=True) -> (Tensor U, Tensor S, Tensor V)"] = "self",
  ["linalg_svd(Tensor A, bool full_matrices=True, *, str? driver=None) -> (Tensor U, Tensor S, Tensor Vh)"] = "A",
  ["_linalg_svd(Tensor A, bool full_matrices=False, bool compute_uv=True, *, str? driver=None) -> "
    .. "(Tensor U, Tensor S, Tensor Vh)"] = "A",
} do
  aten:rule(schema, unless_empty(function(g, a, n)
    values_only(g, n, 1, 3)
    return nil, sorted(g, singular_values(g, a[name]), true), nil
  end))
end

-- The symmetric matrix of which only a triangle is read.
local function symmetric(g, m, from_lower)
  local half = from_lower and lower(g, m, -1) or upper(g, m, 1)
  local on = ones_on_diagonal(g, m:size(-1), m:size(-1), "bool")
  local whole = g.Where(on, m, half + matrix_transpose(g, half))
  core.set_shape(whole, m.shape)
  return whole
end

-- A symmetric matrix shifted by a bound of its eigenvalues has these, shifted, as singular values.
local function eigenvalues(g, m, from_lower)
  local whole = symmetric(g, m, from_lower)
  local sums = g.ReduceSum(g.Abs(whole), g.ints { -2 }, { keepdims = 1 })
  local bound = g.ReduceMax(sums, g.ints { -1 }, { keepdims = 1 })
  local shifted = whole + ones_on_diagonal(g, m:size(-1), m:size(-1), m.dtype) * bound
  core.set_shape(shifted, m.shape)
  return sorted(g, singular_values(g, shifted) - g.Squeeze(bound, g.ints { -1 }), false)
end

aten:rule("linalg_eigvalsh(Tensor self, str UPLO=\"L\") -> Tensor", unless_empty(function(g, a)
  return eigenvalues(g, a.self, a.UPLO:upper() == "L")
end))

for schema, name in pairs {
  ["linalg_eigh(Tensor self, str UPLO=\"L\") -> (Tensor eigenvalues, Tensor eigenvectors)"] = "self",
  ["_linalg_eigh(Tensor A, str UPLO=\"L\", bool compute_v=True) -> (Tensor eigenvalues, Tensor eigenvectors)"] = "A",
} do
  aten:rule(schema, unless_empty(function(g, a, n)
    values_only(g, n, 2)
    return eigenvalues(g, a[name], a.UPLO:upper() == "L"), nil
  end))
end

local EPSILON = { float32 = 2.0 ^ -23, float64 = 2.0 ^ -52 }

-- Which singular values count: those above both an absolute and a relative bound. Bounds are
-- numbers, or tensors of one for each matrix.
local function counting(g, values, a, size)
  local absolute, relative = a.atol, a.rtol
  if relative == nil then
    local given = absolute ~= nil and not (type(absolute) == "number" and absolute == 0)
    if given and type(absolute) ~= "number" then
      g.decline("a relative bound that depends on the absolute one")
    end
    relative = given and 0.0 or EPSILON[values.dtype] * size
  end
  local function bound(x)
    if type(x) == "number" then return g.scalar(x, values.dtype) end
    x = x:to(values.dtype)
    return x.rank > 0 and column(g, x) or x
  end
  local largest = g.ReduceMax(values, g.ints { -1 }, { keepdims = 1 })
  return g.Greater(values, g.Max(bound(absolute or 0.0), g.Mul(bound(relative), largest)))
end

local function larger_side(g, m)
  local size = util.max(m:size(-1), m:size(-2))
  if not util.is_static(size) then g.decline("a default bound that depends on a dynamic size") end
  return size
end

-- V / s^2 * (U s)', for the singular values that count.
local function pseudo_inverse(g, m, a)
  if a.hermitian then m = symmetric(g, m, true) end
  local t, turned = tall(g, m)
  local columns, v = orthogonalised(g, t)
  local squares = g.ReduceSumSquare(columns, g.ints { -2 }, { keepdims = 0 })
  local zero, one = g.scalar(0, m.dtype), g.scalar(1, m.dtype)
  local keep = counting(g, g.Sqrt(squares), a, larger_side(g, m))
  local factors = g.Where(keep, g.Div(one, g.Where(keep, squares, one)), zero)
  local y = g.MatMul(g.Mul(v, row(g, factors)), matrix_transpose(g, columns))
  return turned and matrix_transpose(g, y) or y
end

local BOUNDS = "(Tensor self, *, float? atol=None, float? rtol=None, bool hermitian=False) "
  .. "-> Tensor"
local TENSOR_BOUNDS = ", *, Tensor? atol=None, Tensor? rtol=None, bool hermitian=False) -> Tensor"

local function pinv(g, a) return pseudo_inverse(g, a.self, a) end
local function pinv_rcond(g, a)
  return pseudo_inverse(g, a.self, { rtol = a.rcond, atol = 0.0, hermitian = a.hermitian })
end

aten:rule("linalg_pinv.atol_rtol_float" .. BOUNDS, unless_empty(pinv))
aten:rule("linalg_pinv.atol_rtol_tensor(Tensor self" .. TENSOR_BOUNDS, unless_empty(pinv))
aten:rule("linalg_pinv(Tensor self, float rcond, bool hermitian=False) "
          .. "-> Tensor", unless_empty(pinv_rcond))
aten:rule("pinverse(Tensor self, float rcond=1.0000000000000001e-15) "
          .. "-> Tensor", unless_empty(pinv_rcond))

local function rank(g, m, a, out)
  if m:size(-1) == 0 or m:size(-2) == 0 then return g.zeros(out.shape, out.dtype) end
  if a.hermitian then m = symmetric(g, m, true) end
  local keep = counting(g, singular_values(g, m), a, larger_side(g, m))
  return g.ReduceSum(keep:to("int64"), g.ints { -1 }, { keepdims = 0 })
end

aten:rule("linalg_matrix_rank(Tensor self, float tol, bool hermitian=False) "
          .. "-> Tensor", unless_empty(function(g, a, n)
  return rank(g, a.self, { atol = a.tol, rtol = 0.0, hermitian = a.hermitian }, n.outputs[1])
end))
aten:rule("linalg_matrix_rank.atol_rtol_float" .. BOUNDS, unless_empty(function(g, a, n)
  return rank(g, a.self, a, n.outputs[1])
end))
aten:rule("linalg_matrix_rank.atol_rtol_tensor(Tensor input" .. TENSOR_BOUNDS,
  unless_empty(function(g, a, n) return rank(g, a.input, a, n.outputs[1]) end))

-- ---- norms ----

local function two_dims(g, dims, rank)
  if #dims ~= 2 then g.decline("a norm of matrices over %d dims", #dims) end
  return util.dim(dims[1], rank), util.dim(dims[2], rank)
end

-- Sums of absolute values along one dim, the largest or smallest of them along the other.
local function sum_norm(g, x, ord, first, second, keepdim)
  local along, over = first, second
  if math.abs(ord) ~= 1 then along, over = second, first end
  local sums = g.ReduceSum(g.Abs(x), g.ints { along }, { keepdims = 1 })
  local y = g.aten[ord > 0 and "amax" or "amin"](sums, { over }, true)
  return keepdim and y or g.Squeeze(y, g.ints { first, second })
end

local function singular_norm(g, values, ord)
  local reduce = ({ nuc = g.ReduceSum, [2] = g.ReduceMax, [-2] = g.ReduceMin })[ord]
  if not reduce then g.decline("a matrix norm of order %s", tostring(ord)) end
  return reduce(values, g.ints { -1 }, { keepdims = 0 })
end

local function matrix_norm(g, x, ord, dims, keepdim, shape)
  local first, second = two_dims(g, dims, x.rank)
  if x:size(first) == 0 or x:size(second) == 0 then return g.zeros(shape, x.dtype) end
  if ord == "fro" then
    local attrs = { keepdims = keepdim and 1 or 0 }
    return g.Sqrt(g.ReduceSumSquare(x, g.ints { first, second }, attrs))
  end
  if type(ord) == "number" and (math.abs(ord) == 1 or math.abs(ord) == math.huge) then
    return sum_norm(g, x, ord, first, second, keepdim)
  end
  local last, before = x.rank - 1, x.rank - 2
  local perm = {}
  for d = 0, x.rank - 1 do
    if d ~= first and d ~= second then perm[#perm + 1] = d end
  end
  if first ~= before or second ~= last then
    x = g.Transpose(x, { perm = with(perm, first, second) })
  end
  local y = singular_norm(g, singular_values(g, x), ord)
  return keepdim and g.reshape(y, shape) or y
end

local function matrix_norm_rule(g, a, n)
  return matrix_norm(g, a.self:to(n.outputs[1].dtype), a.ord, a.dim, a.keepdim, n.outputs[1].shape)
end

aten:rule("linalg_matrix_norm(Tensor self, Scalar ord, int[] dim=[-2, -1], bool keepdim=False, *, "
          .. "ScalarType? dtype=None) -> Tensor", matrix_norm_rule)
aten:rule("linalg_matrix_norm.str_ord(Tensor self, str ord=\"fro\", int[] dim=[-2, -1], "
          .. "bool keepdim=False, *, "
          .. "ScalarType? dtype=None) -> Tensor", matrix_norm_rule)

aten:rule("nuclear_norm(Tensor self, bool keepdim=False) -> Tensor", function(g, a, n)
  return matrix_norm(g, a.self, "nuc", { 0, 1 }, a.keepdim, n.outputs[1].shape)
end)
aten:rule("nuclear_norm.dim(Tensor self, int[2] dim, bool keepdim=False) "
          .. "-> Tensor", function(g, a, n)
  return matrix_norm(g, a.self, "nuc", a.dim, a.keepdim, n.outputs[1].shape)
end)

-- Without an order all elements count as one vector; with one, two dims make a matrix.
local function any_norm(g, a, n)
  local dims = a.dim or util.range(0, a.self.rank - 1)
  if a.ord ~= nil and #dims == 2 then
    return matrix_norm(g, a.self:to(n.outputs[1].dtype), a.ord, dims, a.keepdim, n.outputs[1].shape)
  end
  if type(a.ord) == "string" then g.decline("the norm '%s' of what is no matrix", a.ord) end
  return g.aten.linalg_vector_norm(a.self, a.ord or 2, a.dim, a.keepdim, a.dtype)
end

aten:rule("linalg_norm(Tensor self, Scalar? ord=None, int[1]? dim=None, bool keepdim=False, *, "
          .. "ScalarType? dtype=None) -> Tensor", any_norm)
aten:rule("linalg_norm.ord_str(Tensor self, str ord, int[1]? dim=None, bool keepdim=False, *, "
          .. "ScalarType? dtype=None) -> Tensor", any_norm)

-- How much larger the matrix and its inverse can make a vector.
local function condition(g, a, n)
  local m, p, shape = a.self, a.p or 2, n.outputs[1].shape
  if util.contains(m.shape, 0) then g.decline("the condition of no elements") end
  if p == 2 or p == -2 then
    local values = singular_values(g, m)
    local top, low = singular_norm(g, values, 2), singular_norm(g, values, -2)
    return p > 0 and top / low or low / top
  end
  local function norm(x) return matrix_norm(g, x, p, { -2, -1 }, false, shape) end
  return norm(m) * norm(inverse(g, m))
end

aten:rule("linalg_cond(Tensor self, Scalar? p=None) -> Tensor", unless_empty(condition))
aten:rule("linalg_cond.p_str(Tensor self, str p) -> Tensor", unless_empty(condition))

aten:rule("vander(Tensor x, int? N=None, bool increasing=False) -> Tensor", function(g, a)
  local y = g.aten.linalg_vander(a.x, a.N and { N = a.N })
  return a.increasing and y or g.aten.flip(y, { -1 })
end)

aten:rule("orgqr(Tensor self, Tensor input2) -> Tensor", function(g, a)
  return g.aten.linalg_householder_product(a.self, a.input2)
end)

aten:rule("_cholesky_solve_helper(Tensor self, Tensor A, bool upper) -> Tensor", function(g, a)
  return g.aten.cholesky_solve(a.self, a.A, a.upper)
end)

aten:rule("linalg_pinv.rcond_tensor(Tensor self, Tensor rcond, bool hermitian=False) -> Tensor", function(g, a)
  return g.aten["linalg_pinv.atol_rtol_tensor"](a.self, { rtol = a.rcond, hermitian = a.hermitian })
end)

aten:rule("frobenius_norm.dim(Tensor self, int[1] dim, bool keepdim=False) -> Tensor", function(g, a)
  return g.aten.linalg_vector_norm(a.self, 2, a.dim, a.keepdim)
end)
