"""Runs a converted head.onnx on the recorded input: evaluate.py MODEL"""
import pathlib
import sys

import numpy as np
import onnxruntime

kept = np.load(pathlib.Path(__file__).resolve().parent / "expected.npz")
got, = onnxruntime.InferenceSession(sys.argv[1], providers=["CPUExecutionProvider"]).run(None, {"x": kept["x"]})
difference = np.abs(got - kept["y"]).max()
print(f"largest difference from PyTorch: {difference:.1e}")
sys.exit(0 if difference < 1e-5 else 1)
