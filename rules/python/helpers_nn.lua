-- rules/python/helpers_nn.lua: functions that a module brings along: layers that are not in torch.nn.functional.

local python = require("t2o.pyrules").registry

python:helper("deform_conv2d(Tensor x, Tensor weight, Tensor offset, int[2] stride, int[2] padding, int[2] dilation, "
  .. "int groups, int offset_groups, Tensor? bias=None, Tensor? mask=None) -> Tensor", [=[
def deform_conv2d(x, weight, offset, stride, padding, dilation, groups, offset_groups, bias=None, mask=None):
    """A convolution whose kernels look at places that are moved by offsets and weighed by a mask."""
    (sy, sx), (py, px), (dy, dx) = (
        v if isinstance(v, tuple) else (v, v) for v in (stride, padding, dilation)
    )
    n, _, h, w = x.shape
    kh, kw = weight.shape[2:]
    oh, ow = offset.shape[2:]

    def places(out, kernel, step, spread, pad):
        taken = torch.arange(out, device=x.device) * step - pad
        return taken + (torch.arange(kernel, device=x.device) * spread)[:, None]

    rows = places(oh, kh, sy, dy, py).reshape(kh, 1, oh, 1)
    columns = places(ow, kw, sx, dx, px).reshape(1, kw, 1, ow)
    moved = offset.reshape(n * offset_groups, kh, kw, 2, oh, ow)
    ys, xs = moved[:, :, :, 0] + rows, moved[:, :, :, 1] + columns
    grid = torch.stack([(2 * xs + 1) / w - 1, (2 * ys + 1) / h - 1], dim=-1)
    grid = grid.reshape(n * offset_groups, kh * kw * oh, ow, 2).to(x.dtype)
    seen = F.grid_sample(x.reshape(n * offset_groups, -1, h, w), grid, align_corners=False)
    if mask is not None:
        seen = seen * mask.reshape(n * offset_groups, 1, kh * kw * oh, ow)
    seen = seen.reshape(n, groups, -1, oh * ow)
    out = (weight.reshape(groups, weight.shape[0] // groups, -1) @ seen).reshape(n, -1, oh, ow)
    return out if bias is None else out + bias[:, None, None]]=])

python:helper("roi_align(Tensor x, Tensor boxes, Tensor batch, int[2] size, float scale, int samples, float shift, "
  .. "bool largest) -> Tensor", [=[
def roi_align(x, boxes, batch, size, scale, samples, shift, largest):
    """Each box of an image as a grid of cells: the mean (or the largest term) of bilinear samples."""
    rows, columns = size if isinstance(size, tuple) else (size, size)
    h, w = x.shape[2:]

    def along(start, length, cells, count, limit):
        step = torch.arange(cells * count, dtype=x.dtype, device=x.device)
        place = start + (step + 0.5) * (length / (cells * count))
        weight = ((place >= -1) & (place <= limit)).to(x.dtype)
        place = place.clamp(0, limit - 1)
        low = place.floor()
        high = (low + 1).clamp(max=limit - 1)
        far = place - low
        return (low.long(), (1 - far) * weight), (high.long(), far * weight)

    out = x.new_zeros((boxes.shape[0], x.shape[1], rows, columns))
    for i, (box, image) in enumerate(zip((boxes * scale - shift).tolist(), batch.tolist())):
        width, height = box[2] - box[0], box[3] - box[1]
        if not shift:
            width, height = max(width, 1.0), max(height, 1.0)
        ny, nx = samples or math.ceil(height / rows), samples or math.ceil(width / columns)
        if ny < 1 or nx < 1:
            continue
        ys, xs = along(box[1], height, rows, ny, h), along(box[0], width, columns, nx, w)
        terms = [x[image][:, y][:, :, z] * (a[:, None] * b) for y, a in ys for z, b in xs]
        cells = (torch.stack(terms).amax(0) if largest else sum(terms)).reshape(-1, rows, ny, columns, nx)
        out[i] = cells.amax((2, 4)) if largest else cells.mean((2, 4))
    return out]=])

python:helper("roi_max_pool(Tensor x, Tensor boxes, int[2] size, float scale) -> Tensor", [=[
def roi_max_pool(x, boxes, size, scale):
    """The maxima of each box's cells; boxes are (image, x1, y1, x2, y2)."""
    rows, columns = size if isinstance(size, tuple) else (size, size)

    def cells(first, last, count, limit):
        length = max(last - first + 1, 1)
        for i in range(count):
            start = first + math.floor(i * length / count)
            end = first + math.ceil((i + 1) * length / count)
            yield slice(min(max(start, 0), limit), min(max(end, 0), limit))

    out = x.new_zeros((boxes.shape[0], x.shape[1], rows, columns))
    for i, (image, *box) in enumerate(boxes.tolist()):
        x1, y1, x2, y2 = (math.floor(v * scale + 0.5) for v in box)
        for r, row in enumerate(cells(y1, y2, rows, x.shape[2])):
            for c, column in enumerate(cells(x1, x2, columns, x.shape[3])):
                part = x[int(image), :, row, column]
                if part.numel():
                    out[i, :, r, c] = part.amax((1, 2))
    return out]=])

-- The operators behind functions of torch.nn.functional that refuse statistics of one element.
python:expression {
  ["batch_norm(Tensor x, Tensor weight, Tensor bias, Tensor? mean, Tensor? var, bool training, float momentum, "
    .. "float eps, bool cudnn) -> Tensor"] =
    "torch.batch_norm({x}, {weight}, {bias}, {mean}, {var}, {training}, {momentum}, {eps}, {cudnn})",
  ["instance_norm(Tensor x, Tensor weight, Tensor bias, Tensor? mean, Tensor? var, bool use_input_stats, "
    .. "float momentum, float eps, bool cudnn) -> Tensor"] =
    "torch.instance_norm({x}, {weight}, {bias}, {mean}, {var}, {use_input_stats}, {momentum}, {eps}, {cudnn})",
  ["group_norm(Tensor x, int groups, Tensor weight, Tensor bias, float eps) -> Tensor"] =
    "torch.group_norm({x}, {groups}, {weight}, {bias}, {eps})",
}

python:expression {
  ["normalize(Tensor x, float p, int dim) -> Tensor"] = "F.normalize({x}, p={p}, dim={dim})",
  ["local_response_norm(Tensor x, int size, float alpha, float beta, float k) -> Tensor"] =
    "F.local_response_norm({x}, {size}, alpha={alpha}, beta={beta}, k={k})",
  ["dropout_if(Tensor x, SymFloat p, Tensor training) -> Tensor"] = "F.dropout({x}, {p}, bool({training}))",
}

python:helper("dropout_with_mask(Tensor x, Tensor p, Tensor training) -> (Tensor, Tensor)", [=[
def dropout_with_mask(x, p, training):
    """Dropout where training says so, and which elements it keeps."""
    if not training:
        return x.clone(), torch.ones_like(x, dtype=torch.bool)
    return torch.native_dropout(x, p.item(), True)]=])

python:helper("linear_attention(Tensor query, Tensor key, Tensor value, int heads, int kv_heads, float scale, "
  .. "Tensor? state=None, Tensor? decay=None, Tensor? beta=None) -> (Tensor, Tensor)", [=[
def linear_attention(query, key, value, heads, kv_heads, scale, state=None, decay=None, beta=None):
    """Attention by a state that each step decays, corrects and adds to; returns the state too."""

    def over_time(x, count):
        return x.float().unflatten(2, (count, -1)).unbind(1)

    keys, values = over_time(key, kv_heads), over_time(value, kv_heads)
    decays = None if decay is None else over_time(decay, kv_heads)
    rates = None if beta is None else over_time(beta, beta.shape[2])
    dtype = query.dtype if state is None else state.dtype
    if state is None:
        state = query.new_zeros((len(query), kv_heads, keys[0].shape[2], values[0].shape[2]))
    state = state.float()
    out = []
    for i, q in enumerate(over_time(query, heads)):
        k, v = keys[i], values[i]
        if decays is not None:
            state = state * decays[i].exp()[..., None]
        if rates is not None:
            v = rates[i] * (v - (k[..., None, :] @ state).squeeze(-2))
        state = state + k[..., None] * v[..., None, :]
        seen = state.repeat_interleave(heads // kv_heads, 1)
        out.append((q[..., None, :] @ seen).flatten(1) * scale)
    return torch.stack(out, 1).to(query.dtype), state.to(dtype)]=])
