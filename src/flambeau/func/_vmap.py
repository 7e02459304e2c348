"""``vmap``: vectorizes a function of a single sample."""

import functools

from .._tensor import Tensor, wrap
from ..ops.join import cat
from ..transforms.vmap import Batched, VmapLevel, move_axis
from ..utils._pytree import _broadcast_to_and_flatten, tree_flatten, tree_unflatten
from ._grad import transform

RANDOMNESS = "Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}"
CHUNK = "vmap: chunk_size should be None or greater than 0. (got {size})"
IN_DIMS = (
    "vmap({name}, in_dims={dims}, ...)(<inputs>): expected `in_dims` to be int or a (potentially nested) tuple "
    "matching the structure of inputs, got: {kind}."
)
IN_STRUCTURE = (
    "vmap({name}, in_dims={dims}, ...)(<inputs>): in_dims is not compatible with the structure of `inputs`. in_dims "
    "has structure {own} but inputs has structure {spec}."
)
NO_INPUTS = (
    "vmap({name})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to vmap over a function "
    "with no inputs. The latter is unsupported."
)
IN_KIND = (
    "vmap({name}, in_dims={dims}, ...)(<inputs>): Got in_dim={dim} for an input but in_dim must be either an integer "
    "dimension or None."
)
NO_TENSOR = (
    "vmap({name}, in_dims={dims}, ...)(<inputs>): Got in_dim={dim} for an input but the input is of type {kind}. We "
    "cannot vmap over non-Tensor arguments, please use None as the respective in_dim"
)
IN_RANGE = (
    "vmap({name}, in_dims={dims}, ...)(<inputs>): Got in_dim={dim} for some input, but that input is a Tensor of "
    "dimensionality {ndim} so expected in_dim to satisfy -{ndim} <= in_dim < {ndim}."
)
SIZES = (
    "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} for the mapped "
    "dimension"
)
NOTHING = "vmap: Expected at least one Tensor to vmap over: some in_dim must not be None"
OUT_TENSORS = (
    "vmap({name}, ...): `{name}` must only return Tensors, got type {kind}. Did you mean to set out_dims= to None for "
    "output?"
)
OUT_STRUCTURE = (
    "vmap({name}, ..., out_dims={dims})(<inputs>): out_dims is not compatible with the structure of `outputs`. "
    "out_dims has structure {own} but outputs has structure {spec}."
)
OUT_KIND = (
    "vmap({name}, ..., out_dims={dims}): `out_dims` must be an int, None or a python collection of ints representing "
    "where in the outputs the vmapped dimension should appear."
)
OUT_NONE = "vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None"


