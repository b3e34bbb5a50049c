-- tests/rules/aten/convert.lua: what the rules in rules/aten/convert.lua build.

return {
  namespace = "aten",
  { "to.device", { self = "f32[5, 5, 5, 5]", dtype = "float64", non_blocking = true, copy = true }, "f64[5, 5, 5, 5]",
    fails = "E0602" },
  { "to.device", { self = "i64[5, 5, 5, 5]", dtype = "float64", non_blocking = true, copy = true }, "f64[5, 5, 5, 5]",
    fails = "E0602" },
  { "to.dtype", { self = "f32[]", dtype = "int8" }, "i8[]",
    want = "Cast(self, to=int8)" },
  { "to.dtype", { self = "i64[]", dtype = "int8", non_blocking = false, copy = false }, "i8[]",
    want = "Cast(self, to=int8)" },
}
