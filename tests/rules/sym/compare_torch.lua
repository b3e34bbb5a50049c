-- tests/rules/sym/compare_torch.lua: what the rules in rules/sym/compare.lua build.

return {
  namespace = "torch",
  { "sym_not", { a = "symbool" }, "symbool", sizes = { "f32[n, m]" },
    want = "Not(a)" },
}
