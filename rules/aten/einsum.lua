-- rules/aten/einsum.lua: sums of products given by an equation or by lists of dims.

local aten = require("t2o.rules").namespace("aten")
local util = require("t2o.util")

local SMALL = { int8 = true, int16 = true, uint8 = true, uint16 = true }

-- a to z, then A to Z
local function letter(i)
  return string.char(i <= 26 and 96 + i or 38 + i)
end

-- Whether a letter is summed over.
local function has_sum(equation)
  local left, right = equation:match("^(.-)%->(.*)$")
  for c in left:gmatch("%a") do
    if not right:find(c, 1, true) then return true end
  end
  return false
end

local function einsum(g, equation, tensors)
  local dtype, inputs = tensors[1].dtype, {}
  -- of one tensor it is a sum, and sums of integers are int64
  if #tensors == 1 and util.is_int(dtype) and has_sum(equation) then
    tensors, dtype = { tensors[1]:to("int64") }, "int64"
  end
  for i = 1, #tensors do inputs[i] = SMALL[dtype] and tensors[i]:to("int32") or tensors[i] end
  inputs[#inputs + 1] = { equation = equation }
  return g.Einsum(table.unpack(inputs)):to(dtype)
end

-- Without "->" the result has what "..." stands for, then the letters that occur once, in the order
-- of their codes.
local function with_result(equation)
  if equation:find("->", 1, true) then return equation end
  local count, letters = {}, {}
  for letter in equation:gmatch("%a") do count[letter] = (count[letter] or 0) + 1 end
  for letter, times in pairs(count) do
    if times == 1 then letters[#letters + 1] = letter end
  end
  table.sort(letters)
  local rest = equation:find("...", 1, true) and "..." or ""
  return equation .. "->" .. rest .. table.concat(letters)
end

-- How many dims "..." stands for in a term, and how many letters lie before it; nil without "...".
local function hidden_dims(term, rank)
  local before, after = term:match("^(%a*)%.%.%.(%a*)$")
  if before then return rank - #before - #after, #before end
end

-- In ONNX "..." stands for equally many dims in all terms: new ones of size 1 come first.
local function same_hidden(g, terms, tensors)
  local counts, most, out = {}, 0, {}
  for i, term in ipairs(terms) do
    counts[i] = hidden_dims(term, tensors[i].rank)
    most = math.max(most, counts[i] or 0)
  end
  for i, v in ipairs(tensors) do
    local count, at = hidden_dims(terms[i], v.rank)
    local missing = count and most - count or 0
    out[i] = missing > 0 and g.Unsqueeze(v, g.ints(util.range(at, at + missing - 1))) or v
  end
  return out, most
end

local function unused_letters(equation, count)
  local out = {}
  for i = 1, 52 do
    local c = letter(i)
    if #out < count and not equation:find(c, 1, true) then out[#out + 1] = c end
  end
  return table.concat(out)
end

aten:rule("einsum(str equation, Tensor[] tensors, *, int[]? path=None) -> Tensor", function(g, a)
  local equation = with_result((a.equation:gsub("%s", "")))
  local left, right = equation:match("^(.-)%->(.*)$")
  if not left:find("...", 1, true) then return einsum(g, equation, a.tensors) end
  local terms = {}
  for term in (left .. ","):gmatch("(.-),") do terms[#terms + 1] = term end
  local tensors, most = same_hidden(g, terms, a.tensors)
  if not right:find("...", 1, true) then
    -- summed over, which ONNX wants said with letters
    equation = equation:gsub("%.%.%.", unused_letters(equation, most))
  end
  return einsum(g, equation, tensors)
end)

aten:rule("tensordot(Tensor self, Tensor other, int[] dims_self, int[] dims_other) "
          .. "-> Tensor", function(g, a)
  local x, y = a.self, a.other
  if x.rank + y.rank > 52 then g.decline("more dims than letters") end
  local left, right, summed, result = {}, {}, {}, {}
  for i = 1, x.rank do left[i] = letter(i) end
  for i = 1, y.rank do right[i] = letter(x.rank + i) end
  for i, d in ipairs(a.dims_self) do
    local at = util.dim(d, x.rank) + 1
    summed[at] = true
    right[util.dim(a.dims_other[i], y.rank) + 1] = left[at]
  end
  for i = 1, x.rank do
    if not summed[i] then result[#result + 1] = left[i] end
  end
  for i = 1, y.rank do
    if right[i] == letter(x.rank + i) then result[#result + 1] = right[i] end
  end
  local equation = table.concat(left) .. "," .. table.concat(right) .. "->" .. table.concat(result)
  return einsum(g, equation, { x, y })
end)