def vmap(func, in_dims=0, out_dims=0, randomness="error", *, chunk_size=None):
    """Returns a function that applies `func` to each sample of a batch, using ops on the whole batch.

    Args:
        in_dims: the batch dimension of each input, None for unbatched inputs; one for all inputs, or a pytree that
            matches the inputs.
        out_dims: the batch dimension of the outputs.
        randomness: what random functions do inside: raise an "error", or draw "different" numbers for each sample, or
            the "same".
        chunk_size: the maximum number of samples to compute at once.

    Ops without a batching rule are computed sample by sample, with a warning.

    Example::

        >>> a, b = flambeau.ones(3, 2), flambeau.arange(6.0).reshape(3, 2)
        >>> vmap(flambeau.dot)(a, b)
        tensor([1., 5., 9.])
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(RANDOMNESS.format(randomness=randomness))
    if chunk_size is not None and not (chunk_size == int(chunk_size) and chunk_size > 0):
        raise ValueError(CHUNK.format(size=chunk_size))
    name = getattr(func, "__name__", type(func).__name__)

    @functools.wraps(func)
    def mapped(*args, **kwargs):
        inputs, spec = tree_flatten(args)
        dims, size = check_inputs(name, in_dims, inputs, spec)
        if chunk_size is not None and chunk_size < size:
            return in_chunks(run, inputs, dims, size, chunk_size, spec, kwargs)
        return tree_unflatten(*run(inputs, dims, size, spec, kwargs)[:2])

    def run(inputs, dims, size, spec, kwargs):
        """(results, their structure, their batch dimensions)."""
        with transform(), VmapLevel(size, randomness) as level:
            tensors = [enter(level, t, dim) for t, dim in zip(inputs, dims, strict=True)]
            outputs, out_spec = tree_flatten(func(*tree_unflatten(tensors, spec), **kwargs))
            places = check_outputs(name, out_dims, outputs, out_spec)
            return [leave(level, t, dim, name) for t, dim in zip(outputs, places, strict=True)], out_spec, places

    return mapped


def enter(level, t, dim):
    """An input as the function sees it: without the batch dimension."""
    if dim is None:
        return t
    return wrap(Batched(level, move_axis(t, dim, 0) if dim % t.dim() else t))


def leave(level, t, dim, name):
    """An output with the batch dimension."""
    if dim is not None:
        return level.stack_outputs(t, dim)
    array = t._a if isinstance(t, Tensor) else None
    if isinstance(array, Batched) and array.level is level:
        if array.batched:
            raise ValueError(OUT_NONE.format(name=name))
        return array.value
    return t


def in_chunks(run, inputs, dims, size, chunk_size, spec, kwargs):
    """Runs chunks of up to `chunk_size` samples and concatenates the results."""
    columns = []
    for start in range(0, size, chunk_size):
        stop = min(start + chunk_size, size)
        part = [t if dim is None else t.narrow(dim, start, stop - start) for t, dim in zip(inputs, dims, strict=True)]
        results, out_spec, places = run(part, dims, stop - start, spec, kwargs)
        columns.append(results)
    joined = [
        parts[0] if dim is None else cat(*parts, axis=dim % parts[0].dim())
        for parts, dim in zip(zip(*columns, strict=True), places, strict=True)
    ]
    return tree_unflatten(joined, out_spec)


# ---- checks


def check_inputs(name, in_dims, inputs, spec):
    """(the batch dimension of each input, the batch size)."""
    if not isinstance(in_dims, int | tuple | list | dict):
        raise ValueError(IN_DIMS.format(name=name, dims=in_dims, kind=type(in_dims)))
    if not inputs:
        raise ValueError(NO_INPUTS.format(name=name))
    dims = _broadcast_to_and_flatten(tuple(in_dims) if isinstance(in_dims, list) else in_dims, spec)
    if dims is None:
        raise ValueError(IN_STRUCTURE.format(name=name, dims=in_dims, own=tree_flatten(in_dims)[1], spec=spec))
    for t, dim in zip(inputs, dims, strict=True):
        check_input(name, in_dims, t, dim)
    sizes = [t.shape[dim] for t, dim in zip(inputs, dims, strict=True) if dim is not None]
    if not sizes:
        raise ValueError(NOTHING)
    if len(set(sizes)) > 1:
        raise ValueError(SIZES.format(sizes=sizes))
    return dims, sizes[0]


def check_input(name, in_dims, t, dim):
    if dim is None:
        return
    if not isinstance(dim, int):
        raise ValueError(IN_KIND.format(name=name, dims=in_dims, dim=dim))
    if not isinstance(t, Tensor):
        raise ValueError(NO_TENSOR.format(name=name, dims=in_dims, dim=dim, kind=type(t)))
    if not -t.dim() <= dim < t.dim():
        raise ValueError(IN_RANGE.format(name=name, dims=in_dims, dim=dim, ndim=t.dim()))


def check_outputs(name, out_dims, outputs, spec):
    """The batch dimension of each output."""
    places = _broadcast_to_and_flatten(out_dims, spec)
    if places is None:
        own = tree_flatten(out_dims)[1]
        raise ValueError(OUT_STRUCTURE.format(name=name, dims=out_dims, own=own, spec=spec))
    for t, dim in zip(outputs, places, strict=True):
        if dim is not None and not isinstance(dim, int):
            raise ValueError(OUT_KIND.format(name=name, dims=out_dims))
        if dim is not None and not isinstance(t, Tensor):
            raise ValueError(OUT_TENSORS.format(name=name, kind=type(t)))
    return places
