-- rules/aten/bessel.lua: Bessel functions and the Airy function, by Chebyshev series.

local aten = require("t2o.rules").namespace("aten")
local util = require("t2o.util")

local function each(names, fn)
  for _, name in ipairs(names) do
    local argument = (name:find("scaled") or name:find("spherical") or name:find("airy")) and "x" or "self"
    aten:rule(name .. "(Tensor " .. argument .. ") -> Tensor", function(g, a)
      return util.in_single(a[argument], fn, g)
    end)
  end
end

local function at_zero(g, x, value, otherwise)
  return g.Where(g.Equal(x, g.scalar(0, x)), g.scalar(value, x), otherwise)
end

local function undefined_below_zero(g, x, y)
  return g.Where(g.Less(x, g.scalar(0, x)), g.scalar(0 / 0, x), y)
end

local function signed_as(g, y, x)
  return g.Where(g.Less(x, g.scalar(0, x)), g.Neg(y), y)
end

-- ---- modified, of the first kind ----

-- exp(-x) I(x) on [0, 8] (of order 1: over x), and sqrt(x) exp(-x) I(x) of 8 / x
local I0_NEAR = {
  0.33839763720474, -0.3046826723432, 0.17162090152221, -0.094901097048048, 0.049305284239671,
  -0.023737414805899, 0.010546460394595, -0.0043243099950506, 0.0016394756169413, -0.00057637557453858,
  0.00018850288509584, -5.7541950100821e-5, 1.6448448070729e-5, -4.4167383584588e-6, 1.1173875391201e-6,
  -2.6707938539406e-7, 6.0469950225419e-8, -1.3000250099862e-8, 2.6598237246824e-9, -5.1897956016353e-10,
  9.6758090353732e-11, -1.7268262914416e-11, 2.9550526631296e-12,
}
local I1_NEAR = {
  0.12629359322182, -0.17641651835783, 0.10264365868985, -0.052945981208095, 0.024726449030627,
  -0.010564084894626, 0.0041564229443129, -0.0015135724506313, 0.00051228595616858, -0.0001617608158259,
  4.7815651075501e-5, -1.3273163656039e-5, 3.4702513081377e-6, -8.5687202646955e-7, 2.0032947535521e-7,
  -4.4450591287963e-8, 9.3815373864958e-9, -1.8872497517228e-9, 3.6255902815521e-10, -6.663489723502e-11,
  1.1736186298891e-11, -1.9839743977649e-12, 3.2237933659456e-13,
}
local I0_FAR = {
  0.40224520550705, 0.0033691164782557, 6.8897583469168e-5, 2.8913705208348e-6, 2.0489185894691e-7,
  2.2666689904982e-8, 3.3962320257084e-9, 4.940602388225e-10, 1.1889147107846e-11, -3.1499165279632e-11,
  -1.3215811840448e-11,
}
local I1_FAR = {
  0.38928811750914, -0.0097610974913615, -0.00011058893876262, -3.8825648088777e-6, -2.5122362378702e-7,
  -2.6314688468895e-8, -3.8353803859642e-9, -5.5897434621966e-10, -1.8974958123505e-11, 3.2526035830155e-11,
  1.4125807436614e-11,
}

local function scaled_i(g, x, near, far)
  local y = g.Abs(x)
  local close = util.chebyshev(g, y / 4 - 1, near)
  if near == I1_NEAR then close = g.Mul(close, y) end
  local eighth = g.Div(g.scalar(8, x), y)
  local distant = g.Div(util.chebyshev(g, eighth * 2 - 1, far), g.Sqrt(y))
  return g.Where(g.LessOrEqual(y, g.scalar(8, x)), close, distant)
end

local function i0e(g, x) return scaled_i(g, x, I0_NEAR, I0_FAR) end
local function i1e(g, x) return signed_as(g, scaled_i(g, x, I1_NEAR, I1_FAR), x) end
local function i0(g, x) return g.Mul(g.Exp(g.Abs(x)), i0e(g, x)) end
local function i1(g, x) return g.Mul(g.Exp(g.Abs(x)), i1e(g, x)) end

