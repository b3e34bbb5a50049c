"""The operators that rules/opset lowers, in their newest form, with the attributes that matter."""
import numpy as np

from probe import Form, const

RNG = np.random.default_rng(0)
FORMS = []


def add(*args, **kw):
    FORMS.append(Form(*args, **kw))


def x(*shape, dtype="float32"):
    return RNG.standard_normal(shape).astype(dtype)


def ints(low, high, *shape, dtype="int64"):
    return RNG.integers(low, high, shape).astype(dtype)


def run(*values, dtype="int64"):
    """A list that is an input."""
    return np.array(values, dtype)


def c(*values, dtype="int64"):
    """A list that is known."""
    return const(list(values), dtype)


def s(value, dtype="int64"):
    return const(value, dtype)


# ---- axes ----

for op in ("ReduceL1", "ReduceL2", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin",
           "ReduceProd", "ReduceSum", "ReduceSumSquare"):
    add(op, x(2, 3, 4), c(1, -1), keepdims=0)
    add(op, x(2, 3, 4), c(-2))
    add(op, x(2, 3, 4))
    add(op, x(2, 3, 4), noop_with_empty_axes=1)
add("ReduceLogSum", np.abs(x(2, 3)), c(1))
for op in ("ReduceMax", "ReduceMin"):
    add(op, x(2, 3) > 0, c(1))
    add(op, ints(-9, 9, 2, 3, dtype="int8"), c(1))
add("Squeeze", x(2, 1, 3, 1), c(-1, 1))
add("Unsqueeze", x(2, 3), c(-1, 0))
add("Split", x(2, 6), outputs=3, num_outputs=3, axis=1)
add("Split", x(2, 7), outputs=3, num_outputs=3, axis=-1)
add("Split", x(2, 7), c(2, 4, 1), outputs=3, axis=-1)
add("Split", x(2, 7), run(2, 4, 1), outputs=3, axis=-1)
add("Concat", x(2, 3), x(2, 3), axis=-1)
add("Flatten", x(2, 3, 4), axis=-1)
add("Compress", x(3, 4), np.array([True, False, True, True]), axis=-1)
add("Gather", x(5, 3), c(0, -1))
for op in ("Softmax", "LogSoftmax", "Hardmax"):
    for axis in (-1, 0, 1):
        add(op, x(2, 3, 4), axis=axis)
    add(op, x(5), axis=0)
for op in ("ArgMax", "ArgMin"):
    add(op, x(2, 3, 4), axis=-1, keepdims=0)
    add(op, run(1, 0, 1, 0, dtype="float32"), axis=0, select_last_index=1)

# ---- normalisation, activation ----

LOOSE = (1e-4, 1e-5)  # of float64, where ONNX asks for statistics in float32
add("LayerNormalization", x(2, 3, 4), x(4), x(4), outputs=3)
add("LayerNormalization", x(2, 3, 4), x(3, 4), axis=1, epsilon=1e-3)
add("LayerNormalization", x(2, 4, dtype="float16"), x(4, dtype="float16"), x(4, dtype="float16"))
add("LayerNormalization", x(2, 4, dtype="float64"), x(4, dtype="float64"), tol=LOOSE)
add("RMSNormalization", x(2, 3, 4), x(3, 4), axis=-2)
add("RMSNormalization", x(2, 4, dtype="float16"), x(4, dtype="float16"))
add("GroupNormalization", x(2, 6, 3, 3), x(6), x(6), num_groups=3)
add("GroupNormalization", x(2, 6), x(6), x(6), num_groups=2)
add("GroupNormalization", *(x(*d, dtype="float64") for d in ((2, 6, 3), (6,), (6,))), num_groups=3,
    tol=LOOSE)
add("BatchNormalization", x(2, 3, 4), x(3), x(3), x(3), np.abs(x(3)))
add("BatchNormalization", x(2, 3, 4, dtype="float16"), x(3), x(3), x(3), np.abs(x(3)))
for shape in ((2, 3, 4), (4, 3)):
    add("BatchNormalization", x(*shape), x(3), x(3), x(3), np.abs(x(3)), outputs=3,
        training_mode=1, momentum=0.8)
