"""Approximate comparison with detailed error messages."""

import contextlib
from collections.abc import Mapping, Sequence

import numpy as np

from .. import _dtypes
from ..functions.from_data import as_tensor

NO_PAIR = (
    "No comparison pair was able to handle inputs of type {actual} and {expected}: give two tensors, two numbers or "
    "two collections of them."
)
TOLERANCES = {  # dtype: (relative, absolute)
    _dtypes.float16: (1e-3, 1e-5), _dtypes.bfloat16: (1.6e-2, 1e-5), _dtypes.float32: (1.3e-6, 1e-5),
    _dtypes.float64: (1e-7, 1e-7), _dtypes.complex64: (1.3e-6, 1e-5), _dtypes.complex128: (1e-7, 1e-7),
}


def assert_close(actual, expected, *, allow_subclasses=True, rtol=None, atol=None, equal_nan=False, check_device=True,
                 check_dtype=True, check_layout=True, check_stride=False, msg=None):
    """Raises an AssertionError unless two values are close: tensors, numbers, or sequences and mappings of them.

    Close means ``|actual - expected| <= atol + rtol * |expected|``; the default tolerances depend on the dtype. ``msg``
    replaces the message, or is a function of it.
    """
    if (rtol is None) != (atol is None):
        raise ValueError(
            "Both 'rtol' and 'atol' must be either specified or omitted, but got no "
            + ("rtol." if rtol is None else "atol.")
        )
    checks = {"device": check_device, "dtype": check_dtype, "layout": check_layout, "stride()": check_stride}
    settings = _Settings(rtol, atol, equal_nan, checks, allow_subclasses)
    try:
        _compare(actual, expected, settings, "")
    except AssertionError as error:
        if msg is None:
            raise
        raise AssertionError(msg(str(error)) if callable(msg) else msg) from None


class _Settings:
    def __init__(self, rtol, atol, equal_nan, checks, allow_subclasses):
        self.rtol, self.atol, self.equal_nan = rtol, atol, equal_nan
        self.checks = checks
        self.allow_subclasses = allow_subclasses

    def tolerances(self, *dtypes):
        if self.rtol is not None:
            return self.rtol, self.atol
        found = [TOLERANCES.get(d, (0.0, 0.0)) for d in dtypes]
        return max(r for r, _ in found), max(a for _, a in found)


def _compare(actual, expected, settings, where):
    if isinstance(actual, Mapping) and isinstance(expected, Mapping):
        _same_keys(actual, expected, where)
        for key in actual:
            _compare(actual[key], expected[key], settings, f"{where}[{key!r}]")
    elif _is_sequence(actual) and _is_sequence(expected):
        if len(actual) != len(expected):
            raise AssertionError(f"The length of the sequences mismatch: {len(actual)} != {len(expected)}{_at(where)}")
        for i, (a, e) in enumerate(zip(actual, expected, strict=True)):
            _compare(a, e, settings, f"{where}[{i}]")
    elif actual is None or expected is None:
        if actual != expected:
            raise AssertionError(f"None mismatch: {actual!r} is not {expected!r}{_at(where)}")
    elif _is_number(actual) and _is_number(expected):
        _compare_numbers(*[v.item() if isinstance(v, np.generic) else v for v in (actual, expected)], settings, where)
    else:
        _compare_tensors(*_tensors(actual, expected, settings=settings), settings, where)


def _is_sequence(value):
    return isinstance(value, Sequence) and not isinstance(value, str)


def _is_number(value):
    return isinstance(value, bool | int | float | complex | np.number | np.bool_)


def _tensors(*pair, settings):
    """A pair as tensors; raises unless one type derives from the other."""
    types = [type(value) for value in pair]
    if (issubclass(*types) or issubclass(*reversed(types))) and (settings.allow_subclasses or types[0] is types[1]):
        with contextlib.suppress(TypeError, ValueError, RuntimeError):
            return [as_tensor(value) for value in pair]
    raise TypeError(NO_PAIR.format(actual=types[0], expected=types[1]))


def _at(where):
    return f"\n\nThe failure occurred for item {where}" if where else ""


def _same_keys(actual, expected, where):
    missing, more = sorted(expected.keys() - actual.keys(), key=str), sorted(actual.keys() - expected.keys(), key=str)
    if missing or more:
        raise AssertionError(
            "The keys of the mappings do not match:\n"
            f"Missing keys in the actual mapping: {missing}\nAdditional keys in the actual mapping: {more}{_at(where)}"
        )


