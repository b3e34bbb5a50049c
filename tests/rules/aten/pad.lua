-- tests/rules/aten/pad.lua: what the rules in rules/aten/pad.lua build.

return {
  namespace = "aten",
  { "constant_pad_nd", { self = "f32[1, 2, 3]", pad = { 0, 2 } }, "f32[1, 2, 5]",
    want = "Pad(self, {0, 0, 0, 0, 0, 2}, 0)" },
  { "constant_pad_nd", { self = "i64[1, 3, 3]", pad = { 1, 2 }, value = 1 }, "i64[1, 3, 6]",
    want = "Pad(self, {0, 0, 1, 0, 0, 2}, 1)" },
  { "pad", { self = "f32[8, 8]", pad = { 0, 1 } }, "f32[8, 9]",
    want = "Pad(self, {0, 0, 0, 1}, 0)" },
  { "pad", { self = "i64[1, 3, 3]", pad = { 1, 2 }, mode = "constant", value = 1.0 }, "i64[1, 3, 6]",
    want = "Pad(self, {0, 0, 1, 0, 0, 2}, 1)" },
}
