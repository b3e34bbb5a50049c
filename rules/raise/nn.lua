-- rules/raise/nn.lua: norms, dropout, pools and resampling of older opsets.

local core = require("t2o.core")
local lib = require("t2o.opset")
local opset = lib.registry

-- ---- BatchNormalization ----

opset:raise("BatchNormalization(X, scale, B, mean, var) {is_test=0}", { below = 7 }, function(_, n)
  local attrs = lib.attrs(n, { is_test = false })
  if n.is_test ~= 1 then core.decline("statistics of the batch itself") end
  return lib.again({ op = n.op, inputs = n.inputs, outputs = { n.outputs[1], n = 1 } }, nil, attrs)
end)

-- Statistics of each element of a sample: the formula itself.
opset:raise("BatchNormalization(X, scale, B, mean, var) {spatial=1, epsilon=1e-5}", { below = 9 }, function(g, n)
  if n.spatial == 1 then
    return n.attrs.spatial and lib.again(n, nil, lib.attrs(n, { spatial = false })) or nil
  end
  if n.outputs.n > 1 then core.decline("training with statistics of each element") end
  return lib.at_newest(function()
    local root = g.Sqrt(g.Add(n.var, g.scalar(n.epsilon, n.var)))
    return g.Add(g.Mul(g.Div(g.Sub(n.X, n.mean), root), n.scale), n.B)
  end)
end)

-- Before opset 14 a node with more than one output was in training.
opset:raise("BatchNormalization(X, scale, B, mean, var) {epsilon=1e-5, momentum=0.9}", { below = 14 }, function(g, n)
  if n.outputs.n == 1 then return nil end
  local attrs = { epsilon = n.epsilon, momentum = n.momentum, training_mode = 1, outputs = 3 }
  local y, mean, var = g.BatchNormalization(n.X, n.scale, n.B, n.mean, n.var, attrs)
  if n.outputs.n <= 3 then return y, mean, var end
  return lib.at_newest(function()
    local axes = { 0 }
    for i = 2, lib.rank(n.X) - 1 do axes[i] = i end
    local own = g.ReduceMean(n.X, g.const(axes))
    local apart = g.Sub(n.X, own)
    local spread = g.ReduceMean(g.Mul(apart, apart), g.const(axes), { keepdims = 0 })
    return y, mean, var, g.Reshape(own, g.const { -1 }), spread
  end)
end)

-- ---- GroupNormalization: one scale and bias for each group became one for each channel ----

opset:raise("GroupNormalization(X, scale, bias) {epsilon=1e-5, num_groups}", { below = 21 }, function(g, n)
  return lib.at_newest(function()
    local channels = g.Shape(n.X, { start = 1, ["end"] = 2 })
    local groups = g.const { n.num_groups }
    local shape = g.Concat(groups, g.Div(channels, groups), { axis = 0 })
    local function each(v)
      return g.Reshape(g.Expand(g.Unsqueeze(v, g.const { 1 }), shape), g.const { -1 })
    end
    return g.GroupNormalization(n.X, each(n.scale), each(n.bias), { epsilon = n.epsilon, num_groups = n.num_groups })
  end)
end)

-- ---- Dropout ----

local function training(g, n) return n.attrs.is_test == 0 or not n.attrs.is_test end

-- In training unless is_test says otherwise; the mask was of the input's dtype until opset 10.
opset:raise("Dropout(data) {ratio=0.5, is_test=0}", { below = 7 }, function(g, n)
  if not training(g, n) then return lib.again(n, nil, { ratio = n.ratio }) end
  return lib.at_newest(function()
    local y, mask = g.Dropout(n.data, g.scalar(n.ratio, "float32"), g.const(true, "bool"), { outputs = 2 })
    return y, mask:to(n.data.dtype)
  end)
end)

opset:raise("Dropout(data) {ratio=0.5}", { below = 10 }, function(g, n)
  if n.outputs.n == 1 then return nil end
  local y, mask = g.Dropout(n.data, { ratio = n.ratio, outputs = 2 })
  return y, lib.at_newest(g.Cast, mask, { to = n.data.dtype })
end)

opset:raise("Dropout(data) {ratio=0.5}", { below = 12 }, function(g, n)
  return lib.again(n, { n.data, g.scalar(n.ratio, "float32") }, {})
end)

-- ---- pools, recurrent networks ----

opset:raise("GlobalLpPool(X) {p=2.0}", { below = 2 }, function(_, n)
  return lib.again(n, nil, { p = math.tointeger(n.p) or core.decline("a norm of a broken order") })
end)

opset:raise("LpPool(X) {p=2.0}", { below = 2 }, function(_, n)
  return lib.again(n, nil, lib.attrs(n, { p = math.tointeger(n.p) or core.decline("a norm of a broken order") }))
end)

