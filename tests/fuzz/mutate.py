#!/usr/bin/env python3
"""Damages small archives and ONNX models in ways that a fixed seed decides and converts them: t2o must end with an
exit code that says so, in bounded time, never by a signal.

    T2O=build/asan/t2o python3 tests/fuzz/mutate.py [-n RUNS] [-s SEED] [--keep FOLDER] [ARCHIVE ...]

Bytes of the file itself are changed (the zip, which mostly its checksums catch), and records inside
it with the checksum made to fit: those reach the readers of JSON, pickles and weights, and the rules. Of an ONNX model
single fields are changed, at any depth, with the lengths around them made to fit.
"""
import argparse
import concurrent.futures
import io
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import warnings
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "data"
ALLOWED = {0, 1, 3, 5}  # done, failed, unsupported, bad input; 6 would be a rule's own error
# but an archive can contradict itself: record another shape or dtype than a call gives, or name another argument
CONTRADICTION = re.compile(r"error\[E0604\]|error\[E0602\].* does not fit the call: ")
SMALL = 64 << 10
SECONDS = 60
NUMBERS = [0, 1, -1, 2, 7, 64, 65, 255, 2**31 - 1, 2**31, 2**32, 2**63 - 1, -(2**63), 2**63, 10**30, 1.5]


def seeds():
    files = sorted(DATA.glob("pt2/*.pt2")) + sorted(DATA.glob("cases/*/model.pt2"))
    files += sorted(DATA.glob("old/*/*/model.pt2")) + sorted(DATA.glob("onnx/*/model.onnx"))
    return [f for f in files if f.stat().st_size <= SMALL]


# ---- the file as bytes ----

def cut(rng, data):
    return data[:rng.randrange(len(data))]


def flip(rng, data):
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 8, 64))):
        out[rng.randrange(len(out))] ^= 1 << rng.randrange(8)
    return bytes(out)


def overwrite(rng, data):
    out = bytearray(data)
    at = rng.randrange(len(out))
    size = rng.choice((1, 2, 4, 8))
    out[at:at + size] = rng.choice((b"\xff" * size, b"\0" * size, rng.randbytes(size)))
    return bytes(out)


def splice(rng, data):
    a, b = sorted(rng.randrange(len(data)) for _ in range(2))
    return data[:a] + data[b:] if rng.random() < 0.5 else data[:b] + data[a:]


def end_of_zip(rng, data):
    """The last bytes: the central directory and its end record."""
    at = max(0, len(data) - rng.choice((22, 200, 2000)))
    return data[:at] + overwrite(rng, data[at:] or b"\0")


BYTES = (cut, flip, overwrite, splice, end_of_zip)

# ---- JSON ----


def places(node, out):
    """Every place in a JSON tree, as (container, key)."""
    for key, value in node.items() if isinstance(node, dict) else enumerate(node):
        out.append((node, key))
        if isinstance(value, (dict, list)):
            places(value, out)
    return out


def other_value(rng, value, everything):
    kind = rng.randrange(7)
    if kind == 0 and isinstance(value, str) and value:
        at = rng.randrange(len(value))
        return value[:at] + rng.choice("0()',-9\u00fc/.") + value[at + rng.randrange(2):]
    if kind <= 1 and isinstance(value, (int, float)):
        return rng.choice(NUMBERS)
    if kind == 2:
        return rng.choice([None, True, False, "", [], {}, "NaN", *NUMBERS])
    if kind == 3 and isinstance(value, list):
        return value * 2 if rng.random() < 0.5 else value[:-1]
    container, key = rng.choice(everything)  # from somewhere else
    return container[key]


def mutate_json(rng, text):
    try:
        tree = json.loads(text)
    except ValueError:
        return flip(rng, text)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        everything = places(tree, []) if isinstance(tree, (dict, list)) else []
        if not everything:
            break
        container, key = rng.choice(everything)
        if rng.random() < 0.15:
            del container[key]
        else:  # copied by way of text: a tree with itself inside cannot be written
            container[key] = json.loads(json.dumps(other_value(rng, container[key], everything)))
    return json.dumps(tree).encode()


# ---- records ----

def mutate_record(rng, name, data):
    if not data:
        return b"\0"
    if name.endswith(".json") and rng.random() < 0.9:
        return mutate_json(rng, data)
    return rng.choice((flip, cut, overwrite, splice))(rng, data)


