"""Batching rules of normalizations. Batched weights are applied after the normalization."""

from ...ops import normalization as ops
from ...ops.pointwise import add, mul
from ...ops.shape import reshape
from ..vmap import Batched, with_batch_dim
from .classes import aligned, fold, unfold
from .conv import into_channels, out_of_channels


def is_shared(x):
    """Whether the weight is unbatched."""
    return x is None or not x.batched


def scale_shift(y, weight, bias, of_weight, size):
    """``y * weight + bias`` with weights in a shape that broadcasts."""
    for function, x in ((mul, weight), (add, bias)):
        if x is not None:
            lead = x.value._a.shape[:1] if x.batched else ()
            x = Batched(x.level, reshape(x.value, shape=(*lead, *of_weight)), x.batched)
            y = Batched(y.level, aligned(function.spec, (y, x), {}, size))
    return y.value


def apart(normalize, layout):
    """The rule of an op ``(x, weight, bias, ...)``, where `normalize` handles unbatched weights."""

    def rule(op, operands, settings, size):
        x, weight, bias, *statistics = operands
        if is_shared(weight) and is_shared(bias):
            return normalize(op, operands, settings, size)
        result = normalize(op, (x, None, None, *statistics), settings, size)
        y, *rest = result if isinstance(result, tuple) else (result,)
        _, of_weight, _ = layout(x.shape, settings.get("how"))
        y = scale_shift(Batched(x.level, y), weight, bias, channel_shape(of_weight, x, layout), size)
        return (y, *rest) if rest else y

    return rule


def channel_shape(of_weight, x, layout):
    return (1, x.shape[1], *[1] * (len(x.shape) - 2)) if layout is ops.group_layout else of_weight


def layer_norm(op, operands, settings, size):
    x, weight, bias = operands
    return op.function(with_batch_dim(x, size), value_of(weight), value_of(bias), **settings)


def group_norm(op, operands, settings, size):
    x, weight, bias = operands
    y, mean, var = op.function(fold(x, size), value_of(weight), value_of(bias), **settings)
    return unfold(y, size), unfold(mean, size), unfold(var, size)


def batch_norm(op, operands, settings, size):
    """Every sample of the vmap has its own statistics: the samples are folded into channels."""
    x, weight, bias = operands
    weight, bias = repeat(weight, size), repeat(bias, size)
    y, mean, var = op.function(into_channels(x, size), weight, bias, **settings)
    return out_of_channels(y, size), out_of_channels(mean, size), out_of_channels(var, size)


def batch_norm_inference(op, operands, settings, size):
    x, weight, bias, mean, var = operands
    if mean.batched or var.batched:
        channels = [None if v is None else fold(v, size) for v in (weight, bias, mean, var)]
        return out_of_channels(op.function(into_channels(x, size), *channels, **settings), size)
    values = [value_of(v) for v in (weight, bias, mean, var)]
    return unfold(op.function(fold(x, size), *values, **settings), size)


def repeat(x, size):
    """Repeats a per-channel vector for the channels of all samples."""
    return None if x is None else fold(x, size)


def value_of(x):
    return None if x is None else x.value


def rms_norm(op, operands, settings, size):
    x, weight = operands
    if is_shared(weight):
        return op.function(with_batch_dim(x, size), value_of(weight), **settings)
    y, square = op.function(with_batch_dim(x, size), None, **settings)
    return aligned(mul.spec, (Batched(x.level, y), weight), {}, size), square


NORMALIZATION = {
    "native_layer_norm": apart(layer_norm, ops.layer_layout),
    "native_group_norm": apart(group_norm, ops.group_layout),
    "native_batch_norm": batch_norm,
    "batch_norm_inference": apart(batch_norm_inference, ops.batch_layout),
    "rms_norm": rms_norm,
}
