-- rules/python/calls.lua: torch calls as operators, methods and functions.

local core = require("t2o.core")
local python = require("t2o.pyrules").registry

-- ---- nothing to say ----

python:same { "alias", "lift_fresh_copy" }
python:same({ "to.device", "to.dtype", "to.dtype_layout", "_to_copy" }, function(a, v)
  return not a.copy and (a.dtype == nil or a.dtype == v.dtype) and a.memory_format == nil
end)
python:same({ "add.Tensor", "sub.Tensor" }, function(a, v)
  return math.type(a.other) and a.other == 0 and v.dtype:find("int") ~= nil
end)
python:same({ "slice.Tensor" }, function(a)
  local stop = a.end_
  local to_end = stop == nil or (math.type(stop) and stop == math.maxinteger)
  return (a.start == nil or a.start == 0) and a.step == 1 and to_end
end)
python:same({ "type_as" }, function(a, v) return a.other.dtype == v.dtype end)
python:same({ "detach" }, function(_, v, model)
  return not v.dtype:find("float") and not v.dtype:find("complex") or model.weights[v] and model.weights[v].constant
end)

-- ---- operators ----

python:operator {
  ["mul.Tensor"] = "*", ["mul.Scalar"] = "*", ["div.Tensor"] = "/", ["div.Scalar"] = "/",
  matmul = "@",
  ["pow.Tensor_Scalar"] = "**", ["pow.Tensor_Tensor"] = "**", ["pow.Scalar"] = "**",
  ["remainder.Tensor"] = "%",
  ["remainder.Scalar"] = "%", floor_divide = "//", ["floor_divide.Scalar"] = "//",
  ["__and__.Tensor"] = "&", ["__or__.Tensor"] = "|", ["__xor__.Tensor"] = "^",
  ["__and__.Scalar"] = "&",
  ["bitwise_and.Tensor"] = "&", ["bitwise_or.Tensor"] = "|", ["bitwise_xor.Tensor"] = "^",
  ["bitwise_and.Scalar"] = "&", ["bitwise_or.Scalar"] = "|", ["bitwise_xor.Scalar"] = "^",
  ["eq.Tensor"] = "==", ["eq.Scalar"] = "==", ["ne.Tensor"] = "!=", ["ne.Scalar"] = "!=",
  ["lt.Tensor"] = "<",
  ["lt.Scalar"] = "<", ["le.Tensor"] = "<=", ["le.Scalar"] = "<=", ["gt.Tensor"] = ">",
  ["gt.Scalar"] = ">",
  ["ge.Tensor"] = ">=", ["ge.Scalar"] = ">=", ["__lshift__.Scalar"] = "<<",
  ["__rshift__.Scalar"] = ">>",
  ["_operator::add"] = "+", ["_operator::sub"] = "-", ["_operator::mul"] = "*",
  ["_operator::floordiv"] = "//",
  ["_operator::mod"] = "%", ["_operator::truediv"] = "/", ["_operator::pow"] = "**",
  ["_operator::eq"] = "==",
  ["_operator::ne"] = "!=", ["_operator::lt"] = "<", ["_operator::le"] = "<=",
  ["_operator::gt"] = ">",
  ["_operator::ge"] = ">=", ["_operator::and_"] = "&", ["_operator::or_"] = "|",
}

for _, name in ipairs { "add", "sub" } do
  python:rule({ name .. ".Tensor", name .. ".Scalar" }, function(py, a)
    if a.alpha == 1 or a.alpha == nil then
      local turned = py.negate(a, "other") -- x - 3, not x + -3
      return py.operator(((name == "add") ~= turned) and "+" or "-")
    end
    return "torch." .. name .. "({self}, {other}, alpha={alpha})"
  end)
end
python:rule({ "rsub.Scalar", "rsub.Tensor" }, function(py, a)
  if a.alpha == 1 then return py.template("{other} - {self}", 10) end
end)
-- A copy that is asked to lie row by row is one of which views can be taken.
for _, name in ipairs { "clone", "contiguous" } do
  python:rule(name, function(py, a)
    local given = py.kind(a, "memory_format") ~= "none" and not py.is_default(a, "memory_format")
    return "{self}." .. name .. (given and "(memory_format={memory_format})" or "()")
  end)
