-- rules/onnx/attention.lua: attention, rotary positions and the layers of state space models.

local core = require("t2o.core")
local backmath = require("t2o.backmath")
local util = require("t2o.util")
local onnx = require("t2o.back").registry

local PRECISION = { [1] = "float32", [10] = "float16", [11] = "float64", [16] = "bfloat16" }

-- ---- heads ----

local function heads_of(t, x, heads)
  if x.rank == 4 then return x end
  return backmath.split_heads(x, heads or t.decline("the number of heads is not given"))
end

-- ---- what a query may look at ----

local function ones(t, rows, columns) return t.aten.ones({ rows, columns }, { dtype = "bool" }) end

local function both(t, x, y) return x and y and t.aten["logical_and"](x, y) or x or y end

-- By positions: [queries, keys], or [batch, 1, queries, keys] where the samples have lengths of their own.
local function visible(t, n, queries, keys, past)
  local left, right = n.left_window_size, n.right_window_size
  if n.is_causal == 1 then right = 0 end
  if n.nonpad_kv_seqlen then
    local lengths = t.aten.view(n.nonpad_kv_seqlen, { -1, 1, 1, 1 })
    local place = t.aten.arange(keys)
    local seen = t.aten["lt.Tensor"](place, lengths)
    if left < 0 and right < 0 then return seen end
    local own = t.aten["add.Tensor"](t.aten.unsqueeze(t.aten.arange(queries), 1),
                                     t.aten["sub.Tensor"](lengths, queries))
    if right >= 0 then
      local last = right > 0 and t.aten["add.Tensor"](own, right) or own
      seen = both(t, seen, t.aten["le.Tensor"](place, last))
    end
    if left >= 0 then
      local first = left > 0 and t.aten["sub.Tensor"](own, left) or own
      seen = both(t, seen, t.aten["ge.Tensor"](place, first))
    end
    return seen
  end
  if left < 0 and right < 0 then return nil end
  local seen = ones(t, queries, keys)
  if right >= 0 then seen = t.aten.tril(seen, past + right) end
  if left >= 0 then seen = t.aten.triu(seen, past - left) end
  return seen
end

-- A mask that is shorter than the keys shuts out the rest.
local function full_mask(t, mask, keys)
  if not mask or mask.rank == 0 then return mask end
  local have = mask:size(-1)
  local order = util.compare(have, keys)
  if order == nil or order == 0 then return mask end
  if mask.dtype == "bool" then return t.aten.pad(mask, { 0, keys - have }, "constant", 0) end
  return t.aten.pad(mask, { 0, keys - have }, "constant", -math.huge)
end

-- ---- Attention ----

local function is_plain(t, n)
  local precision = PRECISION[n.softmax_precision]
  return n.softcap == 0 and not t.wants(n.outputs[4])
    and (not precision or precision == "float32" or precision == n.Q.dtype)
end

local ATTENTION = "Attention(Q, K, V, attn_mask?, past_key?, past_value?, nonpad_kv_seqlen?) {is_causal=0, "
  .. "left_window_size=-1, right_window_size=-1, softcap=0.0, qk_matmul_output_mode=0}"

-- Step by step, for whatever scaled_dot_product_attention does not do or show.
local function long_form(t, n, q, k, v, scale, seen, mask)
  local aten, groups = t.aten, n.groups
  if groups > 1 then
    k = aten["repeat_interleave.self_int"](k, groups, 1)
    v = aten["repeat_interleave.self_int"](v, groups, 1)
  end
  local scores = aten["mul.Tensor"](aten.matmul(q, aten["transpose.int"](k, -2, -1)), scale)
  local steps = { [0] = scores }
  if n.softcap ~= 0 then
    scores = aten["mul.Tensor"](aten.tanh(aten["div.Tensor"](scores, n.softcap)), n.softcap)
  end
  steps[1] = scores
  local adds = mask and mask ~= n.bool_mask and mask
  local allowed, hidden = both(t, n.bool_mask, seen), nil
  if adds then scores = aten["add.Tensor"](scores, adds) end
  if allowed then
    local shut = aten.logical_not(allowed)
    scores = aten["masked_fill.Scalar"](scores, shut, -math.huge)
    if adds then adds = aten["masked_fill.Scalar"](aten.expand_as(adds, scores), shut, -math.huge) end
    hidden = not adds and aten["all.dim"](shut, -1, true)
  end
  if adds then hidden = aten["all.dim"](aten["eq.Scalar"](adds, -math.huge), -1, true) end
  steps[2] = scores
  local precision = PRECISION[n.softmax_precision] or n.Q.dtype
  if precision ~= n.Q.dtype then scores = aten["to.dtype"](scores, precision) end
  local weights = aten["softmax.int"](scores, -1)
  if hidden then weights = aten["masked_fill.Scalar"](weights, hidden, 0) end
  if precision ~= n.Q.dtype then weights = aten["to.dtype"](weights, n.Q.dtype) end
  steps[3] = weights
  return aten.matmul(weights, v), steps[n.qk_matmul_output_mode]
