"""Indexing with square brackets: ``x[key]`` and ``x[key] = value``.

As in PyTorch, a key is read in two steps. Integers, slices, None and Ellipsis take a view. Index tensors, lists, arrays
and masks then read from that view (a copy) or write to it.
"""

from __future__ import annotations

import operator

import numpy as np

from .. import _tape as tape
from .._modes import modes
from .._tensor import LEAF, Tensor, View, refresh, storage_of, wrap
from ..engines import NUMPY, engine_of
from ..ops import index as ops
from ..ops.shape import basic_index, cast, reshape, select_index
from ._args import bump, type_word
from ._inplace import assign, check_writable
from ._into import into
from .index import NOT_INDICES, TOO_MANY, expanded, fitting, put_call

SCALAR = (
    "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a 0-dim "
    "tensor to a number"
)
OUT_OF_BOUNDS = "index {index} is out of bounds for dimension {dim} with size {size}"
INVALID = (
    "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got {kind})"
)
EXPANDED = (
    "The expanded size of the tensor must match the existing size: a value of shape {value} cannot be assigned to "
    "elements of shape {own}."
)

_new = object.__new__
_ndarray = np.ndarray
_FULL = slice(None)
_SELECT, _SLICE, _UNSQUEEZE, _ALIAS, _INDEX = (
    select_index, basic_index, ops.unsqueeze_index, ops.alias_index, ops.index
)
_PLANS = {op: op.plan((True,)).backward for op in (_SELECT, _SLICE, _UNSQUEEZE, _ALIAS)}
_INDEX_BACKWARD = _INDEX.plan((True, False)).backward
_ROWS = {"dims": (0,)}
_INT64, _BOOL = np.dtype(np.int64), np.dtype(bool)


# ---- reading


def __getitem__(self, key):
    """The elements that `key` names: a view for integers and slices, a copy for index tensors and masks."""
    a = self._a
    kind = type(key)
    given = key
    if kind is int:
        key, op = (key, ...), _SELECT
    elif kind is slice:
        step = key.step
        op = _SLICE if step is None or type(step) is int and step > 0 else None
    elif kind is tuple:
        op = basic_op(key)
        key = (*key, ...) if ... not in key else key
    elif kind is Tensor and key._a.ndim and a.ndim:
        dtype = key._a.dtype
        if dtype is _INT64:
            return take_rows(self, key)
        if dtype is _BOOL and key._a.shape == a.shape[: key._a.ndim]:
            return _INDEX(self, key, dims=(0,))
        return read(self, key)
    else:
        return read(self, key)
    grad = modes.grad
    if op is None or type(a) is not _ndarray or grad is None:
        return read(self, given)
    try:
        r = a[key] if op is not _UNSQUEEZE else NUMPY.new_dims(a, key)
    except (IndexError, TypeError):
        return read(self, given)
    storage = self._storage
    if storage is None:
        storage = storage_of(self)
    settings = {"key": key}
    view = _new(View)
    view.parent = before = self._view
    view.step = (op, settings, None)
    if before is None:
        view.base = self
        view.origin = None if grad else "no_grad"
    else:
        refresh(self)
        view.base = before.base
        view.origin = before.origin if grad else "no_grad"
    view.version = storage.version
    t = _new(Tensor)
    t._a = r
    t._storage = storage
    t._view = view
    t._grad = t._hooks = t._node = None
    t._nr = 0
    t._rg = False
    if grad and self._rg:
        node = _new(op.Node)
        node.next = ((self, LEAF) if self._node is None else (self._node, self._nr),)
        node.seq = tape.next_sequence()
        node.shape = r.shape
        node.dtype = r.dtype
        node.backward = _PLANS[op]
        node.settings = settings
        node.shapes = (a.shape,)
        if modes.watched and modes.anomaly:
            node.trace = tape.here()
        t._node = node
        t._rg = True
    return t


def basic_op(key):
    """The op that views a tuple of plain integers, slices, None and Ellipsis; None where something else is in it."""
    op, new = _ALIAS, False
    for part in key:
        kind = type(part)
        if kind is int:
            op = _SELECT
        elif kind is slice:
            step = part.step
            if step is not None and (type(step) is not int or step <= 0):
                return None
            if step is not None or part.start is not None or part.stop is not None:
                op = _SLICE
        elif part is None:
            new = True
        elif part is not ...:
            return None
    return _UNSQUEEZE if new else op


