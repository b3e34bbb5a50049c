-- lua/t2o/pyforward.lua: the body of a forward method: statements from nodes, what is put into one line, names.
--
-- A function is { call, module, inputs, outputs, statements }; a statement { targets, e, single, pinned, cost, hints }.
-- Values of the graph stand for variables until names are given at the end.

local core = require("t2o.core")
local text = require("t2o.pytext")
local pyrules = require("t2o.pyrules")
local tree = require("t2o.pytree")
local util = require("t2o.util")

local M = {}

local MAX_TARGETS = 70 -- columns, before they are broken into lines
local MAX_COST, MAX_WIDTH = 6, 92 -- of a statement that takes in those before it

-- ---- sizes ----

local FUNCTIONS = {
  Max = "max", Min = "min", TruncToInt = "int", FloorToInt = "math.floor", CeilToInt = "math.ceil",
  RoundToInt = "round",
}
local SIGNS = {
  FloatTrueDiv = { "/", text.PRODUCT }, IntTrueDiv = { "/", text.PRODUCT }, FloatPow = { "**", text.POWER },
  FloorDiv = { "//", text.PRODUCT }, CleanDiv = { "//", text.PRODUCT }, Mod = { "%", text.PRODUCT },
  PythonMod = { "%", text.PRODUCT }, Pow = { "**", text.POWER }, PowByNatural = { "**", text.POWER },
}

local size_expr

local COMPARISONS = {
  StrictGreaterThan = ">", GreaterThan = ">=", StrictLessThan = "<", LessThan = "<=", Equality = "==", Eq = "==",
  Unequality = "!=", Ne = "!=",
}

-- value if condition else value
local function piecewise_expr(fn, dim)
  local out
  for i = #dim.args, 1, -1 do
    local value, condition = dim.args[i].args[1], dim.args[i].args[2]
    local sign = COMPARISONS[condition.name]
    if not out and condition.name ~= "true" or out and not sign then
      core.decline("the size " .. tostring(dim) .. " has no form in Python")
    end
    local e = size_expr(fn, value)
    out = out and text.expr(text.TERNARY, { sub = e, prec = text.TERNARY + 1 }, " if ",
      { sub = size_expr(fn, condition.args[1]), prec = text.TERNARY + 1 }, " " .. sign .. " ",
      { sub = size_expr(fn, condition.args[2]), prec = text.TERNARY + 1 }, " else ",
      { sub = out, prec = text.TERNARY }) or e
  end
  return out
end

