"""Streams and events. JAX orders the work on a GPU by itself: there is one stream, and events are points in time."""

from __future__ import annotations

import time

from ._devices import current_torch_device, init, synchronize

__all__ = [
    "CUDAGraph", "Event", "Stream", "StreamContext", "current_stream", "default_stream", "graph",
    "is_current_stream_capturing", "stream",
]

NOT_TIMED = "Both events must be created with argument 'enable_timing=True' and recorded before elapsed_time."
NO_GRAPHS = "CUDA graphs are not supported; flambeau.compile() makes one program of a step, which serves the same end."


class Stream:
    """The stream of a GPU; all of them are one."""

    def __init__(self, device=None, priority=0, **kwargs):
        init()
        self.device = current_torch_device()

    def synchronize(self):
        """Waits for all work on the GPU."""
        synchronize()

    def query(self):
        """Whether all work is done; it waits for it."""
        synchronize()
        return True

    def wait_event(self, event):
        """Nothing to do: work is in order."""

    def wait_stream(self, stream):
        """Nothing to do: work is in order."""

    def record_event(self, event=None):
        """Records an event, a new one if none is given."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def __eq__(self, other):
        return isinstance(other, Stream) and self.device == other.device

    def __hash__(self):
        return hash(self.device)


class StreamContext:
    """A context for a stream; as there is one, it changes nothing."""

    def __init__(self, stream):
        self.stream = stream

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        return None


def stream(stream):
    """A context in which work goes to `stream`."""
    return StreamContext(stream)


def current_stream(device=None):
    """The stream of a GPU."""
    return Stream(device)


default_stream = current_stream


class Event:
    """A point in time; recording it waits for the GPU, so that times between two of them are true."""

    def __init__(self, enable_timing=False, blocking=False, interprocess=False, external=False):
        init()
        self.enable_timing = enable_timing
        self.time = None

    def record(self, stream=None):
        """Waits for the work so far, and takes the time."""
        synchronize()
        self.time = time.perf_counter()

    def elapsed_time(self, end_event):
        """Milliseconds between two events."""
        if not (self.enable_timing and end_event.enable_timing and self.time and end_event.time):
            raise RuntimeError(NOT_TIMED)
        return (end_event.time - self.time) * 1000

    def synchronize(self):
        """Nothing to do: ``record`` has waited."""

    def wait(self, stream=None):
        """Nothing to do: work is in order."""

    def query(self):
        """Whether the work before the event is done."""
        return True


class CUDAGraph:
    """Not supported: making one raises."""

    def __init__(self, *args, **kwargs):
        raise NotImplementedError(NO_GRAPHS)


class graph:
    """Not supported: making one raises."""

    def __init__(self, *args, **kwargs):
        raise NotImplementedError(NO_GRAPHS)


def is_current_stream_capturing():
    """Whether a CUDA graph is being recorded: never."""
    return False
