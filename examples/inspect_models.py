"""Creates inspection pages of four models: an MLP, ResNet-50, GPT-2 and an LSTM.

    python examples/inspect_models.py --output pages

Each page is one HTML file that opens from disk.
"""

import argparse
from pathlib import Path

import flambeau as torch
import flambeau.nn.functional as F
from flambeau import nn


class Bottleneck(nn.Module):
    """Three convolutions with a residual connection."""

    def __init__(self, channels, width, stride=1):
        super().__init__()
        out = 4 * width
        self.conv1, self.bn1 = nn.Conv2d(channels, width, 1, bias=False), nn.BatchNorm2d(width)
        self.conv2, self.bn2 = nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width)
        self.conv3, self.bn3 = nn.Conv2d(width, out, 1, bias=False), nn.BatchNorm2d(out)
        self.relu = nn.ReLU()
        self.downsample = None
        if stride != 1 or channels != out:
            self.downsample = nn.Sequential(nn.Conv2d(channels, out, 1, stride, bias=False), nn.BatchNorm2d(out))

    def forward(self, x):
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.bn3(self.conv3(self.relu(self.bn2(self.conv2(y)))))
        return self.relu(y + (x if self.downsample is None else self.downsample(x)))


def resnet50(classes=1000):
    """ResNet-50, as in "Deep Residual Learning for Image Recognition" (2015), strides on the 3x3 convolutions."""
    layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    channels = 64
    for width, blocks, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        stage = [Bottleneck(channels, width, stride)] + [Bottleneck(4 * width, width) for _ in range(blocks - 1)]
        layers.append(nn.Sequential(*stage))
        channels = 4 * width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, classes))


class Block(nn.Module):
    """Attention and an MLP, each with a residual connection."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.c_attn, self.c_proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(approximate="tanh"), nn.Linear(4 * width, width))

    def forward(self, x):
        n, t, c = x.shape
        q, k, v = (part.view(n, t, self.heads, -1).transpose(1, 2) for part in self.c_attn(self.ln_1(x)).chunk(3, -1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.c_proj(y.transpose(1, 2).reshape(n, t, c))
        return x + self.mlp(self.ln_2(x))


class GPT2(nn.Module):
    """GPT-2 small; the first and the last layer share their weight."""

    def __init__(self, layers=12, width=768, heads=12, words=50257, context=1024):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(words, width), nn.Embedding(context, width)
        self.h = nn.Sequential(*[Block(width, heads) for _ in range(layers)])
        self.ln_f = nn.LayerNorm(width)
        self.head = nn.Linear(width, words, bias=False)
        self.head.weight = self.wte.weight

    def forward(self, tokens):
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1]))
        return self.head(self.ln_f(self.h(x)))


class LSTM(nn.Module):
    """A character-level language model."""

    def __init__(self, words=96, width=128):
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        self.lstm = nn.LSTM(width, width, 2, batch_first=True)
        self.head = nn.Linear(width, words)

    def forward(self, tokens):
        return self.head(self.lstm(self.embedding(tokens))[0])


def mlp():
    """A small classifier of 28x28 images."""
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))


MODELS = {  # the function that creates the model, and its input
    "mlp": (mlp, lambda: torch.randn(16, 1, 28, 28)),
    "resnet50": (resnet50, lambda: torch.randn(1, 3, 224, 224)),
    "gpt2": (GPT2, lambda: torch.randint(50257, (1, 64))),
    "lstm": (LSTM, lambda: torch.randint(96, (4, 40))),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path("pages"))
    parser.add_argument("--models", nargs="*", default=list(MODELS), choices=list(MODELS))
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    for name in options.models:
        make, batch = MODELS[name]
        page = torch.inspect(make(), batch(), path=options.output / f"{name}.html")
        print(f"{page!r}: {page.data['summary']['flops']:,} FLOPs")


if __name__ == "__main__":
    main()
