---@meta _

-- Made by proto/gen_meta.py from onnx 1.23.2: the operators of opset 28. Do not edit.

---@class t2o.Builder
local g = {}

--- ONNX Abs, since opset 13 in this form.
--- X, Y: any float, any signed integer, any unsigned integer.
---@param X t2o.Value
---@param attrs? t2o.Attrs
---@return t2o.Value Y
function g.Abs(X, attrs) end

--- ONNX Acos, since opset 22 in this form.
--- input, output: any float.
---@param input t2o.Value
---@param attrs? t2o.Attrs
---@return t2o.Value output
function g.Acos(input, attrs) end

--- ONNX Acosh, since opset 22 in this form.
--- input, output: any float.
---@param input t2o.Value
---@param attrs? t2o.Attrs
---@return t2o.Value output
function g.Acosh(input, attrs) end

--- ONNX Add, since opset 14 in this form.
--- A, B, C: any float, any signed integer, any unsigned integer.
---@param A t2o.Value
---@param B t2o.Value
---@param attrs? t2o.Attrs
---@return t2o.Value C
function g.Add(A, B, attrs) end

---@class t2o.onnx.AffineGrid: t2o.Attrs
---@field align_corners? integer = 0

--- ONNX AffineGrid, since opset 20 in this form.
--- theta, grid: any float; size: int64.
---@param theta t2o.Value
---@param size t2o.Value
---@param attrs? t2o.onnx.AffineGrid
---@return t2o.Value grid
function g.AffineGrid(theta, size, attrs) end

--- ONNX And, since opset 7 in this form.
--- A, B: bool; C: bool.
---@param A t2o.Value
---@param B t2o.Value
---@param attrs? t2o.Attrs
---@return t2o.Value C
function g.And(A, B, attrs) end

---@class t2o.onnx.ArgMax: t2o.Attrs
---@field axis? integer = 0
---@field keepdims? integer = 1
---@field select_last_index? integer = 0

--- ONNX ArgMax, since opset 13 in this form.
--- data: any float, any signed integer, any unsigned integer; reduced: int64.
---@param data t2o.Value
---@param attrs? t2o.onnx.ArgMax
---@return t2o.Value reduced
function g.ArgMax(data, attrs) end

---@class t2o.onnx.ArgMin: t2o.Attrs
---@field axis? integer = 0
---@field keepdims? integer = 1
---@field select_last_index? integer = 0

--- ONNX ArgMin, since opset 13 in this form.
--- data: any float, any signed integer, any unsigned integer; reduced: int64.
---@param data t2o.Value
---@param attrs? t2o.onnx.ArgMin
---@return t2o.Value reduced
function g.ArgMin(data, attrs) end

--- ONNX Asin, since opset 22 in this form.
--- input, output: any float.
---@param input t2o.Value
---@param attrs? t2o.Attrs
---@return t2o.Value output
function g.Asin(input, attrs) end

--- ONNX Asinh, since opset 22 in this form.
--- input, output: any float.
---@param input t2o.Value
---@param attrs? t2o.Attrs
---@return t2o.Value output
function g.Asinh(input, attrs) end

--- ONNX Atan, since opset 22 in this form.
--- input, output: any float.
---@param input t2o.Value
---@param attrs? t2o.Attrs
---@return t2o.Value output
function g.Atan(input, attrs) end

--- ONNX Atanh, since opset 22 in this form.
--- input, output: any float.
---@param input t2o.Value
---@param attrs? t2o.Attrs
---@return t2o.Value output
function g.Atanh(input, attrs) end

---@class t2o.onnx.Attention: t2o.Attrs
---@field is_causal? integer = 0
---@field kv_num_heads? integer
---@field left_window_size? integer = -1
---@field q_num_heads? integer
---@field qk_matmul_output_mode? integer = 0
---@field right_window_size? integer = -1
---@field scale? number
---@field softcap? number = 0.0
---@field softmax_precision? integer

--- ONNX Attention, since opset 25 in this form.
--- Q, K, past_key, Y, present_key, qk_matmul_output: any float; V, past_value, present_value: any float; attn_mask:
--- any float, any signed integer, any unsigned integer, bool; nonpad_kv_seqlen: int64.
---@param Q t2o.Value
---@param K t2o.Value
---@param V t2o.Value
---@param attn_mask? t2o.Value
---@param past_key? t2o.Value
---@param past_value? t2o.Value
---@param nonpad_kv_seqlen? t2o.Value
---@param attrs? t2o.onnx.Attention
---@return t2o.Value Y
---@return t2o.Value? present_key # where attrs.outputs asks for it
---@return t2o.Value? present_value # where attrs.outputs asks for it
---@return t2o.Value? qk_matmul_output # where attrs.outputs asks for it
function g.Attention(Q, K, V, attn_mask, past_key, past_value, nonpad_kv_seqlen, attrs) end

---@class t2o.onnx.AveragePool: t2o.Attrs
---@field auto_pad? string = "NOTSET"
---@field ceil_mode? integer = 0
---@field count_include_pad? integer = 0
---@field dilations? integer[]
---@field kernel_shape integer[]
---@field pads? integer[]
---@field strides? integer[]

--- ONNX AveragePool, since opset 22 in this form.
--- X, Y: any float.
---@param X t2o.Value
---@param attrs? t2o.onnx.AveragePool
---@return t2o.Value Y
function g.AveragePool(X, attrs) end

---@class t2o.onnx.BatchNormalization: t2o.Attrs
---@field epsilon? number = 1e-05
---@field momentum? number = 0.9
---@field training_mode? integer = 0

--- ONNX BatchNormalization, since opset 15 in this form.
--- X, Y: any float; scale, B: any float; input_mean, input_var, running_mean, running_var: any float.
---@param X t2o.Value
---@param scale t2o.Value
---@param B t2o.Value
---@param input_mean t2o.Value
---@param input_var t2o.Value
---@param attrs? t2o.onnx.BatchNormalization
---@return t2o.Value Y
---@return t2o.Value? running_mean # where attrs.outputs asks for it
---@return t2o.Value? running_var # where attrs.outputs asks for it
function g.BatchNormalization(X, scale, B, input_mean, input_var, attrs) end

---@class t2o.onnx.Bernoulli: t2o.Attrs
---@field dtype? integer
---@field seed? number

--- ONNX Bernoulli, since opset 22 in this form.
--- input: any float; output: any float, any signed integer, any unsigned integer, bool.
---@param input t2o.Value
---@param attrs? t2o.onnx.Bernoulli
---@return t2o.Value output
function g.Bernoulli(input, attrs) end

---@class t2o.onnx.BitCast: t2o.Attrs
---@field to integer

--- ONNX BitCast, since opset 26 in this form.
--- input: any type; output: any type.
---@param input t2o.Value
---@param attrs? t2o.onnx.BitCast
---@return t2o.Value output
function g.BitCast(input, attrs) end

---@class t2o.onnx.BitShift: t2o.Attrs
---@field direction string

--- ONNX BitShift, since opset 28 in this form.
--- X, Y, Z: any signed integer, any unsigned integer.
---@param X t2o.Value
---@param Y t2o.Value
---@param attrs? t2o.onnx.BitShift
---@return t2o.Value Z
function g.BitShift(X, Y, attrs) end

--- ONNX BitwiseAnd, since opset 18 in this form.
--- A, B, C: any signed integer, any unsigned integer.
---@param A t2o.Value
---@param B t2o.Value
---@param attrs? t2o.Attrs
---@return t2o.Value C
function g.BitwiseAnd(A, B, attrs) end

--- ONNX BitwiseNot, since opset 18 in this form.
--- X, Y: any signed integer, any unsigned integer.
---@param X t2o.Value
---@param attrs? t2o.Attrs
---@return t2o.Value Y
function g.BitwiseNot(X, attrs) end

--- ONNX BitwiseOr, since opset 18 in this form.
--- A, B, C: any signed integer, any unsigned integer.
---@param A t2o.Value
---@param B t2o.Value
---@param attrs? t2o.Attrs
---@return t2o.Value C
function g.BitwiseOr(A, B, attrs) end

--- ONNX BitwiseXor, since opset 18 in this form.
--- A, B, C: any signed integer, any unsigned integer.
---@param A t2o.Value
---@param B t2o.Value
---@param attrs? t2o.Attrs
---@return t2o.Value C
function g.BitwiseXor(A, B, attrs) end

---@class t2o.onnx.BlackmanWindow: t2o.Attrs
---@field output_datatype? integer = 1
---@field periodic? integer = 1

--- ONNX BlackmanWindow, since opset 17 in this form.
--- size: int32, int64; output: any float, any signed integer, any unsigned integer.
---@param size t2o.Value
---@param attrs? t2o.onnx.BlackmanWindow
---@return t2o.Value output
function g.BlackmanWindow(size, attrs) end

---@class t2o.onnx.Cast: t2o.Attrs
---@field round_mode? string = "up"
---@field saturate? integer = 1
---@field to integer

--- ONNX Cast, since opset 28 in this form.
--- input: any float, any signed integer, any unsigned integer, bool; output: any float, any signed integer, any
--- unsigned integer, bool.
---@param input t2o.Value
---@param attrs? t2o.onnx.Cast
---@return t2o.Value output
function g.Cast(input, attrs) end

---@class t2o.onnx.CastLike: t2o.Attrs
---@field round_mode? string = "up"
---@field saturate? integer = 1

--- ONNX CastLike, since opset 25 in this form.
--- input: any float, any signed integer, any unsigned integer, bool; target_type, output: any float, any signed
--- integer, any unsigned integer, bool.
---@param input t2o.Value
---@param target_type t2o.Value
---@param attrs? t2o.onnx.CastLike
---@return t2o.Value output
function g.CastLike(input, target_type, attrs) end

---@class t2o.onnx.CausalConvWithState: t2o.Attrs
---@field activation? string = "none"

--- ONNX CausalConvWithState, since opset 27 in this form.
--- input, weight, bias, past_state, output, present_state: bfloat16, float16, float32.
---@param input t2o.Value
---@param weight t2o.Value
---@param bias? t2o.Value
---@param past_state? t2o.Value
---@param attrs? t2o.onnx.CausalConvWithState
---@return t2o.Value output
---@return t2o.Value present_state
function g.CausalConvWithState(input, weight, bias, past_state, attrs) end

