"""RAdam: rectified Adam."""

from ._checks import check_capturable, check_counts, check_settings
from ._steps import advance, apply, choose, is_nonzero, larger, new_count, new_like, numbers_of, per_step
from .optimizer import GroupOptimizer

__all__ = ["RAdam", "radam"]


class RAdam(GroupOptimizer):
    """Adam that uses plain momentum until its second-moment average is reliable.

    Args:
        params: the parameters, (name, parameter) pairs, or dicts that define parameter groups.
        lr: the step size: a number, or a tensor of one element.
        betas: the decay rates of the running averages of the gradient and of its square.
        eps: added to the divisor for numerical stability.
        weight_decay: adds this multiple of the parameter to its gradient.
        decoupled_weight_decay: decays the parameter itself, like :class:`AdamW`.
        maximize: maximizes the objective instead of minimizing it.
        foreach, capturable, differentiable: as for :class:`Adam`.
    """

    _added = dict(foreach=None, maximize=False, differentiable=False, decoupled_weight_decay=False, capturable=False)
    _counts = True

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, decoupled_weight_decay=False, *,
                 foreach=None, maximize=False, capturable=False, differentiable=False):
        check_settings(lr=lr, eps=eps, betas=betas, weight_decay=weight_decay)
        super().__init__(params, dict(
            lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, maximize=maximize, foreach=foreach,
            capturable=capturable, decoupled_weight_decay=decoupled_weight_decay, differentiable=differentiable,
        ))

    def _new_state(self, p, group):
        return dict(step=new_count(p if group["capturable"] else None), exp_avg=new_like(p), exp_avg_sq=new_like(p))

    def _step_group(self, group):
        self._run(radam, group, "exp_avg", "exp_avg_sq", "step")


def rectification(count, beta2, eps):
    """The weight of the second moment in the divisor, what is added to it, and the factor of the step.

    While the variance is unreliable, the divisor is one.
    """
    most = 2 / (1 - beta2) - 1
    if most <= 5:
        return 0.0, 1.0, 1.0
    length = most - 2 * count * beta2**count / (1 - beta2**count)  # of the equivalent simple moving average
    is_rectified = length > 5
    length = larger(length, 5.0)
    factor = ((length - 4) * (length - 2) * most / ((most - 4) * (most - 2) * length) * (1 - beta2**count)) ** 0.5
    return choose(is_rectified, 1.0, 0.0), choose(is_rectified, eps, 1.0), choose(is_rectified, factor, 1.0)


def radam(params, grads, exp_avgs, exp_avg_sqs, state_steps, decoupled_weight_decay=False, foreach=None,
          differentiable=False, capturable=False, has_complex=False, maximize=False, *, beta1, beta2, lr, weight_decay,
          eps):
    """One step of :class:`RAdam`, on lists of tensors."""
    check_counts(state_steps)
    check_capturable(capturable, params)
    decays = is_nonzero(weight_decay)
    beta1, beta2, lr, weight_decay = numbers_of(differentiable, beta1, beta2, lr, weight_decay)
    decay = 1 - lr * weight_decay if decoupled_weight_decay else weight_decay

    def numbers(count):
        share, rest, factor = rectification(count, beta2, eps)
        return decay, 1 - beta1, beta2, 1 - beta2, share, rest, lr / (1 - beta1**count) * factor

    flags = (maximize, decays and not decoupled_weight_decay, decays and decoupled_weight_decay)
    apply("radam_step", [params, exp_avgs, exp_avg_sqs], grads, per_step(advance(state_steps), numbers), flags,
          differentiable)
