-- rules/aten/convert.lua: changes of dtype; devices and memory formats mean nothing in ONNX.

local aten = require("t2o.rules").namespace("aten")

local function convert(_, a) return a.dtype and a.self:to(a.dtype) or a.self end
local function convert_like(_, a) return a.self:to(a.other.dtype) end

local MORE = "bool non_blocking=False, bool copy=False, MemoryFormat? memory_format=None) -> Tensor"
local OPTIONS = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, "

aten:rule("to.dtype(Tensor self, ScalarType dtype, " .. MORE, convert)
aten:rule("to.device(Tensor self, Device device, ScalarType dtype, " .. MORE, convert)
aten:rule("to.dtype_layout(Tensor self, *, " .. OPTIONS .. MORE, convert)
aten:rule("to.prim_Device(Tensor self, Device? device, int? dtype=None, bool non_blocking=False, "
          .. "bool copy=False) -> Tensor", convert)
aten:rule("to.prim_dtype(Tensor self, int? dtype=None, bool non_blocking=False, bool copy=False) -> Tensor",
          convert)
aten:rule("to.other(Tensor self, Tensor other, " .. MORE, convert_like)
aten:rule("type_as(Tensor self, Tensor other) -> Tensor", convert_like)
aten:rule("_to_copy(Tensor self, *, " .. OPTIONS .. "bool non_blocking=False, MemoryFormat? memory_format=None) "
          .. "-> Tensor", convert)
aten:rule("cpu(Tensor self) -> Tensor", convert)
aten:rule("to_dense(Tensor self, ScalarType? dtype=None, *, bool? masked_grad=None) -> Tensor", convert)

for name, dtype in pairs {
  Byte = "uint8", Char = "int8", Double = "float64", Float = "float32", Int = "int32", Long = "int64",
  Short = "int16", Half = "float16",
} do
  aten:rule("_cast_" .. name .. "(Tensor self, bool non_blocking=False) -> Tensor", function(_, a)
    return a.self:to(dtype)
  end)
end

-- Names that are put together above, for the index of rules (tools/name_hints.py):
-- "_cast_Byte" "_cast_Char" "_cast_Double" "_cast_Float" "_cast_Half" "_cast_Int" "_cast_Long"
-- "_cast_Short"
