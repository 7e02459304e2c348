"""The names of PyTorch's C extension for layers: functions of ``nn.functional``, which pickles of PyTorch's name so."""

from ..nn import functional as _functional
from ..nn.modules._moves import parse_to as _parse


def _parse_to(*args, **kwargs):
    """(device, dtype, non_blocking, memory_format) from the arguments of ``Module.to``."""
    device, dtype, memory_format = _parse(args, kwargs)
    return device, dtype, bool(kwargs.get("non_blocking", False)), memory_format


def __getattr__(name):
    return getattr(_functional, {"log_sigmoid": "logsigmoid"}.get(name, name))
