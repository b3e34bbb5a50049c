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
