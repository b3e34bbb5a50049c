-- rules/infer/control.lua: If, Loop and Scan, by what their bodies give.

local core = require("t2o.core")
local infer = require("t2o.infer")

local function shape_of(v)
  if v and core.field(v, "known_rank") then return core.field(v, "shape") end
end

-- Values of a loop may change their sizes from one round to the next, not how many dims they have.
local function same_rank(v)
  local shape = shape_of(v)
  return shape and infer.fresh(#shape)
end

infer.registry:body("Loop", function(n)
  local out = { { "int64", {} }, { "bool", {} } }
  for i = 3, n.inputs.n do out[i] = n.inputs[i] and { n.inputs[i], same_rank(n.inputs[i]) } or {} end
  return out
end)

infer.registry:body("Scan", function(n)
  local out, a = {}, n.attrs
  local first = n.opset and n.opset < 9 and 2 or 1
  local states = n.inputs.n - a.num_scan_inputs
  for i = first, n.inputs.n do
    local v = n.inputs[i]
    local shape = i <= states and same_rank(v) or shape_of(v)
    if shape and i > states then
      local axis = (a.scan_input_axes or {})[i - states] or 0
      table.remove(shape, infer.axis(axis, #shape))
    end
    if shape and first == 2 then table.remove(shape, 1) end
    out[#out + 1] = { v, shape }
  end
  return out
end)

-- What holds for a value that has either shape.
local function either(a, b)
  if not (a and b) or #a ~= #b then return nil end
  local out = {}
  for i, d in ipairs(a) do out[i] = d == b[i] and d or core.fresh() end
  return out
end

infer.registry:rule("If", function(n)
  local yes, no = infer.body_outputs(n, "then_branch"), infer.body_outputs(n, "else_branch")
  if not (yes and no) then return nil end
  local out = {}
  for i = 1, n.outputs do out[i] = either(shape_of(yes[i]), shape_of(no[i])) end
  return table.unpack(out, 1, n.outputs)
end)

-- The shape with a size put in before index `axis`.
local function stacked(shape, axis, size)
  if shape then table.insert(shape, axis, size) end
  return shape
end

infer.registry:rule("Loop", function(n)
  local body, out = infer.body_outputs(n, "body"), {}
  if not body then return nil end
  local carried = n.inputs.n - 2
  for i = 1, n.outputs do
    local shape = shape_of(body[i + 1]) -- the first one says whether to go on
    if i <= carried then
      out[i] = either(infer.shape(n, i + 2), shape)
    else
      out[i] = stacked(shape, 1, core.fresh())
    end
  end
  return table.unpack(out, 1, n.outputs)
end)

infer.registry:rule("Scan", function(n)
  local a, body, out = n.attrs, infer.body_outputs(n, "body"), {}
  if not body then return nil end
  local states = n.inputs.n - a.num_scan_inputs
  local x = infer.shape(n, states + 1)
  local length = x and x[infer.axis((a.scan_input_axes or { 0 })[1], #x)] or core.fresh()
  for i = 1, n.outputs do
    local shape = shape_of(body[i])
    if i <= states then
      out[i] = either(infer.shape(n, i), shape)
    elseif shape then
      local axis = (a.scan_output_axes or {})[i - states] or 0
      out[i] = stacked(shape, infer.axis(axis, #shape + 1), length)
    end
  end
  return table.unpack(out, 1, n.outputs)
end)
