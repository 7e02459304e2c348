"""Trains a small CNN on images that two worker processes make; with PyTorch's seed it prints PyTorch's losses.

    flambeau run examples/data_loading.py
"""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Corners(Dataset):
    """Noise with one bright corner, which is the class. The noise is drawn in the worker, anew in each epoch."""

    def __len__(self):
        return 160

    def __getitem__(self, index):
        image = torch.rand(1, 8, 8)
        row, column = 4 * (index % 4 // 2), 4 * (index % 2)
        image[:, row: row + 4, column: column + 4] += 0.5
        return image, index % 4


def main():
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(4), nn.Flatten(), nn.Dropout(0.1),
        nn.Linear(32, 4),
    )
    loader = DataLoader(Corners(), batch_size=16, shuffle=True, num_workers=2)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=5e-2, total_steps=3 * len(loader))
    for epoch in range(3):
        total = 0.0
        for images, classes in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(images), classes)
            loss.backward()
            optimizer.step()
            scheduler.step()
            total += loss.item()
        print(f"epoch {epoch + 1}: loss {total / len(loader):.4f}")


if __name__ == "__main__":
    main()
