-- rules/opset/quant.lua: quantisation, with what came to it later.

local lib = require("t2o.opset")
local opset = lib.registry
local types = require("t2o.types")
local util = require("t2o.util")

-- One for each block along the axis, as often as the block is long.
local function over_blocks(g, v, x, axis, block)
  local at, rank = util.dim(axis, x.rank) + 1, lib.rank(v)
  local apart, wide = {}, {}
  for i = 1, rank do
    apart[#apart + 1], wide[#wide + 1] = v:size(i - 1), v:size(i - 1)
    if i == at then apart[#apart + 1], wide[#wide + 1] = 1, block end
  end
  return g.reshape(g.expand(g.reshape(v, apart), wide), x.shape)
end

-- Scale or zero point shaped to go with x: one for all, or one for each place on the axis.
local function along_axis(g, v, x, axis, block)
  if not v or lib.rank(v) == 0 then return v end
  if block ~= 0 then return over_blocks(g, v, x, axis, block) end
  local rest = lib.rank(x) - 1 - util.dim(axis, x.rank)
  return rest > 0 and g.Unsqueeze(v, g.ints(util.range(1, rest))) or v
end

local function per_axis(n, scale) return lib.rank(scale) > 0 and not util.equal(scale:size(0), 1) end

local function dequantised(g, n)
  local dtype = n.outputs[1].dtype
  local scale = along_axis(g, n.x_scale, n.x, n.axis, n.block_size)
  local zero = along_axis(g, n.x_zero_point, n.x, n.axis, n.block_size)
  local x = n.x:to("float32")
  if zero then x = g.Sub(x, zero:to("float32")) end
  return g.Mul(x, scale:to("float32")):to(dtype)
end

local function quantised(g, n)
  local dtype = n.outputs[1].dtype
  if not types.is_int(dtype) then g.decline("the dtype %s", dtype) end
  local scale = along_axis(g, n.y_scale, n.x, n.axis, n.block_size)
  local zero = along_axis(g, n.y_zero_point, n.x, n.axis, n.block_size)
  local x = g.Round(g.Div(n.x:to("float32"), scale:to("float32")))
  if zero then x = g.Add(x, zero:to("float32")) end
  local low, high = types.limits(dtype)
  return g.Clip(x, g.scalar(low, x), g.scalar(high, x)):to(dtype)
end

local WIDE = { int16 = true, uint16 = true }
local DEQUANTIZE = "DequantizeLinear(x, x_scale, x_zero_point?) {axis=1, block_size=0, output_dtype=0}"
local QUANTIZE = "QuantizeLinear(x, y_scale, y_zero_point?) "
                 .. "{axis=1, block_size=0, output_dtype=0, precision=0, saturate=1}"

local function without(names)
  return function(_, n)
    for name in pairs(names) do
      if n.attrs[name] ~= nil then return lib.again(n, nil, lib.attrs(n, names)) end
    end
  end
end

opset:express(DEQUANTIZE, { below = 23 }, function(g, n)
  if n.outputs[1].dtype ~= n.x_scale.dtype then return dequantised(g, n) end
end)
opset:lower(DEQUANTIZE, { below = 23 }, without { output_dtype = false })

-- 8-bit floats are moved as what runtimes move.
local function reshaped(g, v, dims)
  if not v.dtype:find("^float8") then return g.reshape(v, dims) end
  return g.reshape(v:to("float32"), dims):to(v.dtype)
end

-- Blocks along the last dimension become rows, each with a scale of its own; nil where they lie otherwise.
local function in_rows(g, n, op, scale, zero)
  local last = n.x.rank > 0 and n.x:size(-1)
  if util.dim(n.axis, n.x.rank) ~= n.x.rank - 1 or not util.is_static(last) then return nil end
  if last % n.block_size ~= 0 then return nil end
  local rows = { util.product(n.x.shape, 1, n.x.rank - 1) * (last // n.block_size) }
  local y = g[op](reshaped(g, n.x, { rows[1], n.block_size }), g.reshape(scale, rows), zero and reshaped(g, zero, rows),
                  lib.attrs(n, { axis = 0, block_size = false }))
  return reshaped(g, y, n.x.shape)
end

opset:express(DEQUANTIZE, { below = 21 }, function(g, n)
  if WIDE[n.x.dtype] then return dequantised(g, n) end
  if n.block_size == 0 then return nil end
  return in_rows(g, n, "DequantizeLinear", n.x_scale, n.x_zero_point) or dequantised(g, n)
end)
opset:lower(DEQUANTIZE, { below = 21 }, without { block_size = false })
opset:express(DEQUANTIZE, { below = 19 }, function(g, n)
  if n.x_scale.dtype ~= "float32" then return dequantised(g, n) end
end)
opset:express(DEQUANTIZE, { below = 13 }, function(g, n)
  if per_axis(n, n.x_scale) then return dequantised(g, n) end
end)
opset:express(DEQUANTIZE, { below = 10 }, dequantised)

opset:express(QUANTIZE, { below = 23 }, function(g, n)
  if n.precision ~= 0 then return quantised(g, n) end
end)
opset:lower(QUANTIZE, { below = 23 }, without { precision = false })
opset:express(QUANTIZE, { below = 21 }, function(g, n)
  local dtype = n.outputs[1].dtype
  if WIDE[dtype] then return quantised(g, n) end
  if n.block_size ~= 0 then
    return in_rows(g, n, "QuantizeLinear", n.y_scale, n.y_zero_point) or quantised(g, n)
  end
  if n.output_dtype ~= 0 and not n.y_zero_point then
    local shape = n.y_scale.shape
    if not util.all_static(shape) then return quantised(g, n) end
    return g.QuantizeLinear(n.x, n.y_scale, g.zeros(shape, dtype), lib.attrs(n, { output_dtype = false }))
  end
end)
opset:lower(QUANTIZE, { below = 21 }, without { block_size = false, output_dtype = false })
opset:express(QUANTIZE, { below = 19 }, function(g, n)
  if n.y_scale.dtype ~= "float32" then return quantised(g, n) end
end)
opset:lower(QUANTIZE, { below = 19 }, without { saturate = false })
opset:express(QUANTIZE, { below = 13 }, function(g, n)
  if per_axis(n, n.y_scale) then return quantised(g, n) end
end)
opset:express(QUANTIZE, { below = 10 }, quantised)

opset:express("MatMulInteger(A, B, a_zero_point?, b_zero_point?)", { below = 10 }, function(g, n)
  local function shifted(v, zero)
    if not zero then return v:to("int32") end
    if lib.rank(zero) > 0 then g.decline("a zero point for each row") end
    return g.Sub(v:to("int32"), zero:to("int32"))
  end
  return g.MatMul(shifted(n.A, n.a_zero_point), shifted(n.B, n.b_zero_point))
end)

-- Without the axis, which says nothing where there is one scale for all.
for _, text in ipairs { "DequantizeLinear(x, x_scale)", "QuantizeLinear(x, y_scale)" } do
  opset:lower(text, { below = 13 }, without { axis = false })
end

opset:express("DynamicQuantizeLinear(x)", { below = 11 }, function(g, n)
  local zero = g.scalar(0, "float32")
  local low = g.Min(g.ReduceMin(n.x, nil, { keepdims = 0 }), zero)
  local high = g.Max(g.ReduceMax(n.x, nil, { keepdims = 0 }), zero)
  local scale = g.Sub(high, low) / 255.0
  scale = g.Where(g.Equal(scale, zero), g.scalar(1, "float32"), scale)
  local point = g.Round(g.Clip(g.Div(g.Sub(zero, low), scale), zero, g.scalar(255, "float32"))):to("uint8")
  return g.QuantizeLinear(n.x, scale, point), scale, point
end)
