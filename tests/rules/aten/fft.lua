-- tests/rules/aten/fft.lua: what the rules in rules/aten/fft.lua build.

return {
  namespace = "aten",
  { "fft_fftshift", { self = "f32[9, 10]" }, "f32[9, 10]",
    want = "Concat(%1=Split(Concat(%2=Split(self, {5, 4}, axis=0).2, %2, axis=0), {5, 5}, axis=1).2, %1, axis=1)" },
  { "fft_fftshift", { self = "i64[50]", dim = { 0 } }, "i64[50]",
    want = "Concat(%1=Split(self, {25, 25}, axis=0).2, %1, axis=0)" },
  { "fft_ifftshift", { self = "f32[9, 10]" }, "f32[9, 10]",
    want = "Concat(%1=Split(Concat(%2=Split(self, {4, 5}, axis=0).2, %2, axis=0), {5, 5}, axis=1).2, %1, axis=1)" },
  { "fft_ifftshift", { self = "i64[50]", dim = { 0 } }, "i64[50]",
    want = "Concat(%1=Split(self, {25, 25}, axis=0).2, %1, axis=0)" },
}
