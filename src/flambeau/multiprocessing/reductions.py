"""How tensors and storages are sent to another process: as descriptors of the shared memory they lie in."""

from __future__ import annotations

import os
from multiprocessing.reduction import DupFd, ForkingPickler
from weakref import WeakValueDictionary

import numpy as np

from .._shared_memory import SharedMemory, memory_under
from .._storage import Storage, WatchedStorage
from .._tensor import Tensor, engine_for, storage_of
from ..engines import NUMPY
from ..functions._untyped_storage import UntypedStorage, shared_copy, untyped_of
from ..functions.memory import move_to_shared_memory
from ..functions.storage import TypedStorage
from ..nn.parameter import Parameter
from ..serialization._rebuild import storage_dtype
from ..serialization._reduce import reduce_storage as pickled_storage

NOT_A_LEAF = (
    "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd does not support crossing "
    "process boundaries. If you just want to transfer the data, call detach() on the tensor before serializing (e.g., "
    "putting it on the queue)."
)

_storages: WeakValueDictionary = WeakValueDictionary()  # sent or received, by their files: one memory, one Storage


def init_reductions():
    """Has multiprocessing send tensors in this way."""
    ForkingPickler.register(Tensor, reduce_tensor)
    ForkingPickler.register(Parameter, reduce_tensor)
    ForkingPickler.register(Storage, reduce_storage)
    ForkingPickler.register(WatchedStorage, reduce_storage)
    ForkingPickler.register(UntypedStorage, reduce_untyped_storage)


def reduce_tensor(t):
    """Moves a tensor to shared memory, unless it is there, and takes it apart."""
    if t.requires_grad and not t.is_leaf:
        raise RuntimeError(NOT_A_LEAF)
    if engine_for(t) is NUMPY and not _has_descriptor(storage_of(t)):
        move_to_shared_memory(t)
    return t.__reduce_ex__(2)


def reduce_untyped_storage(storage):
    """Moves a storage to shared memory, unless it is there, and takes it apart."""
    if storage._storage.engine is NUMPY and not _has_descriptor(storage._storage):
        storage._storage = shared_copy(storage._storage)
    return storage.__reduce__()


def reduce_storage(storage):
    """The descriptor of shared memory; what lies elsewhere is copied."""
    if not _has_descriptor(storage):
        return pickled_storage(storage)
    memory = memory_under(storage.array)
    _storages[_file_of(memory.fd)] = storage
    return rebuild_storage, (DupFd(memory.fd), memory.size, storage_dtype(storage))


def rebuild_storage(descriptor, size, dtype):
    """The storage in the memory of a descriptor: the one that is there already, if this process has it."""
    fd = descriptor.detach()
    storage = _storages.get(_file_of(fd))
    if storage is not None:
        os.close(fd)
    else:
        storage = _storages[_file_of(fd)] = Storage(np.asarray(SharedMemory(fd, size)))
        storage.shared = True
    return TypedStorage(wrap_storage=untyped_of(storage), dtype=dtype)


def _has_descriptor(storage):
    memory = memory_under(storage.array)
    return memory is not None and memory.fd is not None


def _file_of(fd):
    found = os.fstat(fd)
    return found.st_dev, found.st_ino
