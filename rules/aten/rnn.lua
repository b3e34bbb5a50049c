-- rules/aten/rnn.lua: recurrent layers and their cells.

local core = require("t2o.core")
local aten = require("t2o.rules").namespace("aten")
local util = require("t2o.util")

-- ---- cells ----

local function blocks(g, v, count)
  local size = v:size(-1) // count
  local sizes = {}
  for i = 1, count do sizes[i] = size end
  return table.unpack(g.Split(v, g.ints(sizes), { axis = v.rank - 1, outputs = count }))
end

-- New states of what comes from the input and from the hidden state, both already multiplied by
-- their weights.
local cells = {}

function cells.lstm(g, x, h, states)
  local i, f, new, o = blocks(g, x + h, 4)
  local c = g.Sigmoid(f) * states[2] + g.Sigmoid(i) * g.Tanh(new)
  return g.Sigmoid(o) * g.Tanh(c), c
end

function cells.gru(g, x, h, states)
  local r, z, n = blocks(g, x, 3)
  local hr, hz, hn = blocks(g, h, 3)
  local new = g.Tanh(n + g.Sigmoid(r + hr) * hn)
  return new + g.Sigmoid(z + hz) * (states[1] - new)
end

function cells.rnn_tanh(g, x, h) return g.Tanh(x + h) end
function cells.rnn_relu(g, x, h) return g.Relu(x + h) end

for name, cell in pairs(cells) do
  local state, result = "Tensor hx", "Tensor"
  if name == "lstm" then state, result = "Tensor[] hx", "(Tensor, Tensor)" end
  aten:rule(name .. "_cell(Tensor input, "
            .. "" .. state .. ", Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, "
            .. "Tensor? b_hh=None) -> " .. result, function(g, a)
    local states = name == "lstm" and a.hx or { a.hx }
    local x, h = g.aten.linear(a.input, a.w_ih, a.b_ih), g.aten.linear(states[1], a.w_hh, a.b_hh)
    return cell(g, x, h, states)
  end)
end

-- ---- layers: what both ways to write them need ----

-- The weights of a layer (from 0) and direction (from 0).
local function weights(a, layer, direction)
  local step = (a.has_biases and 4 or 2) + (a.projected and 1 or 0)
  local at = (layer * a.directions + direction) * step
  local w = { w_ih = a.params[at + 1], w_hh = a.params[at + 2] }
  if a.has_biases then w.b_ih, w.b_hh = a.params[at + 3], a.params[at + 4] end
  if a.projected then w.w_hr = a.params[at + step] end
  return w
end