for approximate in ("none", "tanh"):
    add("Gelu", x(3, 4), approximate=approximate)
    add("Gelu", x(3, 4, dtype="float16"), approximate=approximate)
add("Mish", x(3, 4))
add("Swish", x(3, 4), alpha=1.7)
add("SwiGLU", x(3, 4), x(3, 4), alpha=1.3)
add("HardSwish", x(3, 4))
add("Celu", x(3, 4), alpha=0.7)
add("Celu", x(3, 4, dtype="float64"), alpha=0.7, tol=LOOSE)
add("ThresholdedRelu", x(3, 4), alpha=0.3)
add("Relu", ints(-9, 9, 5, dtype="int32"))

# ---- arithmetic ----

for op in ("Add", "Sub", "Mul", "Div"):
    for dtype in ("int8", "uint8"):
        add(op, ints(1, 100, 6, dtype=dtype), ints(1, 60, 6, dtype=dtype), judge="onnx")
for dtype in ("int64", "int32", "float32", "float64"):
    add("Max", ints(-5, 9, 2, 3, dtype=dtype), ints(0, 9, 3, dtype=dtype), x(2, 1).astype(dtype))
    add("Min", ints(-5, 9, 2, 3, dtype=dtype), ints(0, 9, 3, dtype=dtype))
    if dtype != "float64":  # ONNX Runtime's Clip of opset 11 knows float32 only
        add("Clip", ints(-9, 9, 5, dtype=dtype), s(-2, dtype), s(3, dtype))
        add("Clip", ints(-9, 9, 5, dtype=dtype), None, s(3, dtype))
        add("Clip", ints(-9, 9, 5, dtype=dtype), run(-2, dtype=dtype)[0:1].reshape(()))
    for op in ("Equal", "Less", "LessOrEqual", "GreaterOrEqual"):
        add(op, run(1, 2, 3, dtype=dtype), run(1, 3, 2, dtype=dtype))
NAN, INF = np.nan, np.inf
for op in ("Equal", "LessOrEqual", "GreaterOrEqual"):
    add(op, run(1, NAN, INF, NAN, -INF, dtype="float32"), run(1, 2, INF, NAN, 0, dtype="float32"))
add("Equal", ints(0, 3, 6, dtype="uint8"), ints(0, 3, 6, dtype="uint8"))
add("Pow", x(3), s(2))
add("Pow", np.abs(x(3)), x(3, dtype="float64"))
add("Pow", ints(-4, 5, 4), s(3))
add("Pow", ints(-4, 5, 4), ints(0, 6, 4))
DIVISORS = (3, -3, 2, -2, 5, -5, 1, 7)
for dtype in ("int64", "int32"):
    for fmod in (0, 1):
        add("Mod", ints(-9, 10, 8, dtype=dtype), run(*DIVISORS, dtype=dtype), fmod=fmod)
for dtype, lowest in (("float32", 9), ("float64", 10)):
    add("Mod", run(5.5, -5.5, 1e6, -0.3, 7, 3, 2, dtype=dtype),
        run(2, 2, 0.1, 0.7, -3, INF, -INF, dtype=dtype), fmod=1, lowest=lowest)
add("Mod", run(5.5, -5.5, 5.5, -5.5, dtype="float32"), run(2, 2, -2, -2, dtype="float32"),
    want=[run(1.5, 0.5, -0.5, -1.5, dtype="float32")])
for signs in ({}, {"detect_negative": 0}, {"detect_positive": 0}):
    add("IsInf", run(1, INF, -INF, NAN, dtype="float32"), **signs)
add("IsInf", run(1, INF, -INF, NAN, dtype="float16"))
HALVES = (.5, 1.5, 2.5, -.5, -1.5, .49999997, 1e9, INF, -INF, NAN, 3.2, -3.7)
for dtype in ("float32", "float64"):
    add("Round", run(*HALVES, dtype=dtype))
