-- lua/t2o/backforms.lua: functions of PyTorch that a file has in steps, for rules/onnx: exporters write attention,
-- SiLU, GELU and norms as products and sums. A function is found from its last step backwards, among the calls made so
-- far; the steps that nobody reads any more go.

local core = require("t2o.core")
local linear = require("t2o.backlinear")
local pieces = require("t2o.pieces")
local util = require("t2o.util")

local M = {}

local INF = math.huge

-- One side may be a number.
local IS_WHERE = { ["where.self"] = true, ["where.ScalarSelf"] = true, ["where.ScalarOther"] = true }

--- The ATen operator that makes a value, and its node; nil where none does.
local function op_of(v)
  local node = core.is_value(v) and core.producer(v)
  return node and node.op:match("^aten::(.+)$"), node
end

--- The call's arguments by name: values, numbers, lists of items.
local function args_of(node)
  local out = {}
  for _, item in ipairs(core.call(node)) do out[item.name] = item.value end
  return out
end

M.op_of, M.args_of = op_of, args_of

-- The number that an argument is, as itself or as a constant of one element.
local function number(t, x)
  if core.is_value(x) then return t.number(x) end
  return math.type(x) and x
end

local function known_shape(v) return core.field(v, "known_rank") and v.shape or nil end

local function same_dims(a, b, first, last)
  for i = first, last do
    if not util.equal(a[i], b[i]) then return false end
  end
  return true
end

-- Whether nobody but the node reads the steps behind it, as far as x and constants.
local function are_private(node, x)
  local ins = node.inputs
  for i = 1, ins.n do
    local v = ins[i]
    if v and not v.is_constant and core.back_value(v) ~= x then
      local behind = core.producer(v)
      if not behind or core.readers(v) ~= 1 or not are_private(behind, x) then return false end
    end
  end
  return true
end

-- Whether steps round as one function does: those of 16 bits do so at each.
local function is_exact(v)
  local dtype = core.field(v, "dtype")
  return dtype == "float32" or dtype == "float64"
end

-- ---- products with numbers ----

