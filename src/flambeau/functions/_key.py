"""Parses the key of ``x[key]`` into a view (basic indexing) and index tensors (advanced indexing)."""

import operator

import numpy as np

from .._modes import modes
from .._tensor import Tensor, wrap
from ..engines import demand, is_traced
from ..engines._views import value_of
from ..engines.levels import LevelArray
from ._data import MAX_DIMS
from .index import NOT_INDICES, TOO_MANY

SCALAR = (
    "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a 0-dim "
    "tensor to a number"
)
OUT_OF_BOUNDS = "index {index} is out of bounds for dimension {dim} with size {size}"
INVALID = (
    "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got {kind})"
)

SELECT, SLICE, UNSQUEEZE, ALIAS = "SelectBackward0", "SliceBackward0", "UnsqueezeBackward0", "AliasBackward0"
_ndarray = np.ndarray
_FULL = slice(None)


def node_of(key):
    """The node name for basic indexing by a tuple of integers, slices, None and Ellipsis; None for any other key.

    The last item of the key determines the name.
    """
    node = ALIAS
    for part in key:
        kind = type(part)
        if kind is int:
            node = SELECT
        elif kind is slice:
            step = part.step
            if step is not None and (type(step) is not int or step <= 0):
                return None
            if step is not None or part.start is not None or part.stop is not None:
                node = SLICE
        elif part is None:
            node = UNSQUEEZE
        elif part is not ...:
            return None
    return node


def parse_key(x, key):
    """(node, basic key, index tensors, their dimensions): the view to take first, with the name of its node (None for
    no view), then the indices."""
    items = as_items(key)
    shape = x._a.shape
    left = len(shape) - sum(map(dims_used, items))
    if left < 0:
        raise IndexError(SCALAR if not shape and is_int(items[0]) else TOO_MANY.format(ndim=len(shape)))
    basic, indices, dims, node = [], [], [], None
    dim = place = 0  # in x and in the view
    for item in items:
        if isinstance(item, Tensor) and item._a.ndim == 0 and not isinstance(item._a, LevelArray):
            item = scalar_index(item)
        if item is Ellipsis:
            basic += [_FULL] * left
            dim, place, left = dim + left, place + left, 0
        elif item is None:
            basic.append(None)
            place, node = place + 1, UNSQUEEZE
        elif isinstance(item, bool):
            basic.append(None)
            indices.append(wrap(np.zeros(int(item), np.int64)))
            dims.append(place)
            place, node = place + 1, UNSQUEEZE
        elif isinstance(item, int):
            basic.append(check_bounds(item, dim, shape[dim]))
            dim, node = dim + 1, SELECT
        elif not isinstance(item, (slice, Tensor)):
            modes.tracer.prepare_write(x)  # a constant cannot be indexed by a traced value
            basic.append(traced_within(item, dim, shape[dim]))
            dim, node = dim + 1, SELECT
        elif isinstance(item, slice):
            basic.append(item)
            if item != _FULL:
                node = SLICE
            dim, place = dim + 1, place + 1
        else:
            used = dims_used(item)
            basic += [_FULL] * used
            indices.append(item)
            dims.append(place)
            dim, place = dim + used, place + used
    if node is None and not indices:
        node = SLICE if len(items) == 1 and isinstance(items[0], slice) else ALIAS
    return node, (*basic, ...), indices, tuple(dims)


def as_items(key):
    """The items of a key; as in PyTorch, a list is a tuple of items if one of them is not just a number."""
    if isinstance(key, list) and len(key) < 32 and any(map(is_part, key)):
        key = tuple(key)
    return [as_item(part) for part in key] if isinstance(key, tuple) else [as_item(key)]


def is_part(item):
    return item is None or item is Ellipsis or isinstance(item, (Tensor, list, tuple, range, slice, _ndarray))


def as_item(part):
    """Normalises one item of a key: an int, a bool, a slice of ints, None, Ellipsis, or a tensor."""
    if part is None or part is Ellipsis or isinstance(part, (bool, Tensor)):
        return part
    if isinstance(part, slice):
        return as_slice(part)
    if isinstance(part, (list, tuple, range, _ndarray)):
        array = np.asarray(plain(part))
        if array.ndim == 0 and array.dtype.kind in "iu":
            return int(array)
        return wrap(as_indices(array))
    if isinstance(part, (str, bytes)):
        raise TypeError(f"a tensor cannot be indexed by the {type(part).__name__} {part!r}")
    if not isinstance(part, np.bool_):
        try:
            index = operator.index(part)
        except TypeError:
            pass
        else:
            if not -(2**63) <= index < 2**63:
                raise ValueError("Overflow when unpacking long long")
            return index
    kind = type(part)
    name = f"numpy.{kind.__name__}" if kind.__module__ == "numpy" else kind.__name__
    raise IndexError(INVALID.format(kind=name))


def as_slice(part):
    """A slice with Python ints; its step must be positive."""
    bounds = []
    for bound in (part.start, part.stop, part.step):
        try:
            bounds.append(None if bound is None else operator.index(bound))
        except TypeError:
            raise TypeError("slice indices must be integers or None or have an __index__ method") from None
    if bounds[2] is not None and bounds[2] <= 0:
        raise ValueError("slice step cannot be zero" if bounds[2] == 0 else "step must be greater than zero")
    return slice(*bounds)


def plain(part, depth=0):
    """Converts tensors in nested lists to numbers."""
    if isinstance(part, Tensor):
        return part._a
    if not isinstance(part, (list, tuple)):
        return part
    if any(p is part for p in part):
        raise TypeError("new(): self-referential lists are incompatible: the list contains itself")
    if depth == MAX_DIMS:
        raise ValueError(f"too many dimensions '{type(part).__name__}'")
    return [plain(p, depth + 1) for p in part]


def as_indices(array):
    """Converts to int64 indices or a mask; fractions are truncated, as in PyTorch."""
    if array.dtype.kind not in "biuf":
        raise TypeError(f"new(): invalid data type '{array.dtype}'")
    if (array.dtype.kind == "b" and array.size) or array.dtype == np.uint8:
        return array
    return array.astype(np.int64, copy=False)


def is_int(item):
    return isinstance(item, int) and not isinstance(item, bool)


def dims_used(item):
    """How many dimensions of the tensor an item of the key consumes."""
    if item is None or item is Ellipsis or isinstance(item, bool):
        return 0
    if isinstance(item, Tensor) and (item._a.dtype.kind == "b" or item._a.dtype == np.uint8):
        return item._a.ndim
    return 1


def scalar_index(t):
    """Converts a 0-dim tensor in a key to an int or a bool, or to an array if it is traced."""
    dtype = t._a.dtype
    if dtype.kind not in "biu":
        raise IndexError(NOT_INDICES.format(dtype=t.dtype))
    if dtype.kind == "b" or dtype == np.uint8:
        return bool(t._a)
    return value_of(t._a).astype(np.int64) if is_traced(t._a) else int(t._a)


def check_bounds(index, dim, size):
    if not -size <= index < size:
        raise IndexError(OUT_OF_BOUNDS.format(index=index, dim=dim, size=size))
    return index


def traced_within(index, dim, size):
    """The traced `index`, with a run-time bounds check added to the program."""
    demand((index >= -size) & (index < size), index,
           lambda wrong: IndexError(OUT_OF_BOUNDS.format(index=wrong, dim=dim, size=size)))
    return index