for dtype in ("int32", "uint8"):
    add("BitwiseNot", ints(0, 100, 5, dtype=dtype))
for op in ("BitwiseAnd", "BitwiseOr", "BitwiseXor"):
    for dtype in ("int64", "int32", "int8", "uint8"):
        low, high = (int(v) for v in (np.iinfo(dtype).min, np.iinfo(dtype).max))
        add(op, run(low, high, 5, 0, 1, 77, dtype=dtype), run(high, 3, 9, high, 0, 51, dtype=dtype))
add("BitwiseXor", ints(-9, 9, 2, 3), ints(-9, 9, 3))
for direction in ("LEFT", "RIGHT"):
    for dtype in ("int8", "int32", "int64"):
        add("BitShift", ints(-100, 100, 9, dtype=dtype),
            run(0, 1, 2, 3, 7, 8, -1, 40, 70, dtype=dtype), direction=direction, lowest=11)
for start, limit, delta in ((0, 5, 1), (2, 9, 3), (9, 2, -2), (5, 1, 1)):
    for dtype in ("int64", "float32"):
        add("Range", *(np.array(v, dtype) for v in (start, limit, delta)))
add("Range", s(0), np.array(6), s(1))
add("Range", *(np.array(v, "float16") for v in (0, 6, 1.5)), judge="onnx")
for op in ("CumSum", "CumProd"):
    for exclusive in (0, 1):
        for reverse in (0, 1):
            add(op, x(3, 4), s(-1), exclusive=exclusive, reverse=reverse)
    add(op, ints(-3, 4, 2, 3, 4), s(1))
    add(op, x(5, dtype="float16"), s(0))
add("Gemm", x(3, 2), x(4, 3), transA=1, transB=1, alpha=.5)
for equation, *shapes in (
        ("bhid,bhjd->bhij", (2, 2, 3, 4), (2, 2, 5, 4)), ("ij->ji", (2, 3)), ("ij->", (2, 3)),
        ("ii->i", (3, 3)), ("bii->b", (2, 3, 3)), ("i,j->ij", (2,), (3,)), ("i,i->", (3,), (3,)),
        ("ij,jk,kl->il", (2, 3), (3, 4), (4, 2)), ("ij,k->ki", (2, 3), (2,)),
        ("ij,jk", (2, 3), (3, 4)), ("ik,jk,k->ij", (2, 4), (3, 4), (4,))):
    add("Einsum", *(x(*d) for d in shapes), equation=equation)

# ---- shapes ----

add("Shape", x(2, 3, 4))
for start, end in ((1, 3), (1, 2), (-2, -1), (0, -1), (3, 3)):
    add("Shape", x(2, 3, 4), start=start, end=end)
add("Reshape", x(0, 3), c(3, 0), allowzero=1)
add("Reshape", x(2, 3, 4), c(4, 6), allowzero=1)
add("Cast", x(3), to=7, saturate=1)
add("CastLike", x(3), ints(0, 2, 1))
add("Slice", x(2, 3, 4), c(0, -3), c(2, -1), c(0, -1))
add("Slice", x(2, 3, 4), c(0, 1, 1), c(2, 3, 4))
add("Slice", x(2, 3, 4), c(-1), c(-2**63), c(2), c(-1))
add("Slice", x(2, 3, 4), c(0), c(2**63 - 1), c(2), c(2))
add("Slice", x(2, 3, 4), run(-3, 0), run(100, 1), c(2, 0))
add("Slice", x(2, 3, 4), run(-1), run(-100), c(2), c(-2))
add("Slice", x(2, 3, 4), run(1, dtype="int32"), run(3, dtype="int32"), c(1, dtype="int32"))
for dtype in ("float32", "int64", "bool"):
    data = ints(0, 2, 2, 3, dtype=dtype)
    add("Pad", data, c(1, 2), None, c(-1))
    for mode, pads in (("constant", (1, 0, 0, 2)), ("edge", (0, 1, 1, 2)),
                       ("reflect", (1, 2, 0, 1)), ("wrap", (1, 2, 0, 1))):
        add("Pad", data, c(*pads), mode=mode)
    if dtype != "bool":
        add("Pad", data, c(1, 0, 0, 2), np.array(3, dtype))
        add("Pad", data, c(1, -1, 0, -1), s(3, dtype),
            want=[np.array([[3], [data[0, 1]], [data[1, 1]]], dtype)])
