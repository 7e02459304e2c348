"""autograd.forward_ad, and functions based on forward mode, compared with PyTorch."""

import contextlib
import sys

import pytest

import flambeau
from flambeau.autograd import gradcheck, gradgradcheck
from flambeau.autograd.forward_ad import dual_level, make_dual, unpack_dual
from func.test_transforms import check_both

SETUP = """
import {lib}.autograd.forward_ad as fwAD
from {lib}.autograd import functional as AF
t = torch.tensor([0.1, 0.2, -0.3], dtype=torch.float64)
"""

CASES = {
    "values": """
with fwAD.dual_level():
    d = fwAD.make_dual(x, y)
    r = [tuple(fwAD.unpack_dual(f(d))) for f in (torch.sin, lambda d: d * d.sum(), lambda d: d[1:], lambda d: d.sort()[0])]
r
""",
    "no tangent": """
with fwAD.dual_level():
    r = fwAD.unpack_dual(x).tangent, fwAD.unpack_dual(fwAD.make_dual(x, y) > 0).tangent
r
""",
    "detach drops the tangent": """
with fwAD.dual_level():
    d = fwAD.make_dual(x, y)
    r = fwAD.unpack_dual(d.detach()).tangent, fwAD.unpack_dual(d.clone()).tangent
r
""",
    "after the level": """
with fwAD.dual_level():
    d = fwAD.make_dual(x, y)
(d + 1, fwAD.unpack_dual(d).tangent)
""",
    "in-place": """
with fwAD.dual_level():
    z = torch.zeros(3, dtype=torch.float64)
    z[1] = fwAD.make_dual(x, y)[2]
    z.add_(fwAD.make_dual(x, y))
    z.mul_(2).sub_(fwAD.make_dual(y, x))
    r = tuple(fwAD.unpack_dual(z))
r
""",
    "what does not move is written": """
with fwAD.dual_level():
    d, z, w = fwAD.make_dual(x, y), torch.zeros(3, dtype=torch.float64), torch.zeros(2, 3, dtype=torch.float64)
    r = tuple(fwAD.unpack_dual(z.copy_((d > 0).double()))), tuple(fwAD.unpack_dual(w[1].copy_((d > 0).double())))
r, z, w
""",
    "running statistics": """
mean, var = torch.zeros(3, dtype=torch.float64), torch.ones(3, dtype=torch.float64)
rows = torch.stack([x, y, x * y])
with fwAD.dual_level():
    d = fwAD.make_dual(x, y)
    r = [tuple(fwAD.unpack_dual(torch.nn.functional.batch_norm(rows, mean, var, w, b, True))) for w, b in ((d, None), (d, d), (x, d))]
    r += tuple(fwAD.unpack_dual(mean)), tuple(fwAD.unpack_dual(var))
r
""",
    "views": """
with fwAD.dual_level():
    d = fwAD.make_dual(m.clone(), m * 2)
    v = d.t()[1]
    v.mul_(3)
    r = tuple(fwAD.unpack_dual(d)), tuple(fwAD.unpack_dual(v))
r
""",
    "a graph below": """
p = x.clone().requires_grad_()
with fwAD.dual_level():
    out = fwAD.unpack_dual(fwAD.make_dual(p, y) ** 3)
    r = torch.autograd.grad(out.tangent.sum(), p), out.primal.requires_grad
r
""",
    "backward of dual tensors": """
p = x.clone().requires_grad_()
with fwAD.dual_level():
    out = (fwAD.make_dual(p, y) ** 3).sum()
    r = out.requires_grad, tuple(fwAD.unpack_dual(torch.autograd.grad(out, p, create_graph=True)[0]))[1]
r
""",
    "numbers": """
with fwAD.dual_level():
    d = fwAD.make_dual(s, s)
    r = d.item(), float(d), bool(d > 0), d.tolist()
r
""",
    "levels are functions too": """
level = fwAD.enter_dual_level()
r = fwAD.unpack_dual(fwAD.make_dual(x, y, level=level) * 2, level=level).tangent
fwAD.exit_dual_level(level=level)
(level, r)
""",
    "dual_level decorates": """
@fwAD.dual_level()
def f():
    return fwAD.unpack_dual(fwAD.make_dual(x, y) * 2).tangent
f(), f()
""",
    "printing": "fwAD.enter_dual_level(); r = repr(fwAD.make_dual(x, y)); fwAD.exit_dual_level(); r",
    "functions of Function": """
class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_forward(x)
        return x ** 3
    @staticmethod
    def jvp(ctx, t):
        return 3 * ctx.saved_tensors[0] ** 2 * t
with fwAD.dual_level():
    r = tuple(fwAD.unpack_dual(Cube.apply(fwAD.make_dual(x, y))))
r
""",
    "jacobian": "AF.jacobian(lambda x, y: (x * y, x.sum()), (x, y), strategy='forward-mode', vectorize=True)",
    "hessian": "AF.hessian(lambda x, y: (x * y ** 2).sum(), (x, y), outer_jacobian_strategy='forward-mode', vectorize=True)",
    "jvp of functional": "AF.jvp(lambda x, y: (x * y, x.sum()), (x, y), (y, x))",
    "hvp of functional": "AF.hvp(lambda x: (x ** 3).sum(), x, y)",
}
ERRORS = """
fwAD.make_dual(x, y)
fwAD.exit_dual_level()
fwAD.enter_dual_level(); fwAD.enter_dual_level()
fwAD.enter_dual_level(); fwAD.make_dual(x, y[:2])
fwAD.enter_dual_level(); fwAD.make_dual(x.long(), y)
fwAD.enter_dual_level(); fwAD.make_dual(fwAD.make_dual(x, y), y)
AF.jacobian(torch.sin, x, strategy='forward-mode')
AF.jacobian(torch.sin, x, strategy='forward-mode', vectorize=True, create_graph=True)
AF.jacobian(torch.sin, x, strategy='forward-mode', vectorize=True, strict=True)
AF.jacobian(torch.sin, x, strategy='sideways')
torch.autograd.gradcheck(torch.sin, w, check_forward_ad=False, check_backward_ad=False)
torch.autograd.gradcheck(torch.sin, w, check_batched_forward_grad=True)
"""