for _, op in ipairs { "GRU", "LSTM", "RNN" } do
  opset:raise(op .. "() {output_sequence=0}", { below = 7 }, function(_, n)
    if n.attrs.output_sequence then return lib.again(n, nil, lib.attrs(n, { output_sequence = false })) end
  end)
end

-- ---- resampling ----

local MODES = { bilinear = "linear", bicubic = "cubic" }

opset:raise("GridSample(X, grid) {mode='bilinear'}", { below = 20 }, function(_, n)
  return lib.again(n, nil, lib.attrs(n, { mode = MODES[n.mode] or n.mode }))
end)

opset:raise("RoiAlign(X, rois, batch_indices)", { below = 16 }, function(_, n)
  return lib.again(n, nil, lib.attrs(n, { coordinate_transformation_mode = "output_half_pixel" }))
end)

-- Pixels were taken by their corners; where sizes shrink ONNX Runtime took the next one up.
local function resized(g, n, x, scales, mode)
  local list = scales.is_constant and scales:tolist() or {}
  local grows, shrinks = false, false
  for _, s in ipairs(list) do grows, shrinks = grows or s > 1, shrinks or s < 1 end
  if mode == "nearest" and grows and shrinks then core.decline("sizes of which some grow and some shrink") end
  local attrs = { mode = mode, coordinate_transformation_mode = "asymmetric" }
  if mode == "nearest" then attrs.nearest_mode = shrinks and "ceil" or "floor" end
  return lib.at_newest(g.Resize, x, nil, scales, nil, attrs)
end

local function linear_name(mode) return mode == "bilinear" and "linear" or mode end

opset:raise("Upsample(X) {mode='nearest', height_scale, width_scale}", { below = 7 }, function(g, n)
  local scales = g.const({ 1.0, 1.0, n.height_scale, n.width_scale }, "float32")
  return resized(g, n, n.inputs[1], scales, linear_name(n.mode))
end)

opset:raise("Upsample(X) {mode='nearest', scales}", { below = 9 }, function(g, n)
  return resized(g, n, n.X, g.const(n.attrs.scales, "float32"), linear_name(n.mode))
end)

opset:raise("Upsample(X, scales) {mode='nearest'}", { below = 10 }, function(g, n)
  return resized(g, n, n.X, n.scales, linear_name(n.mode))
end)

opset:raise("Resize(X, scales) {mode='nearest'}", { below = 11 }, function(g, n)
  return resized(g, n, n.X, n.scales, linear_name(n.mode))
end)

local function is_empty(v) return v and core.field(v, "known_rank") and v.rank == 1 and v:size(0) == 0 end

-- An input that was left out had to be an empty tensor. The mode that only opset 11 has takes whole pixels of
-- (x + 0.5) / scale, which is half_pixel's position rounded with halves up.
opset:raise("Resize(X, roi, scales, sizes?) {coordinate_transformation_mode='half_pixel'}", { below = 13 },
  function(_, n)
    local attrs = n.attrs
    if n.coordinate_transformation_mode == "tf_half_pixel_for_nn" then
      if n.attrs.mode and n.attrs.mode ~= "nearest" or n.attrs.nearest_mode ~= "floor" then
        core.decline("the mode tf_half_pixel_for_nn")
      end
      attrs = lib.attrs(n, { coordinate_transformation_mode = "half_pixel", nearest_mode = "round_prefer_ceil" })
    end
    local crops = n.coordinate_transformation_mode == "tf_crop_and_resize"
    local scales = not is_empty(n.scales) and not n.sizes and n.scales or nil
    return lib.again(n, { n.X, crops and n.roi or nil, scales, n.sizes, n = 4 }, attrs)
  end)

-- ---- Scan over a batch: the newer Scan has none, so one runs over the samples and another inside ----

opset:raise("Scan(sequence_lens) {body, directions, num_scan_inputs}", { below = 9 }, function(g, n)
  if n.inputs[1] then core.decline("sequences of different lengths") end
  local values, specs = {}, {}
  for i = 2, n.inputs.n do
    local v = n.inputs[i]
    values[#values + 1] = v
    specs[#specs + 1] = { v.dtype, { table.unpack(lib.rank(v) and v.shape, 2) } }
  end
  local count = n.outputs.n
  local inner = { body = n.body, num_scan_inputs = n.num_scan_inputs, scan_input_directions = n.directions }
  return lib.at_newest(function()
    local body = g.body("samples", specs, function(...)
      local inputs = table.pack(...)
      return table.unpack(lib.build("Scan", inputs, inner, count))
    end)
    return table.unpack(lib.build("Scan", { n = #values, table.unpack(values) },
                                  { body = body, num_scan_inputs = #values }, count))
  end)
end)
