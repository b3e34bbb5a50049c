"""Runs models and compares what they compute: the part of t2o that needs Python.

The binary starts it (`t2o verify`, `t2o record`, `t2o convert --verify`):

    verify.py REPORT verify [options] A [B]
    verify.py REPORT record [options] MODEL --output FILE

Tables go to standard output. Errors, warnings and the result as JSON go to the file descriptor REPORT, as records of
fields (RS ends a record, US stands between its fields); the binary prints them. Needs Python 3.9 and numpy; ONNX
Runtime and PyTorch are imported when a model asks for them.
"""
import sys

if sys.path and sys.path[0] == "":  # as after -c: the working directory is not where modules come from
    del sys.path[0]

import argparse
import ast
import collections
import contextlib
import ctypes
import functools
import importlib
import importlib.util
import inspect
import io
import json
import logging
import math
import mmap
import os
import pathlib
import pickle
import re
import tempfile
import warnings
import zipfile

try:
    import numpy as np
except ImportError:
    np = None

# Relative tolerance (to an element, or to the root mean square of the output where that is larger), and absolute one.
TOLERANCES = {
    "float64": (1e-7, 1e-14), "float32": (1e-4, 1e-7), "float16": (1e-2, 1e-4), "bfloat16": (4e-2, 1e-4),
    "float8_e4m3fn": (0.26, 1e-2), "float8_e4m3fnuz": (0.26, 1e-2),
    "float8_e5m2": (0.51, 1e-4), "float8_e5m2fnuz": (0.51, 1e-4), "float8_e8m0fnu": (1.01, 0.0),
}
# dtype: its short name; number in ONNX, name in ONNX Runtime, number in torch.export's schema, name in safetensors
DTYPES = {
    "float32": ("f32", 1, "float", 7, "F32"), "uint8": ("u8", 2, "uint8", 1, "U8"),
    "int8": ("i8", 3, "int8", 2, "I8"), "uint16": ("u16", 4, "uint16", 28, "U16"),
    "int16": ("i16", 5, "int16", 3, "I16"), "int32": ("i32", 6, "int32", 4, "I32"),
    "int64": ("i64", 7, "int64", 5, "I64"), "string": ("str", 8, "string", None, None),
    "bool": ("bool", 9, "bool", 12, "BOOL"), "float16": ("f16", 10, "float16", 6, "F16"),
    "float64": ("f64", 11, "double", 8, "F64"), "uint32": ("u32", 12, "uint32", 34, "U32"),
    "uint64": ("u64", 13, "uint64", 35, "U64"), "complex64": ("c64", 14, "complex64", 10, "C64"),
    "complex128": ("c128", 15, "complex128", 11, None), "bfloat16": ("bf16", 16, "bfloat16", 13, "BF16"),
    "float8_e4m3fn": ("f8e4m3fn", 17, "float8e4m3fn", 29, "F8_E4M3"),
    "float8_e4m3fnuz": ("f8e4m3fnuz", 18, "float8e4m3fnuz", 31, None),
    "float8_e5m2": ("f8e5m2", 19, "float8e5m2", 30, "F8_E5M2"),
    "float8_e5m2fnuz": ("f8e5m2fnuz", 20, "float8e5m2fnuz", 32, None),
    "float8_e8m0fnu": ("f8e8m0", 24, "float8e8m0", 33, None),
}
OF_ONNX, OF_ORT, OF_SCHEMA, OF_SAFETENSORS = (
    {row[i]: name for name, row in DTYPES.items() if row[i] is not None} for i in range(1, 5))


class Problem(Exception):
    """What ends a run: a code of t2o, a text, perhaps what to do next."""

    def __init__(self, code, text, hint=""):
        super().__init__(text)
        self.fields = (code, text, hint)


def one_line(error, limit=400):
    text = " ".join(f"{type(error).__name__}: {error}".split())
    return text if len(text) <= limit else text[:limit - 3] + "..."


def missing(package, install, what, hint=""):
    return Problem("E0105", f"{what}, and {sys.executable} has no {package}",
                   f"{sys.executable} -m pip install {install}" + (f", or {hint}" if hint else ""))


# ---- tensors ----

def storage_of(dtype):
    """The numpy dtype that holds the elements of a tensor: their bits where numpy has no such type."""
    if dtype == "string":
        return np.dtype(object)
    if dtype == "bfloat16":
        return np.dtype(np.uint16)
    return np.dtype(np.uint8) if dtype.startswith("float8") else np.dtype(dtype)


def is_float(dtype):
    return dtype is not None and ("float" in dtype)


def is_complex(dtype):
    return dtype is not None and dtype.startswith("complex")


