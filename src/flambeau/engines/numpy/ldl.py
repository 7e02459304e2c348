"""LDL factorization of symmetric and Hermitian matrices with Bunch and Kaufman's pivoting, laid out as in LAPACK.

The lower triangle holds L below blocks of D of order one or two. A pivot k > 0 says that row k was swapped into a
block of order one; two equal pivots -k say that row k was swapped into the second row of a block of order two.
"""

import math

import numpy as np

from .. import NUMPY as engine

_ALPHA = (1 + math.sqrt(17)) / 8  # the growth of elements is smallest with this threshold


@engine.kernel
def ldl_factor(a, hermitian):
    """(LD, pivots, info) of each matrix; only the lower triangle is read."""
    ld = np.tril(a)
    pivots = np.zeros(a.shape[:-1], np.int32)
    info = np.zeros(a.shape[:-2], np.int32)
    turn = np.conj if hermitian and a.dtype.kind == "c" else np.asarray
    for i in np.ndindex(info.shape):
        info[i] = factor_matrix(ld[i], pivots[i], turn)
    return ld, pivots, info


def factor_matrix(a, pivots, turn):
    n, k, info = len(a), 0, 0
    while k < n:
        p, order = choose_pivot(a, k)
        if p is None:
            info, p = info or k + 1, k
        else:
            swap(a, k, k + order - 1, p, order, turn)
            eliminate(a, k, order, turn)
        pivots[k:k + order] = p + 1 if order == 1 else -(p + 1)
        k += order
    return info


def magnitude(x):
    return np.abs(x.real) + np.abs(x.imag) if np.iscomplexobj(x) else np.abs(x)


def choose_pivot(a, k):
    """(row to swap in, order of the block); the row is None if the whole column is zero."""
    own, below = magnitude(a[k, k]), magnitude(a[k + 1:, k])
    largest = below.max(initial=0)
    if max(own, largest) == 0:
        return None, 1
    if own >= _ALPHA * largest:
        return k, 1
    p = k + 1 + int(below.argmax())
    across = max(magnitude(a[p, k:p]).max(initial=0), magnitude(a[p + 1:, p]).max(initial=0))
    if own >= _ALPHA * largest * (largest / across):
        return k, 1
    return p, 1 if magnitude(a[p, p]) >= _ALPHA * across else 2


def swap(a, k, kk, p, order, turn):
    """Swaps rows and columns kk and p of the remaining matrix; only the lower triangle is kept."""
    if p == kk:
        return
    a[p + 1:, kk], a[p + 1:, p] = a[p + 1:, p].copy(), a[p + 1:, kk].copy()
    a[kk + 1:p, kk], a[p, kk + 1:p] = turn(a[p, kk + 1:p]).copy(), turn(a[kk + 1:p, kk]).copy()
    a[p, kk] = turn(a[p, kk])
    a[kk, kk], a[p, p] = a[p, p], a[kk, kk]
    if order == 2:
        a[k + 1, k], a[p, k] = a[p, k], a[k + 1, k]


def eliminate(a, k, order, turn):
    rest, block = slice(k + order, None), slice(k, k + order)
    multipliers = divide_by_block(a[rest, block], block_of(a, k, order, turn))
    a[rest, rest] -= np.tril(multipliers @ turn(a[rest, block]).T)
    a[rest, block] = multipliers


def block_of(ld, k, order, turn):
    """A block of D as a full matrix."""
    d = np.tril(ld[k:k + order, k:k + order])
    return d if order == 1 else d + turn(np.tril(d, -1)).T


def divide_by_block(x, block):
    """``x @ inv(block)``."""
    return x / block[0, 0] if len(block) == 1 else np.linalg.solve(block.T, x.T).T


@engine.kernel
def ldl_solve(ld, pivots, b, hermitian):
    """X with ``A @ X = b``, given the factorization of A."""
    batch = np.broadcast_shapes(ld.shape[:-2], b.shape[:-2])
    x = np.array(np.broadcast_to(b, (*batch, *b.shape[-2:])))
    ld, pivots = np.broadcast_to(ld, (*batch, *ld.shape[-2:])), np.broadcast_to(pivots, (*batch, pivots.shape[-1]))
    turn = np.conj if hermitian and ld.dtype.kind == "c" else np.asarray
    for i in np.ndindex(*batch):
        solve_matrix(ld[i], pivots[i], x[i], turn)
    return x


def solve_matrix(ld, pivots, x, turn):
    blocks = []
    k = 0
    while k < len(ld):
        blocks.append((k, 1 if pivots[k] > 0 else 2))
        k += blocks[-1][1]
    for k, order in blocks:
        interchange(x, k + order - 1, pivots[k])
        block, rest = slice(k, k + order), slice(k + order, None)
        x[rest] -= ld[rest, block] @ x[block]
        x[block] = divide_by_block(x[block].T, block_of(ld, k, order, turn).T).T
    for k, order in reversed(blocks):
        block, rest = slice(k, k + order), slice(k + order, None)
        x[block] -= turn(ld[rest, block]).T @ x[rest]
        interchange(x, k + order - 1, pivots[k])


def interchange(x, row, pivot):
    other = abs(pivot) - 1
    if other != row:
        x[[row, other]] = x[[other, row]]
