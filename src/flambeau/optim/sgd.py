"""Stochastic gradient descent."""

from ..engines._updates import descent
from ._checks import check_fused, check_lr_size
from ._steps import apply, is_nonzero, new_like, numbers_of, unscale
from .optimizer import GroupOptimizer

__all__ = ["SGD", "sgd"]


class SGD(GroupOptimizer):
    """Gradient descent with optional momentum, Nesterov momentum and weight decay.

    Args:
        params: the parameters, (name, parameter) pairs, or dicts that define parameter groups.
        lr: the step size: a number, or a tensor of one element.
        momentum: the momentum factor.
        dampening: the dampening of the gradient in the momentum.
        weight_decay: adds this multiple of the parameter to its gradient.
        nesterov: enables Nesterov momentum.
        maximize: maximizes the objective instead of minimizing it.
        foreach, fused: accepted; every step is a single pass over the memory of each parameter.
        differentiable: records the step, so that backward can go through it.

    Example::

        >>> w = flambeau.ones(2, requires_grad=True)
        >>> optimizer = flambeau.optim.SGD([w], lr=0.5)
        >>> (w * w).sum().backward()
        >>> optimizer.step()
        >>> w
        tensor([0., 0.], requires_grad=True)
    """

    _sparse = None
    _added = dict(nesterov=False, maximize=False, foreach=None, differentiable=False, fused=False)

    def __init__(self, params, lr=1e-3, momentum=0, dampening=0, weight_decay=0, nesterov=False, *, maximize=False,
                 foreach=None, differentiable=False, fused=None):
        check_lr_size(lr)
        settings = {"learning rate": lr, "momentum value": momentum, "weight_decay value": weight_decay}
        for name, value in settings.items():
            if value < 0.0:  # unlike other optimizers, allows nan, as in PyTorch
                raise ValueError(f"Invalid {name}: {value}")
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(params, dict(
            lr=lr, momentum=momentum, dampening=dampening, weight_decay=weight_decay, nesterov=nesterov,
            maximize=maximize, foreach=foreach, differentiable=differentiable, fused=fused,
        ))
        check_fused(fused, foreach, differentiable)
        self._step_supports_amp_scaling = bool(fused)

    def _step_group(self, group):
        params, grads = self._gather(group)
        has_momentum = group["momentum"] != 0
        buffers = [self.state[p].get("momentum_buffer") for p in params] if has_momentum else [None] * len(params)
        step(params, grads, buffers, group["differentiable"], self.grad_scale, self.found_inf,
             weight_decay=group["weight_decay"], momentum=group["momentum"], lr=group["lr"],
             dampening=group["dampening"], nesterov=group["nesterov"], maximize=group["maximize"])
        if has_momentum:
            for p, buffer in zip(params, buffers, strict=True):
                self.state[p]["momentum_buffer"] = buffer


def sgd(params, d_p_list, momentum_buffer_list, has_sparse_grad=False, foreach=None, fused=None, grad_scale=None,
        found_inf=None, *, weight_decay, momentum, lr, dampening, nesterov, maximize):
    """One step of :class:`SGD`, on lists of tensors; missing buffers (None) are created in the list."""
    step(params, d_p_list, momentum_buffer_list, False, grad_scale, found_inf, weight_decay=weight_decay,
         momentum=momentum, lr=lr, dampening=dampening, nesterov=nesterov, maximize=maximize)


def step(params, grads, buffers, differentiable, grad_scale, found_inf, *, weight_decay, momentum, lr, dampening,
         nesterov, maximize):
    grads = unscale(grads, grad_scale, found_inf)
    if grads is None:
        return
    sparse = [i for i, g in enumerate(grads) if g.is_sparse]
    for i in sparse:
        buffers[i] = sparse_step(params[i], grads[i], buffers[i], weight_decay, momentum, lr, dampening, nesterov,
                                 maximize)
    if sparse:
        dense = [i for i in range(len(params)) if i not in sparse]
        params, grads, kept = ([all_of[i] for i in dense] for all_of in (params, grads, buffers))
        step(params, grads, kept, differentiable, None, None, weight_decay=weight_decay, momentum=momentum, lr=lr,
             dampening=dampening, nesterov=nesterov, maximize=maximize)
        for i, buffer in zip(dense, kept, strict=True):
            buffers[i] = buffer
        return
    flags = (maximize, is_nonzero(weight_decay), nesterov)
    lr, momentum, dampening, weight_decay = numbers_of(differentiable, lr, momentum, dampening, weight_decay)
    if not is_nonzero(momentum):
        apply("sgd_step", [params], grads, [(lr, 0.0, 0.0, 1.0, weight_decay)] * len(params), flags, differentiable)
        return
    later = (lr, momentum, momentum, 1 - dampening, weight_decay)
    first = (lr, momentum, 1.0, 0.0, weight_decay) if differentiable else (lr, momentum, 0.0, 1.0, weight_decay)
    numbers = [first if buffer is None else later for buffer in buffers]
    for i, (p, g) in enumerate(zip(params, grads, strict=True)):
        if buffers[i] is None:  # a recorded step treats the first gradient as a constant
            buffers[i] = descent(g, p, *flags[:2], weight_decay).detach().clone() if differentiable else new_like(p)
    apply("sgd_step", [params, buffers], grads, numbers, flags, differentiable)


def sparse_step(p, grad, buffer, weight_decay, momentum, lr, dampening, nesterov, maximize):
    """The step for a sparse gradient, which updates only the rows in it. Returns the buffer."""
    grad = -grad if maximize else grad
    if weight_decay != 0:
        grad = grad.add(p, alpha=weight_decay)
    if momentum != 0:
        buffer = grad.detach().clone() if buffer is None else buffer.mul_(momentum).add_(grad, alpha=1 - dampening)
        grad = grad.add(buffer, alpha=momentum) if nesterov else buffer
    p.add_(grad, alpha=-float(lr))
    return buffer
