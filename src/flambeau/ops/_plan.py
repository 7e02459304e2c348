"""Recording: what a call of an op leaves on its node of the graph, and how the op's vjps get it back."""

from __future__ import annotations

import numpy as np

from .. import _tape as tape
from .._modes import ever, modes
from .._tape import guard, next_sequence
from .._tensor import LEAF, Tensor, wrap

_ndarray = np.ndarray


class Plan:
    """What to save for a call of an op, given which inputs need gradients, and its vjps compiled into one function."""

    def __init__(self, op, wanted):
        calls = [op.joint] if op.joint is not None else [op.vjps.get(i) if w else None for i, w in enumerate(wanted)]
        getters = [g for call in calls if call is not None for g in call[1]]
        kinds = {kind for kind, _ in getters}
        positions = {i for kind, i in getters if kind == "input"}
        positions.update(j for kind, i in getters if kind == "inputs" for j in range(i, len(wanted)))
        self.Node, self.ScalarNode = op.Node, op.ScalarNode
        self.keep = tuple(i in positions for i in range(len(wanted)))
        self.keeps = any(self.keep)
        self.keep_parts = frozenset(i for kind, i in getters if kind == "part")
        self.keep_out = "out" in kinds or bool(self.keep_parts)
        self.shapes = bool(kinds & {"shape", "shapes"})
        self.backward = self.compile(calls, wanted, op.joint is not None) if any(calls) else None

    @staticmethod
    def compile(calls, wanted, joint):
        """A function ``(gradient, node) -> gradients``, with each vjp's arguments read straight off the node."""
        sources = {
            "input": "n.inputs[{!r}]", "setting": "n.settings[{!r}]", "shape": "n.shapes[{!r}]", "out": "n.out",
            "part": "n.out[{!r}]", "inputs": "n.inputs[{!r}:]", "shapes": "n.shapes[{!r}:]", "needs": repr(wanted),
        }
        terms = []
        for i, call in enumerate(calls):
            arguments = "".join(", " + sources[kind].format(where) for kind, where in call[1]) if call else ""
            terms.append(f"f{i}(g{arguments})" if call else "None")
        body = terms[0] if joint else f"({', '.join(terms)},)"
        return eval(f"lambda g, n: {body}", {f"f{i}": call[0] for i, call in enumerate(calls) if call})

    # ---- recording. The first two are `record` in line, for the calls of which there are most.

    def record_one(self, x, a, r, t, settings):
        """Puts t, which has the array r, in the graph as the result of a call on x, which has the array a."""
        dtype = r.dtype
        if self.backward is None or dtype.num < 11:
            return
        node = self.Node()
        node.next = ((x, LEAF) if x._node is None else (x._node, x._nr),)
        node.seq = next_sequence()
        node.shape = r.shape
        node.dtype = dtype
        node.backward = self.backward
        node.settings = settings
        t._node = node
        t._rg = True
        if ever.watched and modes.watched:
            self.save(node, (x,), (a,), r, t)
            return
        if self.keeps:
            node.inputs = (a,)
            node.guards = (guard(x),)
        else:
            node.inputs = node.guards = ()
        if self.keep_out:
            node.out = r
            node.guards += (guard(t),)
        else:
            node.out = None
        node.shapes = (a.shape,) if self.shapes else None

    def record_two(self, x, y, a, b, r, t):
        """The same for two inputs and no settings; y may be a number, and b that number as an array."""
        dtype = r.dtype
        if self.backward is None or dtype.num < 11:
            return
        number = not isinstance(y, Tensor)
        node = (self.ScalarNode if number else self.Node)()
        node.next = (
            None if not x._rg else (x, LEAF) if x._node is None else (x._node, x._nr),
            None if number or not y._rg else (y, LEAF) if y._node is None else (y._node, y._nr),
        )
        node.seq = next_sequence()
        node.shape = r.shape
        node.dtype = dtype
        node.backward = self.backward
        node.settings = None
        t._node = node
        t._rg = True
        if ever.watched and modes.watched:
            self.save(node, (x, y), (a, y if number else b), r, t)
            return
        if self.keeps:
            keep_x, keep_y = self.keep
            node.inputs = (a if keep_x else None, b if keep_y else None)
            if not keep_x:
                node.guards = () if number else (guard(y),)
            elif number or not keep_y:
                node.guards = (guard(x),)
            else:
                node.guards = (guard(x), guard(y))
        else:
            node.inputs = node.guards = ()
        if self.keep_out:
            node.out = r
            node.guards += (guard(t),)
        else:
            node.out = None
        node.shapes = (a.shape, getattr(b, "shape", ())) if self.shapes else None

    def record(self, edges, inputs, arrays, result, out, settings):
        """Puts `out`, a tensor or a tuple of them with the arrays `result`, in the graph; returns the node."""
        number = self.ScalarNode is not self.Node and any(not isinstance(x, Tensor) and x is not None for x in inputs)
        node = (self.ScalarNode if number else self.Node)()
        tape.start(node, edges, result)
        node.backward = self.backward
        node.settings = settings
        self.save(node, inputs, arrays, result, out)
        if type(out) is not tuple:
            if result.dtype.num >= 11:
                out._node, out._rg = node, True
            return node
        for nr, t in enumerate(out):
            if t._a.dtype.num >= 11:
                t._node, t._nr, t._rg = node, nr, True
        return node

    def save(self, node, inputs, arrays, result, out):
        """Keeps on the node what its vjps will ask for."""
        kept, guards = [], []
        if self.keeps:
            for x, a, keep in zip(inputs, arrays, self.keep, strict=True):
                kept.append(a if keep else None)
                if keep and isinstance(x, Tensor) and a is x._a:
                    guards.append(guard(x))
        node.out = None
        if self.keep_parts:
            node.out = tuple([r if nr in self.keep_parts else None for nr, r in enumerate(result)])
            guards.extend([guard(out[nr]) for nr in self.keep_parts])
        elif self.keep_out:
            node.out = result
            guards.extend(map(guard, out if type(out) is tuple else (out,)))
        node.inputs, node.guards = tuple(kept), tuple(guards)
        node.shapes = tuple([getattr(a, "shape", ()) for a in arrays]) if self.shapes else None
        if ever.watched and modes.watched:
            self.watch(node)

    @staticmethod
    def watch(node):
        """Anomaly mode and saved-tensor hooks."""
        if modes.anomaly:
            node.trace = tape.here()
        if modes.saved_hooks:
            node.packed = True
            node.inputs = tuple([tape.pack(a) if isinstance(a, _ndarray) else a for a in node.inputs])
            if isinstance(node.out, _ndarray):
                node.out = tape.pack(node.out)


def fetch(node, kind, where, graph):
    """One argument of a vjp, from what the node holds."""
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
        return tuple(e is not None for e in node.next)
    if kind == "inputs":
        return tuple(saved_input(node, i, graph) for i in range(where, len(node.inputs)))
    return node.shapes[where:]


def saved_input(node, i, graph):
    value = node.inputs[i]
    if type(value) is tape.Packed:
        value = value.array()
    if not graph or value is None or not hasattr(value, "dtype"):
        return value
    edge = node.next[i]
    if edge is None:
        return wrap(value)
    return at_edge(value, edge)


def saved_output(node, graph):
    value = node.out
    if type(value) is tape.Packed:
        value = value.array()
    if not graph:
        return value
    if type(value) is tuple:
        return tuple(at_edge(v, (node, nr)) if v.dtype.num >= 11 else wrap(v) for nr, v in enumerate(value))
    return at_edge(value, (node, 0))


def saved_part(node, nr, graph):
    value = node.out[nr]
    if not graph:
        return value
    return at_edge(value, (node, nr)) if value.dtype.num >= 11 else wrap(value)


def at_edge(array, edge):
    """A tensor over `array` that stands where `edge` points in the graph."""
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
