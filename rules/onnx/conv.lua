-- rules/onnx/conv.lua: convolutions.

local core = require("t2o.core")
local windows = require("t2o.windows")
local onnx = require("t2o.back").registry

local fill = windows.fill

local function rank_of(t, n)
  if core.field(n.W, "known_rank") then return n.W.rank - 2 end
  if core.field(n.X, "known_rank") then return n.X.rank - 2 end
  return n.kernel_shape and #n.kernel_shape or t.decline("a convolution over an unknown number of dimensions")
end

-- Sizes of the kernel; those of the weight are the same where the node does not say.
local function kernel_of(n, rank)
  if n.kernel_shape and #n.kernel_shape > 0 then return n.kernel_shape end
  local out = {}
  for i = 1, rank do out[i] = n.W:size(i + 1) end
  return out
end

local CONV = { "conv1d", "conv2d", "conv3d" }

local function conv(t, n)
  local rank = rank_of(t, n)
  local op = CONV[rank] or t.decline("a convolution over " .. rank .. " dimensions")
  local needs_kernel = n.auto_pad ~= "NOTSET" and n.auto_pad ~= "VALID"
  local w = windows.of(n, n.X, needs_kernel and kernel_of(n, rank) or fill(nil, rank, 1))
  local x, before = n.X, w.before
  if not windows.equal(w.before, w.after) or before[1] < 0 then
    x, before = windows.pad(t, x, w.before, w.after), fill(nil, rank, 0)
  end
  return t.aten[op](x, n.W, n.B, w.stride, before, w.dilation, n.group)
end

onnx:rule("Conv(X, W, B?) {auto_pad='NOTSET', group=1}", conv)

-- ---- transposed ----

local TRANSPOSED = { "conv_transpose1d", "conv_transpose2d.input", "conv_transpose3d.input" }

-- What is cut off before and after each dimension, less what is added behind it.
local function cuts(t, n, rank, stride, dilation, added)
  local mode = n.auto_pad
  local before, after = {}, {}
  local pads = fill(mode == "NOTSET" and n.pads or nil, 2 * rank, 0)
  local wanted = n.output_shape
  local kernel = (wanted or mode:find("SAME")) and kernel_of(n, rank)
  for i = 1, rank do
    before[i], after[i] = pads[i], pads[rank + i] - added[i]
    if kernel then
      local reach = (kernel[i] - 1) * dilation[i] + 1
      local total = reach - stride[i] + added[i]
      if wanted then total = total + stride[i] * n.X:size(i + 1) - wanted[#wanted - rank + i] end
      if math.type(total) ~= "integer" then t.decline("output_shape for an input of unknown size") end
      before[i], after[i] = 0, total -- what an output has beyond the kernel's reach lies behind
      if total > 0 then before[i], after[i] = windows.split(total, mode) end
      after[i] = after[i] - added[i]
    end
  end
  return before, after
end

onnx:rule("ConvTranspose(X, W, B?) {auto_pad='NOTSET', group=1}", function(t, n)
  local rank = rank_of(t, n)
  local op = TRANSPOSED[rank] or t.decline("a convolution over " .. rank .. " dimensions")
  local stride, dilation = fill(n.strides, rank, 1), fill(n.dilations, rank, 1)
  local before, after = cuts(t, n, rank, stride, dilation, fill(n.output_padding, rank, 0))
  local padding, more, rest = {}, {}, {}
  for i = 1, rank do
    -- PyTorch cuts the same on both sides and adds less than a step behind
    local limit = math.max(stride[i], dilation[i]) - 1
    local least = math.max(math.min(before[i], after[i]), 0)
    padding[i] = math.max(least, before[i] - after[i] <= limit and before[i] or least)
    more[i] = math.max(math.min(padding[i] - after[i], limit), 0)
    rest[i] = { before[i] - padding[i], after[i] - padding[i] + more[i] }
    if rest[i][1] < 0 or rest[i][2] < 0 then t.decline("an output beyond the kernel's reach") end
  end
  local y = t.aten[op](n.X, n.W, n.B, stride, padding, more, n.group, dilation)
  for i, cut in ipairs(rest) do
    if cut[1] ~= 0 or cut[2] ~= 0 then
      y = t.aten["slice.Tensor"](y, i + 1, cut[1], cut[2] ~= 0 and -cut[2] or math.maxinteger)
    end
  end
  return y
end)

-- ---- deformable ----

onnx:rule("DeformConv(X, W, offset, B?, mask?) {group=1, offset_group=1}", function(t, n)
  if n.W.rank ~= 4 then t.decline("a deformable convolution that is not over 2 dimensions") end
  local w = windows.of(n, n.X, kernel_of(n, 2))
  local x, padding = n.X, w.before
  if not windows.equal(w.before, w.after) then
    x, padding = windows.pad(t, x, w.before, w.after), { 0, 0 }
  end
  return t.helper.deform_conv2d(x, n.W, n.offset, w.stride, padding, w.dilation, n.group, n.offset_group, n.B, n.mask)
end)
