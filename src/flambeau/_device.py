"""Devices, layouts and memory formats."""

from __future__ import annotations

import threading

from ._threads import per_thread

NO_ENGINE = "{kind} devices are not supported: there is no engine for them. Use cpu, cuda, tpu, xla or meta."
_KNOWN = ("cpu", "cuda", "xla", "tpu", "meta", "mps", "xpu", "mkldnn", "hpu", "mtia", "privateuseone")
_ACCELERATORS = ("cuda", "tpu", "xla")  # computed by the XLA engine


class AcceleratorError(RuntimeError):
    """An error of an accelerator."""


class OutOfMemoryError(RuntimeError):
    """An accelerator is out of memory."""


class device:
    """Where a tensor lives: ``device("cpu")``, ``device("meta")``, ``device("cuda", 0)``."""

    __slots__ = ("index", "type")

    def __init__(self, type=None, index=None):
        if isinstance(type, device):
            type, index = type.type, type.index if index is None else index
        elif isinstance(type, int) and not isinstance(type, bool):
            type, index = "cuda", type
        elif not isinstance(type, str):
            raise TypeError(
                f"device(): argument 'type' (position 1) must be str, int or device, not {type.__class__.__name__}"
            )
        kind, colon, number = type.partition(":")
        if colon:
            if index is not None:
                raise RuntimeError(f"type (string) must not include an index because index was passed too: {type}")
            if not number.isdigit() or (len(number) > 1 and number[0] == "0"):
                raise RuntimeError(f"Invalid device string: '{type}'")
            index = int(number)
        if kind not in _KNOWN:
            raise RuntimeError(f"Expected one of {', '.join(_KNOWN)} device type at start of device string: {type}")
        if index is not None and index < 0:
            raise RuntimeError(f"Device index must not be negative, got {index}")
        self.type = kind
        self.index = index

    def __repr__(self):
        return f"device(type='{self.type}'" + (f", index={self.index})" if self.index is not None else ")")

    def __str__(self):
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other):
        return isinstance(other, device) and self.type == other.type and self.index == other.index

    def __hash__(self):
        return hash((self.type, self.index))

    def __reduce__(self):
        return device, (self.type,) if self.index is None else (self.type, self.index)

    def __enter__(self):
        chosen.default = True
        _defaults.stack.append(self)
        return self

    def __exit__(self, *exc):
        _defaults.stack.pop()


CPU = device("cpu")
META = device("meta")
_RESOLVED = {("cpu", None): CPU, ("meta", None): META}


class _Defaults(threading.local):
    def __init__(self):
        self.stack = []


class _Chosen:
    """Whether some thread has chosen a default device; until then, it is the CPU."""

    default = False


_defaults = per_thread(_Defaults())
chosen = _Chosen()
_default_device = CPU
_current: dict[str, int] = {}  # current devices, by type, if not number 0


def current_index(kind):
    """The index of the current device of a type."""
    return _current.get(kind, 0)


def set_current_index(kind, index):
    """Makes a device the current one of its type, to which the type without an index refers."""
    _current[kind] = index


def get_default_device():
    """The device that new tensors are created on by default."""
    return _defaults.stack[-1] if _defaults.stack else _default_device


def explicit_default():
    """The default device if a context or ``set_default_device`` has set one, otherwise None."""
    if _defaults.stack:
        return _defaults.stack[-1]
    return None if _default_device is CPU else _default_device


def set_default_device(device):
    """Sets the device that new tensors are created on by default; None means the CPU."""
    global _default_device
    chosen.default = True
    _default_device = CPU if device is None else resolve(device)


def resolve(dev):
    """Returns the device object for `dev`: a device, a string, an index or None (the default device).

    Each device is one object, with an index on accelerators. Whether it is available is for the engine to check.
    """
    if dev is None:
        if not _defaults.stack and _default_device is CPU:
            return CPU
        dev = get_default_device()
    elif dev is CPU or (type(dev) is str and dev == "cpu"):
        return CPU
    if not isinstance(dev, device):
        dev = device(dev)
    index = dev.index
    if dev.type in _ACCELERATORS:
        index = _current.get(dev.type, 0) if index is None else index
    elif dev.type not in ("cpu", "meta"):
        raise RuntimeError(NO_ENGINE.format(kind=dev.type))
    else:
        index = None
    found = _RESOLVED.get((dev.type, index))
    return found or _RESOLVED.setdefault((dev.type, index), device(dev.type, index))


class _Named:
    """A constant that prints as ``torch.<name>`` and pickles by name."""

    __module__ = "flambeau"
    __slots__ = ("name",)
    name: str
    _members: dict[str, _Named]

    def __init_subclass__(cls):
        cls._members = {}

    def __new__(cls, *args, **kwargs):
        raise TypeError(f"cannot create 'torch.{cls.__name__}' instances: all that there are have names")

    @classmethod
    def _make(cls, name):
        self = cls._members[name] = object.__new__(cls)
        self.name = name
        return self

    def __repr__(self):
        return f"torch.{self.name}"

    def __reduce__(self):
        return self.name  # its public module


class layout(_Named):
    """How the elements of a tensor are stored: ``strided``, or one of the sparse layouts."""

    __module__ = "flambeau"
    __slots__ = ()


class memory_format(_Named):
    """The order of a dense tensor's dimensions in memory."""

    __module__ = "flambeau"
    __slots__ = ()


strided = layout._make("strided")
sparse_coo = layout._make("sparse_coo")
sparse_csr, sparse_csc = layout._make("sparse_csr"), layout._make("sparse_csc")
contiguous_format = memory_format._make("contiguous_format")
channels_last = memory_format._make("channels_last")
channels_last_3d = memory_format._make("channels_last_3d")
preserve_format = memory_format._make("preserve_format")