add("Pad", x(2, 3), c(1, 2), s(-INF, "float32"), c(1))
add("Pad", x(2, 3), run(1, 2), None, c(-1), lowest=11)
add("Pad", x(2, 3, dtype="float64"), c(1, 0, 0, 2), s(0.1, "float64"))
for shape, want in (((5, 4), (3, 7)), ((6, 5), (3, 2))):
    add("CenterCropPad", x(*shape), c(*want), dynamic=18)
for upper in (0, 1):
    for k in ((), (s(1),), (np.array(-2),)):
        add("Trilu", x(2, 3, 4), *k, upper=upper)
    add("Trilu", ints(0, 9, 3, 3), upper=upper)
for mode in ("DCR", "CRD"):
    add("DepthToSpace", x(2, 8, 2, 3), blocksize=2, mode=mode)
    add("SpaceToDepth", x(2, 2, 4, 6), blocksize=2, mode=mode)
add("Col2Im", x(2, 8, 9), c(5, 6), c(2, 2), strides=[2, 2], pads=[0, 0, 1, 0], dynamic=18)
add("Col2Im", x(1, 8, 8), c(4, 4), c(2, 2), dilations=[2, 2], pads=[0, 0, 0, 2], dynamic=18)
for op, gates, states in (("RNN", 1, 1), ("GRU", 3, 1), ("LSTM", 4, 2)):
    add(op, x(5, 2, 3), x(1, 4 * gates, 3), x(1, 4 * gates, 4), x(1, 8 * gates), None,
        *(x(1, 2, 4) for _ in range(states)), hidden_size=4, layout=0, outputs=1 + states)

# ---- indexing ----

add("GatherElements", x(2, 3, 4), ints(-3, 3, 2, 3, 4), axis=1)
add("GatherElements", x(3, 4), np.array([[0], [2], [-1]]), axis=-1)
add("GatherND", x(3, 4, 2), np.array([[0, 1], [2, -1]]), dynamic=11)
add("GatherND", x(3, 4, 2), np.array([[0], [2]]))
add("GatherND", x(2, 3, 4), np.array([[1], [2]]), batch_dims=1)
add("GatherND", x(2, 3, 4), np.array([[[1], [0], [3]], [[1], [2], [0]]]), batch_dims=2)
for reduction in ("none", "add", "mul", "max", "min"):
    last = 18 if reduction in ("max", "min") else 16
    for dtype in ("float32", "int64"):
        once = reduction == "none"
        at = np.array([[0, 2, 1, 1], [1, 1, 0, 2]] if once else [[0, 0, 1, 2], [0, 1, 1, 2]])
        add("ScatterElements", ints(1, 9, 3, 4, dtype=dtype), at, ints(1, 9, 2, 4, dtype=dtype),
            reduction=reduction)
        at = np.array([[0, 1], [2, 3], [0, -1 if once else 1]])
        add("ScatterND", ints(1, 9, 3, 4, dtype=dtype), at, ints(1, 9, 3, dtype=dtype),
            reduction=reduction, dynamic=11 if once else last)
        add("ScatterND", ints(1, 9, 3, 4, dtype=dtype), np.array([[0], [2 if once else 0]]),
            ints(1, 9, 2, 4, dtype=dtype), reduction=reduction)
