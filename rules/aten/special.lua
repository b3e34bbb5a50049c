-- rules/aten/special.lua: error functions, gamma functions, the zeta function, functions of integers.

local aten = require("t2o.rules").namespace("aten")
local types = require("t2o.types")
local util = require("t2o.util")

-- Half precision computes in float32, integers too.
local function each(names, fn)
  for _, name in ipairs(names) do
    aten:rule(name .. "(Tensor self) -> Tensor", function(g, a) return util.in_single(a.self, fn, g) end)
  end
end

local function is_zero(g, x) return g.Equal(x, g.scalar(0, x)) end
local function positive(g, x) return g.Greater(x, g.scalar(0, x)) end
local function nan(g, x) return g.scalar(0 / 0, x) end
local function log1p(g, x) return g.aten["log1p"](x) end

-- ---- error functions ----

-- log(erfcx(x) / t) for x >= 0, of t = 2 / (2 + x) in (0, 1]
local ERFCX = {
  -0.65132685989085, 0.64196979235649, 0.019476473204186, -0.0095615147868086, -0.00094659534448204,
  0.00036683949785276, 4.2523324806908e-5, -2.0278578112534e-5, -1.624290004647e-6, 1.3036558355805e-6,
  1.5626441722066e-8, -8.5238095914927e-8, 6.5290544390989e-9, 5.0593434955515e-9, -9.9136415649303e-10,
  -2.2736512229318e-10, 9.6467911020155e-11, 2.3940380830391e-12, -6.8860275264976e-12, 8.9448792730907e-13,
  3.130921399343e-13,
}

-- exp(x^2) erfc(x) for x >= 0
local function erfcx_positive(g, x)
  local two = g.scalar(2, x)
  local t = g.Div(two, g.Add(two, x))
  return g.Mul(t, g.Exp(util.chebyshev(g, t * 2 - 1, ERFCX)))
end

local function erfcx(g, x)
  local y = erfcx_positive(g, g.Abs(x))
  return g.Where(positive(g, x), y, g.Sub(g.Exp(g.Mul(x, x)) * 2, y))
end

local function erfc(g, x)
  local y = g.Mul(erfcx_positive(g, g.Abs(x)), g.Exp(g.Neg(g.Mul(x, x))))
  y = g.Where(g.IsInf(x), g.scalar(0, x), y)
  return g.Where(positive(g, x), y, g.Sub(g.scalar(2, x), y))
end

each({ "special_erfcx" }, erfcx)

-- erf(x) / x of x^2 up to 1. Runtimes have the function in single precision.
local ERF_NEAR = {
  0.97547693938265, -0.14226120510371, 0.0100355821876, -0.00057687646997675, 2.7419931252196e-5,
  -1.1043175507345e-6, 3.8488755420345e-8, -1.1808582533875e-9, 3.2334215826051e-11,
}

each({ "erf", "special_erf" }, function(g, x)
  if x.dtype ~= "float64" then return g.Erf(x) end
  local near = g.Mul(x, util.chebyshev(g, g.Mul(x, x) * 2 - 1, ERF_NEAR))
  return g.Where(g.Less(g.Abs(x), g.scalar(1, x)), near, g.Sub(g.scalar(1, x), erfc(g, x)))
end)

each({ "erfc", "special_erfc" }, erfc)

-- The normal distribution
each({ "special_ndtr" }, function(g, x) return erfc(g, x * -math.sqrt(0.5)) * 0.5 end)

each({ "special_log_ndtr" }, function(g, x)
  local t = x * math.sqrt(0.5)
  local low = g.Sub(g.Log(erfcx(g, g.Neg(t)) * 0.5), g.Mul(t, t))
  return g.Where(g.Less(x, g.scalar(-1, x)), low, log1p(g, erfc(g, t) * -0.5))
end)

