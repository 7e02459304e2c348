"""Ops that run along a dimension and keep every intermediate result. ``reverse`` runs from the end."""

import math

from .._tensor import Tensor
from . import elementary as el
from . import pointwise as pw
from ._op import op
from ._promotion import widened
from .scatter import ungather


def scan_along(k, scan, x, axis, reverse):
    """`scan` along an axis, from the end if `reverse`; a scalar is returned unchanged."""
    if x.ndim == 0:
        return scan(x.reshape(1), 0).reshape(())
    return k.flip(scan(k.flip(x, (axis,)), axis), (axis,)) if reverse else scan(x, axis)


@op(row_major=True)
def cumsum(k, x, *, axis, reverse, dtype=None):
    return scan_along(k, lambda a, i: k.cumsum(a, axis=i, dtype=dtype), x, axis, reverse)


cumsum.vjp(x=lambda g, axis, reverse: cumsum(g, axis=axis, reverse=not reverse))


@op(row_major=True)
def cumprod(k, x, *, axis, reverse, dtype=None):
    return scan_along(k, lambda a, i: k.cumprod(a, axis=i, dtype=dtype), x, axis, reverse)


cumprod.vjp(x=lambda g, x, out, axis, reverse: cumprod_pull(g, x, out, axis, reverse))


def cumprod_pull(g, x, out, axis, reverse):
    """The gradient of each element: its contribution to all later products.

    That is the sum of ``g * out`` from the element on, divided by the element. At the first zero it is the same sum for
    the products without this zero; after it, all products and gradients are zero.
    """
    first = nth_zero(x, axis=axis, reverse=reverse, nth=1)
    onward = cumsum(g * pw.cj(out), axis=axis, reverse=not reverse)
    zero = x == 0
    grad = pw.keep(onward / pw.cj(pw.where(zero, zero, x)), x != 0)
    grad = pw.where(first, without(g, x, first, axis, reverse), grad)
    if isinstance(x, Tensor):  # the gradient at the second zero is zero, but depends on the first one
        second = nth_zero(x, axis=axis, reverse=reverse, nth=2)
        grad = pw.where(second, without(g, x, second, axis, reverse), grad)
    return grad


def without(g, x, places, axis, reverse):
    """The sums of g times the running products with ones at `places`."""
    products = cumprod(pw.where(places, places, x), axis=axis, reverse=reverse)
    return cumsum(g * pw.cj(products), axis=axis, reverse=not reverse)


@op
def nth_zero(k, x, *, axis, reverse, nth):
    """The position of the n-th zero along an axis."""
    zero = x == 0
    return zero & (scan_along(k, lambda a, i: k.cumsum(a, axis=i), zero, axis, reverse) == nth)


# ---- extrema so far: (values, where they were met last)


def declare_extreme(name, kernel):
    @op(name=name, opmath=True, refuses="c", row_major=True)
    def forward(k, x, *, axis):
        return getattr(k, kernel)(x, axis)

    forward.vjp(x=lambda g, out_1, axis, x_shape: ungather(g[0], out_1, axis=axis, shape=tuple(x_shape)))
    return forward


cummax = declare_extreme("cummax", "running_max")
cummin = declare_extreme("cummin", "running_min")


# ---- log of a running sum of exponentials


@op(opmath=True, row_major=True)
def logcumsumexp(k, x, *, axis, reverse):
    return scan_along(k, k.log_running_sum, x, axis, reverse)


def logcumsumexp_pull(g, x, out, axis, reverse):
    if pw.is_complex(x):
        return pw.cj(el.exp(x)) * cumsum(g * pw.cj(el.exp(-out)), axis=axis, reverse=not reverse)
    g = widened(g)
    return running_share(g, x, out, axis, not reverse) - running_share(-g, x, out, axis, not reverse)


logcumsumexp.vjp(x=logcumsumexp_pull)


def running_share(g, x, out, axis, reverse):
    """exp(x) times the running sum of g / exp(out), for the positive part of g, without overflow."""
    logs = el.log(pw.keep(g, g > 0)) - finite(out)
    return el.exp(x + logcumsumexp(logs, axis=axis, reverse=reverse))


@op
def finite(k, x):
    """Replaces minus infinity, the logarithm of an empty sum, by zero, so that differences are numbers."""
    return k.where(x == -math.inf, k.zeros((), x.dtype), x)


finite.vjp(x=lambda g, x: g * (finite(x) == x))
