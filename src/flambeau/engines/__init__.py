"""Engines compute. An engine is a namespace of kernels with NumPy's names and semantics.

Ops are written against such a namespace, called ``k``. Most kernels are functions of the engine's array library; an
engine overrides them by functions of the same name in its own folder.

Every engine also defines how its arrays are created, and their memory layout:

- ``create(make, shape, dtype, device, *value)``: a new array, like ``make(shape, *value, dtype)`` in NumPy;
- ``from_host(array, device)`` and ``to_host(array)``: copies between a device and NumPy;
- ``device_of(array)``: the device that an array is on;
- ``strides_of(array)``; where NumPy does not know them, ``layout_of(array)`` and ``with_layout(array, strides,
  offset)``: where its elements lie, or would lie, in memory, counted in elements;
- ``aliases``: whether views share memory with their source, so that it can be written to through them;
- ``layout``: whether all elements are stored (``strided``), or only some of them.
"""

from __future__ import annotations

import importlib
import math

import numpy as np

from .._device import strided
from .._modes import modes


class MissingKernel(NotImplementedError, AttributeError):
    """Raised by an engine for ops that it does not support."""


class Engine:
    """Kernels by name: the engine's own, then the array library's functions."""

    layout = strided
    aliases = True
    computes = True  # whether it has kernels for ops; if not, its arrays wrap tensors
    records = False  # whether it records calls lazily
    sums_products_wide = False  # whether products of half-precision arrays are summed in float32 by its kernels
    arrays_have_strides = False  # whether its arrays have strides themselves
    traced_errors: tuple[type[Exception], ...] = ()  # the error of operations that need the elements of a traced array

    def __init__(self, name, library):
        self.name = name
        self._library = library

    def __getattr__(self, kernel):
        found = getattr(self._library, kernel)
        setattr(self, kernel, found)
        return found

    def __repr__(self):
        return f"<engine {self.name}>"

    def fetch(self, array, what):
        """The elements as a NumPy array; `what` names the caller in errors."""
        return self.to_host(array)

    def operand(self, x):
        """x as an argument of the engine's kernels."""
        return x

    def run(self, function, arrays, settings):
        """Runs `function`, the forward of an op, on the engine's arrays."""
        return modes.tracer.computation(function)(self, *arrays, **settings)

    def draw(self, kernel, generator, shape, dtype, device, *values):
        """Draws like NumPy's `kernel` of this name, on a device; None: draw on the CPU, and copy."""

    def dropout_scale(self, generator, like, shape, p):
        """Zeros with probability p, else 1 / (1 - p), drawn on the device of `like`; None: draw on the CPU and copy."""

    def attention_key(self, generator, query, key, value, p):
        """The random key with which ``fused_attention`` and ``dropout_factors`` draw dropout factors; None: pass the
        factors themselves."""

    def fused_attention(self, query, key, value, mask, dropped, scale, causal):
        """Attention in one kernel; None if there is none for such arrays."""

    def fused_attention_pull(self, g, query, key, value, mask, dropped, scale, causal):
        """The gradients of query, key and value, and None, by ``fused_attention``'s kernel; None if there is none."""

    def masked_attention_pull(self, g, query, key, value, mask, dropped, scale, causal):
        """The gradients of query, key, value and mask, in one kernel; None if there is none."""

    def sum_rows(self, x):
        """The sum of the rows of a matrix, in one kernel; None if there is none."""

    # Recurrent layers over a whole sequence in one kernel, for ``ops/rnn.py``; None if there is none for such arrays

    def lstm_sequence(self, x, h, c, w, reverse):
        """(the hidden states, the cell states, the gates) at each time."""

    def lstm_sequence_pull(self, g_h, g_c, g_gates, gates, cells, c, w, reverse):
        """The gradients of x, h and c. Those of the results may be None, meaning zeros, here and below."""

    def gru_sequence(self, x, h, w, b, reverse):
        """(the hidden states, the gates and the hidden state's part of the last gate) at each time."""

    def gru_sequence_pull(self, g_h, g_saved, saved, states, h, w, reverse):
        """The gradients of x, of the hidden state's part of the gates, and of h."""

    def rnn_sequence(self, x, h, w, is_relu, reverse):
        """(the hidden states,) at each time."""

    def rnn_sequence_pull(self, g_h, states, w, is_relu, reverse):
        """The gradients of x and h."""

    def exchange_handler(self, handler):
        """Sets NumPy's memory handler in this context to `handler`, or if it is None to the engine's, which reuses the
        memory of large arrays. Returns the previous handler; None if not supported."""

    def nll_of_rows(self, x, target, ignore, reduction):
        """(negative scores at the targets, number of targets) of rows, in one kernel; None if there is none."""

    def nll_of_rows_pull(self, g, target, ignore, reduction, classes):
        """The gradient of x, by the kernel of ``nll_of_rows``; None if there is none."""

    def grid_corners(self, grid, spatial, mode, padding, align, with_slopes):
        """(flat indices, weights, derivatives of these by each coordinate if requested) of the elements that grid
        points sample, in one kernel; None if there is none. See ``ops/grid.py``."""

    def in_format_of(self, y, *operands):
        """y, contiguous in the operands' memory format; unchanged if arrays have no strides."""
        return y

    def run_recorded(self):
        """Runs recorded calls, on an engine that records."""

    def kernel(self, function):
        """Decorator: registers `function` as this engine's kernel of that name."""
        setattr(self, function.__name__, function)
        return function


