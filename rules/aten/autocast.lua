-- rules/aten/autocast.lua: what autocast casts the arguments of operators to, for each kind of device.
--
-- Others are computed in what they are given. An operator that PyTorch takes apart casts where its parts do: "recorded"
-- are those whose parts cast all that they are given at once.

local autocast = require("t2o.autocast").registry

autocast:casts("cpu", "lower", [[
  conv1d conv1d.padding conv2d conv2d.padding conv3d conv3d.padding conv_tbc _convolution.deprecated
  conv_transpose1d conv_transpose2d.input conv_transpose3d.input
  linear matmul mm bmm addmm addbmm baddbmm _addmm_activation linalg_vecdot prelu
  scaled_dot_product_attention _native_multi_head_attention mkldnn_rnn_layer
]])

autocast:casts("cpu", "recorded", [[
  einsum tensordot inner chain_matmul linalg_multi_dot linalg_matrix_power nll_loss_nd pad
]])
autocast:casts("cpu", "parts", [[
  bilinear cov corrcoef linalg_pinv.atol_rtol_float linalg_pinv.atol_rtol_tensor
  lstm.input lstm.data gru.input gru.data rnn_tanh.input rnn_tanh.data rnn_relu.input rnn_relu.data
  lstm_cell gru_cell rnn_tanh_cell rnn_relu_cell
]])

autocast:casts("cpu", "widest", "cat stack index_copy")

autocast:casts("cpu", "float32", [[
  avg_pool3d adaptive_avg_pool3d adaptive_max_pool3d max_pool3d max_unpool2d max_unpool3d fractional_max_pool2d
  fractional_max_pool3d reflection_pad1d reflection_pad2d replication_pad1d replication_pad2d replication_pad3d
  grid_sampler grid_sampler_2d grid_sampler_3d _grid_sampler_2d_cpu_fallback
  binary_cross_entropy binary_cross_entropy_with_logits cosine_embedding_loss cross_entropy_loss ctc_loss.IntList
  ctc_loss.Tensor hinge_embedding_loss huber_loss kl_div l1_loss margin_ranking_loss mse_loss multi_margin_loss
  multilabel_margin_loss multilabel_margin_loss_forward nll_loss nll_loss2d poisson_nll_loss smooth_l1_loss
  soft_margin_loss triplet_margin_loss
  polar prod prod.dim_int quantile quantile.scalar nanquantile nanquantile.scalar trace view_as_complex cdist
  fake_quantize_per_tensor_affine
  stft stft.center fft_fft fft_fft2 fft_fftn fft_hfft fft_ifft fft_ifft2 fft_ifftn fft_ihfft fft_irfft fft_irfft2
  fft_irfftn fft_rfft fft_rfft2 fft_rfftn
  cholesky cholesky_inverse cholesky_solve geqrf inverse lu_solve orgqr ormqr pinverse qr svd triangular_solve
  _lu_with_info linalg_cholesky linalg_cholesky_ex linalg_cond linalg_cond.p_str linalg_eig linalg_eigh
  linalg_eigvals linalg_eigvalsh linalg_householder_product linalg_inv linalg_inv_ex linalg_lstsq linalg_matrix_rank
  linalg_matrix_rank.atol_rtol_float linalg_matrix_rank.atol_rtol_tensor linalg_matrix_rank.tol_tensor linalg_qr
  linalg_solve linalg_svd linalg_svdvals linalg_tensorinv linalg_tensorsolve
]])

autocast:casts("cuda", "lower", [[
  _convolution _convolution.deprecated convolution conv1d conv1d.padding conv2d conv2d.padding conv3d conv3d.padding
  conv_tbc conv_transpose1d conv_transpose2d.input conv_transpose3d.input cudnn_convolution
  cudnn_convolution_transpose
  linear matmul mm mv bmm addmm addmv addr addbmm baddbmm einsum linalg_vecdot chain_matmul linalg_multi_dot
  prelu scaled_dot_product_attention _scaled_dot_product_flash_attention
  _thnn_fused_lstm_cell _thnn_fused_gru_cell lstm_cell gru_cell rnn_tanh_cell rnn_relu_cell
]])

autocast:casts("cuda", "recorded", "inner linalg_matrix_power nll_loss_nd cross_entropy_loss")
autocast:casts("cuda", "parts", [[
  cov corrcoef linalg_pinv.atol_rtol_float linalg_pinv.atol_rtol_tensor
  lstm.input lstm.data gru.input gru.data rnn_tanh.input rnn_tanh.data rnn_relu.input rnn_relu.data
]])

autocast:casts("cuda", "widest", [[
  cat stack index_copy addcdiv addcmul atan2 bilinear cross dot vdot grid_sampler index_put tensordot scatter_add
]])

autocast:casts("cuda", "float32", [[
  acos asin cosh erfinv exp expm1 log log10 log2 log1p reciprocal rsqrt sinh tan
  pow.Tensor_Scalar pow.Tensor_Tensor pow.Scalar softplus
  layer_norm native_layer_norm rms_norm group_norm frobenius_norm.dim nuclear_norm nuclear_norm.dim
  cosine_similarity cosine_embedding_loss poisson_nll_loss nll_loss nll_loss2d hinge_embedding_loss kl_div l1_loss
  smooth_l1_loss huber_loss mse_loss margin_ranking_loss multilabel_margin_loss soft_margin_loss triplet_margin_loss
  multi_margin_loss binary_cross_entropy_with_logits dist pdist cdist renorm logsumexp
  upsample_nearest1d upsample_nearest2d upsample_nearest3d _upsample_nearest_exact1d _upsample_nearest_exact2d
  _upsample_nearest_exact3d upsample_linear1d upsample_bilinear2d upsample_trilinear3d upsample_bicubic2d
  _upsample_bilinear2d_aa _upsample_bicubic2d_aa
]])

autocast:casts("cuda", "float32_unless_given", [[
  prod prod.dim_int softmax.int log_softmax.int cumprod cumsum sum sum.dim_IntList
  linalg_vector_norm linalg_matrix_norm linalg_matrix_norm.str_ord
  norm.Scalar norm.ScalarOpt_dim norm.ScalarOpt_dtype norm.ScalarOpt_dim_dtype
]])
