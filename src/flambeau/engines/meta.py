"""The meta engine: computes only shapes and dtypes, on arrays without memory (_meta_array.py)."""

import math

import numpy as np

from .._device import META, preserve_format
from .._layout import contiguous_strides, strides_in
from .._layout import is_contiguous as is_row_major
from .._layout import is_expanded as is_expanded_by
from . import NUMPY, Engine, register_arrays
from ._formulas import ACTIVATIONS, ARITHMETIC, DISTANCES, NORMALIZATION, define
from ._meta_array import DATA_DEPENDENT, NO_DATA, MetaArray, matmul, run_on_stand_ins
from ._meta_layers import LayerKernels, same_shape
from ._updates import FORMULAS


class _Meta(LayerKernels, Engine):
    """The meta engine: NumPy's functions, which MetaArray overrides; for other names the NumPy engine's kernels."""

    def operand(self, x):
        return self.as_array(x) if isinstance(x, np.ndarray) and not x.ndim else x

    def __getattr__(self, name):
        kernel = getattr(NUMPY, name)
        own = getattr(np, name, None) if name not in _OTHERS_IN_NUMPY else None
        if name in _DATA_DEPENDENT_KERNELS:
            def own(*args, **kwargs):
                raise NotImplementedError(DATA_DEPENDENT.format(name=name))
        elif own is None:
            def own(*args, **kwargs):
                return run_on_stand_ins(kernel, name, args, kwargs)

        setattr(self, name, own)
        return own

    # ---- arrays and devices

    def create(self, make, shape, dtype, device, *value):
        return MetaArray(shape, dtype)

    def from_host(self, array, device):
        return self.as_array(array)

    def to_host(self, array):
        raise NotImplementedError(NO_DATA)

    def device_of(self, array):
        return META

    def is_traced(self, array):
        return False

    def layout_of(self, array):
        return array.layout or (contiguous_strides(array.shape), 0)

    def strides_of(self, array):
        return self.layout_of(array)[0]

    def is_expanded(self, array):
        return is_expanded_by(array.shape, self.strides_of(array))

    def is_contiguous(self, array):
        return array.layout is None or is_row_major(array.shape, array.layout[0])

    def is_writable(self, array):
        return True

    def resize(self, array, shape):
        return MetaArray(shape, array.dtype)

    def with_layout(self, array, strides, offset=0):
        if offset or not is_row_major(array.shape, strides):
            array = MetaArray(array.shape, array.dtype)
            array.layout = strides, offset
        return array

    # ---- kernels

    def as_array(self, x):
        return x if isinstance(x, MetaArray) else MetaArray(np.shape(x), np.asarray(x).dtype)

    def empty(self, shape, dtype):
        return MetaArray(shape, dtype)

    def zeros(self, shape, dtype):
        return MetaArray(shape, dtype)

    def cast(self, x, dtype):
        return x.astype(dtype)

    def copy(self, x):
        return x.copy()

    def copy_like(self, x, like):
        return x.copy()

    def copy_as(self, x, dtype, format=preserve_format):
        return self.with_layout(x.astype(dtype), strides_in(x.shape, self.strides_of(x), format))

    def accumulate(self, into, x):
        return into

    def fill(self, into, value):
        return into

    def write(self, into, x):
        into[...] = x
        return into

    def reshape_view(self, x, shape):
        if math.prod(shape) != x.size:
            raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {x.size}")
        return MetaArray(tuple(shape), x.dtype)

    def move_strided(self, x, strides, offset, to_shape, to_strides, to_offset, *, shared):
        return MetaArray(tuple(to_shape), x.dtype)

    def index(self, x, indices, dims):
        if _has_mask(indices):
            raise NotImplementedError(DATA_DEPENDENT.format(name="indexing with a mask"))
        return run_on_stand_ins(NUMPY.index, "indexing with tensors", (x, indices, dims), {})

    def index_put(self, x, indices, dims, values, accumulate, into=False):
        if _has_mask(indices):
            return x.copy()
        return run_on_stand_ins(NUMPY.index_put, "index_put", (x, indices, dims, values, accumulate, into), {})

    def embed(self, g, key, shape):
        return MetaArray(shape, g.dtype)

    def embed_view(self, g, view_of, shape):
        return MetaArray(shape, g.dtype)

    def put_view(self, base, view_of, value):
        return base

    def linear(self, x, weight, bias):
        return matmul(x, weight.T) if bias is None else matmul(x, weight.T) + bias


_DATA_DEPENDENT_KERNELS = {"masked_select", "histogram_counts"}
_OTHERS_IN_NUMPY = {"place"}  # kernel names with another meaning in NumPy
engine = meta = _Meta("meta", np)
register_arrays(meta, MetaArray)

for _step in FORMULAS:  # of optimizers
    setattr(meta, _step, lambda written, *rest: written)
for _formula in ACTIVATIONS:
    meta.kernel(same_shape(_formula))
define(meta, *ARITHMETIC)
define(meta, *DISTANCES)
define(meta, *NORMALIZATION)


def _has_mask(indices):
    return any(isinstance(i, MetaArray) and i.dtype.kind == "b" for i in indices)
