-- lua/t2o/batch.lua: calls within vmap, made for the whole batch at once.
--
-- In the archive a tensor within vmap is one of a batch. In ONNX it is all of them: the dimensions of the batches, one
-- a level, stand in front of its own, in the order of the levels. A tensor that is the same for all has none. What an
-- operator is called with for the whole batch is said in rules/predispatch/vmap.lua.

local core = require("t2o.core")
local builder = require("t2o.builder")
local types = require("t2o.types")

local M = {}
local g = builder.g

local bind, call -- of lua/t2o/translate.lua
local forms = {} -- "aten::add" -> how it is called for a batch
local loaded

function M.set_engine(binder, caller) bind, call = binder, caller end

--- Levels as a list, outer ones first.
local function levels_of(mask)
  local out = {}
  for level = 0, 31 do
    if mask & (1 << level) ~= 0 then out[#out + 1] = level end
  end
  return out
end

--- Levels of a value: bits, and their number.
function M.levels(v)
  local mask = core.field(v, "batch")
  return mask, #levels_of(mask)
end

--- Rank of one of the batch.
function M.rank(v) return v.rank - select(2, M.levels(v)) end

function M.set_levels(v, mask)
  if mask ~= 0 and core.field(v, "batch") ~= mask then
    if v.is_constant or core.field(v, "batch") ~= 0 then v = g.Identity(v) end
    core.set_batch(v, mask)
  end
  return v
end

--- A value with room for all levels of mask, and at least so many dimensions of its own: new ones have size 1.
function M.align(v, mask, rank)
  if types.is_wrapped(v) or core.field(v, "batch") == 0 then return v end -- broadcast from the right
  local own = M.levels(v)
  local axes, place = {}, 0
  for _, level in ipairs(levels_of(mask)) do
    if own & (1 << level) == 0 then axes[#axes + 1] = place end
    place = place + 1
  end
  for _ = M.rank(v) + 1, rank do
    axes[#axes + 1] = place
    place = place + 1
  end
  if #axes == 0 then return v end
  return g.Unsqueeze(v, g.ints(axes))
end

--- The sizes of all levels of mask, from the values that have them.
function M.sizes(mask, values)
  local out = {}
  for i, level in ipairs(levels_of(mask)) do
    for _, v in ipairs(values) do
      local own, place = M.levels(v), 0
      for _, l in ipairs(levels_of(own)) do
        place = place + 1
        if l == level then out[i] = v:size(place - 1) end
      end
    end
  end
  return out
end

--- A value with the sizes of a batch in full, `rank` dimensions of its own behind them.
function M.spread(v, mask, values, rank)
  local sizes = M.sizes(mask, values)
  local own = M.rank(v)
  v = M.align(v, mask, rank or own)
  local dims = table.move(v.shape, math.max(v.rank - (rank or own), 0) + 1, v.rank, #sizes + 1, sizes)
  return g.expand(v, dims)
end

local registry = {}

--- Names without overloads, or with one that has a form of its own; form(g, a, c) makes the call for the batch and
--- returns its results. c has node, mask (the levels of all operands), n (their number), and call(a, op).
function registry:form(names, form)
  for name in names:gmatch("%S+") do forms["aten::" .. name] = form end
end

M.registry = registry

local function form_of(op)
  if not loaded then
    loaded = true
    core.load("ops", "t2o.batch")
  end
  return forms[op] or forms[op:match("^[^.]+")]
end

local function all_levels(a)
  local mask = 0
  for _, x in pairs(a) do
    if core.is_value(x) then
      mask = mask | core.field(x, "batch")
    elseif type(x) == "table" then
      mask = mask | all_levels(x)
    end
  end
  return mask
end

--- Gives a call up: why it cannot be made for a batch.
function M.refuse(why)
  core.decline("within vmap: " .. why .. "; .run_decompositions() on the exported program takes vmap away")
end

local function mark(x, mask)
  if core.is_value(x) then return M.set_levels(x, mask) end
  if type(x) ~= "table" then return x end
  for i, item in ipairs(x) do x[i] = mark(item, mask) end
  return x
end

local function check(results, node, levels)
  for i = 1, results.n do
    local got, want = results[i], node.outputs[i]
    if core.is_value(got) and want and want.kind == "tensor" then
      if want.dtype ~= got.dtype then M.refuse("it promotes dtypes by the rank of one of the batch") end
      if core.field(got, "known_rank") and got.rank ~= want.rank + levels then
        M.refuse(string.format("%s gives a result of rank %d for all", node.op, got.rank))
      end
    end
  end
end

local function call_for_batch(node)
  local form, a = form_of(node.op), bind(node)
  if not form or not a then M.refuse("nothing is said of " .. node.op) end
  if node.autocast then M.refuse("autocast") end
  local mask = all_levels(a)
  local c = { node = node, mask = mask, n = #levels_of(mask) }
  function c.call(args, op) return call(op or node.op, args) end
  local results = table.pack(form(g, a, c))
  check(results, node, c.mask == 0 and 0 or c.n)
  return mark(results, c.mask)
end

--- Results of a node some of whose operands are batched, and the rule's place; a reason is put into the list where it
--- declines. The operators that begin and end a level are rules as any.
function M.run(list, node, reasons)
  if node.op:find("^predispatch::") then
    return table.pack(list[1].fn(g, (bind(node)), node)), list[1].place
  end
  local ok, results = xpcall(call_for_batch, core.on_error, node)
  if ok then return results, list[1] and list[1].place end
  if core.is_decline(results) then reasons[#reasons + 1] = results.reason end
  error(results, 0)
end

return M
