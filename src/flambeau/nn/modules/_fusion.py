"""Fuses neighbouring modules of a ``Sequential`` into one kernel, without visible effects.

Values between the modules of a Sequential are not visible outside. So if nothing is recorded, a convolution or linear
layer applies the batch norm in eval mode and the activation that follow it to its sums while they are in the cache. If
the calls are recorded, a batch norm in training and its activation become one op (``_fused_norms.py``).

Modules run one by one if anything observes or replaces their calls (hooks, subclasses, a custom ``forward``, a patched
``nn.functional.relu``, modes, tracers), or if one of them would reject its input.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

import numpy as np

from ... import overrides
from ..._fp_errors import call_without_fp_warnings
from ..._modes import in_use, modes
from ..._tensor import Tensor, engine_for, refresh, storage_of, wrap
from ...autograd._writes import count_write
from ...engines import NUMPY
from ...functions._inplace import kernel_for
from ...ops.normalization import scale_of_statistics
from .. import functional as F
from ..functional.conv import convolution_settings, transposed_settings
from ..parameter import Parameter
from . import _fused_norms, activation, batchnorm, conv, linear
from ._hooks import has_plain_call
from .module import Module

_CALL = Module.__call__
_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
_FEW = 1 << 15  # elements; below, a pass over memory costs less than this search


class _Kind(NamedTuple):
    """A class of modules: its ``forward``, and the function of ``nn.functional`` that this calls."""

    forward: object
    name: str | None
    function: object

    def describes(self, module):
        """Whether a call of this module does what its class defines, unobserved."""
        cls = type(module)
        return (cls.__call__ is _CALL and cls.forward is self.forward and "forward" not in module.__dict__
                and has_plain_call(module) and (self.name is None or getattr(F, self.name) is self.function))


def _kind(cls, name=None):
    return _Kind(cls.forward, name, None if name is None else getattr(F, name))


_CONVS = {cls: _kind(cls, cls._function) for cls in (conv.Conv1d, conv.Conv2d, conv.Conv3d)}
_TRANSPOSED = {
    cls: _kind(cls, cls._function) for cls in (conv.ConvTranspose1d, conv.ConvTranspose2d, conv.ConvTranspose3d)
}
_LINEAR = linear.Linear
_LINEARS = {_LINEAR: _kind(_LINEAR, "linear")}
_NORMS = {
    cls: _kind(cls, "batch_norm") for cls in (batchnorm.BatchNorm1d, batchnorm.BatchNorm2d, batchnorm.BatchNorm3d)
}
_CONV_FORWARD = conv.Conv2d._conv_forward
_CHECK_INPUT_DIM = batchnorm.BatchNorm2d._check_input_dim


def _clip(module):
    return ("clip", module.min_val, module.max_val) if module.min_val <= module.max_val else None


# (name, numbers) of each activation's kernel; None if it rejects its settings, or has no such kernel.
_ACTIVATIONS = {
    cls: (_kind(cls, name), kernel) for cls, name, kernel in (
        (activation.ReLU, "relu", lambda m: ("relu",)),
        (activation.ReLU6, "hardtanh", _clip),
        (activation.Hardtanh, "hardtanh", _clip),
        (activation.LeakyReLU, "leaky_relu", lambda m: ("leaky_relu", m.negative_slope)),
        (activation.ELU, "elu", lambda m: ("elu", m.alpha, 1.0, 1.0)),
        (activation.SiLU, "silu", lambda m: ("silu",)),
        (activation.Mish, "mish", lambda m: ("mish",)),
        (activation.Hardswish, "hardswish", lambda m: ("hardswish",)),
        (activation.Hardsigmoid, "hardsigmoid", lambda m: ("hardsigmoid",)),
        (activation.GELU, "gelu", lambda m: {"none": ("gelu",), "tanh": ("gelu_tanh",)}.get(m.approximate)),
        (activation.Sigmoid, None, lambda m: ("sigmoid",)),
    )
}


# ---- what can be done at once


def is_unwatched(input):
    """Whether a Sequential may fuse modules: nothing traces, replaces or profiles their calls."""
    return (
        type(input) is Tensor and engine_for(input) is NUMPY
        and not (in_use.traced and modes.tracer.active) and not (in_use.autocast and modes.autocast is not None)
        and not overrides.is_mode_active() and Module.__call__ is _CALL
        and not callable(sys.getprofile())  # profilers in C do not see module calls
    )


def run_modules(modules, input):
    """The result of calling the modules in a dict one after the other."""
    done, is_inner = 0, False  # whether the input was created here, and nothing else refers to it
    for i, module in enumerate(modules.values()):
        if i < done:
            continue
        if not (type(module) in _RUNS and is_unwatched(input)  # a module may have changed that
                and (type(module) is not _LINEAR or input._a.size >= _FEW) and _is_as_it_comes(module)):
            input, is_inner = module(input), False
            continue
        done, output = _run_neighbours([*modules.values()], i, input, is_inner)
        if not done:
            output = module(input)
            if type(output) is Tensor and output._node is not None and input._node is not None:
                _fused_norms.forget_input(output, input)
        input, is_inner = output, True
    return input


def _is_as_it_comes(module):
    return _RUNS[type(module)][0][type(module)].describes(module)


def _run_neighbours(modules, i, input, is_inner):
    """(the index after the fused modules, their result); (0, None) if they must run one by one."""
    kinds, run = _RUNS[type(modules[i])]
    if not _is_of_cpu(input):
        return 0, None
    if modes.grad and kinds is _NORMS and modules[i].training:
        return _run_recorded(modules, i, input, is_inner)
    if modes.grad and input._rg:
        return 0, None
    norm = modules[i] if kinds is _NORMS else None
    stop = i + 1
    if stop < len(modules) and type(modules[stop]) in _NORMS and norm is None and kinds is not _LINEARS:
        norm, stop = modules[stop], stop + 1
    act = _activation_of(modules[stop]) if stop < len(modules) else None
    stop += act is not None
    if stop == i + 1 or (norm is not None and not _is_fixed(norm)):
        return 0, None
    output = run(modules[i], input, norm, *(act or (None, ())))
    if output is None:
        return 0, None
    if act is not None and getattr(modules[stop - 1], "inplace", False):
        count_write(output, act[0] + "_")
    return stop, output


def _run_recorded(modules, i, input, is_inner):
    """``_run_neighbours`` for a batch norm in training and an activation."""
    norm, act = modules[i], modules[i + 1] if i + 1 < len(modules) else None
    if (type(act) not in _fused_norms.ACTIVATIONS or not _ACTIVATIONS[type(act)][0].describes(act)
            or not _checks_input_as_ever(norm)):
        return 0, None
    output = _fused_norms.run_recorded(norm, act, input, _is_of_cpu, is_inner)
    return (0, None) if output is None else (i + 2, output)


def _activation_of(module):
    """(name, numbers) of an activation's kernel; None for other modules."""
    kind, kernel = _ACTIVATIONS.get(type(module), (None, None))
    if kind is None or not kind.describes(module):
        return None
    return kernel_for(kernel, (module,), {})


