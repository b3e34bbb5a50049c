-- lua/t2o/pywhole.lua: calls of modules of torch.nn that are more than one operator, as the module itself.
--
-- nn.MultiheadAttention: where the graph says that a call is one, and holds just what its forward does without masks.

local core = require("t2o.core")
local text = require("t2o.pytext")

local M = {}

local function name_of(node) return node.op:match("::([^%.]+)") end

-- ---- nn.MultiheadAttention ----

local STEPS = {}
for name in ([[transpose linear unflatten unsqueeze squeeze contiguous select view reshape permute chunk unbind
  split split_with_sizes scaled_dot_product_attention expand alias clone]]):gmatch("%S+") do
  STEPS[name] = true
end

-- The nodes of a call by kind; nil where there is something else.
local function steps_of(model, call)
  local linears, attention = {}, nil
  for order = call.first, call.last do
    local n = model.nodes[order]
    if n.node.autocast then return nil end
    if n.live then
      local name = name_of(n.node)
      if not STEPS[name] then return nil end
      if name == "linear" then linears[#linears + 1] = n end
      if name == "scaled_dot_product_attention" then
        if attention then return nil end
        attention = n.node
      end
    end
  end
  return linears, attention
end

-- What a projection works on, before it was turned; and whether it was.
local function source_of(model, v)
  v = model.resolve(v)
  local node, turned = core.producer(v), false
  while node and name_of(node) == "transpose" do
    v, turned = model.resolve(node.inputs[1]), not turned
    node = core.producer(v)
  end
  return v, turned
end

local function is_plain(attention)
  for _, item in ipairs(core.call(attention)) do
    local known = item.name == "query" or item.name == "key" or item.name == "value"
    if item.name == "is_causal" and item.value then return false end
    if item.name == "enable_gqa" and item.value then return false end
    if item.name == "attn_mask" and item.kind ~= "none" then return false end
    if item.name == "dropout_p" and item.value ~= 0 then return false end
    if item.kind == "value" and not known then return false end
  end
  return true
end

local function projections(model, linears, path)
  local sources, first_turned = {}, nil
  for i, n in ipairs(linears) do
    local is_last = i == #linears
    if is_last ~= (n.layer ~= nil and n.layer.path == path .. ".out_proj") then return nil end
    if not is_last then
      local v, turned = source_of(model, n.node.inputs[1])
      if first_turned == nil then first_turned = turned end
      if turned ~= first_turned then return nil end
      sources[i] = v
    end
  end
  local q, k, v = table.unpack(sources)
  return { q, k or q, v or k or q }, first_turned
end

local KNOWN = { in_proj_weight = true, in_proj_bias = true, q_proj_weight = true, k_proj_weight = true,
  v_proj_weight = true }

local function attention_text(m, embed, heads, batch_first)
  local args = { string.format("nn.MultiheadAttention(") }
  local function add(part) args[#args + 1] = part end
  add({ lit = tostring(embed), name = "embed_dim" })
  add(", ")
  add({ lit = tostring(heads), name = "num_heads" })
  if not m.tensor.in_proj_bias then add(", bias=False") end
  if m.tensor.k_proj_weight then
    add(", kdim=")
    add({ lit = tostring(m.tensor.k_proj_weight.shape[2]), name = "kdim" })
    add(", vdim=")
    add({ lit = tostring(m.tensor.v_proj_weight.shape[2]), name = "vdim" })
  end
  if m.tensors[1].dtype ~= "float32" then add(", dtype=torch." .. m.tensors[1].dtype) end
  add(batch_first and ", batch_first=True)" or ")")
  return text.atom(table.unpack(args))
end

local function tensors_fit(m)
  for _, tensor in ipairs(m.tensors) do
    if not KNOWN[tensor.leaf] then return false end
  end
  local out = m.children.out_proj
  return #m.order == 1 and out ~= nil and out.kind == "layer"
    and (m.tensor.in_proj_bias ~= nil) == (out.tensor.bias ~= nil)
    and (m.tensor.in_proj_weight ~= nil
      or (m.tensor.q_proj_weight and m.tensor.k_proj_weight and m.tensor.v_proj_weight) ~= nil)
end

local function shape_of(v) return core.field(v, "known_rank") and core.field(v, "shape") or {} end

--- The item that stands for a call of nn.MultiheadAttention, and the constructor; nil where it is no plain one.
function M.attention(model, call)
  local fn, m = call.fn, model.modules[call.path]
  if #fn.outputs ~= 1 or #fn.sizes > 0 or not tensors_fit(m) then return nil end
  local linears, attention = steps_of(model, call)
  if not attention or not is_plain(attention) then return nil end
  local sources, batch_first = projections(model, linears, call.path)
  if not sources then return nil end
  local _, turned_back = source_of(model, fn.outputs[1])
  if turned_back ~= batch_first then return nil end -- an exporter may have joined that with what follows
  local given = {}
  for _, v in ipairs(fn.inputs) do given[v] = true end
  for _, v in ipairs(sources) do
    if not given[v] or #shape_of(v) ~= 3 then return nil end
  end
  local query = shape_of(attention.inputs[1])
  local embed = m.children.out_proj.tensor.weight.shape[1]
  local heads, width = query[2], query[4]
  if not (math.type(heads) and math.type(width)) or heads * width ~= embed then return nil end
  local e = attention_text(m, embed, heads, batch_first)
  local last = model.nodes[call.last]
  local layer = {
    path = call.path, inputs = { sources[1], sources[2], sources[3] }, keywords = ", need_weights=False",
    returns = function() return { fn.outputs[1], { n = 0 } } end,
  }
  return { node = last.node, order = last.order, frames = last.frames, chain = call.parent.chain, layer = layer }, e
end

return M
