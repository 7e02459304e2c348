"""Indexing with square brackets: ``x[key]`` and ``x[key] = value``.

As in PyTorch, a key is applied in two steps. Integers, slices, None and Ellipsis take a view. Index tensors, lists,
arrays and masks then gather from that view (a copy) or write to it.
"""

import itertools
import math

import numpy as np

from .._device import CPU
from .._dtypes import FIRST_FLOAT, LAST_FLOAT, type_word
from .._modes import modes
from .._size import broadcasts
from .._tensor import Tensor, engine_for, refresh, wrap
from ..autograd._writes import assign, check_history, check_writable, count_write, in_graph, write_at
from ..engines import NUMPY
from ..ops import index as ops
from ..ops.shape import basic_index, cast, reshape
from ._data import scalar_for
from ._inplace import inplace_op
from ._key import SELECT, SLICE, UNSQUEEZE, node_of, parse_key
from .convert import copy_, fill_
from .index import expand_masks, put_call

EXPANDED = (
    "The expanded size of the tensor ({to}) must match the existing size ({size}) at non-singleton dimension {dim}.  "
    "Target sizes: {own}.  Tensor sizes: {value}: the value does not match the elements it is assigned to."
)
TOO_MANY = (
    "expand: the number of sizes provided ({ndim}) must be greater or equal to the number of dimensions in the tensor "
    "({got}): a value of shape {value} cannot be assigned to elements of shape {own}."
)

_INDEX = ops.index
_wrap_view = basic_index.wrap_view
_ROWS = {"dims": (0,)}
LOWEST_FLOAT32, LARGEST_FLOAT32 = float(np.finfo(np.float32).min), float(np.finfo(np.float32).max)
LOWEST_INT, LARGEST_INT = -(2**63), 2**63 - 1
_INT64, _BOOL = np.dtype(np.int64), np.dtype(bool)


def does_not_fit(value, own):
    """The error for assigning a value that does not broadcast to the indexed elements."""
    shapes = dict(value=list(value), own=list(own))
    if len(value) > len(own):
        return RuntimeError(TOO_MANY.format(ndim=len(own), got=len(value), **shapes))
    pairs = zip(range(len(own) - 1, -1, -1), reversed(own), reversed(value), strict=False)
    dim, to, size = next((dim, to, size) for dim, to, size in pairs if size not in (1, to))
    return RuntimeError(EXPANDED.format(dim=dim, to=to, size=size, **shapes))


# ---- reading


def __getitem__(self, key):
    """Indexes the tensor: a view for integers and slices, a copy for index tensors and masks."""
    a = self._a
    kind = type(key)
    given, new = key, False
    if kind is int:
        key, node = (key, ...), SELECT
    elif kind is slice:
        step = key.step
        node = SLICE if step is None or (type(step) is int and step > 0) else None
    elif kind is tuple:
        node = node_of(key)
        if node is None:  # before any comparison: arrays in the key compare elementwise
            return read(self, key)
        new = None in key
        key = (*key, ...) if ... not in key else key
    elif key is None:
        key, node, new = (None, ...), UNSQUEEZE, True
    elif kind is Tensor and key._a.ndim and a.ndim:
        dtype = key._a.dtype
        if dtype is _INT64:
            return take_rows(self, key)
        if dtype is _BOOL and key._a.shape == a.shape[: key._a.ndim]:
            return _INDEX(self, key, dims=(0,))
        return read(self, key)
    else:
        return read(self, key)
    storage = self._storage
    if node is None or (storage is not None and storage.engine is not NUMPY):
        return read(self, given)
    try:
        r = NUMPY.new_dims(a, key) if new else a[key]
    except (IndexError, TypeError):
        return read(self, given)
    return _wrap_view(self, a, r, {"key": key, "node": node})


def take_rows(x, index):
    """x[index] for a single integer tensor; inline for contiguous NumPy memory."""
    a, i = x._a, index._a
    if engine_for(x) is not NUMPY or not a.flags.c_contiguous:
        return ops.index(x, index, dims=(0,))
    try:
        r = a.take(i, 0)
    except (IndexError, TypeError):  # an invalid or traced index
        return ops.index(x, index, dims=(0,))
    if x._view is not None:
        refresh(x)
    return _INDEX.wrap_result((x, index), (a, i), (True, False), r, _ROWS) if x._rg else wrap(r)


def read(x, key):
    """x[key] for any key."""
    node, basic, indices, dims = parse_key(x, key)
    if node is not None and not (indices and selects_all(basic, x._a.shape)):
        x = basic_index(x, key=basic, node=node)
    if indices:
        found, dims = expand_masks(indices, x, dims)
        x = ops.index(x, *found, dims=dims)
    return x


# ---- writing


