-- tests/rules/quantized/executorch.lua: what the rules in rules/quantized/executorch.lua build.

return {
  namespace = "quantized_decomposed",
  { "embedding_byte", { weight = "i8[9, 32]", weight_scales = "f32[9]", weight_zero_points = "i8[9]", weight_quant_min = -128, weight_quant_max = 127, indices = "i64[n]" }, "f32[n, 32]",
    want = "Gather(DequantizeLinear(weight, weight_scales, weight_zero_points, axis=0), indices, axis=0)" },
  { "embedding_byte.dtype", { weight = "i8[9, 32]", weight_scales = "f32[9, 4]", weight_quant_min = -128, weight_quant_max = 127, indices = "i64[n]", dtype = "float16" }, "f16[n, 32]",
    want = "Gather(Cast(DequantizeLinear(weight, weight_scales, axis=1, block_size=8), to=float16), indices, axis=0)" },
}
