-- lua/t2o/raise.lua: a graph that was read from ONNX: its nodes brought into the newest signatures, each value given a
-- dtype and a shape on the way.

local core = require("t2o.core")
local builder = require("t2o.builder")
local infer = require("t2o.infer")
local opset = require("t2o.opset")

local M = {}

infer.exact = true -- this file is loaded for graphs of files only

local function op_of(node) return node.op:match("^onnx::(.*)$") or node.op end

local function view(node)
  return { op = op_of(node), inputs = node.inputs, attrs = core.arguments(node), outputs = node.outputs.n,
           opset = node.opset }
end

--- What comes into the bodies of a node, before they are walked.
function M.enter(node) infer.enter_bodies(view(node)) end

local function name_of(node)
  local first = node.outputs[1]
  return node.name or first and first.name or ""
end

local function raised(node)
  local newest = select(3, core.context())
  for _, rule in ipairs(opset.raisings(op_of(node))) do
    if node.opset < rule.below then
      builder.set_current(nil)
      core.set_opset(rule.below)
      local ok, result = xpcall(opset.apply, core.on_error, rule, node)
      core.set_opset(newest)
      if not ok and core.is_decline(result) then
        core.fail("E0303", string.format("%s (node '%s') of opset %d cannot be said in newer ones: %s", op_of(node),
                                         name_of(node), node.opset, result.reason))
      end
      if not ok then error(result, 0) end
      if result[1] ~= nil then return result end
      core.set_node_opset(node, rule.below)
    end
  end
  core.set_node_opset(node, newest)
end

--- The replacement of a node in a newer signature, or nil where it may stay.
function M.raise(node)
  local unknown = core.settle(node)
  local n = view(node)
  infer.types(n, node.outputs)
  if node.op:sub(1, 6) == "onnx::" then
    local result = raised(node)
    if result then return result end
    if unknown then core.fail("E0301", unknown) end
  end
  infer.apply(n.op, n.inputs, n.attrs, node.outputs, core.merge_shape)
end

return M
