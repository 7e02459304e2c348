"""Functions that change a tensor's shape: view, reshape, squeeze, transpose, permute and relatives."""

import warnings
from math import prod

from .._dtypes import dtype as dtype_type
from .._dtypes import type_word
from .._tensor import Tensor, storage_of
from ..engines import NUMPY
from ..ops import shape as ops
from ..ops.pointwise import conj
from ._args import dim_in_range, need_tensor, shape_from
from ._attach import keyword_value, methods
from ._metadata import metadata_methods

__all__ = [
    "reshape", "flatten", "unflatten", "ravel", "squeeze", "unsqueeze",
    "transpose", "swapaxes", "swapdims", "t", "adjoint", "permute", "movedim", "moveaxis",
]

REVERSED_T = (
    "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated and it will throw an "
    "error in a future release. Consider `x.mT` to transpose batches of matrices or "
    "`x.permute(*torch.arange(x.ndim - 1, -1, -1))` to reverse the dimensions of a tensor."
)
SCALAR_T = "Tensor.{name} is deprecated on 0-D tensors. This function is the identity in these cases."
ONLY_MATRICES = "tensor.{name} is only supported on matrices or batches of matrices. Got {ndim}-D tensor."
_ALL_DIMS = [list(range(n)) for n in range(7)]
_view, _view_contiguous = ops.view, NUMPY.view_contiguous
_SEQUENCES = (tuple, list)