each({ "special_i0e" }, i0e)
each({ "special_i1e" }, i1e)
each({ "i0", "special_i0", "special_modified_bessel_i0" }, i0)
each({ "special_i1", "special_modified_bessel_i1" }, i1)

-- ---- modified, of the second kind ----

-- K0(x) + log(x / 2) I0(x) and x (K1(x) - log(x / 2) I1(x)) of x^2 up to 4; sqrt(x) exp(x) K(x) of 2 / x
local K0_NEAR = {
  -0.26766369661695, 0.34428989992463, 0.035979936515362, 0.0012646154114469, 2.2862121031195e-5,
  2.5347910790261e-7, 1.9045163772202e-9, 1.0349695257634e-11,
}
local K1_NEAR = {
  0.76265011366947, -0.35315596077654, -0.12261118082266, -0.0069757238596399, -0.00017302889575131,
  -2.433406141566e-6, -2.2133876307347e-8, -1.4114883926335e-10,
}
local K0_FAR = {
  1.220151541033, -0.031448101311965, 0.0015698838857301, -0.00012849549581628, 1.3949813718876e-5,
  -1.8317555227191e-6, 2.766813639445e-7, -4.6604898976879e-8, 8.5740340174142e-9, -1.6975345093891e-9,
  3.5773972814003e-10, -7.9574892444774e-11, 1.8559491149549e-11,
}
local K1_FAR = {
  1.3603130952422, 0.10392373657682, -0.0028578168596228, 0.00019521551847135, -1.9361979741661e-5,
  2.4064849478372e-6, -3.5019606030878e-7, 5.74108412545e-8, -1.0345762465678e-8, 2.015049755197e-9,
  -4.1903547593419e-10, 9.2183151876053e-11, -2.1299678384278e-11,
}

-- K(x), or exp(x) K(x)
local function second_kind(order, scaled)
  return function(g, x)
    local square = g.Mul(x, x) / 2 - 1
    local log = g.Log(x * 0.5)
    local close
    if order == 0 then
      close = g.Sub(util.chebyshev(g, square, K0_NEAR), g.Mul(log, i0(g, x)))
    else
      close = g.Add(g.Div(util.chebyshev(g, square, K1_NEAR), x), g.Mul(log, i1(g, x)))
    end
    local half = g.Div(g.scalar(2, x), x)
    local distant = g.Div(util.chebyshev(g, half * 2 - 1, order == 0 and K0_FAR or K1_FAR), g.Sqrt(x))
    if scaled then close = g.Mul(close, g.Exp(x)) else distant = g.Mul(distant, g.Exp(g.Neg(x))) end
    local y = g.Where(g.LessOrEqual(x, g.scalar(2, x)), close, distant)
    return undefined_below_zero(g, x, at_zero(g, x, math.huge, y))
  end
end

for order = 0, 1 do
  each({ "special_modified_bessel_k" .. order }, second_kind(order, false))
  each({ "special_scaled_modified_bessel_k" .. order }, second_kind(order, true))
end

-- ---- of the first and second kind ----

-- J0(x), J1(x) / x and what is left of Y0(x), Y1(x) / x without their logarithms and poles, of x^2 up to 64
local J0_NEAR = {
  0.15772797147489, -0.0087234423528522, 0.26517861320334, -0.37009499387265, 0.1580671023321,
  -0.034893769411409, 0.0048191800694676, -0.00046062616620628, 3.2460328821005e-5, -1.7619469077622e-6,
  7.6081635924188e-8, -2.6792535305577e-9, 7.8486963144795e-11, -1.943834686737e-12,
}
local J1_NEAR = {
  0.081044846325658, -0.14897514506765, 0.16099926235721, -0.082680491766818, 0.022213639654966,
  -0.0036469406007693, 0.00040503377283548, -3.2555548668573e-5, 1.9858774049915e-6, -9.5219847567504e-8,
  3.6871337590971e-9, -1.1780266226959e-10, 3.160154580348e-12, -7.2217552396518e-14,
}
local Y0_NEAR = {
  -0.033146113203285, -0.27447430552975, 0.17903431407718, 0.26156734625505, -0.17730201278114,
  0.047196689595763, -0.0072879624795521, 0.00075311359325777, -5.632079141057e-5, 3.2065325376548e-6,
  -1.4407233274019e-7, 5.2487947873305e-9, -1.5837552541812e-10, 4.0263308183061e-12, -8.7473412033108e-14,
}
local Y1_NEAR = {
  0.0025380132357418, -0.016087173047669, -0.095912045360831, 0.084451972596523, -0.028328123944594,
  0.0052898975441671, -0.00064145514513264, 5.5059828733387e-5, -3.5380800186893e-6, 1.7707804556154e-7,
  -7.1105500498993e-9, 2.3443379059115e-10, -6.4651518414116e-12, 1.51429151205e-13,
}

