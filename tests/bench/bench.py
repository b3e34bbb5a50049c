"""Time and memory of whole processes, as ratios in one run: python bench.py [--runs N] [--peers PYTHON] [PART ...]

    copy      t2o convert with --weights embed, external and link against cp of the same archive: 47 MB, 346 MB, 2.2 GB
    nodes     --weights link: what starting costs, what a node costs in a small and in a large model, how time grows
    back      ONNX to Python source: how time grows with the nodes
    json      a graph of 20,000 nodes against Python's json.loads of its program
    sparse    an archive of 20 GB, most of it a hole, linked
    peers     against torch.onnx.export(dynamo=True) and torch-to-onnx from the same archive; to Python source against
              onnx2torch from the same .onnx (opset 13, which it takes)

Time is that of the processor (user and system), which other processes disturb less; `wall` is printed beside it.
The peers are skipped where there is no PyTorch: --peers names a Python that has it (default: that of make models).
"""
import argparse
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

import archive

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
T2O = os.environ.get("T2O", str(ROOT / "build" / "t2o"))
MB = 1e6

# The peak memory of a process counts that of the one it was forked from: a small interpreter starts what is measured.
MEASURE = """
import os, sys, time
start = time.perf_counter()
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
_, status, usage = os.wait4(pid, 0)
print(usage.ru_utime + usage.ru_stime, time.perf_counter() - start, usage.ru_maxrss * 1024,
      os.waitstatus_to_exitcode(status))
"""
FINDS = "import sys, importlib.util as u; sys.exit(not all(map(u.find_spec, sys.argv[1:])))"
LOADS = """
import json, sys, time, zipfile
text = zipfile.ZipFile(sys.argv[1]).read("model/models/model.json")
start = time.process_time()
loaded = json.loads(text)
print(time.process_time() - start)
"""


class Failed(Exception):
    pass


def run(command, limit=None):
    """(processor seconds, wall seconds, peak memory in bytes) of one process."""
    command = [shutil.which(str(command[0])), *map(str, command[1:])]
    done = subprocess.run([sys.executable, "-S", "-E", "-c", MEASURE, *command], capture_output=True, text=True,
                          timeout=limit)
    *numbers, code = done.stdout.splitlines()[-1].split()
    if code != "0":
        raise Failed(f"{' '.join(command)}: {done.stderr.strip()[-600:]}")
    return tuple(map(float, numbers))


def alternate(runs, *commands, typical=statistics.median, before=lambda: None):
    """The typical figures of each command, the commands taking turns; the first turn does not count."""
    rows = []
    for _ in range(runs + 1):
        rows.append([])
        for command in commands:
            before()
            rows[-1].append(run(command))
    return [tuple(typical(r[i][k] for r in rows[1:]) for k in range(3)) for i in range(len(commands))]


def convert(model, out, weights="link"):
    return [T2O, "--no-user-rules", "-q", "convert", model, "-o", out, "--weights", weights]


