-- lua/t2o/testing.lua: test rows of rules: what a call of an op becomes, as text.
--
-- A row file returns rows:
--
--     return {
--       namespace = "aten",
--       { "hardtanh", { self = "f32[2, 3]", min_val = -2.0 }, "f32[2, 3]", want = "Clip(self, {-2}, {1})" },
--       { "relu", { self = "c64[2]" }, "c64[2]", fails = "Relu takes" },
--     }
--
-- A tensor is written "dtype[dims]"; letters in dims are symbols. A number that the run computes is "symint",
-- "symfloat" or "symbool"; `sizes` lists tensors that are there only to tell what the letters are. A third field that
-- is a list gives several results, a list in it a list of tensors, "-" in it a result that nobody reads. `want` is one
-- text, or a list of them for several results; a large result is told by its number of `nodes`; `fails` is a part of
-- the error.

local core = require("t2o.core")
local rules = require("t2o.rules")

local M = {}

local LARGEST_TEXT = 24 -- nodes

local DTYPES = {
  f32 = "float32", f64 = "float64", f16 = "float16", bf16 = "bfloat16", bool = "bool", c64 = "complex64",
  c128 = "complex128", c32 = "complex32", f8e4m3fn = "float8_e4m3fn", f8e5m2 = "float8_e5m2",
}
for _, bits in ipairs { 8, 16, 32, 64 } do
  DTYPES["i" .. bits], DTYPES["u" .. bits] = "int" .. bits, "uint" .. bits
end

local function read_dim(text)
  if tonumber(text) then return math.tointeger(tonumber(text)) end
  local symbol, sign, number = text:match("^([%a_][%w_]*)%s*([%+%-]?)%s*(%d*)$")
  if not symbol then error("a dimension '" .. text .. "'", 0) end
  local d = core.symbol(symbol)
  if sign == "" then return d end
  return sign == "+" and d + math.tointeger(number) or d - math.tointeger(number)
end

local NUMBERS = { symint = true, symfloat = true, symbool = true }

