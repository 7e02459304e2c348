"""Grad-CAM with hooks, on a network briefly trained to read digits: where does it look?"""

import pathlib

import numpy as np
import torch
from torch import nn

DATA = pathlib.Path(__file__).parent / "data" / "digits.npz"


class GradCAM:
    """A context manager that captures the output of a layer and its gradient."""

    def __init__(self, layer):
        self.handles = [
            layer.register_forward_hook(self._keep_output),
            layer.register_full_backward_hook(self._keep_gradient),
        ]

    def _keep_output(self, module, args, output):
        self.output = output.detach()

    def _keep_gradient(self, module, grad_input, grad_output):
        self.gradient = grad_output[0]

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        for handle in self.handles:
            handle.remove()

    def map(self):
        """The contribution of each position to the class, between 0 and 1."""
        weights = self.gradient.mean(dim=(2, 3), keepdim=True)
        heat = (weights * self.output).sum(1).relu()
        return heat / heat.amax(dim=(1, 2), keepdim=True).clamp_min(1e-8)


def main():
    torch.manual_seed(0)
    with np.load(DATA) as file:
        images = torch.from_numpy(file["images"]).unsqueeze(1).float() / 16
        labels = torch.from_numpy(file["labels"]).long()
    model = nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(),
        nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(64, 10),
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for step in range(1, 41):
        rows = torch.randint(len(images), (64,))
        loss = nn.functional.cross_entropy(model(images[rows]), labels[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(f"step {step}: loss {loss.item():.4f}")

    with GradCAM(model[2]) as cam:
        scores = model(images[:1])
        scores[0, labels[0]].backward()
        heat = cam.map()
    print(f"a {labels[0].item()}, and where it was seen:")
    for image_row, heat_row in zip(images[0, 0].tolist(), heat[0].tolist()):
        pixels = "".join("##" if value > 0.5 else "  " for value in image_row)
        print(pixels + " | " + " ".join(f"{value:.1f}" for value in heat_row))


if __name__ == "__main__":
    main()
