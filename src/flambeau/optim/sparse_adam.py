"""Adam for sparse gradients."""

from ._checks import check_settings
from ._steps import new_like, number_of
from .optimizer import GroupOptimizer

__all__ = ["SparseAdam"]


class SparseAdam(GroupOptimizer):
    """Lazy Adam: updates only the elements, and their averages, that occur in the gradient.

    Args:
        params: the parameters, (name, parameter) pairs, or dicts that define parameter groups.
        lr: the step size: a number, or a tensor of one element.
        betas: the decay rates of the running averages of the gradient and of its square.
        eps: added to the divisor for numerical stability.
        maximize: maximizes the objective instead of minimizing it.
    """

    _sparse = None
    _added = dict(maximize=False)

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, maximize=False):
        check_settings(lr=lr)
        if lr == 0:
            raise ValueError(f"Invalid learning rate: {lr}")
        if not eps > 0.0:
            raise ValueError(f"Invalid epsilon value: {eps}")
        check_settings(betas=betas)
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, maximize=maximize))
        sparse = [[i, j] for i, group in enumerate(self.param_groups) for j, p in enumerate(group["params"])
                  if p.is_sparse]
        if sparse:
            raise ValueError(f"Sparse params at indices {sparse}: SparseAdam requires dense parameter tensors")

    def _new_state(self, p, group):
        return dict(step=0, exp_avg=new_like(p), exp_avg_sq=new_like(p))

    def _step_group(self, group):
        params, grads = self._gather(group)
        if not all([g.is_sparse for g in grads]):
            raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")
        for p, grad in zip(params, grads, strict=True):
            state = self._state_of(p, group)
            state["step"] += 1
            update(p, -grad if group["maximize"] else grad, state, group)


def update(p, grad, state, group):
    """Updates one parameter."""
    beta1, beta2 = group["betas"]
    lr, count = number_of(group["lr"]), state["step"]
    grad = grad.coalesce()
    if grad._nnz() == 0:
        return
    places, values = tuple(grad.indices().unbind()), grad.values()
    exp_avg, exp_avg_sq = state["exp_avg"][places], state["exp_avg_sq"][places]
    exp_avg = exp_avg + (values - exp_avg) * (1 - beta1)
    exp_avg_sq = exp_avg_sq + (values * values - exp_avg_sq) * (1 - beta2)
    state["exp_avg"][places] = exp_avg
    state["exp_avg_sq"][places] = exp_avg_sq
    rate = lr * (1 - beta2**count) ** 0.5 / (1 - beta1**count)
    p.index_put_(places, exp_avg / (exp_avg_sq.sqrt() + group["eps"]) * -rate, accumulate=True)
