-- tests/rules/transformers/ops.lua: what the rules in rules/transformers/ops.lua build.

return {
  namespace = "transformers",
  { "grouped_mm_fallback", { input = "f32[48, 48]", weight = "f32[4, 48, 64]", offs = "i32[4]" }, "f32[48, 64]",
    want = "Concat(MatMul(%1=Split(input, Sub(Concat(%2=Cast(offs, to=int64), {48}, axis=0), Concat({0}, %2, axis=0)), axis=0), Gather(weight, 0, axis=0)), MatMul(%1.2, Gather(weight, 1, axis=0)), MatMul(%1.3, Gather(weight, 2, axis=0)), MatMul(%1.4, Gather(weight, 3, axis=0)), ConstantOfShape(Concat(Shape(%1.5, end=1, start=0), {64}, axis=0), value={0}), axis=0)" },
  { "grouped_mm_fallback", { input = "f32[48, 96]", weight = "f32[4, 96, 64]", offs = "i32[4]" }, "f32[48, 64]",
    want = "Concat(MatMul(%1=Split(input, Sub(Concat(%2=Cast(offs, to=int64), {48}, axis=0), Concat({0}, %2, axis=0)), axis=0), Gather(weight, 0, axis=0)), MatMul(%1.2, Gather(weight, 1, axis=0)), MatMul(%1.3, Gather(weight, 2, axis=0)), MatMul(%1.4, Gather(weight, 3, axis=0)), ConstantOfShape(Concat(Shape(%1.5, end=1, start=0), {64}, axis=0), value={0}), axis=0)" },
}
