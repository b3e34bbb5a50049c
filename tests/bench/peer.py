"""Converts one archive with another tool, as a whole process: peer.py torch|torch-to-onnx MODEL.pt2 OUT.onnx"""
import sys

import torch


def main(tool, archive, out):
    program = torch.export.load(archive)
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
