"""The unpicklers of ``load``: a restricted one, and one for trusted files."""

from __future__ import annotations

import _compat_pickle
import collections
import functools
import pickle
import struct
from collections.abc import Sized
from typing import ClassVar

import numpy as np

from .. import _dtypes
from .._device import CPU, META, resolve
from .._storage import Storage
from ..engines import engine_on
from ..functions._untyped_storage import untyped_of
from ..functions.creation import empty
from ..functions.storage import STORAGES, TypedStorage, UntypedStorage
from ._rebuild import CONTAINERS, LAZY, MAKERS, NAMES, DestinedStorage
from ._safe import allowed_globals
from ._skip import is_skipping

# pickle opcodes that do not occur in checkpoints
REFUSED_CODES = (pickle.INST, pickle.OBJ, pickle.EXT1, pickle.EXT2, pickle.EXT4, pickle.PERSID, pickle.NEXT_BUFFER,
                 pickle.READONLY_BUFFER)

NOT_ALLOWED = (
    "Weights only load failed. Unsupported global: the checkpoint refers to {name}, which was not an allowed global by "
    "default: a restricted load does not create it. If you trust its source, allow the class with "
    "torch.serialization.add_safe_globals([...]), or load everything with weights_only=False, which can run any "
    "code that the file contains."
)
BLOCKED = (
    "Weights only load failed. Trying to load unsupported GLOBAL {name} whose module {module} is blocked, whatever "
    "add_safe_globals allows. A checkpoint has no use for it; only weights_only=False would load it, and run it."
)
NO_ATTRIBUTES = (
    "Weights only load failed. The checkpoint sets attributes of a {type}, which a restricted load does only for "
    "OrderedDict and for classes that were allowed with torch.serialization.add_safe_globals([...])."
)
GROWS = "Weights only load failed. The pickle copies more than it contains: it would grow in memory without bound."
WRONG_SIZE = (
    "record size ({found} bytes) does not match expected size ({expected} bytes = {count} elements * {itemsize} "
    "bytes/element) for dtype {dtype}: the checkpoint is damaged"
)
NO_CUDA = (
    "Attempting to deserialize object on a CUDA device, but there is none: {error} Please use torch.load with "
    "map_location=torch.device('cpu') to map your storages to the CPU."
)
NO_LOCATION = (
    "don't know how to restore data location of UntypedStorage (tagged with {location}): use load(..., "
    "map_location='cpu')"
)

_BLOCKED = frozenset(("sys", "os", "posix", "nt"))
_ANY = {**MAKERS, **CONTAINERS, **NAMES}
_STORAGES = [UntypedStorage, *STORAGES.values()]


