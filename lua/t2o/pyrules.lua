-- lua/t2o/pyrules.lua: the registry of how torch calls print as Python, and the printing of one call.
--
-- rules/python fills it:
--   python:method { "abs", "cumsum" }             x.abs(), x.cumsum(dim)
--   python:call("torch", { "logsumexp" })         torch.logsumexp(x, dim), arguments as in the schema
--   python:operator { ["add.Tensor"] = "+" }      x + y
--   python:form { ["cat"] = "torch.cat({tensors}{, dim=})" }
--   python:rule("add.Tensor", function(py, a) return template, or nil for the next end)
--   python:helper("name", [[def name(x): ...]])
--   python:layer("conv2d", function(py, a) return { class = ..., ... } end)
-- In templates {name} is an argument, {*name} the items of a list, {, name} one that is left out where it has its
-- default, {, name=} the same as a keyword.

local core = require("t2o.core")
local rules = require("t2o.rules")
local schemas = require("t2o.schema")
require("t2o.value")
local text = require("t2o.pytext")

local M = {}
local forms, printers, layers, same = {}, {}, {}, {}
local helpers, needed = {}, {}

local registry = {}
M.registry = registry

local function full(name) return name:find("::", 1, true) and name or "aten::" .. name end

-- Built-in files run when the first call is printed, behind those of the user, whose word stands.
local builtin, users = false, {}

local function set(where, name, how)
  local op = full(name)
  if builtin and users[op] then return end
  users[op] = not builtin or nil
  where[op] = how
end

local function add(names, how)
  for _, name in ipairs(names) do set(forms, name, how) end
end

function registry:method(names) add(names, { kind = "method" }) end

--- prefix: "torch", "F", "torch.linalg"; names may rename: ["linalg_det"] = "det"
function registry:call(prefix, names)
  for key, name in pairs(names) do
    local op = math.type(key) and name or key
    set(forms, op, { kind = "call", prefix = prefix, name = name:match("^[%w_]+") })
  end
end

local PRECEDENCE = {
  ["+"] = 10, ["-"] = 10, ["*"] = 11, ["/"] = 11, ["//"] = 11, ["%"] = 11, ["@"] = 11, ["**"] = 13, ["&"] = 8,
  ["|"] = 6, ["^"] = 7, ["<<"] = 9, [">>"] = 9, ["<"] = 5, ["<="] = 5, [">"] = 5, [">="] = 5, ["=="] = 5,
  ["!="] = 5, ["and"] = 3, ["or"] = 2,
}

--- Operators of two arguments; the first two of the schema.
function registry:operator(entries)
  for name, sign in pairs(entries) do set(forms, name, { kind = "operator", sign = sign }) end
end

function registry:form(entries)
  for name, template in pairs(entries) do set(forms, name, { kind = "form", template = template }) end
end

function registry:rule(names, fn)
  for _, name in ipairs(type(names) == "table" and names or { names }) do set(printers, name, fn) end
end

function registry:layer(names, fn)
  for _, name in ipairs(type(names) == "table" and names or { names }) do set(layers, name, fn) end
end

local helper_schemas = {} -- name -> schema

--- A Python function that the file brings along where a rule says py.need(name). With a schema for a name, it is what
--- t.helper.NAME(...) of rules/onnx calls.
function registry:helper(name, source)
  local schema = name:find("%(") and schemas.parse(name)
  name = schema and schema.name or name
  helpers[name], helper_schemas[name] = source, schema or nil
end

--- The schema of a t.helper.NAME(...) that a rule for "helper::NAME" prints.
function registry:helper_schema(text)
  local schema = schemas.parse(text)
  helper_schemas[schema.name] = schema
end

--- What t.helper.NAME(...) prints where that is no function but an expression: schema -> template.
function registry:expression(entries)
  for text, template in pairs(entries) do
    local schema = schemas.parse(text)
    helper_schemas[schema.name] = schema
    set(forms, "helper::" .. schema.name, { kind = "form", template = template })
  end
end

local loaded
local function load()
  if not loaded then
    loaded, builtin = true, true
    core.load("python")
    builtin = false
  end
end

--- Calls whose result is their first argument: names, and when(a, v) where that is not always so.
function registry:same(names, when)
  for _, name in ipairs(names) do set(same, name, when or true) end
end

-- ---- arguments ----

--- The schema of a helper by its name, or nil.
function M.helper_schema(name)
  load()
  return helper_schemas[name]
