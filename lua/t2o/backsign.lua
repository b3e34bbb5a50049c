-- lua/t2o/backsign.lua: whether a tensor of indices is certainly without negative numbers, for rules/onnx: ONNX counts
-- those from the end of a dim, which some of PyTorch's functions do not.

local core = require("t2o.core")
local forms = require("t2o.backforms")
local util = require("t2o.util")

local M = {}

local function words(text)
  local out = {}
  for word in text:gmatch("%S+") do out[word] = true end
  return out
end

local NEVER = words "argmax argmin argsort nonzero abs square exp sigmoid softmax relu"
local BY_OUTPUT = words "topk sort" -- the second result

-- Some of the elements of its first input, or as negative as that.
local AS_FIRST = words [[slice select expand reshape view unsqueeze squeeze flatten permute transpose t to repeat
  index_select gather index flip roll cumsum cumprod sum prod amax amin floor ceil round unbind split chunk
  split_with_sizes tile contiguous clone]]

-- As both of its operands.
local AS_BOTH = words "add mul minimum div where bitwise_and"

local DEPTH = 16

local check

local function all_of(t, items, ids, depth)
  for _, item in ipairs(items) do
    if not check(t, item.value, ids, depth) then return false end
  end
  return true
end

local function arange(t, a, ids, depth)
  return (a.step == nil or math.type(a.step) and a.step > 0) and (a.start == nil or check(t, a.start, ids, depth))
end

local special = {
  arange = arange,
  cat = function(t, a, ids, depth) return all_of(t, a.tensors, ids, depth) end,
  stack = function(t, a, ids, depth) return all_of(t, a.tensors, ids, depth) end,
  maximum = function(t, a, ids, depth) return check(t, a.self, ids, depth) or check(t, a.other, ids, depth) end,
  clamp = function(t, a, ids, depth) -- where the bounds cross, the upper one holds
    local low = a.min == nil and check(t, a.self, ids, depth) or a.min ~= nil and check(t, a.min, ids, depth)
    return low and (a.max == nil or check(t, a.max, ids, depth))
  end,
  clamp_min = function(t, a, ids, depth) return check(t, a.self, ids, depth) or check(t, a.min, ids, depth) end,
  remainder = function(_, a) return math.type(a.other) and a.other > 0 or core.is_dim(a.other) end,
  full = function(t, a, ids, depth) return check(t, a.fill_value, ids, depth) end,
  zeros = function() return true end,
  ones = function() return true end,
}

-- Of a model's inputs those that are called so are numbers of rows.
local function is_id(v)
  local name = (v.name or ""):lower()
  return name:find("ids?$") or name:find("token") or name:find("id[sx]?_")
end

local function by_input(v, ids)
  return core.signature(v).spec == "USER_INPUT" and core.field(v, "dtype"):find("int") and (ids or is_id(v)) and true
end

local function by_call(t, v, node, ids, depth)
  local name = node.op:match("^aten::_*([^%.]+)")
  if not name then return false end
  if NEVER[name] then return true end
  if BY_OUTPUT[name] then return node.outputs[2] == v end
  local a = forms.args_of(node)
  if special[name] then return special[name](t, a, ids, depth) end
  if AS_FIRST[name] then return check(t, node.inputs[1], ids, depth) end
  return AS_BOTH[name] and (a.alpha == nil or a.alpha == 1) and check(t, a.self, ids, depth)
    and check(t, a.other, ids, depth)
end

function check(t, v, ids, depth)
  if math.type(v) then return v >= 0 end
  if core.is_dim(v) then return util.compare(v + 1, 0) == 1 end
  if not core.is_value(v) or depth == 0 then return false end
  local dtype = core.field(v, "dtype")
  if dtype and (dtype == "bool" or dtype:find("^uint")) then return true end
  local numbers = t.numbers(v)
  for _, x in ipairs(numbers or {}) do
    if type(x) == "number" and x < 0 then return false end
  end
  if numbers then return true end
  local node = core.producer(v)
  if not node then return by_input(v, ids) or false end
  return by_call(t, v, node, ids, depth - 1) or false
end

--- Whether v, a tensor, a number or a size, holds no negative numbers for sure. `ids`: a model's inputs of integers are
--- taken to be numbers of rows.
function M.not_negative(t, v, ids) return check(t, v, ids, DEPTH) end

return M