def _is_fixed(norm):
    """Whether a batch norm is a fixed affine map of its channels."""
    return (not norm.training and norm.running_mean is not None and norm.running_var is not None
            and _NORMS[type(norm)].describes(norm) and _checks_input_as_ever(norm) and norm.eps >= 0)


def _checks_input_as_ever(norm):
    return type(norm.eps) is float and getattr(norm._check_input_dim, "__func__", None) is _CHECK_INPUT_DIM


def _is_of_cpu(tensor, dtype=None):
    """Whether this is an ordinary floating tensor on the CPU, of the given dtype if any."""
    if (type(tensor) is not Tensor and type(tensor) is not Parameter) or engine_for(tensor) is not NUMPY:
        return False
    if tensor._view is not None:
        refresh(tensor)
    own = tensor._a.dtype
    return own in _FLOATS if dtype is None else own == dtype


def _is_plain(tensor, dtype=None):
    """``_is_of_cpu``, for a tensor that is not recorded."""
    return _is_of_cpu(tensor, dtype) and not (modes.grad and tensor._rg)


def _are_plain(tensors, dtype, shape):
    """``_is_plain`` with a given shape, for several tensors or None."""
    return all([t is None or (_is_plain(t, dtype) and t._a.shape == shape) for t in tensors])


# ---- doing it. Each returns None where its module would refuse the input


