-- rules/onnx/microsoft.lua: what ONNX Runtime's optimiser makes of several operators.

local core = require("t2o.core")
local backmath = require("t2o.backmath")
local util = require("t2o.util")
local onnx = require("t2o.back").registry

-- ---- with an activation behind ----

local ACTIVATIONS = {
  Relu = function(t, x) return t.aten.relu(x) end,
  Tanh = function(t, x) return t.aten.tanh(x) end,
  Sigmoid = function(t, x) return t.aten.sigmoid(x) end,
  LeakyRelu = function(t, x, a) return t.aten.leaky_relu(x, a or 0.01) end,
  Clip = function(t, x, low, high) return t.aten.clamp(x, low, high) end,
  HardSigmoid = function(t, x, a, b)
    local y = t.aten["add.Tensor"](t.aten["mul.Tensor"](x, a or 0.2), b or 0.5)
    return t.aten.clamp(y, 0, 1)
  end,
}

local function activated(t, x, n)
  if not n.activation or n.activation == "" then return x end
  local build = ACTIVATIONS[n.activation] or t.decline("the activation " .. n.activation)
  local params = n.activation_params or { n.activation_alpha, n.activation_beta }
  return build(t, x, params[1], params[2])
end

onnx:rule("com.microsoft::FusedConv(X, W, B?, Z?) {auto_pad='NOTSET', group=1}", function(t, n)
  local y = t.onnx("Conv", { n.X, n.W, n.B, n = 3 }, n.attrs, n.outputs)
  if n.Z then y = t.aten["add.Tensor"](y, n.Z) end
  return activated(t, y, n)
end)

onnx:rule("com.microsoft::FusedGemm(A, B, C?) {alpha=1.0, beta=1.0, transA=0, transB=0}", function(t, n)
  return activated(t, t.onnx("Gemm", { n.A, n.B, n.C, n = 3 }, n.attrs, n.outputs), n)
end)

local function turned(t, x, batch, last)
  local rank = core.field(x, "known_rank") and x.rank or (batch ~= 0 and t.decline("an operand of unknown rank"))
  if batch ~= 0 then -- the first dimension stands before the last
    local dims = {}
    for i = 1, rank - 2 do dims[i] = i end
    dims[rank - 1], dims[rank] = 0, rank - 1
    x = t.aten.permute(x, dims)
  end
  return last ~= 0 and t.aten["transpose.int"](x, -2, -1) or x
end

for _, op in ipairs { "FusedMatMul", "FusedMatMulActivation", "TransposeMatMul" } do
  onnx:rule("com.microsoft::" .. op .. "(A, B) {alpha=1.0, transA=0, transB=0, transBatchA=0, transBatchB=0}",
    function(t, n)
      local y = t.aten.matmul(turned(t, n.A, n.transBatchA, n.transA), turned(t, n.B, n.transBatchB, n.transB))
      if n.alpha ~= 1 then y = t.aten["mul.Tensor"](y, n.alpha) end
      return activated(t, y, n)
    end)
end
-- "FusedMatMul" "FusedMatMulActivation" "TransposeMatMul"

-- ---- Gelu ----

local function plus(t, x, y) return y and t.aten["add.Tensor"](x, y) or x end

onnx:rule("com.microsoft::Gelu(X)", function(t, n) return t.aten.gelu(n.X) end)
onnx:rule("com.microsoft::BiasGelu(A, B)", function(t, n) return t.aten.gelu(plus(t, n.A, n.B)) end)
onnx:rule("com.microsoft::FastGelu(X, bias?)", function(t, n)
  return t.aten.gelu(plus(t, n.X, n.bias), { approximate = "tanh" })
end)
onnx:rule("com.microsoft::QuickGelu(X) {alpha=1.702}", function(t, n)
  if n.alpha == 1 then return t.aten.silu(n.X) end
  return t.aten["mul.Tensor"](n.X, t.aten.sigmoid(t.aten["mul.Tensor"](n.X, n.alpha)))
end)

onnx:rule("com.microsoft::Inverse(X)", function(t, n) return t.aten.linalg_inv(n.X) end)

-- ---- normalisations ----

