-- rules/python/layers.lua: torch calls that are a layer of torch.nn, when their weights belong to one module.

local python = require("t2o.pyrules").registry

-- ---- convolution ----

local function conv(rank, transposed)
  return function(py, a)
    local w = a.weight
    if not w or not w.is_constant or w.rank ~= rank + 2 then return nil end
    local groups = a.groups or 1
    local shape, kernel = w.shape, {}
    for i = 1, rank do kernel[i] = shape[i + 2] end
    local into, out = shape[2] * groups, shape[1]
    if transposed then into, out = shape[1], shape[2] * groups end
    local kwargs = {
      { "stride", py.int(a.stride), 1 }, { "padding", py.int(a.padding), 0 },
      { "dilation", py.int(a.dilation), 1 }, { "groups", groups, 1 },
      { "bias", a.bias ~= nil, true },
    }
    if transposed then table.insert(kwargs, 3, { "output_padding", py.int(a.output_padding), 0 }) end
    return {
      class = "nn.Conv" .. (transposed and "Transpose" or "") .. rank .. "d",
      args = { { "in_channels", into }, { "out_channels", out }, { "kernel_size", py.int(kernel) } },
      kwargs = kwargs, weights = { weight = w, bias = a.bias }, inputs = { a.input },
    }
  end
end

for rank = 1, 3 do
  python:layer({ "conv" .. rank .. "d", "conv" .. rank .. "d.padding" }, conv(rank))
end
python:layer("conv_transpose1d", conv(1, true))
python:layer("conv_transpose2d.input", conv(2, true))
python:layer("conv_transpose3d.input", conv(3, true))

python:layer("linear", function(_, a)
  local w = a.weight
  if not w.is_constant or w.rank ~= 2 then return nil end
  return {
    class = "nn.Linear", args = { { "in_features", w:size(1) }, { "out_features", w:size(0) } },
    kwargs = { { "bias", a.bias ~= nil, true } }, weights = { weight = w, bias = a.bias }, inputs = { a.input },
  }
end)

python:layer("bilinear", function(_, a)
  local w = a.weight
  if not w.is_constant then return nil end
  return {
    class = "nn.Bilinear",
    args = { { "in1_features", w:size(1) }, { "in2_features", w:size(2) }, { "out_features", w:size(0) } },
    kwargs = { { "bias", a.bias ~= nil, true } }, weights = { weight = w, bias = a.bias },
    inputs = { a.input1, a.input2 },
  }
end)

python:layer("embedding", function(_, a)
  local w = a.weight
  if not w.is_constant then return nil end
  local padding = a.padding_idx
  return {
    class = "nn.Embedding", args = { { "num_embeddings", w:size(0) }, { "embedding_dim", w:size(1) } },
    kwargs = {
      { "padding_idx", padding and padding >= 0 and padding or nil },
      { "scale_grad_by_freq", a.scale_grad_by_freq, false }, { "sparse", a.sparse, false },
    },
    weights = { weight = w }, inputs = { a.indices },
  }
end)

-- ---- normalisation ----

local function batch_norm_class(py, a)
  if py.nn and py.nn:find("^BatchNorm%dd$") then return "nn." .. py.nn end
  local x = a.input
  if not x.known_rank then return nil end
  return ({ [2] = "nn.BatchNorm1d", [3] = "nn.BatchNorm1d", [4] = "nn.BatchNorm2d", [5] = "nn.BatchNorm3d" })[x.rank]
end

python:layer("batch_norm", function(py, a)
  local class = batch_norm_class(py, a)
  if not class or a.training or not a.running_mean or not a.running_mean.is_constant then return nil end
  if (a.weight == nil) ~= (a.bias == nil) then return nil end
  return {
    class = class, args = { { "num_features", a.running_mean:size(0) } },
    kwargs = { { "eps", a.eps, 1e-5 }, { "momentum", a.momentum, 0.1 }, { "affine", a.weight ~= nil, true } },
    weights = { weight = a.weight, bias = a.bias, running_mean = a.running_mean, running_var = a.running_var },
    optional = "num_batches_tracked", needs_optional = true, inputs = { a.input },
  }
end)

python:layer("layer_norm", function(py, a)
  local w = a.weight
  if not w or not w.is_constant then return nil end
  return {
    class = "nn.LayerNorm", args = { { "normalized_shape", py.int_or_shape(a.normalized_shape) } },
    kwargs = { { "eps", a.eps, 1e-5 }, { "bias", a.bias ~= nil, true } },
    weights = { weight = w, bias = a.bias }, inputs = { a.input },
  }
end)

python:layer("rms_norm", function(py, a)
  local w = a.weight
  if not w or not w.is_constant then return nil end
  return {
    class = "nn.RMSNorm", args = { { "normalized_shape", py.int_or_shape(a.normalized_shape) } },
    kwargs = { { "eps", a.eps } }, weights = { weight = w }, inputs = { a.input },
  }
end)

