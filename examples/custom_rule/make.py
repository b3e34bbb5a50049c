"""Makes head.pt2 and expected.npz: a model that uses an operator of its own (needs PyTorch 2.13)."""
import pathlib
import re

import numpy as np
import torch

HERE = pathlib.Path(__file__).resolve().parent


@torch.library.custom_op("mylib::swish_bias", mutates_args=())
def swish_bias(x: torch.Tensor, b: torch.Tensor, beta: float = 1.0) -> torch.Tensor:
    y = x + b
    return y * torch.sigmoid(y * beta)


@swish_bias.register_fake
def _(x, b, beta=1.0):
    return torch.empty_like(x)


class Head(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 8, bias=False)
        self.bias = torch.nn.Parameter(torch.randn(8))

    def forward(self, x):
        return torch.ops.mylib.swish_bias(self.linear(x), self.bias, 1.5)


if __name__ == "__main__":
    torch.manual_seed(0)
    model, x = Head().eval(), torch.randn(2, 4)
    with torch.no_grad():
        np.savez(HERE / "expected.npz", x=x.numpy(), y=model(x).numpy())
        program = torch.export.export(model, (x,))
    for node in program.graph.nodes:  # the file names of the machine that exported are nobody's business
        if "stack_trace" in node.meta:
            node.meta["stack_trace"] = re.sub(r'File "[^"]*/', 'File "', node.meta["stack_trace"])
    torch.export.save(program, HERE / "head.pt2")