local function concat(g, list, axis)
  if #list == 1 then return list[1] end
  local args = { table.unpack(list) }
  args[#args + 1] = { axis = axis }
  return g.Concat(table.unpack(args))
end

-- Values along a new first dim.
local function stacked(g, list)
  local rows = {}
  for i, v in ipairs(list) do rows[i] = g.Unsqueeze(v, g.ints { 0 }) end
  return concat(g, rows, 0)
end

-- ---- layers as ONNX has them ----

-- PyTorch's blocks of rows in a weight, in ONNX's order: i f g o -> i o f c, and r z n -> z r h.
local KINDS = {
  lstm = { op = "LSTM", order = { 1, 4, 2, 3 } },
  gru = { op = "GRU", order = { 2, 1, 3 }, attrs = { linear_before_reset = 1 } },
  rnn_tanh = { op = "RNN", order = { 1 } },
  rnn_relu = { op = "RNN", order = { 1 }, activation = "Relu" },
}

local function reordered(g, w, order)
  local count = #order
  if count == 1 then return w end
  local size = w:size(0) // count
  local sizes, pieces = {}, {}
  for i = 1, count do sizes[i] = size end
  local parts = g.Split(w, g.ints(sizes), { axis = 0, outputs = count })
  for i, from in ipairs(order) do pieces[i] = parts[from] end
  return concat(g, pieces, 0)
end

-- W, R and B of a layer; B is nil without biases.
local function layer_weights(g, a, layer, order)
  local w, r, b = {}, {}, {}
  for d = 1, a.directions do
    local own = weights(a, layer, d - 1)
    w[d], r[d] = reordered(g, own.w_ih, order), reordered(g, own.w_hh, order)
    if own.b_ih then
      b[d] = g.Concat(reordered(g, own.b_ih, order), reordered(g, own.b_hh, order), { axis = 0 })
    end
  end
  return stacked(g, w), stacked(g, r), a.has_biases and stacked(g, b) or nil
end

-- The rows of an initial state that belong to a layer.
local function layer_state(g, state, a, layer)
  if a.num_layers == 1 then return state end
  local first = layer * a.directions
  return g.Slice(state, g.ints { first }, g.ints { first + a.directions }, g.ints { 0 })
end

local function attributes(g, a, kind)
  local size = a.params[2]:size(1)
  if not util.is_static(size) then return g.decline("a dynamic hidden size") end
  local attrs = { hidden_size = size, outputs = 1 + #a.states }
  for name, value in pairs(kind.attrs or {}) do attrs[name] = value end
  if a.directions == 2 then attrs.direction = "bidirectional" end
  if kind.activation then
    attrs.activations = {}
    for d = 1, a.directions do attrs.activations[d] = kind.activation end
  end
  return attrs
end

-- [time, directions, batch, hidden] -> [time, batch, directions * hidden]
local function merged(g, y, x, a)
  if a.directions == 1 then return g.Squeeze(y, g.ints { 1 }) end
  y = g.Transpose(y, { perm = { 0, 2, 1, 3 } })
  return g.reshape(y, { x:size(0), x:size(1), a.directions * a.params[2]:size(1) })
end

local function whole_layer(g, a, x, layer, name)
  local kind = KINDS[name]
  local w, r, b = layer_weights(g, a, layer, kind.order)
  local states = {}
  for i, state in ipairs(a.states) do states[i] = layer_state(g, state, a, layer) end
  states[#states + 1] = attributes(g, a, kind)
  local out = { g[kind.op](x, w, r, b, nil, table.unpack(states)) }
  return merged(g, out[1], x, a), { table.unpack(out, 2) }
end

-- ---- layers as a Scan over their cells ----

-- One direction: the sequence, and the final states.
local function scan(g, cell, x, w, states, backward)
  local sums, specs, args = g.aten.linear(x, w.w_ih, w.b_ih), {}, {}
  for i, s in ipairs(states) do specs[i], args[i] = { s.dtype, s.shape }, s end
  specs[#specs + 1] = { sums.dtype, { sums:size(1), sums:size(2) } }
  args[#args + 1] = sums
  local body = g.body("body", specs, function(...)
    local now = { ... }
    local input = table.remove(now)
    local new = { cell(g, input, g.aten.linear(now[1], w.w_hh, w.b_hh), now) }
    if w.w_hr then new[1] = g.aten.linear(new[1], w.w_hr) end
    new[#new + 1] = g.Identity(new[1])
    return table.unpack(new)
  end)
  local way = { backward and 1 or 0 }
  args[#args + 1] = {
    body = body, num_scan_inputs = 1, scan_input_directions = way, scan_output_directions = way,
    outputs = #states + 1,
  }
  local out = g.Scan(table.unpack(args))
  for i, s in ipairs(states) do core.set_shape(out[i], s.shape) end
  local y = table.remove(out)
  core.set_shape(y, { x:size(0), x:size(1), states[1]:size(1) })
  return y, out
end

local function scanned_layer(g, a, x, layer, name)
  local outs, finals = {}, {}
  for i = 1, #a.states do finals[i] = {} end
  for d = 0, a.directions - 1 do
    local own, ends = {}
    for i, state in ipairs(a.states) do
      own[i] = g.Gather(state, g.scalar(layer * a.directions + d, "int64"), { axis = 0 })
    end
    outs[d + 1], ends = scan(g, cells[name], x, weights(a, layer, d), own, d == 1)
    for i, v in ipairs(ends) do finals[i][d + 1] = v end
  end
  for i = 1, #a.states do finals[i] = stacked(g, finals[i]) end
  return concat(g, outs, 2), finals
end

-- ---- all layers ----

local function check(g, a)
  if a.train and a.dropout ~= 0 and a.num_layers > 1 then
    g.decline("dropout between recurrent layers is random")
  end
  if a.input.rank ~= 3 then
    g.decline("a recurrent layer over an input of rank %d", a.input.rank)
  end
end

-- ONNX has no projection of the hidden state, and runtimes have its layers in float32 only.
local function run(g, a, name)
  a.directions = a.bidirectional and 2 or 1
  a.states = name == "lstm" and a.hx or { a.hx }
  a.projected = #a.params > a.num_layers * a.directions * (a.has_biases and 4 or 2)
  check(g, a)
  local layer_of = (a.projected or a.input.dtype == "float64") and scanned_layer or whole_layer
  local x = a.batch_first and g.Transpose(a.input, { perm = { 1, 0, 2 } }) or a.input
  local finals, ends = {}
  for i = 1, #a.states do finals[i] = {} end
  for layer = 0, a.num_layers - 1 do
    x, ends = layer_of(g, a, x, layer, name)
    for i, v in ipairs(ends) do finals[i][layer + 1] = v end
  end
  if a.batch_first then x = g.Transpose(x, { perm = { 1, 0, 2 } }) end
  for i = 1, #a.states do finals[i] = concat(g, finals[i], 0) end
  return x, table.unpack(finals)
end

for name in pairs(KINDS) do
  local state, result = "Tensor hx", "(Tensor, Tensor)"
  if name == "lstm" then state, result = "Tensor[] hx", "(Tensor, Tensor, Tensor)" end
  aten:rule(name .. ".input(Tensor input, "
            .. "" .. state .. ", Tensor[] params, bool has_biases, int num_layers, "
            .. "float dropout, bool train, bool bidirectional, bool batch_first) -> " .. result,
    function(g, a) return run(g, a, name) end)
end

-- Names that are put together above, for the index of rules (tools/name_hints.py):
-- "gru.input" "gru_cell" "lstm.input" "lstm_cell" "rnn_relu.input" "rnn_relu_cell" "rnn_tanh.input"
-- "rnn_tanh_cell"