python:layer("group_norm", function(_, a)
  local w = a.weight
  if not w or not a.bias or not w.is_constant then return nil end
  return {
    class = "nn.GroupNorm", args = { { "num_groups", a.num_groups }, { "num_channels", w:size(0) } },
    kwargs = { { "eps", a.eps, 1e-5 } }, weights = { weight = w, bias = a.bias }, inputs = { a.input },
  }
end)

python:layer("instance_norm", function(py, a)
  if not (py.nn and py.nn:find("^InstanceNorm%dd$")) then return nil end
  if a.running_mean or not a.use_input_stats then return nil end
  local c = a.input:size(1)
  if not math.type(c) then return nil end
  return {
    class = "nn." .. py.nn, args = { { "num_features", c } },
    kwargs = { { "eps", a.eps, 1e-5 }, { "momentum", a.momentum, 0.1 }, { "affine", a.weight ~= nil, false } },
    weights = { weight = a.weight, bias = a.bias }, inputs = { a.input },
  }
end)

python:layer("prelu", function(_, a)
  if not a.weight.is_constant then return nil end
  return {
    class = "nn.PReLU", args = {}, kwargs = { { "num_parameters", a.weight:size(0), 1 } },
    weights = { weight = a.weight }, inputs = { a.self },
  }
end)

-- ---- recurrent ----

local GATES = { LSTM = 4, GRU = 3, RNN = 1 }

-- Weights in the order of the call: w_ih, w_hh, b_ih, b_hh and w_hr of each layer and direction.
local function recurrent_weights(a, projected)
  local weights, at = {}, 0
  local layers, suffixes = a.num_layers, a.bidirectional and { "", "_reverse" } or { "" }
  local function take(name, suffix, layer)
    at = at + 1
    weights[name .. "_l" .. layer .. suffix] = a.params[at]
  end
  for layer = 0, layers - 1 do
    for _, suffix in ipairs(suffixes) do
      take("weight_ih", suffix, layer)
      take("weight_hh", suffix, layer)
      if a.has_biases then
        take("bias_ih", suffix, layer)
        take("bias_hh", suffix, layer)
      end
      if projected then take("weight_hr", suffix, layer) end
    end
  end
  return at == a.params.n and weights or nil
end

-- Initial states that are zeros are left out: the layer makes them itself.
local function initial_states(py, states)
  for i = 1, states.n do
    if not py.is_zeros(states[i]) then return nil end
  end
  return states
end

local function recurrent(class, nonlinearity)
  return function(py, a)
    local lists = a.hx
    local states = class == "LSTM" and lists or { n = 1, lists }
    local n = a.params.n
    local per = (a.bidirectional and 2 or 1) * a.num_layers
    local projected = class == "LSTM" and n == per * (a.has_biases and 5 or 3)
    local weights = recurrent_weights(a, projected)
    local first = a.params[1]
    if not weights or not first.is_constant or not a.input.known_rank then return nil end
    local hidden = first:size(0) // GATES[class]
    local zeros = initial_states(py, states)
    local inputs = { a.input }
    if not zeros and class == "LSTM" then
      inputs = { a.input, ", (", states[1], ", ", states[2], ")" }
    elseif not zeros then
      inputs = { a.input, ", ", states[1] }
    end
    return {
      class = "nn." .. class, args = { { "input_size", first:size(1) }, { "hidden_size", hidden } },
      kwargs = {
        { "num_layers", a.num_layers, 1 }, { "nonlinearity", nonlinearity, "tanh" },
        { "bias", a.has_biases, true }, { "batch_first", a.batch_first, false },
        { "dropout", a.dropout, 0.0 }, { "bidirectional", a.bidirectional, false },
        { "proj_size", projected and a.params[2]:size(1) or nil },
      },
      weights = weights, inputs = inputs, absorbs = zeros or {}, raw = #inputs > 1,
      returns = class == "LSTM" and function(r) return { r[1], { r[2], r[3] } } end or nil,
    }
  end
end

python:layer("lstm.input", recurrent("LSTM"))
python:layer("gru.input", recurrent("GRU"))
python:layer("rnn_tanh.input", recurrent("RNN", "tanh"))
python:layer("rnn_relu.input", recurrent("RNN", "relu"))

