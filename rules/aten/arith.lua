-- rules/aten/arith.lua: sums, products, quotients, remainders.

local aten = require("t2o.rules").namespace("aten")

local function scaled(b, alpha)
  return alpha == 1 and b or b * alpha
end

local function add(_, a) return a.self + scaled(a.other, a.alpha) end
local function sub(_, a) return a.self - scaled(a.other, a.alpha) end

aten:rule("add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", add)
aten:rule("add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor", add)
aten:rule("sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor", sub)
aten:rule("sub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor", sub)
aten:rule("mul.Tensor(Tensor self, Tensor other) -> Tensor", function(_, a) return a.self * a.other end)
aten:rule("mul.Scalar(Tensor self, Scalar other) -> Tensor", function(_, a) return a.self * a.other end)
aten:rule("div.Tensor(Tensor self, Tensor other) -> Tensor", function(_, a) return a.self / a.other end)
