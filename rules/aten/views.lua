-- rules/aten/views.lua: ops whose result shares memory with their first argument, and ops that only assert.
--
-- The function of a view gives the base back with the window replaced by what it shows now.

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

-- Views whose base cannot be rebuilt: several of its elements may be one, or the window is not a plain one.
for _, name in ipairs {
  "expand", "expand_as", "broadcast_to", "broadcast_tensors", "meshgrid", "meshgrid.indexing", "unfold", "view.dtype",
  "real", "imag", "_neg_view", "hsplit.int", "vsplit.int",
  "dsplit.int", "hsplit.array", "vsplit.array", "dsplit.array", "tensor_split.sections", "tensor_split.indices",
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

aten:maybe_view({ "to.dtype" }, nil, function(a, n)
  if a.copy or n.inputs[1].dtype ~= n.outputs[1].dtype then return "copy" end
  return (a.memory_format or "preserve") == "preserve" and "same" or nil
end)

aten:maybe_view { "to.device", "to.dtype_layout", "to.other", "type_as" }

aten:drop {
  "_assert_async.msg", "_assert_async", "_assert_scalar", "_assert_tensor_metadata", "sym_constrain_range",
  "sym_constrain_range_for_size", "_functional_assert_async.msg", "_linalg_check_errors",
}
