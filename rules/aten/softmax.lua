-- rules/aten/softmax.lua: softmax and its kin, and their gradients.

local aten = require("t2o.rules").namespace("aten")
local types = require("t2o.types")
local util = require("t2o.util")

-- A value without dims is one element along its only dim.
local function along(g, op, x, d)
  if x.rank > 0 then return g[op](x, { axis = util.dim(d, x.rank) }) end
  return g.reshape(g[op](g.reshape(x, { 1 }), { axis = 0 }), {})
end

local function prepared(a)
  if a.dtype then return a.self:to(a.dtype) end
  if a.half_to_float then return a.self:to("float32") end
  return types.is_float(a.self.dtype) and a.self or a.self:to("float32")
end

for name, op in pairs { softmax = "Softmax", log_softmax = "LogSoftmax" } do
  local function fn(g, a) return along(g, op, prepared(a), a.dim) end
  aten:rule(name .. ".int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", fn)
  aten:rule("_" .. name .. "(Tensor self, int dim, bool half_to_float) -> Tensor", fn)
end
aten:rule("special_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", function(g, a)
  return along(g, "Softmax", prepared(a), a.dim)
end)
aten:rule("special_log_softmax(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor", function(g, a)
  return along(g, "LogSoftmax", prepared(a), a.dim)
end)

-- Zeros where all along the dim is minus infinity.
aten:rule("_safe_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor", function(g, a)
  local x = prepared(a)
  local y = along(g, "Softmax", x, a.dim)
  local largest = x.rank > 0 and g.ReduceMax(x, g.ints { util.dim(a.dim, x.rank) }) or x
  return g.Where(g.Equal(largest, g.scalar(-math.huge, x)), g.scalar(0, x), y)
end)

local function summed(g, x, d)
  return x.rank > 0 and g.ReduceSum(x, g.ints { util.dim(d, x.rank) }) or x
end

aten:rule("_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor",
          function(g, a)
  local grad = a.grad_output * a.output
  return (grad - a.output * summed(g, grad, a.dim)):to(a.input_dtype)
end)

aten:rule("_log_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) "
          .. "-> Tensor", function(g, a)
  return (a.grad_output - g.Exp(a.output) * summed(g, a.grad_output, a.dim)):to(a.input_dtype)
end)

-- Names that are put together above, for the index of rules (tools/name_hints.py):
-- "_log_softmax" "_softmax" "log_softmax.int" "softmax.int"
