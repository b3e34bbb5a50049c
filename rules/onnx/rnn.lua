-- rules/onnx/rnn.lua: recurrent networks: torch's own where it computes the same, else functions that the file brings.

local core = require("t2o.core")
local pieces = require("t2o.pieces")
local onnx = require("t2o.back").registry

-- ---- weights ----

-- The module that an exporter says the node is from, where it is a layer of its own.
local function module_of(n, kind)
  local modules = n.node and core.modules(n.node) or {}
  local path, class = modules[#modules - 1], modules[#modules]
  return path and class:lower():find(kind .. "$") and path or nil
end

-- The path of the layer: that module's, the scope in the node's name, or what the network is called.
local function layer_name(n, kind)
  local path = module_of(n, kind) or n.name and n.name:match("^/?(.-)/?" .. kind:upper() .. "[_%d]*$") or ""
  path = path:gsub("/", "."):gsub("[^%w_.]", "_"):gsub("^%.+", ""):gsub("%.+$", "")
  if not path:match("^[%a_][%w_.]*$") or path == "node_" then path = kind end
  return pieces.new_scope(path)
end

-- The weight that an exporter has cut and joined to this part, where it is one.
local function original(v, direction, first, order, hidden, columns)
  local all = pieces.of(v)
  if not all then return nil end
  local wide, list = hidden * (columns or 1), {}
  local start = direction * v:size(1) * (columns or 1)
  for i, gate in ipairs(order) do list[i] = pieces.cut(all, start + (first + gate) * wide, wide) end
  local found = pieces.join(list)
  local weight = #found == 1 and found[1].first == 0 and found[1].of
  if not weight or weight.rank ~= (columns and 2 or 1) or weight:size(0) ~= #order * hidden then return nil end
  return weight.rank == 1 and weight or weight:size(1) == columns and weight or nil
end

-- One direction's part of a weight, gates in PyTorch's order; of a constant it is made here.
-- `order`: places of PyTorch's gates in ONNX's order, of the blocks of `hidden` rows beginning at block `first`.
local function part(t, v, direction, first, order, hidden, name)
  local columns = v.rank == 3 and v:size(2) or nil
  local whole = not v.is_constant and original(v, direction, first, order, hidden, columns)
  if whole then return whole end
  if v.is_constant then
    local wide = hidden * (columns or 1)
    local start = direction * v:size(1) * (columns or 1)
    local ranges = {}
    for _, gate in ipairs(order) do
      ranges[#ranges + 1] = start + (first + gate) * wide
      ranges[#ranges + 1] = wide
    end
    return core.rearranged(v, name, ranges, { #order * hidden, columns })
  end
  local own = t.aten["select.int"](v, 0, direction)
  if first > 0 or v:size(1) ~= #order * hidden then
    own = t.aten["slice.Tensor"](own, 0, first * hidden, (first + #order) * hidden)
  end
  if #order == 1 then return own end
  local gates, out = t.list(#order, "aten::chunk", own, #order), {}
  for i, gate in ipairs(order) do out[i] = gates[gate + 1] end
  return t.aten.cat(out)
end

-- Weights in PyTorch's order; `below` is the call of the layer below, whose module these may continue. The last result
-- is the name of the module where it is made here.
local function params(t, n, kind, order, directions, hidden, below)
  local continued = below and below.layer
  local layer, out = continued or layer_name(n, kind), {}
  for d = 0, directions - 1 do
    local suffix = "_l" .. (continued and #below.outputs or 0) .. (d == 1 and "_reverse" or "")
    local function add(v, role, first)
      out[#out + 1] = part(t, v, d, first, order, hidden, layer .. "." .. role .. suffix)
    end
    add(n.W, "weight_ih", 0)
    add(n.R, "weight_hh", 0)
    if n.B then
      add(n.B, "bias_ih", 0)
      add(n.B, "bias_hh", #order)
    end
  end
  local own = n.W.is_constant and n.R.is_constant and (not n.B or n.B.is_constant)
  return out, own and layer or nil
end

-- ---- activations ----

-- Names as ONNX has them -> { alpha, beta } where they take such.
local TAKES = {
  affine = { 1.0, 0.0 }, leakyrelu = { 0.01 }, thresholdedrelu = { 1.0 }, scaledtanh = { 1.0, 1.0 },
  hardsigmoid = { 0.2, 0.5 }, elu = { 1.0 },
}
local PLAIN = { sigmoid = true, tanh = true, relu = true, softsign = true, softplus = true }

-- "sigmoid,tanh,tanh" for each direction, and what they take.
local function activations(t, n, defaults, directions)
  local names, alphas, betas, list = {}, {}, {}, n.activations
  local alpha_at, beta_at = 0, 0
  for i = 1, directions * #defaults do
    local name = (list and list[i] or defaults[(i - 1) % #defaults + 1]):lower()
    local takes = TAKES[name] or PLAIN[name] and {} or t.decline("the activation " .. name)
    names[i], alphas[i], betas[i] = name, takes[1] or 0.0, takes[2] or 0.0
    if takes[1] and n.activation_alpha then
      alpha_at = alpha_at + 1
      alphas[i] = n.activation_alpha[alpha_at] or alphas[i]
    end
    if takes[2] and n.activation_beta then
      beta_at = beta_at + 1
      betas[i] = n.activation_beta[beta_at] or betas[i]
    end
  end
  return names, alphas, betas
end

local function all_are(names, defaults)
  for i, name in ipairs(names) do
    if name ~= defaults[(i - 1) % #defaults + 1] then return false end
  end
  return true
end

-- ---- the call ----

-- Lengths that are those of all steps say nothing.
local function lengths_of(t, n)
  local numbers = n.sequence_lens and t.numbers(n.sequence_lens)
  if not numbers then return n.sequence_lens end
  local steps = n.X:size(n.layout == 0 and 0 or 1)
  for _, x in ipairs(numbers) do
    if x ~= steps then return n.sequence_lens end
  end
end

local function swapped(t, x, n, first)
  if n.layout == 0 or not x then return x end
  return t.aten["transpose.int"](x, 0, first or 1)
end

-- Calls that only repeat and reorder the elements of their first input.
local KEEPS = { expand = true, ["repeat"] = true, reshape = true, view = true, unsqueeze = true, squeeze = true,
  slice = true, transpose = true, permute = true, to = true }

-- Whether it holds zeros only, whatever its size: a constant, or made of one number.
local function is_zeros(t, v)
  local all = pieces.of(v)
  if all and #all == 1 then v = all[1].of end
  for _ = 1, 16 do
    local node = not v.is_constant and core.producer(v)
    local name = node and node.op:match("^aten::([^%.]+)")
    if name == "zeros" or name == "new_zeros" or name == "zeros_like" then return true end
    if not KEEPS[name] then break end
    v = node.inputs[1]
  end
  local numbers = t.numbers(v)
  for _, x in ipairs(numbers or {}) do
    if x ~= 0 then return false end
  end
  return numbers ~= nil
end

local function is_absent(t, v) return not v or is_zeros(t, v) end

-- Initial states of all directions; zeros where there are none.
local function state(t, n, v, x, directions, hidden)
  if v and (not core.field(n.X, "known_rank") or not is_zeros(t, v)) then
    local width = core.field(v, "known_rank") and v.rank == 3 and v:size(2)
    if math.type(width) == "integer" and width ~= hidden then
      t.decline("a state of " .. width .. " numbers for a hidden size of " .. hidden .. ", which ONNX does not allow")
    end
    return swapped(t, v, n)
  end
  return t.aten.new_zeros(x, { directions, n.X:size(n.layout == 0 and 1 or 0), hidden })
end

-- [steps, batch, directions * hidden] as ONNX has it.
local function all_steps(t, y, n, directions, hidden)
  if directions == 1 then
    return n.layout == 0 and t.aten.unsqueeze(y, 1) or t.aten.unsqueeze(t.aten["transpose.int"](y, 0, 1), 2)
  end
  local shape = core.field(y, "known_rank") and { y:size(0), y:size(1), directions, hidden }
  y = t.aten["unflatten.int"](y, -1, { directions, hidden })
  if shape then core.set_shape(y, shape) end
  return n.layout == 0 and t.aten["transpose.int"](y, 1, 2) or t.aten["transpose.int"](y, 0, 1)
end

local function hidden_of(t, n)
  local hidden = n.hidden_size or n.R:size(2)
  return math.type(hidden) == "integer" and hidden or t.decline("an unknown number of hidden units")
end

-- ---- layers on top of each other ----

local made = setmetatable({}, { __mode = "k" }) -- the steps of all directions as a torch value -> the call

local function alike(a, b)
  for _, key in ipairs { "op", "zeros", "directions", "hidden", "bias" } do
    if a[key] ~= b[key] then return false end
  end
  return true
end

-- Whether the weights are those of the layer above in the same module.
local function continues(below, weights)
  for i, v in ipairs(weights) do
    local role, layer, suffix = (v.is_constant and v.name or ""):match("^(.-_l)(%d+)([_%a]*)$")
    local first = below.params[#below.params - #weights + i]
    if not role or not first or first.name ~= role .. math.tointeger(layer) - 1 .. suffix then return false end
  end
  return true
end

local function rows_of(v)
  local node = core.producer(v)
  if not node or node.op ~= "aten::slice.Tensor" then return nil end
  local start, stop, dim = 0, nil, 0
  for _, item in ipairs(core.call(node)) do
    if item.name == "start" then start = item.value end
    if item.name == "end" then stop = item.value end
    if item.name == "dim" then dim = item.value end
  end
  return dim == 0 and node.inputs[1], start, stop
end

-- The states of the layers below and those of this one.
local function joined(t, below, own, rows)
  local a, from = rows_of(below)
  local b, middle, to = rows_of(own)
  if a and a == b and from == 0 and middle == rows and math.type(to) == "integer" then
    if a:size(0) == to or to > rows and to == math.maxinteger then return a end
    return t.aten["slice.Tensor"](a, 0, 0, to)
  end
  return t.aten.cat({ below, own })
end

-- One layer's rows of the last states, also for the layers that have been there before.
local function tell_states(t, call, h, c)
  local d = call.directions
  for i, outputs in ipairs(call.outputs) do
    local function rows(x) return t.aten["slice.Tensor"](x, 0, (i - 1) * d, i * d) end
    if i < #call.outputs then
      if outputs[2] then core.set_twin(outputs[2], rows(h)) end
      if outputs[3] and c then core.set_twin(outputs[3], rows(c)) end
    else
      h, c = rows(h), c and rows(c)
    end
  end
  return h, c
end

-- Its steps first, as ONNX has them. The shapes of a call's results, by which others find that they undo what is done
-- to these.
local function tell_shapes(t, n, y, h, c, call)
  if not core.field(n.X, "known_rank") then return call.batch_first and t.aten["transpose.int"](y, 0, 1) or y end
  local steps, batch = n.X:size(n.layout == 0 and 0 or 1), n.X:size(n.layout == 0 and 1 or 0)
  local states = { #call.outputs * call.directions, batch, call.hidden }
  if call.batch_first then
    core.set_shape(y, { batch, steps, call.directions * call.hidden })
    y = t.aten["transpose.int"](y, 0, 1)
  end
  core.set_shape(y, { steps, batch, call.directions * call.hidden })
  core.set_shape(h, states)
  if c then core.set_shape(c, states) end
  return y
end

-- The call with the layers below it.
local function stacked(t, n, below, call)
  local params, outputs = { table.unpack(below.params) }, { table.unpack(below.outputs) }
  for _, v in ipairs(call.params) do params[#params + 1] = v end
  outputs[#outputs + 1] = n.outputs
  local rows = #below.outputs * call.directions
  call.params, call.outputs = params, outputs
  call.x, call.batch_first = below.x, below.batch_first
  if call.zeros then
    local shape = { rows + call.directions, n.X:size(1), call.hidden }
    call.h, call.c = t.aten.new_zeros(below.x, shape), call.c and t.aten.new_zeros(below.x, shape)
  else
    call.h, call.c = joined(t, below.h, call.h, rows), call.c and joined(t, below.c, call.c, rows)
  end
  return call
end

-- kinds: names of torch's operator by its activation; order: PyTorch's gates in ONNX's order.
local function recurrent(t, n, kind)
  local directions = n.direction == "bidirectional" and 2 or 1
  local hidden = hidden_of(t, n)
  local names, alphas, betas = activations(t, n, kind.activations, directions)
  local lengths, op = lengths_of(t, n), kind.op(names, n)
  local x = swapped(t, n.X, n)
  local h = state(t, n, n.initial_h, x, directions, hidden)
  local c = kind.cell and state(t, n, n.initial_c, x, directions, hidden)
  local y, last, last_cell
  if op and not lengths and not n.clip and not n.P then
    local back = n.direction == "reverse"
    if back then x = t.aten.flip(x, { 0 }) end
    local call = { op = op, x = x, h = h, c = c, directions = directions, outputs = { n.outputs }, hidden = hidden,
                   bias = n.B ~= nil, zeros = is_absent(t, n.initial_h) and is_absent(t, n.initial_c),
                   steps_first = n.layout == 0 and not back }
    local below = call.steps_first and made[n.X]
    if below and not alike(below, call) then below = nil end
    call.params, call.layer = params(t, n, kind.name, kind.order, directions, hidden, below)
    if call.steps_first then call.batch_first = pieces.unturned(x, { 1, 0, 2 }) end
    call.x = call.batch_first or x
    if below and continues(below, call.params) then call = stacked(t, n, below, call) end
    y, last, last_cell = t.aten[op](call.x, c and { call.h, call.c } or call.h, call.params, n.B ~= nil, #call.outputs,
                                    0.0, false, directions == 2, call.batch_first ~= nil)
    y = tell_shapes(t, n, y, last, last_cell, call)
    if #call.outputs > 1 then last, last_cell = tell_states(t, call, last, last_cell) end
    if back then y = t.aten.flip(y, { 0 }) end
    if call.steps_first then made[y] = call end
    y = all_steps(t, y, n, directions, hidden)
    return y, swapped(t, last, n), swapped(t, last_cell, n)
  else
    y, last, last_cell = kind.helper(t, n, x, h, c, lengths, table.concat(names, ","), alphas, betas)
  end
  return all_steps(t, y, n, directions, hidden), swapped(t, last, n), swapped(t, last_cell, n)
end

local LSTM = {
  name = "lstm", order = { 0, 2, 3, 1 }, activations = { "sigmoid", "tanh", "tanh" }, cell = true,
  op = function(names, n)
    return all_are(names, { "sigmoid", "tanh", "tanh" }) and n.input_forget == 0 and "lstm.input"
  end,
  helper = function(t, n, x, h, c, lengths, names, alphas, betas)
    return t.helper.onnx_lstm(x, n.W, n.R, h, c, n.direction, n.clip or math.huge, n.input_forget ~= 0, names,
                              alphas, betas, n.B, lengths, n.P)
  end,
}

local GRU = {
  name = "gru", order = { 1, 0, 2 }, activations = { "sigmoid", "tanh" },
  op = function(names, n)
    return all_are(names, { "sigmoid", "tanh" }) and n.linear_before_reset ~= 0 and "gru.input"
  end,
  helper = function(t, n, x, h, _, lengths, names, alphas, betas)
    return t.helper.onnx_gru(x, n.W, n.R, h, n.direction, n.clip or math.huge, n.linear_before_reset ~= 0, names,
                             alphas, betas, n.B, lengths)
  end,
}

local RNN = {
  name = "rnn", order = { 0 }, activations = { "tanh" },
  op = function(names)
    return all_are(names, { "tanh" }) and "rnn_tanh.input" or all_are(names, { "relu" }) and "rnn_relu.input"
  end,
  helper = function(t, n, x, h, _, lengths, names, alphas, betas)
    return t.helper.onnx_rnn(x, n.W, n.R, h, n.direction, n.clip or math.huge, names, alphas, betas, n.B, lengths)
  end,
}

onnx:rule("LSTM(X, W, R, B?, sequence_lens?, initial_h?, initial_c?, P?) {direction='forward', input_forget=0, "
  .. "layout=0}", function(t, n) return recurrent(t, n, LSTM) end)
onnx:rule("GRU(X, W, R, B?, sequence_lens?, initial_h?) {direction='forward', layout=0, linear_before_reset=0}",
  function(t, n) return recurrent(t, n, GRU) end)
onnx:rule("RNN(X, W, R, B?, sequence_lens?, initial_h?) {direction='forward', layout=0}",
  function(t, n) return recurrent(t, n, RNN) end)
