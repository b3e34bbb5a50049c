-- rules/aten/foreach.lua: ops on lists of tensors, each of which another rule takes.

local aten = require("t2o.rules").namespace("aten")

-- fn(i-th tensor, i) for each of a list
local function over(list, fn)
  local out = {}
  for i = 1, list.n or #list do out[i] = fn(list[i], i) end
  return out
end

aten:rule("_foreach_clone(Tensor[] self, *, MemoryFormat? memory_format=None) -> Tensor[]", function(_, a)
  return over(a.self, function(x) return x end)
end)

for _, name in ipairs {
  "abs", "acos", "asin", "atan", "ceil", "cos", "cosh", "erf", "erfc", "exp", "expm1", "floor", "frac",
  "lgamma", "log", "log10", "log1p", "log2", "max", "neg", "reciprocal", "round", "rsqrt", "sigmoid", "sign", "sin",
  "sinh", "sqrt", "tan", "tanh", "trunc",
} do
  aten:rule("_foreach_" .. name .. "(Tensor[] self) -> Tensor[]", function(g, a)
    return over(a.self, function(x) return g.aten[name](x) end)
  end)
end

-- Pairs: with one number, with a list of numbers, or with a list of tensors.
local function pairwise(name, op, by_number)
  aten:rule("_foreach_" .. name .. ".Scalar(Tensor[] self, Scalar scalar) -> Tensor[]", function(g, a)
    return over(a.self, function(x) return g.aten[by_number](x, a.scalar) end)
  end)
  aten:rule("_foreach_" .. name .. ".ScalarList(Tensor[] self, Scalar[] scalars) -> Tensor[]", function(g, a)
    return over(a.self, function(x, i) return g.aten[by_number](x, a.scalars[i]) end)
  end)
  local alpha = (name == "add" or name == "sub") and ", *, Scalar alpha=1" or ""
  aten:rule("_foreach_" .. name .. ".List(Tensor[] self, Tensor[] other" .. alpha .. ") -> Tensor[]", function(g, a)
    return over(a.self, function(x, i)
      if a.alpha then return g.aten[op](x, a.other[i], a.alpha) end
      return g.aten[op](x, a.other[i])
    end)
  end)
end

pairwise("add", "add.Tensor", "add.Scalar")
pairwise("sub", "sub.Tensor", "sub.Scalar")
pairwise("mul", "mul.Tensor", "mul.Scalar")
pairwise("div", "div.Tensor", "div.Scalar")
pairwise("clamp_min", "maximum", "clamp_min")
pairwise("clamp_max", "minimum", "clamp_max")
pairwise("maximum", "maximum", "clamp_min")
pairwise("minimum", "minimum", "clamp_max")

aten:rule("_foreach_add.Tensor(Tensor[] self, Tensor other, *, Scalar alpha=1) -> Tensor[]", function(g, a)
  return over(a.self, function(x) return g.aten["add.Tensor"](x, a.other, a.alpha) end)
end)
for _, name in ipairs { "mul", "div" } do
  aten:rule("_foreach_" .. name .. ".Tensor(Tensor[] self, Tensor other) -> Tensor[]", function(g, a)
    return over(a.self, function(x) return g.aten[name .. ".Tensor"](x, a.other) end)
  end)
end

for _, name in ipairs { "addcmul", "addcdiv" } do
  local op = "_foreach_" .. name
  aten:rule(op .. ".Scalar(Tensor[] self, Tensor[] tensor1, Tensor[] tensor2, Scalar value=1) -> Tensor[]",
            function(g, a)
    return over(a.self, function(x, i) return g.aten[name](x, a.tensor1[i], a.tensor2[i], a.value) end)
  end)
  aten:rule(op .. ".ScalarList(Tensor[] self, Tensor[] tensor1, Tensor[] tensor2, Scalar[] scalars) -> Tensor[]",
            function(g, a)
    return over(a.self, function(x, i) return g.aten[name](x, a.tensor1[i], a.tensor2[i], a.scalars[i]) end)
  end)
end

