-- rules/sym/float.lua: arithmetic on sizes that leaves the integers; Python's floats are of double precision.

local core = require("t2o.core")
local types = require("t2o.types")
local operator = require("t2o.rules").namespace("_operator")
local torch = require("t2o.rules").namespace("torch")

-- Results that are integers are expressions: only the others need a value.
local function float(fn)
  return function(g, a, n)
    if n.outputs[1].kind ~= "symfloat" then return nil end
    local function real(x) return core.is_value(x) and x:to("float64") or x and g.scalar(x, "float64") end
    local y = fn(g, real(a.a), real(a.b))
    if y == a.a then y = g.Identity(y) end
    types.mark_wrapped(y)
    return y
  end
end

for name, op in pairs { add = "Add", sub = "Sub", mul = "Mul", truediv = "Div", pow = "Pow" } do
  operator:rule(name .. "(Scalar a, Scalar b) -> Scalar", float(function(g, x, y) return g[op](x, y) end))
end

operator:rule("mod(Scalar a, Scalar b) -> Scalar", float(function(_, x, y) return x % y end))
operator:rule("neg(Scalar a) -> Scalar", float(function(g, x) return g.Neg(x) end))
torch:rule("sym_float(Scalar a) -> Scalar", float(function(_, x) return x end))
torch:rule("_sym_sqrt(Scalar a) -> Scalar", float(function(g, x) return g.Sqrt(x) end))
torch:rule("sym_max(Scalar a, Scalar b) -> Scalar", float(function(g, x, y) return g.Max(x, y) end))
torch:rule("sym_min(Scalar a, Scalar b) -> Scalar", float(function(g, x, y) return g.Min(x, y) end))

-- Names that are put together above, for the index of rules (tools/name_hints.py):
-- "add" "mul" "pow" "sub" "truediv"
