"""Build the models that t2o is measured on as cases: torchvision and small transformers.

    python make_models.py --out DIR [--only PATTERN]

Weights are random and seeded, since nothing is downloaded; batch-norm statistics and constant
parameters are made such that a wrong use of them shows. Existing cases are kept.
"""
import argparse
import collections
import copy
import fnmatch
import inspect
import pathlib
import shutil
import time
import warnings
import zlib

import torch
import tvshim  # noqa: F401  (before torchvision)
import torchvision
import transformers
from torch import nn
from torch.utils import _pytree as pytree

import common

warnings.filterwarnings("ignore")
VOCAB = 120


# ------------------------------------------------------------------ the models
class Vision(nn.Module):
    """A torchvision classifier for images of 64 by 64."""
    def __init__(self, name, **kw):
        super().__init__()
        self.m = torchvision.models.get_model(name, weights=None, **kw)

    def forward(self, x):
        return self.m(x)


class Language(nn.Module):
    """A transformers model whose outputs come back as a flat tuple of tensors."""
    def __init__(self, cls, config, **kw):
        super().__init__()
        config = getattr(transformers, config)(**kw)
        config.return_dict = True
        for c in (config, getattr(config, "text_config", None)):
            if c is not None and hasattr(c, "use_cache"):
                c.use_cache = False
        self.m = getattr(transformers, cls)(config)

    def forward(self, **kw):
        return tuple(tensors(dict(self.m(**kw))))


def image():
    return {"x": torch.randn(1, 3, 64, 64)}


def pixels():
    return {"pixel_values": torch.randn(2, 3, 32, 32)}


def tokens():
    """Token ids and a mask with one padded tail."""
    mask = torch.ones(2, 12, dtype=torch.int64)
    mask[0, -3:] = 0
    return {"input_ids": torch.randint(3, VOCAB, (2, 12)), "attention_mask": mask}


SIZES = dict(hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=96)
TEXT = dict(SIZES, vocab_size=VOCAB, max_position_embeddings=64)
MARKS = dict(bos_token_id=1, eos_token_id=2)
PICTURE = dict(SIZES, image_size=32, patch_size=8)
CLIP_TEXT = dict(TEXT, max_position_embeddings=32, pad_token_id=0, **MARKS)

# name -> (class and its arguments, how the inputs are made)
MODELS = {
    "tv_resnet18": ((Vision, "resnet18"), {}, image),
    "tv_mobilenet_v3_small": ((Vision, "mobilenet_v3_small"), {}, image),
    "tv_efficientnet_b0": ((Vision, "efficientnet_b0"), {}, image),
    "tv_vgg11_bn": ((Vision, "vgg11_bn"), dict(num_classes=10), image),
    "tv_densenet121": ((Vision, "densenet121"), {}, image),
    "tv_convnext_tiny": ((Vision, "convnext_tiny"), {}, image),
    "tv_vit_b_32": ((Vision, "vit_b_32"), dict(image_size=64), image),
    "tv_swin_t": ((Vision, "swin_t"), {}, image),
    "hf_bert": ((Language, "BertForMaskedLM", "BertConfig"), TEXT, tokens),
    "hf_gpt2": ((Language, "GPT2LMHeadModel", "GPT2Config"),
                dict(vocab_size=VOCAB, n_embd=64, n_layer=2, n_head=4, n_positions=64, **MARKS),
                tokens),
    "hf_llama": ((Language, "LlamaForCausalLM", "LlamaConfig"),
                 dict(TEXT, num_key_value_heads=2, head_dim=16, pad_token_id=0, **MARKS), tokens),
    "hf_t5_encoder": ((Language, "T5EncoderModel", "T5Config"),
                      dict(vocab_size=VOCAB, d_model=64, d_kv=16, d_ff=96, num_layers=2,
                           num_heads=4), tokens),
    "hf_clip": ((Language, "CLIPModel", "CLIPConfig"),
                dict(text_config=CLIP_TEXT, vision_config=PICTURE, projection_dim=32),
                lambda: {**tokens(), **pixels()}),
    "hf_vit": ((Language, "ViTForImageClassification", "ViTConfig"), PICTURE, pixels),
}


# ------------------------------------------------------------------ from a model to a case
def tensors(value):
    """The tensors of a nested value, in the order torch.export flattens them."""
    return [t for t in pytree.tree_leaves(value) if isinstance(t, torch.Tensor)]


