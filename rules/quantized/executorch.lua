-- rules/quantized/executorch.lua: embeddings with weights of 8 bits, as ExecuTorch adds them to torch.ao's operators.

local quant = require("t2o.quant")
local quantized = require("t2o.rules").namespace("quantized_decomposed")

-- One scale for each row, or for each of several groups of one.
local function embedding(g, a, n)
  local weight, scales = a.weight, a.weight_scales
  local groups = scales.rank == 2 and scales:size(1) or 1
  local layout = quant.layout(g, weight.shape, { 1, weight:size(1) // groups })
  local table_ = quant.dequantize(g, weight, scales, a.weight_zero_points, layout, a.weight_quant_min,
                                  a.weight_quant_max)
  return g.Gather(table_:to(scales.dtype):to(n.outputs[1].dtype), a.indices, { axis = 0 })
end

quantized:rule("embedding_byte(Tensor weight, Tensor weight_scales, Tensor? weight_zero_points, int weight_quant_min, "
               .. "int weight_quant_max, Tensor indices) -> Tensor", embedding)
quantized:rule("embedding_byte.dtype(Tensor weight, Tensor weight_scales, Tensor? weight_zero_points, "
               .. "int weight_quant_min, int weight_quant_max, Tensor indices, *, ScalarType? dtype=None) -> Tensor",
               embedding)
