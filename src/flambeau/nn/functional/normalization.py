"""Normalization."""

import math

from ... import _dtypes
from ..._modes import in_use, no_grad
from ..._size import Size
from ..._tensor import Tensor, engine_for
from ...autograd._writes import check_writable, write
from ...functions._args import need_constant, need_tensor
from ...functions._autocast import autocast
from ...functions._types import number_in, read
from ...functions.padding import pad
from ...ops import normalization as ops
from ...ops.shape import cast
from .pooling import avg_pool2d, avg_pool3d

__all__ = ["batch_norm", "group_norm", "instance_norm", "layer_norm", "local_response_norm", "rms_norm"]

ONE_VALUE = "Expected more than 1 value per channel when training, got input size {shape}"
ONE_PLACE = "Expected more than 1 spatial element when training, got input size {shape}"
ONE_STATISTIC = "running_mean and running_var must either both be None or neither be None, but {missing} is None"
DIMENSIONS = "Dimension out of range: {name}() expects an input of 2 or more dimensions, but got size {shape}"
ELEMENTS = "{name} should contain {channels} elements not {got}: one a channel, here of shape {shape}"
VECTOR = "{name} should be a vector: expected 1 dims but tensor has {ndim}, its shape is {shape}"
LAYER_SHAPE = (
    "Given normalized_shape={normalized}, expected input with shape [*, {sizes}], but got input of size{shape}"
)
PARAMETER_SHAPE = (
    "Expected {name} to be of same shape as normalized_shape, but got {name} of shape {got} and normalized_shape = "
    "{normalized}"
)
GROUPS = (
    "Expected number of channels in input to be divisible by num_groups, but got input of shape {shape} and "
    "num_groups={groups}"
)
MIXED = (
    "mixed dtype (CPU): all inputs must share same datatype: expect parameter to have scalar type of {expected}, but "
    "got {got} with an input of {own}; "
    "convert one of them, e.g. by input.to(weight.dtype)"
)


def batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-05):
    """Normalizes each channel to mean 0 and variance 1, then applies ``weight`` and ``bias``.

    In training the statistics are those of the batch, and the running ones (if passed) are updated by ``momentum``;
    otherwise the running statistics are used.
    """
    if not isinstance(input, Tensor):
        need_tensor(input, "batch_norm")
    shape = input._a.shape
    if training:
        if eps <= 0:
            raise ValueError(f"batch_norm eps must be positive during training, but got {eps}")
        if shape and shape[0] * math.prod(shape[2:]) == 1:
            raise ValueError(ONE_VALUE.format(shape=Size(shape)))
    elif eps < 0:
        raise ValueError(f"batch_norm eps must be non-negative, but got {eps}")
    _check_dtypes(input, weight, bias, running_mean, running_var)
    eps = number_in(eps, "batch_norm", "eps", 8)
    return _batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


def _check_dtypes(input, *parameters):
    """Parameters must have the input's dtype; for half-precision inputs, float32 is valid too."""
    own = input._a.dtype
    for t in parameters:
        if t is not None and t._a.dtype is not own and t._a.dtype != own:
            expected = _dtypes.float32 if own in _dtypes.HALF else input.dtype
            if t.dtype is not expected:
                raise RuntimeError(MIXED.format(expected=expected, got=t.dtype, own=input.dtype))


def _batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps, act=None):
    """``batch_norm`` of checked arguments; in training with a fused activation, (name, numbers), or None."""
    shape = input._a.shape
    if not input._a.size:
        return _batch_norm_of_nothing(input, weight, bias)
    if len(shape) < 2:
        raise (IndexError if training else RuntimeError)(DIMENSIONS.format(name="batch_norm", shape=list(shape)))
    channels = shape[1]
    for name, t in (("running_mean", running_mean), ("running_var", running_var)):
        if t is not None and t._a.shape != (channels,):
            _check_count(name, t, channels)
            raise RuntimeError(VECTOR.format(name=name, ndim=t._a.ndim, shape=list(t._a.shape)))
        need_constant(t, "native_batch_norm", name)
    if weight is not None and weight._a.shape != (channels,):
        weight = _as_vector("weight", weight, channels)
    if bias is not None and bias._a.shape != (channels,):
        bias = _as_vector("bias", bias, channels)
    if not training:
        if running_mean is None or running_var is None:
            raise RuntimeError("Expected running_mean and running_var to be defined when training=False")
        return ops.batch_norm_inference(input, weight, bias, running_mean, running_var, eps=eps)
    if (running_mean is None) is not (running_var is None):
        raise ValueError(ONE_STATISTIC.format(missing="running_mean" if running_mean is None else "running_var"))
    if act is None:
        out, mean, var = ops.batch_norm(input, weight, bias, eps=eps, how=None)
    else:
        activation, numbers = act
        out, mean, var = ops.batch_norm_act(input, weight, bias, eps=eps, activation=activation, numbers=numbers,
                                            weight_then=None)
    if running_mean is not None:
        n = math.prod(shape) // channels
        _move(running_mean, mean, momentum)
        _move(running_var, var, momentum, n / max(n - 1, 1))
    return out


