"""A small transformer that learns to write this very file, character by character."""

import argparse
import pathlib

import torch
from torch import nn

TEXT = pathlib.Path(__file__).read_text()
LETTERS = sorted(set(TEXT))
LENGTH = 32


class Writer(nn.Module):
    """Embeddings of characters and positions, two layers of causal attention, scores for the next character."""

    def __init__(self, width=48, heads=4, layers=2):
        super().__init__()
        self.letter = nn.Embedding(len(LETTERS), width)
        self.place = nn.Embedding(LENGTH, width)
        layer = nn.TransformerEncoderLayer(
            width, heads, 4 * width, dropout=0.1, activation="gelu", batch_first=True, norm_first=True
        )
        self.layers = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(width)
        self.scores = nn.Linear(width, len(LETTERS), bias=False)
        self.scores.weight = self.letter.weight  # tied

    def forward(self, letters):
        length = letters.shape[1]
        x = self.letter(letters) + self.place(torch.arange(length))
        mask = nn.Transformer.generate_square_subsequent_mask(length)
        return self.scores(self.norm(self.layers(x, mask=mask, is_causal=True)))


def batches(text, size):
    """Batches of chunks of the text, and the same chunks shifted by one character."""
    while True:
        starts = torch.randint(len(text) - LENGTH, (size,))
        pieces = torch.stack([text[i : i + LENGTH + 1] for i in starts])
        yield pieces[:, :-1], pieces[:, 1:]


@torch.no_grad()
def write(model, start, count):
    """Continues from `start` with the most likely character each time."""
    model.eval()
    letters = [LETTERS.index(letter) for letter in start]
    for _ in range(count):
        scores = model(torch.tensor([letters[-LENGTH:]]))
        letters.append(scores[0, -1].argmax().item())
    return "".join(LETTERS[i] for i in letters)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=300)
    arguments = parser.parse_args()

    torch.manual_seed(0)
    text = torch.tensor([LETTERS.index(letter) for letter in TEXT])
    model = Writer()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.01)
    for step, (letters, following) in zip(range(1, arguments.steps + 1), batches(text, 16)):
        loss = nn.functional.cross_entropy(model(letters).flatten(0, 1), following.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 20 == 0 or step == 1:
            print(f"step {step}: loss {loss.item():.4f}")
    if arguments.steps >= 300:
        print(write(model, "def main", 60))


if __name__ == "__main__":
    main()
