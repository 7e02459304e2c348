"""Padding and joining without temporaries."""

import functools

import numpy as np

from .. import NUMPY as engine
from .pointwise import keep

# Skips the search for arrays of other libraries among the pieces, a third of the time for small ones.
concatenated = getattr(np.concatenate, "_implementation", np.concatenate)


@engine.kernel
def concatenate(xs, axis=0):
    """Concatenates to row-major memory, or to channels-last if the pieces are; NumPy would keep any common order."""
    out = concatenated(xs, axis)
    if out.flags.c_contiguous or (out.ndim in (4, 5) and np.moveaxis(out, 1, -1).flags.c_contiguous):
        return out
    return np.ascontiguousarray(out)


@engine.kernel
def stack(xs, axis=0):
    ndim = xs[0].ndim + 1
    if not -ndim <= axis < ndim:
        raise ValueError(f"no axis {axis}")
    axis %= ndim
    key = (slice(None),) * axis + (None,)
    out = concatenated([x[key] for x in xs], axis)
    return out if out.flags.c_contiguous else np.ascontiguousarray(out)


@engine.kernel
def roll(x, shifts, axes):
    if axes is None:
        return roll(x.reshape(-1), (shifts,), (0,)).reshape(x.shape)
    out = x
    for shift, axis in zip(shifts, axes):
        n = x.shape[axis]
        if n and shift % n:
            lead, cut = (slice(None),) * axis, n - shift % n
            out = np.concatenate((out[(*lead, slice(cut, None))], out[(*lead, slice(0, cut))]), axis)
    return np.array(x) if out is x else out


@engine.kernel
def flip(x, axes):
    return x[tuple([slice(None, None, -1) if i in axes else slice(None) for i in range(x.ndim)])]


@engine.kernel
def tril(x, diagonal):
    return keep(x, triangle(*x.shape[-2:], diagonal))


@engine.kernel
def triu(x, diagonal):
    return keep(x, ~triangle(*x.shape[-2:], diagonal - 1))


def triangle(height, width, diagonal):
    """The mask of the lower triangle."""
    make = small_triangle if height * width < 1 << 16 else np.tri
    return make(height, width, diagonal, bool)


small_triangle = functools.lru_cache(maxsize=16)(np.tri)


@engine.kernel
def place(pieces, shape):
    """Zeros of `shape` with each array of `pieces`, (array, key) pairs, at its key."""
    out = np.zeros(shape, pieces[0][0].dtype)
    for x, key in pieces:
        out[key] = x
    return out


@engine.kernel
def pad_constant(x, pads, value):
    out = np.empty([a + n + b for (a, b), n in zip(pads, x.shape)], x.dtype)
    out[...] = value
    out[tuple([slice(a, a + n) for (a, _), n in zip(pads, x.shape)])] = x
    return out


@engine.kernel
def pad_edges(x, pads, mode):
    """x with margins filled from it: mirrored ("reflect"), repeating the edge ("edge"), or circular ("wrap").

    Parts cropped at the other end are used by "reflect", but not by "wrap".
    """
    if mode == "wrap":
        x = x[crops(pads, x.shape)]
    out = np.empty([max(a, 0) + n + max(b, 0) for (a, b), n in zip(pads, x.shape)], x.dtype)
    out[center(pads, x.shape)] = x
    for axis, (margin, source) in margins(pads, x.shape, mode):
        lead = (slice(None),) * axis
        out[(*lead, margin)] = out[(*lead, source)]
    return out if mode == "wrap" else np.ascontiguousarray(out[crops(pads, out.shape)])


@engine.kernel
def fold_edges(g, pads, mode):
    """The transpose of pad_edges: adds the margins to the elements they were taken from."""
    g = np.array(g) if mode == "wrap" else restore_crops(g, pads)
    inner = [n - max(a, 0) - max(b, 0) for (a, b), n in zip(pads, g.shape)]
    for axis, (margin, source) in reversed(list(margins(pads, inner, mode))):
        lead = (slice(None),) * axis
        if mode == "edge":
            g[(*lead, source)] += g[(*lead, margin)].sum(axis, keepdims=True)
        else:
            g[(*lead, source)] += g[(*lead, margin)]
    g = g[center(pads, inner)]
    return restore_crops(g, pads) if mode == "wrap" else g


def restore_crops(g, pads):
    """A copy with zeros in place of the parts that negative amounts cropped."""
    out = np.zeros([n - min(a, 0) - min(b, 0) for (a, b), n in zip(pads, g.shape)], g.dtype)
    out[crops(pads, out.shape)] = g
    return out


def crops(pads, shape):
    """The key of the part that negative amounts keep."""
    return tuple([slice(max(-a, 0), n - max(-b, 0)) for (a, b), n in zip(pads, shape)])


def center(pads, shape):
    """The part between the margins."""
    return tuple([slice(max(a, 0), max(a, 0) + n) for (a, _), n in zip(pads, shape)])


def margins(pads, inner, mode):
    """(axis, (margin, source)) slices of the padded array, in an order in which they can be filled."""
    for axis, ((a, b), n) in enumerate(zip(pads, inner)):
        a, b = max(a, 0), max(b, 0)
        end = a + n
        if a:
            yield axis, (slice(0, a), {
                "reflect": slice(2 * a, a, -1), "edge": slice(a, a + 1), "wrap": slice(n, n + a),
            }[mode])
        if b:
            yield axis, (slice(end, end + b), {
                "reflect": slice(end - 2, end - 2 - b if end - 2 - b >= 0 else None, -1),
                "edge": slice(end - 1, end), "wrap": slice(a, a + b),
            }[mode])
