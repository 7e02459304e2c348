"""Normalization by mean and variance: over the batch, over the last dimensions, over groups of channels.

All are one map on different views of the input: x is reshaped so that the statistics are over whole axes, the weight
so that it broadcasts. The ops also return mean and variance (with reduced axes kept), and their gradients include
these, so that the formulas can be differentiated again.
"""

import math

import numpy as np

from .._tensor import Tensor, wrap
from ..engines import engine_of
from ._format import in_format_of
from ._op import op
from ._promotion import in_opmath
from .activation import hardtanh, hardtanh_pull, leaky_relu, leaky_relu_in_place, leaky_relu_pull, relu, threshold_pull
from .elementary import pow_scalar, rsqrt
from .move import constant_pad
from .pointwise import by_number, cj, mul
from .pooling import avg_pool
from .reduce import mean, sum_, sum_to
from .shape import piecewise_constant, reshape, zeros_like


def along_channels(x, shape):
    return x if x is None or x.shape == shape else reshape(x, shape=shape)


def sum_over(x, axes):
    """The sum over axes, kept as ones."""
    return sum_(x, axis=axes, keepdims=True) if axes else x


def batch_layout(shape, how):
    """Statistics of each channel, over everything else."""
    return shape, (1, shape[1], *[1] * (len(shape) - 2)), (0, *range(2, len(shape)))


def layer_layout(shape, how):
    """Statistics of each sample over its last `how` dimensions."""
    return shape, shape[len(shape) - how:], tuple(range(len(shape) - how, len(shape)))