--- ONNX Ceil, since opset 13 in this form.
--- X, Y: any float.
---@param X t2o.Value
---@param attrs? t2o.Attrs
---@return t2o.Value Y
function g.Ceil(X, attrs) end

---@class t2o.onnx.Celu: t2o.Attrs
---@field alpha? number = 1.0

--- ONNX Celu, since opset 28 in this form.
--- X, Y: any float.
---@param X t2o.Value
---@param attrs? t2o.onnx.Celu
---@return t2o.Value Y
function g.Celu(X, attrs) end

---@class t2o.onnx.CenterCropPad: t2o.Attrs
---@field axes? integer[]

--- ONNX CenterCropPad, since opset 18 in this form.
--- input_data, output_data: any type; shape: int32, int64.
---@param input_data t2o.Value
---@param shape t2o.Value
---@param attrs? t2o.onnx.CenterCropPad
---@return t2o.Value output_data
function g.CenterCropPad(input_data, shape, attrs) end

--- ONNX Clip, since opset 13 in this form.
--- input, min, max, output: any float, any signed integer, any unsigned integer.
---@param input t2o.Value
---@param min? t2o.Value
---@param max? t2o.Value
---@param attrs? t2o.Attrs
---@return t2o.Value output
function g.Clip(input, min, max, attrs) end

---@class t2o.onnx.Col2Im: t2o.Attrs
---@field dilations? integer[]
---@field pads? integer[]
---@field strides? integer[]

--- ONNX Col2Im, since opset 18 in this form.
--- input, output: any type; image_shape, block_shape: int64.
---@param input t2o.Value
---@param image_shape t2o.Value
---@param block_shape t2o.Value
---@param attrs? t2o.onnx.Col2Im
---@return t2o.Value output
function g.Col2Im(input, image_shape, block_shape, attrs) end

---@class t2o.onnx.Compress: t2o.Attrs
---@field axis? integer

--- ONNX Compress, since opset 28 in this form.
--- input, output: any type; condition: bool.
---@param input t2o.Value
---@param condition t2o.Value
---@param attrs? t2o.onnx.Compress
---@return t2o.Value output
function g.Compress(input, condition, attrs) end

---@class t2o.onnx.Concat: t2o.Attrs
---@field axis integer

--- ONNX Concat, since opset 13 in this form.
--- inputs, concat_result: any type.
---@param ... t2o.Value|t2o.onnx.Concat # as many as there are, then the attributes
---@return t2o.Value concat_result
function g.Concat(...) end

---@class t2o.onnx.ConcatFromSequence: t2o.Attrs
---@field axis integer
---@field new_axis? integer = 0

--- ONNX ConcatFromSequence, since opset 11 in this form.
--- input_sequence: a list of tensors; concat_result: any type.
---@param input_sequence t2o.Value
---@param attrs? t2o.onnx.ConcatFromSequence
---@return t2o.Value concat_result
function g.ConcatFromSequence(input_sequence, attrs) end

---@class t2o.onnx.Constant: t2o.Attrs
---@field sparse_value? any
---@field value? t2o.Value
---@field value_float? number
---@field value_floats? number[]
---@field value_int? integer
---@field value_ints? integer[]
---@field value_string? string
---@field value_strings? string[]

--- ONNX Constant, since opset 25 in this form.
--- output: any type.
---@param attrs? t2o.onnx.Constant
---@return t2o.Value output
function g.Constant(attrs) end

---@class t2o.onnx.ConstantOfShape: t2o.Attrs
---@field value? t2o.Value

--- ONNX ConstantOfShape, since opset 25 in this form.
--- input: int64; output: any float, any signed integer, any unsigned integer, bool.
---@param input t2o.Value
---@param attrs? t2o.onnx.ConstantOfShape
---@return t2o.Value output
function g.ConstantOfShape(input, attrs) end

---@class t2o.onnx.Conv: t2o.Attrs
---@field auto_pad? string = "NOTSET"
---@field dilations? integer[]
---@field group? integer = 1
---@field kernel_shape? integer[]
---@field pads? integer[]
---@field strides? integer[]

--- ONNX Conv, since opset 22 in this form.
--- X, W, B, Y: any float.
---@param X t2o.Value
---@param W t2o.Value
---@param B? t2o.Value
---@param attrs? t2o.onnx.Conv
---@return t2o.Value Y
function g.Conv(X, W, B, attrs) end

---@class t2o.onnx.ConvInteger: t2o.Attrs
---@field auto_pad? string = "NOTSET"
---@field dilations? integer[]
---@field group? integer = 1
---@field kernel_shape? integer[]
---@field pads? integer[]
---@field strides? integer[]

--- ONNX ConvInteger, since opset 10 in this form.
--- x, x_zero_point: int8, uint8; w, w_zero_point: int8, uint8; y: int32.
---@param x t2o.Value
---@param w t2o.Value
---@param x_zero_point? t2o.Value
---@param w_zero_point? t2o.Value
---@param attrs? t2o.onnx.ConvInteger
---@return t2o.Value y
function g.ConvInteger(x, w, x_zero_point, w_zero_point, attrs) end

---@class t2o.onnx.ConvTranspose: t2o.Attrs
---@field auto_pad? string = "NOTSET"
---@field dilations? integer[]
---@field group? integer = 1
---@field kernel_shape? integer[]
---@field output_padding? integer[]
---@field output_shape? integer[]
---@field pads? integer[]
---@field strides? integer[]

--- ONNX ConvTranspose, since opset 22 in this form.
--- X, W, B, Y: any float.
---@param X t2o.Value
---@param W t2o.Value
---@param B? t2o.Value
---@param attrs? t2o.onnx.ConvTranspose
---@return t2o.Value Y
function g.ConvTranspose(X, W, B, attrs) end

--- ONNX Cos, since opset 22 in this form.
--- input, output: any float.
---@param input t2o.Value
---@param attrs? t2o.Attrs
---@return t2o.Value output
function g.Cos(input, attrs) end

--- ONNX Cosh, since opset 22 in this form.
--- input, output: any float.
---@param input t2o.Value
---@param attrs? t2o.Attrs
---@return t2o.Value output
function g.Cosh(input, attrs) end

---@class t2o.onnx.CumProd: t2o.Attrs
---@field exclusive? integer = 0
---@field reverse? integer = 0

--- ONNX CumProd, since opset 26 in this form.
--- x, y: any float, int32, int64, uint32, uint64; axis: int32, int64.
---@param x t2o.Value
---@param axis t2o.Value
---@param attrs? t2o.onnx.CumProd
---@return t2o.Value y
function g.CumProd(x, axis, attrs) end

---@class t2o.onnx.CumSum: t2o.Attrs
---@field exclusive? integer = 0
---@field reverse? integer = 0

--- ONNX CumSum, since opset 14 in this form.
--- x, y: any float, int32, int64, uint32, uint64; axis: int32, int64.
---@param x t2o.Value
---@param axis t2o.Value
---@param attrs? t2o.onnx.CumSum
---@return t2o.Value y
function g.CumSum(x, axis, attrs) end

---@class t2o.onnx.DFT: t2o.Attrs
---@field inverse? integer = 0
---@field onesided? integer = 0

--- ONNX DFT, since opset 20 in this form.
--- input, output: any float; dft_length: int32, int64; axis: int64.
---@param input t2o.Value
---@param dft_length? t2o.Value
---@param axis? t2o.Value
---@param attrs? t2o.onnx.DFT
---@return t2o.Value output
function g.DFT(input, dft_length, axis, attrs) end

---@class t2o.onnx.DeformConv: t2o.Attrs
---@field dilations? integer[]
---@field group? integer = 1
---@field kernel_shape? integer[]
---@field offset_group? integer = 1
---@field pads? integer[]
---@field strides? integer[]

--- ONNX DeformConv, since opset 22 in this form.
--- X, W, offset, B, mask, Y: any float.
---@param X t2o.Value
---@param W t2o.Value
---@param offset t2o.Value
---@param B? t2o.Value
---@param mask? t2o.Value
---@param attrs? t2o.onnx.DeformConv
---@return t2o.Value Y
function g.DeformConv(X, W, offset, B, mask, attrs) end

---@class t2o.onnx.DepthToSpace: t2o.Attrs
---@field blocksize integer
---@field mode? string = "DCR"

--- ONNX DepthToSpace, since opset 28 in this form.
--- input, output: any type.
---@param input t2o.Value
---@param attrs? t2o.onnx.DepthToSpace
---@return t2o.Value output
function g.DepthToSpace(input, attrs) end

---@class t2o.onnx.DequantizeLinear: t2o.Attrs
---@field axis? integer = 1
---@field block_size? integer = 0
---@field output_dtype? integer = 0

--- ONNX DequantizeLinear, since opset 28 in this form.
--- x, x_zero_point: int16, int32, int8, uint16, uint8; x_scale: bfloat16, float16, float32; y: bfloat16, float16,
--- float32.
---@param x t2o.Value
---@param x_scale t2o.Value
---@param x_zero_point? t2o.Value
---@param attrs? t2o.onnx.DequantizeLinear
---@return t2o.Value y
function g.DequantizeLinear(x, x_scale, x_zero_point, attrs) end

--- ONNX Det, since opset 22 in this form.
--- X, Y: any float.
---@param X t2o.Value
---@param attrs? t2o.Attrs
---@return t2o.Value Y
function g.Det(X, attrs) end

--- ONNX Div, since opset 14 in this form.
--- A, B, C: any float, any signed integer, any unsigned integer.
---@param A t2o.Value
---@param B t2o.Value
---@param attrs? t2o.Attrs
---@return t2o.Value C
function g.Div(A, B, attrs) end

---@class t2o.onnx.Dropout: t2o.Attrs
---@field seed? integer

--- ONNX Dropout, since opset 22 in this form.
--- data, output: any float; ratio: any float; training_mode, mask: bool.
---@param data t2o.Value
---@param ratio? t2o.Value
---@param training_mode? t2o.Value
---@param attrs? t2o.onnx.Dropout
---@return t2o.Value output
---@return t2o.Value? mask # where attrs.outputs asks for it
function g.Dropout(data, ratio, training_mode, attrs) end

