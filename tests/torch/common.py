"""Writing test cases from PyTorch; reading and comparing them is tests/e2e/case.py's."""
import json
import pathlib
import sys

import torch
from onnx import TensorProto

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
from case import *  # noqa: E402, F401, F403

_TORCH_TO_ONNX = {
    torch.float32: TensorProto.FLOAT, torch.float64: TensorProto.DOUBLE,
    torch.float16: TensorProto.FLOAT16, torch.bfloat16: TensorProto.BFLOAT16,
    torch.int64: TensorProto.INT64, torch.int32: TensorProto.INT32,
    torch.int16: TensorProto.INT16, torch.int8: TensorProto.INT8,
    torch.uint8: TensorProto.UINT8, torch.bool: TensorProto.BOOL,
    torch.uint16: TensorProto.UINT16, torch.uint32: TensorProto.UINT32,
    torch.uint64: TensorProto.UINT64, torch.complex64: TensorProto.COMPLEX64,
    torch.complex128: TensorProto.COMPLEX128, torch.float8_e4m3fn: TensorProto.FLOAT8E4M3FN,
    torch.float8_e5m2: TensorProto.FLOAT8E5M2}


def to_proto(value, name):
    """A torch.Tensor, or a Python int, float or bool, as an ONNX TensorProto."""
    t = torch.as_tensor(value).detach().cpu().resolve_conj().resolve_neg()
    t = t.clone(memory_format=torch.contiguous_format)
    p = TensorProto(name=name, data_type=_TORCH_TO_ONNX[t.dtype], dims=list(t.shape))
    p.raw_data = t.reshape(-1).view(torch.uint8).numpy().tobytes() if t.numel() else b""
    return p


def write_data(folder, inputs, outputs, index=0):
    """Save one data set: flat lists of tensors or numbers."""
    data = pathlib.Path(folder) / f"test_data_set_{index}"
    data.mkdir(parents=True, exist_ok=True)
    for kind, values in (("input", inputs), ("output", outputs)):
        for i, v in enumerate(values):
            name = f"{kind}_{i}"
            (data / f"{name}.pb").write_bytes(to_proto(v, name).SerializeToString())


def write_case(folder, exported_program, inputs, outputs, **facts):
    """Save one case with its first data set."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    torch.export.save(exported_program, folder / "model.pt2")
    write_data(folder, inputs, outputs)
    (folder / "case.json").write_text(json.dumps(facts, indent=1, default=str) + "\n")
