-- lua/t2o/schema.lua: PyTorch's schema strings, parsed, and the binding of a call's arguments to them.

local core = require("t2o.core")

local M = {}

local KEYWORDS = {
  ["and"] = true, ["break"] = true, ["do"] = true, ["else"] = true, ["elseif"] = true, ["end"] = true,
  ["false"] = true, ["for"] = true, ["function"] = true, ["goto"] = true, ["if"] = true, ["in"] = true,
  ["local"] = true, ["nil"] = true, ["not"] = true, ["or"] = true, ["repeat"] = true, ["return"] = true,
  ["then"] = true, ["true"] = true, ["until"] = true, ["while"] = true,
}

-- Names of dtypes as schemas spell them, where that is not PyTorch's public name.
local DTYPES = { long = "int64", int = "int32", float = "float32", double = "float64", bool = "bool" }
local REDUCTIONS = { Mean = 1, Sum = 2, None = 0 }

local function fail(text, why)
  core.fail("E0601", string.format("schema \"%s\": %s", text, why))
end

-- Splits at commas outside of brackets and quotes.
local function split(text)
  local out, depth, start, quoted = {}, 0, 1, false
  for i = 1, #text do
    local c = text:sub(i, i)
    if c == "'" or c == '"' then
      quoted = not quoted
    elseif not quoted and c:find("[%(%[]") then
      depth = depth + 1
    elseif not quoted and c:find("[%)%]]") then
      depth = depth - 1
    elseif not quoted and c == "," and depth == 0 then
      out[#out + 1] = text:sub(start, i - 1)
      start = i + 1
    end
  end
  out[#out + 1] = text:sub(start)
  return out
end

local function trim(text)
  return (text:gsub("^%s+", ""):gsub("%s+$", ""))
end

local parse_default

local function parse_list(text)
  local out = { n = 0 }
  local inner = trim(text:sub(2, -2))
  if inner ~= "" then
    for _, item in ipairs(split(inner)) do
      out.n = out.n + 1
      out[out.n] = parse_default(trim(item))
    end
  end
  return out
end

function parse_default(text)
  if text == "None" then return nil end
  if text == "True" then return true end
  if text == "False" then return false end
  if text:find("^%[") then return parse_list(text) end
  local quoted = text:match("^'(.*)'$") or text:match('^"(.*)"$')
  if quoted then return quoted end
  if text == "inf" then return math.huge end
  if text == "-inf" then return -math.huge end
  return tonumber(text) or DTYPES[text] or REDUCTIONS[text] or text
end

-- "SymInt[2]? stride=1" -> {name, type, optional, list, size, default}
local function parse_param(whole, text)
  local declaration, default = text:match("^(.-)=(.*)$")
  declaration = trim(declaration or text)
  local kind, name = declaration:match("^(.-)%s+([%w_]+)$")
  if not kind then fail(whole, "parameter '" .. text .. "' has no name") end
  local p = { name = name, key = KEYWORDS[name] and name .. "_" or name }
  p.written = kind:find("!)", 1, true) ~= nil -- Tensor(a!)
  kind = kind:gsub("%(.-%)", "")
  p.optional = kind:sub(-1) == "?"
  kind = p.optional and kind:sub(1, -2) or kind
  local item, size = kind:match("^(.*)%[(%d*)%]$")
  p.list = item ~= nil
  p.size = tonumber(size)
  p.type = item or kind
  p.has_default = default ~= nil
  if default then p.default = parse_default(trim(default)) end
  return p
end

local function count_results(returns)
  local inner = returns:match("^%((.*)%)$")
  if not inner then return 1 end
  return trim(inner) == "" and 0 or #split(inner)
end

--- Parses "name.overload(Type name=default, *, Type name) -> Type".
function M.parse(text)
  local name, rest = text:match("^%s*([%w_%.]+)%s*(%(.*)$")
  if not name then fail(text, "it is not of the form name.overload(arguments) -> results") end
  local close, depth = nil, 0
  for i = 1, #rest do
    local c = rest:sub(i, i)
    depth = depth + (c == "(" and 1 or c == ")" and -1 or 0)
    if depth == 0 then close = i break end
  end
  if not close then fail(text, "a ')' is missing") end
  local returns = rest:sub(close + 1):match("^%s*%->%s*(.-)%s*$")
  if not returns then fail(text, "'-> results' is missing") end
  local schema = { text = text, name = name:gsub("%.default$", ""), params = {}, returns = returns, by_name = {} }
  schema.results = count_results(returns)
  schema.written = {} -- the parameters that the operator writes into
  local inside, keyword = trim(rest:sub(2, close - 1)), false
  for _, piece in ipairs(inside == "" and {} or split(inside)) do
    piece = trim(piece)
    if piece == "*" then
      keyword = true
    else
      local p = parse_param(text, piece)
      p.keyword = keyword
      schema.params[#schema.params + 1] = p
      schema.by_name[p.name] = p
      if p.written then schema.written[#schema.written + 1] = p end
    end
  end
  return schema
end

-- The op a schema string is about, without parsing the rest: "slice.Tensor", "relu".
function M.op_name(text)
  local name = text:match("^%s*([%w_%.]+)")
  return name and (name:gsub("%.default$", ""))
end

local function fill(value, size)
  local out = { n = size }
  for i = 1, size do out[i] = value end
  return out
end

local function is_number(x)
  return type(x) == "number" or type(x) == "boolean" or core.is_dim(x)
end

-- Brings a given argument or a default to the form that its type has in rules.
local function convert(p, value, wrap)
  if value == nil then return nil end
  if p.list then
    if type(value) ~= "table" then value = fill(value, p.size or 1) end
    if p.size and p.size > 1 and #value == 1 then value = fill(value[1], p.size) end
    if p.type == "Tensor" or p.type == "float" then
      local copy = { n = value.n or #value }
      for i = 1, copy.n do
        copy[i] = value[i]
        if p.type == "Tensor" and is_number(copy[i]) then copy[i] = wrap(copy[i]) end
        if p.type == "float" and math.type(copy[i]) == "integer" then copy[i] = copy[i] + 0.0 end
      end
      return copy
    end
    return value
  end
  if p.type == "Tensor" and is_number(value) then return wrap(value) end
  if p.type == "float" and math.type(value) == "integer" then return value + 0.0 end
  return value
end

--- Arguments of a node by schema. raw is what core.arguments gives; wrap makes a tensor of a number.
--- Returns the table of arguments, or nil and what does not fit.
function M.bind(schema, raw, names, wrap)
  if raw.self ~= nil and not schema.by_name.self and names[1] == "self" and schema.params[1] then
    -- in-place forms call it self where the functional one has another name (dropout_, celu_)
    local first = schema.params[1].name
    raw[first], names[1] = raw.self, first
  end
  for _, name in ipairs(names) do
    if name ~= "" and not schema.by_name[name] then
      return nil, string.format("its schema has no argument '%s', which the call gives", name)
    end
  end
  local given = {}
  for _, name in ipairs(names) do given[name] = true end
  local a, position = {}, 0
  for _, p in ipairs(schema.params) do
    local value = raw[p.name]
    if not given[p.name] then
      position = position + 1
      value = raw[position]
      if value == nil then value = p.default end
      if value == nil and not p.optional and not p.has_default then
        return nil, string.format("the call gives no '%s'", p.name)
      end
    end
    a[p.key] = convert(p, value, wrap)
  end
  return a
end

--- Arguments of a call that a rule makes: by position, and by name in a last table.
function M.bind_call(schema, args, wrap)
  local named = {}
  local last = args[args.n]
  if args.n > 0 and type(last) == "table" and next(last) ~= nil and last.n == nil and #last == 0 then
    named, args = last, { n = args.n - 1, table.unpack(args, 1, args.n - 1) }
  end
  if args.n > #schema.params then
    error(string.format("%s takes %d arguments, got %d", schema.name, #schema.params, args.n), 0)
  end
  local a = {}
  for i, p in ipairs(schema.params) do
    local value = args[i]
    if value == nil then value = named[p.name] end
    if value == nil then value = named[p.key] end
    if value == nil then value = p.default end
    a[p.key] = convert(p, value, wrap)
  end
  for name in pairs(named) do
    if not schema.by_name[name] and not (name:sub(-1) == "_" and schema.by_name[name:sub(1, -2)]) then
      error(string.format("%s has no argument '%s'", schema.name, name), 0)
    end
  end
  return a
end

return M
