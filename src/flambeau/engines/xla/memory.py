"""jax arrays and their devices. XLA determines the memory order of elements; PyTorch's strides are kept separately."""

from __future__ import annotations

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np

from ..._device import device, preserve_format, resolve
from ..._layout import contiguous_strides, strides_in
from ..._layout import is_contiguous as is_row_major
from ..._layout import is_expanded as is_expanded_by
from ..._modes import NO_TRACER, modes
from .. import no_device
from .._views import Memory, ViewArray, value_of
from ..numpy.memory import allocate, element_strides
from . import engine
from ._cache import load_ahead
from .lazy import Graph, LazyArray, record_call

PLATFORMS = {"cuda": "gpu", "tpu": "tpu"}  # by device type; "xla" is jax's default
LARGEST_SHARED = 1 << 16  # bytes; small arrays are cached, larger zeros are created on the device
LARGEST = 1 << 40  # bytes that a device may have
NO_DEVICE = "there is no device {device}: jax has {found}. Run on one of them, or on device='cpu'."


# ---- devices


@functools.cache
def jax_device(wanted):
    """The jax device of one of ours; raises if it does not exist."""
    try:
        found = jax.devices(PLATFORMS.get(wanted.type))
    except RuntimeError:
        found = []
    if wanted.index >= len(found):
        why = NO_DEVICE.format(device=wanted, found=", ".join(map(str, jax.devices())))
        raise RuntimeError(why) if found else no_device(wanted, why)
    our_names.setdefault(found[wanted.index], wanted)
    load_ahead()
    return found[wanted.index]


our_names: dict[jax.Device, device] = {}  # the names that the user chose first: "xla" may be a GPU too


@functools.cache
def _device(platform, index):
    return resolve(device({"gpu": "cuda", "tpu": "tpu"}.get(platform, "xla"), index))


@engine.immediate
def device_of(array):
    array = value_of(array)
    if is_traced(array):
        return modes.tracer.device
    found = array.graph.jax_device if type(array) is LazyArray else next(iter(array.devices()))
    return our_names.get(found) or _device(found.platform, found.id)


@engine.immediate
def is_traced(array):
    if type(array) is ViewArray:
        array = array.memory.array  # avoids recomputing the view
    return isinstance(array, jax.core.Tracer)


def is_on_gpu():
    """Whether the current trace is for a GPU."""
    return modes.tracer.device.type == "cuda" if modes.tracer.active else jax.default_backend() == "gpu"


# ---- arrays


@engine.immediate
def create(make, shape, dtype, device, *value):
    of_integers = value and dtype.kind == "i" and all([type(x) is int for x in value])
    if of_integers and modes.tracer is NO_TRACER and math.prod(shape) * dtype.itemsize <= LARGEST_SHARED:
        return shared_array(make, shape, dtype, device, *value)
    if make is np.zeros and modes.tracer is NO_TRACER and LARGEST_SHARED < math.prod(shape) * dtype.itemsize < LARGEST:
        return record_call(jnp.zeros, (tuple(shape), dtype), {}, Graph.on(jax_device(device)))[0]
    return put_on(allocate(make, shape, dtype, *value), device)


@functools.lru_cache(128)
def shared_array(make, shape, dtype, device, *value):
    """An array shared by all tensors created this way (such as positions), so it is transferred only once."""
    return put_on(allocate(make, shape, dtype, *value), device)


@engine.immediate
def from_host(array, device):
    if modes.tracer.active:  # the trace knows drawn arrays by identity
        return put_on(array, device)
    return put_on(np.array(array, order="K"), device)  # on the CPU jax may alias the array's memory


def put_on(array, device):
    """An array on a device. Nobody may write to the original afterwards."""
    if modes.tracer.active:
        modes.tracer.enter_device(device)
        return with_layout(modes.tracer.on_device(array), element_strides(array))
    return with_layout(LazyArray.of(jax.device_put(array, jax_device(device))), element_strides(array))


@engine.immediate
def to_host(array):
    array = value_of(array)
    return array.elements.copy() if type(array) is LazyArray else np.array(array)


@engine.immediate
def as_array(x):
    return x if type(x) in (ViewArray, LazyArray) else jnp.asarray(x)


@engine.immediate
def operand(x):
    """x as an argument for kernels. NumPy arrays become constants, except masks, which may determine shapes."""
    if type(x) is ViewArray:
        return x.value
    if hasattr(type(x), "as_traced"):  # a number that is an input of a program
        return x.as_traced()
    if type(x) is np.ndarray and x.dtype != bool and modes.tracer is not NO_TRACER:
        return jnp.asarray(x)
    return x


# ---- where elements would lie


@engine.immediate
def layout_of(array):
    return (array.strides, array.offset) if type(array) is ViewArray else (contiguous_strides(array.shape), 0)


@engine.immediate
def strides_of(array):
    return array.strides if type(array) is ViewArray else contiguous_strides(array.shape)


@engine.immediate
def is_expanded(array):
    return type(array) is ViewArray and is_expanded_by(array.shape, array.strides)


@engine.immediate
def is_contiguous(array):
    return type(array) is not ViewArray or is_row_major(array.shape, array.strides)


@engine.immediate
def is_writable(array):
    return True


@engine.kernel
def resize(array, shape):
    """The elements in another shape, truncated or padded with zeros."""
    flat, size = jnp.ravel(array), math.prod(shape)
    return jnp.pad(flat[:size], (0, max(size - flat.size, 0))).reshape(shape)


@engine.immediate
def with_layout(array, strides, offset=0):
    """An array that appears to have these strides; XLA chooses its own memory order."""
    if is_row_major(array.shape, strides):
        return array
    return ViewArray(Memory(array, strides), (), array, strides, offset)


# ---- copies


@engine.immediate
def copy(x):
    return with_layout(operand(x), strides_in(x.shape, strides_of(x), preserve_format))


@engine.immediate
def copy_like(x, like):
    if type(x) is LazyArray and type(like) is LazyArray:  # both row-major
        return x
    return with_layout(operand(x), strides_of(like))


@engine.immediate
def copy_as(x, dtype, format=preserve_format):
    array = value_of(x)
    if array.dtype.kind == "c" and dtype.kind not in "cb":
        array = array.real
    return with_layout(array.astype(dtype), strides_in(x.shape, strides_of(x), format))
