"""Converts one file with another tool, as a whole process:

    peer.py torch|torch-to-onnx MODEL.pt2 OUT.onnx
    peer.py onnx2torch MODEL.onnx OUT.pt
"""
import pathlib
import sys

import torch


def main(tool, source, out):
    if tool == "onnx2torch":
        sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "torch"))
        import tvshim  # noqa: F401, it imports torchvision
        import onnx2torch
        torch.save(onnx2torch.convert(source).state_dict(), out)
        return
    program = torch.export.load(source)
    if tool == "torch":
        torch.onnx.export(program, f=out, dynamo=True, external_data=False, verbose=False)
        return
    import loguru
    import onnx_ir
    import torch_to_onnx
    loguru.logger.remove()
    onnx_ir.save(torch_to_onnx.convert_exported_program_to_onnx(program, opset_version=20), out)


if __name__ == "__main__":
    main(*sys.argv[1:])
