-- tests/rules/aten/random.lua: what the rules in rules/aten/random.lua build.

return {
  namespace = "aten",
  { "rand", { size = { 0, 1, 3 }, dtype = "float32", pin_memory = false }, "f32[0, 1, 3]",
    want = "RandomUniform(dtype=1, high=1, low=0, shape={0, 1, 3})" },
  { "rand", { size = { 2, 3, 3 }, dtype = "float32", pin_memory = false }, "f32[2, 3, 3]",
    want = "RandomUniform(dtype=1, high=1, low=0, shape={2, 3, 3})" },
}
