"""Python's ``multiprocessing``, with tensors that are shared, not copied, when they are sent to another process.

All names of ``multiprocessing`` are here. Once this is imported, a tensor that goes through a queue, through a pipe, or
to a process that is spawned, moves to shared memory, and both processes see each other's writes to it.
"""

import multiprocessing as _python
from multiprocessing import *

from .reductions import init_reductions
from .spawn import (
    ProcessContext,
    ProcessExitedException,
    ProcessRaisedException,
    SpawnContext,
    spawn,
    start_processes,
)

__all__ = [
    "ProcessContext", "ProcessExitedException", "ProcessRaisedException", "SpawnContext", "get_all_sharing_strategies",
    "get_sharing_strategy", "set_sharing_strategy", "spawn", "start_processes", *_python.__all__,
]

UNKNOWN_STRATEGY = "invalid sharing strategy {name!r}, expected one of {known}"

_strategies = {"file_descriptor", "file_system"}
_strategy = "file_descriptor"


def get_all_sharing_strategies() -> set:
    """The names of the ways in which memory can be shared."""
    return set(_strategies)


def get_sharing_strategy() -> str:
    """The name of the way in which memory is shared."""
    return _strategy


def set_sharing_strategy(new_strategy: str) -> None:
    """Accepts the name of a strategy. Memory is always shared by file descriptors: no file is left over by a crash."""
    global _strategy
    if new_strategy not in _strategies:
        raise AssertionError(UNKNOWN_STRATEGY.format(name=new_strategy, known=sorted(_strategies)))
    _strategy = new_strategy


init_reductions()
