-- rules/aten/activation.lua: activation functions.

local aten = require("t2o.rules").namespace("aten")
local util = require("t2o.util")

aten:map {
  ["sigmoid(Tensor self) -> Tensor"] = "Sigmoid",
  ["tanh(Tensor self) -> Tensor"] = "Tanh",
}

-- float64 goes by basic operators, in which runtimes do compute at that precision
local function is_double(a) return a.self.dtype == "float64" end
local double = { when = is_double }

local function clip(g, x, low, high)
  return g.Clip(x, g.scalar(low, x.dtype), g.scalar(high, x.dtype))
end

local function positive(g, x) return g.Greater(x, g.scalar(0, x.dtype)) end

-- ---- piecewise linear ----

aten:rule("relu(Tensor self) -> Tensor", function(g, a)
  if util.is_float(a.self.dtype) then return g.Relu(a.self) end
  return g.Max(a.self, g.scalar(0, a.self.dtype))
end)

aten:rule("relu6(Tensor self) -> Tensor", function(g, a) return clip(g, a.self, 0, 6) end)

aten:rule("hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor", function(g, a)
  return clip(g, a.self, a.min_val, a.max_val)
end)

local function sixth(g, x) return clip(g, x + 3.0, 0, 6) / 6.0 end

aten:rule("hardsigmoid(Tensor self) -> Tensor", double, function(g, a) return sixth(g, a.self) end)
aten:rule("hardsigmoid(Tensor self) -> Tensor", function(g, a)
  return g.HardSigmoid(a.self, { alpha = 1 / 6, beta = 0.5 })
end)

aten:rule("hardswish(Tensor self) -> Tensor", double, function(g, a)
  return a.self * sixth(g, a.self)
end)
aten:rule("hardswish(Tensor self) -> Tensor", function(g, a) return g.HardSwish(a.self) end)

local function leaky(g, x, slope)
  if x.dtype ~= "float64" then return g.LeakyRelu(x, { alpha = slope }) end
  return g.Where(positive(g, x), x, x * slope)
end

aten:rule("leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor", function(g, a)
  return leaky(g, a.self, a.negative_slope)
end)

-- Outside of training the slope is the middle of the range it would be drawn from.
local function rrelu(g, a)
  if a.training then g.decline("rrelu draws random slopes in training") end
  return leaky(g, a.self, (a.lower + a.upper) / 2)
end

aten:rule("rrelu(Tensor self, Scalar lower=0.125, Scalar upper=0.33333333333333331, "
          .. "bool training=False, "
          .. "Generator? generator=None) -> Tensor", rrelu)
aten:rule("rrelu_with_noise(Tensor self, Tensor noise, Scalar lower=0.125, "
          .. "Scalar upper=0.33333333333333331, "
          .. "bool training=False, Generator? generator=None) -> Tensor", rrelu)

aten:rule("rrelu_with_noise_functional(Tensor self, Tensor noise, Scalar lower=0.125, "
          .. "Scalar upper=0.33333333333333331, bool training=False, Generator? generator=None) "
          .. "-> (Tensor, Tensor noise_out)", function(g, a) return rrelu(g, a), a.noise end)

-- One slope for all, or one for each channel, which is the second dim.
local function slope_for(g, weight, rank)
  if rank == 0 then return g.reshape(weight, {}) end
  if rank == 1 or weight.rank == 0 or util.equal(weight:size(0), 1) then
    return g.reshape(weight, { 1 })
  end
  return util.per_channel(g, weight, rank)
end

local function prelu(g, x, slope)
  if x.dtype ~= "float64" then return g.PRelu(x, slope) end
  return g.Where(positive(g, x), x, x * slope)
end

aten:rule("prelu(Tensor self, Tensor weight) -> Tensor", function(g, a)
  return prelu(g, a.self, slope_for(g, a.weight, a.self.rank))
end)
aten:rule("_prelu_kernel(Tensor self, Tensor weight) -> Tensor", function(g, a)
  return prelu(g, a.self, a.weight)
end)

aten:rule("threshold(Tensor self, Scalar threshold, Scalar value) -> Tensor", function(g, a)
  local x = a.self
  local v = util.is_half(x.dtype) and x:to("float32") or x -- the threshold is not rounded to 16 bits
  return g.Where(g.LessOrEqual(v, g.scalar(a.threshold, v.dtype)), g.scalar(a.value, x.dtype), x)
end)

