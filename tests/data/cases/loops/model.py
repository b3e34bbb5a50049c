import json
import math
import mmap
from pathlib import Path

import torch
from torch import nn

DTYPES = {"F32": torch.float32}


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("weight", torch.zeros((3, 3)))

    def forward(self, x):
        y = torch.zeros((), dtype=torch.int64, device=x.device)
        x_2, x_3 = y, x
        while x_2 < 3:
            x_2, x_3 = x_2 + 1, (x_3 @ self.weight).tanh()
        x_4, x_5 = y, x
        while x_5.abs().sum() > 1:
            x_4, x_5 = x_4 + 1, x_5 / 2
        state = x[0] * 0
        rows = []
        for row in x:
            y = (state * 0.5 + row).sin()
            rows.append(state + row)
            state = y
        return x_3, x_4, x_5, state, torch.stack(rows)


def read_weights(path):
    """The tensors of a safetensors file by name, mapped into memory."""
    with open(path, "rb") as file:
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    start = 8 + int.from_bytes(data[:8], "little")
    tensors = {}
    for name, entry in json.loads(data[8:start]).items():
        if name == "__metadata__":
            continue
        dtype, shape = DTYPES[entry["dtype"]], entry["shape"]
        begin, end = entry["data_offsets"]
        tensors[name] = torch.empty(shape, dtype=dtype)
        if begin < end:
            flat = torch.frombuffer(data, dtype=dtype, offset=start + begin, count=math.prod(shape))
            tensors[name] = flat.reshape(shape)
    return tensors


def load(path=None) -> Model:
    """The model with its weights, by default those in the file beside this one."""
    model = Model()
    weights = read_weights(path or Path(__file__).with_suffix(".safetensors"))
    model.load_state_dict(weights)
    return model.eval()
