-- rules/python/helpers_vision.lua: selection of boxes, filters of spectra.

local python = require("t2o.pyrules").registry

python:helper("non_max_suppression(Tensor boxes, Tensor scores, SymInt limit, SymFloat threshold=0.0, "
  .. "SymFloat? least=None, bool centers=False) -> Tensor", [=[
def non_max_suppression(boxes, scores, limit, threshold=0.0, least=None, centers=False):
    """(sample, class, box) of boxes in order of score that overlap with no better one of their class."""
    if centers:
        half = boxes[..., 2:] / 2
        low, high = boxes[..., :2] - half, boxes[..., :2] + half
    else:
        low = torch.minimum(boxes[..., :2], boxes[..., 2:])
        high = torch.maximum(boxes[..., :2], boxes[..., 2:])
    area = (high - low).prod(-1)
    chosen = []
    for sample in range(scores.shape[0]):
        a, b, size = low[sample], high[sample], area[sample]
        for kind in range(scores.shape[1]):
            score = scores[sample, kind]
            order = score.argsort(descending=True, stable=True)
            if least is not None:
                order = order[score[order] > least]
            count = 0
            while len(order) and count < limit:
                best, order = order[0], order[1:]
                chosen.append((sample, kind, best.item()))
                count += 1
                inner = torch.minimum(b[best], b[order]) - torch.maximum(a[best], a[order])
                common = inner.clamp(min=0).prod(-1)
                order = order[common <= threshold * (size[best] + size[order] - common)]
    return torch.tensor(chosen, dtype=torch.int64, device=boxes.device).reshape(-1, 3)]=])

python:helper("mel_weights(Tensor bins, Tensor length, Tensor rate, Tensor low, Tensor high) -> Tensor", [=[
def mel_weights(bins, length, rate, low, high):
    """Triangles over the bins of a spectrum, evenly spaced on the mel scale."""
    device = bins.device
    bins, length, rate = bins.item(), length.item(), rate.item()
    low, high = (2595 * math.log10(1 + f.item() / 700) for f in (low, high))
    step = (high - low) / (bins + 2)
    edges = [700 * (10 ** ((low + i * step) / 2595) - 1) for i in range(bins + 2)]
    edges = [int((length + 1) * edge // rate) for edge in edges]
    out = torch.zeros((length // 2 + 1, bins), device=device)
    for i, (left, center, right) in enumerate(zip(edges, edges[1:], edges[2:])):
        out[center, i] = 1
        for j in range(left, center):
            out[j, i] = (j - left) / (center - left)
        for j in range(center, right):
            out[j, i] = (right - j) / (right - center)
    return out]=])
