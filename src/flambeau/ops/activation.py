"""Activations that ``torch`` itself has; they are piecewise linear, so their gradients are masks."""

from __future__ import annotations

from ._op import kernel_op, op
from .elementary import exp
from .pointwise import is_bool, keep, where


def no_bool(x):
    if is_bool(x):
        raise RuntimeError("Boolean inputs not supported for relu; convert the tensor first: .float()")


relu = kernel_op("relu", inputs="x", promote="common", refuses="bc", check=no_bool, piecewise_linear=True)
relu.vjp(x=lambda g, out: threshold_pull(g, out, threshold=0.0))


@op(opmath=True, refuses="bc", piecewise_linear=True)
def threshold(k, x, *, threshold, value):
    """x where it is above the threshold, `value` elsewhere."""
    return k.where(x <= threshold, value, x).astype(x.dtype)


threshold.vjp(x=lambda g, x, threshold: threshold_pull(g, x, threshold=float(threshold)))


@op(node="ThresholdBackwardBackward0")
def threshold_pull(k, g, x, *, threshold):
    """g where x is above the threshold; a NaN lets the gradient through."""
    return k.threshold_pull(g, x, threshold)


threshold_pull.vjp(g=lambda h, x, threshold: threshold_pull(h, x, threshold=threshold))


@op(opmath=True, refuses="bic", piecewise_linear=True)
def hardshrink(k, x, *, lambd):
    """Zero where |x| is at most `lambd`."""
    return k.keep(x, ~((x >= -lambd) & (x <= lambd)))


hardshrink.vjp(x=lambda g, x, lambd: keep(g, (x > lambd) | (x < -lambd)))


@op(opmath=True, refuses="bic", piecewise_linear=True)
def leaky_relu(k, x, *, negative_slope):
    return k.where(x > 0, x, negative_slope * x)


leaky_relu.vjp(x=lambda g, x, negative_slope: where(x > 0, g, negative_slope * g))


@op(opmath=True, node="RreluWithNoiseBackward0", refuses="bic", piecewise_linear=True)
def rrelu_eval(k, x, *, slope):
    """The randomised leaky ReLU with its mean slope."""
    return k.where(x > 0, x, slope * x)


rrelu_eval.vjp(x=lambda g, x, slope: where(x > 0, g, slope * g))


@op(opmath=True, node="RreluWithNoiseBackward0", refuses="bic")
def rrelu_train(k, x, slopes):
    return x * slopes


rrelu_train.vjp(x=lambda g, slopes: g * slopes)


@op(opmath=True, node="PreluKernelBackward0", refuses="bic", piecewise_linear=True)
def prelu(k, x, weight):
    return k.where(x > 0, x, weight * x)


prelu.vjp(x=lambda g, x, weight: where(x > 0, g, weight * g), weight=lambda g, x: keep(g * x, ~(x > 0)))


@op(opmath=True, refuses="bic")
def elu(k, x, *, alpha, scale, input_scale):
    """scale * (x if x > 0 else alpha * (exp(input_scale * x) - 1))."""
    return k.where(x > 0, scale * x, (alpha * scale) * k.expm1(input_scale * k.minimum(x, 0)))


def elu_slope(g, x, alpha, scale, input_scale):
    below = keep(x, ~(x >= 0))
    return where(x > 0, g * scale, g * (alpha * scale * input_scale) * exp(input_scale * below))


elu.vjp(x=elu_slope)


@op(opmath=True, refuses="bic")
def celu(k, x, *, alpha):
    """x if x > 0 else alpha * (exp(x / alpha) - 1)."""
    return k.where(x > 0, x, alpha * k.expm1(k.minimum(x, 0) / alpha))


celu.vjp(x=lambda g, x, alpha: elu_slope(g, x, alpha, 1.0, 1.0 / alpha))
