-- rules/target/ort_cpu.lua: in which dtypes ONNX Runtime's CPU can do what it has no kernel for, with the same result.
--
-- float64 has no wider type to be computed in.

local target = require("t2o.target").registry

-- Integers wrap when they are cast back, as they would have in their own type.
local narrow = { "int32", "int64", "uint32", "uint64", "float32", "float64" }

target:compute_in("ort_cpu", {
  bfloat16 = { "float32" },
  float16 = { "float32" },
  bool = { "uint8", "int32", "int64", "float32" },
  int8 = narrow,
  uint8 = narrow,
  int16 = narrow,
  uint16 = narrow,
  int32 = { "int64", "float64" },
  uint32 = { "int64", "uint64", "float64" },
})

target:compute_definitions_in("ort_cpu", { bfloat16 = "float32" })

-- The dtype is what these are about.
target:leave("ort_cpu", {
  "Cast", "CastLike", "BitCast", "QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear", "QLinearConv",
  "QLinearMatMul", "MatMulInteger", "ConvInteger", "If", "Loop", "Scan", "Constant", "SequenceConstruct", "SequenceAt",
  "SequenceEmpty", "SequenceInsert", "SequenceErase", "SequenceLength", "SequenceMap", "SplitToSequence",
  "ConcatFromSequence", "Optional", "OptionalGetElement", "OptionalHasElement", "Bernoulli",
})

target:casts_inputs("ort_cpu", { "float16" })

local function accumulates(attrs) return attrs.reduction and attrs.reduction ~= "none" end

target:lacks("ort_cpu", "ScatterElements", { "float16", "bfloat16" }, accumulates)
target:lacks("ort_cpu", "ScatterND", { "float16", "bfloat16" }, accumulates)

-- Without a kernel the runtime puts the operator's definition in its place, which overflows.
target:lacks("ort_cpu", "Softplus", { "float16" })