-- ONNX Shrink would make 0 of NaN.
aten:rule("hardshrink(Tensor self, Scalar lambd=0.5) -> Tensor", function(g, a)
  local x = a.self
  local small = g.LessOrEqual(g.Abs(x), g.scalar(a.lambd, x.dtype))
  return g.Where(small, g.scalar(0, x.dtype), x)
end)

aten:rule("softshrink(Tensor self, Scalar lambd=0.5) -> Tensor", function(g, a)
  return a.self - clip(g, a.self, -a.lambd, a.lambd)
end)

-- ---- exponential ----

-- x where it is positive, else alpha * (exp(x * input_scale) - 1); both times scale
local function exponential(g, x, alpha, scale, input_scale)
  local below = (g.Exp(x * input_scale) - 1.0) * (alpha * scale)
  return g.Where(positive(g, x), x * scale, below)
end

aten:rule("elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) "
          .. "-> Tensor", function(g, a)
  if a.scale == 1 and a.input_scale == 1 and not is_double(a) then
    return g.Elu(a.self, { alpha = a.alpha })
  end
  return exponential(g, a.self, a.alpha + 0.0, a.scale + 0.0, a.input_scale + 0.0)
end)

aten:rule("celu(Tensor self, Scalar alpha=1.) -> Tensor", function(g, a)
  if a.self.dtype == "float32" then return g.Celu(a.self, { alpha = a.alpha }) end
  return exponential(g, a.self, a.alpha + 0.0, 1.0, 1 / a.alpha)
end)

local SELU_ALPHA, SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946

aten:rule("selu(Tensor self) -> Tensor", double, function(g, a)
  return exponential(g, a.self, SELU_ALPHA, SELU_SCALE, 1.0)
end)
aten:rule("selu(Tensor self) -> Tensor", function(g, a)
  return g.Selu(a.self, { alpha = SELU_ALPHA, gamma = SELU_SCALE })
end)

-- log(1 + exp(x)) without overflow
local function softplus(g, x)
  if x.dtype ~= "float64" then return g.Softplus(x) end
  return g.Log(g.Exp(-g.Abs(x)) + 1.0) + g.Relu(x)
end

-- Above the threshold x itself: at 20 and more a difference that float32 cannot hold.
aten:rule("softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor", function(g, a)
  local x = a.self
  if a.beta == 1 and a.threshold >= 20 and x.dtype ~= "float64" then return g.Softplus(x) end
  local scaled = x * (a.beta + 0.0)
  local large = g.Greater(scaled, g.scalar(a.threshold, x.dtype))
  return g.Where(large, x, softplus(g, scaled) / (a.beta + 0.0))
end)

aten:rule("log_sigmoid(Tensor self) -> Tensor", function(g, a) return -softplus(g, -a.self) end)
aten:rule("log_sigmoid_forward(Tensor self) -> (Tensor output, Tensor buffer)", function(g, a)
  return -softplus(g, -a.self), g.Exp(-g.Abs(a.self))
end)

aten:rule("mish(Tensor self) -> Tensor", function(g, a)
  return a.self * g.Tanh(softplus(g, a.self))
end)

-- ---- gated ----

aten:rule("silu(Tensor self) -> Tensor", function(g, a) return a.self * g.Sigmoid(a.self) end)

aten:rule("glu(Tensor self, int dim=-1) -> Tensor", function(g, a)
  local axis = util.dim(a.dim, a.self.rank)
  local parts = g.Split(a.self, nil, { axis = axis, num_outputs = 2, outputs = 2 })
  return parts[1] * g.Sigmoid(parts[2])
end)

aten:rule("gelu(Tensor self, *, str approximate=\"none\") -> Tensor", function(g, a)
  return g.Gelu(a.self, { approximate = a.approximate })
end)

-- In float64, with sqrt(2 / pi) and the cube's factor at that precision.
aten:rule("gelu(Tensor self, *, str approximate=\"none\") -> Tensor", double,
  function(g, a)
    local x = a.self
    if a.approximate == "none" then return x * 0.5 * (g.aten.erf(x * math.sqrt(0.5)) + 1.0) end
    local inner = (x + x * x * x * 0.044715) * 0.79788456080286535588
    return x * 0.5 * (g.Tanh(inner) + 1.0)
  end)
