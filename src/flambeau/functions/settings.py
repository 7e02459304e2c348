"""Process-wide settings: threads, determinism, matmul precision."""

import os
import warnings

from .._precision import precision as _precision
from ..engines import NUMPY
from ._determinism import determinism

__all__ = [
    "are_deterministic_algorithms_enabled", "get_deterministic_debug_mode", "get_float32_matmul_precision",
    "get_num_interop_threads", "get_num_threads", "is_deterministic_algorithms_warn_only_enabled",
    "set_deterministic_debug_mode", "set_float32_matmul_precision", "set_num_interop_threads", "set_num_threads",
    "use_deterministic_algorithms",
]


class _Settings:
    interop_threads = None


_settings = _Settings()


# ---- threads


def _positive(num, name):
    if not isinstance(num, int) or isinstance(num, bool):
        raise RuntimeError(f"{name} expects an int, but got {type(num).__name__}")
    if num <= 0:
        raise RuntimeError(f"{name} expects a positive integer, got {num}")
    return num


def set_num_threads(num):
    """Sets how many threads an operation may use, in our own kernels and in NumPy's bundled OpenBLAS."""
    NUMPY.set_thread_count(_positive(num, "set_num_threads"))


def get_num_threads():
    """How many threads an operation may use."""
    return NUMPY.thread_count()


def set_num_interop_threads(num):
    """For compatibility: operations run one after another here."""
    _settings.interop_threads = _positive(num, "set_num_interop_threads")


def get_num_interop_threads():
    """The number set by ``set_num_interop_threads``, by default the number of cores."""
    return _settings.interop_threads or os.cpu_count() or 1


# ---- determinism


def use_deterministic_algorithms(mode, *, warn_only=False):
    """Sets deterministic mode. All algorithms are deterministic anyway, but ``empty`` and the like then fill memory."""
    if not isinstance(mode, bool):
        raise TypeError(f"use_deterministic_algorithms(): argument 'mode' must be bool, not {type(mode).__name__}")
    determinism.set(enabled=mode, warn_only=bool(warn_only))


def are_deterministic_algorithms_enabled():
    """Whether ``use_deterministic_algorithms(True)`` was called."""
    return determinism.enabled


def is_deterministic_algorithms_warn_only_enabled():
    """Whether ``use_deterministic_algorithms`` was called with ``warn_only=True``."""
    return determinism.warn_only


_DEBUG_MODES = {"default": 0, "warn": 1, "error": 2}


def set_deterministic_debug_mode(debug_mode):
    """Sets deterministic mode by 0 or "default", 1 or "warn", 2 or "error"."""
    if not isinstance(debug_mode, (int, str)):
        raise TypeError(f"debug_mode must be str or int, but got {type(debug_mode).__name__}")
    if isinstance(debug_mode, str):
        if debug_mode not in _DEBUG_MODES:
            raise RuntimeError(
                f"invalid value of debug_mode, expected one of `default`, `warn`, `error`, but got {debug_mode}"
            )
        debug_mode = _DEBUG_MODES[debug_mode]
    if debug_mode not in (0, 1, 2):
        raise RuntimeError(f"invalid value of debug_mode, expected 0, 1, or 2, but got {debug_mode}")
    use_deterministic_algorithms(debug_mode > 0, warn_only=debug_mode == 1)


def get_deterministic_debug_mode():
    """0, 1 or 2: see ``set_deterministic_debug_mode``."""
    return 0 if not determinism.enabled else 1 if determinism.warn_only else 2


# ---- precision


def set_float32_matmul_precision(precision):
    """Sets the precision of float32 matrix products: "highest", or "high" or "medium", which allow a GPU to use
    TensorFloat-32.
    """
    if precision not in ("highest", "high", "medium"):
        warnings.warn(
            f"{precision} is not one of 'highest', 'high', or 'medium'; this set_float32_matmul_precision call has "
            "no effect.", UserWarning, stacklevel=2,
        )
        return
    _precision.set(matmul=precision)


def get_float32_matmul_precision():
    """The precision set by ``set_float32_matmul_precision``."""
    return _precision.matmul
