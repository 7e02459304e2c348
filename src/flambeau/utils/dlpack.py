"""Tensors in the memory of other libraries, by the DLPack protocol."""

from ..functions.from_data import from_dlpack, to_dlpack

__all__ = ["from_dlpack", "to_dlpack"]
