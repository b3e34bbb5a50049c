-- rules/onnx/constant.lua: what is made of sizes and numbers; dtypes.

local core = require("t2o.core")
local back = require("t2o.back")
local backhalf = require("t2o.backhalf")
local backmath = require("t2o.backmath")
local util = require("t2o.util")
local onnx = back.registry

local function rank_of(v) return core.field(v, "known_rank") and v.rank or nil end

-- ---- shapes as tensors ----

-- In an archive: the numbers one by one.
local function stacked_sizes(t, x, from, to)
  local parts = {}
  for i = from, to - 1 do
    local size = t.aten["sym_size.int"](x, i)
    parts[#parts + 1] = t.aten.scalar_tensor(size, { dtype = "int64" })
  end
  if #parts == 0 then return t.aten.zeros({ 0 }, { dtype = "int64" }) end
  return t.aten.stack(parts)
end

local function clamped(i, rank)
  if i < 0 then i = i + rank end
  return math.min(math.max(i, 0), rank)
end

onnx:rule("Shape(data) {start=0, end}", function(t, n)
  local rank, start, stop = rank_of(n.data), n.start, n.attrs["end"]
  if rank then start, stop = clamped(start, rank), clamped(stop or rank, rank) end
  if not t.python then return stacked_sizes(t, n.data, start, stop or t.decline("a shape of unknown rank")) end
  if rank and start >= stop then return t.aten.zeros({ 0 }, { dtype = "int64" }) end
  if start == 0 and stop == rank then
    return rank and t.helper.shape(n.data) or t.helper.shape_of_any(n.data)
  end
  return t.helper.shape_slice(n.data, start, stop ~= rank and stop or nil, rank ~= nil)
end)

onnx:rule("Size(data)", function(t, n)
  if t.python then return t.helper.element_count(n.data) end
  return t.aten.scalar_tensor(t.aten.sym_numel(n.data), { dtype = "int64" })
end)

-- ---- filled ----

local function filled(t, sizes, value, dtype)
  if value == 0 or value == false then return t.aten.zeros(sizes, { dtype = dtype }) end
  if value == 1 or value == true then return t.aten.ones(sizes, { dtype = dtype }) end
  return t.aten.full(sizes, value, { dtype = dtype })
end

onnx:rule("ConstantOfShape(input) {value}", function(t, n)
  local dtype = n.outputs[1].dtype
  local value = t.shortest(n.attrs.value and n.attrs.value:item() or 0, dtype)
  if t.knows_sizes(n.input) or not t.python then return filled(t, t.sizes(n.input), value, dtype) end
  return filled(t, { t.helper.to_list(n.input) }, value, dtype)
end)

local function read(t, v, dtype)
  if dtype:find("int") then return t.item(v) end
  return t.aten._local_scalar_dense(v)
end

local function number_of(t, v) return t.number(v) or read(t, v, v.dtype) end

back.t.declare("torch", "sym_max(SymInt a, SymInt b) -> SymInt")
back.t.declare("torch", "sym_min(SymInt a, SymInt b) -> SymInt")

-- Whether it is known that b does not lie before a.
local function in_order(a, b)
  if math.type(a) and math.type(b) then return a <= b end
  if core.is_value(a) or core.is_value(b) then return false end
  return util.compare(b + 1, a) == 1 -- sizes are whole
end

-- The limit, or the start where that is behind it; name: "max", for negative steps "min".
local function bounded(t, n, name, start, limit)
  if not (core.is_value(start) or core.is_value(limit)) then
    return math.type(start) and math.type(limit) and math[name](start, limit) or util[name](start, limit)
  end
  if t.python then return t.torch["sym_" .. name](start, limit) end
  -- in an archive of tensors, whose numbers have a name there
  if math.type(start) then
    return read(t, t.aten[name == "max" and "clamp_min" or "clamp_max"](n.limit, start), n.limit.dtype)
  end
  return read(t, t.aten[name .. "imum"](n.limit, n.start), n.limit.dtype)
end

-- A limit before the start makes nothing in ONNX, where torch.arange raises.
onnx:rule("Range(start, limit, delta)", function(t, n)
  local start, limit, delta = number_of(t, n.start), number_of(t, n.limit), number_of(t, n.delta)
  local dtype = n.outputs[1].dtype
  if not math.type(delta) and t.python then return t.helper.counted(start, limit, delta, { dtype = dtype }) end
  if math.type(delta) and delta > 0 and not in_order(start, limit) then limit = bounded(t, n, "max", start, limit) end
  if math.type(delta) and delta < 0 and not in_order(limit, start) then limit = bounded(t, n, "min", start, limit) end
  local held = backmath.computing(dtype)
  local y
  if delta ~= 1 then
    y = t.aten["arange.start_step"](start, limit, delta, { dtype = held })
  elseif start ~= 0 then
    y = t.aten["arange.start"](start, limit, { dtype = held })
  else
    y = t.aten.arange(limit, { dtype = held })
  end
  return backmath.narrow(y, dtype)
end)

onnx:rule("EyeLike(input) {dtype, k=0}", function(t, n)
  local x, dtype = n.input, n.outputs[1].dtype
  local held = { dtype = backmath.computing(dtype) }
  if n.k == 0 then return backmath.narrow(t.aten["eye.m"](x:size(0), x:size(1), held), dtype) end
  return backmath.narrow(t.aten.triu(t.aten.tril(t.aten.ones_like(x, held), n.k), n.k), dtype)
end)

-- ---- dtypes ----

-- What carries numbers of a dtype that PyTorch has not: a wider one. Fixed-point numbers of 4 and 2 bits lose their
-- upper bits; { carrier, bits, signed }.
local NARROW = {
  int4 = { "int8", 4, true }, uint4 = { "uint8", 4, false }, int2 = { "int8", 2, true }, uint2 = { "uint8", 2, false },
}

local function is_float(dtype) return dtype:find("float") ~= nil end

-- The lower bits, with their sign.
local function wrapped(t, x, bits, signed)
  local all = 1 << bits
  x = t.to(x, "int64")
  if signed then x = t.aten["add.Scalar"](x, all // 2) end
  x = t.aten["remainder.Scalar"](x, all)
  return signed and t.aten["sub.Scalar"](x, all // 2) or x
end

local function to_narrow(t, x, dtype)
  local carrier, bits, signed = table.unpack(NARROW[dtype])
  return t.aten["to.dtype"](wrapped(t, x, bits, signed), carrier)
end

local function to_float8(t, x, dtype, saturate)
  if not x.dtype:find("^float[36]") then x = t.aten["to.dtype"](x, "float32") end
  return backmath.to_float8(x, dtype, saturate)
end

local function cast(t, n, dtype)
  local x = n.input
  if x.dtype == dtype then return x end
  if x.dtype == "string" or dtype == "string" then
    local name = dtype == "string" and "numbers_to_text" or "text_to_numbers"
    if dtype == "string" then return t.helper[name](x) end
    return t.helper[name](x, { dtype = dtype })
  end
  if NARROW[dtype] then return to_narrow(t, x, dtype) end
  if backmath.LARGEST[dtype] then return to_float8(t, x, dtype, n.saturate ~= 0) end
  if dtype == "float4_e2m1" or dtype == "float4_e2m1fn" then return t.helper.to_float4(x) end
  if dtype == "float8_e8m0fnu" or dtype == "float8_e8m0" then
    return t.helper.to_float8_e8m0(x, n.round_mode, n.saturate ~= 0)
  end
  if is_float(x.dtype) and dtype:find("^uint") and dtype ~= "uint8" then
    return t.aten["to.dtype"](t.aten["to.dtype"](x, "int64"), dtype)
  end
  return t.aten["to.dtype"](x, dtype)
end

onnx:rule("Cast(input) {to, round_mode='up', saturate=1}", function(t, n)
  local dtype = n.outputs[1].dtype
  return backhalf.narrowed(t, n, dtype) or cast(t, n, dtype)
end)

onnx:rule("CastLike(input, target_type) {round_mode='up', saturate=1}", function(t, n)
  return cast(t, n, n.outputs[1].dtype)
end)

onnx:rule("BitCast(input) {to}", function(t, n)
  local dtype = n.outputs[1].dtype
  if NARROW[dtype] or NARROW[core.field(n.node.inputs[1], "dtype")] then t.decline("bits of less than a byte") end
  return t.aten["view.dtype"](n.input, dtype)
end)
