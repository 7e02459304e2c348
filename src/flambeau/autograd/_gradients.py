"""``backward`` and ``grad``: gradients accumulated into the leaves, or returned."""

import math
import warnings

import numpy as np

from .._dtypes import from_np
from .._modes import in_use, modes
from .._size import Size
from .._tape import AccumulateGrad, name_of
from .._tensor import LEAF, Tensor, edge_of, engine_for, wrap
from ..engines import NUMPY, engine_of
from ..engines._views import value_of
from ..ops.join import stack
from ..ops.shape import basic_index
from .engine import Pass
from .graph import GradientEdge

ORIGINS = (Tensor, GradientEdge)  # the types that identify a place in the graph

UNUSED = (
    "The differentiated Tensor at index {i} appears to not have been used in the graph. Set allow_unused=True if this "
    "is the desired behavior."
)
NO_INPUT = "all inputs have to be Tensors or GradientEdges, but got {kind}"
NO_INPUTS = "`inputs` argument to `{name}()` cannot be empty."
NO_OUTPUT = "Expected output to be a torch.Tensor, but got {kind}"
BOTH_GRADIENTS = (
    "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to `backward()`. Please only use "
    "`grad_tensors`."
)
UNUSED_AND_ZEROS = (
    "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
)
ZEROS_OF_EDGE = (
    "materialize_grads cannot be used when the given input is a GradientEdge: give the tensor, or allow_unused=True"
)
IN_TRANSFORM = (
    "backward() called inside a functorch transform. This is not supported: use func.grad or func.vjp there, or call "
    "backward() outside of the transformed function."
)
IMPLICIT = "grad can be implicitly created only for scalar outputs (got shape {shape})"
IMPLICIT_REAL = "grad can be implicitly created only for real scalar outputs but got {dtype}"
SHAPES = "Mismatch in shape: grad_output[{i}] has a shape of {grad} and output[{i}] has a shape of {output}."
BATCHED_SHAPES = (
    "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch dimension. The "
    "sizes of the remaining dimensions are expected to match the shape of corresponding output, but a mismatch was "
    "detected: grad_output[{i}] has a shape of {grad} and output[{i}] has a shape of {output}."
)
STEP = (
    "{name} is a step of a node that runs as one: it cannot be an input of grad() or backward(). Name a tensor, or put "
    "a hook on the step: register_hook(...)."
)
DTYPES = (
    "For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in dtype: "
    "grad_output[{i}] has a dtype of {grad} and output[{i}] has a dtype of {output}."
)


def backward(tensors, grad_tensors=None, retain_graph=None, create_graph=False, grad_variables=None, inputs=None):
    """Accumulates the gradients of `tensors` (weighted by `grad_tensors`) into the leaves' ``.grad``.

    Args:
        tensors: the tensor, GradientEdge, or several, to differentiate.
        grad_tensors: their gradients; optional for scalars.
        retain_graph: keep the graph for another backward; defaults to ``create_graph``.
        create_graph: record the backward itself, for higher derivatives.
        inputs: tensors or GradientEdges, one, several, or a dict of them: accumulate into these only.
    """
    if grad_variables is not None:
        warnings.warn("`grad_variables` is deprecated. Use `grad_tensors` instead.", FutureWarning, stacklevel=2)
        if grad_tensors is not None:
            raise RuntimeError(BOTH_GRADIENTS)
        grad_tensors = grad_variables
    if in_use.levels and modes.transforms:
        raise RuntimeError(IN_TRANSFORM)
    tensors, grads = _pairs(tensors, grad_tensors)
    retain_graph = create_graph if retain_graph is None else retain_graph
    roots = _roots(tensors, grads, create_graph)
    if inputs is None:
        Pass(roots, retain_graph, create_graph).run()
        return
    inputs = _inputs(inputs, "backward")
    for t in inputs:
        if isinstance(t, Tensor):
            t.retain_grad()
    edges = [_arrival(t) for t in inputs]
    Pass(roots, retain_graph, create_graph, {}, [edge[0] for edge in edges if edge is not None]).run()