--- ONNX DynamicQuantizeLinear, since opset 11 in this form.
--- x: float32; y, y_zero_point: uint8; y_scale: float32.
---@param x t2o.Value
---@param attrs? t2o.Attrs
---@return t2o.Value y
---@return t2o.Value y_scale
---@return t2o.Value y_zero_point
function g.DynamicQuantizeLinear(x, attrs) end

---@class t2o.onnx.Einsum: t2o.Attrs
---@field equation string

--- ONNX Einsum, since opset 28 in this form.
--- Inputs, Output: any float, any signed integer, any unsigned integer.
---@param ... t2o.Value|t2o.onnx.Einsum # as many as there are, then the attributes
---@return t2o.Value Output
function g.Einsum(...) end

---@class t2o.onnx.Elu: t2o.Attrs
---@field alpha? number = 1.0

--- ONNX Elu, since opset 22 in this form.
--- X, Y: any float.
---@param X t2o.Value
---@param attrs? t2o.onnx.Elu
---@return t2o.Value Y
function g.Elu(X, attrs) end

--- ONNX Equal, since opset 19 in this form.
--- A, B: any float, any signed integer, any unsigned integer, bool; C: bool.
---@param A t2o.Value
---@param B t2o.Value
---@param attrs? t2o.Attrs
---@return t2o.Value C
function g.Equal(A, B, attrs) end

--- ONNX Erf, since opset 13 in this form.
--- input, output: any float.
---@param input t2o.Value
---@param attrs? t2o.Attrs
---@return t2o.Value output
function g.Erf(input, attrs) end

--- ONNX Exp, since opset 13 in this form.
--- input, output: any float.
---@param input t2o.Value
---@param attrs? t2o.Attrs
---@return t2o.Value output
function g.Exp(input, attrs) end

--- ONNX Expand, since opset 13 in this form.
--- input, output: any type; shape: int64.
---@param input t2o.Value
---@param shape t2o.Value
---@param attrs? t2o.Attrs
---@return t2o.Value output
function g.Expand(input, shape, attrs) end

---@class t2o.onnx.EyeLike: t2o.Attrs
---@field dtype? integer
---@field k? integer = 0

--- ONNX EyeLike, since opset 22 in this form.
--- input: any float, any signed integer, any unsigned integer, bool; output: any float, any signed integer, any
--- unsigned integer, bool.
---@param input t2o.Value
---@param attrs? t2o.onnx.EyeLike
---@return t2o.Value output
function g.EyeLike(input, attrs) end

---@class t2o.onnx.Flatten: t2o.Attrs
---@field axis? integer = 1

--- ONNX Flatten, since opset 25 in this form.
--- input, output: any type.
---@param input t2o.Value
---@param attrs? t2o.onnx.Flatten
---@return t2o.Value output
function g.Flatten(input, attrs) end

--- ONNX Floor, since opset 13 in this form.
--- X, Y: any float.
---@param X t2o.Value
---@param attrs? t2o.Attrs
---@return t2o.Value Y
function g.Floor(X, attrs) end

---@class t2o.onnx.GRU: t2o.Attrs
---@field activation_alpha? number[]
---@field activation_beta? number[]
---@field activations? string[]
---@field clip? number
---@field direction? string = "forward"
---@field hidden_size? integer
---@field layout? integer = 0
---@field linear_before_reset? integer = 0

--- ONNX GRU, since opset 22 in this form.
--- X, W, R, B, initial_h, Y, Y_h: any float; sequence_lens: int32.
---@param X t2o.Value
---@param W t2o.Value
---@param R t2o.Value
---@param B? t2o.Value
---@param sequence_lens? t2o.Value
---@param initial_h? t2o.Value
---@param attrs? t2o.onnx.GRU
---@return t2o.Value? Y # where attrs.outputs asks for it
---@return t2o.Value? Y_h # where attrs.outputs asks for it
function g.GRU(X, W, R, B, sequence_lens, initial_h, attrs) end

---@class t2o.onnx.Gather: t2o.Attrs
---@field axis? integer = 0

--- ONNX Gather, since opset 13 in this form.
--- data, output: any type; indices: int32, int64.
---@param data t2o.Value
---@param indices t2o.Value
---@param attrs? t2o.onnx.Gather
---@return t2o.Value output
function g.Gather(data, indices, attrs) end

---@class t2o.onnx.GatherElements: t2o.Attrs
---@field axis? integer = 0

--- ONNX GatherElements, since opset 13 in this form.
--- data, output: any type; indices: int32, int64.
---@param data t2o.Value
---@param indices t2o.Value
---@param attrs? t2o.onnx.GatherElements
---@return t2o.Value output
function g.GatherElements(data, indices, attrs) end

---@class t2o.onnx.GatherND: t2o.Attrs
---@field batch_dims? integer = 0

--- ONNX GatherND, since opset 13 in this form.
--- data, output: any type; indices: int64.
---@param data t2o.Value
---@param indices t2o.Value
---@param attrs? t2o.onnx.GatherND
---@return t2o.Value output
function g.GatherND(data, indices, attrs) end

---@class t2o.onnx.Gelu: t2o.Attrs
---@field approximate? string = "none"

--- ONNX Gelu, since opset 20 in this form.
--- X, Y: any float.
---@param X t2o.Value
---@param attrs? t2o.onnx.Gelu
---@return t2o.Value Y
function g.Gelu(X, attrs) end

---@class t2o.onnx.Gemm: t2o.Attrs
---@field alpha? number = 1.0
---@field beta? number = 1.0
---@field transA? integer = 0
---@field transB? integer = 0

--- ONNX Gemm, since opset 13 in this form.
--- A, B, C, Y: any float, int32, int64, uint32, uint64.
---@param A t2o.Value
---@param B t2o.Value
---@param C? t2o.Value
---@param attrs? t2o.onnx.Gemm
---@return t2o.Value Y
function g.Gemm(A, B, C, attrs) end

--- ONNX GlobalAveragePool, since opset 22 in this form.
--- X, Y: any float.
---@param X t2o.Value
---@param attrs? t2o.Attrs
---@return t2o.Value Y
function g.GlobalAveragePool(X, attrs) end

---@class t2o.onnx.GlobalLpPool: t2o.Attrs
---@field p? integer = 2

--- ONNX GlobalLpPool, since opset 22 in this form.
--- X, Y: any float.
---@param X t2o.Value
---@param attrs? t2o.onnx.GlobalLpPool
---@return t2o.Value Y
function g.GlobalLpPool(X, attrs) end

--- ONNX GlobalMaxPool, since opset 22 in this form.
--- X, Y: any float.
---@param X t2o.Value
---@param attrs? t2o.Attrs
---@return t2o.Value Y
function g.GlobalMaxPool(X, attrs) end

--- ONNX Greater, since opset 13 in this form.
--- A, B: any float, any signed integer, any unsigned integer; C: bool.
---@param A t2o.Value
---@param B t2o.Value
---@param attrs? t2o.Attrs
---@return t2o.Value C
function g.Greater(A, B, attrs) end

--- ONNX GreaterOrEqual, since opset 16 in this form.
--- A, B: any float, any signed integer, any unsigned integer; C: bool.
---@param A t2o.Value
---@param B t2o.Value
---@param attrs? t2o.Attrs
---@return t2o.Value C
function g.GreaterOrEqual(A, B, attrs) end

---@class t2o.onnx.GridSample: t2o.Attrs
---@field align_corners? integer = 0
---@field mode? string = "linear"
---@field padding_mode? string = "zeros"

--- ONNX GridSample, since opset 22 in this form.
--- X, Y: any type; grid: any float.
---@param X t2o.Value
---@param grid t2o.Value
---@param attrs? t2o.onnx.GridSample
---@return t2o.Value Y
function g.GridSample(X, grid, attrs) end

---@class t2o.onnx.GroupNormalization: t2o.Attrs
---@field epsilon? number = 1e-05
---@field num_groups integer
---@field stash_type? integer = 1

--- ONNX GroupNormalization, since opset 21 in this form.
--- X, scale, bias, Y: any float.
---@param X t2o.Value
---@param scale t2o.Value
---@param bias t2o.Value
---@param attrs? t2o.onnx.GroupNormalization
---@return t2o.Value Y
function g.GroupNormalization(X, scale, bias, attrs) end

---@class t2o.onnx.HammingWindow: t2o.Attrs
---@field output_datatype? integer = 1
---@field periodic? integer = 1

--- ONNX HammingWindow, since opset 17 in this form.
--- size: int32, int64; output: any float, any signed integer, any unsigned integer.
---@param size t2o.Value
---@param attrs? t2o.onnx.HammingWindow
---@return t2o.Value output
function g.HammingWindow(size, attrs) end

---@class t2o.onnx.HannWindow: t2o.Attrs
---@field output_datatype? integer = 1
---@field periodic? integer = 1

--- ONNX HannWindow, since opset 17 in this form.
--- size: int32, int64; output: any float, any signed integer, any unsigned integer.
---@param size t2o.Value
---@param attrs? t2o.onnx.HannWindow
---@return t2o.Value output
function g.HannWindow(size, attrs) end

---@class t2o.onnx.HardSigmoid: t2o.Attrs
---@field alpha? number = 0.2
---@field beta? number = 0.5

--- ONNX HardSigmoid, since opset 22 in this form.
--- X, Y: any float.
---@param X t2o.Value
---@param attrs? t2o.onnx.HardSigmoid
---@return t2o.Value Y
function g.HardSigmoid(X, attrs) end

--- ONNX HardSwish, since opset 22 in this form.
--- X, Y: any float.
---@param X t2o.Value
---@param attrs? t2o.Attrs
---@return t2o.Value Y
function g.HardSwish(X, attrs) end

---@class t2o.onnx.Hardmax: t2o.Attrs
---@field axis? integer = -1

--- ONNX Hardmax, since opset 13 in this form.
--- input, output: any float.
---@param input t2o.Value
---@param attrs? t2o.onnx.Hardmax
---@return t2o.Value output
function g.Hardmax(input, attrs) end

