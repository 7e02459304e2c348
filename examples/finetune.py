"""Fine-tuning from a checkpoint: a network trained on the digits 0 to 4 learns 5 to 9, with its first layers frozen."""

import pathlib
import tempfile

import numpy as np
import torch
from torch import nn

DATA = pathlib.Path(__file__).parent / "data" / "digits.npz"


def build():
    return nn.Sequential(
        nn.Flatten(), nn.Linear(64, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 5)
    )


def fit(model, images, labels, steps):
    """Trains the parameters that require a gradient."""
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.Adam(trained, lr=3e-3)
    model.train()
    for step in range(1, steps + 1):
        rows = torch.randint(len(images), (64,))
        loss = nn.functional.cross_entropy(model(images[rows]), labels[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 20 == 0:
            print(f"step {step}: loss {loss.item():.4f}")


def main():
    torch.manual_seed(0)
    with np.load(DATA) as file:
        images = torch.from_numpy(file["images"]).float() / 16
        labels = torch.from_numpy(file["labels"]).long()
    low = labels < 5

    print("0 to 4")
    model = build()
    fit(model, images[low], labels[low], 60)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "low.pt"
        torch.save({"model": model.state_dict(), "classes": 5}, path)
        checkpoint = torch.load(path, weights_only=True)

    print("5 to 9")
    tuned = build()
    weights = {name: value for name, value in checkpoint["model"].items() if not name.startswith("6.")}
    missing = tuned.load_state_dict(weights, strict=False).missing_keys
    print("learned anew:", missing)
    for name, parameter in tuned.named_parameters():
        parameter.requires_grad_(name in missing or name.startswith("4."))
    fit(tuned, images[~low], labels[~low] - 5, 60)
    tuned.eval()
    with torch.no_grad():
        right = (tuned(images[~low]).argmax(1) + 5 == labels[~low]).float().mean()
    print(f"read correctly: {right.item():.3f}")
    same = all(torch.equal(a, b) for a, b in zip(model[1].parameters(), tuned[1].parameters()))
    print("frozen weights are as they were:", same)


if __name__ == "__main__":
    main()
