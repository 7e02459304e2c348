"""Kernels on tensors large enough to outweigh dispatch: forward alone, and forward with backward."""

from _harness import Suite

suite = Suite("kernels")


def forward(name, make_input, function):
    """Registers ``function(library, x)`` on an input that requires no gradient."""

    @suite.case(name)
    def _(t):
        x = make_input(t)
        return lambda: function(t, x)


def backward(name, make_input, function):
    """Registers the forward and the backward of ``function(library, x)``."""

    @suite.case(f"{name}, forward and backward")
    def _(t):
        x = make_input(t).requires_grad_()
        g = t.randn(*function(t, x).shape)

        def step():
            x.grad = None
            function(t, x).backward(g)
            return x.grad

        return step


def both(name, make_input, function):
    forward(name, make_input, function)
    backward(name, make_input, function)


def randn(*shape):
    return lambda t: t.randn(*shape)


forward("sum of 1000x1000", randn(1000, 1000), lambda t, x: x.sum())
forward("sum of 1000x1000 over the first dim", randn(1000, 1000), lambda t, x: x.sum(0))
forward("sum of 1000x1000 over the last dim", randn(1000, 1000), lambda t, x: x.sum(1))
forward("sum of 10000x10 over the first dim", randn(10000, 10), lambda t, x: x.sum(0))
forward("sum of 10000x10 over the last dim", randn(10000, 10), lambda t, x: x.sum(1))
forward("mean of 16x32x28x28 over all but the channels", randn(16, 32, 28, 28), lambda t, x: x.mean((0, 2, 3)))
forward("prod of 1000x1000", randn(1000, 1000), lambda t, x: x.prod())
forward("prod of 1000x1000 over the first dim", randn(1000, 1000), lambda t, x: x.prod(0))
forward("prod of 1000x1000 over the last dim", randn(1000, 1000), lambda t, x: x.prod(1))
forward("cat of two 500x500 along dim 0", randn(500, 500), lambda t, x: t.cat([x, x]))
forward("cat of two 500x500 along dim 1", randn(500, 500), lambda t, x: t.cat([x, x], 1))

for shape in ((64, 10), (256, 256), (64, 8192)):
    size = "x".join(map(str, shape))
    both(f"softmax of {size}", randn(*shape), lambda t, x: x.softmax(-1))
    both(f"log_softmax of {size}", randn(*shape), lambda t, x: x.log_softmax(-1))

for shape in ((64, 64), (512, 768)):
    size = "x".join(map(str, shape))

    @suite.case(f"layer_norm of {size}")
    def _(t, shape=shape):
        x, layer = t.randn(*shape), t.nn.LayerNorm(shape[-1])
        return lambda: layer(x)

    @suite.case(f"layer_norm of {size}, forward and backward")
    def _(t, shape=shape):
        x, g, layer = t.randn(*shape, requires_grad=True), t.randn(*shape), t.nn.LayerNorm(shape[-1])

        def step():
            x.grad = layer.weight.grad = layer.bias.grad = None
            layer(x).backward(g)
            return x.grad

        return step


both("relu of 1000x1000", randn(1000, 1000), lambda t, x: x.relu())
both("sigmoid of 1000x1000", randn(1000, 1000), lambda t, x: x.sigmoid())
both("gelu of 1000x1000", randn(1000, 1000), lambda t, x: t.nn.functional.gelu(x))
both("gelu of 64x256", randn(64, 256), lambda t, x: t.nn.functional.gelu(x))
both("leaky_relu of 1000x1000", randn(1000, 1000), lambda t, x: t.nn.functional.leaky_relu(x))
both("elu of 1000x1000", randn(1000, 1000), lambda t, x: t.nn.functional.elu(x))
both("softplus of 1000x1000", randn(1000, 1000), lambda t, x: t.nn.functional.softplus(x))
forward("erf of 1000x1000", randn(1000, 1000), lambda t, x: x.erf())

