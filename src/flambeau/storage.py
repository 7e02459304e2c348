"""The storage classes."""

from .functions.storage import TypedStorage, UntypedStorage
from .serialization._rebuild import _load_from_bytes as _load_from_bytes

__all__ = ["TypedStorage", "UntypedStorage"]
