"""NAdam: Adam with Nesterov momentum."""

from ..functions.creation import ones
from ._checks import check_capturable, check_counts, check_settings
from ._steps import advance, apply, is_nonzero, new_count, new_like, number_of, numbers_of, scale_number
from .optimizer import GroupOptimizer

__all__ = ["NAdam", "nadam"]


class NAdam(GroupOptimizer):
    """Adam with Nesterov momentum, with a momentum schedule.

    Args:
        params: the parameters, (name, parameter) pairs, or dicts that define parameter groups.
        lr: the step size: a number, or a tensor of one element.
        betas: the decay rates of the running averages of the gradient and of its square.
        eps: added to the divisor for numerical stability.
        weight_decay: adds this multiple of the parameter to its gradient.
        momentum_decay: the rate of the momentum schedule.
        decoupled_weight_decay: decays the parameter itself, like :class:`AdamW`.
        maximize: maximizes the objective instead of minimizing it.
        foreach, capturable, differentiable: as for :class:`Adam`.
    """

    _added = dict(maximize=False, foreach=None, capturable=False, differentiable=False, decoupled_weight_decay=False)
    _counts = True

    def __init__(self, params, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, momentum_decay=4e-3,
                 decoupled_weight_decay=False, *, foreach=None, maximize=False, capturable=False, differentiable=False):
        check_settings(lr=lr, eps=eps, betas=betas, weight_decay=weight_decay, momentum_decay=momentum_decay)
        super().__init__(params, dict(
            lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, momentum_decay=momentum_decay,
            decoupled_weight_decay=decoupled_weight_decay, maximize=maximize, foreach=foreach, capturable=capturable,
            differentiable=differentiable,
        ))

    def _new_state(self, p, group):
        step = new_count(p if group["capturable"] else None)
        product = ones((), dtype=step.dtype, device=step.device)
        return dict(step=step, mu_product=product, exp_avg=new_like(p), exp_avg_sq=new_like(p))

    def _step_group(self, group):
        self._run(nadam, group, "exp_avg", "exp_avg_sq", "mu_product", "step")


def nadam(params, grads, exp_avgs, exp_avg_sqs, mu_products, state_steps, decoupled_weight_decay=False, foreach=None,
          capturable=False, differentiable=False, has_complex=False, maximize=False, *, beta1, beta2, lr, weight_decay,
          momentum_decay, eps):
    """One step of :class:`NAdam`, on lists of tensors."""
    check_counts(state_steps)
    check_capturable(capturable, params, "params, mu_products and state_steps")
    decays = is_nonzero(weight_decay)
    beta1, beta2, lr, weight_decay = numbers_of(differentiable, beta1, beta2, lr, weight_decay)
    decay = 1 - lr * weight_decay if decoupled_weight_decay else weight_decay

    def numbers(count, mu_product):
        mu, following = [beta1 * (1 - 0.5 * 0.96 ** (n * momentum_decay)) for n in (count, count + 1)]
        scale_number(mu_product, mu)
        product = number_of(mu_product)
        return (decay, 1 - beta1, beta2, 1 - beta2, eps, 1 - beta2**count, lr * (1 - mu) / (1 - product),
                lr * following / (1 - product * following))

    rows = [numbers(count, mu_product) for count, mu_product in zip(advance(state_steps), mu_products, strict=True)]
    flags = (maximize, decays and not decoupled_weight_decay, decays and decoupled_weight_decay)
    apply("nadam_step", [params, exp_avgs, exp_avg_sqs], grads, rows, flags, differentiable)
