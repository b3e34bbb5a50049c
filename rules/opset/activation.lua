-- rules/opset/activation.lua: activation functions as the formulas that define them.

local lib = require("t2o.opset")
local opset = lib.registry
local util = require("t2o.util")

local function erf_gelu(g, x)
  return g.Mul(g.Mul(x, g.scalar(0.5, x)), g.Add(g.Erf(x * (1 / math.sqrt(2))), g.scalar(1, x)))
end

local function tanh_gelu(g, x)
  local cube = g.Mul(g.Mul(x, x), x)
  local inner = g.Add(x, cube * 0.044715) * math.sqrt(2 / math.pi)
  return g.Mul(g.Mul(x, g.scalar(0.5, x)), g.Add(g.Tanh(inner), g.scalar(1, x)))
end

opset:express("Gelu(X) {approximate='none'}", { below = 20 }, function(g, n)
  local form = n.approximate == "tanh" and tanh_gelu or erf_gelu
  return lib.widened(n.X, function(x) return form(g, x) end)
end)

opset:express("Mish(X)", { below = 18 }, function(g, n)
  return lib.widened(n.X, function(x) return g.Mul(x, g.Tanh(g.Softplus(x))) end)
end)

local function swish(g, x, alpha)
  return lib.widened(x, function(w) return g.Mul(w, g.Sigmoid(w * alpha)) end)
end

opset:express("Swish(X) {alpha=1.0}", { below = 24 }, function(g, n) return swish(g, n.X, n.alpha) end)

-- ONNX Runtime has no kernel, and from opset 25 on no longer puts the definition in its place.
opset:express("Swish(X) {alpha=1.0}", { below = 28 }, function(g, n)
  if g.target == "ort_cpu" then return swish(g, n.X, n.alpha) end
end)

opset:express("SwiGLU(A, B) {alpha=1.0}", { below = 28 }, function(g, n)
  return g.Mul(g.Swish(n.A, { alpha = n.alpha }), n.B)
end)

opset:express("HardSwish(X)", { below = 14 }, function(g, n)
  return g.Mul(n.X, g.HardSigmoid(n.X, { alpha = 1 / 6, beta = 0.5 }))
end)

local function celu(g, n)
  return lib.widened(n.X, function(x)
    local zero = g.scalar(0, x)
    local below = (g.Exp(x / n.alpha) - 1) * n.alpha
    return g.Add(g.Max(x, zero), g.Min(below, zero))
  end)
end

opset:express("Celu(X) {alpha=1.0}", { below = 28 }, function(g, n)
  if n.X.dtype ~= "float32" then return celu(g, n) end
end)
opset:express("Celu(X) {alpha=1.0}", { below = 12 }, celu)

opset:express("ThresholdedRelu(X) {alpha=1.0}", { below = 10 }, function(g, n)
  return g.Where(n.X:gt(g.scalar(n.alpha, n.X)), n.X, g.scalar(0, n.X))
end)

opset:express("Relu(X)", { below = 14 }, function(g, n)
  if util.is_int(n.X.dtype) then return g.Max(n.X, g.scalar(0, n.X)) end
end)
