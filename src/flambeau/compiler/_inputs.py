"""The tensors that a program takes from outside, and whether they are as they were at compilation."""

import itertools

import numpy as np

from .._device import CPU
from .._many_arrays import forms_of
from .._slots import are_in_slots, are_same, read_slot
from .._tensor import Tensor
from ..engines import engine_of
from ..engines._views import ViewArray
from ._lifted import slot_a, slot_node, slot_requires_grad
from ._tables import are_of_types

STATE = slot_a, slot_requires_grad, slot_node


class TensorInputs:
    """The tensors that a program takes, compared with those it was compiled for.

    Tensors at places outside the arguments are nearly always identical to those of the last run, with identical arrays.
    This is checked first, for all at once, as in _guards.py.

    Args:
        records: of the inputs.
        written: those of them that the program writes to.
    """

    def __init__(self, records, written):
        self.records = records
        written = {id(x) for x in written}
        self.is_written = [id(x) in written for x in records]
        self.snapshot = None

    def mismatch(self, tensors):
        """Why the program cannot run with these tensors; None if it can."""
        if self.snapshot is not None and self.snapshot.holds(tensors):
            return None
        for t, x in zip(tensors, self.records, strict=True):
            now = signature(t) if isinstance(t, Tensor) else None
            if now != x.signature:
                return f"a tensor that was {describe(x.signature)} is {describe(now)}"
        if len({id(t) for t in tensors}) < len(tensors):
            return "two tensors that were distinct are the same"
        if True in self.is_written and overlap([(w, t._a) for w, t in zip(self.is_written, tensors, strict=True)]):
            return "two tensors share memory that they did not share before"
        self.snapshot = InputSnapshot(self.records, tensors)
        return None

    def release(self):
        """Drops references to arrays on a device, so that the program can reuse their memory."""
        if self.snapshot is not None:
            self.snapshot.release()

    def note_exchanged(self):
        """Called when the program has replaced arrays of tensors on a device: the next run expects the new ones."""
        if self.snapshot is not None:
            self.snapshot.update()


class InputSnapshot:
    """The tensors of a run, which the next run probably gets again, and their properties."""

    def __init__(self, records, tensors):
        varies = [x.place.varies or t._view is not None for x, t in zip(records, tensors)]
        self.places = [None if v else t for t, v in zip(tensors, varies)]
        self.tensors = [t for t, v in zip(tensors, varies) if not v]
        self.types = [*map(type, self.tensors)]
        self.arrays, *self.state = [read_slot(member, self.tensors) for member in STATE]
        self.on_cpu = [t._a for t in self.tensors if t.device is CPU]  # on devices arrays are immutable
        self.forms = forms_of(self.on_cpu)
        self.owners = {id(owner_of(t._a)) for t in self.tensors}
        self.others = [(nr, records[nr].signature) for nr, v in enumerate(varies) if v]

    def holds(self, tensors):
        """Whether nothing has changed. False if other tensors may share memory with these: a full check must decide."""
        return (
            self.are_at_places(tensors)
            and are_in_slots(STATE, self.tensors, (self.arrays, *self.state))
            and are_of_types(self.tensors, self.types)
            and forms_of(self.on_cpu) == self.forms
            and self.has_room_for([(tensors[nr], was) for nr, was in self.others])
        )

    def are_at_places(self, tensors):
        """Whether tensors that may not be replaced are at their places."""
        if self.others:
            tensors = tensors.copy()
            for nr, _ in self.others:
                tensors[nr] = None
        return are_same(tensors, self.places)

    def release(self):
        self.arrays = []

    def update(self):
        self.arrays = read_slot(slot_a, self.tensors)

    def has_room_for(self, others):
        """Whether replaced tensors have the same signatures, and their own memory."""
        owners = set()
        for t, was in others:
            if not isinstance(t, Tensor) or signature(t) != was:
                return False
            owners.add(id(owner_of(t._a)))
        return len(owners) == len(others) and owners.isdisjoint(self.owners)


def signature(t):
    """The properties of a tensor that a program depends on."""
    a = t._a
    requires_grad = t._rg if t._view is None else t.requires_grad
    device, strides = (CPU, a.strides) if type(a) is np.ndarray else (t._storage.device, engine_of(a).strides_of(a))
    return type(t), device, a.dtype, a.shape, requires_grad, t._node is None, strides


def describe(was):
    if was is None:
        return "none"
    where = "" if was[1] is CPU else f" on {was[1]}"
    return f"a {was[0].__name__} {was[2].name}{list(was[3])}{where}, requires_grad={was[4]}"


def overlap(arrays):
    """The indices of two arrays that share memory, of which one is written to, given (is written, array) pairs; or
    None."""
    owners = {}
    for nr, (_, array) in enumerate(arrays):
        owners.setdefault(id(owner_of(array)), []).append(nr)
    for together in owners.values():
        for a, b in itertools.combinations(together, 2):
            if (arrays[a][0] or arrays[b][0]) and may_overlap(arrays[a][1], arrays[b][1]):
                return (a, b) if arrays[a][0] else (b, a)
    return None


def may_overlap(a, b):
    """Whether two arrays with the same owner may have an element in common."""
    if isinstance(a, np.ndarray):
        return np.may_share_memory(a, b)
    if type(a) is not ViewArray:  # two tensors that took copies of one value
        return False
    (first_of_a, last_of_a), (first_of_b, last_of_b) = extent_of(a), extent_of(b)
    return first_of_a <= last_of_b and first_of_b <= last_of_a


def extent_of(view):
    """The offsets of the first and the last element of a view in its memory."""
    return view.offset, view.offset + sum([(n - 1) * s for n, s in zip(view.shape, view.strides)])


def owner_of(array):
    """The object that owns the memory of an array. (On a device, arrays that are not views only share an owner if
    identical.)"""
    while isinstance(array, np.ndarray) and array.base is not None:
        array = array.base
    return array.memory if type(array) is ViewArray else array
