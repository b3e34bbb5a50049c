-- rules/python/helpers_quantize.lua: functions that modules with packed weights bring along.

local python = require("t2o.pyrules").registry

python:helper("unpack_weight(Tensor weight, Tensor scales, int bits, Tensor? zero_points=None) -> Tensor", [=[
def unpack_weight(weight, scales, bits, zero_points=None):
    """A matrix of blocks of integers that are packed into bytes, as floats; each block has a scale and a zero point."""
    def unpack(x):
        parts = [(x >> shift) & ((1 << bits) - 1) for shift in range(0, 8, bits)]
        return torch.stack(parts, -1).flatten(-2)

    rows, blocks = weight.shape[0], weight.shape[1]
    if zero_points is None:
        zero_points = 1 << (bits - 1)
    elif zero_points.dtype == torch.uint8:
        zero_points = unpack(zero_points.reshape(rows, -1))[:, :blocks, None].to(scales.dtype)
    else:
        zero_points = zero_points.reshape(rows, blocks, 1)
    weight = unpack(weight).to(scales.dtype) - zero_points
    return (weight * scales.reshape(rows, -1, 1)).flatten(1)]=])
