"""``load``: reads checkpoints, by default with a restricted unpickler."""

import io
import os
import pickle
import sys
from mmap import ACCESS_COPY
from mmap import mmap as map_file

from ._archive import Reader
from ._legacy import LegacyFile
from ._unpickle import restricted, trusting

NOT_SEEKABLE = (
    "'{type}' object has no attribute '{name}'. You can only torch.load from a file that is seekable. Please pre-load "
    "the data into a buffer like io.BytesIO and try to load from it instead."
)
MMAP_PATH = "f must be a file path in order to use the mmap argument, not {type}: only a file on a disk can be mapped"
MMAP_FORMAT = "mmap can only be used with files saved with _use_new_zipfile_serialization=True; {path} is no such file"
BOTH_FORCED = "Only one of `{on}` or `{off}` should be set, but both were set."
CANNOT_READ = "{what} load failed. The pickle in {path} cannot be read: {error}. The file is damaged or forged."
BYTE_ORDER = "the checkpoint {path} says that its byte order is {order!r}, which is neither 'little' nor 'big'"

FORCE_ON, FORCE_OFF = "TORCH_FORCE_WEIGHTS_ONLY_LOAD", "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"


def load(f, map_location=None, pickle_module=None, *, weights_only=None, mmap=None, **pickle_load_args):
    """Loads an object saved with ``save`` (here or in PyTorch).

    Args:
        f: a path, or a file object with ``read``, ``seek`` and ``tell``.
        map_location: the device of loaded tensors: a device, a string, a dict or a function. By default they return to
            the device recorded in the file; on "meta" their elements are not loaded.
        weights_only: True (the default) creates only tensors and plain containers; False allows arbitrary objects.
            TORCH_FORCE_WEIGHTS_ONLY_LOAD=1 overrides it, and TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD=1 changes the default.
        mmap: maps the file and loads elements on first use. Writes do not change the file.
    """
    if _is_restricted(weights_only, pickle_module):
        if pickle_module is not None:
            raise RuntimeError("Can not safely load weights when explicit pickle_module is specified")
        unpickler = restricted
    else:
        unpickler = trusting(pickle_module or pickle)
    if map_location is not None and not (isinstance(map_location, str | dict) or callable(map_location)):
        map_location = _device_name(map_location)
    if isinstance(f, str | os.PathLike):
        with open(f, "rb") as file:
            return _load(file, os.fspath(f), unpickler, map_location, mmap, pickle_load_args)
    for name in ("seek", "tell", "read"):
        if not hasattr(f, name):
            raise AttributeError(NOT_SEEKABLE.format(type=type(f).__name__, name=name))
    if mmap:
        raise ValueError(MMAP_PATH.format(type=type(f).__name__))
    return _load(f, getattr(f, "name", "the file"), unpickler, map_location, False, pickle_load_args)


def _is_restricted(weights_only, pickle_module):
    """Whether to use the restricted unpickler, by the argument and the environment."""
    on, off = (os.environ.get(name, "0").lower() in ("1", "y", "yes", "true") for name in (FORCE_ON, FORCE_OFF))
    if on and off:
        raise RuntimeError(BOTH_FORCED.format(on=FORCE_ON, off=FORCE_OFF))
    if on:
        return True
    return pickle_module is None and not off if weights_only is None else weights_only


def _device_name(device):
    if not hasattr(device, "type"):
        raise TypeError(f"'{type(device).__name__}' object is not callable: map_location is a device, a string, a dict "
                        "or a function")
    return str(device)


def _load(file, path, unpickler, map_location, mmap, arguments):
    archive, pickled, swapped = _open(file, path, mmap)
    reader = unpickler(io.BytesIO(pickled), **arguments)
    reader.begin(archive, map_location, swapped, len(pickled))
    try:
        result = reader.load()
    except reader.faults as error:
        if error is reader.foreign:
            raise
        raise pickle.UnpicklingError(CANNOT_READ.format(what=reader.what, path=path, error=repr(error))) from error
    archive.leave()
    return result


def _open(file, path, mmap):
    """The storages of a file, its pickle, and whether its byte order differs from this machine's."""
    start = file.tell()
    head = file.read(4)
    file.seek(start)
    if not isinstance(head, bytes):
        raise TypeError(f"load() needs a file of bytes, not of {type(head).__name__}: open it with mode 'rb'")
    if not head:
        raise EOFError(f"Ran out of input: {path} is empty")
    if head == b"PK\3\4":
        archive = Reader(file, path, map_file(file.fileno(), 0, access=ACCESS_COPY) if mmap else None)
        return archive, archive.read("data.pkl"), _is_swapped(archive)
    if mmap:
        raise RuntimeError(MMAP_FORMAT.format(path=path))
    archive = LegacyFile(file, path)
    return archive, archive.read_pickle(), archive.swapped


def _is_swapped(archive):
    """Whether an archive's byte order differs from this machine's."""
    if "byteorder" not in archive:
        return False
    order = archive.read("byteorder")
    if order not in (b"little", b"big"):
        raise RuntimeError(BYTE_ORDER.format(path=archive.path, order=order))
    return order.decode() != sys.byteorder
