"""Autocast: regions in which each function computes in a suitable precision."""

import functools
import threading
import warnings

from .._device import device
from .._dtypes import bfloat16, float16
from .._dtypes import dtype as dtype_class
from .._modes import modes
from .._tensor import Tensor
from .._threads import per_thread
from ._casts import Casts, convert, teach_functions

__all__ = ["autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]

LOWER_DTYPES = (bfloat16, float16)
DEVICES = ("cpu", "cuda", "xla", "tpu")
NO_CUDA = "CUDA is not available or torch_xla is imported. Disabling autocast."
UNSUPPORTED = (
    "In {device} autocast, but the target dtype is not supported. Disabling autocast.\n"
    "{device} Autocast only supports dtypes of torch.bfloat16, torch.float16 currently."
)
DEVICE_TYPE = "Expected `device_type` of type `str`, got: `{kind}`"
OTHER_DEVICE = "User specified an unsupported autocast device_type '{device_type}'; use cpu, cuda, tpu or xla"


class _Settings(threading.local):
    """A thread's defaults for regions."""

    def __init__(self):
        self.dtypes = {"cpu": bfloat16, "cuda": float16, "xla": bfloat16, "tpu": bfloat16}
        self.cache_enabled = True


_settings = per_thread(_Settings())


def is_autocast_available(device_type):
    """Whether autocast supports a device type."""
    return device(device_type).type in DEVICES


class autocast:
    """A context manager and decorator in which functions cast their inputs: matrix products and convolutions to a lower
    precision, losses and others that need it to float32.

    Args:
        device_type: ``"cpu"``, ``"cuda"``, ``"xla"`` or ``"tpu"``: the tensors that are affected.
        dtype: the lower precision. By default bfloat16, on ``"cuda"`` float16.
        enabled: if False, functions compute in the dtypes of their inputs, even inside another region.
        cache_enabled: whether to cache casts of parameters until the outermost region is left.

    Parameters and their gradients stay in float32. Call backward outside the region: it computes in the same precision
    as the forward.

    Example::

        >>> m, x = nn.Linear(3, 2), flambeau.ones(1, 3)
        >>> with flambeau.autocast("cpu"):
        ...     out = m(x)
        >>> out.dtype, m.weight.dtype
        (torch.bfloat16, torch.float32)
    """

    def __init__(self, device_type, dtype=None, enabled=True, cache_enabled=None):
        if not isinstance(device_type, str):
            raise ValueError(DEVICE_TYPE.format(kind=type(device_type)))
        if not is_autocast_available(device_type):
            raise RuntimeError(OTHER_DEVICE.format(device_type=device_type))
        self.device = device(device_type).type
        self.fast_dtype = _settings.dtypes[self.device] if dtype is None else dtype
        self._cache_enabled = _settings.cache_enabled if cache_enabled is None else cache_enabled
        self._enabled = bool(enabled) and self._is_possible()
        self._before = []

    def _is_possible(self):
        if self.device == "cuda" and not _has_cuda():
            warnings.warn(NO_CUDA, stacklevel=3)
            return False
        if self.fast_dtype not in LOWER_DTYPES:
            warnings.warn(UNSUPPORTED.format(device=self.device.upper()), stacklevel=3)
            return False
        return True

    def __enter__(self):
        before = modes.autocast
        self._before.append((before, _settings.dtypes[self.device], _settings.cache_enabled))
        _settings.dtypes[self.device], _settings.cache_enabled = self.fast_dtype, self._cache_enabled
        set_autocast_enabled(self.device, self._enabled)
        return self

    def __exit__(self, *exc):
        before, _settings.dtypes[self.device], _settings.cache_enabled = self._before.pop()
        modes.set_autocast(before)
        return False

    def __call__(self, func):
        @functools.wraps(func)
        def inside(*args, **kwargs):
            with self:
                return func(*args, **kwargs)

        return inside


def _has_cuda():
    from ..cuda import is_available

    return is_available()


# ---- the state, as functions


def is_autocast_enabled(device_type="cuda"):
    """Whether autocast is enabled for a device type."""
    return modes.autocast is not None and device(device_type).type in modes.autocast.dtypes


def get_autocast_dtype(device_type):
    """The lower precision for a device type: that of the current region, or the default."""
    return _settings.dtypes[device(device_type).type]


def set_autocast_dtype(device_type, dtype):
    """Sets the default lower precision for a device type."""
    if not isinstance(dtype, dtype_class):
        raise TypeError(f"dtype must be a torch.dtype, got {type(dtype).__name__}")
    _settings.dtypes[device(device_type).type] = dtype


def set_autocast_enabled(device_type, enabled=None):
    """Enters or leaves a region for a device type; prefer ``with autocast(...)``."""
    device_type, enabled = ("cuda", device_type) if enabled is None else (device(device_type).type, enabled)
    before = modes.autocast
    dtypes = {} if before is None else dict(before.dtypes)
    dtypes.pop(device_type, None)
    if enabled:
        teach_functions("cpu" if device_type == "cpu" else "accelerator")
        dtypes[device_type] = _settings.dtypes[device_type]
    cache = {} if before is None else before.cache
    modes.set_autocast(Casts(dtypes, _settings.cache_enabled, cache) if dtypes else None)


def is_autocast_cache_enabled():
    """Whether regions cache casts of parameters by default."""
    return _settings.cache_enabled


def set_autocast_cache_enabled(enabled):
    """Sets whether regions cache casts of parameters by default."""
    _settings.cache_enabled = bool(enabled)


def clear_autocast_cache():
    """Drops the cached casts of parameters."""
    if modes.autocast is not None:
        modes.autocast.cache.clear()


# ---- for users' own Functions


def custom_fwd(fwd=None, *, device_type, cast_inputs=None):
    """Decorator of the ``forward`` of an :class:`autograd.Function`.

    With ``cast_inputs``, floating tensors are cast to that dtype, and it runs without autocast. Otherwise it runs in
    the caller's region, and so does a ``backward`` with :func:`custom_bwd`.
    """
    _check_device_type(device_type)
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def forward(*args, **kwargs):
        ctx = args[0]
        ctx._region_dtype = get_autocast_dtype(device_type)
        ctx._fwd_used_autocast = is_autocast_enabled(device_type)
        if cast_inputs is None or not ctx._fwd_used_autocast:
            return fwd(*args, **kwargs)
        ctx._fwd_used_autocast = False
        args, kwargs = (_cast_nested(nest, device_type, cast_inputs) for nest in (args, kwargs))
        with autocast(device_type, enabled=False):
            return fwd(*args, **kwargs)

    return forward


def custom_bwd(bwd=None, *, device_type):
    """Decorator of the ``backward`` of an :class:`autograd.Function`: it runs with the autocast state of ``forward``.
    """
    _check_device_type(device_type)
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def backward(*args, **kwargs):
        with autocast(device_type, enabled=args[0]._fwd_used_autocast, dtype=args[0]._region_dtype):
            return bwd(*args, **kwargs)

    return backward


def _check_device_type(device_type):
    if not isinstance(device_type, str):
        raise ValueError(DEVICE_TYPE.format(kind=type(device_type)))


def _cast_nested(value, device_type, dtype):
    """A nested structure with its floating tensors on a device cast, except float64 ones."""
    if isinstance(value, Tensor):
        lies_there = value.device.type == device_type and value.is_floating_point()
        return convert(value, dtype) if lies_there and value.dtype.itemsize < 8 and value.dtype is not dtype else value
    if isinstance(value, dict):
        return {k: _cast_nested(v, device_type, dtype) for k, v in value.items()}
    if type(value) in (list, tuple):
        return type(value)([_cast_nested(v, device_type, dtype) for v in value])
    return value