def target_shape(size, count):
    """The shape given by `size` (ints, or one sequence of them) for `count` elements; one entry may be -1."""
    try:
        product = prod(size)
        if type(product) is int:  # all sizes are ints
            if product == count and (not size or min(size) >= 0):
                return size
            if product and count and size.count(-1) == 1 and min(size) == -1 and not count % product:
                at = size.index(-1)
                return (*size[:at], -(count // product), *size[at + 1:])
    except TypeError:
        pass
    size = shape_from(size, "shape") if len(size) == 1 else shape_from((size,), "shape")
    if prod(size) == count and (not size or min(size) >= 0):
        return size
    return infer_size(size, count)


def infer_size(size, count):
    """`size` with -1 inferred; raises if it does not match `count`."""
    known = 1
    for i, n in enumerate(size):
        if n < -1:
            raise RuntimeError(f"invalid shape dimension {n} at index {i} of shape {list(size)}")
        known *= n if n >= 0 else 1
    missing = size.count(-1)
    if missing > 1:
        raise RuntimeError("only one dimension can be inferred")
    if missing and known == 0 and count == 0:
        raise RuntimeError(
            f"cannot reshape tensor of 0 elements into shape {list(size)} because the unspecified dimension size -1 "
            "can be any value and is ambiguous"
        )
    if not missing or not known or count % known:
        raise RuntimeError(f"shape '{list(size)}' is invalid for input of size {count}")
    at = size.index(-1)
    return (*size[:at], count // known, *size[at + 1:])


# ---- view and reshape


def view(self, *size, dtype=None, **named):
    """A view with another shape (one entry may be -1) or dtype.

    Raises if the strides do not allow the shape; ``reshape`` copies in that case.
    """
    if size and dtype is None:
        found = inline_view(self, size)
        if found is not None:
            return found
    if dtype is not None or (len(size) == 1 and isinstance(size[0], dtype_type)):
        return view_dtype(self, size[0] if dtype is None else dtype)
    if not size:
        size = (keyword_value(named, "view", "size"),)
    return _view(self, shape=target_shape(size, prod(self._a.shape)))


def inline_view(x, size):
    """Fast path: the view of contiguous NumPy memory, of which one size may be -1; None if it does not apply."""
    a, storage = x._a, x._storage
    if storage is not None and storage.engine is not NUMPY:
        return None
    if len(size) == 1 and type(size[0]) is not int:
        size = size[0]
    r = _view_contiguous(a, size)
    return None if r is None else _view.wrap_view(x, a, r, {"shape": r.shape})


def view_as_shape(x, shape):
    """ops.view with the common case inline."""
    found = inline_view(x, shape)
    return _view(x, shape=shape) if found is None else found


def view_dtype(self, dtype):
    """Reinterprets the memory as another dtype; the last dimension is scaled by the ratio of element sizes."""
    a, new = self._a, dtype.np
    if new.itemsize != a.itemsize:
        names = f"{type_word(self.dtype)} as {type_word(dtype)} (different element sizes)"
        if a.ndim == 0:
            raise RuntimeError(f"self.dim() cannot be 0 to view {names}")
        ratio = new.itemsize // a.itemsize
        if ratio and a.shape[-1] % ratio:
            raise RuntimeError(f"self.size(-1) must be divisible by {ratio} to view {names}, but got {a.shape[-1]}")
        offset = self.storage_offset()
        if ratio and offset % ratio:
            raise RuntimeError(f"self.storage_offset() must be divisible by {ratio} to view {names}, but got {offset}")
        strides = self.stride()
        if strides[-1] != 1:
            raise RuntimeError(f"self.stride(-1) must be 1 to view {names}, but got {strides[-1]}")
        for i, step in enumerate(strides[:-1]):
            if ratio and step % ratio:
                raise RuntimeError(f"self.stride({i}) must be divisible by {ratio} to view {names}, but got {step}")
    out = ops.view_dtype(self, dtype=new)
    out._storage = storage_of(self)
    out._storage.attach(out, out._a, self, (ops.view_dtype, {"dtype": new}, None))
    return out


def view_as(self, other):
    """``view(other.size())``."""
    need_tensor(other, "view_as", "other")
    return view_as_shape(self, target_shape(other._a.shape, self._a.size))


def reshape_to(input, shape):
    """A view of `shape` if the strides allow it, otherwise a copy."""
    found = inline_view(input, shape)
    return ops.view_or_copy(input, shape) if found is None else found


def reshape(input, shape):
    """Reshapes the tensor (one entry may be -1): a view if possible, otherwise a copy."""
    if not isinstance(input, Tensor):
        need_tensor(input, "reshape")
    found = inline_view(input, (shape,))
    return reshape_to(input, target_shape((shape,), input._a.size)) if found is None else found


def reshape_method(self, *shape, **named):
    """Reshapes the tensor (one entry may be -1): a view if possible, otherwise a copy."""
    if not shape:
        shape = (keyword_value(named, "reshape", "shape"),)
    found = inline_view(self, shape)
    return reshape_to(self, target_shape(shape, self._a.size)) if found is None else found


def reshape_as(self, other):
    """``reshape(other.size())``."""
    need_tensor(other, "reshape_as", "other")
    return reshape_to(self, target_shape(other._a.shape, self._a.size))


def flatten(input, start_dim=0, end_dim=-1):
    """Joins the dimensions from ``start_dim`` to ``end_dim`` into one."""
    if not isinstance(input, Tensor):
        need_tensor(input, "flatten")
    shape = input._a.shape
    if type(start_dim) is type(end_dim) is int and start_dim == 0 and end_dim == -1 and len(shape) > 1:
        return reshape_to(input, (input._a.size,))
    start, end = dim_in_range(start_dim, len(shape)), dim_in_range(end_dim, len(shape))
    if start > end:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if not shape:
        return reshape_to(input, (1,))
    if start == end:
        return input
    return reshape_to(input, (*shape[:start], prod(shape[start:end + 1]), *shape[end + 1:]))


def unflatten(input, dim, sizes):
    """Splits a dimension into several; one of ``sizes`` may be -1."""
    need_tensor(input, "unflatten")
    shape = input._a.shape
    dim = dim_in_range(dim, len(shape))
    if not shape:
        raise RuntimeError("unflatten: Dimension specified as 0 but tensor has no dimensions")
    sizes = shape_from((sizes,), "sizes")
    if not sizes:
        raise RuntimeError("unflatten: sizes must be non-empty")
    try:
        sizes = target_shape(sizes, shape[dim])
    except RuntimeError as error:
        raise RuntimeError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {dim} "
            f"({shape[dim]}) in the input tensor: {error}"
        ) from None
    return ops.view(input, shape=(*shape[:dim], *sizes, *shape[dim + 1:]))


def ravel(input):
    """The tensor flattened to one contiguous dimension: a view if it is contiguous already."""
    need_tensor(input, "ravel")
    return ops.view(input.contiguous(), shape=(input._a.size,))


# ---- dimensions of size one


def squeeze(input, dim=None, *, axis=None):
    """Removes dimensions of size one: all, or only those in ``dim`` (or ``axis``), an int or several."""
    if not isinstance(input, Tensor):
        need_tensor(input, "squeeze")
    shape = input._a.shape
    if axis is not None:
        dim = axis
    if dim is None:
        axis = tuple([i for i, n in enumerate(shape) if n == 1]) if 1 in shape else ()
        return ops.squeeze(input, axis=axis, node="SqueezeBackward0")
    if isinstance(dim, _SEQUENCES):
        dims = tuple([dim_in_range(d, len(shape)) for d in dim])
        if len(set(dims)) < len(dims):
            raise RuntimeError(f"dim {max(dims, key=dims.count)} appears multiple times in the list of dims")
        return ops.squeeze(input, axis=tuple([d for d in dims if shape and shape[d] == 1]), node="SqueezeBackward2")
    dim = dim_in_range(dim, len(shape))
    return ops.squeeze(input, axis=(dim,) if shape and shape[dim] == 1 else ())


def squeeze_method(self, dim=None, *dims, axis=None):
    """Removes dimensions of size one: all, or only those in ``dim``."""
    return squeeze(self, (dim, *dims) if dims else dim, axis=axis)


def unsqueeze(input, dim=None, *, axis=None):
    """Inserts a dimension of size one at ``dim`` (or ``axis``)."""
    if not isinstance(input, Tensor):
        need_tensor(input, "unsqueeze")
    if dim is None:
        if axis is None:
            raise TypeError('unsqueeze() missing 1 required positional argument: "dim"')
        dim = axis
    n = input._a.ndim
    return ops.unsqueeze(input, axis=dim if type(dim) is int and 0 <= dim <= n else dim_in_range(dim, n + 1))


# ---- the order of dimensions


def transpose(input, dim0, dim1):
    """Swaps two dimensions."""
    if not isinstance(input, Tensor):
        need_tensor(input, "transpose")
    n = input._a.ndim
    if not (type(dim0) is type(dim1) is int and 0 <= dim0 < n and 0 <= dim1 < n):
        dim0, dim1 = dim_in_range(dim0, n), dim_in_range(dim1, n)
        if n == 0:
            return ops.alias(input)
    return ops.transpose(input, axis0=dim0, axis1=dim1)


def swapdims(input, dim0, dim1):
    """Alias of ``transpose``."""
    return transpose(input, dim0, dim1)


def swapaxes(input, axis0, axis1):
    """Alias of ``transpose``, after NumPy."""
    return transpose(input, axis0, axis1)


def t(input):
    """The transpose of a matrix; vectors and scalars unchanged."""
    if not isinstance(input, Tensor):
        need_tensor(input, "t")
    if input._a.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {input._a.ndim}D")
    return ops.t(input)


def reverse_dims(self):
    """The transpose: a view with reversed dimensions."""
    n = self._a.ndim
    if n not in (0, 2):
        warnings.warn(REVERSED_T, UserWarning, stacklevel=2)
    return ops.permute(self, axes=tuple(range(n - 1, -1, -1)))


def matrix_transpose(self):
    """Swaps the last two dimensions."""
    n = self._a.ndim
    if n == 0:
        warnings.warn(SCALAR_T.format(name="mT"), UserWarning, stacklevel=2)
        return self
    if n < 2:
        raise RuntimeError(ONLY_MATRICES.format(name="mT", ndim=n))
    return ops.transpose(self, axis0=n - 2, axis1=n - 1)


def adjoint(input):
    """The conjugate transpose of the last two dimensions."""
    need_tensor(input, "adjoint")
    return conjugate_transpose(input, "adjoint()")


def conjugate_transpose(x, name):
    n = x._a.ndim
    if n == 0 and name == "adjoint()":
        return conjugate(x)
    if n < 2:
        raise RuntimeError(ONLY_MATRICES.format(name=name, ndim=n))
    return conjugate(ops.transpose(x, axis0=n - 2, axis1=n - 1))


def conjugate(x):
    return conj(x) if x._a.dtype.kind == "c" else x


def hermitian(self):
    """The conjugate transpose of a matrix."""
    n = self._a.ndim
    if n not in (0, 2):
        more = " For batches of matrices, consider using tensor.mH" if n > 2 else ""
        raise RuntimeError(f"tensor.H is only supported on matrices (2-D tensors). Got {n}-D tensor.{more}")
    return conjugate_transpose(self, "H") if n else conjugate(self)


def batched_hermitian(self):
    """The conjugate transpose of the last two dimensions."""
    if self._a.ndim == 0:
        warnings.warn(SCALAR_T.format(name="mH"), UserWarning, stacklevel=2)
        return conjugate(self)
    return conjugate_transpose(self, "mH")


def permute(input, dims):
    """Reorders the dimensions to ``dims``."""
    if not isinstance(input, Tensor):
        need_tensor(input, "permute")
    n = input._a.ndim
    if type(dims) is not tuple:
        dims = tuple(dims) if isinstance(dims, _SEQUENCES) else shape_from((dims,), "dims")
    if n < 7 and sorted(dims) == _ALL_DIMS[n]:
        return ops.permute(input, axes=dims)
    if len(dims) != n:
        raise RuntimeError(
            "permute: number of dimensions in the tensor input does not match the length of the desired ordering of "
            f"dimensions i.e. input.dim() = {n} is not equal to len(dims) = {len(dims)}"
        )
    axes = tuple([dim_in_range(d, n) for d in dims])
    if len(set(axes)) < n:
        raise RuntimeError(f"permute(): duplicate dims are not allowed, got {list(dims)}.")
    return ops.permute(input, axes=axes)


def permute_method(self, *dims, **named):
    """Reorders the dimensions to ``dims``."""
    if not dims:
        dims = (keyword_value(named, "permute", "dims"),)
    return permute(self, dims[0] if len(dims) == 1 and not isinstance(dims[0], int) else dims)


def movedim(input, source, destination):
    """Moves the dimensions ``source`` to the positions ``destination``; the others keep their order."""
    need_tensor(input, "movedim")
    n = input._a.ndim
    source = source if isinstance(source, (tuple, list)) else (source,)
    destination = destination if isinstance(destination, (tuple, list)) else (destination,)
    if len(source) != len(destination):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({list(source)} dims) should contain the same number "
            f"of dims as destination ({list(destination)} dims)"
        )
    froms = [dim_in_range(d, n) for d in source]
    tos = [dim_in_range(d, n) for d in destination]
    for what, given, found in (("source", source, froms), ("destination", destination, tos)):
        if len(set(found)) < len(found):
            raise RuntimeError(f"movedim: repeated dim in `{what}` ({list(given)})")
    if n == 0:
        return ops.alias(input)
    rest = iter([i for i in range(n) if i not in froms])
    place = dict(zip(tos, froms))
    return ops.permute(input, axes=tuple([place[i] if i in place else next(rest) for i in range(n)]))


def moveaxis(input, source, destination):
    """Alias of ``movedim``, after NumPy."""
    return movedim(input, source, destination)


methods(
    view, view_as, reshape_as, flatten, unflatten, ravel, unsqueeze, transpose, swapaxes, swapdims, t, adjoint,
    movedim, moveaxis,
    reshape=reshape_method, squeeze=squeeze_method, permute=permute_method,
    T=property(reverse_dims), mT=property(matrix_transpose), H=property(hermitian), mH=property(batched_hermitian),
)
metadata_methods(unsqueeze, transpose, swapaxes, swapdims, t, squeeze=squeeze_method)
for method in (reshape_method, squeeze_method, permute_method):
    method.__name__ = method.__name__.removesuffix("_method")
