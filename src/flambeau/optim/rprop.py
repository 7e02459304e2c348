"""Resilient backpropagation: steps by the sign of the gradient."""

from ..functions.creation import full_like
from ._checks import check_capturable, check_counts, check_settings
from ._steps import advance, apply, new_count, new_like, number_of
from .optimizer import GroupOptimizer

__all__ = ["Rprop", "rprop"]


class Rprop(GroupOptimizer):
    """Each element has its own step size, which grows while the sign of its gradient stays and shrinks when it flips.

    Args:
        params: the parameters, (name, parameter) pairs, or dicts that define parameter groups.
        lr: the initial step size: a number, or a tensor of one element.
        etas: the factors by which step sizes shrink and grow.
        step_sizes: the smallest and the largest step size.
        maximize: maximizes the objective instead of minimizing it.
        capturable, foreach, differentiable: as for :class:`Adam`.
    """

    _added = dict(foreach=None, maximize=False, differentiable=False, capturable=False)
    _counts = True

    def __init__(self, params, lr=1e-2, etas=(0.5, 1.2), step_sizes=(1e-6, 50), *, capturable=False, foreach=None,
                 maximize=False, differentiable=False):
        check_settings(lr=lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        super().__init__(params, dict(lr=lr, etas=etas, step_sizes=step_sizes, foreach=foreach, maximize=maximize,
                                      differentiable=differentiable, capturable=capturable))

    def _new_state(self, p, group):
        lr = number_of(group["lr"])
        size = full_like(p, complex(lr, lr) if p.is_complex() else lr)
        return dict(step=new_count(p if group["capturable"] else None), prev=new_like(p), step_size=size)

    def _step_group(self, group):
        etaminus, etaplus = group["etas"]
        smallest, largest = group["step_sizes"]
        self._run(rprop, group, "prev", "step_size", "step", etaminus=etaminus, etaplus=etaplus,
                         step_size_min=smallest, step_size_max=largest)


def rprop(params, grads, prevs, step_sizes, state_steps, foreach=None, capturable=False, maximize=False,
          differentiable=False, has_complex=False, *, step_size_min, step_size_max, etaminus, etaplus):
    """One step of :class:`Rprop`, on lists of tensors."""
    check_counts(state_steps)
    check_capturable(capturable, params)
    advance(state_steps)
    row = (etaminus, etaplus, step_size_min, step_size_max)
    apply("rprop_step", [params, prevs, step_sizes], grads, [row] * len(params), (maximize,), differentiable)
