"""Models for the benchmarks, written for either library: each function takes it and returns (training step, forward).

A step returns its loss. Both libraries draw the initial random numbers in the same order.
"""

import itertools


def classifier(t, model, shape, classes=10):
    """Training by SGD with momentum on random inputs of a shape (batch first)."""
    x, y = t.randn(*shape), t.randint(classes, shape[:1])
    optimizer = t.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    return trainer(t, model, optimizer, lambda: t.nn.functional.cross_entropy(model(x), y)), forward_of(t, model, x)


def trainer(t, model, optimizer, loss_of):
    def step():
        model.train()
        optimizer.zero_grad()
        loss = loss_of()
        loss.backward()
        optimizer.step()
        return loss

    return step


def forward_of(t, model, x):
    def forward():
        model.eval()
        with t.no_grad():
            return model(x)

    return forward


# ---- perceptrons and small images


def perceptron(t, *widths):
    layers = []
    for a, b in itertools.pairwise(widths):
        layers += [t.nn.Linear(a, b), t.nn.ReLU()]
    return t.nn.Sequential(*layers[:-1])


def lenet(t):
    nn = t.nn
    return nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(64 * 7 * 7, 128), nn.ReLU(), nn.Linear(128, 10),
    )


# ---- residual networks


def conv_norm(t, channels, out, kernel, stride=1, groups=1, act=None):
    layers = [t.nn.Conv2d(channels, out, kernel, stride, kernel // 2, groups=groups, bias=False), t.nn.BatchNorm2d(out)]
    return t.nn.Sequential(*layers, *([act()] if act else []))


def residual(t, body, shortcut, act):
    class Residual(t.nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.shortcut, self.act = body, shortcut, act

        def forward(self, x):
            return self.act(self.body(x) + self.shortcut(x))

    return Residual()


def basic_block(t, channels, out, stride):
    nn = t.nn
    body = nn.Sequential(conv_norm(t, channels, out, 3, stride, act=nn.ReLU), conv_norm(t, out, out, 3))
    same = stride == 1 and channels == out
    return residual(t, body, nn.Identity() if same else conv_norm(t, channels, out, 1, stride), nn.ReLU()), out


def bottleneck(t, channels, width, stride):
    nn, out = t.nn, 4 * width
    first, middle = conv_norm(t, channels, width, 1, act=nn.ReLU), conv_norm(t, width, width, 3, stride, act=nn.ReLU)
    body = nn.Sequential(first, middle, conv_norm(t, width, out, 1))
    same = stride == 1 and channels == out
    return residual(t, body, nn.Identity() if same else conv_norm(t, channels, out, 1, stride), nn.ReLU()), out


def resnet(t, stem, block, depths):
    layers, channels = [*stem], 64
    for stage, depth in enumerate(depths):
        for i in range(depth):
            layer, channels = block(t, channels, 64 << stage, 2 if stage and not i else 1)
            layers.append(layer)
    return t.nn.Sequential(*layers, t.nn.AdaptiveAvgPool2d(1), t.nn.Flatten(), t.nn.Linear(channels, 10))


def resnet18(t):
    return resnet(t, [conv_norm(t, 3, 64, 3, act=t.nn.ReLU)], basic_block, (2, 2, 2, 2))


def residual_stack(t, blocks):
    return resnet(t, [conv_norm(t, 3, 64, 3, act=t.nn.ReLU)], basic_block, (blocks,))


def resnet50(t):
    stem = [conv_norm(t, 3, 64, 7, 2, act=t.nn.ReLU), t.nn.MaxPool2d(3, 2, 1)]
    return resnet(t, stem, bottleneck, (3, 4, 6, 3))


# expansion, channels, blocks, stride of the first
MOBILE_STAGES = [
    (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1),
]


def mobilenet_v2(t):
    nn, layers, channels = t.nn, [conv_norm(t, 3, 32, 3, 2, act=t.nn.ReLU6)], 32
    for expansion, out, count, first in MOBILE_STAGES:
        for i in range(count):
            wide, stride = channels * expansion, 1 if i else first
            body = nn.Sequential(
                *([conv_norm(t, channels, wide, 1, act=nn.ReLU6)] if expansion > 1 else []),
                conv_norm(t, wide, wide, 3, stride, groups=wide, act=nn.ReLU6), conv_norm(t, wide, out, 1),
            )
            same = stride == 1 and channels == out
            layers.append(residual(t, body, nn.Identity(), nn.Identity()) if same else body)
            channels = out
    head = [conv_norm(t, channels, 1280, 1, act=nn.ReLU6), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(1280, 10)]
    return nn.Sequential(*layers, *head)


def unet(t, base=32, depth=3):
    nn = t.nn

    def double(channels, out):
        return nn.Sequential(conv_norm(t, channels, out, 3, act=nn.ReLU), conv_norm(t, out, out, 3, act=nn.ReLU))

    class UNet(nn.Module):
        def __init__(self):
            super().__init__()
            sizes = [base << i for i in range(depth + 1)]
            self.down = nn.ModuleList([double(a, b) for a, b in zip([3, *sizes[:-1]], sizes)])
            self.up = nn.ModuleList([nn.ConvTranspose2d(2 * s, s, 2, 2) for s in reversed(sizes[:-1])])
            self.join = nn.ModuleList([double(2 * s, s) for s in reversed(sizes[:-1])])
            self.pool, self.head = nn.MaxPool2d(2), nn.Conv2d(base, 2, 1)

        def forward(self, x):
            skips = []
            for i, down in enumerate(self.down):
                x = down(x if i == 0 else self.pool(x))
                skips.append(x)
            for up, join, skip in zip(self.up, self.join, reversed(skips[:-1])):
                x = join(t.cat([up(x), skip], dim=1))
            return self.head(x)

    return UNet()


def segmentation(t):
    model = unet(t)
    x, y = t.randn(2, 3, 96, 96), t.randint(2, (2, 96, 96))
    optimizer = t.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    return trainer(t, model, optimizer, lambda: t.nn.functional.cross_entropy(model(x), y)), forward_of(t, model, x)


# ---- sequences


def lstm(t):
    nn = t.nn

    class Last(nn.Module):
        def __init__(self):
            super().__init__()
            self.rnn, self.head = nn.LSTM(64, 128, 2, batch_first=True), nn.Linear(128, 10)

        def forward(self, x):
            return self.head(self.rnn(x)[0][:, -1])

    return classifier(t, Last(), (32, 40, 64))


def attention_block(t, width, heads, causal):
    nn, functional = t.nn, t.nn.functional

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm_1, self.norm_2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

        def forward(self, x):
            batch, length, _ = x.shape
            parts = self.qkv(self.norm_1(x)).view(batch, length, 3, heads, width // heads).permute(2, 0, 3, 1, 4)
            y = functional.scaled_dot_product_attention(parts[0], parts[1], parts[2], is_causal=causal)
            x = x + self.out(y.transpose(1, 2).reshape(batch, length, width))
            return x + self.mlp(self.norm_2(x))

    return Block()


def gpt(t, width=192, heads=6, layers=4, length=128, batch=8, words=256):
    nn = t.nn

    class GPT(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
            self.blocks = nn.Sequential(*[attention_block(t, width, heads, True) for _ in range(layers)])
            self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)

        def forward(self, x):
            return self.head(self.norm(self.blocks(self.words(x) + self.places.weight)))

    model, tokens = GPT(), t.randint(words, (batch, length + 1))
    optimizer = t.optim.AdamW(model.parameters(), lr=1e-3)
    x, y = tokens[:, :-1], tokens[:, 1:].reshape(-1)
    loss = lambda: t.nn.functional.cross_entropy(model(x).view(-1, words), y)  # noqa: E731
    return trainer(t, model, optimizer, loss), forward_of(t, model, x)


def vit(t, width=192, heads=3, layers=12, batch=8):
    nn = t.nn

    class ViT(nn.Module):
        def __init__(self):
            super().__init__()
            self.patches, self.places = nn.Conv2d(3, width, 16, 16), nn.Parameter(t.zeros(1, 196, width))
            self.blocks = nn.Sequential(*[attention_block(t, width, heads, False) for _ in range(layers)])
            self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 10)

        def forward(self, x):
            x = self.patches(x).flatten(2).transpose(1, 2) + self.places
            return self.head(self.norm(self.blocks(x)).mean(1))

    return classifier(t, ViT(), (batch, 3, 224, 224))


# ---- two networks against each other


def dcgan(t, base=64, batch=16):
    nn, functional = t.nn, t.nn.functional
    up, down = [], []
    for a, b in ((4 * base, 2 * base), (2 * base, base)):
        up += [nn.ConvTranspose2d(a, b, 4, 2, 1, bias=False), nn.BatchNorm2d(b), nn.ReLU()]
    for a, b in ((base, 2 * base), (2 * base, 4 * base)):
        down += [nn.Conv2d(a, b, 4, 2, 1, bias=False), nn.BatchNorm2d(b), nn.LeakyReLU(0.2)]
    generator = nn.Sequential(
        nn.ConvTranspose2d(100, 4 * base, 4, 1, 0, bias=False), nn.BatchNorm2d(4 * base), nn.ReLU(), *up,
        nn.ConvTranspose2d(base, 3, 4, 2, 1), nn.Tanh(),
    )
    head = [nn.Conv2d(4 * base, 1, 4), nn.Flatten()]
    critic = nn.Sequential(nn.Conv2d(3, base, 4, 2, 1), nn.LeakyReLU(0.2), *down, *head)
    noise, real = t.randn(batch, 100, 1, 1), t.randn(batch, 3, 32, 32)
    ones, zeros = t.ones(batch, 1), t.zeros(batch, 1)
    optimizers = [t.optim.Adam(m.parameters(), lr=2e-4, betas=(0.5, 0.999)) for m in (critic, generator)]
    judge = functional.binary_cross_entropy_with_logits

    def step():
        generator.train()
        fake = generator(noise)
        optimizers[0].zero_grad()
        loss = judge(critic(real), ones) + judge(critic(fake.detach()), zeros)
        loss.backward()
        optimizers[0].step()
        optimizers[1].zero_grad()
        judge(critic(fake), ones).backward()
        optimizers[1].step()
        return loss

    return step, forward_of(t, generator, noise)


MODELS = {
    "MLP 784-32-32-10, batch 32": lambda t: classifier(t, perceptron(t, 784, 32, 32, 10), (32, 784)),
    "MLP 512, batch 64": lambda t: classifier(t, perceptron(t, 512, 512, 512, 10), (64, 512)),
    "MLP 2048, batch 256": lambda t: classifier(t, perceptron(t, 2048, 2048, 2048, 10), (256, 2048)),
    "CNN (LeNet-like), batch 64": lambda t: classifier(t, lenet(t), (64, 1, 28, 28)),
    "ResNet-18, 32x32, batch 16": lambda t: classifier(t, resnet18(t), (16, 3, 32, 32)),
    "ResNet-50, 224x224, batch 4": lambda t: classifier(t, resnet50(t), (4, 3, 224, 224)),
    "MobileNetV2, 224x224, batch 4": lambda t: classifier(t, mobilenet_v2(t), (4, 3, 224, 224)),
    "U-Net, 96x96, batch 2": segmentation,
    "LSTM 2x128, T40, batch 32": lstm,
    "GPT 4x192, T128, batch 8": gpt,
    "ViT-tiny, 224x224, batch 8": vit,
    "DCGAN, 32x32, batch 16": dcgan,
}

# Models of several batch sizes and depths, to measure how times grow: {family: {size: the same as above}}
SCALED = {
    "MLP 512, by batch": {n: lambda t, n=n: classifier(t, perceptron(t, 512, 512, 512, 10), (n, 512))
                          for n in (32, 64, 128, 256)},
    "MLP 512, by layers": {n: lambda t, n=n: classifier(t, perceptron(t, *[512] * n, 10), (64, 512))
                           for n in (2, 4, 8, 16)},
    "ResNet, 32x32, by batch": {n: lambda t, n=n: classifier(t, residual_stack(t, 2), (n, 3, 32, 32))
                                for n in (2, 4, 8, 16)},
    "ResNet, 32x32, by blocks": {n: lambda t, n=n: classifier(t, residual_stack(t, n), (4, 3, 32, 32))
                                 for n in (1, 2, 4, 8)},
    "GPT 192, T128, by batch": {n: lambda t, n=n: gpt(t, layers=2, batch=n) for n in (1, 2, 4, 8)},
    "GPT 192, T128, by layers": {n: lambda t, n=n: gpt(t, layers=n, batch=2) for n in (1, 2, 4, 8)},
}
