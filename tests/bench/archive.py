"""Writes .pt2 archives without PyTorch: a program's JSON and weights made on the spot."""
import json
import lzma
import math
import pathlib
import struct
import zlib

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent


def network(path, name, seed=0):
    """A network of torchvision as PyTorch 2.13 exports it (make_programs.py), with random weights: resnet18 takes 47 MB,
    vit_b_16 346."""
    kept = json.loads(lzma.decompress((HERE / f"{name}.json.xz").read_bytes()))
    rng = np.random.default_rng(seed)
    records = {}
    for entry in kept["weights"]["config"].values():
        meta = entry["tensor_meta"]
        shape = [d["as_int"] for d in meta["sizes"]]
        values = rng.standard_normal(shape, np.float32) * np.float32(0.05) + np.float32(0.5 if len(shape) == 1 else 0)
        kind = np.float32 if meta["dtype"] == 7 else np.int64
        records[entry["path_name"]] = np.abs(values).astype(kind) if len(shape) == 1 else values.astype(kind)
    write(path, kept["program"], kept["weights"], records)


def resnet18(path):
    network(path, "resnet18")


def chain(path, nodes):
    """A program of so many additions, one after the other; nothing said of where they come from."""
    names = ["x"] + [f"add_{i}" for i in range(nodes)]
    calls = [call("aten.add.Tensor", b, {"self": tensor(a), "other": tensor(a)}) for a, b in zip(names, names[1:])]
    write(path, program(calls, {n: [8] for n in names}, {}), {"config": {}}, {})


def layers(path, count, width=16):
    """A residual network of so many layers of five nodes, with what PyTorch records of each."""
    calls, shapes, weights, x = [], {"x": [4, width]}, {}, "x"
    def node(target, module, kind, **arguments):
        name = f"{target.split('.')[1]}_{len(calls)}"
        shapes[name] = [4, width]
        calls.append(call(target, name, arguments, metadata(module, kind, target.split(".")[1])))
        return name
    for i in range(count):
        for part, shape in (("linear.weight", [width, width]), ("linear.bias", [width]), ("norm.weight", [width]),
                            ("norm.bias", [width])):
            weights[f"layers.{i}.{part}"] = shape
        def weight(part):
            return tensor(f"p_layers_{i}_{part.replace('.', '_')}")
        y = node("aten.layer_norm.default", f"layers.{i}.norm", "normalization.LayerNorm", input=tensor(x),
                 normalized_shape={"as_ints": [width]}, weight=weight("norm.weight"), bias=weight("norm.bias"))
        y = node("aten.linear.default", f"layers.{i}.linear", "linear.Linear", input=tensor(y),
                 weight=weight("linear.weight"), bias=weight("linear.bias"))
        y = node("aten.relu.default", f"layers.{i}", "container.Sequential", self=tensor(y))
        y = node("aten.mul.Tensor", f"layers.{i}", "container.Sequential", self=tensor(y), other={"as_float": 0.1})
        x = node("aten.add.Tensor", f"layers.{i}", "container.Sequential", self=tensor(x), other=tensor(y))
    rng = np.random.default_rng(0)
    records = {f"weight_{i}": (rng.standard_normal(s) * 0.1).astype(np.float32) for i, s in enumerate(weights.values())}
    config = {name: {"path_name": f"weight_{i}", "is_param": True, "use_pickle": False, "tensor_meta": meta(shape)}
              for i, (name, shape) in enumerate(weights.items())}
    write(path, program(calls, shapes, weights), {"config": config}, records)


def products(path, count, rows, columns, hole=False):
    """Matrices of random numbers, x times each of them; or a hole in the file in the place of each."""
    weights = {f"matrices.{i}": [rows, columns] for i in range(count)}
    calls = [call("aten.linear.default", f"linear_{i}", {"input": tensor("x"), "weight": tensor(f"p_matrices_{i}")})
             for i in range(count)]
    names = [c["name"] for c in calls]
    config = {name: {"path_name": f"weight_{i}", "is_param": True, "use_pickle": False, "tensor_meta": meta(shape)}
              for i, (name, shape) in enumerate(weights.items())}
    shapes = {"x": [1, columns], **{name: [1, rows] for name in names}}
    data = rows * columns * 4 if hole else np.random.default_rng(0).standard_normal([rows, columns], np.float32)
    write(path, program(calls, shapes, weights, names), {"config": config}, {f"weight_{i}": data for i in range(count)})


# ---- the parts of a program ----

def tensor(name):
    return {"as_tensor": {"name": name}}


def meta(shape):
    strides = [math.prod(shape[i + 1:]) for i in range(len(shape))]
    return {"dtype": 7, "sizes": [{"as_int": n} for n in shape], "requires_grad": False,
            "device": {"type": "cpu", "index": None}, "strides": [{"as_int": n} for n in strides],
            "storage_offset": {"as_int": 0}, "layout": 7}


def call(target, name, arguments, told=None):
    return {"target": f"torch.ops.{target}", "inputs": [{"name": n, "arg": a, "kind": 1} for n, a in arguments.items()],
            "outputs": [tensor(name)], "metadata": told or {}, "is_hop_single_tensor_return": None, "name": name}


