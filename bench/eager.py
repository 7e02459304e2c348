"""Eager dispatch on small tensors: the cost of one call, with and without autograd."""

from _harness import Suite

suite = Suite("eager")


def with_and_without_grad(name):
    """Registers ``make(library, requires_grad)`` twice."""

    def register(make):
        for requires_grad in (True, False):
            suffix = "grad" if requires_grad else "no grad"
            suite.case(f"{name}, {suffix}")(lambda t, g=requires_grad: make(t, g))
        return make

    return register


@with_and_without_grad("a + b, 4x4")
def _(t, grad):
    a, b = t.randn(4, 4, requires_grad=grad), t.randn(4, 4, requires_grad=grad)
    return lambda: a + b


@with_and_without_grad("cat of two 4x4")
def _(t, grad):
    pair = [t.randn(4, 4, requires_grad=grad), t.randn(4, 4, requires_grad=grad)]
    return lambda: t.cat(pair)


@with_and_without_grad("sum of 4x4")
def _(t, grad):
    x = t.randn(4, 4, requires_grad=grad)
    return lambda: x.sum()


@with_and_without_grad("sum of 1000x1000")
def _(t, grad):
    x = t.randn(1000, 1000, requires_grad=grad)
    return lambda: x.sum()


@with_and_without_grad("x[0], 4x4")
def _(t, grad):
    x = t.randn(4, 4, requires_grad=grad)
    return lambda: x[0]


@with_and_without_grad("x[1:3], 4x4")
def _(t, grad):
    x = t.randn(4, 4, requires_grad=grad)
    return lambda: x[1:3]


@with_and_without_grad("x[idx], 4x4, three rows")
def _(t, grad):
    x, idx = t.randn(4, 4, requires_grad=grad), t.tensor([3, 0, 2])
    return lambda: x[idx]


@with_and_without_grad("x[mask], 4x4")
def _(t, grad):
    x = t.randn(4, 4, requires_grad=grad)
    mask = x.detach() > 0
    return lambda: x[mask]


def chain(x, w):
    """Fifty small ops: a product, a sum, a tanh, a difference and a scaling, ten times."""
    y = x
    for _ in range(10):
        y = (((y @ w) + x).tanh() - x) * 0.5
    return y


@suite.case("50 small ops on 4x4, forward")
def _(t):
    x, w = t.randn(4, 4), t.randn(4, 4)
    return lambda: chain(x, w)


@suite.case("50 small ops on 4x4, forward and backward")
def _(t):
    x, w = t.randn(4, 4, requires_grad=True), t.randn(4, 4, requires_grad=True)

    def step():
        x.grad = w.grad = None
        chain(x, w).sum().backward()
        return w.grad

    return step


@suite.case("50 small ops on 4x4, and the gradient of their input")
def _(t):
    x, w = t.randn(4, 4, requires_grad=True), t.randn(4, 4, requires_grad=True)
    return lambda: t.autograd.grad(chain(x, w).sum(), x)[0]


suite.import_time()

if __name__ == "__main__":
    suite.main()
