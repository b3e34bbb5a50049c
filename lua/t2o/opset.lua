-- lua/t2o/opset.lua: rules that express a newer ONNX signature in an older opset (rules/opset).
--
-- opset:lower    the operator exists below the bound: g builds in the signatures of bound - 1
-- opset:express  it does not: other operators take its place, g builds in the newest signatures
-- opset:raise    how a node of an opset below the bound is said at the bound; g builds in the signatures of the bound
--
-- Whatever is built is lowered in its turn, so neither has to think of opsets far below its bound.

local core = require("t2o.core")
local builder = require("t2o.builder")
local types = require("t2o.types")

local M = {}
local lowerings = {} -- op -> list of { below, fn, inputs, attrs, place }, the largest `below` first
local raisings = {}  -- the same, the smallest first

local asked = {}     -- operators whose built-in files have been run, by group

local registry = {}

-- "Gelu(X, bias?) {approximate='none', axis}" -> op, input names, attribute defaults
local function parse(text)
  local op, inputs, attrs = text:match("^%s*([%w_%.:]+)%s*%((.-)%)%s*(.-)%s*$")
  if not op then error("a rule begins with Op(inputs) {attributes}", 3) end
  local names, defaults = {}, {}
  for name in inputs:gmatch("[%w_%.]+") do names[#names + 1] = name end
  for name, default in attrs:gmatch("([%w_]+)%s*=%s*([^,}]+)") do
    default = default:gsub("%s+$", "")
    defaults[name] = default:match("^'(.*)'$") or tonumber(default)
  end
  return op, names, defaults
end

M.parse = parse

local function register(registered, text, options, fn, opset)
  local op, names, defaults = parse(text)
  local list = registered[op] or {}
  list[#list + 1] = {
    below = options.below, fn = fn, inputs = names, attrs = defaults, opset = opset, order = #list,
    place = core.where(),
  }
  table.sort(list, function(a, b)
    if a.below ~= b.below then return (a.below > b.below) == (registered == lowerings) end
    return a.order < b.order
  end)
  registered[op] = list
end

--- opset:lower("Clip(input, min?, max?)", { below = 11 }, function(g, n) ... return value end)
--- n has the inputs and attributes by name, n.inputs, n.attrs, n.outputs. Returns the new outputs; nil keeps the node
--- as it is, in the signature before `below`.
function registry:lower(text, options, fn)
  register(lowerings, text, options, fn, options.below - 1)
end

--- opset:express("Gelu(X) {approximate='none'}", { below = 20 }, function(g, n) ... return value end)
function registry:express(text, options, fn)
  register(lowerings, text, options, fn, builder.newest)
end

--- opset:raise("ReduceMean(data) {axes, keepdims=1}", { below = 18 }, function(g, n) ... return value end)
--- For models that are read: a node in the signature before `below`. Returns the new outputs; nil where it means the
--- same in the newer signature.
function registry:raise(text, options, fn)
  register(raisings, text, options, fn, options.below)
end

M.registry = registry

local function load_rules(group, op)
  local key = group .. "/" .. op
  if not asked[key] then
    asked[key] = true
    core.load(group, op)
  end
end

--- The rules that bring an operator into newer signatures, the smallest bound first.
function M.raisings(op)
  load_rules("raise", op)
  return raisings[op] or {}
end

local function view_of(rule, node)
  local n = { inputs = node.inputs, outputs = node.outputs, attrs = core.arguments(node) }
  for name, value in pairs(rule.attrs) do n[name] = value end
  for name, value in pairs(n.attrs) do n[name] = value end
  for i, name in ipairs(rule.inputs) do n[name] = n.inputs[i] end
  n.op = node.op:gsub("^onnx::", "")
  return n
end

--- What a rule returns for a node, as a list.
function M.apply(rule, node) return table.pack(rule.fn(builder.g, view_of(rule, node))) end

--- The replacement of an ONNX node at this opset: a list of values, or nil when the node may stay.
function M.lower(node, opset)
  local op = node.op:match("^onnx::(.*)$") or ""
  load_rules("opset", op)
  local from = node.opset
  for _, rule in ipairs(lowerings[op] or {}) do
    if opset < rule.below and rule.below <= from then
      builder.set_current(nil)
      core.set_opset(rule.opset)
      local ok, result = xpcall(M.apply, core.on_error, rule, node)
      core.set_opset(builder.newest)
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

-- ---- what rules in rules/opset use ----

--- The same operator, in the signature in force, with these inputs and attributes (its own where nil).
--- @return values as many as the node has outputs
function M.again(n, inputs, attrs)
  inputs = inputs or n.inputs
  inputs.n = inputs.n or #inputs
  local outputs = core.build(n.op, inputs, attrs or n.attrs, n.outputs.n)
  for i, v in ipairs(outputs) do M.take_type(v, n.outputs[i]) end
  return table.unpack(outputs, 1, n.outputs.n)
end

--- v has the shape that `old`, whose place it takes, is known to have; the same type where that is no tensor.
function M.take_type(v, old)
  if not old then return end
  if core.field(old, "container") then
    core.set_container(v, old.container)
  elseif core.field(old, "known_rank") then
    core.set_shape(v, old.shape)
  end
end

--- A copy of the attributes with changes; `false` removes one.
function M.attrs(n, changes)
  local out = {}
  for name, value in pairs(n.attrs) do out[name] = value end
  for name, value in pairs(changes or {}) do
    if value == false then out[name] = nil else out[name] = value end
  end
  return out
end

--- An operator by its name, in the signature in force: inputs (their number in n), attributes, number of outputs.
M.build = core.build

--- fn() with g in the newest signatures, for a lowering that takes other operators after all.
M.at_newest = builder.at_newest

--- The integers that a value of rank 0 or 1 holds, where they are known before the run; else nil.
function M.integers(v)
  if v.is_constant then return core.elements(v) end
  local list = core.content(v)
  for _, d in ipairs(list or {}) do
    if math.type(d) ~= "integer" then return nil end
  end
  return list
end

--- The integers and dims that it holds, where they are known; else nil.
function M.sizes(v) return v.is_constant and core.elements(v) or core.content(v) end

--- The integers, for what an older signature wants to know before the run: declines where it is not.
function M.known_integers(v, what)
  return M.integers(v) or core.decline(what .. " are computed at run time")
end

--- The rank of a value; declines where it is not known.
function M.rank(v)
  if not core.field(v, "known_rank") then core.decline("the rank of a value is not known") end
  return v.rank
end

--- The same operator with inputs of one dtype converted to `dtype`, and the first output back.
function M.computed_in(g, n, dtype, from)
  local inputs = { n = n.inputs.n }
  from = from or n.inputs[1].dtype
  local ins = n.inputs
  for i = 1, ins.n do
    local v = ins[i]
    inputs[i] = v and v.dtype == from and builder.cast(v, dtype) or v
  end
  local out = core.build(n.op, inputs, n.attrs, n.outputs.n)
  for i, v in ipairs(out) do
    local old = n.outputs[i]
    M.take_type(v, old)
    if old and v.dtype ~= old.dtype then out[i] = g.Cast(v, { to = old.dtype }) end
  end
  return table.unpack(out)
end

--- fn(x) with a 16-bit float computed in 32 bits, and the result brought back: fewer runtimes know 16-bit kernels, and
--- PyTorch computes that way too.
function M.widened(x, fn)
  if types.bits(x.dtype) ~= 16 or not types.is_float(x.dtype) then return fn(x) end
  return fn(x:to("float32")):to(x.dtype)
end

return M
