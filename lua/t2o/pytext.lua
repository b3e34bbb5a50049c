-- lua/t2o/pytext.lua: Python expressions as trees of text and values, and their layout in lines.
--
-- An expression is a list of parts and the precedence of its outermost operator:
--   "text"                                  as it stands
--   { ref = value, prec = p }               a value, by its name; in parentheses where what stands for it binds weaker
--   { lit = "64", name = "channels" }       a literal that may differ between instances of a class
--   { instance = module }                   the call of the constructor of another class
--   { sub = expression, prec = p }          an expression in it

local core = require("t2o.core")

local M = {}

M.TERNARY, M.OR, M.COMPARE, M.SUM, M.PRODUCT, M.UNARY, M.POWER, M.ATOM = 1, 2, 5, 10, 11, 12, 13, 15
M.WIDTH = 100

function M.expr(prec, ...) return { prec = prec, ... } end

function M.atom(...) return { prec = M.ATOM, ... } end

-- ---- literals ----

--- The shortest text that reads as the same number.
function M.number(x)
  if math.type(x) == "integer" then return tostring(x) end
  if x ~= x then return 'float("nan")' end
  if x == math.huge then return 'float("inf")' end
  if x == -math.huge then return '-float("inf")' end
  for digits = 1, 17 do
    local text = string.format("%." .. digits .. "g", x)
    if tonumber(text) == x then
      if not text:find("[%.e]") then text = text .. ".0" end
      local mantissa, exponent = text:match("^(.-)e(.*)$")
      if mantissa and tonumber(exponent) >= 0 and tonumber(exponent) < 16 then
        return string.format("%.1f", x)
      end
      return text
    end
  end
end

local ESCAPES = { ["\\"] = "\\\\", ['"'] = '\\"', ["\n"] = "\\n", ["\t"] = "\\t", ["\r"] = "\\r" }

function M.quote(text)
  return '"' .. text:gsub('[\\"%c]', function(c)
    return ESCAPES[c] or string.format("\\x%02x", c:byte())
  end) .. '"'
end

-- Names that are keywords in some places only, and taken for such by readers.
local SOFT_KEYWORDS = { match = true, case = true, type = true }

local function is_keyword(text) return core.is_keyword(text) or SOFT_KEYWORDS[text] == true end

function M.is_identifier(text)
  return text:find("^[%a_][%w_]*$") ~= nil and not is_keyword(text)
end

--- Text as a name that Python takes.
function M.identifier(text)
  local name = text:gsub("[^%w_]+", "_"):gsub("^(%d)", "_%1")
  if name == "" then name = "value" end
  return is_keyword(name) and name .. "_" or name
end

--- Text for a comment: one line, not long, in UTF-8.
function M.remark(text)
  if not utf8.len(text) then text = text:gsub("[\x80-\xff]", "?") end
  text = text:gsub("%c", "?")
  return utf8.len(text) > 60 and text:sub(1, utf8.offset(text, 58) - 1) .. "..." or text
end

function M.camel(text)
  local out = ""
  for word in text:gmatch("[%w]+") do out = out .. word:sub(1, 1):upper() .. word:sub(2) end
  return out:find("^%a") and out or "Block" .. out
end

-- ---- walking and rendering ----

--- Calls fn(value) for every value in an expression, from left to right.
function M.each_ref(e, fn)
  for _, part in ipairs(e) do
    if type(part) == "table" then
      if part.ref then fn(part.ref, part) end
      if part.sub then M.each_ref(part.sub, fn) end
    end
  end
end

