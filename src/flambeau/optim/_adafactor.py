"""Adafactor: Adam with less memory, from factored second moments."""

from __future__ import annotations

from .._dtypes import finfo
from .._tensor import Tensor
from ..functions.creation import zeros
from ._checks import check_counts, check_lr_size
from ._steps import advance, as_factor, is_nonzero, new_count, new_like, number_of, smaller
from .optimizer import GroupOptimizer

__all__ = ["Adafactor"]


class Adafactor(GroupOptimizer):
    """Divides gradients by their running root mean square, which for matrices is estimated from row and column means.

    Args:
        params: the parameters, (name, parameter) pairs, or dicts that define parameter groups.
        lr: the largest step, relative to the size of the parameter.
        beta2_decay: the exponent of the step count in the decay rate of the second moment.
        eps: the lower bounds of the squared gradient (None: the epsilon of the dtype) and of the size of the parameter.
        d: the clipping threshold of the update, before ``lr`` is applied.
        weight_decay: the decoupled weight decay, multiplied by ``lr``.
        foreach: accepted; it makes no difference.
        maximize: maximizes the objective instead of minimizing it.
    """

    _added = dict(foreach=None)
    _counts = True

    def __init__(self, params, lr=1e-2, beta2_decay=-0.8, eps=(None, 1e-3), d=1.0, weight_decay=0.0, *, foreach=None,
                 maximize=False):
        check_lr_size(lr)
        wrong = {
            "Learning rate should be >= 0 but is": (lr, lr >= 0.0),
            "beta2_decay should be <= 0 but is": (beta2_decay, beta2_decay <= 0.0),
            "epsilon1 should be >= 0 but is": (eps[0], eps[0] is None or eps[0] >= 0.0),
            "epsilon2 should be >= 0 but is": (eps[1], eps[1] >= 0.0),
            "Clipping threshold d should be >= 1 but is": (d, d >= 1.0),
            "weight_decay should be >= 0 but is": (weight_decay, weight_decay >= 0.0),
        }
        for message, (value, fits) in wrong.items():
            if not fits:
                raise ValueError(f"{message}: {value}")
        super().__init__(params, dict(lr=lr, beta2_decay=beta2_decay, eps=eps, d=d, weight_decay=weight_decay,
                                      foreach=foreach, maximize=maximize))

    def _new_state(self, p, group):
        if p.ndim < 2:
            return dict(step=new_count(), variance=new_like(p))
        *lead, rows, columns = p.shape
        settings = dict(dtype=p.dtype, device=p.device)
        return dict(step=new_count(), row_var=zeros(*lead, rows, 1, **settings),
                    col_var=zeros(*lead, 1, columns, **settings))

    def _step_group(self, group):
        params, grads, steps = self._gather(group, "step")
        if any([p.is_complex() for p in params]):
            raise RuntimeError("Adafactor does not support complex parameters")
        check_counts(steps)
        for p, grad, count in zip(params, grads, advance(steps), strict=True):
            update(p, -grad if group["maximize"] else grad, self.state[p], count, group)


def update(p, grad, state, count, group):
    """One step of one parameter."""
    eps1, eps2 = group["eps"]
    eps1 = finfo(p.dtype).eps if eps1 is None else eps1
    lr = number_of(group["lr"])
    size = (p.norm() / p.numel() ** 0.5).clamp(min=eps2)
    if is_nonzero(group["weight_decay"]):
        p.mul_(as_factor(1 - lr * group["weight_decay"]))
    variance = averaged_square(grad, state, as_factor(count ** group["beta2_decay"]), eps1)
    move = grad * variance.clamp(min=eps1 * eps1).rsqrt()
    excess = (move.norm() / (move.numel() ** 0.5 * group["d"])).clamp(min=1.0)
    p.sub_(move * (size / excess * as_factor(smaller(lr, count**-0.5))))


def averaged_square(grad, state, weight, eps):
    """Updates and returns the running average of the squared gradient, from its factors if it is factored."""
    if grad.ndim < 2:
        return lerp_into(state["variance"], grad.square(), weight)
    rows = lerp_into(state["row_var"], grad.square().mean(-1, keepdim=True), weight)
    columns = lerp_into(state["col_var"], grad.square().mean(-2, keepdim=True), weight)
    return rows @ columns / rows.mean(-2, keepdim=True).clamp(min=eps)


def lerp_into(average: Tensor, value: Tensor, weight):
    """Linear interpolation in place, from the average to the value."""
    return average.add_((value - average) * weight)
