"""Adadelta: step sizes adapted to those of earlier steps."""

from ._checks import check_capturable, check_counts, check_settings
from ._steps import advance, apply, is_nonzero, new_count, new_like, numbers_of
from .optimizer import GroupOptimizer

__all__ = ["Adadelta", "adadelta"]


class Adadelta(GroupOptimizer):
    """Scales the gradient by the ratio of two running averages, of earlier updates and of gradients.

    Args:
        params: the parameters, (name, parameter) pairs, or dicts that define parameter groups.
        lr: scales the step: a number, or a tensor of one element.
        rho: the decay rate of the averages.
        eps: added to both averages.
        weight_decay: adds this multiple of the parameter to its gradient.
        maximize: maximizes the objective instead of minimizing it.
        foreach, capturable, differentiable: as for :class:`Adam`.
    """

    _added = dict(foreach=None, maximize=False, differentiable=False, capturable=False)
    _counts = True

    def __init__(self, params, lr=1.0, rho=0.9, eps=1e-6, weight_decay=0, foreach=None, *, capturable=False,
                 maximize=False, differentiable=False):
        check_settings(lr=lr)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        check_settings(eps=eps, weight_decay=weight_decay)
        super().__init__(params, dict(lr=lr, rho=rho, eps=eps, weight_decay=weight_decay, maximize=maximize,
                                      capturable=capturable, foreach=foreach, differentiable=differentiable))

    def _new_state(self, p, group):
        return dict(step=new_count(p if group["capturable"] else None), square_avg=new_like(p), acc_delta=new_like(p))

    def _step_group(self, group):
        self._run(adadelta, group, "square_avg", "acc_delta", "step")


def adadelta(params, grads, square_avgs, acc_deltas, state_steps, capturable=False, foreach=None, differentiable=False,
             has_complex=False, *, lr, rho, eps, weight_decay, maximize):
    """One step of :class:`Adadelta`, on lists of tensors."""
    check_counts(state_steps)
    check_capturable(capturable, params)
    advance(state_steps)
    flags = (maximize, is_nonzero(weight_decay))
    lr, weight_decay = numbers_of(differentiable, lr, weight_decay)
    row = (weight_decay, rho, 1 - rho, eps, lr)
    apply("adadelta_step", [params, square_avgs, acc_deltas], grads, [row] * len(params), flags, differentiable)
