"""Streams and events. JAX orders the work on a GPU itself, so there is one stream, and events are timestamps."""

import time

from .._device import device as Device
from .._device import resolve
from ._devices import index_of, init, synchronize

__all__ = [
    "CUDAGraph", "Event", "Stream", "StreamContext", "current_stream", "default_stream", "graph",
    "is_current_stream_capturing", "set_stream", "stream",
]

NOT_TIMED = "Both events must be created with argument 'enable_timing=True' and recorded before elapsed_time."
NO_GRAPHS = "CUDA graphs are not supported; flambeau.compile() makes one program of a step, which serves the same end."


class Stream:
    """The stream of a GPU, which is also a context manager; all streams of a GPU are the same."""

    cuda_stream = 0

    def __init__(self, device=None, priority=0, **kwargs):
        self.device = resolve(Device("cuda", index_of(device)))
        self.priority = priority

    @property
    def device_index(self):
        """The index of the GPU."""
        return self.device.index

    def synchronize(self):
        """Waits for all work on the GPU."""
        synchronize(self.device)

    def query(self):
        """Waits for all work and returns True."""
        synchronize(self.device)
        return True

    def wait_event(self, event):
        """Does nothing: work is ordered."""

    def wait_stream(self, stream):
        """Does nothing: work is ordered."""

    def record_event(self, event=None):
        """Records an event, by default a new one."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        return None

    def __eq__(self, other):
        return isinstance(other, Stream) and self.device == other.device

    def __hash__(self):
        return hash(self.device)


class StreamContext:
    """A context manager for a stream, without effect, as there is only one."""

    def __init__(self, stream):
        self.stream = stream

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        return None


def stream(stream):
    """A context manager for `stream`."""
    return StreamContext(stream)


def current_stream(device=None):
    """The stream of a GPU."""
    return Stream(device)


default_stream = current_stream


def set_stream(stream):
    """Does nothing, as there is only one stream."""


class Event:
    """A timestamp; recording it waits for the GPU, so that elapsed times are accurate."""

    def __init__(self, enable_timing=False, blocking=False, interprocess=False, external=False):
        init()
        self.enable_timing = enable_timing
        self.time = None

    def record(self, stream=None):
        """Waits for pending work and takes the time."""
        synchronize(None if stream is None else stream.device)
        self.time = time.perf_counter()

    def elapsed_time(self, end_event):
        """Milliseconds between two events."""
        if not (self.enable_timing and end_event.enable_timing and self.time and end_event.time):
            raise RuntimeError(NOT_TIMED)
        return (end_event.time - self.time) * 1000

    def synchronize(self):
        """Does nothing: ``record`` has waited."""

    def wait(self, stream=None):
        """Does nothing: work is ordered."""

    def query(self):
        """Whether the work before the event has finished."""
        return True


class CUDAGraph:
    """Not supported: the constructor raises."""

    def __init__(self, *args, **kwargs):
        raise NotImplementedError(NO_GRAPHS)


class graph(CUDAGraph):
    """Not supported: the constructor raises."""


def is_current_stream_capturing():
    """Whether a CUDA graph is being captured: always False."""
    return False
