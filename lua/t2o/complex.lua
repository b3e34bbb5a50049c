-- lua/t2o/complex.lua: what rules for complex numbers share.
--
-- A complex tensor is a value of its real dtype that is marked (v.is_complex); its last dimension holds the real and
-- the imaginary part. A rule for complex numbers sees that dimension in v.rank and v.shape.

local core = require("t2o.core")
local builder = require("t2o.builder")
local infer = require("t2o.infer")
local translate = require("t2o.translate")
local types = require("t2o.types")
local util = require("t2o.util")

local M = {}
local g = builder.g

local known_parts = setmetatable({}, { __mode = "k" }) -- what values were joined of

--- Marks a value as complex.
function M.mark(v)
  core.set_complex(v, true)
  return v
end

--- The real and the imaginary part of a value or number; no imaginary part (nil) of one that is real.
function M.parts(x)
  if type(x) == "table" then return x.real, x.imag end
  if not (core.is_value(x) and x.is_complex) then return x, nil end
  if known_parts[x] then return known_parts[x][1], known_parts[x][2] end
  local axis = { axis = x.rank - 1 }
  return g.Gather(x, g.scalar(0, "int64"), axis), g.Gather(x, g.scalar(1, "int64"), axis)
end

--- The complex value of two parts, which are broadcast, unless they are known to be of the `same` shape. One of them
--- may be a number.
function M.join(re, im, same)
  if not core.is_value(re) then re = g.scalar(re, im.dtype) end
  if not core.is_value(im) then im = g.scalar(im, re.dtype) end
  local shape = same and re.shape or infer.broadcast(re.shape, im.shape)
  local last = g.ints { #shape }
  if not util.same_shape(re.shape, shape) then re = g.expand(re, shape) end
  if not same and not util.same_shape(im.shape, shape) then im = g.expand(im, shape) end
  local z = M.mark(g.Concat(g.Unsqueeze(re, last), g.Unsqueeze(im, last), { axis = #shape }))
  known_parts[z] = { re, im }
  return z
end

--- A value or number as a complex value of a real dtype.
function M.pair(x, dtype)
  if core.is_value(x) and x.is_complex then return M.mark(x:to(dtype)) end
  local re, im = M.parts(x)
  if not core.is_value(re) then return M.mark(g.const({ re + 0.0, (im or 0) + 0.0 }, dtype)) end
  return M.join(re:to(dtype), im or 0)
end

--- A real value or number, of a dtype, to be multiplied with a complex value.
function M.factor(x, dtype)
  x = g.scalar(x, dtype)
  return x.rank == 0 and x or g.Unsqueeze(x, g.ints { x.rank })
end

--- The real dtype of the node's result.
function M.dtype_of(n) return types.real_of(n.outputs[1].dtype) end

--- The rank without the dimension of the parts.
function M.rank(z) return z.rank - 1 end

-- The node as a rule for real numbers has to see it: its results are the parts, or (with `pairs`) both side by side.
function M.real_node(n, pairs)
  local outputs = { n = n.outputs.n }
  for i = 1, outputs.n do
    local o = n.outputs[i]
    local shape = o.shape
    if pairs and types.is_complex(o.dtype) then shape[#shape + 1] = 2 end
    outputs[i] = { kind = o.kind, dtype = types.real_of(o.dtype), shape = shape }
  end
  return { op = n.op, outputs = outputs, inputs = n.inputs, contiguous = n.contiguous }
end

local function is_list(x) return type(x) == "table" and not x.real end

local function each(x, fn)
  if x == nil then return nil end
  if not is_list(x) then return fn(x) end
  local out = { n = x.n or #x }
  for i = 1, out.n do
    if x[i] ~= nil then out[i] = fn(x[i]) end
  end
  return out
end

local function copy(a)
  local out = {}
  for k, v in pairs(a) do out[k] = v end
  if out.dtype then out.dtype = types.real_of(out.dtype) end
  return out
end

local function join_results(re, im)
  if not is_list(re) then return M.join(re, im, true) end
  local out = {}
  for i = 1, #re do out[i] = M.join(re[i], im[i], true) end
  return out
end

--- Part 1 or 2 of what the rule for real numbers makes of the parts of the arguments that `data` names.
function M.part(op, data, a, n, i)
  local dtype, args = M.dtype_of(n), copy(a)
  for _, name in ipairs(data) do
    args[name] = each(a[name], function(x)
      local part = select(i, M.parts(x)) or 0
      if not core.is_value(x) then return part end
      if not core.is_value(part) then return g.expand(g.scalar(part, dtype), x.shape) end
      return part:to(dtype)
    end)
  end
  return translate.as_real(op, args, M.real_node(n))
end

--- A rule that runs the one for real numbers on the real and on the imaginary parts. `data` names the arguments that
--- have them; the others are given to both. A real result is that of the real parts.
function M.by_parts(op, data)
  return function(_, a, n)
    local re = M.part(op, data, a, n, 1)
    if not types.is_complex(n.outputs[1].dtype) then return re end
    return join_results(re, M.part(op, data, a, n, 2))
  end
end

--- A rule that runs the one for real numbers on complex tensors as they are. spec says what the arguments are:
--- data: tensors; dim, dims: dimensions, of a rank higher by `more`; size: sizes, behind which 2 is put, or `ending`.
function M.in_pairs(op, spec)
  local apart = M.by_parts(op, spec.data or { "self" })
  return function(_, a, n)
    local dtype, args, rank = M.dtype_of(n), copy(a), nil
    for _, name in ipairs(spec.data or { "self" }) do
      args[name] = each(a[name], function(x)
        local z = M.pair(x, dtype)
        rank = rank or M.rank(z)
        return z
      end)
    end
    if rank == 0 and spec.dim and not spec.more then return apart(g, a, n) end
    for _, name in ipairs(spec.dim or {}) do
      if a[name] then
        args[name] = each(a[name], function(d) return util.dim(d, rank + (spec.more or 0)) end)
      end
    end
    if spec.size then
      local size = util.copy(a[spec.size])
      size[#size + 1] = spec.ending or 2
      args[spec.size] = size
    end
    if spec.order then
      local order = util.copy(args[spec.order])
      order[#order + 1] = rank
      args[spec.order] = order
    end
    return translate.as_real(op, args, M.real_node(n, true))
  end
end

--- fn(x, y) of each pair of parts of two values that a bilinear fn multiplies.
function M.product(fn, x, y)
  local a, b = M.parts(x)
  local c, d = M.parts(y)
  if not b and not d then return fn(a, c) end
  if not d then return M.join(fn(a, c), fn(b, c)) end
  if not b then return M.join(fn(a, c), fn(a, d)) end
  return M.join(g.Sub(fn(a, c), fn(b, d)), g.Add(fn(a, d), fn(b, c)))
end

function M.conj(z)
  return M.mark(g.Mul(z, g.const({ 1.0, -1.0 }, z.dtype)))
end

return M
