"""Names for type hints."""

from __future__ import annotations

import os
from builtins import bool as _bool
from builtins import float as _float
from builtins import int as _int
from collections.abc import Sequence
from typing import IO, TypeAlias

from ._device import device as _device
from ._device import layout as _layout  # noqa: F401
from ._dtypes import dtype as _dtype  # noqa: F401
from ._size import Size
from ._tensor import Tensor
from .functions.storage import UntypedStorage as Storage

__all__ = ["Device", "FileLike", "Number", "Storage"]


class _Symbol:
    """A symbolic number. There are none, as shapes are always concrete: the classes serve ``isinstance`` checks only.
    """

    def __new__(cls, node):
        raise TypeError(f"{cls.__name__}: shapes are concrete here, there are no symbolic numbers; use {node!r}")


class SymInt(_Symbol):
    """A symbolic int."""


class SymFloat(_Symbol):
    """A symbolic float."""


class SymBool(_Symbol):
    """A symbolic bool."""


Number: TypeAlias = _int | _float | _bool
Device: TypeAlias = _device | str | _int | None
FileLike: TypeAlias = str | os.PathLike[str] | IO[bytes]
IntLikeType: TypeAlias = _int
FloatLikeType: TypeAlias = _float
BoolLikeType: TypeAlias = _bool
_size: TypeAlias = Size | list[_int] | tuple[_int, ...]
_TensorOrTensors: TypeAlias = Tensor | Sequence[Tensor]