class Tensor:
    """A dtype by PyTorch's name, and an array of storage_of(dtype). A number of Python's is one too: its dtype means
    little."""

    def __init__(self, dtype, array, number=False):
        self.dtype, self.array, self.number = dtype, np.asarray(array, storage_of(dtype)), number

    @property
    def shape(self):
        return self.array.shape

    def __str__(self):
        return f"{DTYPES[self.dtype][0]}[{', '.join(map(str, self.shape))}]"

    def numbers(self):
        """The elements as numpy knows them: float64, complex128, or what they are."""
        if self.dtype == "bfloat16":
            return (self.array.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
        if self.dtype.startswith("float8"):
            return float8_table(self.dtype)[self.array]
        wide = {"f": np.float64, "c": np.complex128}.get(self.array.dtype.kind)
        return self.array.astype(wide) if wide else self.array

    def cast(self, dtype):
        return self if dtype == self.dtype else encode(self.numbers(), dtype)

    def as_parts(self):
        """A complex tensor as one of real numbers with a last dimension of 2, as t2o writes it to ONNX."""
        real = "float32" if self.dtype == "complex64" else "float64"
        return Tensor(real, np.ascontiguousarray(self.array).reshape(self.shape + (1,)).view(real))

    def as_complex(self):
        dtype = "complex64" if self.dtype == "float32" else "complex128"
        return Tensor(dtype, np.ascontiguousarray(self.array).view(dtype)[..., 0])


@functools.lru_cache(maxsize=None)
def float8_table(dtype):
    codes = np.arange(256)
    if dtype == "float8_e8m0fnu":
        values = 2.0 ** (codes - 127.0)
        values[255] = np.nan
        return values
    bits = 4 if "e4" in dtype else 5
    mantissa, fnuz = 7 - bits, dtype.endswith("fnuz")
    bias = 2 ** (bits - 1) - 1 + fnuz
    exponent, fraction = codes >> mantissa & (2 ** bits - 1), codes & (2 ** mantissa - 1)
    values = np.where(exponent == 0, fraction * 2.0 ** (1 - bias - mantissa),
                      (2 ** mantissa + fraction) * 2.0 ** (exponent - bias - mantissa))
    if fnuz:
        values[128] = np.nan
    elif bits == 4:
        values[codes & 127 == 127] = np.nan
    else:
        values[exponent == 31] = np.where(fraction[exponent == 31] == 0, np.inf, np.nan)
    return np.where(codes & 128, -values, values)


def encode(values, dtype):
    """Numbers as a tensor of a dtype, to the nearest."""
    values = np.asarray(values)
    if dtype == "bfloat16":
        bits = values.astype(np.float32).view(np.uint32)
        rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16
        return Tensor(dtype, np.where(np.isnan(values), 0x7fc0, rounded).astype(np.uint16))
    if dtype.startswith("float8"):
        table = float8_table(dtype)
        order = [c for c in np.argsort(table) if np.isfinite(table[c])]
        steps = table[order]
        at = np.searchsorted((steps[1:] + steps[:-1]) / 2, values)
        return Tensor(dtype, np.array(order, np.uint8)[at])
    with np.errstate(all="ignore"):
        return Tensor(dtype, values.astype(storage_of(dtype)))


def of_python(value):
    """A number as a tensor; None for what is none."""
    dtype = {bool: "bool", int: "int64", float: "float64", complex: "complex128"}.get(type(value))
    return Tensor(dtype, value, number=True) if dtype else None


# ---- what a model takes and gives ----

class Slot:
    """An input. kind: tensor; scalar, a number that varies; constant, one that the program has fixed. A dimension is a
    number, a text (a name, or an expression of names) or None."""

    def __init__(self, name, dtype=None, dims=(), kind="tensor", value=None):
        self.name, self.dtype, self.dims, self.kind, self.value = name, dtype, list(dims), kind, value


class Result:
    """What a run gave: lists of (name, Tensor) for outputs and for state that it changed. find_state gives any state by
    its name, where more is known than what changed; mixed says that state does not stand behind the outputs."""

    def __init__(self, outputs, states=(), find_state=None, mixed=False):
        self.mixed = mixed
        self.outputs, self.states = list(outputs), list(states)
        self.find_state = find_state or dict(self.states).get


class Feed:
    """Inputs of one run, as (name or None, Tensor or fixed value), where they come from, and the outputs that were
    recorded with them."""

    def __init__(self, source, entries, result=None):
        self.source, self.entries, self.result = source, entries, result

    def tensors(self):
        return [(n, v) for n, v in self.entries if isinstance(v, Tensor)]

    def words(self):
        """The tensors, with a comma behind each but the last."""
        words = [f"{n or i} {v}" for i, (n, v) in enumerate(self.tensors())] or ["none"]
        return [w + "," for w in words[:-1]] + words[-1:]

    def describe(self):
        return " ".join(self.words())


def arrange(feed, slots, path):
    """The feed's tensors in the order of a model's varying inputs: by name where all names are there, else by place."""
    slots = [s for s in slots if s.kind != "constant"]
    have, named = feed.tensors(), dict(feed.tensors())
    if all(s.name in named for s in slots):
        found = [named[s.name] for s in slots]
    elif len(have) == len(slots):
        found = [v for _, v in have]
    else:
        raise Problem("E0510", f"{path} takes {len(slots)} inputs ({', '.join(s.name for s in slots)}), and there are "
                               f"{len(have)}: {feed.describe()}")
    return [adapt(t, s, path) for t, s in zip(found, slots)]


def adapt(tensor, slot, path):
    """A tensor in the form in which an input is declared."""
    if slot.dtype in (None, tensor.dtype):
        return tensor
    if is_complex(tensor.dtype) and not is_complex(slot.dtype):
        tensor = tensor.as_parts()
    elif is_complex(slot.dtype) and tensor.dtype in ("float32", "float64") and tensor.shape[-1:] == (2,):
        tensor = tensor.as_complex()
    alike = is_float(tensor.dtype) == is_float(slot.dtype) and "string" not in (tensor.dtype, slot.dtype)
    if not alike or "bool" in (tensor.dtype, slot.dtype) and tensor.dtype != slot.dtype:
        raise Problem("E0510", f"input '{slot.name}' of {path} is {slot.dtype}, and the one to feed {tensor.dtype}")
    return tensor.cast(slot.dtype)


# ---- files of tensors ----

def protobuf(data):
    """The fields of a message as (number, value): an int, or the bytes."""
    at, end = 0, len(data)

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
    while at < end:
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
            continue
        size = {1: 8, 5: 4}.get(key & 7) or varint()
        if at + size > end or key & 7 not in (1, 2, 5):
            raise ValueError("not a protobuf message")
        yield key >> 3, data[at:at + size]
        at += size


def signed(value):
    return value - (1 << 64) if value >> 63 else value


def varints(values):
    """A repeated integer field, packed or not."""
    for v in values:
        if isinstance(v, int):
            yield signed(v)
        else:
            yield from (signed(x) for _, x in protobuf_packed(v))


def protobuf_packed(data):
    value = shift = 0
    for byte in data:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            yield 0, value
            value = shift = 0


def read_proto(data):
    """A TensorProto as (name, Tensor)."""
    fields = collections.defaultdict(list)
    for number, value in protobuf(memoryview(data)):
        fields[number].append(value)
    dtype = OF_ONNX.get(fields[2][0] if fields[2] else 0)
    if dtype is None or fields[13]:
        raise ValueError("its elements are of a type that is not read, or elsewhere")
    dims, storage = list(varints(fields[1])), storage_of(dtype)
    if dtype == "string":
        flat = np.array([bytes(x).decode() for x in fields[6]] or [], object)
    elif fields[9]:
        flat = np.frombuffer(fields[9][0], storage)
    elif fields[5]:
        wide = np.array(list(varints(fields[5])), np.int64)
        flat = wide.astype(np.uint16).view(np.float16) if dtype == "float16" else wide.astype(storage)
    elif fields[7] or fields[11]:
        flat = np.array([x & 0xffffffffffffffff for x in varints(fields[7] or fields[11])], np.uint64).astype(storage)
    else:
        kind = {"float32": "<f4", "complex64": "<f4"}.get(dtype, "<f8")
        flat = np.frombuffer(b"".join(fields[4] + fields[10]), kind).view(storage)
    return bytes(fields[8][0]).decode() if fields[8] else None, Tensor(dtype, flat.reshape(dims))


def of_numpy(array):
    if array.dtype.kind in "OUS":
        return Tensor("string", array.astype(object))
    if array.dtype.kind == "V" and array.dtype.itemsize == 2:  # how numpy saves ml_dtypes' bfloat16
        return Tensor("bfloat16", array.view(np.uint16))
    if array.dtype.name not in DTYPES:
        raise ValueError(f"the dtype {array.dtype} is not read")
    return Tensor(array.dtype.name, array)


def read_safetensors(path):
    data = path.read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:start])
    header.pop("__metadata__", None)
    for name, entry in sorted(header.items(), key=lambda e: e[1]["data_offsets"]):
        dtype = OF_SAFETENSORS.get(entry["dtype"])
        if dtype is None:
            raise ValueError(f"the dtype {entry['dtype']} is not read")
        begin, end = entry["data_offsets"]
        flat = np.frombuffer(data[start + begin:start + end], storage_of(dtype))
        yield name, Tensor(dtype, flat.reshape(entry["shape"]))


META = "t2o"  # the member of an .npz that makes it a recording: names and dtypes as JSON


def read_npz(path):
    """A feed of a recording, or of arrays by name."""
    with np.load(path, allow_pickle=False) as arrays:
        if META not in arrays:
            names = arrays.files
            unnamed = all(re.fullmatch(r"arr_\d+", n) for n in names)
            return Feed(str(path), [(None if unnamed else n, of_numpy(arrays[n])) for n in names])
        meta = json.loads(str(arrays[META]))

        def group(kind):
            return [(e["name"], Tensor(e["dtype"], arrays[f"{kind}_{i}"], e.get("number", False)), e.get("state"))
                    for i, e in enumerate(meta[f"{kind}s"])]
        outputs = group("output")
        result = Result([(n, t) for n, t, state in outputs if not state], [(n, t) for n, t, state in outputs if state])
        return Feed(str(path), [(n, t) for n, t, _ in group("input")], result)


def write_npz(path, feed, result, facts):
    """Whole or not at all."""
    outputs = [(n, t, False) for n, t in result.outputs] + [(n, t, True) for n, t in result.states]
    meta = dict(facts, format=1, inputs=[{"name": n, "dtype": t.dtype} for n, t in feed.tensors()],
                outputs=[{"name": n, "dtype": t.dtype, "state": s, "number": t.number} for n, t, s in outputs])
    arrays = {f"input_{i}": t.array for i, (_, t) in enumerate(feed.tensors())}
    arrays.update({f"output_{i}": t.array for i, (_, t, _) in enumerate(outputs)})
    if any(a.dtype == object for a in arrays.values()):
        arrays = {n: a.astype(str) if a.dtype == object else a for n, a in arrays.items()}
    try:
        with tempfile.NamedTemporaryFile(dir=os.path.dirname(path) or ".", suffix=".part", delete=False) as part:
            np.savez(part, **{META: np.array(json.dumps(meta))}, **arrays)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(part.name, 0o666 & ~mask)
        os.replace(part.name, path)
    except OSError as e:
        raise Problem("E0101", f"cannot write '{path}': {e.strerror}") from e
    return os.path.getsize(path)


