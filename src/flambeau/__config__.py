"""What computes, as a text."""

from __future__ import annotations

import platform

import numpy

from ._version import __version__
from .engines import NUMPY

__all__ = ["parallel_info", "show"]


def show():
    """A text that says what the library was built with."""
    parts = [f"NumPy {numpy.__version__}", f"Python {platform.python_version()}"]
    return "\n  - ".join([f"Flambeau {__version__}, built with:", *parts]) + "\n"


def parallel_info():
    """A text that says how many threads there are."""
    return f"Flambeau's pool of threads:\n  - threads: {NUMPY.thread_count()}\n"