local function size_of_weight(t, v)
  if not core.field(v, "known_rank") or v.rank ~= 1 then t.decline("a weight of unknown size") end
  return { v:size(0) }
end

-- The mean and the inverse deviation of the last dimension; nil where nobody reads them.
local function statistics(t, n, x)
  if not (t.wants(n.outputs[2]) or t.wants(n.outputs[3])) then return nil, nil end
  x = t.to(x, "float32")
  local var = t.aten["var.correction"](x, { -1 }, { correction = 0, keepdim = true })
  return t.aten["mean.dim"](x, { -1 }, true), t.aten.rsqrt(t.aten["add.Tensor"](var, n.epsilon))
end

onnx:rule("com.microsoft::SkipLayerNormalization(input, skip, gamma, beta?, bias?) {epsilon=1e-12}", function(t, n)
  local sum = plus(t, t.aten["add.Tensor"](n.input, n.skip), n.bias)
  local mean, deviation = statistics(t, n, sum)
  local y = t.aten.layer_norm(sum, size_of_weight(t, n.gamma), n.gamma, n.beta, n.epsilon)
  return y, mean, deviation, sum
end)

onnx:rule("com.microsoft::SkipSimplifiedLayerNormalization(input, skip, gamma, bias?) {epsilon=1e-12}", function(t, n)
  if t.wants(n.outputs[2]) or t.wants(n.outputs[3]) then t.decline("the statistics of the normalisation") end
  local sum = plus(t, t.aten["add.Tensor"](n.input, n.skip), n.bias)
  return t.aten.rms_norm(sum, size_of_weight(t, n.gamma), n.gamma, n.epsilon), nil, nil, sum
end)

onnx:rule("com.microsoft::EmbedLayerNormalization(input_ids, segment_ids?, word_embedding, position_embedding, "
  .. "segment_embedding?, gamma, beta, mask?, position_ids?) {epsilon=1e-12}", function(t, n)
  local sum = t.aten.embedding(n.word_embedding, n.input_ids)
  local places
  if n.position_ids then
    places = t.aten.embedding(n.position_embedding, n.position_ids)
  else
    places = t.aten["slice.Tensor"](n.position_embedding, 0, 0, n.input_ids:size(1))
  end
  sum = t.aten["add.Tensor"](sum, places)
  if n.segment_ids then sum = t.aten["add.Tensor"](sum, t.aten.embedding(n.segment_embedding, n.segment_ids)) end
  local y = t.aten.layer_norm(sum, size_of_weight(t, n.gamma), n.gamma, n.beta, n.epsilon)
  local lengths = n.mask and t.aten["sum.dim_IntList"](n.mask, { 1 }, { dtype = "int32" })
    or t.aten.zeros({ n.input_ids:size(0) }, { dtype = "int32" })
  return y, lengths, sum
end)

-- ---- attention ----

