"""UntypedStorage, the bytes behind tensors, and what it shares with TypedStorage: devices, files and buffers."""

import os
import sys
from operator import methodcaller

import numpy as np

from .. import _dtypes
from .._device import CPU, META, resolve
from .._shared_memory import SharedMemory
from .._storage import Storage, address
from .._tensor import device_storage
from ..engines import NUMPY, engine_on

BYTE_ORDERS = ("native", "little", "big")
NO_BYTES = "Not available for '{device}' device type: only storages on the CPU show their bytes"
NOT_INTS = (
    "torch.UntypedStorage(): tried to construct a storage from a sequence ({kind}), but one of the items was of type "
    "{item} instead of int"
)
STEP = "Trying to slice with a step of {step}, but only a step of 1 is supported"
SIZES = "size does not match, self was {own} bytes but src was {source} bytes"


class StorageBase:
    """Base class: ``_storage`` is the memory, ``_values`` the array of its elements."""

    __slots__ = ()

    is_cuda = is_hpu = is_sparse = is_sparse_csr = False
    filename = None  # of a mapped file; not recorded

    @property
    def device(self):
        """The device of the memory."""
        return self._storage.device

    def get_device(self):
        """The index of the accelerator; None on the CPU."""
        return self.device.index

    def resizable(self):
        """Whether ``resize_`` may be called: always."""
        return True

    def is_shared(self):
        """Whether the memory is shared between processes."""
        return self._storage.shared

    def share_memory_(self):
        """Moves the bytes to shared memory; existing tensors keep the memory they have."""
        whole = self.untyped()
        if not whole._storage.shared and self.device is CPU:
            whole._storage = shared_copy(whole._storage)
        return self

    def is_pinned(self, device=None):
        """Whether the memory is page-locked: always False."""
        return False

    def pin_memory(self, device=None):
        """Returns the storage itself: memory is never page-locked here."""
        return self

    def __iter__(self):
        return iter(self.tolist())

    def __copy__(self):
        return self.clone()

    def __sizeof__(self):
        return super().__sizeof__() + self.nbytes()

    def _show(self, kind):
        body = "..." if self.device is META else " " + "\n ".join(map(str, self.tolist()))
        return f"{body}\n[torch.storage.{kind}device={self.device}) of size {len(self)}]"


def new_bytes(count, device=None):
    """An uninitialised Storage of `count` bytes."""
    if count < 0:
        raise RuntimeError(f"a storage cannot have a negative number of bytes, got {count}")
    if device is not None and resolve(device) is META:
        return device_storage(engine_on(META).create(None, (count,), np.dtype(np.uint8), META), META)
    return Storage(np.empty(count, np.uint8))


def shared_storage(count):
    """A Storage in shared memory."""
    out = Storage(np.asarray(SharedMemory.create(count)))
    out.shared = True
    return out


def shared_copy(storage):
    """A copy of a Storage in shared memory."""
    raw = NUMPY.bytes_of(storage.array)
    out = shared_storage(raw.size)
    out.array[...], out.version = raw, storage.version
    return out


def mapped_storage(filename, shared, count):
    """A Storage mapped from a file: with ``shared``, writes go to the file, which is created or extended as needed."""
    if shared:
        with open(filename, "ab") as file:
            if file.tell() < count:
                os.truncate(filename, count)
    out = Storage(np.memmap(filename, np.uint8, "r+" if shared else "c", shape=(count,)).view(np.ndarray))
    out.shared = bool(shared)
    return out


def buffer_storage(name, buffer, byte_order=None, count=-1, offset=0, *, dtype):
    """A Storage with a copy of a buffer, whose elements have the given dtype and byte order."""
    size = dtype.itemsize
    if byte_order is None and size > 1:
        raise RuntimeError(f"{name}.from_buffer(): function missing required argument 'byte_order' (pos 2) for {dtype}")
    if byte_order not in (None, *BYTE_ORDERS):
        raise ValueError(f"invalid byte_order '{byte_order}' (expected 'big', 'little' or 'native')")
    raw = np.frombuffer(buffer, np.uint8)
    if not 0 <= offset < max(raw.size, 1):
        raise ValueError(f"offset must be non-negative and no greater than buffer length ({raw.size}), got {offset}")
    if count < 0 and (raw.size - offset) % size:
        raise ValueError(f"buffer size ({raw.size - offset}) must be a multiple of element size ({size})")
    if count >= 0 and offset + count * size > raw.size:
        raise ValueError(f"buffer has only {raw.size - offset} bytes after offset {offset}, but needs {count * size}")
    raw = raw[offset:] if count < 0 else raw[offset: offset + count * size]
    out = raw.copy()
    if byte_order in ("little", "big") and byte_order != sys.byteorder:
        swap_bytes(out, dtype)
    return Storage(out)


def swap_bytes(raw, dtype):
    """Swaps the bytes of each element (each half of a complex one) in place."""
    size = dtype.itemsize // (1 + (dtype.category == _dtypes.COMPLEX))
    if raw.size % dtype.itemsize:
        raise RuntimeError(f"the number of bytes ({raw.size}) is not a multiple of the size of {dtype}")
    raw.reshape(-1, size)[...] = raw.reshape(-1, size)[:, ::-1].copy()


