-- tests/rules/aten/dropout.lua: what the rules in rules/aten/dropout.lua build.

return {
  namespace = "aten",
  { "alpha_dropout", { input = "f32[]", p = 0.0, train = true }, "f32[]",
    want = "Identity(input)" },
  { "dropout", { input = "f32[]", p = 0.0, train = true }, "f32[]",
    want = "Identity(input)" },
  { "feature_alpha_dropout", { input = "f32[]", p = 0.0, train = false }, "f32[]",
    want = "Identity(input)" },
  { "feature_alpha_dropout", { input = "i64[]", p = 0.5, train = false }, "i64[]",
    want = "Identity(input)" },
  { "feature_dropout", { input = "f32[5, 5, 5]", p = 0.0, train = true }, "f32[5, 5, 5]",
    want = "Identity(input)" },
  { "native_dropout_backward", { grad_output = "f32[]", mask = "bool[]", scale = 0.0 }, "f32[]",
    want = "Mul(Mul(grad_output, Cast(mask, to=float32)), 0)" },
  { "native_dropout_backward", { grad_output = "i64[]", mask = "bool[]", scale = 2.0 }, "f32[]",
    want = "Mul(Cast(Mul(grad_output, Cast(mask, to=int64)), to=float32), 2)" },
  { "native_dropout", { input = "f32[2, 3]", p = 0.5, train = false }, { "f32[2, 3]", "bool[2, 3]" },
    want = { "Identity(input)", "{true, true, true, true, true, true}" } },
}
