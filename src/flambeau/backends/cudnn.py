"""cuDNN, which XLA uses on GPUs by its own choice: the settings but ``allow_tf32`` are kept, and make no difference."""

import contextlib
import sys
import types

from .._precision import precision as _precision

enabled = True
benchmark = False
benchmark_limit = 10
deterministic = False


def is_available():
    """Whether cuDNN is at hand: it is XLA's affair, so no."""
    return False


def version():
    """The version of cuDNN: None."""
    return None


def is_acceptable(tensor):
    """Whether cuDNN would work on a tensor: no."""
    return False


def set_flags(_enabled=None, _benchmark=None, _benchmark_limit=None, _deterministic=None, _allow_tf32=None):
    """Sets those that are not None; returns what they were."""
    module, names = sys.modules[__name__], ("enabled", "benchmark", "benchmark_limit", "deterministic", "allow_tf32")
    old = tuple([getattr(module, name) for name in names])
    for name, value in zip(names, (_enabled, _benchmark, _benchmark_limit, _deterministic, _allow_tf32)):
        if value is not None:
            setattr(module, name, value)
    return old


@contextlib.contextmanager
def flags(enabled=False, benchmark=False, benchmark_limit=10, deterministic=False, allow_tf32=True):
    """A context in which the settings are these."""
    old = set_flags(enabled, benchmark, benchmark_limit, deterministic, allow_tf32)
    try:
        yield
    finally:
        set_flags(*old)


class _Module(types.ModuleType):
    @property
    def allow_tf32(self):
        """Whether convolutions and recurrent layers in float32 may be rounded to TensorFloat-32 on a GPU."""
        return _precision.cudnn

    @allow_tf32.setter
    def allow_tf32(self, allowed):
        _precision.set(cudnn=bool(allowed))


sys.modules[__name__].__class__ = _Module