--- ONNX Identity, since opset 25 in this form.
--- input, output: any type, an optional, a list of tensors.
---@param input t2o.Value
---@param attrs? t2o.Attrs
---@return t2o.Value output
function g.Identity(input, attrs) end

---@class t2o.onnx.If: t2o.Attrs
---@field else_branch fun(g: t2o.Builder): t2o.Value ...
---@field then_branch fun(g: t2o.Builder): t2o.Value ...

--- ONNX If, since opset 25 in this form.
--- cond: bool; outputs: any type, an optional, a list of tensors.
---@param cond t2o.Value
---@param attrs? t2o.onnx.If
---@return t2o.Value[] # as many as attrs.outputs says
function g.If(cond, attrs) end

---@class t2o.onnx.ImageDecoder: t2o.Attrs
---@field pixel_format? string = "RGB"

--- ONNX ImageDecoder, since opset 20 in this form.
--- encoded_stream: uint8; image: uint8.
---@param encoded_stream t2o.Value
---@param attrs? t2o.onnx.ImageDecoder
---@return t2o.Value image
function g.ImageDecoder(encoded_stream, attrs) end

---@class t2o.onnx.InstanceNormalization: t2o.Attrs
---@field epsilon? number = 1e-05

--- ONNX InstanceNormalization, since opset 22 in this form.
--- input, scale, B, output: any float.
---@param input t2o.Value
---@param scale t2o.Value
---@param B t2o.Value
---@param attrs? t2o.onnx.InstanceNormalization
---@return t2o.Value output
function g.InstanceNormalization(input, scale, B, attrs) end

---@class t2o.onnx.IsInf: t2o.Attrs
---@field detect_negative? integer = 1
---@field detect_positive? integer = 1

--- ONNX IsInf, since opset 20 in this form.
--- X: any float; Y: bool.
---@param X t2o.Value
---@param attrs? t2o.onnx.IsInf
---@return t2o.Value Y
function g.IsInf(X, attrs) end

--- ONNX IsNaN, since opset 20 in this form.
--- X: any float; Y: bool.
---@param X t2o.Value
---@param attrs? t2o.Attrs
---@return t2o.Value Y
function g.IsNaN(X, attrs) end

---@class t2o.onnx.LRN: t2o.Attrs
---@field alpha? number = 1e-04
---@field beta? number = 0.75
---@field bias? number = 1.0
---@field size integer

--- ONNX LRN, since opset 13 in this form.
--- X, Y: any float.
---@param X t2o.Value
---@param attrs? t2o.onnx.LRN
---@return t2o.Value Y
function g.LRN(X, attrs) end

---@class t2o.onnx.LSTM: t2o.Attrs
---@field activation_alpha? number[]
---@field activation_beta? number[]
---@field activations? string[]
---@field clip? number
---@field direction? string = "forward"
---@field hidden_size? integer
---@field input_forget? integer = 0
---@field layout? integer = 0

--- ONNX LSTM, since opset 22 in this form.
--- X, W, R, B, initial_h, initial_c, P, Y, Y_h, Y_c: any float; sequence_lens: int32.
---@param X t2o.Value
---@param W t2o.Value
---@param R t2o.Value
---@param B? t2o.Value
---@param sequence_lens? t2o.Value
---@param initial_h? t2o.Value
---@param initial_c? t2o.Value
---@param P? t2o.Value
---@param attrs? t2o.onnx.LSTM
---@return t2o.Value? Y # where attrs.outputs asks for it
---@return t2o.Value? Y_h # where attrs.outputs asks for it
---@return t2o.Value? Y_c # where attrs.outputs asks for it
function g.LSTM(X, W, R, B, sequence_lens, initial_h, initial_c, P, attrs) end

---@class t2o.onnx.LayerNormalization: t2o.Attrs
---@field axis? integer = -1
---@field epsilon? number = 1e-05
---@field stash_type? integer = 1

--- ONNX LayerNormalization, since opset 17 in this form.
--- X, Scale, B, Y: any float; Mean, InvStdDev: bfloat16, float32.
---@param X t2o.Value
---@param Scale t2o.Value
---@param B? t2o.Value
---@param attrs? t2o.onnx.LayerNormalization
---@return t2o.Value Y
---@return t2o.Value? Mean # where attrs.outputs asks for it
---@return t2o.Value? InvStdDev # where attrs.outputs asks for it
function g.LayerNormalization(X, Scale, B, attrs) end

---@class t2o.onnx.LeakyRelu: t2o.Attrs
---@field alpha? number = 0.01

--- ONNX LeakyRelu, since opset 16 in this form.
--- X, Y: any float.
---@param X t2o.Value
---@param attrs? t2o.onnx.LeakyRelu
---@return t2o.Value Y
function g.LeakyRelu(X, attrs) end

--- ONNX Less, since opset 13 in this form.
--- A, B: any float, any signed integer, any unsigned integer; C: bool.
---@param A t2o.Value
---@param B t2o.Value
---@param attrs? t2o.Attrs
---@return t2o.Value C
function g.Less(A, B, attrs) end

--- ONNX LessOrEqual, since opset 16 in this form.
--- A, B: any float, any signed integer, any unsigned integer; C: bool.
---@param A t2o.Value
---@param B t2o.Value
---@param attrs? t2o.Attrs
---@return t2o.Value C
function g.LessOrEqual(A, B, attrs) end

---@class t2o.onnx.LinearAttention: t2o.Attrs
---@field chunk_size? integer = 64
---@field kv_num_heads integer
---@field q_num_heads integer
---@field scale? number = 0.0
---@field update_rule? string = "gated_delta"

--- ONNX LinearAttention, since opset 27 in this form.
--- query, key, value, decay, beta, output: bfloat16, float16, float32; past_state, present_state: bfloat16,
--- float16, float32.
---@param query t2o.Value
---@param key t2o.Value
---@param value t2o.Value
---@param past_state? t2o.Value
---@param decay? t2o.Value
---@param beta? t2o.Value
---@param attrs? t2o.onnx.LinearAttention
---@return t2o.Value output
---@return t2o.Value present_state
function g.LinearAttention(query, key, value, past_state, decay, beta, attrs) end

--- ONNX Log, since opset 13 in this form.
--- input, output: any float.
---@param input t2o.Value
---@param attrs? t2o.Attrs
---@return t2o.Value output
function g.Log(input, attrs) end

---@class t2o.onnx.LogSoftmax: t2o.Attrs
---@field axis? integer = -1

--- ONNX LogSoftmax, since opset 13 in this form.
--- input, output: any float.
---@param input t2o.Value
---@param attrs? t2o.onnx.LogSoftmax
---@return t2o.Value output
function g.LogSoftmax(input, attrs) end

---@class t2o.onnx.Loop: t2o.Attrs
---@field body fun(g: t2o.Builder): t2o.Value ...

--- ONNX Loop, since opset 25 in this form.
--- M: int64; cond: bool; v_initial, v_final_and_scan_outputs: any type, an optional, a list of tensors.
---@param M? t2o.Value
---@param cond? t2o.Value
---@param ... t2o.Value|t2o.onnx.Loop # as many as there are, then the attributes
---@return t2o.Value[] # as many as attrs.outputs says
function g.Loop(M, cond, ...) end

---@class t2o.onnx.LpNormalization: t2o.Attrs
---@field axis? integer = -1
---@field p? integer = 2

--- ONNX LpNormalization, since opset 22 in this form.
--- input, output: any float.
---@param input t2o.Value
---@param attrs? t2o.onnx.LpNormalization
---@return t2o.Value output
function g.LpNormalization(input, attrs) end

---@class t2o.onnx.LpPool: t2o.Attrs
---@field auto_pad? string = "NOTSET"
---@field ceil_mode? integer = 0
---@field dilations? integer[]
---@field kernel_shape integer[]
---@field p? integer = 2
---@field pads? integer[]
---@field strides? integer[]

--- ONNX LpPool, since opset 22 in this form.
--- X, Y: any float.
---@param X t2o.Value
---@param attrs? t2o.onnx.LpPool
---@return t2o.Value Y
function g.LpPool(X, attrs) end

--- ONNX MatMul, since opset 13 in this form.
--- A, B, Y: any float, int32, int64, uint32, uint64.
---@param A t2o.Value
---@param B t2o.Value
---@param attrs? t2o.Attrs
---@return t2o.Value Y
function g.MatMul(A, B, attrs) end

--- ONNX MatMulInteger, since opset 10 in this form.
--- A, a_zero_point: int8, uint8; B, b_zero_point: int8, uint8; Y: int32.
---@param A t2o.Value
---@param B t2o.Value
---@param a_zero_point? t2o.Value
---@param b_zero_point? t2o.Value
---@param attrs? t2o.Attrs
---@return t2o.Value Y
function g.MatMulInteger(A, B, a_zero_point, b_zero_point, attrs) end

--- ONNX Max, since opset 13 in this form.
--- data_0, max: any float, any signed integer, any unsigned integer.
---@param ... t2o.Value|t2o.Attrs # as many as there are, then the attributes
---@return t2o.Value max
function g.Max(...) end

---@class t2o.onnx.MaxPool: t2o.Attrs
---@field auto_pad? string = "NOTSET"
---@field ceil_mode? integer = 0
---@field dilations? integer[]
---@field kernel_shape integer[]
---@field pads? integer[]
---@field storage_order? integer = 0
---@field strides? integer[]

--- ONNX MaxPool, since opset 22 in this form.
--- X, Y: any float, int8, uint8; Indices: int64.
---@param X t2o.Value
---@param attrs? t2o.onnx.MaxPool
---@return t2o.Value Y
---@return t2o.Value? Indices # where attrs.outputs asks for it
function g.MaxPool(X, attrs) end

---@class t2o.onnx.MaxRoiPool: t2o.Attrs
---@field pooled_shape integer[]
---@field spatial_scale? number = 1.0

--- ONNX MaxRoiPool, since opset 22 in this form.
--- X, rois, Y: any float.
---@param X t2o.Value
---@param rois t2o.Value
---@param attrs? t2o.onnx.MaxRoiPool
---@return t2o.Value Y
function g.MaxRoiPool(X, rois, attrs) end

