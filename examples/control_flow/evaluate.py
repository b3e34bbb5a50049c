"""Runs a converted decoder.onnx on sequences of two lengths: evaluate.py MODEL"""
import pathlib
import sys

import numpy as np
import onnxruntime

kept = np.load(pathlib.Path(__file__).resolve().parent / "expected.npz")
session = onnxruntime.InferenceSession(sys.argv[1], providers=["CPUExecutionProvider"])
worst = 0
for name in ("short", "long"):
    got = session.run(None, {"x": kept[name]})
    for part, y in zip(("steps", "state", "count"), got):
        worst = max(worst, np.abs(y - kept[f"{name}_{part}"]).max())
    print(f"{name}: {len(kept[name])} steps, settled after {got[2]} rounds")
print(f"largest difference from PyTorch: {worst:.1e}")
sys.exit(0 if worst < 1e-5 else 1)
