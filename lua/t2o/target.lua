-- lua/t2o/target.lua: steps round the kernels that a runtime lacks (rules/target): cast, compute, cast back.

local core = require("t2o.core")
local builder = require("t2o.builder")

local M = {}
local tables = {}   -- target -> op -> list of texts, as rules/target/*_kernels.lua gives them
local compute = {}  -- target -> dtype -> dtypes in which it may be computed, best first
local except = {}   -- target -> op -> true: left as it is
local parsed = {}   -- op -> list of { first, last, rows }
local loaded

local registry = {}

--- The kernels of a target: op -> list of "first-last T=dtypes T1=dtypes | ...".
function registry:kernels(target, ops) tables[target] = ops end

--- The dtypes in which one may be computed without another result, best first.
function registry:compute_in(target, dtypes) compute[target] = dtypes end

--- Operators that are left as they are.
function registry:leave(target, ops)
  except[target] = except[target] or {}
  for _, op in ipairs(ops) do except[target][op] = true end
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
      out[i] = { first = tonumber(first), last = tonumber(last) or math.maxinteger, rows = rows }
    end
    parsed[op] = out
  end
  return parsed[op]
end

-- The dtypes that nearly every kernel takes: such nodes are not looked up. Bool is one where it is a condition.
local USUAL = { float32 = true, int64 = true }
local LOGIC = { Not = true, And = true, Or = true, Xor = true, Cast = true, Where = true, If = true }

local function is_usual(node, op)
  for i = 1, node.inputs.n do
    local v = node.inputs[i]
    if v then
      local dtype = core.field(v, "dtype")
      local condition = dtype == "bool" and LOGIC[op] and (op ~= "Where" or i == 1)
      if not (USUAL[dtype] or condition) then return false end
    end
  end
  return true
end

-- How a kernel's row can be reached: {} as it is, { T = dtype } by computing in other dtypes, nil not at all. A second
-- result counts how far down the lists of dtypes it goes.
local function changes_for(target, row, vars)
  local changes, cost = {}, 0
  for name, dtypes in pairs(row) do
    local have = vars[name]
    if have and not dtypes[have] then
      for rank, dtype in ipairs(compute[target][have] or {}) do
        if dtypes[dtype] then
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

local function best_change(target, op, since, vars)
  local best, least, any
  for _, version in ipairs(kernels_of(target, op)) do
    if version.first <= since and since <= version.last then
      for _, row in ipairs(version.rows) do
        any = true
        local changes, cost = changes_for(target, row, vars)
        if changes and (not least or cost < least) then best, least = changes, cost end
      end
    end
  end
  return any and best
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
  if not tables[target] or (except[target] and except[target][op]) then return nil end
  local vars, inputs_of, outputs_of = core.type_vars(node)
  local about = core.operator(op, opset)
  local changes = about and best_change(target, op, about.since, vars)
  if not changes or next(changes) == nil then return nil end
  core.set_opset(opset)
  local inputs = { n = node.inputs.n }
  for i = 1, inputs.n do
    local v, dtype = node.inputs[i], changes[inputs_of[i]]
    inputs[i] = v and dtype and builder.cast(v, dtype) or v
  end
  local results = builder.again(op, inputs, core.arguments(node), node.outputs.n)
  for i, v in ipairs(results) do
    core.copy_shape(v, node.outputs[i])
    if changes[outputs_of[i]] then results[i] = builder.cast(v, core.field(node.outputs[i], "dtype")) end
  end
  return results
end

return M
