"""cuDNN, which XLA uses on GPUs as it sees fit: settings other than ``allow_tf32`` have no effect."""

import contextlib
import sys
import types

from .._precision import precision as _precision

enabled = True
benchmark = False
benchmark_limit = 10
deterministic = False


def is_available():
    """Whether cuDNN is available: False, as XLA manages it."""
    return False


def version():
    """The version of cuDNN: None."""
    return None


def is_acceptable(tensor):
    """Whether cuDNN supports a tensor: False."""
    return False


def set_flags(_enabled=None, _benchmark=None, _benchmark_limit=None, _deterministic=None, _allow_tf32=None):
    """Changes the settings that are not None; returns the previous ones."""
    module, names = sys.modules[__name__], ("enabled", "benchmark", "benchmark_limit", "deterministic", "allow_tf32")
    old = tuple([getattr(module, name) for name in names])
    for name, value in zip(names, (_enabled, _benchmark, _benchmark_limit, _deterministic, _allow_tf32)):
        if value is not None:
            setattr(module, name, value)
    return old


@contextlib.contextmanager
def flags(enabled=False, benchmark=False, benchmark_limit=10, deterministic=False, allow_tf32=True):
    """A context manager for these settings."""
    old = set_flags(enabled, benchmark, benchmark_limit, deterministic, allow_tf32)
    try:
        yield
    finally:
        set_flags(*old)


class _Module(types.ModuleType):
    @property
    def allow_tf32(self):
        """Whether float32 convolutions and recurrent layers may use TensorFloat-32 on a GPU."""
        return _precision.cudnn

    @allow_tf32.setter
    def allow_tf32(self, allowed):
        _precision.set(cudnn=bool(allowed))


sys.modules[__name__].__class__ = _Module
