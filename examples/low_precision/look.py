"""Compares the files and counts what stayed in float32: look.py FOLDER"""
import pathlib
import sys

import onnx

folder = pathlib.Path(sys.argv[1])
sizes, wide = {}, {}
for name in ("float32", "float16", "kept"):
    model = onnx.load(folder / f"{name}.onnx")
    sizes[name] = (folder / f"{name}.onnx").stat().st_size
    wide[name] = [i.name for i in model.graph.initializer if i.data_type == onnx.TensorProto.FLOAT]
print(f"{sizes['float16'] / sizes['float32']:.0%} of the bytes; float32 weights: {len(wide['float32'])} before, "
      f"{len(wide['float16'])} after, with --keep Gemm {wide['kept']}")
sys.exit(0 if sizes["float16"] < 0.6 * sizes["float32"] and not wide["float16"] and len(wide["kept"]) == 2 else 1)