def _compare_numbers(actual, expected, settings, where):
    names = {float: _dtypes.float64, complex: _dtypes.complex128}
    kinds = [names.get(type(v), _dtypes.int64) for v in (actual, expected)]
    if settings.checks["dtype"] and type(actual) is not type(expected):
        raise AssertionError(f"The (d)types do not match: {type(actual)} != {type(expected)}.{_at(where)}")
    rtol, atol = settings.tolerances(*kinds)
    if actual == expected or (settings.equal_nan and actual != actual and expected != expected):
        return
    if abs(actual - expected) <= atol + rtol * abs(expected):
        return
    raise AssertionError(_number_report(actual, expected, rtol, atol) + _at(where))


def _number_report(actual, expected, rtol, atol):
    difference = abs(actual - expected)
    relative = difference / abs(expected) if expected else float("inf")
    if isinstance(actual, bool):
        return f"Booleans mismatch: {actual} is not {expected}"
    return (f"Scalars are not {_how(rtol, atol)}!\n\nExpected {expected} but got {actual}.\n"
            f"Absolute difference: {difference}{_up_to(atol, rtol, atol)}\n"
            f"Relative difference: {relative}{_up_to(rtol, rtol, atol)}")


def _how(rtol, atol):
    return "close" if rtol or atol else "equal"


def _up_to(allowed, rtol, atol):
    return f" (up to {allowed} allowed)" if rtol or atol else ""


def _compare_tensors(actual, expected, settings, where):
    if actual.shape != expected.shape:
        raise AssertionError(
            f"The values for attribute 'shape' do not match: {actual.shape} != {expected.shape}.{_at(where)}"
        )
    for name, checked in settings.checks.items():
        a, e = (t.stride() if name == "stride()" else getattr(t, name) for t in (actual, expected))
        if checked and a != e:
            raise AssertionError(f"The values for attribute '{name}' do not match: {a} != {e}.{_at(where)}")
    if actual.is_sparse and expected.is_sparse:
        _compare_sparse(actual, expected, settings, where)
    else:
        _compare_values(*[t.to_dense() if t.is_sparse else t for t in (actual, expected)], settings, where)


def _compare_sparse(actual, expected, settings, where):
    counts = [t._nnz() for t in (actual, expected)]
    if counts[0] != counts[1]:
        raise AssertionError("The number of specified values in sparse COO tensors does not match: "
                             f"{counts[0]} != {counts[1]}{_at(where)}")
    for name in ("indices", "values"):
        a, e = (getattr(t, "_" + name)() for t in (actual, expected))
        _compare_values(a, e, settings, where, f"Sparse COO {name}")


def _compare_values(actual, expected, settings, where, what="Tensor-likes"):
    rtol, atol = settings.tolerances(actual.dtype, expected.dtype)
    a, e = (t.detach().cpu()._a for t in (actual, expected))
    common = _dtypes.promote_types(actual.dtype, expected.dtype).np
    a, e = (v.astype(np.float64 if common in _dtypes.HALF else common) for v in (a, e))
    with np.errstate(all="ignore"):
        close = np.equal(a, e)  # np.isclose compares integers as floats
        if rtol or atol or _dtypes.is_inexact(a.dtype):
            close |= np.isclose(a, e, rtol=rtol, atol=atol, equal_nan=settings.equal_nan)
        if close.all():
            return
        raise AssertionError(_report(a, e, close, rtol, atol, what) + _at(where))


def _report(actual, expected, close, rtol, atol, what):
    """Describes how many elements differ, and the greatest differences, in PyTorch's words."""
    if actual.ndim == 0:
        return _number_report(actual.item(), expected.item(), rtol, atol)
    if not _dtypes.is_inexact(actual.dtype):
        actual, expected = actual.astype(np.int64), expected.astype(np.int64)
    difference = np.abs(actual - expected)
    relative = difference / np.abs(expected)
    if actual.dtype.kind == "i":
        relative = relative.astype(np.float32)
    bad = ~close
    lines = [f"{what} are not {_how(rtol, atol)}!", "",
             f"Mismatched elements: {int(bad.sum())} / {close.size} ({100 * bad.mean():.1f}%)"]
    for what, values, allowed in (("absolute", difference, atol), ("relative", relative, rtol)):
        worst = np.where(bad, values, values.dtype.type(0))
        place = np.unravel_index(int(np.argmax(np.where(np.isnan(worst), np.inf, worst))), worst.shape)
        where = tuple(map(int, place))
        lines.append(f"Greatest {what} difference: {worst[place].item()} at index {where}{_up_to(allowed, rtol, atol)}")
    return "\n".join(lines)