--- The text of an expression. `how` has name(value), and optionally literal(part) and instance(part).
function M.render(e, how)
  local out = {}
  for _, part in ipairs(e) do
    if type(part) == "string" then
      out[#out + 1] = part
    elseif part.ref then
      out[#out + 1] = how.name(part.ref)
    elseif part.lit then
      out[#out + 1] = how.literal and how.literal(part) or part.lit
    elseif part.instance then
      out[#out + 1] = how.instance(part)
    else
      local text = M.render(part.sub, how)
      out[#out + 1] = (part.prec or 0) > part.sub.prec and "(" .. text .. ")" or text
    end
  end
  return table.concat(out)
end

--- Puts an expression in the place of a value.
function M.substitute(e, value, by)
  for i, part in ipairs(e) do
    if type(part) == "table" then
      if part.ref == value then
        e[i] = { sub = by, prec = part.prec }
        if #e == 1 and not part.prec then e.prec = by.prec end
      elseif part.sub then
        M.substitute(part.sub, value, by)
      end
    end
  end
end

--- Parts with a text between them.
function M.join(parts, between)
  local out = { prec = M.ATOM }
  for i, part in ipairs(parts) do
    if i > 1 then out[#out + 1] = between end
    out[#out + 1] = part
  end
  return out
end

-- ---- lines ----

local OPEN, CLOSE = { ["("] = ")", ["["] = "]", ["{"] = "}" }, { [")"] = true, ["]"] = true, ["}"] = true }

-- Calls fn(position, character, depth) outside of quotes; stops when it returns true.
local function scan(text, fn)
  local depth, i = 0, 1
  while i <= #text do
    local c = text:sub(i, i)
    if c == '"' then
      i = i + 1
      while i <= #text and text:sub(i, i) ~= '"' do i = i + (text:sub(i, i) == "\\" and 2 or 1) end
    else
      if CLOSE[c] then depth = math.max(depth - 1, 0) end -- a line may begin with what closes another
      if fn(i, c, depth) then return end
      if OPEN[c] then depth = depth + 1 end
    end
    i = i + 1
  end
end

local function split_commas(text)
  local out, start = {}, 1
  scan(text, function(i, c, depth)
    if c == "," and depth == 0 then
      out[#out + 1] = text:sub(start, i - 1)
      start = i + 1
    end
  end)
  out[#out + 1] = text:sub(start)
  for i, piece in ipairs(out) do out[i] = piece:match("^%s*(.-)%s*$") end
  if out[#out] == "" then out[#out] = nil end
  return out
end

-- The brackets to break a line at: of the outermost pairs the longest whose beginning fits in the line.
local function outermost(text, limit)
  local open, close
  local start
  scan(text, function(i, c, depth)
    if depth == 0 and OPEN[c] then start = i end
    if depth == 0 and CLOSE[c] and start and i > start + 1 then
      if not open or (i - start >= close - open and start <= limit) then open, close = start, i end
    end
  end)
  return open, close
end

-- A place where an operator may go to the next line.
local function last_operator(text, limit)
  local at
  scan(text, function(i, c, depth)
    if i > limit then return true end
    if depth == 0 and c == " " and text:find("^ [%+%-%*/|&%%@<>=!]+ ", i) then at = i end
  end)
  return at
end

local layout

local function lay_items(items, indent, out)
  local inside = indent .. "    "
  for _, item in ipairs(items) do
    layout(item .. ",", inside, out)
  end
end

function layout(text, indent, out)
  if #indent + #text <= M.WIDTH then
    out[#out + 1] = indent .. text
    return
  end
  local open, close = outermost(text, M.WIDTH - #indent)
  local statement, rest = text:match("^(return )(.*)$")
  if not statement then statement, rest = text:match("^([%w_%., ]+ = )(.*)$") end
  if rest and #split_commas(rest) > 1 then
    layout(statement .. "(" .. rest .. ")", indent, out)
    return
  end
  local targets = statement and statement:match("^([^%(]*,.*) = $")
  if targets and open and #indent + open > M.WIDTH then
    layout("(" .. targets .. ") = " .. rest, indent, out)
    return
  end
  if not open or (rest and not rest:find("^[%w_%.%(]+%(") and last_operator(rest, #rest)) then
    if rest and not (rest:find("^%(") and open and close == #text) then
      layout(statement .. "(" .. rest .. ")", indent, out)
      return
    end
    local at = last_operator(text, M.WIDTH - #indent - 1)
    if at and (not open or text:sub(1, 1) ~= "(") then
      out[#out + 1] = indent .. text:sub(1, at - 1)
      layout(text:sub(at + 1), indent, out)
      return
    end
    if not open then
      local key, value = text:match('^(".-": )(".*"),$')
      if key then
        out[#out + 1] = indent .. key .. "("
        out[#out + 1] = indent .. "    " .. value
        out[#out + 1] = indent .. "),"
        return
      end
      out[#out + 1] = indent .. text
      return
    end
  end
  local head, inner, tail = text:sub(1, open), text:sub(open + 1, close - 1), text:sub(close)
  out[#out + 1] = indent .. head
  local items = split_commas(inner)
  local has_for = inner:find(" for [%w_, ]+ in ")
  if #indent + 4 + #inner <= M.WIDTH then
    out[#out + 1] = indent .. "    " .. inner
  elseif #items > 1 and not has_for then
    lay_items(items, indent, out)
  elseif #items == 1 and inner:find('^".-": ".*"$') then
    layout(inner .. ",", indent .. "    ", out)
  elseif has_for and #items == 1 then
    local what, loop = inner:match("^(.*) (for [%w_, ]+ in .*)$")
    layout(what, indent .. "    ", out)
    layout(loop, indent .. "    ", out)
  else
    local at = last_operator(inner, M.WIDTH - #indent - 5)
    while at and #indent + 4 + #inner > M.WIDTH do
      layout(inner:sub(1, at - 1), indent .. "    ", out)
      inner = inner:sub(at + 1)
      at = last_operator(inner, M.WIDTH - #indent - 5)
    end
    layout(inner, indent .. "    ", out)
  end
  layout(tail, indent, out)
end

M.split_commas = split_commas

--- Adds a statement to the lines of a file, broken where it is too long.
function M.layout(text, indent, out) layout(text, indent, out) end

return M