def take_rows(x, index):
    """x[index] for one integer tensor. In line: the case of contiguous NumPy memory."""
    a, i = x._a, index._a
    grad = modes.grad
    if type(a) is not _ndarray or not a.flags.c_contiguous or grad is None:
        return ops.index(x, index, dims=(0,))
    try:
        r = a.take(i, 0)
    except IndexError:
        return ops.index(x, index, dims=(0,))
    t = _new(Tensor)
    t._a = r
    t._storage = t._view = t._grad = t._hooks = t._node = None
    t._nr = 0
    t._rg = False
    if grad:
        if x._view is not None:
            refresh(x)
        if x._rg:
            record_rows(x, index, t)
    return t


def record_rows(x, index, t):
    """Puts t = x[index] in the graph."""
    a, i = x._a, index._a
    if modes.watched:
        _INDEX.record((x, index), (a, i), t._a, t, _ROWS)
        return
    node = _new(_INDEX.Node)
    node.next = ((x, LEAF) if x._node is None else (x._node, x._nr), None)
    node.seq = tape.next_sequence()
    node.shape = t._a.shape
    node.dtype = t._a.dtype
    node.backward = _INDEX_BACKWARD
    node.settings = _ROWS
    node.inputs = (None, i)
    node.guards = (tape.guard(index),)
    node.shapes = (a.shape, i.shape)
    t._node = node
    t._rg = True


def read(x, key):
    """x[key] for any key."""
    op, basic, indices, dims = parsed(x, key)
    if op is not None:
        x = op(x, key=basic)
    if indices:
        found, dims = expanded(indices, x, dims)
        x = ops.index(x, *found, dims=dims)
    return x


# ---- the key


def parsed(x, key):
    """(op, basic key, index tensors, their dimensions): first the view to take, None for none; then the indices."""
    items = as_items(key)
    shape = x._a.shape
    left = len(shape) - sum(map(dims_used, items))
    if left < 0:
        raise IndexError(SCALAR if not shape and is_int(items[0]) else TOO_MANY.format(ndim=len(shape)))
    basic, indices, dims, op = [], [], [], None
    dim = place = 0  # in x, and in the view
    for item in items:
        if isinstance(item, Tensor) and item._a.ndim == 0:
            item = scalar_index(item)
        if item is Ellipsis:
            basic += [_FULL] * left
            dim, place, left = dim + left, place + left, 0
        elif item is None:
            basic.append(None)
            place += 1
        elif isinstance(item, bool):
            basic.append(None)
            indices.append(wrap(np.zeros(int(item), np.int64)))
            dims.append(place)
            place += 1
        elif isinstance(item, int):
            basic.append(bounded(item, dim, shape[dim]))
            dim, op = dim + 1, _SELECT
        elif isinstance(item, slice):
            basic.append(item)
            if item != _FULL:
                op = _SLICE
            dim, place = dim + 1, place + 1
        else:
            used = dims_used(item)
            basic += [_FULL] * used
            indices.append(item)
            dims.append(place)
            dim, place = dim + used, place + used
    if None in basic:
        op = _UNSQUEEZE
    elif op is None and not indices:
        op = _SLICE if len(items) == 1 and isinstance(items[0], slice) else _ALIAS
    return op, (*basic, ...), indices, tuple(dims)


def as_items(key):
    """The parts of a key; a list is a tuple of parts if one of them is itself more than a number, as in PyTorch."""
    if isinstance(key, list) and len(key) < 32 and any(map(is_part, key)):
        key = tuple(key)
    return [as_item(part) for part in key] if isinstance(key, tuple) else [as_item(key)]


def is_part(item):
    return item is None or item is Ellipsis or isinstance(item, Tensor | list | tuple | range | slice | _ndarray)


def as_item(part):
    """One part of a key: an int, a bool, a slice of ints, None, Ellipsis, or a tensor."""
    if part is None or part is Ellipsis or isinstance(part, bool | Tensor):
        return part
    if isinstance(part, slice):
        return as_slice(part)
    if isinstance(part, list | tuple | range | _ndarray):
        array = np.asarray(plain(part))
        if array.ndim == 0 and array.dtype.kind in "iu":
            return int(array)
        return wrap(as_indices(array))
    if isinstance(part, str | bytes):
        raise TypeError(f"new(): invalid data type '{type(part).__name__}'")
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
    """A slice with plain numbers; its step must be positive."""
    bounds = []
    for bound in (part.start, part.stop, part.step):
        try:
            bounds.append(None if bound is None else operator.index(bound))
        except TypeError:
            raise TypeError("slice indices must be integers or None or have an __index__ method") from None
    if bounds[2] is not None and bounds[2] <= 0:
        raise ValueError("slice step cannot be zero" if bounds[2] == 0 else "step must be greater than zero")
    return slice(*bounds)


def plain(part):
    """Nested lists with tensors in them as nested lists of numbers."""
    if isinstance(part, Tensor):
        return part._a
    return [plain(p) for p in part] if isinstance(part, list | tuple) else part


