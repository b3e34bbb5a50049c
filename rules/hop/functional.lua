-- rules/hop/functional.lua: calls of an operator in another form: with what it writes as results, or in another dtype.

local hop = require("t2o.rules").namespace("higher_order")
local calls = require("t2o.calls")

local ANY = { complex = "both" } -- numbers

-- Schemas have no keywords of every name, so these rules get the arguments as the call gives them: raw[1] is the
-- operator, the rest stands under its names.

-- Results in the order of the archive: those of the operator, which has a place where it has none, and then others.
local function with_results(results, count, others)
  local out = table.move(results, 1, count, 1, {})
  count = math.max(count, 1)
  table.move(others, 1, #others, count + 1, out)
  return table.unpack(out, 1, count + #others)
end

-- The schema of the operator's rule; the archive tells which arguments it has to mark.
local function schema_of(op, raw)
  local schema = calls.schema(op)
  for name in pairs(raw) do
    local written = type(name) == "string" and (name:match("^_(.+)_base_index$") or name:match("^_(.+)_length$"))
    local p = schema.by_name[written]
    if p and not p.written then
      calls.fail(string.format("%s writes its argument %s: the schema of its rule has to say %s(a!) %s", op, p.name,
                               p.type, p.name))
    end
  end
  return schema
end

-- Runs the rule of the operator; `given` holds its arguments. Returns its results, their number, and what each written
-- argument holds afterwards.
local function run(schema, op, given)
  local results = table.pack(calls.by_name(op, given))
  local count = results.n - #schema.written
  if count < 0 then
    calls.fail(string.format("the rule for %s returned %d values; %d results and what is written are due", op,
                             results.n, schema.results))
  end
  return results, count, table.move(results, count + 1, results.n, 1, {})
end

hop:rule("auto_functionalized", ANY, function(_, raw)
  local op = raw[1]
  return with_results(run(schema_of(op, raw), op, raw))
end)

-- A written argument is a window on a base: "_x_base_index" says on which, others which window.
local function window(raw, prefix, n)
  local index = raw[prefix .. "_base_index"]
  if not index then return nil end
  local behind = n.inputs.n - raw._all_bases.n -- the bases are the last operands
  local w = { base = index + 1, contiguous = n.contiguous[behind + index + 1] }
  for _, key in ipairs {
    "size", "stride", "storage_offset", "slice_dim", "slice_start", "slice_end",
  } do
    w[key] = raw[prefix .. "_" .. key]
  end
  return w
end

-- Strides count in the memory of the base, which is known where it lies row by row.
local function strided(op, w, base, src)
  local a = { self = base, src = src, size = w.size, stride = w.stride, storage_offset = w.storage_offset }
  return calls.as_real(op, a, { contiguous = { w.contiguous } })
end

local function look(g, w, bases)
  local base = w and bases[w.base]
  if not base then return nil end
  if w.storage_offset then return strided("aten::as_strided", w, base) end
  if w.slice_dim then return g.aten["slice.Tensor"](base, w.slice_dim, w.slice_start, w.slice_end, 1) end
  return base
end

local function put_back(g, w, bases, value)
  if not w then return end
  local base = bases[w.base]
  if w.storage_offset then
    value = strided("aten::as_strided_scatter", w, base, value)
  elseif w.slice_dim then
    value = g.aten.slice_scatter(base, value, w.slice_dim, w.slice_start, w.slice_end, 1)
  end
  bases[w.base] = value
end

hop:rule("auto_functionalized_v2", ANY, function(g, raw, n)
  local op, bases, windows = raw[1], table.move(raw._all_bases, 1, raw._all_bases.n, 1, {}), {}
  local schema = schema_of(op, raw)
  for _, p in ipairs(schema.written) do
    local length, prefix = raw["_" .. p.name .. "_length"], "_" .. p.name
    if not length then
      windows[p.name] = window(raw, prefix, n)
      raw[p.name] = look(g, windows[p.name], bases)
    else
      local list, values = {}, { n = length }
      for i = 1, length do
        list[i] = window(raw, prefix .. "_" .. i - 1, n)
        values[i] = look(g, list[i], bases)
      end
      windows[p.name], raw[p.name] = list, values
    end
  end
  local results, count, written = run(schema, op, raw)
  for i, p in ipairs(schema.written) do
    local w = windows[p.name]
    if p.list then
      for j = 1, #(w or {}) do put_back(g, w[j], bases, written[i][j]) end
    else
      put_back(g, w, bases, written[i])
    end
  end
  return with_results(results, count, bases)
end)

-- out_dtype(operator, dtype, arguments...): computed in what arguments and dtype have in common.
hop:rule("out_dtype", ANY, function(g, raw)
  local types = require("t2o.types")
  local op, dtype = raw[1], raw[2]
  local tensors, args = { g.full({ 1 }, 1, dtype) }, { n = 0 }
  for i = 3, #raw do
    args.n = args.n + 1
    args[args.n] = raw[i]
    if type(raw[i]) == "userdata" and not types.is_wrapped(raw[i]) then tensors[#tensors + 1] = raw[i] end
  end
  local common = types.result_type(table.unpack(tensors))
  for i = 1, args.n do
    if type(args[i]) == "userdata" then args[i] = args[i]:to(common) end
  end
  return calls.by_position(op, args):to(dtype)
end)

-- ---- what has no form in ONNX ----

local REFUSED = {
  executorch_call_delegate = "a part that was lowered for ExecuTorch; save the program before to_backend()",
  aoti_call_delegate = "a part that was compiled; save the program before it is compiled",
  triton_kernel_wrapper_functional = "a Triton kernel; wrap it in a torch.library.custom_op and give that a rule",
  triton_kernel_wrapper_mutation = "a Triton kernel; wrap it in a torch.library.custom_op and give that a rule",
  call_torchbind = "a method of a C++ object; compute what it gives outside of the model",
  flex_attention = "flex attention; use scaled_dot_product_attention with a mask or a bias",
}

for op, why in pairs(REFUSED) do
  hop:rule(op, ANY, function(g) g.decline(why) end)
end

hop:drop { "print" }

-- Names that are put together above, for the index of rules (tools/name_hints.py):
-- "aoti_call_delegate" "call_torchbind" "executorch_call_delegate" "flex_attention"
-- "triton_kernel_wrapper_functional" "triton_kernel_wrapper_mutation"
