-- lua/t2o/precision.lua: computes in 16 bits what the graph has in float32 (--float16, --bfloat16).
--
-- Each node is built again with its float32 inputs cast down and its results cast back up; since a cast up and down
-- again changes nothing, the next node takes the 16-bit value itself, and casts stay only where a region ends. Weights
-- become constants of the new dtype. What rules/target/precision.lua lists stays in float32, and so does what only
-- follows from such results (the epsilon and the root of a norm), up to the next product with a matrix.

local core = require("t2o.core")
local builder = require("t2o.builder")

local M = {}

local keeps = {}      -- operator -> true: in float32
local products = {}   -- operator -> true: in 16 bits whatever its operands come from
local casts = {}      -- graph -> value -> its 16-bit cast there
local constants = {}  -- value -> the same numbers in 16 bits
local narrowed = {}   -- value -> true: a float32 result that goes back to a 16-bit one
local later = {}      -- operator -> the first opset that has it in 16 bits
local patterns, dtype, loaded

local registry = {}

--- Operators that stay in float32: what they compute does not fit into 16 bits.
function registry:keeps_float32(ops)
  for _, op in ipairs(ops) do keeps[op] = true end
end

--- Operators that are worth a cast of their operands.
function registry:products(ops)
  for _, op in ipairs(ops) do products[op] = true end
end

M.registry = registry

local function load()
  if loaded then return end
  loaded = true
  core.load("target")
  local globs
  dtype, globs = core.precision()
  patterns = {}
  for i, glob in ipairs(globs) do
    patterns[i] = "^" .. glob:gsub("[%^%$%(%)%%%.%[%]%+%-]", "%%%0"):gsub("%*", ".*"):gsub("%?", ".") .. "$"
  end
end

local function matches(text)
  for _, pattern in ipairs(patterns) do
    if text:find(pattern) then return true end
  end
  return false
end

-- Whether a glob names the operator, the torch operator it comes from, or a module around it.
local function is_kept(node, op)
  if #patterns == 0 then return false end
  local origin = node.origin
  if matches(op) or origin and (matches(origin.op) or matches(origin.op:match("::([^.]*)") or "")) then return true end
  for _, text in ipairs(core.modules(node)) do
    if text ~= "" and (matches(text) or matches(text:match("[^.]*$"))) then return true end
  end
  return false
end

-- The 16-bit value that a float32 one was cast from, or nil.
local function source(v)
  local made = core.producer(v)
  if not made or made.op ~= "onnx::Cast" then return nil end
  local from = made.inputs[1]
  return core.field(from, "dtype") == dtype and from or nil
end

local function down(v)
  if v.is_constant then
    constants[v] = constants[v] or core.converted(v, dtype)
    return constants[v]
  end
  local from = source(v)
  if from then return from end
  local graph = core.place()
  casts[graph] = casts[graph] or {}
  casts[graph][v] = casts[graph][v] or builder.cast(v, dtype)
  return casts[graph][v]
end

-- The type variables that change: float32 now, and free to be the 16-bit type.
local function variables(node, op)
  local vars, inputs_of = core.type_vars(node)
  local out
  local ins = node.inputs
  for i = 1, ins.n do
    local name = ins[i] and inputs_of[i]
    if name and vars[name] == "float32" then
      local allowed, opset = core.type_allows(node, name, dtype)
      if allowed then out = out or {} end
      if allowed then out[name] = true end
      if opset and opset > node.opset and products[op] then later[op] = opset end
    end
  end
  return out, inputs_of
end

-- How a node's operands stand: some in 16 bits (or given from outside), some in float32 that go back to such.
local function operands(node, changes, inputs_of)
  local low, kept, back
  local ins = node.inputs
  for i = 1, ins.n do
    local v = ins[i]
    if v and changes[inputs_of[i]] and not v.is_constant then
      local given = not core.producer(v)
      low = low or given or source(v) ~= nil
      kept = kept or not given
      back = back or given or source(v) ~= nil or narrowed[v]
    end
  end
  return low, kept, back
end

local function note_results(node, back)
  for i = 1, back and node.outputs.n or 0 do
    if node.outputs[i] then narrowed[node.outputs[i]] = true end
  end
end

--- The replacement of an ONNX node: a list of values, or nil when it may stay.
function M.convert(node, opset)
  load()
  local op = node.op:match("^onnx::(.*)$")
  local changes, inputs_of
  if op and op ~= "Cast" then changes, inputs_of = variables(node, op) end
  if not changes then return nil end
  local low, kept, back = operands(node, changes, inputs_of)
  local follows = kept and not low and not (products[op] and back)
  if keeps[op] or follows or is_kept(node, op) then
    note_results(node, back)
    return nil
  end
  core.set_opset(opset)
  local inputs = { n = node.inputs.n }
  for i = 1, inputs.n do
    local v = node.inputs[i]
    inputs[i] = v and changes[inputs_of[i]] and down(v) or v
  end
  local results = builder.again(op, inputs, core.arguments(node), node.outputs.n)
  for i, v in ipairs(results) do
    core.copy_shape(v, node.outputs[i])
    local was = core.field(node.outputs[i], "dtype")
    if core.field(v, "dtype") ~= was then results[i] = builder.cast(v, was) end
  end
  return results
end

--- What the opset kept in float32, as text for the user; nil where there is nothing to say.
function M.left_out()
  local list = {}
  for op, opset in pairs(later) do list[#list + 1] = string.format("%s (from opset %d)", op, opset) end
  table.sort(list)
  return list[1] and string.format("no %s at this opset, so float32 stays: %s", dtype, table.concat(list, ", "))
end

return M