add("TensorScatter", x(2, 3, 5, 4), x(2, 3, 2, 4), run(1, 3))
add("TensorScatter", x(2, 3, 5, 4), x(2, 3, 2, 4), run(4, 3), mode="circular")
add("TensorScatter", x(2, 5, 4), x(2, 2, 4), axis=1)
add("TopK", x(2, 5), c(3), outputs=2)
add("TopK", x(2, 5), c(2), outputs=2, largest=0, axis=0)
add("TopK", np.array([[5, 2, 9, 2]], "int32"), c(3), outputs=2, largest=0)

# ---- images ----

IMAGE = x(1, 2, 4, 5)


def resize(*shape_or_scales, image=IMAGE, dynamic=11, **kw):
    if isinstance(shape_or_scales[0], float):
        add("Resize", image, None, c(*shape_or_scales, dtype="float32"), dynamic=dynamic, **kw)
    else:
        add("Resize", image, None, None, c(*shape_or_scales), dynamic=dynamic, **kw)


for mode in ("nearest", "linear", "cubic"):
    for where in ("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel",
                  "half_pixel_symmetric"):
        late = 19 if where == "half_pixel_symmetric" else 11
        resize(1., 1., .6, 1.7, mode=mode, coordinate_transformation_mode=where, dynamic=late)
        resize(1, 2, 7, 3, mode=mode, coordinate_transformation_mode=where)
for nearest in ("floor", "ceil", "round_prefer_floor", "round_prefer_ceil"):
    for where in ("half_pixel", "asymmetric"):
        for scales in ((1., 1., 1.6, .7), (1., 1., 2., 3.)):
            resize(*scales, nearest_mode=nearest, coordinate_transformation_mode=where)
resize(8, 3, axes=[2, 3], mode="linear")
resize(2., .5, axes=[-2, -1], nearest_mode="floor", coordinate_transformation_mode="asymmetric")
for policy in ("not_larger", "not_smaller"):
    resize(8, 3, axes=[3, 2], mode="linear", keep_aspect_ratio_policy=policy, dynamic=18)
for mode in ("linear", "cubic"):
    resize(1, 2, 3, 7, mode=mode, antialias=1, dynamic=18)
resize(1, 2, 7, 3, mode="cubic", cubic_coeff_a=-.5, exclude_outside=1)
for padding in ("zeros", "border", "reflection"):
    for corners in (0, 1):
        for mode in ("linear", "nearest", "cubic"):
            add("GridSample", IMAGE, x(1, 3, 3, 2), mode=mode, padding_mode=padding,
                align_corners=corners, lowest=16 if mode == "cubic" else 9)
for corners in (0, 1):
    add("AffineGrid", x(2, 2, 3), c(2, 3, 4, 5), align_corners=corners)
    add("AffineGrid", x(1, 3, 4), run(1, 1, 2, 3, 4), align_corners=corners)
add("AveragePool", IMAGE, kernel_shape=[2, 3], dilations=[1, 1], ceil_mode=0)
add("MaxPool", IMAGE, kernel_shape=[3, 2], strides=[2, 3], ceil_mode=1, outputs=2, dynamic=10)
add("MaxPool", IMAGE, kernel_shape=[2, 2], pads=[1, 1, 0, 0], dilations=[1, 1])
add("MaxPool", ints(-99, 99, 1, 2, 4, 5, dtype="int8"), kernel_shape=[2, 2])
add("LpPool", IMAGE, kernel_shape=[2, 2], p=2, dilations=[1, 1], ceil_mode=0)
for where, lowest in (("half_pixel", 16), ("output_half_pixel", 10)):
    add("RoiAlign", x(1, 2, 6, 6), run([0, 0, 3, 4], [1, 1, 5, 5], dtype="float32"), run(0, 0),
        output_height=2, output_width=3, sampling_ratio=2, coordinate_transformation_mode=where,
        lowest=lowest, highest=21)  # ONNX Runtime has no kernel of opset 22

# ---- attention ----

