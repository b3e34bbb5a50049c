"""Makes the programs that bench.py fills with random weights: python make_programs.py NAME ... (needs torchvision).

NAME.json.xz holds the JSON of the program and of its list of weights, as torch.export.save writes them; places in the
traces are cut to the names of files.
"""
import json
import lzma
import pathlib
import re
import sys
import tempfile
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "torch"))
import tvshim  # noqa: E402,F401
import torch  # noqa: E402
import torchvision  # noqa: E402


def main():
    for name in sys.argv[1:]:
        model = torchvision.models.get_model(name, weights=None).eval()
        program = torch.export.export(model, (torch.zeros(1, 3, 224, 224),))
        with tempfile.TemporaryDirectory() as folder:
            torch.export.save(program, f"{folder}/model.pt2")
            with zipfile.ZipFile(f"{folder}/model.pt2") as archive:
                def read(end):
                    return json.loads(archive.read(next(n for n in archive.namelist() if n.endswith(end))))
                kept = {"program": read("models/model.json"), "weights": read("model_weights_config.json")}
        text = re.sub(r'File \\"[^"]*/', r'File \\"', json.dumps(kept))
        (HERE / f"{name}.json.xz").write_bytes(lzma.compress(text.encode(), preset=9))


if __name__ == "__main__":
    main()
