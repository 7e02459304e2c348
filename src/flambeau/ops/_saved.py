"""The attributes of nodes for saved values: ``_saved_self``, ``_saved_result``, ``_saved_dim`` and so on."""

import functools
import math

import numpy as np

from .. import _tape as tape
from .._layout import contiguous_strides
from .._tensor import LEAF, Tensor, wrap
from ._calls import on_arrays
from ._plan import fetch, unpack_saved
from ._saved_names import SAVED, USUAL
from ._steps import CompositeNode, shape_of
from .shape import key_parts

RAW_NONE = "Calling register_hooks on a saved tensor with value None is forbidden: the node has not saved it"
RAW_TWICE = "Calling register_hooks on a saved tensor whose hooks have already been set is not allowed"
RAW_STEP = (
    "{name} is a step of a node that runs as one: its saved tensors accept no hooks. Use saved_tensors_hooks(...) "
    "around the call."
)


@functools.cache
def table():
    """{node name: {name of a saved value: expression}}."""
    found = {}
    for line in SAVED.replace("\n    ", " ").strip().splitlines():
        node, *entries = line.split()
        pairs = [entry.partition("=")[::2] for entry in entries]
        found[node] = {name: source or USUAL.get(name, name) for name, source in pairs}
    return found


def attributes_of(op, node):
    """The attributes of an op's nodes by name. They are properties, since a __getattr__ would slow down all others."""
    found = {}
    for name, source in table().get(node, {}).items():
        found[f"_saved_{name}"] = property(functools.partial(value_of, attribute=f"_saved_{name}"))
        if place_of(op, source) is not None or len(source) == 1:  # the ops of steps have one-letter input names
            found[f"_raw_saved_{name}"] = property(functools.partial(value_of, attribute=f"_raw_saved_{name}"))
    return found


def value_of(node, attribute):
    """The value of such an attribute."""
    if isinstance(node, CompositeNode) and node._last is not None:
        return value_of(node._last, attribute)
    source = table()[type(node).__name__][attribute.removeprefix("_raw").removeprefix("_saved_")]
    if attribute.startswith("_raw"):
        return SavedTensor(node, *place_of(node.op, source))
    return eval(source, FUNCTIONS, Values(node))


def place_of(op, source):
    """Where a node stores the tensor for a source, as (kind, where); None if it is not a tensor."""
    if source in op.inputs:
        return "input", op.inputs.index(source)
    if source == "out":
        return "out", None
    return ("part", int(source[4:])) if source.startswith("out_") and source[4:].isdigit() else None


class SavedTensor:
    """A saved tensor that accepts hooks: ``_raw_saved_self`` and so on."""

    def __init__(self, node, kind, where):
        self._node, self._kind, self._where = node, kind, where

    def register_hooks(self, pack_hook, unpack_hook):
        """Replaces the saved tensor by ``pack_hook``'s result; backward uses ``unpack_hook``'s."""
        node, value = self._node, self._value()
        if node._steps is not None:
            raise RuntimeError(RAW_STEP.format(name=tape.name_of(node)))
        if value is None or type(value) is tape.Packed:
            raise RuntimeError(RAW_NONE if value is None else RAW_TWICE)
        self._keep(tape.Packed(pack_hook(fetch(node, self._kind, self._where, True).detach()), unpack_hook))
        node.packed, node.guards = True, tape.UNGUARDED

    def _value(self):
        node = self._node
        if node.guards is None:
            raise tape.graph_freed()
        if self._kind == "out":
            return node.out
        held = node.inputs if self._kind == "input" else node.out
        return held[self._where] if held else None

    def _keep(self, value):
        node = self._node
        if self._kind == "out":
            node.out = value
            return
        name = "inputs" if self._kind == "input" else "out"
        held = getattr(node, name)
        setattr(node, name, (*held[:self._where], value, *held[self._where + 1:]))


class Values(dict):
    """The values of a node by the names of its op."""

    def __init__(self, node):
        self.node = node

    def __missing__(self, name):
        node, op = self.node, self.node.op
        if name in op.settings:
            return op.of_call((), node.settings, "setting", name)
        stem, _, kind = name.rpartition("_")
        if stem in op.inputs and kind in OF_INPUTS:
            return OF_INPUTS[kind](node, op.inputs.index(stem))
        if name in op.inputs:
            i = op.inputs.index(name)
            return self.tensor("input", i, node.inputs[i] if node.inputs else None)
        if name == "out":
            return self.tensor("out", None, node.out)
        if name.startswith("out_"):
            nr = int(name[4:])
            return self.tensor("part", nr, node.out[nr] if type(node.out) is tuple else None)
        if name == op.variadic:
            return self.tensor("inputs", len(op.inputs), node.inputs)
        if name in FUNCTIONS:
            raise KeyError(name)
        return DERIVED[name](node) if name in DERIVED else None

    def tensor(self, kind, where, value):
        """A saved array as a tensor at its place in the graph."""
        if self.node.guards is None:
            raise tape.graph_freed()
        blank = self.node._steps is not None and not self.node._steps.has_values
        if blank or value is None or (kind == "inputs" and not value):
            return None
        found = fetch(self.node, kind, where, True)
        return found if isinstance(found, (Tensor, tuple)) else wrap(np.asarray(found))


