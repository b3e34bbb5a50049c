-- lua/t2o/target.lua: steps round the kernels that a runtime lacks (rules/target): cast, compute, cast back.

local core = require("t2o.core")
local builder = require("t2o.builder")
local half = require("t2o.half")
local types = require("t2o.types")

local M = {}
local tables = {}   -- target -> op -> list of texts, as rules/target/*_kernels.lua gives them
local compute = {}  -- target -> dtype -> dtypes in which it may be computed, best first
local inlined = {}  -- target -> dtype -> dtype in which an operator without kernels is computed
local except = {}   -- target -> op -> true: left as it is
local casts = {}    -- target -> dtype -> true: the runtime casts inputs of it on its own
local lacking = {}  -- target -> op -> list of { dtypes, when }: kernels that are listed, but fail
local parsed = {}   -- op -> list of { first, last, rows }
local loaded

local registry = {}

--- The kernels of a target: op -> list of "first-last T=dtypes T1=dtypes | ...".
function registry:kernels(target, ops) tables[target] = ops end

--- The dtypes in which one may be computed without another result, best first.
function registry:compute_in(target, dtypes) compute[target] = dtypes end

--- The dtypes in which operators are to be computed that the runtime replaces by their definition.
function registry:compute_definitions_in(target, dtypes) inlined[target] = dtypes end

--- Operators that are left as they are.
function registry:leave(target, ops)
  except[target] = except[target] or {}
  for _, op in ipairs(ops) do except[target][op] = true end
end

--- Dtypes that the runtime casts on its own where a node with such inputs has no kernel.
function registry:casts_inputs(target, dtypes)
  casts[target] = casts[target] or {}
  for _, dtype in ipairs(dtypes) do casts[target][dtype] = true end
end

--- Kernels that are listed, but fail at run time: op, dtypes, and for which nodes (when(attributes), or all).
function registry:lacks(target, op, dtypes, when)
  local set = {}
  for _, dtype in ipairs(dtypes) do set[dtype] = true end
  lacking[target] = lacking[target] or {}
  lacking[target][op] = lacking[target][op] or {}
  table.insert(lacking[target][op], { dtypes = set, when = when })
end

M.registry = registry

local function parse_row(text)
  local row = {}
  for name, list in text:gmatch("([%w_]+)=(%S+)") do
    row[name] = {}
    for dtype in list:gmatch("[^,]+") do row[name][dtype] = true end
  end
  return row
end

local function kernels_of(target, op)
  if parsed[op] == nil then
    local out = {}
    for i, text in ipairs(tables[target][op] or {}) do
      local first, last, rest = text:match("^(%d+)%-(%d*)%s*(.*)$")
      local rows = {}
      for row in (rest .. "|"):gmatch("([^|]*)|") do rows[#rows + 1] = parse_row(row) end
      -- a kernel without an end is for the version it begins with, not for later ones
      out[i] = { first = tonumber(first), last = tonumber(last) or tonumber(first), rows = rows }
    end
    parsed[op] = out
  end
  return parsed[op]
end

-- The dtypes that nearly every kernel takes: such nodes are not looked up. Bool is one where it is a condition.
local USUAL = { float32 = true, int64 = true }
local LOGIC = { Not = true, And = true, Or = true, Xor = true, Cast = true, Where = true, If = true }

local function is_usual(node, op)
  local ins = node.inputs
  for i = 1, ins.n do
    local v = ins[i]
    if v then
      local dtype = core.field(v, "dtype")
      local condition = dtype == "bool" and LOGIC[op] and (op ~= "Where" or i == 1)
      if not (USUAL[dtype] or condition) then return false end
    end
  end
  for i = 1, op == "Cast" and 0 or node.outputs.n do
    local dtype = core.field(node.outputs[i], "dtype")
    if not USUAL[dtype] and dtype ~= "bool" then return false end
  end
  return true
end

-- The dtypes for which a node's kernel fails, or nil.
local function failing(target, op, node)
  local out
  for _, entry in ipairs(lacking[target] and lacking[target][op] or {}) do
    if not entry.when or entry.when(core.arguments(node)) then
      out = out or {}
      for dtype in pairs(entry.dtypes) do out[dtype] = true end
    end
  end
  return out
end

-- How a kernel's row can be reached: {} as it is, { T = dtype } by computing in other dtypes, nil not at all. A second
-- result counts how far down the lists of dtypes it goes.
local function changes_for(target, row, vars, fails)
  local changes, cost = {}, 0
  for name, dtypes in pairs(row) do
    local have = vars[name]
    if have and (not dtypes[have] or fails and fails[have]) then
      for rank, dtype in ipairs(compute[target][have] or {}) do
        if dtypes[dtype] and not (fails and fails[dtype]) then
          changes[name] = dtype
          cost = cost + rank
          break
        end
      end
      if not changes[name] then return nil end
    end
  end
  return changes, cost
end

-- Operators without any kernel are replaced by their definition, whose operators have their own needs.
local function defined_change(target, vars)
  local changes = {}
  for name, dtype in pairs(vars) do changes[name] = inlined[target] and inlined[target][dtype] end
  return changes
end

local function best_change(target, op, since, vars, fails)
  local best, least, any
  for _, version in ipairs(kernels_of(target, op)) do
    if version.first <= since and since <= version.last then
      for _, row in ipairs(version.rows) do
        any = true
        local changes, cost = changes_for(target, row, vars, fails)
        if changes and (not least or cost < least) then best, least = changes, cost end
      end
    end
  end
  return any and best or not any and defined_change(target, vars)
end

-- Whether the runtime will cast by itself what an input has.
local function is_cast(target, node, fails)
  local ins = node.inputs
  for i = 1, ins.n do
    local dtype = ins[i] and core.field(ins[i], "dtype")
    if dtype and casts[target] and casts[target][dtype] and not (fails and fails[dtype]) then return true end
  end
  return false
end

local wide = {} -- value -> { from = what was cast to it, origin = name of the torch node }

-- What an input was cast from, where the same torch node computed it and PyTorch does not round in between.
local function unrounded(node, v, dtype)
  local made, origin = wide[v], node.origin
  local one = made and origin and made.origin == origin.name and made.from.dtype == dtype
  return one and half.accumulates(origin.op) and made.from or nil
end

local function narrowed(node, v, dtype)
  local out = builder.cast(v, dtype)
  if types.is_float(dtype) then wide[out] = node.origin and { from = v, origin = node.origin.name } end
  return out
end

--- The replacement of an ONNX node for the target: a list of values, or nil when it may stay.
function M.adapt(node, opset)
  local op = node.op:match("^onnx::(.*)$")
  if not op or is_usual(node, op) then return nil end
  if not loaded then
    core.load("target")
    loaded = true
  end
  local _, target = core.context()
  if not tables[target] then return nil end
  if op == "Cast" then
    local from = unrounded(node, node.inputs[1], core.field(node.outputs[1], "dtype"))
    return from and { from }
  end
  if except[target] and except[target][op] then return nil end
  local vars, inputs_of, outputs_of = core.type_vars(node)
  local about = core.operator(op, opset)
  local fails = failing(target, op, node)
  local changes = about and not is_cast(target, node, fails) and best_change(target, op, about.since, vars, fails)
  if not changes or next(changes) == nil then return nil end
  core.set_opset(opset)
  local inputs = { n = node.inputs.n }
  for i = 1, inputs.n do
    local v, dtype = node.inputs[i], changes[inputs_of[i]]
    inputs[i] = v and dtype and (unrounded(node, v, dtype) or builder.cast(v, dtype)) or v
  end
  local attrs = core.arguments(node)
  if attrs.dtype and changes[outputs_of[1]] then attrs.dtype = changes[outputs_of[1]] end
  local results = builder.again(op, inputs, attrs, node.outputs.n)
  for i, v in ipairs(results) do
    core.copy_shape(v, node.outputs[i])
    if changes[outputs_of[i]] then results[i] = narrowed(node, v, core.field(node.outputs[i], "dtype")) end
  end
  return results
end

return M
