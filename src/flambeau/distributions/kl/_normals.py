"""KL divergences between multivariate normals, with any covariance parameterization.

``KL = (log det Σq - log det Σp + tr(Σq⁻¹ Σp) + (μq - μp)ᵀ Σq⁻¹ (μq - μp) - n) / 2``
"""

from ...functions.linalg.solve import solve_triangular
from ..lowrank_multivariate_normal import LowRankMultivariateNormal, lowrank_log_det, lowrank_mahalanobis
from ..multivariate_normal import MultivariateNormal, batch_mahalanobis, half_log_det
from ._registry import register_kl


@register_kl(MultivariateNormal, MultivariateNormal)
@register_kl(MultivariateNormal, LowRankMultivariateNormal)
@register_kl(LowRankMultivariateNormal, MultivariateNormal)
@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
def kl_multivariate_normal(p, q):
    if p.event_shape != q.event_shape:
        raise ValueError(
            "KL-divergence between two Multivariate Normals with different event shapes cannot be computed: "
            f"{tuple(p.event_shape)} and {tuple(q.event_shape)}"
        )
    trace = sum(trace_of_quotient(q, factor) for factor in factors(p))
    return 0.5 * (log_det(q) - log_det(p) + trace + mahalanobis(q, q.loc - p.loc) - p.event_shape[0])


def is_lowrank(d):
    return isinstance(d, LowRankMultivariateNormal)


def factors(d):
    """Matrices F with ``Σ = sum of F Fᵀ``."""
    if is_lowrank(d):
        return d._unbroadcasted_cov_factor, d._unbroadcasted_cov_diag.sqrt().diag_embed()
    return (d._unbroadcasted_scale_tril,)


def log_det(d):
    if is_lowrank(d):
        return lowrank_log_det(d._unbroadcasted_cov_diag, d._capacitance_tril)
    return 2 * half_log_det(d._unbroadcasted_scale_tril)


def mahalanobis(d, diff):
    """``diffᵀ Σ⁻¹ diff``."""
    if is_lowrank(d):
        return lowrank_mahalanobis(d._unbroadcasted_cov_factor, d._unbroadcasted_cov_diag, diff, d._capacitance_tril)
    return batch_mahalanobis(d._unbroadcasted_scale_tril, diff)


def trace_of_quotient(d, factor):
    """``tr(Σ⁻¹ F Fᵀ)``; by the Woodbury identity if Σ is low-rank."""
    if not is_lowrank(d):
        return solve_triangular(d._unbroadcasted_scale_tril, factor, upper=False).pow(2).sum((-2, -1))
    diagonal = d._unbroadcasted_cov_diag.unsqueeze(-1)
    of_diagonal = (factor.pow(2) / diagonal).sum((-2, -1))
    projected = (d._unbroadcasted_cov_factor / diagonal).mT @ factor
    return of_diagonal - solve_triangular(d._capacitance_tril, projected, upper=False).pow(2).sum((-2, -1))