end

function M.is_helper(name) return helpers[name] ~= nil end

local function schema_of(op)
  local helper = op:match("^helper::(.*)$")
  if helper then return helper_schemas[helper] end
  for _, c in ipairs(rules.candidates(op) or {}) do
    if c.schema_text then return rules.schema_of(c) end
  end
end

local function plain(item, resolve)
  if not item then return nil end
  if item.kind == "value" and resolve then return resolve(item.value) end
  if item.kind ~= "list" then return item.value end
  local out = { n = #item.value }
  for i, x in ipairs(item.value) do out[i] = plain(x, resolve) end
  return out
end

local function default_item(p)
  local function item(x)
    if type(x) == "table" then
      local list = {}
      for i = 1, x.n or #x do list[i] = item(x[i]) end
      return { kind = "list", value = list }
    end
    local kinds = { ["nil"] = "none", number = math.type(x) == "integer" and "int" or "float", boolean = "bool" }
    return { kind = kinds[type(x)] or "string", value = x, default = true }
  end
  local made = item(p.default)
  made.default = true
  return made
end

local function same_number(x, y) return type(x) == type(y) and x == y end

local function is_default(p, item)
  if item.default then return true end
  if not p.has_default then return p.optional and item.kind == "none" end
  local x, default = plain(item), p.default
  if type(x) == "table" and item.kind == "list" then
    for i = 1, x.n do
      local y = default
      if type(default) == "table" then y = default[i] or (#default == 1 and default[1]) end
      if not same_number(x[i], y) then return false end
    end
    return type(default) ~= "table" or #default <= 1 or #default == x.n
  end
  if core.is_value(x) or core.is_dim(x) then return false end
  return x == default
end

--- The arguments of a call by name: a.dim is the plain value, a:item("dim") what the archive says of it.
local arguments = {}
function arguments.__index(a, key)
  local items = rawget(a, "_items")
  return plain(items[key] or items[key:gsub("_$", "")], rawget(a, "_resolve"))
end

function M.bind(node, resolve)
  local schema, given = schema_of(node.op), core.call(node)
  local items, position = {}, 0
  for i, item in ipairs(given) do
    local name = item.name
    if name == "self" and i == 1 and schema and not schema.by_name.self then name = schema.params[1].name end
    if name == "" then
      position = position + 1
      name = schema and schema.params[position] and schema.params[position].name or "#" .. position
    end
    items[name] = item
    items["#" .. i] = item
  end
  for _, p in ipairs(schema and schema.params or {}) do
    if not items[p.name] then items[p.name] = default_item(p) end
  end
  local a = setmetatable({ _items = items, _schema = schema, _given = given, _node = node, _resolve = resolve },
    arguments)
  return a
end

-- ---- an argument as text ----

local MEMORY_FORMATS = { contiguous = "contiguous_format", preserve = "preserve_format" }

local function int_list(item)
  for _, x in ipairs(item.value) do
    if x.kind ~= "int" then return false end
  end
  return #item.value > 0
end

local function tuple_text(item)
  local out = {}
  for i, x in ipairs(item.value) do out[i] = text.number(x.value) end
  return "(" .. table.concat(out, ", ") .. (#out == 1 and "," or "") .. ")"
end

local render_item

local function list_parts(p, item, ctx)
  local parts = {}
  for i, x in ipairs(item.value) do parts[i] = { sub = render_item(p, x, ctx), prec = text.TERNARY } end
  return parts
end

local function all_equal(item)
  for _, x in ipairs(item.value) do
    if x.value ~= item.value[1].value then return false end
  end
  return true
end

local function number_expr(x, name)
  local out = text.number(x)
  return text.expr(out:sub(1, 1) == "-" and text.UNARY or text.ATOM, { lit = out, name = name })
end

local kinds = {}

function kinds.none() return text.atom("None") end
function kinds.value(p, item, ctx) return ctx.value(item.value, p and p.type) end
function kinds.expr(_, item, ctx) return ctx.size(item.value) end
function kinds.bool(_, item) return text.atom(item.value and "True" or "False") end
function kinds.string(_, item) return text.atom(text.quote(item.value)) end
function kinds.dtype(_, item) return text.atom("torch." .. item.value) end
function kinds.device(_, item) return text.atom(text.quote(item.value)) end
function kinds.layout(_, item) return text.atom("torch." .. item.value) end
function kinds.memory_format(_, item)
  return text.atom("torch." .. (MEMORY_FORMATS[item.value] or item.value))
end
function kinds.complex(_, item)
  return text.atom("complex(" .. text.number(item.value) .. ", " .. text.number(item.imag) .. ")")
end
function kinds.int(p, item)
  if p and p.type == "ScalarType" then return text.atom("torch." .. item.value) end
  return number_expr(item.value, p and p.name)
end
function kinds.float(p, item) return number_expr(item.value, p and p.name) end

function kinds.list(p, item, ctx)
  if int_list(item) then
    if p and p.size and #item.value == p.size and all_equal(item) and not ctx.exact then
      return number_expr(item.value[1].value, p.name)
    end
    return text.atom({ lit = tuple_text(item), name = p and p.name })
  end
  local only = #item.value == 1 and item.value[1]
  if only and only.kind == "value" and core.field(only.value, "kind") == "object" then
    return render_item(p, only, ctx) -- a list by itself
  end
  local tensors = p and p.type == "Tensor"
  local out = text.join(list_parts(p, item, ctx), ", ")
  table.insert(out, 1, tensors and "[" or "(")
  out[#out + 1] = tensors and "]" or #item.value == 1 and ",)" or ")"
  return out
end

function render_item(p, item, ctx)
  local kind = kinds[item.kind]
  if not kind then core.decline("an argument of kind " .. item.kind .. " has no form in Python") end
  return kind(p, item, ctx)
end

-- ---- templates ----

local function param(a, name)
  return a._schema and a._schema.by_name[name] or { name = name }
end

local function spread(a, name, ctx)
  return text.join(list_parts(param(a, name), a._items[name], ctx), ", ")
end

-- A tensor out of nothing is made where the function's inputs are.
local function device(ctx)
  local e = ctx.device()
  return e and { ", device=", { sub = e } } or {}
end

local function placeholder(a, inside, follows, ctx, prec)
  local optional, star, name, keyword = inside:match("^(,? ?)(%*?)(#?[%w_]+)(=?)$")
  local listed, index = inside:match("^([%w_]+)#(%d+)$")
  if listed then
    local one = a._items[listed].value[tonumber(index)]
    return { { sub = render_item(param(a, listed), one, ctx), prec = text.TERNARY } }
  end
  if inside == ", device" then return device(ctx) end
  if not name then error("a template has no placeholder {" .. inside .. "}", 0) end
  local p, item = param(a, name), a._items[name]
  if not item then error("no argument " .. name .. " of " .. a._node.op, 0) end
  if optional ~= "" and is_default(p, item) then return {} end
  local out = {}
  if optional ~= "" then out[1] = ", " end
  if keyword ~= "" then out[#out + 1] = name .. "=" end
  if star ~= "" and item.kind == "list" and #item.value > 0 then
    for _, part in ipairs(spread(a, name, ctx)) do out[#out + 1] = part end
    return out
  end
  if not prec then prec = follows:find("^[%.%[%(]") and text.ATOM or text.TERNARY end
  out[#out + 1] = { sub = render_item(p, item, ctx), prec = prec }
  return out
end

local function expand(a, template, ctx, prec, operand_prec)
  local out, at = { prec = prec or text.ATOM }, 1
  for before, inside, after in template:gmatch("([^{]*){([^}]*)}()") do
    if before ~= "" then out[#out + 1] = before end
    for _, part in ipairs(placeholder(a, inside, template:sub(after), ctx, operand_prec)) do
      out[#out + 1] = part
    end
    at = after
  end
  if at <= #template then out[#out + 1] = template:sub(at) end
  return out
end

-- Arguments of the schema from number `first` on: required ones by position, others by keyword.
local function rest(a, first, ctx)
  local out, keyword = {}, false
  for i = first, #a._schema.params do
    local p = a._schema.params[i]
    local item = a._items[p.name]
    local left_out = is_default(p, item) or (p.type == "Device" or p.type == "Layout" or p.name == "pin_memory")
    keyword = keyword or p.keyword or left_out
    if not left_out then
      local name = (keyword or p.has_default) and p.name .. "=" or nil
      keyword = keyword or name ~= nil
      out[#out + 1] = name and ", " .. name or ", "
      out[#out + 1] = { sub = render_item(p, item, ctx), prec = text.TERNARY }
    end
  end
  return out
end

local function append(out, parts)
  for _, part in ipairs(parts) do out[#out + 1] = part end
  return out
end

local function makes_tensor(a)
  for _, p in ipairs(a._schema.params) do
    if p.type == "Tensor" then return false end
  end
  return a._schema.by_name.device ~= nil
end

local function first_argument(a, ctx, prec)
  local p = a._schema.params[1]
  return { sub = render_item(p, a._items[p.name], ctx), prec = prec or text.TERNARY }
end

local printing = {}

function printing.form(a, how, ctx) return expand(a, how.template, ctx) end

function printing.method(a, _, ctx, name)
  local others = rest(a, 2, ctx)
  if others[1] then others[1] = others[1]:sub(3) end
  local out = text.atom(first_argument(a, ctx, text.ATOM), "." .. name .. "(")
  append(out, others)
  out[#out + 1] = ")"
  return out
end

function printing.call(a, how, ctx)
  local out = text.atom((how.prefix and how.prefix .. "." or "") .. how.name .. "(")
  if a._schema.params[1] then
    out[2] = first_argument(a, ctx)
    append(out, rest(a, 2, ctx))
    if makes_tensor(a) then append(out, device(ctx)) end
  end
  out[#out + 1] = ")"
  return out
end

function printing.operator(a, how, ctx)
  local prec = PRECEDENCE[how.sign]
  local names = { a._schema and a._schema.params[1].name or "#1", a._schema and a._schema.params[2].name or "#2" }
  local left, right = {}, {}
  local tight = how.sign == "**" or prec == 5
  left.sub, left.prec = render_item(param(a, names[1]), a._items[names[1]], ctx), tight and prec + 1 or prec
  right.sub = render_item(param(a, names[2]), a._items[names[2]], ctx)
  right.prec = how.sign == "**" and text.UNARY or prec + 1 -- x ** -1
  local out = text.expr(prec, left, " " .. how.sign .. " ", right)
  out.cost = 1
  return out
end

-- The arguments of a call with None for those that have no default and are left out.
local function complete(a)
  local given = {}
  for _, item in ipairs(a._given) do given[item.name] = item end
  if not a._schema or given[""] then return a._given end
  local out = {}
  for _, p in ipairs(a._schema.params) do
    local item = given[p.name]
    if item then
      out[#out + 1] = item
      given[p.name] = nil
    elseif p.optional and not p.has_default then
      out[#out + 1] = { name = p.name, kind = "none", keyword = p.keyword }
    end
  end
  return next(given) and a._given or out
end

-- The operator itself, where nothing nicer is known.
local function raw_call(a, ctx)
  local ns, name = a._node.op:match("^(.-)::(.*)$")
  if ns == "higher_order" or ns == "predispatch" then
    core.fail("E0302", "unsupported call of " .. a._node.op .. ": it has no form in Python")
  end
  if not name:find("%.") then name = name .. ".default" end
  local out = text.atom("torch.ops." .. ns .. "." .. name .. "(")
  local keyword, first = false, true
  for i, item in ipairs(complete(a)) do
    local p = a._schema and (item.name ~= "" and a._schema.by_name[item.name] or a._schema.params[i])
    local in_place = a._schema and a._schema.params[i] and a._schema.params[i].name == item.name
    if item.name ~= "" and (item.keyword or (i > 1 and not in_place)) then keyword = true end
    out[#out + 1] = (first and "" or ", ") .. (keyword and item.name .. "=" or "")
    ctx.exact = true -- lists as lists: these calls take nothing else
    out[#out + 1] = { sub = render_item(p, item, ctx), prec = text.TERNARY }
    ctx.exact = nil
    first = false
  end
  out[#out + 1] = ")"
  return out
end

-- name(x, k, mode="constant")
local function helper_call(a, ctx)
  local name = a._schema.name
  needed[name] = true
  return printing.call(a, { name = name }, ctx)
end

local function use(a, how, ctx, name)
  if type(how) == "string" then return expand(a, how, ctx) end
  if how.kind == "method" or how.kind == "call" then
    if not a._schema then return raw_call(a, ctx) end
  end
  return printing[how.kind](a, how, ctx, name)
end

--- The value that the only result of a call stands for, or nil.
function M.same(node, model)
  load()
  local when = same[node.op]
  local v = when and node.inputs[1]
  if not v or not core.is_value(v) then return nil end
  v = model.resolve(v)
  if when == true or when(M.bind(node), v, model) then return v end
end

--- What rules get as `py`.
local py = {}

--- x op y as a result of a rule
function py.operator(sign) return { kind = "operator", sign = sign } end
--- an expression from a template, with the precedence of its outermost operator
function py.template(template, prec) return { kind = "template", template = template, prec = prec } end
--- two operands of an operator
function printing.template(a, how, ctx) return expand(a, how.template, ctx, how.prec, how.prec + 1) end

--- A list of equal integers as one of them: the form in which layers take sizes.
function py.int(list)
  if type(list) ~= "table" then return list end
  for i = 2, list.n or #list do
    if list[i] ~= list[1] then return list end
  end
  return (list.n or #list) > 0 and list[1] or list
end

--- The same; a shape of one dimension as its size.
function py.int_or_shape(list) return (list.n or #list) == 1 and list[1] or list end

function py.is_one(x) return x == 1 end
function py.is_symbolic(x) return core.is_dim(x) or core.is_value(x) end

--- Whether a value is a tensor of zeros that its call makes.
function py.is_zeros(v)
  local node = core.producer(v)
  return node ~= nil and node.op:find("^aten::[new_]*zeros") ~= nil
end

--- Whether a value is what one of these operators makes (names without overload).
function py.is_result_of(v, ...)
  local node = core.producer(v)
  local name = node and node.op:match("::([^%.]+)")
  for _, wanted in ipairs { ... } do
    if name == wanted then return true end
  end
  return false
end

--- x[a, b]: the parts of an index are templates; {name#2} is the second of a list.
function py.indexed(base, parts) return base .. "[" .. table.concat(parts, ", ") .. "]" end

function py.is_default(a, name) return is_default(param(a, name), a._items[name]) end
function py.kind(a, name) return a._items[name] and a._items[name].kind or "none" end

--- Turns an argument round where it is a negative number; says whether it was.
function py.negate(a, name)
  local item = a._items[name]
  local x = item.value
  if not math.type(x) or x >= 0 or x ~= x or x == math.mininteger then return false end
  a._items[name] = { name = item.name, kind = item.kind, value = -x }
  return true
end

--- Asks for a helper by its name.
function py.need(name)
  if not helpers[name] then error("there is no helper " .. name, 2) end
  needed[name] = true
end

--- Begins a file: no helper is needed yet.
function M.start() needed = {} end

-- Helpers that others call are needed too.
local function add_called(name)
  for called in helpers[name]:gmatch("%f[%w_]([%a_][%w_]*)%(") do
    if helpers[called] and not needed[called] then
      needed[called] = true
      add_called(called)
    end
  end
end

--- The helpers that were asked for, sorted by name.
function M.helpers()
  local names, out = {}, {}
  for name in pairs(needed) do names[#names + 1] = name end
  for _, name in ipairs(names) do add_called(name) end
  names = {}
  for name in pairs(needed) do names[#names + 1] = name end
  table.sort(names)
  for i, name in ipairs(names) do out[i] = helpers[name] end
  return out
end

--- The expression of a call.
function M.expression(node, ctx)
  load()
  local a = M.bind(node)
  local name = node.op:match("::([^%.]+)")
  local fn = printers[node.op]
  py.ctx = ctx
  local how = fn and fn(py, a, node) or forms[node.op] or forms[node.op:match("^([^%.]+)%.") or ""]
  if how and how.prec and not how.kind then return how end
  if not how and node.op:find("^helper::") then return helper_call(a, ctx) end
  return how and use(a, how, ctx, name) or raw_call(a, ctx)
end

--- How a call prints as a layer, or nil. kind: the class of torch.nn whose forward it is ("ReLU6"), where known.
--- { class, args = { { name, value } ... }, kwargs = { { name, value, default } ... }, weights = { role = value },
---   inputs = { values }, absorbs = { values } }
function M.layer(node, kind, resolve)
  load()
  local fn = layers[node.op]
  if not fn then return nil end
  py.nn = kind
  return fn(py, M.bind(node, resolve), node)
end

--- An argument of a constructor.
function M.literal(value, name)
  if type(value) == "table" then
    local items = {}
    for i = 1, value.n or #value do items[i] = { kind = "int", value = value[i] } end
    return text.atom({ lit = tuple_text({ value = items }), name = name })
  end
  if type(value) == "boolean" then return text.atom(value and "True" or "False") end
  if type(value) == "string" then return text.atom(value:find("^torch%.") and value or text.quote(value)) end
  return number_expr(value, name)
end

return M
