"""Makes int8.pt2, int4.pt2 and expected.npz: two models quantised by torchao (needs PyTorch 2.13, torchao 0.18)."""
import pathlib
import re

import numpy as np
import torch
from torch import nn
from torchao.quantization import Int8DynamicActivationIntxWeightConfig, PerGroup, quantize_
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
from torchao.testing.pt2e._xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
from torchao.utils import unwrap_tensor_subclass

HERE = pathlib.Path(__file__).resolve().parent


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.bn = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8)
        self.head = nn.Linear(8, 10)

    def forward(self, x):
        return self.head(torch.relu(self.bn(self.conv(x))).mean((2, 3)))


def int8(x):
    """Weights and activations of 8 bits, with scales that were measured beforehand."""
    config = get_symmetric_quantization_config(is_per_channel=True)
    net = torch.export.export(Net().eval(), (x,)).module()
    net = prepare_pt2e(net, XNNPACKQuantizer().set_global(config))
    for _ in range(8):
        net(torch.randn_like(x))
    return convert_pt2e(net)


def int4():
    """Weights of 4 bits, a scale for each 32 of a row; activations of 8 bits, a scale for each row at run time."""
    net = nn.Sequential(nn.Linear(128, 256), nn.GELU(), nn.Linear(256, 64)).eval()
    config = Int8DynamicActivationIntxWeightConfig(weight_dtype=torch.int4, weight_granularity=PerGroup(32))
    quantize_(net, config)
    return unwrap_tensor_subclass(net)


def save(net, x, path, **kw):
    program = torch.export.export(net, (x,), **kw)
    for node in program.graph.nodes:  # the file names of the machine that exported are nobody's business
        if "stack_trace" in node.meta:
            node.meta["stack_trace"] = re.sub(r'File "[^"]*/', 'File "', node.meta["stack_trace"])
    torch.export.save(program, path)
    with torch.no_grad():
        return net(x).numpy()


if __name__ == "__main__":
    torch.manual_seed(0)
    image, row = torch.randn(2, 3, 16, 16), torch.randn(4, 128)
    y8 = save(int8(image), image, HERE / "int8.pt2")
    y4 = save(int4(), row, HERE / "int4.pt2", dynamic_shapes=({0: torch.export.Dim("batch")},))
    np.savez(HERE / "expected.npz", int8_x=image.numpy(), int8_y=y8, int4_x=row.numpy(), int4_y=y4)