end

onnx:rule(ATTENTION, function(t, n)
  local flat = n.Q.rank == 3
  local q = heads_of(t, n.Q, n.q_num_heads)
  local k, v = heads_of(t, n.K, n.kv_num_heads), heads_of(t, n.V, n.kv_num_heads)
  local queries, keys, past = n.Q:size(flat and 1 or 2), n.K:size(flat and 1 or 2), 0
  if n.past_key then
    past = n.past_key:size(2)
    keys = keys + past
    k, v = t.aten.cat({ n.past_key, k }, 2), t.aten.cat({ n.past_value, v }, 2)
  end
  local heads, own = n.q_num_heads or n.Q:size(1), n.kv_num_heads or n.K:size(1)
  local grouped = not util.equal(heads, own)
  local plain_causal = n.is_causal == 1 and not n.attn_mask and not n.past_key and not n.nonpad_kv_seqlen
    and n.left_window_size < 0 and n.right_window_size < 0
  local mask = full_mask(t, n.attn_mask, keys)
  if is_plain(t, n) then
    local named = { scale = n.scale, is_causal = plain_causal or nil, enable_gqa = grouped or nil }
    local seen = not plain_causal and visible(t, n, queries, keys, past) or nil
    if seen and mask and n.attn_mask.dtype == "bool" then
      mask = both(t, mask, seen)
    elseif seen and mask then
      mask = t.aten["masked_fill.Scalar"](mask, t.aten.logical_not(seen), -math.huge)
    end
    local y = t.aten.scaled_dot_product_attention(q, k, v, mask or seen, named)
    return flat and backmath.merge_heads(y) or y, k, v
  end
  if grouped and not (util.is_static(heads) and util.is_static(own)) then t.decline("an unknown number of heads") end
  n.groups = grouped and heads // own or 1
  n.bool_mask = mask and n.attn_mask.dtype == "bool" and mask or nil
  local scale = n.scale
  if not scale then
    local size = flat and n.Q:size(2) // heads or n.Q:size(3)
    if not util.is_static(size) then t.decline("heads of unknown size") end
    scale = 1 / math.sqrt(size)
  end
  local y, debug = long_form(t, n, q, k, v, scale, visible(t, n, queries, keys, past), mask)
  return flat and backmath.merge_heads(y) or y, k, v, debug
end)

-- ---- rotary positions ----

local function slice(t, x, dim, first, last, step)
  return t.aten["slice.Tensor"](x, dim, first, last, step)
end

