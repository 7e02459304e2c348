"""Random numbers, equal to PyTorch's for the same seed.

Every ``fill_*`` kernel writes to a given array and consumes exactly the words of the generator that PyTorch would
consume, so that later draws agree too. Elements are visited in memory order, not in the order of their indices.
PyTorch's CPU code is compiled with fused multiply-adds: where it scales and shifts a draw, it rounds once, not twice,
and so does this code.
"""

import math

import numpy as np

from .. import NUMPY as engine
from .memory import allocate, empty_as
from .random_integers import fill_random, new_permutation, new_random, permutation
from .random_samplers import binomial, dirichlet, poisson, standard_gamma
from .random_tools import (
    BOOL,
    CLASSIC_INTS,
    FLOATS,
    HALF,
    LARGEST,
    NAMES,
    PIECE,
    bits53,
    check,
    doubles,
    draw,
    fill,
    fill_from_doubles,
    floats,
    functions_for,
    memory_order,
    normal_source,
    require,
    scale_and_shift,
    store,
)

__all__ = [
    "fill_uniform",
    "new_uniform",
    "fill_normal",
    "new_normal",
    "fill_normal_each",
    "fill_random",
    "new_random",
    "permutation",
    "new_permutation",
    "fill_bernoulli",
    "fill_dropout_scale",
    "fill_exponential",
    "fill_geometric",
    "fill_cauchy",
    "fill_log_normal",
    "poisson",
    "binomial",
    "standard_gamma",
    "dirichlet",
    "multinomial",
]


@draw
def fill_uniform(generator, out, low=0.0, high=1.0):
    """Uniform numbers in [low, high); the real and the imaginary parts of a complex array separately."""
    if out.dtype.kind == "c":
        fill_uniform(generator, _parts(out), low, high)
        return out
    require(out, FLOATS, "check_uniform_bounds")
    _check_uniform_bounds(out.dtype, low, high)
    engine.fill_between(generator, out, low, high)
    return out


@engine.kernel
def fill_between(generator, out, low, high):
    """Numbers in [low, high), bounds that the dtype of `out` has."""
    uniforms, number = (doubles, np.float64) if out.dtype == np.float64 else (floats, np.float32)
    span = float(number(high) - number(low))
    # Rounding can move a draw to the open end of the interval; PyTorch then returns the closed end.
    may_reach_end = out.dtype in HALF or low not in (0, -high)

    def piece(flat):
        units = uniforms(generator, flat.size)
        flat[...] = units if low == 0 and span == 1 else scale_and_shift(units, span, low)
        if may_reach_end:
            first, end = number([low, high]).astype(flat.dtype)
            np.copyto(flat, first, where=flat == end)

    fill(out, piece)


@engine.kernel
def new_uniform(generator, shape, dtype, low, high):
    """A new array of uniform numbers in [low, high)."""
    return fill_uniform(generator, allocate(np.empty, shape, dtype), low, high)


def _check_uniform_bounds(dtype, low, high):
    largest = LARGEST[dtype]
    if -largest / 2 <= low <= high <= largest / 2:
        return
    in_c, in_torch = NAMES[dtype]
    check(-largest <= low <= largest, f"from is out of bounds for {in_c}")
    check(-largest <= high <= largest, f"to is out of bounds for {in_c}")
    check(
        low <= high,
        "uniform_ expects to return a [from, to) range, but found from={} > to={}",
        float(low),
        float(high),
    )
    check(
        high - low <= largest,
        "uniform_ expects to-from <= std::numeric_limits<{}>::max(), but found to={} and from={} "
        "which result in to-from to exceed the limit",
        in_torch,
        float(high),
        float(low),
    )


def _parts(out):
    """The real and imaginary parts of a complex array as a last dimension."""
    step = out.itemsize // 2
    return np.lib.stride_tricks.as_strided(out.real, (*out.shape, 2), (*out.strides, step))


@draw
def fill_normal(generator, out, mean=0.0, std=1.0):
    """Normal numbers; a complex array has half its variance in the real parts, half in the imaginary ones."""
    if not std >= 0:
        check(False, "normal expects std >= 0.0, but found std {}", float(std))
    if out.dtype.kind == "c":
        fill_normal(generator, _parts(out), mean, std / math.sqrt(2))
        return out
    require(out, FLOATS, "normal_kernel_cpu")
    engine.fill_normals(generator, out, mean, std)
    return out


@engine.kernel
def fill_normals(generator, out, mean, std):
    """Normal numbers for an array of a real dtype."""
    if out.size >= 16 and out.flags.c_contiguous:
        _fill_normal_in_blocks(generator, out.reshape(-1), mean, std)
    else:
        fill(out, lambda flat: store(flat, _around(_normals(generator, flat.size), mean, std)))


