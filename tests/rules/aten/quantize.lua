-- tests/rules/aten/quantize.lua: what the rules in rules/aten/quantize.lua build.

return {
  namespace = "aten",
  { "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams", { self = "f32[2, 3]", scale = "f32[1]", zero_point = "i32[1]", fake_quant_enabled = "i64[1]", quant_min = -128, quant_max = 127 }, { "f32[2, 3]", "bool[2, 3]" },
    nodes = 25 },
  { "fake_quantize_per_channel_affine", { self = "f32[2, 3]", scale = "f32[3]", zero_point = "i32[3]", axis = 1, quant_min = -128, quant_max = 127 }, "f32[2, 3]",
    want = "DequantizeLinear(QuantizeLinear(Mul(self, Reciprocal(Reshape(scale, {1, 3}))), {1, 1, 1}, Cast(zero_point, to=int8), axis=1), scale, Cast(zero_point, to=int8), axis=1)" },
  { "fake_quantize_per_channel_affine_cachemask", { self = "f32[2, 3]", scale = "f32[3]", zero_point = "i32[3]", axis = 1, quant_min = -128, quant_max = 127 }, { "f32[2, 3]", "bool[2, 3]" },
    want = { "DequantizeLinear(QuantizeLinear(Mul(self, Reciprocal(Reshape(scale, {1, 3}))), {1, 1, 1}, Cast(zero_point, to=int8), axis=1), scale, Cast(zero_point, to=int8), axis=1)", "And(GreaterOrEqual(%1=Add(Round(Mul(self, Reciprocal(Reshape(scale, {1, 3})))), Reshape(Cast(zero_point, to=float32), {1, 3})), -128), LessOrEqual(%1, 127))" } },
  { "fake_quantize_per_tensor_affine", { self = "f32[7]", scale = 0.1, zero_point = 0, quant_min = 0, quant_max = 15 }, "f32[7]",
    want = "DequantizeLinear(Clip(QuantizeLinear(self, 0.1, 0), 0, 15), 0.1, 0)" },
  { "fake_quantize_per_tensor_affine.tensor_qparams", { self = "f32[2, 3]", scale = "f32[1]", zero_point = "i32[1]", quant_min = -128, quant_max = 127 }, "f32[2, 3]",
    want = "DequantizeLinear(QuantizeLinear(Mul(self, Reciprocal(Reshape(scale, {}))), 1, Reshape(Cast(zero_point, to=int8), {})), Reshape(scale, {}), Reshape(Cast(zero_point, to=int8), {}))" },
  { "fake_quantize_per_tensor_affine_cachemask", { self = "f32[7]", scale = 0.1, zero_point = 0, quant_min = 0, quant_max = 15 }, { "f32[7]", "bool[7]" },
    want = { "DequantizeLinear(Clip(QuantizeLinear(self, 0.1, 0), 0, 15), 0.1, 0)", "And(GreaterOrEqual(%1=Add(Round(Mul(self, Reciprocal(0.1))), 0), 0), LessOrEqual(%1, 15))" } },
  { "_weight_int8pack_mm", { self = "f32[2, 4]", mat2 = "i8[3, 4]", scales = "f32[3]" }, "f32[2, 3]",
    want = "Mul(MatMul(self, Cast(Transpose(mat2, perm={1, 0}), to=float32)), scales)" },
}
