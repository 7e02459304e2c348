"""Averaged stochastic gradient descent."""

from ..functions.creation import full_like, ones_like
from ._checks import check_capturable, check_counts, check_settings
from ._steps import advance, apply, is_nonzero, larger, new_count, new_like, number_of, numbers_of, put_number
from .optimizer import GroupOptimizer

__all__ = ["ASGD", "asgd"]


class ASGD(GroupOptimizer):
    """Gradient descent with decreasing step sizes, which also maintains an average of the parameters (``ax``).

    Args:
        params: the parameters, (name, parameter) pairs, or dicts that define parameter groups.
        lr: the initial step size: a number, or a tensor of one element.
        lambd: the decay term, of step sizes and of parameters.
        alpha: the exponent of the step size's decay.
        t0: the step at which averaging starts.
        weight_decay: adds this multiple of the parameter to its gradient.
        maximize: maximizes the objective instead of minimizing it.
        foreach, differentiable, capturable: as for :class:`Adam`.
    """

    _added = dict(foreach=None, maximize=False, differentiable=False, capturable=False)
    _counts = True

    def __init__(self, params, lr=1e-2, lambd=1e-4, alpha=0.75, t0=1e6, weight_decay=0, foreach=None, maximize=False,
                 differentiable=False, capturable=False):
        check_settings(lr=lr, weight_decay=weight_decay)
        super().__init__(params, dict(
            lr=lr, lambd=lambd, alpha=alpha, t0=t0, weight_decay=weight_decay, foreach=foreach, maximize=maximize,
            differentiable=differentiable, capturable=capturable,
        ))

    def _new_state(self, p, group):
        step = new_count(p if group["capturable"] else None)
        return dict(step=step, eta=full_like(step, number_of(group["lr"])), mu=ones_like(step), ax=new_like(p))

    def _step_group(self, group):
        self._run(asgd, group, "ax", "mu", "eta", "step")


def asgd(params, grads, axs, mus, etas, state_steps, foreach=None, maximize=False, differentiable=False,
         capturable=False, has_complex=False, *, lambd, lr, t0, alpha, weight_decay):
    """One step of :class:`ASGD`, on lists of tensors."""
    check_counts(state_steps)
    check_capturable(capturable, params, "params, mus, etas, and state_steps")
    flags = (maximize, is_nonzero(weight_decay))
    weight_decay, = numbers_of(differentiable, weight_decay)
    lr, rows = number_of(lr), []
    for count, eta, mu in zip(advance(state_steps), etas, mus, strict=True):
        rows.append((weight_decay, 1 - lambd * number_of(eta), number_of(eta), number_of(mu)))
        put_number(eta, lr / (1 + lambd * lr * count) ** alpha)  # of the next step, or of the same parameter
        put_number(mu, 1 / larger(count - t0, 1.0))
    apply("asgd_step", [params, axs], grads, rows, flags, differentiable)
