"""A variational autoencoder of handwritten digits; at the end it generates new ones."""

import argparse
import pathlib

import numpy as np
import torch
from torch import nn
from torch.distributions import Normal

DATA = pathlib.Path(__file__).parent / "data" / "digits.npz"


class VAE(nn.Module):
    def __init__(self, size=64, hidden=128, latent=8):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(size, hidden), nn.SiLU(), nn.Linear(hidden, 2 * latent))
        self.decoder = nn.Sequential(nn.Linear(latent, hidden), nn.SiLU(), nn.Linear(hidden, size))

    def forward(self, x):
        mean, log_scale = self.encoder(x).chunk(2, dim=1)
        posterior = Normal(mean, log_scale.exp())
        return self.decoder(posterior.rsample()), posterior


def loss_of(model, images):
    """The negative ELBO: reconstruction loss plus KL divergence."""
    drawn, posterior = model(images)
    prior = Normal(torch.zeros_like(posterior.mean), torch.ones_like(posterior.mean))
    code = _kl(posterior, prior).sum(1)
    rest = nn.functional.binary_cross_entropy_with_logits(drawn, images, reduction="none").sum(1)
    return (code + rest).mean()


def _kl(p, q):
    """The Kullback-Leibler divergence of two normal distributions."""
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


def draw(image):
    """An image as ASCII art."""
    return "\n".join("".join(" .:-=+*#%@"[int(9 * value)] * 2 for value in row) for row in image.tolist())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=30)
    arguments = parser.parse_args()

    torch.manual_seed(0)
    with np.load(DATA) as file:
        images = torch.from_numpy(file["images"]).float().flatten(1) / 16
    model = VAE()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(1, arguments.epochs + 1):
        for rows in torch.randperm(len(images)).split(64):
            loss = loss_of(model, images[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch}: loss {loss.item():.3f}")
    with torch.no_grad():
        drawn = model.decoder(torch.randn(2, 8)).sigmoid().view(-1, 8, 8)
    if arguments.epochs >= 30:
        for image in drawn:
            print(draw(image), end="\n\n")


if __name__ == "__main__":
    main()
