"""Training steps and forwards: Flambeau eager and compiled, each compared with PyTorch eager."""

from _harness import Suite

suite = Suite("compile", threads=2)


def perceptron(t, width):
    linear, relu = t.nn.Linear, t.nn.ReLU
    return t.nn.Sequential(linear(width, width), relu(), linear(width, width), relu(), linear(width, 10))


def chain(t):
    return t.nn.Sequential(*[t.nn.Linear(8, 8) if i % 2 else t.nn.ReLU() for i in range(60)])


def convolutions(t):
    nn = t.nn
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(32 * 8 * 8, 10),
    )


MODELS = {
    "MLP-32, batch 32": (lambda t: perceptron(t, 32), (32, 32)),
    "60 modules, batch 4": (chain, (4, 8)),
    "MLP-256, batch 64": (lambda t: perceptron(t, 256), (64, 256)),
    "CNN on 32x32, batch 16": (convolutions, (16, 3, 32, 32)),
}


def step_of(t, model, x, y):
    optimizer = t.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)

    def step():
        optimizer.zero_grad()
        loss = t.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step


def forward_of(t, model, x, y):
    model.eval()

    def forward():
        with t.no_grad():
            return model(x)

    return forward


def register(name, build, shape, kind, compiled):
    @suite.case(f"{name}, {kind.__name__.removesuffix('_of')}{', compiled' if compiled else ''}")
    def _(t):
        model = build(t)
        run = kind(t, model, t.randn(*shape), t.randint(0, 8, shape[:1]))
        return t.compile(run) if compiled and t is suite.ours else run


for name, (build, shape) in MODELS.items():
    for kind in (step_of, forward_of):
        for compiled in (False, True):
            register(name, build, shape, kind, compiled)

suite.main()