-- erfinv(y) / y is smooth in w = -log(1 - y^2), and beyond in its root
local ERFINV_CENTRE = {
  1.6304220989459, 0.73156744567423, -0.021235032142505, -0.0065808875424495, 0.0019488711426909,
  -0.00014158343386375, -4.929286463618e-5, 1.4752887929042e-5, -6.1119186032582e-7, -5.1069973354808e-7,
  1.1590277232977e-7, 1.4907998843195e-9, -5.2447767855307e-9, 8.5179054910976e-10, 7.9170205929739e-11,
  -5.0994281737154e-11,
}
local ERFINV_TAIL = {
  4.0944958688416, 1.7637599366598, 0.0027681543397053, -0.0015265474928459, 0.00057014878365226,
  -0.00021525553954159, 8.4492869746604e-5, -3.1844342891002e-5, 1.0422208367697e-5, -2.5733839510093e-6,
  2.7433654697e-7, 1.3937452965851e-7, -1.0192958715912e-7, 3.567760677718e-8, -6.4982430781201e-9,
  -5.6685478266191e-10, 8.7553799617941e-10, -3.2427198699266e-10, 5.7787145292856e-11,
}
local ERFINV_FAR = {
  16.911181506437, 11.03902971294, -0.0094285304912385, 0.0022528467975198, -0.00049359700150952,
  8.349521416781e-5, -9.6252138316827e-7, -8.877921588602e-6, 6.1717535882877e-6, -3.1927960938233e-6,
  1.4684989695697e-6, -6.3392835898922e-7, 2.6298340277705e-7, -1.061451278899e-7, 4.1984597889445e-8,
  -1.6348421552535e-8, 6.2860208949249e-9, -2.3916928086799e-9, 9.0182047237775e-10, -3.3736504915736e-10,
  1.2531488700787e-10,
}

local function erfinv_ratio(g, w)
  local s = g.Sqrt(w)
  local centre = util.chebyshev(g, w / 3.125 - 1, ERFINV_CENTRE)
  local tail = util.chebyshev(g, (s - 4.25) / 1.75, ERFINV_TAIL)
  local far = util.chebyshev(g, (s - 17) / 11, ERFINV_FAR)
  return g.Where(g.Less(w, g.scalar(6.25, w)), centre, g.Where(g.Less(s, g.scalar(6, w)), tail, far))
end

each({ "erfinv", "special_erfinv" }, function(g, y)
  local one = g.scalar(1, y)
  local w = g.Neg(g.Log(g.Mul(g.Sub(one, y), g.Add(one, y))))
  local x = g.Mul(y, erfinv_ratio(g, w))
  return g.Where(g.Equal(g.Abs(y), one), y * math.huge, x)
end)

each({ "special_ndtri" }, function(g, p)
  local one = g.scalar(1, p)
  -- not as a product, which would underflow
  local w = g.Neg(g.Log(p * 4) + g.Log(g.Sub(one, p)))
  local y = p * 2 - 1
  local x = g.Mul(y, erfinv_ratio(g, g.Max(w, g.scalar(0, w)))) * math.sqrt(2)
  return g.Where(g.Or(is_zero(g, p), g.Equal(p, one)), y * math.huge, x)
end)

-- ---- gamma functions ----

-- log(gamma(x)) / ((x - 1) (x - 2)) on [0.5, 3], log(gamma(x)) on [3, 8]
local LGAMMA_NEAR = {
  0.49691964962413, -0.18983770295364, 0.051642363278249, -0.016208885827195, 0.0054808687569012,
  -0.0019373470781939, 0.00070489100820356, -0.00026169697337741, 9.8611305655192e-5, -3.7584856908988e-5,
  1.4455839828556e-5, -5.6014342781194e-6, 2.1839963102639e-6, -8.5605109934942e-7, 3.3707703487177e-7,
  -1.3325698991082e-7, 5.2866234217599e-8, -2.1039026610572e-8, 8.3963461159945e-9, -3.3593279703589e-9,
  1.3471284177582e-9, -5.4134135850817e-10, 2.1795238955641e-10, -8.7904769340312e-11, 3.5511074662085e-11,
  -1.4366889879917e-11, 5.8205239620166e-12,
}
local LGAMMA_MIDDLE = {
  4.2797396980992, 3.9450988185127, 0.32556733750097, -0.028483205235682, 0.0037406825494098,
  -0.00058860697136506, 0.00010265809795119, -1.9129016841134e-5, 3.7315170321595e-6, -7.5259985428294e-7,
  1.5566278944797e-7, -3.2832563128975e-8, 7.0335473248788e-9, -1.5258150402318e-9, 3.344335790568e-10,
  -7.393395016155e-11, 1.6463103136121e-11,
}

