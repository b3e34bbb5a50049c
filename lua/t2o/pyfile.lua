-- lua/t2o/pyfile.lua: the file around the classes: imports, the reader of weights, load(), nested outputs.

local text = require("t2o.pytext")

local M = {}

-- ---- tree specs ----

-- A value of JSON text from position i on, and the position behind it.
local function parse(s, i)
  i = s:find("%S", i)
  local c = s:sub(i, i)
  if c == "{" or c == "[" then
    local out, close = {}, c == "{" and "}" or "]"
    i = s:find("%S", i + 1)
    while s:sub(i, i) ~= close do
      local key
      if c == "{" then
        key, i = parse(s, i)
        i = s:find(":", i, true) + 1
      end
      local value
      value, i = parse(s, i)
      if key then out[key] = value else out[#out + 1] = value end
      i = s:find("%S", i)
      if s:sub(i, i) == "," then i = s:find("%S", i + 1) end
    end
    return out, i + 1
  end
  if c == '"' then
    local out, from = "", i + 1
    while true do
      local at = s:find('["\\]', from)
      out = out .. s:sub(from, at - 1)
      if s:sub(at, at) == '"' then return out, at + 1 end
      local e = s:sub(at + 1, at + 1)
      local plain = { n = "\n", t = "\t", r = "\r", b = "\b", f = "\f" }
      if e == "u" then
        out = out .. utf8.char(tonumber(s:sub(at + 2, at + 5), 16) or 63)
        from = at + 6
      else
        out = out .. (plain[e] or e)
        from = at + 2
      end
    end
  end
  local word = s:match("^[^%s,%]%}]+", i)
  return word ~= "null" and (tonumber(word) or word == "true") or nil, i + #word
end

--- [1, {"type": ..., "context": ..., "children_spec": [...]}] as a table, or nil.
function M.spec(json)
  local ok, value = pcall(parse, json or "", 1)
  return ok and type(value) == "table" and type(value[2]) == "table" and value[2] or nil
end

local function key_text(key)
  if type(key) == "string" then return text.quote(key) end
  return tostring(key)
end

local nest

local function dict(spec, items, at, order)
  local out = text.atom("{")
  for i, child in ipairs(spec.children_spec) do
    out[#out + 1] = (i > 1 and ", " or "") .. key_text(order[i]) .. ": "
    local inner
    inner, at = nest(child, items, at)
    out[#out + 1] = { sub = inner, prec = text.TERNARY }
  end
  out[#out + 1] = "}"
  return out, at
end

local function context_of(spec)
  local ok, value = pcall(parse, spec.context or "", 1)
  return ok and value or nil
end

local function sequence(spec, items, at, open, close)
  local out = { prec = text.ATOM }
  if open then out[1] = open end
  for i, child in ipairs(spec.children_spec) do
    if i > 1 then out[#out + 1] = ", " end
    local inner
    inner, at = nest(child, items, at)
    out[#out + 1] = { sub = inner, prec = text.TERNARY }
  end
  if #spec.children_spec == 1 and close ~= "]" then out[#out + 1] = "," end
  out[#out + 1] = close
  return out, at
end

function nest(spec, items, at, outermost)
  if not spec.type then return text.atom(items[at]), at + 1 end
  local keys = context_of(spec)
  if spec.type == "builtins.list" then return sequence(spec, items, at, "[", "]") end
  if (spec.type == "builtins.dict" or spec.type == "collections.OrderedDict") and type(keys) == "table"
    and #keys == #spec.children_spec then
    return dict(spec, items, at, keys)
  end
  if outermost and #spec.children_spec > 1 then return sequence(spec, items, at, nil, "") end
  return sequence(spec, items, at, "(", ")")
end

--- What a model returns, as a tree spec says.
function M.structure(json, items)
  local spec = M.spec(json)
  if spec then
    local ok, e, at = pcall(nest, spec, items, 1, true)
    if ok and at == #items + 1 then
      if #e == 1 and type(e[1]) == "table" and e[1].sub then return e[1].sub end
      return e
    end
  end
  local out = text.join(items, ", ")
  if #items == 1 and type(items[1]) == "table" then return items[1].sub end
  return out
end

-- Calls fn(leaf number, access) for the leaves of a nested argument.
local function each_leaf(spec, at, access, fn)
  if not spec.type then
    fn(at, access)
    return at + 1
  end
  local keys = context_of(spec)
  local by_key = spec.type:find("dict") or spec.type:find("Dict")
  for i, child in ipairs(spec.children_spec) do
    local key = by_key and type(keys) == "table" and key_text(keys[i]) or tostring(i - 1)
    at = each_leaf(child, at, access .. "[" .. key .. "]", fn)
  end
  return at
end

local function is_flat_sequence(spec)
  if spec.type ~= "builtins.tuple" and spec.type ~= "builtins.list" then return false end
  for _, child in ipairs(spec.children_spec) do
    if child.type then return false end
  end
  return #spec.children_spec > 0
end

-- (args, kwargs) as one list of { spec, name }
local function arguments_of(spec)
  local args, kwargs = spec.children_spec[1], spec.children_spec[2]
  local out, names = {}, context_of(kwargs) or {}
  for _, child in ipairs(args.children_spec) do out[#out + 1] = { spec = child } end
  for i, child in ipairs(kwargs.children_spec) do out[#out + 1] = { spec = child, name = names[i] } end
  return out
end

local function nested_argument(argument, at, names, used)
  local first = names[at] or "args"
  local name = text.identifier(argument.name or first:gsub("_[^_]*$", ""))
  local leaves, lines = {}, {}
  local next_at = each_leaf(argument.spec, at, name, function(i, access)
    leaves[#leaves + 1] = { i, access }
  end)
  if is_flat_sequence(argument.spec) then
    local parts = {}
    for i, leaf in ipairs(leaves) do parts[i] = used[leaf[1]] and names[leaf[1]] or "_" end
    local left = table.concat(parts, ", ")
    lines[1] = (#parts == 1 and "(" .. left .. ",)" or left) .. " = " .. name
  else
    for _, leaf in ipairs(leaves) do
      if used[leaf[1]] then lines[#lines + 1] = names[leaf[1]] .. " = " .. leaf[2] end
    end
  end
  return name, lines, next_at
end

--- The parameters of forward where arguments nest: their names, and lines that take them apart; nil where they do not.
function M.nested_inputs(json, names, used)
  local spec = M.spec(json)
  if not spec or not spec.children_spec or #spec.children_spec ~= 2 then return nil end
  local params, lines, at, nested = {}, {}, 1, false
  for _, argument in ipairs(arguments_of(spec)) do
    if argument.spec.type then
      local name, own
      nested = true
      name, own, at = nested_argument(argument, at, names, used)
      params[#params + 1] = name
      for _, line in ipairs(own) do lines[#lines + 1] = line end
    else
      params[#params + 1] = names[at]
      at = at + 1
    end
  end
  if nested and at == #names + 1 then return params, lines end
end

-- ---- the file ----

local READER = [=[
def read_weights(path):
    """The tensors of a safetensors file by name, mapped into memory."""
    with open(path, "rb") as file:
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    start = 8 + int.from_bytes(data[:8], "little")
    tensors = {}
    for name, entry in json.loads(data[8:start]).items():
        if name == "__metadata__":
            continue
        dtype, shape = DTYPES[entry["dtype"]], entry["shape"]
        begin, end = entry["data_offsets"]
        tensors[name] = torch.empty(shape, dtype=dtype)
        if begin < end:
            flat = torch.frombuffer(data, dtype=dtype, offset=start + begin, count=math.prod(shape))
            tensors[name] = flat.reshape(shape)
    return tensors]=]

local CODES = {
  bool = "BOOL", uint8 = "U8", int8 = "I8", uint16 = "U16", int16 = "I16", uint32 = "U32", int32 = "I32",
  uint64 = "U64", int64 = "I64", float16 = "F16", bfloat16 = "BF16", float32 = "F32", float64 = "F64",
  complex64 = "C64", float8_e4m3fn = "F8_E4M3", float8_e5m2 = "F8_E5M2",
}

local function dtypes_of(model)
  local seen, out = {}, {}
  for _, m in pairs(model.modules) do
    for _, tensor in ipairs(m.tensors) do
      if not seen[tensor.dtype] then
        seen[tensor.dtype] = true
        out[#out + 1] = tensor.dtype
      end
    end
  end
  table.sort(out)
  local parts = {}
  for i, d in ipairs(out) do parts[i] = text.quote(CODES[d] or d) .. ": torch." .. d end
  return "DTYPES = {" .. table.concat(parts, ", ") .. "}"
end

local function has_constants(model)
  for _, m in pairs(model.modules) do
    for _, tensor in ipairs(m.tensors) do
      if tensor.persistent == false and not tensor.parameter then return true end
    end
  end
  return false
end

local function tied_lines(model, out)
  if #model.tied == 0 then return end
  local parts = {}
  for i, tie in ipairs(model.tied) do parts[i] = text.quote(tie[1]) .. ": " .. text.quote(tie[2]) end
  out[#out + 1] = "# Names of the same tensor, which the file of weights holds once."
  text.layout("TIED = {" .. table.concat(parts, ", ") .. "}", "", out)
end

local function loader(model)
  local out = {
    "def load(path=None) -> Model:",
    '    """The model with its weights, by default those in the file beside this one."""',
    "    model = Model()",
  }
  if #model.weight_list > 0 then
    out[#out + 1] = '    weights = read_weights(path or Path(__file__).with_suffix(".safetensors"))'
    if has_constants(model) then
      out[#out + 1] = "    names = model.state_dict().keys()"
      out[#out + 1] = "    for name, buffer in model.named_buffers():"
      out[#out + 1] = "        if name not in names:"
      out[#out + 1] = "            buffer.copy_(weights.pop(name))"
    end
    if #model.tied > 0 then
      out[#out + 1] = "    weights.update({name: weights[source] for name, source in TIED.items()})"
    end
    out[#out + 1] = "    model.load_state_dict(weights)"
  end
  out[#out + 1] = "    return model.eval()"
  return table.concat(out, "\n")
end

local function imports(body, with_weights)
  local out = {}
  if body:find("%f[%w_]itertools%.") then out[#out + 1] = "import itertools" end
  if with_weights then out[#out + 1] = "import json" end
  if with_weights or body:find("%f[%w_]math%.") then out[#out + 1] = "import math" end
  if with_weights then out[#out + 1] = "import mmap" end
  if body:find("%f[%w_]re%.%l") then out[#out + 1] = "import re" end
  if body:find("OrderedDict(", 1, true) then out[#out + 1] = "from collections import OrderedDict" end
  if with_weights then out[#out + 1] = "from pathlib import Path" end
  if #out > 0 then out[#out + 1] = "" end
  if body:find("%f[%w_]np%.") then out[#out + 1] = "import numpy as np" end
  if with_weights or body:find("%f[%w_]torch%.") then out[#out + 1] = "import torch" end
  if body:find("torch.ops.quantized_decomposed", 1, true) then
    out[#out + 1] = "import torch.ao.quantization.fx._decomposed"
  end
  if body:find("%f[%w_]F%.") then out[#out + 1] = "import torch.nn.functional as F" end
  if body:find("torch.ops.torchvision", 1, true) then out[#out + 1] = "import torchvision  # noqa: F401" end
  out[#out + 1] = "from torch import nn"
  return table.concat(out, "\n")
end

--- The whole file.
function M.write(model, classes)
  local parts = { table.unpack(model.helpers) }
  for _, class in ipairs(classes) do parts[#parts + 1] = class end
  local body = table.concat(parts, "\n\n\n")
  local with_weights = #model.weight_list > 0
  local out = { imports(body, with_weights), "" }
  if with_weights then
    text.layout(dtypes_of(model), "", out)
    tied_lines(model, out)
    out[#out + 1] = ""
  end
  local whole = table.concat(out, "\n") .. (with_weights and "\n\n" or "\n\n") .. body .. "\n\n\n"
  if with_weights then whole = whole .. READER .. "\n\n\n" end
  return whole .. loader(model) .. "\n"
end

return M