---@class t2o.onnx.MaxUnpool: t2o.Attrs
---@field kernel_shape integer[]
---@field pads? integer[]
---@field strides? integer[]

--- ONNX MaxUnpool, since opset 22 in this form.
--- X, output: any float; I, output_shape: int64.
---@param X t2o.Value
---@param I t2o.Value
---@param output_shape? t2o.Value
---@param attrs? t2o.onnx.MaxUnpool
---@return t2o.Value output
function g.MaxUnpool(X, I, output_shape, attrs) end

--- ONNX Mean, since opset 13 in this form.
--- data_0, mean: any float.
---@param ... t2o.Value|t2o.Attrs # as many as there are, then the attributes
---@return t2o.Value mean
function g.Mean(...) end

---@class t2o.onnx.MeanVarianceNormalization: t2o.Attrs
---@field axes? integer[] = { 0, 2, 3 }

--- ONNX MeanVarianceNormalization, since opset 13 in this form.
--- X, Y: any float.
---@param X t2o.Value
---@param attrs? t2o.onnx.MeanVarianceNormalization
---@return t2o.Value Y
function g.MeanVarianceNormalization(X, attrs) end

---@class t2o.onnx.MelWeightMatrix: t2o.Attrs
---@field output_datatype? integer = 1

--- ONNX MelWeightMatrix, since opset 17 in this form.
--- num_mel_bins, dft_length, sample_rate: int32, int64; lower_edge_hertz, upper_edge_hertz: any float; output: any
--- float, any signed integer, any unsigned integer.
---@param num_mel_bins t2o.Value
---@param dft_length t2o.Value
---@param sample_rate t2o.Value
---@param lower_edge_hertz t2o.Value
---@param upper_edge_hertz t2o.Value
---@param attrs? t2o.onnx.MelWeightMatrix
---@return t2o.Value output
function g.MelWeightMatrix(num_mel_bins, dft_length, sample_rate, lower_edge_hertz, upper_edge_hertz, attrs) end

--- ONNX Min, since opset 13 in this form.
--- data_0, min: any float, any signed integer, any unsigned integer.
---@param ... t2o.Value|t2o.Attrs # as many as there are, then the attributes
---@return t2o.Value min
function g.Min(...) end

--- ONNX Mish, since opset 22 in this form.
--- X, Y: any float.
---@param X t2o.Value
---@param attrs? t2o.Attrs
---@return t2o.Value Y
function g.Mish(X, attrs) end

---@class t2o.onnx.Mod: t2o.Attrs
---@field fmod? integer = 0

--- ONNX Mod, since opset 28 in this form.
--- A, B, C: any float, any signed integer, any unsigned integer.
---@param A t2o.Value
---@param B t2o.Value
---@param attrs? t2o.onnx.Mod
---@return t2o.Value C
function g.Mod(A, B, attrs) end

--- ONNX Mul, since opset 14 in this form.
--- A, B, C: any float, any signed integer, any unsigned integer.
---@param A t2o.Value
---@param B t2o.Value
---@param attrs? t2o.Attrs
---@return t2o.Value C
function g.Mul(A, B, attrs) end

---@class t2o.onnx.Multinomial: t2o.Attrs
---@field dtype? integer = 6
---@field sample_size? integer = 1
---@field seed? number

--- ONNX Multinomial, since opset 22 in this form.
--- input: any float; output: int32, int64.
---@param input t2o.Value
---@param attrs? t2o.onnx.Multinomial
---@return t2o.Value output
function g.Multinomial(input, attrs) end

--- ONNX Neg, since opset 13 in this form.
--- X, Y: any float, any signed integer.
---@param X t2o.Value
---@param attrs? t2o.Attrs
---@return t2o.Value Y
function g.Neg(X, attrs) end

---@class t2o.onnx.NegativeLogLikelihoodLoss: t2o.Attrs
---@field ignore_index? integer
---@field reduction? string = "mean"

--- ONNX NegativeLogLikelihoodLoss, since opset 22 in this form.
--- input, weight, loss: any float; target: int32, int64.
---@param input t2o.Value
---@param target t2o.Value
---@param weight? t2o.Value
---@param attrs? t2o.onnx.NegativeLogLikelihoodLoss
---@return t2o.Value loss
function g.NegativeLogLikelihoodLoss(input, target, weight, attrs) end

---@class t2o.onnx.NonMaxSuppression: t2o.Attrs
---@field center_point_box? integer = 0

--- ONNX NonMaxSuppression, since opset 11 in this form.
--- boxes, scores, iou_threshold, score_threshold: float32; max_output_boxes_per_class, selected_indices: int64.
---@param boxes t2o.Value
---@param scores t2o.Value
---@param max_output_boxes_per_class? t2o.Value
---@param iou_threshold? t2o.Value
---@param score_threshold? t2o.Value
---@param attrs? t2o.onnx.NonMaxSuppression
---@return t2o.Value selected_indices
function g.NonMaxSuppression(boxes, scores, max_output_boxes_per_class, iou_threshold, score_threshold, attrs) end

--- ONNX NonZero, since opset 13 in this form.
--- X: any type; Y: int64.
---@param X t2o.Value
---@param attrs? t2o.Attrs
---@return t2o.Value Y
function g.NonZero(X, attrs) end

--- ONNX Not, since opset 1 in this form.
--- X, Y: bool.
---@param X t2o.Value
---@param attrs? t2o.Attrs
---@return t2o.Value Y
function g.Not(X, attrs) end

---@class t2o.onnx.OneHot: t2o.Attrs
---@field axis? integer = -1

--- ONNX OneHot, since opset 28 in this form.
--- indices: any signed integer, any unsigned integer, float16, float32, float64; depth: any signed integer, any
--- unsigned integer, float16, float32, float64; values, output: any type.
---@param indices t2o.Value
---@param depth t2o.Value
---@param values t2o.Value
---@param attrs? t2o.onnx.OneHot
---@return t2o.Value output
function g.OneHot(indices, depth, values, attrs) end

---@class t2o.onnx.Optional: t2o.Attrs
---@field type? any

--- ONNX Optional, since opset 28 in this form.
--- input: any type, a list of tensors; output: an optional.
---@param input? t2o.Value
---@param attrs? t2o.onnx.Optional
---@return t2o.Value output
function g.Optional(input, attrs) end

--- ONNX OptionalGetElement, since opset 28 in this form.
--- input: any type, an optional, a list of tensors; output: any type, a list of tensors.
---@param input t2o.Value
---@param attrs? t2o.Attrs
---@return t2o.Value output
function g.OptionalGetElement(input, attrs) end

--- ONNX OptionalHasElement, since opset 28 in this form.
--- input: any type, an optional, a list of tensors; output: bool.
---@param input? t2o.Value
---@param attrs? t2o.Attrs
---@return t2o.Value output
function g.OptionalHasElement(input, attrs) end

--- ONNX Or, since opset 7 in this form.
--- A, B: bool; C: bool.
---@param A t2o.Value
---@param B t2o.Value
---@param attrs? t2o.Attrs
---@return t2o.Value C
function g.Or(A, B, attrs) end

--- ONNX PRelu, since opset 16 in this form.
--- X, slope, Y: any float, int32, int64, uint32, uint64.
---@param X t2o.Value
---@param slope t2o.Value
---@param attrs? t2o.Attrs
---@return t2o.Value Y
function g.PRelu(X, slope, attrs) end

---@class t2o.onnx.Pad: t2o.Attrs
---@field mode? string = "constant"

--- ONNX Pad, since opset 25 in this form.
--- data, constant_value, output: any type; pads: int64; axes: int32, int64.
---@param data t2o.Value
---@param pads t2o.Value
---@param constant_value? t2o.Value
---@param axes? t2o.Value
---@param attrs? t2o.onnx.Pad
---@return t2o.Value output
function g.Pad(data, pads, constant_value, axes, attrs) end

--- ONNX Pow, since opset 15 in this form.
--- X, Z: any float, int32, int64; Y: any float, any signed integer, any unsigned integer.
---@param X t2o.Value
---@param Y t2o.Value
---@param attrs? t2o.Attrs
---@return t2o.Value Z
function g.Pow(X, Y, attrs) end

---@class t2o.onnx.QLinearConv: t2o.Attrs
---@field auto_pad? string = "NOTSET"
---@field dilations? integer[]
---@field group? integer = 1
---@field kernel_shape? integer[]
---@field pads? integer[]
---@field strides? integer[]

--- ONNX QLinearConv, since opset 10 in this form.
--- x, x_zero_point: int8, uint8; x_scale, w_scale, y_scale: float32; w, w_zero_point: int8, uint8; y_zero_point, y:
--- int8, uint8; B: int32.
---@param x t2o.Value
---@param x_scale t2o.Value
---@param x_zero_point t2o.Value
---@param w t2o.Value
---@param w_scale t2o.Value
---@param w_zero_point t2o.Value
---@param y_scale t2o.Value
---@param y_zero_point t2o.Value
---@param B? t2o.Value
---@param attrs? t2o.onnx.QLinearConv
---@return t2o.Value y
function g.QLinearConv(x, x_scale, x_zero_point, w, w_scale, w_zero_point, y_scale, y_zero_point, B, attrs) end

--- ONNX QLinearMatMul, since opset 21 in this form.
--- a, a_zero_point: int8, uint8; a_scale, b_scale, y_scale: bfloat16, float16, float32; b, b_zero_point: int8,
--- uint8; y_zero_point, y: int8, uint8.
---@param a t2o.Value
---@param a_scale t2o.Value
---@param a_zero_point t2o.Value
---@param b t2o.Value
---@param b_scale t2o.Value
---@param b_zero_point t2o.Value
---@param y_scale t2o.Value
---@param y_zero_point t2o.Value
---@param attrs? t2o.Attrs
---@return t2o.Value y
function g.QLinearMatMul(a, a_scale, a_zero_point, b, b_scale, b_zero_point, y_scale, y_zero_point, attrs) end

---@class t2o.onnx.QuantizeLinear: t2o.Attrs
---@field axis? integer = 1
---@field block_size? integer = 0
---@field output_dtype? integer = 0
---@field precision? integer = 0
---@field saturate? integer = 1

