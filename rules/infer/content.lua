-- rules/infer/content.lua: what small integer tensors hold: arithmetic on sizes, followed here.

local core = require("t2o.core")
local infer = require("t2o.infer")

local LONGEST = 64

local function first(n) return infer.content(n, 1) end

infer.registry:content({ "Identity", "Reshape", "Squeeze", "Unsqueeze" }, first)

infer.registry:content({ "Cast", "CastLike" }, first)

infer.registry:content("Shape", function(n)
  local x = infer.shape(n, 1)
  if not x then return nil end
  local from, to = infer.bounds(n, #x)
  return table.move(x, from + 1, to, 1, {})
end)

infer.registry:content("Size", function(n)
  local x = infer.shape(n, 1)
  return x and { infer.product(x) }
end)

infer.registry:content("Concat", function(n)
  local out = {}
  for i = 1, n.inputs.n do
    local part = infer.content(n, i)
    if not part or #out + #part > LONGEST then return nil end
    table.move(part, 1, #part, #out + 1, out)
  end
  return out
end)

infer.registry:content("Gather", function(n)
  local x, indices = infer.content(n, 1), infer.content(n, 2)
  if not (x and indices) then return nil end
  local out = {}
  for i, k in ipairs(indices) do
    if math.type(k) ~= "integer" then return nil end
    out[i] = x[infer.axis(k, #x)]
    if not out[i] then return nil end
  end
  return out
end)

-- A bound of a slice within [low, high], or nil.
local function bound(i, count, low, high)
  if math.type(i) ~= "integer" then return nil end
  if i < 0 then i = math.max(i, -count - 1) + count end
  return math.min(math.max(i, low), high)
end

infer.registry:content("Slice", function(n)
  local x, a = infer.content(n, 1), n.attrs
  local starts, stops = a.starts or infer.content(n, 2), a.ends or infer.content(n, 3)
  local steps = n.inputs[5] and infer.content(n, 5) or { 1 }
  if not (x and starts and stops) or #starts ~= 1 then return nil end
  local step = n.inputs[5] and not infer.content(n, 5) and 0 or steps[1]
  if math.type(step) ~= "integer" or step == 0 then return nil end
  local low, high = step > 0 and 0 or -1, step > 0 and #x or #x - 1
  local from, to = bound(starts[1], #x, math.max(low, 0), high), bound(stops[1], #x, low, high)
  if not (from and to) then return nil end
  local out = {}
  for i = from, to - (step > 0 and 1 or -1), step do out[#out + 1] = x[i + 1] end
  return out
end)

-- ---- arithmetic ----

-- fn on the elements of both, where one element of either goes with all of the other; nil where fn
-- gives nil or overflows.
local function each(n, fn)
  local a, b = infer.content(n, 1), infer.content(n, 2)
  if not (a and b) or n.inputs.n > 2 then return nil end
  if #a ~= #b and #a ~= 1 and #b ~= 1 then return nil end
  local out = {}
  for i = 1, #a == 1 and #b or #a do
    out[i] = infer.try(fn, a[#a == 1 and 1 or i], b[#b == 1 and 1 or i])
    if out[i] == nil then return nil end
  end
  return out
end

local ARITHMETIC = {
  Add = function(a, b) return a + b end,
  Sub = function(a, b) return a - b end,
  Mul = function(a, b) return a * b end,
  -- ONNX cuts the fraction off: floor and that agree only from 0 on
  Div = function(a, b)
    if infer.not_negative(a) and core.compare(b, 0) == 1 then return a // b end
  end,
  Mod = function(a, b)
    if core.compare(b, 0) == 1 then return a % b end
  end,
  Max = infer.max,
  Min = infer.min,
}

for op, fn in pairs(ARITHMETIC) do
  infer.registry:content(op, function(n)
    if op == "Mod" and infer.attr(n, "fmod", 0) ~= 0 then return nil end
    return each(n, fn)
  end)
end

infer.registry:content("Neg", function(n)
  local x = infer.content(n, 1)
  for i = 1, x and #x or 0 do x[i] = 0 - x[i] end
  return x
end)

-- ---- made of numbers ----

infer.registry:content("Range", function(n)
  local start, limit, delta = infer.content(n, 1), infer.content(n, 2), infer.content(n, 3)
  if not (start and limit and delta) then return nil end
  start, limit, delta = start[1], limit[1], delta[1]
  for _, x in ipairs { start, limit, delta } do
    if math.type(x) ~= "integer" then return nil end
  end
  if delta == 0 or math.abs(limit - start) // math.abs(delta) >= LONGEST then return nil end
  local out = {}
  for x = start, limit - (delta > 0 and 1 or -1), delta do out[#out + 1] = x end
  return out
end)

infer.registry:content("ConstantOfShape", function(n)
  local dims = infer.content(n, 1)
  local count = dims and (dims[1] or 1)
  if not count or #dims > 1 or math.type(count) ~= "integer" or count > LONGEST then return nil end
  local value, out = n.attrs.value and n.attrs.value:item() or 0, {}
  for i = 1, count do out[i] = value end
  return out
end)

infer.registry:content("Constant", function(n)
  local a = n.attrs
  return a.value_ints or a.value_int and { a.value_int } or a.value and core.content(a.value) or nil
end)
