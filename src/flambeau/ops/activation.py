"""Activations of neural networks: piecewise linear ones, whose gradients are masks, then smooth ones."""

import math

from ._op import kernel_op, op
from .elementary import exp, sigmoid, tanh
from .pointwise import is_bool, keep, where

_INV_SQRT_TAU = 1 / math.sqrt(2 * math.pi)
_TANH_GELU = math.sqrt(2 / math.pi)


def no_bool(x):
    if is_bool(x):
        raise RuntimeError("Boolean inputs not supported for relu; convert the tensor first: .float()")


relu = kernel_op("relu", inputs="x", promote="common", refuses="bc", check=no_bool, piecewise_linear=True)
relu.vjp(x=lambda g, out: threshold_pull(g, out, threshold=0.0))


@op(opmath=True, refuses="bc", piecewise_linear=True)
def threshold(k, x, *, threshold, value):
    """x where it is above the threshold, `value` elsewhere."""
    return k.where(x <= threshold, value, x).astype(x.dtype)


def threshold_slope(g, x, threshold):
    return threshold_pull(g, x, threshold=float(threshold))


threshold.vjp(x=threshold_slope)

# g where x is above the threshold; NaNs pass the gradient.
threshold_pull = kernel_op("threshold_pull", inputs="g, x", settings="threshold", node="ThresholdBackwardBackward0")
threshold_pull.vjp(g=lambda h, x, threshold: threshold_pull(h, x, threshold=threshold))

# Zero where |x| is at most `lambd`.
hardshrink = kernel_op("hardshrink", inputs="x", settings="lambd", opmath=True, refuses="bic", piecewise_linear=True)
hardshrink.vjp(x=lambda g, x, lambd: hardshrink_pull(g, x, lambd=lambd))

# g where |x| is above `lambd`.
hardshrink_pull = kernel_op("hardshrink_pull", inputs="g, x", settings="lambd", opmath=True,
                            node="HardshrinkBackwardBackward0")
hardshrink_pull.vjp(g=lambda h, x, lambd: hardshrink_pull(h, x, lambd=lambd))

leaky_relu = kernel_op("leaky_relu", inputs="x", settings="negative_slope", opmath=True, refuses="bic",
                       piecewise_linear=True)
leaky_relu.vjp(x=lambda g, x, negative_slope: leaky_relu_pull(g, x, slope=negative_slope))

# g where x is above zero, `slope` times it elsewhere.
leaky_relu_pull = kernel_op("leaky_relu_pull", inputs="g, x", settings="slope", opmath=True,
                            node="LeakyReluBackwardBackward0")
leaky_relu_pull.vjp(g=lambda h, x, slope: leaky_relu_pull(h, x, slope=slope))

# The randomized leaky ReLU with its mean slope.
rrelu_eval = kernel_op("rrelu_eval", "leaky_relu", inputs="x", settings="slope", opmath=True,
                       node="RreluWithNoiseBackward0", refuses="bic", piecewise_linear=True, row_major=True)
rrelu_eval.vjp(x=lambda g, x, slope: leaky_relu_pull(g, x, slope=slope))


@op(opmath=True, node="RreluWithNoiseBackward0", refuses="bic")
def rrelu_train(k, x, slopes):
    return x * slopes


rrelu_train.vjp(x=lambda g, slopes: g * slopes)


@op(opmath=True, node="PreluKernelBackward0", refuses="bic", piecewise_linear=True)
def prelu(k, x, weight):
    return k.where(x > 0, x, weight * x)


prelu.vjp(x=lambda g, x, weight: where(x > 0, g, weight * g), weight=lambda g, x: keep(g * x, ~(x > 0)))

# scale * (x if x > 0 else alpha * (exp(input_scale * x) - 1)).
elu = kernel_op("elu", inputs="x", settings="alpha, scale, input_scale", opmath=True, refuses="bic")
elu.vjp(x=lambda g, x, alpha, scale, input_scale: elu_pull(g, x, alpha=alpha, scale=scale, input_scale=input_scale))

# g times the slope of ``elu`` at x.
elu_pull = kernel_op("elu_pull", inputs="g, x", settings="alpha, scale, input_scale", opmath=True,
                     node="EluBackwardBackward0")


def _elu_bend(h, g, x, alpha, scale, input_scale):
    below = ~(x >= 0)
    return keep(h * g * (alpha * scale * input_scale * input_scale) * exp(input_scale * keep(x, below)), below)


