"""Prints the names of a converted model and checks them: look.py MODEL"""
import sys

import onnx

model = onnx.load(sys.argv[1])
onnx.checker.check_model(model)
inputs, outputs = ([v.name for v in values] for values in (model.graph.input, model.graph.output))
weights = [i.name for i in model.graph.initializer if i.name.endswith("weight")]
print(inputs, outputs, weights, [f"{f.domain}.{f.name}" for f in model.functions])
right = inputs == ["pixels"] and outputs == ["scores"] and all(w.startswith("backbone.") for w in weights)
sys.exit(0 if right and weights and model.functions else 1)
