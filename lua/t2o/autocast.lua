-- lua/t2o/autocast.lua: the casts that PyTorch makes in an autocast region, which no archive spells out.
--
-- Which operators cast, and to what, is said in rules/aten/autocast.lua for each kind of device.

local core = require("t2o.core")
local types = require("t2o.types")

local M = {}

local kinds = {} -- "cpu" -> "aten::linear" -> "lower"
local loaded

local registry = {}

--- Names with overloads, separated by white space. Kinds: "lower" is the region's own dtype, "widest" float32 where one
--- of the tensors has it, else the region's; "recorded" what the archive records for the result. "float32", and
--- "float32_unless_given" by an argument dtype. "parts": cast within, so that nothing can be said of the whole.
function registry:casts(device, kind, names)
  local list = kinds[device] or {}
  kinds[device] = list
  for name in names:gmatch("%S+") do list["aten::" .. name] = kind end
end

M.registry = registry

local DEFAULT = { cpu = "bfloat16" } -- other devices: float16

local function kind_of(node, region)
  if not loaded then
    loaded = true
    core.load("ops", "t2o.autocast")
  end
  local list = kinds[region.device]
  if not list then core.decline("autocast on the device " .. region.device) end
  return list[node.op]
end

-- Doubles and integers stay as they are, and so do Python numbers.
local function is_cast(x)
  return core.is_value(x) and types.is_float(x.dtype) and x.dtype ~= "float64" and not types.is_wrapped(x)
end

local function each_tensor(x, fn)
  if core.is_value(x) then return fn(x) end
  if type(x) ~= "table" then return x end
  local out = { n = x.n or #x }
  for i = 1, out.n do out[i] = each_tensor(x[i], fn) end
  return out
end

local function cast_all(schema, a, dtype)
  local out = {}
  for _, p in ipairs(schema.params) do
    local x = a[p.key]
    if p.type:find("^Tensor") then
      x = each_tensor(x, function(v) return is_cast(v) and v:to(dtype) or v end)
    end
    out[p.key] = x
  end
  return out
end

-- float32 where any tensor is that, else the region's own.
local function widest(schema, a, lower)
  local dtype = lower
  for _, p in ipairs(schema.params) do
    if p.type:find("^Tensor") then
      each_tensor(a[p.key], function(v)
        if v.dtype == "float64" or dtype == "float64" then
          dtype = "float64"
        elseif is_cast(v) and v.dtype ~= lower then
          dtype = "float32"
        end
        return v
      end)
    end
  end
  return dtype
end

--- The arguments of a call as PyTorch's kernel gets them.
function M.arguments(node, schema, a)
  local region = node.autocast
  local kind = not node.inplace and kind_of(node, region)
  if not kind then return a end
  local lower = region.dtype or DEFAULT[region.device] or "float16"
  if kind == "parts" then core.decline("autocast within it, between its parts") end
  if kind == "recorded" then return cast_all(schema, a, node.outputs[1].dtype) end
  if kind == "lower" then return cast_all(schema, a, lower) end
  if kind == "widest" then return cast_all(schema, a, widest(schema, a, lower)) end
  if kind == "float32_unless_given" and a.dtype then return a end
  return cast_all(schema, a, "float32")
end

return M
