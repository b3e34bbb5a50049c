-- rules/aten/window.lua: window functions, which are constants.

local aten = require("t2o.rules").namespace("aten")

local FACTORY = ", *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
  .. "bool? pin_memory=None) -> Tensor"

-- The modified Bessel function of order 0: its series, to where terms no longer count.
local function bessel_i0(x)
  local sum, term, k = 1.0, 1.0, 0
  repeat
    k = k + 1
    term = term * (x / (2 * k)) ^ 2
    sum = sum + term
  until term < sum * 1e-17
  return sum
end

local function cosines(x, a, b, c)
  return a - b * math.cos(2 * math.pi * x) + c * math.cos(4 * math.pi * x)
end

-- Each is a function of a place from 0 to 1.
local function hann(x) return cosines(x, 0.5, 0.5, 0) end
local function blackman(x) return cosines(x, 0.42, 0.5, 0.08) end
local function bartlett(x) return x <= 0.5 and 2 * x or 2 - 2 * x end
local function hamming(x, a) return cosines(x, a.alpha or 0.54, a.beta or 0.46, 0) end
local function kaiser(x, a)
  local beta = a.beta or 12.0
  return bessel_i0(beta * math.sqrt(math.max(0, 1 - (2 * x - 1) ^ 2))) / bessel_i0(beta)
end

-- A periodic window is one of a point more without its last.
local function window(shape_of)
  return function(g, a, n)
    local count, values = a.window_length, {}
    if math.type(count) ~= "integer" then g.decline("a window of dynamic length") end
    local last = a.periodic == false and count - 1 or count
    for i = 1, count do values[i] = count == 1 and 1.0 or shape_of((i - 1) / last, a) end
    if count == 0 then return g.zeros({ 0 }, n.outputs[1].dtype) end
    return g.const(values, n.outputs[1].dtype)
  end
end

for name, fn in pairs {
  hann_window = hann, blackman_window = blackman, bartlett_window = bartlett,
  hamming_window = hamming, kaiser_window = kaiser,
} do
  aten:rule(name .. "(int window_length" .. FACTORY, window(fn))
  aten:rule(name .. ".periodic(int window_length, bool periodic" .. FACTORY, window(fn))
end

aten:rule("hamming_window.periodic_alpha(int window_length, bool periodic, "
          .. "float alpha" .. FACTORY, window(hamming))
aten:rule("hamming_window.periodic_alpha_beta(int window_length, bool periodic, float alpha, "
          .. "float beta" .. FACTORY,
          window(hamming))
aten:rule("kaiser_window.beta(int window_length, bool periodic, "
          .. "float beta" .. FACTORY, window(kaiser))

-- Names that are put together above, for the index of rules (tools/name_hints.py):
-- "bartlett_window" "bartlett_window.periodic" "blackman_window" "blackman_window.periodic"
-- "hamming_window" "hamming_window.periodic" "hann_window" "hann_window.periodic" "kaiser_window"
-- "kaiser_window.periodic"
