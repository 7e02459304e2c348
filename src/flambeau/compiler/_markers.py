"""What programs tell PyTorch's compiler about functions. A program of ours is the whole function: nothing changes."""

from .._modes import modes

__all__ = [
    "allow_in_graph", "assume_constant_result", "cudagraph_mark_step_begin", "is_dynamo_compiling", "is_exporting",
    "reset",
]


def allow_in_graph(fn):
    """Returns the function, or the list of them: what can be traced is."""
    return fn


def assume_constant_result(fn):
    """Returns the function; its result is watched all the same."""
    return fn


def cudagraph_mark_step_begin():
    """Accepted, without effect: there are no CUDA graphs."""


def is_dynamo_compiling():
    """Whether the code that asks is being traced to be compiled."""
    return modes.tracer.active


def is_exporting():
    """Whether the code that asks is being exported: never."""
    return False


def reset():
    """Accepted, without effect: programs belong to the functions that were compiled."""
