"""The CPU under the names that accelerators have, for code that serves any device. Its work is done at once."""

from .._lazy import lazy_submodules as _lazy_submodules

__all__ = [
    "Event", "Stream", "StreamContext", "current_device", "current_stream", "device_count", "is_available",
    "is_initialized", "set_device", "stream", "synchronize",
]


def is_available():
    """Whether tensors can be there: yes."""
    return True


def is_initialized():
    """Whether it is ready: always."""
    return True


def device_count():
    """How many there are: 1, whatever its cores."""
    return 1


def current_device():
    """The name of the device."""
    return "cpu"


def set_device(device):
    """Nothing to choose."""


def synchronize(device=None):
    """Nothing to wait for."""


class Event:
    """A point in time; all work before it is done."""

    def query(self):
        """Whether it has been reached: yes."""
        return True

    def record(self, stream=None):
        """Nothing to do."""

    def synchronize(self):
        """Nothing to wait for."""

    def wait(self, stream=None):
        """Nothing to wait for."""


class Stream:
    """The order of the work: that of the calls."""

    def __init__(self, priority=-1):
        pass

    def record_event(self):
        """An event at this point; all work before it is done."""
        return Event()

    def wait_event(self, event):
        """Nothing to wait for."""

    def wait_stream(self, stream):
        """Nothing to wait for."""


class StreamContext:
    """A context for a stream; it changes nothing."""

    def __init__(self, stream):
        self.stream = stream

    def __enter__(self):
        return None

    def __exit__(self, *exc):
        return None


_STREAM = Stream()


def current_stream(device=None):
    """The stream in use."""
    return _STREAM


def stream(stream):
    """A context in which work goes to `stream`."""
    return StreamContext(stream)


__getattr__, __dir__ = _lazy_submodules(__name__, ["amp"])
