"""``backward`` and ``grad``: the gradients of tensors, added to the leaves or returned."""

from __future__ import annotations

import numpy as np

from .._tape import AccumulateGrad
from .._tensor import LEAF, Tensor, edge_of, wrap
from ..engines import engine_of
from ..ops.join import stack
from .engine import Pass
from .graph import GradientEdge

UNUSED = (
    "One of the differentiated Tensors appears to not have been used in the graph. Set allow_unused=True if this is "
    "the desired behavior."
)
NO_INPUT = "all inputs have to be Tensors, but got {kind}"


def backward(tensors, grad_tensors=None, retain_graph=None, create_graph=False, grad_variables=None, inputs=None):
    """Adds to the leaves' ``.grad`` the gradients of `tensors` (weighted by `grad_tensors`).

    Args:
        tensors: a tensor or several, from which to go back.
        grad_tensors: their gradients; may be left out for scalars.
        retain_graph: keep the graph for another pass; follows ``create_graph`` when not given.
        create_graph: record the pass itself, for higher derivatives.
        inputs: accumulate into these only.
    """
    tensors, grads = _pairs(tensors, grad_tensors)
    keep = create_graph if retain_graph is None else retain_graph
    roots = _roots(tensors, grads, create_graph)
    if inputs is None:
        Pass(roots, keep, create_graph).run()
        return
    wanted = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    if not wanted:
        raise RuntimeError("'inputs' argument to backward cannot be empty.")
    for t in wanted:
        if not isinstance(t, Tensor):
            raise RuntimeError(NO_INPUT.format(kind=type(t).__name__))
        if not t.requires_grad:
            raise RuntimeError(
                f"can't accumulate a gradient in an input of shape {list(t.shape)} that has requires_grad=False"
            )
    leaves = [t for t in wanted if t.is_leaf]
    captures = _captures([t for t in wanted if not t.is_leaf])
    caught = Pass(roots, keep, create_graph, captures, leaves).run()
    for slot, t in enumerate(t for t in wanted if not t.is_leaf):
        if slot in caught:
            got = caught[slot] if create_graph else wrap(caught[slot])
            t._grad = got if t._grad is None else t._grad + got


def grad(outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=False, only_inputs=True,
         allow_unused=None, is_grads_batched=False, materialize_grads=False):
    """The gradients of `outputs` with respect to `inputs`, returned instead of accumulated.

    With ``is_grads_batched`` the first dimension of `grad_outputs` counts gradients, and that of the results too.
    """
    if is_grads_batched:
        return _batched(outputs, inputs, grad_outputs, create_graph, allow_unused, materialize_grads)
    outputs, grads = _pairs(outputs, grad_outputs)
    inputs = (inputs,) if isinstance(inputs, Tensor | GradientEdge) else tuple(inputs)
    if allow_unused is False and materialize_grads:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
        )
    if allow_unused is None:
        allow_unused = materialize_grads
    if not inputs:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    for t in inputs:
        if not isinstance(t, Tensor | GradientEdge):
            raise RuntimeError(NO_INPUT.format(kind=type(t).__name__))
        if _arrival(t) is None:
            raise RuntimeError("One of the differentiated Tensors does not require grad")
    keep = create_graph if retain_graph is None else retain_graph
    caught = Pass(_roots(outputs, grads, create_graph), keep, create_graph, _captures(inputs)).run()
    results = []
    for slot, t in enumerate(inputs):
        got = caught.get(slot)
        if got is None:
            if not allow_unused:
                raise RuntimeError(UNUSED)
            results.append(_zeros(t) if materialize_grads else None)
        else:
            results.append(got if create_graph else wrap(got))
    return tuple(results)


def _zeros(t):
    """The gradient of what nothing depends on."""
    if isinstance(t, Tensor):
        return wrap(engine_of(t._a).zeros_like(t._a))
    return wrap(np.zeros(*t.node.output(t.output_nr)))


