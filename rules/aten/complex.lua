-- rules/aten/complex.lua: complex numbers: values whose last dimension holds the real and the imaginary part.

local aten = require("t2o.rules").namespace("aten")
local complex = require("t2o.complex")
local translate = require("t2o.translate")
local types = require("t2o.types")
local util = require("t2o.util")

local parts, join, pair = complex.parts, complex.join, complex.pair
local dtype_of, rank_of = complex.dtype_of, complex.rank

local function rule(schemas, fn)
  for _, schema in ipairs(type(schemas) == "table" and schemas or { schemas }) do
    aten:rule(schema, { complex = true }, fn)
  end
end

local function itself(_, a) return a.self end

-- ---- to and from pairs ----

-- Each is a copy: what is complex for one reader is not for the other.
rule({ "view_as_real(Tensor(a) self) -> Tensor(a)", "view_as_real_copy(Tensor self) -> Tensor" },
  function(g, a) return g.Identity(a.self) end)
rule({ "view_as_complex(Tensor(a) self) -> Tensor(a)", "view_as_complex_copy(Tensor self) -> Tensor" },
  function(g, a) return g.Identity(a.self) end)

rule("complex(Tensor real, Tensor imag) -> Tensor", function(_, a) return join(a.real, a.imag) end)
rule("polar(Tensor abs, Tensor angle) -> Tensor", function(g, a)
  return join(g.Mul(a.abs, g.Cos(a.angle)), g.Mul(a.abs, g.Sin(a.angle)))
end)
rule("real(Tensor(a) self) -> Tensor(a)", function(_, a) return (parts(a.self)) end)
rule("imag(Tensor(a) self) -> Tensor(a)", function(_, a) return (select(2, parts(a.self))) end)

local function conj(_, a) return complex.conj(a.self) end

rule({
  "_conj(Tensor(a) self) -> Tensor(a)", "conj(Tensor(a) self) -> Tensor(a)", "conj_physical(Tensor self) -> Tensor",
  "_conj_physical(Tensor self) -> Tensor",
}, conj)
rule({ "resolve_conj(Tensor(a) self) -> Tensor(a)", "resolve_neg(Tensor(a) self) -> Tensor(a)" }, itself)
rule({ "clone", "contiguous", "alias", "alias_copy", "detach", "detach_", "detach_copy", "lift", "lift_fresh",
       "lift_fresh_copy", "positive", "dropout", "cpu" }, itself)

-- Real numbers become complex with a part of 0; the other way only real parts count.
local function convert(_, a, n)
  local out = n.outputs[1].dtype
  if types.is_complex(out) then return pair(a.self, types.real_of(out)) end
  return (parts(a.self)):to(out)
end

rule({ "to.dtype", "to.device", "to.dtype_layout", "to.prim_Device", "to.prim_dtype", "to.other", "type_as",
       "_to_copy" }, convert)

-- ---- sizes and orders ----

local DIM, SELF_DIM = { "dim" }, { dim = { "dim" } }

for op, spec in pairs {
  ["view"] = { size = "size" }, ["_unsafe_view"] = { size = "size" }, ["view_copy"] = { size = "size" },
  ["reshape"] = { size = "shape" }, ["expand"] = { size = "size" }, ["expand_copy"] = { size = "size" },
  ["broadcast_to"] = { size = "size" }, ["repeat"] = { size = "repeats", ending = 1 },
  ["tile"] = { size = "dims", ending = 1 },
  ["flatten.using_ints"] = { dim = { "start_dim", "end_dim" } }, ["unflatten.int"] = SELF_DIM,
  ["squeeze"] = {}, ["squeeze.dim"] = SELF_DIM, ["squeeze.dims"] = SELF_DIM,
  ["unsqueeze"] = { dim = DIM, more = 1 }, ["unsqueeze_copy"] = { dim = DIM, more = 1 },
  ["transpose.int"] = { dim = { "dim0", "dim1" } }, ["swapdims"] = { dim = { "dim0", "dim1" } },
  ["swapaxes"] = { dim = { "axis0", "axis1" } }, ["transpose_copy.int"] = { dim = { "dim0", "dim1" } },
  ["permute"] = { dim = { "dims" }, order = "dims" }, ["permute_copy"] = { dim = { "dims" }, order = "dims" },
  ["movedim.int"] = { dim = { "source", "destination" } }, ["moveaxis.int"] = { dim = { "source", "destination" } },
  ["movedim.intlist"] = { dim = { "source", "destination" } },
  ["moveaxis.intlist"] = { dim = { "source", "destination" } },
  ["slice.Tensor"] = SELF_DIM, ["slice_copy.Tensor"] = SELF_DIM, ["select.int"] = SELF_DIM,
  ["select_copy.int"] = SELF_DIM, ["narrow"] = SELF_DIM, ["split.Tensor"] = SELF_DIM, ["split.sizes"] = SELF_DIM,
  ["split_with_sizes"] = SELF_DIM, ["chunk"] = SELF_DIM, ["unbind.int"] = SELF_DIM,
  ["tensor_split.sections"] = SELF_DIM, ["tensor_split.indices"] = SELF_DIM,
  ["cat"] = { data = { "tensors" }, dim = DIM }, ["concat"] = { data = { "tensors" }, dim = DIM },
  ["concatenate"] = { data = { "tensors" }, dim = DIM },
  ["stack"] = { data = { "tensors" }, dim = DIM, more = 1 },
  ["flip"] = { dim = { "dims" } }, ["fliplr"] = {}, ["flipud"] = {}, ["index_select"] = SELF_DIM,
  ["sum.dim_IntList"] = SELF_DIM, ["mean.dim"] = SELF_DIM, ["cumsum"] = SELF_DIM,
} do
  rule(op, complex.in_pairs(op, spec))
