-- rules/onnx/signal.lua: Fourier transforms, windows, mel scales.

local back = require("t2o.back")
local onnx = back.registry

back.t.declare("_operator", "mod(SymInt a, SymInt b) -> SymInt")

-- A size that an input holds: a number, a size of the model's, else one that is read at run time.
local function size_of(t, v) return t.number(v) or t.sizes(v)[1] end

local NARROW = { float16 = true, bfloat16 = true }

-- x as complex numbers, or as reals without its last dimension; and whether it is real.
local function signal_of(t, x)
  local parts = x:size(-1)
  if NARROW[x.dtype] then x = t.to(x, "float32") end
  if parts == 1 then return t.aten["squeeze.dim"](x, -1), true end
  if parts ~= 2 then t.decline("a signal of which it is not known whether it is complex") end
  return t.aten.view_as_complex(x), false
end

local function parts_of(t, y, dtype)
  y = t.aten.view_as_real(y)
  return NARROW[dtype] and t.to(y, dtype) or y
end

-- The axis among those of the signal without its last dimension.
local function axis_of(t, n)
  local axis = n.axis and t.number(n.axis) or not n.axis and -2
  if axis then return axis < 0 and axis + 1 or axis end
  t.need_python("an axis that is known at run time only")
  return t._operator.mod(t.aten.item(n.axis), n.input.rank)
end

onnx:rule("DFT(input, dft_length?, axis?) {inverse=0, onesided=0}", function(t, n)
  local x, real = signal_of(t, n.input)
  local axis = axis_of(t, n)
  local length, dtype = n.dft_length and size_of(t, n.dft_length), n.input.dtype
  if n.inverse ~= 0 and n.onesided ~= 0 then
    if real then t.decline("one side of an inverse transform of reals") end
    local y = t.aten.unsqueeze(t.aten.fft_irfft(x, length, axis), -1)
    return NARROW[dtype] and t.to(y, dtype) or y
  end
  if n.onesided ~= 0 and not real then t.decline("one side of a complex signal's transform") end
  local op = n.inverse ~= 0 and "fft_ifft" or n.onesided ~= 0 and "fft_rfft" or "fft_fft"
  return parts_of(t, t.aten[op](x, length, axis), dtype)
end)

onnx:rule("STFT(signal, frame_step, window?, frame_length?) {onesided=1}", function(t, n)
  local x, real = signal_of(t, n.signal)
  local length
  if n.frame_length then
    length = size_of(t, n.frame_length)
  else
    length = n.window and n.window:size(0) or n.signal:size(1)
  end
  local frames = t.aten.unfold(x, 1, length, size_of(t, n.frame_step))
  if n.window then frames = t.aten["mul.Tensor"](frames, n.window) end
  if n.onesided ~= 0 and not real then t.decline("one side of a complex signal's transform") end
  return parts_of(t, t.aten[n.onesided ~= 0 and "fft_rfft" or "fft_fft"](frames), n.signal.dtype)
end)

-- ---- windows ----

local WINDOWS = {
  HannWindow = function(t, size, periodic, dtype)
    return t.aten["hann_window.periodic"](size, periodic, { dtype = dtype })
  end,
  HammingWindow = function(t, size, periodic, dtype)
    return t.aten["hamming_window.periodic_alpha_beta"](size, periodic, 25 / 46, 21 / 46, { dtype = dtype })
  end,
  BlackmanWindow = function(t, size, periodic, dtype)
    return t.aten["blackman_window.periodic"](size, periodic, { dtype = dtype })
  end,
}

for op, build in pairs(WINDOWS) do
  onnx:rule(op .. "(size) {periodic=1}", function(t, n)
    local dtype = n.outputs[1].dtype
    if not dtype:find("float") then t.decline("a window of " .. dtype) end
    return build(t, size_of(t, n.size), n.periodic ~= 0, dtype)
  end)
end
-- "HannWindow" "HammingWindow" "BlackmanWindow"

onnx:rule("MelWeightMatrix(num_mel_bins, dft_length, sample_rate, lower_edge_hertz, upper_edge_hertz)", function(t, n)
  local out = t.helper.mel_weights(n.num_mel_bins, n.dft_length, n.sample_rate, n.lower_edge_hertz, n.upper_edge_hertz)
  local dtype = n.outputs[1].dtype
  return dtype == "float32" and out or t.aten["to.dtype"](out, dtype)
end)
