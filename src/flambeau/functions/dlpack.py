"""DLPack import and export.

NumPy creates and reads the capsules. It supports neither bfloat16 nor float8: these are exchanged as integers of the
same width, and the dtype in the capsule is corrected here.
"""

import ctypes
import enum

import numpy as np

from .. import _dtypes
from .._device import META, resolve
from .._tensor import Tensor, note_shared, storage_of, wrap
from ._args import need_tensor
from ._attach import methods

__all__ = ["from_dlpack", "to_dlpack"]

NO_CAPSULE = (
    "from_dlpack received an invalid capsule. Note that DLTensor capsules can be consumed only once, so you might have "
    "already constructed a tensor from it once. Got {got}"
)
GRAD = "Can't export tensors that require gradient, use tensor.detach()"
NO_MEMORY = "Cannot pack tensors on meta: they have no memory"
ELSEWHERE = "Cannot pack a tensor for DLPack device {device}: it is on {own}. Move it first, with .to()"


class DLDeviceType(enum.IntEnum):
    """DLPack's device types."""

    kDLCPU = 1
    kDLCUDA = 2
    kDLCUDAHost = 3
    kDLOpenCL = 4
    kDLVulkan = 7
    kDLMetal = 8
    kDLVPI = 9
    kDLROCM = 10
    kDLROCMHost = 11
    kDLExtDev = 12
    kDLCUDAManaged = 13
    kDLOneAPI = 14
    kDLWebGPU = 15
    kDLHexagon = 16
    kDLMAIA = 17


# ---- capsules


class _DLTensor(ctypes.Structure):
    """The beginning of a "dltensor" capsule, up to the dtype."""

    _fields_ = [("data", ctypes.c_void_p), ("device", ctypes.c_int32 * 2), ("ndim", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class _DLTensorVersioned(ctypes.Structure):
    """The beginning of a "dltensor_versioned" capsule."""

    _fields_ = [("version", ctypes.c_uint32 * 2), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p),
                ("flags", ctypes.c_uint64), ("tensor", _DLTensor)]


_UNSIGNED = 1  # DLPack's code of unsigned integers
_CODES = {4: _dtypes.bfloat16, 10: _dtypes.float8_e4m3fn, 12: _dtypes.float8_e5m2}
_CAPSULES = {b"dltensor": _DLTensor, b"dltensor_versioned": _DLTensorVersioned}

_is_valid = ctypes.pythonapi.PyCapsule_IsValid
_is_valid.argtypes, _is_valid.restype = (ctypes.py_object, ctypes.c_char_p), ctypes.c_int
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.argtypes, _pointer.restype = (ctypes.py_object, ctypes.c_char_p), ctypes.c_void_p


def _tensor_in(capsule):
    """The DLTensor of a capsule that has not been consumed."""
    for name, kind in _CAPSULES.items():
        if _is_valid(capsule, name):
            found = kind.from_address(_pointer(capsule, name))
            return found.tensor if kind is _DLTensorVersioned else found
    raise RuntimeError(NO_CAPSULE.format(got=capsule))


class _Exporter:
    """Wraps a capsule or its producer for NumPy's importer; remembers a dtype that NumPy does not support."""

    dtype = None

    def __init__(self, source):
        self.source = source

    def __dlpack__(self, **kwargs):
        capsule = self.source.__dlpack__(**kwargs) if hasattr(self.source, "__dlpack__") else self.source
        tensor = _tensor_in(capsule)
        self.dtype = _CODES.get(tensor.code)
        if self.dtype is not None:
            tensor.code = _UNSIGNED
        return capsule

    def __dlpack_device__(self):
        return self.source.__dlpack_device__() if hasattr(self.source, "__dlpack_device__") else (1, 0)


class _Writable:
    """The memory of an array that NumPy considers read-only because unversioned capsules have no such flag."""

    def __init__(self, array):
        self.array = array
        self.__array_interface__ = {**array.__array_interface__, "data": (array.ctypes.data, False)}


# ---- from other libraries


def from_dlpack(ext_tensor, *, device=None, copy=None):
    """A tensor that shares memory with another library's tensor (or a DLPack capsule, which can be consumed once)."""
    if device is not None and resolve(device) is META:
        raise BufferError(NO_MEMORY)
    if isinstance(ext_tensor, Tensor):
        if ext_tensor.requires_grad:
            raise BufferError(GRAD)
        out = ext_tensor.detach()
        return out.clone() if copy else out
    is_capsule = type(ext_tensor).__name__ == "PyCapsule"
    if not is_capsule and not hasattr(ext_tensor, "__dlpack__"):
        raise RuntimeError(NO_CAPSULE.format(got=f"a {type(ext_tensor).__name__}, which has no __dlpack__ method"))
    source = _Exporter(ext_tensor)
    array = np.from_dlpack(source)
    if is_capsule and not array.flags.writeable:
        array = np.asarray(_Writable(array))
    out = note_shared(wrap(array if source.dtype is None else array.view(source.dtype.np)))
    return out.clone() if copy or not array.flags.writeable else out


# ---- to other libraries


def to_dlpack(tensor):
    """A DLPack capsule over the tensor's memory, which another library can consume once."""
    return __dlpack__(need_tensor(tensor, "to_dlpack").detach())


def __dlpack__(self, *, stream=-1, max_version=None, dl_device=None, copy=None):
    """The DLPack capsule, for another library's ``from_dlpack``."""
    if self.requires_grad:
        raise BufferError(GRAD)
    if self.device is META:
        raise BufferError(NO_MEMORY)
    if stream is not None and type(stream) is not int:
        raise TypeError(f"stream must be ``int`` or ``none``, got {type(stream).__name__}")
    if stream not in (None, -1):
        raise AssertionError(f"stream should be None on cpu, got {stream}")
    if dl_device is not None and tuple(dl_device) != __dlpack_device__(self):
        raise BufferError(ELSEWHERE.format(device=tuple(dl_device), own=tuple(map(int, __dlpack_device__(self)))))
    storage_of(self)
    note_shared(self)
    if not _dtypes.is_foreign(self._a.dtype):
        return self._a.__dlpack__(max_version=max_version, copy=copy)
    capsule = self._a.view(f"u{self._a.itemsize}").__dlpack__(max_version=max_version, copy=copy)
    _tensor_in(capsule).code = next(code for code, dtype in _CODES.items() if dtype is self.dtype)
    return capsule


def __dlpack_device__(self):
    """(device type, index) in DLPack's terms."""
    if self.device is META:
        raise ValueError("Unknown device type meta for Dlpack: a meta tensor has no memory")
    kind, index = self._a.__dlpack_device__()
    return DLDeviceType(kind), index


methods(__dlpack__, __dlpack_device__)
