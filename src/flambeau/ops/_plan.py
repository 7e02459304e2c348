"""Recording: what a call of an op saves on its node, and how vjps read it."""

import numpy as np

from .. import _tape as tape
from .._dtypes import is_inexact
from .._modes import in_use, modes
from .._tape import guard, next_sequence
from .._tensor import Tensor, wrap
from ..engines import NUMPY, engine_of
from ..engines._views import value_of


class Plan:
    """The values to save for a call, given the inputs that need gradients; and the vjps, compiled to one function."""

    def __init__(self, op, wanted):
        calls = [op.joint] if op.joint is not None else [op.vjps.get(i) if w else None for i, w in enumerate(wanted)]
        getters = [g for call in calls if call is not None for g in call[1]]
        kinds = {kind for kind, _ in getters}
        positions = {i for kind, i in getters if kind == "input"}
        positions.update(j for kind, i in getters if kind == "inputs" for j in range(i, len(wanted)))
        self.saves = tuple(i in positions for i in range(len(wanted)))
        self.saves_parts = frozenset(i for kind, i in getters if kind == "part")
        self.saves_out = "out" in kinds or bool(self.saves_parts)
        self.widens = bool(op.opmath) and not op.product  # whether the forward computed half precision in float32
        unknown = bool(op.steps) and not all(wanted)  # for the steps, which need the shapes of all inputs
        self.shapes = bool(kinds & {"shape", "shapes"}) or unknown
        self.backward = self.compile(calls, wanted, op.joint is not None) if any(calls) else None

    @staticmethod
    def compile(calls, wanted, joint):
        """Generates a function ``(gradient, node) -> gradients`` that reads each vjp's arguments from the node."""
        sources = {
            "input": "n.inputs[{!r}]", "setting": "n.settings[{!r}]", "shape": "n.shapes[{!r}]", "out": "n.out",
            "part": "n.out[{!r}]", "inputs": "n.inputs[{!r}:]", "shapes": "n.shapes[{!r}:]", "needs": repr(wanted),
        }
        terms = []
        for i, call in enumerate(calls):
            arguments = "".join(", " + sources[kind].format(where) for kind, where in call[1]) if call else ""
            terms.append(f"f{i}(g{arguments})" if call else "None")
        body = terms[0] if joint else f"[{', '.join(terms)}]"
        functions = {f"f{i}": call[0] for i, call in enumerate(calls) if call}
        return eval(f"lambda g, n: {body}", functions | {"__name__": __name__})

    # ---- recording

    def record(self, node, edges, inputs, arrays, result, out, settings):
        """Connects `out`, a tensor or a tuple of them over the arrays `result`, to the new `node`."""
        node._edges = edges
        node._seq = next_sequence()
        node._hooked = False
        k = engine_of(*(result if type(result) is tuple else (result,)))
        if k.records:
            node.backward = k.vjps(self.backward, self.widens, fit_all, forms_of(inputs, edges))
        else:
            node.backward = modes.tracer.computation(self.backward)
        node.settings = settings
        if type(out) is not tuple:
            node._count = 1
            node._shape = result.shape
            node._dtype = result.dtype
            if is_inexact(node._dtype):
                out._node = node
                out._nr = 0
                out._rg = True
        else:
            node._count = len(out)
            node._shape, node._dtype = tuple([r.shape for r in result]), tuple([r.dtype for r in result])
            if node._count == 1:
                node._shape, node._dtype = node._shape[0], node._dtype[0]
            for nr, t in enumerate(out):
                if is_inexact(t._a.dtype):
                    t._node, t._nr, t._rg = node, nr, True
        self.save(node, inputs, arrays, result, out)
        return node

    def save(self, node, inputs, arrays, result, out):
        """Saves on the node the values that its vjps need."""
        if any(self.saves):
            saved, guards = [], []
            for x, a, saves in zip(inputs, arrays, self.saves):
                saved.append(value_of(a) if saves else None)
                if saves and isinstance(x, Tensor):
                    guards.append(guard(x))
            node.inputs, node.guards = tuple(saved), tuple(guards)
        else:
            node.inputs = node.guards = ()
        node.out = None
        if self.saves_parts:
            node.out = tuple([value_of(r) if nr in self.saves_parts else None for nr, r in enumerate(result)])
            node.guards += tuple([guard(out[nr]) for nr in self.saves_parts])
        elif self.saves_out:
            node.out = tuple(map(value_of, result)) if type(result) is tuple else value_of(result)
            node.guards += tuple([guard(t) for t in out]) if type(out) is tuple else (guard(out),)
        node.shapes = None
        if self.shapes:
            node.shapes = tuple([getattr(a, "shape", ()) for a in arrays])
        if in_use.watched and modes.watched:
            self.watch(node, inputs)

    @staticmethod
    def watch(node, inputs):
        """Handles anomaly mode and saved-tensor hooks."""
        if modes.anomaly:
            node._trace = tape.user_stack()
        if modes.saved_hooks:
            node.packed = True
            node.inputs = tuple([
                tape.pack(x if isinstance(x, Tensor) and x._a is a else wrap(a)) if hasattr(a, "dtype") else a
                for x, a in zip(inputs, node.inputs)
            ])
            if isinstance(node.out, tuple):
                node.out = tuple([None if a is None else tape.pack(wrap(a)) for a in node.out])
            elif node.out is not None:
                node.out = tape.pack(wrap(node.out))
            if node.guards:
                node.guards = tape.UNGUARDED


