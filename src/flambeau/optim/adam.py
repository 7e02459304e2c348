"""Adam: momentum, scaled by a running root mean square of the gradients."""

from .._tensor import Tensor
from ._checks import TENSOR_WITH_FOREACH, check_capturable, check_counts, check_fused, check_settings, check_tensor_lr
from ._steps import advance, apply, is_nonzero, new_count, new_like, numbers_of, per_step, unscale
from .optimizer import GroupOptimizer

__all__ = ["Adam", "adam"]


class Adam(GroupOptimizer):
    """Divides a running average of the gradient by the square root of a running average of its square.

    Args:
        params: the parameters, (name, parameter) pairs, or dicts that define parameter groups.
        lr: the step size: a number, or a tensor of one element.
        betas: the decay rates of the running averages of the gradient and of its square.
        eps: added to the divisor for numerical stability.
        weight_decay: adds this multiple of the parameter to its gradient.
        amsgrad: divides by the maximum of the second-moment averages so far instead of the current one.
        foreach, fused: accepted; every step is a single pass over the memory of each parameter.
        maximize: maximizes the objective instead of minimizing it.
        capturable: keeps the step counts on the device of the parameters.
        differentiable: records the step, so that backward can go through it.
        decoupled_weight_decay: decays the parameter itself, like :class:`AdamW`.

    Example::

        >>> w = flambeau.ones(2, requires_grad=True)
        >>> optimizer = flambeau.optim.Adam([w], lr=0.5)
        >>> (w * w).sum().backward()
        >>> optimizer.step()
        >>> w
        tensor([0.5000, 0.5000], requires_grad=True)
    """

    _added = dict(amsgrad=False, maximize=False, foreach=None, capturable=False, differentiable=False, fused=None,
                  decoupled_weight_decay=False)
    _counts = True
    _sparse = "Adam does not support sparse gradients, please consider SparseAdam instead"

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, amsgrad=False, *, foreach=None,
                 maximize=False, capturable=False, differentiable=False, fused=None, decoupled_weight_decay=False):
        check_tensor_lr(lr, foreach, capturable)
        check_settings(lr=lr, eps=eps, betas=betas, weight_decay=weight_decay)
        check_tensor_betas(betas, foreach, capturable)
        super().__init__(params, dict(
            lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, amsgrad=amsgrad, maximize=maximize, foreach=foreach,
            capturable=capturable, differentiable=differentiable, fused=fused,
            decoupled_weight_decay=decoupled_weight_decay,
        ))
        check_fused(fused, foreach, differentiable)
        self._step_supports_amp_scaling = bool(fused)

    def _new_state(self, p, group):
        beside = p if group["capturable"] or group["fused"] else None
        state = dict(step=new_count(beside), exp_avg=new_like(p), exp_avg_sq=new_like(p))
        if group["amsgrad"]:
            state["max_exp_avg_sq"] = new_like(p)
        return state

    def _step_group(self, group):
        largest = "max_exp_avg_sq" if group["amsgrad"] else None
        self._run(adam, group, "exp_avg", "exp_avg_sq", largest, "step")


def check_tensor_betas(betas, foreach, capturable):
    are_tensors = [isinstance(beta, Tensor) for beta in betas]
    if any(are_tensors) and not all(are_tensors):
        raise ValueError("betas must be either both floats or both Tensors")
    for nr, beta in enumerate(betas):
        if isinstance(beta, Tensor) and foreach and not capturable:
            raise ValueError(TENSOR_WITH_FOREACH.format(name=f"betas[{nr}]"))
        if isinstance(beta, Tensor) and beta.numel() != 1:
            raise ValueError(f"Tensor betas[{nr}] must be 1-element")


def adam(params, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, foreach=None, capturable=False,
         differentiable=False, fused=None, grad_scale=None, found_inf=None, has_complex=False,
         decoupled_weight_decay=False, *, amsgrad, beta1, beta2, lr, weight_decay, eps, maximize):
    """One step of :class:`Adam`, on lists of tensors."""
    check_counts(state_steps)
    check_capturable(capturable and not fused, params)
    grads = unscale(grads, grad_scale, found_inf)
    if grads is None:
        return
    decays = is_nonzero(weight_decay)
    beta1, beta2, lr, weight_decay = numbers_of(differentiable, beta1, beta2, lr, weight_decay)

    def numbers(count):
        return (1 - lr * weight_decay if decoupled_weight_decay else weight_decay, 1 - beta1, beta2, 1 - beta2, eps,
                lr / (1 - beta1**count), (1 - beta2**count) ** 0.5)

    lists = [params, exp_avgs, exp_avg_sqs, *([max_exp_avg_sqs] if amsgrad else [])]
    flags = (maximize, decays and not decoupled_weight_decay, decays and decoupled_weight_decay)
    apply("adam_step", lists, grads, per_step(advance(state_steps), numbers), flags, differentiable)