-- What is added to the scores: a number where the mask is 0 (or behind a sample's length), and a bias.
local function added(t, mask, bias, low, keys, dtype)
  if not mask then return bias end
  local shut
  if mask.rank == 1 then
    local place = t.aten.arange(keys)
    shut = t.aten["ge.Tensor"](place, t.aten.view(mask, { -1, 1, 1, 1 }))
  elseif mask.rank == 2 then
    shut = t.aten["eq.Scalar"](t.aten.unsqueeze(t.aten.unsqueeze(mask, 1), 1), 0)
  else
    t.decline("a mask of rank " .. mask.rank)
  end
  local y = t.aten["mul.Tensor"](t.aten["to.dtype"](shut, dtype), low)
  return bias and t.aten["add.Tensor"](y, bias) or y
end

-- Scores that see no later keys.
local function causal(t, mask, queries, keys)
  local seen = t.aten.tril(t.aten.ones({ queries, keys }, { dtype = "bool" }), keys - queries)
  if not mask then return seen end
  return t.aten["masked_fill.Scalar"](mask, t.aten.logical_not(seen), -math.huge)
end

local function attend(t, n, q, k, v, mask, queries, keys)
  if n.unidirectional ~= 0 then mask = causal(t, mask, queries, keys) end
  local named = { scale = n.scale ~= 0 and n.scale or nil }
  return backmath.merge_heads(t.aten.scaled_dot_product_attention(q, k, v, mask, named))
end

onnx:rule("com.microsoft::Attention(input, weights, bias?, mask_index?, past?, attention_bias?, past_sequence_length?) "
  .. "{unidirectional=0, mask_filter_value=-10000.0, do_rotary=0, scale=0.0}", function(t, n)
  if n.past or n.past_sequence_length or n.do_rotary ~= 0 then
    t.decline("attention with a cache or rotary positions")
  end
  if n.mask_index and n.mask_index.rank == 1 and not util.equal(n.mask_index:size(0), n.input:size(0)) then
    t.decline("a mask of starts and ends")
  end
  local whole = plus(t, t.aten.matmul(n.input, n.weights), n.bias)
  local sizes = n.qkv_hidden_sizes
  if not sizes or #sizes == 0 then
    local third = n.weights:size(1) // 3
    sizes = { third, third, third }
  end
  local parts = t.list(3, "aten::split_with_sizes", whole, sizes, -1)
  local q, k, v = backmath.split_heads(parts[1], n.num_heads), backmath.split_heads(parts[2], n.num_heads),
                  backmath.split_heads(parts[3], n.num_heads)
  local length = n.input:size(1)
  local mask = added(t, n.mask_index, n.attention_bias, n.mask_filter_value, length, n.input.dtype)
  return attend(t, n, q, k, v, mask, length, length), t.wants(n.outputs[2]) and t.aten.stack { k, v } or nil
end)

onnx:rule("com.microsoft::MultiHeadAttention(query, key?, value?, bias?, key_padding_mask?, attention_bias?, "
  .. "past_key?, past_value?) {mask_filter_value=-10000.0, scale=0.0, unidirectional=0}", function(t, n)
  if not n.key or not n.value or n.query.rank ~= 3 or n.key.rank == 5 then
    t.decline("packed queries, keys and values")
  end
  local q, k, v = n.query, n.key, n.value
  local queries, keys = q:size(1), k:size(k.rank == 4 and 2 or 1)
  if n.bias then
    local a, b = q:size(2), k.rank == 3 and k:size(2) or q:size(2)
    local function part(first, last) return t.aten["slice.Tensor"](n.bias, 0, first, last) end
    q = t.aten["add.Tensor"](q, part(0, a))
    if k.rank == 3 then
      k, v = t.aten["add.Tensor"](k, part(a, a + b)), t.aten["add.Tensor"](v, part(a + b, math.maxinteger))
    end
  end
  q = backmath.split_heads(q, n.num_heads)
  if n.key.rank == 3 then k, v = backmath.split_heads(k, n.num_heads), backmath.split_heads(v, n.num_heads) end
  if n.past_key then
    keys = keys + n.past_key:size(2)
    k, v = t.aten.cat({ n.past_key, k }, 2), t.aten.cat({ n.past_value, v }, 2)
  end
  local mask = added(t, n.key_padding_mask, n.attention_bias, n.mask_filter_value, keys, n.query.dtype)
  return attend(t, n, q, k, v, mask, queries, keys), k, v
end)

onnx:rule("com.microsoft::RotaryEmbedding(input, position_ids, cos_cache, sin_cache) {interleaved=0, num_heads=0, "
  .. "rotary_embedding_dim=0, scale=1.0, is_packed_batching=0}", function(t, n)
  if n.scale ~= 1 or n.is_packed_batching ~= 0 or n.position_ids.rank ~= 2 then
    t.decline("this form of RotaryEmbedding")
  end
  local heads = n.num_heads
  if n.input.rank == 3 and heads == 0 then
    local size = 2 * n.cos_cache:size(1)
    if n.rotary_embedding_dim ~= 0 or not util.is_static(n.input:size(2)) then
      t.decline("the number of heads is not given")
    end
    heads = n.input:size(2) // size
  end
  return t.onnx("RotaryEmbedding", { n.input, n.cos_cache, n.sin_cache, n.position_ids },
                { interleaved = n.interleaved, num_heads = heads, rotary_embedding_dim = n.rotary_embedding_dim },
                n.outputs)
end)
