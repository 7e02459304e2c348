"""Where the time of a program goes: by op, by module, and as a timeline.

Example::

    >>> from flambeau import nn, profiler, randn
    >>> model = nn.Sequential(nn.Linear(8, 8), nn.ReLU())
    >>> with profiler.profile() as prof:
    ...     _ = model(randn(2, 8)).sum().backward()
    >>> [row.count for row in prof.key_averages() if row.key == "aten::relu"]
    [1]
"""

from ._events import EventList, FunctionEvent
from ._profile import (
    ProfilerAction,
    ProfilerActivity,
    profile,
    schedule,
    supported_activities,
    tensorboard_trace_handler,
)
from ._recorder import record_function

__all__ = [
    "EventList", "FunctionEvent", "ProfilerAction", "ProfilerActivity", "emit_nvtx", "kineto_available",
    "profile",
    "record_function", "schedule", "supported_activities", "tensorboard_trace_handler",
]


class emit_nvtx:
    """Marks for NVIDIA's profilers, which are not supported: making one raises."""

    def __init__(self, *args, **kwargs):
        raise NotImplementedError("emit_nvtx is not supported: use torch.profiler.profile().")


def kineto_available():
    """Whether timelines can be recorded: yes, by Flambeau itself."""
    return True
