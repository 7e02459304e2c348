"""Random integers and permutations."""

import math

import numpy as np

from .. import NUMPY as engine
from .memory import allocate
from .random_tools import (
    BFLOAT16,
    BOOL,
    CLASSIC_INTS,
    DIGITS,
    FLOATS,
    HALF,
    LARGEST,
    NAMES,
    PIECE,
    UNSIGNED_INTS,
    check,
    draw,
    fill,
    require,
    store,
)

__all__ = ["fill_random", "new_permutation", "new_random", "permutation"]

# The bound up to which a dtype has all integers, and their negatives; PyTorch looks no further at bounds within it.
EXACT_BOUNDS = {
    np.dtype(np.int64).num: 2**63, np.dtype(np.int32).num: 2**31, np.dtype(np.float32).num: 2**24,
    np.dtype(np.float64).num: 2**53,
}


@draw
def fill_random(generator, out, low=None, high=None):
    """Integers, for any element type.

    Without bounds: from 0 over all values of the type (for floats, those without gaps); with ``low`` alone, from there
    to the largest; with both, in [low, high).
    """
    dtype = out.dtype
    bound = EXACT_BOUNDS.get(dtype.num)
    if bound is not None and high is not None and -bound <= low < high <= bound:
        return _fill_integers(generator, out, low, high - low, wide=high - low >= 2**28)
    if low is None:
        require(out, (*CLASSIC_INTS, *BOOL, *FLOATS), "random_kernel_cpu")
        return _fill_integers(generator, out, 0, _largest(dtype) + 1, wide=dtype.itemsize == 8)
    check(
        dtype in (*CLASSIC_INTS, *UNSIGNED_INTS, *BOOL, *FLOATS),
        "check_random_bounds handles only integral, floating-point and boolean types",
    )
    if high is None and low == -(2**63):
        return _fill_all_words(generator, out)
    if high is None:
        high = _largest(dtype) + 1
    check(low < high, "random_ expects 'from' to be less than 'to', but got from={} >= to={}", low, high)
    low, high = _representable_range(dtype, low, high)
    return _fill_integers(generator, out, low, high - low, wide=high - low >= 2**28)


@engine.kernel
def new_random(generator, shape, dtype, low, high):
    """A new array of integers in [low, high)."""
    return fill_random(generator, allocate(np.empty, shape, dtype), low, high)


def _fill_all_words(generator, out):
    """64-bit words, as signed numbers."""
    served = (np.dtype(np.int64), BFLOAT16, np.dtype(np.float32), np.dtype(np.float64))
    check(
        out.dtype in served or out.dtype not in CLASSIC_INTS,
        "random_full_64_bits_range_kernel_cpu handles only int64, double, float and bfloat16",
    )
    require(out, served, "random_full_64_bits_range_kernel_cpu")
    return _fill_integers(generator, out, 0, 2**64, wide=True)


def _largest(dtype):
    """The largest integer up to which a type has all integers."""
    if dtype in DIGITS:
        return 2 ** DIGITS[dtype]
    return 1 if dtype == np.bool_ else int(np.iinfo(dtype).max)


def _smallest(dtype):
    return 0 if dtype == np.bool_ else int(np.iinfo(dtype).min)


def _representable_range(dtype, low, high):
    name = NAMES[dtype][0]
    if dtype in DIGITS:
        smallest, largest = -LARGEST[dtype], LARGEST[dtype]
        low, high = _inner_low(dtype, low), _inner_high(dtype, high)
        message = (
            "random_ expects 'from' casted to dtype to be less than 'to' casted to dtype, "
            "but got from={} >= to={}"
        )
        check(low < high, message, low, high)
    else:
        # PyTorch treats bounds as signed numbers, also those of uint64.
        smallest, largest = _smallest(dtype), min(_largest(dtype), 2**63 - 1)
    check(smallest <= low <= largest, f"from is out of bounds for {name}")
    check(smallest <= high - 1 <= largest, f"to - 1 is out of bounds for {name}")
    return low, high


def _round(dtype, integer):
    """The integer rounded to the floating type, and the type's spacing there."""
    wide = np.float64(integer) if dtype == np.float64 else np.float32(integer)
    value = float(np.asarray(wide).astype(dtype))
    step = 1 << max(abs(integer).bit_length() - DIGITS[dtype], 0)
    return (int(value) if math.isfinite(value) else integer), step


def _inner_low(dtype, low):
    """Raises ``low`` if rounding could move a draw below it."""
    value, step = _round(dtype, low + 1)
    return value + step if value < low else low


def _inner_high(dtype, high):
    """Lowers ``high`` if rounding could move a draw up to it."""
    value, step = _round(dtype, high - 1)
    return value - step if value >= high else high


