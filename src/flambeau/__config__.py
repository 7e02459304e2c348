"""The build configuration as text."""

import platform

import numpy

from ._version import __version__
from .engines import NUMPY

__all__ = ["parallel_info", "show"]


def show():
    """Describes what the library was built with."""
    parts = [f"NumPy {numpy.__version__}", f"Python {platform.python_version()}"]
    return "\n  - ".join([f"Flambeau {__version__}, built with:", *parts]) + "\n"


def parallel_info():
    """Describes the threading settings."""
    return f"Flambeau's pool of threads:\n  - threads: {NUMPY.thread_count()}\n"
