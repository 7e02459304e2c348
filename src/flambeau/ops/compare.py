"""Elementwise comparisons, predicates, logic and bit operations, without gradients."""

import math

from .._dtypes import get_default_dtype
from ._op import kernel_op, op

eq = kernel_op("eq", "equal", inputs="x, y", promote="common")
ne = kernel_op("ne", "not_equal", inputs="x, y", promote="common")
lt = kernel_op("lt", "less", inputs="x, y", promote="common", refuses="c")
le = kernel_op("le", "less_equal", inputs="x, y", promote="common", refuses="c")
gt = kernel_op("gt", "greater", inputs="x, y", promote="common", refuses="c")
ge = kernel_op("ge", "greater_equal", inputs="x, y", promote="common", refuses="c")

isnan = kernel_op("isnan", inputs="x", promote="common")
isinf = kernel_op("isinf", inputs="x", promote="common")
isfinite = kernel_op("isfinite", inputs="x", promote="common")
isreal = kernel_op("isreal", inputs="x", promote="common")


@op(promote="common")
def isposinf(k, x):
    return x == math.inf


@op(promote="common")
def isneginf(k, x):
    return x == -math.inf


@op(opmath=True)
def isclose(k, x, y, *, rtol, atol, equal_nan):
    close = x == y
    if equal_nan:
        close = close | ((x != x) & (y != y))
    if x.dtype.kind in "iub":  # whose difference may overflow
        x, y = (a.astype(get_default_dtype().np) for a in (x, y))
    error = k.abs(x - y)
    return close | (k.isfinite(error) & (error <= atol + k.abs(rtol * y)))


# ---- logic and bits

logical_not = kernel_op("logical_not", inputs="x", promote="common")
logical_and = kernel_op("logical_and", inputs="x, y", promote="common")
logical_or = kernel_op("logical_or", inputs="x, y", promote="common")
logical_xor = kernel_op("logical_xor", inputs="x, y", promote="common")

bitwise_not = kernel_op("bitwise_not", "invert", inputs="x", promote="common", refuses="fc")
bitwise_and = kernel_op("bitwise_and", inputs="x, y", promote="common", refuses="fc")
bitwise_or = kernel_op("bitwise_or", inputs="x, y", promote="common", refuses="fc")
bitwise_xor = kernel_op("bitwise_xor", inputs="x, y", promote="common", refuses="fc")
bitwise_left_shift = kernel_op("bitwise_left_shift", "left_shift", inputs="x, y", promote="common", refuses="bfc")
bitwise_right_shift = kernel_op("bitwise_right_shift", "right_shift", inputs="x, y", promote="common", refuses="bfc")