forward("sign of 1000x1000", randn(1000, 1000), lambda t, x: x.sign())
forward("10 x // 3, 1000x1000", lambda t: 10 * t.randn(1000, 1000), lambda t, x: x // 3)
forward("10 x % 0.7, 1000x1000", lambda t: 10 * t.randn(1000, 1000), lambda t, x: x % 0.7)
forward("x // y, 1000x1000", lambda t: t.randn(2, 1000, 1000), lambda t, x: x[0] // x[1])
forward("x % y, 1000x1000", lambda t: t.randn(2, 1000, 1000), lambda t, x: x[0] % x[1])

forward("fmod(x, y), 1000x1000", lambda t: t.randn(2, 1000, 1000), lambda t, x: t.fmod(x[0], x[1]))
forward("x // y of integers, 1000x1000", lambda t: t.randint(1, 100, (2, 1000, 1000)), lambda t, x: x[0] // x[1])
forward("x % y of integers, 1000x1000", lambda t: t.randint(1, 100, (2, 1000, 1000)), lambda t, x: x[0] % x[1])

forward("to half of 1000x1000", randn(1000, 1000), lambda t, x: x.half())
forward("to bfloat16 of 1000x1000", randn(1000, 1000), lambda t, x: x.bfloat16())
for dtype in ("float16", "bfloat16"):

    def narrow(t, dtype=dtype):
        return t.randn(1000, 1000).to(getattr(t, dtype))

    forward(f"to float of 1000x1000 of {dtype}", narrow, lambda t, x: x.float())
    forward(f"add of 1000x1000 of {dtype}", narrow, lambda t, x: x + x)
    forward(f"sum of 1000x1000 of {dtype}", narrow, lambda t, x: x.sum())

forward("cumsum of 1000x1000 along dim 0", randn(1000, 1000), lambda t, x: x.cumsum(0))
forward("cumsum of 1000x1000 along dim 1", randn(1000, 1000), lambda t, x: x.cumsum(1))
forward("topk(10) of 1000x1000", randn(1000, 1000), lambda t, x: x.topk(10)[0])
forward("topk(10) of 1000000", randn(1000000), lambda t, x: x.topk(10)[0])
forward("topk(10) of 1000000 in order", lambda t: t.arange(1e6), lambda t, x: x.topk(10)[0])
forward("flip of 1000x1000 along dim 0", randn(1000, 1000), lambda t, x: x.flip(0))
forward("flip of 1000x1000 along dim 1", randn(1000, 1000), lambda t, x: x.flip(1))
forward("one_hot of 10000 of 100", lambda t: t.arange(10000) % 100, lambda t, x: t.nn.functional.one_hot(x, 100))
forward("cummax of 1000x1000 along dim 0", randn(1000, 1000), lambda t, x: x.cummax(0)[0])
forward("cummax of 1000x1000 along dim 1", randn(1000, 1000), lambda t, x: x.cummax(1)[0])


@suite.case("index_add of 512 rows of 64")
def _(t):
    x, index, source = t.randn(1000, 64), t.randint(0, 1000, (512,)), t.randn(512, 64)
    return lambda: x.index_add(0, index, source)


@suite.case("scatter_add of 512x64 along dim 0")
def _(t):
    x, index, source = t.randn(1000, 64), t.randint(0, 1000, (512, 64)), t.randn(512, 64)
    return lambda: x.scatter_add(0, index, source)


@suite.case("scatter_add of 512x64 along dim 1")
def _(t):
    x, index, source = t.randn(1000, 64), t.randint(0, 64, (512, 64)), t.randn(512, 64)
    return lambda: x.scatter_add(1, index, source)


@suite.case("embedding of 512 rows of 64, forward and backward")
def _(t):
    weight, index, g = t.randn(1000, 64, requires_grad=True), t.randint(0, 1000, (512,)), t.randn(512, 64)

    def step():
        weight.grad = None
        t.nn.functional.embedding(index, weight).backward(g)
        return weight.grad

    return step


for shape in ((4, 4), (64, 64), (1000, 1000)):
    size = "x".join(map(str, shape))
    suite.case(f"rand of {size}")(lambda t, shape=shape: lambda: t.rand(*shape))
    suite.case(f"randn of {size}")(lambda t, shape=shape: lambda: t.randn(*shape))
suite.case("randint, 64 of 10")(lambda t: lambda: t.randint(10, (64,)))
suite.case("randperm of 1000")(lambda t: lambda: t.randperm(1000))

if __name__ == "__main__":
    suite.main()
