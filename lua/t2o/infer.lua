-- lua/t2o/infer.lua: shapes of ONNX operators' outputs, by the rules in rules/infer.
--
-- A rule is a function of the node n = { op, inputs = { values, n = count }, attrs = { ... }, outputs = count } that
-- returns one shape (a list of integers and dims) an output; nil where it is not known.

local core = require("t2o.core")

local M = {}
local shapes, contents = {}, {}

local registry = {}

--- infer:rule("Relu", fn) or infer:rule({ "Add", "Sub" }, fn)
function registry:rule(names, fn)
  for _, name in ipairs(type(names) == "table" and names or { names }) do shapes[name] = fn end
end

--- What an integer output of rank 0 or 1 holds, as integers and dims: fn(n) -> list or nil.
function registry:content(names, fn)
  for _, name in ipairs(type(names) == "table" and names or { names }) do contents[name] = fn end
end

M.registry = registry

--- Sets shapes (and contents) of the outputs of a node that has just been built.
function M.apply(op, inputs, attrs, outputs)
  local n = { op = op, inputs = inputs, attrs = attrs, outputs = #outputs }
  local rule = shapes[op]
  if rule then
    local out = table.pack(rule(n))
    for i = 1, #outputs do
      if out[i] then core.set_shape(outputs[i], out[i]) end
    end
  end
  local content = contents[op]
  if content and outputs[1] then
    local list = content(n)
    if list then core.set_content(outputs[1], list) end
  end
end

function M.has(op) return shapes[op] ~= nil end

-- ---- what rules in rules/infer use ----

--- The common shape of two by broadcasting, dims that are not known to be 1 taken to agree.
function M.broadcast(a, b)
  local rank = math.max(#a, #b)
  local out = {}
  for i = 1, rank do
    local x, y = a[i - rank + #a] or 1, b[i - rank + #b] or 1
    if x == y or y == 1 then
      out[i] = x
    elseif x == 1 or math.type(y) == "integer" then
      out[i] = y
    else
      out[i] = x
    end
  end
  return out
end

--- The shape of input i (1-based), or nil where it is absent or unknown.
function M.shape(n, i)
  local v = n.inputs[i]
  if v and core.field(v, "known_rank") then return v.shape end
end

return M