@engine.kernel
def new_normal(generator, shape, dtype, mean, std):
    """A new array of normal numbers."""
    return fill_normal(generator, allocate(np.empty, shape, dtype), mean, std)


def _fill_normal_in_blocks(generator, flat, mean, std):
    """Blocks of sixteen: eight first and eight second uniforms become eight cosine and eight sine normals."""
    uniforms = doubles if flat.dtype == np.float64 else floats
    functions = functions_for(flat)

    def blocks(piece):
        normals = _box_muller(uniforms(generator, piece.size), functions)
        piece[...] = _around(normals, mean, std)

    rest = flat.size % 16
    whole = flat[: flat.size - rest]
    for start in range(0, whole.size, PIECE):
        blocks(whole[start : start + PIECE])
    if rest:
        # The last sixteen elements are drawn again, as a block. Only for half types the other words are not consumed.
        generator._skip32(rest * (flat.itemsize // 4))
        blocks(flat[-16:])


def _box_muller(uniforms, functions):
    blocks = uniforms.reshape(-1, 2, 8)
    first, angle = blocks.swapaxes(0, 1).reshape(2, -1)
    radius = np.sqrt(-2.0 * functions.log(1.0 - first))
    angle *= 2 * math.pi
    blocks[:, 0] = (radius * functions.cos(angle)).reshape(-1, 8)
    blocks[:, 1] = (radius * functions.sin(angle)).reshape(-1, 8)
    return uniforms


def _around(normals, mean, std):
    return normals if mean == 0 and std == 1 else scale_and_shift(normals, std, mean)


def _normals(generator, n):
    """``n`` float64 normals, drawn in pairs; the generator may keep one for the next call."""
    waiting = generator._next_normal is not None
    uniforms = doubles(generator, n - waiting + (n - waiting) % 2)
    normals = np.empty(n)
    # A few, and the last pair of many, are exact, since one of them may be kept for a draw of doubles.
    paired = 0 if n <= 256 else uniforms.size - 2
    one = normal_source(generator, iter(uniforms[paired:].tolist()).__next__)
    if waiting:
        normals[0] = one()
    radius = np.sqrt(-2 * np.log1p(-uniforms[1:paired:2]))
    angle = 2 * math.pi * uniforms[0:paired:2]
    normals[waiting : waiting + paired : 2] = radius * np.cos(angle)
    normals[waiting + 1 : waiting + paired : 2] = radius * np.sin(angle)
    normals[waiting + paired :] = [one() for _ in range(n - waiting - paired)]
    return normals


@draw
def fill_normal_each(generator, out, mean, std):
    """Normal numbers with the given ``mean`` and ``std``: arrays, one of which may be a number."""
    if isinstance(std, np.ndarray):
        check(not (std < 0).any(), "normal expects all elements of std >= 0.0")
        _apply(np.multiply, fill_normal(generator, out), std)
    else:
        fill_normal(generator, out, 0.0, std)
    return _apply(np.add, out, mean)


def _apply(operation, out, operand):
    """``out = operation(out, operand)``; half types compute in float32, from numbers rounded to half."""
    if not isinstance(operand, np.ndarray):
        operand = np.asarray(operand).astype(out.dtype)
    left, right = (x.astype(np.float32) if x.dtype in HALF else x for x in (out, operand))
    store(out, operation(left, right))
    return out


@draw
def fill_bernoulli(generator, out, p=0.5):
    """Ones with probability ``p``, a number or an array that broadcasts to ``out``; zeros otherwise."""
    if isinstance(p, np.ndarray):
        return _fill_bernoulli_each(generator, out, p)
    check(0 <= p <= 1, "bernoulli_ expects p to be in [0, 1], but got p={}", float(p))
    require(out, (*CLASSIC_INTS, *BOOL, *FLOATS), "bernoulli_scalar_cpu_")
    engine.fill_successes(generator, out, p, 1)
    return out


@engine.kernel
def fill_successes(generator, out, p, by):
    """With probability `p` one, divided by `by`; zero otherwise."""
    limit = np.uint64(math.ceil(p * 2.0**53))
    fill(out, lambda flat: np.copyto(flat, bits53(generator, flat.size) < limit, casting="unsafe"))
    if by != 1:
        exact = np.result_type(out, np.float32)  # the precision of the division for half types
        np.divide(out, by, out=out, dtype=exact, casting="unsafe")


@draw
def fill_dropout_scale(generator, out, p):
    """Dropout factors: zeros with probability ``p``, otherwise 1 / (1 - p)."""
    require(out, FLOATS, "bernoulli_scalar_cpu_")
    engine.fill_successes(generator, out, 1 - p, 1 - p)
    return out


def _fill_bernoulli_each(generator, out, p):
    require(out, (*CLASSIC_INTS, *BOOL, *FLOATS), "bernoulli_tensor_cpu_self_")
    require(p, FLOATS, "bernoulli_tensor_cpu_p_")
    within = ((p >= 0) & (p <= 1)).all()
    check(within, "Expected p_in >= 0 && p_in <= 1 to be true, but got false: a probability lies outside of [0, 1].")
    units = (doubles if p.dtype == np.float64 else floats)(generator, out.size)
    order = memory_order(out)
    ordered = out.transpose(order)
    limits = np.broadcast_to(p.astype(units.dtype), out.shape).transpose(order)
    np.copyto(ordered, units.reshape(ordered.shape) < limits, casting="unsafe")
    return out


CONTINUOUS = (
    "{} distribution is a continuous probability distribution. dtype must be a floating point but you specified {}"
)


@draw
def fill_exponential(generator, out, rate=1.0):
    """Exponential numbers with the given rate."""
    check(out.dtype in FLOATS, CONTINUOUS, "Exponential", NAMES[out.dtype][1])
    check(rate > 0, "exponential_ expects lambda > 0.0, but found lambda={}", float(rate))
    log1p = functions_for(out).log1p
    return fill_from_doubles(generator, out, lambda u: log1p(-u) * (-1.0 / rate))


@draw
def fill_geometric(generator, out, p):
    """The number of trials up to and including the first success, which has probability ``p``."""
    check(0 < p < 1, "geometric_ expects p to be in (0, 1), but got p={}", float(p))
    require(out, (*CLASSIC_INTS, *FLOATS), "geometric_cpu")
    return fill_from_doubles(generator, out, lambda u: np.ceil(np.log(u) / math.log1p(-p)))


@draw
def fill_cauchy(generator, out, median=0.0, sigma=1.0):
    """Cauchy numbers around ``median``."""
    check(out.dtype in FLOATS, CONTINUOUS, "Cauchy", NAMES[out.dtype][0])
    check(sigma > 0, "cauchy_ expects sigma > 0.0, but found sigma={}", float(sigma))
    tan = functions_for(out).tan

    def quantile(u):
        return scale_and_shift(tan(math.pi * (u - 0.5)), sigma, median)

    return fill_from_doubles(generator, out, quantile)


@draw
def fill_log_normal(generator, out, mean=1.0, std=2.0):
    """Exponentials of normals with the given mean and deviation."""
    check(std > 0, "log_normal_ expects std > 0.0, but found std={}", float(std))
    require(out, FLOATS, "log_normal_cpu")
    exp = functions_for(out).exp

    def piece(flat):
        store(flat, exp(_around(_normals(generator, flat.size), mean, std)))

    return fill(out, piece)


_INVALID = "invalid multinomial distribution ({})"


@draw
def multinomial(generator, weights, n, replacement=False):
    """Indices of the last dimension, ``n`` of them per row, drawn in proportion to ``weights``."""
    categories = weights.shape[-1] if weights.ndim else 0
    check(0 < weights.ndim <= 2, "prob_dist must be 1 or 2 dim")
    check(n > 0, f"cannot sample n_sample <= 0 samples, got {n}")
    enough = replacement or n <= categories
    check(enough, f"cannot sample n_sample > prob_dist.size(-1) samples without replacement: {n} > {categories}")
    require(weights, FLOATS, "multinomial")
    if replacement and n > 1:
        return _choose_with_replacement(generator, weights, n)
    return _choose_without_replacement(generator, weights, n)


def _choose_without_replacement(generator, weights, n):
    """Each category arrives after an exponential time, divided by its weight; the first n are chosen."""
    valid = np.isfinite(weights) & (weights >= 0)
    check(valid.all(), "probability tensor contains either `inf`, `nan` or element < 0")
    check((weights.sum(-1) > 0).all(), "invalid multinomial distribution (sum of probabilities <= 0)")
    haste = empty_as(weights, weights.dtype)
    fill_exponential(generator, haste)
    np.divide(weights, haste, out=haste)
    if n == 1:
        return np.argmax(haste, axis=-1, keepdims=True)
    return np.argsort(-haste, axis=-1, kind="stable")[..., :n]


def _choose_with_replacement(generator, weights, n):
    """The positions of n uniform numbers among the cumulative weights."""
    number = np.float64 if weights.dtype == np.float64 else np.float32
    rows = np.atleast_2d(weights).astype(number)
    check(not (rows < 0).any(), _INVALID.format("encountering probability entry < 0"))
    check(np.isfinite(rows).all(), _INVALID.format("encountering probability entry = infinity or NaN"))
    chosen = np.empty((len(rows), n), np.int64)
    for row, out in zip(rows, chosen):
        check(row.any(), _INVALID.format("sum of probabilities <= 0"))
        cumulated = np.cumsum(row)
        cumulated /= cumulated[-1]
        cumulated[-1] = 1
        out[:] = np.searchsorted(cumulated.astype(np.float64), doubles(generator, n))
    return chosen.reshape(*weights.shape[:-1], n)
