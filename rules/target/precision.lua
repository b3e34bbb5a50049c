-- rules/target/precision.lua: what stays in float32 when a model is converted to 16 bits (--float16, --bfloat16).

local precision = require("t2o.precision").registry

-- Squares and sums leave the range of float16, positions and counts its 11 bits, scales of quantization their
-- exactness.
precision:keeps_float32 {
  "Pow", "Exp", "ReduceMean", "ReduceSum", "ReduceSumSquare", "ReduceL1", "ReduceL2", "ReduceLogSum",
  "ReduceLogSumExp", "ReduceProd", "CumSum", "CumProd", "Range", "Mean", "Sum", "MeanVarianceNormalization",
  "LpNormalization", "LRN", "GlobalLpPool", "LpPool", "QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear",
  "NonMaxSuppression", "RoiAlign", "GridSample", "AffineGrid", "DFT", "STFT", "Det", "Multinomial", "Bernoulli",
  -- their bodies and containers hold values whose dtype others rely on
  "If", "Loop", "Scan", "SequenceMap", "SequenceConstruct", "SequenceInsert", "SequenceAt", "SequenceErase",
  "SequenceLength", "SplitToSequence", "ConcatFromSequence", "Optional", "OptionalGetElement",
  "OptionalHasElement",
}

precision:products {
  "MatMul", "Gemm", "Conv", "ConvTranspose", "DeformConv", "Einsum", "LSTM", "GRU", "RNN", "Attention",
}
