"""Transfers objects from a worker to its parent: pickled, except for arrays, which go through shared memory.

A worker writes each larger array to a segment of shared memory, which the parent's tensors then use directly; once
the last of them is freed, the worker may reuse the segment. After the first batches, nothing is allocated any more.
"""

from __future__ import annotations

import io
import pickle
from collections import defaultdict
from multiprocessing.reduction import ForkingPickler
from typing import NamedTuple

import numpy as np

from ...._dtypes import from_np
from ...._pickle import new_leaf
from ...._shared_memory import SharedMemory
from ...._storage import Storage, address
from ...._tensor import Tensor, engine_for
from ....engines import NUMPY
from ....multiprocessing.reductions import NOT_A_LEAF
from ....nn.parameter import Parameter

INLINE = 1 << 14  # bytes up to which an array is pickled inline: for less, mapping costs more than copying
PROTOCOL = 5


class Lease:
    """A reference to shared memory, held by arrays; after the last one is freed, ``release(number)`` is called."""

    __slots__ = ("memory", "number", "release")

    def __init__(self, memory, number, release):
        self.memory = memory
        self.number = number
        self.release = release

    @property
    def __array_interface__(self):
        return self.memory.__array_interface__

    def __del__(self):
        self.release(self.number)


class Segment:
    """Shared memory of a worker, with a count of its users: arrays here, and batches in the parent."""

    __slots__ = ("memory", "number", "users")

    def __init__(self, number, size):
        self.number = number
        self.memory = SharedMemory.create(size)
        self.users = 0


class Loan(NamedTuple):
    """An array on loan to the parent: its segment's number, the segment's size, and the array's size in bytes."""

    number: int
    size: int
    nbytes: int


class Segments:
    """The segments of a worker."""

    def __init__(self):
        self._all = []
        self._free = defaultdict(list)  # numbers by size
        self._by_address = {}
        self._free_queue = []  # segments whose arrays were freed here, appended by any thread

    def array(self, nbytes):
        """A byte array in a free segment, which remains in use until the array is freed."""
        segment = self._take(nbytes)
        return np.asarray(Lease(segment.memory, segment.number, self._free_queue.append))[:nbytes]

    def lend(self, raw):
        """The loan of a byte array, copied to a segment unless it already is at the start of one."""
        number = self._by_address.get(address(raw))
        if number is not None:
            segment = self._all[number]
            segment.users += 1
        else:
            segment = self._take(raw.nbytes)
            np.copyto(np.asarray(segment.memory)[: raw.nbytes], raw)
        return Loan(segment.number, segment.memory.size, raw.nbytes)

    def _take(self, nbytes):
        while self._free_queue:
            self.release(self._free_queue.pop())
        size = 1 << (max(nbytes, 1) - 1).bit_length()  # untouched pages cost nothing
        free = self._free[size]
        segment = self._all[free.pop()] if free else self._add(size)
        segment.users = 1
        return segment

    def _add(self, size):
        segment = Segment(len(self._all), size)
        self._all.append(segment)
        self._by_address[segment.memory.address] = segment.number
        return segment

    def release(self, number):
        """Decrements the number of users."""
        segment = self._all[number]
        segment.users -= 1
        if not segment.users:
            self._free[segment.memory.size].append(number)

    def descriptors(self, loans):
        """(number, descriptor) of the segments that are new to the parent."""
        for loan in loans:
            if (fd := self._all[loan.number].memory.fd) is not None:
                yield loan.number, fd

    def close_descriptors(self, numbers):
        """Closes the descriptors of segments that the parent has mapped."""
        for number in numbers:
            self._all[number].memory.close_descriptor()


class MappedSegments:
    """The segments of a worker, from the parent's side."""

    def __init__(self):
        self._all = {}
        self.released = []  # numbers to send to the worker

    def add(self, number, fd, size):
        """Maps a segment."""
        memory = self._all[number] = SharedMemory(fd, size)
        memory.close_descriptor()

    def array(self, loan):
        """The array on loan."""
        lease = Lease(self._all[loan.number], loan.number, self.released.append)
        return np.asarray(lease)[: loan.nbytes]


# ---- pickling


def dump(value, segments):
    """(bytes, loans) of an object: its pickle, and the arrays in shared memory."""
    loans = []

    def place(buffer):
        raw = buffer.raw()
        if raw.nbytes <= INLINE:
            return True
        loans.append(segments.lend(np.frombuffer(raw, np.uint8)))
        return False

    file = io.BytesIO()
    try:
        _BatchPickler(file, PROTOCOL, True, place).dump(value)
    except BaseException:
        for loan in loans:
            segments.release(loan.number)
        raise
    return file.getvalue(), loans


load = pickle.loads  # takes the arrays on loan as ``buffers``


class _BatchPickler(ForkingPickler):
    """Pickles tensors with their elements as an out-of-band buffer."""

    def __init__(self, *args):
        super().__init__(*args)
        self.dispatch_table = {**self.dispatch_table, Tensor: _reduce_tensor, Parameter: _reduce_tensor}


def _reduce_tensor(t):
    if t.requires_grad and not t.is_leaf:
        raise RuntimeError(NOT_A_LEAF)
    if engine_for(t) is not NUMPY:
        return t.__reduce_ex__(PROTOCOL)
    array, axes = _to_memory_order(t._a)
    arguments = (type(t), array.reshape(-1).view(np.uint8), from_np(array.dtype), array.shape, axes, t.requires_grad)
    return _rebuild, arguments, t.__dict__ or None


def _to_memory_order(array):
    """The array permuted to memory order, and that permutation, or None if it is the identity.

    Non-contiguous arrays are copied, so that a view of a large tensor does not transfer all of it.
    """
    if array.flags.c_contiguous:
        return array, None
    axes = sorted(range(array.ndim), key=lambda i: -array.strides[i])
    turned = array.transpose(axes)
    return (turned, axes) if turned.flags.c_contiguous else (np.ascontiguousarray(array), None)


def _rebuild(cls, raw, dtype, shape, axes, requires_grad):
    if not raw.flags.writeable:
        raw = raw.copy()
    array = raw.view(dtype.np).reshape(shape)
    if axes is not None:
        array = array.transpose(np.argsort(axes))
    storage = Storage(array)
    storage.shared = raw.nbytes > INLINE
    return new_leaf(cls, array, storage, requires_grad)