def read_set(folder):
    """input_0.pb ..., and output_0.pb ... where they are."""
    groups = {}
    for kind in ("input", "output"):
        groups[kind] = []
        while (path := folder / f"{kind}_{len(groups[kind])}.pb").exists():
            groups[kind].append(read_proto(path.read_bytes()))
    result = Result(groups["output"]) if groups["output"] else None
    return Feed(str(folder), groups["input"], result)


def read_folder(folder):
    sets = sorted(folder.glob("test_data_set_*"), key=lambda p: (len(p.name), p.name))
    if not sets and not (folder / "input_0.pb").exists() and not (folder / "output_0.pb").exists():
        raise Problem("E0510", f"{folder} holds neither input_0.pb nor test_data_set_0", "files are given one by one: "
                      "--inputs a.npy --inputs b.npy")
    return [read_set(f) for f in sets or [folder]]


def read_inputs(paths):
    """The feeds that --inputs names: folders with a data set each, or files that are one together."""
    feeds, loose = [], []
    for path in map(pathlib.Path, paths):
        try:
            if path.is_dir():
                feeds += read_folder(path)
            elif path.suffix == ".npz":
                feeds.append(read_npz(path))
            elif path.suffix == ".safetensors":
                loose += read_safetensors(path)
            elif path.suffix == ".npy":
                loose.append((path.stem, of_numpy(np.load(path, allow_pickle=False))))
            elif path.suffix == ".pb":
                loose.append(read_proto(path.read_bytes()))
            else:
                raise Problem("E0510", f"'{path}' is no .npy, .npz, .pb or .safetensors")
        except (OSError, ValueError, KeyError, IndexError, EOFError, zipfile.BadZipFile) as e:
            raise Problem("E0510", f"cannot read '{path}': {one_line(e)}") from e
    if loose:
        feeds.append(Feed(", ".join(paths), loose))
    return feeds


# ---- dimensions ----

