"""Argument checks of linear algebra functions, and the errors for singular matrices."""

from ... import _dtypes
from ..._device import META
from ..._dtypes import type_word
from ..._tensor import Tensor
from ...engines import demand, is_traced
from ...engines.levels import innermost
from ...ops._errors import LinAlgError
from .._args import need_tensor


def word_of(x):
    return type_word(x.dtype)


def need_matrices(A, name, argument="A"):
    """Raises unless A is a tensor of at least two dimensions."""
    if not isinstance(A, Tensor):
        need_tensor(A, name.replace(".", "_"), argument)
    if A._a.ndim < 2:
        raise RuntimeError(
            f"{name}: The input tensor {argument} must have at least 2 dimensions. Got the shape {list(A._a.shape)}"
        )
    return A


def need_floating(A, name, error=RuntimeError):
    """Raises unless A is floating or complex, in a precision that LAPACK supports."""
    if not _dtypes.is_inexact(A._a.dtype):
        raise error(f"{name}: Expected a floating point or complex tensor as input. Got {word_of(A)}")
    if A._a.dtype in _dtypes.HALF:
        raise NotImplementedError(f"{name}: Low precision dtypes not supported. Got {word_of(A)}; convert by .float()")
    return A


def need_square(A, name, error=RuntimeError):
    """Raises unless A is floating or complex, with square matrices."""
    need_matrices(A, name)
    *_, m, n = A._a.shape
    if m != n:
        raise RuntimeError(f"{name}: A must be batches of square matrices, but they are {m} by {n} matrices")
    return need_floating(A, name, error)


def need_same_dtype(A, B, name):
    if A._a.dtype != B._a.dtype:
        raise RuntimeError(
            f"{name}: Expected A and B to have the same dtype, but found A of type {word_of(A)} and B of type "
            f"{word_of(B)} instead"
        )


def need_fitting(A, B, left, name):
    """Raises unless B has as many rows (or columns) as A and batch dimensions that broadcast."""
    a, b = A._a.shape, B._a.shape
    if a[-1] != b[-2 if left else -1]:
        equation = "AX = B" if left else "XA = B"
        raise RuntimeError(
            f"{name}: Incompatible shapes of A and B for the equation {equation} ({a[-2]}x{a[-1]} and {b[-2]}x{b[-1]})"
        )
    need_broadcast(b, a)


def need_broadcast(a, b):
    for d in range(3, min(len(a), len(b)) + 1):
        if a[-d] != b[-d] and 1 not in (a[-d], b[-d]):
            raise RuntimeError(
                f"The size of tensor a ({a[-d]}) must match the size of tensor b ({b[-d]}) at non-singleton dimension "
                f"{max(len(a), len(b)) - d}"
            )


def check_info(found, check_errors, name, reason):
    """Raises if a code in the results `found` says that it failed, if `check_errors`; returns them."""
    if check_errors:
        raise_if_failed(found.info, name, reason)
    return found


def raise_if_failed(info, name, reason, kind=LinAlgError):
    """Raises an error for the first matrix with nonzero info. `reason` may contain the info."""
    codes = innermost(info._a)
    if is_traced(codes):
        wrong = codes.reshape(-1)[(codes.reshape(-1) != 0).argmax()] if codes.size else codes
        demand((codes == 0).all(), wrong, lambda code: kind(f"{name}: " + reason.format(info=code)))
        return
    if info.device is META or not codes.any():
        return
    if codes.ndim == 0:
        raise kind(f"{name}: " + reason.format(info=int(codes)))
    flat = codes.reshape(-1)
    element = int(flat.nonzero()[0][0])
    raise kind(f"{name}: (Batch element {element}): " + reason.format(info=int(flat[element])))
