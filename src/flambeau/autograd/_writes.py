"""Writes to a tensor's memory. All in-place operations go through this module.

``check_writable`` checks that the memory may be written to, ``check_history`` that the graph allows it. ``write``
(``write_at`` for NumPy memory) then changes the elements, bumps the version, and updates views on engines with
immutable arrays. If it fails, nothing has changed. ``take_history`` moves the tensor to the place of the result in the
graph. ``assign`` does all of this, for a result that is already computed.
"""

from .. import _dtypes, _storage
from .._hooks import move_hooks
from .._many_arrays import are_plain, fill_each
from .._modes import in_use, modes
from .._size import broadcasts
from .._slots import exchange_each, read_slot
from .._tape import OpNode, guard
from .._tensor import (
    LEAF_INPLACE,
    NO_FUNCTION,
    SLOTS,
    VIEW_OF_LEAF_INPLACE,
    engine_for,
    refresh,
    storage_of,
    take_place,
    wrap,
)
from ..engines import NUMPY, engine_of
from ..engines._views import replay
from ..engines.levels import level_of
from ..ops.move import writing
from ..ops.shape import as_strided, cast, put

OVERLAP = (
    "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
    "Please clone() the tensor before performing the operation."
)
READ_ONLY = "the tensor's memory is read-only (it came from a read-only NumPy array); clone() it first"
INFERENCE = (
    "Inplace update to inference tensor outside InferenceMode is not allowed. You can make a clone to get a normal "
    "tensor before doing inplace update."
)
WRONG_SHAPE = "output with shape {own} doesn't match the broadcast shape {new}"
OUT_CAST = (
    "result type {result} can't be cast to the desired output type {out}. Compute out of place, or convert the output "
    "first."
)
REFUSED = {
    "multi": "Output {nr} of {node} is a view and is being modified inplace. This view is the output of a function "
             "that returns multiple views. Such functions do not allow the output views to be modified inplace. You "
             "should replace the inplace operation by an out-of-place one.",
    "no_grad": "A view was created in no_grad mode and is being modified inplace with grad mode enabled. Given that "
               "this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving both "
               "the view and the inplace either both inside the no_grad block (if you don't want the inplace to be "
               "tracked) or both outside (if you want the inplace to be tracked).",
    "custom": "Output {nr} of {node} is a view and is being modified inplace. This view was created inside a custom "
              "Function (or because an input was returned as-is); writing to it would override the custom backward. "
              "Clone the output of the custom Function first.",
    "inference": "A view was created in inference mode and is being modified inplace with grad mode enabled. Clone "
                 "it first, or make the view outside inference mode.",
}

MOVED = (
    "the tensor is a view and is being modified inplace, but its base has moved to other memory since (by resize_, "
    "set_, out= or .data): what is written would not reach it. detach() the view, or make it again."
)

copy_slices = writing("copy_slices", node="CopySlices", once=True)  # the effect of a write to a view on its base


# ---- memory


def check_writable(t, alike=False, source=None):
    """Raises unless the memory of `t` may be written to.

    If elements overlap the result would depend on the order, unless all are set to the same value (`alike`), or to
    their own: `source`, whose elements are copied, is the same memory.
    """
    if in_use.traced:
        modes.tracer.prepare_write(t)
    a, storage = t._a, t._storage
    engine = NUMPY if storage is None else storage.engine
    if engine is NUMPY and a.flags.carray:  # contiguous and writable, nearly always
        return
    if not alike and engine.is_expanded(a) and not (source is not None and _is_same_memory(t, source)):
        raise RuntimeError(OVERLAP)
    if not engine.is_writable(a):
        raise RuntimeError(READ_ONLY)


def _is_same_memory(t, other):
    """Whether both tensors are the same elements in memory."""
    if t is other:
        return True
    return t._storage is not None and t._storage is other._storage and _place(t) == _place(other)


def _place(t):
    return t.dtype, t.shape, t.stride(), t.storage_offset()


def check_all_writable(tensors):
    """``check_writable``, for many tensors on the CPU."""
    if modes.tracer.active or not are_plain(read_slot(SLOTS["_a"], tensors)):
        for t in tensors:
            check_writable(t)


def check_cast(result, own):
    """Raises unless a result of one dtype may be stored in a tensor of another."""
    if not _dtypes.can_cast(result, own):
        raise RuntimeError(OUT_CAST.format(result=_dtypes.type_word(result), out=_dtypes.type_word(own)))


def count_write(t, writer):
    """Bumps the version of the tensor's storage."""
    storage = storage_of(t)
    if storage.inference and modes.grad is not None:
        raise RuntimeError(INFERENCE)
    storage.version += 1
    storage.writer = writer


def write(t, name, fill, *arguments):
    """Writes to the memory of `t`: ``fill(array, *arguments)`` takes its array and returns the new one.

    That is the same array, modified in place, or another one on engines with immutable arrays.
    """
    own = t._a
    storage = t._storage or storage_of(t)
    if storage.inference and modes.grad is not None:
        raise RuntimeError(INFERENCE)
    array = fill(own, *arguments)
    storage.version += 1
    storage.writer = name
    if array is not own:
        storage.replace(t, array, put)
    return t


