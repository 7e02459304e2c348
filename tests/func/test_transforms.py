"""The transforms of func, alone and nested: PyTorch's values, structures and errors."""

import numpy as np
import pytest

import flambeau
from _oracle import assert_same, outcome
from flambeau.func import grad, hessian, jacfwd, jacrev, jvp, vjp, vmap

SETUP = """
from {lib}.func import functional_call, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize, vjp, vmap
F = torch.nn.functional
x = torch.tensor([0.5, -1.5, 2.0], dtype=torch.float64)
y = torch.tensor([1.0, 0.3, -0.7], dtype=torch.float64)
s = torch.tensor(3.0, dtype=torch.float64)
m = torch.arange(12.0, dtype=torch.float64).reshape(3, 4) / 10
w = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
"""

# Functions of one vector.
FUNCTIONS = {
    "sin": "lambda x: x.sin()",
    "cube": "lambda x: x ** 3",
    "product": "lambda x: x.prod() * x",
    "softmax": "lambda x: torch.softmax(x, 0)",
    "norm": "lambda x: x / x.norm()",
    "outer": "lambda x: torch.outer(x, x.exp())",
    "matmul": "lambda x: m.t() @ x",
    "where": "lambda x: torch.where(x > 0, x * x, -x)",
    "sort": "lambda x: x.sort().values * y",
    "cumsum": "lambda x: x.cumsum(0) * x.cumprod(0)",
    "index": "lambda x: x[torch.tensor([2, 0])] * x[1:]",
    "logsumexp": "lambda x: torch.logsumexp(x, 0)",
    "layer_norm": "lambda x: F.layer_norm(x, (3,), y, y)",
    "in_place": "lambda x: x.clone().mul_(x).add_(1)",
    "write": "lambda x: torch.cat([x, x * 2]).reshape(2, 3).t()[1:].sum(0)",
    "var": "lambda x: x.var() * x.mean()",
    "conv": "lambda x: F.conv1d(x.reshape(1, 1, 3), y.reshape(1, 1, 3), padding=1).flatten()",
    "gelu": "lambda x: F.gelu(x) + F.silu(x)",
    "max": "lambda x: x.max() * x",
    "einsum": "lambda x: torch.einsum('i,j,ij->j', x, x, torch.outer(x, y))",
}

TRANSFORMS = {
    "grad": "grad(lambda x: f(x).sum())(x)",
    "vjp": "vjp(f, x)[1](torch.ones_like(f(x)))",
    "jvp": "jvp(f, (x,), (y,))",
    "jacrev": "jacrev(f)(x)",
    "jacrev in chunks": "jacrev(f, chunk_size=2)(x)",
    "jacfwd": "jacfwd(f)(x)",
    "linearize": "linearize(f, x)[1](y)",
    "hessian": "hessian(lambda x: f(x).sum())(x)",
    "vmap": "vmap(f)(torch.stack([x, y, x * y, x - y]))",
    "vmap in_dims": "vmap(f, in_dims=1, out_dims=-1)(torch.stack([x, y, x * y, x - y], 1))",
    "grad grad": "grad(lambda x: (grad(lambda x: f(x).sum())(x) * y).sum())(x)",
    "jacrev jacrev": "jacrev(jacrev(lambda x: f(x).sum()))(x)",
    "jacrev jacfwd": "jacrev(jacfwd(lambda x: f(x).sum()))(x)",
    "jacfwd jacfwd": "jacfwd(jacfwd(lambda x: f(x).sum()))(x)",
    "jvp jvp": "jvp(lambda x: jvp(f, (x,), (y,))[1], (x,), (y,))",
    "jvp grad": "jvp(grad(lambda x: f(x).sum()), (x,), (y,))",
    "grad jvp": "grad(lambda x: jvp(f, (x,), (y,))[1].sum())(x)",
    "vmap grad": "vmap(grad(lambda x: f(x).sum()))(torch.stack([x, y, x * y]))",
    "grad vmap": "grad(lambda m: vmap(f)(m).sum())(torch.stack([x, y, x * y]))",
    "vmap jvp": "vmap(lambda x, t: jvp(f, (x,), (t,)))(torch.stack([x, y]), torch.stack([y, x]))",
    "jvp vmap": "jvp(lambda m: vmap(f)(m), (torch.stack([x, y]),), (torch.stack([y, x]),))",
    "vmap vmap": "vmap(vmap(f))(torch.stack([x, y, x * y, x - y]).reshape(2, 2, 3))",
    "vmap hessian": "vmap(hessian(lambda x: f(x).sum()))(torch.stack([x, y]))",
    "grad vmap grad": "grad(lambda m: vmap(grad(lambda x: (f(x) ** 2).sum()))(m).sin().sum())(torch.stack([x, y]))",
    "vmap grad jvp": "vmap(grad(lambda x: jvp(f, (x,), (x * y,))[1].sum()))(torch.stack([x, y]))",
    "jvp vmap grad": "jvp(lambda m: vmap(grad(lambda x: f(x).sum()))(m), (torch.stack([x, y]),), "
                     "(torch.stack([y, x]),))",
    "vmap vmap grad": "vmap(vmap(grad(lambda x: f(x).sum())))(torch.stack([x, y, x * y, x - y]).reshape(2, 2, 3))",
    "grad grad grad": "grad(lambda x: (grad(lambda x: (grad(lambda x: f(x).sum())(x) * x).sum())(x) * y).sum())(x)",
}


