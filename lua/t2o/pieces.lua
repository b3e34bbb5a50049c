-- lua/t2o/pieces.lua: which weights a tensor is put together from, for rules/onnx: exporters cut and join weights to
-- ONNX's order, and a layer needs them as they were.

local core = require("t2o.core")

local M = {}

local function count_of(v)
  local count = 1
  if not core.field(v, "known_rank") then return nil end
  for _, d in ipairs(v.shape) do
    if math.type(d) ~= "integer" then return nil end
    count = count * d
  end
  return count
end

local function argument(node, name)
  for _, item in ipairs(core.call(node)) do
    if item.name == name then return item end
  end
end

local named = {} -- modules whose names were made here
local counts = {} -- name -> the last number behind it

--- A name for a module that the model does not have, from this one on.
function M.new_scope(path)
  local base, count = path, counts[path] or 1
  if count > 1 then path = base .. "_" .. count end
  while named[path] or core.is_scope(path) do
    count = count + 1
    path = base .. "_" .. count
  end
  counts[base] = count
  named[path] = true
  return path
end

-- The part of `count` elements from number `first` on.
function M.cut(pieces, first, count)
  local out, at = {}, 0
  for _, piece in ipairs(pieces) do
    local from, to = math.max(first, at), math.min(first + count, at + piece.count)
    if from < to then
      out[#out + 1] = { of = piece.of, first = piece.first + from - at, count = to - from }
    end
    at = at + piece.count
  end
  return out
end

--- All of the pieces behind each other, neighbours joined.
function M.join(list)
  local out = {}
  for _, pieces in ipairs(list) do
    for _, piece in ipairs(pieces) do
      local last = out[#out]
      if last and last.of == piece.of and last.first + last.count == piece.first then
        out[#out] = { of = last.of, first = last.first, count = last.count + piece.count }
      else
        out[#out + 1] = piece
      end
    end
  end
  return out
end

local follow = {}

-- The same elements in another shape.
local function same(node) return M.of(node.inputs[1]) end
for _, op in ipairs { "unsqueeze", "squeeze", "squeeze.dim", "squeeze.dims", "view", "reshape", "flatten.using_ints",
                      "unflatten.int", "contiguous", "clone", "alias" } do
  follow["aten::" .. op] = same
end

local function along_rows(node)
  local dim = argument(node, "dim")
  return not dim or dim.value == 0
end

follow["aten::cat"] = function(node)
  if not along_rows(node) then return nil end
  local list = {}
  for i, item in ipairs(argument(node, "tensors").value) do
    list[i] = M.of(item.value)
    if not list[i] then return nil end
  end
  return M.join(list)
end

local function split(node, index)
  local whole = along_rows(node) and M.of(node.inputs[1])
  local first = 0
  for i = 1, whole and index or 0 do
    local count = count_of(node.outputs[i])
    if not count then return nil end
    if i == index then return M.cut(whole, first, count) end
    first = first + count
  end
end
for _, op in ipairs { "split_with_sizes", "split.sizes", "split.Tensor", "chunk" } do follow["aten::" .. op] = split end

local function integer(item, default)
  if not item then return default end
  return item.kind == "int" and item.value or nil
end

follow["aten::slice.Tensor"] = function(node)
  local v = node.inputs[1]
  local whole, total = along_rows(node) and M.of(v), count_of(v)
  local start, stop = integer(argument(node, "start"), 0), integer(argument(node, "end"), math.maxinteger)
  if not (whole and total and start and stop) or integer(argument(node, "step"), 1) ~= 1 then return nil end
  local rows = v:size(0)
  local function place(x) return math.max(math.min(x < 0 and x + rows or x, rows), 0) end
  local row = rows > 0 and total // rows or 0
  return M.cut(whole, place(start) * row, math.max(place(stop) - place(start), 0) * row)
end

follow["aten::select.int"] = function(node)
  local v = node.inputs[1]
  local whole, total, index = along_rows(node) and M.of(v), count_of(v), integer(argument(node, "index"))
  if not (whole and total and index and index >= 0) then return nil end
  local row = total // v:size(0)
  return M.cut(whole, index * row, row)
end

--- The weights that v's elements come from in order, { of, first, count } in elements; nil where that is not plain.
function M.of(v)
  if v.is_constant then
    local count = count_of(v)
    return count and { { of = v, first = 0, count = count } }
  end
  local node, index = core.producer(v)
  local how = node and follow[node.op]
  return how and how(node, index)
end

-- ---- shapes and back ----

-- The order of dims that a call turns its input into; nil where it is no such call.
local function turned(node)
  if node.op ~= "aten::permute" and node.op ~= "aten::transpose.int" and node.op ~= "aten::t" then return nil end
  local rank = core.field(node.inputs[1], "known_rank") and node.inputs[1].rank
  if node.op == "aten::permute" then
    local dims = {}
    for i, item in ipairs(argument(node, "dims").value) do dims[i] = item.value end
    return dims
  end
  if not rank then return nil end
  local a, b = integer(argument(node, "dim0"), 0), integer(argument(node, "dim1"), 1)
  local dims = {}
  for i = 1, rank do dims[i] = i - 1 end
  a, b = a % rank + 1, b % rank + 1
  if rank > 1 then dims[a], dims[b] = dims[b], dims[a] end
  return dims
end

--- The value of which v is a turned one that `perm` turns back; nil where there is none.
function M.unturned(v, perm)
  local node = core.producer(v)
  local dims = node and turned(node)
  if not dims or #dims ~= #perm then return nil end
  for i, d in ipairs(perm) do
    if dims[d + 1] ~= i - 1 then return nil end
  end
  return node.inputs[1]
end

-- Whether a call turns dims of one element only, so that the elements stay in order.
local function keeps_order(node)
  local dims, last = turned(node), -1
  if not dims or not core.field(node.inputs[1], "known_rank") then return false end
  local shape = node.inputs[1].shape
  for _, d in ipairs(dims) do
    if shape[d + 1] ~= 1 then
      if d < last then return false end
      last = d
    end
  end
  return true
end

local function has_shape(v, shape)
  if not core.field(v, "known_rank") or v.rank ~= #shape then return false end
  for i, d in ipairs(v.shape) do
    if core.compare(d, shape[i]) ~= 0 then return false end
  end
  return true
end

--- The value before v that has the same elements in the wanted shape; nil where there is none.
function M.before(v, shape)
  local found
  for _ = 1, 8 do
    if has_shape(v, shape) then found = v end
    local node = core.producer(v)
    if not node or not (follow[node.op] == same or keeps_order(node)) then break end
    v = node.inputs[1]
  end
  return found
end

-- ---- cut and joined ----

--- What is cut into just these slices along a dimension, in order; nil where they are anything else.
function M.uncut(values, dim)
  local source, at = nil, 0
  for i = 1, values.n or #values do
    local node = core.producer(values[i])
    if not node or node.op ~= "aten::slice.Tensor" then return nil end
    source = source or node.inputs[1]
    local along, start = integer(argument(node, "dim"), 0), integer(argument(node, "start"), 0)
    local step = integer(argument(node, "step"), 1)
    if node.inputs[1] ~= source or along ~= dim or start ~= at or step ~= 1 then return nil end
    at = integer(argument(node, "end"), math.maxinteger)
    if not at or at < 0 then return nil end
  end
  local size = source and core.field(source, "known_rank") and source.shape[dim + 1]
  return size and (at == size or at == math.maxinteger) and source or nil
end

return M
