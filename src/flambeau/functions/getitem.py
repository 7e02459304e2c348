"""Indexing with square brackets: ``x[key]`` and ``x[key] = value``.

As in PyTorch, a key is read in two steps. Integers, slices, None and Ellipsis take a view. Index tensors, lists, arrays
and masks then read from that view (a copy) or write to it.
"""

from __future__ import annotations

import numpy as np

from .. import _tape as tape
from .._modes import modes
from .._tensor import LEAF, Tensor, View, refresh, storage_of, wrap
from ..engines import NUMPY, engine_of
from ..ops import index as ops
from ..ops.shape import cast, reshape
from ._args import bump, type_word
from ._inplace import assign, check_writable
from ._into import into
from ._key import ALIAS, SELECT, SLICE, UNSQUEEZE, WITH_NONE, basic_op, parsed
from .index import expanded, fitting, put_call

EXPANDED = (
    "The expanded size of the tensor must match the existing size: a value of shape {value} cannot be assigned to "
    "elements of shape {own}."
)

_new = object.__new__
_ndarray = np.ndarray
_INDEX = ops.index
_PLANS = {op: op.spec.plan((True,)).backward for op in (SELECT, SLICE, ALIAS, *WITH_NONE.values())}
_INDEX_BACKWARD = _INDEX.spec.plan((True, False)).backward
_ROWS = {"dims": (0,)}
_INT64, _BOOL = np.dtype(np.int64), np.dtype(bool)


# ---- reading


def __getitem__(self, key):
    """The elements that `key` names: a view for integers and slices, a copy for index tensors and masks."""
    a = self._a
    kind = type(key)
    given, new = key, False
    if kind is int:
        key, op = (key, ...), SELECT
    elif kind is slice:
        step = key.step
        op = SLICE if step is None or (type(step) is int and step > 0) else None
    elif kind is tuple:
        op = basic_op(key)
        if op is None:  # before any comparison: an array in the key compares element by element
            return read(self, key)
        new = None in key
        key = (*key, ...) if ... not in key else key
    elif key is None:
        key, op, new = (None, ...), UNSQUEEZE, True
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
        r = NUMPY.new_dims(a, key) if new else a[key]
    except (IndexError, TypeError):
        return read(self, given)
    storage = self._storage
    if storage is None:
        storage = storage_of(self)
    settings = {"key": key}
    view = View()
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
        node = op.spec.Node()
        node.next = ((self, LEAF) if self._node is None else (self._node, self._nr),)
        node.seq = tape.next_sequence()
        node.shape = r.shape
        node.dtype = r.dtype
        node.backward = _PLANS[op]
        node.settings = settings
        node.shapes = (a.shape,)
        node.inputs = node.guards = ()
        node.out = None
        if modes.watched and modes.anomaly:
            node.trace = tape.here()
        t._node = node
        t._rg = True
    return t


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
        _INDEX.spec.record((x, index), (a, i), t._a, t, _ROWS)
        return
    node = _INDEX.spec.Node()
    node.next = ((x, LEAF) if x._node is None else (x._node, x._nr), None)
    node.seq = tape.next_sequence()
    node.shape = t._a.shape
    node.dtype = t._a.dtype
    node.backward = _INDEX_BACKWARD
    node.settings = _ROWS
    node.inputs = (None, i)
    node.guards = (tape.guard(index),)
    node.shapes = (a.shape, i.shape)
    node.out = None
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


# ---- writing


def __setitem__(self, key, value):
    """Stores `value`, broadcast and converted, in the elements that `key` names."""
    if key is False or (is_plain(key) and store(self, key, value)):
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


def __delitem__(self, key):
    raise TypeError("Tensor does not support deleting items: its shape is fixed. Select what is to stay, or cat it.")


def is_plain(key):
    """Whether NumPy reads the key as PyTorch does."""
    kind = type(key)
    if kind is int:
        return True
    if kind is slice:
        return key.step is None or (type(key.step) is int and key.step > 0)
    if kind is Tensor:
        return key._a.dtype is _INT64 or key._a.dtype is _BOOL
    return kind is tuple and basic_op(key) is not None


def store(x, key, value):
    """Writes straight to NumPy memory when nothing is recorded; False where that is not so simple."""
    a = x._a
    if x._view is not None:
        refresh(x)
    if type(a) is not _ndarray or (x._rg and modes.grad) or 0 in a.strides or x.is_inference():
        return False
    if type(key) is Tensor:
        key = key._a
    kind = type(value)
    if kind is Tensor:
        if value._view is not None:
            refresh(value)
        if (value._rg and modes.grad) or value._a.dtype is not a.dtype or type(value._a) is not _ndarray:
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
Tensor.__delitem__ = __delitem__
