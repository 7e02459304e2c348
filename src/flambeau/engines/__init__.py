"""Engines: what computes. An engine is a namespace of kernels with NumPy's names and meaning.

Ops are written against such a namespace, called ``k``. Most names are served by the engine's array library itself; an
engine overrides a kernel by defining a function of that name in its own folder.

Every engine also says how its arrays come about and lie in memory:

- ``create(make, shape, dtype, device, *value)``: a new array, as ``make(shape, *value, dtype)`` makes it on NumPy;
- ``from_host(array, device)`` and ``to_host(array)``: copies between a device and NumPy;
- ``device_of(array)``: the device that an array is on;
- ``strides_of(array)``; where NumPy does not know them, ``layout_of(array)`` and ``with_layout(array, strides,
  offset)``: where its elements lie, or would lie, in memory, counted in elements;
- ``aliases``: whether views share the memory of what they are taken of, so that it can be written to through them;
- ``layout``: whether there is memory for every element (``strided``), or for some of them.
"""

from __future__ import annotations

import importlib
import math

import numpy as np

from .._device import strided
from .._modes import modes


class MissingKernel(NotImplementedError, AttributeError):
    """What an engine that serves some ops only raises where it is asked for more."""


class Engine:
    """Kernels by name: the engine's own ones first, the array library's for the rest."""

    layout = strided
    aliases = True
    computes = True  # whether it has kernels for ops; if not, its arrays stand for tensors
    records = False  # whether it records calls, to run them together
    sums_products_wide = False  # whether products of half-precision arrays are summed in float32 by its kernels
    arrays_have_strides = False  # whether its arrays know themselves where their elements lie
    traced_errors: tuple[type[Exception], ...] = ()  # of what needs the elements of a traced array

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
        """The elements as a NumPy array, for `what`."""
        return self.to_host(array)

    def operand(self, x):
        """x as the engine's kernels take it."""
        return x

    def run(self, function, arrays, settings):
        """The result of `function`, the forward of an op, on the engine's arrays."""
        return modes.tracer.computation(function)(self, *arrays, **settings)

    def draw(self, kernel, generator, shape, dtype, device, *values):
        """What NumPy's `kernel` of this name draws, drawn on a device; None: draw on the CPU, and move."""

    def dropout_scale(self, generator, like, shape, p):
        """Zeros with probability p and else 1 / (1 - p), drawn where `like` is; None: draw on the CPU, and move."""

    def attention_key(self, generator, query, key, value, p):
        """A vector by which ``fused_attention`` draws the factors of dropout, and ``dropout_factors`` too; None: it
        takes the factors themselves."""

    def fused_attention(self, query, key, value, mask, dropped, scale, causal):
        """Attention by one kernel; None where there is none for such arrays."""

    def fused_attention_pull(self, g, query, key, value, mask, dropped, scale, causal):
        """The gradients of query, key and value, and None, by the kernel of ``fused_attention``; None where there is
        none."""

    def masked_attention_pull(self, g, query, key, value, mask, dropped, scale, causal):
        """The gradients of query, key, value and mask, by one kernel; None where there is none."""

    def sum_rows(self, x):
        """The sum of the rows of a matrix, by one kernel; None where there is none."""

    # Recurrent layers over a whole sequence by one kernel, for ``ops/rnn.py``; None where there is none for such arrays

    def lstm_sequence(self, x, h, c, w, reverse):
        """(the hidden states, the cell states, the gates) at each time."""

    def lstm_sequence_pull(self, g_h, g_c, g_gates, gates, cells, c, w, reverse):
        """The gradients of x, h and c. Those of the results may be None, which stands for zeros; so it is below."""

    def gru_sequence(self, x, h, w, b, reverse):
        """(the hidden states, the gates and what the hidden state gives to the last of them) at each time."""

    def gru_sequence_pull(self, g_h, g_saved, saved, states, h, w, reverse):
        """The gradients of x, of what the hidden state gives to the gates, and of h."""

    def rnn_sequence(self, x, h, w, is_relu, reverse):
        """(the hidden states,) at each time."""

    def rnn_sequence_pull(self, g_h, states, w, is_relu, reverse):
        """The gradients of x and h."""

    def exchange_handler(self, handler):
        """Where NumPy's arrays get their memory in this context: from `handler`, or, where it is None, from the engine,
        which uses that of large arrays again. Returns the handler before; None if there is no choice."""

    def nll_of_rows(self, x, target, ignore, reduction):
        """(minus the scores at the targets, how many there are) of rows, by one kernel; None where there is none."""

    def nll_of_rows_pull(self, g, target, ignore, reduction, classes):
        """The gradient of x, by the kernel of ``nll_of_rows``; None where there is none."""

    def grid_corners(self, grid, spatial, mode, padding, align, with_slopes):
        """(flat indices, weights, their slopes by each coordinate if they are asked for) of the elements that places
        of a grid read, by one kernel; None where there is none. See ``ops/grid.py``."""

    def in_format_of(self, y, *operands):
        """y, contiguous in the memory format that the operands suggest; as it is, where arrays have no strides."""
        return y

    def run_recorded(self):
        """Runs what the engine has recorded, if it does not compute at once."""

    def kernel(self, function):
        """Decorator: makes `function` this engine's kernel of that name."""
        setattr(self, function.__name__, function)
        return function