--- ONNX QuantizeLinear, since opset 28 in this form.
--- x: bfloat16, float16, float32, int32; y_scale: bfloat16, float16, float32, int32; y_zero_point, y: int16, int8,
--- uint16, uint8.
---@param x t2o.Value
---@param y_scale t2o.Value
---@param y_zero_point? t2o.Value
---@param attrs? t2o.onnx.QuantizeLinear
---@return t2o.Value y
function g.QuantizeLinear(x, y_scale, y_zero_point, attrs) end

---@class t2o.onnx.RMSNormalization: t2o.Attrs
---@field axis? integer = -1
---@field epsilon? number = 1e-05
---@field stash_type? integer = 1

--- ONNX RMSNormalization, since opset 23 in this form.
--- X: any float; scale, Y: any float.
---@param X t2o.Value
---@param scale t2o.Value
---@param attrs? t2o.onnx.RMSNormalization
---@return t2o.Value Y
function g.RMSNormalization(X, scale, attrs) end

---@class t2o.onnx.RNN: t2o.Attrs
---@field activation_alpha? number[]
---@field activation_beta? number[]
---@field activations? string[] = { b'Tanh', b'Tanh' }
---@field clip? number
---@field direction? string = "forward"
---@field hidden_size? integer
---@field layout? integer = 0

--- ONNX RNN, since opset 22 in this form.
--- X, W, R, B, initial_h, Y, Y_h: any float; sequence_lens: int32.
---@param X t2o.Value
---@param W t2o.Value
---@param R t2o.Value
---@param B? t2o.Value
---@param sequence_lens? t2o.Value
---@param initial_h? t2o.Value
---@param attrs? t2o.onnx.RNN
---@return t2o.Value? Y # where attrs.outputs asks for it
---@return t2o.Value? Y_h # where attrs.outputs asks for it
function g.RNN(X, W, R, B, sequence_lens, initial_h, attrs) end

---@class t2o.onnx.RandomNormal: t2o.Attrs
---@field dtype? integer = 1
---@field mean? number = 0.0
---@field scale? number = 1.0
---@field seed? number
---@field shape integer[]

--- ONNX RandomNormal, since opset 22 in this form.
--- output: any float.
---@param attrs? t2o.onnx.RandomNormal
---@return t2o.Value output
function g.RandomNormal(attrs) end

---@class t2o.onnx.RandomNormalLike: t2o.Attrs
---@field dtype? integer
---@field mean? number = 0.0
---@field scale? number = 1.0
---@field seed? number

--- ONNX RandomNormalLike, since opset 22 in this form.
--- input: any type; output: any float.
---@param input t2o.Value
---@param attrs? t2o.onnx.RandomNormalLike
---@return t2o.Value output
function g.RandomNormalLike(input, attrs) end

---@class t2o.onnx.RandomUniform: t2o.Attrs
---@field dtype? integer = 1
---@field high? number = 1.0
---@field low? number = 0.0
---@field seed? number
---@field shape integer[]

--- ONNX RandomUniform, since opset 22 in this form.
--- output: any float.
---@param attrs? t2o.onnx.RandomUniform
---@return t2o.Value output
function g.RandomUniform(attrs) end

---@class t2o.onnx.RandomUniformLike: t2o.Attrs
---@field dtype? integer
---@field high? number = 1.0
---@field low? number = 0.0
---@field seed? number

--- ONNX RandomUniformLike, since opset 22 in this form.
--- input: any type; output: any float.
---@param input t2o.Value
---@param attrs? t2o.onnx.RandomUniformLike
---@return t2o.Value output
function g.RandomUniformLike(input, attrs) end

---@class t2o.onnx.Range: t2o.Attrs
---@field stash_type? integer = 1

--- ONNX Range, since opset 27 in this form.
--- start, limit, delta, output: any float, int16, int32, int64.
---@param start t2o.Value
---@param limit t2o.Value
---@param delta t2o.Value
---@param attrs? t2o.onnx.Range
---@return t2o.Value output
function g.Range(start, limit, delta, attrs) end

--- ONNX Reciprocal, since opset 13 in this form.
--- X, Y: any float.
---@param X t2o.Value
---@param attrs? t2o.Attrs
---@return t2o.Value Y
function g.Reciprocal(X, attrs) end

---@class t2o.onnx.ReduceL1: t2o.Attrs
---@field keepdims? integer = 1
---@field noop_with_empty_axes? integer = 0

--- ONNX ReduceL1, since opset 18 in this form.
--- data, reduced: any float, int32, int64, uint32, uint64; axes: int64.
---@param data t2o.Value
---@param axes? t2o.Value
---@param attrs? t2o.onnx.ReduceL1
---@return t2o.Value reduced
function g.ReduceL1(data, axes, attrs) end

---@class t2o.onnx.ReduceL2: t2o.Attrs
---@field keepdims? integer = 1
---@field noop_with_empty_axes? integer = 0

--- ONNX ReduceL2, since opset 18 in this form.
--- data, reduced: any float, int32, int64, uint32, uint64; axes: int64.
---@param data t2o.Value
---@param axes? t2o.Value
---@param attrs? t2o.onnx.ReduceL2
---@return t2o.Value reduced
function g.ReduceL2(data, axes, attrs) end

---@class t2o.onnx.ReduceLogSum: t2o.Attrs
---@field keepdims? integer = 1
---@field noop_with_empty_axes? integer = 0

--- ONNX ReduceLogSum, since opset 28 in this form.
--- data, reduced: any float; axes: int64.
---@param data t2o.Value
---@param axes? t2o.Value
---@param attrs? t2o.onnx.ReduceLogSum
---@return t2o.Value reduced
function g.ReduceLogSum(data, axes, attrs) end

---@class t2o.onnx.ReduceLogSumExp: t2o.Attrs
---@field keepdims? integer = 1
---@field noop_with_empty_axes? integer = 0

--- ONNX ReduceLogSumExp, since opset 28 in this form.
--- data, reduced: any float; axes: int64.
---@param data t2o.Value
---@param axes? t2o.Value
---@param attrs? t2o.onnx.ReduceLogSumExp
---@return t2o.Value reduced
function g.ReduceLogSumExp(data, axes, attrs) end

---@class t2o.onnx.ReduceMax: t2o.Attrs
---@field keepdims? integer = 1
---@field noop_with_empty_axes? integer = 0

--- ONNX ReduceMax, since opset 20 in this form.
--- data, reduced: any float, bool, int32, int64, int8, uint32, uint64, uint8; axes: int64.
---@param data t2o.Value
---@param axes? t2o.Value
---@param attrs? t2o.onnx.ReduceMax
---@return t2o.Value reduced
function g.ReduceMax(data, axes, attrs) end

---@class t2o.onnx.ReduceMean: t2o.Attrs
---@field keepdims? integer = 1
---@field noop_with_empty_axes? integer = 0

--- ONNX ReduceMean, since opset 18 in this form.
--- data, reduced: any float, int32, int64, uint32, uint64; axes: int64.
---@param data t2o.Value
---@param axes? t2o.Value
---@param attrs? t2o.onnx.ReduceMean
---@return t2o.Value reduced
function g.ReduceMean(data, axes, attrs) end

---@class t2o.onnx.ReduceMin: t2o.Attrs
---@field keepdims? integer = 1
---@field noop_with_empty_axes? integer = 0

--- ONNX ReduceMin, since opset 20 in this form.
--- data, reduced: any float, bool, int32, int64, int8, uint32, uint64, uint8; axes: int64.
---@param data t2o.Value
---@param axes? t2o.Value
---@param attrs? t2o.onnx.ReduceMin
---@return t2o.Value reduced
function g.ReduceMin(data, axes, attrs) end

---@class t2o.onnx.ReduceProd: t2o.Attrs
---@field keepdims? integer = 1
---@field noop_with_empty_axes? integer = 0

--- ONNX ReduceProd, since opset 18 in this form.
--- data, reduced: any float, int32, int64, uint32, uint64; axes: int64.
---@param data t2o.Value
---@param axes? t2o.Value
---@param attrs? t2o.onnx.ReduceProd
---@return t2o.Value reduced
function g.ReduceProd(data, axes, attrs) end

---@class t2o.onnx.ReduceSum: t2o.Attrs
---@field keepdims? integer = 1
---@field noop_with_empty_axes? integer = 0

--- ONNX ReduceSum, since opset 13 in this form.
--- data, reduced: any float, int32, int64, uint32, uint64; axes: int64.
---@param data t2o.Value
---@param axes? t2o.Value
---@param attrs? t2o.onnx.ReduceSum
---@return t2o.Value reduced
function g.ReduceSum(data, axes, attrs) end

---@class t2o.onnx.ReduceSumSquare: t2o.Attrs
---@field keepdims? integer = 1
---@field noop_with_empty_axes? integer = 0

--- ONNX ReduceSumSquare, since opset 18 in this form.
--- data, reduced: any float, int32, int64, uint32, uint64; axes: int64.
---@param data t2o.Value
---@param axes? t2o.Value
---@param attrs? t2o.onnx.ReduceSumSquare
---@return t2o.Value reduced
function g.ReduceSumSquare(data, axes, attrs) end

---@class t2o.onnx.RegexFullMatch: t2o.Attrs
---@field pattern? string

--- ONNX RegexFullMatch, since opset 20 in this form.
--- X: string; Y: bool.
---@param X t2o.Value
---@param attrs? t2o.onnx.RegexFullMatch
---@return t2o.Value Y
function g.RegexFullMatch(X, attrs) end

--- ONNX Relu, since opset 14 in this form.
--- X, Y: any float, any signed integer.
---@param X t2o.Value
---@param attrs? t2o.Attrs
---@return t2o.Value Y
function g.Relu(X, attrs) end

---@class t2o.onnx.Reshape: t2o.Attrs
---@field allowzero? integer = 0

--- ONNX Reshape, since opset 25 in this form.
--- data, reshaped: any type; shape: int64.
---@param data t2o.Value
---@param shape t2o.Value
---@param attrs? t2o.onnx.Reshape
---@return t2o.Value reshaped
function g.Reshape(data, shape, attrs) end