def grad(outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=False, only_inputs=True,
         allow_unused=None, is_grads_batched=False, materialize_grads=False):
    """The gradients of `outputs` with respect to `inputs`, returned instead of accumulated.

    A dict of inputs gives a dict of gradients. With ``is_grads_batched`` the first dimension of `grad_outputs` and of
    the results is a batch dimension.
    """
    if materialize_grads and allow_unused is False:
        raise ValueError(UNUSED_AND_ZEROS)
    if not only_inputs:
        warnings.warn("only_inputs argument is deprecated and is ignored now (defaults to True).", FutureWarning,
                      stacklevel=2)
    outputs, grads = _pairs(outputs, grad_outputs)
    wanted = _inputs(inputs, "grad")
    for t in wanted:
        if _arrival(t) is None and not t.requires_grad:
            for i, output in enumerate(outputs):
                _start(output, i)
            raise RuntimeError("One of the differentiated Tensors does not require grad")
    retain_graph = create_graph if retain_graph is None else retain_graph
    differentiate = _grad_by_batch if is_grads_batched else pull_back
    results = differentiate(outputs, wanted, grads, retain_graph, create_graph)
    for i, (t, result) in enumerate(zip(wanted, results, strict=True)):
        if result is None and materialize_grads:
            if not isinstance(t, Tensor):
                raise RuntimeError(ZEROS_OF_EDGE)
            results[i] = wrap(engine_of(t._a).zeros_like(t._a))
            results[i]._rg = create_graph
        elif result is None and not allow_unused:
            raise RuntimeError(UNUSED.format(i=i))
    return dict(zip(inputs, results, strict=True)) if isinstance(inputs, dict) else tuple(results)


def pull_back(outputs, inputs, grads, retain_graph, create_graph, below=0):
    """The gradients of `inputs`, None for those that are not used. See ``Pass`` for `below`."""
    roots = _roots(outputs, grads, create_graph)
    captures = _captures(inputs)
    captured = Pass(roots, retain_graph, create_graph, captures, below=below).run()
    results = [None] * len(inputs)
    for slots in captures.values():
        grad = captured.get(slots[0])
        if grad is not None:
            grad = grad if create_graph else wrap(grad)
            for slot in slots:  # an input that is listed twice: one tensor
                results[slot] = grad
    return results


def _grad_by_batch(outputs, inputs, grads, retain_graph, create_graph):
    """``pull_back`` for each entry of the first dimension of `grads`, stacked."""
    sizes = {g.shape[0] for g in grads if g is not None}
    if len(sizes) > 1:
        raise ValueError(
            "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
            f"{[g.shape[0] for g in grads if g is not None]} for the mapped dimension"
        )
    for i, (t, g) in enumerate(zip(outputs, grads, strict=True)):
        if g is None:
            _check_root_gradient(t, None, i)
        elif g.shape[1:] != _shape_and_dtype(t)[0]:
            _raise_shapes(BATCHED_SHAPES, t, g, i)
    n = sizes.pop() if sizes else 1
    rows = []
    for i in range(n):
        row = [None if g is None else basic_index(g, key=(i,)) for g in grads]
        rows.append(pull_back(outputs, inputs, row, retain_graph or i < n - 1, create_graph))
    return [None if column[0] is None else stack(*column, axis=0) for column in zip(*rows, strict=True)]


def _inputs(inputs, name):
    """The tensors and GradientEdges in an argument, as a tuple."""
    if isinstance(inputs, ORIGINS):
        return (inputs,)
    inputs = tuple(inputs.values() if isinstance(inputs, dict) else inputs)
    if not inputs:
        raise RuntimeError(NO_INPUTS.format(name=name))
    for t in inputs:
        if not isinstance(t, ORIGINS):
            raise RuntimeError(NO_INPUT.format(kind=type(t).__name__))
    return inputs


