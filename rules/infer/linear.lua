-- rules/infer/linear.lua: products of matrices.

local core = require("t2o.core")
local infer = require("t2o.infer")

infer.registry:rule({ "Gemm", "com.microsoft::FusedGemm" }, function(n)
  local a, b = infer.shape(n, 1), infer.shape(n, 2)
  if not (a and b) then return nil end
  local trans_a, trans_b = infer.attr(n, "transA", 0) ~= 0, infer.attr(n, "transB", 0) ~= 0
  return { trans_a and a[2] or a[1], trans_b and b[1] or b[2] }
end)

local function product(a, b)
  if not (a and b) then return nil end
  local left, right = #a == 1, #b == 1
  if left then a = { 1, a[1] } end
  if right then b = { b[1], 1 } end
  local out = infer.broadcast({ table.unpack(a, 1, #a - 2) }, { table.unpack(b, 1, #b - 2) })
  if not left then out[#out + 1] = a[#a - 1] end
  if not right then out[#out + 1] = b[#b] end
  return out
end

infer.registry:rule({
  "MatMul", "MatMulInteger", "com.microsoft::DynamicQuantizeMatMul", "com.microsoft::MatMulIntegerToFloat",
}, function(n)
  return product(infer.shape(n, 1), infer.shape(n, 2))
end)

-- The last two dims exchanged where an attribute says so.
local function turned(x, turn)
  if not x or turn == 0 or #x < 2 then return x end
  x[#x], x[#x - 1] = x[#x - 1], x[#x]
  return x
end

infer.registry:rule("com.microsoft::FusedMatMul", function(n)
  if infer.attr(n, "transBatchA", 0) ~= 0 or infer.attr(n, "transBatchB", 0) ~= 0 then return nil end
  return product(turned(infer.shape(n, 1), infer.attr(n, "transA", 0)),
                 turned(infer.shape(n, 2), infer.attr(n, "transB", 0)))
end)

infer.registry:rule("QLinearMatMul", function(n)
  return product(infer.shape(n, 1), infer.shape(n, 4))
end)

infer.registry:rule("com.microsoft::QGemm", function(n)
  local a, b = infer.shape(n, 1), infer.shape(n, 4)
  if not (a and b) then return nil end
  a, b = turned(a, infer.attr(n, "transA", 0)), turned(b, infer.attr(n, "transB", 0))
  return { a[1], b[2] }
end)

infer.registry:rule("com.microsoft::MatMulNBits", function(n)
  local a = infer.shape(n, 1)
  if a then a[#a] = n.attrs.N end
  return a
end)

infer.registry:rule("Det", function(n)
  local x = infer.shape(n, 1)
  return x and { table.unpack(x, 1, #x - 2) }
end)

-- The letters of one term of an Einsum, those of "..." being numbers that count back from the last.
local function letters(term, rank)
  local before, after = term:match("^(.-)%.%.%.(.*)$")
  local out = {}
  for c in (before or term):gmatch("%a") do out[#out + 1] = c end
  if not before then return out end
  for i = rank - #before - #after, 1, -1 do out[#out + 1] = i end
  for c in after:gmatch("%a") do out[#out + 1] = c end
  return out
end

-- What an equation without "->" gives: "..." first, then the letters that stand once, sorted.
local function implied(terms)
  local count, out = {}, {}
  for c in terms:gmatch("%a") do count[c] = (count[c] or 0) + 1 end
  for c, times in pairs(count) do
    if times == 1 then out[#out + 1] = c end
  end
  table.sort(out)
  return (terms:find(".", 1, true) and "..." or "") .. table.concat(out)
end

infer.registry:rule("Einsum", function(n)
  local equation = n.attrs.equation:gsub("%s", "")
  local terms, result = equation:match("^(.-)%->(.*)$")
  terms = terms or equation
  local sizes, i, hidden = {}, 0, 0
  for term in (terms .. ","):gmatch("(.-),") do
    i = i + 1
    local x = infer.shape(n, i)
    if not x then return nil end
    for k, c in ipairs(letters(term, #x)) do
      if math.type(c) == "integer" then hidden = math.max(hidden, c) end
      sizes[c] = sizes[c] and infer.broadcast({ sizes[c] }, { x[k] })[1] or x[k]
    end
  end
  result = result or implied(terms)
  local _, named = result:gsub("%a", "")
  local out = {}
  for k, c in ipairs(letters(result, named + hidden)) do out[k] = sizes[c] or core.fresh() end
  return out
end)
