"""Views of parts of a tensor: select, narrow, split, diagonal, unfold, as_strided."""

import numpy as np

from .._dtypes import type_word
from .._layout import extent
from .._modes import modes
from .._signatures import set_name
from .._tensor import Tensor, View, engine_for, refresh, storage_of
from ..engines import NUMPY
from ..engines._views import ViewArray
from ..engines.levels import LevelArray
from ..ops import join
from ..ops import shape as ops
from ._args import as_int, dim_in_range, need_tensor, root_elements, shape_from, tensor_on
from ._attach import methods
from ._folds import numpy_names
from ._metadata import metadata_methods

__all__ = [
    "select", "narrow", "unbind", "split", "split_with_sizes", "chunk", "tensor_split", "hsplit", "vsplit", "dsplit",
    "diagonal", "as_strided", "as_strided_",
]


@numpy_names
def select(input, dim, index):
    """The slice ``index`` along a dimension, which is removed."""
    need_tensor(input, "select")
    shape = input._a.shape
    if not shape:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    dim = dim_in_range(dim, len(shape))
    index = as_int(index, "select", "index")
    if not -shape[dim] <= index < shape[dim]:
        raise IndexError(f"select(): index {index} out of range for tensor of size {list(shape)} at dimension {dim}")
    return ops.basic_index(input, key=(slice(None),) * dim + (index, ...), node="SelectBackward0")


@numpy_names
def narrow(input, dim, start, length):
    """The ``length`` slices along a dimension beginning at ``start``."""
    need_tensor(input, "narrow")
    shape = input._a.shape
    if not shape:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    length = as_int(length, "narrow", "length")
    if length < 0:
        raise RuntimeError(f"narrow(): length must be non-negative. Got {length}")
    if isinstance(start, Tensor) and (start._a.ndim or start._a.dtype.kind not in "iu"):
        raise RuntimeError("start must be an 0-dim integral Tensor.")
    dim = dim_in_range(dim, len(shape))
    n = shape[dim]
    start = as_int(start, "narrow", "start")
    if not -n <= start <= n:
        raise IndexError(f"start out of range (expected to be in range of [{-n}, {n}], but got {start})")
    start += n if start < 0 else 0
    if start + length > n:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({n}).")
    return ops.basic_index(input, key=ops.part(dim, start, start + length))


@numpy_names
def unbind(input, dim=0):
    """All slices along a dimension, which is removed."""
    need_tensor(input, "unbind")
    if input._a.ndim == 0:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return join.unbind(input, axis=dim_in_range(dim, input._a.ndim))


# ---- splits


def split(tensor, split_size_or_sections, dim=0):
    """Pieces of a given size along a dimension (the last may be smaller), or of a list of sizes."""
    need_tensor(tensor, "split", "tensor")
    return split_method(tensor, split_size_or_sections, dim)


def split_method(self, split_size, dim=0):
    """Pieces of a given size along a dimension (the last may be smaller), or of a list of sizes."""
    if type(split_size) is not int:
        if isinstance(split_size, (tuple, list)):
            return split_with_sizes(self, split_size, dim)
        try:
            split_size = as_int(split_size, "split", "split_size")
        except TypeError:
            kind = type(split_size).__name__
            raise TypeError(
                f"split_with_sizes(): argument 'split_sizes' (position 2) must be tuple of ints, not {kind}"
            ) from None
    shape = self._a.shape
    if not shape:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    dim = dim_in_range(dim, len(shape))
    if split_size < 0:
        raise RuntimeError(f"split expects split_size be non-negative, but got split_size={split_size}")
    return join.split(self, sizes=even_sizes(shape[dim], split_size), axis=dim)


def even_sizes(n, size):
    """The sizes of the pieces when n elements are split; the last may be smaller."""
    if n == 0:
        return (0,)
    if size == 0:
        raise RuntimeError(f"split_size can only be 0 if dimension size is 0, but got dimension size of {n}")
    whole, rest = divmod(n, size)
    return (size,) * whole + ((rest,) if rest else ())


@numpy_names
def split_with_sizes(input, split_sizes, dim=0):
    """Pieces of the given sizes along a dimension."""
    need_tensor(input, "split_with_sizes")
    shape = input._a.shape
    if not shape:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    dim = dim_in_range(dim, len(shape))
    sizes = shape_from((split_sizes,), "split_sizes")
    if sizes and min(sizes) < 0:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes={list(sizes)}"
        )
    if sum(sizes) != shape[dim]:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {shape[dim]} (input tensor's size at dimension "
            f"{dim}), but got split_sizes={list(sizes)}"
        )
    return join.split_with_sizes(input, sizes=sizes, axis=dim)


