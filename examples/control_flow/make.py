"""Makes decoder.pt2 and expected.npz: a model whose branches and loops stay in the graph (needs PyTorch 2.13)."""
import pathlib
import re

import numpy as np
import torch
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop

HERE = pathlib.Path(__file__).resolve().parent


class Decoder(torch.nn.Module):
    """Runs a cell along a sequence, sharpens long ones step by step, and repeats the last state until it has settled."""
    def __init__(self):
        super().__init__()
        self.register_buffer("into", torch.randn(4, 4) / 2)
        self.register_buffer("over", torch.randn(4, 4) / 4)

    def forward(self, x):
        def cell(state, row):
            new = (row @ self.into + state @ self.over).tanh()
            return new, torch.cond(row.sum() > 0, lambda s: s * 2, lambda s: s @ self.over, (new,))

        def settle(count, state):
            return count + 1, (state @ self.over).tanh()
        last, steps = scan(cell, x[0] * 0, x)
        steps = torch.cond(x.shape[0] > 4, lambda s: s.softmax(-1), lambda s: s.sigmoid(), (steps,))
        count, state = while_loop(lambda count, s: (s.abs().max() > 0.001) & (count < 100), settle,
                                  (torch.zeros((), dtype=torch.int64), last))
        return steps, state, count


if __name__ == "__main__":
    torch.manual_seed(0)
    model = Decoder().eval()
    short, long = torch.randn(3, 4), torch.randn(7, 4)
    kept = {"short": short, "long": long}
    for name, x in list(kept.items()):
        for part, y in zip(("steps", "state", "count"), model(x)):
            kept[f"{name}_{part}"] = y
    np.savez(HERE / "expected.npz", **{name: v.numpy() for name, v in kept.items()})
    program = torch.export.export(model, (short,), dynamic_shapes=({0: torch.export.Dim("length")},))
    for graph in (m for m in program.graph_module.modules() if isinstance(m, torch.fx.GraphModule)):
        for node in graph.graph.nodes:  # the file names of the machine that exported are nobody's business
            node.meta.pop("from_node", None)
            if "stack_trace" in node.meta:
                node.meta["stack_trace"] = re.sub(r'File "[^"]*/', 'File "', node.meta["stack_trace"])
    torch.export.save(program, HERE / "decoder.pt2")
