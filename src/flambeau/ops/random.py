"""Random draws in the graph: the gradient of overwritten elements, and of draws by their parameters."""

from ._op import kernel_op, op
from .pointwise import undifferentiable
from .reduce import sum_
from .shape import zeros_like


@op
def redrawn(k, x, value, *, node):
    """`value`, which replaces x; `node` is named after the function that drew it."""
    return value


redrawn.vjp(x=lambda g: zeros_like(g), value=lambda g: g)

# ---- draws that are differentiable by their parameters

standard_gamma_grad = kernel_op(
    "_standard_gamma_grad", "standard_gamma_grad", inputs="alpha, sample", promote="common", refuses="bic",
    row_major=True,
)
standard_gamma_grad.vjp(**dict.fromkeys(["alpha", "sample"], undifferentiable("_standard_gamma_grad")))

dirichlet_grad = kernel_op(
    "_dirichlet_grad", "dirichlet_grad", inputs="x, alpha, total", promote="common", refuses="bic",
    row_major=True,
)
dirichlet_grad.vjp(**dict.fromkeys(["x", "alpha", "total"], undifferentiable("_dirichlet_grad")))


@op(node="StandardGammaBackward0")
def standard_gamma(k, alpha, sample):
    """`sample`, a gamma number with the shape parameter alpha."""
    return sample


standard_gamma.vjp(alpha=lambda g, alpha, sample: g * standard_gamma_grad(alpha, sample))


@op(node="_DirichletBackward")
def dirichlet(k, alpha, sample):
    """`sample`, a point of the simplex with the parameters alpha along the last axis."""
    return sample


def dirichlet_vjp(g, alpha, sample):
    last = len(alpha.shape) - 1
    total = sum_(alpha, axis=last, keepdims=True)
    centered = g - sum_(sample * g, axis=last, keepdims=True)
    return dirichlet_grad(sample, alpha, total) * centered


dirichlet.vjp(alpha=dirichlet_vjp)
