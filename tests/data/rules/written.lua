-- tests/data/rules/written.lua: operators that write their arguments: their rules give the new values behind the results.

local written = require("t2o.rules").namespace("written")

written:rule("bump(Tensor(a!) x, float by) -> Tensor", function(g, a)
  local x = a.x + a.by
  return x * 2.0, x
end)

written:rule("scale(Tensor(a!)[] xs, Tensor by, Tensor(b!)? total) -> ()", function(g, a)
  local xs = {}
  for i, x in ipairs(a.xs) do xs[i] = x * a.by end
  return xs, a.total and a.total + a.by
end)
