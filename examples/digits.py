"""Trains a small convolutional network on handwritten digits, and reports its accuracy on the test set."""

import argparse
import pathlib
import sys

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

DATA = pathlib.Path(__file__).parent / "data" / "digits.npz"


def load():
    """Single-channel images with values between 0 and 1, and their labels."""
    with np.load(DATA) as file:
        images, labels = file["images"], file["labels"]
    return TensorDataset(torch.from_numpy(images).unsqueeze(1).float() / 16, torch.from_numpy(labels).long())


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
            nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
            nn.MaxPool2d(2),
        )
        self.classifier = nn.Sequential(nn.Flatten(), nn.Dropout(0.25), nn.Linear(32 * 4 * 4, 10))

    def forward(self, x):
        return self.classifier(self.features(x))


def show(epoch, step, steps, loss):
    """A progress bar; nothing if the output is not a terminal."""
    if sys.stderr.isatty():
        filled = 30 * step // steps
        end = "\n" if step == steps else ""
        print(f"\repoch {epoch} [{'#' * filled:30}] loss {loss:.4f}", end=end, file=sys.stderr, flush=True)


def train(model, loader, epochs, device):
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    model.train()
    for epoch in range(1, epochs + 1):
        total = 0.0
        for step, (images, labels) in enumerate(loader, 1):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(images.to(device)), labels.to(device))
            loss.backward()
            optimizer.step()
            total += loss.item()
            show(epoch, step, len(loader), loss.item())
        print(f"epoch {epoch}: mean loss {total / len(loader):.4f}")


@torch.no_grad()
def test(model, loader, device):
    """The accuracy."""
    model.eval()
    right = sum((model(images.to(device)).argmax(1) == labels.to(device)).sum().item() for images, labels in loader)
    return right / len(loader.dataset)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--device", default="cpu")
    arguments = parser.parse_args()

    torch.manual_seed(0)
    training, testing = random_split(load(), [0.8, 0.2])
    model = Net().to(arguments.device)
    train(model, DataLoader(training, arguments.batch_size, shuffle=True), arguments.epochs, arguments.device)
    accuracy = test(model, DataLoader(testing, 256), arguments.device)
    print(f"test accuracy: {accuracy:.2%}")


if __name__ == "__main__":
    main()
