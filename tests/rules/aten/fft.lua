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
  { "fft_fftfreq", { n = 6 }, "f32[6]",
    want = "{0, 0.166667, 0.333333, -0.5, -0.333333, -0.166667}" },
  { "fft_fftfreq", { n = 7, d = 0.5 }, "f32[7]",
    want = "{0, 0.285714, 0.571429, 0.857143, -0.857143, -0.571429, -0.285714}" },
  { "fft_rfftfreq", { n = 6 }, "f32[4]",
    want = "{0, 0.166667, 0.333333, 0.5}" },
  { "fft_rfftfreq", { n = 7, d = 0.5 }, "f32[4]",
    want = "{0, 0.285714, 0.571429, 0.857143}" },
}
