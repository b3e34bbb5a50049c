"""Writes .pt2 archives without PyTorch: a program's JSON and weights made on the spot."""
import json
import lzma
import pathlib
import struct
import zlib

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
SIZES = {7: 4, 5: 8}  # schema number of a dtype -> bytes: float32, int64


def resnet18(path, seed=0):
    """torchvision's resnet18 as PyTorch 2.13 exports it, with random weights: 47 MB."""
    kept = json.loads(lzma.decompress((HERE / "resnet18.json.xz").read_bytes()))
    rng = np.random.default_rng(seed)
    records = {}
    for entry in kept["weights"]["config"].values():
        meta = entry["tensor_meta"]
        shape = [d["as_int"] for d in meta["sizes"]]
        values = rng.standard_normal(shape) * 0.05 + (0.5 if len(shape) == 1 else 0)
        kind = np.float32 if meta["dtype"] == 7 else np.int64
        records[entry["path_name"]] = np.abs(values).astype(kind) if len(shape) == 1 else values.astype(kind)
    write(path, kept["program"], kept["weights"], records)


def chain(path, nodes):
    """A program of so many additions, one after the other."""
    def meta():
        return {"dtype": 7, "sizes": [{"as_int": 8}], "requires_grad": False, "device": {"type": "cpu", "index": None},
                "strides": [{"as_int": 1}], "storage_offset": {"as_int": 0}, "layout": 7}
    names = ["x"] + [f"add_{i}" for i in range(nodes)]
    def tensor(name):
        return {"as_tensor": {"name": name}}
    calls = [{"target": "torch.ops.aten.add.Tensor",
              "inputs": [{"name": "self", "arg": tensor(a), "kind": 1}, {"name": "other", "arg": tensor(a), "kind": 1}],
              "outputs": [tensor(b)], "metadata": {}, "is_hop_single_tensor_return": None, "name": b}
             for a, b in zip(names, names[1:])]
    graph = {"inputs": [tensor("x")], "outputs": [tensor(names[-1])], "nodes": calls,
             "tensor_values": {n: meta() for n in names}, "sym_int_values": {}, "sym_bool_values": {},
             "is_single_tensor_return": False, "custom_obj_values": {}, "sym_float_values": {}}
    signature = {"input_specs": [{"user_input": {"arg": tensor("x")}}],
                 "output_specs": [{"user_output": {"arg": tensor(names[-1])}}]}
    program = {"graph_module": {"graph": graph, "signature": signature, "module_call_graph": [], "metadata": {},
                                "treespec_namedtuple_fields": {}},
               "opset_version": {"aten": 10}, "range_constraints": {}, "schema_version": {"major": 8, "minor": 20},
               "verifiers": ["TRAINING"], "torch_version": "2.13.0", "guards_code": []}
    write(path, program, {"config": {}}, {})


def write(path, program, config, records):
    """A stored zip with data on multiples of 64, as PyTorch's own writer lays it out."""
    entries = {"archive_format": b"pt2", "archive_version": b"0", "byteorder": b"little"}
    entries |= {f"data/weights/{name}": array.tobytes() for name, array in records.items()}
    entries["data/weights/model_weights_config.json"] = json.dumps(config).encode()
    entries["data/constants/model_constants_config.json"] = b'{"config": {}}'
    entries["models/model.json"] = json.dumps(program).encode()
    directory = b""
    with open(path, "wb") as out:
        for name, data in entries.items():
            raw = ("model/" + name).encode()
            at, crc = out.tell(), zlib.crc32(data)
            gap = -(at + 30 + len(raw) + 4) % 64
            extra = struct.pack("<HH", 0x4246, gap) + b"Z" * gap
            sizes = struct.pack("<III", crc, len(data), len(data))
            out.write(struct.pack("<IHHHHH", 0x04034B50, 20, 0x800, 0, 0, 0x21) + sizes
                      + struct.pack("<HH", len(raw), len(extra)) + raw + extra + data)
            directory += (struct.pack("<IHHHHHH", 0x02014B50, 20, 20, 0x800, 0, 0, 0x21) + sizes
                          + struct.pack("<HHHHHII", len(raw), 0, 0, 0, 0, 0, at) + raw)
        start = out.tell()
        out.write(directory + struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, len(entries), len(entries), len(directory),
                                          start, 0))
