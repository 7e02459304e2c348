"""Rejection sampling: Poisson, binomial, gamma and Dirichlet."""

from .._modes import modes
from ..engines import NUMPY
from ..ops.random import dirichlet, dirichlet_grad, redrawn, standard_gamma, standard_gamma_grad
from ..random import source
from ._args import need_tensor
from ._randomness import draws_by_level
from .random import elements, tensor_like

__all__ = ["_dirichlet_grad", "_sample_dirichlet", "_standard_gamma", "_standard_gamma_grad", "binomial", "poisson"]


@draws_by_level
def poisson(input, generator=None):
    """Poisson samples with the rates in `input`."""
    need_tensor(input, "poisson")
    result = tensor_like(NUMPY.poisson(source(generator, input.device), elements(input)), input)
    return redrawn(input, result, node="PoissonBackward0") if modes.grad and input.requires_grad else result


@draws_by_level
def binomial(count, prob, generator=None):
    """Binomial samples: the number of successes among `count` trials of probability `prob`."""
    need_tensor(count, "binomial", "count")
    need_tensor(prob, "binomial", "prob", 2)
    result = tensor_like(NUMPY.binomial(source(generator, prob.device), elements(count), elements(prob)), prob)
    return redrawn(prob, result, node="BinomialBackward0") if modes.grad and prob.requires_grad else result


@draws_by_level
def _standard_gamma(input, generator=None):
    """Gamma samples with the shape parameters in `input` and rate 1; gradients are taken at a fixed quantile."""
    need_tensor(input, "_standard_gamma")
    drawn = tensor_like(NUMPY.standard_gamma(source(generator, input.device), elements(input)), input)
    return standard_gamma(input, drawn) if modes.grad and input.requires_grad else drawn


@draws_by_level
def _sample_dirichlet(input, generator=None):
    """Dirichlet samples with the parameters in the last dimension of `input`."""
    need_tensor(input, "_sample_dirichlet")
    drawn = tensor_like(NUMPY.dirichlet(source(generator, input.device), elements(input)), input)
    return dirichlet(input, drawn) if modes.grad and input.requires_grad else drawn


def _standard_gamma_grad(input, output):
    """The derivative of gamma samples `output` by their shape parameters `input`, at a fixed quantile."""
    return standard_gamma_grad(input, output)


def _dirichlet_grad(x, alpha, total):
    """The derivative of coordinates of Dirichlet samples by their parameters, divided by ``1 - x``."""
    return dirichlet_grad(x, alpha, total)
