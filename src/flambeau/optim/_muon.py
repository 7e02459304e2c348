"""Muon: orthogonalized momentum for matrices."""

import math

from ._checks import check_lr_size
from ._steps import as_factor, is_nonzero, new_like, number_of
from .optimizer import GroupOptimizer

__all__ = ["Muon"]

ADJUSTMENTS = {  # of the learning rate, depending on the shape
    None: lambda rows, columns: math.sqrt(max(1, rows / columns)),
    "original": lambda rows, columns: math.sqrt(max(1, rows / columns)),
    "match_rms_adamw": lambda rows, columns: 0.2 * math.sqrt(max(rows, columns)),
}
MOST_STEPS = 100


class Muon(GroupOptimizer):
    """Steps along the orthogonalized momentum of a matrix, whose singular values are all close to one.

    Only for matrices; biases, embeddings and the like need another optimizer.

    Args:
        params: the parameters, (name, parameter) pairs, or dicts that define parameter groups.
        lr: the step size: a number, or a tensor of one element.
        weight_decay: the decoupled weight decay, multiplied by ``lr``.
        momentum: the momentum factor.
        nesterov: enables Nesterov momentum.
        ns_coefficients: the coefficients of the quintic polynomial of the Newton-Schulz iteration.
        eps: the lower bound of the norm that the matrix is divided by.
        ns_steps: the number of Newton-Schulz iterations.
        adjust_lr_fn: how ``lr`` depends on the shape: ``"original"``, or ``"match_rms_adamw"`` for updates with the RMS
            of AdamW's.
    """

    def __init__(self, params, lr=1e-3, weight_decay=0.1, momentum=0.95, nesterov=True,
                 ns_coefficients=(3.4445, -4.7750, 2.0315), eps=1e-7, ns_steps=5, adjust_lr_fn=None):
        check_lr_size(lr)
        for name, value in (("Learning rate", lr), ("momentum", momentum), ("weight decay", weight_decay)):
            if not value >= 0.0:
                raise ValueError(f"{name} should be >= 0 but is: {value}")
        if adjust_lr_fn not in ADJUSTMENTS:
            raise ValueError(f"Adjust learning rate function {adjust_lr_fn} is not supported")
        super().__init__(params, dict(
            lr=lr, weight_decay=weight_decay, momentum=momentum, nesterov=nesterov, ns_coefficients=ns_coefficients,
            eps=eps, ns_steps=ns_steps, adjust_lr_fn=adjust_lr_fn,
        ))
        for group in self.param_groups:
            for p in group["params"]:
                if p.ndim != 2:
                    raise ValueError(
                        f"Muon only supports 2D parameters whereas we found a parameter with size: {p.size()}")

    def _new_state(self, p, group):
        return dict(momentum_buffer=new_like(p))

    def _step_group(self, group):
        params, grads, buffers = self._gather(group, "momentum_buffer")
        if any([p.is_complex() for p in params]):
            raise RuntimeError("Muon does not support complex parameters")
        for p, grad, buffer in zip(params, grads, buffers, strict=True):
            update(p, grad, buffer, group)


def update(p, grad, buffer, group):
    """Updates one matrix."""
    lr, momentum = number_of(group["lr"]), group["momentum"]
    buffer.add_((grad - buffer) * (1 - momentum))
    direction = grad + (buffer - grad) * momentum if group["nesterov"] else buffer
    direction = orthogonalize(direction, group["ns_coefficients"], group["ns_steps"], group["eps"])
    if is_nonzero(group["weight_decay"]):
        p.mul_(as_factor(1 - lr * group["weight_decay"]))
    p.sub_(direction.to(p.dtype) * as_factor(lr * ADJUSTMENTS[group["adjust_lr_fn"]](*p.shape)))


def orthogonalize(matrix, coefficients, steps, eps):
    """A matrix with the same singular vectors and singular values near one, by Newton-Schulz iteration."""
    if steps >= MOST_STEPS:
        raise ValueError(f"Number of steps must be less than {MOST_STEPS} for computational efficiency")
    if len(coefficients) != 3:
        raise ValueError("Coefficients must be a tuple of exactly 3 values")
    a, b, c = coefficients
    x = matrix.bfloat16()
    is_tall = x.shape[0] > x.shape[1]
    x = x.T if is_tall else x
    x = x / x.norm().clamp(min=eps)
    for _ in range(steps):
        gram = x @ x.T
        x = x.addmm(gram.addmm(gram, gram, beta=b, alpha=c), x, beta=a)
    return x.T if is_tall else x