@torch.no_grad()
def randomise(module, seed, inputs):
    """Weights whose effect shows: none constant, none vanishing, BN statistics to match.

    BN divides by the size of its whole input, not by that of each channel: the latter makes a
    random deep network so sensitive to rounding that no two right answers agree.
    """
    g = torch.Generator().manual_seed(seed)
    noise = lambda t: torch.randn(t.shape, generator=g).to(t.dtype)

    def calibrate(m, args):
        size = args[0].detach().pow(2).mean() + 1e-6
        m.running_mean.copy_(noise(m.running_mean) * 0.05 * size.sqrt())
        m.running_var.copy_(size * (0.9 + 0.2 * torch.rand(m.running_var.shape, generator=g)))

    for p in module.parameters():
        if not p.is_floating_point() or p.numel() < 2:
            continue
        if p.min() == p.max():
            p.add_(noise(p) * 0.1)
        elif p.dim() >= 2:
            want = (p.numel() / p.shape[0]) ** -0.5
            if p.std() < want / 2:
                p.mul_(want / p.std())
    norms = [m for m in module.modules() if getattr(m, "running_var", None) is not None]
    hooks = [m.register_forward_pre_hook(calibrate) for m in norms]
    if norms:
        module(**inputs)
    for h in hooks:
        h.remove()


def name_inputs(module, names):
    """Let forward(**kw) show its inputs by name, which is what torch.export names them by."""
    if "kw" not in inspect.signature(module.forward).parameters:
        return

    class Named(type(module)):
        def forward(self, **kw):
            return super().forward(**kw)
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    Named.forward.__signature__ = inspect.Signature(
        [inspect.Parameter(n, kind) for n in ("self", *names)])
    module.__class__ = Named


def count_targets(program):
    """How often each operator occurs, bodies of control flow included."""
    count = collections.Counter()
    for m in program.graph_module.modules():
        if isinstance(m, torch.fx.GraphModule):
            count.update(str(n.target) for n in m.graph.nodes if n.op == "call_function")
    count.pop("<built-in function getitem>", None)
    return dict(count.most_common())


def check(want, run, inputs):
    """Finite outputs that rounding the inputs moves by well below the tolerance."""
    if not all(torch.isfinite(t).all() for t in want if t.is_floating_point()):
        raise ValueError("the outputs are not finite")
    moved = run({k: v * (1 + 1e-6 * torch.randn(v.shape)) if v.is_floating_point() else v
                 for k, v in inputs.items()})
    rtol, atol = common.TOL["float32"]
    worst = max(float(((a - b).abs() / (atol + rtol * a.abs())).max())
                for a, b in zip(want, moved) if a.dtype == torch.float32)
    if worst > 1:
        raise ValueError(f"ill-conditioned: rounding moves the outputs by {worst:.2g} tolerances")


def build(name, folder):
    """Make, export, check and save one model; returns its facts."""
    (cls, *args), kw, make_inputs = MODELS[name]
    seed = zlib.crc32(name.encode())
    torch.manual_seed(seed)
    module = cls(*args, **kw).eval()
    inputs = make_inputs()
    randomise(module, seed, inputs)
    name_inputs(module, inputs)
    run = lambda k: tensors(copy.deepcopy(module)(**{n: v.clone() for n, v in k.items()}))
    want = run(inputs)
    check(want, run, inputs)
    program = torch.export.export(module, (), inputs, strict=False)
    facts = dict(model=name, family="torchvision" if cls is Vision else "transformers",
                 params=sum(p.numel() for p in program.state_dict.values()),
                 n_nodes=sum(n.op == "call_function" for n in program.graph.nodes),
                 versions=dict(torch=torch.__version__, torchvision=torchvision.__version__,
                               transformers=transformers.__version__),
                 targets=count_targets(program))
    common.write_case(folder, program, list(inputs.values()), want, **facts)
    return facts


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--out", required=True, type=pathlib.Path)
    p.add_argument("--only", default="*")
    a = p.parse_args()
    for name in fnmatch.filter(MODELS, a.only):
        folder = a.out / name
        if (folder / "case.json").exists():
            continue
        shutil.rmtree(folder, ignore_errors=True)
        start = time.time()
        facts = build(name, folder)
        print(f"{name:24} {time.time() - start:6.1f} s, {facts['n_nodes']:4} nodes, "
              f"{facts['params'] / 1e6:5.1f} M", flush=True)


if __name__ == "__main__":
    main()
