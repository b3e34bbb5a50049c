-- lua/t2o/opset.lua: rules that express a newer ONNX signature in an older opset (rules/opset).

local core = require("t2o.core")
local builder = require("t2o.builder")

local M = {}
local lowerings = {} -- op -> list of { below, fn, inputs, attrs, place }, the largest `below` first

local registry = {}

-- "Gelu(X, bias?) {approximate='none', axis}" -> op, input names, attribute defaults
local function parse(text)
  local op, inputs, attrs = text:match("^%s*([%w_]+)%s*%((.-)%)%s*(.-)%s*$")
  if not op then error("a lowering begins with Op(inputs) {attributes}", 3) end
  local names, defaults = {}, {}
  for name in inputs:gmatch("[%w_%.]+") do names[#names + 1] = name end
  for name, default in attrs:gmatch("([%w_]+)%s*=%s*([^,}]+)") do
    default = default:gsub("%s+$", "")
    defaults[name] = default:match("^'(.*)'$") or tonumber(default)
  end
  return op, names, defaults
end

--- opset:lower("Gelu(X) {approximate='none'}", { below = 20 }, function(g, n) ... return value end)
--- n has the inputs and attributes by name, n.inputs, n.attrs, n.outputs. Returns the new outputs; nil keeps the node
--- as it is, in the signature before `below`.
function registry:lower(text, options, fn)
  local op, names, defaults = parse(text)
  local list = lowerings[op] or {}
  list[#list + 1] = { below = options.below, fn = fn, inputs = names, attrs = defaults, place = core.where() }
  table.sort(list, function(a, b) return a.below > b.below end)
  lowerings[op] = list
end

M.registry = registry

local function view_of(rule, node)
  local n = { inputs = node.inputs, outputs = node.outputs, attrs = core.arguments(node), op = node.op }
  for name, value in pairs(rule.attrs) do n[name] = value end
  for name, value in pairs(n.attrs) do n[name] = value end
  for i, name in ipairs(rule.inputs) do n[name] = n.inputs[i] end
  return n
end

--- The replacement of an ONNX node at this opset: a list of values, or nil when the node may stay.
function M.lower(node, opset)
  local list = lowerings[node.op:match("^onnx::(.*)$") or ""]
  for _, rule in ipairs(list or {}) do
    if opset < rule.below and rule.below <= node.opset then
      builder.set_current(nil)
      core.set_opset(rule.below - 1)
      local ok, result = xpcall(function() return table.pack(rule.fn(builder.g, view_of(rule, node))) end, core.on_error)
      if not ok and core.is_decline(result) then
        core.fail("E0303", string.format("%s cannot be expressed below opset %d: %s", node.op:gsub("^onnx::", ""),
                                         rule.below, result.reason))
      end
      if not ok then error(result, 0) end
      if result[1] ~= nil then return result end
      core.set_node_opset(node, rule.below - 1)
    end
  end
end

return M
