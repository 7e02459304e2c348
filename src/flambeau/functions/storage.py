"""Storages: the memory behind tensors, as bytes (UntypedStorage) and as elements (TypedStorage)."""

from __future__ import annotations

from functools import partial

from .. import _dtypes
from .._device import CPU, strided
from .._storage import Storage
from .._tensor import storage_of, wrap
from ._args import np_dtype_of
from ._attach import methods
from ._data import array_from, scalar_for
from ._untyped_storage import (
    StorageBase,
    UntypedStorage,
    buffer_storage,
    in_range,
    mapped_storage,
    new_bytes,
    untyped_of,
)
from ._warn import warn_once

DEPRECATED = (
    "TypedStorage is deprecated. It will be removed in the future and UntypedStorage will be the only storage class. "
    "This should only matter to you if you are using storages directly. To access UntypedStorage directly, use "
    "tensor.untyped_storage() instead of tensor.storage()"
)
COMBINATION = (
    "{name} received an invalid combination of arguments: it takes nothing, a size or a sequence of elements, or "
    "wrap_storage alone{extra}"
)


class TypedStorage(StorageBase):
    """The elements of a tensor's memory, in memory order.

    Args:
        args: nothing, the number of elements, or a sequence of them.
        dtype: the element type.
        device: the device of the memory.
        wrap_storage: an UntypedStorage to wrap instead.
    """

    def __init__(self, *args, device=None, dtype=None, wrap_storage=None, _internal=False):
        if dtype is not None and not isinstance(dtype, _dtypes.dtype):
            raise RuntimeError(f"expected torch.dtype, but got {type(dtype)}")
        if len(args) > 1 or (wrap_storage is not None and (args or device is not None or dtype is None)):
            raise RuntimeError(COMBINATION.format(name="TypedStorage.__init__", extra=" with its dtype"))
        if wrap_storage is not None and not isinstance(wrap_storage, UntypedStorage):
            raise TypeError(f"Argument 'wrap_storage' must be UntypedStorage, but got {type(wrap_storage).__name__}")
        self.dtype = _dtypes.get_default_dtype() if dtype is None else dtype
        data = args[0] if args else 0
        self._untyped_storage = self._fill_storage(data, device) if wrap_storage is None else wrap_storage

    def _fill_storage(self, data, device):
        """New memory for a number of elements, a sequence of them, or a copy of another storage."""
        if isinstance(data, TypedStorage):
            return data._untyped_storage
        if isinstance(data, int):
            return untyped_of(new_bytes(data * self.dtype.itemsize, device))
        return untyped_of(Storage(array_from(data, self.dtype.np)))

    @classmethod
    def from_buffer(cls, *args, dtype=None, device=None, **kwargs):
        """Copies a buffer to a new storage: ``from_buffer(buffer, byte_order, count, offset)``."""
        dtype = dtype or _dtypes.get_default_dtype()
        return _as_typed(untyped_of(buffer_storage("TypedStorage", *args, dtype=dtype, **kwargs)), dtype)

    @property
    def _elements(self):
        raw = self._untyped_storage._bytes
        return raw[: raw.size // self.dtype.itemsize * self.dtype.itemsize].view(self.dtype.np)

    _values = _elements

    @property
    def _storage(self):
        return self._untyped_storage._storage

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
        """The size of an element in bytes."""
        return self.dtype.itemsize

    def data_ptr(self):
        """The address of the first element."""
        return self._untyped_storage.data_ptr()

    def __getitem__(self, index):
        if isinstance(index, slice):
            raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
        if not isinstance(index, int):
            raise RuntimeError(f"can't index a {type(self)} with {type(index)}")
        place = in_range(index, self.size()) if self.device is CPU else index
        return wrap(self._elements[place: place + 1]).item()

    def __setitem__(self, index, value):
        if not isinstance(index, (int, slice)):
            raise RuntimeError(f"can't index a {type(self)} with {type(index)}")
        self._elements[index] = self._element(value)

    def _element(self, value):
        if not isinstance(value, (int, float, complex)):
            word = _dtypes.type_word(self.dtype)
            raise TypeError(f"can't assign a {type(value).__name__} to a torch.{word}Tensor")
        return scalar_for(value, self.dtype.np)

    def __eq__(self, other):
        return isinstance(other, TypedStorage) and self._untyped_storage == other._untyped_storage

    def __hash__(self):
        return hash(self._untyped_storage)

    def tolist(self):
        """The elements as a list of Python numbers."""
        return wrap(self._elements).tolist()

    def fill_(self, value):
        """Sets every element."""
        self._elements[...] = self._element(value)
        return self

    def copy_(self, source, non_blocking=None):
        """Copies the bytes of another storage of the same size."""
        self._untyped_storage.copy_(source.untyped() if isinstance(source, StorageBase) else source)
        return self

    def clone(self):
        """Returns a copy of the storage."""
        return _as_typed(self._untyped_storage.clone(), self.dtype)

    def cpu(self):
        """Returns the storage itself: it is on the CPU."""
        return _as_typed(self._untyped_storage.cpu(), self.dtype)

    def to(self, *, device, non_blocking=False):
        """The storage on `device`."""
        return _as_typed(self._untyped_storage.to(device=device), self.dtype)

    def resize_(self, size):
        """Changes the number of elements; existing tensors keep the memory they have."""
        self._untyped_storage.resize_(size * self.dtype.itemsize)

    def pickle_storage_type(self):
        """The name of the legacy class that files refer to."""
        return f"{_STORAGE_WORDS[self.dtype]}Storage"

    def type(self, dtype=None, non_blocking=False):
        """The name of the storage's type, or a copy in another dtype."""
        return f"torch.{self.pickle_storage_type()}" if dtype is None else _convert(self, dtype)

    def __repr__(self):
        return self._show(f"TypedStorage(dtype={self.dtype}, ")

    def __deepcopy__(self, memo):
        return _as_typed(self._untyped_storage.__deepcopy__(memo), self.dtype)

    def __reduce__(self):
        # If PyTorch reads this, it warns about storages created without _internal.
        return partial(TypedStorage, wrap_storage=self._untyped_storage, dtype=self.dtype, _internal=True), ()


def _as_typed(untyped, dtype):
    return TypedStorage(wrap_storage=untyped, dtype=dtype)


def _convert(storage, dtype):
    """A copy of the storage in another dtype."""
    return _as_typed(untyped_of(Storage(storage._values.astype(np_dtype_of(dtype)))), dtype)


# ---- FloatStorage and its like


class _StorageType(type):
    """The metaclass of FloatStorage and the like: calls create TypedStorages, isinstance checks the dtype."""

    dtype: _dtypes.dtype

    def __call__(cls, *args, device=None, dtype=None, wrap_storage=None, _internal=False):
        if device is not None or dtype is not None:
            extra = f"; its elements are of {cls.dtype}, on the CPU"
            raise RuntimeError(COMBINATION.format(name=f"torch.{cls.__name__}.__new__", extra=extra))
        return TypedStorage(*args, dtype=cls.dtype, wrap_storage=wrap_storage)

    def __instancecheck__(cls, instance):
        return isinstance(instance, TypedStorage) and instance.dtype is cls.dtype

    def from_buffer(cls, *args, **kwargs):
        """Copies a buffer to a new storage: ``from_buffer(buffer, byte_order, count, offset)``."""
        return TypedStorage.from_buffer(*args, dtype=cls.dtype, **kwargs)

    def from_file(cls, filename, shared=False, size=0):
        """Maps a file into memory as a storage of `size` elements."""
        return _as_typed(untyped_of(mapped_storage(filename, shared, size * cls.dtype.itemsize)), cls.dtype)

    def _new_shared(cls, size, *, device="cpu"):
        return _as_typed(UntypedStorage._new_shared(size * cls.dtype.itemsize), cls.dtype)


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


def _conversion(dtype, name):
    def method(self):
        return _convert(self, dtype)

    method.__name__, method.__qualname__ = name, f"StorageBase.{name}"
    method.__doc__ = f"A copy of the elements as {dtype.name}."
    return method


for _dtype, _word in _STORAGE_WORDS.items():
    _name = _word.lower().replace("complex", "complex_")
    setattr(StorageBase, _name, _conversion(_dtype, _name))


def is_storage(obj, /):
    """Whether `obj` is a storage."""
    return isinstance(obj, StorageBase)


# ---- methods of Tensor


def untyped_storage(self):
    """The tensor's memory as bytes."""
    if self.layout is not strided:
        raise NotImplementedError("Cannot access storage of a sparse tensor: its values() and indices() have storages")
    return untyped_of(storage_of(self))


def storage(self):
    """The tensor's memory as elements."""
    warn_once(DEPRECATED)
    return _as_typed(untyped_storage(self), self.dtype)


def storage_type(self):
    """The class of the tensor's storage, such as FloatStorage."""
    return STORAGES[f"{_STORAGE_WORDS[self.dtype]}Storage"]


methods(storage, storage_type, untyped_storage)
