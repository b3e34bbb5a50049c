-- rules/aten/rnn.lua: recurrent layers and their cells.

local aten = require("t2o.rules").namespace("aten")

-- ---- layers ----

-- PyTorch's blocks of rows in a weight, in the order in which ONNX has them.
local LSTM = { 1, 4, 2, 3 } -- i f g o -> i o f g
local GRU = { 2, 1, 3 }     -- r z n -> z r n
local PLAIN = { 1 }

local function reordered(g, w, order)
  local count = #order
  if count == 1 then return w end
  local size = w:size(0) // count
  local sizes = {}
  for i = 1, count do sizes[i] = size end
  local blocks = g.Split(w, g.ints(sizes), { axis = 0, outputs = count })
  local pieces = {}
  for i, from in ipairs(order) do pieces[i] = blocks[from] end
  pieces[count + 1] = { axis = 0 }
  return g.Concat(table.unpack(pieces))
end

-- Values along a new first dim: one for each direction.
local function stacked(g, list)
  local rows = {}
  for i, v in ipairs(list) do rows[i] = g.Unsqueeze(v, g.ints { 0 }) end
  if #rows == 1 then return rows[1] end
  rows[#rows + 1] = { axis = 0 }
  return g.Concat(table.unpack(rows))
end

-- W, R and B of layer `layer` (from 0); B is nil without biases.
local function layer_weights(g, a, layer, directions, order)
  local step = a.has_biases and 4 or 2
  local w, r, b = {}, {}, {}
  for d = 1, directions do
    local at = (layer * directions + d - 1) * step
    w[d], r[d] = reordered(g, a.params[at + 1], order), reordered(g, a.params[at + 2], order)
    if a.has_biases then
      b[d] = g.Concat(reordered(g, a.params[at + 3], order), reordered(g, a.params[at + 4], order), { axis = 0 })
    end
  end
  return stacked(g, w), stacked(g, r), a.has_biases and stacked(g, b) or nil
end

-- The rows of an initial state that belong to a layer.
local function layer_state(g, state, a, layer, directions)
  if not state or a.num_layers == 1 then return state end
  local first = layer * directions
  return g.Slice(state, g.ints { first }, g.ints { first + directions }, g.ints { 0 })
end

local function check(g, a, directions)
  if a.train and a.dropout ~= 0 and a.num_layers > 1 then g.decline("dropout between recurrent layers is random") end
  local per_layer = a.has_biases and 4 or 2
  if #a.params ~= a.num_layers * directions * per_layer then g.decline("a projected hidden state (proj_size)") end
  if a.input.rank ~= 3 then g.decline("a recurrent layer over an input of rank %d", a.input.rank) end
end

local function joined(g, list)
  if #list == 1 then return list[1] end
  list[#list + 1] = { axis = 0 }
  return g.Concat(table.unpack(list))
end

-- [time, directions, batch, hidden] -> [time, batch, directions * hidden]
local function merged(g, y, x, directions, hidden)
  if directions == 1 then return g.Squeeze(y, g.ints { 1 }) end
  y = g.Transpose(y, { perm = { 0, 2, 1, 3 } })
  return g.reshape(y, { x:size(0), x:size(1), directions * hidden })
end

-- All layers of one kind, with their initial states; returns the sequence and a list of final states each.
local function run(g, a, kind, states)
  local directions = a.bidirectional and 2 or 1
  check(g, a, directions)
  local x = a.batch_first and g.Transpose(a.input, { perm = { 1, 0, 2 } }) or a.input
  local hidden = a.params[2]:size(1)
  local finals = {}
  for i = 1, #states do finals[i] = {} end
  for layer = 0, a.num_layers - 1 do
    local inputs = { x, layer_weights(g, a, layer, directions, kind.order) }
    for i, state in ipairs(states) do
      inputs[5 + i] = layer_state(g, state, a, layer, directions)
    end
    local attrs = { hidden_size = hidden, outputs = 1 + #states }
    if directions == 2 then attrs.direction = "bidirectional" end
    if kind.activation then
      attrs.activations = directions == 2 and { kind.activation, kind.activation } or { kind.activation }
    end
    if kind.op == "GRU" then attrs.linear_before_reset = 1 end
    inputs[6 + #states] = attrs
    local out = table.pack(g[kind.op](table.unpack(inputs, 1, 6 + #states)))
    x = merged(g, out[1], x, directions, hidden)
    for i = 1, #states do finals[i][layer + 1] = out[1 + i] end
  end
  if a.batch_first then x = g.Transpose(x, { perm = { 1, 0, 2 } }) end
  for i = 1, #states do finals[i] = joined(g, finals[i]) end
  return x, table.unpack(finals)
end

aten:rule("lstm.input(Tensor input, Tensor[] hx, Tensor[] params, bool has_biases, int num_layers, float dropout, "
          .. "bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor, Tensor)",
  function(g, a) return run(g, a, { op = "LSTM", order = LSTM }, { a.hx[1], a.hx[2] }) end)

for name, kind in pairs {
  gru = { op = "GRU", order = GRU },
  rnn_tanh = { op = "RNN", order = PLAIN },
  rnn_relu = { op = "RNN", order = PLAIN, activation = "Relu" },
} do
  aten:rule(name .. ".input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, "
            .. "float dropout, bool train, bool bidirectional, bool batch_first) -> (Tensor, Tensor)",
    function(g, a) return run(g, a, kind, { a.hx }) end)
end

-- ---- cells ----

local function blocks(g, v, count)
  local size = v:size(-1) // count
  local sizes = {}
  for i = 1, count do sizes[i] = size end
  return table.unpack(g.Split(v, g.ints(sizes), { axis = v.rank - 1, outputs = count }))
end

aten:rule("lstm_cell(Tensor input, Tensor[] hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) "
          .. "-> (Tensor, Tensor)", function(g, a)
  local linear = g.aten.linear
  local sum = linear(a.input, a.w_ih, a.b_ih) + linear(a.hx[1], a.w_hh, a.b_hh)
  local i, f, cell, o = blocks(g, sum, 4)
  local c = g.Sigmoid(f) * a.hx[2] + g.Sigmoid(i) * g.Tanh(cell)
  return g.Sigmoid(o) * g.Tanh(c), c
end)

aten:rule("gru_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) "
          .. "-> Tensor", function(g, a)
  local r, z, n = blocks(g, g.aten.linear(a.input, a.w_ih, a.b_ih), 3)
  local hr, hz, hn = blocks(g, g.aten.linear(a.hx, a.w_hh, a.b_hh), 3)
  local new = g.Tanh(n + g.Sigmoid(r + hr) * hn)
  return new + g.Sigmoid(z + hz) * (a.hx - new)
end)

for name, activation in pairs { rnn_tanh_cell = "Tanh", rnn_relu_cell = "Relu" } do
  aten:rule(name .. "(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) "
            .. "-> Tensor", function(g, a)
    return g[activation](g.aten.linear(a.input, a.w_ih, a.b_ih) + g.aten.linear(a.hx, a.w_hh, a.b_hh))
  end)
end
