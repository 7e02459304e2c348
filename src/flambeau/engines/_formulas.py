"""Kernels that are the same formula in NumPy and JAX: an engine registers those it names.

A formula is called as ``formula(k, ...)`` with an engine, or with a namespace of ops.
"""

import functools
import math

INV_SQRT_2 = math.sqrt(0.5)
INV_SQRT_TAU = 1 / math.sqrt(2 * math.pi)
TANH_GELU = math.sqrt(2 / math.pi)


def define(engine, *formulas):
    """Registers formulas as kernels of the engine."""
    for formula in formulas:
        engine.kernel(functools.update_wrapper(functools.partial(formula, engine), formula))


# ---- activations


def log_sigmoid(k, x):
    """The logarithm of the sigmoid, also where that rounds to 0 or 1."""
    return k.minimum(x, 0) - k.log1p(k.exp(-k.abs(x)))


def gelu(k, x):
    return 0.5 * x * (1 + k.erf(x * INV_SQRT_2))


def gelu_pull(k, g, x):
    """Uses ``-erf(-x)``: XLA would keep a value that it also finds in the forward until backward, in float32."""
    return g * (0.5 * (1 - k.erf(x * -INV_SQRT_2)) + x * k.exp(-0.5 * x * x) * INV_SQRT_TAU)


def threshold_pull(k, g, x, threshold):
    return k.keep(g, ~(x <= threshold))


def leaky_relu(k, x, slope):
    return k.where(x > 0, x, slope * x)


def leaky_relu_pull(k, g, x, slope):
    return k.where(x > 0, g, slope * g)


def elu(k, x, alpha, scale, input_scale):
    return k.where(x >= 0, scale * x, (alpha * scale) * k.expm1(input_scale * k.minimum(x, 0)))


def elu_pull(k, g, x, alpha, scale, input_scale):
    below = k.keep(x, ~(x >= 0))
    return k.where(x > 0, g * scale, g * (alpha * scale * input_scale) * k.exp(input_scale * below))


def gelu_tanh(k, x):
    return 0.5 * x * (1 + k.tanh(TANH_GELU * (x + 0.044715 * x * x * x)))


def gelu_tanh_pull(k, g, x):
    t = k.tanh(-TANH_GELU * (x + 0.044715 * x * x * x))  # negative, for the reason given in ``gelu_pull``
    return g * (0.5 * (1 - t) + 0.5 * x * (1 - t * t) * (TANH_GELU * (1 + 3 * 0.044715 * x * x)))


def silu(k, x):
    return x * k.sigmoid(x)


def silu_pull(k, g, x):
    s = k.sigmoid(x)
    return g * (s * (1 + x * (1 - s)))


def mish(k, x):
    return x * k.tanh(k.softplus(x, 1.0, 20.0))


def mish_pull(k, g, x):
    t = k.tanh(k.softplus(x, 1.0, 20.0))
    return g * (t + x * (1 - t * t) * k.sigmoid(x))


def hardtanh_pull(k, g, x, low, high):
    return k.keep(g, ~((x <= low) | (x >= high)))  # a NaN passes the gradient


def hardsigmoid(k, x):
    return k.clip(x + 3, 0, 6) / 6


def hardsigmoid_pull(k, g, x):
    return k.keep(g / 6, (x > -3) & (x < 3))


def hardswish(k, x):
    return x * k.clip(x + 3, 0, 6) / 6


def hardswish_pull(k, g, x):
    return k.keep(k.where(x < 3, g * (x / 3 + 0.5), g), ~(x <= -3))


def hardshrink(k, x, lambd):
    return k.keep(x, ~((x >= -lambd) & (x <= lambd)))


def hardshrink_pull(k, g, x, lambd):
    return k.keep(g, (x > lambd) | (x < -lambd))


def softshrink(k, x, lambd):
    return x - k.clip(x, -lambd, lambd)


ACTIVATIONS = (
    log_sigmoid, gelu, gelu_pull, gelu_tanh, gelu_tanh_pull, threshold_pull, leaky_relu, leaky_relu_pull, elu, elu_pull,
    silu, silu_pull, mish, mish_pull, hardtanh_pull, hardsigmoid, hardsigmoid_pull, hardswish, hardswish_pull,
    hardshrink, hardshrink_pull, softshrink,
)


# ---- arithmetic


def replace_nonfinite(k, x, nan, posinf, neginf):
    finite = k.where(x == math.inf, posinf, k.where(x == -math.inf, neginf, x))
    return k.where(x != x, nan, finite).astype(x.dtype)


def lerp(k, start, end, weight):
    """Interpolates from `start` to `end`, starting from the nearer of the two."""
    far = end - start
    return start + weight * far if abs(weight) < 0.5 else end - far * (1 - weight)