elu_pull.vjp(
    g=lambda h, x, alpha, scale, input_scale: elu_pull(h, x, alpha=alpha, scale=scale, input_scale=input_scale),
    x=_elu_bend,
)


@op(opmath=True, refuses="bic")
def celu(k, x, *, alpha):
    """x if x > 0 else alpha * (exp(x / alpha) - 1)."""
    return k.elu(x, alpha, 1.0, 1.0 / alpha)


celu.vjp(x=lambda g, x, alpha: elu_pull(g, x, alpha=alpha, scale=1.0, input_scale=1.0 / alpha))


# ---- in-place methods: the gradient is computed from the result


NO_INVERSE = (
    "In-place {name} backward calculation is triggered with a negative slope which is not supported. This is caused by "
    "calling in-place forward function with a negative slope, please call out-of-place version instead."
)


def invertible(slope, name):
    """Checks the negative slope of an activation, whose result must have the sign of the input."""
    if slope < 0:
        raise RuntimeError(NO_INVERSE.format(name=name))
    return slope


def overwriting(function, node, gradient):
    """The op of an in-place method: the forward of `function`, but a separate node, whose gradient may use ``out``."""
    spec = function.spec
    twin = op(spec.forward, name=spec.name + "_in_place", node=node, opmath=True, refuses=spec.refuses,
              piecewise_linear=spec.piecewise_linear)
    twin.vjp(x=gradient)
    return twin


threshold_in_place = overwriting(threshold, "ThresholdBackward1", threshold_slope)
leaky_relu_in_place = overwriting(leaky_relu, "LeakyReluBackward1", lambda g, out, negative_slope: leaky_relu_pull(
    g, out, slope=invertible(negative_slope, "leakyReLu")))
rrelu_eval_in_place = overwriting(rrelu_eval, "RreluWithNoiseBackward1", lambda g, out, slope: leaky_relu_pull(
    g, out, slope=invertible(slope, "leakyReLu")))
rrelu_train_in_place = overwriting(rrelu_train, "RreluWithNoiseBackward1", lambda g, slopes, out: g * slopes)
elu_in_place = overwriting(elu, "EluBackward1", lambda g, out, alpha, scale, input_scale: elu_pull_of_result(
    g, out, height=invertible(alpha * scale, "elu"), scale=scale, input_scale=input_scale))
celu_in_place = overwriting(celu, "CeluBackward1", lambda g, out, alpha: elu_pull_of_result(
    g, out, height=invertible(alpha, "elu"), scale=1.0, input_scale=1.0 / alpha))


@op(opmath=True, node="EluBackwardBackward0")
def elu_pull_of_result(k, g, y, *, height, scale, input_scale):
    """g times the slope of ``elu`` where that is `y`; far below zero that is -`height`."""
    return k.where(y <= 0, g * input_scale * (y + height), g * scale)


elu_pull_of_result.vjp(
    g=lambda h, y, height, scale, input_scale: elu_pull_of_result(
        h, y, height=height, scale=scale, input_scale=input_scale),
    y=lambda h, g, y, input_scale: keep(h * g * input_scale, y <= 0),
)


# ---- smooth ones, and those of layers

# x times the normal CDF of x.
gelu = kernel_op("gelu", inputs="x", opmath=True, refuses="bic")
gelu.vjp(x=lambda g, x: gelu_pull(g, x))

# g times the derivative of ``gelu``: the CDF of x plus x times its density.
gelu_pull = kernel_op("gelu_pull", inputs="g, x", opmath=True, node="GeluBackwardBackward0")
gelu_pull.vjp(
    g=lambda h, x: gelu_pull(h, x),
    x=lambda h, g, x: h * g * ((2 - x * x) * exp(-0.5 * x * x) * _INV_SQRT_TAU),
)

# The tanh approximation of ``gelu``.
gelu_tanh = kernel_op("gelu_tanh", inputs="x", opmath=True, node="GeluBackward0", refuses="bic")
gelu_tanh.vjp(x=lambda g, x: gelu_tanh_pull(g, x))

# g times the slope of ``gelu_tanh`` at x.
gelu_tanh_pull = kernel_op("gelu_tanh_pull", inputs="g, x", opmath=True, node="GeluBackwardBackward0")