def _array_of(tensor):
    return None if tensor is None else tensor._a


def _compute(kernel, *args):
    t = wrap(call_without_fp_warnings(kernel, *args))
    if in_use.inference and modes.grad is None:
        storage_of(t).inference = True
    return t


def _in_format(y, finish, *operands):
    """y in the memory format of the operands; after an activation, contiguous results have plain strides."""
    y = NUMPY.in_format_of(y, *operands)
    return NUMPY.in_format_of(y) if finish[2] is not None and y.flags.c_contiguous else y


def _scale_of(norm, channels, dtype, ndim):
    """The scale and shift of each channel, (None, None) without a batch norm; None if that rejects the input."""
    if norm is None:
        return None, None
    statistics = norm.weight, norm.bias, norm.running_mean, norm.running_var
    if ndim not in norm._ranks or not _are_plain(statistics, dtype, (channels,)):
        return None
    return call_without_fp_warnings(scale_of_statistics, NUMPY, *map(_array_of, statistics), norm.eps, dtype)


def _convolve(module, input, norm, kernel, numbers):
    weight, bias, x = module.weight, module.bias, input._a
    channels, n = module.out_channels, module._dims
    if (type(module)._conv_forward is not _CONV_FORWARD or "_conv_forward" in module.__dict__ or x.ndim != n + 2
            or module.padding_mode != "zeros" or not _is_plain(weight, x.dtype)
            or not _are_plain((bias,), x.dtype, (channels,)) or weight._a.shape[0] != channels):
        return None
    scale = _scale_of(norm, channels, x.dtype, x.ndim)
    try:
        input, s = convolution_settings(input, weight, bias, module.stride, module.padding, module.dilation,
                                        module.groups, n, module._function)
    except Exception:  # the module raises it again
        return None
    return None if scale is None else _compute(
        _conv, input._a, weight._a, _array_of(bias), tuple(s.values()), (*scale, kernel, numbers))


def _conv(x, weight, bias, settings, finish):
    return _in_format(NUMPY.conv(x, weight, *settings, None, bias, finish), finish, x, weight)


def _convolve_transposed(module, input, norm, kernel, numbers):
    weight, bias, x = module.weight, module.bias, input._a
    channels, n = module.out_channels, module._dims
    if (x.ndim != n + 2 or not _is_plain(weight, x.dtype) or not _are_plain((bias,), x.dtype, (channels,))
            or weight._a.ndim != n + 2 or weight._a.shape[1] * module.groups != channels):
        return None
    scale = _scale_of(norm, channels, x.dtype, x.ndim)
    try:
        s = transposed_settings(input, weight, bias, module.stride, module.padding, module.output_padding,
                                module.groups, module.dilation, n)
    except Exception:  # the module raises it again
        return None
    return None if scale is None else _compute(
        _conv_input, x, weight._a, _array_of(bias), tuple(s.values()), (*scale, kernel, numbers))


def _conv_input(x, weight, bias, settings, finish):
    return _in_format(NUMPY.conv_input(x, weight, *settings, bias, finish), finish, x, weight)


def _multiply(module, input, norm, kernel, numbers):
    weight, bias, x = module.weight, module.bias, input._a
    if (x.ndim < 2 or not _is_plain(weight, x.dtype) or weight._a.ndim != 2 or x.shape[-1] != weight._a.shape[1]
            or not _are_plain((bias,), x.dtype, weight._a.shape[:1])):
        return None
    return _compute(NUMPY.linear, x, weight._a, _array_of(bias), (None, None, kernel, numbers))


def _normalize(module, input, norm, kernel, numbers):
    x = input._a
    scale = _scale_of(norm, x.shape[1], x.dtype, x.ndim) if x.ndim > 1 and x.size else None
    return None if scale is None else _compute(_finish, x, (*scale, kernel, numbers))


def _finish(x, how):
    return _in_format(NUMPY.finish(x, how), how, x)


_RUNS = {
    cls: (kinds, run) for kinds, run in (
        (_CONVS, _convolve), (_TRANSPOSED, _convolve_transposed), (_LINEARS, _multiply), (_NORMS, _normalize),
    ) for cls in kinds
}
