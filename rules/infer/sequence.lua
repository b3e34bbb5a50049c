-- rules/infer/sequence.lua: types of sequences, optionals and what is taken out of them.

local core = require("t2o.core")
local infer = require("t2o.infer")

-- The type of a value as a text; nil where it is not known.
local function type_of(v)
  if not v then return nil end
  local dtype = core.field(v, "dtype")
  return core.field(v, "container") or dtype ~= "none" and "tensor(" .. dtype .. ")" or nil
end

local function within(form, text) return text and form .. "(" .. text .. ")" end

-- What is inside: "seq(tensor(float32))" holds "tensor(float32)"; a tensor's dtype alone is how outputs are told.
local function inside(form, text)
  local found = text and text:match("^" .. form .. "%((.*)%)$")
  return found
end

local function told(text) return text and (inside("tensor", text) or text) end

infer.registry:type("SequenceConstruct", function(n) return within("seq", type_of(n.inputs[1])) end)

infer.registry:type("SequenceEmpty", function(n)
  local dtype = core.dtype_of_number(n.attrs.dtype or 1)
  return dtype and "seq(tensor(" .. dtype .. "))"
end)

infer.registry:type({ "SequenceInsert", "SequenceErase" }, function(n) return type_of(n.inputs[1]) end)

infer.registry:type("SequenceAt", function(n) return told(inside("seq", type_of(n.inputs[1]))) end)

infer.registry:type("SplitToSequence", function(n) return within("seq", type_of(n.inputs[1])) end)

infer.registry:type("ConcatFromSequence", function(n)
  return told(inside("seq", type_of(n.inputs[1])))
end)

infer.registry:type("Optional", function(n)
  return within("optional", n.attrs.type or type_of(n.inputs[1]))
end)

infer.registry:type("OptionalGetElement", function(n)
  local text = type_of(n.inputs[1])
  return told(inside("optional", text) or text)
end)

infer.registry:type("Identity", function(n) return told(type_of(n.inputs[1])) end)

infer.registry:type("If", function(n)
  local out = {}
  for i = 1, n.outputs do
    local yes = infer.body_outputs(n, "then_branch")
    local no = infer.body_outputs(n, "else_branch")
    out[i] = told(yes and type_of(yes[i]) or no and type_of(no[i]))
  end
  return table.unpack(out, 1, n.outputs)
end)

infer.registry:type("Loop", function(n)
  local body, out = infer.body_outputs(n, "body"), {}
  for i = 1, n.outputs do out[i] = told(body and type_of(body[i + 1]) or type_of(n.inputs[i + 2])) end
  return table.unpack(out, 1, n.outputs)
end)

infer.registry:type("SequenceMap", function(n)
  local body, out = infer.body_outputs(n, "body"), {}
  for i = 1, n.outputs do out[i] = within("seq", body and type_of(body[i])) end
  return table.unpack(out, 1, n.outputs)
end)

-- Elements of sequences go in one by one, tensors as they are.
infer.registry:body("SequenceMap", function(n)
  local out = {}
  local ins = n.inputs
  for i = 1, ins.n do
    local v = ins[i]
    local element = v and inside("seq", core.field(v, "container") or "")
    out[i] = { element and told(element) or v, not element and infer.shape(n, i) or nil }
  end
  return out
end)
