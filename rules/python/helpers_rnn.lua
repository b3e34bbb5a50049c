-- rules/python/helpers_rnn.lua: recurrent networks that torch.nn does not have: other activations, clipping, peepholes,
-- sequences of different lengths.

local python = require("t2o.pyrules").registry

python:helper("activation(str name, float alpha, float beta) -> Any", [=[
def activation(name, alpha, beta):
    """The function of an activation's name."""
    return {
        "sigmoid": torch.sigmoid,
        "tanh": torch.tanh,
        "relu": torch.relu,
        "softsign": F.softsign,
        "softplus": F.softplus,
        "affine": lambda x: alpha * x + beta,
        "leakyrelu": lambda x: F.leaky_relu(x, alpha),
        "thresholdedrelu": lambda x: torch.where(x > alpha, x, 0),
        "scaledtanh": lambda x: alpha * torch.tanh(beta * x),
        "hardsigmoid": lambda x: (alpha * x + beta).clamp(0, 1),
        "elu": lambda x: F.elu(x, alpha),
    }[name]]=])

python:helper("scan_directions(Tensor x, Any cell, Any states, str direction, Tensor lengths) -> Any", [=[
def scan_directions(x, cell, states, direction, lengths):
    """The steps of each direction; samples that have ended keep their state and give zeros."""
    outs, lasts = [], []
    for d in range(len(states[0])):
        step, state = cell(d), [s[d] for s in states]
        out = [None] * len(x)
        steps = range(len(x))
        for i in reversed(steps) if direction == "reverse" or d else steps:
            new = step(x[i], *state)
            out[i] = new[0]
            if lengths is not None:
                on = (i < lengths)[:, None]
                out[i] = torch.where(on, new[0], 0)
                new = [torch.where(on, n, s) for n, s in zip(new, state)]
            state = new
        outs.append(torch.stack(out) if out else x.new_zeros((0, *state[0].shape)))
        lasts.append(state)
    return torch.cat(outs, -1), *(torch.stack(last) for last in zip(*lasts))]=])

local TAIL = "str names, float[] alphas, float[] betas, Tensor? b=None, Tensor? lengths=None"

local function tidy(source)
  return (source:gsub("@functions(%d)", function(count)
    return "functions = [activation(*a) for a in zip(names.split(\",\"), alphas, betas)][" .. count .. " * d :]"
  end))
end

python:helper("onnx_lstm(Tensor x, Tensor w, Tensor r, Tensor h, Tensor c, str direction, float clip, bool coupled, "
  .. TAIL .. ", Tensor? p=None) -> (Tensor, Tensor, Tensor)", tidy [=[
def onnx_lstm(
    x, w, r, h, c, direction, clip, coupled, names, alphas, betas, b=None, lengths=None, p=None
):
    """LSTM with gates in the order i, o, f, c."""

    def cell(d):
        @functions3
        bias = 0 if b is None else sum(b[d].chunk(2))
        pi, po, pf = (0, 0, 0) if p is None else p[d].chunk(3)

        def step(x, h, c):
            i, o, f, g = (x @ w[d].T + h @ r[d].T + bias).chunk(4, -1)
            i = functions[0]((i + pi * c).clamp(-clip, clip))
            f = 1 - i if coupled else functions[0]((f + pf * c).clamp(-clip, clip))
            c = f * c + i * functions[1](g.clamp(-clip, clip))
            o = functions[0]((o + po * c).clamp(-clip, clip))
            return o * functions[2](c), c

        return step

    return scan_directions(x, cell, [h, c], direction, lengths)]=])

python:helper("onnx_gru(Tensor x, Tensor w, Tensor r, Tensor h, str direction, float clip, bool after, "
  .. TAIL .. ") -> (Tensor, Tensor)", tidy [=[
def onnx_gru(x, w, r, h, direction, clip, after, names, alphas, betas, b=None, lengths=None):
    """GRU with gates in the order z, r, h; the reset gate works on h, or on its product."""

    def cell(d):
        @functions2
        wz, wr, wh = w[d].chunk(3)
        rz, rr, rh = r[d].chunk(3)
        wbz, wbr, wbh, rbz, rbr, rbh = (0,) * 6 if b is None else b[d].chunk(6)

        def step(x, h):
            z = functions[0]((x @ wz.T + h @ rz.T + wbz + rbz).clamp(-clip, clip))
            reset = functions[0]((x @ wr.T + h @ rr.T + wbr + rbr).clamp(-clip, clip))
            past = reset * (h @ rh.T + rbh) if after else (reset * h) @ rh.T + rbh
            return (1 - z) * functions[1]((x @ wh.T + wbh + past).clamp(-clip, clip)) + z * h,

        return step

    return scan_directions(x, cell, [h], direction, lengths)]=])

python:helper("onnx_rnn(Tensor x, Tensor w, Tensor r, Tensor h, str direction, float clip, "
  .. TAIL .. ") -> (Tensor, Tensor)", tidy [=[
def onnx_rnn(x, w, r, h, direction, clip, names, alphas, betas, b=None, lengths=None):
    """A network of one gate."""

    def cell(d):
        @functions1
        bias = 0 if b is None else sum(b[d].chunk(2))
        return lambda x, h: (functions[0]((x @ w[d].T + h @ r[d].T + bias).clamp(-clip, clip)),)

    return scan_directions(x, cell, [h], direction, lengths)]=])