def as_indices(array):
    """An array of int64, or a mask; numbers with a fraction lose it, as in PyTorch."""
    if array.dtype.kind not in "biuf":
        raise TypeError(f"new(): invalid data type '{array.dtype}'")
    if array.dtype.kind == "b" and array.size or array.dtype == np.uint8:
        return array
    return array.astype(np.int64, copy=False)


def is_int(item):
    return isinstance(item, int) and not isinstance(item, bool)


def dims_used(item):
    """How many dimensions of the tensor a part of the key uses up."""
    if item is None or item is Ellipsis or isinstance(item, bool):
        return 0
    if isinstance(item, Tensor) and (item._a.dtype.kind == "b" or item._a.dtype == np.uint8):
        return item._a.ndim
    return 1


def scalar_index(t):
    """A 0-dimensional tensor in a key: an int, or a bool."""
    dtype = t._a.dtype
    if dtype.kind not in "biu":
        raise IndexError(NOT_INDICES.format(dtype=t.dtype))
    return bool(t._a) if dtype.kind == "b" or dtype == np.uint8 else int(t._a)


def bounded(index, dim, size):
    if not -size <= index < size:
        raise IndexError(OUT_OF_BOUNDS.format(index=index, dim=dim, size=size))
    return index


# ---- writing


def __setitem__(self, key, value):
    """Stores `value`, broadcast and converted, in the elements that `key` names."""
    if is_plain(key) and store(self, key, value):
        return
    op, basic, indices, dims = parsed(self, key)
    if op is not None:
        self = op(self, key=basic)
    if not isinstance(value, Tensor):
        value = wrap(np.asarray(number(value, self), self._a.dtype))
    if not indices:
        assign_to(self, value)
        return
    found, dims = expanded(indices, self, dims)
    op, inputs, settings = put_call(self, found, dims, without_leading_ones(value, self._a.ndim))
    into(self, op, inputs[1:], settings, "index_put_", overlap=True)


def is_plain(key):
    """Whether NumPy reads the key as PyTorch does."""
    kind = type(key)
    if kind is int:
        return True
    if kind is slice:
        return key.step is None or type(key.step) is int and key.step > 0
    if kind is Tensor:
        return key._a.dtype is _INT64 or key._a.dtype is _BOOL
    return kind is tuple and basic_op(key) is not None


def store(x, key, value):
    """Writes straight to NumPy memory when nothing is recorded; False where that is not so simple."""
    a = x._a
    if x._view is not None:
        refresh(x)
    if type(a) is not _ndarray or x._rg and modes.grad or 0 in a.strides:
        return False
    if type(key) is Tensor:
        key = key._a
    kind = type(value)
    if kind is Tensor:
        if value._view is not None:
            refresh(value)
        if value._rg and modes.grad or value._a.dtype is not a.dtype or type(value._a) is not _ndarray:
            return False
        value = value._a
    elif kind is float:
        if not 11 <= a.dtype.num <= 13:
            return False
    elif kind is not int:
        return False
    try:
        a[key] = value
    except (IndexError, ValueError, TypeError, OverflowError):
        return False
    bump(x, "__setitem__")
    return True


def number(value, t):
    """A number to be stored in `t`; TypeError for anything else."""
    if isinstance(value, np.integer):
        value = int(value)
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        raise ValueError("Overflow when unpacking long long")
    if not isinstance(value, int | float | complex):
        kind = type(value)
        name = f"numpy.{kind.__name__}" if kind.__module__ == "numpy" else kind.__name__
        raise TypeError(f"can't assign a {name} to a torch.{type_word(t.dtype)}Tensor")
    return fitting(value, t)


def assign_to(t, value):
    """Copies `value`, broadcast and converted, into the elements of the view `t`."""
    own = t._a
    value = without_leading_ones(value, own.ndim)
    try:
        fits = engine_of(own).broadcast_shapes(own.shape, value._a.shape) == own.shape
    except ValueError:
        fits = False
    if not fits:
        raise RuntimeError(EXPANDED.format(value=list(value.shape), own=list(own.shape)))
    check_writable(t)
    if value._a.dtype != own.dtype:
        value = cast(value, dtype=own.dtype)
    assign(t, value, "copy_")


def without_leading_ones(value, ndim):
    """A value with no more than `ndim` dimensions, where those in front have size one."""
    shape = value._a.shape
    extra = len(shape) - ndim
    if extra > 0 and all(n == 1 for n in shape[:extra]):
        return reshape(value, shape=shape[extra:])
    return value


Tensor.__getitem__ = __getitem__
Tensor.__setitem__ = __setitem__
