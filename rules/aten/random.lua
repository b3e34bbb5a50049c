-- rules/aten/random.lua: random numbers: a runtime draws others, of the same distribution.

local aten = require("t2o.rules").namespace("aten")
local util = require("t2o.util")

local FACTORY = ", *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
  .. "bool? pin_memory=None"
local LIKE = FACTORY .. ", MemoryFormat? memory_format=None) -> Tensor"
local GENERATOR = ", Generator? generator=None) -> Tensor"

-- A draw of an operator that comes with and without "Like": the latter where the sizes are known.
local function draw(g, op, shape, attrs)
  if #shape > 0 and util.all_static(shape) then
    attrs.shape = shape
    return g[op](attrs)
  end
  return g[op .. "Like"](g.full(shape, 0.0, attrs.dtype), attrs)
end

local function uniform(g, shape, dtype, low, high)
  return draw(g, "RandomUniform", shape, { dtype = dtype, low = low or 0.0, high = high or 1.0 })
end

local function normal(g, shape, dtype) return draw(g, "RandomNormal", shape, { dtype = dtype }) end

-- ---- of a size, or of the size of a tensor ----

for name, fn in pairs { rand = uniform, randn = normal } do
  local function rule(g, a, n)
    local out = n.outputs[1]
    return fn(g, a.size or a.self.shape, out.dtype)
  end
  aten:rule(name .. "(SymInt[] size" .. FACTORY .. ") -> Tensor", rule)
  aten:rule(name .. "_like(Tensor self" .. LIKE, rule)
end

-- Whole numbers from low to high - 1, computed in float64, which holds them up to 2^53.
local function integers(g, a, n)
  local low, high = a.low or 0, a.high
  local u = uniform(g, a.size or a.self.shape, "float64")
  local y = g.Floor(g.Mul(u, g.scalar(high - low, "float64")))
  return g.Add(y, g.scalar(low, "float64")):to(n.outputs[1].dtype)
end

local INT_FACTORY = FACTORY:gsub("dtype=None", "dtype=4", 1)
aten:rule("randint(SymInt high, SymInt[] size" .. INT_FACTORY .. ") -> Tensor", integers)
aten:rule("randint.low(SymInt low, SymInt high, "
          .. "SymInt[] size" .. INT_FACTORY .. ") -> Tensor", integers)
aten:rule("randint_like(Tensor self, SymInt high" .. LIKE, integers)
aten:rule("randint_like.low_dtype(Tensor self, SymInt low, SymInt high" .. LIKE, integers)

-- The order of so many random numbers.
aten:rule("randperm(SymInt n" .. INT_FACTORY .. ") -> Tensor", function(g, a, n)
  local _, order = g.TopK(uniform(g, { a.n }, "float32"), g.ints { a.n }, { axis = 0, outputs = 2 })
  return order:to(n.outputs[1].dtype)
end)

-- ---- in the place of a tensor ----

local function open_uniform(g, v)
  return g.Sub(g.scalar(1, v.dtype), uniform(g, v.shape, v.dtype))
end

local function float_only(g, v)
  if not util.is_float(v.dtype) then g.decline("random numbers of dtype %s", v.dtype) end
end

local function gaussian(g, a) return normal(g, a.self.shape, a.self.dtype) * a.std + a.mean end

for schema, fn in pairs {
  ["uniform(Tensor self, float from=0., float to=1., *"] = function(g, a)
    return uniform(g, a.self.shape, a.self.dtype, a.from, a.to)
  end,
  ["normal(Tensor self, float mean=0., float std=1., *"] = gaussian,
  ["normal_functional(Tensor self, float mean=0., float std=1., *"] = gaussian,
  ["exponential(Tensor self, float lambd=1., *"] = function(g, a)
    return g.Log(open_uniform(g, a.self)) * (-1 / a.lambd)
  end,
  ["log_normal(Tensor self, float mean=1., float std=2., *"] = function(g, a)
    return g.Exp(gaussian(g, a))
  end,
  ["cauchy(Tensor self, float median=0., float sigma=1., *"] = function(g, a)
    local u = uniform(g, a.self.shape, a.self.dtype)
    return g.Tan((u - 0.5) * math.pi) * a.sigma + a.median
  end,
  ["geometric(Tensor self, float p, *"] = function(g, a)
    local tries = g.Ceil(g.Log(open_uniform(g, a.self)) * (1 / math.log(1 - a.p)))
    return g.Max(tries, g.scalar(1, a.self.dtype))
  end,
} do
  aten:rule(schema .. GENERATOR, function(g, a)
    float_only(g, a.self)
    return fn(g, a)
  end)
end

-- ---- of given parameters ----

local function shifted(g, mean, std, out)
  local z = normal(g, out.shape, out.dtype)
  return z * (std or 1.0) + mean
end

aten:rule("normal.Tensor_float(Tensor mean, float std=1., *" .. GENERATOR, function(g, a, n)
  return shifted(g, a.mean, a.std, n.outputs[1])
end)
aten:rule("normal.float_Tensor(float mean, Tensor std, *" .. GENERATOR, function(g, a, n)
  return shifted(g, a.mean, a.std, n.outputs[1])
end)
aten:rule("normal.Tensor_Tensor(Tensor mean, Tensor std, *" .. GENERATOR, function(g, a, n)
  return shifted(g, a.mean, a.std, n.outputs[1])
end)
aten:rule("normal.float_float(float mean, float std, SymInt[] size, *, Generator? generator=None, "
          .. "ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
          .. "bool? pin_memory=None) -> Tensor",
  function(g, a, n) return shifted(g, a.mean, a.std, n.outputs[1]) end)

local function bernoulli(g, p, out)
  if not util.is_float(p.dtype) then p = p:to("float32") end
  return g.Less(uniform(g, out.shape, p.dtype), p):to(out.dtype)
end

aten:rule("bernoulli(Tensor self, *" .. GENERATOR, function(g, a, n)
  return bernoulli(g, a.self, n.outputs[1])
end)
aten:rule("bernoulli.Tensor(Tensor self, Tensor p, *" .. GENERATOR, function(g, a, n)
  return bernoulli(g, a.p, n.outputs[1])
end)
aten:rule("bernoulli.p(Tensor self, float p, *" .. GENERATOR, function(g, a, n)
  return bernoulli(g, g.scalar(a.p, "float32"), n.outputs[1])
end)

-- With replacement ONNX draws; without, the largest of log(p) plus Gumbel noise are such a draw.
aten:rule("multinomial(Tensor self, SymInt num_samples, bool replacement=False, "
          .. "*" .. GENERATOR, function(g, a)
  local logs, count = g.Log(a.self), a.num_samples
  if not a.replacement then
    local noise = g.Neg(g.Log(g.Neg(g.Log(open_uniform(g, a.self)))))
    local _, picked = g.TopK(g.Add(logs, noise), g.ints { count }, { axis = -1, outputs = 2 })
    return picked
  end
  if not util.is_static(count) then g.decline("a dynamic number of draws") end
  local attrs = { sample_size = count, dtype = "int64" }
  if a.self.rank == 2 then return g.Multinomial(logs, attrs) end
  local one = g.Multinomial(g.Unsqueeze(logs, g.ints { 0 }), attrs)
  return g.Squeeze(one, g.ints { 0 })
end)

-- Names that are put together above, for the index of rules (tools/name_hints.py):
-- "rand" "rand_like" "randn" "randn_like"
