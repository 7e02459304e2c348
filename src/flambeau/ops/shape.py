"""Views, and the copies and casts that stand beside them."""

import numpy as np

from .._layout import is_contiguous, view_strides
from .._tensor import Tensor
from ..engines import engine_of
from ..engines._views import is_index_array, replay
from ._op import kernel_op, op
from ._promotion import widened

# ---- x with a value in the place of a view of it


def _put_key(k, x, value, *, key, node=None):
    return k.put_key(x, key, value)


def _reshape_back(k, x, value, **_):
    return k.reshape(value, x.shape)


def _put_strided(k, x, value, *, size, stride, offset, own_stride, own_offset):
    there = k.move_strided(k.ones_like(value), stride, offset, x.shape, own_stride, own_offset, shared="to")
    new = k.move_strided(value, stride, offset, x.shape, own_stride, own_offset, shared="to")
    return k.where(there != 0, new, x)


# ---- the same elements, copies and casts


@op(view=True, node="AliasBackward0", put=lambda k, x, value: value)
def alias(k, x):
    return x[...]


alias.vjp(x=lambda g: g)


@op(node="ToCopyBackward0")
def cast(k, x, *, dtype):
    """Elements converted to a NumPy dtype; the engine converts the gradient back."""
    if x.dtype.kind == "c" and np.dtype(dtype).kind not in "cb":  # a number is True if one of its parts is nonzero
        x = x.real
    return k.cast(x, dtype)


cast.vjp(x=lambda g: g)

clone = kernel_op("clone", "copy", inputs="x", kernel_layout=True)
clone.vjp(x=lambda g: g)

zeros_like = kernel_op("zeros_like", inputs="x")


@op
def piecewise_constant(k, g, x):
    """g, which depends on x in a piecewise constant way."""
    return k.copy(g)


piecewise_constant.vjp(g=lambda g: g, x=lambda g: zeros_like(g))

view = kernel_op("view", "reshape_view", inputs="x", settings="shape", view=True, put=_reshape_back)
view.vjp(x=lambda g, x_shape: reshape(g, shape=x_shape))

# Always a new tensor: the public ``reshape`` views where it can.
reshape = kernel_op("reshape", inputs="x", settings="shape", node="UnsafeViewBackward0")
reshape.vjp(x=lambda g, x_shape: reshape(g, shape=x_shape))

# ``view`` of memory that is not contiguous, but admits the shape.
reshape_alias = kernel_op("reshape_alias", "reshape_view", inputs="x", settings="shape", view=True, put=_reshape_back)
reshape_alias.vjp(x=lambda g, x_shape: reshape(g, shape=x_shape))

# ``reshape`` of memory that does not admit the shape.
reshape_copy = kernel_op("reshape_copy", "reshape", inputs="x", settings="shape", node="UnsafeViewBackward0")
reshape_copy.vjp(x=lambda g, x_shape: reshape(g, shape=x_shape))
reshape_copy.presents(UnsafeViewBackward0=lambda x, shape: reshape(clone(x), shape=shape))


def view_or_copy(x, shape):
    """A tensor in another shape: a view if its memory allows that."""
    strides = x.stride()
    if is_contiguous(x._a.shape, strides):
        return view(x, shape=shape)
    if view_strides(x._a.shape, strides, shape) is not None or not x._a.size:
        return reshape_alias(x, shape=shape)
    return reshape_copy(x, shape=shape)


def reshape_shared(x, shape):
    """x in another shape; a tensor's result shares its version counter.

    Inputs and saved results are reshaped this way. The result of ``reshape`` has its own counter, so a write to x would
    go unnoticed.
    """
    return view_or_copy(x, shape) if isinstance(x, Tensor) else reshape(x, shape=shape)


expand = kernel_op("expand", "broadcast_to", inputs="x", settings="shape", view=True)
expand.vjp(x=lambda g, x_shape: g if x_shape else sum_of_all(g))  # the engine sums a gradient that has been broadcast


def sum_of_all(g):
    from .reduce import sum_  # that module imports this one

    return sum_(g, axis=None, keepdims=False)


