-- lua/t2o/backhalf.lua: what a file computes in float32 only because a runtime has no kernel for bfloat16, for
-- rules/onnx: casts up, one function, a cast down. PyTorch's function on bfloat16 does just that, with one rounding.
-- (For float16 runtimes have kernels; casts between these are there to round, and stay.)

local core = require("t2o.core")
local forms = require("t2o.backforms")
local pieces = require("t2o.pieces")
local types = require("t2o.types")

local M = {}

local op_of, args_of = forms.op_of, forms.args_of

-- Functions that round once, and which of their arguments are tensors.
local ONCE = {}
for line in ([[
add.Tensor self other
sub.Tensor self other
mul.Tensor self other
div.Tensor self other
neg self
gelu self
silu self
sigmoid self
tanh self
erf self
exp self
rsqrt self
softmax.int self
layer_norm input weight bias
linear input weight bias
matmul self other
conv1d input weight bias
conv2d input weight bias
conv3d input weight bias
scaled_dot_product_attention query key value
]]):gmatch("[^\n]+") do
  local op, names = line:match("^(%S+) (.*)$")
  ONCE[op] = {}
  for name in names:gmatch("%S+") do ONCE[op][name] = true end
end

-- The 16-bit tensor that v is in 32 bits.
local function before_cast(v, dtype)
  local op, node = op_of(v)
  local x = op == "to.dtype" and args_of(node).dtype == "float32" and node.inputs[1]
  return x and x.dtype == dtype and x or nil
end

-- An argument in 16 bits: a tensor that was cast, or a number.
local function narrow(t, v, dtype)
  if not core.is_value(v) then return v end
  if t.number(v) and core.field(v, "known_rank") and v.rank == 0 then return t.number(v) end
  return before_cast(v, dtype)
end

-- x and w of x @ w.t() or of a layer without a bias.
local function operands(v, dtype)
  local op, product = op_of(v)
  if (op ~= "matmul" and op ~= "linear") or product.inputs.n ~= 2 then return nil end
  local x, weight = before_cast(product.inputs[1], dtype), before_cast(product.inputs[2], dtype)
  if op == "matmul" then
    local turned = pieces.unturned(weight or product.inputs[2], { 1, 0 })
    weight = turned and (weight and turned or before_cast(turned, dtype))
  end
  if x and weight then return x, weight end
end

-- x @ w.t() + b as a layer: the sum of two steps that are one function.
local function layer(t, node, dtype)
  local a = args_of(node)
  if a.alpha and a.alpha ~= 1 then return nil end
  for _, pair in ipairs { { a.self, a.other }, { a.other, a.self } } do
    local bias = core.is_value(pair[2]) and before_cast(pair[2], dtype)
    if bias and core.field(bias, "known_rank") and bias.rank == 1 then
      local x, weight = operands(pair[1], dtype)
      if x then return t.aten.linear(x, weight, bias) end
    end
  end
end

-- Attention rounds inside, in 16 bits: it has to be what an exporter says that the cast is a part of.
local function is_attention(node)
  while node and node.origin do node = node.origin end
  return node ~= nil and (node.target or ""):find("scaled_dot_product_attention", 1, true) ~= nil
end

--- A cast to 16 bits as the function in 16 bits; nil where it is any other cast.
function M.narrowed(t, n, dtype)
  local v = n.input
  if dtype ~= "bfloat16" then return nil end
  local same = before_cast(v, dtype)
  if same then return same end
  local op, node = op_of(v)
  if op == "add.Tensor" then
    local y = layer(t, node, dtype)
    if y then return y end
  end
  local x, weight = operands(v, dtype)
  if x then return t.aten.linear(x, weight) end
  local tensors = ONCE[op]
  if not tensors or (op == "scaled_dot_product_attention" and not is_attention(n.node)) then return nil end
  local args, some = {}, false
  for i, item in ipairs(core.call(node)) do
    local arg = item.value
    if tensors[item.name] then
      arg = narrow(t, arg, dtype)
      if arg == nil and item.kind ~= "none" then return nil end
      some = some or core.is_value(arg)
    elseif core.is_value(arg) and types.is_float(arg.dtype) then
      return nil
    elseif item.kind == "list" then
      arg = {}
      for j, part in ipairs(item.value) do arg[j] = part.value end
    end
    args[i] = { item.name, arg, item.keyword }
  end
  if not some then return nil end
  local positional, named, count = {}, {}, 0
  for _, arg in ipairs(args) do
    if arg[3] then
      named[arg[1]] = arg[2]
    else
      count = count + 1
      positional[count] = arg[2]
    end
  end
  if next(named) then
    count = count + 1
    positional[count] = named
  end
  return t.aten[op](table.unpack(positional, 1, count))
end

return M
