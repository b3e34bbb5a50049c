-- lua/t2o/back.lua: ONNX operators as torch calls: the registry of rules/onnx, and `t`, which makes the calls.
--
--   onnx:rule("LeakyRelu(X) {alpha=0.01}", function(t, n) return t.aten.leaky_relu(n.X, n.alpha) end)
--
-- The header names inputs and attributes with their defaults; n has both by name, n.outputs are the ONNX results
-- (dtype, shape, rank). Values are torch's; they know dtype and shape where the model's do, and those that a rule
-- makes in between know nothing of themselves. A rule returns one value a result, or nil for one that nobody reads.

local core = require("t2o.core")
local schemas = require("t2o.schema")
local rules = require("t2o.rules")
local opset = require("t2o.opset")
local util = require("t2o.util")
local values = require("t2o.value") -- the fields of values

local M = {}

-- Inputs of a file may be of any rank: a rule that needs to know it is none for them.
function values.on_unknown_shape(v)
  core.decline("the rank of '" .. (core.field(v, "name") or "") .. "' is not known")
end

local list = {}  -- op -> rules, the last registered first
local asked = {} -- ops whose built-in files have been run

local registry = {}

--- onnx:rule("Op(A, B?) {attr=default}", [{ when = function(n) }], function(t, n) -> results). Later rules are asked
--- first; one that declines passes to the next.
function registry:rule(text, options, fn)
  if type(options) == "function" then options, fn = {}, options end
  local op, inputs, attrs = opset.parse(text)
  list[op] = list[op] or {}
  local rule = {
    op = op, inputs = inputs, attrs = attrs, fn = fn, when = options.when, place = core.where(),
    layer = rules.current_layer(),
  }
  local at = 1 -- built-in files are run when they are needed, after those of users
  while list[op][at] and list[op][at].layer > rule.layer do at = at + 1 end
  table.insert(list[op], at, rule)
end

--- Plain renames: Op -> torch op that takes the same tensors.
function registry:map(entries)
  for text, op in pairs(entries) do
    self:rule(text, function(t, n) return t.call(op, table.unpack(n.inputs, 1, n.inputs.n)) end)
  end
end

M.registry = registry

local function rules_for(op)
  if not asked[op] then
    asked[op] = true
    core.load("onnx", op:match("^(.*)::") or op) -- files are found by the word behind a quote, the domain of others
  end
  return list[op]
end

-- ---- t ----

local t = {}
M.t = t

local function same(x) return x end

local known = {} -- op -> schema

local function schema_of(op)
  if known[op] then return known[op] end
  local helper = op:match("^helper::(.*)$")
  if helper then known[op] = require("t2o.pyrules").helper_schema(helper) end
  if known[op] then return known[op] end
  for _, c in ipairs(rules.candidates(op) or {}) do
    if c.schema_text then known[op] = rules.schema_of(c) break end
  end
  if not known[op] then core.fail("E0602", "no schema is known for " .. op .. ": declare it with t.declare") end
  return known[op]
end

--- The schema of a torch operator for which there is no rule on the way to ONNX: "aten", "silu_(Tensor self) ->
--- Tensor".
function t.declare(namespace, text)
  local schema = schemas.parse(text)
  known[namespace .. "::" .. schema.name] = schema
end

local counter = 0

local function new_value(kind)
  counter = counter + 1
  return core.torch_value(kind or "none", "t_" .. counter, false)
end

local KINDS = {
  SymInt = "symint", int = "symint", float = "symfloat", bool = "symbool", Scalar = "symfloat", Any = "object",
}