class ShapedArray:
    """What an array of ours answers that has a `shape` and a `dtype`."""

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
    "Say it with tensors (where() instead of if, a mask instead of a selection), or do it outside of what is compiled."
)

NO_JAX = (
    "tensors on {device} need JAX, which is not installed: pip install 'flambeau[xla]'. Or stay on the CPU: leave the "
    "device argument out, or pass device='cpu'."
)

NO_CUDA = "Torch not compiled with CUDA enabled: {why}"  # PyTorch's words where it was built for the CPU

# ---- which engine


_MODULES = {"meta": ".meta", "xla": ".xla", "cuda": ".xla", "tpu": ".xla"}  # by type of device
_BY_TYPE = dict.fromkeys((np.ndarray, float, int, bool, complex, type(None)), NUMPY)  # numbers belong to no engine
_BASES: list[tuple[type, Engine]] = []


def engine_on(device):
    """The engine that computes on a device; it is imported when it is first asked for."""
    if device.type == "cpu":
        return NUMPY
    try:
        return importlib.import_module(_MODULES[device.type], __name__).engine
    except ModuleNotFoundError as error:
        raise no_device(device, NO_JAX.format(device=device)) from error


def no_device(device, why):
    """The error of a device that is not there: of PyTorch's kind."""
    return AssertionError(NO_CUDA.format(why=why)) if device.type == "cuda" else RuntimeError(why)


def register_arrays(engine, *types):
    """Makes arrays of these types, and of types derived from them, the engine's."""
    _BASES[:0] = [(base, engine) for base in types]


def engine_of(*operands):
    """NumPy, unless an operand is an array of another engine: NumPy's arrays are constants to the others.

    An engine of another layout knows the strided ones too.
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
    """Starts what engines have recorded, and not computed yet."""
    for _, engine in _BASES:
        engine.run_recorded()


# ---- elements


def on_host(array, what):
    """The elements as a NumPy array, for `what`, which is named where a traced array has none."""
    engine = engine_of(array)
    if engine is NUMPY:
        return array
    if is_traced(array):
        raise needs_elements(what, f"{array.dtype}{list(array.shape)}")
    return engine.fetch(array, what)


def is_traced(array):
    """Whether the array belongs to a program that is being traced, so that its elements are not known."""
    return engine_of(array).is_traced(array)


def is_traced_error(error):
    """Whether an array library raised `error` because something asked for the elements of a traced array."""
    return any([isinstance(error, engine.traced_errors) for _, engine in _BASES])


def needs_elements(what, operands):
    """The error of something that needs the elements of a traced array. The trace fails, even where it is caught."""
    return modes.tracer.refuse(RuntimeError(TRACED.format(what=what, operands=operands)))


def demand(holds, wrong, error):
    """Raises ``error(wrong)`` unless `holds` is true: now, or, of traced values, when the compiled program runs."""
    if is_traced(holds):
        modes.tracer.require(holds, wrong, error)
    elif not holds:
        raise error(wrong.item())


importlib.import_module(".numpy", __name__)  # its kernels; the other engines are imported when they are needed
