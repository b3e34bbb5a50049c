-- rules/raise/reduce.lua: axes that were attributes, and Softmax over all dims from an axis on.

local core = require("t2o.core")
local lib = require("t2o.opset")
local opset = lib.registry
local util = require("t2o.util")

local function axes_to_input(g, n)
  local axes = n.attrs.axes
  local given = axes and #axes > 0 and g.const(axes) or nil
  return lib.again(n, { n.inputs[1], given, n = 2 }, lib.attrs(n, { axes = false }))
end

for _, op in ipairs {
  "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd",
  "ReduceSumSquare",
} do
  opset:raise(op .. "(data) {axes}", { below = 18 }, axes_to_input)
end

for _, op in ipairs { "ReduceSum", "Squeeze", "Unsqueeze" } do
  opset:raise(op .. "(data) {axes}", { below = 13 }, axes_to_input)
end

-- The only dim from the axis on that may be other than 1; nil where there are several, or nobody knows.
local function only_dim(x, axis)
  if not core.field(x, "known_rank") then return nil end
  local found
  axis = util.dim(axis, x.rank)
  for i = axis, x.rank - 1 do
    if x:size(i) ~= 1 then
      if found then return nil end
      found = i
    end
  end
  return found or x.rank > axis and axis or nil
end

for _, op in ipairs { "Softmax", "LogSoftmax", "Hardmax" } do
  opset:raise(op .. "(input) {axis=1}", { below = 13 }, function(g, n)
    local dim = only_dim(n.input, n.axis)
    if dim then return g[op](n.input, { axis = dim }) end
    local flat = g[op](g.Flatten(n.input, { axis = n.axis }), { axis = -1 })
    return lib.at_newest(g.Reshape, flat, lib.at_newest(g.Shape, n.input))
  end)
end
