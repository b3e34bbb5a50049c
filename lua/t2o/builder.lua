-- lua/t2o/builder.lua: the ONNX builder `g`: every operator as a function, constants, shapes.

local core = require("t2o.core")
local types = require("t2o.types")
local values = require("t2o.value")
local infer = require("t2o.infer")
local half = require("t2o.half")

local g = {}
local M = { g = g, newest = 1000 } -- newest: later than any opset, so that the newest signature is in force

local current            -- the torch node whose rule runs
local dim_values = {}    -- graph -> dim -> its value as int64[1]

function M.set_current(node) current = node end
function M.current() return current end

-- ---- operators ----

-- Rules in rules/infer know the newest signatures only; a lowering may build in an older one.
local function like_newest(op, about)
  local newest = core.operator(op, M.newest)
  if newest.since == about.since then return true end
  for name in pairs(about.attrs) do
    if not newest.attrs[name] then return false end -- it became an input
  end
  return #newest.inputs == #about.inputs
end

local operators = {} -- opset -> op -> what core.operator says

local function about_operator(op)
  local opset = select(3, core.context())
  local list = operators[opset] or {}
  operators[opset] = list
  if list[op] == nil then
    local about = core.operator(op, opset)
    if about then about.like_newest = like_newest(op, about) end
    list[op] = about or false
  end
  return list[op] or nil
end

local function build(op, inputs, attrs, count, about)
  local outputs = core.build(op, inputs, attrs, count)
  if about and about.like_newest then infer.apply(op, inputs, attrs, outputs) end
  if outputs[1] then half.note(op, outputs[1]) end
  if about and about.variadic_outputs then return outputs end
  return table.unpack(outputs, 1, count)
end

--- What is built inside is in the newest signatures, whatever opset is built with: it is lowered in its turn.
function M.at_newest(fn, ...)
  local opset = select(3, core.context())
  if opset >= M.newest then return fn(...) end
  core.set_opset(M.newest)
  local results = table.pack(fn(...))
  core.set_opset(opset)
  return table.unpack(results, 1, results.n)
end

--- An operator by its name, with inputs (their number in n), attributes and the number of outputs: a list of them.
function M.again(op, inputs, attrs, count)
  local outputs = core.build(op, inputs, attrs, count)
  return outputs
end

local function operator(op)
  return function(...)
    local about = about_operator(op)
    if not about and core.operator(op, M.newest) then return M.at_newest(g[op], ...) end
    local inputs, attrs = table.pack(...), {}
    if inputs.n > 0 and type(inputs[inputs.n]) == "table" then
      for k, v in pairs(inputs[inputs.n]) do
        attrs[k] = type(v) == "function" and infer.body(k, function() return table.pack(v(g)) end) or v
      end
      inputs[inputs.n] = nil
      inputs.n = inputs.n - 1
    end
    local count = attrs.outputs
    attrs.outputs = nil
    return build(op, inputs, attrs, count or (about and math.max(about.min_outputs, 1)) or 1, about)
  end
end

local namespaces = {}

setmetatable(g, {
  __index = function(self, key)
    if key == "opset" then return (core.context()) end
    if key == "target" then return (select(2, core.context())) end
    if type(key) ~= "string" then error("operators are given by name", 2) end
    if not key:find("^%u") then
      local ns = namespaces[key] or M.namespace(key)
      if ns then return ns end
      error("the builder has no function '" .. key .. "'", 2)
    end
    if not core.operator(key) then core.operator(key, nil, true) end
    local fn = core.guard(operator(key))
    rawset(self, key, fn)
    return fn
  end,
})

--- g.aten, g.prims ...: other rules as functions; set by lua/t2o/translate.lua.
function M.set_namespaces(make)
  M.namespace = function(name)
    namespaces[name] = make(name)
    return namespaces[name]
  end
end

--- An operator of another domain. Its outputs have the dtypes and shapes that the archive records for the node.
--- @return values, one for each output of the torch node
function g.custom(domain, name, inputs, attrs)
  local outs = current and current.outputs or { n = 1 }
  inputs.n = inputs.n or #inputs
  local list = core.build(domain .. "::" .. name, inputs, attrs or {}, outs.n)
  for i, v in ipairs(list) do
    if outs[i] and outs[i].kind == "tensor" then
      core.set_dtype(v, outs[i].dtype)
      core.set_shape(v, outs[i].shape)
    end
  end
  return table.unpack(list)
end

-- ---- constants ----