def _batch_norm_of_nothing(input, weight, bias):
    """The empty input, recorded so that the parameters get zero gradients; running statistics do not change."""
    out = input.clone()
    if weight is not None:
        out = out * weight[0]
    return out if bias is None else out + bias[0]


def _as_vector(name, parameter, channels):
    """A parameter with one element per channel, as a vector."""
    _check_count(name, parameter, channels)
    return parameter.reshape(channels)


def _check_count(name, t, channels):
    count = math.prod(t._a.shape)
    if count != channels:
        raise RuntimeError(ELEMENTS.format(name=name, channels=channels, got=count, shape=list(t._a.shape)))


def _move(running, value, momentum, factor=1.0):
    """Updates a running statistic by ``momentum``."""
    if running is None:
        return
    k = engine_for(running)
    plain = running._view is None and not running._rg and not isinstance(momentum, Tensor)
    if plain and k.computes and k is engine_for(value):  # equivalent, in a single write
        check_writable(running)
        write(running, "batch_norm", k.move_average, value._a, 1 - momentum, momentum * factor)
        return
    with no_grad():
        value = value.reshape(running.shape).to(running.dtype)
        if isinstance(momentum, Tensor):
            running.mul_(1 - momentum).add_(value * (momentum * factor))
        else:
            running.mul_(1 - momentum).add_(value, alpha=momentum * factor)


def instance_norm(
    input, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True, momentum=0.1, eps=1e-05
):
    """``batch_norm`` of each sample separately; running statistics are averaged over the samples."""
    need_tensor(input, "instance_norm")
    shape = input._a.shape
    if use_input_stats and math.prod(shape[2:]) == 1:
        raise ValueError(ONE_PLACE.format(shape=Size(shape)))
    if len(shape) < 2:
        raise IndexError(DIMENSIONS.format(name="instance_norm", shape=list(shape)))
    if not use_input_stats and (running_mean is None or running_var is None):
        raise RuntimeError("Expected running_mean and running_var to be defined when use_input_stats=False")
    samples, channels = shape[:2]
    if not channels:
        return input.clone()
    for name, t in (("running_mean", running_mean), ("running_var", running_var), ("weight", weight), ("bias", bias)):
        if t is not None:
            _check_count(name, t, channels)
            if t._a.ndim > 1:
                raise RuntimeError(VECTOR.format(name=name, ndim=t._a.ndim, shape=list(t._a.shape)))
    _check_dtypes(input, weight, bias)
    weight, bias, mean, var = (
        None if t is None else t.repeat(samples) for t in (weight, bias, running_mean, running_var)
    )
    flat = input.reshape(1, samples * channels, *shape[2:])
    out = _batch_norm(flat, mean, var, weight, bias, use_input_stats, momentum, eps)
    if use_input_stats:
        with no_grad():
            for running, each in ((running_mean, mean), (running_var, var)):
                if running is not None:
                    running.copy_(each.view(samples, channels).mean(0))
    return out.view(shape)


def _check_normalized_shape(name, input, normalized_shape, weight, bias=None):
    """The number of trailing dimensions to normalize over; checks the shapes of input and parameters."""
    if not isinstance(input, Tensor):
        need_tensor(input, name)
    normalized = tuple(normalized_shape)
    if not normalized:
        raise RuntimeError("Expected normalized_shape to be at least 1-dimensional, but got normalized_shape = []")
    for t in (weight, bias):
        if t is not None and t._a.shape != normalized:
            parameter, got = "weight" if t is weight else "bias", list(t._a.shape)
            raise RuntimeError(PARAMETER_SHAPE.format(name=parameter, got=got, normalized=list(normalized)))
    shape = input._a.shape
    if shape[-len(normalized):] != normalized:
        sizes = ", ".join(map(str, normalized))
        raise RuntimeError(LAYER_SHAPE.format(normalized=list(normalized), sizes=sizes, shape=list(shape)))
    return len(normalized)


