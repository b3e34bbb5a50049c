-- rules/opset/linalg.lua: sums of products that older opsets have no operator for.

local lib = require("t2o.opset")
local opset = lib.registry

-- "ij,jk->ik" as lists of letters.
local function letters(text)
  local out = {}
  for c in text:gmatch("%a") do out[#out + 1] = c end
  return out
end

local function parse(equation, count)
  if equation:find("%.") then return nil end
  local left, right = equation:match("^(.-)%->(.*)$")
  left = left or equation
  local terms, seen = {}, {}
  for term in (left .. ","):gmatch("(.-),") do terms[#terms + 1] = letters(term) end
  for _, term in ipairs(terms) do
    for _, c in ipairs(term) do seen[c] = (seen[c] or 0) + 1 end
  end
  local out = right and letters(right)
  if not out then -- letters that stand once, in alphabetical order
    out = {}
    for c, times in pairs(seen) do
      if times == 1 then out[#out + 1] = c end
    end
    table.sort(out)
  end
  return #terms == count and terms, out
end

local function index_of(list, x)
  for i, y in ipairs(list) do
    if x == y then return i end
  end
end

-- A letter that stands twice in a term: its diagonal, as a Gather from the two dims laid out flat.
local function without_repeats(g, x, term)
  for i = 1, #term do
    for j = i + 1, #term do
      if term[i] == term[j] then
        local perm, rest = {}, {}
        for d = 1, #term do
          if d ~= i and d ~= j then
            perm[#perm + 1] = d - 1
            rest[#rest + 1] = term[d]
          end
        end
        perm[#perm + 1], perm[#perm + 2] = i - 1, j - 1
        local size = g.Shape(x, { start = i - 1, ["end"] = i })
        local at = g.Range(g.scalar(0, "int64"), g.Squeeze(size, g.ints { 0 }), g.scalar(1, "int64"))
        local y = g.Transpose(x, { perm = perm })
        local shape = g.Concat(g.Shape(y, { start = 0, ["end"] = #rest }), g.ints { -1 }, { axis = 0 })
        y = g.Gather(g.Reshape(y, shape), g.Mul(at, g.Add(size, g.ints { 1 })), { axis = #rest })
        rest[#rest + 1] = term[i]
        return without_repeats(g, y, rest)
      end
    end
  end
  return x, term
end

-- x with the letters in this order, those that it lacks as dims of 1.
local function arranged(g, x, term, order)
  local perm, missing = {}, {}
  for i, c in ipairs(order) do
    local at = index_of(term, c)
    if at then perm[#perm + 1] = at - 1 else missing[#missing + 1] = i - 1 end
  end
  if #perm > 1 then x = g.Transpose(x, { perm = perm }) end
  return #missing > 0 and g.Unsqueeze(x, g.ints(missing)) or x
end

local function summed(g, x, term, kept)
  local axes, rest = {}, {}
  for i, c in ipairs(term) do
    if kept[c] then rest[#rest + 1] = c else axes[#axes + 1] = i - 1 end
  end
  return #axes > 0 and g.ReduceSum(x, g.ints(axes), { keepdims = 0 }) or x, rest
end

-- Two terms as one: a product of matrices, over the letters that nobody needs any more.
local function pair(g, x, a, y, b, kept)
  local shared, inner, left, right = {}, {}, {}, {}
  for _, c in ipairs(a) do
    local list = index_of(b, c) and (kept[c] and shared or inner) or left
    list[#list + 1] = c
  end
  for _, c in ipairs(b) do
    if not index_of(a, c) then right[#right + 1] = c end
  end
  local function order(...)
    local out = {}
    for _, list in ipairs { ... } do
      for _, c in ipairs(list) do out[#out + 1] = c end
    end
    return out
  end
  if #inner == 0 then
    local all = order(shared, left, right)
    return g.Mul(arranged(g, x, a, all), arranged(g, y, b, all)), all
  end
  local n_shared, n_left, n_right = #shared, #left, #right
  x = arranged(g, x, a, order(shared, left, inner))
  y = arranged(g, y, b, order(shared, inner, right))
  -- the groups of letters flattened to one dim each
  local function flat(v, first, last, rest_first)
    local head = g.Shape(v, { start = 0, ["end"] = n_shared })
    local function product(from, to)
      if from == to then return g.ints { 1 } end
      return g.ReduceProd(g.Shape(v, { start = from, ["end"] = to }), g.ints { 0 }, { keepdims = 1 })
    end
    local pieces = { product(first, last), product(last, rest_first), { axis = 0 } }
    if n_shared > 0 then table.insert(pieces, 1, head) end
    return g.Reshape(v, g.Concat(table.unpack(pieces)))
  end
  local m = g.MatMul(flat(x, n_shared, n_shared + n_left, n_shared + n_left + #inner),
                     flat(y, n_shared, n_shared + #inner, n_shared + #inner + n_right))
  local sizes = {}
  if n_shared + n_left > 0 then sizes[1] = g.Shape(x, { start = 0, ["end"] = n_shared + n_left }) end
  if n_right > 0 then sizes[#sizes + 1] = g.Shape(y, { start = n_shared + #inner }) end
  sizes[#sizes + 1] = { axis = 0 }
  local shape = #sizes > 1 and g.Concat(table.unpack(sizes)) or g.full({ 0 }, 0, "int64")
  return g.Reshape(m, shape), order(shared, left, right)
end

opset:express("Einsum() {equation}", { below = 12 }, function(g, n)
  local terms, out = parse(n.equation, n.inputs.n)
  if not terms then g.decline("the equation %s", n.equation) end
  local x, term
  for i, next_term in ipairs(terms) do
    local kept = {}
    for _, c in ipairs(out) do kept[c] = true end
    for j = i + 1, #terms do
      for _, c in ipairs(terms[j]) do kept[c] = true end
    end
    local y, letters_of = without_repeats(g, n.inputs[i], next_term)
    if x then
      -- what only the new term has and nobody needs is added up at once
      local needed = {}
      for c in pairs(kept) do needed[c] = true end
      for _, c in ipairs(term) do needed[c] = true end
      y, letters_of = summed(g, y, letters_of, needed)
      x, term = pair(g, x, term, y, letters_of, kept)
    else
      x, term = y, letters_of
    end
    x, term = summed(g, x, term, kept)
  end
  x = arranged(g, x, term, out)
  return g.Identity(x)
end)

-- ---- losses ----

opset:express("SoftmaxCrossEntropyLoss(scores, labels, weights?) {ignore_index, reduction='mean'}", { below = 12 },
  function(g, n)
    local log = g.LogSoftmax(n.scores, { axis = 1 })
    local loss = g.NegativeLogLikelihoodLoss(log, n.labels, n.weights,
                                             { ignore_index = n.ignore_index, reduction = n.reduction })
    return loss, log
  end)

opset:express("NegativeLogLikelihoodLoss(input, target, weight?) {ignore_index, reduction='mean'}", { below = 12 },
  function(g, n)
    local zero = g.scalar(0, n.input)
    local target, counted = n.target, nil
    if n.ignore_index then
      counted = g.Not(g.Equal(target, g.scalar(n.ignore_index, target)))
      target = g.Where(counted, target, g.scalar(0, target))
    end
    local picked = g.GatherElements(n.input, g.Unsqueeze(target, g.const { 1 }), { axis = 1 })
    local loss = g.Neg(g.Squeeze(picked, g.const { 1 }))
    local weight = n.weight and g.Gather(n.weight, target)
    if counted then
      local one = g.scalar(1, n.input)
      weight = g.Where(counted, weight or one, zero)
      loss = g.Where(counted, loss, zero)
    end
    if weight then loss = g.Mul(loss, weight) end
    if n.reduction == "none" then return loss end
    if n.reduction == "sum" then return g.ReduceSum(loss, nil, { keepdims = 0 }) end
    if not weight then return g.ReduceMean(loss, nil, { keepdims = 0 }) end
    return g.Div(g.ReduceSum(loss, nil, { keepdims = 0 }), g.ReduceSum(weight, nil, { keepdims = 0 }))
  end)
