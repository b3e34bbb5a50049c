-- lua/t2o/windows.lua: kernels, strides and padding of ONNX's convolutions and pools, for rules/onnx.

local core = require("t2o.core")
local util = require("t2o.util")

local M = {}

--- The list, or n times the value where it is left out.
function M.fill(list, n, value)
  if list and #list > 0 then return list end
  local out = {}
  for i = 1, n do out[i] = value end
  return out
end

-- What is missing around a size so that its windows begin at each multiple of the stride.
local function missing(size, stride, reach)
  if stride == 1 then return reach - 1 end
  local needed = ((size + stride - 1) // stride - 1) * stride + reach - size
  if math.type(needed) then return math.max(needed, 0) end
  return util.max(needed, 0)
end

--- A total padding on both sides, the odd one where the mode has it.
function M.split(total, mode)
  local small = total // 2
  local large = total - small
  if mode == "SAME_UPPER" then return small, large end
  return large, small
end

--- { rank, kernel, stride, dilation, before, after, reach }: lists by spatial dimension; reach is the size of a dilated
--- kernel.
--- Padding holds numbers, or sizes where auto_pad asks for those of the input.
function M.of(n, x, kernel)
  local rank = #kernel
  local w = { rank = rank, kernel = kernel, before = {}, after = {}, reach = {} }
  w.stride, w.dilation = M.fill(n.strides, rank, 1), M.fill(n.dilations, rank, 1)
  local mode = n.auto_pad or "NOTSET"
  local pads = M.fill(mode == "NOTSET" and n.pads or nil, 2 * rank, 0)
  for i = 1, rank do
    w.reach[i] = (kernel[i] - 1) * w.dilation[i] + 1
    w.before[i], w.after[i] = pads[i], pads[rank + i]
    if mode == "SAME_UPPER" or mode == "SAME_LOWER" then
      local total = missing(w.stride[i] == 1 and 0 or x:size(i + 1), w.stride[i], w.reach[i])
      w.before[i], w.after[i] = M.split(total, mode)
    end
  end
  return w
end

function M.equal(a, b)
  for i = 1, #a do
    if core.compare(a[i], b[i]) ~= 0 then return false end
  end
  return true
end

function M.all(list, value)
  for i = 1, #list do
    if list[i] ~= value then return false end
  end
  return true
end

--- PyTorch lists padding from the last dimension on: before, after, before, ...
function M.pad_list(before, after)
  local out = {}
  for i = #before, 1, -1 do
    out[#out + 1] = before[i]
    out[#out + 1] = after[i]
  end
  return out
end

--- x with a constant around its last dimensions.
function M.pad(t, x, before, after, value)
  if M.all(before, 0) and M.all(after, 0) then return x end
  if value then return t.aten.pad(x, M.pad_list(before, after), "constant", value) end
  return t.aten.pad(x, M.pad_list(before, after))
end

--- x with dimensions of windows at its end, one for each spatial dimension; { dims of the windows }.
function M.unfold(t, x, w)
  local dims = {}
  for i = 1, w.rank do x = t.aten.unfold(x, i + 1, w.reach[i], w.stride[i]) end
  for i = 1, w.rank do
    dims[i] = i - w.rank - 1
    if w.dilation[i] ~= 1 then
      x = t.aten["slice.Tensor"](x, w.rank + 1 + i, nil, nil, w.dilation[i])
    end
  end
  return x, dims
end

return M