def check_both(*lines):
    """Runs the code with both libraries, each with its own func."""
    import torch

    code = "\n".join([SETUP, *lines])
    got, error = run(code, flambeau)
    want, expected = run(code, torch)
    if expected is not None:
        assert error is not None, f"torch raises {expected!r}, flambeau gives {got!r}"
        assert type(error) is type(expected), f"{error!r} for torch's {expected!r}"
        return error, expected
    if error is not None:
        raise error
    assert_same(leaves(got), leaves(want), rtol=1e-7, atol=1e-9)
    return got, want


def run(code, library):
    return outcome(code.replace("{lib}", library.__name__), library)


def leaves(tree):
    """A tree as nested lists, dicts as lists of pairs."""
    if isinstance(tree, dict):
        return [[key, leaves(value)] for key, value in tree.items()]
    return [leaves(value) for value in tree] if isinstance(tree, tuple | list) else tree


# PyTorch's derivatives of layer_norm beyond the second are wrong, and so are those of its jvp: there it is composed.
COMPOSED = "lambda x: (x - x.mean()) / (x.var(correction=0) + 1e-5).sqrt() * y + y"


@pytest.mark.oracle
@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_functions_by_transforms(function, transform):
    theirs = COMPOSED if function == "layer_norm" else FUNCTIONS[function]
    code = f"f = ({FUNCTIONS[function]}) if torch.__name__ == 'flambeau' else ({theirs})"
    check_both(code, TRANSFORMS[transform])


# ---- structure: trees, several arguments, what comes beside the result

