"""The von Mises distribution."""

import math

from .._dtypes import bool_, float64
from .._modes import no_grad
from .._size import Size
from ..functions.pointwise import where
from ..functions.random import rand
from ..special import i0e, i1e
from . import constraints
from ._parameters import Symmetric
from .distribution import Distribution
from .utils import broadcast_all, lazy_property

__all__ = ["VonMises"]


class VonMises(Symmetric, Distribution):
    """Angles from -π to π around `loc`: a normal distribution on the circle.

    Args:
        loc: the mean angle.
        concentration: how closely angles are concentrated around it; like an inverse variance.
        validate_args: whether to validate parameters and values.

    Example::

        >>> VonMises(flambeau.tensor([1.0]), flambeau.tensor([4.0])).mean
        tensor([1.])
    """

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real

    def __init__(self, loc, concentration, validate_args=None):
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return self._expand_parameters(VonMises, batch_shape, _instance)

    @lazy_property
    def variance(self):
        """The circular variance: 1 minus the mean cosine of the deviation."""
        return 1 - i1e(self.concentration) / i0e(self.concentration)

    @lazy_property
    def _proposal_r(self):
        """The parameter of the wrapped Cauchy distribution used as the proposal."""
        kappa = self.concentration.to(float64)
        tau = 1 + (1 + 4 * kappa**2).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * kappa)
        return where(kappa < 1e-5, 1 / kappa + kappa, (1 + rho**2) / (2 * rho))  # catastrophic cancellation

    def sample(self, sample_shape=Size()):  # noqa: B008
        """Samples by rejection (Best and Fisher, 1979), in double precision."""
        shape = self._extended_shape(sample_shape)
        with no_grad():
            r, kappa = self._proposal_r.expand(shape), self.concentration.to(float64).expand(shape)
            angle = r.new_zeros(shape)
            done = r.new_zeros(shape, dtype=bool_)
            while not done.all():
                u1, u2, u3 = rand((3, *shape), dtype=float64, device=r.device).unbind()
                z = (math.pi * u1).cos()
                f = (1 + r * z) / (r + z)
                c = kappa * (r - f)
                accept = ((c * (2 - c) - u2) > 0) | ((c / u2).log() + 1 - c >= 0)
                angle = where(accept, (u3 - 0.5).sign() * f.acos(), angle)
                done = done | accept
            angle = (angle + math.pi + self.loc.to(float64)) % (2 * math.pi) - math.pi
            return angle.to(self.loc.dtype)

    def log_prob(self, value):
        self._check_value(value)
        kappa = self.concentration
        # i0(κ) is i0e(κ) exp(κ), which overflows
        return kappa * ((value - self.loc).cos() - 1) - math.log(2 * math.pi) - i0e(kappa).log()
