"""PyTorch's markers for functions to compile. Here a program is always the whole function, so they have no effect."""

from .._modes import modes

__all__ = [
    "allow_in_graph", "assume_constant_result", "cudagraph_mark_step_begin", "is_dynamo_compiling", "is_exporting",
    "reset",
]


def allow_in_graph(fn):
    """Returns the function, or the list of them, unchanged."""
    return fn


def assume_constant_result(fn):
    """Returns the function unchanged; its result is watched nevertheless."""
    return fn


def cudagraph_mark_step_begin():
    """Accepted for compatibility: there are no CUDA graphs."""


def is_dynamo_compiling():
    """Whether the caller is being traced for compilation."""
    return modes.tracer.active


def is_exporting():
    """Always False."""
    return False


def reset():
    """Accepted for compatibility: programs belong to the compiled functions."""
