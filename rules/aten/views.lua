-- rules/aten/views.lua: ops whose result shares memory with their first argument, ops that write into arguments beside
-- their results, and ops that only assert.
--
-- The function of a view gives the base back with the window replaced by what it shows now. Names stand here in full:
-- an op whose name is put together would be asked about without this file, and be no view.

local aten = require("t2o.rules").namespace("aten")

aten:alias {
  "alias", "detach", "detach_", "lift", "lift_fresh", "requires_grad_", "positive", "resolve_conj", "resolve_neg",
}

-- Outside of training these return what they are given, in place or not.
aten:alias({
  "dropout", "dropout_", "feature_dropout", "feature_dropout_", "alpha_dropout", "alpha_dropout_",
  "feature_alpha_dropout", "feature_alpha_dropout_",
}, function(a) return not a.train end)

local function reshaped(t, base, changed) return t.aten.reshape(changed, base.shape) end

for _, name in ipairs {
  "view", "_unsafe_view", "_reshape_alias", "view_as", "squeeze", "squeeze.dim", "squeeze.dims", "squeeze_",
  "squeeze_.dim", "squeeze_.dims", "unsqueeze", "unsqueeze_", "unflatten.int", "atleast_1d", "atleast_2d", "atleast_3d",
} do
  aten:view(name, reshaped)
end

local function swap(t, _, changed, a) return t.aten["transpose.int"](changed, a.dim0, a.dim1) end

for _, name in ipairs { "transpose.int", "transpose_" } do aten:view(name, swap) end

local function swap_axes(t, _, changed, a)
  return t.aten["transpose.int"](changed, a.axis0 or a.dim0, a.axis1 or a.dim1)
end

for _, name in ipairs { "swapaxes", "swapdims", "swapaxes_", "swapdims_" } do aten:view(name, swap_axes) end

local function swap_last(t, base, changed)
  if base.rank < 2 then return t.aten.alias(changed) end
  return t.aten["transpose.int"](changed, -2, -1)
end

for _, name in ipairs { "t", "t_", "mT", "mH", "matrix_H", "adjoint" } do aten:view(name, swap_last) end

aten:view("numpy_T", function(t, base, changed)
  local order = {}
  for i = 1, base.rank do order[i] = base.rank - i end
  return t.aten.permute(changed, order)
end)

aten:view("permute", function(t, base, changed, a)
  local order = {}
  for i, d in ipairs(a.dims) do order[(d < 0 and d + base.rank or d) + 1] = i - 1 end
  return t.aten.permute(changed, order)
end)

for _, name in ipairs { "movedim.int", "moveaxis.int" } do
  aten:view(name, function(t, _, changed, a) return t.aten["movedim.int"](changed, a.destination, a.source) end)
end

for _, name in ipairs { "movedim.intlist", "moveaxis.intlist" } do
  aten:view(name, function(t, _, changed, a) return t.aten["movedim.intlist"](changed, a.destination, a.source) end)
end

aten:view("slice.Tensor", function(t, base, changed, a)
  return t.aten.slice_scatter(base, changed, a.dim, a.start, a.end_, a.step)
end)

aten:view("narrow", function(t, base, changed, a)
  return t.aten.slice_scatter(base, changed, a.dim, a.start, a.start + a.length, 1)
end)

aten:view("select.int", function(t, base, changed, a) return t.aten.select_scatter(base, changed, a.dim, a.index) end)

aten:view("unbind.int", function(t, base, changed, a, output)
  return t.aten.select_scatter(base, changed, a.dim, output - 1)
end)

aten:view("diagonal", function(t, base, changed, a)
  return t.aten.diagonal_scatter(base, changed, a.offset, a.dim1, a.dim2)
end)

aten:view("as_strided", function(t, base, changed, a)
  return t.aten.as_strided_scatter(base, changed, a.size, a.stride, a.storage_offset)
end)

-- Piece number `output` begins behind the pieces before it.
local function piece(t, base, changed, dim, start)
  return t.aten.slice_scatter(base, changed, dim, start, start + changed:size(dim), 1)
end

for _, name in ipairs { "split.Tensor", "unsafe_split.Tensor" } do
  aten:view(name, function(t, base, changed, a, output)
    return piece(t, base, changed, a.dim, (output - 1) * a.split_size)
  end)
end

for _, name in ipairs { "split_with_sizes", "split.sizes", "unsafe_split_with_sizes" } do
  aten:view(name, function(t, base, changed, a, output)
    local start, sizes = 0, a.split_sizes or a.split_size
    for i = 1, output - 1 do start = start + sizes[i] end
    return piece(t, base, changed, a.dim, start)
  end)
end

for _, name in ipairs { "chunk", "unsafe_chunk" } do
  aten:view(name, function(t, base, changed, a, output)
    local size = (base:size(a.dim) + a.chunks - 1) // a.chunks
    return piece(t, base, changed, a.dim, (output - 1) * size)
  end)
end

for name, inverse in pairs {
  ["view_as_real"] = "view_as_complex", ["view_as_complex"] = "view_as_real", ["_conj"] = "_conj", ["conj"] = "_conj",
} do
  aten:view(name, function(t, _, changed) return t.aten[inverse](changed) end)
end

aten:view("_neg_view", function(t, _, changed) return t.aten.neg(changed) end)

-- One part of complex numbers; the real part of real ones is the tensor itself.
aten:view("real", function(t, base, changed)
  if not base.dtype:find("^complex") then return t.aten.alias(changed) end
  return t.aten.complex(changed, t.call("aten::imag", { changed }, base))
end)

