-- rules/python/helpers.lua: what PyTorch has no function for: small functions that a module brings along.

local python = require("t2o.pyrules").registry

python:helper("grouped_mm", [[
def grouped_mm(x, weight, ends):
    """Rows of x by groups, each times a matrix of its own; group i ends before row ends[i]."""
    out = x.new_zeros((x.shape[0], weight.shape[-1]))
    start = 0
    for end, matrix in zip(ends.tolist(), weight):
        out[start:end] = x[start:end] @ matrix
        start = end
    return out]])

python:rule("transformers::grouped_mm_fallback", function(py)
  py.need("grouped_mm")
  return "grouped_mm({input}, {weight}, {offs})"
end)

-- ---- what rules/onnx calls: expressions ----

python:expression {
  ["to_list(Tensor x) -> Any"] = "{x}.tolist()",
  ["shape(Tensor x) -> Tensor"] = "torch.tensor({x}.shape{, device})",
  ["shape_of_any(Tensor x) -> Tensor"] = "torch.tensor({x}.shape, dtype=torch.int64{, device})",
  ["element_count(Tensor x) -> Tensor"] = "torch.tensor({x}.numel(){, device})",
  ["reverse_dims(Tensor x) -> Tensor"] = "{x}.permute(*reversed(range({x}.dim())))",
  ["with_a_dim(Tensor x) -> Tensor"] = "torch.atleast_1d({x})",
  ["squeeze_at(Tensor x, Tensor axes) -> Tensor"] = "{x}.squeeze(tuple({axes}.tolist()))",
  ["expand_by(Tensor x, Tensor shape) -> Tensor"] =
    "{x}.expand(torch.broadcast_shapes({x}.shape, {shape}.tolist()))",
  ["list_of(Tensor[] items) -> Any"] = "{items}",
  ["list_item(Any items, SymInt index) -> Tensor"] = "{items}[{index}]",
  ["list_length(Any items) -> Tensor"] = "torch.tensor(len({items}){, device})",
  ["list_append(Any items, Tensor x) -> Any"] = "[*{items}, {x}]",
  ["list_but_last(Any items) -> Any"] = "{items}[:-1]",
  ["unbound_list(Tensor x, int dim) -> Any"] = "list({x}.unbind({dim}))",
  ["split_list(Tensor x, SymInt size, int dim) -> Any"] = "list({x}.split({size}, {dim}))",
  ["split_list_sizes(Tensor x, SymInt[] sizes, int dim) -> Any"] = "list({x}.split({sizes}, {dim}))",
  ["split_list_by(Tensor x, Tensor sizes, int dim) -> Any"] = "list({x}.split({sizes}.tolist(), {dim}))",
  ["cat_list(Any items, int dim) -> Tensor"] = "torch.cat({items}, {dim})",
  ["stack_list(Any items, int dim) -> Tensor"] = "torch.stack({items}, {dim})",
  ["none() -> Any"] = "None",
  ["is_there(Any x) -> Tensor"] = "torch.tensor({x} is not None{, device})",
  ["softsign(Tensor x) -> Tensor"] = "F.softsign({x})",
  ["equal_strings(Any x, Any y) -> Tensor"] = "torch.as_tensor({x} == {y})",
  ["join_texts(Any x, Any y) -> Any"] = "np.asarray({x} + {y}, dtype=object)",
}

-- torch.tensor(x.shape[1:]); of none at all the dtype would be another one
python:helper_schema("shape_slice(Tensor x, int start, int? end, bool some) -> Tensor")
python:rule("helper::shape_slice", function(_, a)
  local range = (a.start == 0 and "" or "{start}") .. ":" .. (a["end"] and "{end}" or "")
  return "torch.tensor({x}.shape[" .. range .. "]" .. (a.some and "" or ", dtype=torch.int64") .. "{, device})"
end)

-- x[:, 1:3, ::2]
python:helper_schema("slices(Tensor x, SymInt[] starts, SymInt[] stops, int[] steps) -> Tensor")
python:rule("helper::slices", function(py, a)
  local parts, starts, stops, steps = {}, a.starts, a.stops, a.steps
  for i = 1, starts.n do
    local start = starts[i] == 0 and "" or "{starts#" .. i .. "}"
    local stop = stops[i] == math.maxinteger and "" or "{stops#" .. i .. "}"
    local step = steps[i] == 1 and "" or ":{steps#" .. i .. "}"
    parts[i] = start .. ":" .. stop .. step
  end
  return py.indexed("{x}", parts)
end)

-- ---- functions ----

python:helper("reshape_by(Tensor x, Tensor shape) -> Tensor", [=[
def reshape_by(x, shape):
    """x in a shape where 0 is the size that x has there."""
    return x.reshape([size or x.shape[i] for i, size in enumerate(shape.tolist())])]=])