@numpy_names
def chunk(input, chunks, dim=0):
    """At most ``chunks`` pieces of equal size along a dimension; the last may be smaller."""
    need_tensor(input, "chunk")
    shape = input._a.shape
    if not shape:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    chunks = as_int(chunks, "chunk", "chunks")
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    dim = dim_in_range(dim, len(shape))
    n = shape[dim]
    if n == 0:
        return join.split_with_sizes(input, sizes=(0,) * chunks, axis=dim)
    return join.split(input, sizes=even_sizes(n, -(-n // chunks)), axis=dim)


@numpy_names
def tensor_split(input, sections=None, dim=0, *, indices=None, tensor_indices_or_sections=None):
    """Pieces along a dimension: ``sections`` of nearly equal size, or split at the given indices."""
    need_tensor(input, "tensor_split")
    indices_or_sections = one_of("tensor_split", sections, indices, tensor_indices_or_sections)
    if input._a.ndim == 0:
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    dim = dim_in_range(dim, input._a.ndim)
    if isinstance(indices_or_sections, Tensor):
        given = indices_or_sections._a
        if given.dtype != np.int64:
            raise RuntimeError(
                "tensor_split expected tensor_indices_or_sections to have dtype of long, but got "
                f"{type_word(indices_or_sections.dtype)}"
            )
        if given.ndim > 1:
            raise RuntimeError(
                "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or one-dimensional "
                f"tensor, but got a tensor with {given.ndim} dims"
            )
        indices_or_sections = given.tolist()
    n = input._a.shape[dim]
    if isinstance(indices_or_sections, (tuple, list)):
        cuts = shape_from((indices_or_sections,), "indices_or_sections")
    else:
        sections = as_int(indices_or_sections, "tensor_split", "indices_or_sections")
        if sections <= 0:
            raise RuntimeError(f"number of sections must be larger than 0, got {sections}")
        small, more = divmod(n, sections)
        cuts = [i * small + min(i, more) for i in range(1, sections)]
    starts = [clip_index(c, n) for c in (0, *cuts)]
    stops = [*[clip_index(c, n) for c in cuts], n]
    return tuple([
        ops.basic_index(input, key=ops.part(dim, start, max(start, stop))) for start, stop in zip(starts, stops)
    ])


def one_of(name, *ways):
    """The one split argument that was given, of PyTorch's several names for it."""
    given = [way for way in ways if way is not None]
    if len(given) != 1:
        raise TypeError(f"{name}() takes one of: a number of sections, indices; got {len(given)} of them")
    return given[0]


def clip_index(index, n):
    """Clips an index to the bounds of n elements, like a slice."""
    return max(index + n, 0) if index < 0 else min(index, n)


def directed_split(name, least, axis):
    """Makes hsplit, vsplit and dsplit: tensor_split along a fixed dimension into pieces of equal size."""

    def function(input, *at, sections=None, indices=None):
        need_tensor(input, name)
        indices_or_sections = one_of(name, (at if len(at) > 1 else at[0]) if at else None, sections, indices)
        ndim = input._a.ndim
        if ndim < least:
            raise RuntimeError(
                f"torch.{name} requires a tensor with at least {least} dimension, but got a tensor with {ndim} "
                "dimensions!"
            )
        dim = 0 if ndim == 1 else axis
        if not isinstance(indices_or_sections, (int, tuple, list, Tensor)):
            raise TypeError(
                f"{name}() received an invalid combination of arguments - got (Tensor, "
                f"{type(indices_or_sections).__name__}): it takes a number of sections, or indices"
            )
        if isinstance(indices_or_sections, int):
            n = input._a.shape[dim]
            if indices_or_sections <= 0 or n % indices_or_sections:
                raise RuntimeError(
                    f"torch.{name} attempted to split along dimension {dim}, but the size of the dimension {n} is not "
                    f"divisible by the split_size {indices_or_sections}!"
                )
        return tensor_split(input, indices_or_sections, dim)

    return set_name(function, name, f"Pieces along dimension {axis}: so many, or cut at the given indices.")


hsplit = directed_split("hsplit", 1, 1)
vsplit = directed_split("vsplit", 2, 0)
dsplit = directed_split("dsplit", 3, 2)


# ---- diagonals and windows


def two_dims(dim1, dim2, ndim):
    axis1, axis2 = dim_in_range(dim1, ndim), dim_in_range(dim2, ndim)
    if axis1 == axis2:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    return axis1, axis2


def diagonal(input, offset=0, dim1=0, dim2=1):
    """The diagonal of two dimensions, as the last dimension of a view."""
    need_tensor(input, "diagonal")
    axis1, axis2 = two_dims(dim1, dim2, input._a.ndim)
    return ops.diagonal(input, offset=as_int(offset, "diagonal", "offset"), axis1=axis1, axis2=axis2)


def unfold(self, dimension, size, step):
    """All windows of ``size`` along a dimension, ``step`` apart, as a new last dimension of a view."""
    shape = self._a.shape
    dim = dim_in_range(dimension, len(shape))
    n = shape[dim] if shape else 1
    if size < 0:
        raise RuntimeError(f"size is {size} but must be >= 0")
    if size > n:
        raise RuntimeError(f"maximum size for tensor at dimension {dim} is {n} but size is {size}")
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    return ops.unfold(self, axis=dim, size=size, step=step)


# ---- as_strided


def as_strided(input, size, stride, storage_offset=None):
    """A view of the tensor's whole storage with arbitrary sizes and strides; elements may overlap."""
    need_tensor(input, "as_strided")
    size, stride = shape_from((size,)), shape_from((stride,), "stride")
    if len(size) != len(stride):
        raise RuntimeError("mismatch in length of strides and shape")
    if stride and min(stride) < 0:
        raise RuntimeError(f"as_strided: Negative strides are not supported at the moment, got strides: {list(stride)}")
    if size and min(size) < 0:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(size)} and strides={list(stride)}")
    if storage_offset is None:
        offset = input.storage_offset()
    else:
        offset = as_int(storage_offset, "as_strided", "storage_offset")
        modes.tracer.note_offset(input)
    if offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {offset}")
    return at_strides(input, size, stride, offset)


def at_strides(input, size, stride, offset):
    """The strided view, recorded in terms of the elements of `input` and tracked as a view of its base."""
    if isinstance(input._a, LevelArray):
        return of_sample(input, size, stride, offset)
    engine = engine_for(input)
    flat = root_elements(input) if engine is NUMPY else whole_elements(input)
    item = flat.dtype.itemsize
    need = extent(size, stride, offset)
    if need > flat.size:
        raise RuntimeError(
            f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {offset}, and itemsize {item} "
            f"requiring a storage size of {need * item} are out of bounds for storage of size {flat.size * item}"
        )
    settings = dict(size=size, stride=stride, offset=offset)
    if engine is NUMPY:
        array = NUMPY.restride(flat, size, tuple([s * item for s in stride]), offset * item if need else 0)
    else:
        array = ops.as_strided(flat, **settings, **FLAT)
    own = dict(own_stride=input.stride(), own_offset=input.storage_offset())
    if input._view is not None:
        refresh(input)
    out = ops.as_strided.spec.wrap_results((input,), (input._a,), array, {**settings, **own}, input._rg)
    base = out._view.base
    if base is not input and base._a.dtype == input._a.dtype:
        own = dict(own_stride=base.stride(), own_offset=base.storage_offset())
        before = out._view
        out._view = View.of(base, (ops.as_strided, {**settings, **own}, None), before.version, before.origin)
    if not engine.aliases:  # may reach outside the elements of `input`
        chain = (ops.view, {"shape": (-1,)}, None), (ops.as_strided, {**settings, **FLAT}, None)
        out._a = ViewArray(storage_of(input).memory, chain, array, stride, offset)
    return out


def of_sample(input, size, stride, offset):
    """``as_strided`` in a transform: a copy of the elements, since samples have no memory of their own."""
    if not input.is_contiguous() or extent(size, stride, offset) > input._a.size:
        raise RuntimeError("as_strided: inside of vmap and forward mode the tensor must be contiguous, and the view "
                           "within its bounds; call contiguous() first")
    place = tensor_on(np.asarray(offset))
    for n, step in zip(size, stride, strict=True):
        place = place.unsqueeze(-1) + tensor_on(np.arange(n) * step)
    return input.flatten()[place]


FLAT = {"own_stride": (1,), "own_offset": 0}  # the strides of a contiguous vector


def whole_elements(t):
    """The whole storage of `t` as a vector, on devices without NumPy memory."""
    memory = storage_of(t).memory
    whole = memory.array
    if memory.strides is not None:
        raise RuntimeError("as_strided: on this device, and in a function that is compiled, the base of the view "
                           "must be contiguous for this; call contiguous() first")
    if whole.dtype != t._a.dtype:
        raise RuntimeError(
            f"as_strided: this tensor is a view as {t._a.dtype} of elements that are {whole.dtype}; clone() it first"
        )
    return engine_for(t).reshape_view(whole, (whole.size,))


split_method.__name__ = "split"
methods(
    select, narrow, unbind, split_with_sizes, chunk, tensor_split, hsplit, vsplit, dsplit, diagonal, unfold, as_strided,
    split=split_method,
)
metadata_methods(as_strided)
as_strided_ = Tensor.as_strided_
