# Written by tools/make_stubs.py from the running library: change that, or the library, and run it.

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from ._device import device, layout, memory_format
from ._dtypes import dtype

Bool: TypeAlias = bool
Int: TypeAlias = int
Float: TypeAlias = float
Number: TypeAlias = int | float | complex | np.number[Any] | np.bool_
Dims: TypeAlias = int | Sequence[int]
DType: TypeAlias = dtype
Device: TypeAlias = device | str | int
Layout: TypeAlias = layout
MemoryFormat: TypeAlias = memory_format