end

-- Whatever moves elements can be done to each part.
for op, data in pairs {
  ["expand_as"] = { "self" }, ["roll"] = { "self" }, ["diagonal"] = { "self" }, ["diagonal_copy"] = { "self" },
  ["diag_embed"] = { "self" }, ["diag"] = { "self" }, ["tril"] = { "self" }, ["triu"] = { "self" },
  ["gather"] = { "self" }, ["index.Tensor"] = { "self" }, ["rot90"] = { "self" }, ["unfold"] = { "self" },
  ["view_as"] = { "self", "other" }, ["reshape_as"] = { "self", "other" }, ["numpy_T"] = { "self" },
  ["repeat_interleave.self_int"] = { "self" }, ["take_along_dim"] = { "self" }, ["ravel"] = { "self" },
  ["masked_select"] = { "self" }, ["trace"] = { "self" }, ["sum"] = { "self" }, ["mean"] = { "self" },
  ["slice_scatter"] = { "self", "src" }, ["select_scatter"] = { "self", "src" },
  ["diagonal_scatter"] = { "self", "src" }, ["index_put"] = { "self", "values" }, ["copy"] = { "self", "src" },
  ["index_add"] = { "self", "source" }, ["scatter_add"] = { "self", "src" }, ["scatter.src"] = { "self", "src" },
  ["masked_fill.Scalar"] = { "self", "value" }, ["masked_fill.Tensor"] = { "self", "value" },
  ["where.self"] = { "self", "other" }, ["where.ScalarOther"] = { "self", "other" },
  ["where.ScalarSelf"] = { "self", "other" }, ["hstack"] = { "tensors" }, ["vstack"] = { "tensors" },
  ["dstack"] = { "tensors" }, ["atleast_1d"] = { "self" }, ["atleast_2d"] = { "self" }, ["atleast_3d"] = { "self" },
  ["broadcast_tensors"] = { "tensors" }, ["meshgrid"] = { "tensors" }, ["meshgrid.indexing"] = { "tensors" },
  ["fft_fftshift"] = { "self" }, ["fft_ifftshift"] = { "self" }, ["constant_pad_nd"] = { "self", "value" },
  ["as_strided"] = { "self" }, ["block_diag"] = { "tensors" }, ["fill.Scalar"] = { "self", "value" },
  ["nansum"] = { "self" }, ["avg_pool1d"] = { "self" }, ["avg_pool2d"] = { "self" },
} do
  rule(op, complex.by_parts(op, data))
end

rule("pad(Tensor self, SymInt[] pad, str mode=\"constant\", float? value=None) -> Tensor",
     complex.by_parts("pad", { "self" }))

local function swap_last(g, z)
  local rank = rank_of(z)
  if rank < 2 then return z end
  local perm = util.range(0, rank)
  perm[rank - 1], perm[rank] = rank - 1, rank - 2
  return complex.mark(g.Transpose(z, { perm = perm }))
end

rule({ "t", "t_copy", "mT" }, function(g, a) return swap_last(g, a.self) end)
rule({ "mH", "matrix_H", "adjoint" }, function(g, a) return complex.conj(swap_last(g, a.self)) end)

-- ---- tensors of one number ----

for _, name in ipairs { "zeros", "ones", "full" } do
  rule(name, function(g, a, n)
    return pair(g.full(a.size, 1, dtype_of(n)), dtype_of(n)) * 1.0, name
  end)
end