-- x[batch, length, heads, size] with the first `dim` of each head turned.
local function rotated(t, n, x, size)
  local dim = n.rotary_embedding_dim
  if dim == 0 then dim = size end
  local whole = util.equal(dim, size)
  local cos, sin = n.cos_cache, n.sin_cache
  if n.position_ids then
    cos, sin = t.aten["index.Tensor"](cos, { n.position_ids }), t.aten["index.Tensor"](sin, { n.position_ids })
  end
  cos, sin = t.aten.unsqueeze(cos, 2), t.aten.unsqueeze(sin, 2)
  local a, b
  if n.interleaved == 1 then
    a, b = slice(t, x, 3, 0, dim, 2), slice(t, x, 3, 1, dim, 2)
  else
    a, b = slice(t, x, 3, 0, dim // 2), slice(t, x, 3, dim // 2, dim)
  end
  local mul = t.aten["mul.Tensor"]
  local real = t.aten["sub.Tensor"](mul(a, cos), mul(b, sin))
  local imaginary = t.aten["add.Tensor"](mul(a, sin), mul(b, cos))
  local y
  if n.interleaved == 1 then
    y = t.aten["flatten.using_ints"](t.aten.stack({ real, imaginary }, -1), -2)
    return whole and y or t.aten.cat({ y, slice(t, x, 3, dim, math.maxinteger) }, -1)
  end
  if whole then return t.aten.cat({ real, imaginary }, -1) end
  return t.aten.cat({ real, imaginary, slice(t, x, 3, dim, math.maxinteger) }, -1)
end

onnx:rule("RotaryEmbedding(X, cos_cache, sin_cache, position_ids?) {interleaved=0, rotary_embedding_dim=0}",
  function(t, n)
    if n.X.rank == 4 then
      local y = rotated(t, n, t.aten["transpose.int"](n.X, 1, 2), n.X:size(3))
      return t.aten["transpose.int"](y, 1, 2)
    end
    if not n.num_heads then t.decline("the number of heads is not given") end
    local x = t.aten["unflatten.int"](n.X, 2, { n.num_heads, -1 })
    return t.aten["flatten.using_ints"](rotated(t, n, x, n.X:size(2) // n.num_heads), 2)
  end)

-- ---- state space models ----

onnx:rule("CausalConvWithState(input, weight, bias?, past_state?) {activation='none'}", function(t, n)
  local width, x = n.weight:size(2), n.input
  if n.past_state then
    x = t.aten.cat({ n.past_state, x }, 2)
  else
    x = t.aten.pad(x, { width - 1, 0 })
  end
  local y = t.aten.conv1d(x, n.weight, n.bias, { 1 }, { 0 }, { 1 }, n.weight:size(0))
  if n.activation ~= "none" then y = t.aten.silu(y) end
  if not t.wants(n.outputs[2]) then return y end
  -- a copy: what is kept must not hold the whole input
  return y, t.aten.clone(slice(t, x, 2, n.input:size(2), math.maxinteger))
end)

onnx:rule("LinearAttention(query, key, value, past_state?, decay?, beta?) {scale=0.0, update_rule='gated_delta'}",
  function(t, n)
    local scale = n.scale
    if scale == 0 then
      local size = n.query:size(2) // n.q_num_heads
      if not util.is_static(size) then t.decline("heads of unknown size") end
      scale = 1 / math.sqrt(size)
    end
    return t.helper.linear_attention(n.query, n.key, n.value, n.q_num_heads, n.kv_num_heads, scale, n.past_state,
                                     n.decay, n.beta)
  end)

-- ---- FlexAttention: bodies that change scores and weights ----

local function changed(body, x)
  if not body then return x end
  return core.inline_body(body, { x })[1]
end

onnx:rule("ai.onnx.preview::FlexAttention(Q, K, V) {scale, softmax_precision, score_mod, prob_mod}", function(t, n)
  local heads, own, size = n.Q:size(1), n.K:size(1), n.Q:size(3)
  local k, v, dtype = n.K, n.V, n.Q.dtype
  local scale = n.scale
  if not scale then
    if not util.is_static(size) then t.decline("heads of unknown size") end
    scale = 1 / math.sqrt(size)
  end
  if not util.equal(heads, own) then
    if not (util.is_static(heads) and util.is_static(own)) then t.decline("an unknown number of heads") end
    k = t.aten["repeat_interleave.self_int"](k, heads // own, 1)
    v = t.aten["repeat_interleave.self_int"](v, heads // own, 1)
  end
  local precision = PRECISION[n.softmax_precision] or dtype == "float64" and "float64" or "float32"
  local scores = t.aten["mul.Tensor"](t.aten.matmul(n.Q, t.aten["transpose.int"](k, -2, -1)), scale)
  scores = changed(n.score_mod, precision ~= dtype and t.aten["to.dtype"](scores, precision) or scores)
  local weights = changed(n.prob_mod, t.aten["softmax.int"](scores, -1))
  if precision ~= dtype then weights = t.aten["to.dtype"](weights, dtype) end
  return t.aten.matmul(weights, v)
end)
