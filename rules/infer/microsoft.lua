-- rules/infer/microsoft.lua: ONNX Runtime's own operators: dtypes of outputs, and shapes where they are an input's.

local core = require("t2o.core")
local infer = require("t2o.infer")

local function dtype(n, i)
  local v = n.inputs[i]
  local found = v and core.field(v, "dtype")
  return found ~= "none" and found or nil
end

-- Every output has the dtype of the first input.
for _, op in ipairs {
  "com.microsoft::Attention", "com.microsoft::BiasGelu", "com.microsoft::BiasSplitGelu", "com.microsoft::FastGelu",
  "com.microsoft::FusedConv", "com.microsoft::FusedGemm", "com.microsoft::FusedMatMul",
  "com.microsoft::FusedMatMulActivation", "com.microsoft::Gelu", "com.microsoft::GridSample",
  "com.microsoft::GroupNorm", "com.microsoft::GroupQueryAttention", "com.microsoft::Inverse",
  "com.microsoft::MatMulNBits", "com.microsoft::MultiHeadAttention", "com.microsoft::NhwcConv",
  "com.microsoft::NhwcFusedConv", "com.microsoft::NhwcMaxPool", "com.microsoft::QLinearAdd",
  "com.microsoft::QLinearAveragePool", "com.microsoft::QLinearGlobalAveragePool", "com.microsoft::QLinearLeakyRelu",
  "com.microsoft::QLinearMul", "com.microsoft::QLinearSigmoid", "com.microsoft::QLinearSoftmax",
  "com.microsoft::QuickGelu", "com.microsoft::RotaryEmbedding", "com.microsoft::SkipGroupNorm",
  "com.microsoft::SkipLayerNormalization", "com.microsoft::SkipSimplifiedLayerNormalization",
  "com.microsoft::TransposeMatMul",
} do
  infer.registry:type(op, function(n)
    local out = {}
    for i = 1, n.outputs do out[i] = dtype(n, 1) end
    return table.unpack(out, 1, n.outputs)
  end)
end

infer.registry:type({ "com.microsoft::DequantizeLinear", "com.microsoft::QLinearConcat" }, function(n)
  return dtype(n, 2)
end)

infer.registry:type("com.microsoft::QuantizeLinear", function(n) return dtype(n, 3) or "uint8" end)

infer.registry:type({ "com.microsoft::DynamicQuantizeMatMul", "com.microsoft::MatMulIntegerToFloat" }, function(n)
  return dtype(n, 3) or "float32"
end)

infer.registry:rule({
  "com.microsoft::BiasGelu", "com.microsoft::DequantizeLinear", "com.microsoft::FastGelu", "com.microsoft::Gelu",
  "com.microsoft::QLinearLeakyRelu", "com.microsoft::QLinearSigmoid", "com.microsoft::QLinearSoftmax",
  "com.microsoft::QuantizeLinear", "com.microsoft::QuickGelu", "com.microsoft::RotaryEmbedding",
  "com.microsoft::SkipLayerNormalization", "com.microsoft::SkipSimplifiedLayerNormalization",
}, function(n) return infer.shape(n, 1) end)

infer.registry:rule({ "com.microsoft::QLinearAdd", "com.microsoft::QLinearMul" }, function(n)
  local a, b = infer.shape(n, 1), infer.shape(n, 4)
  return a and b and infer.broadcast(a, b)
end)

infer.registry:rule("com.microsoft::QLinearGlobalAveragePool", function(n)
  local x = infer.shape(n, 1)
  local first = infer.attr(n, "channels_last", 0) ~= 0 and 2 or 3
  for i = first, x and #x - (3 - first) or 0 do x[i] = 1 end
  return x
end)

infer.registry:rule("com.microsoft::QLinearConcat", function(n)
  local out = infer.shape(n, 3)
  if not out then return nil end
  local axis = infer.axis(n.attrs.axis, #out)
  for i = 6, n.inputs.n, 3 do
    local x = infer.shape(n, i)
    if not x or #x ~= #out then return nil end
    out[axis] = out[axis] + x[axis]
  end
  return out
end)

-- Integers where there is a scale for them, else floats.
infer.registry:type("com.microsoft::QGemm", function(n)
  return n.inputs[8] and (dtype(n, 9) or dtype(n, 1)) or "float32"
end)

infer.registry:type("com.microsoft::QLinearWhere", function(n) return dtype(n, 2) end)
infer.registry:type("com.microsoft::QLinearReduceMean", function(n) return dtype(n, 1) end)
