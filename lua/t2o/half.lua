-- lua/t2o/half.lua: operators that PyTorch computes in 32 bits on 16-bit floats, rounding once (rules/aten/half.lua).
--
-- A rule for one of them that rounds in between, as more than one ONNX operator does, runs again on widened arguments.

local core = require("t2o.core")

local M = {}

local once = {}         -- "aten::silu" -> true
local accumulating = {} -- "aten::linear" -> true
local loaded
local rounds = 0 -- operators built by the running rule whose result is rounded to 16 bits

local function set(text)
  local out = {}
  for name in text:gmatch("%S+") do out[name] = true end
  return out
end

local registry = {}

--- Names without overloads, separated by white space.
function registry:rounds_once(namespace, names)
  for name in pairs(set(names)) do once[namespace .. "::" .. name] = true end
end

--- Those that are left in 16 bits, in which runtimes are fast: the runtime itself computes in 32 within.
function registry:accumulates(namespace, names)
  for name in pairs(set(names)) do accumulating[namespace .. "::" .. name] = true end
end

M.registry = registry

local IS_HALF = { float16 = true, bfloat16 = true }

-- These give a number that they were given.
local EXACT = set [[
  Abs Clip Concat Constant ConstantOfShape Expand Flatten Gather GatherElements GatherND Identity Max MaxPool Min Neg
  Pad ReduceMax ReduceMin Relu Reshape Sign Slice Split Squeeze Tile TopK Transpose Trilu Unsqueeze Where
]]

--- Called for every operator that is built.
function M.note(op, output)
  if IS_HALF[core.field(output, "dtype")] and not EXACT[op] then rounds = rounds + 1 end
end

--- Begins to count for a rule. Returns what M.go_on takes to go on with the rule that called it.
function M.start()
  local outer = rounds
  rounds = 0
  return outer
end

function M.go_on(outer) rounds = outer end

local function is_listed(list, op)
  if not loaded then
    core.load("ops", "t2o.half")
    loaded = true
  end
  return list[op:match("^[^.]+")]
end

--- Whether PyTorch keeps 32 bits between the operators that a torch operator becomes.
function M.accumulates(op) return is_listed(accumulating, op) or is_listed(once, op) end

local again = {} -- op -> whether it may have to run again

--- Whether M.run does more for an operator than to call its rule.
function M.may_run_again(op)
  if again[op] == nil then again[op] = is_listed(once, op) or false end
  return again[op]
end

local function is_half(x) return core.is_value(x) and not x.is_complex and IS_HALF[x.dtype] end

local function widen(x)
  if is_half(x) then return x:to("float32") end
  if type(x) ~= "table" then return x end
  local list = {}
  for key, item in pairs(x) do list[key] = is_half(item) and item:to("float32") or item end
  return list
end

-- The result in the dtype that it had before widening.
local function narrow(result, like)
  if is_half(like) and result.dtype == "float32" then return result:to(like.dtype) end
  if core.is_value(result) or type(result) ~= "table" then return result end
  local list = {}
  for key, item in pairs(result) do list[key] = narrow(item, like[key]) end
  return list
end

--- The results of fn(a), a rule for the operator.
function M.run(op, fn, a)
  local graph, before = core.place()
  local results = fn(a)
  if rounds < 2 or not is_listed(once, op) then return results end
  core.resume(graph, before)
  local wide = {}
  for key, x in pairs(a) do wide[key] = widen(x) end
  return narrow(fn(wide), results)
end

return M