class Bench:
    def __init__(self, folder, runs, python):
        self.folder, self.runs, self.python = folder, runs, python
        self.good = True

    def model(self, name, make, *args):
        path = self.folder / f"{name}.pt2"
        if not path.exists():
            make(path, *args)
        return path

    def verdict(self, name, value, unit, bar=None):
        """bar: the most that it may be; below zero: the least."""
        over = bar is not None and (value > bar if bar > 0 else value < -bar)
        said = "" if bar is None else f"(bar {abs(bar):g}) {'OVER' if over else 'ok'}"
        print(f"  {name:56} {value:9.2f} {unit:4} {said}".rstrip(), flush=True)
        self.good &= not over

    # ------------------------------------------------------------------ parts
    def copy(self):
        models = (("resnet18", archive.network, ("resnet18",), ("embed", "external", "link"), 3),
                  ("vit_b_16", archive.network, ("vit_b_16",), ("embed", "external", "link"), 1.3),
                  ("2.2 GB", archive.products, (8, 8192, 8400), ("external", "link"), 1.3))
        for name, make, args, modes, bar in models:
            path = self.model(name, make, *args)
            size = path.stat().st_size
            def remove():
                for old in (*self.folder.glob("*.onnx*"), *self.folder.glob("copy.pt2")):
                    old.unlink()
            # Each writes a new file. The least counts: memory that a virtual machine's host has yet to give costs more
            # than the copy, whoever comes first.
            *ours, cp = alternate(self.runs, *[convert(path, self.folder / f"{m}.onnx", m) for m in modes],
                                  ["cp", "--reflink=never", path, self.folder / "copy.pt2"], typical=min, before=remove)
            print(f"copy {name}, {size / MB:.0f} MB: cp {cp[0] * 1e3:.1f} ms (wall {cp[1] * 1e3:.1f})")
            for mode, (cpu, wall, peak) in zip(modes, ours):
                if mode != "link":
                    self.verdict(f"{mode} against cp (wall {wall * 1e3:.1f} ms, {wall / cp[1]:.2f}x)", cpu / cp[0], "x",
                                 bar)
                else:
                    self.verdict("link", cpu * 1e3, "ms")
                self.verdict(f"{mode}: peak memory", peak / MB, "MB", 64)
            remove()

    def nodes(self):
        counts = (4, 1000, 4000, 8000)  # layers of five nodes
        layers = [self.model(f"layers {n}", archive.layers, n) for n in counts]
        nets = [self.model(n, archive.network, n) for n in ("resnet18", "vit_b_16")]
        times = alternate(self.runs if self.runs < 5 else 5,
                          *[convert(m, self.folder / "nodes.onnx") for m in (*layers, *nets)])
        small, k5, k20, k40, resnet, vit = (t[0] for t in times)
        print(f"nodes: 5,000 {k5 * 1e3:.0f} ms, 20,000 {k20 * 1e3:.0f} ms, 40,000 {k40 * 1e3:.0f} ms; "
              f"resnet18 {resnet * 1e3:.1f} ms, vit_b_16 {vit * 1e3:.1f} ms")
        self.verdict("20 nodes: the whole process", small * 1e3, "ms", 30)
        self.verdict("twice the nodes (40,000 to 20,000)", k40 / k20, "x", 2.2)
        self.verdict("four times the nodes (20,000 to 5,000)", (k20 - small) / (k5 - small), "x", 4.4)
        # resnet18 has 69 nodes in 47 MB, vit_b_16 430 in 346 MB
        self.verdict("a node of vit_b_16 to one of resnet18 (whole processes)", (vit / 430) / (resnet / 69), "x", 1.5)
        self.verdict("memory of a node", (times[2][2] - times[0][2]) / 2e4 / 1e3, "kB")

    def back(self):
        counts = (4, 1000, 2000, 4000)
        models = []
        for n in counts:
            models.append(self.folder / f"layers {n}.onnx")
            run(convert(self.model(f"layers {n}", archive.layers, n), models[-1], "embed"))
        small, *k = (t[0] for t in alternate(3, *[convert(m, self.folder / "back.py") for m in models]))
        print(f"back: 5,000 nodes {k[0] * 1e3:.0f} ms, 10,000 {k[1] * 1e3:.0f} ms, 20,000 {k[2] * 1e3:.0f} ms")
        self.verdict("back, 20 nodes: the whole process", small * 1e3, "ms", 60)
        self.verdict("back, twice the nodes (20,000 to 10,000)", k[2] / k[1], "x", 2.2)
        self.verdict("back, four times the nodes (20,000 to 5,000)", (k[2] - small) / (k[0] - small), "x", 5)

    def json(self):
        for name, make, count in (("layers 4000", archive.layers, 4000), ("chain 20000", archive.chain, 20000)):
            path = self.model(name, make, count)
            rows = [(run(convert(path, self.folder / "json.onnx")),
                     float(subprocess.check_output([sys.executable, "-c", LOADS, path]))) for _ in range(5)]
            ours, loads = (min(r[0][0] for r in rows), min(r[1] for r in rows))
            print(f"json {name}: t2o {ours * 1e3:.0f} ms, json.loads {loads * 1e3:.0f} ms")
            self.verdict("20,000 nodes, linked, against json.loads", ours / loads, "x", 2)

    def sparse(self):
        path = self.model("sparse", archive.products, 5, 1 << 20, 1024, True)
        (cpu, wall, peak), = alternate(self.runs, convert(path, self.folder / "sparse.onnx"))
        print(f"sparse, {path.stat().st_size / 1e9:.1f} GB ({path.stat().st_blocks * 512 / 1e3:.0f} kB on disk)")
        self.verdict(f"linked (wall {wall * 1e3:.1f} ms)", cpu * 1e3, "ms", 100)
        self.verdict("peak memory", peak / MB, "MB", 100)

    def peers(self):
        models = (("resnet18", archive.network, "resnet18"), ("vit_b_16", archive.network, "vit_b_16"),
                  ("layers 200", archive.layers, 200), ("layers 4000", archive.layers, 4000))
        for tool, module in (("torch", "onnxscript"), ("torch-to-onnx", "torch_to_onnx"), ("onnx2torch", "onnx2torch")):
            has = self.python and subprocess.run([self.python, "-c", FINDS, "torch", module],
                                                 capture_output=True).returncode == 0
            if not has:
                print(f"SKIP peer {tool}: no Python with torch and {module} (--peers PYTHON)")
                continue
            for name, make, argument in models:
                self.peer(tool, name, self.model(name, make, argument))

    def peer(self, tool, name, path):
        back = tool == "onnx2torch"
        out = self.folder / ("peer.py" if back else "peer.onnx")
        if back:
            source, path = path, self.folder / f"{name}.onnx"
            run([*convert(source, path, "embed"), "--opset", "13"])
        try:
            theirs = run([self.python, HERE / "peer.py", tool, path, out], 900)
        except subprocess.TimeoutExpired:
            print(f"peer {tool}, {name}: not done after 900 s")
            return
        except Failed as e:
            print(f"peer {tool}, {name}: fails ({str(e).splitlines()[-1][:80]})")
            return
        def remove():
            for old in self.folder.glob("peer.*"):
                old.unlink()
        for mode in ("embed",) if back else ("link", "embed"):
            ours = alternate(3, convert(path, out, mode), before=remove)[0]
            bar = -20 if back else -100 if tool == "torch" and mode == "link" else None
            self.verdict(f"{tool}, {name}: {theirs[0]:.1f} s to t2o's {ours[0]:.3f} s ({mode})", theirs[0] / ours[0], "x",
                         bar)
            self.verdict(f"{tool}, {name}: peak memory ({mode})", theirs[2] / ours[2], "x")


def torch_python():
    path = ROOT / "build" / "venv-torch" / "bin" / "python"
    return str(path) if path.exists() else None


def main():
    parts = ("copy", "nodes", "back", "json", "sparse", "peers")
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--runs", type=int, default=7)
    p.add_argument("--peers", default=torch_python(), metavar="PYTHON")
    p.add_argument("--keep", type=pathlib.Path, metavar="FOLDER", help="where the models are made, and stay")
    p.add_argument("part", nargs="*", choices=[[], *parts], default=[])
    a = p.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if a.keep:
            a.keep.mkdir(parents=True, exist_ok=True)
        bench = Bench(a.keep or pathlib.Path(folder), a.runs, a.peers)
        for part in a.part or parts:
            getattr(bench, part)()
    sys.exit(0 if bench.good else 1)


if __name__ == "__main__":
    main()
