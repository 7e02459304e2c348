"""Adagrad: gradients scaled by the accumulated squares of all past gradients."""

from ..functions.creation import full_like
from ._checks import check_counts, check_fused, check_settings
from ._steps import advance, apply, is_nonzero, new_count, number_of, numbers_of, per_step, unscale
from .optimizer import GroupOptimizer

__all__ = ["Adagrad", "adagrad"]


class Adagrad(GroupOptimizer):
    """Divides the gradient by the square root of the sum of the squares of all gradients so far.

    Args:
        params: the parameters, (name, parameter) pairs, or dicts that define parameter groups.
        lr: the step size: a number, or a tensor of one element.
        lr_decay: the decay rate of the learning rate.
        weight_decay: adds this multiple of the parameter to its gradient.
        initial_accumulator_value: the initial value of the sum.
        eps: added to the divisor for numerical stability.
        maximize: maximizes the objective instead of minimizing it.
        foreach, differentiable, fused: as for :class:`Adam`.
    """

    _added = dict(foreach=None, maximize=False, differentiable=False, fused=None)
    _counts = True
    _sparse = None

    def __init__(self, params, lr=1e-2, lr_decay=0, weight_decay=0, initial_accumulator_value=0, eps=1e-10,
                 foreach=None, *, maximize=False, differentiable=False, fused=None):
        check_settings(lr=lr, lr_decay=lr_decay, weight_decay=weight_decay,
                       initial_accumulator_value=initial_accumulator_value, eps=eps)
        super().__init__(params, dict(
            lr=lr, lr_decay=lr_decay, eps=eps, weight_decay=weight_decay,
            initial_accumulator_value=initial_accumulator_value, foreach=foreach, maximize=maximize,
            differentiable=differentiable, fused=fused,
        ))
        check_fused(fused, foreach, differentiable)
        self._step_supports_amp_scaling = bool(fused)
        for group in self.param_groups:
            for p in group["params"]:
                self._state_of(p, group)

    def _new_state(self, p, group):
        value = group["initial_accumulator_value"]
        return dict(step=new_count(p if group["fused"] else None),
                    sum=full_like(p, complex(value, value) if p.is_complex() else value))

    def share_memory(self):
        """Moves the sums to shared memory."""
        for state in self.state.values():
            state["sum"].share_memory_()

    def _step_group(self, group):
        self._run(adagrad, group, "sum", "step")


def adagrad(params, grads, state_sums, state_steps, fused=None, grad_scale=None, found_inf=None, has_sparse_grad=False,
            foreach=None, differentiable=False, has_complex=False, *, lr, weight_decay, lr_decay, eps, maximize):
    """One step of :class:`Adagrad`, on lists of tensors."""
    check_counts(state_steps)
    grads = unscale(grads, grad_scale, found_inf)
    if grads is None:
        return
    flags = (maximize, is_nonzero(weight_decay))
    counts = advance(state_steps)
    sparse = [i for i, g in enumerate(grads) if g.is_sparse]
    if sparse:
        if flags[1]:
            raise RuntimeError("weight_decay option is not compatible with sparse gradients")
        if fused:
            raise RuntimeError("`fused` does not support sparse grad or complex param")
        for i in sparse:
            rate = number_of(lr) / (1 + (counts[i] - 1) * lr_decay)
            sparse_step(params[i], -grads[i] if maximize else grads[i], state_sums[i], rate, eps)
        params, grads, state_sums, counts = [
            [x for i, x in enumerate(values) if i not in sparse] for values in (params, grads, state_sums, counts)]
    lr, weight_decay = numbers_of(differentiable, lr, weight_decay)

    def numbers(count):
        return weight_decay, lr / (1 + (count - 1) * lr_decay), eps

    apply("adagrad_step", [params, state_sums], grads, per_step(counts, numbers), flags, differentiable)


def sparse_step(p, grad, total, rate, eps):
    """The step for a sparse gradient, which updates only the elements in it."""
    grad = grad.coalesce()
    if grad._nnz() == 0:
        return
    places, values = tuple(grad.indices().unbind()), grad.values()
    total.index_put_(places, values * values, accumulate=True)
    p.index_put_(places, values / (total[places].sqrt() + eps) * -rate, accumulate=True)
