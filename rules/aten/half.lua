-- rules/aten/half.lua: what PyTorch computes in 32 bits on 16-bit floats, with one rounding at the end.
--
-- Its other operators round in between: those made of operators, and kernels that are written on 16-bit numbers
-- (xlogy, logit, cross, the losses but binary_cross_entropy).

local half = require("t2o.half").registry

half:rounds_once("aten", [[
  sigmoid silu mish glu softplus log_sigmoid log_sigmoid_forward elu celu selu hardsigmoid hardswish gelu
  expm1 log1p log2 log10 exp2 sinc erfinv asinh acosh atanh lgamma digamma polygamma i0
  floor_divide atan2 hypot logaddexp logaddexp2 lerp addcmul addcdiv
  norm linalg_vector_norm var std var_mean std_mean logsumexp logcumsumexp nanmean
  _softmax _log_softmax _softmax_backward_data _log_softmax_backward_data _safe_softmax
  avg_pool1d avg_pool2d avg_pool3d adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d _adaptive_avg_pool2d
  _adaptive_avg_pool3d
  _upsample_bilinear2d_aa _upsample_bicubic2d_aa
  group_norm native_group_norm batch_norm native_batch_norm _native_batch_norm_legit
  _native_batch_norm_legit_functional _native_batch_norm_legit_no_training instance_norm rms_norm _fused_rms_norm
  binary_cross_entropy
]])

half:accumulates("aten", [[
  linear addmm addmv baddbmm
  scaled_dot_product_attention _scaled_dot_product_attention_math _scaled_dot_product_flash_attention_for_cpu
]])