end
python:rule("neg", function(py) return py.template("-{self}", 12) end)
python:rule("bitwise_not", function(py) return py.template("~{self}", 12) end)
python:rule("_operator::neg", function(py) return py.template("-{#1}", 12) end)
python:rule("torch::sym_not", function(py) return py.template("not {#1}", 4) end)
python:form {
  ["sym_size.int"] = "{self}.shape[{dim}]", sym_numel = "{self}.numel()",
  ["torch::sym_float"] = "float({#1})", ["torch::sym_int"] = "int({#1})",
  ["torch::sym_max"] = "max({#1}, {#2})",
  ["torch::sym_min"] = "min({#1}, {#2})", ["math::floor"] = "math.floor({#1})",
  ["math::ceil"] = "math.ceil({#1})",
  ["math::trunc"] = "math.trunc({#1})",
  ["torch::_sym_sqrt"] = "math.sqrt({#1})", item = "{self}.item()",
  _local_scalar_dense = "{self}.item()",
  ["scalar_tensor"] = "torch.tensor({s}{, dtype=}{, device})",
}

-- ---- indexing ----

python:rule("slice.Tensor", function(py, a)
  local stop = a.end_
  if math.type(stop) and stop >= math.maxinteger then stop = nil end
  local from_first = a.start == nil or a.start == 0 or a.start == math.mininteger
  local start = from_first and "" or "{start}"
  local step = py.is_one(a.step) and "" or ":{step}"
  local dim = a.dim
  if dim < 0 and not a.self.known_rank then return nil end
  if dim < 0 then dim = dim + a.self.rank end
  return "{self}[" .. (":, "):rep(dim) .. start .. ":" .. (stop ~= nil and "{end}" or "") .. step .. "]"
end)

python:rule("select.int", function(_, a)
  local dim = a.dim
  if dim < 0 and not a.self.known_rank then return "{self}.select({dim}, {index})" end
  if dim == -1 then return "{self}[..., {index}]" end
  if dim < 0 then dim = dim + a.self.rank end
  return "{self}[" .. (":, "):rep(dim) .. "{index}]"
end)

-- x[:, index]
python:rule("index.Tensor", function(py, a)
  local parts = {}
  local indices = a.indices
  for i = 1, indices.n do parts[i] = indices[i] and "{indices#" .. i .. "}" or ":" end
  return py.indexed("{self}", parts)
end)

-- torch.unique gives as many results as it is asked for
python:rule({ "_unique2", "unique_dim" }, function(_, a, node)
  if not (a.return_inverse and a.return_counts) then return nil end
  local dim = node.op:find("dim") and "dim={dim}, " or ""
  return "torch.unique({self}, " .. dim .. "sorted={sorted}, return_inverse=True, return_counts=True)"
end)

python:rule("scatter_reduce.two", function(_, a)
  return "{self}.scatter_reduce({dim}, {index}, {src}, {reduce}" .. (a.include_self and ")" or ", include_self=False)")
end)

python:rule("slice_scatter", function(_, a)
  local stop = a.end_
  local last = stop == nil or (math.type(stop) and stop >= math.maxinteger)
  return "torch.slice_scatter({self}, {src}, dim={dim}{, start=}" .. (last and "" or "{, end=}") .. "{, step=})"
end)

local CDIST_MODES = { [1] = "use_mm_for_euclid_dist", [2] = "donot_use_mm_for_euclid_dist" }
python:rule({ "cdist", "_cdist_forward" }, function(_, a)
  local mode = CDIST_MODES[a.compute_mode]
  return "torch.cdist({x1}, {x2}, p={p}" .. (mode and ', compute_mode="' .. mode .. '")' or ")")
end)

-- Exported for training it drops always, as it did there.
python:rule("dropout", function(_, a)
  return a.train and "F.dropout({input}, {p})" or "F.dropout({input}, {p}, self.training)"
end)

-- What is written into a view: the new contents in the dtype and shape of the old ones.
python:rule("copy", function(_, a)
  local to = a.src.dtype ~= a.self.dtype and ".to({self}.dtype)" or ""
  return "{src}" .. to .. ".expand_as({self})"
end)

-- ---- shapes ----

local LONG = 3 -- operators of a size

local function operators(d)
  local n = 0
  for _, x in ipairs(core.is_dim(d) and d.kind ~= "symbol" and d.args or {}) do n = n + 1 + operators(x) end
  return n
end

-- A size that is long to write is left to PyTorch where all others are said.
local function shorter(sizes)
  local long
  for i, item in ipairs(sizes) do
    if item.value == -1 or item.kind == "value" or long and operators(item.value) > LONG then return end
    if operators(item.value) > LONG then long = i end
  end
  if long then sizes[long] = { kind = "int", value = -1 } end
end

