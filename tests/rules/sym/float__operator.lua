-- tests/rules/sym/float__operator.lua: what the rules in rules/sym/float.lua build.

return {
  namespace = "_operator",
  { "add", { a = "n", b = 0.5 }, "symfloat", sizes = { "f32[n, m]" },
    want = "Add(Cast(Squeeze(Shape(size_1, end=1, start=0), {0}), to=float64), 0.5)" },
  { "sub", { a = "n", b = 0.5 }, "symfloat", sizes = { "f32[n, m]" },
    want = "Sub(Cast(Squeeze(Shape(size_1, end=1, start=0), {0}), to=float64), 0.5)" },
  { "mul", { a = "n", b = 0.5 }, "symfloat", sizes = { "f32[n, m]" },
    want = "Mul(Cast(Squeeze(Shape(size_1, end=1, start=0), {0}), to=float64), 0.5)" },
  { "mod", { a = "n", b = 0.5 }, "symfloat", sizes = { "f32[n, m]" },
    want = "Where(And(Not(Equal(%1=Mod(Cast(Squeeze(Shape(size_1, end=1, start=0), {0}), to=float64), 0.5, fmod=1), 0)), Xor(Less(%1, 0), Less(0.5, 0))), Add(%1, 0.5), %1)" },
  { "pow", { a = "n", b = 0.5 }, "symfloat", sizes = { "f32[n, m]" },
    want = "Pow(Cast(Squeeze(Shape(size_1, end=1, start=0), {0}), to=float64), 0.5)" },
  { "truediv", { a = "n", b = "m" }, "symfloat", sizes = { "f32[n, m]" },
    want = "Div(Cast(Squeeze(Shape(size_1, end=1, start=0), {0}), to=float64), Cast(Squeeze(Shape(size_1, end=2, start=1), {0}), to=float64))" },
  { "neg", { a = "symfloat" }, "symfloat", sizes = { "f32[n, m]" },
    want = "Neg(Cast(a, to=float64))" },
  { "sub", { a = "symfloat", b = "n - 1" }, "symfloat", sizes = { "f32[n, m]" },
    want = "Sub(Cast(a, to=float64), Cast(Squeeze(Add(Shape(size_1, end=1, start=0), {-1}), {0}), to=float64))" },
}
