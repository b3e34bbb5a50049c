-- tests/rules/aten/attention.lua: what the rules in rules/aten/attention.lua build.

return {
  namespace = "aten",
  { "scaled_dot_product_attention", { query = "f32[3, 5, 4]", key = "f32[3, 6, 4]", value = "f32[3, 6, 2]" }, "f32[3, 5, 2]",
    want = "MatMul(Softmax(MatMul(Mul(query, 0.5), Transpose(key, perm={0, 2, 1})), axis=-1), value)" },
  { "scaled_dot_product_attention", { query = "f32[2, 4, 6, 8]", key = "f32[2, 2, 6, 8]", value = "f32[2, 2, 6, 8]", dropout_p = 0.0, is_causal = true, enable_gqa = true }, "f32[2, 4, 6, 8]",
    want = "MatMul(Softmax(Where(GreaterOrEqual(Unsqueeze(Range(0, 6, 1), {1}), Range(0, 6, 1)), MatMul(Mul(query, 0.353553), Transpose(Reshape(Expand(Unsqueeze(key, {2}), {2, 2, 2, 6, 8}), {2, 4, 6, 8}), perm={0, 1, 3, 2})), -inf), axis=-1), Reshape(Expand(Unsqueeze(value, {2}), {2, 2, 2, 6, 8}), {2, 4, 6, 8}))" },
}