python:rule("view", function(_, a)
  shorter(a._items.size.value)
  return "{self}.view({*size})"
end)
python:rule("reshape", function(_, a)
  shorter(a._items.shape.value)
  return "{self}.reshape({*shape})"
end)

python:form {
  ["view.dtype"] = "{self}.view({dtype})",
  permute = "{self}.permute({*dims})",
  expand = "{self}.expand({*size})", ["repeat"] = "{self}.repeat({*repeats})", ["transpose.int"] =
  "{self}.transpose({dim0}, {dim1})", ["flatten.using_ints"] = "{self}.flatten({start_dim}{, end_dim})",
  ["unflatten.int"] = "{self}.unflatten({dim}, {sizes})", unsqueeze = "{self}.unsqueeze({dim})",
  squeeze = "{self}.squeeze()", ["squeeze.dim"] = "{self}.squeeze({dim})",
  ["squeeze.dims"] = "{self}.squeeze({dim})",
  detach = "{self}.detach()",
  t = "{self}.t()",
  numpy_T = "{self}.T", mT = "{self}.mT", view_as = "{self}.view_as({other})",
  reshape_as = "{self}.reshape_as({other})", expand_as = "{self}.expand_as({other})",
  ["cat"] = "torch.cat({tensors}{, dim=})", stack = "torch.stack({tensors}{, dim=})",
  ["chunk"] = "{self}.chunk({chunks}{, dim=})", ["split.Tensor"] = "{self}.split({split_size}{, dim=})",
  split_with_sizes = "{self}.split({split_sizes}{, dim=})",
  ["split.sizes"] = "{self}.split({split_size}{, dim=})",
  ["unbind.int"] = "{self}.unbind({dim})", ["roll"] = "{self}.roll({shifts}{, dims=})",
  ["flip"] = "{self}.flip({dims})", ["unfold"] = "{self}.unfold({dimension}, {size}, {step})",
  ["tensor_split.indices"] = "{self}.tensor_split({indices}{, dim=})",
  ["tensor_split.sections"] = "{self}.tensor_split({sections}{, dim=})",
  ["narrow"] = "{self}.narrow({dim}, {start}, {length})",
  ["movedim.int"] = "{self}.movedim({source}, {destination})",
  ["movedim.intlist"] = "{self}.movedim({source}, {destination})",
  ["meshgrid.indexing"] = "torch.meshgrid({tensors}, indexing={indexing})",
  ["meshgrid"] = "torch.meshgrid({tensors})",
  broadcast_tensors = "torch.broadcast_tensors({*tensors})",
  ["to.dtype"] = "{self}.to({dtype})", ["to.dtype_layout"] = "{self}.to({dtype})",
  ["to.device"] = "{self}.to({dtype})", ["_to_copy"] = "{self}.to({dtype})",
  ["type_as"] = "{self}.type_as({other})",
}

-- A conjugate is taken when it is needed, which the parts of a complex number do not wait for.
python:rule("view_as_real", function(py, a)
  return py.is_result_of(a.self, "mul", "view_as_complex",
  "fft_fft") and "torch.view_as_real({self})"
    or "torch.view_as_real({self}.resolve_conj())"
end)

-- ---- the same name and arguments as a method ----

python:method {
  "abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "cos", "cosh", "erf", "erfc",
  "exp", "expm1",
  "floor", "isfinite", "isinf", "isnan", "log", "log10", "log1p", "log2", "logical_not",
  "reciprocal", "round",
  "rsqrt", "sigmoid", "sign", "sin", "sinh", "sqrt", "square", "tan", "tanh", "trunc", "relu",
  "frac",
  "all", "all.dim", "amax", "amin", "any", "any.dim", "argmax", "argmin", "argsort", "cumprod",
  "cumsum",
  "mean", "mean.dim", "median", "min.dim", "max.dim", "max", "min", "prod", "prod.dim_int", "sum",
  "sum.dim_IntList",
  "std.correction", "var.correction", "std.dim", "var.dim", "topk", "sort", "kthvalue",
  "logsumexp", "norm.ScalarOpt_dim",
  "clamp", "clamp_min", "clamp_max", "masked_fill.Scalar", "masked_fill.Tensor", "masked_scatter",
  "gather", "scatter.src",
  "scatter.value", "scatter_add", "index_add", "index_copy", "index_fill.int_Scalar",
  "index_fill.int_Tensor",
  "index_select", "diff", "tril", "triu", "diagonal", "logical_and", "logical_or", "logical_xor",
  "softmax.int", "log_softmax.int", "bmm", "mm", "baddbmm", "addmm", "nonzero", "lerp.Scalar",
  "lerp.Tensor",
  "repeat_interleave.self_int", "repeat_interleave.self_Tensor", "new_ones", "new_zeros",
  "new_full", "new_empty",
  "histc", "atan2", "addcmul", "addcdiv",
}

