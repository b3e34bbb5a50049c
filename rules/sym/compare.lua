-- rules/sym/compare.lua: conditions on sizes, where a tensor of them is needed (a predicate of cond).

local operator = require("t2o.rules").namespace("_operator")
local torch = require("t2o.rules").namespace("torch")

local function compared(op)
  return function(g, a) return g[op](g.scalar(a.a, "int64"), g.scalar(a.b, "int64")) end
end

operator:rule("lt(SymInt a, SymInt b) -> bool", compared("Less"))
operator:rule("le(SymInt a, SymInt b) -> bool", compared("LessOrEqual"))
operator:rule("gt(SymInt a, SymInt b) -> bool", compared("Greater"))
operator:rule("ge(SymInt a, SymInt b) -> bool", compared("GreaterOrEqual"))
operator:rule("eq(SymInt a, SymInt b) -> bool", compared("Equal"))
operator:rule("ne(SymInt a, SymInt b) -> bool", function(g, a) return g.Not(compared("Equal")(g, a)) end)
operator:rule("and_(SymBool a, SymBool b) -> bool", function(g, a)
  return g.And(g.scalar(a.a, "bool"), g.scalar(a.b, "bool"))
end)
operator:rule("or_(SymBool a, SymBool b) -> bool", function(g, a)
  return g.Or(g.scalar(a.a, "bool"), g.scalar(a.b, "bool"))
end)
torch:rule("sym_not(SymBool a) -> bool", function(g, a) return g.Not(g.scalar(a.a, "bool")) end)
