"""RMSprop: gradients divided by their running root mean square."""

from ._checks import check_capturable, check_counts, check_settings
from ._steps import advance, apply, is_nonzero, new_count, new_like, numbers_of
from .optimizer import GroupOptimizer

__all__ = ["RMSprop", "rmsprop"]


class RMSprop(GroupOptimizer):
    """Divides the gradient by the square root of a running average of its square.

    Args:
        params: the parameters, (name, parameter) pairs, or dicts that define parameter groups.
        lr: the step size: a number, or a tensor of one element.
        alpha: the decay rate of the running averages.
        eps: added to the divisor for numerical stability.
        weight_decay: adds this multiple of the parameter to its gradient.
        momentum: the momentum factor.
        centered: subtracts the mean gradient, so that the divisor is a standard deviation.
        maximize: maximizes the objective instead of minimizing it.
        capturable, foreach, differentiable: as for :class:`Adam`.
    """

    _added = dict(momentum=0, centered=False, foreach=None, maximize=False, differentiable=False, capturable=False)
    _counts = True

    def __init__(self, params, lr=1e-2, alpha=0.99, eps=1e-8, weight_decay=0, momentum=0, centered=False,
                 capturable=False, foreach=None, maximize=False, differentiable=False):
        check_settings(lr=lr, eps=eps, momentum=momentum, weight_decay=weight_decay, alpha=alpha)
        super().__init__(params, dict(
            lr=lr, momentum=momentum, alpha=alpha, eps=eps, centered=centered, weight_decay=weight_decay,
            capturable=capturable, foreach=foreach, maximize=maximize, differentiable=differentiable,
        ))

    def _new_state(self, p, group):
        state = dict(step=new_count(p if group["capturable"] else None), square_avg=new_like(p))
        if group["momentum"] > 0:
            state["momentum_buffer"] = new_like(p)
        if group["centered"]:
            state["grad_avg"] = new_like(p)
        return state

    def _step_group(self, group):
        grad_avg = "grad_avg" if group["centered"] else None
        buffer = "momentum_buffer" if group["momentum"] > 0 else None
        self._run(rmsprop, group, "square_avg", grad_avg, buffer, "step")


def rmsprop(params, grads, square_avgs, grad_avgs, momentum_buffer_list, state_steps, foreach=None, maximize=False,
            differentiable=False, capturable=False, has_complex=False, *, lr, alpha, eps, weight_decay, momentum,
            centered):
    """One step of :class:`RMSprop`, on lists of tensors."""
    check_counts(state_steps)
    check_capturable(capturable, params)
    advance(state_steps)
    flags = (maximize, is_nonzero(weight_decay), centered)
    lr, weight_decay = numbers_of(differentiable, lr, weight_decay)
    lists = [params, square_avgs, *([grad_avgs] if centered else []), *([momentum_buffer_list] if momentum > 0 else [])]
    row = (weight_decay, alpha, 1 - alpha, eps, lr, momentum)
    apply("rmsprop_step", lists, grads, [row] * len(params), flags, differentiable)
