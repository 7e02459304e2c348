"""Tools for tests: comparing tensors, and making them."""

from ._close import assert_close
from ._make import make_tensor

__all__ = ["assert_close", "make_tensor"]
