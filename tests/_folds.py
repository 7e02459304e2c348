"""Shared by the tests of reductions, scans and sorting: inputs, and first and second derivatives in both libraries."""

from _oracle import check_code

SETUP = """\
x = torch.tensor([[[0.5, -1.25, 2., 0.75], [3., 0.25, -2., 1.5]], [[-0.5, 1., 2.5, -3.], [0.1, 0.2, 4., -1.]]])
x = x.double().requires_grad_()
v = torch.tensor([0.5, -1.25, 2., 0.75], dtype=torch.float64, requires_grad=True)
t = torch.tensor([1., 2., 2., 0., 2.], dtype=torch.float64, requires_grad=True)
z = torch.tensor([[2., 0., 3.], [0., 4., 0.], [1., 2., 3.]], dtype=torch.float64, requires_grad=True)
s = torch.tensor(1.5, dtype=torch.float64, requires_grad=True)
f = torch.tensor([[0.5, -1.25, 2.], [3., 0.25, -2.]])
n = torch.tensor([[1., nan, 3.], [nan, nan, nan], [2., 5., nan]])
i = torch.tensor([[3, -1, 2], [0, 2, 2]])
i8 = torch.tensor([100, 100, 100], dtype=torch.int8)
u = torch.tensor([0, 3, 255], dtype=torch.uint8)
b = torch.tensor([[True, False], [True, True]])
c = torch.tensor([1 + 2j, -3 + 0.5j, 0.5j])
h = torch.tensor([0.1, 1000., 2.5, -3.]).half()
bf = torch.arange(1., 600.).bfloat16()
e = torch.empty(0)
e2 = torch.empty(2, 0)
big = torch.linspace(-1, 2, 7 * 3000).reshape(7, 3000)
"""

DERIVATIVES = """\
y = {expression}
y = y[0] if isinstance(y, tuple) else y
w = torch.linspace(-1, 1.3, y.numel(), dtype=y.dtype).reshape(y.shape)
first, = torch.autograd.grad(y, {input}, w, create_graph=True)
w = torch.linspace(0.5, 2, first.numel(), dtype=y.dtype).reshape(first.shape)
second, = torch.autograd.grad((first * w).sum() + (s + {input} * 0).sum(), {input})
(y, first, second)
"""


def check_value(expression):
    """The same value, or the same type of error, in both libraries."""
    check_code(SETUP + expression, strides=False)


def check_derivatives(expression, input="x"):
    """The same value, gradient and second derivative in both libraries."""
    check_code(SETUP + DERIVATIVES.format(expression=expression, input=input), strides=False)


def check_gradient(expression, input="x"):
    """The same value and gradient in both libraries, where PyTorch has no second derivative (or another one)."""
    code = DERIVATIVES.format(expression=expression, input=input).partition("\nsecond")[0]
    check_code(SETUP + code + "\n(y, first)", strides=False)


def lines(text):
    """The cases of a table: its lines."""
    return [line for line in text.strip().splitlines() if line]
