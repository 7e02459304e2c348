"""Functions for sparse tensors: ``flambeau.sparse``."""

import functools

from .functions.legacy import SPARSE_TYPES
from .functions.sparse import addmm, log_softmax, mm, softmax, sum

FloatTensor, DoubleTensor, HalfTensor, BFloat16Tensor, LongTensor, IntTensor, ShortTensor, CharTensor, ByteTensor = (
    SPARSE_TYPES.values()
)
__all__ = ["addmm", "check_sparse_tensor_invariants", "log_softmax", "mm", "softmax", "sum", *SPARSE_TYPES]


class check_sparse_tensor_invariants:
    """Controls invariant checks of sparse tensors on construction. Here these are always on; the setting has no effect.

    It is a context manager, a decorator, and has ``enable()``, ``disable()`` and ``is_enabled()``.
    """

    _enabled = False

    def __init__(self, enable=True):
        self.state = enable
        self.saved = None

    @staticmethod
    def is_enabled():
        """Whether the check is enabled."""
        return check_sparse_tensor_invariants._enabled

    @staticmethod
    def enable():
        """Enables the check."""
        check_sparse_tensor_invariants._enabled = True

    @staticmethod
    def disable():
        """Disables the check."""
        check_sparse_tensor_invariants._enabled = False

    def __enter__(self):
        if self.saved is not None:
            raise RuntimeError("This context manager instance is already activated: make another one for nested use.")
        self.saved = self.is_enabled()
        check_sparse_tensor_invariants._enabled = self.state

    def __exit__(self, *exc):
        check_sparse_tensor_invariants._enabled, self.saved = self.saved, None

    def __call__(self, function):
        @functools.wraps(function)
        def call(*args, **kwargs):
            with type(self)(self.state):
                return function(*args, **kwargs)

        return call
