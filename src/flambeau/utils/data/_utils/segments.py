"""Objects on their way from a worker to its parent: pickled, but for their arrays, which lie in shared memory.

A worker writes each array of some size to a segment of shared memory. The parent's tensors lie in that memory; when the
last one of them is gone, the worker may use the segment again. So after the first batches no memory is asked for.
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

INLINE = 1 << 14  # bytes up to which an array is pickled with the rest: below, mapping costs more than copying
PROTOCOL = 5


class Lease:
    """The use of some shared memory, until the last array made of this is gone; then ``release(number)`` is called."""

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
    """Shared memory of a worker, and the number of those who use it: arrays here, and batches in the parent."""

    __slots__ = ("memory", "number", "users")

    def __init__(self, number, size):
        self.number = number
        self.memory = SharedMemory.create(size)
        self.users = 0


class Loan(NamedTuple):
    """An array that goes to the parent: the number of its segment, the bytes of that, and those of the array."""

    number: int
    size: int
    nbytes: int


class Segments:
    """The segments of a worker."""

    def __init__(self):
        self._all = []
        self._free = defaultdict(list)  # numbers by size
        self._by_address = {}
        self._gone = []  # numbers of segments whose arrays here are gone, noted by whatever thread it happened in

    def array(self, nbytes):
        """An array of bytes in a segment that nobody uses; it is used until the array is gone."""
        segment = self._take(nbytes)
        return np.asarray(Lease(segment.memory, segment.number, self._gone.append))[:nbytes]

    def lend(self, raw):
        """The loan of an array of bytes, which is copied to a segment unless it already begins one."""
        number = self._by_address.get(address(raw))
        if number is not None:
            segment = self._all[number]
            segment.users += 1
        else:
            segment = self._take(raw.nbytes)
            np.copyto(np.asarray(segment.memory)[: raw.nbytes], raw)
        return Loan(segment.number, segment.memory.size, raw.nbytes)

    def _take(self, nbytes):
        while self._gone:
            self.release(self._gone.pop())
        size = 1 << (max(nbytes, 1) - 1).bit_length()  # pages that nobody touches cost nothing
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
        """Counts one user less."""
        segment = self._all[number]
        segment.users -= 1
        if not segment.users:
            self._free[segment.memory.size].append(number)

    def descriptors(self, loans):
        """(number, descriptor) of the segments that the parent has not seen yet."""
        for loan in loans:
            if (fd := self._all[loan.number].memory.fd) is not None:
                yield loan.number, fd

    def close_descriptors(self, numbers):
        """Forgets the descriptors of segments that the parent has mapped."""
        for number in numbers:
            self._all[number].memory.close_descriptor()


class MappedSegments:
    """The segments of a worker, as its parent sees them."""

    def __init__(self):
        self._all = {}
        self.released = []  # numbers to send to the worker

    def add(self, number, fd, size):
        """Maps a segment."""
        memory = self._all[number] = SharedMemory(fd, size)
        memory.close_descriptor()

    def array(self, loan):
        """The array that was lent."""
        lease = Lease(self._all[loan.number], loan.number, self.released.append)
        return np.asarray(lease)[: loan.nbytes]


# ---- pickling


def dump(value, segments):
    """(bytes, loans) of an object: its pickle, and the arrays that lie in shared memory instead."""
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


load = pickle.loads  # of the bytes, with the arrays that were lent as ``buffers``


class _BatchPickler(ForkingPickler):
    """Takes apart tensors so that their elements are a buffer, which pickle hands out."""

    def __init__(self, *args):
        super().__init__(*args)
        self.dispatch_table = {**self.dispatch_table, Tensor: _reduce_tensor, Parameter: _reduce_tensor}


def _reduce_tensor(t):
    if t.requires_grad and not t.is_leaf:
        raise RuntimeError(NOT_A_LEAF)
    if engine_for(t) is not NUMPY:
        return t.__reduce_ex__(PROTOCOL)
    array, axes = _in_order_of_memory(t._a)
    arguments = (type(t), array.reshape(-1).view(np.uint8), from_np(array.dtype), array.shape, axes, t.requires_grad)
    return _rebuild, arguments, t.__dict__ or None


def _in_order_of_memory(array):
    """The array with its dimensions in the order of memory, and that order, or None if it is the usual one.

    What is not contiguous in any order is copied: of a view of a large tensor, only what it shows has to travel.
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
