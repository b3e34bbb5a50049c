-- lua/t2o/translate.lua: runs the rules for one torch node, in their order, until one takes it.

local core = require("t2o.core")
local rules = require("t2o.rules")
local schemas = require("t2o.schema")
local builder = require("t2o.builder")
local types = require("t2o.types")
local compat = require("t2o.compat")
local half = require("t2o.half")
local autocast = require("t2o.autocast")
local keep = require("t2o.keep")
local batch = require("t2o.batch")

local M = {}
local g = builder.g

local function tensors_of(schema, a)
  local out = { n = 0 }
  for _, p in ipairs(schema.params) do
    if p.type ~= "Tensor" then
      core.fail("E0603", "map takes only operators whose arguments are all tensors")
    end
    out.n = out.n + 1
    out[out.n] = a[p.key]
  end
  return out
end

-- An integer given to an op that computes in floats is converted first.
local function to_floats(inputs, node)
  local result = node and node.outputs[1]
  if not (result and result.kind == "tensor" and types.is_float(result.dtype)) then return end
  for i = 1, inputs.n do
    local v = inputs[i]
    if v and (types.is_int(v.dtype) or v.dtype == "bool") then inputs[i] = v:to(result.dtype) end
  end
end

local run

local kinds = {}

function kinds.rule(c, a, node)
  if c.layer > 1 or not half.may_run_again(c.op) then return c.fn(g, a, node) end
  local results = half.run(c.op, function(args) return table.pack(c.fn(g, args, node)) end, a)
  return table.unpack(results, 1, results.n)
end

function kinds.map(c, a, node)
  local inputs = tensors_of(rules.schema_of(c), a)
  to_floats(inputs, node)
  return g[c.onnx](table.unpack(inputs, 1, inputs.n))
end

function kinds.wrap(c, a, node, list, index)
  local function base(_, other_a)
    return table.unpack(run(list, index + 1, node, other_a or a), 1)
  end
  return c.fn(base, g, a, node)
end

function kinds.mapping(c, _, node) return compat.mapping(c, node) end
function kinds.handler(c, _, node) return compat.handler(c, node) end

local function show_reason(c, reason)
  local place = c.place
  local at = reason.place and reason.place ~= place and " (" .. reason.place .. ")" or ""
  return string.format("%s: %s%s", place, reason.reason, at)
end