Q, K, V = x(2, 4, 3, 8), x(2, 4, 5, 8), x(2, 4, 5, 6)
PAST = x(2, 4, 2, 8), x(2, 4, 2, 6)
SHUT = np.array([[1, 1, 0, 0, 1], [0, 0, 0, 0, 0], [1, 0, 0, 0, 0]], bool)
add("Attention", Q, K, V, is_causal=1, judge="onnx")
add("Attention", Q, K, V, scale=.3, softcap=2., judge="onnx")
add("Attention", Q, K, V, x(3, 5), judge="onnx")
add("Attention", Q, K, V, SHUT, judge="onnx")
add("Attention", Q, x(2, 2, 5, 8), x(2, 2, 5, 6), judge="onnx", dynamic=23)
add("Attention", x(2, 3, 32), x(2, 5, 16), x(2, 5, 12), q_num_heads=4, kv_num_heads=2, judge="onnx")
for causal in (0, 1):
    add("Attention", Q, K, V, None, *PAST, outputs=3, is_causal=causal, judge="onnx")
    add("Attention", Q, K, V, None, None, None, run(3, 5), is_causal=causal, judge="onnx")
    add("Attention", Q, K, V, left_window_size=1, right_window_size=1, is_causal=causal,
        judge="onnx")
for mode in (0, 1, 2, 3):
    # ONNX's reference gives the capped scores in the mode 0 too, where ONNX Runtime gives the raw ones
    add("Attention", Q, K, V, x(3, 7), *PAST, outputs=4, qk_matmul_output_mode=mode,
        softcap=3. if mode else 0., judge="onnx")
add("Attention", Q, K, V, x(3, 4), judge="onnx", dynamic=29)  # a shorter mask
POSITIONS = np.array([[0, 1, 2, 3], [3, 4, 5, 9]])
for interleaved in (0, 1):
    add("RotaryEmbedding", x(2, 3, 4, 8), x(10, 4), x(10, 4), POSITIONS, interleaved=interleaved,
        dynamic=23)
    add("RotaryEmbedding", x(2, 3, 4, 8), x(10, 2), x(10, 2), POSITIONS, interleaved=interleaved,
        rotary_embedding_dim=4)
add("RotaryEmbedding", x(2, 4, 24), x(2, 4, 4), x(2, 4, 4), num_heads=3, dynamic=23)
add("CausalConvWithState", x(2, 3, 5), x(3, 1, 4), x(3), x(2, 3, 3), outputs=2, dynamic=27)
add("CausalConvWithState", x(2, 3, 2), x(3, 1, 4), outputs=2, activation="silu", dynamic=27)
for update in ("linear", "gated", "delta", "gated_delta"):
    for heads, wide in ((2, 1), (4, 4)):
        decay = -np.abs(x(2, 3, 2 * wide)) if "gated" in update else None
        beta = np.abs(x(2, 3, 2)) * .3 if "delta" in update else None
        add("LinearAttention", x(2, 3, heads * 4), x(2, 3, 8), x(2, 3, 10), x(2, 2, 4, 5), decay,
            beta, q_num_heads=heads, kv_num_heads=2, update_rule=update, outputs=2, dynamic=27)

# ---- quantisation ----

for dtype, number in (("uint8", 2), ("int8", 3), ("int16", 5)):
    grid = ints(0, 50, 3, 4, dtype=dtype)
    add("QuantizeLinear", x(3, 4) * 5, s(.1, "float32"), s(3, dtype))
    add("QuantizeLinear", x(3, 4) * 5, c(.1, .2, .3, dtype="float32"), c(1, 2, 3, dtype=dtype),
        axis=0)
    add("QuantizeLinear", x(3, 4) * 5, s(.1, "float32"), output_dtype=number)
    add("DequantizeLinear", grid, s(.1, "float32"), s(3, dtype))
    add("DequantizeLinear", grid, c(.1, .2, .3, .4, dtype="float32"), c(1, 2, 3, 4, dtype=dtype),
        axis=-1)
    for axis, shape in ((1, (3, 2)), (-1, (3, 2)), (0, (1, 8))):
        block = 3 if axis == 0 else 4
        scale, point = np.abs(x(*shape)) + .1, ints(0, 9, *shape, dtype=dtype)
        add("QuantizeLinear", x(3, 8) * 5, scale, point, axis=axis, block_size=block)
        add("DequantizeLinear", ints(0, 50, 3, 8, dtype=dtype), scale, point, axis=axis, block_size=block)
        add("DequantizeLinear", ints(0, 50, 3, 8, dtype=dtype), scale, axis=axis, block_size=block)
