-- rules/onnx/sequence.lua: sequences as Python lists, optionals as None, strings as arrays of objects.

local core = require("t2o.core")
local onnx = require("t2o.back").registry

local function position_of(t, v)
  if not v then return nil end
  return t.item(v)
end

onnx:rule("SequenceConstruct()", function(t, n)
  return t.helper.list_of(n.inputs)
end)

onnx:rule("SequenceEmpty() {dtype=1}", function(t) return t.helper.list_of({ n = 0 }) end)

onnx:rule("SequenceAt(input_sequence, position)", function(t, n)
  local y = t.helper.list_item(n.input_sequence, position_of(t, n.position))
  return y
end)

onnx:rule("SequenceLength(input_sequence)", function(t, n) return t.helper.list_length(n.input_sequence) end)

onnx:rule("SequenceInsert(input_sequence, tensor, position?)", function(t, n)
  local at = position_of(t, n.position)
  if not at then return t.helper.list_append(n.input_sequence, n.tensor) end
  return t.helper.insert_item(n.input_sequence, n.tensor, at)
end)

onnx:rule("SequenceErase(input_sequence, position?)", function(t, n)
  local at = position_of(t, n.position)
  if not at or at == -1 then return t.helper.list_but_last(n.input_sequence) end
  return t.helper.erase_item(n.input_sequence, at)
end)

onnx:rule("SplitToSequence(input, split?) {axis=0, keepdims=1}", function(t, n)
  if not n.split then
    if n.keepdims == 0 then return t.helper.unbound_list(n.input, n.axis) end
    return t.helper.split_list(n.input, 1, n.axis)
  end
  local scalar = core.field(n.split, "known_rank") and n.split.rank == 0
  if scalar then return t.helper.split_list(n.input, position_of(t, n.split), n.axis) end
  if not t.counts_sizes(n.split) then return t.helper.split_list_by(n.input, n.split, n.axis) end
  return t.helper.split_list_sizes(n.input, t.sizes(n.split), n.axis)
end)

onnx:rule("ConcatFromSequence(input_sequence) {axis, new_axis=0}", function(t, n)
  if n.new_axis ~= 0 then return t.helper.stack_list(n.input_sequence, n.axis) end
  return t.helper.cat_list(n.input_sequence, n.axis)
end)

onnx:rule("SequenceMap(input_sequence) {body}", function(t, n)
  t.need_python("a list")
  local body, captures = core.back_body(n.body)
  local outs, lists, others, is_list = {}, {}, {}, {}
  for i = 1, n.outputs.n do outs[i] = t.new("object") end
  local ins = n.inputs
  for i = 1, ins.n do
    is_list[i] = core.field(ins[i], "kind") == "object"
    local into = is_list[i] and lists or others
    into[#into + 1] = ins[i]
  end
  local given, results = core.body_ports(body)
  local same = {} -- lists whose elements come back as they are
  for i = 1, n.outputs.n do
    for j = 1, ins.n do
      if is_list[j] and results[i] == given[j] then same[i] = ins[j] end
    end
  end
  if #same == n.outputs.n then return table.unpack(same) end
  core.torch_call("helper::map", {
    { "body_graph", body }, { "lists", lists }, { "others", others }, { "is_list", is_list },
    { "additional", captures },
  }, outs)
  return table.unpack(outs)
end)

-- ---- optionals ----

onnx:rule("Optional(input?) {type}", function(t, n) return n.input or t.helper.none() end)

onnx:rule("OptionalGetElement(input)", function(_, n) return n.input end)

onnx:rule("OptionalHasElement(input?)", function(t, n)
  if n.input and core.field(n.input, "kind") == "tensor" then return t.aten.full({}, true, { dtype = "bool" }) end
  if not n.input then return t.aten.full({}, false, { dtype = "bool" }) end
  return t.helper.is_there(n.input)
end)

-- ---- strings ----

onnx:rule("StringConcat(X, Y)", function(t, n) return t.helper.join_texts(n.X, n.Y) end)

onnx:rule("StringSplit(X) {delimiter, maxsplit}", function(t, n)
  return t.helper.split_texts(n.X, n.attrs.delimiter, n.attrs.maxsplit)
end)

onnx:rule("RegexFullMatch(X) {pattern}", function(t, n) return t.helper.full_match(n.X, n.pattern) end)

onnx:rule("StringNormalizer(X) {case_change_action='NONE', is_case_sensitive=0, locale, stopwords}", function(t, n)
  local words = { n = 0 }
  for i, w in ipairs(n.attrs.stopwords or {}) do words[i], words.n = w, i end
  return t.helper.normalize_texts(n.X, n.case_change_action, n.is_case_sensitive ~= 0, words)
end)
