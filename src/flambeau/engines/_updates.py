"""The update formulas of optimizers.

Each formula is called as ``formula(k, g, numbers, flags, p, *state)`` and returns the new ``(p, *state)``. It uses
operators and a few NumPy functions, so it runs on NumPy arrays, on JAX arrays, and on tensors, which record it.
``numbers`` are precomputed in double precision from the settings and the step count; `flags` select parts of the
formula.
"""


def descent(g, p, maximize, decays, decay):
    """The gradient, negated with `maximize`, plus weight decay."""
    g = -g if maximize else g
    return g + p * decay if decays else g


def moments(g, p, flags, decay, weight1, beta2, weight2, exp_avg, exp_avg_sq):
    """The first part of Adam and its variants: (gradient, parameter, first moment, second moment)."""
    maximize, coupled, decoupled = flags
    g = descent(g, p, maximize, coupled, decay)
    p = p * decay if decoupled else p
    return g, p, exp_avg + (g - exp_avg) * weight1, exp_avg_sq * beta2 + g * g * weight2


def sgd(k, g, numbers, flags, p, *buffer):
    lr, momentum, keep, weight, decay = numbers
    maximize, decays, nesterov = flags
    g = descent(g, p, maximize, decays, decay)
    if not buffer:
        return (p - g * lr,)
    average = buffer[0] * keep + g * weight
    return p - (g + average * momentum if nesterov else average) * lr, average


def adam(k, g, numbers, flags, p, exp_avg, exp_avg_sq, *largest):
    decay, weight1, beta2, weight2, eps, rate, root = numbers
    g, p, exp_avg, exp_avg_sq = moments(g, p, flags, decay, weight1, beta2, weight2, exp_avg, exp_avg_sq)
    if largest:
        largest = (k.maximum(largest[0], exp_avg_sq),)
    p = p - exp_avg / (k.sqrt(largest[0] if largest else exp_avg_sq) / root + eps) * rate
    return p, exp_avg, exp_avg_sq, *largest


def adamax(k, g, numbers, flags, p, exp_avg, exp_inf):
    decay, weight1, beta2, eps, rate = numbers
    g = descent(g, p, *flags, decay)
    exp_avg = exp_avg + (g - exp_avg) * weight1
    exp_inf = k.maximum(exp_inf * beta2, k.abs(g) + eps)
    return p - exp_avg / exp_inf * rate, exp_avg, exp_inf


def nadam(k, g, numbers, flags, p, exp_avg, exp_avg_sq):
    decay, weight1, beta2, weight2, eps, correction, rate, average_rate = numbers
    g, p, exp_avg, exp_avg_sq = moments(g, p, flags, decay, weight1, beta2, weight2, exp_avg, exp_avg_sq)
    scale = k.sqrt(exp_avg_sq / correction) + eps
    return p - g / scale * rate - exp_avg / scale * average_rate, exp_avg, exp_avg_sq


def radam(k, g, numbers, flags, p, exp_avg, exp_avg_sq):
    decay, weight1, beta2, weight2, share, rest, rate = numbers
    g, p, exp_avg, exp_avg_sq = moments(g, p, flags, decay, weight1, beta2, weight2, exp_avg, exp_avg_sq)
    return p - exp_avg / (k.sqrt(exp_avg_sq) * share + rest) * rate, exp_avg, exp_avg_sq


def rmsprop(k, g, numbers, flags, p, square_avg, *more):
    decay, alpha, weight, eps, lr, momentum = numbers
    maximize, decays, centered = flags
    g = descent(g, p, maximize, decays, decay)
    square_avg = square_avg * alpha + g * g * weight
    variance, averages, buffer = square_avg, more[:centered], more[centered:]
    if centered:
        averages = (averages[0] + (g - averages[0]) * weight,)
        variance = square_avg - averages[0] * averages[0]
    move = g / (k.sqrt(variance) + eps)
    if buffer:
        move = buffer[0] * momentum + move
        buffer = (move,)
    return p - move * lr, square_avg, *averages, *buffer


def rprop(k, g, numbers, flags, p, prev, step_size):
    shrink, grow, smallest, largest = numbers
    g = -g if flags[0] else g
    agreement = g * prev
    step_size = k.where(agreement > 0, step_size * grow, k.where(agreement < 0, step_size * shrink, step_size))
    step_size = k.clip(step_size, smallest, largest)
    g = k.where(agreement < 0, g * 0, g)
    return p - k.sign(g) * step_size, g, step_size


def adagrad(k, g, numbers, flags, p, total):
    decay, rate, eps = numbers
    g = descent(g, p, *flags, decay)
    total = total + g * g
    return p - g / (k.sqrt(total) + eps) * rate, total


def adadelta(k, g, numbers, flags, p, square_avg, acc_delta):
    decay, rho, weight, eps, lr = numbers
    g = descent(g, p, *flags, decay)
    square_avg = square_avg * rho + g * g * weight
    delta = k.sqrt(acc_delta + eps) / k.sqrt(square_avg + eps) * g
    return p - delta * lr, square_avg, acc_delta * rho + delta * delta * weight


def asgd(k, g, numbers, flags, p, average):
    decay, shrink, eta, mu = numbers
    g = descent(g, p, *flags, decay)
    p = p * shrink - g * eta
    return p, average + (p - average) * mu


FORMULAS = {f"{formula.__name__}_step": formula for formula in (
    sgd, adam, adamax, nadam, radam, rmsprop, rprop, adagrad, adadelta, asgd,
)}
