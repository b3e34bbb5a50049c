-- lua/t2o/infer.lua: shapes of ONNX operators' outputs, by the rules in rules/infer.
--
-- A rule is a function of the node n = { op, inputs = { values, n = count }, attrs = { ... }, outputs = count } that
-- returns one shape (a list of integers and dims) an output; nil where it is not known.

local core = require("t2o.core")

local M = {}
local shapes, contents = {}, {}
local asked = {} -- operators whose built-in files have been run

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

local HOLDS_SIZES = { int32 = true, int64 = true }

-- Whether a content can be that of a tensor: arithmetic on 32 bits may have gone beyond them.
local function fits(list, dtype)
  for _, x in ipairs(list) do
    if dtype == "int32" and math.type(x) == "integer" and (x < -0x80000000 or x > 0x7fffffff) then return false end
  end
  return true
end

local function apply_content(rule, n, output)
  local dtype = core.field(output, "dtype")
  if not (HOLDS_SIZES[dtype] and core.field(output, "known_rank") and output.rank <= 1) then return end
  local list = rule(n)
  if list and fits(list, dtype) then core.set_content(output, list) end
end

--- Sets shapes (and contents) of the outputs of a node that has just been built.
function M.apply(op, inputs, attrs, outputs)
  local n = { op = op, inputs = inputs, attrs = attrs, outputs = #outputs }
  if not asked[op] then
    asked[op] = true
    core.load("infer", op)
  end
  local rule = shapes[op]
  if rule then
    local out = table.pack(rule(n))
    for i = 1, #outputs do
      if out[i] then core.set_shape(outputs[i], out[i]) end
    end
  end
  local content = contents[op]
  if content and outputs[1] then apply_content(content, n, outputs[1]) end
end

local bodies = {} -- graph of a body -> its outputs

--- core.body, whose outputs are then known to the rules for If, Loop and Scan.
function M.body(name, fn)
  local outputs
  local body = core.body(name, function()
    outputs = fn()
    return outputs
  end)
  bodies[body] = outputs
  return body
end

--- The outputs of the body in an attribute, or nil.
function M.body_outputs(n, name) return n.attrs[name] and bodies[n.attrs[name]] end

function M.has(op)
  core.load("infer", op)
  return shapes[op] ~= nil
end

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
      -- the one that cannot be 1 is what both are
      out[i] = core.compare(x, 1) ~= 1 and core.compare(y, 1) == 1 and y or x
    end
  end
  return out
end

--- The shape of input i (1-based), or nil where it is absent or unknown.
function M.shape(n, i)
  local v = n.inputs[i]
  if v and core.field(v, "known_rank") then return v.shape end
end

--- What integer input i holds, or nil where it is absent or not known.
function M.content(n, i)
  local v = n.inputs[i]
  return v and core.content(v)
end

--- Elements of a small constant input, floats included, or its content; nil where neither is known.
function M.numbers(n, i)
  local v = n.inputs[i]
  if not v then return nil end
  return core.content(v) or (core.is_literal(v, 64) and core.elements(v, 64)) or nil
end

--- An integer attribute; rules may give a boolean for it.
function M.attr(n, name, default)
  local value = n.attrs[name]
  if value == nil then return default end
  if type(value) == "boolean" then return value and 1 or 0 end
  return value
end

--- start and end of a Shape's axes, from 0.
function M.bounds(n, rank)
  local function clamp(i) return math.max(0, math.min(i < 0 and i + rank or i, rank)) end
  return clamp(M.attr(n, "start", 0)), clamp(M.attr(n, "end", rank))
end

--- The length of input i, a list: an integer, or nil.
function M.length(n, i)
  local shape = M.shape(n, i)
  if shape and #shape == 1 and math.type(shape[1]) == "integer" then return shape[1] end
end

--- An axis (an integer, negative from the end) as an index from 1.
function M.axis(axis, rank) return (axis < 0 and axis + rank or axis) + 1 end

--- Axes that older signatures have as an attribute, newer ones as input i: a set of indices from 1 and their number,
--- nil where they are not known; false where none are given.
function M.axes(n, i, rank)
  local list = n.attrs.axes
  if not list then
    if not n.inputs[i] then return false end
    list = M.content(n, i)
  end
  if not list then return nil end
  local set = {}
  for _, axis in ipairs(list) do
    if math.type(axis) ~= "integer" then return nil end
    set[M.axis(axis, rank)] = true
  end
  return set, #list
end

--- Sizes of which nothing is known.
function M.fresh(rank)
  local out = {}
  for i = 1, rank do out[i] = core.fresh() end
  return out
end

function M.product(list, first, last)
  local p = 1
  for i = first or 1, last or #list do p = p * list[i] end
  return p
end

function M.max(a, b) return core.dim_call("Max", a, b) end
function M.min(a, b) return core.dim_call("Min", a, b) end

function M.ceil_div(a, b) return (a + b - 1) // b end

--- fn(a, b), or nil where that is out of range.
function M.try(fn, a, b)
  local ok, x = pcall(fn, a, b)
  if ok then return x end
end

--- Whether a size is certain to be at least 0 (a comparison with 0 cannot tell where it may be 0).
function M.not_negative(a)
  if math.type(a) == "integer" then return a >= 0 end
  return core.compare(a, -1) == 1
end

return M
