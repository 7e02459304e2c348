"""Tensor formatting: ``repr``, ``format`` and print options.

A tensor is printed in three steps. The *corner* is the visible part of the array, so a large tensor costs no more
than a small one. Its numbers become *cells*: strings of equal width and notation. The *layout* adds brackets, line
breaks and ellipses. Suffixes such as ``dtype=`` follow.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ._device import strided
from ._dtypes import get_default_dtype, is_foreign
from .engines import engine_of, on_host
from .engines.levels import LevelArray

__all__ = ["format_spec", "format_tensor", "get_printoptions", "printoptions", "set_printoptions"]


@dataclasses.dataclass
class _Options:
    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


_PROFILES: dict[str | None, dict[str, Any]] = {
    "default": dict(precision=4, threshold=1000, edgeitems=3, linewidth=80),
    "short": dict(precision=2, threshold=1000, edgeitems=2, linewidth=80),
    "full": dict(precision=4, threshold=math.inf, edgeitems=3, linewidth=80),
}

_options = _Options()


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Sets how tensors print from now on.

    Args:
        precision: digits after the point (default 4).
        threshold: a tensor with more elements than this is summarised (default 1000).
        edgeitems: elements shown at each end of a summarised dimension (default 3).
        linewidth: characters in a line (default 80).
        profile: ``"default"``, ``"short"`` or ``"full"``; the other arguments refine it.
        sci_mode: scientific notation always or never; ``None``, also when left out, lets the
            values decide.

    Example::

        >>> set_printoptions(precision=2)
        >>> tensor([1.12345])
        tensor([1.12])
        >>> set_printoptions(profile="default")
    """
    chosen = dict(_PROFILES.get(profile, {}))
    given = dict(precision=precision, threshold=threshold, edgeitems=edgeitems, linewidth=linewidth)
    chosen.update((name, value) for name, value in given.items() if value is not None)
    for name, value in chosen.items():
        setattr(_options, name, value)
    _options.sci_mode = sci_mode


def get_printoptions() -> dict[str, Any]:
    """Returns the current options, under the argument names of :func:`set_printoptions`."""
    return dataclasses.asdict(_options)


@contextlib.contextmanager
def printoptions(**options: Any) -> Iterator[None]:
    """Sets print options inside a ``with`` block and restores the previous ones afterwards.

    Example::

        >>> from flambeau._format import printoptions
        >>> with printoptions(precision=1):
        ...     print(tensor([0.25]))
        tensor([0.2])
    """
    before = get_printoptions()
    set_printoptions(**options)
    try:
        yield
    finally:
        set_printoptions(**before)


def format_tensor(t: Any, name: str | None = None, extra: tuple[str, ...] = ()) -> str:
    """Returns the ``repr`` of a tensor.

    ``name`` precedes the parenthesis: ``tensor``, or the class name of a subclass. ``extra`` holds additional suffixes.
    """
    if isinstance(t._a, LevelArray):
        return t._a.level.describe(t._a, format_tensor)
    if name is None:
        name = "tensor" if type(t).__name__ in ("Tensor", "Parameter") else type(t).__name__
    indent = len(name) + 1
    if engine_of(t._a).layout is not strided:
        return _add_suffixes(f"{name}({_sparse_body(t, indent)}", _sparse_suffixes(t), indent)
    return _add_suffixes(f"{name}({_body(t, indent)}", [*_suffixes(t), *extra], indent)


def format_spec(t: Any, spec: str) -> str:
    """Implements ``format(t, spec)``: a 0-dim tensor is formatted as a Python number, others as ``object`` does.

    Subclasses of Tensor, such as Parameter, are never formatted as numbers.
    """
    if isinstance(t._a, LevelArray):
        return format(repr(t), spec)
    if t._a.ndim == 0 and t.device.type != "meta" and type(t).__name__ == "Tensor":
        return format(_python_numbers(t._a).item(), spec)
    return object.__format__(t, spec)


def _body(t: Any, indent: int) -> str:
    if t.device.type == "meta":
        return "..."
    return _format_array(t._a, indent) if t._a.size else "[]"


def _sparse_body(t: Any, indent: int) -> str:
    """Indices and values, each as a tensor; the shape goes on a separate line."""
    parts = []
    for part, array in (("indices", t._a.indices), ("values", t._a.values)):
        size = f", size={tuple(array.shape)}" if 0 in array.shape else ""
        start = f"{part}=tensor("
        parts.append(f"{start}{_format_array(array, indent + len(start)) if array.size else '[]'}{size})")
    return f",\n{' ' * indent}".join([*parts, f"size={tuple(t._a.shape)}"])


def _sparse_suffixes(t: Any) -> list[str]:
    device = [f"device='{t.device}'"] if t.device.type != "cpu" else []
    silent = str(t.dtype) in _silent_dtypes(has_values=t._a.count > 0)
    dtype = [] if silent else [f"dtype={t.dtype}"]
    return [*device, f"nnz={t._a.count}", *dtype, f"layout={t.layout}", *_grad_suffix(t)]


def _suffixes(t: Any) -> list[str]:
    shape, is_meta = tuple(t._a.shape), t.device.type == "meta"
    is_empty = 0 in shape
    suffixes = []
    if t.device.type != "cpu":
        suffixes.append(f"device='{t.device}'")
    if is_meta or (len(shape) != 1 if is_empty else _options.edgeitems == 0):
        suffixes.append(f"size={shape}")
    if str(t.dtype) not in _silent_dtypes(has_values=not (is_meta or is_empty)):
        suffixes.append(f"dtype={t.dtype}")
    return suffixes + _grad_suffix(t)


