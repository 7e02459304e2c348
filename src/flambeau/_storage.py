"""Storages: the memory behind tensors, with its device, its engine and its version (the number of writes)."""

import itertools
from sys import getrefcount

from ._device import CPU, strided
from ._slots import are_in_slots, increment_slot, read_slot, set_slot, unheld
from .engines import NUMPY, on_host
from .engines._views import Memory, ViewArray, view_layout


class Storage:
    """CPU memory behind one or more tensors, and its version.

    Tensors that alias each other share one Storage. On the CPU it is created on first use: when a tensor is viewed,
    written to, or saved for backward. Tensors on other devices have a DeviceStorage.
    """

    __slots__ = ("__dict__", "__weakref__", "array", "inference", "version", "writer")

    engine, device = NUMPY, CPU
    shared = False  # whether other processes see the writes
    has_uncounted_writes = False  # whether there may have been writes that `version` does not count
    shared_outside = False  # whether arrays of NumPy, or other objects, are known to have the same memory

    def __init__(self, array, version=0):
        self.array = array
        self.version = version
        self.writer = None  # name of the last operation that wrote
        self.inference = False  # created in inference mode

    @property
    def identity(self):
        """A key that identifies the memory; empty storages have distinct keys."""
        raw = NUMPY.bytes_of(self.array)
        return (address(raw), raw.size) if raw.size else id(self)

    def with_own_version(self, version=0):
        """A storage over the same memory with its own version."""
        self.has_uncounted_writes = True
        found = Storage(self.array, version)
        found.shared_outside = self.shared_outside
        return found

    def host_bytes(self, what):
        """The bytes of the memory as a flat array on the host; `what` names the caller in errors."""
        return NUMPY.bytes_of(self.array)

    def offset(self, array):
        """The offset of an array in this memory, in elements; 0 for an empty one."""
        return 0 if array.size == 0 else (address(array) - address(self.array)) // array.itemsize

    def attach(self, t, array, source, step=None, layout=None):
        """Sets the array of `t`: the view of `source` by `step`, or all of it without a step."""
        t._a = array

    def replace(self, t, array, put):
        """Makes `array` the elements of `t`, after a write that did not fill its memory in place."""
        t._a = self.array = array


class WatchedStorage(Storage):
    """A storage to which a node of the graph refers weakly; Storages become one."""

    __slots__ = ()

    def __del__(self):
        guard = self.guard()
        if guard is not None:
            guard.keep(self)


