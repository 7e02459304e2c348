"""KL divergences between different families.

``KL(p || q) = -entropy(p) - E[log q(x)]``. For the families here, the log-density is a sum of functions of x whose
means over p are known moments: of x, x², log x, log (1 - x) and exp(-t x).
"""

import math

from ...functions.broadcast import broadcast_shapes
from ...functions.creation import full
from ...functions.pointwise import where
from ..bernoulli import Bernoulli
from ..beta import Beta
from ..binomial import Binomial
from ..continuous_bernoulli import ContinuousBernoulli
from ..exponential import Exponential
from ..gamma import Gamma
from ..gumbel import Gumbel
from ..laplace import Laplace
from ..normal import Normal
from ..pareto import Pareto
from ..poisson import Poisson
from ..uniform import Uniform
from ..utils import euler_constant
from ._registry import register_kl


def register_pairs(classes_p, class_q):
    """Decorator: registers a function for several classes of p."""

    def register(function):
        for class_p in classes_p:
            register_kl(class_p, class_q)(function)
        return function

    return register


# ---- moments


def mean_log(p):
    """E[log x]."""
    if isinstance(p, Beta):
        return p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma()
    if isinstance(p, Exponential):
        return -euler_constant - p.rate.log()
    if isinstance(p, Pareto):
        return p.scale.log() + p.alpha.reciprocal()
    return (x_log_x(p.high) - x_log_x(p.low)) / (p.high - p.low) - 1  # for Uniform


def x_log_x(x):
    return x.xlogy(x)


def mean_exp(p, t):
    """E[exp(-t x)]."""
    if isinstance(p, Exponential):
        return p.rate / (p.rate + t)
    if isinstance(p, Gamma):
        return (1 + t / p.rate).pow(-p.concentration)
    if isinstance(p, Normal):
        return (-t * p.loc + 0.5 * (t * p.scale).pow(2)).exp()
    return ((-t * p.low).exp() - (-t * p.high).exp()) / (t * (p.high - p.low))  # for Uniform


def second_moment(p, center):
    """E[(x - center)²]."""
    return p.variance + (p.mean - center).pow(2)


def bounds(p):
    """The ends of the support."""
    if isinstance(p, Uniform):
        return p.low, p.high
    return (0, 1) if isinstance(p, Beta | ContinuousBernoulli) else (0, math.inf)


def unless_outside(p, low, high, divergence):
    """The divergence; infinite where p has support below `low` or above `high`."""
    least, most = bounds(p)
    return where((low > least) | (high < most), math.inf, divergence)


# ---- divergences


@register_pairs([Beta, ContinuousBernoulli, Exponential, Gamma, Gumbel, Laplace, Pareto, Uniform], Normal)
def kl_normal(p, q):
    return -p.entropy() + 0.5 * math.log(2 * math.pi) + q.scale.log() + second_moment(p, q.loc) / (2 * q.scale.pow(2))


@register_pairs([Beta, ContinuousBernoulli, Gamma, Pareto, Uniform], Exponential)
def kl_exponential(p, q):
    return at_least_zero(p, -p.entropy() - q.rate.log() + q.rate * p.mean)


@register_pairs([Beta, Exponential, Pareto, Uniform], Gamma)
def kl_gamma(p, q):
    a = q.concentration
    return at_least_zero(p, -p.entropy() + a.lgamma() - a * q.rate.log() - (a - 1) * mean_log(p) + q.rate * p.mean)


def at_least_zero(p, divergence):
    """The divergence; infinite where p has support below 0."""
    return where(p.low < 0, math.inf, divergence) if isinstance(p, Uniform) else divergence


@register_pairs([Exponential, Gamma, Normal, Uniform], Gumbel)
def kl_gumbel(p, q):
    mean_log_density = (q.loc - p.mean) / q.scale - (q.loc / q.scale).exp() * mean_exp(p, q.scale.reciprocal())
    return -p.entropy() + q.scale.log() - mean_log_density


@register_pairs([Beta, ContinuousBernoulli], Uniform)
def kl_uniform(p, q):
    return unless_outside(p, q.low, q.high, -p.entropy() + (q.high - q.low).log())


@register_pairs([Beta, Uniform], ContinuousBernoulli)
def kl_continuous_bernoulli(p, q):
    mean_log_density = p.mean * q.logits + (-q.probs).log1p() + q._cont_bern_log_norm()
    low, high = q.probs.new_zeros(()), q.probs.new_ones(())
    return unless_outside(p, low, high, -p.entropy() - mean_log_density)


@register_kl(Uniform, Beta)
def kl_uniform_beta(p, q):
    a, b = q.concentration1, q.concentration0
    mirrored = Uniform(1 - p.high, 1 - p.low, validate_args=False)
    log_norm = a.lgamma() + b.lgamma() - (a + b).lgamma()
    divergence = -p.entropy() + log_norm - (a - 1) * mean_log(p) - (b - 1) * mean_log(mirrored)
    return unless_outside(p, a.new_zeros(()), a.new_ones(()), divergence)


@register_kl(Uniform, Pareto)
def kl_uniform_pareto(p, q):
    mean_log_density = (q.alpha * q.scale.pow(q.alpha)).log() - (q.alpha + 1) * mean_log(p)
    return where(p.low < q.scale, math.inf, -p.entropy() - mean_log_density)


@register_kl(Normal, Laplace)
def kl_normal_laplace(p, q):
    z = (p.loc - q.loc) / p.scale
    mean_distance = p.scale * (math.sqrt(2 / math.pi) * (-0.5 * z * z).exp() + z * (z * math.sqrt(0.5)).erf())
    return -p.entropy() + (2 * q.scale).log() + mean_distance / q.scale


@register_kl(Bernoulli, Poisson)
def kl_bernoulli_poisson(p, q):
    return -p.entropy() - (p.probs * q.rate.log() - q.rate)


# ---- where p has values that q has not

WIDER = {
    Bernoulli: [Poisson], Binomial: [Poisson],
    Beta: [Exponential, Gamma, Gumbel, Laplace, Normal, Pareto],
    ContinuousBernoulli: [Exponential, Gamma, Gumbel, Laplace, Normal, Pareto],
    Exponential: [Gumbel, Laplace, Normal],
    Gamma: [Gumbel, Laplace, Normal],
    Pareto: [Beta, ContinuousBernoulli, Exponential, Gamma, Gumbel, Laplace, Normal],
    Uniform: [Exponential, Gamma, Gumbel, Laplace, Normal, Pareto],
}


def kl_infinite(p, q):
    return full(broadcast_shapes(p.batch_shape, q.batch_shape), math.inf, dtype=p.mean.dtype, device=p.mean.device)


for _class_q, _classes in WIDER.items():
    register_pairs(_classes, _class_q)(kl_infinite)