def _silent_dtypes(has_values: bool) -> tuple[str, ...]:
    """The dtypes printed without a suffix; for an empty tensor, only the default one."""
    default = str(get_default_dtype())
    if not has_values:
        return (default,)
    default_complex = "torch.complex128" if default == "torch.float64" else "torch.complex64"
    return default, default_complex, "torch.int64", "torch.bool"


def _grad_suffix(t: Any) -> list[str]:
    try:
        grad_fn = t.grad_fn
    except RuntimeError:  # a view that lost its place in the graph must still print
        return ["grad_fn=<Invalid>"]
    if grad_fn is not None:
        return [f"grad_fn=<{grad_fn.name().rpartition('::')[2]}>"]
    return ["requires_grad=True"] if t.requires_grad else []


def _add_suffixes(text: str, suffixes: list[str], indent: int) -> str:
    """Closes the parenthesis after the suffixes, each on the last line if it still fits there."""
    used = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if used + len(suffix) + 2 > _options.linewidth:
            text += ",\n" + " " * indent + suffix
            used = indent + len(suffix)
        else:
            text += ", " + suffix
            used += len(suffix) + 2
    return text + ")"


def _format_array(array: np.ndarray, indent: int) -> str:
    """Formats the values of a non-empty array, its lines after the first moved ``indent`` to the right."""
    edge = _options.edgeitems if array.size > _options.threshold else array.size
    if edge == 0 and array.ndim:
        return "[...]"
    cells, width = _cells(_python_numbers(_corner(array, edge)))
    return _layout(iter(cells), width, array.shape, edge, indent)


def _corner(array: np.ndarray, edge: int) -> np.ndarray:
    """The elements that are printed: only the two ends of every long dimension."""
    if all(size <= 2 * edge for size in array.shape):
        return array
    shown = [np.r_[:edge, size - edge : size] if size > 2 * edge else np.r_[:size] for size in array.shape]
    return array[np.ix_(*shown)]


def _python_numbers(array: np.ndarray) -> np.ndarray:
    """Widens floats that NumPy does not support (bfloat16, float8)."""
    array = on_host(array, "printing a tensor")
    return array.astype(np.float32) if is_foreign(array.dtype) else array


def _cells(array: np.ndarray) -> tuple[list[str], int]:
    """Formats the elements in order; returns them with the column width.

    A cell may be wider than the column: zeros, infinities and NaNs do not count towards the width.
    """
    if array.dtype.kind == "c":
        real, real_width = _float_cells(array.real)
        imag, imag_width = _float_cells(array.imag)
        return [_complex_cell(*pair) for pair in zip(real, imag)], real_width + imag_width + 1
    if array.dtype.kind == "f":
        return _float_cells(array)
    texts = [str(value) for value in array.ravel().tolist()]
    return _align(texts, max(map(len, texts), default=1))


def _float_cells(array: np.ndarray) -> tuple[list[str], int]:
    values = array.ravel().tolist()
    measured = [value for value in values if value != 0 and math.isfinite(value)]
    notation = _notation(measured)
    width = max((len(notation(value)) for value in measured), default=1)
    return _align([notation(value) for value in values], width)


def _notation(measured: list[float]) -> Callable[[float], str]:
    """Chooses one notation for all values, based on those that are finite and not zero."""
    whole = all(value.is_integer() for value in measured)
    if _is_scientific(measured, whole):
        return f"{{:.{_options.precision}e}}".format
    if whole:
        return lambda value: f"{value:.0f}." if math.isfinite(value) else f"{value:.0f}"
    return f"{{:.{_options.precision}f}}".format


def _is_scientific(measured: list[float], whole: bool) -> bool:
    if not measured:
        return False
    if _options.sci_mode is not None:
        return _options.sci_mode
    sizes = [abs(value) for value in measured]
    least, greatest = min(sizes), max(sizes)
    return greatest / least > 1000 or greatest > 1e8 or (least < 1e-4 and not whole)


def _align(texts: list[str], width: int) -> tuple[list[str], int]:
    return [text.rjust(width) for text in texts], width


def _complex_cell(real: str, imag: str) -> str:
    imag = imag.lstrip()
    return f"{real}{imag}j" if imag[0] in "+-" else f"{real}+{imag}j"


def _layout(cells: Iterator[str], width: int, shape: tuple[int, ...], edge: int, indent: int) -> str:
    """Arranges the cells, given in row-major order, as an array of this shape."""
    if not shape:
        return next(cells)
    size, inner = shape[0], shape[1:]
    parts = [_layout(cells, width, inner, edge, indent + 1) for _ in range(min(size, 2 * edge))]
    if size > 2 * edge:
        parts.insert(edge, "..." if inner else " ...")
    lines = parts if inner else _fill(parts, width, indent)
    new_line = "\n" * max(1, len(inner)) + " " * (indent + 1)
    return f"[{f',{new_line}'.join(lines)}]"


def _fill(cells: list[str], width: int, indent: int) -> list[str]:
    """Fills each line with as many cells as fit."""
    per_line = max(1, (_options.linewidth - indent) // (width + 2))
    return [", ".join(cells[i : i + per_line]) for i in range(0, len(cells), per_line)]