class DeviceStorage(Storage):
    """Memory behind tensors on a device, whose arrays are not NumPy's.

    On engines with immutable arrays, tensors that share elements hold ViewArrays of one Memory. A tensor that shares
    its elements with no other holds the array itself; the Memory is created with the first view.
    """

    __slots__ = ("_array", "_memory", "device", "engine")

    def __init__(self, array, engine, device, memory=None, version=0):
        self.engine = engine
        self.device = device
        if type(array) is ViewArray:
            array, memory = None, array.memory
        self._array = array  # None if there is a memory
        self._memory = memory
        self.version = version
        self.writer = None
        self.inference = False

    @property
    def memory(self):
        if self._memory is None:
            self._memory, self._array = Memory(self._array), None
        return self._memory

    @property
    def array(self):
        return self._array if self._memory is None else self._memory.array

    @array.setter
    def array(self, array):
        if self._memory is None:
            self._array = array
        else:
            self._memory.exchange(array)

    @property
    def identity(self):
        return id(self.memory)

    def with_own_version(self, version=0):
        return DeviceStorage(None, self.engine, self.device, self.memory, version)

    def copy(self, array, copies):
        """(a copy of an array in this storage, its storage). Arrays that share elements do so in their copies too:
        `copies` maps identities of storages and memories to their copies."""
        if type(array) is not ViewArray:  # it does not share its elements
            array = self.engine.copy(array)
            return array, DeviceStorage(array, self.engine, self.device)
        memory = self.memory
        if id(memory) not in copies:
            copies[id(memory)] = Memory(self.engine.copy(memory.array), memory.strides)
        copied = copies[id(memory)]
        if id(self) not in copies:
            copies[id(self)] = DeviceStorage(None, self.engine, self.device, copied)
        return ViewArray(copied, array.chain, array.value, array.strides, array.offset), copies[id(self)]

    def host_bytes(self, what):
        array, strides = on_host(self.array, what), None if self._memory is None else self._memory.strides
        if strides is not None:
            array = array.transpose(sorted(range(array.ndim), key=lambda axis: -strides[axis])).copy()
        return NUMPY.bytes_of(array)

    def offset(self, array):
        return self.engine.layout_of(array)[1]

    def attach(self, t, array, source, step=None, layout=None):
        if self.engine.arrays_have_strides or self.engine.layout is not strided:
            t._a = array
            return
        strides, offset = layout or self.engine.layout_of(source._a)
        if step is not None and layout is None:
            strides, offset = view_layout(source._a.shape, strides, offset, source._a.dtype, step)
        if self.engine.aliases:
            t._a = self.engine.with_layout(array, strides, offset)
            return
        view, memory = source._a, self.memory
        if type(view) is not ViewArray:
            view = source._a = ViewArray(memory, (), view, *self.engine.layout_of(view))
        t._a = ViewArray(memory, view.chain if step is None else (*view.chain, step), array, strides, offset)

    def replace(self, t, array, put):
        view, memory = t._a, self._memory
        if type(view) is not ViewArray:
            if memory is not None and getrefcount(memory) < UNSHARED:
                self._memory = None
            t._a = self.array = array
        elif view.chain:
            memory.exchange(put(self.engine, memory.array, view.chain, array))
            view.refresh(array)
        else:
            memory.exchange(array)
            view.refresh(array)
            if memory.strides is None and getrefcount(memory) <= UNSHARED:
                t._a = view._array  # nothing else shares the elements any more


_COMMON = [Storage.__dict__[name] for name in ("version", "writer", "inference")]
_version, _writer, _inference = _COMMON
_engine, _device, _own_array, _memory = [
    DeviceStorage.__dict__[name] for name in ("engine", "device", "_array", "_memory")]
WRITTEN = _memory, _own_array, _writer, _version  # the slots that a write on a device changes


def new_storages(arrays, engine, device, inference, blank=()):
    """Creates a ``DeviceStorage`` for each of many arrays, which are not views; `blank` ones are reused first."""
    count = len(arrays) - len(blank)
    storages = [*map(object.__new__, itertools.repeat(DeviceStorage, count))]
    for member, value in zip((_engine, _device, _memory), (engine, device, None), strict=True):
        set_slot(member, storages, [value] * count)
    storages = [*blank, *storages]
    for member, value in zip(_COMMON, (0, None, inference), strict=True):
        set_slot(member, storages, [value] * len(arrays))
    set_slot(_own_array, storages, arrays)
    return storages


def clear_all(storages, engine, device):
    """Clears many storages so that ``new_storages`` can reuse them; returns whether it has.

    It refuses if anything but one tensor and the list refers to one of them, or if tensors may share elements.
    """
    count = len(storages)
    if not {*map(type, storages)} <= {DeviceStorage} or len(unheld(storages, 2)) != count or not are_in_slots(
        (_engine, _device, _memory), storages, ([engine] * count, [device] * count, [None] * count)
    ):
        return False
    set_slot(_own_array, storages, [None] * count)
    return True


def count_writes(storages, writer):
    """Counts a write to each of many storages; a storage listed twice gets two."""
    set_slot(_writer, storages, [writer] * len(storages))
    increment_slot(_version, storages)


def any_of_inference(storages):
    """Whether any of many storages was created in inference mode."""
    return any(read_slot(_inference, storages))


def references_of_one_tensor():
    """The reference count, in ``replace``, of a memory that is not shared: one variable, storage and array."""
    memory = object()
    holders = memory, memory  # noqa: F841
    return getrefcount(memory)


UNSHARED = references_of_one_tensor()


def address(array):
    """The address of an array's first element."""
    return array.__array_interface__["data"][0]
