-- rules/aten/fft.lua: the frequencies of Fourier transforms, and shifts of spectra.

local aten = require("t2o.rules").namespace("aten")
local util = require("t2o.util")

local FACTORY = ", *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
  .. "bool? pin_memory=None) -> Tensor"

-- ---- frequencies and shifts ----

local function frequencies(numbers)
  return function(g, a, n)
    local out = {}
    for i, k in ipairs(numbers(a.n)) do out[i] = k / (a.d * a.n) end
    return g.const(out, n.outputs[1].dtype)
  end
end

aten:rule("fft_fftfreq(int n, float d=1." .. FACTORY, frequencies(function(n)
  local list = util.range(0, (n - 1) // 2)
  for k = -(n // 2), -1 do list[#list + 1] = k end
  return list
end))
aten:rule("fft_rfftfreq(int n, float d=1." .. FACTORY, frequencies(function(n)
  return util.range(0, n // 2)
end))

-- Cuts each dim in two and swaps the parts.
local function shift(g, x, dims, size_of_first)
  for _, d in ipairs(util.dims(dims, x.rank)) do
    local first = size_of_first(x:size(d))
    local parts = g.Split(x, g.ints { first, x:size(d) - first }, { axis = d, outputs = 2 })
    x = g.Concat(parts[2], parts[1], { axis = d })
  end
  return x
end

aten:rule("fft_fftshift(Tensor self, int[1]? dim=None) -> Tensor", function(g, a)
  return shift(g, a.self, a.dim, function(n) return n - n // 2 end)
end)
aten:rule("fft_ifftshift(Tensor self, int[1]? dim=None) -> Tensor", function(g, a)
  return shift(g, a.self, a.dim, function(n) return n // 2 end)
end)