local function call_expr(fn, dim)
  local args = dim.args
  local sign = SIGNS[dim.name]
  if sign and #args == 2 then
    return text.expr(sign[2], { sub = size_expr(fn, args[1]), prec = sign[2] }, " " .. sign[1] .. " ",
      { sub = size_expr(fn, args[2]), prec = sign[2] + 1 })
  end
  if dim.name == "ToFloat" then return size_expr(fn, args[1]) end -- all operators take integers too
  if dim.name == "Float" then return text.atom({ lit = text.number(tonumber(args[1].name)), name = "size" }) end
  if dim.name == "Piecewise" then return piecewise_expr(fn, dim) end
  if not FUNCTIONS[dim.name] then core.decline("the size " .. tostring(dim) .. " has no form in Python") end
  local parts = {}
  for i, x in ipairs(args) do parts[i] = { sub = size_expr(fn, x), prec = text.TERNARY } end
  local out = text.join(parts, ", ")
  table.insert(out, 1, FUNCTIONS[dim.name] .. "(")
  out[#out + 1] = ")"
  return out
end

-- coefficient and the rest of a term
local function term(x)
  if math.type(x) then return x, nil end
  if x.kind == "mul" and math.type(x.args[1]) then return x.args[1], x end
  return 1, x
end

local function sum_expr(fn, dim)
  local terms = {}
  for _, x in ipairs(dim.args) do -- those that are added come first
    local k = term(x)
    table.insert(terms, k < 0 and #terms + 1 or 1, x)
  end
  local positive, negative = {}, {}
  for _, x in ipairs(dim.args) do
    local list = term(x) < 0 and negative or positive
    list[#list + 1] = x
  end
  local out = { prec = text.SUM }
  for i, x in ipairs(positive) do
    if i > 1 then out[#out + 1] = " + " end
    out[#out + 1] = { sub = size_expr(fn, x), prec = text.SUM }
  end
  for _, x in ipairs(negative) do
    out[#out + 1] = #out > 0 and " - " or "-"
    out[#out + 1] = { sub = size_expr(fn, -x), prec = text.PRODUCT }
  end
  return out
end

local function mul_expr(fn, dim)
  local out = { prec = text.PRODUCT }
  for i, x in ipairs(dim.args) do
    if i > 1 then out[#out + 1] = " * " end
    -- a division behind the sign takes parentheses: 2 * (n // 2)
    out[#out + 1] = { sub = size_expr(fn, x), prec = i > 1 and text.PRODUCT + 1 or text.PRODUCT }
  end
  return out
end

local function symbol_expr(fn, name)
  local source = fn.sources[name]
  if not source then
    source = { value = { symbol = name } }
    fn.sources[name] = source
    fn.sizes[#fn.sizes + 1] = source.value
  end
  if not source.axis then return text.atom({ ref = source.value }) end
  local out = text.atom({ ref = source.value, prec = text.ATOM }, ".shape[" .. source.axis .. "]")
  if source.add ~= 0 then
    local sign = source.add > 0 and " - " or " + "
    out = text.expr(text.SUM, { sub = out, prec = text.SUM }, sign .. math.abs(source.add))
  end
  if source.mul ~= 1 then
    out = text.expr(text.PRODUCT, { sub = out, prec = text.PRODUCT }, " // " .. source.mul)
  end
  return out
end

function size_expr(fn, dim)
  if math.type(dim) then
    local out = text.number(dim)
    return text.expr(dim < 0 and text.UNARY or text.ATOM, { lit = out, name = "size" })
  end
  local kind = dim.kind
  if kind == "symbol" then return symbol_expr(fn, dim.name) end
  if kind == "add" then return sum_expr(fn, dim) end
  if kind == "mul" then return mul_expr(fn, dim) end
  return call_expr(fn, dim)
end

-- x as mul * symbol + add
local function linear(x)
  local mul, add = 1, 0
  if x.kind == "add" and #x.args == 2 and math.type(x.args[2]) then add, x = x.args[2], x.args[1] end
  if not math.type(x) and x.kind == "mul" and #x.args == 2 and math.type(x.args[1]) then
    mul, x = x.args[1], x.args[2]
  end
  if not math.type(x) and x.kind == "symbol" and mul > 0 then return x.name, mul, add end
end

-- Sizes that can be read from a value; `as` is itself, or an input of a body that it stands for.
local function add_shape(fn, v, as)
  if not core.field(as, "known_rank") then return end
  for i, dim in ipairs(core.field(as, "shape")) do
    local name, mul, add
    if core.is_dim(dim) then name, mul, add = linear(dim) end
    local known = name and fn.sources[name]
    if name and (not known or (known.axis and (known.mul ~= 1 or known.add ~= 0) and mul == 1 and add == 0)) then
      fn.sources[name] = { value = v, axis = i - 1, mul = mul, add = add }
    end
  end
end

local function add_sources(fn, v)
  if not core.is_value(v) then return end -- a list that a loop fills, say: it has no size to read
  local kind = core.field(v, "kind")
  if kind == "symint" then
    local expr = core.signature(v).expr
    if core.is_dim(expr) and expr.kind == "symbol" and not fn.sources[expr.name] then
      fn.sources[expr.name] = { value = v }
    end
    return
  end
  if kind ~= "tensor" then return end
  add_shape(fn, v, v)
  for _, input in ipairs(fn.model.stands_for[v] or {}) do add_shape(fn, v, input) end
end

-- ---- values ----

local function is_local(fn, v)
  local order = fn.model.order_of[v]
  return fn.locals[v] or (order and order >= fn.call.first and order <= fn.call.last)
end

local function add_input(fn, v)
  if fn.is_input[v] or is_local(fn, v) then return end
  fn.is_input[v] = true
  fn.inputs[#fn.inputs + 1] = v
  add_sources(fn, v)
end

-- An operand that is a variable here: nil for weights, known sizes and numbers.
local function variable(fn, v)
  local model = fn.model
  v = model.resolve(v)
  if model.weights[v] and model.is_inside(fn, model.weights[v]) then return nil end
  if model.is_size(v) then return nil end
  return v
end

local function scalar_text(x, dtype)
  if type(x) == "boolean" then return x and "True" or "False" end
  if math.type(x) == "integer" and (dtype:find("^float") or dtype == "bfloat16") then x = x + 0.0 end
  if dtype == "uint64" and x < 0 then return string.format("0x%x", x) end
  if dtype == "float32" then x = util.shortest(x) end
  return text.number(x)
end

local NATURAL = { float32 = true, int64 = true, bool = true }

-- Strings are arrays of objects.
local function inline_strings(v)
  local shape, values = core.field(v, "shape"), {}
  for i, x in ipairs(core.elements(v)) do values[i] = text.quote(x) end
  local out = "np.array(" .. (#shape == 0 and values[1] or "[" .. table.concat(values, ", ") .. "]")
  local reshape = #shape > 1 and ".reshape(" .. table.concat(shape, ", ") .. ")" or ""
  return text.atom(out .. ", dtype=object)" .. reshape)
end

-- Operators whose operands may be a number of the CPU beside tensors of another device.
local MIXES = {}
for name in ([[add sub rsub mul div remainder fmod floor_divide pow eq ne lt le gt ge where maximum minimum clamp
  bitwise_and bitwise_or bitwise_xor logical_and logical_or logical_xor __and__ __or__ __xor__ atan2]]):gmatch("%S+") do
  MIXES[name] = true
end

-- Puts where the inputs are to the call of a function that makes a tensor.
local function add_device(e, ctx)
  local device = ctx.device()
  if device then e[#e + 1], e[#e + 2] = ", device=", { sub = device } end
end

M.add_device = add_device

-- A small constant as torch.tensor(...)
local function inline_constant(v, ctx)
  local dtype = core.field(v, "dtype")
  if dtype == "string" then return inline_strings(v) end
  local shape = core.field(v, "shape")
  local values = {}
  for i, x in ipairs(core.elements(v, 8)) do values[i] = scalar_text(x, dtype) end
  local inner = table.concat(values, ", ")
  if #shape == 1 then inner = "[" .. inner .. "]" end
  local suffix = NATURAL[dtype] and "" or ", dtype=torch." .. dtype
  local out = text.atom("torch.tensor(", { lit = inner, name = "constant" }, suffix)
  if #shape > 0 or not MIXES[ctx.op] then add_device(out, ctx) end
  out[#out + 1] = ")"
  return out
end

local function context(fn)
  local ctx = { fn = fn }
  function ctx.value(v)
    v = fn.model.resolve(v)
    local weight = fn.model.weights[v]
    if weight and fn.model.is_inside(fn, weight) then
      if weight.inline then return inline_constant(v, ctx) end
      return text.atom(fn.model.weight_access(fn, weight))
    end
    if core.is_value(v) and fn.model.is_size(v) then return size_expr(fn, core.signature(v).expr) end
    return text.atom({ ref = v })
  end
  function ctx.size(dim) return size_expr(fn, dim) end
  function ctx.device()
    for _, v in ipairs(fn.inputs) do
      local is_tensor = core.field(v, "kind") == "tensor" and core.field(v, "dtype") ~= "string"
      if is_tensor then return text.atom({ ref = v }, ".device") end
    end
    for _, tensor in ipairs(fn.module and fn.module.tensors or {}) do
      if text.is_identifier(tensor.leaf) then return text.atom("self." .. tensor.leaf .. ".device") end
    end
  end
  function ctx.variable(v) return variable(fn, v) end
  return ctx
end

-- ---- statements ----

local function cost_of(e)
  local cost = e.cost or 0
  for _, part in ipairs(e) do
    if type(part) == "string" then
      local _, n = part:gsub("%(", "")
      cost = cost + n
    elseif part.sub then
      cost = cost + cost_of(part.sub)
    end
  end
  return cost
end

M.cost_of = cost_of

-- The values of a node's results that somebody reads, as a pattern: value, false, or a list of them.
local function pattern_of(fn, returns)
  if core.is_value(returns) then
    local v = fn.model.resolve(returns)
    return fn.model.last_use[v] and v or false
  end
  local out, any = {}, false
  for i = 1, returns.n or #returns do
    out[i] = pattern_of(fn, returns[i])
    any = any or out[i]
  end
  return any and out or false
end

local function only_used(pattern)
  local at
  for i, x in ipairs(pattern) do
    if x then
      if at then return nil end
      at = i
    end
  end
  return at
end

-- A value, or what stands for one that no value is: a size, a list that a loop fills.
local function is_variable(x) return core.is_value(x) or (type(x) == "table" and x.pseudo) end

local function each_target(pattern, fn)
  if not pattern then return end
  if is_variable(pattern) then return fn(pattern) end
  for _, x in ipairs(pattern) do each_target(x, fn) end
end

M.each_target = each_target

local function add_statement(fn, e, pattern, how)
  local s = how or {}
  while type(pattern) == "table" and not core.is_value(pattern) do
    local at = only_used(pattern)
    if not at then break end
    e = text.atom({ sub = e, prec = text.ATOM }, "[" .. at - 1 .. "]")
    pattern = pattern[at]
  end
  s.e, s.targets = e, pattern
  s.single = core.is_value(pattern) and pattern or nil
  s.cost = (s.cost or 0) + cost_of(e)
  fn.statements[#fn.statements + 1] = s
  each_target(pattern, function(v)
    fn.locals[v] = true
    add_sources(fn, v)
  end)
  return s
end

local function results(node)
  local returns = core.returns(node)
  if #returns == 1 then return returns[1] end
  return returns
end

local RANDOM = { rand = true, randn = true, randint = true, bernoulli = true, multinomial = true, normal = true,
  rand_like = true, randn_like = true, randint_like = true, randperm = true, rrelu = true }

-- 'torch.autocast("cuda", dtype=torch.float16)' of a node in such a region.
local function autocast_text(node)
  local region = node.autocast
  if not region then return nil end
  local dtype = region.dtype and ", dtype=torch." .. region.dtype or ""
  return "torch.autocast(" .. text.quote(region.device) .. dtype .. ")"
end

local function layer_statement(fn, n, ctx)
  local parts = {}
  for i, v in ipairs(n.layer.inputs) do
    parts[i] = core.is_value(v) and { sub = ctx.value(v), prec = text.TERNARY } or v
  end
  local e = text.join(parts, n.layer.raw and "" or ", ")
  table.insert(e, 1, fn.model.module_access(fn, n.layer.path) .. "(")
  e[#e + 1] = (n.layer.keywords or "") .. ")"
  local returns = core.returns(n.node)
  local pattern = n.layer.returns and n.layer.returns(returns) or (#returns == 1 and returns[1] or returns)
  add_statement(fn, e, pattern_of(fn, pattern), { cost = 1, module = n.layer.path, hints = tree.hints(n, fn.call),
    within = autocast_text(n.node) })
end

-- What was written in place kept its dtype.
local function as_written(node, e)
  local out = node.outputs[1]
  local first = node.inputs[1]
  if not out or core.field(out, "kind") ~= "tensor" then return e end
  local ins = node.inputs
  for i = 1, ins.n do
    local v = ins[i]
    if core.is_value(v) and core.field(v, "kind") == "tensor" and core.field(v, "dtype") ~= core.field(out, "dtype")
      and (i == 1 or #core.field(v, "shape") > 0) then
      return text.atom({ sub = e, prec = text.ATOM }, ".to(torch." .. core.field(out, "dtype") .. ")")
    end
  end
  return first and e or e
end

-- The name of the node that one comes from, in the file that was read; the operator's where it has none.
local function name_of(node)
  while node.origin do node = node.origin end
  local name = node.name
  return name ~= "" and name or node.op:match("::([^%.]+)$") or node.op
end

local function add_node(fn, n)
  local pattern = pattern_of(fn, results(n.node))
  local name = n.node.op:match("::([^%.]+)")
  if not pattern and (n.node.outputs.n > 0) then return end
  local ctx = context(fn)
  ctx.op = name
  if n.layer then return layer_statement(fn, n, ctx) end
  local flow = M.flow[n.node.op]
  if flow then return flow(fn, n, ctx, pattern) end
  local e = pyrules.expression(n.node, ctx)
  if n.node.inplace then e = as_written(n.node, e) end
  add_statement(fn, e, pattern, { pinned = RANDOM[name], op = name, hints = tree.hints(n, fn.call),
    within = autocast_text(n.node) })
end

local function node_statement(fn, n)
  local before = #fn.statements
  add_node(fn, n)
  local s = fn.model.comments and fn.statements[#fn.statements]
  if s and #fn.statements > before then s.nodes = { name_of(n.node) } end
end

local function call_statement(fn, call)
  local child = call.fn
  local parts = {}
  local ctx = context(fn)
  for i, v in ipairs(child.inputs) do parts[i] = { sub = ctx.value(v), prec = text.TERNARY } end
  for _, size in ipairs(child.sizes) do
    parts[#parts + 1] = { sub = symbol_expr(fn, size.symbol), prec = text.TERNARY }
  end
  local e = text.join(parts, ", ")
  table.insert(e, 1, fn.model.module_access(fn, call.path) .. "(")
  e[#e + 1] = ")"
  local n = fn.model.nodes[call.last]
  local s = add_statement(fn, e, #child.outputs == 1 and child.outputs[1] or child.outputs,
    { cost = 1, module = call.path, hints = tree.hints(n, fn.call) })
  s.args = {}
  for i, v in ipairs(child.inputs) do s.args[i] = fn.model.resolve(v) end
  for _, size in ipairs(child.sizes) do s.args[#s.args + 1] = size.symbol end
end

-- ---- loops over lists of modules ----

-- "layers", 3 of a call of self.layers[3]
local function list_of(fn, s)
  local path, index = (s.module or ""):match("^(.*)%.(%d+)$")
  if not path or path == fn.call.path or not s.args or not s.single then return nil end
  local list = fn.model.modules[path]
  if fn.model.kind_of(list) ~= "list" then return nil end
  return list, tonumber(index)
end

-- Whether a call takes what the one before made, and is like it in all other arguments.
local function follows(s, before, count)
  if #s.args ~= #before.args or count[before.single] ~= 1 then return false end
  local chained
  for i, v in ipairs(s.args) do
    local was = before.args[i]
    if v == before.single then
      if chained then return false end
      chained = i
    elseif v ~= was then
      return false
    end
  end
  return chained
end

local MIN_ROUNDS = 2

local function item_name(list)
  local name = list.name:gsub("%d+$", "")
  name = name:match("^(.+)s$") or name
  return #name < 3 and "block" or name
end

-- Statements from number i on that are one loop: how many, and which argument is carried.
local function run_length(fn, i, count)
  local statements = fn.statements
  local list, index = list_of(fn, statements[i])
  if not list then return 0 end
  local n, at = 1, nil
  while statements[i + n] do
    local s = statements[i + n]
    local other, other_index = list_of(fn, s)
    if other ~= list or other_index ~= index + n then break end
    local chained = follows(s, statements[i + n - 1], count)
    if not chained or (at and at ~= chained) then break end
    at = chained
    n = n + 1
  end
  return n, at, list, index
end

local function loop(fn, i, n, at, list, index)
  local first, last = fn.statements[i], fn.statements[i + n - 1]
  local ctx = context(fn)
  local start = first.args[at]
  local v = last.single
  local item = { pseudo = true }
  local parts = {}
  for j, arg in ipairs(last.args) do
    local e
    if j == at then
      e = text.atom({ ref = v })
    elseif type(arg) == "string" then
      e = symbol_expr(fn, arg)
    else
      e = ctx.value(arg)
    end
    parts[j] = { sub = e, prec = text.TERNARY }
  end
  local call = text.join(parts, ", ")
  table.insert(call, 1, { ref = item })
  table.insert(call, 2, "(")
  call[#call + 1] = ")"
  local over = fn.model.module_access(fn, list.path)
  local all = index == 0 and n == #list.order
  if not all then over = string.format("%s[%d:%d]", over, index, index + n) end
  local s = { cost = 0, kind = "for", declares = { { item, item_name(list) } }, more = {},
    blocks = { { { e = call, targets = v, single = v, cost = 9, pinned = true } } } }
  function s.write(_, how, emit, depth, walk)
    emit("for " .. how.name(item) .. " in " .. over .. ":", depth)
    walk(s.blocks[1], depth + 1)
  end
  local init = { e = ctx.value(start), targets = v, single = v, cost = 0, pinned = true, hints = last.hints,
    copies = true }
  return init, s
end

local function roll(fn, count)
  local out, i = {}, 1
  while fn.statements[i] do
    local n, at, list, index = run_length(fn, i, count)
    if n >= MIN_ROUNDS then
      out[#out + 1], out[#out + 2] = loop(fn, i, n, at, list, index)
      i = i + n
    else
      out[#out + 1] = fn.statements[i]
      i = i + 1
    end
  end
  fn.statements = out
end

-- Writes of state: self.cache.copy_(value), behind what made the value.
local function write_statements(fn)
  for _, w in ipairs(fn.model.writes) do
    local v = fn.model.resolve(w.value)
    local here = fn.call.path == "" and true or (is_local(fn, v) and tree.under(w.target, fn.call.path))
    if here and not w.done then
      w.done = fn
      local ctx = context(fn)
      local target = w.weight and ctx.value(w.weight.value) or text.atom({ ref = w.input })
      local new = { sub = ctx.value(v), prec = text.TERNARY }
      local e = text.atom({ sub = target, prec = text.ATOM }, ".copy_(", new, ")")
      add_statement(fn, e, false, { pinned = true })
    end
  end
end

-- ---- one line out of several ----

local function count_refs(fn)
  local count = {}
  local function add(v) count[v] = (count[v] or 0) + 1 end
  local function walk(statements)
    for _, s in ipairs(statements) do
      if s.e then text.each_ref(s.e, add) end
      for _, e in ipairs(s.more or {}) do text.each_ref(e, add) end
      for _, block in ipairs(s.blocks or {}) do walk(block) end
    end
  end
  walk(fn.statements)
  if fn.result then text.each_ref(fn.result, add) end
  return count
end

-- How wide a statement is with names of usual length.
local function width_of(s)
  s.width = s.width or #text.render(s.e, { name = function() return "value" end })
  return s.width
end

local function takes(s, top, count)
  if top.pinned or not top.single or count[top.single] ~= 1 or top.blocks then return false end
  if (s.blocks and s.kind ~= "if") or s.within ~= top.within then return false end
  local found, direct = false, false
  text.each_ref(s.e, function(v, part)
    if v == top.single then found, direct = true, not part.fixed end
  end)
  if not found or not direct then return false end
  if s.cost + top.cost > MAX_COST and s.cost > 0 then return false end
  local free = s.cost == 0 and not s.took and (s.is_result or not top.took)
  return free or width_of(s) + width_of(top) <= MAX_WIDTH
end

local function joined(a, b)
  if not a or not b then return a or b end
  return table.move(b, 1, #b, #a + 1, { table.unpack(a) })
end

local function merge(statements, count)
  local out = {}
  for _, s in ipairs(statements) do
    for _, block in ipairs(s.blocks or {}) do
      local merged = merge(block, count)
      for i = 1, math.max(#block, #merged) do block[i] = merged[i] end
    end
    while s.e and #out > 0 and takes(s, out[#out], count) do
      local top = table.remove(out)
      s.width = width_of(s) + width_of(top) - #"value"
      text.substitute(s.e, top.single, top.e)
      s.cost, s.took = s.cost + top.cost, true
      s.hints = s.hints or top.hints
      s.nodes = joined(top.nodes, s.nodes)
    end
    out[#out + 1] = s
  end
  return out
end

-- ---- the whole ----

local function scan_inputs(fn, item)
  if item.call then
    for _, v in ipairs(item.fn.inputs) do
      if variable(fn, v) then add_input(fn, v) end
    end
    return
  end
  local operands = item.layer and item.layer.inputs or item.node.inputs
  for i = 1, operands.n or #operands do
    local v = operands[i]
    local found = core.is_value(v) and variable(fn, v)
    if found then add_input(fn, found) end
  end
end

-- Whether a caller writes the value to a buffer.
local function must_leave(fn, v)
  for _, w in ipairs(fn.model.writes) do
    if not w.done and fn.call.path ~= "" and fn.model.resolve(w.value) == v then return true end
  end
  return false
end

--- The values made in a call that are read outside of it.
local function outputs_of(fn)
  local out = {}
  for order = fn.call.first, fn.call.last do
    local node = fn.model.nodes[order].node
    local outs = node.outputs
    for i = 1, outs.n do
      local v = outs[i]
      local last = fn.model.resolve(v) == v and fn.model.last_use[v]
      local read = last and (last > fn.call.last or must_leave(fn, v))
      if read and not fn.model.is_size(v) then out[#out + 1] = v end
    end
  end
  local place = {} -- in the order in which the model returns them
  for i, v in ipairs(out) do place[v] = { fn.model.result_index[v] or math.huge, i } end
  table.sort(out, function(v, w)
    local a, b = place[v], place[w]
    if a[1] ~= b[1] then return a[1] < b[1] end
    return a[2] < b[2]
  end)
  return out
end

-- Numbers come before masks and indices, else in the order of their use; a model's own inputs stay as they are.
local function rank_of(fn, v)
  if fn.place[v] == nil then error("not an input") end
  local dtype = core.field(v, "dtype")
  local late = not fn.keep_inputs and (dtype:find("int") or dtype == "bool")
  return fn.place[v] + (late and #fn.inputs or 0)
end

local function drop_unused_inputs(fn, count)
  fn.place = {}
  for i, v in ipairs(fn.inputs) do fn.place[v] = i end
  local kept = {}
  for _, v in ipairs(fn.inputs) do
    if count[v] or fn.keep_inputs then kept[#kept + 1] = v end
  end
  table.sort(kept, function(v, w) return rank_of(fn, v) < rank_of(fn, w) end)
  fn.inputs = kept
end

-- Whether a function returns just what its last statement makes: a tuple for a tuple.
local function returns_all(final, targets, count)
  if not targets or core.is_value(targets) then return false end
  local i = 0
  for _, part in ipairs(final.e) do
    local e = part
    while type(e) == "table" and not e.ref do
      e = e.sub or (#e == 1 and e[1]) or nil
    end
    local ref = type(e) == "table" and e.ref
    if ref then
      i = i + 1
      if targets[i] ~= ref or count[ref] ~= 1 then return false end
    elseif part ~= ", " then
      return false
    end
  end
  return i == #targets
end

--- result: the expression that is returned; nil for that of a module's call, which returns what is read outside.
function M.build(model, call, options)
  local fn = { model = model, call = call, inputs = {}, is_input = {}, sizes = {}, sources = {}, locals = {},
    statements = {}, module = model.modules[call.path] }
  for _, v in ipairs(options and options.inputs or {}) do
    add_input(fn, v)
    fn.keep_inputs = true
  end
  for _, item in ipairs(call.items) do scan_inputs(fn, item) end
  for _, item in ipairs(call.items) do
    if item.call then call_statement(fn, item) else node_statement(fn, item) end
  end
  write_statements(fn)
  fn.outputs = outputs_of(fn)
  if options and options.result then
    fn.result = options.result(context(fn))
  else
    local parts = {}
    for i, v in ipairs(fn.outputs) do parts[i] = { ref = v, prec = text.TERNARY } end
    fn.result = #parts > 0 and text.join(parts, ", ") or nil
  end
  roll(fn, count_refs(fn))
  local count = count_refs(fn)
  drop_unused_inputs(fn, count)
  local all = { table.unpack(fn.statements) }
  local final = { e = fn.result, cost = 0, is_result = true }
  if fn.result then all[#all + 1] = final end
  all = merge(all, count)
  local before = all[#all - 1]
  if fn.result and before and returns_all(final, before.targets, count) then
    table.remove(all, #all - 1)
    final.e, final.nodes = before.e, joined(before.nodes, final.nodes)
  end
  if fn.result then
    all[#all] = nil
    fn.result, fn.result_nodes = final.e, final.nodes
  end
  fn.statements = all
  return fn
end

-- ---- names ----

local function last_uses(fn)
  local last = {}
  local number = 0
  local function see(e) text.each_ref(e, function(v) last[v] = number end) end
  local function walk(statements)
    for _, s in ipairs(statements) do
      number = number + 1
      s.number = number
      if s.e then see(s.e) end
      for _, e in ipairs(s.more or {}) do see(e) end
      for _, block in ipairs(s.blocks or {}) do walk(block) end
      if s.blocks then number = number + 1 end
      s.last_number = number
      if s.blocks then -- what a block reads has to live as long as the statement
        local function again(list)
          for _, inner in ipairs(list) do
            if inner.e then see(inner.e) end
            for _, e in ipairs(inner.more or {}) do see(e) end
            for _, block in ipairs(inner.blocks or {}) do again(block) end
          end
        end
        for _, block in ipairs(s.blocks) do again(block) end
        for _, e in ipairs(s.more or {}) do see(e) end
      end
    end
  end
  walk(fn.statements)
  number = number + 1
  if fn.result then see(fn.result) end
  return last
end

local RESERVED = {}
for word in ([[self torch nn F np re math itertools OrderedDict Path min max float range complex getattr len int bool
  slice zip map list tuple reversed enumerate]]):gmatch("%S+") do
  RESERVED[word] = true
end

-- Numbers from which the least is taken: a heap.
local function put(heap, x)
  local i = #heap + 1
  while i > 1 and heap[i // 2] > x do
    heap[i] = heap[i // 2]
    i = i // 2
  end
  heap[i] = x
end

local function take(heap)
  local least, x = heap[1], table.remove(heap)
  if #heap == 0 then return least end
  local i, n = 1, #heap
  while 2 * i <= n do
    local child = 2 * i
    if child < n and heap[child + 1] < heap[child] then child = child + 1 end
    if heap[child] >= x then break end
    heap[i] = heap[child]
    i = child
  end
  heap[i] = x
  return least
end

-- Names given so far: value -> name, name -> the value that had it last; of each stem the numbers that are free again
-- and the largest that was looked at; and by the number of a statement what gets free behind it.
local function new_names(last)
  return { of = {}, holder = {}, last = last, free = {}, top = {}, due = {}, now = 0 }
end

-- Number i of a stem is free behind statement `number`.
local function free_after(names, stem, i, number)
  if number and number > names.now then
    local due = names.due[number] or {}
    names.due[number] = due
    due[#due + 1] = { stem, i }
  else
    put(names.free[stem], i)
  end
end

local function advance(names, number)
  for n = names.now + 1, number do
    for _, entry in ipairs(names.due[n] or {}) do put(names.free[entry[1]], entry[2]) end
    names.due[n] = nil
  end
  names.now = math.max(names.now, number)
end

-- The name that is wanted, or with the least number behind it that no value has which is read behind statement
-- `number`; where it is fixed, that no value has had.
local function give(names, v, want, number, fixed)
  if names.of[v] then return end
  local stem, last, aside, name, i = text.identifier(want), names.last, {}, nil, nil
  advance(names, number)
  local free = names.free[stem] or {}
  names.free[stem] = free
  while not name do
    if #free > 0 then
      i = take(free)
    else
      i = (names.top[stem] or 0) + 1
      names.top[stem] = i
    end
    local try = i == 1 and stem or stem .. "_" .. i
    local holder = names.holder[try]
    local busy = holder and (last[holder] or 0) > number
    if busy and last[holder] > names.now then
      free_after(names, stem, i, last[holder])
    elseif busy or holder and fixed then
      aside[#aside + 1] = i
    elseif not RESERVED[try] and not pyrules.is_helper(try) then
      name = try
    end
  end
  for _, other in ipairs(aside) do put(free, other) end
  names.of[v], names.holder[name] = name, v
  free_after(names, stem, i, last[v])
end

-- A name for what an operator or a module makes, where the source gives none.
local function own_name(s, name_of)
  local first
  text.each_ref(s.e, function(v) first = first or v end)
  if s.module then
    local leaf = s.module:match("([^%.]+)$")
    if first and s.dies and s.dies[first] and name_of[first] then return name_of[first]:gsub("_%d+$", "") end
    return leaf:find("^%d") and "x" or leaf:gsub("_%d+$", "")
  end
  if first and s.dies and s.dies[first] and name_of[first] then return (name_of[first]:gsub("_%d+$", "")) end
  return "y"
end

local function name_statement(s, names)
  s.dies = {}
  if s.e then
    text.each_ref(s.e, function(v)
      if names.last[v] == s.number then s.dies[v] = true end
    end)
  end
  local hints = s.hints
  local i = 0
  each_target(s.targets, function(v)
    i = i + 1
    local want = hints and (hints[i] or (#hints == 1 and hints[1])) or own_name(s, names.of)
    local from = s.copies and #s.e == 1 and s.e[1].ref
    if from and s.dies[from] and names.of[from] then want = names.of[from] end
    give(names, v, want, s.number)
  end)
end

local function name_all(statements, names)
  for _, s in ipairs(statements) do
    for _, v in ipairs(s.declares or {}) do give(names, v[1], v[2], s.last_number, true) end
    for _, block in ipairs(s.blocks or {}) do name_all(block, names) end
    name_statement(s, names)
  end
end

--- Names of all variables: value -> text.
function M.names(fn)
  local names = new_names(last_uses(fn))
  for i, v in ipairs(fn.inputs) do
    local want = fn.input_names and fn.input_names[i] or (i == 1 and "x") or fn.model.hint(v)
    if #fn.inputs == 1 and not fn.input_names then want = "x" end
    give(names, v, want, 0, true)
  end
  for _, size in ipairs(fn.sizes) do give(names, size, "size", 0, true) end
  name_all(fn.statements, names)
  return names.of
end

--- Numbers in place of names: equal for functions that do the same.
function M.numbering()
  local numbers, next_number = {}, 0
  return function(v)
    if not numbers[v] then
      next_number = next_number + 1
      numbers[v] = "v" .. next_number
    end
    return numbers[v]
  end
end

local function pattern_text(pattern, name, nested)
  if not pattern then return "_" end
  if is_variable(pattern) then return name(pattern) end
  local out = {}
  for i, x in ipairs(pattern) do out[i] = pattern_text(x, name, true) end
  local inner = table.concat(out, ", ") .. (#out == 1 and "," or "")
  return nested and "(" .. inner .. ")" or inner
end

M.pattern_text = pattern_text

local COMMENT = 76 -- columns of names in a line of a comment

-- "# conv1, relu": the nodes that the next line stands for.
local function comment(nodes, how, emit, depth)
  local line
  for _, name in ipairs(how.comments and nodes or {}) do
    name = text.remark(name)
    if line and #line + #name > COMMENT then
      emit(line .. ",", depth)
      line = nil
    end
    line = line and line .. ", " .. name or "# " .. name
  end
  if line then emit(line, depth) end
end

--- Calls emit(text, depth) for each statement.
function M.lines(fn, how, emit)
  local function walk(statements, depth)
    local within, outer = nil, depth
    for _, s in ipairs(statements) do
      if s.within ~= within then
        within = s.within
        if within then emit("with " .. within .. ":", outer) end
      end
      depth = within and outer + 1 or outer
      comment(s.nodes, how, emit, depth)
      if s.write then
        s.write(s, how, emit, depth, walk)
      else
        local e = text.render(s.e, how)
        if s.targets then
          local targets = pattern_text(s.targets, how.name)
          e = targets ~= e and (#targets > MAX_TARGETS and "(" .. targets .. ")" or targets) .. " = " .. e
        end
        if e then emit(e, depth) end
      end
    end
  end
  walk(fn.statements, 0)
  comment(fn.result_nodes, how, emit, 0)
  if fn.result then emit("return " .. text.render(fn.result, how), 0) end
end

M.flow = {} -- op -> function(fn, n, ctx, pattern): statements of regions
M.context, M.add_statement, M.node_statement, M.add_sources = context, add_statement, node_statement, add_sources

return M
