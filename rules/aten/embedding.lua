-- rules/aten/embedding.lua: rows of a table.

local aten = require("t2o.rules").namespace("aten")
local util = require("t2o.util")

aten:rule("embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool scale_grad_by_freq=False, "
          .. "bool sparse=False) -> Tensor",
  function(g, a)
    local indices = a.indices.dtype == "int32" and a.indices or a.indices:to("int64")
    return g.Gather(a.weight, indices, { axis = 0 })
  end)

aten:rule("one_hot(Tensor self, int num_classes=-1) -> Tensor", function(g, a)
  local x = a.self:to("int64")
  local classes
  if a.num_classes >= 0 then
    classes = util.arange(g, a.num_classes)
  else
    local last = g.ReduceMax(x, nil, { keepdims = 0 })
    classes = g.Range(g.scalar(0, "int64"), g.Add(last, g.scalar(1, "int64")), g.scalar(1, "int64"))
  end
  return g.Equal(g.Unsqueeze(x, g.ints { -1 }), classes):to("int64")
end)

-- ---- bags of rows ----

local SUM, MEAN, MAX = 0, 1, 2

-- The bag of each index: how many bags begin at or before it, less one. What belongs to padding_idx goes to a bag of
-- its own behind the others.
local function bag_of_each(g, indices, offsets, bags, padding_idx)
  local places = util.arange(g, indices:size(0))
  local begun = g.GreaterOrEqual(g.Unsqueeze(places, g.ints { 1 }), g.Unsqueeze(offsets, g.ints { 0 }))
  local bag = g.ReduceSum(begun:to("int64"), g.ints { 1 }, { keepdims = 0 }) - g.scalar(1, "int64")
  if not padding_idx then return bag end
  return g.Where(g.Equal(indices, g.scalar(padding_idx, "int64")), g.scalar(bags, "int64"), bag)
end

local function embedding_bag(g, a)
  local indices, offsets = a.indices:to("int64"), a.offsets:to("int64")
  -- ONNX Runtime adds no narrow floats in a scatter
  local weight = a.weight.dtype == "float64" and a.weight or a.weight:to("float32")
  if indices.rank ~= 1 then return g.decline("indices of rank %d", indices.rank) end
  local bags = offsets:size(0) - (a.include_last_offset and 1 or 0)
  if a.include_last_offset then offsets = g.Slice(offsets, g.ints { 0 }, g.ints { -1 }, g.ints { 0 }) end
  local padding = a.padding_idx
  if padding and padding < 0 then padding = weight:size(0) + padding end
  local rows, width = g.Gather(weight, indices, { axis = 0 }), weight:size(1)
  if a.per_sample_weights then rows = rows * g.Unsqueeze(a.per_sample_weights:to(weight.dtype), g.ints { 1 }) end
  local bag = g.Unsqueeze(bag_of_each(g, indices, offsets, bags, padding), g.ints { 1 })
  local target = g.expand(bag, { indices:size(0), width })
  local least = a.mode == MAX and -math.huge or 0
  local start = g.expand(g.scalar(least, weight.dtype), { bags + 1, width })
  local out = g.ScatterElements(start, target, rows, { axis = 0, reduction = a.mode == MAX and "max" or "add" })
  local function without_padding(x) return g.Slice(x, g.ints { 0 }, g.ints { bags }, g.ints { 0 }) end
  out = without_padding(out)
  if a.mode == SUM then return out:to(a.weight.dtype) end
  local none = g.expand(g.scalar(0, "int32"), { bags + 1, 1 })
  local ones = g.expand(g.scalar(1, "int32"), { indices:size(0), 1 })
  local count = without_padding(g.ScatterElements(none, bag, ones, { axis = 0, reduction = "add" }))
  if a.mode == MEAN then
    out = g.Div(out, g.Max(count, g.scalar(1, "int32")):to(out.dtype))
  else
    out = g.Where(g.Equal(count, g.scalar(0, "int32")), g.scalar(0, out.dtype), out)
  end
  return out:to(a.weight.dtype)
end

aten:rule("embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, "
          .. "bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False) -> "
          .. "(Tensor, Tensor, Tensor, Tensor)", embedding_bag)
aten:rule("embedding_bag.padding_idx(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq, "
          .. "int mode, bool sparse, Tensor? per_sample_weights, bool include_last_offset, int? padding_idx) -> "
          .. "(Tensor, Tensor, Tensor, Tensor)", embedding_bag)
-- Here a padding_idx of -1 means that there is none.
-- Here a padding_idx of -1 means that there is none.
for _, name in ipairs { "_embedding_bag", "_embedding_bag_forward_only" } do
  aten:rule(name .. "(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, "
            .. "bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False, "
            .. "int padding_idx=-1) -> (Tensor, Tensor, Tensor, Tensor)",
    function(g, a)
      if a.padding_idx == -1 then a.padding_idx = nil end
      return embedding_bag(g, a)
    end)
end
