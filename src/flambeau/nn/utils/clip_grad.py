"""Gradient clipping, by total norm or by value."""

import functools
import types
import warnings

from ..._dtypes import float32
from ..._modes import no_grad
from ..._tensor import Tensor, engine_for
from ...autograd._writes import check_writable, write_all
from ...functions.from_data import tensor
from ...functions.join import stack
from ...functions.linalg.norm import vector_norm
from ...functions.pointwise import clamp
from ...ops.norm import norm_of_all

__all__ = ["clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm"]

EMPTY_GENERATOR = "`parameters` is an empty generator, no gradient clipping will occur."
NON_FINITE = (
    "The total norm of order {norm_type} for gradients from `parameters` is non-finite, so it cannot be clipped. "
    "To disable this error and scale the gradients by the non-finite norm anyway, set `error_if_nonfinite=False`"
)
DEPRECATED = "`torch.nn.utils.clip_grad_norm` is now deprecated in favor of `torch.nn.utils.clip_grad_norm_`."
NO_FOREACH = "foreach=True was passed, but can't use the foreach API on {device} tensors"

_FOREACH_DEVICES = ("cpu", "cuda", "xla", "tpu")
_EPSILON = 1e-6  # a norm of zero divides nothing


@no_grad()
def get_total_norm(tensors, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """The norm of all tensors together, as if they were concatenated to one vector."""
    tensors = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    norm_type = float(norm_type)
    if not tensors:
        return tensor(0.0)
    _check_foreach(tensors, foreach)
    if _recorder_of(tensors) is not None:
        total = norm_of_all(*tensors, ord=norm_type)
    else:
        device = tensors[0].device
        norms = [vector_norm(t, norm_type).to(device) for t in tensors]
        total = vector_norm(stack(norms), norm_type)
    if error_if_nonfinite and not total.isfinite():
        raise RuntimeError(NON_FINITE.format(norm_type=norm_type))
    return total


@no_grad()
def clip_grads_with_norm_(parameters, max_norm, total_norm, foreach=None):
    """Scales the gradients by ``max_norm / total_norm`` where that makes them smaller."""
    grads = _grads(parameters)
    max_norm = float(max_norm)
    if not grads:
        return
    _check_foreach(grads, foreach)
    # A factor of 1 is multiplied as well: asking whether it is smaller would wait for the device.
    factor = clamp(max_norm / (total_norm + _EPSILON), max=1.0)
    engine = _recorder_of([*grads, factor])
    if engine is not None and len({id(grad._storage) for grad in grads}) == len(grads):
        for grad in grads:
            check_writable(grad)
        write_all([grads], "mul_", engine.scale_all, factor._a)
        return
    factors = functools.cache(factor.to)
    for grad in grads:
        grad.mul_(factors(grad.device))


def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """Scales the gradients so that the norm of all of them together is at most ``max_norm``.

    Returns the norm before clipping.

    Example::

        >>> p = nn.Parameter(flambeau.zeros(2))
        >>> p.grad = flambeau.tensor([3.0, 4.0])
        >>> nn.utils.clip_grad_norm_(p, max_norm=1.0)
        tensor(5.)
        >>> p.grad
        tensor([0.6000, 0.8000])
    """
    if isinstance(parameters, types.GeneratorType):
        parameters = list(parameters)
        if not parameters:
            warnings.warn(EMPTY_GENERATOR, stacklevel=2)
    elif not isinstance(parameters, Tensor):
        parameters = list(parameters)
    total_norm = get_total_norm(_grads(parameters), norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(parameters, max_norm, total_norm, foreach)
    return total_norm


def clip_grad_norm(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """The older name of :func:`clip_grad_norm_`."""
    warnings.warn(DEPRECATED, FutureWarning, stacklevel=2)
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


@no_grad()
def clip_grad_value_(parameters, clip_value, foreach=None):
    """Clamps every element of the gradients to ``[-clip_value, clip_value]``."""
    clip_value = float(clip_value)
    grads = _grads(parameters)
    _check_foreach(grads, foreach)
    for grad in grads:
        grad.clamp_(-clip_value, clip_value)


def _grads(parameters):
    parameters = [parameters] if isinstance(parameters, Tensor) else parameters
    return [p.grad for p in parameters if p.grad is not None]


def _recorder_of(tensors):
    """The engine of tensors on one device, if it records calls and all tensors are float32: one call then clips all."""
    engine, device = engine_for(tensors[0]), tensors[0].device
    alike = all([t.dtype is float32 and t.device is device and not t.requires_grad for t in tensors])
    return engine if alike and engine.records else None


def _check_foreach(tensors, foreach):
    """Checks ``foreach``, which has no effect: PyTorch then uses one kernel for many tensors."""
    if foreach:
        for t in tensors:
            if t.device.type not in _FOREACH_DEVICES:
                raise RuntimeError(NO_FOREACH.format(device=t.device.type))