def sum_of_numbers(k, x, axis, keepdims, dtype):
    """The sum of the elements that are not NaN."""
    return k.sum(k.where(k.isnan(x), k.zeros((), x.dtype), x), axis=axis, keepdims=keepdims, dtype=dtype)


ARITHMETIC = (replace_nonfinite, lerp, sum_of_numbers)


# ---- losses of each element


def smooth_l1(k, x, y, beta):
    """Half the square over beta, or the distance minus beta / 2 where it exceeds beta."""
    away = k.abs(x - y)
    near = k.minimum(away, beta)  # one formula for both cases: k.where would cost more than everything else
    return near / beta * (away - 0.5 * near)


def smooth_l1_slope(k, x, y, beta):
    away = x - y
    return k.where(k.abs(away) >= beta, k.sign(away), away / beta)  # avoids infinity / infinity


def huber(k, x, y, delta):
    """Half the square, or delta times the distance minus delta² / 2 where it exceeds delta."""
    away = k.abs(x - y)
    near = k.minimum(away, delta)
    return near * (away - 0.5 * near)


def huber_slope(k, x, y, delta):
    return k.clip(x - y, -delta, delta)


DISTANCES = (smooth_l1, smooth_l1_slope, huber, huber_slope)


# ---- batches that are normalised by their channels, with an activation of straight pieces behind that
#
# `act` is (low, high, slope): what is below `low` becomes `low`, or `slope` times itself unless that is 0, and what is
# above `high` becomes that. A bound that is nan is none.


def on_pieces(k, y, act):
    low, high, slope = act
    y = k.where(y < low, y * slope if slope else low, y)
    return k.where(y > high, high, y)


def pull_pieces(k, g, y, act):
    """The gradient of y, from that of the result of ``on_pieces``."""
    low, high, slope = act
    g = k.where(y > low, g, g * slope) if slope else k.where(y <= low, 0, g)  # NaNs get the slope, if there is one
    return k.where(y >= high, 0, g)


def of_batch(x):
    """The shape of per-channel values, and the axes to reduce."""
    return (1, x.shape[1], *[1] * (x.ndim - 2)), (0, *range(2, x.ndim))


def normalize_act(k, x, weight, bias, eps, act):
    """(the result, the mean, the variance)."""
    shape, axes = of_batch(x)
    y, mean, var = k.normalize(x, weight.reshape(shape), bias.reshape(shape), axes, eps)
    return on_pieces(k, y, act), mean, var


def normalize_by(k, x, weight, bias, mean, var, eps):
    return (x - mean) * (weight.reshape(mean.shape) / k.sqrt(var + eps)) + bias.reshape(mean.shape)


def normalize_act_again(k, x, weight, bias, mean, var, eps, act):
    """The result, given mean and variance."""
    return on_pieces(k, normalize_by(k, x, weight, bias, mean, var, eps), act)


def normalize_act_pull(k, g, x, weight, bias, mean, var, g_mean, g_var, eps, act):
    """The gradients of x, weight and bias, from those of the three results."""
    shape, axes = of_batch(x)
    g = pull_pieces(k, g, normalize_by(k, x, weight, bias, mean, var, eps), act)
    g_x, g_weight, g_bias = k.normalize_pull(g, x, weight.reshape(shape), axes, mean, var, g_mean, g_var, eps)
    return g_x, g_weight.reshape(-1), g_bias.reshape(-1)


NORMALIZATION = (normalize_act, normalize_act_again, normalize_act_pull)


# ---- the gates of an LSTM, one after the other in the last dimension: input, forget, cell, output


def lstm_gates(k, x, hidden, c):
    """(new hidden state, new cell state, gates) from the input's and the hidden state's parts of the gates."""
    i, f, g, o = k.split(x + hidden, 4, axis=-1)
    i, f, g, o = k.sigmoid(i), k.sigmoid(f), k.tanh(g), k.sigmoid(o)
    c = f * c + i * g
    return o * k.tanh(c), c, k.concatenate([i, f, g, o], -1)


def lstm_gates_pull(k, g_h, g_c, g_gates, gates, c, previous):
    """The gradients of x (and of hidden), and of the cell state before, from those of the three results."""
    i, f, g, o = k.split(gates, 4, axis=-1)
    g_i, g_f, g_g, g_o = k.split(g_gates, 4, axis=-1)
    t = k.tanh(c)
    g_c = g_c + g_h * o * (1 - t * t)
    g_x = k.concatenate([
        (g_c * g + g_i) * i * (1 - i),
        (g_c * previous + g_f) * f * (1 - f),
        (g_c * i + g_g) * (1 - g * g),
        (g_h * t + g_o) * o * (1 - o),
    ], -1)
    return g_x, g_c * f


GATES = (lstm_gates, lstm_gates_pull)
