"""The generated call of every op agrees with ``Op.call``: results, graph and errors."""

import contextlib
import functools

import numpy as np
import pytest

import flambeau
from engines.xla_cases import ROWS
from engines.xla_row import Given
from flambeau._tape import Packed
from flambeau._tensor import Tensor
from flambeau.ops._op import OPS

DTYPES = [flambeau.float32, flambeau.float64, flambeau.float16, flambeau.bfloat16, flambeau.int64, flambeau.bool,
          flambeau.complex64]
MATRICES = {"mm", "linear", "input_product"}  # ops whose callers make sure of the number of dimensions


# ---- inputs


def shorter(t):
    """One element less in each row: a clash of shapes, where there are several inputs."""
    return t[..., 1:] if t.ndim else t


def deeper(t):
    return t[None, None]


def transposed(t):
    return t.T.contiguous().T if t.ndim == 2 else t


def first_element(t):
    return t.reshape(-1)[0] if t.numel() else t


def as_number(t):
    return t.reshape(-1)[0].item() if t.numel() else t


def converted(t, dtype):
    return t if t.is_complex() else t.to(dtype)


def as_array(t):
    return t.numpy()


CHANGES = {"first": [shorter, deeper, transposed, first_element], "last": [shorter, first_element, as_number, as_array]}
VARIANTS = [("every", functools.partial(converted, dtype=dtype)) for dtype in DTYPES]
VARIANTS += [(where, change) for where, changes in CHANGES.items() for change in changes]


def inputs_of(row, where, change):
    """The inputs of a row, of which the first, the last or every one of floating dtype is changed."""
    values = row.draw("float32")
    inputs = [flambeau.as_tensor(v) if isinstance(g, Given) else v for g, v in zip(row.given, values, strict=True)]
    places = [i for i, x in enumerate(inputs) if isinstance(x, Tensor) and (x.is_floating_point() or x.is_complex())]
    for i in {"first": places[:1], "last": places[-1:], "every": places}[where]:
        inputs[i] = change(inputs[i])
    return inputs


def patterns(row, inputs):
    """Which inputs require a gradient: all that can, none, and the first or the last alone."""
    can = [i for i, (g, x) in enumerate(zip(row.given, inputs, strict=True)) if isinstance(g, Given) and not g.fixed
           and isinstance(x, Tensor) and (x.is_floating_point() or x.is_complex())]
    return {tuple(can), (), tuple(can[:1]), tuple(can[-1:])}


# ---- what a call leaves behind


def outcome(call, inputs, settings):
    """The results with their nodes, or the error."""
    flambeau.manual_seed(0)
    try:
        out = call(*inputs, **settings)
    except Exception as error:
        return type(error), str(error).partition("(input")[0]
    return type(out), [described(t, inputs) for t in (out if isinstance(out, tuple) else (out,))]


def described(t, inputs):
    if not isinstance(t, Tensor):
        return type(t), content(t)
    base = t._base is not None and [x is t._base for x in inputs]
    node = None if t.grad_fn is None or t.is_leaf else node_of(t, inputs)
    return content(t._a), t.stride(), t.requires_grad, t.is_inference(), base, node


def node_of(t, inputs):
    node, own = t.grad_fn, [x._storage for x in inputs if isinstance(x, Tensor)]
    guards = [([storage is s for s in own], version) for storage, version in node.guards]
    return (type(node), t.output_nr, [edge and (id(edge[0]), edge[1]) for edge in node._edges], node._count, node._shape,
            node._dtype, node.op.defaults | node.settings, guards, [content(a) for a in node.inputs], content(node.out), node.shapes,
            node.packed, node._hooked)


def content(value):
    """What compares equal if the values do; of a number it does not matter whether it was already made an array."""
    if isinstance(value, tuple):
        return [content(v) for v in value]
    if np.isscalar(value) or (isinstance(value, np.ndarray) and not value.ndim):
        return np.complex64(value).tobytes()
    if isinstance(value, np.ndarray):
        return value.dtype, value.shape, value.tobytes()
    return type(value) if isinstance(value, Packed) else value


# ---- the tests


def check(row, where, change, context=contextlib.nullcontext):
    op = OPS[row.name]
    if (change is as_number and op.promote is None) or (change in (deeper, first_element) and row.name in MATRICES):
        return
    try:
        inputs = inputs_of(row, where, change)
    except RuntimeError:  # a change that the inputs of this row do not admit
        return
    for pattern in patterns(row, inputs):
        for i, x in enumerate(inputs):
            if isinstance(x, Tensor) and x.is_leaf:
                x.requires_grad_(i in pattern)
        with context():
            got, want = (outcome(call, inputs, row.settings) for call in (op.function, op))
        assert got == want, (row, where, pattern)


@pytest.mark.parametrize("where, change", VARIANTS, ids=lambda v: str(getattr(v, "__name__", None) or getattr(v, "keywords", v)))
def test_every_call_agrees_with_the_general_one(where, change):
    for row in ROWS:
        check(row, where, change)


def hooks():
    return flambeau.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t)


@pytest.mark.parametrize("context", [flambeau.no_grad, flambeau.inference_mode, hooks, flambeau.autograd.detect_anomaly],
                         ids=lambda c: c.__name__)
@pytest.mark.filterwarnings("ignore:Anomaly Detection")
def test_every_call_agrees_in_every_mode(context):
    for row in ROWS:
        check(row, "every", transposed, context)
