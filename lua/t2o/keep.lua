-- lua/t2o/keep.lua: a torch op without a rule as an ONNX node of its own domain (--unknown keep).
--
-- mylib::foo(Tensor x, Tensor[] ys, float beta, str mode) becomes the node foo of the domain mylib: tensors are inputs
-- in the order of the call, a list of them one after another; everything else is an attribute by the schema's name.
-- Sizes that only the run knows are inputs too. Where a list or a None makes the positions ambiguous, the attribute
-- "input_names" says which argument each input is ("x", "ys.0", "ys.1").

local core = require("t2o.core")
local builder = require("t2o.builder")

local M = {}
local g = builder.g

local function add(call, name, value)
  call.n = call.n + 1
  call.inputs[call.n] = value
  call.names[call.n] = name
end

local function count(list) return list.n or #list end

local function any(list, is)
  for i = 1, count(list) do
    if is(list[i]) then return true end
  end
  return false
end

local function add_list(call, name, list)
  if any(list, core.is_value) then
    call.ambiguous = true
    for i = 1, count(list) do add(call, name .. "." .. i - 1, list[i]) end
  elseif any(list, core.is_dim) then
    add(call, name, g.ints(list))
  elseif any(list, function(x) return type(x) == "table" or x == nil end) then
    core.decline("argument " .. name .. " has no form as an ONNX attribute")
  else
    call.attrs[name] = list
  end
end

local function add_argument(call, name, x)
  if x == nil then
    call.ambiguous = true
  elseif core.is_value(x) then
    add(call, name, x)
  elseif core.is_dim(x) then
    add(call, name, g.scalar(x))
  elseif type(x) == "table" and not x.real then
    add_list(call, name, x)
  elseif type(x) == "table" or type(x) == "userdata" then
    core.decline("argument " .. name .. " has no form as an ONNX attribute")
  else
    call.attrs[name] = x
  end
end

-- Values in the structure of the results: a list where the schema has one.
local function arrange(returns, values)
  local out = { n = #returns }
  for i, at in ipairs(returns) do
    out[i] = type(at) == "table" and arrange(at, values) or values[at]
  end
  return out
end

--- The results of a node kept as it is; declines where it cannot be.
function M.keep(node)
  if core.is_complex_call(node) then core.decline("complex numbers have no form in a kept operator") end
  local domain, name = node.op:match("^(.-)::([^.]*)")
  if not domain or domain == "higher_order" then core.decline("it is no operator that can be kept") end
  local call = { inputs = {}, names = {}, attrs = {}, n = 0 }
  local args = core.arguments(node)
  for _, key in ipairs(core.argument_names(node)) do add_argument(call, key, args[key]) end
  call.attrs.overload = node.op:match("%.([%w_]+)$")
  if call.ambiguous and call.n > 0 then call.attrs.input_names = call.names end
  call.inputs.n = call.n
  local outs = node.outputs
  local list = core.build(domain .. "::" .. name, call.inputs, call.attrs, outs.n)
  for i, v in ipairs(list) do
    local tensor = outs[i].kind == "tensor"
    core.set_dtype(v, tensor and outs[i].dtype or "int64")
    core.set_shape(v, tensor and outs[i].shape or {})
  end
  return arrange(node.returns, list)
end

return M