for name, gates in pairs { lstm_cell = 4, gru_cell = 3, rnn_tanh_cell = 1, rnn_relu_cell = 1 } do
  local class = name == "lstm_cell" and "LSTMCell" or name == "gru_cell" and "GRUCell" or "RNNCell"
  python:layer(name, function(_, a)
    if not a.w_ih.is_constant or (a.b_ih == nil) ~= (a.b_hh == nil) then return nil end
    local h = a.hx
    return {
      class = "nn." .. class, args = { { "input_size", a.w_ih:size(1) }, { "hidden_size", a.w_ih:size(0) // gates } },
      kwargs = { { "bias", a.b_ih ~= nil, true }, { "nonlinearity", name == "rnn_relu_cell" and "relu" or nil } },
      weights = { weight_ih = a.w_ih, weight_hh = a.w_hh, bias_ih = a.b_ih, bias_hh = a.b_hh },
      inputs = class == "LSTMCell" and { a.input, ", (", h[1], ", ", h[2], ")" } or { a.input, ", ", h }, raw = true,
    }
  end)
end

-- ---- layers without weights: the source had a module, of the class that is named ----

-- op -> class -> arguments { name, default }; `self` or `input` is what the layer is called with.
local PLAIN = {
  relu = { ReLU = {} }, gelu = { GELU = { { "approximate", "none" } } }, silu = { SiLU = {} }, mish = { Mish = {} },
  sigmoid = { Sigmoid = {} }, tanh = { Tanh = {} }, hardswish = { Hardswish = {} }, hardsigmoid = { Hardsigmoid = {} },
  log_sigmoid = { LogSigmoid = {} }, selu = { SELU = {} }, relu6 = { ReLU6 = {} },
  elu = { ELU = { { "alpha", 1.0 } } }, celu = { CELU = { { "alpha", 1.0 } } },
  leaky_relu = { LeakyReLU = { { "negative_slope", 0.01 } } },
  softplus = { Softplus = { { "beta", 1 }, { "threshold", 20 } } },
  softshrink = { Softshrink = { { "lambd", 0.5 } } }, hardshrink = { Hardshrink = { { "lambd", 0.5 } } },
  hardtanh = { ReLU6 = {}, Hardtanh = { { "min_val", -1 }, { "max_val", 1 } } },
  threshold = { Threshold = { { "threshold" }, { "value" } } },
  glu = { GLU = { { "dim", -1 } } },
  ["softmax.int"] = { Softmax = { { "dim" } } }, ["log_softmax.int"] = { LogSoftmax = { { "dim" } } },
  ["flatten.using_ints"] = { Flatten = { { "start_dim", 1 }, { "end_dim", -1 } } },
  ["unflatten.int"] = { Unflatten = { { "dim" }, { "sizes", nil, "unflattened_size" } } },
  pixel_shuffle = { PixelShuffle = { { "upscale_factor" } } },
  pixel_unshuffle = { PixelUnshuffle = { { "downscale_factor" } } },
  channel_shuffle = { ChannelShuffle = { { "groups" } } },
}
for _, rank in ipairs { 1, 2, 3 } do
  PLAIN["max_pool" .. rank .. "d"] = { ["MaxPool" .. rank .. "d"] = {
    { "kernel_size" }, { "stride" }, { "padding", 0 }, { "dilation", 1 }, { "ceil_mode", false },
  } }
  PLAIN["avg_pool" .. rank .. "d"] = { ["AvgPool" .. rank .. "d"] = {
    { "kernel_size" }, { "stride" }, { "padding", 0 }, { "ceil_mode", false }, { "count_include_pad", true },
    { "divisor_override" },
  } }
  PLAIN["adaptive_avg_pool" .. rank .. "d"] = { ["AdaptiveAvgPool" .. rank .. "d"] = { { "output_size" } } }
end

local POSITIONAL = { kernel_size = true, stride = true, output_size = true, upscale_factor = true, threshold = true,
  value = true, downscale_factor = true, groups = true, start_dim = true, sizes = true }

local function same(x, y) return x == y or (tonumber(x) and tonumber(y) and tonumber(x) == tonumber(y)) end

local function is_plain(py, value)
  if type(value) ~= "table" then return not py.is_symbolic(value) end
  for i = 1, value.n do
    if py.is_symbolic(value[i]) then return false end
  end
  return true
end

local function plain_args(py, a, arguments)
  local args, kwargs = {}, {}
  for _, argument in ipairs(arguments) do
    local name, default = argument[1], argument[2]
    local value = py.int(a[name])
    if type(value) == "table" and value.n == 0 then value = nil end -- pools: the stride is that of the kernel
    if not is_plain(py, value) then return nil end
    if name == "stride" and value == py.int(a.kernel_size) then value = nil end
    local shown = argument[3] or name
    if value ~= nil and not same(value, default) then
      local list = POSITIONAL[name] and #kwargs == 0 and args or kwargs
      list[#list + 1] = { shown, value }
    end
  end
  return args, kwargs
end

for op, classes in pairs(PLAIN) do
  python:layer(op, function(py, a)
    local arguments = py.nn and classes[py.nn]
    if not arguments then return nil end
    if py.nn == "ReLU6" and op == "hardtanh" and not (a.min_val == 0 and a.max_val == 6) then return nil end
    local args, kwargs = plain_args(py, a, arguments)
    if not args then return nil end
    return { class = "nn." .. py.nn, args = args, kwargs = kwargs, inputs = { a.self or a.input } }
  end)
end

for op, class in pairs { dropout = "Dropout", alpha_dropout = "AlphaDropout", feature_dropout = "Dropout2d" } do
  python:layer(op, function(py, a)
    if a.train or not py.nn or not py.nn:find("^" .. class:match("^%a+") .. "%d?d?$") then return nil end
    return { class = "nn." .. py.nn, args = {}, kwargs = { { "p", a.p, 0.5 } }, inputs = { a.input } }
  end)
end