@pytest.fixture(autouse=True)
def no_level_stays():
    """A case that fails may leave a level behind."""
    yield
    for name in ("flambeau", "torch"):
        library = sys.modules.get(f"{name}.autograd.forward_ad")
        with contextlib.suppress(RuntimeError, AttributeError):
            library.exit_dual_level()


@pytest.mark.oracle
@pytest.mark.parametrize("case", CASES)
def test_forward_mode(case):
    check_both(SETUP, CASES[case].strip().replace("; ", "\n") if case == "printing" else CASES[case].strip())


@pytest.mark.oracle
@pytest.mark.parametrize("code", ERRORS.strip().splitlines())
def test_errors(code):
    check_both(SETUP, code.replace("; ", "\n"))


FUNCTIONS = {
    "sin": lambda x: x.sin(),
    "softmax": lambda x: flambeau.softmax(x, -1),
    "norm": lambda x: flambeau.linalg.norm(x),
    "matmul": lambda x: x @ x.t(),
    "solve": lambda x: flambeau.linalg.solve(x @ x.t() + flambeau.eye(3, dtype=x.dtype), x),
    "layer_norm": lambda x: flambeau.nn.functional.layer_norm(x, x.shape[-1:]),
    "several": lambda x: (x * 2, x.prod()),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradcheck(name):
    x = flambeau.randn(3, 4, dtype=flambeau.float64, requires_grad=True)
    assert gradcheck(FUNCTIONS[name], x, check_forward_ad=True, check_batched_forward_grad=True)
    assert gradcheck(FUNCTIONS[name], x, check_forward_ad=True, check_backward_ad=False, fast_mode=True)
    assert gradgradcheck(FUNCTIONS[name], x, check_fwd_over_rev=True)


def test_gradcheck_notices_a_wrong_jvp():
    class Wrong(flambeau.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

        @staticmethod
        def jvp(ctx, t):
            return t * 3

    x = flambeau.ones(2, dtype=flambeau.float64, requires_grad=True)
    assert gradcheck(Wrong.apply, x)
    assert not gradcheck(Wrong.apply, x, check_forward_ad=True, raise_exception=False)
    with pytest.raises(RuntimeError, match="Jacobian computed with forward mode mismatch for output 0"):
        gradcheck(Wrong.apply, x, check_forward_ad=True)


def test_known_tangent():
    with dual_level():
        primal, tangent = unpack_dual(make_dual(flambeau.tensor(2.0), flambeau.tensor(3.0)) ** 2)
    assert (primal, tangent) == (4, 12)