-- ---- functions ----

python:call("torch", {
  "select_scatter", "diagonal_scatter", "index_put", "einsum", "where.self", "where.ScalarOther",
  "where.ScalarSelf", "where.Scalar", "maximum", "minimum", "full",
  "zeros", "ones", "eye", "linspace", "full_like", "zeros_like", "ones_like", "empty_like",
  "isin.Tensor_Tensor",
  "bucketize.Tensor", "searchsorted.Tensor", "cross", "outer", "kron", "view_as_complex", "complex",
  "polar", "real", "imag", "angle", "take_along_dim", "fmod.Tensor", "fmod.Scalar", "erfinv",
  "bincount", "heaviside", "hypot",
})
python:form {
  ["arange"] = "torch.arange({end}{, dtype=}{, device})",
  ["arange.start"] = "torch.arange({start}, {end}{, dtype=}{, device})",
  ["arange.start_step"] = "torch.arange({start}, {end}, {step}{, dtype=}{, device})",
  ["min.other"] = "torch.minimum({self}, {other})", ["max.other"] = "torch.maximum({self}, {other})",
  ["div.Tensor_mode"] = "torch.div({self}, {other}, rounding_mode={rounding_mode})",
  ["div.Scalar_mode"] = "torch.div({self}, {other}, rounding_mode={rounding_mode})",
  ["cosine_similarity"] = "F.cosine_similarity({x1}, {x2}{, dim=}{, eps=})",
  ["einsum"] = "torch.einsum({equation}, {*tensors})",
  ["round.decimals"] = "{self}.round(decimals={decimals})",
}
python:call("F", {
  "conv1d", "conv2d", "conv3d", "conv1d.padding", "conv2d.padding", "conv3d.padding",
  "conv_transpose1d",
  "linear", "bilinear", "gelu", "silu", "mish", "hardswish", "hardsigmoid",
  "elu", "selu", "celu", "leaky_relu", "softplus", "softshrink", "hardshrink", "hardtanh", "prelu",
  "glu",
  "pixel_shuffle", "pixel_unshuffle", "channel_shuffle", "max_pool1d",
  "max_pool2d", "max_pool3d", "avg_pool1d", "avg_pool2d", "avg_pool3d", "adaptive_avg_pool1d",
  "adaptive_avg_pool2d", "adaptive_avg_pool3d", "pad", "scaled_dot_product_attention", "threshold",
  "relu6", "logsigmoid",
  log_sigmoid = "logsigmoid", ["conv_transpose2d.input"] = "conv_transpose2d",
  ["conv_transpose3d.input"] = "conv_transpose3d",
})
python:form {
  col2im = "F.fold({self}, {output_size}, {kernel_size}, {dilation}, {padding}, {stride})",
  im2col = "F.unfold({self}, {kernel_size}, {dilation}, {padding}, {stride})",
  embedding = "F.embedding({indices}, {weight})",
  layer_norm = "F.layer_norm({input}, {normalized_shape}{, weight}{, bias=}{, eps=})",
  rms_norm = "F.rms_norm({input}, {normalized_shape}{, weight}{, eps=})",
  group_norm = "F.group_norm({input}, {num_groups}{, weight=}{, bias=}{, eps=})",
  instance_norm = "F.instance_norm({input}{, running_mean=}{, running_var=}{, weight=}{, bias=}"
    .. "{, use_input_stats=}{, momentum=}{, eps=})",
  ["batch_norm"] = "F.batch_norm({input}, {running_mean}, {running_var}, {weight}, {bias}, {training}, "
    .. "{momentum}, {eps})",
}
python:call("torch.linalg", {
  linalg_vector_norm = "vector_norm", linalg_det = "det", linalg_inv = "inv", linalg_norm = "norm",
  linalg_matrix_norm = "matrix_norm", linalg_cross = "cross",
})
python:call("torch.fft", {
  fft_fft = "fft", fft_ifft = "ifft", fft_rfft = "rfft", fft_irfft = "irfft", fft_fft2 = "fft2",
  fft_ifft2 = "ifft2",
  fft_rfft2 = "rfft2", fft_irfft2 = "irfft2", fft_fftn = "fftn", fft_ifftn = "ifftn",
  fft_fftshift = "fftshift",
  fft_ifftshift = "ifftshift",
})