aten:rule("_foreach_lerp.List(Tensor[] self, Tensor[] tensors1, Tensor[] weights) -> Tensor[]", function(g, a)
  return over(a.self, function(x, i) return g.aten["lerp.Tensor"](x, a.tensors1[i], a.weights[i]) end)
end)
aten:rule("_foreach_lerp.Scalar(Tensor[] self, Tensor[] tensors1, Scalar weight) -> Tensor[]", function(g, a)
  return over(a.self, function(x, i) return g.aten["lerp.Scalar"](x, a.tensors1[i], a.weight) end)
end)
aten:rule("_foreach_lerp.ScalarList(Tensor[] self, Tensor[] tensors1, Scalar[] weight) -> Tensor[]", function(g, a)
  return over(a.self, function(x, i) return g.aten["lerp.Scalar"](x, a.tensors1[i], a.weight[i]) end)
end)

aten:rule("_foreach_pow.Scalar(Tensor[] self, Scalar exponent) -> Tensor[]", function(g, a)
  return over(a.self, function(x) return g.aten["pow.Tensor_Scalar"](x, a.exponent) end)
end)
aten:rule("_foreach_pow.ScalarList(Tensor[] self, Scalar[] exponent) -> Tensor[]", function(g, a)
  return over(a.self, function(x, i) return g.aten["pow.Tensor_Scalar"](x, a.exponent[i]) end)
end)
aten:rule("_foreach_pow.List(Tensor[] self, Tensor[] exponent) -> Tensor[]", function(g, a)
  return over(a.self, function(x, i) return g.aten["pow.Tensor_Tensor"](x, a.exponent[i]) end)
end)
aten:rule("_foreach_pow.ScalarAndTensor(Scalar self, Tensor[] exponent) -> Tensor[]", function(g, a)
  return over(a.exponent, function(x) return g.aten["pow.Scalar"](a.self, x) end)
end)

aten:rule("_foreach_norm.Scalar(Tensor[] self, Scalar ord=2, ScalarType? dtype=None) -> Tensor[]", function(g, a)
  return over(a.self, function(x) return g.aten.linalg_vector_norm(x, a.ord, nil, false, a.dtype) end)
end)

-- Names that are put together above, for the index of rules (tools/name_hints.py):
-- "_foreach_abs" "_foreach_acos" "_foreach_add.List" "_foreach_add.Scalar" "_foreach_add.ScalarList"
-- "_foreach_addcdiv.Scalar" "_foreach_addcdiv.ScalarList" "_foreach_addcmul.Scalar"
-- "_foreach_addcmul.ScalarList" "_foreach_asin" "_foreach_atan" "_foreach_ceil"
-- "_foreach_clamp_max.List" "_foreach_clamp_max.Scalar" "_foreach_clamp_max.ScalarList"
-- "_foreach_clamp_min.List" "_foreach_clamp_min.Scalar" "_foreach_clamp_min.ScalarList" "_foreach_cos"
-- "_foreach_cosh" "_foreach_div.List" "_foreach_div.Scalar" "_foreach_div.ScalarList"
-- "_foreach_div.Tensor" "_foreach_erf" "_foreach_erfc" "_foreach_exp" "_foreach_expm1"
-- "_foreach_floor" "_foreach_frac" "_foreach_lgamma" "_foreach_log" "_foreach_log10" "_foreach_log1p"
-- "_foreach_log2" "_foreach_max" "_foreach_maximum.List" "_foreach_maximum.Scalar"
-- "_foreach_maximum.ScalarList" "_foreach_minimum.List" "_foreach_minimum.Scalar"
-- "_foreach_minimum.ScalarList" "_foreach_mul.List" "_foreach_mul.Scalar" "_foreach_mul.ScalarList"
-- "_foreach_mul.Tensor" "_foreach_neg" "_foreach_reciprocal" "_foreach_round" "_foreach_rsqrt"
-- "_foreach_sigmoid" "_foreach_sign" "_foreach_sin" "_foreach_sinh" "_foreach_sqrt"
-- "_foreach_sub.List" "_foreach_sub.Scalar" "_foreach_sub.ScalarList" "_foreach_tan" "_foreach_tanh"
-- "_foreach_trunc"