---@class t2o.onnx.Resize: t2o.Attrs
---@field antialias? integer = 0
---@field axes? integer[]
---@field coordinate_transformation_mode? string = "half_pixel"
---@field cubic_coeff_a? number = -0.75
---@field exclude_outside? integer = 0
---@field extrapolation_value? number = 0.0
---@field keep_aspect_ratio_policy? string = "stretch"
---@field mode? string = "nearest"
---@field nearest_mode? string = "round_prefer_floor"

--- ONNX Resize, since opset 19 in this form.
--- X, Y: any type; roi: float16, float32, float64; scales: float32; sizes: int64.
---@param X t2o.Value
---@param roi? t2o.Value
---@param scales? t2o.Value
---@param sizes? t2o.Value
---@param attrs? t2o.onnx.Resize
---@return t2o.Value Y
function g.Resize(X, roi, scales, sizes, attrs) end

---@class t2o.onnx.ReverseSequence: t2o.Attrs
---@field batch_axis? integer = 1
---@field time_axis? integer = 0

--- ONNX ReverseSequence, since opset 28 in this form.
--- input, Y: any type; sequence_lens: int64.
---@param input t2o.Value
---@param sequence_lens t2o.Value
---@param attrs? t2o.onnx.ReverseSequence
---@return t2o.Value Y
function g.ReverseSequence(input, sequence_lens, attrs) end

---@class t2o.onnx.RoiAlign: t2o.Attrs
---@field coordinate_transformation_mode? string = "half_pixel"
---@field mode? string = "avg"
---@field output_height? integer = 1
---@field output_width? integer = 1
---@field sampling_ratio? integer = 0
---@field spatial_scale? number = 1.0

--- ONNX RoiAlign, since opset 22 in this form.
--- X, rois, Y: any float; batch_indices: int64.
---@param X t2o.Value
---@param rois t2o.Value
---@param batch_indices t2o.Value
---@param attrs? t2o.onnx.RoiAlign
---@return t2o.Value Y
function g.RoiAlign(X, rois, batch_indices, attrs) end

---@class t2o.onnx.RotaryEmbedding: t2o.Attrs
---@field interleaved? integer = 0
---@field num_heads? integer
---@field rotary_embedding_dim? integer = 0

--- ONNX RotaryEmbedding, since opset 23 in this form.
--- X, cos_cache, sin_cache, Y: bfloat16, float16, float32; position_ids: int64.
---@param X t2o.Value
---@param cos_cache t2o.Value
---@param sin_cache t2o.Value
---@param position_ids? t2o.Value
---@param attrs? t2o.onnx.RotaryEmbedding
---@return t2o.Value Y
function g.RotaryEmbedding(X, cos_cache, sin_cache, position_ids, attrs) end

--- ONNX Round, since opset 22 in this form.
--- X, Y: any float.
---@param X t2o.Value
---@param attrs? t2o.Attrs
---@return t2o.Value Y
function g.Round(X, attrs) end

---@class t2o.onnx.STFT: t2o.Attrs
---@field onesided? integer = 1

--- ONNX STFT, since opset 17 in this form.
--- signal, window, output: any float; frame_step, frame_length: int32, int64.
---@param signal t2o.Value
---@param frame_step t2o.Value
---@param window? t2o.Value
---@param frame_length? t2o.Value
---@param attrs? t2o.onnx.STFT
---@return t2o.Value output
function g.STFT(signal, frame_step, window, frame_length, attrs) end

---@class t2o.onnx.Scan: t2o.Attrs
---@field body fun(g: t2o.Builder): t2o.Value ...
---@field num_scan_inputs integer
---@field scan_input_axes? integer[]
---@field scan_input_directions? integer[]
---@field scan_output_axes? integer[]
---@field scan_output_directions? integer[]

--- ONNX Scan, since opset 25 in this form.
--- initial_state_and_scan_inputs, final_state_and_scan_outputs: any type.
---@param ... t2o.Value|t2o.onnx.Scan # as many as there are, then the attributes
---@return t2o.Value[] # as many as attrs.outputs says
function g.Scan(...) end

---@class t2o.onnx.ScatterElements: t2o.Attrs
---@field axis? integer = 0
---@field reduction? string = "none"

--- ONNX ScatterElements, since opset 18 in this form.
--- data, updates, output: any type; indices: int32, int64.
---@param data t2o.Value
---@param indices t2o.Value
---@param updates t2o.Value
---@param attrs? t2o.onnx.ScatterElements
---@return t2o.Value output
function g.ScatterElements(data, indices, updates, attrs) end

---@class t2o.onnx.ScatterND: t2o.Attrs
---@field reduction? string = "none"

--- ONNX ScatterND, since opset 18 in this form.
--- data, updates, output: any type; indices: int64.
---@param data t2o.Value
---@param indices t2o.Value
---@param updates t2o.Value
---@param attrs? t2o.onnx.ScatterND
---@return t2o.Value output
function g.ScatterND(data, indices, updates, attrs) end

---@class t2o.onnx.Selu: t2o.Attrs
---@field alpha? number = 1.6732632
---@field gamma? number = 1.050701

--- ONNX Selu, since opset 22 in this form.
--- X, Y: any float.
---@param X t2o.Value
---@param attrs? t2o.onnx.Selu
---@return t2o.Value Y
function g.Selu(X, attrs) end

--- ONNX SequenceAt, since opset 11 in this form.
--- input_sequence: a list of tensors; position: int32, int64; tensor: any type.
---@param input_sequence t2o.Value
---@param position t2o.Value
---@param attrs? t2o.Attrs
---@return t2o.Value tensor
function g.SequenceAt(input_sequence, position, attrs) end

--- ONNX SequenceConstruct, since opset 11 in this form.
--- inputs: any type; output_sequence: a list of tensors.
---@param ... t2o.Value|t2o.Attrs # as many as there are, then the attributes
---@return t2o.Value output_sequence
function g.SequenceConstruct(...) end

---@class t2o.onnx.SequenceEmpty: t2o.Attrs
---@field dtype? integer

--- ONNX SequenceEmpty, since opset 11 in this form.
--- output: a list of tensors.
---@param attrs? t2o.onnx.SequenceEmpty
---@return t2o.Value output
function g.SequenceEmpty(attrs) end

--- ONNX SequenceErase, since opset 11 in this form.
--- input_sequence, output_sequence: a list of tensors; position: int32, int64.
---@param input_sequence t2o.Value
---@param position? t2o.Value
---@param attrs? t2o.Attrs
---@return t2o.Value output_sequence
function g.SequenceErase(input_sequence, position, attrs) end

--- ONNX SequenceInsert, since opset 11 in this form.
--- input_sequence, output_sequence: a list of tensors; tensor: any type; position: int32, int64.
---@param input_sequence t2o.Value
---@param tensor t2o.Value
---@param position? t2o.Value
---@param attrs? t2o.Attrs
---@return t2o.Value output_sequence
function g.SequenceInsert(input_sequence, tensor, position, attrs) end

--- ONNX SequenceLength, since opset 11 in this form.
--- input_sequence: a list of tensors; length: int64.
---@param input_sequence t2o.Value
---@param attrs? t2o.Attrs
---@return t2o.Value length
function g.SequenceLength(input_sequence, attrs) end

---@class t2o.onnx.SequenceMap: t2o.Attrs
---@field body fun(g: t2o.Builder): t2o.Value ...

--- ONNX SequenceMap, since opset 17 in this form.
--- input_sequence, out_sequence: a list of tensors; additional_inputs: any type, a list of tensors.
---@param input_sequence t2o.Value
---@param ... t2o.Value|t2o.onnx.SequenceMap # as many as there are, then the attributes
---@return t2o.Value[] # as many as attrs.outputs says
function g.SequenceMap(input_sequence, ...) end

---@class t2o.onnx.Shape: t2o.Attrs
---@field ["end"]? integer
---@field start? integer = 0

--- ONNX Shape, since opset 25 in this form.
--- data: any type; shape: int64.
---@param data t2o.Value
---@param attrs? t2o.onnx.Shape
---@return t2o.Value shape
function g.Shape(data, attrs) end

---@class t2o.onnx.Shrink: t2o.Attrs
---@field bias? number = 0.0
---@field lambd? number = 0.5

--- ONNX Shrink, since opset 9 in this form.
--- input, output: any signed integer, any unsigned integer, float16, float32, float64.
---@param input t2o.Value
---@param attrs? t2o.onnx.Shrink
---@return t2o.Value output
function g.Shrink(input, attrs) end

--- ONNX Sigmoid, since opset 13 in this form.
--- X, Y: any float.
---@param X t2o.Value
---@param attrs? t2o.Attrs
---@return t2o.Value Y
function g.Sigmoid(X, attrs) end

--- ONNX Sign, since opset 13 in this form.
--- input, output: any float, any signed integer, any unsigned integer.
---@param input t2o.Value
---@param attrs? t2o.Attrs
---@return t2o.Value output
function g.Sign(input, attrs) end

--- ONNX Sin, since opset 22 in this form.
--- input, output: any float.
---@param input t2o.Value
---@param attrs? t2o.Attrs
---@return t2o.Value output
function g.Sin(input, attrs) end

--- ONNX Sinh, since opset 22 in this form.
--- input, output: any float.
---@param input t2o.Value
---@param attrs? t2o.Attrs
---@return t2o.Value output
function g.Sinh(input, attrs) end

--- ONNX Size, since opset 25 in this form.
--- data: any type; size: int64.
---@param data t2o.Value
---@param attrs? t2o.Attrs
---@return t2o.Value size
function g.Size(data, attrs) end

--- ONNX Slice, since opset 13 in this form.
--- data, output: any type; starts, ends, axes, steps: int32, int64.
---@param data t2o.Value
---@param starts t2o.Value
---@param ends t2o.Value
---@param axes? t2o.Value
---@param steps? t2o.Value
---@param attrs? t2o.Attrs
---@return t2o.Value output
function g.Slice(data, starts, ends, axes, steps, attrs) end

---@class t2o.onnx.Softmax: t2o.Attrs
---@field axis? integer = -1