def group_layout(shape, how):
    """Statistics of each sample and each of `how` groups of channels."""
    samples, channels = shape[:2]
    size = math.prod(shape[2:])
    return (samples, how, channels // how, size), (1, how, channels // how, 1), (2, 3)


def _normalization(name, node, layout):
    rows = layout is layer_layout

    @op(name=name, node=node, opmath="first", refuses="bic", row_major=rows, image=not rows,
        hook_count=None if layout is group_layout else 1, result_count=None if layout is batch_layout else 1)
    def normalization(k, x, weight, bias, *, eps, how):
        shape, of_weight, axes = layout(x.shape, how)
        if rows:
            return k.normalize(x, weight, bias, axes, eps)
        weight, bias = along_channels(weight, of_weight), along_channels(bias, of_weight)
        y, mean, var = k.normalize(along_channels(x, shape), weight, bias, axes, eps)
        y = along_channels(y, x.shape)
        return k.in_format_of(y, x), k.in_format_of(mean), k.in_format_of(var)

    @normalization.joint_vjp
    def _(g, x, weight, out_1, out_2, eps, how, needs):
        return pull(layout, g, x, weight, out_1, out_2, eps, how, needs)

    return normalization


def pull(layout, g, x, weight, mean, var, eps, how, needs):
    """The gradients of x, weight and bias, from those of the result and of its statistics."""
    input, own = x, tuple(x.shape)
    shape, of_weight, axes = layout(own, how)
    k = engine_of(g[0], x, weight)
    x, weight, g_y = along_channels(x, shape), along_channels(weight, of_weight), along_channels(g[0], shape)
    if k.computes and not isinstance(x, Tensor) and math.prod(shape):
        if weight is None and needs[2]:
            weight = k.ones(of_weight, x.dtype)
        (g_y, x, weight), _ = in_opmath((g_y, x, weight))
        found = k.normalize_pull(g_y, x, weight, axes, mean, var, g[1], g[2], eps)
        return (
            k.in_format_of(along_channels(found[0], own), input) if needs[0] else None,
            to_weight(found[1], of_weight, layout) if needs[1] else None,
            to_weight(found[2], of_weight, layout) if needs[2] else None,
        )
    if isinstance(x, Tensor) and layout is not group_layout:  # its gradient must not need the node
        mean = sum_over(x, axes) / count(shape, axes)
        var = sum_over((x - mean) ** 2, axes) / count(shape, axes)
    # empty statistics are NaN; for groups they propagate to the weight's gradient, as in PyTorch
    nothing = not math.prod(shape) and layout is not group_layout
    away, inv = x - mean, zeros_like(var) if nothing else (var + eps) ** -0.5
    # Sum over axes that the weight does not have first: the sums are used for weight, bias and input.
    lead = len(shape) - len(of_weight)
    inner = tuple([a for a in axes if a >= lead and of_weight[a - lead] == 1])
    outer = tuple([a for a in axes if a not in inner])
    g_sum, g_away = sum_over(g_y, inner), sum_over(g_y * away, inner)
    return (
        along_channels(
            input_pull(g_y, g[1], g[2], away, inv, weight, g_sum, g_away, outer, count(shape, axes)), own
        ) if needs[0] else None,
        to_weight(g_away * inv, of_weight, layout) if needs[1] else None,
        to_weight(g_sum, of_weight, layout) if needs[2] else None,
    )


def input_pull(g, g_mean, g_var, away, inv, weight, g_sum, g_away, outer, n):
    """The gradient of the input, from that of the result and of its statistics."""
    g_sum = g_sum / n  # before it is weighted: equal gradients cancel in direct + level
    if weight is not None:
        g_sum, g_away = g_sum * weight, g_away * weight
    g_sum, g_away = sum_over(g_sum, outer), sum_over(g_away, outer)
    slope = (2 * g_var - g_away * inv * inv * inv) / n
    level = g_mean / n - g_sum * inv
    if weight is None:
        direct = g * inv
    elif math.prod(g.shape) > 2 * math.prod(weight.shape) * math.prod(inv.shape):
        direct = g * (weight * inv)
    else:
        direct = g * weight * inv
    return direct + (away * slope + level)


def count(shape, axes):
    return max(math.prod([shape[a] for a in axes]), 1)


def to_weight(g, of_weight, layout):
    """Reshapes the gradient of the weight: to a vector of channels, except for layer norm."""
    g = sum_to(g, of_weight)
    return g if layout is layer_layout else reshape(g, shape=(math.prod(of_weight),))


batch_norm = _normalization("native_batch_norm", "NativeBatchNormBackward0", batch_layout)
layer_norm = _normalization("native_layer_norm", "NativeLayerNormBackward0", layer_layout)
group_norm = _normalization("native_group_norm", "NativeGroupNormBackward0", group_layout)


# ---- with a fused piecewise linear activation


ACTIVATIONS = {  # name: (the name of its node, its bounds and its slope below them, its gradient)
    "relu": ("ReluBackward0", lambda: (0.0, math.nan, 0.0), lambda g, y: threshold_pull(g, y, threshold=0.0)),
    "hardtanh": ("HardtanhBackward0", lambda low, high: (low, high, 0.0),
                 lambda g, y, low, high: hardtanh_pull(g, y, low=low, high=high)),
    "leaky_relu": ("LeakyReluBackward0", lambda slope: (0.0, math.nan, slope),
                   lambda g, y, slope: leaky_relu_pull(g, y, slope=slope)),
}
ACTIVATIONS["leaky_relu_"] = ("LeakyReluBackward1", *ACTIVATIONS["leaky_relu"][1:])


def pieces_of(activation, numbers):
    """(low, high, slope) of an activation: see the kernels."""
    return ACTIVATIONS[activation][1](*numbers)


@op(opmath="first", refuses="bic", image=True, hook_count=1, node=lambda activation: ACTIVATIONS[activation][0])
def batch_norm_act(k, x, weight, bias, *, eps, activation, numbers, weight_then):
    """``batch_norm`` with a fused activation, recorded as the activation.

    With ``weight_then``, a copy, a node can recompute the activation's mask even if the weight has been modified.
    """
    y, mean, var = k.normalize_act(x, weight, bias, eps, pieces_of(activation, numbers))
    return k.in_format_of(y, x), k.in_format_of(mean), k.in_format_of(var)


@batch_norm_act.joint_vjp
def _(g, x, weight, bias, out_1, out_2, eps, activation, numbers, weight_then, needs):
    k, is_recorded = engine_of(g[0], x, weight), isinstance(x, Tensor)
    then = weight if weight_then is None else wrap(weight_then) if is_recorded else weight_then
    if k.computes and not is_recorded and x.size and (then is weight or (then == weight).all()):
        act = pieces_of(activation, numbers)
        (g_y, wide, weight, bias), _ = in_opmath((g[0], x, weight, bias))
        found = k.normalize_act_pull(g_y, wide, weight, bias, out_1, out_2, g[1], g[2], eps, act)
        found = (k.in_format_of(found[0], x), *found[1:])
        return tuple([a if needed else None for a, needed in zip(found, needs)])
    of_weight = batch_layout(tuple(x.shape), None)[1]
    scale = (out_2 + eps) ** -0.5 * along_channels(then, of_weight)
    shift = along_channels(bias, of_weight)
    y = (x - out_1) * scale + shift
    if isinstance(y, Tensor):  # the gradient is piecewise constant in it: the graph only needs the connection
        g_y = piecewise_constant(ACTIVATIONS[activation][2](g[0], y.detach(), *numbers), shift)
    else:
        g_y = ACTIVATIONS[activation][2](g[0], y, *numbers)
    return pull(batch_layout, (g_y, g[1], g[2]), x, weight, out_1, out_2, eps, None, needs)


batch_norm_act.presents(
    ReluBackward0=lambda x, weight, bias, eps: relu(batch_norm(x, weight, bias, eps=eps, how=None)[0]),
    HardtanhBackward0=lambda x, weight, bias, eps, numbers: hardtanh(
        batch_norm(x, weight, bias, eps=eps, how=None)[0], low=numbers[0], high=numbers[1]),
    LeakyReluBackward0=lambda x, weight, bias, eps, numbers: leaky_relu(
        batch_norm(x, weight, bias, eps=eps, how=None)[0], negative_slope=numbers[0]),
    LeakyReluBackward1=lambda x, weight, bias, eps, numbers: leaky_relu_in_place(
        batch_norm(x, weight, bias, eps=eps, how=None)[0], negative_slope=numbers[0]),
)


# ---- with running statistics


@op(opmath=True, node="NativeBatchNormBackward0", refuses="bic", constants="mean var", image=True)
def batch_norm_inference(k, x, weight, bias, mean, var, *, eps):
    """``batch_norm`` by running statistics, which get no gradient."""
    of_weight = batch_layout(x.shape, None)[1]
    scale, shift = (a.reshape(of_weight) for a in scale_of_statistics(k, weight, bias, mean, var, eps, x.dtype))
    return k.in_format_of(k.scale_shift(x, scale, shift), x)


def scale_of_statistics(k, weight, bias, mean, var, eps, dtype):
    """The scale and shift of each channel in ``batch_norm_inference``, as arrays of a dtype."""
    scale = 1 / k.sqrt(var + eps)
    if weight is not None:
        scale = scale * weight
    shift = -mean * scale
    if bias is not None:
        shift = shift + bias
    return scale.astype(dtype), shift.astype(dtype)


@batch_norm_inference.joint_vjp
def _(g, x, weight, mean, var, eps, needs):
    _, of_weight, axes = batch_layout(tuple(x.shape), None)
    inv = (var + eps) ** -0.5
    scale = inv if weight is None else inv * weight
    return (
        in_format_of(g * along_channels(scale, of_weight), x) if needs[0] else None,
        sum_(g * (x - along_channels(mean, of_weight)), axis=axes, keepdims=False) * inv if needs[1] else None,
        sum_(g, axis=axes, keepdims=False) if needs[2] else None,
        None,
        None,
    )


# ---- by the root mean square


@op(opmath="first", node="MulBackward0", refuses="bi", row_major=True)
def rms_norm(k, x, weight, *, how, eps):
    """x / sqrt(mean(x²) + eps) * weight over the last `how` dimensions, and the mean of the squares."""
    axes = tuple(range(x.ndim - how, x.ndim))
    square = k.mean(x * x, axis=axes, keepdims=True)
    y = x * (1 / k.sqrt(square + eps))
    if weight is not None:
        y = y * weight
    return (y if y.dtype == x.dtype else k.cast(y, x.dtype)), square


@rms_norm.joint_vjp
def _(g, x, weight, out_1, how, eps, needs):
    g_y, g_square = g
    axes = tuple(range(len(x.shape) - how, len(x.shape)))
    x, weight, inv = cj(x), weight if weight is None else cj(weight), cj((out_1 + eps) ** -0.5)
    n = count(x.shape, axes)
    scaled = g_y if weight is None else g_y * weight
    slope = (2 * g_square - sum_over(scaled * x, axes) * inv * inv * inv) / n
    return (
        scaled * inv + x * slope if needs[0] else None,
        g_y * (x * inv) if needs[1] else None,
    )


def rms_steps(x, weight, how, eps):
    axes = tuple(range(len(x.shape) - how, len(x.shape)))
    inverse = rsqrt(by_number(mean(pow_scalar(x, 2), axis=axes, keepdims=True) + eps))
    return mul(x, inverse) if weight is None else mul(mul(x, inverse), weight)


rms_norm.presents(MulBackward0=rms_steps)


# ---- over neighbouring channels


def channel_sums(x, before, after):
    """For each channel the sum over those from `before` before it to `after` after it."""
    samples, channels = x.shape[:2]
    rows = reshape(x, shape=(samples, 1, channels, math.prod(x.shape[2:])))
    wide = constant_pad(rows, pads=((0, 0), (0, 0), (before, after), (0, 0)), value=0)
    total = avg_pool(wide, kernel=(before + after + 1, 1), stride=(1, 1), padding=(0, 0), sizes=rows.shape[2:],
                     include_pad=True, override=1)
    return reshape(total, shape=tuple(x.shape))


@op(node="CrossMapLRN2dBackward", opmath=True, refuses="bic", row_major=True)
def cross_map_norm(k, x, *, size, alpha, beta, bias):
    """(x divided by a power of a sum of squares over channels, that sum).

    As in PyTorch, the first channel stays in all later sums once it is in one.
    """
    reach, squares = (size - 1) // 2, x * x
    total = channel_sums(squares, reach, reach)
    late = np.arange(x.shape[1]).reshape(-1, *[1] * (x.ndim - 2)) > reach
    scale = bias + alpha / size * (total + late * squares[:, :1])
    return x * scale ** -beta, scale


@cross_map_norm.joint_vjp
def _(g, x, out_1, size, alpha, beta, needs):
    """PyTorch's gradient, whose sums are over windows shifted by one channel from the forward's."""
    power = out_1 ** -beta
    before = min((size + 1) // 2, size - 1)
    of_scale = channel_sums(g[0] * x * power / out_1, before, size - 1 - before)
    return (g[0] * power - 2 * alpha * beta / size * x * of_scale,)
