"""Gradients divided by the size of all gradients so far."""

from __future__ import annotations

from ..functions.creation import full_like
from ._checks import check_counts, check_fused, check_lr, check_range
from ._steps import advance, apply, is_nonzero, new_count, numbers_of, per_step, unscaled
from .optimizer import Optimizer, without_grad

__all__ = ["Adagrad", "adagrad"]


class Adagrad(Optimizer):
    """Divides the gradient by the square root of the sum of the squares of all gradients so far.

    Args:
        params: the parameters, or named pairs of them, or dicts that each describe a group with settings of its own.
        lr: the step size: a number, or a tensor of one element.
        lr_decay: by how much of itself the divisor of the step size grows in each step.
        weight_decay: adds this share of the parameter to its gradient.
        initial_accumulator_value: what the sum begins with.
        eps: added to the divisor, so that it is not zero.
        maximize: goes up instead of down.
        foreach, differentiable, fused: as for :class:`Adam`.
    """

    _added = dict(foreach=None, maximize=False, differentiable=False, fused=None)
    _counts = True

    def __init__(self, params, lr=1e-2, lr_decay=0, weight_decay=0, initial_accumulator_value=0, eps=1e-10,
                 foreach=None, *, maximize=False, differentiable=False, fused=None):
        check_lr(lr)
        check_range("lr_decay value", lr_decay)
        check_range("weight_decay value", weight_decay)
        check_range("initial_accumulator_value value", initial_accumulator_value)
        check_range("epsilon value", eps)
        check_fused(fused, foreach, differentiable)
        super().__init__(params, dict(
            lr=lr, lr_decay=lr_decay, eps=eps, weight_decay=weight_decay,
            initial_accumulator_value=initial_accumulator_value, foreach=foreach, maximize=maximize,
            differentiable=differentiable, fused=fused,
        ))
        self._step_supports_amp_scaling = bool(fused)
        for group in self.param_groups:
            for p in group["params"]:
                self._state_of(p, group)

    def _new_state(self, p, group):
        value = group["initial_accumulator_value"]
        return dict(step=new_count(p if group["fused"] else None),
                    sum=full_like(p, complex(value, value) if p.is_complex() else value))

    def share_memory(self):
        """Moves the sums to memory that processes share."""
        for state in self.state.values():
            state["sum"].share_memory_()

    @without_grad
    def step(self):
        """Updates the parameters; a ``closure`` is called first and its loss returned."""
        for group in self.param_groups:
            params, grads, steps, sums = self._gather(group, "step", "sum")
            adagrad(params, grads, sums, steps, fused=group["fused"], grad_scale=self.grad_scale,
                    found_inf=self.found_inf, differentiable=group["differentiable"], lr=group["lr"],
                    weight_decay=group["weight_decay"], lr_decay=group["lr_decay"], eps=group["eps"],
                    maximize=group["maximize"])


def adagrad(params, grads, state_sums, state_steps, fused=None, grad_scale=None, found_inf=None, has_sparse_grad=False,
            foreach=None, differentiable=False, has_complex=False, *, lr, weight_decay, lr_decay, eps, maximize):
    """One step of :class:`Adagrad`, on lists of tensors."""
    check_counts(state_steps)
    grads = unscaled(grads, grad_scale, found_inf)
    if grads is None:
        return
    flags = (maximize, is_nonzero(weight_decay))
    lr, weight_decay = numbers_of(differentiable, lr, weight_decay)

    def numbers(count):
        return weight_decay, lr / (1 + (count - 1) * lr_decay), eps

    apply("adagrad_step", [params, state_sums], grads, per_step(advance(state_steps), numbers), flags, differentiable)