def strides_of(node, i):
    """The strides of an input that requires a gradient, counted in elements."""
    edge = node._edges[i]
    if edge is None:
        return ()
    value = node.inputs[i] if node.inputs else None
    value = array_at(edge) if value is None else unpack_saved(value)
    return contiguous_strides(shape_of(node, i)) if value is None else wrap(value).stride()


def array_at(edge):
    """The array of a leaf, or of a view of it; otherwise None."""
    target, nr = edge
    if nr == LEAF:
        return target._a
    if not isinstance(target, tape.OpNode) or not target.op.is_view or target._count != 1:
        return None
    base = array_at(target._edges[0])
    return None if base is None else on_arrays(target.op, base, **target.settings)


def plain(value):
    """A number that was saved where a tensor could be."""
    return value.item() if isinstance(value, Tensor) and not value.dim() else value


def at_dims(indices, dims):
    """Indices by dimension; None for dimensions without one."""
    places = dict(zip(dims, indices))
    return tuple([places.get(d) for d in range(max(dims) + 1)])


def leaf_of(node, i):
    """An input that is a leaf, which the graph holds even if it was not saved."""
    edge = node._edges[i]
    return edge[0] if edge is not None and edge[1] == LEAF else None


def as_tuple(axis):
    return (axis,) if isinstance(axis, int) else axis


def or_else(value, other):
    return other if value is None or (isinstance(value, (str, tuple)) and not value) else value


def flat_pads(pads):
    """Pads by dimension as one tuple, the last dimension first, without trailing zeros."""
    flat = [n for pair in reversed(pads) for n in pair]
    while len(flat) > 2 and flat[-2:] == [0, 0]:
        del flat[-2:]
    return tuple(flat)


def dim_of(key, shape):
    """The dimension of a key's single entry."""
    parts = key_parts(key, len(shape))
    return parts[0][0] if parts else 0


def entry_of(key):
    """A key's single entry."""
    entries = key if isinstance(key, tuple) else (key,)
    return next((entry for entry in entries if entry is not Ellipsis and entry != slice(None)), slice(None))


def slice_of(key):
    """(start, stop, step) of a key's single slice."""
    part = entry_of(key)
    return [default if n is None else n for n, default in zip((part.start, part.stop, part.step), (0, 2**63 - 1, 1))]


def rstd(variance, eps):
    """The reciprocal of a standard deviation, which PyTorch saves instead of the variance."""
    return None if variance is None else (variance.detach() + eps).rsqrt()


def flat(statistics):
    return None if statistics is None else statistics.detach().reshape(-1)


def grouped(statistics):
    return None if statistics is None else statistics.detach().reshape(statistics.shape[:2])


def output_padding(node):
    """The output padding of a transposed convolution."""
    stride, settings = node.settings["stride"], node.settings
    if "spatial" not in settings:
        return (0,) * len(stride)
    sizes, kernel = shape_of(node, 0)[2:], shape_of(node, 1)[2:]
    rows = zip(settings["spatial"], sizes, kernel, stride, settings["padding"], settings["dilation"])
    return tuple([have - ((n - 1) * s - 2 * p + d * (k - 1) + 1) for have, n, k, s, p, d in rows])


OF_INPUTS = {"leaf": leaf_of, "shape": shape_of, "strides": strides_of}
DERIVED = {
    "alpha": lambda node: 1, "ceil_mode": lambda node: False, "dropout_p": lambda node: 0.0,
    "sparse_grad": lambda node: False, "op_name": lambda node: node.op.name, "output_padding": output_padding,
}
FUNCTIONS = {
    "as_tuple": as_tuple, "at_dims": at_dims, "dim_of": dim_of, "entry_of": entry_of, "flat": flat,
    "flat_pads": flat_pads, "grouped": grouped, "len": len, "or_else": or_else, "plain": plain, "rstd": rstd,
    "slice_of": slice_of, "tuple": tuple, "number_of": {"none": 0, "mean": 1, "sum": 2}.get, "prod": math.prod,
    "__builtins__": {},
}
