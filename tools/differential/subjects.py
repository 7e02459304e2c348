"""How {x} is drawn for rows that need one of a certain shape."""

import math

from .literals import KINDS

WIDE = {"f": ("float32", "float64"), "c": ("complex64", "complex128")}  # what LAPACK and transforms compute in


def wide(w, kinds):
    return w.pick({**KINDS, **WIDE}[w.pick([kind for kind in "fibc" if kind in kinds])])


def vector(w, row):
    return w.tensor(row.kinds, lambda t: t.ndim == 1, least=1, most=1)


def any_wide(w, row):
    return w.new(w.shape(), dtype=wide(w, row.kinds))


def wide_matrix(w, row):
    return w.new(w.shape(least=2), dtype=wide(w, row.kinds))


def matrix(w, row):
    """Now and then with batch dimensions, which not all functions take."""
    shape = (w.size(), w.size())
    return w.new((w.size(), *shape) if w.seldom(4) else shape, dtype=wide(w, row.kinds))


def tall(w, row):
    columns = w.pick((2, 1, 3))
    return matrix_plus_identity(w, row, (columns + w.integer(0, 2), columns))


def batch(w, row):
    n = w.size()
    return w.new((w.size(), n, n), dtype=wide(w, row.kinds))


def square(w, row):
    """Well conditioned, for the most part."""
    n = w.size()
    return matrix_plus_identity(w, row, (n, n))


def positive_definite(w, row):
    x = square(w, row)
    return w.do("{x} @ {x}.mH", x=x)


def matrix_plus_identity(w, row, shape):
    dtype = wide(w, row.kinds)
    batch = (w.size(),) if w.seldom(4) else ()
    text = w.literal((*batch, *shape), dtype)
    if math.prod(shape) > 4 or not w.seldom(6):
        text += f" + 5 * torch.eye({shape[0]}, {shape[1]}, dtype=torch.{dtype})"
    return w.do(text)


def signal(w, row):
    length = w.integer(4, 9)
    return w.new((w.size(), length) if w.seldom(3) else (length,), dtype=wide(w, row.kinds))


SUBJECTS = {
    "vector": vector,
    "wide": any_wide,
    "wide_matrix": wide_matrix,
    "matrix": matrix,
    "tall": tall,
    "batch": batch,
    "square": square,
    "positive_definite": positive_definite,
    "signal": signal,
}
