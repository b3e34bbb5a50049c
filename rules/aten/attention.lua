-- rules/aten/attention.lua: scaled dot product attention and what is made of it.
--
-- Written as products and a softmax: ONNX Attention is too new for most runtimes, and differs on
-- rows without any key to look at, for which PyTorch gives zeros.

local aten = require("t2o.rules").namespace("aten")
local util = require("t2o.util")

-- Query i sees the keys up to i, counted from the first of both.
local function causal_mask(g, rows, columns)
  local function range(n)
    return g.Range(g.scalar(0, "int64"), g.scalar(n, "int64"), g.scalar(1, "int64"))
  end
  return g.GreaterOrEqual(g.Unsqueeze(range(rows), g.ints { 1 }), range(columns))
end

-- Heads of keys and values, each as often as there are heads of queries for it.
local function repeat_heads(g, x, heads)
  local own = x:size(-3)
  if util.equal(own, heads) then return x end
  local rank, times = x.rank, heads // own
  local wide = util.copy(x.shape)
  table.insert(wide, rank - 1, times)
  local y = g.expand(g.Unsqueeze(x, g.ints { rank - 2 }), wide)
  local dims = util.copy(x.shape)
  dims[rank - 2] = own * times
  return g.reshape(y, dims)
end

local function swap_last(g, x)
  local perm = util.range(0, x.rank - 1)
  perm[x.rank], perm[x.rank - 1] = x.rank - 2, x.rank - 1
  return g.Transpose(x, { perm = perm })
end

-- Queries, scaled; by default by the root of their length.
local function scaled(g, q, scale)
  if scale then return q * scale end
  local length = q:size(-1)
  if math.type(length) == "integer" then return q * (1 / math.sqrt(length)) end
  return q / g.Sqrt(g.scalar(length, q.dtype))
end

-- Scores with their mask; which of them are shut out, or which are open (nil: all).
local function masked_scores(g, a, q, k)
  local scores = g.MatMul(scaled(g, q, a.scale), swap_last(g, k))
  local mask, low = a.attn_mask, g.scalar(-math.huge, q.dtype)
  if a.is_causal then
    if mask then g.decline("attention with both a mask and is_causal") end
    return g.Where(causal_mask(g, q:size(-2), k:size(-2)), scores, low)
  end
  if not mask then return scores end
  if mask.dtype == "bool" then return g.Where(mask, scores, low), nil, mask end
  mask = mask:to(q.dtype)
  return g.Add(scores, mask), g.Equal(mask, low)
end

-- A row that is shut out altogether is NaN after Softmax and 0 in PyTorch; the others are 0 there
-- already.
local function weights(g, scores, shut, open)
  local w = g.Softmax(scores, { axis = -1 })
  if open then return g.Where(open, w, g.scalar(0, w.dtype)) end
  return shut and g.Where(shut, g.scalar(0, w.dtype), w) or w
end

local function attention(g, a)
  if a.dropout_p ~= 0 then g.decline("attention with dropout is random") end
  local k, v = a.key, a.value
  if a.enable_gqa then
    k, v = repeat_heads(g, k, a.query:size(-3)), repeat_heads(g, v, a.query:size(-3))
  end
  local scores, shut, open = masked_scores(g, a, a.query, k)
  local w = weights(g, scores, shut, open)
  return g.MatMul(w, v), w, scores
end

aten:rule("scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, "
          .. "Tensor? attn_mask=None, "
          .. "float dropout_p=0., bool is_causal=False, *, float? scale=None, "
          .. "bool enable_gqa=False) -> Tensor",
  function(g, a) return (attention(g, a)) end)

aten:rule("_scaled_dot_product_attention_math(Tensor query, Tensor key, Tensor value, "
          .. "Tensor? attn_mask=None, "
          .. "float dropout_p=0., bool is_causal=False, Tensor? dropout_mask=None, *, "
          .. "float? scale=None, "
          .. "bool enable_gqa=False) -> (Tensor, Tensor)",
  function(g, a)
    local y, w = attention(g, a)
    return y, w
  end)

aten:rule("_scaled_dot_product_flash_attention_for_cpu(Tensor query, Tensor key, Tensor value, "
          .. "float dropout_p=0., bool is_causal=False, *, Tensor? attn_mask=None, "
          .. "float? scale=None) "
          .. "-> (Tensor output, Tensor logsumexp)",
  function(g, a, n)
    local y, _, scores = attention(g, a)
    local sums = g.ReduceLogSumExp(scores, g.ints { -1 }, { keepdims = 0 })
    return y, sums:to(n.outputs[2].dtype)
  end)

-- What is used on other devices; their further results are for the way back.
aten:rule("_scaled_dot_product_flash_attention(Tensor query, Tensor key, Tensor value, float dropout_p=0., "
          .. "bool is_causal=False, bool return_debug_mask=False, *, float? scale=None) "
          .. "-> (Tensor output, Tensor logsumexp, Tensor cum_seq_q, Tensor cum_seq_k, SymInt max_q, SymInt max_k, "
          .. "Tensor rng_state, Tensor unused, Tensor debug_attn_mask)", function(g, a)
  local y, _, scores = attention(g, a)
  return y, g.ReduceLogSumExp(scores:to("float32"), g.ints { -1 }, { keepdims = 0 })
end)
aten:rule("_scaled_dot_product_efficient_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_bias, "
          .. "bool compute_log_sumexp, float dropout_p=0., bool is_causal=False, *, float? scale=None) "
          .. "-> (Tensor output, Tensor log_sumexp, Tensor philox_seed, Tensor philox_offset)", function(g, a)
  a.attn_mask = a.attn_bias
  return (attention(g, a))
end)
