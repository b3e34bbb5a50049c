-- rules/infer/signal.lua: Fourier transforms and windows.

local core = require("t2o.core")
local infer = require("t2o.infer")

-- The number that a scalar input holds, or an unknown size; the default where the input is absent.
local function scalar(n, i, default)
  if not n.inputs[i] then return default end
  return (infer.content(n, i) or {})[1] or core.fresh()
end

infer.registry:rule("DFT", function(n)
  local x = infer.shape(n, 1)
  if not x then return nil end
  -- until opset 19 the axis is an attribute, and 1 where it is not given
  local given = n.attrs.axis or scalar(n, 3, select(3, core.context()) < 20 and 1 or -2)
  if math.type(given) ~= "integer" then return infer.fresh(#x) end
  local axis, onesided = infer.axis(given, #x), infer.attr(n, "onesided", 0) ~= 0
  local inverse = infer.attr(n, "inverse", 0) ~= 0
  local length = scalar(n, 2, onesided and inverse and 2 * (x[axis] - 1) or x[axis])
  x[axis] = onesided and not inverse and length // 2 + 1 or length
  x[#x] = onesided and inverse and 1 or 2
  return x
end)

infer.registry:rule("STFT", function(n)
  local x, window = infer.shape(n, 1), infer.shape(n, 3)
  if not x then return nil end
  local length, step = scalar(n, 4, window and window[1] or x[2]), scalar(n, 2)
  local frames = step ~= 0 and (x[2] - length) // step + 1 or core.fresh()
  local bins = infer.attr(n, "onesided", 1) ~= 0 and length // 2 + 1 or length
  return { x[1], frames, bins, 2 }
end)

infer.registry:rule({ "BlackmanWindow", "HammingWindow", "HannWindow" }, function(n)
  return { scalar(n, 1) }
end)

infer.registry:rule("MelWeightMatrix", function(n)
  return { scalar(n, 2) // 2 + 1, scalar(n, 1) }
end)
