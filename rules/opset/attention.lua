-- rules/opset/attention.lua: attention, rotary positions and their kin as products and softmax.

local lib = require("t2o.opset")
local opset = lib.registry
local util = require("t2o.util")

local function size_of(g, x, d) return g.Shape(x, { start = d, ["end"] = d + 1 }) end

local function count(g, size)
  return g.Range(g.scalar(0, "int64"), g.Squeeze(size, g.ints { 0 }), g.scalar(1, "int64"))
end

-- [batch, length, heads * size] as [batch, heads, length, size]
local function split_heads(g, x, heads)
  if lib.rank(x) == 4 then return x end
  if not heads then g.decline("the number of heads is not given") end
  return g.Transpose(g.Reshape(x, g.const { 0, 0, heads, -1 }), { perm = { 0, 2, 1, 3 } })
end

local function merge_heads(g, x)
  return g.Reshape(g.Transpose(x, { perm = { 0, 2, 1, 3 } }), g.const { 0, 0, -1 })
end

-- Each head as often as there are heads of queries for it.
local function repeated(g, x, heads)
  local own = x:size(1)
  if util.equal(own, heads) then return x end
  if not (util.is_static(own) and util.is_static(heads)) then g.decline("an unknown number of heads") end
  local shape = g.Concat(size_of(g, x, 0), g.const { own, heads // own }, g.Shape(x, { start = 2 }), { axis = 0 })
  local wide = g.Expand(g.Unsqueeze(x, g.const { 2 }), shape)
  return g.Reshape(wide, g.Concat(size_of(g, x, 0), g.const { heads }, g.Shape(x, { start = 2 }), { axis = 0 }))
end

-- Which keys a query may look at by its position: [queries, keys] or [batch, 1, queries, keys]; nil: all of them.
local function visible(g, n, q, k)
  local left, right = n.left_window_size, n.right_window_size
  if n.is_causal == 1 then right = right < 0 and 0 or math.min(right, 0) end
  local seen
  local function also(condition) seen = seen and g.And(seen, condition) or condition end
  local keys = count(g, size_of(g, k, 2))
  local lengths = n.nonpad_kv_seqlen and g.Unsqueeze(n.nonpad_kv_seqlen, g.const { 1, 2, 3 })
  if left >= 0 or right >= 0 then
    local position = g.Unsqueeze(count(g, size_of(g, q, 2)), g.const { 1 })
    if n.past_key then position = g.Add(position, size_of(g, n.past_key, 2)) end
    if lengths then position = g.Add(position, g.Sub(lengths, size_of(g, q, 2))) end
    if right >= 0 then also(g.LessOrEqual(keys, g.Add(position, g.const { right }))) end
    if left >= 0 then also(g.GreaterOrEqual(keys, g.Sub(position, g.const { left }))) end
  end
  if lengths then also(g.Less(keys, lengths)) end
  return seen
end

-- A mask that is shorter than the keys shuts out the rest.
local function full_mask(g, mask, k)
  local have, want = mask:size(-1), k:size(2)
  local order = util.compare(have, want)
  if order == nil or order == 0 or have == 1 then return mask end
  local pads = util.fill(0, 2 * mask.rank)
  local missing = g.ints { want - have }
  if mask.dtype == "bool" then
    local padded = g.Pad(mask:to("int32"), g.Concat(g.const({ table.unpack(pads, 2) }), missing, { axis = 0 }))
    return padded:to("bool")
  end
  return g.Pad(mask, g.Concat(g.const({ table.unpack(pads, 2) }), missing, { axis = 0 }), g.scalar(-math.huge, mask))
end

local function scale_of(g, n, q)
  if n.scale then return g.scalar(n.scale, q) end
  local size = q:size(3)
  if util.is_static(size) then return g.scalar(1 / math.sqrt(size), q) end
  return g.Reciprocal(g.Sqrt(g.scalar(size, q.dtype)))
end

local PRECISION = { [1] = "float32", [10] = "float16", [11] = "float64", [16] = "bfloat16" }

local function attention(g, n)
  local flat = lib.rank(n.Q) == 3
  local q = split_heads(g, n.Q, n.q_num_heads)
  local k, v = split_heads(g, n.K, n.kv_num_heads), split_heads(g, n.V, n.kv_num_heads)
  if n.past_key then
    k = g.Concat(n.past_key, k, { axis = 2 })
    v = g.Concat(n.past_value, v, { axis = 2 })
  end
  local present_key, present_value = k, v
  k, v = repeated(g, k, q:size(1)), repeated(g, v, q:size(1))
  local scores = g.Mul(g.MatMul(q, g.Transpose(k, { perm = { 0, 1, 3, 2 } })), scale_of(g, n, q))
  local steps = { [0] = scores }
  if n.softcap ~= 0 then scores = g.Tanh(scores / n.softcap) * n.softcap end
  steps[1] = scores
  local low, mask, seen = g.scalar(-math.huge, scores), n.attn_mask, visible(g, n, q, k)
  if mask then
    mask = full_mask(g, mask, k)
    scores = mask.dtype == "bool" and g.Where(mask, scores, low) or g.Add(scores, mask:to(scores.dtype))
  end
  if seen then scores = g.Where(seen, scores, low) end
  steps[2] = scores
  scores = scores:to(PRECISION[n.softmax_precision] or scores.dtype)
  local weights = g.Softmax(scores, { axis = -1 })
  if mask or seen then
    local best = g.ReduceMax(scores, g.const { -1 }, { keepdims = 1 })
    weights = g.Where(g.Equal(best, g.scalar(-math.huge, best)), g.scalar(0, weights), weights)
  end
  weights = weights:to(v.dtype)
  steps[3] = weights
  local y = g.MatMul(weights, v)
  if flat then y = merge_heads(g, y) end
  local debug = steps[n.qk_matmul_output_mode]:to(n.Q.dtype)
  return y, g.Identity(present_key), g.Identity(present_value), debug
end

local ATTENTION = "Attention(Q, K, V, attn_mask?, past_key?, past_value?, nonpad_kv_seqlen?) {is_causal=0, "
                  .. "left_window_size=-1, right_window_size=-1, softcap=0.0, qk_matmul_output_mode=0}"

-- What rows without any key become, and where the causal mask begins behind a cache, was settled in opset 25; without
-- either the older versions say the same.
opset:express(ATTENTION, { below = 25 }, function(g, n)
  local windows = n.left_window_size >= 0 or n.right_window_size >= 0
  if windows or n.attn_mask or n.past_key or n.nonpad_kv_seqlen then return attention(g, n) end
end)
opset:lower(ATTENTION, { below = 25 }, function(_, n)
  if n.attrs.left_window_size or n.attrs.right_window_size then
    return lib.again(n, nil, lib.attrs(n, { left_window_size = false, right_window_size = false }))
  end
end)
opset:express(ATTENTION, { below = 23 }, attention)

-- ---- rotary positions ----

local function rotated(g, n, x)
  local dim = n.rotary_embedding_dim
  if dim == 0 then dim = x:size(3) end
  if not util.is_static(dim) then g.decline("heads of unknown size") end
  local function table_of(cache)
    if n.position_ids then cache = g.Gather(cache, n.position_ids) end
    return g.Unsqueeze(cache, g.const { 2 })
  end
  local function part(first, last, step)
    return g.Slice(x, g.const { first }, g.const { last }, g.const { 3 }, g.const { step or 1 })
  end
  local cos, sin = table_of(n.cos_cache), table_of(n.sin_cache)
  local a, b
  if n.interleaved == 1 then
    a, b = part(0, dim, 2), part(1, dim, 2)
  else
    a, b = part(0, dim // 2), part(dim // 2, dim)
  end
  local real = g.Sub(g.Mul(cos, a), g.Mul(sin, b))
  local imaginary = g.Add(g.Mul(sin, a), g.Mul(cos, b))
  local y
  if n.interleaved == 1 then
    local pairs_of = g.Concat(g.Unsqueeze(real, g.const { 4 }), g.Unsqueeze(imaginary, g.const { 4 }), { axis = 4 })
    y = g.Reshape(pairs_of, g.const { 0, 0, 0, dim })
  else
    y = g.Concat(real, imaginary, { axis = 3 })
  end
  if util.equal(dim, x:size(3)) then return y end
  return g.Concat(y, part(dim, math.maxinteger), { axis = 3 })
end

opset:express("RotaryEmbedding(X, cos_cache, sin_cache, position_ids?) {interleaved=0, rotary_embedding_dim=0}",
  { below = 23 }, function(g, n)
    if lib.rank(n.X) == 4 then
      local y = rotated(g, n, g.Transpose(n.X, { perm = { 0, 2, 1, 3 } }))
      return g.Transpose(y, { perm = { 0, 2, 1, 3 } })
    end
    if not n.num_heads then g.decline("the number of heads is not given") end
    return g.Reshape(rotated(g, n, g.Reshape(n.X, g.const { 0, 0, n.num_heads, -1 })), g.Shape(n.X))
  end)

-- ---- state space models ----

opset:express("CausalConvWithState(input, weight, bias?, past_state?) {activation='none'}", { below = 27 },
  function(g, n)
    local channels, width = n.weight:size(0), n.weight:size(2)
    if not (util.is_static(channels) and util.is_static(width)) then g.decline("weights of unknown size") end
    local before = n.past_state
    if not before then
      local shape = g.Concat(g.Shape(n.input, { start = 0, ["end"] = 2 }), g.const { width - 1 }, { axis = 0 })
      before = g.Expand(g.scalar(0, n.input), shape)
    end
    local all = g.Concat(before, n.input, { axis = 2 })
    local y = g.Conv(all, n.weight, n.bias, { group = channels, kernel_shape = { width } })
    if n.activation ~= "none" then y = g.Swish(y) end
    local first = g.Sub(size_of(g, all, 2), g.const { width - 1 })
    return y, g.Slice(all, first, g.const { math.maxinteger }, g.const { 2 })
  end)

-- One step of the recurrence a turn of a Scan; all is computed in 32 bits.
opset:express("LinearAttention(query, key, value, past_state?, decay?, beta?) {scale=0.0, update_rule='gated_delta'}",
  { below = 27 }, function(g, n)
    local heads, own = n.q_num_heads, n.kv_num_heads
    local key_size, value_size = n.key:size(2), n.value:size(2)
    if not (util.is_static(key_size) and util.is_static(value_size)) then g.decline("heads of unknown size") end
    key_size, value_size = key_size // own, value_size // own
    local gated, delta = n.update_rule:find("gated") ~= nil, n.update_rule:find("delta") ~= nil
    -- [time, batch, heads, size, 1] or [time, batch, heads, 1, size]
    local function over_time(x, count_of, size, row)
      local y = g.Reshape(x:to("float32"), g.const { 0, 0, count_of, size })
      return g.Unsqueeze(g.Transpose(y, { perm = { 1, 0, 2, 3 } }), g.const { row and 3 or 4 })
    end
    local inputs = {
      over_time(n.query, heads, key_size, true), over_time(n.key, own, key_size),
      over_time(n.value, own, value_size, true),
    }
    if gated then
      local size = n.decay:size(2)
      if not util.is_static(size) then g.decline("a decay of unknown size") end
      inputs[#inputs + 1] = over_time(n.decay, own, size // own)
    end
    if delta then
      local size = n.beta:size(2)
      if not util.is_static(size) then g.decline("a rate of unknown size") end
      inputs[#inputs + 1] = over_time(n.beta, size, 1)
    end
    local batch = n.query:size(0)
    local shape = { batch, own, key_size, value_size }
    local state = n.past_state and n.past_state:to("float32")
                  or g.Expand(g.scalar(0, "float32"),
                              g.Concat(size_of(g, n.query, 0), g.const { own, key_size, value_size }, { axis = 0 }))
    local specs = { { "float32", shape } }
    for i, x in ipairs(inputs) do specs[i + 1] = { "float32", { table.unpack(x.shape, 2) } } end
    local scale = n.scale == 0 and 1 / math.sqrt(key_size) or n.scale
    local body = g.body("step", specs, function(s, q, k, v, x, y)
      local decay, rate = gated and x, gated and y or x
      if gated then s = g.Mul(g.Exp(decay), s) end
      if delta then
        v = g.Mul(rate, g.Sub(v, g.MatMul(g.Transpose(k, { perm = { 0, 1, 3, 2 } }), s)))
      end
      s = g.Add(s, g.Mul(k, v))
      return s, g.MatMul(q, repeated(g, s, heads)) * scale
    end)
    local args = { state, table.unpack(inputs) }
    args[#args + 1] = { body = body, num_scan_inputs = #inputs, outputs = 2 }
    local out = g.Scan(table.unpack(args))
    local y = g.Transpose(g.Squeeze(out[2], g.const { 3 }), { perm = { 1, 0, 2, 3 } })
    return g.Reshape(y, g.const { 0, 0, -1 }):to(n.query.dtype), out[1]:to(n.outputs[2].dtype)
  end)
