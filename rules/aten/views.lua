-- rules/aten/views.lua: ops whose result shares memory with their first argument, and ops that only assert.

local aten = require("t2o.rules").namespace("aten")

aten:alias {
  "alias", "detach", "detach_", "lift", "lift_fresh", "requires_grad_",
}

-- How a changed view changes its base is not said yet: writes through these views are refused.
for _, name in ipairs {
  "adjoint", "as_strided", "chunk", "conj", "contiguous", "data", "diagonal", "dropout", "expand", "expand_as",
  "feature_dropout", "alpha_dropout", "feature_alpha_dropout", "flatten.using_ints", "imag", "matrix_H", "mH", "mT",
  "movedim.int", "movedim.intlist", "moveaxis.int", "moveaxis.intlist", "narrow", "numpy_T", "permute", "positive",
  "real", "reshape", "reshape_as", "resolve_conj", "resolve_neg", "select.int", "slice.Tensor", "split.Tensor",
  "split.sizes", "split_with_sizes", "squeeze", "squeeze.dim", "squeeze.dims", "squeeze_", "squeeze_.dim",
  "squeeze_.dims", "swapaxes", "swapdims", "t", "t_", "tensor_split.sections", "tensor_split.indices", "to.device",
  "to.dtype", "to.dtype_layout", "to.other", "type_as", "transpose.int", "transpose_", "swapaxes_", "swapdims_",
  "unbind.int", "unflatten.int", "unfold", "unsqueeze", "unsqueeze_", "hsplit.int", "vsplit.int", "dsplit.int",
  "hsplit.array", "vsplit.array", "dsplit.array", "unsafe_chunk", "unsafe_split.Tensor", "view", "view.dtype",
  "view_as", "view_as_complex", "view_as_real", "_unsafe_view", "_reshape_alias", "ravel", "atleast_1d", "atleast_2d",
  "atleast_3d", "broadcast_to", "T", "H", "meshgrid",
  "meshgrid.indexing", "broadcast_tensors", "_conj", "_neg_view", "unsafe_split_with_sizes", "float", "double", "half",
} do
  aten:view(name)
end

aten:drop {
  "_assert_async.msg", "_assert_async", "_assert_scalar", "_assert_tensor_metadata", "sym_constrain_range",
  "sym_constrain_range_for_size", "_functional_assert_async.msg",
}