class _Loading:
    """The common base of both unpicklers: loads storages on first use."""

    what = "Unrestricted"
    # Errors caused by damaged pickles. AttributeError and ImportError tell users what a trusted file needs defined.
    faults: tuple = (ArithmeticError, AssertionError, EOFError, LookupError, TypeError, ValueError, struct.error)
    foreign = None  # an exception raised by the caller's map_location

    def begin(self, archive, map_location, swapped, budget):
        self.archive = archive
        self.map_location = map_location
        self.swapped = swapped
        self.budget = budget  # the number of items that may be copied
        self.storages = {}

    def persistent_load(self, record):
        if not isinstance(record, tuple) or len(record) not in (5, 6) or record[0] != "storage":
            return self.load_other(record)
        _, kind, key, location, count, *view = record
        if kind not in _STORAGES or not (isinstance(key, str) and isinstance(location, str) and type(count) is int):
            raise pickle.UnpicklingError(f"not the record of a storage: {record!r:.100}")
        dtype = getattr(kind, "dtype", _dtypes.uint8)
        place = key, None if count else dtype  # empty storages may be recorded with several dtypes
        if place not in self.storages:
            self.storages[place] = self.read_storage(f"data/{key}", dtype, location, count)
        return _part_of(self.storages[place], *view)

    def load_other(self, record):
        """The object for a record that is not a storage."""
        raise pickle.UnpicklingError(f"unknown kind of record: {record!r:.100}")

    def read_storage(self, name, dtype, location, count):
        found, expected = self.archive.size_of(name), count * dtype.itemsize
        if found != expected:
            sizes = {"found": found, "expected": expected, "count": count, "itemsize": dtype.itemsize}
            raise RuntimeError(WRONG_SIZE.format(**sizes, dtype=dtype))
        if callable(self.map_location):
            untyped = self.move(_as_untyped(self.elements(name, dtype)), location)
        elif (device := self.target(location)) is META:
            untyped = empty(count, dtype=dtype, device=META).untyped_storage()
        else:
            untyped = _as_untyped(self.elements(name, dtype), device)
        return TypedStorage(wrap_storage=untyped, dtype=dtype)

    def elements(self, name, dtype):
        """The elements of a storage, aligned and in native byte order."""
        if is_skipping():
            return np.empty(self.archive.size_of(name) // dtype.itemsize, dtype.np)
        raw = self.archive.array(name)
        if self.swapped and dtype.itemsize > 1:
            item = dtype.itemsize // 2 if dtype.is_complex else dtype.itemsize
            raw = raw.view(f"u{item}").byteswap().view(np.uint8)
        array = raw.view(dtype.np)
        return array if array.flags.aligned else array.copy()

    def move(self, untyped, location):
        """Applies the caller's map_location to a storage; None keeps its location."""
        try:
            found = self.map_location(untyped, location)
            if found is not None and not isinstance(found, UntypedStorage):
                raise TypeError(f"map_location must return an UntypedStorage or None, not {type(found).__name__}")
        except Exception as error:
            self.foreign = error
            raise
        return _as_untyped(untyped._storage.array, _device_at(location)) if found is None else found

    def target(self, location):
        """The device for the tensors of a storage."""
        target = self.map_location
        if isinstance(target, dict):
            target = target.get(location, location)
        return _device_at(location if target is None else target)


def _as_untyped(array, device=CPU):
    """A storage over the elements, for tensors on `device`."""
    return untyped_of(Storage(array) if device is CPU else DestinedStorage(array, device))


def _part_of(storage, view=None):
    """The storage itself, or in very old files the part of it that a view refers to."""
    if view is None:
        return storage
    _, offset, count = view
    if min(offset, count) < 0 or offset + count > storage.size():
        raise ValueError(f"the view {view!r:.100} is beyond its storage of {storage.size()} elements")
    return TypedStorage(wrap_storage=_as_untyped(storage._elements[offset: offset + count]), dtype=storage.dtype)


def _device_at(location):
    """The device of that name; raises if it does not exist."""
    try:
        device = resolve(location)
        if device is not CPU and device is not META:
            engine_on(device).jax_device(device)
    except (AssertionError, RuntimeError) as error:
        if str(location).partition(":")[0] == "cuda":
            raise RuntimeError(NO_CUDA.format(error=error)) from error
        raise RuntimeError(NO_LOCATION.format(location=location)) from error
    return device


@functools.cache
def trusting(module):
    """A subclass of a pickle module's unpickler that resolves PyTorch's names."""

    class Trusting(_Loading, module.Unpickler):
        def find_class(self, module, name):
            known = {**_ANY, **LAZY}.get(f"{module}.{name}")
            return super().find_class(module, name) if known is None else known

        def load_other(self, record):
            if isinstance(record, tuple) and len(record) == 4 and record[0] == "module":
                return record[1]  # a class, stored with its source in old files
            return super().load_other(record)

    return Trusting


def read_bytearray(unpickler):
    """Reads a bytearray before allocating its claimed size."""
    size = int.from_bytes(unpickler.read(8), "little")
    unpickler.append(bytearray(unpickler.read(size)))


class restricted(_Loading, pickle._Unpickler):
    """Creates only known and allowed objects; sets attributes only on OrderedDicts and allowed classes."""

    what = "Weights only"
    faults = (*_Loading.faults, AttributeError)

    def begin(self, *arguments):
        super().begin(*arguments)
        self.allowed = allowed_globals()

    def find_class(self, module, name):
        module, name = _in_python_3(module, name)
        full = f"{module}.{name}"
        if module in _BLOCKED:
            raise pickle.UnpicklingError(BLOCKED.format(name=full, module=module))
        if full in _ANY:
            return _ANY[full]
        if full in self.allowed:
            return self.allowed[full]
        lazy = LAZY.get(full)
        if lazy is not None and lazy in self.allowed.values():
            return lazy
        raise pickle.UnpicklingError(NOT_ALLOWED.format(name=full))

    def check_call(self, thing, arguments):
        """Raises unless the file may call `thing`."""
        if any(thing is known for known in CONTAINERS.values()):
            self.charge(*arguments)
        elif not any(thing is known for known in (*MAKERS.values(), *self.allowed.values())):
            raise pickle.UnpicklingError(NOT_ALLOWED.format(name=f"a call of {thing!r:.100}"))

    def charge(self, *things):
        """Charges copied items to the budget. Honest pickles copy only what they contain."""
        self.budget -= sum(len(thing) for thing in things if isinstance(thing, Sized))
        if self.budget < 0:
            raise pickle.UnpicklingError(GROWS)

    def load_reduce(self):
        *_, function, arguments = self.stack
        self.check_call(function, arguments)
        super().load_reduce()

    def load_newobj(self):
        *_, cls, arguments = self.stack
        self.check_call(cls, arguments)
        super().load_newobj()

    def load_newobj_ex(self):
        *_, cls, arguments, keywords = self.stack
        self.check_call(cls, (*arguments, keywords))
        super().load_newobj_ex()

    def load_build(self):
        *_, target, state = self.stack
        if type(target) is collections.OrderedDict and isinstance(state, dict):
            self.charge(state)
            self.stack.pop()
            target.__dict__.update(state)
        elif type(target) in self.allowed.values():
            super().load_build()
        else:
            raise pickle.UnpicklingError(NO_ATTRIBUTES.format(type=type(target).__name__))

    dispatch: ClassVar[dict] = {
        **pickle._Unpickler.dispatch,
        pickle.REDUCE[0]: load_reduce,
        pickle.NEWOBJ[0]: load_newobj,
        pickle.NEWOBJ_EX[0]: load_newobj_ex,
        pickle.BUILD[0]: load_build,
        pickle.BYTEARRAY8[0]: read_bytearray,
    }
    for _code in REFUSED_CODES:
        del dispatch[_code[0]]


def _in_python_3(module, name):
    """The Python 3 name of a global, which protocol 2 writes with its Python 2 name."""
    if (module, name) in _compat_pickle.NAME_MAPPING:
        return _compat_pickle.NAME_MAPPING[module, name]
    return _compat_pickle.IMPORT_MAPPING.get(module, module), name