python:helper("unsqueeze_at(Tensor x, Tensor axes) -> Tensor", [=[
def unsqueeze_at(x, axes):
    """x with dims of size 1 at places that are counted in the result."""
    rank = x.dim() + axes.numel()
    for axis in sorted(axis % rank for axis in axes.tolist()):
        x = x.unsqueeze(axis)
    return x]=])

python:helper("slice_dims(Tensor x, Tensor starts, Tensor ends, Tensor? axes=None, Tensor? steps=None) -> Tensor", [=[
def slice_dims(x, starts, ends, axes=None, steps=None):
    """x[start:end:step] on each of the axes; steps may be negative."""
    axes = range(starts.numel()) if axes is None else axes.tolist()
    steps = [1] * starts.numel() if steps is None else steps.tolist()
    for axis, start, end, step in zip(axes, starts.tolist(), ends.tolist(), steps):
        size = x.shape[axis]
        places = range(*slice(max(start, -size), end, step).indices(size))
        x = x.index_select(axis, torch.tensor(places, dtype=torch.int64, device=x.device))
    return x]=])

python:helper("split_evenly(Tensor x, int count, int dim) -> Tensor[]", [=[
def split_evenly(x, count, dim):
    """So many parts of one size along a dim; the last ones get what is left."""
    size = x.shape[dim]
    each = -(-size // count)
    return x.split([max(min(each, size - i * each), 0) for i in range(count)], dim)]=])

python:helper("pad_dims(Tensor x, Tensor pads, Tensor? value=None, Tensor? axes=None, str mode='constant') "
              .. "-> Tensor", [=[
def pad_dims(x, pads, value=None, axes=None, mode="constant"):
    """x with pads[i] elements before and pads[i + n] behind it along each of the n axes."""
    axes = range(x.dim()) if axes is None else axes.tolist()
    pads = pads.tolist()
    for i, axis in enumerate(axes):
        before, after = pads[i], pads[i + len(pads) // 2]
        cut = max(-before, 0)
        x = x.narrow(axis, cut, x.shape[axis] - cut - max(-after, 0))
        before, after, size = max(before, 0), max(after, 0), x.shape[axis]
        at = torch.arange(-before, size + after, device=x.device)
        if mode == "edge":
            source = at.clamp(0, size - 1)
        elif mode == "wrap":
            source = at % size
        elif mode == "reflect":
            source = size - 1 - (size - 1 - at % max(2 * size - 2, 1)).abs()
        else:
            inside = (at >= 0) & (at < size)
            source = at[inside]
        padded = x.index_select(axis, source)
        if mode == "constant":
            shape = [*x.shape]
            shape[axis] = at.numel()
            fill = x.new_zeros(shape) if value is None else value.to(x.dtype).expand(shape)
            padded = fill.index_copy(axis, inside.nonzero()[:, 0], padded)
        x = padded
    return x]=])

python:helper("fold_patches(Tensor x, SymInt[] image, SymInt[] block, int[] strides, int[] dilations, int[] pads) "
              .. "-> Tensor",
  [=[
def fold_patches(x, image, block, strides, dilations, pads):
    """The image of whose blocks x holds one a column; where blocks overlap they are summed."""
    rank = len(image)
    padded = [size + pads[i] + pads[i + rank] for i, size in enumerate(image)]
    index = torch.zeros((), dtype=torch.int64, device=x.device)
    for i, size in enumerate(padded):
        count = (size - dilations[i] * (block[i] - 1) - 1) // strides[i] + 1
        inside = torch.arange(block[i], device=x.device) * dilations[i]
        place = inside[:, None] + torch.arange(count, device=x.device) * strides[i]
        shape = [1] * (2 * rank)
        shape[i], shape[rank + i] = place.shape
        index = index * size + place.reshape(shape)
    channels = x.shape[1] // math.prod(block)
    out = x.new_zeros((x.shape[0], channels, math.prod(padded)))
    out = out.index_add(2, index.flatten(), x.reshape(x.shape[0], channels, -1))
    out = out.reshape(x.shape[0], channels, *padded)
    for i, size in enumerate(image):
        out = out.narrow(2 + i, pads[i], size)
    return out]=])

python:helper("center_crop_pad(Tensor x, Tensor shape, int[] axes) -> Tensor", [=[
def center_crop_pad(x, shape, axes):
    """x cut or padded with zeros on both sides to the sizes along the axes."""
    for axis, size in zip(axes, shape.tolist()):
        have = x.shape[axis]
        if size <= have:
            x = x.narrow(axis, (have - size) // 2, size)
        else:
            padded = [*x.shape]
            padded[axis] = size
            places = torch.arange(have, device=x.device) + (size - have) // 2
            x = x.new_zeros(padded).index_copy(axis, places, x)
    return x]=])

for _, name in ipairs { "amax", "amin" } do
  python:helper(name .. "_or(Tensor x, int[] dim, bool keepdim, Scalar of_nothing) -> Tensor", ([=[
def NAME_or(x, dim, keepdim, of_nothing):
    """x.NAME(dim, keepdim); of no elements a number."""
    if x.numel():
        return x.NAME(dim, keepdim)
    return torch.full_like(x.sum(dim, keepdim, dtype=x.dtype), of_nothing)]=]):gsub("NAME", name))
end

python:helper("insert_item(Any items, Tensor x, SymInt index) -> Any", [=[
def insert_item(items, x, index):
    """The list with x put in before an item."""
    return [*items[:index], x, *items[index:]]]=])

python:helper("erase_item(Any items, SymInt index) -> Any", [=[
def erase_item(items, index):
    """The list without one of its items."""
    items = list(items)
    del items[index]
    return items]=])

python:helper("counted(SymFloat start, SymFloat limit, SymFloat step, ScalarType dtype, "
  .. "Device? device=None) -> Tensor", [=[
def counted(start, limit, step, dtype, device=None):
    """torch.arange, which is empty where the steps lead away from the limit."""
    limit = max(start, limit) if step > 0 else min(start, limit)
    return torch.arange(start, limit, step, device=device).to(dtype)]=])

-- ---- dtypes that PyTorch has not, or does not convert to ----

python:helper("to_float4(Tensor x) -> Tensor", [=[
def to_float4(x):
    """The nearest of 0, 0.5, 1, 1.5, 2, 3, 4, 6 and their negatives, ties to the even ones; NaN is -0."""
    x = x.float()
    size = x.abs().clamp(max=6)
    step = torch.where(size < 2, 0.5, torch.where(size < 4, 1.0, 2.0))
    return torch.copysign((size / step).round() * step, x).masked_fill(x.isnan(), -0.0)]=])

python:helper("to_float8_e8m0(Tensor x, str mode, bool saturate) -> Tensor", [=[
def to_float8_e8m0(x, mode, saturate):
    """Powers of two: up, down or to the nearest."""
    part, exponent = torch.frexp(x.float().abs())
    limit = {"up": 0.5, "nearest": 0.75, "down": 1.0}[mode]
    above = part >= limit if mode == "nearest" else part > limit
    code = exponent + 126 + above
    code = torch.where(x == 0, -1, torch.where(x.isinf(), 255, code))
    if saturate:
        code = code.clamp(0, 254)
    code = torch.where((code < 0) | (code > 254) | x.isnan(), 255, code)
    return code.to(torch.uint8).view(torch.float8_e8m0fnu)]=])

-- ---- strings ----

python:helper("numbers_to_text(Tensor x) -> Any", [=[
def numbers_to_text(x):
    """Numbers as strings, each as short as tells it from others of its dtype."""
    x = x.float() if x.dtype in (torch.bfloat16,) else x
    values = [str(value) for value in x.cpu().numpy().ravel()]
    return np.array(values, dtype=object).reshape(x.shape)]=])

python:helper("text_to_numbers(Any x, ScalarType dtype) -> Tensor", [=[
def text_to_numbers(x, dtype):
    """Strings as numbers."""
    values = [float(value) if dtype.is_floating_point else int(value) for value in np.ravel(x)]
    return torch.tensor(values, dtype=dtype).reshape(np.shape(x))]=])

python:helper("split_texts(Any x, str? delimiter=None, int? maxsplit=None) -> (Any, Tensor)", [=[
def split_texts(x, delimiter=None, maxsplit=None):
    """The pieces of each string, filled up with empty ones, and how many each has."""
    limit = -1 if maxsplit is None else maxsplit
    rows = [text.split(delimiter or None, limit) for text in np.ravel(x)]
    width = max((len(row) for row in rows), default=0)
    pieces = np.full((len(rows), width), "", dtype=object)
    for i, row in enumerate(rows):
        pieces[i, : len(row)] = row
    counts = torch.tensor([len(row) for row in rows], dtype=torch.int64)
    return pieces.reshape(*np.shape(x), width), counts.reshape(np.shape(x))]=])

python:helper("full_match(Any x, str pattern) -> Tensor", [=[
def full_match(x, pattern):
    """Whether the whole of each string is what a regular expression describes."""
    found = [re.fullmatch(pattern, text) is not None for text in np.ravel(x)]
    return torch.tensor(found, dtype=torch.bool).reshape(np.shape(x))]=])

python:helper("normalize_texts(Any x, str case, bool exact, str[] stopwords) -> Any", [=[
def normalize_texts(x, case, exact, stopwords):
    """Strings without the stopwords, in upper or lower case where that is asked for."""
    def same(text):
        return text if exact else text.lower()
    dropped = {same(word) for word in stopwords}
    change = {"UPPER": str.upper, "LOWER": str.lower, "NONE": str}[case]
    kept = [change(text) for text in np.ravel(x) if same(text) not in dropped] or [""]
    kept = np.array(kept, dtype=object)
    return kept.reshape(1, -1) if np.ndim(x) == 2 else kept]=])