-- v without the numbers that it is multiplied with or divided by, and what they make together.
local function unscaled(t, v)
  local scale = 1.0
  for _ = 1, 4 do
    local op, node = op_of(v)
    if op ~= "mul.Tensor" and op ~= "div.Tensor" then break end
    local a = args_of(node)
    local x, by = a.self, number(t, a.other)
    if not by and op == "mul.Tensor" and number(t, x) then x, by = a.other, number(t, x) end
    if not by or not util.equal(#(known_shape(x) or {}), #(known_shape(v) or {})) then break end
    scale = op == "mul.Tensor" and scale * by or scale / by
    v = x
  end
  return v, scale
end

-- ---- attention ----

-- The keys whose last two dims v has turned.
local function keys_of(t, v)
  local shape = known_shape(v)
  local op, node = op_of(v)
  if op == "to.dtype" then
    local keys = keys_of(t, node.inputs[1])
    local wide = keys and t.aten["to.dtype"](keys, v.dtype)
    if wide then core.set_shape(wide, keys.shape) end
    return wide
  end
  if not shape or #shape < 3 then return nil end
  local rank, perm = #shape, {}
  for i = 1, rank do perm[i] = i - 1 end
  perm[rank], perm[rank - 1] = rank - 2, rank - 1
  local turned = pieces.unturned(v, perm)
  if turned then return turned end
  -- PyTorch's own exporter turns all matrices in one batch
  if op ~= "view" and op ~= "reshape" then return nil end
  local flat = pieces.unturned(args_of(node).self, { 0, 2, 1 })
  local own = flat and known_shape(flat)
  if not own or not util.equal(own[2], shape[rank]) or not util.equal(own[3], shape[rank - 1]) then return nil end
  local wanted = util.copy(shape)
  wanted[rank - 1], wanted[rank] = shape[rank], shape[rank - 1]
  local keys = pieces.before(flat, wanted)
  if not keys then
    keys = t.aten.view(flat, wanted)
    core.set_shape(keys, wanted)
  end
  return keys
end

-- Whether a constant mask lets each query see the keys up to its own place and no more.
local function is_causal(mask)
  local shape = known_shape(mask)
  local rows, columns = shape[#shape - 1], shape[#shape]
  if not mask.is_constant or mask.dtype ~= "bool" or not (math.type(rows) and math.type(columns)) then return false end
  for i = 1, #shape - 2 do
    if shape[i] ~= 1 then return false end
  end
  if rows * columns > 1 << 20 then return false end
  for i, seen in ipairs(core.elements(mask, rows * columns)) do
    if seen ~= ((i - 1) % columns <= (i - 1) // columns) then return false end
  end
  return true
end

-- The weights before rows that see nothing were made zero; and which values of the mask say that.
local function unguarded(t, v)
  local op, node = op_of(v)
  if not IS_WHERE[op] then return v end
  local a = args_of(node)
  if number(t, a.other) == 0 then return a.self, a.condition end
  if number(t, a.self) ~= 0 then return v end
  local kind, test = op_of(a.condition)
  if kind == "isnan" and test.inputs[1] == a.other then return a.other, "all" end
  local item = (kind == "eq.Scalar" or kind == "eq.Tensor") and args_of(test)
  if item and number(t, item.other) == -INF then return a.other, item.self end
  return v
end

-- Scores without their mask; the mask.
local function unmasked(t, v)
  local op, node = op_of(v)
  if IS_WHERE[op] then
    local a = args_of(node)
    if number(t, a.other) == -INF then return a.self, a.condition end
  elseif op == "add.Tensor" then
    local a = args_of(node)
    if core.is_value(a.other) and (a.alpha == nil or a.alpha == 1) then
      for _, pair in ipairs { { a.self, a.other }, { a.other, a.self } } do
        if op_of((unscaled(t, pair[1]))) == "matmul" then return pair[1], pair[2] end
      end
    end
  end
  return v
end

-- { q, k, scale, mask, causal } of weights that come out of a softmax, nil where they are anything else.
local function scores_of(t, weights)
  local v, guard = unguarded(t, weights)
  local op, node = op_of(v)
  if op ~= "softmax.int" then return nil end
  local a, shape = args_of(node), known_shape(v)
  if not shape or (a.dim ~= -1 and a.dim ~= #shape - 1) or a.dtype then return nil end
  local scores, mask = unmasked(t, a.self)
  local product, scale = unscaled(t, scores)
  op, node = op_of(product)
  if op ~= "matmul" then return nil end
  a = args_of(node)
  local q, by_q = unscaled(t, a.self)
  local turned, by_k = unscaled(t, a.other)
  local k = keys_of(t, turned)
  local own = k and known_shape(q)
  if not own or #own ~= #shape or #known_shape(k) ~= #shape then return nil end
  if not same_dims(own, known_shape(k), 1, #shape - 2) or not same_dims(own, shape, 1, #shape - 1) then return nil end
  local found = { q = q, k = k, scale = scale * by_q * by_k, mask = mask }
  if not mask then return guard == nil and found or nil end
  local dims = known_shape(mask)
  if not dims or #dims < 2 or #dims > #shape or (mask.dtype ~= "bool" and mask.dtype ~= q.dtype) then return nil end
  if not guard and is_causal(mask) then
    found.mask, found.causal = nil, true
    return found
  end
  return (guard == "all" or guard == mask) and found or nil
end

--- A MatMul of weights and values as scaled_dot_product_attention; nil where it is none.
function M.attention(t, n)
  local source = n.node and n.node.inputs[1]
  if not source or core.readers(source) ~= 1 then return nil end
  local found, values = scores_of(t, n.A), known_shape(n.B)
  if not found or not values or #values ~= #known_shape(found.k) then return nil end
  if not same_dims(values, known_shape(found.k), 1, #values - 1) then return nil end
  local width = known_shape(found.q)[#values]
  local usual = math.type(width) == "integer" and math.abs(found.scale * math.sqrt(width) - 1) < 1e-6
  return t.aten.scaled_dot_product_attention(found.q, found.k, n.B, found.mask,
    { is_causal = found.causal, scale = not usual and t.rounded(found.scale) or nil })
end

-- ---- normalisation ----

-- The tensor whose mean over the last dim this is.
local function mean_of(v)
  local op, node = op_of(v)
  if op ~= "mean.dim" then return nil end
  local a, rank = args_of(node), known_shape(v) and #known_shape(v)
  local dim = a.dim and #a.dim == 1 and a.dim[1].value
  return rank and a.keepdim and not a.dtype and (dim == -1 or dim == rank - 1) and a.self or nil
end

-- x and epsilon of (x - mean) / sqrt(mean((x - mean)^2) + epsilon)
local function normalised(t, v)
  local op, node = op_of(v)
  if op ~= "div.Tensor" then return nil end
  local centred, deviation = node.inputs[1], node.inputs[2]
  op, node = op_of(centred)
  if op ~= "sub.Tensor" then return nil end
  local x = node.inputs[1]
  if mean_of(node.inputs[2]) ~= x then return nil end
  op, node = op_of(deviation)
  if op ~= "sqrt" then return nil end
  op, node = op_of(node.inputs[1])
  if op ~= "add.Tensor" then return nil end
  local a = args_of(node)
  local epsilon = number(t, a.other)
  op, node = op_of(epsilon and mean_of(a.self) or nil)
  if not op then return nil end
  local by = args_of(node)
  if node.inputs[1] ~= centred then return nil end
  if op == "pow.Tensor_Scalar" and number(t, by.exponent) == 2 then return x, epsilon end
  if op == "mul.Tensor" and by.other == centred then return x, epsilon end
end

local function is_row(v, size)
  return core.is_value(v) and linear.is_weight(v, 1) and util.equal(v:size(0), size)
end

--- A sum as layer_norm over the last dim with weight and bias; nil where it is none.
function M.layer_norm(t, y, bias)
  for _, pair in ipairs { { y, bias }, { bias, y } } do
    local op, node = op_of(pair[1])
    local a = op == "mul.Tensor" and args_of(node) or {}
    for _, factors in ipairs { { a.self, a.other }, { a.other, a.self } } do
      local x, epsilon = normalised(t, factors[1])
      local shape = x and known_shape(x)
      local size = shape and shape[#shape]
      if util.is_static(size) and is_row(factors[2], size) and is_row(pair[2], size) then
        return t.aten.layer_norm(x, { size }, factors[2], pair[2], t.rounded(epsilon))
      end
    end
  end
end

-- What v is the square root of, or one over it.
local function under_root(v)
  local op, node = op_of(v)
  return op == "sqrt" and node.inputs[1] or nil
end

--- 1 / x as rsqrt, nil where x is no square root.
function M.rsqrt(t, n, x)
  local inside = under_root(x)
  local source = n.node and n.node.inputs[n.node.inputs.n]
  if not inside or not is_exact(n.outputs[1]) or not source or core.readers(source) ~= 1 then return nil end
  return t.aten.rsqrt(inside)
end

-- What something is multiplied with by v: the number under rsqrt or 1 / sqrt.
local function under_inverse_root(v)
  local op, node = op_of(v)
  if op == "rsqrt" then return node.inputs[1] end
  return op == "reciprocal" and under_root(node.inputs[1]) or nil
end

local function is_square(t, v, x)
  local op, node = op_of(v)
  if not node or node.inputs[1] ~= x then return false end
  local a = args_of(node)
  return op == "pow.Tensor_Scalar" and number(t, a.exponent) == 2 or op == "square"
    or op == "mul.Tensor" and a.other == x
end

-- Epsilon where v is mean(x^2) + epsilon
local function mean_square(t, v, x)
  local op, node = op_of(v)
  if op ~= "add.Tensor" then return nil end
  local a = args_of(node)
  local epsilon = number(t, a.other)
  local squares = epsilon and mean_of(a.self)
  return squares and is_square(t, squares, x) and epsilon or nil
end

-- x and epsilon of x / sqrt(mean(x^2) + epsilon)
local function by_root_mean_square(t, v)
  local op, node = op_of(v)
  local a = node and args_of(node) or {}
  if op == "div.Tensor" then
    local epsilon = mean_square(t, under_root(a.other), a.self)
    if epsilon then return a.self, epsilon end
  end
  for _, pair in ipairs(op == "mul.Tensor" and { { a.self, a.other }, { a.other, a.self } } or {}) do
    local epsilon = mean_square(t, under_inverse_root(pair[2]), pair[1])
    if epsilon then return pair[1], epsilon end
  end
end

-- Whether v is something without its mean, as in layer_norm.
local function is_centred(v)
  local op, node = op_of(v)
  return op == "sub.Tensor" and mean_of(node.inputs[2]) == node.inputs[1]
end

--- A product as rms_norm over the last dim with its weight; nil where it is none.
function M.rms_norm(t, n, y, weight)
  for _, pair in ipairs(n.node and { { y, weight }, { weight, y } } or {}) do
    local x, epsilon = by_root_mean_square(t, pair[1])
    local shape = x and known_shape(x)
    local size = shape and shape[#shape]
    local fits = util.is_static(size) and is_exact(x) and is_row(pair[2], size)
    if fits and not is_centred(x) and are_private(n.node, x) then
      return t.aten.rms_norm(x, { size }, pair[2], t.rounded(epsilon))
    end
  end
end

-- ---- activations ----

-- The factors of a product, two products deep: long chains are not walked again at each of their links.
local function factors(v, out, depth)
  local op, node = op_of(v)
  if op == "mul.Tensor" and depth > 0 then
    local a = args_of(node)
    factors(a.self, out, depth - 1)
    factors(a.other, out, depth - 1)
  else
    out[#out + 1] = v
  end
  return out
end

-- x where v is 1 + erf(x / sqrt(2))
local function of_erf(t, v)
  local op, node = op_of(v)
  if op ~= "add.Tensor" then return nil end
  local a = args_of(node)
  local erf = number(t, a.other) == 1 and a.self or number(t, a.self) == 1 and a.other
  op, node = op_of(erf or nil)
  if op ~= "erf" then return nil end
  local x, scale = unscaled(t, node.inputs[1])
  return math.abs(scale - math.sqrt(0.5)) < 1e-4 and x or nil
end

-- Whether v is x^3.
local function is_cube(t, v, x)
  local op, node = op_of(v)
  local a = node and args_of(node) or {}
  if op == "pow.Tensor_Scalar" then return a.self == x and number(t, a.exponent) == 3 end
  return op == "mul.Tensor" and (a.other == x and is_square(t, a.self, x) or a.self == x and is_square(t, a.other, x))
end

local function near(x, y) return math.abs(x - y) < 1e-4 * y end

-- x where v is 1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))
local function of_tanh(t, v)
  local op, node = op_of(v)
  if op ~= "add.Tensor" then return nil end
  local a = args_of(node)
  op, node = op_of(number(t, a.other) == 1 and a.self or nil)
  if op ~= "tanh" then return nil end
  local sum, scale = unscaled(t, node.inputs[1])
  op, node = op_of(sum)
  if op ~= "add.Tensor" or not near(scale, math.sqrt(2 / math.pi)) then return nil end
  a = args_of(node)
  for _, pair in ipairs { { a.self, a.other }, { a.other, a.self } } do
    local cube, by = unscaled(t, pair[2])
    if near(by, 0.044715) and is_cube(t, cube, pair[1]) then return pair[1] end
  end
end

-- Whether three factors are x, a half, and what `of` says is made of x; x.
local function halved(t, parts, of)
  for i, part in ipairs(#parts == 3 and parts or {}) do
    local arg = of(t, part)
    local a, b = parts[i % 3 + 1], parts[(i + 1) % 3 + 1]
    if arg and ((a == arg and number(t, b) == 0.5) or (b == arg and number(t, a) == 0.5)) then return arg end
  end
end

--- A product as SiLU or GELU; nil where it is neither.
function M.activation(t, n, x, y)
  for _, pair in ipairs { { x, y }, { y, x } } do
    local op, node = op_of(pair[2])
    if op == "sigmoid" and node.inputs[1] == pair[1] then return t.aten.silu(pair[1]) end
  end
  local parts = factors(y, factors(x, {}, 2), 2)
  local arg = halved(t, parts, of_erf)
  if arg then return t.aten.gelu(arg) end
  arg = halved(t, parts, of_tanh)
  if arg and n.node and is_exact(arg) and are_private(n.node, arg) then
    return t.aten.gelu(arg, { approximate = "tanh" })
  end
end

return M