-- Amplitude and phase from 8 on, of 64 / x^2
local P0 = {
  0.99946034934752, -0.00053652204681321, 3.0751847875195e-6, -5.1705945376061e-8, 1.6306464635151e-9,
  -7.8640913772371e-11,
}
local Q0 = {
  -0.015555854605337, 6.8385199426116e-5, -7.4144984110606e-7, 1.7972457247969e-8, -7.2719159368663e-10,
  4.2201219046687e-11, -3.2067474209966e-12, 3.0061451253517e-13,
}
local P1 = {
  1.00090304086, 0.00089898983308594, -3.9872843004889e-6, 6.1776339606443e-8, -1.8718907491063e-9,
  8.8168986595823e-11,
}
local Q1 = {
  0.046777787069535, -9.6277235491571e-5, 9.1386152579555e-7, -2.0959781384083e-8, 8.2291933276506e-10,
  -4.6863636881769e-11, 3.5152187949686e-12,
}

local NEAR = { j = { [0] = J0_NEAR, J1_NEAR }, y = { [0] = Y0_NEAR, Y1_NEAR } }
local FAR = { [0] = { P0, Q0 }, { P1, Q1 } }

local function near_j(g, x, order)
  local y = util.chebyshev(g, g.Mul(x, x) / 32 - 1, NEAR.j[order])
  return order == 0 and y or g.Mul(x, y)
end

local function near_y(g, x, order)
  local y = util.chebyshev(g, g.Mul(x, x) / 32 - 1, NEAR.y[order])
  local log = g.Mul(g.Log(x), near_j(g, x, order))
  if order == 0 then return y + log * (2 / math.pi) end
  return g.Mul(x, y) + g.Sub(log, g.Reciprocal(x)) * (2 / math.pi)
end

-- Of x >= 8; the sine and cosine of x - (2 order + 1) pi / 4 by those of x, so that no digits of x are lost.
local function far(g, x, order, kind)
  local r = g.Div(g.scalar(8, x), x)
  local z = g.Mul(r, r) * 2 - 1
  local p = util.chebyshev(g, z, FAR[order][1])
  local q = g.Mul(r, util.chebyshev(g, z, FAR[order][2]))
  local sin, cos = g.Sin(x), g.Cos(x)
  -- both times the root of 2
  local s, c = g.Sub(sin, cos), g.Add(sin, cos)
  if order == 1 then s, c = g.Neg(c), s end
  local wave
  if kind == "j" then wave = g.Sub(g.Mul(p, c), g.Mul(q, s)) else wave = g.Add(g.Mul(p, s), g.Mul(q, c)) end
  return g.Div(wave, g.Sqrt(x * math.pi))
end

for order = 0, 1 do
  each({ "special_bessel_j" .. order }, function(g, x)
    local size = g.Abs(x)
    local y = g.Where(g.Less(size, g.scalar(8, x)), near_j(g, size, order), far(g, size, order, "j"))
    return order == 0 and y or signed_as(g, y, x)
  end)
  each({ "special_bessel_y" .. order }, function(g, x)
    local y = g.Where(g.Less(x, g.scalar(8, x)), near_y(g, x, order), far(g, x, order, "y"))
    return undefined_below_zero(g, x, at_zero(g, x, -math.huge, y))
  end)
