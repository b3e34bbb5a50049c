-- lua/t2o/rules.lua: the registry of rules: namespaces, layers, and which rule is asked first.

local core = require("t2o.core")
local schemas = require("t2o.schema")

local M = {}

local layers = {}     -- names, in order
local ops = {}        -- "aten::relu" -> list of candidates in order of registration
local sorted = {}     -- the same, in the order in which they are asked; made on first use
local views = {}      -- op -> {kind = 1 | 2, rebuild = function, place}
local dropped = {}    -- ops without results that need no translation
local namespaces = {}
local layer           -- number of the layer that is being loaded
local asked = {}      -- ops whose built-in files have been run

--- Begins a layer: what is registered from here on belongs to it.
function M.start_layer(name)
  layers[#layers + 1] = name
  layer = #layers
end

--- The layer to which belongs what is registered now.
function M.current_layer() return layer or 1 end

--- Goes to a layer for a while; returns the one before.
function M.set_layer(number)
  local before = layer
  layer = number
  return before
end

-- Whether there is more than rules for complex numbers, which stand in a file of their own.
local function has_real(op, name)
  if ops["*::" .. name] then return true end
  for _, c in ipairs(ops[op] or {}) do
    if c.complex ~= true then return true end
  end
  return false
end

-- Runs the built-in files that speak of an op. Rules of a family may be registered in a loop, under names that are put
-- together: then its name without the overload stands in the file, or nothing that tells, and all files are run.
local function load_for(op)
  if asked[op] then return end
  asked[op] = true
  local name = op:match("::(.*)$") or op
  core.load("ops", name)
  if not has_real(op, name) then core.load("ops", name:match("^[^.]+")) end
  if not has_real(op, name) then core.load("ops") end
end

local function add(op, candidate)
  candidate.layer = layer
  candidate.place = core.where() or layers[layer]
  candidate.op = op
  local list = ops[op] or {}
  for _, other in ipairs(list) do
    local both = not (candidate.when or other.when) and (candidate.kind == "wrap") == (other.kind == "wrap")
      and candidate.complex == other.complex
    if other.layer == candidate.layer and both then
      core.fail("E0606", string.format("two rules for %s: %s and %s", op, other.place, candidate.place))
    end
  end
  list[#list + 1] = candidate
  candidate.order = #list
  ops[op] = list
  sorted = {}
end

-- Later layers first; in a layer wrappers, then rules with a condition, then the one without. Those for complex numbers
-- are asked about other calls than the rest is, and stand behind it.
local function before(a, b)
  if a.layer ~= b.layer then return a.layer > b.layer end
  if (a.complex == true) ~= (b.complex == true) then return b.complex == true end
  local function weight(c) return c.kind == "wrap" and 0 or c.when and 1 or 2 end
  if weight(a) ~= weight(b) then return weight(a) < weight(b) end
  if a.order ~= b.order then return a.order < b.order end
  return a.op > b.op -- a name with a namespace before a bare one
end

--- Runs the files that may hold rules for an op's calls with complex numbers.
function M.load_complex(op) core.load("ops", op:match("::([^.]+)") or op) end

--- The rules for an op in the order in which they are asked, or nil.
function M.candidates(op)
  load_for(op)
  local list = sorted[op]
  if list == nil then
    list = {}
    for _, key in ipairs { op, "*::" .. (op:match("::(.*)$") or op) } do
      for _, c in ipairs(ops[key] or {}) do list[#list + 1] = c end
    end
    table.sort(list, before)
    sorted[op] = list
  end
  return list[1] and list or nil
end

--- Where the first rule for an op stands, or nil.
function M.place_of(op)
  local list = M.candidates(op)
  return list and list[1].place
end

local function load_views(op)
  if not asked[op] then core.load("ops", op:match("::(.*)$") or op) end
end

function M.is_dropped(op)
  load_views(op)
  return dropped[op] ~= nil
end

local KINDS = { copy = 0, same = 2 }

--- 0: no view; 1: a view; 2: its input itself; 3: a view or a copy; 4: none, but arguments are written. A second
--- result tells whether that holds for every call of the op.
function M.view_kind(op, node)
  load_views(op)
  local v = views[op]
  if not v then return M.written(op) and 4 or 0, true end
  if (v.when and not v.when(core.arguments(node))) then return 0 end
  if v.kind == 3 and v.rebuild and node.contiguous[1] then return 1 end
  local certain = v.decide and v.decide(core.arguments(node), node)
  return certain and KINDS[certain] or v.kind, not (v.when or v.decide or v.kind == 3)
end

--- What an op of kind 4 gives and writes; nil where its schema says it.
function M.effects_of(op) return views[op] and views[op].effects end

--- The schema of an op that a user's rule says to write into arguments, as in Tensor(a!) x; else nil. The built-in
--- rules for such ops are about their calls in functional graphs.
function M.written(op)
  for _, c in ipairs(ops[op] or {}) do
    local schema = c.layer > 1 and M.schema_of(c)
    if schema and #schema.written > 0 then return schema end
  end
end

--- How the base of a view is rebuilt, or nil.
function M.inverse_of(op) return views[op] and views[op].rebuild end

--- The schemas of an operator's overloads, by name: those for which there are rules.
function M.overloads(operator)
  core.load("ops")
  local out = {}
  for op, list in pairs(ops) do
    for _, c in ipairs(op:match("^[^.]+") == operator and list or {}) do
      if c.schema_text then out[#out + 1] = M.schema_of(c) break end
    end
  end
  table.sort(out, function(x, y) return x.name < y.name end)
  return out
end

--- All ops with a rule, sorted.
function M.ops()
  core.load("ops")
  local out = {}
  for op in pairs(ops) do out[#out + 1] = op end
  table.sort(out)
  return out
end

function M.layer_name(i) return layers[i] end

--- The parsed schema of a candidate; nil for rules without one (register_op).
function M.schema_of(candidate)
  if not candidate.schema and candidate.schema_text then
    candidate.schema = schemas.parse(candidate.schema_text)
  end
  return candidate.schema
end

-- ---- what rule files use ----

local namespace = {}
namespace.__index = namespace

--- @param name string "aten", "mylib", ...
function M.namespace(name)
  if type(name) ~= "string" or not name:find("^[%w_]+$") then
    error("a namespace is a name such as \"aten\"", 2)
  end
  namespaces[name] = namespaces[name] or setmetatable({ name = name }, namespace)
  return namespaces[name]
end

local function op_of(self, text)
  local name = type(text) == "string" and schemas.op_name(text)
  if not name then error("a rule begins with an operator's schema, as text", 3) end
  return self.name .. "::" .. name
end

local OPTIONS = { when = "function", complex = "boolean" }

--- A rule: schema, optional { when = function(a, n), complex = true }, function(g, a, n) -> results. A rule for complex
--- numbers beside one for others may give the operator's name only.
function namespace:rule(text, options, fn)
  if type(options) == "function" then options, fn = {}, options end
  if type(fn) ~= "function" or type(options) ~= "table" then
    error("rule(schema, [options,] function): the function is missing", 2)
  end
  for key, value in pairs(options) do
    if not OPTIONS[key] then error("a rule has no option '" .. tostring(key) .. "'", 2) end
    if type(value) ~= OPTIONS[key] and not (key == "complex" and value == "both") then
      error("the option '" .. key .. "' of a rule is a " .. OPTIONS[key], 2)
    end
  end
  local schema = (text:find("(", 1, true) or not options.complex) and text or nil
  add(op_of(self, text), {
    kind = "rule", schema_text = schema, fn = fn, when = options.when, complex = options.complex or nil,
  })
end

--- Plain renames: schema -> ONNX operator that takes the tensors in the same order.
function namespace:map(entries)
  local texts = {}
  for text in pairs(entries) do texts[#texts + 1] = text end
  table.sort(texts)
  for _, text in ipairs(texts) do
    add(op_of(self, text), { kind = "map", schema_text = text, onnx = entries[text] })
  end
end

--- Overrides and calls what it overrides: function(base, g, a, n); base(g, a) runs the next rule.
function namespace:wrap(name, fn)
  if type(fn) ~= "function" then error("wrap(name, function): the function is missing", 2) end
  add(op_of(self, name), { kind = "wrap", fn = fn })
end

--- An op whose result is a view of its first argument; rebuild(t, base, changed, a) gives the changed base.
function namespace:view(name, rebuild)
  views[op_of(self, name)] = { kind = 1, rebuild = rebuild, place = core.where() }
end

--- Ops whose result is a view or a copy, as strides or dtypes have it. With `rebuild` they are views, and this is their
--- inverse, where the first argument lies row by row in memory. decide(a, n) says "same" or "copy" where it is certain.
function namespace:maybe_view(names, rebuild, decide)
  for _, name in ipairs(names) do
    views[op_of(self, name)] = { kind = 3, rebuild = rebuild, decide = decide, place = core.where() }
  end
end

--- Ops whose result is their first argument itself; with `when`, only calls for whose arguments it holds.
function namespace:alias(names, when)
  for _, name in ipairs(names) do views[op_of(self, name)] = { kind = 2, when = when, place = core.where() } end
end

--- Ops that write into arguments for whose values `when` holds, beside giving results. fn(t, a, n) makes torch calls;
--- it returns the list of results and { argument = what it holds afterwards }.
function namespace:writes(names, when, fn)
  for _, name in ipairs(names) do
    views[op_of(self, name)] = { kind = 4, when = when, effects = fn, place = core.where() }
  end
end

--- Ops without results that say nothing about the numbers: assertions and hints.
function namespace:drop(names)
  for _, name in ipairs(names) do dropped[op_of(self, name)] = core.where() end
end

-- ---- the names of torch-to-onnx ----

local function qualified(name)
  name = name:gsub("^torch%.ops%.", "")
  local ns, rest = name:match("^([%w_]+)::(.+)$")
  if not ns then ns, rest = "aten", name end
  return ns, (rest:gsub("%.default$", ""))
end

--- register_mapping("aten::erf", "Erf"): the tensors of the call, in order, into one ONNX operator.
local function register_mapping(name, onnx)
  local ns, op = qualified(name)
  add(ns .. "::" .. op, { kind = "mapping", onnx = onnx })
end

--- register_op(names, onnx, handler): handler(node, value_map, tape, opset_version) -> inputs, attributes.
local function register_op(names, onnx, handler)
  if type(names) == "string" then names = { names } end
  if type(handler) ~= "function" then error("register_op(names, operator, function): the function is missing", 2) end
  local seen = {}
  for _, name in ipairs(names) do
    local bare = not name:find("::") and not name:find("^torch%.ops%.")
    local ns, op = qualified(name)
    -- a bare name means the op of any namespace, as it does in the Python tool
    local key = bare and "*::" .. op or ns .. "::" .. op
    if not seen[key] then
      add(key, { kind = "handler", onnx = onnx, fn = handler })
      seen[key] = true
    end
  end
end

-- ---- the sandbox ----

local function copy(t)
  local out = {}
  for k, v in pairs(t) do out[k] = v end
  return out
end

local safe = {
  assert = assert, error = error, ipairs = ipairs, next = next, pairs = pairs, select = select,
  setmetatable = setmetatable, getmetatable = function(x) return type(x) == "table" and getmetatable(x) or nil end,
  rawequal = rawequal, rawget = rawget, rawlen = rawlen, rawset = rawset, tonumber = tonumber, tostring = tostring,
  type = type, require = require, register_mapping = register_mapping, register_op = register_op,
  _VERSION = _VERSION,
}

-- The engine's own functions that check what they are given; the library alone has the others.
local public_core = {}
for _, name in ipairs {
  "compare", "content", "context", "decline", "dim_call", "elements", "field", "fresh", "is_dim", "is_value",
  "set_content", "set_shape", "symbol",
} do
  public_core[name] = core[name]
end

local function user_require(name)
  if name == "t2o.core" then return public_core end
  return require(name)
end

--- A new global table for a rule file: files do not see each other's globals.
function M.environment()
  local env = copy(safe)
  env.string, env.table, env.math, env.utf8 = copy(string), copy(table), copy(math), copy(utf8)
  env.string.dump = nil
  if layer and layer > 1 then env.require = user_require end
  env._G = env
  return env
end

return M