STRUCTURES = """
grad(lambda a, b: (a * b).sum(), argnums=1)(x, y)
grad(lambda a, b: (a * b * b).sum(), argnums=(0, 1))(x, y)
grad(lambda a, b: (a * b).sum(), argnums=-1)(x, y)
grad(lambda d: (d['a'] * d['b'][0]).sum())({'a': x, 'b': [y]})
grad(lambda a, *, b: (a * b).sum())(x, b=y)
grad(lambda a: (a.sum(), a * 2), has_aux=True)(x)
grad(lambda a: (a.sum(), {'k': a * 2, 'n': 1}), has_aux=True)(x)
grad_and_value(lambda a: (a * a).sum())(x)
grad_and_value(lambda a, b: ((a * b).sum(), (a, b)), argnums=(0, 1), has_aux=True)(x, y)
grad(lambda a: s)(x)
grad(lambda a, b: a.sum(), argnums=(0, 1))(x, y)
vjp(lambda a, b: (a * b, {'c': a.sum()}), x, y)[1]((x, {'c': s}))
vjp(lambda a, b: (a * b, {'c': a.sum()}), x, y)[0]
vjp(lambda a: (a * 2, a), x, has_aux=True)[2]
vjp(lambda d: d['a'] * 2, {'a': x})[1](y)
jvp(lambda a, b: (a * b, {'c': a.sum()}), (x, y), (y, x))
jvp(lambda a: (a * 2, a + 1), (x,), (y,), has_aux=True)
jvp(lambda d: d['a'] * d['b'], ({'a': x, 'b': y},), ({'a': y, 'b': x},))
jvp(lambda a: s, (x,), (y,))
linearize(lambda a, b: (a * b, {'c': a.sum()}), x, y)[1](y, x)
linearize(lambda a, b: (a * b, {'c': a.sum()}), x, y)[0]
jacrev(lambda a, b: a * b, argnums=(0, 1))(x, y)
jacrev(lambda a, b: (a * b, {'c': a.sum()}), argnums=1)(x, y)
jacrev(lambda d: d['a'] * d['b'].sum())({'a': x, 'b': y})
jacrev(lambda a: (a * 2, a.sum()), has_aux=True)(x)
jacfwd(lambda a, b: a * b, argnums=(0, 1))(x, y)
jacfwd(lambda a, b: (a * b, {'c': a.sum()}), argnums=1)(x, y)
jacfwd(lambda d: d['a'] * d['b'].sum())({'a': x, 'b': y})
jacfwd(lambda a: (a * 2, a.sum()), has_aux=True)(x)
jacfwd(lambda a: a.reshape(2, 6) ** 2)(m)
jacrev(lambda a: a.reshape(2, 6) ** 2)(m)
hessian(lambda a, b: (a * b * b).sum(), argnums=(0, 1))(x, y)
vmap(lambda a, b: (a * b, {'c': a.sum()}))(m, m)
vmap(lambda a, b: a * b, in_dims=(0, None))(m, m[0])
vmap(lambda a, b: a * b, in_dims=(None, 0))(m[0], m)
vmap(lambda a, b: a * b, in_dims=(1, -1))(m, m)
vmap(lambda a: a * 2, in_dims=-2, out_dims=1)(m)
vmap(lambda a: (a, a * 2), out_dims=(0, 1))(m)
vmap(lambda a: {'a': a, 'b': a}, out_dims={'a': 0, 'b': 1})(m)
vmap(lambda d: d['a'] * d['b'], in_dims=({'a': 0, 'b': None},))({'a': m, 'b': m[0]})
vmap(lambda a, b: a[0] * a[1] + b, in_dims=((0, None), 0))((m, m[0]), m)
vmap(lambda a, k=1: a * k)(m, k=3)
vmap(lambda a: a * 2, chunk_size=2)(m)
vmap(lambda a: (a * 2, a.sum()), out_dims=(1, 0), chunk_size=2)(m)
vmap(lambda a: torch.ones(2))(m)
vmap(lambda a: (a, 3), out_dims=(0, None))(m)
vmap(lambda a, b: torch.dot(a, b))(m, m)
vmap(lambda a: a.shape[0] * a.dim() + a.numel() + a)(m)
vmap(lambda a: a * torch.ones(4, dtype=torch.float16))(torch.ones(3))
vmap(lambda a: a.unsqueeze(0).expand(2, 4) @ m.t())(m)
vmap(lambda i: m[i])(torch.tensor([2, 0, 1]))
vmap(lambda a, i: a[i])(m, torch.tensor([2, 0, 1]))
vmap(lambda a, i: a.gather(0, i))(m, torch.tensor([[2, 0], [1, 1], [3, 0]]))
vmap(lambda a, i: a.index_select(0, i))(m, torch.tensor([[2, 0], [1, 1], [3, 0]]))
vmap(lambda a, i: a.index_put((i,), a[:2]))(m, torch.tensor([[2, 0], [1, 1], [3, 0]]))
"""


