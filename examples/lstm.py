"""An LSTM that adds: it reads two numbers digit by digit, from the last to the first, and outputs their sum."""

import argparse

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

DIGITS = 6


class Adder(nn.Module):
    def __init__(self, hidden=48):
        super().__init__()
        self.lstm = nn.LSTM(20, hidden, num_layers=2, batch_first=True, dropout=0.0)
        self.digit = nn.Linear(hidden, 10)

    def forward(self, digits, lengths):
        """Scores for each digit of the sums."""
        packed = pack_padded_sequence(nn.functional.one_hot(digits, 10).float().flatten(2), lengths, batch_first=True,
                                      enforce_sorted=False)
        hidden, _ = pad_packed_sequence(self.lstm(packed)[0], batch_first=True, total_length=DIGITS + 1)
        return self.digit(hidden)


def sums(count):
    """Digits of pairs of numbers (count, places, 2), their numbers of places, and the digits of their sums."""
    lengths = torch.randint(1, DIGITS + 1, (count,))
    limit = 10**lengths
    pairs = (torch.rand(count, 2) * limit.unsqueeze(1)).long()
    places = 10 ** torch.arange(DIGITS + 1)
    digits = pairs.unsqueeze(1) // places.view(1, -1, 1) % 10
    return digits, lengths + 1, pairs.sum(1, keepdim=True) // places % 10


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=400)
    arguments = parser.parse_args()

    torch.manual_seed(0)
    model = Adder()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for step in range(1, arguments.steps + 1):
        digits, lengths, target = sums(64)
        inside = torch.arange(DIGITS + 1) < lengths.unsqueeze(1)
        scores = model(digits, lengths)
        loss = nn.functional.cross_entropy(scores[inside], target[inside])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 20 == 0:
            right = ((scores.argmax(2) == target) | ~inside).all(1).float().mean()
            print(f"step {step}: loss {loss.item():.4f}, sums that are right {right.item():.3f}")


if __name__ == "__main__":
    main()
