"""Train a small classifier of handwritten digits and save what a deployment needs.

Needs PyTorch and scikit-learn; run once by whoever owns the model. Writes beside this file:
    digits.pt2      the trained network, exported with a free batch size
    heldout.npz     images and labels that training never saw
    accuracy.json   what PyTorch scores on them
"""
import json
import pathlib
import re

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn

HERE = pathlib.Path(__file__).resolve().parent
FOLDERS = re.compile(r'File "(?:[^"]*/site-packages/|[^"]*/(?=[^"/]*"))')


class DigitNet(nn.Module):
    """Images of 8 by 8 pixels, each 0 to 16, to ten scores."""
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU(inplace=True),
            nn.Conv2d(16, 32, 3, padding=1, bias=False), nn.BatchNorm2d(32), nn.ReLU(inplace=True),
            nn.MaxPool2d(2),
            nn.Conv2d(32, 32, 3, padding=1), nn.ReLU(inplace=True))
        self.pool = nn.AdaptiveAvgPool2d(2)
        self.classifier = nn.Linear(32 * 2 * 2, 10)

    def forward(self, image):
        x = self.features(image / 16)
        return self.classifier(torch.flatten(self.pool(x), 1))


def train(net, images, labels, epochs=12, batch=64):
    optimizer = torch.optim.Adam(net.parameters(), lr=3e-3, weight_decay=1e-4)
    net.train()
    for epoch in range(epochs):
        order = torch.randperm(len(images))
        for part in order.split(batch):
            loss = nn.functional.cross_entropy(net(images[part]), labels[part])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch + 1:2}: loss {loss.item():.4f}")
    return net.eval()


def export(net, example):
    program = torch.export.export(net, (example,),
                                  dynamic_shapes=({0: torch.export.Dim.DYNAMIC},))
    for node in program.graph.nodes:  # keep source lines, not the folders of this machine
        node.meta.pop("from_node", None)
        if trace := node.meta.get("stack_trace"):
            node.meta["stack_trace"] = FOLDERS.sub('File "', trace)
    return program


def main():
    torch.manual_seed(0)
    images, labels = load_digits(return_X_y=True)
    images = images.reshape(-1, 1, 8, 8).astype(np.uint8)
    train_x, test_x, train_y, test_y = train_test_split(images, labels, test_size=0.3,
                                                        random_state=0, stratify=labels)
    net = train(DigitNet(), torch.from_numpy(train_x).float(), torch.from_numpy(train_y))
    held_out = torch.from_numpy(test_x).float()
    with torch.no_grad():
        right = int((net(held_out).argmax(1).numpy() == test_y).sum())
    torch.export.save(export(net, held_out[:2].clone()), HERE / "digits.pt2")
    np.savez_compressed(HERE / "heldout.npz", images=test_x, labels=test_y.astype(np.uint8))
    facts = {"right": right, "images": len(test_y), "accuracy": round(right / len(test_y), 4)}
    (HERE / "accuracy.json").write_text(json.dumps(facts) + "\n")
    print(f"accuracy on held-out images: {right} of {len(test_y)} ({facts['accuracy']:.2%})")


if __name__ == "__main__":
    main()