local function tensor(text, name, is_input)
  if NUMBERS[text] then return core.torch_value(text, name, is_input) end
  local dtype, dims = text:match("^(%w+)%[(.-)%]$")
  if not DTYPES[dtype] then error("'" .. text .. "' is no tensor such as f32[2, 3]", 0) end
  local shape = {}
  for d in dims:gmatch("[^,]+") do shape[#shape + 1] = read_dim((d:gsub("^%s+", ""):gsub("%s+$", ""))) end
  local v = core.torch_value(DTYPES[dtype], name, is_input)
  core.set_shape(v, shape)
  return v
end

local function is_tensor(text)
  return type(text) == "string" and (text:find("^%w+%[.*%]$") or NUMBERS[text]) and true
end

local function argument(p, value)
  if p and p.list and type(value) == "table" then
    local out = { n = value.n or #value }
    for i = 1, out.n do
      out[i] = is_tensor(value[i]) and tensor(value[i], p.name .. "_" .. i, true) or value[i]
    end
    return out
  end
  if is_tensor(value) then return tensor(value, p and p.name or "x", true) end
  if p and p.type == "ScalarType" and type(value) == "string" then return { dtype = value } end
  if p and (p.type:find("^SymInt") or p.type == "Scalar") and type(value) == "string" then return read_dim(value) end
  return value
end

local function results(spec)
  if type(spec) == "string" then return { tensor(spec, "out") } end
  local out = {}
  for i, x in ipairs(spec) do
    out[i] = x ~= "-" and (type(x) == "table" and results(x) or tensor(x, "out_" .. i))
  end
  return out
end

-- ---- what was built, as text ----

local function number_text(x)
  if math.type(x) == "float" then
    if x ~= x then return "nan" end
    if x == math.huge then return "inf" elseif x == -math.huge then return "-inf" end
    return (string.format("%.6g", x))
  end
  return tostring(x)
end

local function constant_text(v)
  if not core.is_literal(v, 16) then
    local shape = {}
    for i, d in ipairs(v.shape) do shape[i] = tostring(d) end
    return string.format("const %s[%s]", v.dtype, table.concat(shape, ", "))
  end
  local out = {}
  for i, x in ipairs(core.elements(v)) do out[i] = number_text(x) end
  local text = table.concat(out, ", ")
  return v.rank == 0 and text or "{" .. text .. "}"
end

local function attr_text(x)
  if type(x) == "table" then
    local out = {}
    for i = 1, #x do out[i] = attr_text(x[i]) end
    return "{" .. table.concat(out, ", ") .. "}"
  end
  if core.is_value(x) then return constant_text(x) end
  if type(x) == "userdata" then return "{...}" end -- a body
  return type(x) == "number" and number_text(x) or tostring(x)
end

-- How often each node is reached from the results: what is used twice is shown once, under a label.
local function count_uses(v, uses)
  local node = v and not v.is_constant and core.producer(v)
  if not node then return 0 end
  local first = core.field(node.outputs[1], "id")
  uses[first] = (uses[first] or 0) + 1
  if uses[first] > 1 then return 0 end
  local n = 1
  local ins = node.inputs
  for i = 1, ins.n do n = n + count_uses(ins[i], uses) end
  return n
end

local function show(v, seen)
  if v == nil then return "-" end
  if v.is_constant then return constant_text(v) end
  local node, output = core.producer(v)
  if not node then return v.name or "?" end
  local suffix = output > 1 and "." .. output or ""
  local first = core.field(node.outputs[1], "id")
  if seen.labels[first] then return seen.labels[first] .. suffix end
  local label = ""
  if seen.uses[first] > 1 then
    seen.n = seen.n + 1
    seen.labels[first] = "%" .. seen.n
    label = seen.labels[first] .. "="
  end
  local parts = {}
  local ins = node.inputs
  for i = 1, ins.n do parts[i] = show(ins[i], seen) end
  local attrs, keys = core.arguments(node), {}
  for key in pairs(attrs) do keys[#keys + 1] = key end
  table.sort(keys)
  for _, key in ipairs(keys) do
    local value = attrs[key]
    if key == "to" then value = M.dtype_name(value) end
    parts[#parts + 1] = key .. "=" .. attr_text(value)
  end
  local op = node.op:gsub("^onnx::", "")
  return string.format("%s%s(%s)%s", label, op, table.concat(parts, ", "), suffix)
end

local ONNX_DTYPES = {
  [1] = "float32", [2] = "uint8", [3] = "int8", [4] = "uint16", [5] = "int16", [6] = "int32", [7] = "int64",
  [9] = "bool", [10] = "float16", [11] = "float64", [12] = "uint32", [13] = "uint64", [16] = "bfloat16",
}
function M.dtype_name(number) return ONNX_DTYPES[number] or tostring(number) end

-- ---- running ----

local function sorted_arguments(row, schema)
  local args = {}
  local known = {}
  for _, p in ipairs(schema and schema.params or {}) do
    known[p.name] = true
    if row[2][p.name] ~= nil then args[#args + 1] = { p.name, argument(p, row[2][p.name]) } end
  end
  for name, value in pairs(row[2]) do
    if not known[name] then args[#args + 1] = { name, argument(nil, value) } end
  end
  return args
end

local function schema_for(op)
  for _, c in ipairs(rules.candidates(op) or {}) do
    if c.schema_text then return rules.schema_of(c) end
  end
end

local function compare(row, built, why)
  if row.fails then
    if not why then return "it was converted, where an error was due" end
    return not why:find(row.fails, 1, true) and "the error is: " .. why or nil
  end
  if why then return why end
  if row.nodes then
    return row.nodes ~= built.nodes and string.format("builds %d nodes, want %d", built.nodes, row.nodes) or nil
  end
  local want = type(row.want) == "table" and row.want or { row.want }
  for i = 1, math.max(#want, #built) do
    if want[i] ~= built[i] then
      return string.format("builds  %s\n        want    %s", tostring(built[i]), tostring(want[i]))
    end
  end
end

local function run_row(ns, row)
  local op = ns .. "::" .. row[1]
  core.torch_graph()
  for i, text in ipairs(row.sizes or {}) do tensor(text, "size_" .. i, true) end
  local values, why = core.translate(core.torch_call(op, sorted_arguments(row, schema_for(op)), results(row[3])))
  local built, uses = { nodes = 0 }, {}
  for _, v in ipairs(values or {}) do built.nodes = built.nodes + count_uses(v, uses) end
  if built.nodes <= LARGEST_TEXT then
    local seen = { uses = uses, labels = {}, n = 0 }
    for i, v in ipairs(values or {}) do built[i] = show(v, seen) end
  end
  return built, why
end

--- Runs the rows of a file: returns the report and the number of rows that failed.
function M.run(path, text, print_all)
  local rows = core.run_file(path, text, rules.environment())
  if type(rows) ~= "table" then error(path .. " returns no rows", 0) end
  local out, failed = {}, 0
  for i, row in ipairs(rows) do
    local built, why = run_row(rows.namespace or "aten", row)
    local trouble = compare(row, built, why)
    if print_all then
      local shown = why or #built > 0 and table.concat(built, " ; ") or built.nodes .. " nodes"
      out[#out + 1] = string.format("= %d %s: %s\n", i, row[1], shown)
    end
    if trouble then
      failed = failed + 1
      out[#out + 1] = string.format("%s: row %d, %s: %s\n", path, i, row[1], trouble)
    end
  end
  out[#out + 1] = string.format("%s: %d passed, %d failed\n", path, #rows - failed, failed)
  return table.concat(out), failed
end

return M
