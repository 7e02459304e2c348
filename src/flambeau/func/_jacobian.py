"""Jacobians and Hessians, with all rows or columns computed at once by ``vmap``."""

import functools

from .._tensor import Tensor, wrap
from ..engines import engine_of
from ..engines.levels import innermost
from ..utils._pytree import tree_flatten, tree_unflatten
from ._grad import NO_TENSOR, replace, select, vjp
from ._jvp import FLOATING, jvp
from ._vmap import vmap

CHUNK = "jacrev: `chunk_size` should be greater than 0."


def jacrev(func, argnums=0, *, has_aux=False, chunk_size=None, _preallocate_and_copy=False):
    """Returns a function that computes the Jacobian of `func` by reverse mode: one vjp per element of the output.

    Args:
        argnums: the position of the argument to differentiate with respect to, or a tuple of them.
        has_aux: `func` returns ``(output, aux)``; the new function then returns ``(jacobian, aux)``.
        chunk_size: the number of rows to compute at once; None for all.

    Example::

        >>> jacrev(lambda x: x**2)(flambeau.tensor([1.0, 2.0]))
        tensor([[2., 0.],
                [0., 4.]])
    """
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError(CHUNK)

    @functools.wraps(func)
    def jacobian(*args, **kwargs):
        def of_selected(selected):
            return func(*replace(args, argnums, selected), **kwargs)

        selected = select(args, argnums)
        inputs, spec = tree_flatten(selected)
        output, pull, *aux = vjp(of_selected, selected, has_aux=has_aux)
        outputs, output_spec = tree_flatten(output)
        basis = standard_basis(outputs)
        rows = vmap(lambda *cotangents: pull(tree_unflatten(cotangents, output_spec))[0], chunk_size=chunk_size)(*basis)
        rows = [split_rows(t, outputs, x.shape) for t, x in zip(tree_flatten(rows)[0], inputs, strict=True)]
        blocks = [tree_unflatten(row, spec) for row in zip(*rows, strict=True)]
        found = tree_unflatten(blocks, output_spec)
        return (found, *aux) if has_aux else found

    return jacobian


def jacfwd(func, argnums=0, has_aux=False, *, randomness="error"):
    """Returns a function that computes the Jacobian of `func` by forward mode: one jvp per element of the input.

    `randomness` is passed to the ``vmap`` over the elements. See ``jacrev`` for the other arguments.

    Example::

        >>> jacfwd(lambda x: x**2)(flambeau.tensor([1.0, 2.0]))
        tensor([[2., 0.],
                [0., 4.]])
    """

    @functools.wraps(func)
    def jacobian(*args, **kwargs):
        def of_selected(selected):
            return func(*replace(args, argnums, selected), **kwargs)

        selected = select(args, argnums)
        inputs, spec = tree_flatten(selected)
        check_inputs(inputs)

        def push(*tangents):
            return jvp(of_selected, (selected,), (tree_unflatten(tangents, spec),), has_aux=has_aux)

        basis = standard_basis(inputs)
        out_dims = (None, -1, None) if has_aux else (None, -1)
        _, columns, *aux = vmap(push, out_dims=out_dims, randomness=randomness)(*basis)
        columns, output_spec = tree_flatten(columns)
        blocks = [tree_unflatten(split_columns(t, inputs), spec) for t in columns]
        found = tree_unflatten(blocks, output_spec)
        return (found, *aux) if has_aux else found

    return jacobian


def hessian(func, argnums=0):
    """Returns a function that computes the Hessian of `func`, whose result is a scalar: forward over reverse mode.

    Example::

        >>> hessian(lambda x: (x**3).sum())(flambeau.tensor([1.0, 2.0]))
        tensor([[ 6.,  0.],
                [ 0., 12.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)


# ---- bases


def check_inputs(inputs):
    for t in inputs:
        if not isinstance(t, Tensor):
            raise ValueError(NO_TENSOR.format(kind=type(t)))
        if not t.is_floating_point() and not t.is_complex():
            raise ValueError(FLOATING.format(dtype=t.dtype))


def standard_basis(tensors):
    """The unit vectors of the concatenation of all tensors: for each tensor its part of every vector, stacked along a
    new first dimension."""
    total, start, parts = sum([t.numel() for t in tensors]), 0, []
    for t in tensors:
        n, array = t.numel(), innermost(t._a)
        part = wrap(engine_of(array).zeros_like(array, dtype=t._a.dtype, shape=(total, n)))
        part.diagonal(-start).fill_(1)
        parts.append(part.reshape(total, *t.shape))
        start += n
    return parts


def split_rows(t, outputs, shape):
    """Splits the rows of a Jacobian by output."""
    parts = t.split([out.numel() for out in outputs])
    return [part.reshape((*out.shape, *shape)) for part, out in zip(parts, outputs, strict=True)]


def split_columns(t, inputs):
    """Splits the columns (last dimension) of a Jacobian by input."""
    parts = t.split([x.numel() for x in inputs], dim=-1)
    return [part.reshape((*t.shape[:-1], *x.shape)) for part, x in zip(parts, inputs, strict=True)]