aten:view("imag", function(t, base, changed)
  return t.aten.complex(t.call("aten::real", { changed }, base), changed)
end)

-- Windows that do not overlap: what stands at one place in all of them lies `step` apart in the base. One element of
-- windows that do is written several times, which only PyTorch's order of writing could tell.
aten:view("unfold", function(t, base, changed, a)
  if base.rank == 0 or a.step < a.size then return nil end
  local dim = a.dimension < 0 and a.dimension + base.rank or a.dimension
  local shape = changed.shape
  local reach = (table.remove(shape, dim + 1) - 1) * a.step + 1
  shape = changed.shape
  shape[#shape] = nil
  for i = 0, a.size - 1 do
    local part = t.call("aten::select.int", { { dtype = base.dtype, shape = shape } }, changed, -1, i)
    base = t.aten.slice_scatter(base, part, dim, i, i + reach, a.step)
  end
  return base
end)

-- Pieces that end before given places.
local function split_at(t, base, changed, dim, places, output)
  return t.aten.slice_scatter(base, changed, dim, places[output - 1] or 0, places[output] or math.maxinteger, 1)
end

-- Pieces of equal size, the first ones one longer where it does not come out even.
local function split_evenly(t, base, changed, dim, n, output)
  local size = base:size(dim)
  if math.type(size) ~= "integer" then return nil end
  return piece(t, base, changed, dim, (output - 1) * (size // n) + math.min(output - 1, size % n))
end

aten:view("tensor_split.sections", function(t, base, changed, a, output)
  return split_evenly(t, base, changed, a.dim, a.sections, output)
end)

aten:view("tensor_split.indices", function(t, base, changed, a, output)
  return split_at(t, base, changed, a.dim, a.indices, output)
end)

for name, d in pairs { ["hsplit.int"] = 1, ["vsplit.int"] = 0, ["dsplit.int"] = 2 } do
  aten:view(name, function(t, base, changed, a, output)
    return split_evenly(t, base, changed, math.min(d, base.rank - 1), a.sections, output)
  end)
end

for name, d in pairs { ["hsplit.array"] = 1, ["vsplit.array"] = 0, ["dsplit.array"] = 2 } do
  aten:view(name, function(t, base, changed, a, output)
    return split_at(t, base, changed, math.min(d, base.rank - 1), a.indices, output)
  end)
end

-- Views whose base cannot be rebuilt: several of its elements may be one, or the window is not a plain one.
for _, name in ipairs {
  "expand", "expand_as", "broadcast_to", "broadcast_tensors", "meshgrid", "meshgrid.indexing", "view.dtype",
} do
  aten:view(name)
end

aten:maybe_view({ "reshape", "reshape_as", "flatten.using_ints", "ravel" }, reshaped)

-- What lies row by row is not copied.
aten:maybe_view({ "contiguous" }, nil, function(a, n)
  local rows = n.contiguous[1]
  if rows == nil or (a.memory_format or "contiguous") ~= "contiguous" then return nil end
  return rows and "same" or "copy"
end)

-- What has the dtype and lies on the device already is not copied.
aten:maybe_view({ "to.dtype", "to.device", "to.dtype_layout", "to.other", "type_as" }, nil, function(a, n)
  local from, to = n.inputs[1], n.outputs[1]
  if a.copy or from.dtype ~= to.dtype or from.device ~= to.device then return "copy" end
  return from.device and (a.memory_format or "preserve") == "preserve" and "same" or nil
end)

-- ---- what training writes ----

aten:writes(
  { "batch_norm", "native_batch_norm", "_native_batch_norm_legit", "cudnn_batch_norm", "_batch_norm_with_update" },
  function(a) return a.training ~= false and a.running_mean ~= nil end,
  function(t, a, n)
    local m, v = a.running_mean, a.running_var
    local saved = { n.outputs[2] or m, n.outputs[3] or m }
    local y, mean, rstd, new_mean, new_var = t.call("aten::_native_batch_norm_legit_functional",
      { n.outputs[1], saved[1], saved[2], m, v }, a.input, a.weight, a.bias, m, v, true,
      a.momentum or a.exponential_average_factor, a.eps or a.epsilon)
    return { y, mean, rstd }, { running_mean = new_mean, running_var = new_var }
  end)

-- The statistics of the instances of a batch count together, as their mean.
aten:writes({ "instance_norm" }, function(a) return a.use_input_stats and a.running_mean ~= nil end,
  function(t, a)
    local m, axes, every = a.running_mean, {}, { 0 }
    local x = t.call("aten::to.dtype", { { dtype = m.dtype, shape = a.input.shape } }, a.input, { dtype = m.dtype })
    for d = 2, x.rank - 1 do
      axes[#axes + 1] = d
      every[#every + 1] = d
    end
    local of_each = { dtype = m.dtype, shape = { x:size(0), x:size(1) } }
    local function blend(old, new)
      local function scaled(y, by) return t.call("aten::mul.Tensor", { m }, y, by) end
      return t.call("aten::add.Tensor", { m }, scaled(old, 1 - a.momentum), scaled(new, a.momentum))
    end
    local var = t.call("aten::mean.dim", { m }, t.call("aten::var.correction", { of_each }, x, axes, 1), { 0 })
    return {}, {
      running_mean = blend(m, t.call("aten::mean.dim", { m }, x, every)),
      running_var = blend(a.running_var, var),
    }
  end)

aten:drop {
  "_assert_async.msg", "_assert_async", "_assert_scalar", "_assert_tensor_metadata", "sym_constrain_range",
  "sym_constrain_range_for_size", "_functional_assert_async.msg", "_linalg_check_errors",
}