def _gelu_tanh_bend(h, g, x):
    u, slope = _TANH_GELU * (x + 0.044715 * x * x * x), _TANH_GELU * (1 + 3 * 0.044715 * x * x)
    slope_of_tanh = 4 * sigmoid(2 * u) * sigmoid(-2 * u)  # 1 - tanh(u)², which would cancel
    return h * g * (slope_of_tanh * (slope + x * (3 * 0.044715 * _TANH_GELU * x - tanh(u) * slope * slope)))


gelu_tanh_pull.vjp(g=lambda h, x: gelu_tanh_pull(h, x), x=_gelu_tanh_bend)

silu = kernel_op("silu", inputs="x", opmath=True, refuses="bi")
silu.vjp(x=lambda g, x: silu_pull(g, x))

# g times the slope of ``silu`` at x.
silu_pull = kernel_op("silu_pull", inputs="g, x", opmath=True, node="SiluBackwardBackward0")


def _silu_bend(h, g, x):
    s = sigmoid(x)
    return h * g * (s * (1 - s) * (2 + x * (1 - 2 * s)))


silu_pull.vjp(g=lambda h, x: silu_pull(h, x), x=_silu_bend)

mish = kernel_op("mish", inputs="x", opmath=True, refuses="bic")
mish.vjp(x=lambda g, x: mish_pull(g, x))

# g times the slope of ``mish`` at x.
mish_pull = kernel_op("mish_pull", inputs="g, x", opmath=True, node="MishBackwardBackward0")


def _mish_bend(h, g, x):
    t, s = tanh(softplus(x, beta=1.0, threshold=20.0)), sigmoid(x)
    return h * g * ((1 - t * t) * s * (2 + x * (1 - s - 2 * t * s)))


mish_pull.vjp(g=lambda h, x: mish_pull(h, x), x=_mish_bend)

# log(1 + exp(beta x)) / beta, and x itself above the threshold.
softplus = kernel_op("softplus", inputs="x", settings="beta, threshold", opmath=True, refuses="bic")
softplus.vjp(x=lambda g, x, beta, threshold: where(x * beta > threshold, g, g * sigmoid(x * beta)))

log_sigmoid = kernel_op("log_sigmoid", inputs="x", opmath=True, refuses="bic", row_major=True)
log_sigmoid.vjp(x=lambda g, x: g * sigmoid(-x))

hardtanh = kernel_op("hardtanh", "clip", inputs="x", settings="low, high", opmath=True, refuses="c",
                     piecewise_linear=True)
hardtanh.vjp(x=lambda g, x, low, high: hardtanh_pull(g, x, low=low, high=high))

# g where x is between the bounds.
hardtanh_pull = kernel_op("hardtanh_pull", inputs="g, x", settings="low, high", opmath=True,
                          node="HardtanhBackwardBackward0")
hardtanh_pull.vjp(g=lambda h, x, low, high: hardtanh_pull(h, x, low=low, high=high))

hardsigmoid = kernel_op("hardsigmoid", inputs="x", opmath=True, refuses="bic", piecewise_linear=True)
hardsigmoid.vjp(x=lambda g, x: hardsigmoid_pull(g, x))

# A sixth of g where x is between -3 and 3.
hardsigmoid_pull = kernel_op("hardsigmoid_pull", inputs="g, x", opmath=True, node="HardsigmoidBackwardBackward0")
hardsigmoid_pull.vjp(g=lambda h, x: hardsigmoid_pull(h, x))

hardswish = kernel_op("hardswish", inputs="x", opmath=True, refuses="bic")
hardswish.vjp(x=lambda g, x: hardswish_pull(g, x))

# g times the slope of ``hardswish`` at x.
hardswish_pull = kernel_op("hardswish_pull", inputs="g, x", opmath=True, node="HardswishBackwardBackward0")
hardswish_pull.vjp(g=lambda h, x: hardswish_pull(h, x), x=lambda h, g, x: keep(h * g / 3, (x > -3) & (x < 3)))


@op(opmath=True, refuses="bic", piecewise_linear=True)
def softshrink(k, x, *, lambd, edge):
    """Each element shrunk towards 0 by `lambd`; the gradient begins at `edge`, which is `lambd` up to rounding."""
    return k.softshrink(x, lambd)


softshrink.vjp(x=lambda g, x, edge: hardshrink_pull(g, x, lambd=edge))