-- For x >= 0.5.
local function lgamma_positive(g, x)
  local near = util.chebyshev(g, (x - 1.75) / 1.25, LGAMMA_NEAR)
  near = g.Mul(g.Mul(x - 1, x - 2), near)
  local middle = util.chebyshev(g, (x - 5.5) / 2.5, LGAMMA_MIDDLE)
  local r = g.Reciprocal(x)
  local far = (x - 0.5) * (g.Log(x) - 1) + (0.5 * math.log(2 * math.pi) - 0.5)
  far = far + r * util.polynomial(g, g.Mul(r, r), { 1 / 12, -1 / 360, 1 / 1260, -1 / 1680 })
  far = g.Where(g.IsInf(x), x, far)
  return g.Where(g.Less(x, g.scalar(3, x)), near, g.Where(g.Less(x, g.scalar(8, x)), middle, far))
end

-- The distance to the nearest integer, times pi
local function turn(g, x) return g.Sub(x, g.Round(x)) * math.pi end

local function lgamma(g, x)
  local low = g.Less(x, g.scalar(0.5, x))
  local y = lgamma_positive(g, g.Where(low, g.Sub(g.scalar(1, x), x), x))
  -- of large numbers y is infinite as the mirror is: all of them are poles
  local finite = g.Min(y, g.scalar(select(2, types.limits(x.dtype)), x))
  local mirror = g.Log(g.Div(g.scalar(math.pi, x), g.Abs(g.Sin(turn(g, x)))))
  return g.Where(g.IsInf(x), g.Abs(x), g.Where(low, g.Sub(mirror, finite), y))
end

each({ "lgamma", "special_gammaln" }, lgamma)

-- A last dim that holds x plus each integer below n.
local function shifted(g, x, n)
  return g.Add(g.Unsqueeze(x, g.ints { x.rank }), n)
end

local function counted(g, n, dtype)
  local list = {}
  for i = 1, n do list[i] = (i - 1) + 0.0 end
  return g.const(list, dtype)
end

local function last_sum(g, x) return g.ReduceSum(x, g.ints { x.rank - 1 }, { keepdims = 0 }) end

-- For x > 0: eight steps up, and there the asymptotic series.
local function digamma_positive(g, x)
  local z = x + 8
  local r = g.Reciprocal(z)
  local r2 = g.Mul(r, r)
  local series = util.polynomial(g, r2, { 1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132 })
  local y = g.Sub(g.Sub(g.Log(z), r * 0.5), g.Mul(r2, series))
  y = g.Where(g.IsInf(x), x, y)
  return g.Sub(y, last_sum(g, g.Reciprocal(shifted(g, x, counted(g, 8, x.dtype)))))
end

local function digamma(g, x)
  local low = g.Less(x, g.scalar(0, x))
  local y = digamma_positive(g, g.Where(low, g.Sub(g.scalar(1, x), x), x))
  local angle = turn(g, x)
  y = g.Where(low, g.Sub(y, g.Div(g.Cos(angle), g.Sin(angle)) * math.pi), y)
  -- poles: at 0 with the sign of 0, elsewhere of none
  y = g.Where(g.And(low, g.Equal(x, g.Floor(x))), nan(g, x), y)
  return g.Where(is_zero(g, x), g.Neg(g.Reciprocal(x)), y)
end

each({ "digamma", "special_digamma", "special_psi" }, digamma)

local function multigamma(g, a)
  return util.in_single(a.self, function(_, x)
    local halves = {}
    for i = 1, a.p do halves[i] = (1 - i) / 2 end
    local sum = last_sum(g, lgamma(g, shifted(g, x, g.const(halves, x.dtype))))
    return sum + a.p * (a.p - 1) / 4 * math.log(math.pi)
  end, g)
end

aten:rule("mvlgamma(Tensor self, int p) -> Tensor", multigamma)
aten:rule("special_multigammaln(Tensor self, int p) -> Tensor", multigamma)

-- ---- zeta and what follows of it ----

-- Numbers of Bernoulli over factorials: the Euler-Maclaurin formula's.
local BERNOULLI = { 1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160 }

-- The tail of the sum of (q + k)^-s from z = q + n on.
local function zeta_tail(g, s, z)
  local power = g.Pow(z, g.Neg(s))
  local sum = power * 0.5 + g.Div(g.Mul(power, z), s - 1)
  local factor = g.Div(g.Mul(power, s), z)
  for i, b in ipairs(BERNOULLI) do
    sum = sum + factor * b
    factor = g.Div(g.Mul(factor, g.Mul(s + (2 * i - 1), s + 2 * i)), g.Mul(z, z))
  end
  return sum
