"""Bulk access to the slots and reference counts of many objects, for lists of thousands of tensors.

The extension ``flambeau._kernels``, if built, replaces these functions by native ones.
"""

import collections
import contextlib
import operator
import os
import sys
import weakref

import numpy as np

LENGTHS = "expected as many values as objects, but got {values} for {objects}"


def maker(cls, member, values, twin):
    """A function like `twin`, which creates objects of a class with its argument in the slot `member` and constant
    `values`, by member, in others. The native one calls it while something stands in for the slot in the class."""
    return twin


def read_slot(member, objects):
    """The values of a slot, the `member` descriptor of the objects' class, as a list."""
    return [*map(member.__get__, objects)]


def set_slot(member, objects, values):
    """Sets a slot, the `member` descriptor of the objects' class, to these values."""
    if len(objects) != len(values):
        raise ValueError(LENGTHS.format(values=len(values), objects=len(objects)))
    collections.deque(map(member.__set__, objects, values), 0)


def increment_slot(member, objects):
    """Adds one to an integer slot of each object; an object listed twice gets two."""
    for x in objects:
        member.__set__(x, member.__get__(x) + 1)


def exchange_each(members, tensors, arrays, writer, start):
    """Replaces the arrays of tensors from index `start` on, and counts the writes; stops at the first one whose storage
    has a memory, and returns its index.

    Args:
        members: the slots of a tensor for its array and its storage, and those of a storage for its memory, its array,
            the name of the last writer, and the version.
    """
    elements, storage_of, memory, own_array, writer_of, version = members
    for place in range(start, len(tensors)):
        t, array = tensors[place], arrays[place]
        storage = storage_of.__get__(t)
        if memory.__get__(storage) is not None:
            return place
        version.__set__(storage, version.__get__(storage) + 1)
        writer_of.__set__(storage, writer)
        own_array.__set__(storage, array)
        elements.__set__(t, array)
    return len(tensors)


def are_in_slots(members, objects, values):
    """Whether slots, the `members` of the objects' class, hold exactly these objects: `values` has a list for each."""
    return all([are_same(read_slot(member, objects), own) for member, own in zip(members, values, strict=True)])


def are_same(found, expected):
    """Whether two sequences hold identical objects; `found` may be an iterator."""
    found = found if hasattr(found, "__len__") else [*found]
    return len(found) == len(expected) and all(map(operator.is_, found, expected))


def held_elsewhere(objects, places, count):
    """Those `places` (an array of indices) whose objects have more than `count` references, including the list's."""
    return [place for place in places.tolist() if sys.getrefcount(objects[place]) > count + 1]


def unheld(objects, count):
    """Those objects of a list that have up to `count` references (including the list's), no weak ones, and no
    attributes beside slots."""
    places = np.arange(len(objects))
    held = {*held_elsewhere(objects, places, count)}
    return [objects[i] for i in range(len(objects)) if i not in held
            and not weakref.getweakrefcount(objects[i]) and not getattr(objects[i], "__dict__", None)]


if os.environ.get("FLAMBEAU_NATIVE") != "0":
    with contextlib.suppress(ImportError):  # not built, or built from other sources
        from ._kernels import (  # noqa: F401
            are_in_slots,
            are_same,
            exchange_each,
            held_elsewhere,
            increment_slot,
            maker,
            read_slot,
            set_slot,
            unheld,
        )
