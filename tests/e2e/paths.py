"""The binary to test ($T2O, or build/t2o in this repository) and the models to test it with."""
import os
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = pathlib.Path(os.environ.get("T2O", ROOT / "build" / "t2o")).resolve()
CASES = ROOT / "tests" / "data" / "cases"
BAD = ROOT / "tests" / "data" / "bad"
MLP = CASES / "dynamic_mlp" / "model.pt2"  # linear, relu, linear
RELU = "relu(Tensor self) -> Tensor"
