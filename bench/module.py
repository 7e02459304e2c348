"""The overhead of Module: calling, traversing, saving, loading, copying, casting and constructing it."""

import copy

from _harness import Suite

suite = Suite("module")


class Seen:
    """The result by which the two libraries are compared, computed lazily."""

    def __init__(self, numbers):
        self.numbers = numbers

    def detach(self):
        return self

    def tolist(self):
        return self.numbers()


def timed(action, numbers):
    """A case that runs `action` and is compared by the result of `numbers()` afterwards."""
    seen = Seen(numbers)

    def run():
        action()
        return seen

    return run


def chain(t, depth):
    """Nested identity modules."""

    class Wrap(t.nn.Module):
        def __init__(self, inner):
            super().__init__()
            self.inner = inner

        def forward(self, x):
            return self.inner(x)

    class Same(t.nn.Module):
        def forward(self, x):
            return x

    module = Same()
    for _ in range(depth - 1):
        module = Wrap(module)
    return module


def model(t, blocks=25, width=4):
    """151 modules with 100 parameters and 75 buffers, all of them small."""
    nn = t.nn

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width))
            self.drop = nn.Dropout(0.1)
            self.register_buffer("mean", t.zeros(width))
            self.register_buffer("var", t.ones(width))
            self.register_buffer("steps", t.tensor(0))

    return nn.Sequential(*[Block() for _ in range(blocks)])


@suite.case("call a chain of 10 identity modules")
def _(t):
    module, x = chain(t, 10), t.ones(1)
    return lambda: module(x)


@suite.case("list(m.parameters()), m of 151 modules")
def _(t):
    m = model(t)
    return timed(lambda: list(m.parameters()), lambda: [p.numel() for p in m.parameters()])


@suite.case("list(m.named_modules())")
def _(t):
    m = model(t)
    return timed(lambda: list(m.named_modules()), lambda: [len(name) for name, _ in m.named_modules()])


@suite.case("m.state_dict()")
def _(t):
    m = model(t)
    return timed(m.state_dict, lambda: [v.numel() for v in m.state_dict().values()])


@suite.case("m.load_state_dict(state)")
def _(t):
    m, state = model(t), copy.deepcopy(model(t).state_dict())
    return timed(lambda: m.load_state_dict(state), lambda: [p.sum().item() for p in m.parameters()])


@suite.case("m.train(), m.eval()")
def _(t):
    m = model(t)
    return timed(lambda: m.train().eval(), lambda: [int(c.training) for c in m.modules()])


@suite.case("deepcopy(m)")
def _(t):
    m = model(t)
    return timed(lambda: copy.deepcopy(m), lambda: [p.sum().item() for p in copy.deepcopy(m).parameters()])


@suite.case("m.to(float64), m.to(float32)")
def _(t):
    m = model(t)
    return timed(lambda: m.to(t.float64).to(t.float32), lambda: [p.sum().item() for p in m.parameters()])


@suite.case("construct a tree of 2,047 modules")
def _(t):
    class Branch(t.nn.Module):
        def __init__(self, depth):
            super().__init__()
            self.depth = depth
            if depth:
                self.left = Branch(depth - 1)
                self.right = Branch(depth - 1)

    return timed(lambda: Branch(10), lambda: [sum(1 for _ in Branch(10).modules())])


if __name__ == "__main__":
    suite.main()