-- Results as the schema has them; `count` is the length of a list.
local function results_of(schema, count)
  local out = {}
  local inner = schema.returns:match("^%((.*)%)$") or schema.returns
  for kind in (inner .. ","):gmatch("%s*([^,]-)%s*,") do
    kind = kind:match("^(%S+)") or ""
    if kind:find("%[%]") then
      local items = {}
      for i = 1, count or error("the number of results is not given", 0) do items[i] = new_value() end
      out[#out + 1] = items
    elseif kind ~= "" then
      out[#out + 1] = new_value(KINDS[kind:gsub("%(.-%)", "")])
    end
  end
  return out
end

--- Whether the result is Python source: a file that may hold functions of its own, lists and strings.
t.python = core.writes_python()

--- Declines where the result is an archive, which has no place for what is said.
function t.need_python(what)
  if not t.python then core.decline(what .. ": it can be written as Python source only (-o NAME.py)") end
end

local unbacked = 0 -- numbers read at run time so far

local function call(op, count, ...)
  if op:find("^helper::") then t.need_python("PyTorch has no operator for this") end
  local schema = schema_of(op)
  local a = schemas.bind_call(schema, table.pack(...), same)
  local given = table.pack(...)
  local args, named = {}, given[given.n]
  if type(named) ~= "table" or #named > 0 or named.n or core.is_value(named) then named = {} end
  local function is_given(i, p)
    return i <= given.n and given[i] ~= nil and given[i] ~= named or named[p.name] ~= nil or named[p.key] ~= nil
  end
  -- what is left at its default at the end of the call is not written; None is, where it is no default
  local last = 0
  for i, p in ipairs(schema.params) do
    if not p.has_default or a[p.key] ~= nil and is_given(i, p) then last = i end
  end
  for i, p in ipairs(schema.params) do
    local x = a[p.key]
    if p.type == "ScalarType" and type(x) == "string" then x = { dtype = x } end
    if p.keyword then
      if i <= last and x ~= nil and (named[p.name] ~= nil or i <= given.n) then
        args[#args + 1] = { p.name, x, true }
      end
    elseif i <= last then
      args[#args + 1] = { p.name, x }
    end
  end
  local outs = results_of(schema, count)
  core.torch_call(op, args, outs)
  if op == "aten::sym_size.int" and core.field(a.self, "known_rank") then
    core.set_expr(outs[1], a.self:size(a.dim))
  elseif op == "aten::item" and not t.python then -- shapes can name it
    core.set_expr(outs[1], core.symbol("u" .. unbacked))
    unbacked = unbacked + 1
  end
  return table.unpack(outs)
end

--- A torch call by name: t.call("aten::add.Tensor", x, y). Arguments by position, the rest by name in a last table.
function t.call(op, ...) return call(op, nil, ...) end

--- One whose result is a list of so many tensors: returns the list.
function t.list(count, op, ...) return call(op, count, ...) end

local function namespace(ns)
  return setmetatable({}, {
    __index = function(self, name)
      local op = ns .. "::" .. name
      local fn = function(...) return call(op, nil, ...) end
      rawset(self, name, fn)
      return fn
    end,
  })
end

setmetatable(t, {
  __index = function(self, ns)
    local space = namespace(ns)
    rawset(self, ns, space)
    return space
  end,
})

--- Gives up: the next rule for the operator is asked.
t.decline = core.decline

--- The numbers of a constant, flat; nil where it is none, or too long.
function t.numbers(v, limit)
  if not v or not v.is_constant then return nil end
  local ok, out = pcall(core.elements, v, limit or 4096)
  return ok and out or nil
end

--- The number that a constant of one element holds; nil otherwise.
function t.number(v)
  local numbers = t.numbers(v, 1)
  return numbers and numbers[1]
end

--- A weight that training must not touch.
function t.buffer(v)
  core.make_buffer(v)
  return v
end

--- A tensor of numbers that the module keeps: a (nested) list.
function t.constant(list, dtype)
  return t.buffer(core.back_value(require("t2o.builder").g.const(list, dtype)))
end

--- A tensor of a number, of the dtype.
function t.scalar(x, dtype) return t.aten.full({}, x, { dtype = dtype }) end

--- Whether an ONNX result is there and read by anything.
function t.wants(output) return output ~= nil and core.readers(output) > 0 end

--- v in another dtype.
function t.to(v, dtype)
  if core.field(v, "dtype") == dtype then return v end
  return t.aten["to.dtype"](v, dtype)
end

local contents = {} -- torch value -> the ONNX value whose content it has

local SAME_ELEMENTS = { ["aten::unsqueeze"] = true, ["aten::reshape"] = true, ["aten::view"] = true }

-- The number in a tensor of one element, whatever its shape.
local function read_item(v)
  local node = core.producer(v)
  while node and SAME_ELEMENTS[node.op] do
    v = node.inputs[1]
    node = core.producer(v)
  end
  return t.call("aten::item", v)
end

--- The same where the model tells all of them before it runs; nil otherwise.
function t.known_sizes(v)
  return v.is_constant and core.elements(v) or contents[v] and core.content(contents[v]) or nil
end

--- The integers and sizes that an integer tensor of rank 1 (or 0) holds: numbers, size expressions where the model's
--- shapes tell, else numbers that are read at run time. Declines where not even their count is known (`count`: what it
--- must be).
function t.sizes(v, count)
  local known_sizes = t.known_sizes(v)
  if known_sizes then return known_sizes end
  local shape = core.field(v, "known_rank") and v.shape
  count = shape and (shape[1] == nil and 1 or math.type(shape[1]) and shape[1]) or count
  if math.type(count) ~= "integer" then core.decline("the number of sizes is known at run time only") end
  local out = { n = count }
  if count == 1 then return { read_item(v), n = 1 } end
  for i = 1, count do out[i] = t.call("aten::item", t.aten["select.int"](v, 0, i - 1)) end
  return out
end

--- The integer or size that a tensor of one element holds: a number, an expression, or one that is read at run time.
function t.item(v)
  local known_sizes = t.knows_sizes(v) and t.sizes(v)
  return known_sizes and known_sizes[1] or read_item(v)
end

t.declare("aten", "item(Tensor self) -> int")
t.declare("aten", "sym_numel(Tensor self) -> SymInt")
t.declare("aten", "sym_size.int(Tensor self, int dim) -> SymInt")

--- Whether t.sizes(v) needs nothing read at run time.
function t.knows_sizes(v) return v.is_constant or contents[v] ~= nil end

--- How many t.sizes(v) gives, where that is known.
function t.counts_sizes(v)
  if t.knows_sizes(v) then return #t.sizes(v) end
  local shape = core.field(v, "known_rank") and v.shape
  return shape and (shape[1] == nil and 1 or math.tointeger(shape[1])) or nil
end

--- A result for a call that is made with core.torch_call; kind: nil for a tensor, "object", "symint" ...
function t.new(kind) return new_value(kind) end

--- x as a person would write it, where that is the same in 32 bits.
function t.rounded(x) return tonumber(string.format("%.7g", x)) end

-- ---- one node ----

--- A number of the dtype as the shortest decimal that is it there: ONNX stores floats in 32 bits.
function t.shortest(x, dtype) return dtype == "float32" and util.shortest(x) or x end

--- A constant of one number as that number, the shortest of those that are it in the constant's dtype; nil otherwise.
function t.literal(v)
  local x = core.field(v, "known_rank") and v.rank == 0 and v.dtype ~= "bool" and t.number(v)
  if not x then return nil end
  return t.shortest(x, v.dtype)
end

local function shortest_floats(attrs)
  for name, x in pairs(attrs) do
    if type(x) == "table" then
      for i = 1, #x do x[i] = util.shortest(x[i]) end
    else
      attrs[name] = util.shortest(x)
    end
  end
  return attrs
end

-- What a rule sees: attributes and inputs by name.
local function bound(rule, inputs, attrs, outputs)
  local n = { op = rule.op, attrs = attrs, outputs = outputs, inputs = inputs }
  for name, value in pairs(rule.attrs) do n[name] = value end
  for name, value in pairs(attrs) do n[name] = value end
  for i, name in ipairs(rule.inputs) do n[name] = inputs[i] end
  return n
end

local function view_of(rule, node)
  local sources = node.inputs -- a list that is made anew
  local inputs = { n = sources.n }
  for i = 1, inputs.n do
    local v = sources[i]
    local torch = v and core.back_value(v)
    if torch and core.content(v) then contents[torch] = v end
    inputs[i] = torch
  end
  local n = bound(rule, inputs, shortest_floats(core.arguments(node)), node.outputs)
  n.name, n.node = node.name, node
  return n
end

--- What the rule of another ONNX operator makes of torch values: t.onnx("Conv", { x, w, n = 2 }, { group = 1 },
--- n.outputs). Values made in between know neither dtype nor shape; core.copy_shape gives them one.
function t.onnx(op, inputs, attrs, outputs)
  inputs.n = inputs.n or #inputs
  for _, rule in ipairs(rules_for(op) or {}) do
    local n = bound(rule, inputs, attrs, outputs)
    if not rule.when or rule.when(n) then return rule.fn(t, n) end
  end
  core.decline("there is no rule for " .. op)
end

local function op_of(node) return node.op:match("^onnx::(.*)$") or node.op end

local function take(node, results)
  local outs = node.outputs
  for i = 1, outs.n do
    local v = outs[i]
    if v and results[i] ~= nil then core.set_twin(v, results[i]) end
  end
end

--- Translates a node into calls in the torch graph that is built.
function M.translate(node)
  local op, reasons = op_of(node), {}
  for _, rule in ipairs(rules_for(op) or {}) do
    local n = view_of(rule, node)
    local ok, results = xpcall(function()
      if rule.when and not rule.when(n) then core.decline("its condition does not hold") end
      return table.pack(rule.fn(t, n))
    end, core.on_error)
    if ok then
      take(node, results)
      return
    end
    if not core.is_decline(results) then error(results, 0) end
    reasons[#reasons + 1] = rule.place .. ": " .. results.reason
  end
  core.fail(reasons[1] and "E0302" or "E0301",
            string.format("unsupported %s %s%s", reasons[1] and "use of" or "operator: no rule for", op,
                          reasons[1] and ": " .. table.concat(reasons, "; ") or ""))
end

--- Tells of all operators without a rule at once.
function M.check(graph)
  local missing, seen = {}, {}
  for _, op in ipairs(core.graph_ops(graph)) do
    local name = op:match("^onnx::(.*)$") or op
    if not seen[name] and not rules_for(name) then missing[#missing + 1] = name end
    seen[name] = true
  end
  if missing[1] then
    core.fail("E0301", "unsupported operators: no rule for " .. table.concat(missing, ", "))
  end
end

return M
