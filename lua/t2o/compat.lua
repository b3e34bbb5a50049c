-- lua/t2o/compat.lua: rules in the form of the Python tool torch-to-onnx: register_mapping and register_op.
--
-- A handler gets (node, value_map, tape, opset_version): node.args and node.kwargs hold values, numbers and lists;
-- value_map[x] is the ONNX value of a value (itself) and nil for anything else; tape:constant(x) makes one of a number
-- or list, tape:op(type, inputs, attributes) builds a node. It returns the inputs and the attributes of the operator
-- that it was registered for.

local core = require("t2o.core")
local builder = require("t2o.builder")

local M = {}
local g = builder.g

local value_map = setmetatable({}, { __index = function(_, x) return core.is_value(x) and x or nil end })

local tape = {}

function tape:constant(x, dtype)
  if core.is_value(x) then return x end
  if core.is_dim(x) then return g.scalar(x, "int64") end
  if type(x) == "table" and core.is_dim(x[1]) then return g.ints(x) end
  return g.const(x, dtype)
end
tape.initializer = tape.constant

local function emit(op, inputs, attrs)
  inputs.n = inputs.n or #inputs
  local domain, name = op:match("^(.+)::(.+)$")
  if domain then return g.custom(domain, name, inputs, attrs) end
  if not core.operator(op) then return g.custom("pkg.torch.ops", op, inputs, attrs) end
  local args = { table.unpack(inputs, 1, inputs.n) }
  args[inputs.n + 1] = attrs or {}
  return g[op](table.unpack(args, 1, inputs.n + 1))
end

function tape:op(op, inputs, attrs) return emit(op, inputs, attrs) end

-- The node as the handler sees it: positional arguments in args, keyword ones in kwargs, all of them in both by name.
local function view_of(node)
  local raw, names = core.arguments(node), core.argument_names(node)
  local args = {}
  for i, name in ipairs(names) do args[i] = name == "" and raw[i] or raw[name] end
  return { args = args, kwargs = raw, name = node.name, target = node.target, op = node.op }
end

function M.handler(c, node)
  local inputs, attrs = c.fn(view_of(node), value_map, tape, g.opset)
  if type(inputs) ~= "table" then error("a handler returns a list of inputs and a table of attributes", 0) end
  return emit(c.onnx, inputs, attrs)
end

function M.mapping(c, node)
  local raw, inputs = core.arguments(node), { n = 0 }
  for _, name in ipairs(core.argument_names(node)) do
    if core.is_value(raw[name]) then
      inputs.n = inputs.n + 1
      inputs[inputs.n] = raw[name]
    elseif raw[name] ~= nil then
      core.decline(string.format("register_mapping passes tensors only, and '%s' is a %s", name, type(raw[name])))
    end
  end
  return emit(c.onnx, inputs, {})
end

return M
