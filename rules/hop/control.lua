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

-- ---- along the first dimension ----

-- The dtypes and shapes of what one round sees.
local function slices(xs)
  local specs = {}
  for i, v in ipairs(xs) do specs[i] = { v.dtype, table.move(v.shape, 2, v.rank, 1, {}) } end
  return specs
end

local function states(values)
  local specs = {}
  for i, v in ipairs(values) do specs[i] = { v.dtype, v.shape } end
  return specs
end

-- fn(carried..., slices...) gives what is carried on, then what is stacked: `outputs` in all.
local function scan(g, init, xs, outputs, fn)
  local inputs = join(init, xs)
  inputs[#inputs + 1] = {
    body = g.body("body", join(states(init), slices(xs)), fn), num_scan_inputs = #xs, outputs = outputs,
  }
  return g.Scan(table.unpack(inputs))
end

hop:rule("scan(Graph combine_graph, Tensor[] init, Tensor[] xs, Tensor[] additional) -> Tensor[]", ANY,
  function(g, a, n)
    return table.unpack(scan(g, a.init, a.xs, n.outputs.n, function(...)
      return table.unpack(a.combine_graph:inline(join({ ... }, a.additional)))
    end))
  end)

for _, name in ipairs { "map_impl", "map" } do
  hop:rule(name .. "(Graph body_graph, Tensor[] xs, Tensor[] additional) -> Tensor[]", ANY, function(g, a, n)
    return table.unpack(scan(g, {}, a.xs, n.outputs.n, function(...)
      return table.unpack(a.body_graph:inline(join({ ... }, a.additional)))
    end))
  end)
end

-- The first element is its own result, which a flag tells: runtimes do not scan what is left of a single one.
hop:rule("associative_scan(Graph combine_graph, Tensor[] xs, Tensor[] additional) -> Tensor[]", ANY, function(g, a)
  local n, init = #a.xs, { g.scalar(true, "bool") }
  for i, x in ipairs(a.xs) do init[i + 1] = g.Gather(x, g.scalar(0, "int64"), { axis = 0 }) end
  local out = scan(g, init, a.xs, 1 + 2 * n, function(is_first, ...)
    local operands, results = { ... }, {}
    local combined = a.combine_graph:inline(join(operands, a.additional))
    for i = 1, n do results[i] = g.Where(is_first, operands[n + i], combined[i]) end
    return g.scalar(false, "bool"), table.unpack(join(results, results))
  end)
  return table.unpack(out, n + 2)
end)
