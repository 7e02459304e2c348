"""What jax warns of while it lowers programs, and users cannot do anything about."""

import contextlib
import warnings

NOT_DONATED = "Some donated buffers were not usable"
DEPRECATED = "The Pallas Triton backend is deprecated"  # jax 0.11 says so of the kernels in _flash_attention.py


@contextlib.contextmanager
def lowering():
    """A context in which jax lowers, and compiles, programs."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", NOT_DONATED)
        warnings.filterwarnings("ignore", DEPRECATED, DeprecationWarning)
        yield