def _fill_integers(generator, out, low, count, wide):
    engine.fill_integers(generator, out, low, count, wide)
    return out


@engine.kernel
def fill_integers(generator, out, low, count, wide):
    """``low`` plus a word modulo ``count``; the word has 64 bits if ``wide``, else 32."""

    def piece(flat):
        words = generator._words64(flat.size) if wide else generator._words32(flat.size)
        integers = _modulo(words, count)
        integers += np.uint64(low % 2**64)  # wraps around for a negative low
        integers = integers.view(np.int64)
        np.copyto(flat, integers.astype(np.float32) if flat.dtype in HALF else integers, casting="unsafe")

    fill(out, piece)


def _modulo(words, count):
    if count & (count - 1) == 0:
        words &= np.uint64(count - 1)
        return words
    # NumPy vectorizes division by a constant, but not the remainder.
    count = np.uint64(count)
    quotient = words // count
    quotient *= count
    words -= quotient
    return words


@draw
def permutation(generator, n, dtype=np.int64):
    """A random order of 0, …, n - 1."""
    out = np.empty(n, dtype)
    require(out, (*CLASSIC_INTS, *FLOATS), "randperm")
    _check_counts_to(out.dtype, n)
    if n < _SMALL_PERMUTATION:
        engine.fill_permutation(generator, out)
    else:
        _shuffle_inside_out(generator, out)
    return out


@engine.kernel
def new_permutation(generator, shape, dtype):
    """A new array of the shape (n,) with a random order of 0, …, n - 1."""
    return permutation(generator, *shape, dtype)


@engine.kernel
def fill_permutation(generator, out):
    """A random order of few enough elements for 32-bit words."""
    store(out, _shuffle(generator._words32(max(out.size - 1, 0)), out.size))


_SMALL_PERMUTATION = (2**32 - 1) // 20


def _check_counts_to(dtype, n):
    largest = _largest(dtype)
    if dtype not in DIGITS:
        check(n <= largest, f"value cannot be converted to type {dtype.name}_t without overflow")
    elif dtype != BFLOAT16:
        check(n <= largest + 1, f"n cannot be greater than {largest + 1} for {NAMES[dtype][1]} type.")


def _shuffle(words, n):
    """Fisher-Yates: swaps each i with a position among i, ..., n - 1."""
    places = np.arange(n - 1)
    words %= np.arange(n, 1, -1, dtype=np.uint64)
    partner = words.view(np.int64)
    partner += places
    return _swap_in_turn(partner, n) if n > 400 else _swap_one_by_one(partner, n)


def _swap_one_by_one(partner, n):
    order = list(range(n))
    for i, j in enumerate(partner.tolist()):
        order[i], order[j] = order[j], order[i]
    return np.array(order, np.int64)


def _swap_in_turn(partner, n):
    """All swaps at once.

    The element at position p before its swap was put there by the last earlier swap with partner p, and is the one that
    was at the swapping position before *that* swap; so ``content`` is found by following a chain of positions back to
    one that no earlier swap involved. Likewise, the element that a swap takes away was left there by the previous swap
    with the same partner.
    """
    turn = np.arange(n)
    moved = np.flatnonzero(partner != turn[:-1])
    who = moved[_stable_order(partner[moved])]
    place = partner[who]
    last_of_place = np.ones(who.size, bool)
    np.not_equal(place[1:], place[:-1], out=last_of_place[:-1])

    content = turn.copy()
    content[place[last_of_place]] = who[last_of_place]
    while True:
        further = content[content]
        if np.array_equal(further, content):
            break
        content = further

    taken = content.copy()  # a position that is swapped with itself, and the last one, keep their elements
    taken[who] = place
    follows = ~last_of_place[:-1]
    taken[who[1:][follows]] = content[who[:-1][follows]]
    return taken


def _stable_order(keys):
    """A stable argsort of integers below 2**32, as two passes of NumPy's 16-bit radix sort."""
    order = np.argsort(keys.astype(np.uint16), kind="stable")
    if keys.size and keys.max() >= 2**16:
        high = (keys[order] >> 16).astype(np.uint16)
        order = order[np.argsort(high, kind="stable")]
    return order


def _shuffle_inside_out(generator, out):
    """For more elements than 32 bits serve: each new element takes a position, whose previous one moves to the end."""
    numbers = memoryview(out)
    for start in range(0, out.size, PIECE):
        places = np.arange(start, min(start + PIECE, out.size))
        partner = generator._words64(places.size) % (places + 1).astype(np.uint64)
        for i, j in zip(places.tolist(), partner.tolist()):
            numbers[i] = i
            numbers[i], numbers[j] = numbers[j], i
