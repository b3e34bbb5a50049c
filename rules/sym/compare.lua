-- rules/sym/compare.lua: conditions on sizes, where a tensor of them is needed (a predicate of cond).

local core = require("t2o.core")
local types = require("t2o.types")
local operator = require("t2o.rules").namespace("_operator")
local torch = require("t2o.rules").namespace("torch")

local function is_float(x)
  if core.is_value(x) then return types.is_float(x.dtype) end
  return math.type(x) == "float"
end

local function compared(op)
  return function(g, a)
    local dtype = (is_float(a.a) or is_float(a.b)) and "float64" or "int64"
    return g[op](g.scalar(a.a, dtype), g.scalar(a.b, dtype))
  end
end

operator:rule("lt(Scalar a, Scalar b) -> bool", compared("Less"))
operator:rule("le(Scalar a, Scalar b) -> bool", compared("LessOrEqual"))
operator:rule("gt(Scalar a, Scalar b) -> bool", compared("Greater"))
operator:rule("ge(Scalar a, Scalar b) -> bool", compared("GreaterOrEqual"))
operator:rule("eq(Scalar a, Scalar b) -> bool", compared("Equal"))
operator:rule("ne(Scalar a, Scalar b) -> bool", function(g, a) return g.Not(compared("Equal")(g, a)) end)
operator:rule("and_(SymBool a, SymBool b) -> bool", function(g, a)
  return g.And(g.scalar(a.a, "bool"), g.scalar(a.b, "bool"))
end)
operator:rule("or_(SymBool a, SymBool b) -> bool", function(g, a)
  return g.Or(g.scalar(a.a, "bool"), g.scalar(a.b, "bool"))
end)
torch:rule("sym_not(SymBool a) -> bool", function(g, a) return g.Not(g.scalar(a.a, "bool")) end)
