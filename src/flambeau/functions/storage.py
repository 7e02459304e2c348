"""Storages: the memory behind tensors, as bytes (UntypedStorage) and as elements (TypedStorage)."""

from __future__ import annotations

import numpy as np

from .. import _dtypes
from .._device import CPU, META
from .._tensor import Storage, address, storage_of, wrap
from ..engines.numpy.memory import bytes_of
from ._args import np_dtype_of
from ._attach import methods
from ._data import array_from, scalar_for
from ._warn import warn_once

DEPRECATED = (
    "TypedStorage is deprecated. It will be removed in the future and UntypedStorage will be the only storage class. "
    "This should only matter to you if you are using storages directly. To access UntypedStorage directly, use "
    "tensor.untyped_storage() instead of tensor.storage()"
)


class UntypedStorage:
    """The bytes behind a tensor. Tensors that alias each other have the same storage.

    Args:
        args: nothing, the number of bytes, or a sequence of their values.
    """

    __slots__ = ("_storage",)

    def __init__(self, *args, device=None):
        if len(args) > 1:
            raise TypeError(f"UntypedStorage takes a size or a sequence of bytes, got {len(args)} arguments")
        given = args[0] if args else 0
        array = np.empty(given, np.uint8) if isinstance(given, int) else array_from(given, np.dtype(np.uint8))
        self._storage = Storage(array)

    @property
    def _bytes(self):
        if self.device is META:
            raise NotImplementedError("Not available for 'meta' device type: a meta storage has no bytes")
        return bytes_of(self._storage.array)

    @property
    def device(self):
        """Where the memory lies."""
        return CPU if type(self._storage.array) is np.ndarray else META

    is_cuda = False
    is_sparse = False

    def nbytes(self):
        """The number of bytes."""
        array = self._storage.array
        return self._bytes.size if self.device is CPU else array.size * array.itemsize

    size = nbytes
    __len__ = nbytes

    def element_size(self):
        """The bytes of one element: 1."""
        return 1

    def data_ptr(self):
        """The address of the first byte."""
        return address(self._bytes) if self.device is CPU and self.nbytes() else 0

    def __getitem__(self, index):
        if isinstance(index, slice):
            return _untyped(Storage(self._bytes[index]))
        return int(self._bytes[index])

    def __setitem__(self, index, value):
        self._bytes[index] = value

    def __iter__(self):
        return iter(self.tolist())

    def __eq__(self, other):
        return isinstance(other, UntypedStorage) and self._storage is other._storage

    def __hash__(self):
        return hash(self._storage)

    def tolist(self):
        """The bytes as a list of ints."""
        return self._bytes.tolist()

    def fill_(self, value):
        """Sets every byte."""
        self._bytes[...] = value
        return self

    def copy_(self, source, non_blocking=False):
        """Takes over the bytes of another storage of the same size."""
        if source.nbytes() != self.nbytes():
            raise RuntimeError(f"size does not match: {source.nbytes()} bytes into a storage of {self.nbytes()} bytes")
        self._bytes[...] = source._bytes
        return self

    def clone(self):
        """A storage with a copy of the bytes."""
        return _untyped(Storage(self._bytes.copy()))

    def cpu(self):
        """The storage itself: it lies in the memory of the CPU."""
        return self

    def resize_(self, size):
        """Gives the storage another number of bytes; tensors made before keep the memory they have."""
        grown = np.zeros(size, np.uint8)
        kept = self._bytes[:size]
        grown[: kept.size] = kept
        self._storage.array = grown
        return self

    def is_shared(self):
        """Whether forked processes see each other's writes."""
        return self._storage.shared

    def is_pinned(self, device=None):
        """Whether the memory is page-locked: never, here."""
        return False

    def pin_memory(self, device=None):
        """The storage itself: there is no page-locked memory here."""
        return self

    def __repr__(self):
        body = "..." if self.device is META else "\n".join(f" {b}" for b in self.tolist())
        return f"{body}\n[torch.storage.UntypedStorage(device={self.device}) of size {self.nbytes()}]"

    def __copy__(self):
        return self.clone()

    def __deepcopy__(self, memo):
        if id(self._storage) not in memo:
            memo[id(self._storage)] = Storage(self._bytes.copy())
        return _untyped(memo[id(self._storage)])

    def __reduce__(self):
        return _untyped, (self._storage,)


def _untyped(storage):
    out = object.__new__(UntypedStorage)
    out._storage = storage
    return out


