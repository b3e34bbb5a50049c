"""Decoders with a key-value cache, token by token: ONNX Runtime against PyTorch.

    python run_decoders.py [--opsets "18 20 23"] [--only PATTERN] [--steps 64] [--keep DIR]

Small transformers models with seeded random weights, and one written here by hand, are exported
with their cache as buffers of the module or as inputs, converted, and made to continue a prompt
greedily. The tokens must be those of PyTorch in eager mode, and the logits of every step within
tolerance. Exit status 1 if anything differs. Needs PyTorch and transformers.
"""
import argparse
import dataclasses
import fnmatch
import os
import pathlib
import sys
import tempfile
import time
import warnings

os.environ.setdefault("OMP_NUM_THREADS", "1")
import numpy as np  # noqa: E402
import onnx  # noqa: E402
import onnxruntime  # noqa: E402
import torch  # noqa: E402
import tvshim  # noqa: E402, F401  (before transformers, which imports torchvision)
import transformers  # noqa: E402
from torch import nn  # noqa: E402
from torch.export import Dim  # noqa: E402
from transformers.integrations import executorch  # noqa: E402

import common  # noqa: E402
import run_cases  # noqa: E402

VOCAB, PROMPT, ROOM = 1000, 6, 96  # ROOM: tokens that a cache of a fixed size holds
TOO_CLOSE = 1e-3  # logits so near each other that rounding could choose the token


# ------------------------------------------------------------------ the models
SIZES = dict(vocab_size=VOCAB, hidden_size=64, intermediate_size=128, num_hidden_layers=3,
             num_attention_heads=4, num_key_value_heads=2, head_dim=16, tie_word_embeddings=False,
             max_position_embeddings=256, initializer_range=0.3,  # large: so that tokens vary
             bos_token_id=1, eos_token_id=None, pad_token_id=0)


def pretrained(name, **changes):
    """A transformers model with random weights: "Llama", "Qwen2" ..."""
    torch.manual_seed(0)
    config = getattr(transformers, f"{name}Config")(**{**SIZES, **changes})
    return getattr(transformers, f"{name}ForCausalLM")(config).eval()


