"""Elementwise transforms."""

import math
from numbers import Number

from ..._dtypes import finfo
from ..._size import Size
from ...functions.broadcast import broadcast_shapes
from ...functions.like import full_like
from ...nn.functional import softplus
from .. import constraints
from ..utils import broadcast_all, lazy_property
from ._transform import Transform


class _Parameterless(Transform):
    """A transform without parameters: instances of a class are equal."""

    def __eq__(self, other):
        return type(other) is type(self)


class ExpTransform(_Parameterless):
    """``y = exp(x)``."""

    domain = constraints.real
    codomain = constraints.positive
    bijective = True
    sign = 1

    def _call(self, x):
        return x.exp()

    def _inverse(self, y):
        return y.log()

    def log_abs_det_jacobian(self, x, y):
        return x


class PowerTransform(Transform):
    """``y = x ** exponent``, for positive x.

    Args:
        exponent: a number or a tensor.
        cache_size: the size of the cache, 0 or 1.
    """

    domain = constraints.positive
    codomain = constraints.positive
    bijective = True
    _parameters = ("exponent",)

    def __init__(self, exponent, cache_size=0):
        super().__init__(cache_size=cache_size)
        (self.exponent,) = broadcast_all(exponent)

    @lazy_property
    def sign(self):
        """Whether it is increasing (1) or decreasing (-1)."""
        return self.exponent.sign()

    def __eq__(self, other):
        return isinstance(other, PowerTransform) and bool(self.exponent.eq(other.exponent).all())

    def _call(self, x):
        return x.pow(self.exponent)

    def _inverse(self, y):
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x, y):
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape):
        return broadcast_shapes(shape, self.exponent.shape)

    def inverse_shape(self, shape):
        return broadcast_shapes(shape, self.exponent.shape)


def clipped_sigmoid(x):
    """The sigmoid, clipped away from 0 and 1 so that it is invertible."""
    limits = finfo(x.dtype)
    return x.sigmoid().clamp(min=limits.tiny, max=1 - limits.eps)


class SigmoidTransform(_Parameterless):
    """``y = 1 / (1 + exp(-x))``."""

    domain = constraints.real
    codomain = constraints.unit_interval
    bijective = True
    sign = 1

    def _call(self, x):
        return clipped_sigmoid(x)

    def _inverse(self, y):
        limits = finfo(y.dtype)
        y = y.clamp(min=limits.tiny, max=1 - limits.eps)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x, y):
        return -softplus(-x) - softplus(x)


class SoftplusTransform(_Parameterless):
    """``y = log(1 + exp(x))``; linear for x > 20."""

    domain = constraints.real
    codomain = constraints.positive
    bijective = True
    sign = 1

    def _call(self, x):
        return softplus(x)

    def _inverse(self, y):
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x, y):
        return -softplus(-x)


class TanhTransform(_Parameterless):
    """``y = tanh(x)``. In float32 y reaches 1, whose inverse is infinite, at x = 9: a cache avoids that."""

    domain = constraints.real
    codomain = constraints.interval(-1.0, 1.0)
    bijective = True
    sign = 1

    def _call(self, x):
        return x.tanh()

    def _inverse(self, y):
        return y.atanh()

    def log_abs_det_jacobian(self, x, y):
        return 2 * (math.log(2) - x - softplus(-2 * x))  # log(1 - y²), without cancellation


class AbsTransform(_Parameterless):
    """``y = |x|``; the inverse returns the positive x."""

    domain = constraints.real
    codomain = constraints.positive

    def _call(self, x):
        return x.abs()

    def _inverse(self, y):
        return y


class AffineTransform(Transform):
    """``y = loc + scale * x``.

    Args:
        loc: the shift, a number or a tensor.
        scale: the factor.
        event_dim: the number of trailing dimensions that form an event.
        cache_size: the size of the cache, 0 or 1.
    """

    bijective = True
    _parameters = ("loc", "scale", "event_dim")

    def __init__(self, loc, scale, event_dim=0, cache_size=0):
        super().__init__(cache_size=cache_size)
        self.loc = loc
        self.scale = scale
        self._event_dim = event_dim

    @property
    def event_dim(self):
        return self._event_dim

    @constraints.dependent_property(is_discrete=False)
    def domain(self):
        return constraints.independent(constraints.real, self.event_dim) if self.event_dim else constraints.real

    codomain = domain

    def __eq__(self, other):
        if not isinstance(other, AffineTransform):
            return False
        return _equal(self.loc, other.loc) and _equal(self.scale, other.scale)

    @property
    def sign(self):
        if isinstance(self.scale, Number):
            return (self.scale > 0) - (self.scale < 0)
        return self.scale.sign()

    def _call(self, x):
        return self.loc + self.scale * x

    def _inverse(self, y):
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x, y):
        scale = self.scale
        term = full_like(x, math.log(abs(scale))) if isinstance(scale, Number) else scale.abs().log()
        if not self.event_dim:
            return term.expand(x.shape)
        term = term.view((*term.shape[: -self.event_dim], -1)).sum(-1)
        return term.expand(x.shape[: -self.event_dim])

    def forward_shape(self, shape):
        return broadcast_shapes(shape, getattr(self.loc, "shape", Size()), getattr(self.scale, "shape", Size()))

    def inverse_shape(self, shape):
        return self.forward_shape(shape)


def _equal(a, b):
    """Whether two parameters, numbers or tensors, are equal."""
    if isinstance(a, Number) and isinstance(b, Number):
        return a == b
    return bool((a == b).all())


class CumulativeDistributionTransform(Transform):
    """``y = distribution.cdf(x)``: maps samples of the distribution to uniform ones.

    Args:
        distribution: a distribution with `cdf` and `icdf`.
        cache_size: the size of the cache, 0 or 1.
    """

    bijective = True
    codomain = constraints.unit_interval
    sign = 1
    _parameters = ("distribution",)

    def __init__(self, distribution, cache_size=0):
        super().__init__(cache_size=cache_size)
        self.distribution = distribution

    @property
    def domain(self):
        return self.distribution.support

    def _call(self, x):
        return self.distribution.cdf(x)

    def _inverse(self, y):
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x, y):
        return self.distribution.log_prob(x)
