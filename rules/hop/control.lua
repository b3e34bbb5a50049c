-- rules/hop/control.lua: control flow.

local hop = require("t2o.rules").namespace("higher_order")

local ANY = { complex = "both" } -- numbers

-- Operands are tensors and sizes; a size is an expression inside the body too.
local function join(first, second)
  local out = {}
  for i = 1, first.n or #first do out[#out + 1] = first[i] end
  for i = 1, second.n or #second do out[#out + 1] = second[i] end
  return out
end

hop:rule("cond(Tensor pred, Graph true_graph, Graph false_graph, Tensor[] operands) -> Tensor[]", ANY, function(g, a, n)
  local pred = a.pred
  if pred.rank > 0 then pred = g.reshape(pred, {}) end
  return table.unpack(g.If(pred:to("bool"), {
    then_branch = a.true_graph:as_body(a.operands),
    else_branch = a.false_graph:as_body(a.operands),
    outputs = n.outputs.n,
  }))
end)

-- The condition is computed before the loop, and at the end of each round for the next.
hop:rule("while_loop(Graph cond_graph, Graph body_graph, Tensor[] carried, Tensor[] additional) -> Tensor[]", ANY,
  function(g, a)
    local specs = { { "int64", {} }, { "bool", {} } }
    for i, v in ipairs(a.carried) do specs[i + 2] = { v.dtype, v.shape } end
    local first = a.cond_graph:inline(join(a.carried, a.additional))[1]
    local body = g.body("body", specs, function(_, _, ...)
      local changed = a.body_graph:inline(join({ ... }, a.additional))
      local again = a.cond_graph:inline(join(changed, a.additional))[1]
      return again, table.unpack(changed)
    end)
    local inputs = join({ first }, a.carried)
    inputs[#inputs + 1] = { body = body, outputs = #a.carried }
    return table.unpack(g.Loop(nil, table.unpack(inputs)))
  end)

-- Along the first dimension; what is carried comes first in what the body takes and gives.
hop:rule("scan(Graph combine_graph, Tensor[] init, Tensor[] xs, Tensor[] additional) -> Tensor[]", function(g, a, n)
  local specs = {}
  for i, v in ipairs(a.init) do specs[i] = { v.dtype, v.shape } end
  for _, v in ipairs(a.xs) do
    specs[#specs + 1] = { v.dtype, table.move(v.shape, 2, v.rank, 1, {}) }
  end
  local body = g.body("body", specs, function(...)
    return table.unpack(a.combine_graph:inline(join({ ... }, a.additional)))
  end)
  local inputs = join(a.init, a.xs)
  inputs[#inputs + 1] = { body = body, num_scan_inputs = #a.xs, outputs = n.outputs.n }
  return table.unpack(g.Scan(table.unpack(inputs)))
end)