# ---- the order and number of dimensions


@op(view=True, put=lambda k, x, value, *, axes: value.transpose(inverse_permutation(axes)))
def permute(k, x, *, axes):
    return x.transpose(axes)


permute.vjp(x=lambda g, axes: permute(g, axes=inverse_permutation(axes)))


def inverse_permutation(axes):
    inverse = [0] * len(axes)
    for place, axis in enumerate(axes):
        inverse[axis] = place
    return tuple(inverse)


@op(view=True, put=lambda k, x, value, *, axis0, axis1: value.swapaxes(axis0, axis1))
def transpose(k, x, *, axis0, axis1):
    return x.swapaxes(axis0, axis1)


transpose.vjp(x=lambda g, axis0, axis1: transpose(g, axis0=axis0, axis1=axis1))


@op(view=True, put=lambda k, x, value: value.T)
def t(k, x):
    return x.T


t.vjp(x=lambda g: t(g))

unsqueeze = kernel_op("unsqueeze", "expand_dims", inputs="x", settings="axis", view=True, put=_reshape_back)
unsqueeze.vjp(x=lambda g, axis: squeeze(g, axis=(axis,)))


@op(view=True, put=_reshape_back)
def squeeze(k, x, *, axis, node="SqueezeBackward1"):
    """PyTorch numbers its nodes: 0 for all dimensions of size one, 1 for a given one, 2 for several given ones."""
    return x.squeeze(axis)


squeeze.vjp(x=lambda g, x_shape: reshape(g, shape=x_shape))


# ---- parts


@op(view=True, put=_put_key, index=True)
def basic_index(k, x, *, key, node="SliceBackward0"):
    """x[key] for a key of integers, slices, None and Ellipsis, always a view; the node is named after the last entry.
    """
    k, x = with_index(k, x, key)
    return k.new_dims(x, key) if type(key) is tuple and any([entry is None for entry in key]) else x[key]


def with_index(k, x, key):
    """(engine, x) for a key: if an index is traced, a constant x is traced too."""
    for entry in key if type(key) is tuple else ():
        if is_index_array(entry):
            k = engine_of(entry)
            return k, k.asarray(x)
    return k, x


basic_index.vjp(x=lambda g, key, x_shape: embed(g, key=key, shape=x_shape))


STEP_NODES = {type(None): "UnsqueezeBackward0", slice: "SliceBackward0"}


def key_parts(key, ndim):
    """(dimension, entry) for each entry of a key that has an effect; dimensions are those after the previous entries.
    """
    key = key if isinstance(key, tuple) else (key,)
    rest = ndim - sum([entry is not None and entry is not Ellipsis for entry in key])
    parts, dim = [], 0
    for entry in key:
        if entry is Ellipsis:
            dim += rest
            continue
        if not isinstance(entry, slice) or entry != slice(None):
            parts.append((dim, entry))
        dim += entry is None or isinstance(entry, slice)
    return parts


def index_steps(x, key):
    """One step for each part of the key; None if there is only one."""
    parts = key_parts(key, len(x.shape))
    if len(parts) < 2:
        return None
    for dim, entry in parts:
        node = STEP_NODES.get(type(entry), "SelectBackward0")
        x = basic_index(x, key=(slice(None),) * dim + (entry,), node=node)
    return x


basic_index.presents(SelectBackward0=index_steps, SliceBackward0=index_steps, UnsqueezeBackward0=index_steps)


@op(node="SliceBackward0")
def embed(k, g, *, key, shape):
    """Zeros with g at `key`: the gradient of an index."""
    k, g = with_index(k, g, key)
    return k.embed(g, key, shape)


embed.vjp(g=lambda g, key: basic_index(g, key=key))


def part(axis, start, stop, step=1):
    """The key of a slice along one axis."""
    return (slice(None),) * axis + (slice(start, stop, step),)


# The diagonal as the last dimension.
diagonal = kernel_op("diagonal", inputs="x", settings="offset, axis1, axis2", view=True)
diagonal.vjp(
    x=lambda g, x_shape, offset, axis1, axis2:
        embed_diagonal(g, shape=x_shape, offset=offset, axis1=axis1, axis2=axis2)
)


