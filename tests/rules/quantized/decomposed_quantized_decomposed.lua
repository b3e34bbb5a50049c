-- tests/rules/quantized/decomposed_quantized_decomposed.lua: what the rules in rules/quantized/decomposed.lua build.

return {
  namespace = "quantized_decomposed",
  { "dequantize_per_channel", { input = "i8[16, 8]", scales = "f32[16]", zero_points = "i64[16]", axis = 0, quant_min = -128, quant_max = 127, dtype = "int8" }, "f32[16, 8]",
    want = "DequantizeLinear(input, scales, Cast(zero_points, to=int8), axis=0)" },
  { "dequantize_per_tensor", { input = "i8[2, 6, 8]", scale = 0.05, zero_point = 3, quant_min = -128, quant_max = 127, dtype = "int8" }, "f32[2, 6, 8]",
    want = "DequantizeLinear(input, 0.05, 3)" },
  { "quantize_per_tensor", { input = "f32[2, 6, 8]", scale = 0.05, zero_point = 3, quant_min = -128, quant_max = 127, dtype = "int8" }, "i8[2, 6, 8]",
    want = "QuantizeLinear(input, 0.05, 3)" },
}
