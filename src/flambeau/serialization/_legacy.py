"""The file format before PyTorch 1.6: several pickles, followed by the elements of the storages.

The pickles are a magic number, the format version, the byte order, the object, and the storage keys in the order in
which their elements follow, each after a count. Element sizes are only known from the object's pickle, so it is read
twice: first for its storages, without creating objects, and again once these have been located.
"""

from __future__ import annotations

import io
import pickle
import sys
from typing import ClassVar

import numpy as np

from .. import _dtypes
from ..functions.storage import STORAGES
from ._archive import read_into
from ._unpickle import REFUSED_CODES, read_bytearray, restricted

MAGIC, VERSION = 0x1950A86A20F9469CFC6C, 1001
NOT_A_CHECKPOINT = "{path} is not a checkpoint: it does not begin like one."
NOT_THE_MAGIC = "Invalid magic number; corrupt file? {path} is no checkpoint."
DAMAGED = "{path} is damaged or cut off: {why}. Copy it again, or save it again."
NOT_THE_VERSION = "Invalid protocol version: {version}. Files of the format before PyTorch 1.6 have the version 1001."
FAULTS = (*restricted.faults, pickle.UnpicklingError)

_ITEM_SIZES = {f"torch {name}": storage.dtype.itemsize for name, storage in STORAGES.items()}
_ITEM_SIZES["torch.storage UntypedStorage"] = _dtypes.uint8.itemsize
_COUNT = np.dtype("<i8")
_NAMES = {storage.dtype: name for name, storage in STORAGES.items()}
_SYSTEM = {
    "protocol_version": VERSION, "little_endian": sys.byteorder == "little",
    "type_sizes": {"short": 2, "int": 4, "long": 4},
}
_HEAD = b"".join(pickle.dumps(part, 2) for part in (MAGIC, VERSION, _SYSTEM))


def write_legacy(file, pickled, storages):
    """Writes a legacy file: the pickled object, and (key, element size, bytes) of storages."""
    file.write(_HEAD)
    file.write(pickled)
    file.write(pickle.dumps([key for key, _, _ in storages], 2))
    for _, item_size, raw in storages:
        file.write(np.array(raw.size // item_size, _COUNT).tobytes())
        file.write(raw.tobytes())


def storage_file(raw, dtype):
    """A legacy file with a single storage: its bytes, and the dtype of its elements."""
    kind = pickle.GLOBAL + f"torch\n{_NAMES[dtype]}\n".encode()
    record = b"".join((_put("storage"), kind, _put("0"), _put("cpu"), _put(raw.size // dtype.itemsize), pickle.NONE))
    pickled = pickle.PROTO + b"\2" + pickle.MARK + record + pickle.TUPLE + pickle.BINPERSID + pickle.STOP
    file = io.BytesIO()
    write_legacy(file, pickled, [("0", dtype.itemsize, raw)])
    return file.getvalue()


def _put(value):
    """Pickle opcodes that push a value."""
    return pickle.dumps(value, 2)[2:-1]


class LegacyFile:
    """The pickle and storages of a legacy file. All sizes are checked against the file size."""

    def __init__(self, file, path):
        self.file = file
        self.path = path
        self.start = file.tell()
        self.size = file.seek(0, 2) - self.start
        self.file.seek(self.start)
        self.places = {}  # name -> (offset of the elements, their size)

    def check_magic(self):
        """Reads the magic number; raises if it is missing."""
        try:
            magic = _Scan(self).load()
        except FAULTS:
            magic = None
        if type(magic) is not int:
            raise pickle.UnpicklingError(NOT_A_CHECKPOINT.format(path=self.path))
        if magic != MAGIC:
            raise RuntimeError(NOT_THE_MAGIC.format(path=self.path))

    def read_pickle(self):
        """Reads the pickle of the object, which makes the storages accessible."""
        self.check_magic()
        try:
            version, system = _Scan(self).load(), _Scan(self).load()
            self.swapped = system["little_endian"] is not (sys.byteorder == "little")
            begin = self._tell()
            scan = _Scan(self)
            scan.load()
            end = self._tell()
            keys = _Scan(self).load()
            self._find(keys, scan.storages)
        except FAULTS as error:
            raise pickle.UnpicklingError(DAMAGED.format(path=self.path, why=repr(error))) from error
        if version != VERSION:
            raise RuntimeError(NOT_THE_VERSION.format(version=version))
        self.end = self._tell()
        self._seek(begin)
        return self.read(end - begin)

    def leave(self):
        """Seeks past the elements, where another object may start."""
        self._seek(self.end)

    def damage_error(self, why):
        return RuntimeError(DAMAGED.format(path=self.path, why=why))

    def _find(self, keys, storages):
        """Locates the elements of each storage."""
        if set(keys) != storages.keys():
            raise self.damage_error("its pickle and its list name different storages")
        for key in keys:
            item_size, count = storages[key]
            found = int(np.frombuffer(self.read(_COUNT.itemsize), _COUNT)[0])
            offset, size = self._tell(), count * item_size
            if found != count or size < 0 or offset + size > self.size:
                raise self.damage_error(f"the storage {key} has {found} elements, {count} were expected")
            self.places[f"data/{key}"] = offset, size
            self._seek(offset + size)

    def size_of(self, name):
        """The size of a storage in bytes."""
        return self.places[name][1]

    def array(self, name):
        """A storage as a writable byte array."""
        offset, size = self.places[name]
        self._seek(offset)
        array = np.empty(size, np.uint8)
        if not read_into(self.file, array):
            raise self.damage_error("the file ends too early")
        return array

    # ---- as the file that unpicklers read

    def read(self, size):
        """Reads up to `size` bytes; pickles may claim any size."""
        return self.file.read(min(size, self.size - self._tell()))

    def readline(self):
        return self.file.readline()

    def _tell(self):
        return self.file.tell() - self.start

    def _seek(self, offset):
        self.file.seek(self.start + offset)


class _Nothing:
    """A placeholder for any object a pickle would create."""

    def _ignore(self, *_):
        pass

    append = extend = add = update = __setitem__ = _ignore


class _Scan(pickle._Unpickler):
    """Scans a pickle for its storages, creating only plain containers."""

    def __init__(self, file):
        super().__init__(file)
        self.storages = {}  # key -> (element size, number of elements)

    def find_class(self, module, name):
        return f"{module} {name}"

    def persistent_load(self, record):
        if record[0] == "storage":
            _, kind, key, _, count, *_ = record
            claim = _ITEM_SIZES[kind], count
            if type(count) is not int or self.storages.setdefault(key, claim) != claim:
                raise ValueError(f"not the record of a storage: {record!r:.100}")
        return _Nothing()

    def load_two(self):
        del self.stack[-2:]
        self.append(_Nothing())

    def load_three(self):
        del self.stack[-3:]
        self.append(_Nothing())

    def load_build(self):
        self.stack.pop()

    def load_nothing(self):
        raise pickle.UnpicklingError("checkpoints have no such instruction")

    dispatch: ClassVar[dict] = {
        **pickle._Unpickler.dispatch,
        pickle.REDUCE[0]: load_two,
        pickle.NEWOBJ[0]: load_two,
        pickle.NEWOBJ_EX[0]: load_three,
        pickle.BUILD[0]: load_build,
        pickle.BYTEARRAY8[0]: read_bytearray,
    }
    for _code in REFUSED_CODES:
        dispatch[_code[0]] = load_nothing