@op(node="DiagEmbedBackward0")
def embed_diagonal(k, g, *, shape, offset, axis1, axis2):
    """Zeros with g on a diagonal."""
    return k.embed_view(g, lambda x: diagonal(x, offset=offset, axis1=axis1, axis2=axis2), shape)


embed_diagonal.vjp(g=lambda g, offset, axis1, axis2: diagonal(g, offset=offset, axis1=axis1, axis2=axis2))

# Windows along an axis; the place inside the window is the last dimension.
unfold = kernel_op("unfold", "windows", inputs="x", settings="axis, size, step", view=True)
unfold.vjp(x=lambda g, x_shape, axis, size, step: fold_windows(g, shape=x_shape, axis=axis, size=size, step=step))

fold_windows = kernel_op("fold_windows", inputs="g", settings="shape, axis, size, step", node="UnfoldBackwardBackward0",
                         opmath=True)
fold_windows.vjp(g=lambda g, axis, size, step: unfold(g, axis=axis, size=size, step=step))

# ---- as_strided


@op(view=True, put=_put_strided, copies=True)
def as_strided(k, x, *, size, stride, offset, own_stride, own_offset):
    """The elements at given places of a storage in which x has the layout (`own_stride`, `own_offset`).

    This works on values; the public function makes the result share memory with a tensor.
    """
    return k.move_strided(x, own_stride, own_offset, size, stride, offset, shared="from")


as_strided.vjp(
    x=lambda g, x_shape, stride, offset, own_stride, own_offset: as_strided_pull(
        widened(g), shape=x_shape, stride=stride, offset=offset, own_stride=own_stride, own_offset=own_offset
    )
)


@op(node="AsStridedBackward0")
def as_strided_pull(k, g, *, shape, stride, offset, own_stride, own_offset):
    """The transpose of as_strided: sums overlapping results; overlapping elements of x share the sum."""
    return k.move_strided(g, stride, offset, shape, own_stride, own_offset, shared="to")


as_strided_pull.vjp(
    g=lambda g, g_shape, stride, offset, own_stride, own_offset: as_strided(
        g, size=g_shape, stride=stride, offset=offset, own_stride=own_stride, own_offset=own_offset
    )
)


# ---- other element types in the same memory

view_as_real = kernel_op("view_as_real", inputs="x", view=True, put=lambda k, x, value: k.as_complex(value),
                         copies=True)
view_as_real.vjp(x=lambda g: as_complex(g))

view_as_complex = kernel_op("view_as_complex", inputs="x", view=True, put=lambda k, x, value: k.view_as_real(value),
                            copies=True)
view_as_complex.vjp(x=lambda g: view_as_real(g))

# ``view_as_complex`` of any memory, as a copy.
as_complex = kernel_op("as_complex", inputs="x", node="ViewAsComplexBackward0")
as_complex.vjp(x=lambda g: view_as_real(g))

# The bits of x as another element type; not differentiable.
view_dtype = kernel_op("view_dtype", inputs="x", settings="dtype",
                       put=lambda k, x, value, *, dtype: k.view_dtype(value, x.dtype), copies=True)

# ---- a base with one of its views replaced


def put(k, base, chain, value):
    """A copy of `base` with `value` in the view at the end of `chain` (a View's steps)."""
    if not chain:
        return k.cast(k.broadcast_to(value, base.shape), base.dtype)
    step, settings, nr = chain[0]
    together = next((i for i, (step, _, _) in enumerate(chain) if step.spec.copies), len(chain))
    if step.spec.put is not None and nr is None and not (k.aliases and together == len(chain)):
        return step.spec.put(k, base, put(k, step(base, **settings), chain[1:], value), **settings)
    # The engine applies several steps at once: a single one may repeat an element.
    if together < len(chain):
        value = put(k, replay(base, chain[:together]), chain[together:], value)
    return k.put_view(base, lambda x: replay(x, chain[:together]), value)