def exchange_all(tensors, name, arrays):
    """Like ``write``, for new arrays of many tensors at once, on an engine with immutable arrays."""
    if in_use.inference and modes.grad is not None and _storage.any_of_inference(read_slot(SLOTS["_storage"], tensors)):
        raise RuntimeError(INFERENCE)
    members = SLOTS["_a"], SLOTS["_storage"], *_storage.WRITTEN
    place = exchange_each(members, tensors, arrays, name, 0)
    while place < len(tensors):  # one that may share elements with others
        storage = tensors[place]._storage
        storage.version += 1
        storage.writer = name
        storage.replace(tensors[place], arrays[place], put)
        place = exchange_each(members, tensors, arrays, name, place + 1)


def write_at(t, name, key, value):
    """Like ``write``, for a NumPy key and value; nearly all writes on the CPU."""
    own = t._a
    storage = t._storage or storage_of(t)
    if storage.inference and modes.grad is not None:
        raise RuntimeError(INFERENCE)
    own[key] = value
    storage.version += 1
    storage.writer = name
    return t


def fill_all(tensors, name, arrays):
    """Like ``write_at``, for many tensors on the CPU."""
    storages = read_slot(SLOTS["_storage"], tensors)
    if not all(storages):
        storages = [storage_of(t) for t in tensors]
    if in_use.inference and modes.grad is not None and _storage.any_of_inference(storages):
        raise RuntimeError(INFERENCE)
    fill_each(read_slot(SLOTS["_a"], tensors), arrays)
    _storage.count_writes(storages, name)


def write_all(lists, name, fill, *arguments):
    """Like ``write``, for a kernel that writes to lists of tensors: ``fill`` takes and returns lists of arrays."""
    arrays = [[t._a for t in tensors] for tensors in lists]
    storages = [[t._storage or storage_of(t) for t in tensors] for tensors in lists]
    if modes.grad is not None and any([storage.inference for row in storages for storage in row]):
        raise RuntimeError(INFERENCE)
    filled = fill(arrays, *arguments)
    for tensors, row, before, after in zip(lists, storages, arrays, filled, strict=True):
        for t, storage, own, array in zip(tensors, row, before, after, strict=True):
            storage.version += 1
            storage.writer = name
            if array is not own:
                storage.replace(t, array, put)


# ---- the graph


def in_graph(t):
    """Whether a write to `t` affects the graph: through `t` itself or through its base."""
    return t._rg or (t._view is not None and t._view.base._rg)


def check_history(t):
    """Raises unless a recorded write to `t` is allowed."""
    view = t._view
    if view is None:
        if t._rg and t._node is None:
            raise RuntimeError(LEAF_INPLACE)
        return
    if view.base._storage is not t._storage:
        raise RuntimeError(MOVED)
    refresh(t)
    if view.origin is not None:
        node = "a function" if type(t._node) in NO_FUNCTION else t._node.name()
        raise RuntimeError(REFUSED[view.origin].format(nr=t._nr, node=node))
    if view.base._node is None and (t._rg or view.base._rg):
        raise RuntimeError(VIEW_OF_LEAF_INPLACE)


def take_history(t, result):
    """Gives `t` the history of `result`; through its base if `t` is a view."""
    view = t._view
    if view is None:
        take_place(t, result)
        move_hooks(t)
        return
    base = view.base
    before = at_place_of(base, base._a)
    copy_slices.spec.record((before, result), (base._a, result._a), base._a, base, {"chain": view.chain})
    move_hooks(base)
    version = t._storage.version
    take_place(t, replay(base, view.chain))
    view.version = version
    move_hooks(t)


def assign(t, result, name, checks_history=True):
    """Stores `result` in the memory of `t`, and gives `t` its history.

    Callers that called ``check_history`` before computing the result pass False.
    """
    own, new = t._a, result._a
    if new.shape != own.shape and not broadcasts(new.shape, own.shape):
        raise RuntimeError(WRONG_SHAPE.format(own=list(own.shape), new=list(new.shape)))
    if new.dtype != own.dtype:
        check_cast(result.dtype, t.dtype)
        result = cast(result, dtype=own.dtype)
    if in_use.levels:
        join_level(t, (result._a,))
    recorded = modes.grad and (result._rg or t._rg)
    if recorded and checks_history:
        check_history(t)
    write(t, name, engine_of(own, new).write, result._a)
    if recorded:
        save_written(t, result)
        take_history(t, result)
    return t


def save_written(t, result):
    """Makes the node of `result`, if it has saved the result, guard against writes to `t`, where the result now is.

    If possible, it saves the memory of `t` instead of the result.
    """
    node = result._node
    if not isinstance(node, OpNode) or node.packed or node.out is not result._a or t._a.shape != result._a.shape:
        return
    guards = node.guards
    if t._view is None and engine_for(t) is NUMPY:
        node.out = t._a
        guards = [g for g in guards if g[0] is not result._storage]
    node.guards = (*guards, guard(t))


def join_level(t, arrays):
    """Before a write of values computed from `arrays`, makes `t` a tensor of their transform."""
    level = level_of((t._a, *arrays))
    if level is not None:
        level.prepare_write(t, arrays)


def at_place_of(t, array):
    """A tensor over `array` at the place of `t` in the graph."""
    other = wrap(array, t.device)
    take_place(other, t)
    return other


def snapshot(t):
    """A copy of the tensor's current elements, at the same place in the graph."""
    place = t
    if t._view is not None and any(step is as_strided for step, _, _ in t._view.chain):
        place = replay(t._view.base, t._view.chain)  # it may reach elements outside its source tensor
    return at_place_of(place, engine_for(t).copy(t._a))
