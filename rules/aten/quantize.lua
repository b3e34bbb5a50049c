-- rules/aten/quantize.lua: fake quantisation, rounded to a grid and back; products with integer weights.

local aten = require("t2o.rules").namespace("aten")
local quant = require("t2o.quant")
local types = require("t2o.types")

-- ---- fake quantisation ----

-- The dtype whose range holds that of the grid, and all zero points in it; nil where none does.
local function dtype_of(low, high)
  for _, dtype in ipairs { "uint8", "int8", "uint16", "int16" } do
    local least, most = types.limits(dtype)
    if low >= least and high <= most then return dtype end
  end
end

-- On the grid in floating point, and where that was inside it.
local function on_grid(g, x, scale, zero, low, high)
  local q = g.Add(g.Round(g.Mul(x, g.Reciprocal(scale))), zero)
  local inside = g.Min(g.Max(q, g.scalar(low, q)), g.scalar(high, q))
  return g.Mul(g.Sub(inside, zero), scale), g.And(q:ge(low), q:le(high))
end

-- Scale or zero point of the layout, in the dtype of x, as it goes with x element by element.
local function spread(g, v, x, layout)
  v = g.reshape(g.scalar(v, "float32"):to(x.dtype), layout.sizes)
  return quant.spread(g, v, x, layout)
end

-- A zero point that is a float, or that no dtype holds, stays one.
local function quantised(g, a, layout)
  local x, dtype = a.self:to("float32"), dtype_of(a.quant_min, a.quant_max)
  local zero_dtype = type(a.zero_point) == "number" and "int64" or a.zero_point.dtype
  if not dtype or a.self.dtype == "float64" or types.is_float(zero_dtype) then return nil end
  local q = quant.quantize(g, x, a.scale, a.zero_point, dtype, layout, a.quant_min, a.quant_max)
  return quant.dequantize(g, q, a.scale, a.zero_point, layout)
end

-- The result, and where x was inside the grid, which is asked for in training only.
local function fake_quantised(g, a, n, layout)
  local y, inside = quantised(g, a, layout)
  if not y or n.outputs[2] and n.outputs[2].is_used then
    local x = a.self.dtype == "float64" and a.self or a.self:to("float32")
    local scale, zero = spread(g, a.scale, x, layout), spread(g, a.zero_point, x, layout)
    local exact
    exact, inside = on_grid(g, x, scale, zero, a.quant_min, a.quant_max)
    y = y or exact
  end
  return y:to(n.outputs[1].dtype), inside
end

local ALL = { sizes = {} }

local function per_tensor(g, a, n)
  if type(a.scale) == "number" then a.scale = g.scalar(a.scale, "float32") end
  return fake_quantised(g, a, n, ALL)
end

local function per_channel(g, a, n) return fake_quantised(g, a, n, quant.along(a.self, a.axis)) end

-- Switches are buffers of the module, which nobody writes in a model that is saved for inference.
local function is_on(v) return v.is_constant and v:tolist()[1] == 1 end

aten:rule("fake_quantize_per_tensor_affine(Tensor self, float scale, int zero_point, int quant_min, int quant_max) "
          .. "-> Tensor", per_tensor)
aten:rule("fake_quantize_per_tensor_affine.tensor_qparams(Tensor self, Tensor scale, Tensor zero_point, int quant_min, "
          .. "int quant_max) -> Tensor", per_tensor)
aten:rule("fake_quantize_per_tensor_affine_cachemask(Tensor self, float scale, int zero_point, int quant_min, "
          .. "int quant_max) -> (Tensor output, Tensor mask)", per_tensor)
aten:rule("_fake_quantize_per_tensor_affine_cachemask_tensor_qparams(Tensor self, Tensor scale, Tensor zero_point, "
          .. "Tensor fake_quant_enabled, int quant_min, int quant_max) -> (Tensor output, Tensor mask)",
  function(g, a, n)
    local y, inside = per_tensor(g, a, n)
    if is_on(a.fake_quant_enabled) then return y, inside end
    local on = g.reshape(a.fake_quant_enabled:to("bool"), {})
    return g.Where(on, y, a.self), inside and g.Or(inside, g.Not(on))
  end)
aten:rule("fake_quantize_per_channel_affine(Tensor self, Tensor scale, Tensor zero_point, int axis, int quant_min, "
          .. "int quant_max) -> Tensor", per_channel)
aten:rule("fake_quantize_per_channel_affine_cachemask(Tensor self, Tensor scale, Tensor zero_point, int axis, "
          .. "int quant_min, int quant_max) -> (Tensor output, Tensor mask)", per_channel)

aten:rule("fused_moving_avg_obs_fake_quant(Tensor self, Tensor observer_on, Tensor fake_quant_on, Tensor running_min, "
          .. "Tensor running_max, Tensor scale, Tensor zero_point, float averaging_const, int quant_min, "
          .. "int quant_max, int ch_axis, bool per_row_fake_quant=False, bool symmetric_quant=False) -> Tensor",
  function(g, a, n)
    if not a.observer_on.is_constant or a.observer_on:tolist()[1] ~= 0 then
      return g.decline("an observer that is on: switch observers off before the export (disable_observer)")
    end
    if not a.fake_quant_on.is_constant then g.decline("fake quantisation that is switched at run time") end
    if not is_on(a.fake_quant_on) then return a.self end
    local layout = a.per_row_fake_quant and quant.along(a.self, a.ch_axis) or ALL
    return (fake_quantised(g, a, n, layout))
  end)

-- ---- products with integer weights ----

aten:rule("_weight_int8pack_mm(Tensor self, Tensor mat2, Tensor scales) -> Tensor", function(g, a)
  local weight = g.Transpose(a.mat2, { perm = { 1, 0 } }):to("float32")
  return (g.MatMul(a.self:to("float32"), weight) * a.scales:to("float32")):to(a.self.dtype)
end)

local function packed(g)
  return g.decline("4-bit weights that are packed for one kind of processor: export the model with unpacked ones "
                   .. "(IntxWeightOnlyConfig with torch.int4)")
end

for _, schema in ipairs {
  "_weight_int4pack_mm(Tensor self, Tensor mat2, int qGroupSize, Tensor qScaleAndZeros) -> Tensor",
  "_weight_int4pack_mm_for_cpu(Tensor self, Tensor mat2, int qGroupSize, Tensor qScaleAndZeros) -> Tensor",
  "_convert_weight_to_int4pack(Tensor self, int innerKTiles) -> Tensor",
  "_convert_weight_to_int4pack_for_cpu(Tensor self, int innerKTiles) -> Tensor",
} do
  aten:rule(schema, packed)
end
