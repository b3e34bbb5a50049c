-- rules/python/helpers_resize.lua: ONNX's resampling in all its modes.

local python = require("t2o.pyrules").registry

python:helper("resize_places(int size, int want, float factor, str transformation, float start, float end)"
  .. " -> Tensor", [=[
def resize_places(size, want, factor, transformation, start, end):
    """Where along an axis the elements of the result lie in the input."""
    step = torch.arange(want, dtype=torch.float64)
    length = factor * size  # of the result, before it was rounded
    if transformation == "asymmetric":
        return step / factor
    if transformation == "align_corners":
        return step * (size - 1) / (length - 1) if length != 1 else step * 0
    if transformation == "tf_crop_and_resize":
        inside = step / (length - 1) if length != 1 else step * 0 + 0.5
        return (start + inside * (end - start)) * (size - 1)
    if transformation == "pytorch_half_pixel" and length == 1:
        return step * 0
    place = (step + 0.5) / factor - 0.5
    if transformation == "half_pixel_symmetric":
        place += size / 2 * (1 - want / length)
    return place]=])

python:helper("resize_weights(Tensor place, int size, float factor, str mode, float a, bool outside) -> Tensor", [=[
def resize_weights(place, size, factor, mode, a, exclude_outside):
    """A matrix: how much each element of an axis counts in each element of the result."""
    reach = math.ceil((1 if mode == "linear" else 2) / factor)
    tap = place.floor()[:, None] + torch.arange(1 - reach, 1 + reach)
    x = ((tap - place[:, None]) * factor).abs()
    if mode == "linear":
        weight = (1 - x).clamp(min=0)
    else:
        near = ((a + 2) * x - (a + 3)) * x * x + 1
        far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
        weight = torch.where(x <= 1, near, torch.where(x < 2, far, 0))
    if exclude_outside:
        weight = torch.where((tap >= 0) & (tap < size), weight, 0)
    weight = weight / weight.sum(1, keepdim=True)
    return weight.new_zeros((len(place), size)).scatter_add(1, tap.clamp(0, size - 1).long(), weight)]=])

python:helper("resize(Tensor x, int[] axes, str mode, str transformation, Tensor? scales=None, Tensor? sizes=None, "
  .. "Tensor? roi=None, str nearest='round_prefer_floor', float a=-0.75, bool antialias=False, "
  .. "bool exclude_outside=False, str policy='stretch', float extrapolation=0.0) -> Tensor", [=[
def resize(
    x,
    axes,
    mode,
    transformation,
    scales=None,
    sizes=None,
    roi=None,
    nearest="round_prefer_floor",
    a=-0.75,
    antialias=False,
    exclude_outside=False,
    policy="stretch",
    extrapolation=0.0,
):
    """x in other sizes along some axes, one after the other, as ONNX's Resize has it."""
    have = [x.shape[axis] for axis in axes]
    if sizes is None:
        factors = scales.tolist()
        want = (scales.cpu() * torch.tensor(have, dtype=scales.dtype)).long().tolist()
    else:
        want = sizes.tolist()
        factors = [w / h for w, h in zip(want, have)]
        if policy != "stretch":
            factors = [min(factors) if policy == "not_larger" else max(factors)] * len(axes)
            want = [int(f * h + 0.5) for f, h in zip(factors, have)]
    bounds = [0.0] * len(axes) + [1.0] * len(axes) if roi is None else roi.tolist()
    for axis, size, out, factor, start, end in zip(
        axes, have, want, factors, bounds, bounds[len(axes) :]
    ):
        if size == out and factor == 1 and (start, end) == (0, 1):
            continue
        place = resize_places(size, out, factor, transformation, start, end)
        if mode == "nearest":
            index = {
                "round_prefer_floor": (place - 0.5).ceil(),
                "round_prefer_ceil": (place + 0.5).floor(),
                "floor": place.floor(),
                "ceil": place.ceil(),
            }[nearest]
            y = x.index_select(axis, index.clamp(0, size - 1).long().to(x.device))
        else:
            shrink = min(factor, 1.0) if antialias else 1.0
            weight = resize_weights(place, size, shrink, mode, a, exclude_outside)
            dtype = x.dtype if x.dtype == torch.float64 else torch.float32
            y = x.movedim(axis, -1).to(dtype) @ weight.T.to(x.device, dtype)
            y = y.to(x.dtype).movedim(-1, axis)
        if transformation == "tf_crop_and_resize":
            inside = ((place >= 0) & (place <= size - 1)).to(x.device)
            shape = [out if d == axis else 1 for d in range(x.dim())]
            y = y.masked_fill(~inside.reshape(shape), extrapolation)
        x = y
    return x]=])
