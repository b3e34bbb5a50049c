"""Makes decoder.pt2 and expected.json: a small decoder that has learned LICENSE by heart (needs PyTorch 2.13)."""
import json
import pathlib
import re

import torch
from torch import nn
from torch.nn import functional as F

HERE = pathlib.Path(__file__).resolve().parent
ROOM, WIDTH, HEADS, STEPS = 96, 32, 4, 64  # ROOM: how many characters the cache holds
PROMPT = "Permission is hereby "


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        for name in ("keys", "values"):
            self.register_buffer(name, torch.zeros(1, HEADS, ROOM, WIDTH // HEADS))

    def forward(self, x, position):
        q, k, v = (t.unflatten(-1, (HEADS, -1)).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        if self.training:
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            self.keys.index_copy_(2, position, k)
            self.values.index_copy_(2, position, v)
            seen = torch.arange(ROOM) <= position[:, None]
            y = F.scaled_dot_product_attention(q, self.keys, self.values, attn_mask=seen)
        return self.out(y.transpose(1, 2).flatten(-2))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.attention, self.norm2 = nn.LayerNorm(WIDTH), Attention(), nn.LayerNorm(WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, WIDTH))

    def forward(self, x, position):
        x = x + self.attention(self.norm1(x), position)
        return x + self.mlp(self.norm2(x))


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.place = nn.Embedding(128, WIDTH), nn.Embedding(ROOM, WIDTH)
        self.layers = nn.ModuleList([Block(), Block()])
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, 128)

    def forward(self, tokens, position):
        x = self.embed(tokens) + self.place(position)
        for layer in self.layers:
            x = layer(x, position)
        return self.head(self.norm(x))


def train(model, text, rounds=2500):
    """Windows that begin anywhere in the text."""
    windows = torch.tensor(list(text)).unfold(0, ROOM + 1, 1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, rounds)
    for i in range(rounds):
        batch = windows[torch.randint(len(windows), (16,))]
        loss = F.cross_entropy(model(batch[:, :-1], torch.arange(ROOM)).flatten(0, 1), batch[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        if i % 100 == 0:
            print(f"round {i}: loss {loss:.3f}")


@torch.no_grad()
def generate(model, tokens):
    """The characters that the model in PyTorch continues with."""
    out, logits = [], model(torch.tensor([tokens]), torch.arange(len(tokens)))
    for at in range(len(tokens), len(tokens) + STEPS):
        out.append(int(logits[0, -1].argmax()))
        logits = model(torch.tensor([out[-1:]]), torch.tensor([at]))
    return out


if __name__ == "__main__":
    torch.manual_seed(0)
    model = Decoder()
    train(model, (HERE.parents[1] / "LICENSE").read_text().replace("\n", " ").encode())
    model.eval().requires_grad_(False)
    length = torch.export.Dim("length", max=ROOM)
    program = torch.export.export(model, (torch.ones(1, 3, dtype=torch.int64), torch.arange(3)),
                                  dynamic_shapes=({1: length}, {0: length}))
    for node in program.graph.nodes:  # the file names of the machine that exported are nobody's business
        if "stack_trace" in node.meta:
            node.meta["stack_trace"] = re.sub(r'File "[^"]*/', 'File "', node.meta["stack_trace"])
    torch.export.save(program, HERE / "decoder.pt2")
    prompt = list(PROMPT.encode())
    expected = {"prompt": prompt, "tokens": generate(model, prompt)}
    (HERE / "expected.json").write_text(json.dumps(expected) + "\n")
    print(PROMPT + bytes(expected["tokens"]).decode())