def forms_of(inputs, wanted):
    """(shape, dtype) of the inputs that need gradients, None for the others."""
    return tuple([(x._a.shape, x._a.dtype) if w else None for x, w in zip(inputs, wanted)])


def fit_all(gradients, forms):
    """Reduces gradients to the shapes and dtypes of their inputs."""
    from .reduce import fit

    return [g if g is None or form is None else fit(g, *form) for g, form in zip(gradients, forms)]


def fetch(node, kind, where, graph):
    """Reads one argument of a vjp from the node."""
    if kind == "input":
        return saved_input(node, where, graph)
    if kind == "setting":
        return node.settings[where]
    if kind == "out":
        return saved_output(node, graph)
    if kind == "part":
        return saved_part(node, where, graph)
    if kind == "shape":
        return node.shapes[where]
    if kind == "needs":
        return tuple(e is not None for e in node._edges)
    if kind == "inputs":
        return tuple(saved_input(node, i, graph) for i in range(where, len(node.inputs)))
    return node.shapes[where:]


def saved_input(node, i, graph):
    value = unpack_saved(node.inputs[i])
    if not graph or value is None or not hasattr(value, "dtype"):
        return value
    edge = node._edges[i]
    return in_its_storage(wrap(value) if edge is None else at_edge(value, edge), node)


def saved_output(node, graph):
    if type(node.out) is tuple:
        return tuple([saved_part(node, nr, graph) for nr in range(len(node.out))])
    value = unpack_saved(node.out)
    return output_of(node, 0, value) if graph else value


def saved_part(node, nr, graph):
    value = unpack_saved(node.out[nr])
    return output_of(node, nr, value) if graph else value


def unpack_saved(value):
    """The saved array, unpacked by saved-tensor hooks or recomputed if necessary."""
    return value.array() if isinstance(value, tape.Packed) else value


def output_of(node, nr, array):
    """A tensor for output `nr` of a node; integers are not connected to the graph."""
    return in_its_storage(at_edge(array, (node, nr)) if is_inexact(array.dtype) else wrap(array), node)


def in_its_storage(t, node):
    """A tensor over a saved array with its original storage, so that the next graph detects writes to it too."""
    if t._storage is None:
        for storage, _ in node.guards:
            if storage.engine is NUMPY and storage.array is not None and np.may_share_memory(storage.array, t._a):
                t._storage = storage
                break
    return t


def at_edge(array, edge):
    """A tensor over `array` at the place in the graph that `edge` points to."""
    target, nr = edge
    if isinstance(target, Tensor):
        if target._a is array:
            return target
        from .shape import alias

        if target._a.shape == array.shape and target._a.dtype == array.dtype:
            out = alias(target)
            out._a = array
            return out
        target, nr = alias(target)._node, 0
    t = wrap(array)
    t._node, t._nr, t._rg = target, nr, True
    return t