@pytest.mark.oracle
@pytest.mark.parametrize("code", STRUCTURES.strip().splitlines())
def test_structures(code):
    check_both(code)


# ---- levels: which graph an operation belongs to

LEVELS = {
    "perturbation confusion, reverse": "grad(lambda a: a * grad(lambda b: a + b)(s))(s)",
    "perturbation confusion, forward": "jvp(lambda a: a * jvp(lambda b: a + b, (s,), (s / s,))[1], (s,), (s / s,))[1]",
    "perturbation confusion, mixed": "jvp(lambda a: a * grad(lambda b: a * b)(s), (s,), (s / s,))[1]",
    "closure": "grad(lambda a: w * a * a)(s)",
    "closure, twice": "torch.autograd.grad(grad(lambda a: w ** 2 * a * a)(s), w)",
    "closure of vmap": "torch.autograd.grad(vmap(lambda a: w * a * a)(x).sum(), w)",
    "closure of vmap grad": "torch.autograd.grad(vmap(grad(lambda a: w ** 2 * a * a))(x).sum(), w)",
    "closure of jvp": "torch.autograd.grad(jvp(lambda a: w ** 2 * a * a, (x,), (y,))[1].sum(), w)",
    "closure of jacrev": "torch.autograd.grad(jacrev(lambda a: w ** 2 * a * a)(x).sum(), w)",
    "closure of jacfwd": "torch.autograd.grad(jacfwd(lambda a: w ** 2 * a * a)(x).sum(), w)",
    "closure of hessian": "torch.autograd.grad(hessian(lambda a: (w ** 2 * a ** 3).sum())(x).sum(), w)",
    "input with a graph": "torch.autograd.grad(grad(lambda a: a ** 3)(w), w)",
    "input with a graph, vmap": "torch.autograd.grad(vmap(lambda a: a ** 3)(w * x).sum(), w)",
    "inner gradient of an outer input": "vmap(lambda a: grad(lambda b: a * b * b)(s))(x)",
    "outer input inside": "grad(lambda a: vmap(grad(lambda b: a * b * b))(x).sum())(s)",
    "detach inside": "grad(lambda a: a.detach() ** 2 * a)(s)",
    "detach inside of vmap": "grad(lambda a: vmap(lambda b: b.detach() * b)(a).sum())(x)",
    "detach in forward mode": "jvp(lambda a: a.detach() * a, (x,), (y,))",
    "detach twice": "grad(grad(lambda a: a.detach() ** 2 * a))(s)",
    "value has no graph": "grad_and_value(lambda a: a ** 2)(s)[1].requires_grad",
    "value has a graph": "grad_and_value(lambda a: w * a ** 2)(s)[1].requires_grad",
    "vjp has no graph": "vjp(lambda a: a ** 2, s)[0].requires_grad",
    "gradient has no graph": "grad(lambda a: a ** 2)(s).requires_grad",
    "graph inside": "grad(lambda a: a * float(a.requires_grad))(s)",
    "vjp of a cotangent": "grad(lambda c: vjp(lambda a: a ** 2, x)[1](c)[0].sum())(y)",
    "vjp in vmap of cotangents": "vmap(vjp(lambda a: a ** 2, x)[1])(torch.stack([x, y]))",
    "unused cotangent": "vjp(lambda a: (a, s), x)[1]((y, s))",
    "integers beside": "vmap(lambda a, i: a * i)(m, torch.arange(3))",
}
STATEMENTS = {
    "no_grad inside": """
def f(a):
    with torch.no_grad():
        c = a ** 2
    return a * c
grad(f)(s), grad(grad(f))(s)
""",
    "no_grad outside": """
with torch.no_grad():
    result = grad(lambda a: w * a ** 2)(s)
result, result.requires_grad
""",
    "no_grad inside of vmap": """
def f(a):
    with torch.no_grad():
        c = a ** 2
    return a * c
grad(lambda a: vmap(f)(a).sum())(x)
""",
    "enable_grad in vmap": """
def f(a):
    with torch.no_grad():
        return grad(lambda b: b ** 3)(a)
vmap(f)(x)
""",
    "in-place on an input of grad": """
def f(a):
    b = a.clone()
    b[0] = b[1] * a[2]
    b.mul_(a)
    return b.sum()
grad(f)(x), vmap(grad(f))(torch.stack([x, y]))
""",
    "in-place in vmap": """
def f(a):
    b = torch.zeros_like(a)
    b[1:] = a[:-1]
    b[0] += a[0]
    b.add_(a).mul_(2)
    return b
vmap(f)(m), grad(lambda m: (vmap(f)(m) * m).sum())(m)
""",
    "in-place on an input of vmap": """
n = m.clone()
r = vmap(lambda a: a.add_(1))(n)
r, n
""",
    "new tensors in vmap": """
def f(a):
    b = a.new_zeros(2)
    b[0] = a.sum()
    c = torch.full_like(a, 2.0)
    c.copy_(a)
    return b, c, torch.empty_like(a).fill_(1)
vmap(f)(m)
""",
    "in-place in forward mode": """
def f(a):
    b = torch.zeros(3, dtype=torch.float64)
    b[1] = a[2] * a[0]
    b[:1].add_(a[:1])
    return b
jvp(f, (x,), (y,)), jacfwd(f)(x)
""",
    "in-place in forward mode in vmap": """
vmap(jacfwd(lambda a: (a * 1)[0].clone().addmv_(a * 1, x[:2], alpha=2)))(torch.stack([m[:2, :2], m[1:, :2]]))
""",
    "custom Function": """
class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x
    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return 2 * g * x
torch.autograd.grad(grad(lambda a: (w * a) ** 2)(s), w)
""",
    "index by mask": """
vmap(lambda a: torch.where(a > 0.5, a, 0.0).masked_fill(a > 1, 9.0))(m)
""",
    "module": """
torch.manual_seed(0)
net = torch.nn.Linear(4, 2).double()
params = {k: v.detach() for k, v in net.named_parameters()}
grad(lambda p: functional_call(net, p, (m,)).square().sum())(params)
""",
}


