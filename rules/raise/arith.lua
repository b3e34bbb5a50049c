-- rules/raise/arith.lua: arithmetic of older opsets: operands that were broadcast by an axis, limits as attributes.

local core = require("t2o.core")
local lib = require("t2o.opset")
local opset = lib.registry

-- Before opset 6 an attribute told which inputs a runtime might overwrite; it changed no result.
for _, op in ipairs {
  "Abs", "Add", "BatchNormalization", "Ceil", "Clip", "Div", "Dropout", "Elu", "Exp", "Floor",
  "HardSigmoid", "InstanceNormalization", "LeakyRelu", "Log", "Max", "Mean", "Min", "Mul", "Neg", "PRelu", "Reciprocal",
  "Relu", "Selu", "Sigmoid", "Sqrt", "Sub", "Sum", "Tanh",
} do
  opset:raise(op .. "()", { below = 6 }, function(_, n)
    if not n.attrs.consumed_inputs then return nil end
    return lib.again(n, nil, lib.attrs(n, { consumed_inputs = false }))
  end)
end

-- Before opset 7 the second operand was spread over dims of the first that begin at `axis`; without one, over the last.
for _, op in ipairs { "Add", "And", "Div", "Equal", "Greater", "Less", "Mul", "Or", "Pow", "Sub", "Xor" } do
  opset:raise(op .. "(A, B) {axis, broadcast=0}", { below = 7 }, function(g, n)
    local a, b = n.inputs[1], n.inputs[2]
    if n.broadcast == 1 and n.axis then
      local behind = lib.rank(a) - (n.axis < 0 and n.axis + a.rank or n.axis) - lib.rank(b)
      local axes = {}
      for i = 1, behind do axes[i] = b.rank + i - 1 end
      if behind > 0 then b = lib.at_newest(g.Unsqueeze, b, g.const(axes)) end
    end
    return lib.again(n, { a, b }, lib.attrs(n, { axis = false, broadcast = false }))
  end)
end

opset:raise("Gemm(A, B, C) {broadcast=0}", { below = 7 }, function(_, n)
  return lib.again(n, nil, lib.attrs(n, { broadcast = false }))
end)

-- The limits that stood for none were the largest numbers.
local LARGEST = 3.4028234e38

opset:raise("Clip(input) {min, max}", { below = 11 }, function(g, n)
  local min = n.min and n.min > -LARGEST and g.scalar(n.min, n.input) or nil
  local max = n.max and n.max < LARGEST and g.scalar(n.max, n.input) or nil
  return g.Clip(n.input, min, max)
end)

-- The slope was one number, or one for each channel.
opset:raise("PRelu(X, slope)", { below = 7 }, function(g, n)
  local rank, slope = lib.rank(n.X), n.slope
  if rank < 3 or lib.rank(slope) ~= 1 or slope:size(0) == 1 then return nil end
  local axes = {}
  for i = 1, rank - 2 do axes[i] = i end
  return lib.again(n, { n.X, lib.at_newest(g.Unsqueeze, slope, g.const(axes)) })
end)

opset:raise("Selu(X) {alpha=1.6732, gamma=1.0507}", { below = 6 }, function(_, n)
  return lib.again(n, nil, { alpha = n.alpha, gamma = n.gamma })
end)

opset:raise("TopK(X) {axis=-1, k}", { below = 10 }, function(g, n)
  return g.TopK(n.X, g.const { n.k }, { axis = n.axis, outputs = 2 })
end)

local NAMES = {
  FLOAT = "float32", UINT8 = "uint8", INT8 = "int8", UINT16 = "uint16", INT16 = "int16", INT32 = "int32",
  INT64 = "int64", BOOL = "bool", FLOAT16 = "float16", DOUBLE = "float64", UINT32 = "uint32", UINT64 = "uint64",
}

opset:raise("Cast(input) {to}", { below = 6 }, function(g, n)
  local dtype = NAMES[n.to] or core.decline("a cast to '" .. tostring(n.to) .. "'")
  return g.Cast(n.input, { to = dtype })
end)
