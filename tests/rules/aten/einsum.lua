-- tests/rules/aten/einsum.lua: what the rules in rules/aten/einsum.lua build.

return {
  namespace = "aten",
  { "einsum", { equation = "i->", tensors = { "f32[3]" } }, "f32[]",
    want = "Einsum(tensors_1, equation=i->)" },
  { "einsum", { equation = "i->", tensors = { "i64[3]" } }, "i64[]",
    want = "Einsum(tensors_1, equation=i->)" },
  { "tensordot", { self = "f32[1, 1, 1]", other = "f32[2, 1, 2]", dims_self = { 0, 1 }, dims_other = { 2, 0 } }, "f32[1, 1]",
    want = "Einsum(self, other, equation=abc,bea->ce)" },
  { "tensordot", { self = "i64[2, 2, 1]", other = "i64[2, 1, 2]", dims_self = { 0, 1 }, dims_other = { 2, 0 } }, "i64[1, 1]",
    want = "Einsum(self, other, equation=abc,bea->ce)" },
}