def __setitem__(self, key, value):
    """Stores `value`, broadcast and converted, in the indexed elements."""
    if key is True:
        key = None
    if key is False or (is_plain(key) and store(self, key, value)):
        return
    if isinstance(value, Tensor) and is_view_by(value, self, key):
        if modes.grad and in_graph(self):
            check_history(self)
        count_write(self, "__setitem__")  # the end of ``x[key] += ...``: already written in place
        return
    node, basic, indices, dims = parse_key(self, key)
    if not isinstance(value, Tensor):
        value = wrap(np.asarray(number(value, self), self._a.dtype))
    if not indices and selects_all(basic, self._a.shape):
        overwrite(self, value)
        return
    if node is not None and not (indices and selects_all(basic, self._a.shape)):
        self = basic_index(self, key=basic, node=node)
    if not indices:
        assign_to(self, value)
        return
    found, dims = expand_masks(indices, self, dims)
    op, inputs, settings = put_call(self, found, dims, without_leading_ones(value))
    inplace_op(self, op, inputs[1:], settings, "index_put_", overlap=True)


def __delitem__(self, key):
    raise TypeError("Tensor does not support deleting items: its shape is fixed. Select what is to stay, or cat it.")


def selects_all(basic, shape):
    """Whether a basic key selects all elements, so that the old ones need not be read."""
    *parts, _ = basic
    return None not in parts and all(map(is_whole, parts, shape))


def is_whole(part, n):
    """Whether an item of a key is a slice of all n elements; as in PyTorch, not one with negative bounds."""
    if not isinstance(part, slice) or part.start or part.step not in (None, 1):
        return False
    return part.stop is None or part.stop >= n


def is_view_by(value, x, key):
    """Whether `value` is what ``x[key]`` returned, and only a part of x."""
    view = value._view
    if view is None or value._storage is not x._storage or view.parent is not x._view:
        return False
    if view.base is not (x if x._view is None else x._view.base):
        return False
    step, settings, _ = view.step
    if step is not basic_index or type(key) not in (int, slice) or is_whole(key, x._a.shape[0]):
        return False
    return settings["key"] in (key, (key, ...))


def is_plain(key):
    """Whether NumPy interprets the key as PyTorch does."""
    kind = type(key)
    if kind is int:
        return True
    if kind is slice:
        return key.step is None or (type(key.step) is int and key.step > 0)
    if kind is Tensor:
        return key._a.dtype is _INT64 or key._a.dtype is _BOOL
    return kind is tuple and node_of(key) is not None


def store(x, key, value):
    """Writes directly to NumPy memory if nothing is recorded; returns False if it cannot."""
    a, storage = x._a, x._storage
    if x._view is not None:
        refresh(x)
    if (storage is not None and storage.engine is not NUMPY) or (x._rg and modes.grad) or 0 in a.strides:
        return False
    if type(key) is Tensor:
        key = key._a
    kind = type(value)
    if kind is Tensor:
        if value._view is not None:
            refresh(value)
        if (value._rg and modes.grad) or value._a.dtype is not a.dtype or engine_for(value) is not NUMPY:
            return False
        value = value._a
    elif kind is float:
        if not FIRST_FLOAT <= a.dtype.num <= LAST_FLOAT:
            return False
        if not LOWEST_FLOAT32 <= value <= LARGEST_FLOAT32 and math.isfinite(value):
            return False
    elif kind is not int or not LOWEST_INT <= value <= LARGEST_INT:
        return False
    try:
        write_at(x, "__setitem__", key, value)
    except (IndexError, ValueError, TypeError, OverflowError):
        return False
    return True


def number(value, t):
    """A number to store in `t`; raises TypeError for other values."""
    if isinstance(value, np.integer):
        value = int(value)
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise ValueError("Overflow when unpacking long long")
    if not isinstance(value, (int, float, complex)):
        kind = type(value)
        name = f"numpy.{kind.__name__}" if kind.__module__ == "numpy" else kind.__name__
        raise TypeError(f"can't assign a {name} to a torch.{type_word(t.dtype)}Tensor")
    return scalar_for(value, t._a.dtype, halves=False)


def overwrite(t, value):
    """Replaces all elements of `t` by `value`, broadcast and converted, without reading them."""
    if value._a.ndim == 0 < t._a.ndim and value.device is CPU:
        check_writable(t)
        fill_(t, value)
    else:
        copy_(t, without_leading_ones(value))


def assign_to(t, value):
    """Copies `value`, broadcast and converted, into the elements of the view `t`."""
    own = t._a
    value = without_leading_ones(value)
    if not broadcasts(value._a.shape, own.shape):
        raise does_not_fit(value.shape, own.shape)
    check_writable(t, source=value)
    if value._a.dtype != own.dtype:
        value = cast(value, dtype=own.dtype)
    assign(t, value, "copy_")


def without_leading_ones(value):
    """A value without leading dimensions of size one, which may outnumber those of the target."""
    shape = value._a.shape
    rest = tuple(itertools.dropwhile(lambda n: n == 1, shape))
    return value if rest == shape else reshape(value, shape=rest)


Tensor.__getitem__ = __getitem__
Tensor.__setitem__ = __setitem__
Tensor.__delitem__ = __delitem__
