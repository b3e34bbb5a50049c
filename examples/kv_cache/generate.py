"""Continues the prompt with a converted decoder.onnx, character by character: generate.py MODEL"""
import json
import pathlib
import sys

import numpy as np
import onnxruntime

expected = json.loads((pathlib.Path(__file__).resolve().parent / "expected.json").read_text())
options = onnxruntime.SessionOptions()
options.log_severity_level = 3  # it warns that initializers which are inputs too cannot be folded
session = onnxruntime.InferenceSession(sys.argv[1], options, providers=["CPUExecutionProvider"])
logits, *caches = [o.name for o in session.get_outputs()]  # "layers.0.attention.keys.out", ...

state, position = {}, 0  # no state is given at first: then the caches are as the model brings them


def step(tokens):
    """Runs the model on some tokens, keeps its caches, returns the best next token."""
    global position
    inputs = {"tokens": [tokens], "position": range(position, position + len(tokens))}
    got = session.run([logits, *caches], {**{k: np.array(v, np.int64) for k, v in inputs.items()}, **state})
    state.update((name.removesuffix(".out"), value) for name, value in zip(caches, got[1:]))
    position += len(tokens)
    return int(got[0][0, -1].argmax())


chosen = [step(expected["prompt"])]
while len(chosen) < len(expected["tokens"]):
    chosen.append(step(chosen[-1:]))
print(bytes(expected["prompt"] + chosen).decode())
same = sum(a == b for a, b in zip(chosen, expected["tokens"]))
print(f"{same} of {len(chosen)} tokens as in PyTorch")
sys.exit(same != len(chosen))
