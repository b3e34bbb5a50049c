-- lua/t2o/views.lua: how the base of a view is rebuilt when what the view shows has changed.
--
-- The inverse of a view is said where the view is declared: aten:view(name, function(t, base, changed, a, output)
-- ... end). `t` makes torch calls: t.aten["transpose.int"](changed, a.dim0, a.dim1). Its result has the dtype and shape
-- of the base.

local core = require("t2o.core")
local rules = require("t2o.rules")
local schemas = require("t2o.schema")
require("t2o.value") -- the fields of values

local M = {}

local function same(x) return x end

local function schema_of(op)
  for _, c in ipairs(rules.candidates(op) or {}) do
    if c.schema_text then return rules.schema_of(c) end
  end
  core.fail("E0301", "no rule for " .. op .. ", by which a written view would be rebuilt")
end

-- A call whose results have the dtypes and shapes of `likes`.
local function call(op, likes, ...)
  local schema, args, outs = schema_of(op), {}, {}
  local a = schemas.bind_call(schema, table.pack(...), same)
  for _, p in ipairs(schema.params) do
    if a[p.key] ~= nil then args[#args + 1] = { p.name, a[p.key] } end
  end
  for i, like in ipairs(likes) do
    outs[i] = core.torch_value(like.dtype, like.name or "rebuilt", false)
    core.set_shape(outs[i], like.shape)
  end
  core.torch_call(op, args, outs)
  return table.unpack(outs)
end

-- t, whose calls make values like `base`; t.call("ns::op", likes, ...) those like others.
local function torch_builder(base)
  return setmetatable({ call = call }, {
    __index = function(_, ns)
      return setmetatable({}, {
        __index = function(_, name)
          return function(...) return call(ns .. "::" .. name, { base }, ...) end
        end,
      })
    end,
  })
end

-- ---- overloads that write their results into `out` arguments ----

local function is_number(x) return type(x) == "number" or core.is_dim(x) end

local IS = {
  int = function(x) return math.type(x) == "integer" or core.is_dim(x) end,
  float = is_number, str = function(x) return type(x) == "string" end,
  bool = function(x) return type(x) == "boolean" end,
  Scalar = function(x) return is_number(x) or type(x) == "boolean" end,
  Tensor = function(x) return core.is_value(x) or is_number(x) or type(x) == "boolean" end,
}
IS.SymInt = IS.int

-- Whether an argument may be given for a parameter; a tensor for one that is a list may not.
local function fits(p, x)
  if x == nil then return p.optional end
  if p.list and p.type ~= "Tensor" and is_number(x) then return true end
  if p.list then return type(x) == "table" end
  return not IS[p.type] or IS[p.type](x)
end

-- How well the arguments before the last `outs` fit a schema: nil, or the number of tensors that are tensors.
local function score(schema, given, names, outs)
  local n, is_given = 0, {}
  for i = 1, #names - outs do
    local p = schema.by_name[names[i]]
    if not p or not fits(p, given[names[i]]) then return nil end
    is_given[p.name] = true
    if p.type == "Tensor" and core.is_value(given[p.name]) then n = n + 1 end
    if p.type == "Tensor" and is_number(given[p.name]) then n = n - 1 end
  end
  for _, p in ipairs(schema.params) do
    if not is_given[p.name] and not p.has_default and not p.optional then return nil end
  end
  return n
end

-- Such an overload is called after `out`, or after the first argument that it writes: "OutTensor", "dim_max".
local function says_out(overload, first)
  overload = "_" .. overload .. "_"
  return overload:lower():find("_out", 1, true) or overload:find("_" .. first .. "_", 1, true)
end

--- For a call whose last arguments, one a result, are written: the operator that gives these results, and whether it
--- has an argument `dtype` that the call does not give. Nil for other calls. Of two overloads that fit, which take a
--- number as it is and as a tensor, either gives the same.
function M.without_out(node)
  local names, outs = core.argument_names(node), #node.outputs
  local operator, overload = node.op:match("^([^.]+)%.?(.*)$")
  if not says_out(overload, names[#names - outs + 1]) or rules.candidates(node.op) then return nil end
  local given, best, most = core.arguments(node), nil, nil
  for _, schema in ipairs(rules.overloads(operator)) do
    local n = score(schema, given, names, outs)
    if n and (not most or n > most) then best, most = schema, n end
  end
  if not best then core.fail("E0301", "no rule for the results that " .. node.op .. " writes") end
  return operator:match("^.-::") .. best.name, best.by_name.dtype ~= nil and given.dtype == nil
end

-- A new value, or list of them, like another; false for None.
local function new_like(v)
  if v == nil then return false end
  if not core.is_value(v) then
    local list = {}
    for i = 1, v.n or #v do list[i] = new_like(v[i]) end
    return list
  end
  local out = core.torch_value(v.dtype, v.name, false)
  core.set_shape(out, v.shape)
  return out
end

-- The results of a node in their structure, as new values.
local function results_of(node, places)
  local out = {}
  for i, place in ipairs(places) do
    out[i] = type(place) == "table" and results_of(node, place) or new_like(node.outputs[place])
  end
  return out
end

local function flat(list, out)
  for _, x in ipairs(list) do
    if core.is_value(x) then out[#out + 1] = x elseif x then flat(x, out) end
  end
  return out
end

-- The call again, with what the arguments hold afterwards as further results: so its rule gives them.
local function written_as_results(node, schema, a)
  local args, results, written = {}, results_of(node, node.returns), {}
  for _, p in ipairs(schema.params) do
    if a[p.key] ~= nil then args[#args + 1] = { p.name, a[p.key] } end
  end
  local given = flat(results, {})
  for _, p in ipairs(schema.written) do
    written[p.name] = new_like(a[p.key])
    results[#results + 1] = written[p.name]
  end
  core.torch_call(node.op, args, results)
  return given, written
end

-- What an operator updates by the way is state where the model holds it. Given as an input it is the caller's: nothing
-- is made of it but a warning.
local function without_inputs(op, a, written)
  for name in pairs(written) do
    local v = a[name]
    if core.is_value(v) and core.signature(v).spec == "USER_INPUT" then
      core.warn(string.format("%s updates '%s', an input; the new value is not given back", op, v.name))
      written[name] = nil
    end
  end
  return written
end

--- Of an op that writes into arguments: the list of its results and { argument = what it holds afterwards }.
function M.effects(node)
  local fn, schema = rules.effects_of(node.op), rules.written(node.op) or schema_of(node.op)
  local a, why = schemas.bind(schema, core.arguments(node), core.argument_names(node), same)
  if not a then error(why, 0) end
  if fn then
    local results, written = fn(torch_builder(node.outputs[1]), a, node)
    return results, without_inputs(node.op, a, written)
  end
  return written_as_results(node, schema, a)
end

--- The rebuilt base, or nil where the view declares no inverse.
function M.rebuild(node, output, base, changed)
  local fn = rules.inverse_of(node.op)
  if not fn then return nil end
  local a, why = schemas.bind(schema_of(node.op), core.arguments(node), core.argument_names(node), same)
  if not a then error(why, 0) end
  return fn(torch_builder(base), base, changed, a, output)
end

return M