def metadata(module, kind, function):
    """As PyTorch records it: who called, the modules around, the function."""
    stack, path = "L__self__,,__main__.Network", ""
    for part in module.split("."):
        path += ("." if path else "") + part
        stack += f";L__self__{path},{path},torch.nn.modules.{kind if path == module else 'container.Sequential'}"
    places = (("network.py", 24, "x = self.layers(x)"), ("container.py", 253, "input = module(input)"),
              ("network.py", 15, "return x + self.body(x) * 0.1"), (f"{kind.split('.')[0]}.py", 125, f"return F.{function}("))
    trace = "\n  ".join(f'File "{file}", line {line}, in forward\n    {text}' for file, line, text in places)
    return {"stack_trace": trace, "nn_module_stack": stack, "torch_fn": f"{function}_1;function.{function}"}


def program(calls, shapes, weights, results=None):
    """The program of these calls with one input x; weights are parameters by their names."""
    results = results or [calls[-1]["name"]]
    place = {name: "p_" + name.replace(".", "_") for name in weights}
    values = {**{place[name]: shape for name, shape in weights.items()}, **shapes}
    graph = {"inputs": [tensor(p) for p in place.values()] + [tensor("x")], "outputs": [tensor(r) for r in results],
             "nodes": calls, "tensor_values": {n: meta(shape) for n, shape in values.items()}, "sym_int_values": {},
             "sym_bool_values": {}, "is_single_tensor_return": False, "custom_obj_values": {}, "sym_float_values": {}}
    inputs = [{"parameter": {"arg": {"name": p}, "parameter_name": name}} for name, p in place.items()]
    signature = {"input_specs": inputs + [{"user_input": {"arg": tensor("x")}}],
                 "output_specs": [{"user_output": {"arg": tensor(r)}} for r in results]}
    leaf = {"type": None, "context": None, "children_spec": []}
    def container(kind, *children, context="null"):
        return {"type": f"builtins.{kind}", "context": context, "children_spec": list(children)}
    given = container("tuple", container("tuple", leaf), container("dict", context="[]"))
    back = leaf if len(results) == 1 else container("tuple", *[leaf] * len(results))
    entry = {"fqn": "", "signature": {"inputs": [], "outputs": [], "in_spec": json.dumps([1, given]),
                                      "out_spec": json.dumps([1, back]), "forward_arg_names": ["x"]}}
    return {"graph_module": {"graph": graph, "signature": signature, "module_call_graph": [entry], "metadata": {},
                             "treespec_namedtuple_fields": {}},
            "opset_version": {"aten": 10}, "range_constraints": {}, "schema_version": {"major": 8, "minor": 20},
            "verifiers": ["TRAINING"], "torch_version": "2.13.0", "guards_code": []}


# ---- the zip ----

def zip64(*numbers):
    """(what stands in the fields of 32 bits, the extra field with the numbers of 64) of those that need it."""
    large = [n for n in numbers if n >= 0xFFFFFFFF]
    extra = struct.pack(f"<HH{len(large)}Q", 1, 8 * len(large), *large) if large else b""
    return [min(n, 0xFFFFFFFF) for n in numbers], extra


def write(path, program, config, records):
    """A stored zip with data on multiples of 64, as PyTorch's own writer lays it out. A record that is a number is a
    hole of so many bytes (its checksum is not computed)."""
    entries = {"archive_format": b"pt2", "archive_version": b"0", "byteorder": b"little"}
    entries |= {f"data/weights/{name}": data if isinstance(data, int) else data.tobytes()
                for name, data in records.items()}
    entries["data/weights/model_weights_config.json"] = json.dumps(config).encode()
    entries["data/constants/model_constants_config.json"] = b'{"config": {}}'
    entries["data/sample_inputs/model.pt"] = b""
    entries["models/model.json"] = json.dumps(program).encode()
    entries[".data/version"] = b"6\n"
    directory = b""
    with open(path, "wb") as out:
        for name, data in entries.items():
            raw = ("model/" + name).encode()
            at, hole = out.tell(), isinstance(data, int)
            size, crc = (data, 0) if hole else (len(data), zlib.crc32(data))
            (packed, unpacked), large = zip64(size, size)
            gap = -(at + 30 + len(raw) + len(large) + 4) % 64
            extra = large + struct.pack("<HH", 0x4246, gap) + b"Z" * gap
            out.write(struct.pack("<IHHHHHIIIHH", 0x04034B50, 45, 0x800, 0, 0, 0x21, crc, packed, unpacked, len(raw),
                                  len(extra)) + raw + extra)
            if hole:
                out.seek(size, 1)
            else:
                out.write(data)
            (packed, unpacked, place), large = zip64(size, size, at)
            directory += (struct.pack("<IHHHHHHIIIHHHHHII", 0x02014B50, 45, 45, 0x800, 0, 0, 0x21, crc, packed, unpacked,
                                      len(raw), len(large), 0, 0, 0, 0, place) + raw + large)
        start, count = out.tell(), len(entries)
        out.write(directory)
        out.write(struct.pack("<IQHHIIQQQQ", 0x06064B50, 44, 45, 45, 0, 0, count, count, len(directory), start))
        out.write(struct.pack("<IIQI", 0x07064B50, 0, start + len(directory), 1))
        out.write(struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0))