local function flatten(t, depth, dims, out)
  dims[depth] = dims[depth] or #t
  if dims[depth] ~= #t then error("a nested list whose rows differ in length", 3) end
  for _, x in ipairs(t) do
    if type(x) == "table" then flatten(x, depth + 1, dims, out) else out[#out + 1] = x end
  end
end

local function default_dtype(x)
  if type(x) == "boolean" then return "bool" end
  return math.type(x) == "float" and "float32" or "int64"
end

--- A constant of a number or a (nested) list of numbers.
function g.const(value, dtype)
  if type(value) ~= "table" then return core.constant(dtype or default_dtype(value), {}, { value }) end
  local dims, out = {}, {}
  flatten(value, 1, dims, out)
  return core.constant(dtype or default_dtype(out[1]), dims, out)
end

--- A constant of this shape (integers) filled with a number.
function g.full(shape, value, dtype)
  for _, d in ipairs(shape) do
    if math.type(d) ~= "integer" then
      dtype = dtype or default_dtype(value)
      if core.is_value(value) or core.is_dim(value) then return g.Expand(g.scalar(value, dtype), g.ints(shape)) end
      return g.ConstantOfShape(g.ints(shape), { value = core.constant(dtype, { 1 }, value) })
    end
  end
  return core.constant(dtype or default_dtype(value), shape, value)
end

function g.zeros(shape, dtype) return g.full(shape, 0, dtype or "float32") end
function g.ones(shape, dtype) return g.full(shape, 1, dtype or "float32") end

--- A number, a dim or a value as a 0-d value of a dtype (or of the dtype of a value).
function g.scalar(x, like)
  local dtype = core.is_value(like) and like.dtype or like or default_dtype(x)
  if core.is_value(x) then return x:to(dtype) end
  if core.is_dim(x) then return M.cast(M.at_newest(g.Squeeze, M.dim_value(x), g.ints { 0 }), dtype) end
  if dtype == "bool" then x = x ~= 0 and x ~= false end
  if type(x) == "boolean" and dtype ~= "bool" then x = x and 1 or 0 end
  if types.is_int(dtype) and math.type(x) == "float" then
    x = math.tointeger(x < 0 and math.ceil(x) or math.floor(x)) or x
  end
  return core.constant(dtype, {}, { x })
end

--- A number as the tensor that PyTorch makes of it: it counts less in type promotion.
function M.wrap(x)
  local v
  if core.is_dim(x) then v = g.scalar(x, "int64") else v = g.const(x) end
  types.mark_wrapped(v, x)
  return v
end

-- A small constant in another dtype; nil where it is better done by a node.
local function cast_constant(v, dtype)
  if not core.is_literal(v, 64) then return nil end
  local list = core.elements(v)
  for i, x in ipairs(list) do
    if type(x) == "number" then
      if dtype == "bool" then
        list[i] = x ~= 0
      elseif types.is_int(dtype) then
        list[i] = math.tointeger(x < 0 and math.ceil(x) or math.floor(x))
        if not list[i] then return nil end
      end
    end
  end
  return core.constant(dtype, v.shape, list)
end

function M.cast(v, dtype)
  if v.dtype == dtype then return v end
  if types.is_complex(v.dtype) or types.is_complex(dtype) then
    core.decline(string.format("a cast from %s to %s", v.dtype, dtype))
  end
  local number = types.number_of(v) -- float32 may not hold it
  if type(number) == "number" then return g.scalar(number, dtype) end
  local folded = cast_constant(v, dtype)
  if folded then return folded end
  local content = core.content(v)
  local out = g.Cast(v, { to = dtype })
  if content and types.is_int(dtype) then core.set_content(out, content) end
  return out
end

-- ---- sizes ----

local function add_all(pieces, op)
  local x = pieces[1]
  for i = 2, #pieces do x = g[op](x, pieces[i]) end
  return x
end

local function symbol_value(d)
  local value, axis, mul, add = core.symbol_source(d.name)
  if not value then core.decline(string.format("no tensor tells the size %s at run time", tostring(d))) end
  local n = axis < 0 and g.Reshape(M.cast(value, "int64"), g.const { 1 })
    or g.Shape(value, { start = axis, ["end"] = axis + 1 })
  if add ~= 0 then n = g.Sub(n, g.const { add }) end
  return mul == 1 and n or g.Div(n, g.const { mul })
end

local NUMBER_OPS = {
  FloorDiv = function(a, b)
    -- ONNX divides towards zero; subtracting Python's remainder first makes the division exact
    return g.Div(g.Sub(a, g.Mod(a, b)), b)
  end,
  Mod = function(a, b) return g.Mod(a, b) end,
  Max = function(a, b) return g.Max(a, b) end,
  Min = function(a, b) return g.Min(a, b) end,
  Pow = function(a, b) return g.Pow(a, b) end,
}

local function number_value(d)
  if math.type(d) == "integer" then return core.constant("int64", { 1 }, { d }) end
  return M.dim_value(d)
end

local FLOAT_OPS = { add = "Add", mul = "Mul", FloatTrueDiv = "Div", IntTrueDiv = "Div", FloatPow = "Pow" }
local TO_INT = { TruncToInt = false, FloorToInt = "Floor", CeilToInt = "Ceil", RoundToInt = "Round" }

-- What PyTorch computes in double precision on the way to a size, as 1.5*ToFloat(n) in TruncToInt(1.5*ToFloat(n)).
local function float_value(d)
  if math.type(d) == "integer" then return core.constant("float64", { 1 }, { d + 0.0 }) end
  local number = d.name == "Float" and d.kind == "call" and tonumber(d.args[1].name)
  if number then return core.constant("float64", { 1 }, { number + 0.0 }) end
  local op = FLOAT_OPS[d.kind] or d.kind == "call" and FLOAT_OPS[d.name]
  if not op then return M.cast(number_value(d.name == "ToFloat" and d.args[1] or d), "float64") end
  local pieces = {}
  for i, x in ipairs(d.args) do pieces[i] = float_value(x) end
  return add_all(pieces, op)
end

local COMPARISONS = {
  StrictGreaterThan = "Greater", GreaterThan = "GreaterOrEqual", StrictLessThan = "Less", LessThan = "LessOrEqual",
  Equality = "Equal", Eq = "Equal", And = "And", Or = "Or",
}

-- A condition on sizes as a value bool[1].
local function condition_value(d)
  if d.name == "true" or d.name == "false" then return core.constant("bool", { 1 }, { d.name == "true" }) end
  if d.name == "Not" then return g.Not(condition_value(d.args[1])) end
  if d.name == "Unequality" or d.name == "Ne" then
    return g.Not(g.Equal(number_value(d.args[1]), number_value(d.args[2])))
  end
  local op, pieces = COMPARISONS[d.name], {}
  if not op then core.decline(string.format("the condition %s cannot be computed in ONNX", tostring(d))) end
  local value = (op == "And" or op == "Or") and condition_value or number_value
  for i, x in ipairs(d.args) do pieces[i] = value(x) end
  return add_all(pieces, op)
end

-- Of Piecewise(ExprCondPair(value, condition), ...) the first whose condition holds; the last one's always does.
local function piecewise_value(d)
  local out
  for i = #d.args, 1, -1 do
    local value, condition = d.args[i].args[1], d.args[i].args[2]
    if not out and condition.name ~= "true" then
      core.decline(string.format("the size %s has no value where no condition holds", tostring(d)))
    end
    out = out and g.Where(condition_value(condition), number_value(value), out) or number_value(value)
  end
  return out
end

local function compute(d)
  if d.kind == "symbol" then return symbol_value(d) end
  if d.name == "Piecewise" then return piecewise_value(d) end
  local rounding = TO_INT[d.name]
  if d.kind == "call" and rounding ~= nil then
    local x = float_value(d.args[1])
    return M.cast(rounding and g[rounding](x) or x, "int64")
  end
  local pieces = {}
  for i, x in ipairs(d.args) do pieces[i] = number_value(x) end
  if d.kind == "add" then return add_all(pieces, "Add") end
  if d.kind == "mul" then return add_all(pieces, "Mul") end
  local fn = NUMBER_OPS[d.name]
  if not fn then core.decline(string.format("the size %s cannot be computed in ONNX", tostring(d))) end
  if d.name == "FloorDiv" and core.compare(d.args[1], -1) == 1 then return g.Div(pieces[1], pieces[2]) end
  return fn(pieces[1], pieces[2])
end

--- A dim as a value int64[1]; made once in a graph.
function M.dim_value(d)
  local graph, before = core.place()
  if before then return M.at_newest(compute, d) end
  dim_values[graph] = dim_values[graph] or {}
  local known = dim_values[graph][d]
  if not known then
    known = M.at_newest(compute, d)
    core.set_content(known, { d })
    dim_values[graph][d] = known
  end
  return known
end

--- An int64 list of integers and dims as a value of rank 1.
function g.ints(list)
  local pieces, run = {}, {}
  local function flush()
    if #run > 0 then pieces[#pieces + 1] = core.constant("int64", { #run }, run) end
    run = {}
  end
  for i = 1, list.n or #list do
    local d = list[i]
    if math.type(d) == "integer" then
      run[#run + 1] = d
    elseif core.is_dim(d) then
      flush()
      pieces[#pieces + 1] = M.dim_value(d)
    else
      error(string.format("element %d of a list of sizes is a %s, not an integer or a dim", i, type(d)), 2)
    end
  end
  flush()
  if #pieces == 0 then return core.constant("int64", { 0 }, {}) end
  if #pieces == 1 then return pieces[1] end
  pieces[#pieces + 1] = { axis = 0 }
  local v = g.Concat(table.unpack(pieces))
  local content = {}
  for i = 1, list.n or #list do content[i] = list[i] end
  core.set_content(v, content)
  return v
end

--- The target of a Reshape of x in its smallest form: constants, a 0 where a size is x's own, one -1.
local function reshape_target(x, dims)
  local out, unknown = {}, 0
  local same = x and x.rank or 0
  local own = x and x.shape or {}
  for i, d in ipairs(dims) do
    if core.is_dim(d) and i <= same and own[i] == d then
      out[i] = 0
    elseif core.is_dim(d) then
      out[i] = d
      unknown = unknown + 1
    else
      out[i] = d
    end
  end
  if unknown == 1 then
    for i, d in ipairs(out) do
      if core.is_dim(d) then out[i] = -1 end
    end
  end
  return out
end

--- The operands and attributes of the node that makes x, where that is an `op`; else nil.
function g.made_by(x, op)
  local node = core.producer(x)
  if not node or node.op ~= "onnx::" .. op or not core.field(node.inputs[1], "known_rank") then return nil end
  return node.inputs, core.arguments(node)
end

local RESHAPES = { ["onnx::Reshape"] = true, ["onnx::Unsqueeze"] = true, ["onnx::Squeeze"] = true }

-- What x was before it was last reshaped, where the target is a constant from there too; else x.
local function before_reshapes(x, dims)
  local node = core.producer(x)
  while node and RESHAPES[node.op] and core.field(node.inputs[1], "known_rank") do
    for _, d in ipairs(reshape_target(node.inputs[1], dims)) do
      if core.is_dim(d) then return x end
    end
    x = node.inputs[1]
    node = core.producer(x)
  end
  return x
end

--- x with another shape (integers and dims, none of them -1).
function g.reshape(x, dims)
  for _, d in ipairs(dims) do
    if d == 0 then
      local y = M.at_newest(g.Reshape, x, g.ints(dims), { allowzero = 1 })
      core.set_shape(y, dims)
      return y
    end
  end
  x = before_reshapes(x, dims)
  if #dims == x.rank then
    local same = true
    for i, d in ipairs(x.shape) do same = same and d == dims[i] end
    if same then return x end
  end
  local y = g.Reshape(x, g.ints(reshape_target(x, dims)))
  core.set_shape(y, dims)
  return y
end

--- The int64 list of sizes for operators that take a shape (Expand, ConstantOfShape ...).
function g.shape(dims) return g.ints(dims) end

--- x broadcast to a shape.
function g.expand(x, dims)
  for _, d in ipairs(dims) do
    -- nothing is in it, and ONNX Runtime's Expand keeps a 1 where a 0 is asked for
    if d == 0 then return g.full(infer.broadcast(x.shape, dims), 0, x.dtype) end
  end
  local y = g.Expand(x, g.ints(dims))
  core.set_shape(y, infer.broadcast(x.shape, dims))
  return y
end

-- ---- bodies of higher-order ops ----

local body_methods = {}
core.body_meta.__index = body_methods

--- The body's outputs, a list, its nodes being built here.
function body_methods.inline(body, operands)
  local outer = dim_values
  dim_values = {} -- a symbol of the body may be another operand the next time
  local ok, outputs = xpcall(core.inline, core.on_error, body, operands)
  dim_values = outer
  if not ok then error(outputs, 0) end
  return outputs
end

--- The body as an attribute (of If); it uses the operands as values of the graph around it.
function body_methods.as_body(body, operands)
  return core.body("body", function() return body:inline(operands) end)
end

-- ---- giving up, bodies ----

--- Gives the next candidate its turn. Never returns.
function g.decline(text, ...)
  core.decline(select("#", ...) > 0 and string.format(text, ...) or text)
end

--- A body for If, Loop and Scan: fn(inputs...) returns its outputs.
--- @param inputs table list of { dtype, shape }
function g.body(name, inputs, fn)
  return infer.body(name, function()
    local args = {}
    for i, spec in ipairs(inputs) do
      args[i] = core.body_input(spec[1])
      core.set_shape(args[i], spec[2])
    end
    return { fn(table.unpack(args)) }
  end)
end

for name, fn in pairs(g) do g[name] = core.guard(fn) end

values.set_builder(setmetatable({}, {
  __index = function(self, key)
    local fn = M[key] or g[key]
    local safe = function(...) return M.at_newest(fn, ...) end
    rawset(self, key, safe)
    return safe
  end,
}))

return M
