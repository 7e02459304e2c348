"""The classes of storages; the functions on them are methods of theirs and of Tensor."""

from .functions.storage import TypedStorage, UntypedStorage

__all__ = ["TypedStorage", "UntypedStorage"]
