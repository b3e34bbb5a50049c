"""Looks at the inputs of the converted models and runs them: evaluate.py FOLDER"""
import pathlib
import sys

import numpy as np
import onnxruntime

folder = pathlib.Path(sys.argv[1])
images = np.load(pathlib.Path(__file__).resolve().parents[1] / "digits" / "heldout.npz")["images"]
images = images[:5].astype(np.float32)
named, one = (onnxruntime.InferenceSession(folder / f"{name}.onnx", providers=["CPUExecutionProvider"])
              for name in ("named", "one"))
shapes = [s.get_inputs()[0].shape for s in (named, one)]
print("named", shapes[0], "fixed", shapes[1])
together, = named.run(None, {"image": images})
singly = np.concatenate([one.run(None, {"image": image[None]})[0] for image in images])
same = np.abs(together - singly).max()
print(f"five images at once and one by one: largest difference {same:.1e}")
sys.exit(0 if shapes == [["batch", 1, 8, 8], [1, 1, 8, 8]] and same < 1e-4 else 1)
