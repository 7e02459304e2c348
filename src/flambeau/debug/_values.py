"""Describes the values of tensors: finiteness and statistics."""

import cmath
import dataclasses

from .._device import strided
from .._dtypes import is_inexact
from .._modes import no_grad
from .._tensor import Tensor
from ..engines import engine_of

__all__ = ["array_is_finite", "describe", "is_finite", "tensors_in"]


def tensors_in(value):
    """The tensors in a value, including those nested in tuples, lists, dicts and dataclasses."""
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, dict):
        value = value.values()
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = [getattr(value, field.name, None) for field in dataclasses.fields(value)]
    elif not isinstance(value, tuple | list):
        return []
    return [t for part in value for t in tensors_in(part)]


def is_finite(t):
    """Whether a tensor has no NaNs or infinities."""
    return t.layout is not strided or t.is_meta or array_is_finite(t._a)


def array_is_finite(array):
    """Whether an array has no NaNs or infinities. A single sum suffices, unless it overflows."""
    if not is_inexact(array.dtype):
        return True
    k = engine_of(array)
    return cmath.isfinite(k.sum(array)) or bool(k.all(k.isfinite(array)))


def describe(t):
    """Describes a tensor's dtype, shape and statistics in one line."""
    kind = f"{str(t.dtype).removeprefix('torch.')}{list(t.shape)}"
    if t.is_meta or t.numel() == 0 or t.is_complex():
        return kind
    with no_grad():
        if not t.is_floating_point():
            return f"{kind} from {t.min().item()} to {t.max().item()}"
        finite = t[t.isfinite()].double()
        counts = [f"{n} {name}" for name, n in (("nan", t.isnan().sum().item()), ("inf", t.isinf().sum().item())) if n]
        words = [f"{kind}: no finite element"]
        if finite.numel():
            low, high, mean = (x.item() for x in (finite.min(), finite.max(), finite.mean()))
            words = [f"{kind}: min {low:.4g}, max {high:.4g}, mean {mean:.4g}"]
        return ", ".join(words + counts) + (f" of {t.numel()}" if counts else "")
