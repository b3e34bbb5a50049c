-- rules/aten/polynomial.lua: orthogonal polynomials, by their recurrences.

local aten = require("t2o.rules").namespace("aten")
local types = require("t2o.types")

-- first(g, x) is the polynomial of degree 1; next(g, x, k, p, q) that of degree k + 2, p and q being the two before it.
local function chebyshev(first, shift)
  local function argument(x) return shift and x * 2 - 1 or x end
  return {
    first = function(_, x) return first(argument(x)) end,
    next = function(g, x, _, p, q) return g.Sub(g.Mul(argument(x) * 2, q), p) end,
  }
end

local FIRST = {
  t = function(x) return x end,
  u = function(x) return x * 2 end,
  v = function(x) return x * 2 - 1 end,
  w = function(x) return x * 2 + 1 end,
}

local FAMILIES = {
  hermite_polynomial_h = {
    first = function(_, x) return x * 2 end,
    next = function(g, x, k, p, q) return g.Sub(g.Mul(x * 2, q), g.Mul(k * 2 + 2, p)) end,
    limited = true,
  },
  hermite_polynomial_he = {
    first = function(_, x) return x end,
    next = function(g, x, k, p, q) return g.Sub(g.Mul(x, q), g.Mul(k + 1, p)) end,
    limited = true,
  },
  laguerre_polynomial_l = {
    first = function(g, x) return g.Sub(g.scalar(1, x), x) end,
    next = function(g, x, k, p, q)
      return g.Div(g.Sub(g.Mul(g.Sub(k * 2 + 3, x), q), g.Mul(k + 1, p)), k + 2)
    end,
  },
  legendre_polynomial_p = {
    first = function(_, x) return x end,
    next = function(g, x, k, p, q)
      return g.Div(g.Sub(g.Mul(g.Mul(k * 2 + 3, x), q), g.Mul(k + 1, p)), k + 2)
    end,
  },
}
for kind, first in pairs(FIRST) do
  FAMILIES["chebyshev_polynomial_" .. kind] = chebyshev(first, false)
  FAMILIES["shifted_chebyshev_polynomial_" .. kind] = chebyshev(first, true)
end

-- Degrees beyond which PyTorch gives up on a family whose values leave the floats.
local LIMIT = { float32 = 128, float64 = 512 }

-- All degrees up to the largest one, each element taking its own on the way.
local function evaluate(g, family, x, n, limit)
  local zero, one = g.scalar(0, x), g.scalar(1, x)
  local shape = g.Add(x, n:to(x.dtype)).shape
  x = g.expand(x, shape)
  local q = family.first(g, x)
  local result = g.expand(g.Where(g.Equal(n, g.scalar(0, n)), one, zero), shape)
  local most = g.ReduceMax(n, nil, { keepdims = 0 })
  if limit then most = g.Min(most, g.scalar(limit, n)) end
  local state = { x.dtype, shape }
  local specs = { { "int64", {} }, { "bool", {} }, state, state, state }
  local body = g.body("degree", specs, function(k, going, p, r, found)
    found = g.Where(g.Equal(n, k + 1), r, found)
    return g.Identity(going), g.Identity(r), family.next(g, x, k:to(x.dtype), p, r), found
  end)
  local start = g.expand(one, shape)
  result = g.Loop(most, g.const(true), start, q, result, { body = body, outputs = 3 })[3]
  if not limit then return result end
  return g.Where(g.Greater(n, g.scalar(limit, n)), g.scalar(0 / 0, x), result)
end

for name, family in pairs(FAMILIES) do
  local function fn(g, a)
    local dtype = types.float_result(a.x, a.n)
    local x, n = g.scalar(a.x, dtype), g.scalar(a.n, dtype)
    return evaluate(g, family, x, n:to("int64"), family.limited and (LIMIT[dtype] or 1024))
  end
  aten:rule("special_" .. name .. "(Tensor x, Tensor n) -> Tensor", fn)
  aten:rule("special_" .. name .. ".x_scalar(Scalar x, Tensor n) -> Tensor", fn)
  aten:rule("special_" .. name .. ".n_scalar(Tensor x, Scalar n) -> Tensor", fn)
end

-- Names that are put together above, for the index of rules (tools/name_hints.py):
-- "special_chebyshev_polynomial_t" "special_chebyshev_polynomial_t.n_scalar"
-- "special_chebyshev_polynomial_t.x_scalar" "special_chebyshev_polynomial_u"
-- "special_chebyshev_polynomial_u.n_scalar" "special_chebyshev_polynomial_u.x_scalar"
-- "special_chebyshev_polynomial_v" "special_chebyshev_polynomial_v.n_scalar"
-- "special_chebyshev_polynomial_v.x_scalar" "special_chebyshev_polynomial_w"
-- "special_chebyshev_polynomial_w.n_scalar" "special_chebyshev_polynomial_w.x_scalar"
-- "special_hermite_polynomial_h" "special_hermite_polynomial_h.n_scalar"
-- "special_hermite_polynomial_h.x_scalar" "special_hermite_polynomial_he"
-- "special_hermite_polynomial_he.n_scalar" "special_hermite_polynomial_he.x_scalar"
-- "special_laguerre_polynomial_l" "special_laguerre_polynomial_l.n_scalar"
-- "special_laguerre_polynomial_l.x_scalar" "special_legendre_polynomial_p"
-- "special_legendre_polynomial_p.n_scalar" "special_legendre_polynomial_p.x_scalar"
-- "special_shifted_chebyshev_polynomial_t" "special_shifted_chebyshev_polynomial_t.n_scalar"
-- "special_shifted_chebyshev_polynomial_t.x_scalar" "special_shifted_chebyshev_polynomial_u"
-- "special_shifted_chebyshev_polynomial_u.n_scalar" "special_shifted_chebyshev_polynomial_u.x_scalar"
-- "special_shifted_chebyshev_polynomial_v" "special_shifted_chebyshev_polynomial_v.n_scalar"
-- "special_shifted_chebyshev_polynomial_v.x_scalar" "special_shifted_chebyshev_polynomial_w"
-- "special_shifted_chebyshev_polynomial_w.n_scalar" "special_shifted_chebyshev_polynomial_w.x_scalar"
