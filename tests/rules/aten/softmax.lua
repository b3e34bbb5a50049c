-- tests/rules/aten/softmax.lua: what the rules in rules/aten/softmax.lua build.

return {
  namespace = "aten",
  { "_log_softmax", { self = "f32[4]", dim = 0, half_to_float = false }, "f32[4]",
    want = "LogSoftmax(self, axis=0)" },
  { "_safe_softmax", { self = "f32[10]", dim = 0 }, "f32[10]",
    want = "Where(Equal(ReduceMax(self, {0}), -inf), 0, Softmax(self, axis=0))" },
  { "_softmax", { self = "f32[]", dim = 0, half_to_float = false }, "f32[]",
    want = "Reshape(Softmax(Reshape(self, {1}), axis=0), {})" },
  { "_softmax", { self = "f64[]", dim = 0, half_to_float = false }, "f64[]",
    want = "Reshape(Softmax(Reshape(self, {1}), axis=0), {})" },
  { "_softmax_backward_data", { grad_output = "f32[5]", output = "f32[5]", dim = 0, input_dtype = "float32" }, "f32[5]",
    want = "Sub(%1=Mul(grad_output, output), Mul(output, ReduceSum(%1, {0})))" },
  { "log_softmax.int", { self = "f32[]", dim = 0 }, "f32[]",
    want = "Reshape(LogSoftmax(Reshape(self, {1}), axis=0), {})" },
  { "log_softmax.int", { self = "i64[]", dim = 0, dtype = "float64" }, "f64[]",
    want = "Reshape(LogSoftmax(Reshape(Cast(self, to=float64), {1}), axis=0), {})" },
  { "softmax.int", { self = "f32[]", dim = 0 }, "f32[]",
    want = "Reshape(Softmax(Reshape(self, {1}), axis=0), {})" },
  { "softmax.int", { self = "i64[]", dim = 0, dtype = "float64" }, "f64[]",
    want = "Reshape(Softmax(Reshape(Cast(self, to=float64), {1}), axis=0), {})" },
}