class UntypedStorage(StorageBase):
    """The bytes behind a tensor. Tensors that alias each other have the same storage.

    Args:
        args: nothing, the number of bytes, or a sequence of their values.
        device: where the memory lies.
    """

    __slots__ = ("_storage",)

    def __init__(self, *args, device=None):
        if len(args) > 1:
            raise TypeError(f"UntypedStorage takes a size or a sequence of bytes, got {len(args)} arguments")
        data = args[0] if args else 0
        if isinstance(data, int):
            self._storage = new_bytes(data, device)
            return
        if not hasattr(data, "__len__"):
            raise RuntimeError(f"torch.UntypedStorage(): Expected a sequence type, but got {type(data).__name__}")
        for item in data:
            if not isinstance(item, int):
                kinds = {"kind": type(data).__name__, "item": type(item).__name__}
                raise RuntimeError(NOT_INTS.format(**kinds))
        self._storage = new_bytes(len(data), device)
        self._bytes[...] = [item & 255 for item in data]

    @classmethod
    def _new_shared(cls, size, *, device="cpu"):
        return untyped_of(shared_storage(size))

    @classmethod
    def from_buffer(cls, *args, dtype=None, device=None, **kwargs):
        """Copies a buffer to a new storage: ``from_buffer(buffer, byte_order, count, offset, dtype=)``."""
        return untyped_of(buffer_storage("UntypedStorage", *args, dtype=dtype or _dtypes.uint8, **kwargs))

    @classmethod
    def from_file(cls, filename, shared=False, size=0, **kwargs):
        """Maps a file into memory as a storage."""
        return untyped_of(mapped_storage(filename, shared, kwargs.get("nbytes", size)))

    @property
    def _bytes(self):
        if self.device is not CPU:
            raise NotImplementedError(NO_BYTES.format(device=self.device))
        return NUMPY.bytes_of(self._storage.array)

    _values = _bytes

    @property
    def _cdata(self):
        return id(self._storage)

    def untyped(self):
        """Returns the storage itself."""
        return self

    def nbytes(self):
        """The number of bytes."""
        array = self._storage.array
        return self._bytes.size if self.device is CPU else array.size * array.itemsize

    size = nbytes
    __len__ = nbytes

    def element_size(self):
        """The size of an element in bytes: 1."""
        return 1

    def data_ptr(self):
        """The address of the first byte."""
        return address(self._bytes) if self.device is CPU and self.nbytes() else 0

    def __getitem__(self, index):
        if isinstance(index, slice):
            return untyped_of(Storage(self._bytes[_whole(index)]))
        if not isinstance(index, int):
            raise TypeError(f"can't index a torch.UntypedStorage with {type(index).__name__}")
        return int(self._bytes[in_range(index, self.nbytes())])

    def __setitem__(self, index, value):
        if not isinstance(value, int):
            raise RuntimeError(f"can only set storage content with a int types, but got {type(value).__name__} instead")
        if isinstance(index, slice):
            self._bytes[_whole(index)] = value & 255
            return
        if not isinstance(index, int):
            raise TypeError(f"can't index a torch.UntypedStorage with {type(index).__name__}")
        if not 0 <= index < self.nbytes():
            raise RuntimeError(f"out of bounds: there is no byte {index} in a storage of {self.nbytes()} to set")
        self._bytes[index] = value & 255

    def __eq__(self, other):
        return isinstance(other, UntypedStorage) and self._storage is other._storage

    def __hash__(self):
        return hash(self._storage)

    def tolist(self):
        """The bytes as a list of ints."""
        return self._bytes.tolist()

    def fill_(self, value):
        """Sets every byte to `value`."""
        if not isinstance(value, int):
            raise RuntimeError(f"fill_ expects int, but got {type(value).__name__}")
        if self.device is CPU:
            self._bytes[...] = value & 255
        return self

    def copy_(self, source, non_blocking=False):
        """Copies the bytes of another storage of the same size."""
        if not isinstance(source, StorageBase):
            kind = type(source).__name__
            raise TypeError(f"copy_(): argument 'src' (position 1) must be torch.Storage, not {kind}")
        if source.nbytes() != self.nbytes():
            raise RuntimeError(SIZES.format(own=self.nbytes(), source=source.nbytes()))
        if self.device is CPU:
            self._bytes[...] = source.untyped()._bytes
        return self

    def clone(self):
        """Returns a copy of the storage."""
        return untyped_of(new_bytes(self.nbytes(), self.device)).copy_(self)

    def new(self):
        """An empty storage."""
        return UntypedStorage()

    def cpu(self):
        """Returns the storage itself: it is on the CPU."""
        return self

    def to(self, *, device, non_blocking=False):
        """Returns the storage itself if it is on `device`, otherwise a copy there."""
        if resolve(device) is self.device:
            return self
        return untyped_of(new_bytes(self.nbytes(), device)).copy_(self)

    def resize_(self, size):
        """Changes the number of bytes; existing tensors keep the memory they have."""
        if not isinstance(size, int):
            raise RuntimeError(f"resize_ expects an int, but got {type(size).__name__}")
        resized = new_bytes(size, self.device)
        if self.device is CPU:
            kept = self._bytes[:size]
            resized.array[: kept.size], resized.array[kept.size:] = kept, 0
        self._storage = resized
        return self

    def byteswap(self, dtype):
        """Swaps the bytes of each element of `dtype` in place."""
        swap_bytes(self._bytes, dtype)

    def type(self):
        """The name of the storage's type."""
        return "torch.storage.UntypedStorage"

    def __repr__(self):
        return self._show("UntypedStorage(")

    def __deepcopy__(self, memo):
        if id(self._storage) not in memo:
            memo[id(self._storage)] = self.clone()._storage
        return untyped_of(memo[id(self._storage)])

    def __reduce__(self):
        return methodcaller("untyped"), (self._storage,)  # pickled as a TypedStorage


def untyped_of(storage):
    out = object.__new__(UntypedStorage)
    out._storage = storage
    return out


def _whole(index):
    """Returns a slice if it has no step."""
    if index.step not in (None, 1):
        raise RuntimeError(STEP.format(step=index.step))
    return index


def in_range(index, size):
    if not -size <= index < size:
        raise IndexError(f"index {index} out of range for storage of size {size}")
    return index % size
