"""Special functions on jax arrays: jax's own, and the NumPy kernels called back for those it lacks."""

import jax
import jax.numpy as jnp
import jax.scipy.special as jsp

from .. import NUMPY
from . import engine
from .lazy import recording

OWN = {
    "digamma": jsp.digamma, "erf": jsp.erf, "erfc": jsp.erfc, "erfinv": jsp.erfinv, "i0": jsp.i0,
    "i0e": jsp.i0e, "i1": jsp.i1, "i1e": jsp.i1e, "igamma": jsp.gammainc, "igammac": jsp.gammaincc,
    "lgamma": jsp.gammaln, "log_ndtr": jsp.log_ndtr, "ndtri": jsp.ndtri, "zeta": jsp.zeta,
}
BORROWED = (
    "airy_ai", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "dirichlet_grad", "erfcx", "modified_bessel_k0",
    "modified_bessel_k1", "scaled_modified_bessel_k0", "scaled_modified_bessel_k1", "spherical_bessel_j0",
    "standard_gamma_grad", "chebyshev_polynomial_t", "chebyshev_polynomial_u", "chebyshev_polynomial_v",
    "chebyshev_polynomial_w", "hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l",
    "legendre_polynomial_p", "shifted_chebyshev_polynomial_t", "shifted_chebyshev_polynomial_u",
    "shifted_chebyshev_polynomial_v", "shifted_chebyshev_polynomial_w",
)


def call_on_host(name):
    """The NumPy kernel `name`, called from the host."""

    def kernel(*operands):
        operands = jnp.broadcast_arrays(*operands)
        like = jax.ShapeDtypeStruct(operands[0].shape, jnp.result_type(*operands))
        return jax.pure_callback(getattr(NUMPY, name), like, *operands, vmap_method="broadcast_all")

    kernel.__name__ = name
    return kernel


for _name, _function in OWN.items():
    setattr(engine, _name, recording(_function))
for _name in BORROWED:
    engine.kernel(call_on_host(_name))
