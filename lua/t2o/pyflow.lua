-- lua/t2o/pyflow.lua: higher-order operators as if, while and for.
--
-- The results of the operator are variables that the branches assign to, or that a loop carries. The inputs of a body
-- stand for what it is called with (bind, before anything is built).

local core = require("t2o.core")
local text = require("t2o.pytext")
local forward = require("t2o.pyforward")
local pyrules = require("t2o.pyrules")

local M = {}

local function values_of(item)
  local out = {}
  for i, x in ipairs(item and item.value or {}) do
    if x.kind ~= "value" then core.decline("a body is called with a " .. x.kind .. ", not a value") end
    out[i] = x.value
  end
  return out
end

local function outputs_of(node)
  local out = {}
  local outs = node.outputs
  for i = 1, outs.n do out[i] = outs[i] end
  return out
end

-- ---- what the inputs of bodies stand for ----

local binders = {}

local function bind_list(model, inputs, first, values)
  for i, v in ipairs(values) do
    local input = inputs[first + i]
    if input then
      if core.field(input, "kind") == "symint" and core.signature(input).expr ~= nil then
        model.sizes[input] = true
      else
        model.alias[input] = v
        model.stands_for[v] = model.stands_for[v] or {}
        table.insert(model.stands_for[v], input)
      end
    end
  end
end

binders["higher_order::cond"] = function(model, a)
  local operands = values_of(a._items.operands)
  for _, name in ipairs { "true_graph", "false_graph" } do
    bind_list(model, M.body(model, a._items[name]).inputs, 0, operands)
  end
end