-- The schema that binds the arguments: a wrapper has that of what it wraps, a rule for complex numbers that of the
-- one for others.
local function schema_at(list, index)
  for i = 1, #list do
    local schema = rules.schema_of(list[(index + i - 2) % #list + 1])
    if schema then return schema end
  end
end

local function has_complex(x)
  if core.is_value(x) then return x.is_complex end
  if type(x) ~= "table" then return false end
  if x.real then return true end
  for i = 1, x.n or #x do
    if has_complex(x[i]) then return true end
  end
  return false
end

-- Whether a call is about complex numbers: one that the archive records, or one that a rule makes.
local function is_complex_call(node, a)
  if not a then return core.is_complex_call(node) end
  for _, x in pairs(a) do
    if has_complex(x) then return true end
  end
  return false
end

-- nil where the candidate may be asked, else why not
local function other_numbers(c, complex)
  if c.complex == "both" or (c.complex == true) == complex then return nil end
  return complex and "complex numbers" or "it is for complex numbers only"
end

local function try(list, index, node, a)
  local c = list[index]
  if not a and c.kind ~= "handler" and c.kind ~= "mapping" then
    local schema = schema_at(list, index)
    if not schema then
      a = core.arguments(node)
    else
      local why
      a, why = schemas.bind(schema, core.arguments(node), core.argument_names(node), builder.wrap)
      if not a then core.fail("E0602", string.format("the rule at %s does not fit the call: %s", c.place, why)) end
      if node.autocast then a = autocast.arguments(node, schema, a) end
    end
  end
  if c.when and not c.when(a, node) then core.decline("its condition does not hold") end
  return table.pack(kinds[c.kind](c, a, node, list, index))
end

-- Results of the first candidate from index on that takes the call; raises a decline when none does.
function run(list, index, node, a, reasons, complex)
  reasons = reasons or {}
  if complex == nil then complex = is_complex_call(node, a) end
  local graph, before = core.place()
  for i = index, #list do
    local why = other_numbers(list[i], complex)
    if why then
      reasons[#reasons + 1] = (complex or i == 1) and show_reason(list[i], { reason = why }) or nil
      goto next
    end
    local outer, strict = core.set_rule(list[i].place, list[i].layer > 1)
    local outer_count = half.start()
    local ok, result = xpcall(try, core.on_error, list, i, node, a)
    half.go_on(outer_count)
    if ok then
      if index > 1 then core.set_rule(outer, strict) end
      return result, list[i].place
    end
    if not core.is_decline(result) then error(result, 0) end
    core.resume(graph, before)
    core.set_rule(outer, strict)
    reasons[#reasons + 1] = show_reason(list[i], result)
    ::next::
  end
  core.decline(table.concat(reasons, "; "))
end

--- Translates a torch node. Returns the list of results and the rule's place, or nil, nil and the reasons.
function M.translate(node)
  builder.set_current(node)
  local op, complex = node.op, core.is_complex_call(node)
  if complex then rules.load_complex(op) end
  local list = rules.candidates(op) or {}
  local reasons = {}
  local ok, results, place
  if core.is_batched(node) then
    ok, results, place = xpcall(batch.run, core.on_error, list, node, reasons)
  else
    ok, results, place = xpcall(run, core.on_error, list, 1, node, nil, reasons, complex)
  end
  if ok then return results, place, nil end
  if not core.is_decline(results) then error(results, 0) end
  if core.keeps_unknown() then
    ok, results = xpcall(keep.keep, core.on_error, node)
    if ok then return results, nil, nil end
    if not core.is_decline(results) then error(results, 0) end
    reasons[#reasons + 1] = "--unknown keep: " .. results.reason
  end
  return nil, nil, reasons
end

local function run_inside(list, a)
  local outer, strict = core.set_rule(nil)
  local results = run(list, 1, builder.current(), a)
  core.set_rule(outer, strict)
  return table.unpack(results, 1, results.n)
end

-- g.aten["softmax.int"](x, dim): another rule as a function.
local function call_rule(op, ...)
  local list = rules.candidates(op)
  if not list then error("there is no rule for " .. op, 2) end
  local schema = schema_at(list, 1)
  if not schema then error("the rule for " .. op .. " has no schema to call it by", 2) end
  return run_inside(list, schemas.bind_call(schema, table.pack(...), builder.wrap))
end

-- A call for all of a batch: with the rules of the operator, or of another one, for arguments by their keys.
batch.set_engine(function(node)
  local list = rules.candidates(node.op)
  local schema = list and schema_at(list, 1)
  return schema and schemas.bind(schema, core.arguments(node), core.argument_names(node), builder.wrap), schema
end, function(op, a)
  local list = rules.candidates(op)
  if not list then core.decline("there is no rule for " .. op) end
  return run_inside(list, a)
end)

--- The same for arguments by their names in the schema; `names` lists those that are given.
function M.call(op, given, names)
  local list = rules.candidates(op)
  local a, why = schemas.bind(schema_at(list, 1), given, names, builder.wrap)
  if not a then core.fail("E0602", string.format("the rule for %s does not fit the call: %s", op, why)) end
  return run_inside(list, a)
end

--- The rule for numbers that are not complex as a function of the arguments by name, whatever the values are marked
--- as. `node` is what it is told of the call. Returns its results.
function M.as_real(op, a, node)
  local list = rules.candidates(op)
  if not list then core.decline("there is no rule for " .. op) end
  local results = run(list, 1, node, a, nil, false)
  return table.unpack(results, 1, results.n)
end

builder.set_namespaces(function(name)
  return setmetatable({}, {
    __index = function(self, op)
      local full = name .. "::" .. op:gsub("%.default$", "")
      local fn = function(...) return call_rule(full, ...) end
      rawset(self, op, fn)
      return fn
    end,
  })
end)

--- The value of a graph output that is a number, or the input of a pseudo node.
function M.output(x)
  builder.set_current(nil)
  if type(x) == "userdata" and not core.is_dim(x) then x = core.arguments(x).self end
  if core.is_value(x) then return x end
  return g.scalar(x)
end

return M
