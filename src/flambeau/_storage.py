"""Storages: the memory behind tensors, the device it is on, the engine that computes there, and the count of writes."""

from __future__ import annotations

from ._device import CPU, strided
from .engines import NUMPY
from .engines._views import Memory, ViewArray, view_layout


class Storage:
    """The CPU's memory behind one or more tensors, and the count of writes to it.

    Tensors that alias each other share one Storage. On the CPU it is made when it is first needed: when a tensor is
    viewed, written to, or saved for backward. Other devices have a DeviceStorage.
    """

    __slots__ = ("__dict__", "__weakref__", "array", "inference", "version", "writer")

    engine, device = NUMPY, CPU
    shared = False  # whether other processes see the writes

    def __init__(self, array, version=0):
        self.array = array
        self.version = version
        self.writer = None  # name of the operation that wrote last
        self.inference = False  # made in inference mode

    def beside(self, version=0):
        """A storage of the same memory with a count of its own."""
        return Storage(self.array, version)

    def offset(self, array):
        """Where an array in this memory begins, in elements; an empty one begins nowhere in particular."""
        return 0 if array.size == 0 else (address(array) - address(self.array)) // array.itemsize

    def attach(self, t, array, source, step=None, layout=None):
        """Gives `t` its `array`: the view of `source` by `step`, or all of it where there is no step."""
        t._a = array

    def replace(self, t, array, put):
        """Makes `array` the elements of `t`, where a write did not fill its memory."""
        t._a = self.array = array


class DeviceStorage(Storage):
    """The memory behind tensors on a device whose arrays have no NumPy memory.

    Where arrays cannot be written to, tensors that share elements hold ViewArrays of one Memory. A tensor that shares
    its elements with no other holds the array itself.
    """

    __slots__ = ("device", "engine", "memory")

    def __init__(self, array, engine, device, memory=None, version=0):
        self.engine = engine
        self.device = device
        self.memory = memory or (array.memory if type(array) is ViewArray else Memory(array))
        self.version = version
        self.writer = None
        self.inference = False

    @property
    def array(self):
        return self.memory.array

    @array.setter
    def array(self, array):
        self.memory.exchange(array)

    def beside(self, version=0):
        return DeviceStorage(None, self.engine, self.device, self.memory, version)

    def offset(self, array):
        return self.engine.layout_of(array)[1]

    def attach(self, t, array, source, step=None, layout=None):
        if self.engine.lays_out or self.engine.layout is not strided:
            t._a = array
            return
        strides, offset = layout or self.engine.layout_of(source._a)
        if step is not None and layout is None:
            strides, offset = view_layout(source._a.shape, strides, offset, source._a.dtype, step)
        if self.engine.aliases:
            t._a = self.engine.with_layout(array, strides, offset)
            return
        shown = source._a
        if type(shown) is not ViewArray:
            shown = source._a = ViewArray(self.memory, (), shown, *self.engine.layout_of(shown))
        t._a = ViewArray(self.memory, shown.chain if step is None else (*shown.chain, step), array, strides, offset)

    def replace(self, t, array, put):
        shown = t._a
        if type(shown) is not ViewArray:
            t._a = array
            self.memory.exchange(array)
        else:
            chain = shown.chain
            self.memory.exchange(put(self.engine, self.memory.array, chain, array) if chain else array)
            shown.refresh(array)


def address(array):
    """Where in memory an array begins."""
    return array.__array_interface__["data"][0]
