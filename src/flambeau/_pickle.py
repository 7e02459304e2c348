"""Pickling and copying of tensors: the storage travels once, however many tensors look at it."""

from __future__ import annotations

import copy
import copyreg

from ._device import META, strided
from ._storage import Storage
from ._tensor import Tensor, device_storage, engine_for, storage_of
from .engines import NUMPY, engine_on, on_host
from .engines.sparse import SparseArray
from .functions._attach import methods
from .overrides import new_instance

NOT_A_LEAF = (
    "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment. Copy "
    "tensor.detach() instead, or tensor.clone() to stay in the graph."
)


def rebuild_tensor(cls, storage, dtype, offset, shape, stride, requires_grad):
    """A tensor of class `cls` over a storage."""
    if storage is None:
        array = engine_on(META).create(None, shape, dtype.np, META)
        return new_leaf(cls, array, device_storage(array, META), requires_grad)
    array = NUMPY.array_in(NUMPY.bytes_of(storage.array), dtype.np, offset, shape, stride)
    return new_leaf(cls, array, storage, requires_grad)


def rebuild_sparse(cls, indices, values, shape, coalesced, requires_grad):
    """A sparse tensor of its parts."""
    array = SparseArray(indices, values, shape, coalesced)
    return new_leaf(cls, array, device_storage(array), requires_grad)


def new_leaf(cls, array, storage, requires_grad):
    """A leaf of class `cls` with the elements `array` in `storage`."""
    t = new_instance(cls)
    t._a, t._storage, t._rg = array, storage, requires_grad
    t._node = t._view = t._grad = t._hooks = None
    t._nr = 0
    return t


def _parts(t):
    """What rebuild_tensor wants of a tensor besides class and storage."""
    return t.dtype, t.storage_offset(), t._a.shape, t.stride(), t.requires_grad


def reduce_tensor(self, protocol):
    """How pickle takes a tensor apart: memory, place in it, requires_grad, and the attributes set on it."""
    if self.layout is not strided:
        a = self._a
        parts = on_host(a.indices, "pickling"), on_host(a.values, "pickling"), a.shape, a.coalesced
        return rebuild_sparse, (type(self), *parts, self.requires_grad), state_of(self) or None
    if self.device is META:
        dtype, shape = self.dtype, self._a.shape
        arguments = (type(self), None, dtype, 0, shape, (), self.requires_grad)
    else:
        arguments = (type(self), storage_of(self), *_parts(self))
    return rebuild_tensor, arguments, state_of(self) or None


def state_of(t):
    """The attributes that were set on a tensor: a dict, or a pair of it and of those that have slots."""
    cls = type(t)
    if cls.__getstate__ is not object.__getstate__:
        return t.__getstate__()
    slots = {name: getattr(t, name) for name in copyreg._slotnames(cls)
             if name not in Tensor.__slots__ and hasattr(t, name)}
    return (t.__dict__, slots) if slots else t.__dict__


def set_state(self, state):
    """Sets the attributes that were saved; those that make the tensor itself are out of reach."""
    if isinstance(state, tuple):
        state, slots = state
        for name, value in slots.items():
            if name in Tensor.__slots__:
                raise AttributeError(f"{name} cannot be set by a file")
            setattr(self, name, value)
    self.__dict__.update(state)


def deepcopy_tensor(self, memo):
    """A leaf with memory of its own; tensors copied together that shared a storage share one again."""
    if not self.is_leaf:
        raise RuntimeError(NOT_A_LEAF)
    if id(self) in memo:
        return memo[id(self)]
    if engine_for(self) is not NUMPY:
        array = engine_for(self).copy(self._a)
        out = new_leaf(type(self), array, device_storage(array, self.device), self._rg)
    else:
        storage = _copy_storage(storage_of(self), memo)
        out = rebuild_tensor(type(self), storage, *_parts(self))
    memo[id(self)] = out
    if self._grad is not None:
        out._grad = copy.deepcopy(self._grad, memo)
    out.__dict__.update(copy.deepcopy(self.__dict__, memo))
    return out


def _copy_storage(storage, memo):
    """The copy of a storage. Two storages over one memory (``tensor.data``) have one memory again."""
    if id(storage) not in memo:
        key = id(storage.array)
        if key not in memo:
            memo[key] = NUMPY.bytes_of(storage.array).copy()
        memo[id(storage)] = Storage(memo[key])
    return memo[id(storage)]


methods(__reduce_ex__=reduce_tensor, __setstate__=set_state, __deepcopy__=deepcopy_tensor)
