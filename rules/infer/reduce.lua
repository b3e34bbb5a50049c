-- rules/infer/reduce.lua: reductions, and what picks the extremes along an axis.

local core = require("t2o.core")
local infer = require("t2o.infer")

local function without(x, axes, keepdims)
  local out = {}
  for i = 1, #x do
    if not axes[i] then
      out[#out + 1] = x[i]
    elseif keepdims then
      out[#out + 1] = 1
    end
  end
  return out
end

infer.registry:rule({
  "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin",
  "ReduceProd", "ReduceSum", "ReduceSumSquare",
}, function(n)
  local x = infer.shape(n, 1)
  if not x then return nil end
  local keepdims = infer.attr(n, "keepdims", 1) ~= 0
  local axes, count = infer.axes(n, 2, #x)
  if axes == nil then
    local fewer = keepdims and 0 or infer.length(n, 2)
    return fewer and (keepdims or fewer > 0) and infer.fresh(#x - fewer) or nil
  end
  if axes and count > 0 then return without(x, axes, keepdims) end
  if infer.attr(n, "noop_with_empty_axes", 0) ~= 0 then return x end
  local out = {}
  for i = 1, keepdims and #x or 0 do out[i] = 1 end
  return out
end)

infer.registry:rule({ "ArgMax", "ArgMin" }, function(n)
  local x = infer.shape(n, 1)
  if not x then return nil end
  local axis = infer.axis(infer.attr(n, "axis", 0), #x)
  return without(x, { [axis] = true }, infer.attr(n, "keepdims", 1) ~= 0)
end)

infer.registry:rule("TopK", function(n)
  local x = infer.shape(n, 1)
  if not x or #x == 0 then return nil end
  local k = n.attrs.k or (infer.content(n, 2) or {})[1]
  x[infer.axis(infer.attr(n, "axis", -1), #x)] = k or core.fresh()
  return x, x
end)