--- ONNX Softmax, since opset 13 in this form.
--- input, output: any float.
---@param input t2o.Value
---@param attrs? t2o.onnx.Softmax
---@return t2o.Value output
function g.Softmax(input, attrs) end

---@class t2o.onnx.SoftmaxCrossEntropyLoss: t2o.Attrs
---@field ignore_index? integer
---@field reduction? string = "mean"

--- ONNX SoftmaxCrossEntropyLoss, since opset 13 in this form.
--- scores, weights, output, log_prob: any float; labels: int32, int64.
---@param scores t2o.Value
---@param labels t2o.Value
---@param weights? t2o.Value
---@param attrs? t2o.onnx.SoftmaxCrossEntropyLoss
---@return t2o.Value output
---@return t2o.Value? log_prob # where attrs.outputs asks for it
function g.SoftmaxCrossEntropyLoss(scores, labels, weights, attrs) end

--- ONNX Softplus, since opset 22 in this form.
--- X, Y: any float.
---@param X t2o.Value
---@param attrs? t2o.Attrs
---@return t2o.Value Y
function g.Softplus(X, attrs) end

--- ONNX Softsign, since opset 22 in this form.
--- input, output: any float.
---@param input t2o.Value
---@param attrs? t2o.Attrs
---@return t2o.Value output
function g.Softsign(input, attrs) end

---@class t2o.onnx.SpaceToDepth: t2o.Attrs
---@field blocksize integer
---@field mode? string = "DCR"

--- ONNX SpaceToDepth, since opset 28 in this form.
--- input, output: any type.
---@param input t2o.Value
---@param attrs? t2o.onnx.SpaceToDepth
---@return t2o.Value output
function g.SpaceToDepth(input, attrs) end

---@class t2o.onnx.Split: t2o.Attrs
---@field axis? integer = 0
---@field num_outputs? integer

--- ONNX Split, since opset 18 in this form.
--- input, outputs: any type; split: int64.
---@param input t2o.Value
---@param split? t2o.Value
---@param attrs? t2o.onnx.Split
---@return t2o.Value[] # as many as attrs.outputs says
function g.Split(input, split, attrs) end

---@class t2o.onnx.SplitToSequence: t2o.Attrs
---@field axis? integer = 0
---@field keepdims? integer = 1

--- ONNX SplitToSequence, since opset 24 in this form.
--- input: any type; split: int32, int64; output_sequence: a list of tensors.
---@param input t2o.Value
---@param split? t2o.Value
---@param attrs? t2o.onnx.SplitToSequence
---@return t2o.Value output_sequence
function g.SplitToSequence(input, split, attrs) end

--- ONNX Sqrt, since opset 13 in this form.
--- X, Y: any float.
---@param X t2o.Value
---@param attrs? t2o.Attrs
---@return t2o.Value Y
function g.Sqrt(X, attrs) end

--- ONNX Squeeze, since opset 25 in this form.
--- data, squeezed: any type; axes: int64.
---@param data t2o.Value
---@param axes? t2o.Value
---@param attrs? t2o.Attrs
---@return t2o.Value squeezed
function g.Squeeze(data, axes, attrs) end

--- ONNX StringConcat, since opset 20 in this form.
--- X, Y, Z: string.
---@param X t2o.Value
---@param Y t2o.Value
---@param attrs? t2o.Attrs
---@return t2o.Value Z
function g.StringConcat(X, Y, attrs) end

---@class t2o.onnx.StringNormalizer: t2o.Attrs
---@field case_change_action? string = "NONE"
---@field is_case_sensitive? integer = 0
---@field locale? string
---@field stopwords? string[]

--- ONNX StringNormalizer, since opset 10 in this form.
--- X, Y: string.
---@param X t2o.Value
---@param attrs? t2o.onnx.StringNormalizer
---@return t2o.Value Y
function g.StringNormalizer(X, attrs) end

---@class t2o.onnx.StringSplit: t2o.Attrs
---@field delimiter? string
---@field maxsplit? integer

--- ONNX StringSplit, since opset 20 in this form.
--- X: string; Y: string; Z: int64.
---@param X t2o.Value
---@param attrs? t2o.onnx.StringSplit
---@return t2o.Value Y
---@return t2o.Value Z
function g.StringSplit(X, attrs) end

--- ONNX Sub, since opset 14 in this form.
--- A, B, C: any float, any signed integer, any unsigned integer.
---@param A t2o.Value
---@param B t2o.Value
---@param attrs? t2o.Attrs
---@return t2o.Value C
function g.Sub(A, B, attrs) end

--- ONNX Sum, since opset 13 in this form.
--- data_0, sum: any float.
---@param ... t2o.Value|t2o.Attrs # as many as there are, then the attributes
---@return t2o.Value sum
function g.Sum(...) end

---@class t2o.onnx.SwiGLU: t2o.Attrs
---@field alpha? number = 1.0

--- ONNX SwiGLU, since opset 28 in this form.
--- A, B, Y: any float.
---@param A t2o.Value
---@param B t2o.Value
---@param attrs? t2o.onnx.SwiGLU
---@return t2o.Value Y
function g.SwiGLU(A, B, attrs) end

---@class t2o.onnx.Swish: t2o.Attrs
---@field alpha? number = 1.0

--- ONNX Swish, since opset 24 in this form.
--- X, Y: any float.
---@param X t2o.Value
---@param attrs? t2o.onnx.Swish
---@return t2o.Value Y
function g.Swish(X, attrs) end

--- ONNX Tan, since opset 22 in this form.
--- input, output: any float.
---@param input t2o.Value
---@param attrs? t2o.Attrs
---@return t2o.Value output
function g.Tan(input, attrs) end

--- ONNX Tanh, since opset 13 in this form.
--- input, output: any float.
---@param input t2o.Value
---@param attrs? t2o.Attrs
---@return t2o.Value output
function g.Tanh(input, attrs) end

---@class t2o.onnx.TensorScatter: t2o.Attrs
---@field axis? integer = -2
---@field mode? string = "linear"

--- ONNX TensorScatter, since opset 24 in this form.
--- past_cache, update, present_cache: any type; write_indices: int64.
---@param past_cache t2o.Value
---@param update t2o.Value
---@param write_indices? t2o.Value
---@param attrs? t2o.onnx.TensorScatter
---@return t2o.Value present_cache
function g.TensorScatter(past_cache, update, write_indices, attrs) end

---@class t2o.onnx.TfIdfVectorizer: t2o.Attrs
---@field max_gram_length integer
---@field max_skip_count integer
---@field min_gram_length integer
---@field mode string
---@field ngram_counts integer[]
---@field ngram_indexes integer[]
---@field pool_int64s? integer[]
---@field pool_strings? string[]
---@field weights? number[]

--- ONNX TfIdfVectorizer, since opset 9 in this form.
--- X: int32, int64; Y: float32.
---@param X t2o.Value
---@param attrs? t2o.onnx.TfIdfVectorizer
---@return t2o.Value Y
function g.TfIdfVectorizer(X, attrs) end

---@class t2o.onnx.ThresholdedRelu: t2o.Attrs
---@field alpha? number = 1.0

--- ONNX ThresholdedRelu, since opset 22 in this form.
--- X, Y: any float.
---@param X t2o.Value
---@param attrs? t2o.onnx.ThresholdedRelu
---@return t2o.Value Y
function g.ThresholdedRelu(X, attrs) end

--- ONNX Tile, since opset 13 in this form.
--- input, output: any type; repeats: int64.
---@param input t2o.Value
---@param repeats t2o.Value
---@param attrs? t2o.Attrs
---@return t2o.Value output
function g.Tile(input, repeats, attrs) end

---@class t2o.onnx.TopK: t2o.Attrs
---@field axis? integer = -1
---@field largest? integer = 1
---@field sorted? integer = 1

--- ONNX TopK, since opset 24 in this form.
--- X, Values: any float, any signed integer, any unsigned integer; K: int64; Indices: int64.
---@param X t2o.Value
---@param K t2o.Value
---@param attrs? t2o.onnx.TopK
---@return t2o.Value Values
---@return t2o.Value Indices
function g.TopK(X, K, attrs) end

---@class t2o.onnx.Transpose: t2o.Attrs
---@field perm? integer[]

--- ONNX Transpose, since opset 25 in this form.
--- data, transposed: any type.
---@param data t2o.Value
---@param attrs? t2o.onnx.Transpose
---@return t2o.Value transposed
function g.Transpose(data, attrs) end

---@class t2o.onnx.Trilu: t2o.Attrs
---@field upper? integer = 1

--- ONNX Trilu, since opset 14 in this form.
--- input, output: any type; k: int64.
---@param input t2o.Value
---@param k? t2o.Value
---@param attrs? t2o.onnx.Trilu
---@return t2o.Value output
function g.Trilu(input, k, attrs) end

---@class t2o.onnx.Unique: t2o.Attrs
---@field axis? integer
---@field sorted? integer = 1

--- ONNX Unique, since opset 28 in this form.
--- X, Y: any type; indices, inverse_indices, counts: int64.
---@param X t2o.Value
---@param attrs? t2o.onnx.Unique
---@return t2o.Value Y
---@return t2o.Value? indices # where attrs.outputs asks for it
---@return t2o.Value? inverse_indices # where attrs.outputs asks for it
---@return t2o.Value? counts # where attrs.outputs asks for it
function g.Unique(X, attrs) end

--- ONNX Unsqueeze, since opset 25 in this form.
--- data, expanded: any type; axes: int64.
---@param data t2o.Value
---@param axes t2o.Value
---@param attrs? t2o.Attrs
---@return t2o.Value expanded
function g.Unsqueeze(data, axes, attrs) end

--- ONNX Where, since opset 16 in this form.
--- condition: bool; X, Y, output: any type.
---@param condition t2o.Value
---@param X t2o.Value
---@param Y t2o.Value
---@param attrs? t2o.Attrs
---@return t2o.Value output
function g.Where(condition, X, Y, attrs) end

--- ONNX Xor, since opset 7 in this form.
--- A, B: bool; C: bool.
---@param A t2o.Value
---@param B t2o.Value
---@param attrs? t2o.Attrs
---@return t2o.Value C
function g.Xor(A, B, attrs) end
