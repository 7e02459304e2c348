"""Copying and pickling of tensors. A storage is saved once, however many tensors share it."""

import copy
import copyreg

from ._storage import Storage
from ._tensor import Tensor, engine_for, storage_of
from .engines import NUMPY
from .functions._attach import methods
from .overrides import new_instance

NOT_A_LEAF = (
    "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment. Copy "
    "tensor.detach() instead, or tensor.clone() to stay in the graph."
)


def rebuild_tensor(cls, storage, dtype, offset, shape, stride, requires_grad):
    """A tensor of class `cls` over a storage."""
    array = NUMPY.array_in(NUMPY.bytes_of(storage.array), dtype.np, offset, shape, stride)
    return new_leaf(cls, array, storage, requires_grad)


def new_leaf(cls, array, storage, requires_grad):
    """A leaf of class `cls` with the elements `array` in `storage`."""
    t = new_instance(cls)
    t._a, t._storage, t._rg = array, storage, requires_grad
    t._node = t._view = t._grad = t._hooks = None
    t._nr = 0
    return t


def _parts(t):
    """The arguments of rebuild_tensor besides class and storage."""
    return t.dtype, t.storage_offset(), t._a.shape, t.stride(), t.requires_grad


def state_of(t):
    """The user's attributes of a tensor: a dict, or a pair of it and a dict of slots."""
    cls = type(t)
    if cls.__getstate__ is not object.__getstate__:
        return t.__getstate__()
    slots = {name: getattr(t, name) for name in copyreg._slotnames(cls)
             if name not in Tensor.__slots__ and hasattr(t, name)}
    return (t.__dict__, slots) if slots else t.__dict__


def set_state(self, state):
    """Restores saved attributes, except the slots of Tensor itself."""
    if isinstance(state, tuple):
        state, slots = state
        for name, value in slots.items():
            if name in Tensor.__slots__:
                raise AttributeError(f"{name} cannot be set by a file")
            setattr(self, name, value)
    self.__dict__.update(state or {})


def deepcopy_tensor(self, memo):
    """A leaf with its own memory; tensors that shared a storage and are copied together share the copy."""
    if not self.is_leaf:
        raise RuntimeError(NOT_A_LEAF)
    if id(self) in memo:
        return memo[id(self)]
    if engine_for(self) is not NUMPY:
        out = new_leaf(type(self), *storage_of(self).copy(self._a, memo), self._rg)
    else:
        storage = _copy_storage(storage_of(self), memo)
        out = rebuild_tensor(type(self), storage, *_parts(self))
    memo[id(self)] = out
    if self._grad is not None:
        out._grad = copy.deepcopy(self._grad, memo)
    out.__dict__.update(copy.deepcopy(self.__dict__, memo))
    return out


def _copy_storage(storage, memo):
    """The copy of a storage. Storages that shared memory (``tensor.data``) share it in the copies too."""
    if id(storage) not in memo:
        key = id(storage.array)
        if key not in memo:
            memo[key] = NUMPY.bytes_of(storage.array).copy()
        memo[id(storage)] = Storage(memo[key])
    return memo[id(storage)]


methods(__setstate__=set_state, __deepcopy__=deepcopy_tensor)
