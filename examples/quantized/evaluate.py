"""Counts what quantises in a converted model and compares its results with PyTorch's: evaluate.py REPORT.json"""
import collections
import json
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime

report = json.loads(pathlib.Path(sys.argv[1]).read_text())
path = pathlib.Path(report["output"])
name = path.stem
kept = np.load(pathlib.Path(__file__).resolve().parent / "expected.npz")

graph = onnx.load(path).graph
nodes = collections.Counter(n.op_type for n in graph.node)
for kind, op in ("quantize", "QuantizeLinear"), ("dequantize", "DequantizeLinear"):
    counts = report["quantized"][kind]
    print(f"{name}: {counts['torch']} calls that {kind}, {nodes[op]} nodes {op}")
    assert counts["torch"] == counts["onnx"] == nodes[op]
weights = collections.Counter()
for t in graph.initializer:
    weights[onnx.TensorProto.DataType.Name(t.data_type).lower()] += int(np.prod(t.dims))
print(f"{name}: {dict(weights)} elements of constants")

# As the graph says: with optimisations, ONNX Runtime joins it to integer kernels that round elsewhere.
options = onnxruntime.SessionOptions()
options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
got, = session.run(None, {session.get_inputs()[0].name: kept[name + "_x"]})
difference = np.abs(got - kept[name + "_y"]).max()
print(f"{name}: largest difference from PyTorch: {difference:.1e}")
sys.exit(0 if difference < 1e-5 else 1)