def _pairs(tensors, grads):
    tensors = (tensors,) if isinstance(tensors, ORIGINS) else tuple(tensors)
    for t in tensors:
        if not isinstance(t, ORIGINS):
            raise AssertionError(NO_OUTPUT.format(kind=type(t).__name__))
    grads = (None,) * len(tensors) if grads is None else grads
    grads = tuple(grads) if isinstance(grads, (tuple, list)) else (grads,)
    if len(grads) < len(tensors):
        raise RuntimeError(f"got {len(tensors)} tensors and {len(grads)} gradients")
    return tensors, grads[:len(tensors)]


def _roots(tensors, grads, graph):
    """(target, output number, gradient) triples for `tensors`; checks the gradients and fills in ones for scalars."""
    roots = []
    for i, (t, g) in enumerate(zip(tensors, grads, strict=True)):
        edge = _start(t, i)
        g = _root_gradient(t, g, i)
        roots.append((*edge, g if graph else value_of(g._a)))
    return roots


def _start(t, i):
    """The edge of output number `i`, which must require a gradient."""
    edge = _arrival(t)
    if edge is None:
        raise RuntimeError(f"element {i} of tensors does not require grad and does not have a grad_fn")
    return edge


def _arrival(t):
    """The edge of a tensor or GradientEdge, or None."""
    if isinstance(t, Tensor):
        return edge_of(t)
    node = t.node
    if node._steps is not None:
        raise RuntimeError(STEP.format(name=name_of(node)))
    return (node.variable, LEAF) if isinstance(node, AccumulateGrad) else (node, t.output_nr)


def _shape_and_dtype(t):
    """The shape and dtype of a tensor, or of a GradientEdge's output."""
    return (t._a.shape, t._a.dtype) if isinstance(t, Tensor) else t.node._output(t.output_nr)


def _root_gradient(t, g, i):
    """The gradient `g` of `t`, argument `i` of the call: checked, or ones for a scalar."""
    _check_root_gradient(t, g, i)
    if g is not None:
        return g
    if isinstance(t, Tensor):
        a = t._a
        return wrap(np.array(1, a.dtype) if engine_for(t) is NUMPY and a.ndim == 0 else engine_for(t).ones_like(a))
    return wrap(np.ones(*_shape_and_dtype(t)))


def _check_root_gradient(t, g, i):
    shape, dtype = _shape_and_dtype(t)
    if g is None:
        if math.prod(shape) != 1:
            raise RuntimeError(IMPLICIT.format(shape=list(shape)))
        if dtype.kind == "c":
            raise RuntimeError(IMPLICIT_REAL.format(dtype=from_np(dtype)))
        return
    if not isinstance(g, Tensor):
        raise TypeError(f"gradients can be either Tensors or None, but got {type(g).__name__}")
    if g._a.shape != shape:
        _raise_shapes(SHAPES, t, g, i)
    if (g._a.dtype.kind == "c") != (dtype.kind == "c"):
        raise RuntimeError(DTYPES.format(i=i, grad=g.dtype, output=from_np(dtype)))


def _raise_shapes(message, t, g, i):
    raise RuntimeError(message.format(i=i, grad=g.shape, output=Size(_shape_and_dtype(t)[0])))


def _captures(tensors):
    """{(target, output number): slots} of the tensors; a leaf's only output is number 0."""
    captures = {}
    for slot, t in enumerate(tensors):
        edge = _arrival(t)
        if edge is None:  # a view created in no_grad mode: it requires grad, but gets no gradient
            continue
        target, nr = edge
        captures.setdefault((target, max(nr, 0)), []).append(slot)
    return captures


def _of_tensor(self, gradient=None, retain_graph=None, create_graph=False, inputs=None):
    """Accumulates the gradients of this tensor into the leaves' ``.grad``. See ``autograd.backward``."""
    backward(self, gradient, retain_graph, create_graph, inputs=inputs)


_of_tensor.__name__, _of_tensor.__qualname__ = "backward", "Tensor.backward"
Tensor.backward = _of_tensor