def nested(rng, data):
    """A torch.save file inside an archive is a zip again."""
    return records(rng, data) if data[:2] == b"PK" and rng.random() < 0.7 else None


def records(rng, data):
    """The archive again, with one or two of its records changed, dropped, doubled or renamed."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = [(i.filename, archive.read(i), i.compress_type) for i in archive.infolist()]
    except Exception:
        return flip(rng, data)
    # the model's own text is where most of the reading happens
    weights = [6 if re.search(r"(models/|program).*\.json$", name) else 2 if name.endswith((".json", ".pkl", ".pt")) else 1
               for name, _, _ in entries]
    for _ in range(rng.choice((1, 1, 1, 2))):
        i = rng.choices(range(len(entries)), weights)[0]
        name, content, kind = entries[i]
        change = rng.random()
        if change < 0.04:
            entries[i] = (name, b"", kind)
        elif change < 0.08:
            entries[i] = (name + rng.choice(("x", "/", "\\..", "\0")), content, kind)
        elif change < 0.10:
            entries.append((name, content[:-1], kind))
            weights.append(1)
        elif change < 0.13:
            entries[i] = (name, content, zipfile.ZIP_DEFLATED)
        else:
            entries[i] = (name, nested(rng, content) or mutate_record(rng, name, content), kind)
    out = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(out, "w") as archive:
        warnings.simplefilter("ignore")  # of names that stand twice
        for name, content, kind in entries:
            info = zipfile.ZipInfo(name)
            info.compress_type = kind
            archive.writestr(info, content)
    return out.getvalue()


# ---- protobuf ----

def varint(x):
    out = bytearray()
    while x > 127:
        out.append(x & 127 | 128)
        x >>= 7
    return bytes(out) + bytes([x])


def read_varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7


def fields(data):
    """[(number, wire type, value)] of a message, nested ones as lists; None where it is none."""
    out, at = [], 0
    try:
        while at < len(data):
            key, at = read_varint(data, at)
            number, kind = key >> 3, key & 7
            if number == 0 or kind not in (0, 1, 2, 5):
                return None
            if kind == 0:
                value, at = read_varint(data, at)
            else:
                size = {1: 8, 5: 4}.get(kind)
                if size is None:
                    size, at = read_varint(data, at)
                value, at = data[at:at + size], at + size
                if len(value) != size:
                    return None
                if kind == 2 and value:
                    value = fields(value) or value
            out.append((number, kind, value))
    except IndexError:
        return None
    return out


def packed(message):
    out = b""
    for number, kind, value in message:
        body = varint(value % 2**64) if kind == 0 else packed(value) if isinstance(value, list) else value
        out += varint(number << 3 | kind) + (varint(len(body)) if kind == 2 else b"") + body
    return out


def lists(message, out):
    out.append(message)
    for _, _, value in message:
        if isinstance(value, list):
            lists(value, out)
    return out


def damaged_field(rng, number, kind, value):
    change = rng.random()
    if change < 0.1:
        return rng.randrange(1, 30), kind, value
    if change < 0.2:
        return number, 2, rng.randbytes(rng.randrange(12))
    if kind == 0:
        return number, kind, rng.choice([int(x) for x in NUMBERS] + [value + 1, value - 1])
    if isinstance(value, list):
        return number, kind, rng.choice((b"", packed(value) * 2, rng.sample(value, len(value))))
    return number, kind, rng.choice((flip(rng, value) if value else b"", value[:-1], value + b"x", bytes(len(value))))


def messages(rng, data):
    """A model again, with some of its fields changed, dropped, doubled or moved."""
    tree = fields(data)
    if not tree:
        return flip(rng, data)
    for _ in range(rng.choice((1, 1, 2, 4))):
        at = rng.choice(lists(tree, []))
        if not at:
            continue
        i, change = rng.randrange(len(at)), rng.random()
        if change < 0.1:
            del at[i]
        elif change < 0.2:
            number, kind, value = at[i]
            at.insert(rng.randrange(len(at) + 1), (number, kind, packed(value) if isinstance(value, list) else value))
        elif change < 0.3:
            number, kind, value = rng.choice(rng.choice(lists(tree, [])) or [at[i]])
            at.append((number, kind, packed(value) if isinstance(value, list) else value))  # a copy: it may be around us
        else:
            at[i] = damaged_field(rng, *at[i])
    return packed(tree)


def mutate(rng, data):
    if not data.startswith(b"PK"):
        return rng.choice(BYTES[:4])(rng, data) if rng.random() < 0.3 else messages(rng, data)
    return rng.choice(BYTES)(rng, data) if rng.random() < 0.3 else records(rng, data)


# ---- afl++ asks for these (AFL_PYTHON_MODULE=mutate) ----

def init(seed):
    globals()["afl_rng"] = random.Random(seed)


def fuzz(buf, _add_buf, max_size):
    return bytearray(mutate(afl_rng, bytes(buf))[:max_size])  # noqa: F821


def deinit():
    pass


# ---- running ----

def run(binary, path):
    env = {k: v for k, v in os.environ.items() if not k.startswith("T2O")}
    env.setdefault("ASAN_OPTIONS", "detect_leaks=1:allocator_may_return_null=0:max_allocation_size_mb=2048")
    env.setdefault("UBSAN_OPTIONS", "halt_on_error=1:print_stacktrace=1")
    try:
        return subprocess.run([binary, "convert", "--no-user-rules", "--stop-after", "check", path, "-o", "none.onnx"], env=env,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return None


def verdict(done):
    """What is wrong with how it ended, or None."""
    if done is None:
        return f"did not end within {SECONDS} s"
    text = done.stderr.decode(errors="replace")
    if "Sanitizer" in text or "runtime error:" in text:
        return "sanitizer"
    if done.returncode < 0:
        return f"signal {-done.returncode}"
    if done.returncode == 6 and CONTRADICTION.search(text):
        return None
    if done.returncode not in ALLOWED:
        return f"exit code {done.returncode}"
    if done.returncode and not re.search(r"error\[E\d{4}\]", text):
        return "failed without an error message"
    if done.stdout:
        return "wrote to standard output"
    return None


def one(job):
    binary, seed, number, path, folder = job
    data = mutate(random.Random(f"{seed}/{number}"), path.read_bytes())
    damaged = folder / f"{number}{path.suffix}"
    damaged.write_bytes(data)
    done = run(binary, damaged)
    wrong = verdict(done)
    if not wrong:
        damaged.unlink()
    return number, path, wrong, done


def place_of(text):
    """The line of our own that a sanitizer or an error names."""
    found = (re.search(r"(src/\S+:\d+)\S*: runtime error.*", text) or re.search(r"#\d+ .* (\S*src/\S+)", text)
             or re.search(r"error\[.*", text))
    return found.group(0)[:160] if found else ""


def report(number, path, wrong, done, folder):
    text = done.stderr.decode(errors="replace") if done else ""
    print(f"{number}: {path.relative_to(ROOT) if ROOT in path.parents else path}: {wrong}  {place_of(text)}")
    if folder:
        print(f"    kept as {folder / (str(number) + path.suffix)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-n", "--runs", type=int, default=int(os.environ.get("MUTATE_RUNS", 400)))
    parser.add_argument("-s", "--seed", default="1")
    parser.add_argument("-j", "--jobs", type=int, default=2)
    parser.add_argument("--keep", type=pathlib.Path, help="folder for the archives that showed a fault")
    parser.add_argument("archives", nargs="*", type=pathlib.Path)
    o = parser.parse_args()
    binary = os.path.abspath(os.environ.get("T2O", ROOT / "build" / "asan" / "t2o"))
    files = [f.resolve() for f in o.archives] or seeds()
    if not files or not os.access(binary, os.X_OK):
        sys.exit(f"mutate.py: no archives, or no program at {binary}")
    codes, faults = {}, 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = o.keep or pathlib.Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        jobs = [(binary, o.seed, i, files[i % len(files)], folder) for i in range(o.runs)]
        with concurrent.futures.ThreadPoolExecutor(o.jobs) as pool:
            for number, path, wrong, done in pool.map(one, jobs):
                code = done.returncode if done else None
                codes[code] = codes.get(code, 0) + 1
                if wrong:
                    faults += 1
                    report(number, path, wrong, done, o.keep)
    summary = ", ".join(f"{n} with exit code {code}" for code, n in sorted(codes.items(), key=str))
    print(f"{o.runs} damaged archives of {len(files)}: {summary}; {faults} fault{'s' if faults != 1 else ''}")
    return faults > 0


if __name__ == "__main__":
    sys.exit(main())