class ShapedArray:
    """Base of our own array types, with a `shape` and a `dtype`."""

    __slots__ = ()

    @property
    def ndim(self):
        return len(self.shape)

    @property
    def size(self):
        return math.prod(self.shape)

    @property
    def itemsize(self):
        return self.dtype.itemsize

    @property
    def nbytes(self):
        return self.size * self.dtype.itemsize

    def __len__(self):
        if not self.shape:
            raise TypeError("len() of an array without dimensions")
        return self.shape[0]


NUMPY = Engine("numpy", np)

TRACED = (
    "{what} needs the elements of a tensor ({operands}), which are not known while a program is traced to be compiled. "
    "Use tensor operations (where() instead of if, a mask instead of a selection), or compute it outside of it."
)

NO_JAX = (
    "tensors on {device} need JAX, which is not installed: pip install 'flambeau[xla]'. Or stay on the CPU: leave the "
    "device argument out, or pass device='cpu'."
)

NO_CUDA = "Torch not compiled with CUDA enabled: {why}"  # PyTorch's message in a CPU build

# ---- which engine


_MODULES = {"meta": ".meta", "xla": ".xla", "cuda": ".xla", "tpu": ".xla"}  # by type of device
_BY_TYPE = dict.fromkeys((np.ndarray, float, int, bool, complex, type(None)), NUMPY)  # for numbers
_BASES: list[tuple[type, Engine]] = []


def engine_on(device):
    """The engine of a device, imported on first use."""
    if device.type == "cpu":
        return NUMPY
    try:
        return importlib.import_module(_MODULES[device.type], __name__).engine
    except ModuleNotFoundError as error:
        raise no_device(device, NO_JAX.format(device=device)) from error


def no_device(device, why):
    """The error for an unavailable device, of PyTorch's type."""
    return AssertionError(NO_CUDA.format(why=why)) if device.type == "cuda" else RuntimeError(why)


def register_arrays(engine, *types):
    """Registers array types (and their subclasses) as the engine's."""
    _BASES[:0] = [(base, engine) for base in types]


def engine_of(*operands):
    """The engine of operands: NumPy, unless one is an array of another engine; to these, NumPy arrays are constants.

    An engine of another layout supports strided arrays too.
    """
    found = NUMPY
    for x in operands:
        kind = type(x)
        engine = _BY_TYPE.get(kind) or _look_up(kind)
        if engine is not NUMPY and (found is NUMPY or engine.layout is not strided):
            found = engine
    return found


def _look_up(kind):
    for base, engine in _BASES:
        if issubclass(kind, base):
            _BY_TYPE[kind] = engine
            return engine
    return NUMPY


def run_recorded():
    """Starts recorded calls that have not run yet."""
    for _, engine in _BASES:
        engine.run_recorded()


# ---- elements


def on_host(array, what):
    """The elements as a NumPy array; `what` names the caller in the error for traced arrays, which have none."""
    engine = engine_of(array)
    if engine is NUMPY:
        return array
    if is_traced(array):
        raise needs_elements(what, f"{array.dtype}{list(array.shape)}")
    return engine.fetch(array, what)


def is_traced(array):
    """Whether the array is being traced, so that its elements are not known."""
    return engine_of(array).is_traced(array)


def is_traced_error(error):
    """Whether `error` was raised by an array library because the elements of a traced array were needed."""
    return any([isinstance(error, engine.traced_errors) for _, engine in _BASES])


def needs_elements(what, operands):
    """The error for needing the elements of a traced array. The trace fails, even if it is caught."""
    return modes.tracer.refuse(RuntimeError(TRACED.format(what=what, operands=operands)))


def demand(holds, wrong, error):
    """Raises ``error(wrong)`` unless `holds` is true: now, or for traced values when the compiled program runs."""
    if is_traced(holds):
        modes.tracer.require(holds, wrong, error)
    elif not holds:
        raise error(wrong.item())


importlib.import_module(".numpy", __name__)  # its kernels; other engines are imported on first use
