"""Suppresses warnings of jax during lowering that users cannot do anything about."""

import contextlib
import warnings

NOT_DONATED = "Some donated buffers were not usable"
DEPRECATED = "The Pallas Triton backend is deprecated"  # of the kernels in _flash_attention.py, from jax 0.11 on


@contextlib.contextmanager
def lowering():
    """A context for lowering and compiling programs with jax."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", NOT_DONATED)
        warnings.filterwarnings("ignore", DEPRECATED, DeprecationWarning)
        yield
