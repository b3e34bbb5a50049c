-- tests/rules/sym/float_torch.lua: what the rules in rules/sym/float.lua build.

return {
  namespace = "torch",
  { "sym_float", { a = "n" }, "symfloat", sizes = { "f32[n, m]" },
    want = "Cast(Squeeze(Shape(size_1, end=1, start=0), {0}), to=float64)" },
  { "_sym_sqrt", { a = "symfloat" }, "symfloat", sizes = { "f32[n, m]" },
    want = "Sqrt(Cast(a, to=float64))" },
  { "sym_float", { a = "symfloat" }, "symfloat", sizes = { "f32[n, m]" },
    want = "Cast(a, to=float64)" },
  { "sym_max", { a = "symfloat", b = "n" }, "symfloat", sizes = { "f32[n, m]" },
    want = "Max(Cast(a, to=float64), Cast(Squeeze(Shape(size_1, end=1, start=0), {0}), to=float64))" },
  { "sym_min", { a = "symfloat", b = 2.5 }, "symfloat", sizes = { "f32[n, m]" },
    want = "Min(Cast(a, to=float64), 2.5)" },
}
