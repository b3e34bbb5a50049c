-- lua/t2o/infer.lua: shapes of ONNX operators' outputs, by the rules in rules/infer.
--
-- A rule is a function of the node n = { op, inputs = { values, n = count }, attrs = { ... }, outputs = count } that
-- returns one shape (a list of integers and dims) an output; nil where it is not known.

local core = require("t2o.core")

local M = {}
local shapes, contents, types, entries = {}, {}, {}, {}
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

--- What the outputs are where that is no matter of dtypes: fn(n) -> a text for each, "seq(tensor(float32))" or
--- "float32"; nil where it is not known.
function registry:type(names, fn)
  for _, name in ipairs(type(names) == "table" and names or { names }) do types[name] = fn end
end

--- What comes into the body of an operator: fn(n, name) -> list of { value, shape }, one for each input of the body in
--- attribute `name`: the value whose dtype it has, and its shape.
function registry:body(names, fn)
  for _, name in ipairs(type(names) == "table" and names or { names }) do entries[name] = fn end
end

M.registry = registry

--- Whether the graph comes from a file that says nothing of sizes that differ by name: they may be 1 where they meet.
M.exact = false

local function load(op)
  if asked[op] then return end
  asked[op] = true
  core.load("infer", op:match("^(.-)::") or op) -- of another domain: the files that name the domain
end

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

-- What a rule gives; of a file nothing is certain, and what its rule cannot work out is not known.
local function ask(rule, ...)
  if not M.exact then return rule(...) end
  local out = table.pack(pcall(rule, ...))
  if out[1] then return table.unpack(out, 2, out.n) end
end

local function set_shapes(rule, n, outputs, set)
  local out = table.pack(rule(n))
  for i = 1, n.outputs do
    local v = outputs[i]
    if out[i] and v and not core.field(v, "container") then set(v, out[i]) end
  end
end

--- Sets shapes (and contents) of the outputs of a node that has just been built; with `set` instead of core.set_shape.
function M.apply(op, inputs, attrs, outputs, set)
  local n = { op = op, inputs = inputs, attrs = attrs, outputs = outputs.n or #outputs }
  load(op)
  local rule = shapes[op]
  if rule then ask(set_shapes, rule, n, outputs, set or core.set_shape) end
  local content = contents[op]
  if content and outputs[1] then ask(apply_content, content, n, outputs[1]) end
end

--- Sets dtypes and types of outputs that are not known.
function M.types(n, outputs)
  load(n.op)
  local rule = types[n.op]
  local out = rule and table.pack(ask(rule, n)) or {}
  for i = 1, outputs.n do
    local v = outputs[i]
    if v and out[i] and core.field(v, "kind") == "tensor" then
      if out[i]:find("(", 1, true) then core.set_container(v, out[i])
      elseif core.field(v, "dtype") == "none" then core.set_dtype(v, out[i]) end
    end
  end
end

--- Gives the inputs of a node's bodies the dtypes and shapes that the file does not state.
function M.enter_bodies(n)
  load(n.op)
  local rule = entries[n.op]
  for name, body in pairs(rule and n.attrs or {}) do
    local given = M.is_body(body) and rule(n, name) or {}
    for i, v in ipairs(M.is_body(body) and core.body_ports(body) or {}) do
      local like, shape = given[i] and given[i][1], given[i] and given[i][2]
      if like and core.field(v, "dtype") == "none" then M.take_type(v, like) end
      local open = core.field(v, "kind") == "tensor" and not core.field(v, "known_rank")
      if shape and open then core.set_shape(v, shape) end
    end
  end
end

--- v is of the type of `like`, a value or the name of a dtype.
function M.take_type(v, like)
  if type(like) == "string" then return core.set_dtype(v, like) end
  local container = core.field(like, "container")
  if container then core.set_container(v, container) else core.set_dtype(v, core.field(like, "dtype")) end
end

function M.is_body(x) return type(x) == "userdata" and getmetatable(x) == core.body_meta end

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
function M.body_outputs(n, name)
  local body = n.attrs[name]
  if M.is_body(body) then return (select(2, core.body_ports(body))) end
  return body and bodies[body]
end

function M.has(op)
  load(op)
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
      local x_fits, y_fits = core.compare(x, 1) == 1, core.compare(y, 1) == 1
      if M.exact and not x_fits and not y_fits then
        out[i] = core.fresh()
      else
        out[i] = not x_fits and y_fits and y or x
      end
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