class TypedStorage:
    """The elements behind a tensor, in the order of memory.

    Args:
        args: nothing, the number of elements, or a sequence of them.
        dtype: the element type.
        wrap_storage: an UntypedStorage to look at instead.
    """

    is_cuda = False
    is_sparse = False

    def __init__(self, *args, device=None, dtype=None, wrap_storage=None, _internal=False):
        self.dtype = _dtypes.get_default_dtype() if dtype is None else dtype
        if not isinstance(self.dtype, _dtypes.dtype):
            raise TypeError(f"argument 'dtype' must be torch.dtype, not {type(dtype).__name__}")
        if len(args) > 1:
            raise RuntimeError(f"TypedStorage takes at most one positional argument, got {len(args)}")
        if wrap_storage is not None:
            if not isinstance(wrap_storage, UntypedStorage):
                kind = type(wrap_storage).__name__
                raise TypeError(f"Argument 'wrap_storage' must be UntypedStorage, but got {kind}")
            self._untyped_storage = wrap_storage
            return
        given = args[0] if args else 0
        if isinstance(given, TypedStorage):
            self._untyped_storage = given._untyped_storage
            return
        array = np.empty(given, self.dtype.np) if isinstance(given, int) else array_from(given, self.dtype.np)
        self._untyped_storage = _untyped(Storage(array))

    @property
    def _elements(self):
        raw = self._untyped_storage._bytes
        return raw[: raw.size // self.dtype.itemsize * self.dtype.itemsize].view(self.dtype.np)

    @property
    def _storage(self):
        return self._untyped_storage._storage

    @property
    def device(self):
        """Where the memory lies."""
        return self._untyped_storage.device

    def untyped(self):
        """The same memory as bytes."""
        return self._untyped_storage

    def size(self):
        """The number of elements."""
        return self._untyped_storage.nbytes() // self.dtype.itemsize

    __len__ = size

    def nbytes(self):
        """The number of bytes."""
        return self._untyped_storage.nbytes()

    def element_size(self):
        """The bytes of one element."""
        return self.dtype.itemsize

    def data_ptr(self):
        """The address of the first element."""
        return self._untyped_storage.data_ptr()

    def __getitem__(self, index):
        if isinstance(index, slice):
            raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
        if not isinstance(index, int):
            raise RuntimeError(f"can't index a TypedStorage with {type(index).__name__}")
        return wrap(self._elements[index: index + 1 or None]).item()

    def __setitem__(self, index, value):
        if isinstance(value, int | float | complex):
            value = scalar_for(value, self.dtype.np)
        self._elements[index] = value

    def __iter__(self):
        return iter(self.tolist())

    def __eq__(self, other):
        return isinstance(other, TypedStorage) and self._untyped_storage == other._untyped_storage

    def __hash__(self):
        return hash(self._untyped_storage)

    def tolist(self):
        """The elements as a list of Python numbers."""
        return wrap(self._elements).tolist()

    def fill_(self, value):
        """Sets every element."""
        self._elements[...] = scalar_for(value, self.dtype.np)
        return self

    def copy_(self, source, non_blocking=None):
        """Takes over the elements of another storage."""
        self._elements[...] = source._elements if isinstance(source, TypedStorage) else source._bytes
        return self

    def clone(self):
        """A storage with a copy of the elements."""
        return TypedStorage(wrap_storage=self._untyped_storage.clone(), dtype=self.dtype)

    def cpu(self):
        """The storage itself: it lies in the memory of the CPU."""
        return self

    def resize_(self, size):
        """Gives the storage another number of elements; tensors made before keep the memory they have."""
        self._untyped_storage.resize_(size * self.dtype.itemsize)
        return self

    def is_shared(self):
        """Whether forked processes see each other's writes."""
        return self._untyped_storage.is_shared()

    def is_pinned(self, device=None):
        """Whether the memory is page-locked: never, here."""
        return False

    def pin_memory(self, device=None):
        """The storage itself: there is no page-locked memory here."""
        return self

    def type(self, dtype=None, non_blocking=False):
        """The name of the storage's type, or a copy in another dtype."""
        if dtype is None:
            return f"torch.{_STORAGE_WORDS.get(self.dtype, self.dtype.name)}Storage"
        return TypedStorage(wrap_storage=_untyped(Storage(self._elements.astype(np_dtype_of(dtype)))), dtype=dtype)

    def __repr__(self):
        body = "..." if self.device is META else "\n".join(f" {v}" for v in self.tolist())
        return f"{body}\n[torch.storage.TypedStorage(dtype={self.dtype}, device={self.device}) of size {len(self)}]"

    def __deepcopy__(self, memo):
        return TypedStorage(wrap_storage=self._untyped_storage.__deepcopy__(memo), dtype=self.dtype)

    def __reduce__(self):
        return _typed, (self._untyped_storage, self.dtype)


def _typed(untyped, dtype):
    return TypedStorage(wrap_storage=untyped, dtype=dtype)


class _StorageType(type):
    """The type of FloatStorage and its like: a call makes a TypedStorage, an instance is one of the right dtype."""

    def __call__(cls, *args, device=None, dtype=None, wrap_storage=None, _internal=False):
        if dtype is not None and dtype is not cls.dtype:
            raise RuntimeError(f"{cls.__name__} is of dtype {cls.dtype}; leave the dtype argument out")
        return TypedStorage(*args, device=device, dtype=cls.dtype, wrap_storage=wrap_storage)

    def __instancecheck__(cls, instance):
        return isinstance(instance, TypedStorage) and instance.dtype is cls.dtype


_STORAGE_WORDS = {
    _dtypes.float32: "Float", _dtypes.float64: "Double", _dtypes.float16: "Half", _dtypes.bfloat16: "BFloat16",
    _dtypes.int64: "Long", _dtypes.int32: "Int", _dtypes.int16: "Short", _dtypes.int8: "Char",
    _dtypes.uint8: "Byte", _dtypes.bool_: "Bool", _dtypes.complex64: "ComplexFloat",
    _dtypes.complex128: "ComplexDouble",
}
STORAGES = {
    f"{word}Storage": _StorageType(f"{word}Storage", (), {
        "dtype": d, "__module__": "torch", "__doc__": f"Storages of {d.name} elements."
    })
    for d, word in _STORAGE_WORDS.items()
}
globals().update(STORAGES)

__all__ = ["TypedStorage", "UntypedStorage", "is_storage", *STORAGES]


def is_storage(obj, /):
    """Whether `obj` is a storage."""
    return isinstance(obj, UntypedStorage | TypedStorage)


# ---- methods of Tensor


def untyped_storage(self):
    """The bytes behind the tensor."""
    return _untyped(storage_of(self))


def storage(self):
    """The elements behind the tensor, in the order of memory."""
    warn_once(DEPRECATED)
    return TypedStorage(wrap_storage=untyped_storage(self), dtype=self.dtype)


methods(storage, untyped_storage)