end

local TERMS = 10

-- For q > 0.
local function zeta_positive(g, s, q)
  local terms = shifted(g, q, counted(g, TERMS, q.dtype))
  local exponent = g.Neg(s)
  if s.rank > 0 then exponent = g.Unsqueeze(exponent, g.ints { s.rank }) end
  return g.Add(last_sum(g, g.Pow(terms, exponent)), zeta_tail(g, s, q + TERMS))
end

-- Below 0 as many terms more as it takes to come above it; so far down that these would be too many the result is
-- not a number rather than a wrong one.
local DEEPEST = 4096

local function zeta(g, s, q)
  local below = g.Max(g.Neg(g.Floor(q)), g.scalar(0, q))
  below = g.Min(below, g.scalar(DEEPEST, q))
  local most = g.ReduceMax(below:to("int64"), nil, { keepdims = 0 })
  local count = g.Range(g.const(0), most + TERMS, g.const(1)):to(q.dtype)
  local terms = shifted(g, q, count)
  local exponent = g.Neg(s)
  if s.rank > 0 then exponent = g.Unsqueeze(exponent, g.ints { s.rank }) end
  local number = most:to(q.dtype)
  local tail = zeta_tail(g, s, g.Add(q, number) + TERMS)
  tail = g.Where(g.And(g.IsInf(s), g.LessOrEqual(q, g.scalar(1, q))), g.scalar(0, tail), tail)
  local sum = g.Add(last_sum(g, g.Pow(terms, exponent)), tail)
  local one, whole = g.scalar(1, s), g.Equal(q, g.Floor(q))
  local low = g.LessOrEqual(q, g.scalar(0, q))
  local undefined = g.Or(g.And(low, g.Not(g.Equal(s, g.Floor(s)))), g.Less(q, g.scalar(-DEEPEST, q)))
  sum = g.Where(undefined, nan(g, sum), sum)
  sum = g.Where(g.And(low, whole), g.scalar(math.huge, sum), sum)
  sum = g.Where(g.Less(s, one), nan(g, sum), sum)
  return g.Where(g.Equal(s, one), g.scalar(math.huge, sum), sum)
end

local function zeta_rule(g, a)
  local dtype = types.float_result(a.self, a.other)
  return zeta(g, g.scalar(a.self, dtype), g.scalar(a.other, dtype))
end

aten:rule("special_zeta(Tensor self, Tensor other) -> Tensor", zeta_rule)
aten:rule("special_zeta.other_scalar(Tensor self, Scalar other) -> Tensor", zeta_rule)
aten:rule("special_zeta.self_scalar(Scalar self, Tensor other) -> Tensor", zeta_rule)

