"""Views on engines with immutable arrays.

NumPy views share memory, so a write through one is visible in all. JAX arrays cannot be written to. There, tensors that
share elements hold ViewArrays of one Memory. A write replaces the Memory's array; each ViewArray is recomputed from it
when it is next read. So the cost of a write does not depend on the number of views.
"""

import operator

import numpy as np
from numpy.lib.stride_tricks import as_strided

_BYTES = np.zeros(16, np.uint8)


def replay(base, chain):
    """Applies the steps of a view, (op, settings, output number or None), to `base`: a tensor or an array."""
    for op, settings, nr in chain:
        base = op(base, **settings)
        if nr is not None:
            base = base[nr]
    return base


class Memory:
    """The elements that several tensors share: an array, and its version.

    ``strides`` describe its memory layout; None means row-major.
    """

    __slots__ = ("array", "stamp", "strides")

    def __init__(self, array, strides=None):
        self.array = array
        self.stamp = 0
        self.strides = strides

    def exchange(self, array):
        self.array = array
        self.stamp += 1


class ViewArray:
    """A view of a Memory by a chain of steps, recomputed if it is stale when read.

    Args:
        memory: the Memory.
        chain: the steps from its array to this view; see ``replay``.
        array: the current result of these steps.
        strides, offset: the layout of the elements in memory, in elements; the offset is None if it depends on a traced
            index.
    """

    __slots__ = ("_array", "_stamp", "chain", "dtype", "memory", "offset", "shape", "strides")

    def __init__(self, memory, chain, array, strides, offset=0):
        self.memory = memory
        self.chain = chain
        self.shape = array.shape
        self.dtype = array.dtype
        self.strides = strides
        self.offset = offset
        self._array = array.value if type(array) is ViewArray else array
        self._stamp = memory.stamp

    def refresh(self, array):
        """Sets the cached array."""
        self._array = value_of(array)
        self._stamp = self.memory.stamp

    @property
    def value(self):
        """The current array."""
        if self._stamp != self.memory.stamp:
            self.refresh(replay(self.memory.array, self.chain))
        return self._array

    def __jax_array__(self):
        return self.value

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.value, dtype)

    def __getattr__(self, name):  # all other attributes of an array: size, ndim, astype, at, ...
        return getattr(self.value, name)

    def __getitem__(self, key):
        return self.value[key]


def define_operators(cls, apply):
    """Gives a class of arrays Python's operators, computed by ``apply(call, *operands)``."""
    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and_", "or_", "xor", "lshift",
                 "rshift"):
        call = getattr(operator, name)
        setattr(cls, f"__{name.rstrip('_')}__", lambda self, other, call=call: apply(call, self, other))
        setattr(cls, f"__r{name.rstrip('_')}__", lambda self, other, call=call: apply(call, other, self))
    for call in (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge):
        setattr(cls, f"__{call.__name__}__", lambda self, other, call=call: apply(call, self, other))
    for call in (operator.neg, operator.invert, operator.abs, operator.pos):
        setattr(cls, f"__{call.__name__}__", lambda self, call=call: apply(call, self))
    cls.__hash__ = object.__hash__


define_operators(ViewArray, lambda call, *operands: call(*map(value_of, operands)))


def value_of(x):
    """The array behind x, if it is a ViewArray."""
    if type(x) is not ViewArray:
        return x
    return x._array if x._stamp == x.memory.stamp else x.value


# ---- memory layouts of views


def phantom(shape, strides, dtype):
    """A NumPy array with these strides (in elements) and no memory: it may be viewed, but not read."""
    return as_strided(_BYTES[: dtype.itemsize].view(dtype), shape, tuple([s * dtype.itemsize for s in strides]))


def view_layout(shape, strides, offset, dtype, step):
    """(strides, offset) of the view by `step` of elements with these strides, computed by NumPy."""
    _, settings, _ = step
    if "stride" in settings:  # as_strided has them as settings
        return settings["stride"], settings["offset"]
    before = phantom(shape, strides, np.dtype(dtype))
    known = with_key(step, lambda entry: 0 if is_index_array(entry) else entry)
    if known is not step:
        offset = None
    after = replay(before, (known,))
    moved = after.__array_interface__["data"][0] - before.__array_interface__["data"][0] if after.size else 0
    strides = tuple([s // after.itemsize for s in after.strides])
    return strides, None if offset is None else (offset * before.itemsize + moved) // after.itemsize


def is_index_array(entry):
    """Whether an entry of a basic key is a traced index."""
    return hasattr(entry, "dtype") and not isinstance(entry, np.generic)


def with_key(step, exchange):
    """A view step with each entry of its key replaced by ``exchange(entry)``; the same step if nothing changes."""
    op, settings, nr = step
    key = settings.get("key")
    if type(key) is not tuple:
        return step
    entries = tuple([exchange(entry) for entry in key])
    if all(map(operator.is_, entries, key)):
        return step
    return op, settings | {"key": entries}, nr
