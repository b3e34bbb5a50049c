-- tests/rules/aten/embedding.lua: what the rules in rules/aten/embedding.lua build.

return {
  namespace = "aten",
  { "_embedding_bag_forward_only", { weight = "f32[10, 5]", indices = "i64[5]", offsets = "i64[2]", scale_grad_by_freq = false, mode = 0, sparse = false, per_sample_weights = "f32[5]" }, { "f32[2, 5]", "i64[0]", "i64[2]", "i64[2]" },
    fails = "E0604" },
  { "embedding", { weight = "f32[10, 5]", indices = "i64[]" }, "f32[5]",
    want = "Gather(weight, indices, axis=0)" },
  { "embedding", { weight = "f32[5, 5]", indices = "i64[2, 2]", padding_idx = -1, scale_grad_by_freq = true }, "f32[2, 2, 5]",
    want = "Gather(weight, indices, axis=0)" },
  { "embedding_bag.padding_idx", { weight = "f32[5, 5]", indices = "i64[6]", offsets = "i64[3]", scale_grad_by_freq = false, mode = 0, sparse = false, include_last_offset = true }, { "f32[2, 5]", "i64[0]", "i64[3]", "i64[2]" },
    fails = "E0604" },
  { "embedding_bag.padding_idx", { weight = "f32[5, 5]", indices = "i64[9]", offsets = "i64[3]", scale_grad_by_freq = false, mode = 0, sparse = false, include_last_offset = false, padding_idx = 2 }, { "f32[3, 5]", "i64[9]", "i64[3]", "i64[3]" },
    fails = "E0604" },
  { "one_hot", { self = "i64[]", num_classes = 10 }, "i64[10]",
    want = "Cast(Equal(Unsqueeze(self, {-1}), {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}), to=int64)" },
}
