-- tests/rules/aten/attention.lua: what the rules in rules/aten/attention.lua build.

return {
  namespace = "aten",
  { "scaled_dot_product_attention", { query = "f32[4, 3, 8]", key = "f32[4, 6, 8]", value = "f32[4, 6, 8]" }, "f32[4, 3, 8]",
    want = "MatMul(Softmax(MatMul(Mul(query, 0.353553), Transpose(key, perm={0, 2, 1})), axis=-1), value)" },
  { "scaled_dot_product_attention", { query = "f32[4, 3, 8]", key = "f32[4, 6, 8]", value = "f32[4, 6, 8]", dropout_p = 0.0, is_causal = true }, "f32[4, 3, 8]",
    want = "MatMul(Softmax(Where(GreaterOrEqual(Unsqueeze(Range(0, 3, 1), {1}), Range(0, 6, 1)), MatMul(Mul(query, 0.353553), Transpose(key, perm={0, 2, 1})), -inf), axis=-1), value)" },
}
