"""KL divergences within a family, in closed form."""

import math

from ...autograd import grad
from ...functions.pointwise import where
from ...nn.functional import softplus
from ..bernoulli import Bernoulli
from ..beta import Beta
from ..binomial import Binomial
from ..categorical import Categorical
from ..cauchy import Cauchy
from ..continuous_bernoulli import ContinuousBernoulli
from ..dirichlet import Dirichlet
from ..exp_family import ExponentialFamily
from ..exponential import Exponential
from ..gamma import Gamma
from ..geometric import Geometric
from ..gumbel import Gumbel
from ..half_normal import HalfNormal
from ..independent import Independent
from ..laplace import Laplace
from ..normal import Normal
from ..one_hot_categorical import OneHotCategorical
from ..pareto import Pareto
from ..poisson import Poisson
from ..transformed_distribution import TransformedDistribution
from ..uniform import Uniform
from ..utils import euler_constant, sum_rightmost
from ._registry import kl_divergence, register_kl

LESS_TRIALS = "KL between Binomials where q.total_count > p.total_count is not implemented"
OTHER_FAMILY = (
    "The cross KL-divergence between different exponential families cannot be computed using Bregman divergences"
)


@register_kl(ExponentialFamily, ExponentialFamily)
def kl_exponential_families(p, q):
    """The Bregman divergence of the log-normalizer: ``A(q) - A(p) - (q - p)·∇A(p)``."""
    if type(p) is not type(q):
        raise NotImplementedError(OTHER_FAMILY)
    of_p = [x if x.requires_grad else x.detach().requires_grad_() for x in p._natural_params]
    of_q = q._natural_params
    at_p = p._log_normalizer(*of_p)
    gradients = grad(at_p.sum(), of_p, create_graph=True)
    divergence = q._log_normalizer(*of_q) - at_p
    for x, y, gradient in zip(of_p, of_q, gradients):
        divergence = divergence - sum_rightmost((y - x) * gradient, len(q.event_shape))
    return divergence


# ---- discrete


@register_kl(Bernoulli, Bernoulli)
def kl_bernoulli(p, q):
    of_one = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    of_one = where(p.probs == 0, 0.0, where(q.probs == 0, math.inf, of_one))
    of_zero = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    of_zero = where(p.probs == 1, 0.0, where(q.probs == 1, math.inf, of_zero))
    return of_one + of_zero


@register_kl(Binomial, Binomial)
def kl_binomial(p, q):
    if (p.total_count < q.total_count).any():
        raise NotImplementedError(LESS_TRIALS)
    of_trial = p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p()
    return where(p.total_count > q.total_count, math.inf, p.total_count * of_trial)


@register_kl(Categorical, Categorical)
def kl_categorical(p, q):
    terms = p.probs * (p.logits - q.logits)
    terms = where(p.probs == 0, 0.0, where(q.probs == 0, math.inf, terms))
    return terms.sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def kl_one_hot_categorical(p, q):
    return kl_categorical(p._categorical, q._categorical)


@register_kl(Geometric, Geometric)
def kl_geometric(p, q):
    return -p.entropy() - (-q.probs).log1p() / p.probs - q.logits


@register_kl(Poisson, Poisson)
def kl_poisson(p, q):
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


# ---- on the line


@register_kl(Normal, Normal)
def kl_normal(p, q):
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


@register_kl(HalfNormal, HalfNormal)
def kl_half_normal(p, q):
    return kl_normal(p.base_dist, q.base_dist)


@register_kl(Cauchy, Cauchy)
def kl_cauchy(p, q):
    return ((p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)).log() - (4 * p.scale * q.scale).log()


@register_kl(Laplace, Laplace)
def kl_laplace(p, q):
    ratio, distance = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + distance / q.scale + ratio * (-distance / p.scale).exp() - 1


@register_kl(Gumbel, Gumbel)
def kl_gumbel(p, q):
    ratio, shift = p.scale / q.scale, (p.loc - q.loc) / q.scale
    return shift - ratio.log() + ratio * euler_constant + ((1 + ratio).lgamma() - shift).exp() - (1 + euler_constant)


@register_kl(Uniform, Uniform)
def kl_uniform(p, q):
    divergence = ((q.high - q.low) / (p.high - p.low)).log()
    return where((q.low > p.low) | (q.high < p.high), math.inf, divergence)


# ---- of positive numbers


@register_kl(Exponential, Exponential)
def kl_exponential(p, q):
    ratio = q.rate / p.rate
    return ratio - 1 - ratio.log()


@register_kl(Gamma, Gamma)
def kl_gamma(p, q):
    a, b = p.concentration, q.concentration
    return (b * (p.rate / q.rate).log() + b.lgamma() - a.lgamma() + (a - b) * a.digamma()
            + (q.rate - p.rate) * (a / p.rate))


@register_kl(Pareto, Pareto)
def kl_pareto(p, q):
    ratio = q.alpha / p.alpha
    divergence = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return where(p.scale < q.scale, math.inf, divergence)


# ---- of probabilities


@register_kl(Beta, Beta)
def kl_beta(p, q):
    return kl_dirichlet(p._dirichlet, q._dirichlet)


@register_kl(Dirichlet, Dirichlet)
def kl_dirichlet(p, q):
    a, b = p.concentration, q.concentration
    total = a.sum(-1)
    log_norms = total.lgamma() - b.sum(-1).lgamma() - (a.lgamma() - b.lgamma()).sum(-1)
    return log_norms + ((a - b) * (a.digamma() - total.digamma().unsqueeze(-1))).sum(-1)


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def kl_continuous_bernoulli(p, q):
    return (p.mean * (p.logits - q.logits) + p._cont_bern_log_norm() + (-p.probs).log1p()
            - q._cont_bern_log_norm() - (-q.probs).log1p())


# ---- of other distributions


@register_kl(Independent, Independent)
def kl_independent(p, q):
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError("KL of Independents with different reinterpreted_batch_ndims is not implemented")
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(TransformedDistribution, TransformedDistribution)
def kl_transformed(p, q):
    """Divergences are invariant under bijections."""
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError("KL of TransformedDistributions with different transforms is not implemented")
    return kl_divergence(p.base_dist, q.base_dist)