-- The n-th derivative of cot(pi x) by x as a polynomial in c = cot(pi x), lowest power first.
local function cotangent_derivative(n)
  local p = { 0.0, 1.0 }
  for _ = 1, n do
    local q = util.fill(0.0, #p + 1)
    for k = 1, #p - 1 do -- p' = k p_k c^(k-1), times -pi (1 + c^2)
      q[k] = q[k] - math.pi * k * p[k + 1]
      q[k + 2] = q[k + 2] - math.pi * k * p[k + 1]
    end
    p = q
  end
  return p
end

local function factorial(n) return n < 2 and 1.0 or n * factorial(n - 1) end

-- (pi / sin(pi x))^2, of the product pi x as it is rounded: so PyTorch has no poles but large numbers there.
local function trigamma_mirror(g, x)
  local s = g.Sin((x * math.pi):to("float64")):to(x.dtype)
  return g.Div(g.scalar(math.pi ^ 2, x), g.Mul(s, s))
end

-- Below 0 by reflection: psi_n(x) = (-1)^n psi_n(1 - x) - pi (d/dx)^n cot(pi x).
local function polygamma(g, n, x)
  if n == 0 then return digamma(g, x) end
  if n > 20 then g.decline("a derivative of digamma of order %d", n) end
  local scale = (n % 2 == 1 and 1 or -1) * factorial(n)
  local low = g.Less(x, g.scalar(0, x))
  local up = g.Where(low, g.Sub(g.scalar(1, x), x), x)
  local y = zeta_positive(g, g.scalar(n + 1, x), up) * scale
  -- what the series gives at infinity is 0 times infinity, and PyTorch has a value for the first order only
  if n == 1 then
    y = g.Where(g.IsInf(up), g.scalar(0, x), y)
    return g.Where(low, g.Sub(trigamma_mirror(g, x), y), y)
  end
  local angle = turn(g, x)
  local cotangent = g.Div(g.Cos(angle), g.Sin(angle))
  local mirror = util.polynomial(g, cotangent, cotangent_derivative(n)) * -math.pi
  local reflected = g.Add(n % 2 == 0 and y or g.Neg(y), mirror)
  y = g.Where(low, reflected, y)
  local pole = g.And(g.LessOrEqual(x, g.scalar(0, x)), g.Equal(x, g.Floor(x)))
  return g.Where(pole, g.scalar(scale > 0 and math.huge or -math.huge, x), y)
end

for _, name in ipairs { "polygamma", "special_polygamma" } do
  aten:rule(name .. "(int n, Tensor self) -> Tensor", function(g, a)
    return util.in_single(a.self, function(_, x) return polygamma(g, a.n, x) end, g)
  end)
end

-- ---- incomplete gamma functions ----

local PRECISION = 1e-12

-- Goes on with fn(k, states...), whose second to last result says how the last one has changed, until that is nothing.
local function iterate(g, states, fn)
  local specs = { { "int64", {} }, { "bool", {} } }
  for i, s in ipairs(states) do specs[i + 2] = { s.dtype, s.shape } end
  local body = g.body("step", specs, function(k, _, ...)
    local change, after = fn((k + 1):to("float64"), ...)
    local moving = g.Greater(g.Abs(change), g.scalar(PRECISION, change)):to("int32")
    local any = g.Greater(g.ReduceSum(moving, nil, { keepdims = 0 }), g.scalar(0, "int32"))
    return any, table.unpack(after)
  end)
  local args = { g.const(20000), g.const(true), table.unpack(states) }
  args[#args + 1] = { body = body, outputs = #states }
  return table.unpack(g.Loop(table.unpack(args)))
end

-- Sum of x^n / (a (a + 1) ... (a + n)), for the lower function where x is small.
local function gamma_series(g, a, x)
  local start = g.Reciprocal(a)
  local _, sum = iterate(g, { start, start }, function(k, term, sum)
    term = g.Div(g.Mul(term, x), g.Add(a, k))
    sum = g.Add(sum, term)
    return g.Div(term, sum), { term, sum }
  end)
  return sum
end

-- The continued fraction of the upper function where x is large, by Lentz's method.
local function gamma_fraction(g, a, x)
  local b = g.Sub(x + 1, a)
  local d = g.Reciprocal(b)
  local c = g.expand(g.scalar(1e300, x), x.shape)
  local _, _, _, h = iterate(g, { b, c, d, d }, function(k, b1, c1, d1, h1)
    local n = g.Mul(k, g.Sub(a, k))
    b1 = b1 + 2
    d1 = g.Reciprocal(g.Add(g.Mul(n, d1), b1))
    c1 = g.Add(b1, g.Div(n, c1))
    local step = g.Mul(c1, d1)
    return step - 1, { b1, c1, d1, g.Mul(h1, step) }
  end)
  return h
end

-- The share of the lower (or upper) function, computed in float64.
local function incomplete(upper)
  return function(g, args)
    local a, x, dtype = util.promote(args.self, args.other)
    if not types.is_float(dtype) then a, x, dtype = a:to("float32"), x:to("float32"), "float32" end
    local shape = g.Add(a, x).shape
    a, x = g.expand(a:to("float64"), shape), g.expand(x:to("float64"), shape)
    local zero, one = g.scalar(0, x), g.scalar(1, x)
    local function is(v, w) return g.Equal(v, g.scalar(w, v)) end
    local plain = g.And(g.And(g.Greater(a, zero), g.Greater(x, zero)), g.Not(g.Or(g.IsInf(a), g.IsInf(x))))
    local small = g.Less(x, a + 1)
    local a1, x1 = g.Where(plain, a, one), g.Where(plain, x, one)
    local factor = g.Exp(g.Sub(g.Sub(g.Mul(a1, g.Log(x1)), x1), lgamma(g, a1)))
    local low = g.Mul(factor, gamma_series(g, a1, g.Where(small, x1, zero)))
    local high = g.Mul(factor, gamma_fraction(g, a1, g.Where(small, a1 + 2, x1)))
    local y = g.Where(small, upper and g.Sub(one, low) or low, upper and high or g.Sub(one, high))
    -- at the ends: nothing of it at x = 0 or an infinite a, all of it at a = 0 or an infinite x
    local none, all = upper and one or zero, upper and zero or one
    local unknown = g.And(g.Or(g.IsNaN(a), g.IsNaN(x)), g.Not(g.IsInf(x)))
    y = g.Where(plain, y, g.Where(unknown, nan(g, y), all))
    y = g.Where(g.Or(is(x, 0), g.IsInf(a)), none, y)
    local both = g.Or(g.And(is(x, 0), is(a, 0)), g.And(g.IsInf(x), g.IsInf(a)))
    local negative = g.Or(g.Less(a, zero), g.Less(x, zero))
    return g.Where(g.Or(negative, both), nan(g, y), y):to(dtype)
  end
end

for upper, names in pairs { [false] = { "igamma", "special_gammainc" }, [true] = { "igammac", "special_gammaincc" } } do
  for _, name in ipairs(names) do
    aten:rule(name .. "(Tensor self, Tensor other) -> Tensor", incomplete(upper))
  end
end

-- ---- products with logarithms ----

-- x log(y), which is 0 at x = 0 whatever y is, but for y that is not a number
local function x_log(log)
  return function(g, a)
    local dtype = types.float_result(a.self, a.other)
    local x, y = g.scalar(a.self, dtype), g.scalar(a.other, dtype)
    local product = g.Where(is_zero(g, x), g.scalar(0, x), g.Mul(x, log(g, y)))
    return g.Where(g.IsNaN(y), y, product)
  end
end

local xlogy, xlog1py = x_log(function(g, y) return g.Log(y) end), x_log(log1p)

aten:rule("xlogy.Tensor(Tensor self, Tensor other) -> Tensor", xlogy)
aten:rule("xlogy.Scalar_Other(Tensor self, Scalar other) -> Tensor", xlogy)
aten:rule("xlogy.Scalar_Self(Scalar self, Tensor other) -> Tensor", xlogy)
for name, fn in pairs { special_xlogy = xlogy, special_xlog1py = xlog1py } do
  aten:rule(name .. "(Tensor self, Tensor other) -> Tensor", fn)
  aten:rule(name .. ".other_scalar(Tensor self, Scalar other) -> Tensor", fn)
  aten:rule(name .. ".self_scalar(Scalar self, Tensor other) -> Tensor", fn)
end

each({ "special_entr" }, function(g, x)
  local y = g.Where(is_zero(g, x), x, g.Neg(g.Mul(x, g.Log(x))))
  return g.Where(g.Less(x, g.scalar(0, x)), g.scalar(-math.huge, x), y)
end)

-- ---- integers ----

-- Euclid's algorithm on all elements until nothing is left of any.
local function gcd(g, x, y)
  local zero, go = g.scalar(0, x), "bool"
  local shape = g.Add(x, y).shape
  local function any(v)
    local left = g.Not(g.Equal(v, zero)):to("int32")
    return g.Greater(g.ReduceSum(left, nil, { keepdims = 0 }), g.scalar(0, "int32"))
  end
  local function magnitude(v) return g.expand(types.is_unsigned(v.dtype) and v or g.Abs(v), shape) end
  x, y = magnitude(x), magnitude(y)
  local state = { x.dtype, shape }
  local body = g.body("step", { { "int64", {} }, { go, {} }, state, state }, function(_, _, u, v)
    local done = g.Equal(v, zero)
    local rest = g.Mod(u, util.where(g, done, g.scalar(1, v), v))
    local after = util.where(g, done, v, rest)
    return any(after), util.where(g, done, u, v), after
  end)
  return g.Loop(nil, any(y), x, y, { body = body, outputs = 2 })[1]
end

local function integers(g, a)
  local x, y, dtype = util.promote(a.self, a.other)
  if not types.is_int(dtype) then g.decline("a common divisor of %s", dtype) end
  return x, y
end

aten:rule("gcd(Tensor self, Tensor other) -> Tensor", function(g, a) return gcd(g, integers(g, a)) end)

aten:rule("lcm(Tensor self, Tensor other) -> Tensor", function(g, a)
  local x, y = integers(g, a)
  local dtype = x.dtype
  if types.bits(dtype) < 32 then x, y = x:to("int32"), y:to("int32") end
  local d = gcd(g, x, y)
  local safe = util.where(g, g.Equal(d, g.scalar(0, d)), g.scalar(1, d), d)
  local product = g.Mul(g.Div(x, safe), y)
  return g.Abs(product):to(dtype)
end)

-- ---- the parts of floats ----

-- x = mantissa * 2^exponent with the mantissa in [0.5, 1). The logarithm may be off by one, as the mantissa then shows.
aten:rule("frexp.Tensor(Tensor self) -> (Tensor mantissa, Tensor exponent)", function(g, a)
  local x = a.self:to("float64")
  local size = g.Abs(x)
  local plain = g.And(g.Not(is_zero(g, x)), g.Less(size, g.scalar(math.huge, x)))
  local two, one, half = g.scalar(2, x), g.scalar(1, x), g.scalar(0.5, x)
  local e = g.Floor(g.Div(g.Log(g.Where(plain, size, half)), g.scalar(math.log(2), x))) + 1
  local m = g.Div(g.Div(x, g.Pow(two, e - 1)), two)
  local high = g.GreaterOrEqual(g.Abs(m), one)
  m, e = g.Where(high, g.Mul(m, half), m), g.Where(high, e + 1, e)
  local low = g.Less(g.Abs(m), half)
  m, e = g.Where(low, g.Mul(m, two), m), g.Where(low, e - 1, e)
  local mantissa = g.Where(plain, m, x)
  return mantissa:to(a.self.dtype), g.Where(plain, e, g.scalar(0, e)):to("int32")
end)

-- Digits behind the first, and the least exponent.
local FORMATS = { float32 = { 23, -126 }, float16 = { 10, -14 }, bfloat16 = { 7, -126 } }

-- The next number is found in float64: a step further.
aten:rule("nextafter(Tensor self, Tensor other) -> Tensor", function(g, a)
  local x, y, dtype = util.promote(a.self, a.other)
  if not FORMATS[dtype] then g.decline("the next number of %s", dtype) end
  local digits, least = table.unpack(FORMATS[dtype])
  local wide, zero = x:to("float64"), g.scalar(0, x)
  local size = g.Abs(wide)
  local smallest = g.scalar(2.0 ^ (least - digits), "float64")
  local limit = g.scalar(2.0 ^ least, "float64")
  local e = g.Floor(g.Div(g.Log(g.Max(size, limit)), g.scalar(math.log(2), "float64")))
  local power = g.Pow(g.scalar(2, "float64"), e)
  -- the logarithm may be off by one next to a power of 2
  power = g.Where(g.Greater(power, g.Max(size, limit)), power * 0.5, power)
  power = g.Where(g.GreaterOrEqual(g.Max(size, limit), power * 2), power * 2, power)
  local up = g.Less(x, y)
  local away = g.Equal(up, g.GreaterOrEqual(x, zero))
  -- towards 0 a power of 2 has a step of half the size
  local shrink = g.And(g.And(g.Not(away), g.Equal(size, power)), g.Greater(size, limit))
  local step = power * 2.0 ^ -digits
  step = g.Max(g.Where(shrink, step * 0.5, step), smallest)
  local moved = g.Where(up, g.Add(wide, step), g.Sub(wide, step)):to(dtype)
  -- an infinity comes back to the largest number
  local largest = g.scalar(select(2, types.limits(dtype)), x)
  moved = g.Where(g.IsInf(x), g.Where(up, g.Neg(largest), largest), moved)
  local result = g.Where(g.Equal(x, y), y, moved)
  return g.Where(g.Or(g.IsNaN(x), g.IsNaN(y)), g.Add(x, y), result)
end)

-- Names that are put together above, for the index of rules (tools/name_hints.py):
-- "special_xlog1py" "special_xlog1py.other_scalar" "special_xlog1py.self_scalar" "special_xlogy"
-- "special_xlogy.other_scalar" "special_xlogy.self_scalar"
