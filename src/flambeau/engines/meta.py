"""The meta engine: computes only shapes and dtypes, on arrays without memory (_meta_array.py)."""

import math

import numpy as np

from .._device import META, preserve_format
from .._layout import contiguous_strides, strides_in
from .._layout import is_contiguous as is_row_major
from .._layout import is_expanded as is_expanded_by
from . import NUMPY, Engine, register_arrays
from ._meta_array import DATA_DEPENDENT, NO_DATA, MetaArray, matmul, run_on_stand_ins
from ._updates import FORMULAS


class _Meta(Engine):
    """The meta engine: NumPy's functions, which MetaArray overrides; for other names the NumPy engine's kernels."""

    def operand(self, x):
        return as_array(x) if isinstance(x, np.ndarray) and not x.ndim else x

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


_DATA_DEPENDENT_KERNELS = {"masked_select", "histogram_counts"}
_OTHERS_IN_NUMPY = {"place"}  # kernel names with another meaning in NumPy
engine = meta = _Meta("meta", np)
register_arrays(meta, MetaArray)

for _step in FORMULAS:  # of optimizers
    setattr(meta, _step, lambda written, *rest: written)


# ---- arrays and devices


@meta.kernel
def create(make, shape, dtype, device, *value):
    return MetaArray(shape, dtype)


@meta.kernel
def from_host(array, device):
    return as_array(array)


@meta.kernel
def to_host(array):
    raise NotImplementedError(NO_DATA)


@meta.kernel
def device_of(array):
    return META


@meta.kernel
def is_traced(array):
    return False


@meta.kernel
def layout_of(array):
    return array.layout or (contiguous_strides(array.shape), 0)


@meta.kernel
def strides_of(array):
    return layout_of(array)[0]


@meta.kernel
def is_expanded(array):
    return is_expanded_by(array.shape, strides_of(array))


@meta.kernel
def is_contiguous(array):
    return array.layout is None or is_row_major(array.shape, array.layout[0])


@meta.kernel
def is_writable(array):
    return True


@meta.kernel
def resize(array, shape):
    return MetaArray(shape, array.dtype)


@meta.kernel
def with_layout(array, strides, offset=0):
    if offset or not is_row_major(array.shape, strides):
        array = MetaArray(array.shape, array.dtype)
        array.layout = strides, offset
    return array


# ---- kernels


@meta.kernel
def as_array(x):
    return x if isinstance(x, MetaArray) else MetaArray(np.shape(x), np.asarray(x).dtype)


@meta.kernel
def empty(shape, dtype):
    return MetaArray(shape, dtype)


@meta.kernel
def zeros(shape, dtype):
    return MetaArray(shape, dtype)


@meta.kernel
def cast(x, dtype):
    return x.astype(dtype)


@meta.kernel
def copy(x):
    return x.copy()


@meta.kernel
def copy_like(x, like):
    return x.copy()


@meta.kernel
def copy_as(x, dtype, format=preserve_format):
    return with_layout(x.astype(dtype), strides_in(x.shape, strides_of(x), format))


@meta.kernel
def accumulate(into, x):
    return into


@meta.kernel
def fill(into, value):
    return into


@meta.kernel
def write(into, x):
    into[...] = x
    return into


@meta.kernel
def reshape_view(x, shape):
    if math.prod(shape) != x.size:
        raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {x.size}")
    return MetaArray(tuple(shape), x.dtype)


@meta.kernel
def move_strided(x, strides, offset, to_shape, to_strides, to_offset, *, shared):
    return MetaArray(tuple(to_shape), x.dtype)


@meta.kernel
def index(x, indices, dims):
    if _has_mask(indices):
        raise NotImplementedError(DATA_DEPENDENT.format(name="indexing with a mask"))
    return run_on_stand_ins(NUMPY.index, "indexing with tensors", (x, indices, dims), {})


@meta.kernel
def index_put(x, indices, dims, values, accumulate, into=False):
    if _has_mask(indices):
        return x.copy()
    return run_on_stand_ins(NUMPY.index_put, "index_put", (x, indices, dims, values, accumulate, into), {})


def _has_mask(indices):
    return any(isinstance(i, MetaArray) and i.dtype.kind == "b" for i in indices)


@meta.kernel
def embed(g, key, shape):
    return MetaArray(shape, g.dtype)


@meta.kernel
def embed_view(g, view_of, shape):
    return MetaArray(shape, g.dtype)


@meta.kernel
def put_view(base, view_of, value):
    return base


@meta.kernel
def linear(x, weight, bias):
    return matmul(x, weight.T) if bias is None else matmul(x, weight.T) + bias


from . import _meta_layers  # noqa: E402, F401  (needs the engine above)