def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-05):
    """Normalizes each sample over the last dimensions, then applies weight and bias."""
    count = _check_normalized_shape("layer_norm", input, normalized_shape, weight, bias)
    _check_dtypes(input, weight, bias)
    return ops.layer_norm(input, weight, bias, eps=eps, how=count)[0]


def rms_norm(input, normalized_shape, weight=None, eps=None):
    """Divides each sample by its root mean square over the last dimensions, then multiplies by ``weight``."""
    count = _check_normalized_shape("rms_norm", input, normalized_shape, weight)
    if eps is None:
        own = input._a.dtype
        is_narrow = own in _dtypes.HALF or not _dtypes.is_inexact(own)  # the op refuses integers
        eps = _dtypes.finfo(_dtypes.float32 if is_narrow else input.dtype).eps
    if weight is not None and weight._a.dtype.kind in "biu" and _dtypes.is_inexact(input._a.dtype):
        weight = cast(weight, dtype=input._a.dtype)
    return ops.rms_norm(input, weight, how=count, eps=number_in(eps, "rms_norm", "eps", 4))[0]


def group_norm(input, num_groups, weight=None, bias=None, eps=1e-05):
    """Normalizes the channels of each sample in ``num_groups`` groups."""
    if not isinstance(input, Tensor):
        need_tensor(input, "group_norm")
    shape = input._a.shape
    if len(shape) < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {len(shape)}")
    if not isinstance(num_groups, (int, float)):
        num_groups = read(num_groups, int, "group_norm", "num_groups", 2)
    if num_groups and shape[0] * shape[1] // num_groups * math.prod(shape[2:]) == 1:
        raise ValueError(ONE_VALUE.format(shape=[shape[0] * shape[1] // num_groups, num_groups, *shape[2:]]))
    if type(num_groups) is not int:
        num_groups = read(num_groups, int, "group_norm", "num_groups", 2)
    if num_groups <= 0:
        raise RuntimeError(f"Expected num groups to be greater than 0, got {num_groups}")
    if shape[1] % num_groups:
        raise RuntimeError(GROUPS.format(shape=list(shape), groups=num_groups))
    for name, t in (("weight", weight), ("bias", bias)):
        if t is not None and t._a.shape != (shape[1],):
            raise RuntimeError(f"Expected {name} to be a vector of size equal to the number of channels in input, but "
                               f"got {name} of shape {list(t._a.shape)} and input of shape {list(shape)}")
    _check_dtypes(input, weight, bias)
    return ops.group_norm(input, weight, bias, eps=eps, how=num_groups)[0]


def cross_map_lrn2d(input, size, alpha=1e-4, beta=0.75, k=1.0):
    """``local_response_norm`` of images as ``CrossMapLRN2d`` computes it."""
    need_tensor(input, "CrossMapLRN2d")
    if input._a.ndim != 4:
        raise ValueError(f"CrossMapLRN2d: Expected input to be 4D, got {input._a.ndim}D instead.")
    return ops.cross_map_norm(input, size=size, alpha=alpha, beta=beta, bias=k)[0]


def local_response_norm(input, size, alpha=1e-4, beta=0.75, k=1.0):
    """Divides each element by a power of the mean square over neighbouring channels."""
    need_tensor(input, "local_response_norm")
    shape = input._a.shape
    if len(shape) < 3:
        raise ValueError(f"Expected 3D or higher dimensionality input (got {len(shape)} dimensions)")
    if not math.prod(shape):
        return input
    before, after = size // 2, (size - 1) // 2
    squares = input.mul(input)
    if len(shape) == 3:
        squares = avg_pool2d(pad(squares.unsqueeze(1), (0, 0, before, after)), (size, 1), stride=1).squeeze(1)
    else:
        squares = squares.reshape(shape[0], 1, shape[1], shape[2], -1)
        if in_use.autocast:
            squares, = autocast("avg_pool3d", squares)
        squares = avg_pool3d(pad(squares, (0, 0, 0, 0, before, after)), (size, 1, 1), stride=1).squeeze(1).view(shape)
    return input / squares.mul(alpha).add(k).pow(beta)
