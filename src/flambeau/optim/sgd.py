"""Stochastic gradient descent."""

from __future__ import annotations

from .._tensor import Tensor
from .optimizer import Optimizer, without_grad

__all__ = ["SGD"]


class SGD(Optimizer):
    """Gradient descent, with momentum, Nesterov's variant and weight decay as wanted.

    Args:
        params: the parameters, or dicts that each describe a group of them.
        lr: the step size.
        momentum: how much of the last step goes into the next.
        dampening: how much less of the new gradient goes into the momentum.
        weight_decay: adds this share of the parameter to its gradient.
        nesterov: looks ahead along the momentum.
        maximize: goes up instead of down.

    Example::

        >>> w = flambeau.ones(2, requires_grad=True)
        >>> optimizer = flambeau.optim.SGD([w], lr=0.5)
        >>> (w * w).sum().backward()
        >>> optimizer.step()
        >>> w
        tensor([0., 0.], requires_grad=True)
    """

    def __init__(self, params, lr=1e-3, momentum=0, dampening=0, weight_decay=0, nesterov=False, *, maximize=False,
                 foreach=None, differentiable=False, fused=None):
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        for name, value in (("learning rate", lr), ("momentum value", momentum), ("weight_decay value", weight_decay)):
            if value < 0.0:
                raise ValueError(f"Invalid {name}: {value}")
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        if fused and differentiable:
            raise RuntimeError("`fused` does not support `differentiable`")
        if fused and foreach:
            raise RuntimeError("`fused` and `foreach` cannot be `True` together.")
        super().__init__(params, dict(
            lr=lr, momentum=momentum, dampening=dampening, weight_decay=weight_decay, nesterov=nesterov,
            maximize=maximize, foreach=foreach, differentiable=differentiable, fused=fused,
        ))

    def __setstate__(self, state):
        super().__setstate__(state)
        added = dict(nesterov=False, maximize=False, foreach=None, differentiable=False, fused=False)
        for group in self.param_groups:
            group.update({name: default for name, default in added.items() if name not in group})

    @without_grad
    def step(self):
        """Updates the parameters; a ``closure`` is called first and its loss returned."""
        for group in self.param_groups:
            for p in group["params"]:
                if p._grad is not None:
                    self._update(p, p._grad, group)

    def _update(self, p, grad, group):
        if group["maximize"]:
            grad = -grad
        weight_decay = group["weight_decay"]
        if weight_decay != 0:
            if isinstance(weight_decay, Tensor) and weight_decay.requires_grad:
                grad = grad.addcmul(p.clone(), weight_decay)  # of a copy: `p` is about to be written to
            else:
                grad = grad.add(p, alpha=weight_decay)
        momentum = group["momentum"]
        if momentum != 0:
            state = self.state[p]
            buffer = state.get("momentum_buffer")
            if buffer is None:
                buffer = state["momentum_buffer"] = grad.detach().clone()
            else:
                buffer.mul_(momentum).add_(grad, alpha=1 - group["dampening"])
            grad = grad.add(buffer, alpha=momentum) if group["nesterov"] else buffer
        lr = group["lr"]
        if isinstance(lr, Tensor) and lr.requires_grad:
            p.addcmul_(grad, lr, value=-1)
        else:
            p.add_(grad, alpha=-(lr.item() if isinstance(lr, Tensor) else lr))
