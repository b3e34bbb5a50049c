-- tests/rules/aten/convert.lua: what the rules in rules/aten/convert.lua build.

return {
  namespace = "aten",
  { "_to_copy", { self = "f32[]", dtype = "int8" }, "i8[]",
    want = "Cast(self, to=int8)" },
  { "_to_copy", { self = "i64[5, 5, 5, 5]", dtype = "float64", non_blocking = true }, "f64[5, 5, 5, 5]",
    want = "Cast(self, to=float64)" },
  { "to.device", { self = "f32[4]", dtype = "int64" }, "i64[4]",
    fails = "E0602" },
  { "to.device", { self = "i64[5, 5, 5, 5]", dtype = "float64", non_blocking = true, copy = true }, "f64[5, 5, 5, 5]",
    fails = "E0602" },
  { "to.dtype", { self = "f32[]", dtype = "int8" }, "i8[]",
    want = "Cast(self, to=int8)" },
  { "to.dtype", { self = "i64[]", dtype = "int8", non_blocking = false, copy = false }, "i8[]",
    want = "Cast(self, to=int8)" },
  { "to.dtype_layout", { self = "f32[]", dtype = "float32" }, "f32[]",
    want = "self" },
  { "type_as", { self = "i64[4]", other = "f32[4]" }, "f32[4]",
    want = "Cast(self, to=float32)" },
}
