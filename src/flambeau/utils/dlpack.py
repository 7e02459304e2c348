"""Tensors in the memory of other libraries, by the DLPack protocol."""

from ..functions.dlpack import DLDeviceType, from_dlpack, to_dlpack

__all__ = ["DLDeviceType", "from_dlpack", "to_dlpack"]