binders["higher_order::while_loop"] = function(model, a, node)
  local carried, additional = outputs_of(node), values_of(a._items.additional)
  for _, name in ipairs { "cond_graph", "body_graph" } do
    local inputs = M.body(model, a._items[name]).inputs
    bind_list(model, inputs, 0, carried)
    bind_list(model, inputs, #carried, additional)
  end
end

binders["higher_order::scan"] = function(model, a, node)
  local init, xs = values_of(a._items.init), values_of(a._items.xs)
  local inputs = M.body(model, a._items.combine_graph).inputs
  bind_list(model, inputs, 0, { table.unpack(outputs_of(node), 1, #init) })
  bind_list(model, inputs, #init + #xs, values_of(a._items.additional))
end

binders["higher_order::associative_scan"] = function(model, a)
  local xs = values_of(a._items.xs)
  local body = M.body(model, a._items.combine_graph)
  body.carried = body.carried or {}
  for i = 1, #xs do body.carried[i] = body.carried[i] or { pseudo = true } end
  bind_list(model, body.inputs, 0, body.carried)
  bind_list(model, body.inputs, 2 * #xs, values_of(a._items.additional))
end

-- The loop of rules/onnx/control.lua: its body takes the number of the round, whether it goes on, what is carried.
binders["helper::loop"] = function(model, a, node)
  local carried = values_of(a._items.carried)
  local body = M.body(model, a._items.body_graph)
  body.goes_on = body.goes_on or { pseudo = true }
  bind_list(model, body.inputs, 1, { body.goes_on, table.unpack(outputs_of(node), 1, #carried) })
  bind_list(model, body.inputs, 2 + #carried, values_of(a._items.additional))
end

binders["helper::map"] = function(model, a)
  local body, others = M.body(model, a._items.body_graph), values_of(a._items.others)
  local taken = 0
  for i, item in ipairs(a._items.is_list.value) do
    if not item.value then
      taken = taken + 1
      bind_list(model, body.inputs, i - 1, { others[taken] })
    end
  end
  bind_list(model, body.inputs, #a._items.is_list.value, values_of(a._items.additional))
end

for _, name in ipairs { "map_impl", "map" } do
  binders["higher_order::" .. name] = function(model, a)
    local xs = values_of(a._items.xs)
    bind_list(model, M.body(model, a._items.body_graph).inputs, #xs, values_of(a._items.additional))
  end
end

-- The nodes of a body that its results need.
local function needed_nodes(model, parts)
  local nodes, read, out = model.filter(parts.nodes), {}, {}
  for _, o in ipairs(parts.outputs) do
    if o.tensor then read[model.resolve(o.tensor)] = true end
  end
  for i = #nodes, 1, -1 do
    local node = nodes[i]
    local live = node.outputs.n == 0
    local outs = node.outputs
    for j = 1, outs.n do live = live or read[model.resolve(outs[j])] end
    if live then
      table.insert(out, 1, node)
      local ins = node.inputs
      for j = 1, ins.n do
        if core.is_value(ins[j]) then read[model.resolve(ins[j])] = true end
      end
    end
  end
  return out
end

--- The parts of a body, its nodes without those that only speak of sizes; made once for a model.
function M.body(model, item)
  local key = core.body_key(item.value)
  local known = model.bodies[key]
  if known then return known end
  local parts = core.parts(item.value)
  model.bodies[key] = parts
  parts.items = {}
  for i, node in ipairs(needed_nodes(model, parts)) do
    parts.items[i] = { node = node, frames = {}, chain = {} }
    local ins = node.inputs
    for j = 1, ins.n do
      if core.is_value(ins[j]) then model.body_use[ins[j]] = true end
    end
  end
  for _, o in ipairs(parts.outputs) do
    if o.tensor then model.body_use[o.tensor] = true end
  end
  return parts
end

--- The bodies of a node, also those in them.
function M.bodies_of(model, node, out)
  out = out or {}
  if not binders[node.op] then return out end
  for _, item in ipairs(core.call(node)) do
    local body = item.kind == "graph" and model.bodies[core.body_key(item.value)]
    if body then
      out[#out + 1] = body
      for _, n in ipairs(body.items) do M.bodies_of(model, n.node, out) end
    end
  end
  return out
end

--- Says what the inputs of a node's bodies stand for.
function M.bind(model, node)
  local binder = binders[node.op]
  if binder then binder(model, pyrules.bind(node), node) end
end

-- ---- statements ----

local function tuple(values, ctx)
  local parts = {}
  for i, v in ipairs(values) do parts[i] = { sub = ctx.value(v), prec = text.TERNARY } end
  return text.join(parts, ", ")
end

local function results(body)
  local out = {}
  for i, o in ipairs(body.outputs) do
    if not o.tensor then core.decline("a body that returns a number or None") end
    out[i] = o.tensor
  end
  return out
end

-- The statements of a body as a list of their own.
local function block(fn, body, finish)
  local outer = fn.statements
  fn.statements = {}
  for _, item in ipairs(body.items) do forward.node_statement(fn, item) end
  finish()
  local out = fn.statements
  fn.statements = outer
  return out
end

local function assign(fn, targets, values, ctx)
  local e = tuple(values, ctx)
  local s = { e = e, cost = 0, keeps = true, targets = #targets == 1 and targets[1] or targets }
  fn.statements[#fn.statements + 1] = s
  return s
end

local function declare(fn, values, names)
  local out = {}
  for i, v in ipairs(values) do
    out[i] = { v, names and names[i] or "x" }
    fn.locals[v] = true
    forward.add_sources(fn, v)
  end
  return out
end

forward.flow["higher_order::cond"] = function(fn, n, ctx)
  local a = pyrules.bind(n.node)
  local targets = outputs_of(n.node)
  local s = { cost = 0, kind = "if", declares = declare(fn, targets), e = ctx.value(a._items.pred.value), blocks = {} }
  for i, name in ipairs { "true_graph", "false_graph" } do
    local body = M.body(fn.model, a._items[name])
    s.blocks[i] = block(fn, body, function() assign(fn, targets, results(body), ctx) end)
  end
  function s.write(_, how, emit, depth, walk)
    emit("if " .. text.render(s.e, how) .. ":", depth)
    walk(s.blocks[1], depth + 1)
    emit("else:", depth)
    walk(s.blocks[2], depth + 1)
  end
  fn.statements[#fn.statements + 1] = s
end

forward.flow["higher_order::while_loop"] = function(fn, n, ctx)
  local a = pyrules.bind(n.node)
  local carried = outputs_of(n.node)
  local init = assign(fn, carried, values_of(a._items.carried), ctx)
  init.pinned = true
  local s = { cost = 0, kind = "while", declares = declare(fn, carried), blocks = {} }
  init.declares, s.declares = s.declares, nil
  local condition = M.body(fn.model, a._items.cond_graph)
  local body = M.body(fn.model, a._items.body_graph)
  local test = { cost = 0, e = nil, is_test = true }
  s.blocks[1] = block(fn, condition, function()
    test.e = ctx.value(results(condition)[1])
    fn.statements[#fn.statements + 1] = test
  end)
  s.blocks[2] = block(fn, body, function() assign(fn, carried, results(body), ctx) end)
  function s.write(_, how, emit, depth, walk)
    local short = #s.blocks[1] == 1
    emit(short and "while " .. text.render(test.e, how) .. ":" or "while True:", depth)
    if not short then walk(s.blocks[1], depth + 1) end
    walk(s.blocks[2], depth + 1)
  end
  function test.write(_, how, emit, depth)
    emit("if not (" .. text.render(test.e, how) .. "):", depth)
    emit("break", depth + 1)
  end
  fn.statements[#fn.statements + 1] = s
end

-- Results that are stacked are lists until the loop ends; `first` gives what they begin with.
local function stacks(fn, values, first)
  local lists = {}
  for i, v in ipairs(values) do
    if fn.model.last_use[v] then
      lists[i] = { pseudo = true }
      local e = first and text.atom("[", { ref = first[i] }, "]") or text.atom("[]")
      fn.statements[#fn.statements + 1] = { e = e, cost = 0, pinned = true, targets = lists[i],
        declares = { { lists[i], "rows" } } }
    end
  end
  return lists
end

-- What an item of an argument list says as an expression.
local function size_of(item, ctx)
  if item.kind == "value" then return ctx.value(item.value) end
  return ctx.size(item.value)
end

local function add_rows(fn, lists, made, skip, ctx)
  for i, list in pairs(lists) do
    local e = text.atom({ ref = list }, ".append(", { sub = ctx.value(made[skip + i]) }, ")")
    fn.statements[#fn.statements + 1] = { e = e, cost = 0, pinned = true }
  end
end

local function stack_rows(fn, lists, values)
  for i, list in pairs(lists) do
    forward.add_statement(fn, text.atom("torch.stack(", { ref = list }, ")"), values[i], { op = "stack" })
  end
end

-- for row in over: the body, then what finish adds
local function for_rows(fn, rows, over, body, finish)
  local s = { cost = 0, kind = "for", declares = declare(fn, rows, { "row" }), more = { over }, blocks = {} }
  s.blocks[1] = block(fn, body, function() finish(results(body)) end)
  function s.write(_, how, emit, depth, walk)
    local names = {}
    for i, v in ipairs(rows) do names[i] = how.name(v) end
    emit("for " .. table.concat(names, ", ") .. " in " .. text.render(over, how) .. ":", depth)
    walk(s.blocks[1], depth + 1)
  end
  fn.statements[#fn.statements + 1] = s
end

local function together(e, n) return n > 1 and text.atom("zip(", { sub = e }, ")") or e end

forward.flow["higher_order::scan"] = function(fn, n, ctx)
  local a = pyrules.bind(n.node)
  local init, xs, all = values_of(a._items.init), values_of(a._items.xs), outputs_of(n.node)
  local carried, stacked = { table.unpack(all, 1, #init) }, { table.unpack(all, #init + 1) }
  local body = M.body(fn.model, a._items.combine_graph)
  local rows = { table.unpack(body.inputs, #init + 1, #init + #xs) }
  if #init > 0 then
    local first = assign(fn, carried, init, ctx)
    first.pinned, first.declares = true, declare(fn, carried, { "state" })
  end
  local lists = stacks(fn, stacked)
  for_rows(fn, rows, together(tuple(xs, ctx), #xs), body, function(made)
    add_rows(fn, lists, made, #init, ctx)
    if #init > 0 then assign(fn, carried, { table.unpack(made, 1, #init) }, ctx) end
  end)
  stack_rows(fn, lists, stacked)
end

forward.flow["higher_order::associative_scan"] = function(fn, n, ctx)
  local a = pyrules.bind(n.node)
  local xs, body = values_of(a._items.xs), M.body(fn.model, a._items.combine_graph)
  local rows = { table.unpack(body.inputs, #xs + 1, 2 * #xs) }
  local parts, others = {}, {}
  for i, x in ipairs(xs) do
    parts[i] = text.atom({ sub = ctx.value(x), prec = text.ATOM }, "[0]")
    others[i] = { sub = text.atom({ sub = ctx.value(x), prec = text.ATOM }, "[1:]") }
    parts[i] = { sub = parts[i] }
  end
  fn.statements[#fn.statements + 1] = { e = text.join(parts, ", "), cost = 0, pinned = true,
    targets = #xs == 1 and body.carried[1] or body.carried, declares = declare(fn, body.carried, { "state" }) }
  local lists = stacks(fn, outputs_of(n.node), body.carried)
  for_rows(fn, rows, together(text.join(others, ", "), #xs), body, function(made)
    assign(fn, body.carried, made, ctx)
    add_rows(fn, lists, body.carried, 0, ctx)
  end)
  stack_rows(fn, lists, outputs_of(n.node))
end

local function map_rows(fn, n, ctx)
  local a = pyrules.bind(n.node)
  local xs, body = values_of(a._items.xs), M.body(fn.model, a._items.body_graph)
  local lists = stacks(fn, outputs_of(n.node))
  for_rows(fn, { table.unpack(body.inputs, 1, #xs) }, together(tuple(xs, ctx), #xs), body, function(made)
    add_rows(fn, lists, made, 0, ctx)
  end)
  stack_rows(fn, lists, outputs_of(n.node))
end

-- ---- what ONNX has and PyTorch has not ----

-- Rows as one tensor; an empty one of their shape where the loop may not have run.
local function stack_known_rows(fn, a, lists, values, ctx)
  for i, list in pairs(lists) do
    local shape, e = a._items.shapes.value[i], text.atom("torch.stack(", { ref = list }, ")")
    if shape.kind == "list" and not a.runs then
      local sizes = { "0" }
      for k, d in ipairs(shape.value) do sizes[k + 1] = text.number(d.value) end
      local empty = text.atom("torch.empty(" .. table.concat(sizes, ", ") .. ", dtype=torch." .. a.dtypes[i])
      forward.add_device(empty, ctx)
      empty[#empty + 1] = ")"
      e = text.expr(text.TERNARY, { sub = e }, " if ", { ref = list }, " else ", { sub = empty })
    end
    forward.add_statement(fn, e, values[i], { op = "stack" })
  end
end

local function used_in(body, v)
  for _, item in ipairs(body.items) do
    local ins = item.node.inputs
    for i = 1, ins.n do
      if ins[i] == v then return true end
    end
  end
  for _, o in ipairs(body.outputs) do
    if o.tensor == v then return true end
  end
  return false
end

-- Whether what says that the loop goes on stays what it is, and is read for nothing else.
local function is_steady(fn, body)
  if fn.model.resolve(results(body)[1]) ~= body.goes_on then return false end
  for _, item in ipairs(body.items) do
    local ins = item.node.inputs
    for i = 1, ins.n do
      if fn.model.resolve(ins[i]) == body.goes_on then return false end
    end
  end
  for i = 2, #body.outputs do
    if fn.model.resolve(body.outputs[i].tensor) == body.goes_on then return false end
  end
  return true
end

-- for i in range(count), for as long as `test` holds; `once`: where it holds before the first round
local function rounds(fn, a, body, test, once, ctx, finish)
  local number = body.inputs[1]
  local reads = used_in(body, number)
  local s = { cost = 0, kind = "for", blocks = {}, more = {} }
  s.declares = reads and declare(fn, { number }, { "i" }) or {}
  local count = a._items.count
  local over
  if count and count.kind ~= "none" then
    local size = { sub = size_of(count, ctx), prec = text.OR }
    over = once and text.atom("range(", size, " if ", { sub = once, prec = text.OR }, " else 0)")
      or text.atom("range(", size, ")")
  elseif reads then
    over = text.atom("itertools.count()")
  end
  if over then s.more[1] = over end
  local as_tensor = over and reads and text.atom("torch.tensor(", { ref = number })
  if as_tensor then
    forward.add_device(as_tensor, ctx)
    as_tensor[#as_tensor + 1] = ")"
    s.more[#s.more + 1] = as_tensor
  end
  if test then s.more[#s.more + 1] = text.atom({ ref = test }) end
  s.blocks[1] = block(fn, body, function() finish(results(body)) end)
  function s.write(_, how, emit, depth, walk)
    local wanted = test and how.name(test)
    if over then
      emit("for " .. (reads and how.name(number) or "_") .. " in " .. text.render(over, how) .. ":", depth)
      if wanted then
        emit("if not " .. wanted .. ":", depth + 1)
        emit("break", depth + 2)
      end
      if as_tensor then emit(how.name(number) .. " = " .. text.render(as_tensor, how), depth + 1) end
    else
      emit("while " .. (wanted or "True") .. ":", depth)
    end
    walk(s.blocks[1], depth + 1)
  end
  fn.statements[#fn.statements + 1] = s
end

forward.flow["helper::loop"] = function(fn, n, ctx)
  local a = pyrules.bind(n.node)
  local init, all = values_of(a._items.carried), outputs_of(n.node)
  local carried, stacked = { table.unpack(all, 1, #init) }, { table.unpack(all, #init + 1) }
  local body = M.body(fn.model, a._items.body_graph)
  local start = a._items.cond
  local test = start and start.kind ~= "none" and body.goes_on or nil
  local once
  if test and a._items.count.kind ~= "none" and start.kind == "value" and is_steady(fn, body) then
    test, once = nil, ctx.value(start.value)
  end
  if #init > 0 then
    local first = assign(fn, carried, init, ctx)
    first.pinned, first.declares = true, declare(fn, carried)
  end
  if test then
    fn.statements[#fn.statements + 1] = { cost = 0, pinned = true, targets = test, declares = { { test, "goes_on" } },
      e = start.kind == "value" and ctx.value(start.value) or text.atom("True") }
  end
  local lists = stacks(fn, stacked)
  rounds(fn, a, body, test, once, ctx, function(made)
    add_rows(fn, lists, made, 1 + #init, ctx)
    local targets, values = {}, {}
    for i, v in ipairs { table.unpack(made, 2, #init + 1) } do
      if fn.model.resolve(v) ~= carried[i] then targets[#targets + 1], values[#values + 1] = carried[i], v end
    end
    if test and fn.model.resolve(made[1]) ~= test then
      targets[#targets + 1], values[#values + 1] = test, made[1]
    end
    if #targets > 0 then assign(fn, targets, values, ctx) end
  end)
  stack_known_rows(fn, a, lists, stacked, ctx)
end

forward.flow["helper::map"] = function(fn, n, ctx)
  local a = pyrules.bind(n.node)
  local body, rows, lists = M.body(fn.model, a._items.body_graph), {}, values_of(a._items.lists)
  for i, item in ipairs(a._items.is_list.value) do
    if item.value then rows[#rows + 1] = body.inputs[i] end
  end
  local outs = {}
  for i, v in ipairs(outputs_of(n.node)) do
    if fn.model.last_use[v] then
      outs[i] = v
      fn.statements[#fn.statements + 1] = { e = text.atom("[]"), cost = 0, pinned = true, targets = v,
        declares = declare(fn, { v }, { "rows" }) }
    end
  end
  for_rows(fn, rows, together(tuple(lists, ctx), #lists), body, function(made) add_rows(fn, outs, made, 0, ctx) end)
end

forward.flow["higher_order::map_impl"], forward.flow["higher_order::map"] = map_rows, map_rows

return M
