-- rules/infer/elementwise.lua: outputs shaped as an input, or as inputs broadcast together.

local infer = require("t2o.infer")

local function same(n) return infer.shape(n, 1) end

local function all_same(n)
  local x = infer.shape(n, 1)
  return x, x, x
end

local function broadcast_all(n)
  local out = {}
  for i = 1, n.inputs.n do
    local shape = infer.shape(n, i)
    if not shape then return nil end
    out = infer.broadcast(out, shape)
  end
  return out
end

infer.registry:rule({
  "Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Bernoulli", "BitCast", "BitwiseNot",
  "Cast", "CastLike", "Ceil", "Celu", "Clip", "Cos", "Cosh", "CumProd", "CumSum", "Elu", "Erf",
  "Exp", "EyeLike", "Floor", "Gelu", "HardSigmoid", "HardSwish", "Hardmax", "Identity", "IsInf",
  "IsNaN", "LeakyRelu", "Log", "LogSoftmax", "Mish", "Neg", "Not", "PRelu", "RandomNormalLike",
  "RandomUniformLike", "Reciprocal", "RegexFullMatch", "Relu", "ReverseSequence", "Round",
  "Scatter", "ScatterElements", "ScatterND", "Selu", "Shrink", "Sigmoid", "Sign", "Sin", "Sinh",
  "Softmax", "Softplus", "Softsign", "Sqrt", "SwiGLU", "Swish", "Tan", "Tanh", "TensorScatter",
  "ThresholdedRelu", "Trilu",
}, same)

infer.registry:rule({
  "Add", "And", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitShift", "Div", "Equal", "Greater",
  "GreaterOrEqual", "Less", "LessOrEqual", "Max", "Mean", "Min", "Mod", "Mul", "Or", "Pow",
  "StringConcat", "Sub", "Sum", "Where", "Xor",
}, broadcast_all)

infer.registry:rule("Dropout", all_same)