add("QuantizeLinear", x(3, 4), s(.1, "float32"), saturate=1, precision=1, judge="onnx")
add("QuantizeLinear", run(.12, -.33, 1, dtype="float16"), s(.1, "float16"), s(0, "int8"))
add("DequantizeLinear", run(1, 2, dtype="uint8"), s(.1, "float16"))
add("DequantizeLinear", run(1, 2, dtype="uint8"), s(.1, "float32"), output_dtype=10, judge="onnx")
add("DynamicQuantizeLinear", x(3, 4), outputs=3)
for zeros in ((), (s(3, "uint8"), s(-2, "int8"))):
    add("MatMulInteger", ints(0, 255, 3, 4, dtype="uint8"), ints(-128, 127, 4, 5, dtype="int8"), *zeros)

# ---- signals, draws, losses ----

for inverse, onesided in ((0, 0), (0, 1), (1, 0)):
    add("DFT", x(2, 6, 1), inverse=inverse, onesided=onesided, dynamic=17)
    for length in (4, 7):
        add("DFT", x(2, 5, 3, 2 - onesided), s(length), s(1), inverse=inverse, onesided=onesided,
            dynamic=17)
for op in ("HannWindow", "HammingWindow", "BlackmanWindow"):
    for periodic in (0, 1):
        add(op, np.array(9), periodic=periodic)
add("Dropout", x(3, 4), s(.3, "float32"), s(False, "bool"), outputs=2)
add("Dropout", x(3, 4), s(0., "float32"), s(True, "bool"), outputs=2)
LABELS = np.array([[0, 1, 2], [3, 0, -1]])
for reduction in ("mean", "sum", "none"):
    add("NegativeLogLikelihoodLoss", x(2, 4, 3), LABELS, reduction=reduction, ignore_index=-1)
    add("NegativeLogLikelihoodLoss", x(2, 4, 3), np.abs(LABELS), np.abs(x(4)), reduction=reduction)
    add("SoftmaxCrossEntropyLoss", x(2, 4, 3), LABELS, np.abs(x(4)), reduction=reduction,
        ignore_index=-1, outputs=2)

# ---- what no older operator can say: the form, an opset, the reason ----

REFUSED = [
    (Form("Det", x(2, 3, 3)), 10, "needs opset 11"),
    (Form("BitwiseAnd", ints(0, 9, 3, dtype="uint64"), ints(0, 9, 3, dtype="uint64")), 17,
     "64 bits without a sign"),
    (Form("ReduceMax", x(2, 3), run(1)), 17, "its axes are computed at run time"),
    (Form("TopK", ints(0, 9, 5), c(2), outputs=2), 10, "64-bit integers are not exact"),
    (Form("TopK", x(5), run(2), outputs=2), 9, "computed at run time"),
    (Form("Pad", x(2, 3), run(1, 0, 0, 2)), 10, "its pads are computed at run time"),
    (Form("AveragePool", IMAGE, kernel_shape=[2, 2], dilations=[2, 2]), 18, "opset 19 allows it"),
    (Form("Mod", x(3, dtype="float64"), x(3, dtype="float64"), fmod=1), 9, "64 bits"),
    (Form("MaxPool", IMAGE, kernel_shape=[2, 2], dilations=[2, 1]), 9, "dilations"),
    (Form("GridSample", IMAGE, x(1, 3, 3, 2), mode="cubic"), 15, "the mode bicubic"),
    (Form("RoiAlign", x(1, 2, 6, 6), run([0, 0, 3, 4], dtype="float32"), run(0)), 15,
     "the coordinates half_pixel"),
]