def evaluate(text, size_of):
    """A size expression with the sizes of its names; None where something in it has none."""
    functions = {"Add": lambda *x: sum(x), "Mul": lambda *x: math.prod(x), "Max": max, "Min": min, "Integer": int,
                 "Pow": pow, "Mod": lambda a, b: a % b, "PythonMod": lambda a, b: a % b,
                 "FloorDiv": lambda a, b: a // b, "CleanDiv": lambda a, b: a // b}
    operators = {ast.Add: lambda a, b: a + b, ast.Sub: lambda a, b: a - b, ast.Mult: lambda a, b: a * b,
                 ast.FloorDiv: lambda a, b: a // b, ast.Mod: lambda a, b: a % b, ast.Pow: pow}

    def value(e):
        if isinstance(e, ast.Constant) and isinstance(e.value, int):
            return e.value
        if isinstance(e, ast.Name):
            return size_of(e.id)
        if isinstance(e, ast.UnaryOp) and isinstance(e.op, ast.USub):
            return -value(e.operand)
        if isinstance(e, ast.BinOp):
            return operators[type(e.op)](value(e.left), value(e.right))
        if isinstance(e, ast.Call) and e.func.id == "Symbol":
            return size_of(e.args[0].value)
        return functions[e.func.id](*map(value, e.args))
    try:
        return int(value(ast.parse(text, mode="eval").body))
    except (SyntaxError, KeyError, AttributeError, TypeError, ZeroDivisionError, OverflowError, ValueError):
        return None


class Sizes:
    """Sizes for the dimensions of inputs that two models share. Dimensions of one name are one size, and those of the
    same input in both models."""

    def __init__(self, sides, settings):
        self.parent, self.fixed, self.sides = {}, {}, sides
        self.first = sides[0][1]
        for side, slots in sides:
            for i, slot in enumerate(slots):
                for j, dim in enumerate(slot.dims):
                    if isinstance(dim, str) and dim.isidentifier():
                        self.join(("dim", i, j), (id(side), dim))
        for side, slots in sides:
            for i, slot in enumerate(slots):
                for j, dim in enumerate(slot.dims):
                    if isinstance(dim, int):
                        self.fixed.setdefault(self.find(("dim", i, j)), dim)
        for setting in settings:
            self.set(setting)

    def find(self, key):
        while key in self.parent:
            key = self.parent[key]
        return key

    def join(self, a, b):
        a, b = self.find(a), self.find(b)
        if a != b:
            self.parent[a] = b

    def set(self, setting):
        place, equals, size = setting.rpartition("=")
        if not equals or not size.isdigit():
            raise Problem("E0201", f"--set takes PLACE=SIZE, such as batch=3 or x:0=3, not '{setting}'")
        colon = ":" in place
        known = set()
        for side, slots in self.sides:
            for i, slot in enumerate(slots):
                for j, dim in enumerate(slot.dims):
                    at = f"{slot.name}:{j}"
                    known |= {at} | ({dim} if isinstance(dim, str) and dim.isidentifier() else set())
                    if place == at or (dim == place and not colon):
                        self.fixed[self.find(("dim", i, j))] = int(size)
                        return
        raise Problem("E0201", f"--set {setting}: no input has a dimension '{place}'",
                      "there are " + ", ".join(sorted(known)))

    def named(self, side, name):
        """The size of a name, by what is fixed, what the model says, or a default."""
        key = self.find((id(side), name))
        if key not in self.fixed:
            self.fixed[key] = side.hints.get(name, 2)
        return self.fixed[key]

    def dim(self, i, j):
        key = self.find(("dim", i, j))
        if key in self.fixed:
            return self.fixed[key]
        for side, slots in self.sides:
            text = slots[i].dims[j] if j < len(slots[i].dims) else None
            if not isinstance(text, str):
                continue
            size = side.hints.get(text)
            if size is None and not text.isidentifier():
                size = evaluate(text, functools.partial(self.named, side))
            if size is not None:
                self.fixed[key] = size
                return size
        # images want room for their windows
        self.fixed[key] = 2 if j == 0 else 64 if len(self.first[i].dims) >= 4 and j >= 2 else 8
        return self.fixed[key]


# ---- random inputs ----

INTEGERS = 3  # unknown integers are below this: indices, labels, lengths


def random_tensor(slot, dims, rows, generator):
    dtype = slot.dtype
    if dtype == "bool":
        return Tensor(dtype, generator.integers(0, 2, dims).astype(bool))
    if dtype in ("uint8", "int8") and rows is None:
        info = np.iinfo(dtype)
        return Tensor(dtype, generator.integers(info.min, info.max + 1, dims).astype(dtype))
    if "int" in dtype:
        mask = rows is None and "mask" in slot.name
        values = generator.integers(0, 2 if mask else INTEGERS if rows is None else max(rows, 1), dims)
        if mask and values.ndim:
            values[..., :1] = 1  # a row of nothing but masked places has no softmax
        return Tensor(dtype, values.astype(dtype))
    if is_complex(dtype):
        return encode(generator.standard_normal(dims) + 1j * generator.standard_normal(dims), dtype)
    if dtype == "string":
        raise Problem("E0510", f"input '{slot.name}' is text, which is not made up; give it with --inputs")
    return encode(generator.standard_normal(dims), dtype)


def shared_slots(sides):
    """The varying inputs of each side that says what they are, in one order."""
    known = []
    for side in sides:
        slots = side.slots()
        if slots is not None:
            known.append((side, [s for s in slots if s.kind != "constant"]))
    if not known:
        raise Problem("E0510", "nothing says what the inputs are", "give them with --inputs")
    names = [s.name for s in known[0][1]]
    for i, (side, slots) in enumerate(known[1:], 1):
        if len(slots) != len(names):
            raise Problem("E0401", f"{known[0][0].path} has {len(names)} inputs, {side.path} {len(slots)}")
        if sorted(names) == sorted(s.name for s in slots):
            known[i] = side, sorted(slots, key=lambda s: names.index(s.name))
    return known


def random_feed(sides, args):
    known = shared_slots(sides)
    sizes = Sizes(known, args.set)
    rows = [None] * len(known[0][1])
    for side, slots in known:
        bounds = side.rows()
        for i, slot in enumerate(slots):
            limits = [x for x in (rows[i], bounds.get(slot.name)) if x is not None]
            rows[i] = min(limits) if limits else None
    generator = np.random.default_rng(args.seed or 0)
    entries = []
    for i, slot in enumerate(known[0][1]):
        if slot.kind == "scalar":
            size = evaluate(str(slot.value), functools.partial(sizes.named, known[0][0])) if slot.value else None
            entries.append((slot.name, Tensor(slot.dtype, 2 if size is None else size, number=True)))
            continue
        dims = [sizes.dim(i, j) for j in range(len(slot.dims))]
        entries.append((slot.name, random_tensor(slot, dims, rows[i], generator)))
    return Feed(f"random, seed {args.seed or 0}", entries)


class Rows:
    """Which inputs are indices into a table, and how many rows that has: found by following names through a graph."""

    def __init__(self):
        self.source, self.limits = {}, {}

    def root(self, name):
        return self.source.get(name, name)

    def alias(self, output, name):
        self.source[output] = self.root(name)

    def limit(self, name, rows):
        name = self.root(name)
        self.limits[name] = min(rows, self.limits.get(name, rows))


# ---- sides: what can be run, or has been ----

class Recording:
    """Outputs that an earlier run gave."""
    runtime, hints = "recorded", {}

    def __init__(self, path):
        self.path = path
        self.feed = read_inputs([path])[0]
        if not self.feed.result:
            raise Problem("E0510", f"'{path}' holds no outputs",
                          "t2o record MODEL -o FILE.npz writes them; arrays that are inputs go behind --inputs")

    def slots(self):
        return [Slot(n, t.dtype, t.shape) for n, t in self.feed.tensors()]

    def rows(self):
        return {}

    def samples(self):
        return self.feed

    def run(self, feed):
        return self.feed.result


class OnnxModel:
    hints = {}

    def __init__(self, path):
        self.path, self.session = path, None

    @property
    def runtime(self):
        import onnxruntime
        return f"ONNX Runtime {onnxruntime.__version__}"

    def open(self):
        if self.session:
            return self.session
        try:
            import onnxruntime
        except ImportError as e:
            raise missing("onnxruntime", "onnxruntime", f"{self.path} runs in ONNX Runtime") from e
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        try:
            self.session = onnxruntime.InferenceSession(self.path, options, providers=["CPUExecutionProvider"])
        except Exception as e:
            raise Problem("E0106", f"ONNX Runtime cannot load {self.path}: {one_line(e)}") from e
        return self.session

    def slots(self):
        return [self.slot(i) for i in self.open().get_inputs()]

    def slot(self, value):
        kind = re.fullmatch(r"tensor\((\w+)\)", value.type)
        if not kind or kind[1] not in OF_ORT:
            raise Problem("E0510", f"input '{value.name}' of {self.path} is a {value.type}, which is not fed here")
        return Slot(value.name, OF_ORT[kind[1]], value.shape or [])

    def rows(self):
        """By the Gathers that take their table from the file."""
        rows, shapes = Rows(), {}
        with open(self.path, "rb") as file:
            data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        graph = list(protobuf(next((v for n, v in protobuf(data) if n == 7), b"")))
        for value in (v for n, v in graph if n == 5):
            fields = [(n, v) for n, v in protobuf(value) if n in (1, 8)]
            name = next((bytes(v).decode() for n, v in fields if n == 8), "")
            shapes[name] = list(varints([v for n, v in fields if n == 1]))
        for value in (v for n, v in graph if n == 1):
            self.follow(value, rows, shapes)
        return rows.limits

    @staticmethod
    def follow(node, rows, shapes):
        fields = list(protobuf(node))
        inputs, outputs = ([bytes(v).decode() for n, v in fields if n == k] for k in (1, 2))
        op = next((bytes(v).decode() for n, v in fields if n == 4), "")
        if not inputs or not outputs:
            return
        if op in ("Gather", "GatherElements") and inputs[0] in shapes and len(inputs) > 1:
            axis = 0
            for attribute in (dict(protobuf(v)) for n, v in fields if n == 5):
                if bytes(attribute.get(1, b"")) == b"axis":
                    axis = signed(attribute.get(3, 0))
            rows.limit(inputs[1], shapes[inputs[0]][axis])
        elif op in ("Cast", "Identity", "Reshape", "Unsqueeze", "Squeeze", "Flatten", "Transpose", "Slice", "Expand"):
            rows.alias(outputs[0], inputs[0])
        if op in ("Cast", "Identity", "DequantizeLinear") and inputs[0] in shapes:
            shapes[outputs[0]] = shapes[inputs[0]]

    def samples(self):
        return None

    def run(self, feed):
        session = self.open()
        slots = self.slots()
        state = {i.name for i in session.get_overridable_initializers()}
        values = dict(zip((s.name for s in slots), arrange(feed, slots, self.path)))
        values.update({n: adapt(named, self.slot(i), self.path)
                       for i in session.get_overridable_initializers()
                       for n, named in feed.tensors() if n == i.name})
        try:
            got = self.call(session, values)
        except Problem:
            raise
        except Exception as e:
            raise Problem("E0106", f"ONNX Runtime cannot run {self.path} on these inputs: {one_line(e)}",
                          "give other inputs with --inputs") from e
        return self.split(flat_pairs((o.name, v) for o, v in zip(session.get_outputs(), got)), state | set(values))

    @staticmethod
    def split(pairs, inputs):
        """State is an input X and an output X.out."""
        outputs, states, mixed = [], [], False
        for name, value in pairs:
            stem = name[:-4] if name.endswith(".out") else None
            if stem in inputs:
                states.append((stem, value))
            else:
                outputs.append((name, value))
                mixed = mixed or bool(states)
        return Result(outputs, states, mixed=mixed)

    @staticmethod
    def call(session, values):
        import onnxruntime
        plain = [t for t in values.values() if t.dtype == "string"] or \
            any(not o.type.startswith("tensor(") or "string" in o.type for o in session.get_outputs())
        if plain:  # sequences and text have no memory to read
            return session.run(None, {n: t.array for n, t in values.items()})
        make = onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type
        kept = {n: np.require(t.array, requirements="C").reshape(t.shape) for n, t in values.items()}
        feed = {n: make(kept[n], DTYPES[t.dtype][1]) if t.dtype == "bfloat16" or t.dtype.startswith("float8")
                else onnxruntime.OrtValue.ortvalue_from_numpy(kept[n]) for n, t in values.items()}
        return [of_ort(v) for v in session.run_with_ort_values(None, feed)]


def of_ort(value):
    """A copy, taken while the inputs live: an output may lie in an input's memory."""
    if value is None or not value.has_value():
        return None
    dtype = OF_ONNX.get(value.element_type())
    if dtype is None:
        raise Problem("E0106", f"an output is a {value.data_type()}, which is not compared here")
    storage, shape = storage_of(dtype), tuple(value.shape())
    size = storage.itemsize * math.prod(shape)
    data = ctypes.string_at(value.data_ptr(), size) if size else b""
    return Tensor(dtype, np.frombuffer(data, storage).reshape(shape))


def flat_pairs(pairs):
    """(name, value) with lists taken apart and nothing for None."""
    for name, value in pairs:
        if isinstance(value, (list, tuple)):
            yield from flat_pairs((f"{name}.{i}", v) for i, v in enumerate(value))
        elif value is not None:
            tensor = value if isinstance(value, Tensor) else of_numpy(np.asarray(value))
            yield name, tensor


class TorchModel:
    """What archives and modules share."""
    hints = {}

    def __init__(self, path):
        self.path = path

    @property
    def runtime(self):
        return f"PyTorch {self.torch().__version__.split('+')[0]}"

    def torch(self):
        try:
            import torch
        except ImportError as e:
            elsewhere = f"compare with what a machine that has it recorded: t2o record {self.path} -o FILE.npz"
            raise missing("PyTorch", "torch", f"{self.path} runs in PyTorch", elsewhere) from e
        return torch

    def run(self, feed):
        torch = self.torch()
        module = self.load(torch)
        args, kwargs, inputs = self.arguments(torch, feed, module)
        before = {n: (id(t), t._version) for n, t in named_state(module)}
        versions = [(n, t, t._version) for n, t in inputs]
        try:
            with torch.no_grad():
                got = module(*args, **kwargs)
        except Exception as e:
            raise Problem("E0106", f"PyTorch cannot run {self.path} on these inputs: {one_line(e)}",
                          "give other inputs with --inputs") from e
        leaves = [self.tensor(x) for x in leaves_of(got)]
        outputs = list(zip(self.output_names(leaves), [x for x in leaves if x is not None]))
        after = dict(named_state(module))
        changed, seen = [], set()
        for name, t in after.items():
            memory = t.untyped_storage().data_ptr() if t.layout == torch.strided else id(t)
            if before.get(name) != (id(t), t._version) and memory not in seen:
                seen.add(memory)
                changed.append((name, t))
        changed += [(n, t) for n, t, version in versions if t._version != version]
        after.update(inputs)
        return Result(outputs, [(n, self.tensor(t)) for n, t in changed],
                      lambda name: self.tensor(after[name]) if name in after else None)

    def output_names(self, leaves):
        return [str(i) for i, x in enumerate(y for y in leaves if y is not None)]

    def tensor(self, value):
        """A tensor or number of PyTorch; None for None and text, which are not outputs of an ONNX model."""
        torch = self.torch()
        if not isinstance(value, torch.Tensor):
            return of_python(value)
        t = value.detach().cpu()
        t = (t if t.layout == torch.strided else t.to_dense()).resolve_conj().resolve_neg().contiguous()
        dtype = str(t.dtype).removeprefix("torch.")
        if dtype not in DTYPES:
            raise Problem("E0106", f"an output of {self.path} is {dtype}, which is not compared here")
        storage = storage_of(dtype)
        if dtype != storage.name or storage.name in ("uint16", "uint32", "uint64"):
            bits = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[storage.itemsize]
            return Tensor(dtype, t.view(bits).numpy().copy().view(storage))
        return Tensor(dtype, t.numpy().copy())


@contextlib.contextmanager
def logged(name):
    """The exceptions that a logger tells of meanwhile, instead of printing them."""
    causes, logger, handler = [], logging.getLogger(name), logging.Handler()
    handler.emit = lambda record: record.exc_info and causes.append(record.exc_info[1])
    before = logger.handlers, logger.propagate
    logger.handlers, logger.propagate = [handler], False
    try:
        yield causes
    finally:
        logger.handlers, logger.propagate = before


def named_state(module):
    if not hasattr(module, "named_parameters"):
        return
    yield from module.named_parameters(remove_duplicate=False)
    yield from module.named_buffers(remove_duplicate=False)


def leaves_of(value):
    from torch.utils import _pytree
    return _pytree.tree_leaves(value)


def to_torch(torch, tensor):
    if tensor.number:
        return tensor.array.item()
    storage = storage_of(tensor.dtype)
    array = np.require(tensor.array, requirements="C").reshape(tensor.shape)
    if tensor.dtype == storage.name and storage.name not in ("uint16", "uint32", "uint64"):
        return torch.from_numpy(array.copy())
    bits = {1: np.uint8, 2: np.int16, 4: np.int32, 8: np.int64}[storage.itemsize]
    return torch.from_numpy(array.copy().view(bits)).view(getattr(torch, tensor.dtype))


# ---- archives ----

class SampleReader(pickle.Unpickler):
    """Sample inputs without PyTorch. Of all classes it knows those that rebuild tensors."""

    def __init__(self, archive):
        self.archive = archive
        self.prefix = next(n for n in archive.namelist() if n.endswith("/data.pkl"))[:-len("data.pkl")]
        super().__init__(io.BytesIO(archive.read(self.prefix + "data.pkl")))

    def find_class(self, module, name):
        builders = {("torch._utils", "_rebuild_tensor_v2"): self.rebuild,
                    ("torch._utils", "_rebuild_tensor_v3"): self.rebuild_v3,
                    ("torch._utils", "_rebuild_parameter"): lambda data, *_: data,
                    ("collections", "OrderedDict"): collections.OrderedDict, ("torch", "Size"): tuple}
        if (module, name) in builders:
            return builders[module, name]
        if module in ("torch", "torch.storage"):
            return name
        raise pickle.UnpicklingError(f"an object of {module}.{name}")

    def persistent_load(self, pid):
        _, storage, key, *_ = pid
        return storage, self.archive.read(f"{self.prefix}data/{key}")

    def rebuild(self, storage, offset, size, stride, *_):
        names = {"Float": "float32", "Double": "float64", "Half": "float16", "BFloat16": "bfloat16", "Long": "int64",
                 "Int": "int32", "Short": "int16", "Char": "int8", "Byte": "uint8", "Bool": "bool",
                 "ComplexFloat": "complex64", "ComplexDouble": "complex128"}
        return self.view(names[storage[0][:-len("Storage")]], storage[1], offset, size, stride)

    def rebuild_v3(self, storage, offset, size, stride, _grad, _hooks, dtype, *_):
        return self.view(dtype, storage[1], offset, size, stride)

    @staticmethod
    def view(dtype, data, offset, size, stride):
        flat = np.frombuffer(data, storage_of(dtype))[offset:]
        last = sum((n - 1) * s for n, s in zip(size, stride))
        if 0 in size:
            return Tensor(dtype, np.zeros(size, flat.dtype))
        if min(stride, default=0) < 0 or last >= len(flat):
            raise pickle.UnpicklingError("a tensor past its storage")
        steps = [s * flat.itemsize for s in stride]
        return Tensor(dtype, np.lib.stride_tricks.as_strided(flat, size, steps).copy())


def flatten(value):
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [y for x in value for y in flatten(x)]
    return [value]


def nest(spec, leaves):
    """Leaves in the way that a tree spec in JSON says."""
    if spec["type"] is None:
        return next(leaves)
    items = [nest(c, leaves) for c in spec["children_spec"]]
    if "dict" in spec["type"].lower():
        return dict(zip(json.loads(spec["context"]), items))
    return items if spec["type"] == "builtins.list" else tuple(items)


def size_text(size):
    """A size of the schema: a number, a name or an expression."""
    if "as_int" in size:
        return size["as_int"]
    text = size["as_expr"]["expr_str"]
    symbol = re.fullmatch(r"Symbol\('(\w+)'[^()]*\)", text)
    return symbol[1] if symbol else text


class Archive(TorchModel):
    """A .pt2. What its inputs are is read from its JSON, so that PyTorch is needed for running only."""

    def __init__(self, path, model=None):
        super().__init__(path)
        try:
            with zipfile.ZipFile(path) as z:
                found = {re.sub(r".*/|\.json$", "", n): n for n in z.namelist()
                         if re.search(r"(^|/)models/[^/]+\.json$", n) or n == "serialized_exported_program.json"}
                if not found:
                    raise Problem("E0502", f"{path} holds no program of torch.export")
                if model and model not in found:
                    raise Problem("E0505", f"{path} has no model '{model}'", "there are " + ", ".join(found))
                if not model and len(found) > 1:
                    raise Problem("E0505", f"{path} holds several models", "pick one with --model: " + ", ".join(found))
                self.model = model or next(iter(found))
                self.json = z.read(found[self.model])
                program = json.loads(self.json)
        except (zipfile.BadZipFile, ValueError, KeyError) as e:
            raise Problem("E0503", f"{path} is damaged: {one_line(e)}") from e
        self.graph = program["graph_module"]["graph"]
        self.signature = program["graph_module"]["signature"]
        calls = program["graph_module"]["module_call_graph"]
        call = next((c["signature"] for c in calls if not c["fqn"] and c["signature"]), None)
        self.in_spec = json.loads(call["in_spec"])[1] if call and call["in_spec"] else None
        self.hints = {}
        self.list = [s for s in map(self.slot, self.signature["input_specs"]) if s]

    def slot(self, spec):
        (kind, fields), = spec.items()
        if kind == "constant_input":
            return Slot(fields["name"], kind="constant", value=next(iter(fields["value"].values())))
        if kind != "user_input":
            return None
        (form, value), = fields["arg"].items()
        if form == "as_tensor":
            meta = self.graph["tensor_values"][value["name"]]
            dims = [size_text(d) for d in meta["sizes"]]
            for text, d in zip(dims, meta["sizes"]):
                if isinstance(text, str) and d["as_expr"].get("hint"):
                    self.hints[text] = d["as_expr"]["hint"]["as_int"]
            return Slot(value["name"], OF_SCHEMA.get(meta["dtype"]), dims)
        dtype = {"as_sym_int": "int64", "as_sym_float": "float64", "as_sym_bool": "bool"}.get(form)
        if dtype and "as_name" in value:
            meta = self.graph["sym_int_values"].get(value["as_name"])
            return Slot(value["as_name"], dtype, kind="scalar", value=meta and size_text(meta))
        return Slot("", kind="constant", value=None if form == "as_none" else value)

    def slots(self):
        return self.list

    def samples(self):
        """The feed of the archive's sample inputs; None where there are none, or objects among them."""
        with zipfile.ZipFile(self.path) as z:
            names = [n for n in z.namelist() if n.endswith(f"/sample_inputs/{self.model}.pt")
                     or n == "serialized_example_inputs.pt"]
            data = z.read(names[0]) if names else b""
        if not data:
            return None
        try:
            with zipfile.ZipFile(io.BytesIO(data)) as inner:
                leaves = flatten(SampleReader(inner).load())
        except (pickle.UnpicklingError, KeyError, ValueError, zipfile.BadZipFile, StopIteration):
            return None
        if len(leaves) != len(self.list):
            return None
        entries = []
        for slot, leaf in zip(self.list, leaves):
            value = of_python(leaf) if slot.kind == "scalar" else leaf
            entries.append((slot.name, value))
        return Feed(f"samples of {self.path}", entries)

    def rows(self):
        rows = Rows()
        tables = {"embedding": ("weight", "indices", 0), "embedding_bag": ("weight", "indices", 0),
                  "index_select": ("self", "index", None), "gather": ("self", "index", None)}
        views = {"to", "_to_copy", "view", "reshape", "unsqueeze", "squeeze", "slice", "select", "alias", "clone",
                 "expand", "permute", "transpose", "flatten", "contiguous", "detach"}
        for node in self.graph["nodes"]:
            op = node["target"].split(".")[-2] if node["target"].startswith("torch.ops.aten.") else ""
            args = {a["name"]: a["arg"] for a in node["inputs"]}
            tensors = {n: a["as_tensor"]["name"] for n, a in args.items() if "as_tensor" in a}
            if op in tables:
                table, index, axis = tables[op]
                axis = args.get("dim", {}).get("as_int", 0) if axis is None else axis
                self.limit(rows, tensors.get(table), tensors.get(index), axis)
            elif op == "index":
                given = args.get("indices", {})
                lists = given.get("as_tensors") or [x.get("as_tensor") for x in given.get("as_optional_tensors", ())]
                for axis, index in enumerate(lists):
                    self.limit(rows, tensors.get("self"), index and index["name"], axis)
            elif op in views and "self" in tensors and node["outputs"] and "as_tensor" in node["outputs"][0]:
                rows.alias(node["outputs"][0]["as_tensor"]["name"], tensors["self"])
        return rows.limits

    def limit(self, rows, table, index, axis):
        sizes = self.graph["tensor_values"].get(table, {}).get("sizes", ())
        if index and axis < len(sizes) and "as_int" in sizes[axis]:
            rows.limit(index, sizes[axis]["as_int"])

    def load(self, torch):
        for words, module in ((b"ops.torchvision.", "torchvision"),
                              (b"ops.quantized_decomposed.", "torch.ao.quantization.fx._decomposed")):
            if words in self.json:
                with contextlib.suppress(Exception):  # the load says what is missing
                    importlib.import_module(module)
        with logged("torch.export") as causes:
            try:
                if self.model in ("model", "serialized_exported_program"):
                    self.program = torch.export.load(self.path)
                else:
                    from torch.export.pt2_archive._package import load_pt2
                    self.program = load_pt2(self.path).exported_programs[self.model]
                return self.program.module()
            except Exception as e:
                said = one_line(causes[0] if causes else e)
                raise Problem("E0106", f"torch.export cannot load {self.path}: {said}") from e

    def arguments(self, torch, feed, module):
        given = iter(arrange(feed, self.list, self.path))
        leaves, inputs = [], []
        for slot in self.list:
            if slot.kind == "constant":
                leaves.append(slot.value)
                continue
            tensor = next(given)
            leaf = tensor.array.item() if slot.kind == "scalar" else to_torch(torch, tensor)
            leaves.append(leaf)
            inputs += [(slot.name, leaf)] if isinstance(leaf, torch.Tensor) else []
        from torch.utils import _pytree
        args, kwargs = _pytree.tree_unflatten(leaves, self.program.call_spec.in_spec)
        return args, kwargs, inputs

    def output_names(self, leaves):
        names = []
        for spec in self.signature["output_specs"]:
            arg = spec.get("user_output", {}).get("arg")
            if arg:
                value = next(iter(arg.values()))
                names.append(value.get("name") or value.get("as_name") if isinstance(value, dict) else None)
        names = names if len(names) == len(leaves) else [None] * len(leaves)
        return [n or str(i) for i, (n, x) in enumerate(zip(names, leaves)) if x is not None]


class Source(TorchModel):
    """A model.py that t2o wrote: load() gives the module. How inputs nest is known from an archive only."""

    def __init__(self, path):
        super().__init__(path)
        self.archive = None

    def slots(self):
        return None

    def samples(self):
        return None

    def load(self, torch):
        try:
            spec = importlib.util.spec_from_file_location("t2o_model", self.path)
            module = importlib.util.module_from_spec(spec)
            sys.modules["t2o_model"] = module
            spec.loader.exec_module(module)
            return module.load()
        except Exception as e:
            raise Problem("E0106", f"cannot load {self.path}: {one_line(e)}") from e

    def arguments(self, torch, feed, module):
        entries = feed.tensors()
        if self.archive:
            entries = [(s.name, t) for s, t in zip((s for s in self.archive.list if s.kind != "constant"),
                                                   arrange(feed, self.archive.list, self.archive.path))]
        values = [to_torch(torch, t) for _, t in entries]
        inputs = [(n, v) for (n, _), v in zip(entries, values) if n and isinstance(v, torch.Tensor)]
        if self.archive and self.archive.in_spec:
            values = self.nested(values)
        count = len(inspect.signature(module.forward).parameters)
        if len(values) != count:
            raise Problem("E0510", f"forward of {self.path} takes {count} arguments, and there are {len(values)}: "
                                   f"{feed.describe()}", "where arguments nest, compare with the .pt2")
        return values, {}, inputs

    def nested(self, values):
        """The arguments of forward: those that the program has fixed are none."""
        given, leaves = iter(values), iter(self.archive.list)
        out = []
        for child in (c for part in self.archive.in_spec["children_spec"] for c in part["children_spec"]):
            own = [next(leaves) for _ in range(count_leaves(child))]
            if all(s.kind == "constant" for s in own) and own:
                continue
            out.append(nest(child, iter([s.value if s.kind == "constant" else next(given) for s in own])))
        return out


def count_leaves(spec):
    return 1 if spec["type"] is None else sum(map(count_leaves, spec["children_spec"]))


def open_side(path, model=None):
    """By what the file is, as t2o reads it."""
    try:
        with open(path, "rb") as file:
            start = file.read(4)
    except OSError as e:
        raise Problem("E0501", f"cannot read '{path}': {e.strerror}") from e
    if path.endswith(".py"):
        return Source(path)
    if start[:2] == b"PK":
        with contextlib.suppress(zipfile.BadZipFile), zipfile.ZipFile(path) as z:
            if any(n.endswith(".npy") for n in z.namelist()):
                return Recording(path)
        return Archive(path, model)
    return OnnxModel(path)


# ---- comparison ----

class Row:
    """Two outputs beside each other."""

    def __init__(self, a, b, args, state=False):
        self.names, self.state = (a[0], b[0]), state
        self.reason, self.figures = None, {}
        self.a, self.b = self.in_one_form(a[1], b[1], args)
        self.shown = str(self.a)
        precision = args.precision if {self.a.dtype, self.b.dtype} <= {"float32", args.precision} else None
        self.rtol, self.atol = tolerance(self.a.dtype, self.b.dtype, precision, args)
        if self.a.dtype != self.b.dtype and not precision:
            self.reason = f"{self.b.dtype} instead of {self.a.dtype}"
        if self.a.shape != self.b.shape:
            self.reason = f"shape {list(self.b.shape)} instead of {list(self.a.shape)}"
        else:
            self.measure()
        del self.a, self.b

    @staticmethod
    def in_one_form(a, b, args):
        if is_complex(a.dtype) != is_complex(b.dtype):  # t2o says a complex tensor in ONNX as one of two numbers each
            a, b = (a.as_parts(), b) if is_complex(a.dtype) else (a, b.as_parts())
        for one, other in ((a, b), (b, a)):
            if one.number and not other.number and is_float(one.dtype) == is_float(other.dtype):
                return (one.cast(other.dtype), other) if one is a else (other, one.cast(other.dtype))
        return a, b

    def measure(self):
        x, y = self.a.numbers(), self.b.numbers()
        if x.dtype == object or y.dtype == object or not is_float(self.a.dtype) and not is_complex(self.a.dtype):
            wrong = int((x != y).sum())
            if wrong and not self.reason:
                self.reason = f"{wrong} of {x.size} elements differ"
            if x.dtype == object or y.dtype == object:
                return
        x, y = (v.astype(np.complex128 if v.dtype.kind == "c" else np.float64) for v in (x, y))
        with np.errstate(all="ignore"):
            error, size = np.abs(x - y), np.abs(x)
            same = (x == y) | (np.isnan(x) & np.isnan(y))
            finite = np.isfinite(x) & np.isfinite(y)
            scale = float(np.sqrt(np.mean(size[finite] ** 2))) if finite.any() else 0.0
            base = np.maximum(size, scale)
            error = np.where(same, 0.0, error)
            relative = np.where(error == 0, 0.0, error / base)
            if self.rtol is not None:
                near = same | (finite & (error <= self.atol + self.rtol * base))
                self.explain(x, y, near, finite)
            self.figures = {
                "max_abs": float(error[finite].max(initial=0.0)), "mean_abs": mean(error[finite]),
                "max_rel": float(relative[finite].max(initial=0.0)), "cosine": cosine(x[finite], y[finite])}

    def explain(self, x, y, near, finite):
        wrong = int((~near).sum())
        if not wrong or self.reason:
            return
        at = np.unravel_index(int(np.argmax(~near)), near.shape)
        unlike = "" if finite[~near].all() else ", some NaN or infinite on one side"
        self.reason = (f"{wrong} of {x.size} elements past the tolerance{unlike}; the first at "
                       f"{[int(i) for i in at]}: {y[at]:.6g} instead of {x[at]:.6g}")


def mean(values):
    return float(values.mean()) if values.size else 0.0


def cosine(x, y):
    """Of the angle between two tensors; 1 for two of nothing but zeros."""
    nx, ny = (float(np.sqrt(np.sum(np.abs(v) ** 2))) for v in (x, y))
    if not nx or not ny:
        return 1.0 if nx == ny else 0.0
    return float(np.clip(np.real(np.vdot(x / nx, y / ny)), -1, 1))


def tolerance(a, b, precision, args):
    """(None, None) where elements have to be equal."""
    real = {"complex64": "float32", "complex128": "float64"}
    kinds = [TOLERANCES.get(real.get(d, d)) for d in (a, b, precision) if d]
    if None in kinds:
        return None, None
    rtol, atol = (max(column) for column in zip(*kinds))
    return rtol if args.rtol is None else args.rtol, atol if args.atol is None else args.atol


def same_form(a, b):
    """Recorded outputs say nothing of state: they stand for all outputs where there are as many."""
    for one, other in ((a, b), (b, a)):
        if len(one.outputs) == len(other.outputs) + len(other.states) and not one.states and other.states:
            merged = Result(other.outputs + other.states)
            return (one, merged) if one is a else (merged, one)
    return a, b


def compare(a, b, args, report):
    """Rows, and faults of no single output."""
    a, b = same_form(a, b)
    rows = [Row(x, y, args) for x, y in zip(a.outputs, b.outputs)]
    faults = []
    if len(a.outputs) != len(b.outputs):
        faults.append(f"{len(b.outputs)} outputs instead of {len(a.outputs)}")
    names, others = ([n for n, _ in r.outputs] for r in (a, b))
    if names != others and sorted(names) == sorted(others) and len(set(names)) == len(names):
        faults.append("the same names of outputs in another order")
    if a.mixed != b.mixed:
        faults.append("state that stands among the other outputs")
    if not a.states or not b.states:
        if a.states or b.states:
            report.warn(f"one model returns the state that it changes ({', '.join(n for n, _ in a.states + b.states)}) "
                        "and the other does not: not compared")
        return rows, faults
    more, lost = compare_states(a, b, args)
    return rows + more, faults + lost


def compare_states(a, b, args):
    """By name; by position where all names differ. A tensor that has two names counts once: PyTorch knows both."""
    changed = dict.fromkeys(n for n, _ in a.states + b.states)
    names = [n for n in changed if a.find_state(n) and b.find_state(n)]
    if not names and len(a.states) == len(b.states):
        return [Row(x, y, args, True) for x, y in zip(a.states, b.states)], []
    faults = []
    for one, other in ((a, b), (b, a)):
        lost = [n for n, _ in one.states if not other.find_state(n)]
        second = [n for n, _ in other.states if n in names and n not in dict(one.states)]
        if len(lost) > len(second):
            faults.append(f"state that only one model returns: {', '.join(lost)}")
    return [Row((n, a.find_state(n)), (n, b.find_state(n)), args, True) for n in names], faults


# ---- reports ----

class Report:
    """The way back to the binary."""

    def __init__(self, descriptor):
        self.file = os.fdopen(descriptor, "w", encoding="utf-8", errors="replace")

    def record(self, *fields):
        self.file.write("\x1f".join(re.sub("[\x1e\x1f]", " ", f) for f in fields) + "\x1e")
        self.file.flush()

    def warn(self, text):
        self.record("warning", text)

    def fail(self, problem):
        self.record(*problem.fields)

    def result(self, value):
        self.record("result", json.dumps(finite_only(value)))


def finite_only(value):
    """JSON has no NaN."""
    if isinstance(value, dict):
        return {k: finite_only(v) for k, v in value.items()}
    if isinstance(value, list):
        return [finite_only(v) for v in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def clip(text, width):
    text = re.sub(r"[\x00-\x1f\x7f]", "?", str(text))
    return text if len(text) <= width else text[:width - 2] + ".."


def wrap(words, indent):
    """Lines of at most 80 columns."""
    width, line = 80 - len(indent), ""
    for word in words:
        if line and len(line) + len(word) + 1 > width:
            yield indent + line
            line = ""
        line += (" " if line else "") + word
    yield indent + line


LINE = "{:<21} {:<22} {:>8} {:>8} {:>8} {:>8}"


def table_lines(rows, faults):
    yield LINE.format("output", "type", "max abs", "mean abs", "max rel", "cosine").rstrip()
    for row in rows:
        name = " ~ ".join(dict.fromkeys(n for n in row.names if not n.isdigit())) or row.names[0]
        figures = [f"{row.figures[k]:.1e}" for k in ("max_abs", "mean_abs", "max_rel")] if row.figures else [""] * 3
        figures.append(f"{row.figures['cosine']:.6f}" if row.figures else "")
        name += ".out" if row.state else ""
        yield LINE.format(clip(name, 21), clip(row.shown, 22), *figures).rstrip()
        if row.reason:
            yield from wrap(f"DIFFERS: {row.reason}".split(), "    ")
    for fault in faults:
        yield from wrap(f"DIFFERS: {fault}".split(), "")


def row_json(row, feed):
    return {"name": row.names[0], "other_name": row.names[1], "state": row.state, "type": row.shown, "set": feed,
            **{k: row.figures.get(k) for k in ("max_abs", "mean_abs", "max_rel", "cosine")},
            "rtol": row.rtol, "atol": row.atol, "ok": row.reason is None, "reason": row.reason}


# ---- commands ----

def fits(feed, sides):
    """Whether the sizes of a feed are those that each model has fixed."""
    for side in sides:
        slots = side.slots()
        if slots is None:
            continue
        slots = [s for s in slots if s.kind != "constant"]
        try:
            tensors = arrange(feed, slots, side.path)
        except Problem:
            continue
        for t, slot in zip(tensors, slots):
            pairs = zip(slot.dims, t.shape) if len(t.shape) == len(slot.dims) else ()
            if any(isinstance(d, int) and d != n for d, n in pairs):
                return False
    return True


def choose_feeds(args, sides, report):
    """What --inputs names; else a recording's, the samples of an archive, random ones."""
    recordings = [s for s in sides if isinstance(s, Recording)]
    if args.inputs:
        if recordings:
            raise Problem("E0201", f"{recordings[0].path} brings its inputs along, --inputs is for models")
        return read_inputs(args.inputs)
    if recordings:
        return [recordings[0].feed]
    if not args.set and args.seed is None:
        feeds = [f for f in (s.samples() for s in sides) if f]
        runnable = [s for s in sides if can_run(s)]
        for feed in feeds:
            if fits(feed, runnable):
                return [feed]
        if feeds:
            report.warn(f"the {feeds[0].source} have other sizes than the models; inputs are random")
    return [random_feed(sides, args)]


def can_run(side):
    """Whether the side's runtime is here."""
    try:
        return bool(side.runtime)
    except (Problem, ImportError):
        return False


def run_first(side, feed, report):
    """The result of what is right, and what computed it; recorded outputs take its place where it cannot be run here.
    They never stand for the model that is in question."""
    try:
        return side.run(feed), side.runtime
    except Problem as e:
        if not feed.result:
            raise
        if e.fields[0] != "E0105":
            report.warn(f"{e.fields[1]}; its recorded outputs are compared")
        return feed.result, "recorded outputs"


def link_sources(sides):
    archive = next((s for s in sides if isinstance(s, Archive)), None)
    for side in sides:
        if isinstance(side, Source):
            side.archive = archive


def verify(args, report, out):
    sides = [open_side(p, args.model) for p in args.models]
    link_sources(sides)
    feeds = choose_feeds(args, sides, report)
    if len(sides) == 1 and not all(f.result for f in feeds):
        raise Problem("E0201", "verify takes two models, or one and recorded outputs (--inputs)")
    shown, failed, count, runtimes = [], [], 0, []
    for i, feed in enumerate(feeds):
        a, runtime = (feed.result, "recorded outputs") if len(sides) == 1 else run_first(sides[0], feed, report)
        b = sides[-1].run(feed)
        runtimes = [runtime, sides[-1].runtime]
        rows, faults = compare(a, b, args, report)
        paths = [s.path for s in sides]
        paths = [feed.source] * (2 - len(paths)) + paths
        if not args.json:
            head = [f"{x}: {p} ({r})" for x, p, r in zip("AB", paths, runtimes)] if not i else []
            lines = head + list(wrap([f"inputs: {feed.source}:", *feed.words()], "")) + list(table_lines(rows, faults))
            print("\n".join(lines), file=out, flush=True)
        shown += [row_json(r, i) for r in rows]
        failed += [r for r in rows if r.reason] + faults
        count += len(rows)
    report.result({"a": {"path": paths[0], "runtime": runtimes[0]}, "b": {"path": paths[1], "runtime": runtimes[1]},
                   "inputs": [{"source": f.source, "tensors": [
                       {"name": n, "dtype": t.dtype, "shape": list(t.shape)} for n, t in f.tensors()]} for f in feeds],
                   "ok": not failed, "outputs": shown, "faults": [f for f in failed if isinstance(f, str)]})
    if failed:
        differing = sum(isinstance(f, Row) for f in failed)
        what = f"{differing} of {count} outputs differ" if differing else failed[0]
        report.fail(Problem("E0401", f"{paths[1]} does not compute what {paths[0]} does: {what}"))
        return 4
    if not args.json:
        print(f"equal: {count} output{'s' * (count != 1)}", file=out, flush=True)
    return 0


def record(args, report, out):
    side = open_side(args.models[0], args.model)
    feeds = choose_feeds(args, [side], report)
    if len(feeds) != 1:
        raise Problem("E0201", f"record takes one set of inputs, and there are {len(feeds)}")
    result, runtime = side.run(feeds[0]), side.runtime
    size = write_npz(args.output, feeds[0], result, {"model": os.path.basename(side.path), "runtime": runtime})
    outputs = [{"name": n, "dtype": t.dtype, "shape": list(t.shape)} for n, t in result.outputs + result.states]
    report.result({"model": side.path, "runtime": runtime, "output": args.output, "bytes": size,
                   "inputs": feeds[0].source, "outputs": outputs})
    if not args.json and not args.quiet:
        print(f"{args.output}: {len(outputs)} output{'s' * (len(outputs) != 1)} of {side.path} ({runtime}), "
              f"inputs: {feeds[0].source}", file=sys.stderr)
    return 0


def parse(words):
    p = argparse.ArgumentParser(prog="verify.py")
    p.add_argument("command", choices=("verify", "record"))
    p.add_argument("--inputs", action="append", default=[])
    p.add_argument("--set", action="append", default=[])
    p.add_argument("--seed", type=int)
    p.add_argument("--rtol", type=float)
    p.add_argument("--atol", type=float)
    p.add_argument("--precision")
    p.add_argument("--model")
    p.add_argument("--output")
    p.add_argument("--json", action="store_true")
    p.add_argument("--quiet", action="store_true")
    p.add_argument("models", nargs="+")
    return p.parse_args(words)


def main():
    report, args = Report(int(sys.argv[1])), parse(sys.argv[2:])
    out = os.fdopen(os.dup(1), "w", encoding="utf-8", errors="replace")
    os.dup2(2, 1)  # what models and libraries print is no result
    warnings.simplefilter("ignore")
    try:
        if sys.version_info < (3, 9):
            raise Problem("E0105", f"{sys.executable} is Python {sys.version.split()[0]}, and 3.9 is needed",
                          "name another one in T2O_PYTHON")
        if np is None:
            raise missing("numpy", "numpy", "comparing needs numpy")
        code = (verify if args.command == "verify" else record)(args, report, out)
    except Problem as e:
        report.fail(e)
        code = int(e.fields[0][1:3])
    out.flush()
    report.file.flush()
    # PyTorch and ONNX Runtime beside each other may fail while they are taken down; there is nothing left to do.
    os._exit(code)


if __name__ == "__main__":
    main()
