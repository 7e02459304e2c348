"""Matrix kernels that jax.numpy does not have by these names."""

import jax
import jax.numpy as jnp
import numpy as np

from ..._dtypes import HALF
from ..._precision import are_products_exact
from .. import NUMPY
from . import engine

HAVE_FASTER_WAYS = (jnp.float32, jnp.complex64)  # by default GPUs round the operands


@engine.kernel
def matmul(a, b):
    exact = a.dtype in HAVE_FASTER_WAYS and are_products_exact()
    return jnp.matmul(a, b, precision=jax.lax.Precision.HIGHEST if exact else jax.lax.Precision.DEFAULT)


@engine.kernel
def add_product(multiply, x, a, b, beta, alpha):
    if a.dtype.kind in "biu":
        beta, alpha = a.dtype.type(beta), a.dtype.type(alpha)
    out = multiply(a, b) * alpha
    return (out if beta == 0 else out + x * beta).astype(a.dtype)


@engine.kernel
def linear(x, weight, bias):
    out = matmul(x, weight.T)
    return out if bias is None else out + bias


@engine.immediate
def sum_rows(x):
    return engine.multiply_by_ones(x) if x.dtype in HALF else None


@engine.kernel
def multiply_by_ones(x):
    """The sum of the rows, in float32, as a product: a GPU then does not store x in float32 first."""
    return jnp.dot(jnp.ones((1, len(x)), x.dtype), x, preferred_element_type=jnp.float32)[0].astype(x.dtype)


@engine.kernel
def det(a):
    return jnp.linalg.det(a)


@engine.kernel
def slogdet(a):
    return tuple(jnp.linalg.slogdet(a))


@engine.kernel
def inv_ex(a):
    return jnp.linalg.inv(a), zero_pivot(jax.lax.linalg.lu(a)[0])


@engine.kernel
def solve_ex(a, b, left):
    if not left:
        x, info = solve_ex(a.swapaxes(-1, -2), b.swapaxes(-1, -2), True)
        return x.swapaxes(-1, -2), info
    batch = jnp.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    wide = jnp.broadcast_to(a, (*batch, *a.shape[-2:])), jnp.broadcast_to(b, (*batch, *b.shape[-2:]))
    return jnp.linalg.solve(*wide), zero_pivot(jax.lax.linalg.lu(a)[0])


@engine.kernel
def cholesky_ex(a, upper):
    """jax returns nan on failure: then info is the order of the matrix."""
    triangle = jnp.tril(a.swapaxes(-1, -2).conj() if upper else a)
    below = jnp.tril(triangle, -1)
    factor = jnp.linalg.cholesky(triangle + below.swapaxes(-1, -2).conj(), symmetrize_input=False)
    info = jnp.where(jnp.isnan(factor).any(axis=(-1, -2)), a.shape[-1], 0).astype(jnp.int32)
    return factor.swapaxes(-1, -2).conj() if upper else factor, info


@engine.kernel
def solve_triangular(a, b, upper, left, unitriangular):
    batch = jnp.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    wide = jnp.broadcast_to(a, (*batch, *a.shape[-2:])), jnp.broadcast_to(b, (*batch, *b.shape[-2:]))
    return jax.lax.linalg.triangular_solve(*wide, left_side=left, lower=not upper, unit_diagonal=unitriangular)


@engine.kernel
def lu_factor(a):
    lu, pivots, _ = jax.lax.linalg.lu(a)
    return lu, pivots + 1, zero_pivot(lu)


def zero_pivot(lu):
    """For each matrix the number of the first zero pivot, or 0."""
    zero = jnp.diagonal(lu, axis1=-2, axis2=-1) == 0
    info = jnp.where(zero.any(-1), zero.argmax(-1) + 1, 0) if zero.shape[-1] else jnp.zeros(lu.shape[:-2])
    return info.astype(jnp.int32)


@engine.kernel
def permutation_matrix(pivots, m, dtype):
    order = jax.lax.linalg.lu_pivots_to_permutation(pivots - 1, m)
    return jax.nn.one_hot(order, m, axis=-2, dtype=dtype)


@engine.kernel
def eig(a):
    return tuple(jnp.linalg.eig(a))


@engine.kernel
def householder(a):
    reflectors, tau = jnp.linalg.qr(a, mode="raw")
    return reflectors.swapaxes(-1, -2), tau


@engine.kernel
def ldl_factor(a, hermitian):
    """Computed on the host: XLA has no pivoting by blocks."""
    pivots, info = (jax.ShapeDtypeStruct(a.shape[:n], jnp.int32) for n in (-1, -2))
    return jax.pure_callback(
        lambda a: NUMPY.ldl_factor(np.asarray(a), hermitian), (jax.ShapeDtypeStruct(a.shape, a.dtype), pivots, info), a,
    )


@engine.kernel
def ldl_solve(ld, pivots, b, hermitian):
    batch = jnp.broadcast_shapes(ld.shape[:-2], b.shape[:-2])
    return jax.pure_callback(
        lambda *arrays: NUMPY.ldl_solve(*map(np.asarray, arrays), hermitian),
        jax.ShapeDtypeStruct((*batch, *b.shape[-2:]), b.dtype), ld, pivots, b,
    )


@engine.kernel
def matrix_exp(a):
    from jax.scipy.linalg import expm

    return expm(a)
