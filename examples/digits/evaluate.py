"""Score digits.onnx on the held-out images with ONNX Runtime, beside what PyTorch scored.

    python evaluate.py digits.onnx

Needs numpy and onnxruntime only. Exit status 1 if the two differ.
"""
import json
import pathlib
import sys

import numpy as np
import onnxruntime

HERE = pathlib.Path(__file__).resolve().parent


def main():
    model = sys.argv[1] if len(sys.argv) > 1 else "digits.onnx"
    data = np.load(HERE / "heldout.npz")
    images, labels = data["images"].astype(np.float32), data["labels"]
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    batches = (images[:1], images[1:101], images[101:])  # the batch size is free
    scores = np.concatenate([session.run(None, {name: x})[0] for x in batches])
    right = int((scores.argmax(1) == labels).sum())
    recorded = json.loads((HERE / "accuracy.json").read_text())
    print(f"PyTorch       {recorded['right']} of {recorded['images']} ({recorded['accuracy']:.2%})")
    print(f"ONNX Runtime  {right} of {len(labels)} ({right / len(labels):.2%})")
    if (right, len(labels)) != (recorded["right"], recorded["images"]):
        sys.exit("the converted model scores differently")


if __name__ == "__main__":
    main()