def _batched(outputs, inputs, grad_outputs, create_graph, allow_unused, materialize_grads):
    """``grad`` for each entry of the first dimension of `grad_outputs`, stacked."""
    outputs, grads = _pairs(outputs, grad_outputs)
    sizes = {g.shape[0] for g in grads if g is not None}
    if len(sizes) != 1:
        raise RuntimeError(f"is_grads_batched needs grad_outputs of one first dimension, got {sorted(sizes)}")
    rows = [
        grad(outputs, inputs, [None if g is None else g[i] for g in grads], True, create_graph,
             allow_unused=allow_unused, materialize_grads=materialize_grads)
        for i in range(sizes.pop())
    ]
    return tuple(None if column[0] is None else stack(*column, axis=0) for column in zip(*rows, strict=True))


def _pairs(tensors, grads):
    tensors = (tensors,) if isinstance(tensors, Tensor | GradientEdge) else tuple(tensors)
    for t in tensors:
        if not isinstance(t, Tensor | GradientEdge):
            raise AssertionError(f"Expected output to be a torch.Tensor, but got {type(t).__name__}")
    grads = (None,) * len(tensors) if grads is None else grads
    grads = tuple(grads) if isinstance(grads, tuple | list) else (grads,)
    if len(grads) != len(tensors):
        raise RuntimeError(f"got {len(tensors)} tensors and {len(grads)} gradients")
    return tensors, grads


def _roots(tensors, grads, graph):
    """(target, output number, gradient) triples for `tensors`; checks the gradients and fills in ones for scalars."""
    roots = []
    for i, (t, g) in enumerate(zip(tensors, grads, strict=True)):
        edge = _arrival(t)
        if edge is None:
            raise RuntimeError(f"element {i} of tensors does not require grad and does not have a grad_fn")
        if isinstance(t, Tensor):
            g = _root_gradient(t, g, i)
        elif g is None:
            raise RuntimeError("grad can be implicitly created only for scalar outputs: give the gradient of an edge")
        roots.append((*edge, g if graph else g._a))
    return roots


def _arrival(t):
    """Where the gradient of a tensor, or the one at a GradientEdge, arrives: an edge, or None."""
    if isinstance(t, Tensor):
        return edge_of(t)
    node = t.node
    return (node.variable, LEAF) if isinstance(node, AccumulateGrad) else (node, t.output_nr)


def _root_gradient(t, g, i):
    """The gradient `g` of the tensor `t`, the one at place `i` in the call: checked, or one for a scalar."""
    if g is None:
        if t._a.size != 1:
            raise RuntimeError(f"grad can be implicitly created only for scalar outputs (got shape {list(t._a.shape)})")
        if t._a.dtype.kind == "c":
            raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {t.dtype}")
        a = t._a
        return wrap(np.array(1, a.dtype) if type(a) is np.ndarray and a.ndim == 0 else engine_of(a).ones_like(a))
    if not isinstance(g, Tensor):
        raise TypeError(f"gradients can be either Tensors or None, but got {type(g).__name__}")
    if g._a.shape != t._a.shape:
        raise RuntimeError(
            f"Mismatch in shape: grad_output[{i}] has a shape of {g.shape} and output[{i}] has a shape of {t.shape}."
        )
    if (g._a.dtype.kind == "c") != (t._a.dtype.kind == "c"):
        raise RuntimeError(
            f"For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in dtype: "
            f"grad_output[{i}] has a dtype of {g.dtype} and output[{i}] has a dtype of {t.dtype}."
        )
    return g


def _captures(tensors):
    """{(target, output number): slots} of the tensors; a leaf's only output is number 0."""
    captures = {}
    for slot, t in enumerate(tensors):
        target, nr = _arrival(t)
        captures.setdefault((target, max(nr, 0)), []).append(slot)
    return captures


def _of_tensor(self, gradient=None, retain_graph=None, create_graph=False, inputs=None):
    """Adds the gradients of this tensor to the leaves' ``.grad``. See ``autograd.backward``."""
    backward(self, gradient, retain_graph, create_graph, inputs=inputs)


_of_tensor.__name__, _of_tensor.__qualname__ = "backward", "Tensor.backward"
Tensor.backward = _of_tensor