class HandWritten(nn.Module):
    """One layer of attention; `write` says how the new keys and values get into the buffers."""
    def __init__(self, write, heads=4, width=64):
        super().__init__()
        torch.manual_seed(0)
        self.write, self.heads = write, heads
        self.embed, self.place = nn.Embedding(VOCAB, width), nn.Embedding(ROOM, width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, VOCAB)
        for name in ("keys", "values"):
            self.register_buffer(name, torch.zeros(1, heads, ROOM, width // heads))

    def forward(self, input_ids, cache_position):
        x = self.embed(input_ids) + self.place(cache_position)
        q, k, v = (t.unflatten(-1, (self.heads, -1)).transpose(1, 2)
                   for t in self.qkv(x).chunk(3, -1))
        self.write(self.keys, cache_position, k)
        self.write(self.values, cache_position, v)
        seen = torch.arange(ROOM) <= cache_position[:, None]
        y = nn.functional.scaled_dot_product_attention(q, self.keys, self.values, attn_mask=seen)
        return self.out(x + y.transpose(1, 2).flatten(-2))


def by_index(cache, at, new):
    cache.index_copy_(2, at, new)


def by_assignment(cache, at, new):
    cache[:, :, at] = new


def by_slice(cache, at, new):
    start = at[0].item()
    torch._check(start >= 0)
    torch._check(start + new.shape[2] <= ROOM)
    cache[:, :, start:start + new.shape[2]] = new


def by_mask(cache, at, new):
    cache.copy_(torch.where((torch.arange(ROOM) == at)[:, None], new, cache))


class CacheAsInputs(nn.Module):
    """forward(input_ids, past, mask) -> logits and the longer cache; `past` is a flat list."""
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids, past, mask=None):
        pairs = list(zip(past[::2], past[1::2]))
        cache = transformers.DynamicCache(pairs)
        logits = self.model(input_ids=input_ids, attention_mask=mask, cache=cache).logits
        return logits, [t for layer in cache.layers for t in (layer.keys, layer.values)]


# ------------------------------------------------------------------ what is exported
@dataclasses.dataclass
class Decoder:
    """An exported decoder. `whole` says that it takes the prompt in one call, else token by token."""
    program: torch.export.ExportedProgram
    reference: nn.Module
    whole: bool = False
    cache: bool = False  # the cache is input and output of the program itself
    mask: bool = False   # ... and it wants an attention mask


SEQ = Dim("seq", max=ROOM - 1)


def static(name, whole=False, strict=True, decompose=False, **changes):
    """transformers' own recipe: the cache is held in buffers of the exported module."""
    model = pretrained(name, **changes)
    model.generation_config.cache_implementation = "static"
    recipe = executorch.TorchExportableModuleForDecoderOnlyLM(model, 1, ROOM)
    n = 3 if whole else 1
    shapes = {"input_ids": {1: SEQ}, "cache_position": {0: SEQ}} if whole else None
    program = recipe.export(input_ids=torch.ones(1, n, dtype=torch.int64), dynamic_shapes=shapes,
                            cache_position=torch.arange(n), strict=strict)
    program = program.run_decompositions() if decompose else program
    return Decoder(program, pretrained(name, **changes), whole)


def dynamic(name, whole=True, mask=False, pytree=False, **changes):
    """The cache goes in and comes out, longer by the tokens that were given."""
    model = pretrained(name, **changes)
    layers, n = model.config.num_hidden_layers, 3 if whole else 1
    past = [torch.randn(1, 2, 5, 16) for _ in range(2 * layers)]
    ids = {"input_ids": torch.ones(1, n, dtype=torch.int64)}
    shapes = {"input_ids": {1: Dim.DYNAMIC} if whole else None}
    grows = [{2: Dim.DYNAMIC}] * len(past)
    if pytree:
        executorch.register_dynamic_cache_export_support()
        inputs = {**ids, "cache": transformers.DynamicCache(list(zip(past[::2], past[1::2])))}
        shapes["cache"] = [grows[::2], grows[1::2]]
        program = torch.export.export(model, (), inputs, dynamic_shapes=shapes, strict=False)
        return Decoder(program, pretrained(name, **changes), whole, cache=True)
    inputs = {**ids, "past": past}
    shapes["past"] = grows
    if mask:
        inputs["mask"] = torch.ones(1, 5 + n, dtype=torch.int64)
        shapes["mask"] = {1: Dim.DYNAMIC}
    program = torch.export.export(CacheAsInputs(model), (), inputs, dynamic_shapes=shapes,
                                  strict=False)
    return Decoder(program, pretrained(name, **changes), whole, cache=True, mask=mask)


def by_hand(write, whole=False):
    n = 3 if whole else 1
    inputs = (torch.ones(1, n, dtype=torch.int64), torch.arange(n))
    shapes = ({1: SEQ}, {0: SEQ}) if whole else None
    program = torch.export.export(HandWritten(write).eval(), inputs, dynamic_shapes=shapes)
    return Decoder(program, HandWritten(write).eval(), whole)


DECODERS = {
    "llama_static": lambda: static("Llama"),
    "llama_static_prefill": lambda: static("Llama", whole=True),
    "llama_static_nonstrict": lambda: static("Llama", whole=True, strict=False),
    "llama_static_decomposed": lambda: static("Llama", decompose=True),
    "qwen2_static": lambda: static("Qwen2"),
    "qwen3_static_prefill": lambda: static("Qwen3", whole=True),
    "llama_dynamic": lambda: dynamic("Llama"),
    "llama_dynamic_mask": lambda: dynamic("Llama", mask=True),
    "llama_dynamic_pytree": lambda: dynamic("Llama", pytree=True),
    "qwen2_dynamic": lambda: dynamic("Qwen2"),
    "qwen3_dynamic_step": lambda: dynamic("Qwen3", whole=False),
    "hand_index_copy": lambda: by_hand(by_index),
    "hand_index_put": lambda: by_hand(by_assignment, whole=True),
    "hand_slice": lambda: by_hand(by_slice, whole=True),
    "hand_where": lambda: by_hand(by_mask),
}


# ------------------------------------------------------------------ PyTorch
def prompt():
    return torch.randint(3, VOCAB, (1, PROMPT), generator=torch.Generator().manual_seed(1))


@torch.no_grad()
def eager(model, steps):
    """(tokens, logits of each step) that PyTorch continues the prompt with."""
    if isinstance(model, HandWritten):
        tokens, logits = prompt()[0].tolist(), []
        for at in range(PROMPT + steps - 1):
            logits.append(model(torch.tensor([tokens[at:at + 1]]), torch.tensor([at]))[0, -1])
            if at >= PROMPT - 1:
                tokens.append(int(logits[-1].argmax()))
        chosen, logits = tokens[PROMPT:], torch.stack(logits[PROMPT - 1:])
    else:
        done = model.generate(prompt(), max_new_tokens=steps, do_sample=False, output_logits=True,
                              return_dict_in_generate=True)
        chosen, logits = done.sequences[0, PROMPT:].tolist(), torch.cat(done.logits)
    best = logits.topk(2).values
    assert (best[:, 0] - best[:, 1]).min() > TOO_CLOSE, "two tokens are nearly as good: other seed"
    assert len(set(chosen)) > steps // 2, "the tokens hardly vary: other seed"
    return chosen, logits.numpy()


# ------------------------------------------------------------------ ONNX Runtime
class Runner:
    """A converted decoder with its cache: run.step(tokens) gives the logits of the last one."""
    def __init__(self, path, decoder):
        options = onnxruntime.SessionOptions()
        options.log_severity_level, options.intra_op_num_threads = 3, 1
        self.session = onnxruntime.InferenceSession(str(path), options,
                                                    providers=["CPUExecutionProvider"])
        self.decoder, self.at = decoder, 0
        self.outputs = [o.name for o in self.session.get_outputs()]
        inputs = [i.name for i in self.session.get_inputs()]
        self.kept = dict.fromkeys(i.name for i in self.session.get_overridable_initializers())
        self.state = {name + ".out": name for name in self.kept}
        if decoder.cache:
            names = [n for n in inputs if n not in ("input_ids", "mask")]
            self.state = dict(zip(self.outputs[1:], names))
            self.kept = dict.fromkeys(names, np.zeros((1, 2, 0, 16), np.float32))
        if not self.state or sorted(self.state) != sorted(self.outputs[1:]):
            raise ValueError(f"inputs {inputs}, outputs {self.outputs}, state {list(self.kept)}")

    def step(self, tokens):
        feed = {"input_ids": np.array([tokens], np.int64)}
        if not self.decoder.cache:
            feed["cache_position"] = np.arange(self.at, self.at + len(tokens))
        if self.decoder.mask:
            feed["mask"] = np.ones((1, self.at + len(tokens)), np.int64)
        feed.update((k, v) for k, v in self.kept.items() if v is not None)  # else as it begins
        got = dict(zip(self.outputs, self.session.run(None, feed)))
        self.kept = {name: got[out] for out, name in self.state.items()}
        self.at += len(tokens)
        return got[self.outputs[0]][0, -1]


def continue_prompt(runner, steps):
    tokens = prompt()[0].tolist()
    for piece in [tokens] if runner.decoder.whole else [[t] for t in tokens]:
        logits = runner.step(piece)
    chosen, seen = [], []
    while True:
        seen.append(logits)
        chosen.append(int(logits.argmax()))
        if len(chosen) == steps:
            return chosen, np.stack(seen)
        logits = runner.step(chosen[-1:])


def differs(want, got):
    """What is not as in PyTorch, or None."""
    for i, (a, b) in enumerate(zip(want[0], got[0])):
        if a != b:
            return f"token {i} is {b}, in PyTorch {a}"
    worst = np.abs(want[1] - got[1]).max()
    rtol, atol = common.TOL["float32"]
    return None if worst < atol + rtol * np.abs(want[1]).max() else f"logits differ by {worst:.1e}"


def measure(decoder, pt2, path, want, opset, steps):
    """(status, message, nodes) at one opset."""
    status, message = run_cases.convert_by_command(run_cases.COMMAND, pt2, path, opset)
    if status:
        return status, message, 0
    nodes = len(onnx.load(path).graph.node)
    if complaint := run_cases.check_model(path, {}):
        return "invalid_model", complaint, nodes
    try:
        reason = differs(want, continue_prompt(Runner(path, decoder), steps))
    except Exception as e:
        return "runtime_error", run_cases.one_line(f"{type(e).__name__}: {e}"), nodes
    return ("mismatch", reason, nodes) if reason else ("ok", "", nodes)


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--opsets", default="18 20 23")
    p.add_argument("--only", default="*")
    p.add_argument("--steps", type=int, default=64)
    p.add_argument("--keep", type=pathlib.Path, help="keep archives and models in this folder")
    a = p.parse_args()
    opsets = [int(x) for x in a.opsets.replace(",", " ").split()]
    passed, failures, started = 0, [], time.time()
    scratch = tempfile.TemporaryDirectory()
    home = a.keep or pathlib.Path(scratch.name)
    home.mkdir(parents=True, exist_ok=True)
    print(f"{'decoder':28}" + "".join(f"{f'opset {o}':>22}" for o in opsets), flush=True)
    for name in fnmatch.filter(DECODERS, a.only):
        print(f"{name:28}", end="", flush=True)
        decoder = DECODERS[name]()
        want = eager(decoder.reference, a.steps)
        torch.export.save(decoder.program, home / f"{name}.pt2")
        for opset in opsets:
            path = home / f"{name}.{opset}.onnx"
            status, message, nodes = measure(decoder, home / f"{name}.pt2", path, want, opset,
                                             a.steps)
            print(f"{status:>12}{nodes:4d} nodes", end="", flush=True)
            passed += status == "ok"
            if status != "ok":
                failures.append(f"{name} at {opset}: {status}: {message}")
        print(flush=True)
    print(*failures, sep="\n")
    print(f"{a.steps} tokens each: {passed} passed, {len(failures)} failed, "
          f"{time.time() - started:.0f} s")
    sys.exit(bool(failures) or not passed)


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    main()
