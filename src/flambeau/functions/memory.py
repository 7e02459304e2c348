"""Methods that change a tensor's memory: set_, resize_, shared memory, and elementwise Python functions."""

import math
import warnings

from .._device import CPU
from .._layout import check_format, contiguous_strides, strides_in
from .._modes import modes
from .._tensor import LEAF_INPLACE, Tensor, engine_for, storage_of
from ..autograd._writes import count_write, write
from ..engines import NUMPY
from ._args import move, need_tensor, nonnegative, resize, shape_from
from ._attach import NO_VALUES, methods
from ._data import array_from
from ._determinism import blank, determinism
from ._untyped_storage import shared_copy
from .storage import TypedStorage, UntypedStorage, is_storage

__all__ = ["resize_as_"]


def set_(self, source=None, storage_offset=0, size=None, stride=None):
    """Points the tensor at other memory: that of a tensor or storage, or none."""
    if source is None:
        source = UntypedStorage()
    if isinstance(source, Tensor):
        if source._a.dtype != self._a.dtype:
            raise RuntimeError(f"Could not set tensor of type {source.dtype} to a tensor of type {self.dtype}")
        kept = storage_of(source)
        if size is None:
            array = source._a
        elif kept.engine is NUMPY:
            array = NUMPY.array_in(NUMPY.bytes_of(kept.array), self._a.dtype, storage_offset, *_layout(size, stride))
        else:
            source = source.detach().as_strided(*_layout(size, stride), storage_offset)
            array = source._a
    elif is_storage(source):
        if isinstance(source, TypedStorage):
            if source.dtype is not self.dtype:
                raise RuntimeError(f"Expected a Storage of type {self.dtype} but got {source.dtype}")
            source = source.untyped()
        kept, raw = source._storage, source._bytes
        if size is None:
            size = (raw.size // self._a.itemsize - storage_offset,)
        array = NUMPY.array_in(raw, self._a.dtype, storage_offset, *_layout(size, stride))
    else:
        kind = type(source).__name__
        raise TypeError(f"set_(): argument 'source' (position 1) must be Tensor or Storage, not {kind}")
    if self._rg and self._node is None and modes.grad:
        raise RuntimeError(LEAF_INPLACE)
    count_write(self, "set_")
    self._storage, self._view = kept, None
    kept.attach(self, array, source)
    return self


def _layout(size, stride):
    shape = nonnegative(shape_from((size,) if isinstance(size, (tuple, list)) else size))
    return shape, contiguous_strides(shape) if stride is None else tuple(stride)


def resize_(self, *args, size=None, memory_format=None):
    """Resizes the tensor; new elements are uninitialised.

    If its storage is too small, the tensor moves to a new one and no longer shares memory with others.
    """
    args = args or (size,)
    if args == (None,):
        raise TypeError(NO_VALUES.format(name="resize_", argument="size"))
    shape = nonnegative(shape_from(args))
    if self.requires_grad:
        raise RuntimeError("cannot resize variables that require grad")
    if memory_format is not None:
        check_format(memory_format, len(shape))
    if shape != self._a.shape:
        before = storage_of(self).array.nbytes if self._a.size else 0
        count_write(self, "resize_")
        if has_room_on_device(self, shape):
            part = self.detach().as_strided(shape, contiguous_strides(shape))
            self._storage.attach(self, part._a, part)
        else:
            resize(self, shape)
        if determinism.fills and self.device is CPU:
            NUMPY.bytes_of(storage_of(self).array)[before:].view(self._a.dtype)[...] = blank(self.dtype)
    if memory_format is not None:
        raw, offset = NUMPY.bytes_of(storage_of(self).array), self.storage_offset()
        self._a = NUMPY.array_in(raw, self._a.dtype, offset, shape, strides_in(shape, None, memory_format))
    return self


def has_room_on_device(t, shape):
    """Whether a tensor of this shape fits in the memory of `t` on a device whose arrays are immutable."""
    storage = storage_of(t)
    if storage.engine is NUMPY or storage.engine.aliases:
        return False
    memory = storage.memory
    is_plain = memory.strides is None and memory.array.dtype == t._a.dtype
    return is_plain and t.storage_offset() + math.prod(shape) <= memory.array.size


def resize_as_(input, the_template, *, memory_format=None):
    """Resizes the tensor to the shape of another."""
    shape = need_tensor(the_template, "resize_as_", "the_template")._a.shape
    return resize_(input, size=shape, memory_format=memory_format)


def resize_copy(self, *sizes):
    """Deprecated: reshapes the tensor; the number of elements must be the same."""
    warnings.warn("non-inplace resize is deprecated, use reshape", UserWarning, stacklevel=2)
    shape = nonnegative(shape_from(sizes))
    if math.prod(shape) != self._a.size:
        raise RuntimeError(
            f"requested resize to {list(shape)}, but the given tensor has {self._a.size} elements in "
            f"{list(self._a.shape)}: resize can only change the shape, preserving the number of elements."
        )
    return self.reshape(shape)


def resize_as_copy(self, tensor):
    """Deprecated: reshapes the tensor like another with as many elements."""
    return resize_copy(self, *need_tensor(tensor, "resize_as", "tensor")._a.shape)


def share_memory_(self):
    """Moves the tensor to shared memory; existing views keep the old memory."""
    if not storage_of(self).shared and self.device is CPU:
        move_to_shared_memory(self)
    return self


def move_to_shared_memory(t):
    """Moves a CPU tensor to a copy of its storage in shared memory."""
    shared = shared_copy(storage_of(t))
    t._a = NUMPY.array_in(shared.array, t._a.dtype, t.storage_offset(), t._a.shape, t.stride())
    move(t, shared)


def is_shared(self):
    """Whether the tensor is in memory shared between processes."""
    return self._storage is not None and self._storage.shared


def pin_memory(self, device=None):
    """Returns the tensor itself: no device here needs pinned memory."""
    return self


def is_pinned(self, device=None):
    """Whether the memory is page-locked: always False."""
    return False


def record_stream(self, stream):
    """Does nothing: the memory of a tensor is not used again before the work that reads it is done."""


# ---- element by element, in Python


def apply_(self, callable):
    """Replaces each element by ``callable(element)``; slow, in Python."""
    if self.requires_grad:
        raise RuntimeError("Can't call apply_() on Variable that requires grad. Use var.detach().apply_() instead.")
    return _each(self, (self,), callable, "apply_")


def map_(self, tensor, callable):
    """Replaces each element by ``callable(element, element of tensor)``; slow, in Python."""
    need_tensor(tensor, "map_", "tensor")
    if self.requires_grad or tensor.requires_grad:
        raise RuntimeError("Can't call map_() on Variable that requires grad. Use var.detach().map_() instead.")
    if tensor.dtype is not self.dtype:
        raise TypeError(f"map_: expected {self.type()} for 'other' (got {tensor.type()})")
    return _each(self, (self, tensor), callable, "map_")


def _each(t, operands, callable, name):
    columns = [x.broadcast_to(t._a.shape).reshape(-1).tolist() for x in operands]
    values = [callable(*row) for row in zip(*columns, strict=True)]
    return write(t, name, engine_for(t).write, array_from(values, t._a.dtype).reshape(t._a.shape))


methods(apply_, is_pinned, is_shared, map_, pin_memory, record_stream, resize_, resize_as_, set_, share_memory_,
        resize=resize_copy, resize_as=resize_as_copy)
