"""Shared by the tests of products, linear algebra and transforms: inputs, and derivatives in both libraries."""

from _oracle import check_code

SETUP = """\
def wave(*shape, speed=1.7, dtype=torch.float64):
    n = 1
    for size in shape:
        n *= size
    k = torch.arange(n, dtype=dtype)
    return torch.sin(k * k * 0.31 + k * speed + 0.3).reshape(shape).clone()  # without the square of rank 2

v, u = wave(3), wave(3, speed=0.9)
a, b = wave(2, 3), wave(3, 4, speed=2.3)
x, y = wave(5, 2, 3), wave(5, 3, 4, speed=2.3)
s = wave(3, 3) + 2 * torch.eye(3, dtype=torch.float64)
t = wave(2, 3, 3) + 2 * torch.eye(3, dtype=torch.float64)
tall, wide = wave(4, 3, speed=2.9), wave(3, 4, speed=2.9)
c = torch.complex(wave(3, 3), wave(3, 3, speed=0.7)) + 2 * torch.eye(3, dtype=torch.float64)
d = torch.complex(wave(3, 2), wave(3, 2, speed=0.7))
f = wave(2, 3, dtype=torch.float32)
i = torch.arange(6).reshape(2, 3)
h = wave(2, 3, dtype=torch.float32).half()
bf = wave(2, 3, dtype=torch.float32).bfloat16()
o = torch.ones(2, 2, dtype=torch.bool)
e = torch.zeros(0, 3)
"""

DERIVATIVES = """\
inputs = [{names}]
for n in inputs:
    n.requires_grad_()
out = {expression}
out = [y for y in (out if isinstance(out, tuple) else (out,)) if y.requires_grad]
parts = [torch.view_as_real(y * 1) if y.is_complex() else y for y in out]
loss = sum((y * wave(*y.shape, speed=1.1)).sum() for y in parts)
first = torch.autograd.grad(loss, inputs, create_graph=True)
square = sum((torch.view_as_real(g * 1) if g.is_complex() else g).square().sum() for g in first)
second = torch.autograd.grad(square + 0 * loss, inputs, allow_unused=True)
[*out, *first, *second]
"""


def lines(text):
    """The cases in a table: one a line."""
    return [line for line in text.strip().splitlines() if line]


def check_value(expression):
    """The same value, or the same type of error, in both libraries."""
    check_code(SETUP + expression, strides=False)


def check_derivatives(case):
    """``names: expression``: its value, first and second derivatives by the named inputs are the same in both."""
    names, _, expression = case.partition(": ")
    check_code(SETUP + DERIVATIVES.format(names=names, expression=expression), strides=False)