@pytest.mark.oracle
@pytest.mark.parametrize("case", LEVELS)
def test_levels(case):
    check_both(LEVELS[case])


@pytest.mark.oracle
@pytest.mark.parametrize("case", STATEMENTS)
def test_statements(case):
    check_both(STATEMENTS[case].strip())


# ---- without PyTorch


def test_values():
    """Known derivatives of x³ at 2, by all ways of getting them."""
    x = flambeau.tensor(2.0)

    def cube(x):
        return x**3

    assert grad(cube)(x) == jvp(cube, (x,), (flambeau.ones(()),))[1] == vjp(cube, x)[1](flambeau.ones(()))[0] == 12
    assert jacrev(cube)(x) == jacfwd(cube)(x) == 12
    assert grad(grad(cube))(x) == hessian(cube)(x) == 12
    assert grad(grad(grad(cube)))(x) == 6
    assert vmap(grad(cube))(flambeau.arange(3.0)).tolist() == [0, 3, 12]


def test_jacobian_of_a_map_between_matrices():
    a = flambeau.randn(2, 3, dtype=flambeau.float64)
    b = flambeau.randn(3, 4, dtype=flambeau.float64)
    for jacobian in (jacrev, jacfwd):
        found = jacobian(lambda a: a @ b)(a)
        np.testing.assert_allclose(found.numpy(), np.einsum("ik,jl->ijkl", np.eye(2), b.numpy().T))


def test_vmap_computes_at_once():
    """The mapped function runs once, whatever the size of the batch."""
    calls = []
    vmap(lambda x: calls.append(x.shape) or x * 2)(flambeau.ones(50, 3))
    assert calls == [(3,)]
    calls.clear()
    vmap(lambda x: calls.append(x.shape) or x * 2, chunk_size=20)(flambeau.ones(50, 3))
    assert len(calls) == 3
