"""The engine of transforms: arrays that wrap tensors of the level below.

``vmap`` and forward-mode differentiation run a function on tensors of a new level. Instead of an array, such a tensor
holds a LevelArray: the wrapped tensor, one level below, and the level's data (a batch dimension, or a tangent). No
kernel computes on a LevelArray. An op passes itself to the level of its operands, which computes it by ops on the
tensors below; see ``transforms/``.
"""

import numpy as np

from . import Engine, ShapedArray, engine_of, register_arrays

RESIZE = (
    "cannot resize variables of vmap, or with a forward grad, from {own} to {new}: use reshape(), expand() or "
    "new_empty()"
)


class LevelArray(ShapedArray):
    """Wraps `value`, a tensor of a lower level, in the tensors of `level`. Its shape is the one that the transformed
    function sees."""

    __slots__ = ("dtype", "level", "shape", "value")

    def __init__(self, level, value):
        self.level = level
        self.value = value
        self.shape = value._a.shape
        self.dtype = value._a.dtype

    @property
    def strides(self):
        """The strides of the wrapped tensor, in elements."""
        return self.value.stride()

    def __array__(self, dtype=None, copy=None):
        return self.level.elements(self, "this operation")

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        if method == "__call__" and not kwargs:
            return self.level.ufunc(ufunc.__name__, inputs)
        arrays = [x.level.elements(x, "this operation") if isinstance(x, LevelArray) else x for x in inputs]
        return getattr(ufunc, method)(*arrays, **kwargs)

    def all(self):
        return self.level.elements(self, "if").all()

    def any(self):
        return self.level.elements(self, "if").any()

    def min(self):
        return self.level.elements(self, "if").min()

    def max(self):
        return self.level.elements(self, "if").max()

    # ---- array operations that vjps use besides ops

    def __getitem__(self, key):
        key = key if isinstance(key, tuple) else (key,)
        return self.level.op("basic_index", self, key=key if ... in key else (*key, ...))

    def swapaxes(self, axis0, axis1):
        n = self.ndim
        return self.level.op("transpose", self, axis0=axis0 % n, axis1=axis1 % n)

    def transpose(self, axes):
        return self.level.op("permute", self, axes=axes)

    def reshape(self, *shape):
        return self.level.op("reshape", self, shape=shape[0] if isinstance(shape[0], tuple) else shape)

    def astype(self, dtype, copy=True):
        return self.level.op("cast", self, dtype=np.dtype(dtype))

    def copy(self):
        return self.level.op("clone", self)

    @property
    def T(self):
        return self.level.op("permute", self, axes=tuple(reversed(range(self.ndim))))

    @property
    def real(self):
        return self.level.op("real", self)

    @property
    def imag(self):
        return self.level.op("imag", self)

    def __neg__(self):
        return self.level.op("neg", self)

    def __invert__(self):
        return self.level.op("bitwise_not", self)

    def __pow__(self, exponent):
        return self.level.op("pow_scalar" if isinstance(exponent, (int, float)) else "pow", self, exponent)


_OPERATORS = {"add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "matmul": "matmul_batched",
              "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor",
              "eq": "eq", "ne": "ne", "lt": "lt", "le": "le", "gt": "gt", "ge": "ge"}


def _attach(operator, name):
    def straight(self, other):
        return self.level.op(name, self, other)

    def reflected(self, other):
        return self.level.op(name, other, self)

    setattr(LevelArray, f"__{operator}__", straight)
    if name not in ("eq", "ne", "lt", "le", "gt", "ge"):
        setattr(LevelArray, f"__r{operator}__", reflected)


for _operator, _name in _OPERATORS.items():
    _attach(_operator, _name)
LevelArray.__hash__ = object.__hash__  # type: ignore[method-assign]


class _Levels(Engine):
    """The engine of LevelArrays: it has only the kernels that are used outside of ops; for others vjps get the op."""

    computes = False
    arrays_have_strides = True

    def __getattr__(self, kernel):
        def call(*operands):
            return level_of(operands).ufunc(kernel, operands)

        return call

    # ---- arrays and devices

    def device_of(self, array):
        return array.value.device

    def is_traced(self, array):
        return engine_of(array.value._a).is_traced(array.value._a)

    def to_host(self, array, what="this operation"):
        return array.level.elements(array, what)

    fetch = to_host

    def as_array(self, x):
        return x

    def strides_of(self, array):
        return array.strides

    def layout_of(self, array):
        return array.strides, array.value.storage_offset()

    def is_contiguous(self, array):
        return array.value.is_contiguous()

    def is_expanded(self, array):
        return engine_of(array.value._a).is_expanded(array.value._a)

    def is_writable(self, array):
        return engine_of(array.value._a).is_writable(array.value._a)

    # ---- copies and writes

    def copy(self, x):
        return x.level.op("clone", x)

    def copy_like(self, x, like):
        return level_of((x, like)).op("clone", x)

    def cast(self, x, dtype):
        return x.level.op("cast", x, dtype=dtype)

    def zeros_like(self, x, dtype=None, shape=None):
        return x.level.constant(x, 0, dtype or x.dtype, x.shape if shape is None else shape)

    def ones_like(self, x, dtype=None):
        return x.level.constant(x, 1, dtype or x.dtype, x.shape)

    def write(self, into, x):
        return level_of((into, x)).write(into, x)

    def fill(self, into, value):
        into.level.fill(into, value)
        return into

    def accumulate(self, into, x):
        level = level_of((into, x))
        return level.write(into, level.op("add", into, x))

    def resize(self, x, shape):
        raise RuntimeError(RESIZE.format(own=list(x.shape), new=list(shape)))

    def reshape(self, x, shape):
        return x.reshape(shape)

    def scan(self, body, weights, carry, xs, reverse):
        from . import NUMPY

        level = level_of((*carry, *weights))
        return NUMPY.scan(body, weights, carry, xs, reverse, lambda parts: level.op("stack", *parts, axis=0))


engine = LEVELS = _Levels("levels", np)
register_arrays(LEVELS, LevelArray)


def level_of(arrays):
    """The highest level among the arrays, or None."""
    found = None
    for a in arrays:
        if isinstance(a, LevelArray) and (found is None or a.level.depth > found.depth):
            found = a.level
    return found


def innermost(array):
    """The array of the innermost tensor that an array wraps."""
    while isinstance(array, LevelArray):
        array = array.value._a
    return array
