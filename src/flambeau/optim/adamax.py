"""Adamax: Adam with the infinity norm."""

from ._checks import check_capturable, check_counts, check_settings
from ._steps import advance, apply, is_nonzero, new_count, new_like, numbers_of, per_step
from .optimizer import GroupOptimizer

__all__ = ["Adamax", "adamax"]


class Adamax(GroupOptimizer):
    """Adam with an exponentially weighted infinity norm of the gradients in place of the second moment.

    Args:
        params: the parameters, (name, parameter) pairs, or dicts that define parameter groups.
        lr: the step size: a number, or a tensor of one element.
        betas: the decay rates of the average and of the infinity norm.
        eps: added to the norm of the gradient.
        weight_decay: adds this multiple of the parameter to its gradient.
        maximize: maximizes the objective instead of minimizing it.
        foreach, differentiable, capturable: as for :class:`Adam`.
    """

    _added = dict(foreach=None, maximize=False, differentiable=False, capturable=False)
    _counts = True

    def __init__(self, params, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, foreach=None, *, maximize=False,
                 differentiable=False, capturable=False):
        check_settings(lr=lr, eps=eps, betas=betas, weight_decay=weight_decay)
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, foreach=foreach,
                                      maximize=maximize, differentiable=differentiable, capturable=capturable))

    def _new_state(self, p, group):
        return dict(step=new_count(p if group["capturable"] else None), exp_avg=new_like(p), exp_inf=new_like(p))

    def _step_group(self, group):
        self._run(adamax, group, "exp_avg", "exp_inf", "step")


def adamax(params, grads, exp_avgs, exp_infs, state_steps, foreach=None, maximize=False, differentiable=False,
           capturable=False, has_complex=False, *, eps, beta1, beta2, lr, weight_decay):
    """One step of :class:`Adamax`, on lists of tensors."""
    check_counts(state_steps)
    check_capturable(capturable, params)
    flags = (maximize, is_nonzero(weight_decay))
    beta1, beta2, lr, weight_decay = numbers_of(differentiable, beta1, beta2, lr, weight_decay)

    def numbers(count):
        return weight_decay, 1 - beta1, beta2, eps, lr / (1 - beta1**count)

    apply("adamax_step", [params, exp_avgs, exp_infs], grads, per_step(advance(state_steps), numbers), flags,
          differentiable)