end

each({ "special_spherical_bessel_j0" }, function(g, x)
  local y = at_zero(g, x, 1, g.Div(g.Sin(x), x))
  return g.Where(g.IsInf(x), g.scalar(0, x), y)
end)

-- ---- Airy ----

-- Ai(x) on [-3, 2]; beyond, amplitudes of powers of 2/3 |x|^1.5
local AIRY_NEAR = {
  0.11441319165694, 0.11771809279521, -0.3337761760288, 0.13072092979301, 0.039279768457925,
  -0.044288359965967, 0.0098740014057179, 0.0024687343881729, -0.0018057628705038, 0.00028441653456758,
  6.6001215190706e-5, -3.56110216286e-5, 4.2987085355282e-6, 9.726953490863e-7, -4.1346194419335e-7,
  3.9933307992407e-8, 9.0558813786517e-9, -3.1606121065043e-9, 2.5070220324607e-10, 5.7997027637929e-11,
  -1.7103677249658e-11, 1.1331621721429e-12, 2.7089923048675e-13,
}
local AIRY_FAR = {
  0.98440530491716, -0.014792784850104, 0.00073271774654267, -6.1259542341782e-5, 6.8347669755727e-6,
  -9.237229735404e-7, 1.4362253404381e-7, -2.4893194223221e-8, 4.7097934400543e-9, -9.5838637081127e-10,
  2.0745855483678e-10, -4.7372673321923e-11, 1.1336099808224e-11,
}
local AIRY_P = {
  0.99856996263109, -0.0013951995769054, 3.2678415064002e-5, -1.9404091544432e-6, 1.8869330795558e-7,
  -2.508139839594e-8, 4.1476652353303e-9, -8.0708394653594e-10, 1.78279248057e-10, -4.3617052732019e-11,
  1.1611854273658e-11,
}
local AIRY_Q = {
  0.019651659306148, -0.00037769834827008, 1.6026559415323e-5, -1.311960898054e-6, 1.5777333692859e-7,
  -2.4510346198235e-8, 4.5794294335751e-9, -9.8459538899784e-10, 2.3657770454711e-10, -6.223750456273e-11,
  1.7659796977736e-11, -5.3439121966104e-12, 1.7094574166912e-12, -5.7405652574336e-13, 2.0123294510019e-13,
}

each({ "special_airy_ai" }, function(g, x)
  local close = util.chebyshev(g, (x + 0.5) / 2.5, AIRY_NEAR)
  local size = g.Abs(x)
  local root = g.Sqrt(size)
  local z = g.Mul(size, root) * (2 / 3)
  local fourth = g.Sqrt(root) * math.sqrt(math.pi)
  local u = g.Div(g.scalar(2 / 3 * 2 ^ 1.5, x), z)
  local right = g.Mul(util.chebyshev(g, u * 2 - 1, AIRY_FAR), g.Exp(g.Neg(z)))
  right = g.Div(right, fourth) * 0.5
  local r = g.Div(g.scalar(2 / 3 * 3 ^ 1.5, x), z)
  local w = g.Mul(r, r) * 2 - 1
  local angle = z + math.pi / 4
  local p = g.Mul(util.chebyshev(g, w, AIRY_P), g.Sin(angle))
  local q = g.Mul(g.Mul(r, util.chebyshev(g, w, AIRY_Q)), g.Cos(angle))
  local left = g.Div(g.Sub(p, q), fourth)
  local y = g.Where(g.Greater(x, g.scalar(2, x)), right, g.Where(g.Less(x, g.scalar(-3, x)), left, close))
  -- at infinity PyTorch has no value
  return g.Where(g.IsInf(x), g.scalar(0 / 0, x), y)
end)

-- Names that are put together above, for the index of rules (tools/name_hints.py):
-- "special_bessel_j0" "special_bessel_j1" "special_bessel_y0" "special_bessel_y1"
-- "special_modified_bessel_k0" "special_modified_bessel_k1" "special_scaled_modified_bessel_k0"
-- "special_scaled_modified_bessel_k1"
