"""Exponential families: densities ``h(x) exp(η·T(x) - A(η))``."""

from ..autograd import grad
from .distribution import Distribution
from .utils import sum_rightmost

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    """Base class of distributions with a known log-normalizer ``A`` of natural parameters ``η``.

    A subclass implements `_natural_params`, `_log_normalizer` and the mean of the carrier measure, ``E[log h(x)]``. The
    rest follows from derivatives: the mean of ``T(x)`` is the gradient of ``A``.
    """

    @property
    def _natural_params(self):
        """The natural parameters, as a tuple of tensors."""
        raise NotImplementedError

    def _log_normalizer(self, *natural_params):
        """``A`` as a function of natural parameters."""
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self):
        """``E[log h(x)]``."""
        raise NotImplementedError

    def entropy(self):
        """The entropy: ``A(η) - η·∇A(η) - E[log h(x)]``, with ``∇A`` by autograd."""
        params = [p if p.requires_grad else p.detach().requires_grad_() for p in self._natural_params]
        log_normalizer = self._log_normalizer(*params)
        gradients = grad(log_normalizer.sum(), params, create_graph=True)
        entropy = log_normalizer - self._mean_carrier_measure
        for param, gradient in zip(params, gradients):
            entropy = entropy - sum_rightmost(param * gradient, len(self.event_shape))
        return entropy
