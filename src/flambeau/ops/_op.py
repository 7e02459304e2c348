"""How an op is declared: its forward, written against an engine's kernels, and its vjps beside it.

    @op(promote="float")
    def tanh(k, x):
        return k.tanh(x)

    tanh.vjp(x=lambda g, out: g * conj(1 - out * out))

The positional parameters of the forward are the inputs, the keyword-only ones are settings. A vjp takes the
gradient of the output and, *by name*, what it needs: inputs, settings, ``out`` (the result), ``out_1`` (of several
results the second), or ``x_shape`` (the shape of input ``x``). What the vjps name is what is saved, and only for the
inputs that need a gradient.

An op is polymorphic. On Tensors it records itself; on raw arrays it just computes. So the same vjp serves an
ordinary backward (raw arrays) and a differentiable one (Tensors), and double backward needs no second formula.

Done once, here, for every op: type promotion, half precision in float32, recording and saving, views, and errors
in PyTorch's words. Gradients are brought back to the shape and dtype of the input by the backward engine.
"""

from __future__ import annotations

import inspect

import numpy as np

from .. import _dtypes
from .. import _tape as tape
from .._modes import modes
from .._tensor import LEAF, Tensor, View, refresh, storage_of, wrap
from ..engines import NUMPY, engine_of
from ..engines.numpy.base import SILENT, reset_errors, set_errors
from ._errors import refuse, translated

_ndarray = np.ndarray
_new = object.__new__
_SCALARS = (float, int)
_ONE = (True,)
_int64 = np.dtype(np.int64)

OPS: dict[str, Op] = {}  # every declared op by name: the tests walk it


class Op:
    """A declared op: the forward, its vjps and what the plumbing must know about them."""

    def __init__(self, forward, name, node, promote, opmath, refuses="", scalar_node=None):
        self.forward = forward
        self.name = name
        self.promote = promote
        self.opmath = opmath
        (_, *self.inputs), self.variadic, self.settings = parameters_of(forward)
        self.vjps = {}  # input position -> (function, getters)
        self.joint = None  # (function, getters) of a vjp for all inputs at once
        self.plans = {}
        self.check = None  # called with the operands as given, to refuse what promotion would hide
        self.refuses = refuses
        self.Node = self.node_type(node)
        self.ScalarNode = self.Node if scalar_node is None else self.node_type(scalar_node)
        # The range of NumPy type numbers that call_one takes: floats from 11 on, half precision above 22.
        # What is refused is left to the general call, which says so.
        self.lowest = 11 if promote == "float" or "i" in refuses else 1 if "b" in refuses else 0
        self.highest = 13 if "c" in refuses else 22 if opmath else 1 << 30
        self.__doc__ = forward.__doc__

    def __repr__(self):
        return f"<op {self.name}>"

    def node_type(self, name):
        return type(name, (tape.OpNode,), {"op": self, "__module__": "flambeau.autograd"})

    # ---- declaration of gradients

    def vjp(self, **functions):
        """Declares the vjp of each named input; an input without one gets no gradient."""
        for name, function in functions.items():
            self.vjps[self.inputs.index(name)] = (function, self._getters(function))

    def joint_vjp(self, function):
        """Declares one vjp that returns the gradients of all inputs; it may ask for ``needs``, a tuple of bools."""
        self.joint = (function, self._getters(function))
        return function

    @property
    def differentiable(self):
        return bool(self.vjps) or self.joint is not None

    def _getters(self, function):
        """How to fetch each argument of a vjp after the first: (kind, where) pairs."""
        return tuple(self._getter(n) for n in parameters_of(function)[0][1:])

    def _getter(self, name):
        if name in ("out", "needs"):
            return name, None
        if name in self.inputs:
            return "input", self.inputs.index(name)
        if name in self.settings:
            return "setting", name
        if name == self.variadic:
            return "inputs", len(self.inputs)
        if name.startswith("out_") and name[4:].isdigit():
            return "part", int(name[4:])
        stem = name.removesuffix("_shape")
        if stem in self.inputs:
            return "shape", self.inputs.index(stem)
        if stem == self.variadic:
            return "shapes", len(self.inputs)
        raise TypeError(f"the vjp of {self.name} asks for {name!r}, which is neither an input nor a setting of it")

    def plan(self, wanted):
        """How to record a call whose inputs flagged in `wanted` need gradients."""
        found = self.plans.get(wanted)
        if found is None:
            found = self.plans[wanted] = Plan(self, wanted)
        return found

    # ---- the general call

    def __call__(self, *inputs, **settings):
        if len(inputs) == 1:
            x = inputs[0]
            if isinstance(x, Tensor) and type(x._a) is _ndarray and self.lowest <= x._a.dtype.num <= self.highest:
                return self.call_one(x, settings)
        return self.call_any(inputs, settings)

    def call_one(self, x, settings):
        """The call on one NumPy tensor that needs no promotion: the same as ``call_any``, in line."""
        a, grad = x._a, modes.grad
        if grad is None:
            return self.call_any((x,), settings)
        if x._view is not None:
            refresh(x)
        token = set_errors(SILENT)
        try:
            r = self.forward(NUMPY, a, **settings)
        except Exception as error:
            raise translated(self, error, (a,), settings) from error
        finally:
            reset_errors(token)
        if type(r) is not _ndarray:
            if type(r) is tuple:
                r = tuple([p if type(p) is _ndarray else np.asarray(p) for p in r])
                return self.wrap_many((x,), (a,), r, settings, x._rg)
            r = np.asarray(r)
        t = _new(Tensor)
        t._a = r
        t._storage = t._view = t._grad = t._hooks = t._node = None
        t._nr = 0
        t._rg = False
        if grad and x._rg:
            self.record_one(x, a, r, t, settings)
        return t

    def record_one(self, x, a, r, t, settings):
        """``record`` for one input and one output."""
        plan = self.plans.get(_ONE)
        if plan is None:
            plan = self.plan(_ONE)
        if plan.backward is None or r.dtype.num < 11:
            return
        node = _new(self.Node)
        node.next = ((x, LEAF) if x._node is None else (x._node, x._nr),)
        node.seq = tape.next_sequence()
        node.shape = r.shape
        node.dtype = r.dtype
        node.backward = plan.backward
        if settings:
            node.settings = settings
        if modes.watched:
            plan.save(node, (x,), (a,), r, t)
            node.trace = tape.here() if modes.anomaly else None
        elif plan.saves:
            if plan.keeps:
                node.inputs = (a,)
                node.guards = (tape.guard(x),)
            if plan.keep_out:
                node.out = r
                node.guards += (tape.guard(t),)
            if plan.shapes:
                node.shapes = (a.shape,)
        t._node = node
        t._rg = True

    def call_any(self, inputs, settings):
        arrays, recording, graph = [], False, False
        for x in inputs:
            if isinstance(x, Tensor):
                graph = True
                if x._view is not None:
                    refresh(x)
                recording |= x._rg
                arrays.append(x._a)
            else:
                arrays.append(x)
        if not graph:
            return self.forward(engine_of(*inputs), *inputs, **settings)
        result, arrays = self.compute(inputs, arrays, settings)
        return self.wrap_many(inputs, arrays, result, settings, recording)

    def wrap_many(self, inputs, arrays, result, settings, recording):
        """The result (an array, or a tuple of them) as tensors, recorded."""
        out = tuple(map(wrap, result)) if type(result) is tuple else wrap(result)
        if recording and modes.grad:
            self.record(inputs, arrays, result, out, settings)
        return out

    def compute(self, inputs, arrays, settings):
        """The forward on raw arrays: promotion, opmath, errors. Returns (result, arrays as used)."""
        back_to = None
        if self.check is not None:
            self.check(*arrays)
        if self.promote is not None:
            arrays = promoted(inputs, arrays, self.promote)
        if self.opmath:
            arrays, back_to = in_opmath(arrays)
        if self.refuses:
            refuse(self, arrays)
        k = NUMPY if type(arrays[0]) is _ndarray else engine_of(*arrays)
        token = set_errors(SILENT)
        try:
            result = self.forward(k, *arrays, **settings)
        except Exception as error:
            raise translated(self, error, arrays, settings) from error
        finally:
            reset_errors(token)
        if type(result) is tuple:
            rest = None if self.opmath == "first" else back_to
            return tuple(finished(k, r, rest if nr else back_to) for nr, r in enumerate(result)), arrays
        return finished(k, result, back_to), arrays

    # ---- recording

    def record(self, inputs, arrays, result, out, settings):
        """Makes the node of a call and puts the outputs in the graph."""
        edges = tuple([tape.edge_of(x) if isinstance(x, Tensor) else None for x in inputs])
        plan = self.plan(tuple([e is not None for e in edges]))
        if plan.backward is None:
            return None
        tensors = self.ScalarNode is self.Node or all([isinstance(x, Tensor) or x is None for x in inputs])
        node = tape.start(_new(self.Node if tensors else self.ScalarNode), edges, result)
        node.backward = plan.backward
        plan.save(node, inputs, arrays, result, out)
        if settings:
            node.settings = settings
        if type(out) is tuple:
            for nr, t in enumerate(out):
                if t._a.dtype.num >= 11:
                    t._node, t._nr, t._rg = node, nr, True
        elif out._a.dtype.num >= 11:
            out._node, out._rg = node, True
        return node

    # ---- backward on Tensors, or with saved-tensor hooks; the plain case is the plan's compiled function

    def pull(self, node, grads, graph):
        if self.joint is not None:
            function, getters = self.joint
            return function(grads, *[fetch(node, kind, where, graph) for kind, where in getters])
        results = []
        for i, edge in enumerate(node.next):
            if edge is None or i not in self.vjps:
                results.append(None)
            else:
                function, getters = self.vjps[i]
                results.append(function(grads, *[fetch(node, kind, where, graph) for kind, where in getters]))
        return results


class ViewOp(Op):
    """An op whose results alias its only input. It computes nothing: nothing is promoted, nothing can overflow."""

    def __call__(self, x, **settings):
        if not isinstance(x, Tensor):
            return self.forward(engine_of(x), x, **settings)
        a = x._a
        try:
            r = self.forward(NUMPY if type(a) is _ndarray else engine_of(a), a, **settings)
        except Exception as error:
            raise translated(self, error, (a,), settings) from error
        return self.made(x, a, r, settings)

    def made(self, x, a, r, settings):
        """The tensors over `r`, what the forward made of `a`, the array of x."""
        if x._view is not None:
            refresh(x)
        if type(r) is tuple:
            return self.wrap_many((x,), (a,), r, settings, x._rg)
        t = self.aliased(x, r, settings, None)
        if x._rg and modes.grad:
            self.record_one(x, a, r, t, settings)
        return t

    def wrap_many(self, inputs, arrays, result, settings, recording):
        x = inputs[0]
        if type(result) is tuple:
            out = tuple([self.aliased(x, r, settings, nr) for nr, r in enumerate(result)])
        else:
            out = self.aliased(x, result, settings, None)
        if recording and modes.grad:
            self.record(inputs, arrays, result, out, settings)
        return out

    def aliased(self, x, array, settings, nr):
        """A tensor over `array` that is a view of x: output `nr` of several, or the only one."""
        storage, grad = x._storage, modes.grad
        if storage is None:
            storage = storage_of(x)
        view = _new(View)
        view.step = (self, settings, nr)
        view.version = storage.version
        view.origin = None if grad and nr is None else "multi" if grad else "no_grad" if grad is False else "inference"
        view.parent = above = x._view
        if above is None:
            view.base = x
        else:
            view.base = above.base
            if view.origin is None:
                view.origin = above.origin
        t = _new(Tensor)
        t._a = array
        t._storage = storage
        t._view = view
        t._grad = t._hooks = t._node = None
        t._nr = 0
        t._rg = False
        return t


def parameters_of(function):
    """(positional names, name behind ``*`` or None, keyword-only names). inspect would take most of the import's time."""
    code = function.__code__
    names, n, m = code.co_varnames, code.co_argcount, code.co_kwonlyargcount
    return list(names[:n]), names[n + m] if code.co_flags & inspect.CO_VARARGS else None, list(names[n:n + m])


class Plan:
    """What to save for a call of an op, given which inputs need gradients, and its vjps compiled into one function."""

    def __init__(self, op, wanted):
        calls = [op.joint] if op.joint is not None else [op.vjps.get(i) if w else None for i, w in enumerate(wanted)]
        getters = [g for call in calls if call is not None for g in call[1]]
        kinds = {kind for kind, _ in getters}
        positions = {i for kind, i in getters if kind == "input"}
        positions.update(j for kind, i in getters if kind == "inputs" for j in range(i, len(wanted)))
        self.keep = tuple(i in positions for i in range(len(wanted)))
        self.keeps = any(self.keep)
        self.keep_parts = frozenset(i for kind, i in getters if kind == "part")
        self.keep_out = "out" in kinds or bool(self.keep_parts)
        self.shapes = bool(kinds & {"shape", "shapes"})
        self.saves = self.keeps or self.keep_out or self.shapes
        self.only_inputs = self.keeps and not self.keep_out and not self.shapes
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

    def save_pair(self, node, x, y, a, b):
        """``save`` for a binary op that keeps inputs only."""
        keep_x, keep_y = self.keep
        if not keep_x:
            node.inputs = (None, b)
            node.guards = (tape.guard(y),) if isinstance(y, Tensor) else ()
        elif not keep_y:
            node.inputs = (a, None)
            node.guards = (tape.guard(x),)
        else:
            node.inputs = (a, b)
            node.guards = (tape.guard(x), tape.guard(y)) if isinstance(y, Tensor) else (tape.guard(x),)

    def save(self, node, inputs, arrays, result, out):
        """Keeps on the node what its vjps will ask for."""
        guards = ()
        if self.keeps:
            node.inputs = tuple([a if keep else None for a, keep in zip(arrays, self.keep, strict=True)])
            guards = tuple([
                tape.guard(x) for x, a, keep in zip(inputs, arrays, self.keep, strict=True)
                if keep and isinstance(x, Tensor) and a is x._a
            ])
        if self.keep_parts:
            node.out = tuple([r if nr in self.keep_parts else None for nr, r in enumerate(result)])
            guards += tuple([tape.guard(out[nr]) for nr in self.keep_parts])
        elif self.keep_out:
            node.out = result
            guards += (tape.guard(out),) if type(out) is not tuple else tuple(map(tape.guard, out))
        node.guards = guards
        if self.shapes:
            node.shapes = tuple([getattr(a, "shape", ()) for a in arrays])
        if modes.watched and modes.saved_hooks:
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


def finished(k, r, back_to):
    """A result as an array, back in half precision if that is where it came from."""
    if type(r) is not _ndarray:
        r = k.as_array(r)
    if back_to is not None and r.dtype.num >= 11 and r.dtype != back_to and r.dtype.kind == "f":
        r = r.astype(back_to)
    return r


# ---- promotion


def result_dtype(operands):
    """The flambeau dtype of an expression over tensors and Python numbers."""
    dims = zeros = scalars = None
    for x in operands:
        if x is None:
            continue
        if isinstance(x, Tensor):
            d = _dtypes.from_np(x._a.dtype)
            if x._a.ndim:
                dims = d if dims is None else _dtypes.promote_types(dims, d)
            else:
                zeros = d if zeros is None else _dtypes.promote_types(zeros, d)
        else:
            d = _dtypes.from_np(x.dtype) if hasattr(x, "dtype") else _dtypes.scalar_dtype(x)
            scalars = d if scalars is None else _dtypes.promote_types(scalars, d)
    return _dtypes.combine(dims, _dtypes.combine(zeros, scalars))


def promoted(inputs, arrays, how):
    """The operands cast to their common dtype; with ``how="float"`` at least to the default floating dtype."""
    first = arrays[0]
    if hasattr(first, "dtype"):
        same = all(a.dtype is first.dtype if hasattr(a, "dtype") else a is None for a in arrays)
        if same and (how == "common" or first.dtype.num >= 11):
            return arrays
    target = result_dtype(inputs)
    if how == "float" and target.category < _dtypes.FLOAT:
        target = _dtypes.get_default_dtype()
    np_dtype = target.np
    out = []
    for a in arrays:
        if a is None:
            out.append(None)
        elif hasattr(a, "dtype"):
            out.append(a if a.dtype == np_dtype else a.astype(np_dtype))
        elif type(a) in _SCALARS and target.category == _dtypes.FLOAT:
            out.append(a)
        else:
            out.append(np.asarray(a).astype(np_dtype))
    return out


def in_opmath(arrays):
    """Half-precision operands in float32, and the dtype to return to (None when there is nothing to do)."""
    for a in arrays:
        dtype = getattr(a, "dtype", None)
        if dtype is not None and dtype.num > 22 and dtype in _dtypes.HALF:
            wide = [x.astype(np.float32) if getattr(x, "dtype", None) in _dtypes.HALF else x for x in arrays]
            return wide, dtype
    return arrays, None


# ---- the decorator


def op(forward=None, /, *, name=None, node=None, scalar_node=None, promote=None, opmath=None, view=False, refuses=""):
    """Declares an op. See the head of this file.

    Args:
        name: the op's name, when it is not the function's.
        node: the name of its graph nodes, when it is not ``<Name>Backward0``.
        scalar_node: their name where an operand is a Python number, when PyTorch has another one for it.
        promote: "common" casts all inputs to their common dtype, "float" at least to a floating one, None does not.
        opmath: compute half-precision inputs in float32; follows ``promote`` when not given. With "first" only the
            first of several results goes back to half precision.
        view: the result aliases the input, the only one.
        refuses: kinds of dtype (after promotion) that PyTorch does not implement: "b" bool, "i" integers, "f", "c".
    """
    if forward is None:
        return lambda f: op(f, name=name, node=node, scalar_node=scalar_node, promote=promote, opmath=opmath, view=view,
                            refuses=refuses)
    name = name or forward.__name__.rstrip("_")
    node = node or "".join(part.capitalize() for part in name.split("_")) + "Backward0"
    opmath = promote is not None if opmath is None else opmath
    spec = OPS[name] = (ViewOp if view else Op)(forward, name, node, promote, opmath, refuses, scalar_node)
    if promote is not None and not spec.settings and spec.variadic is None and len(spec.inputs) in (1, 2):
        return _pointwise(spec, None)
    return spec


def kernel_op(name, kernel=None, /, *, inputs, promote, node=None, scalar_node=None, refuses=""):
    """Declares a pointwise op whose forward is one kernel of the engine."""
    kernel = kernel or name
    forward = eval(f"lambda k, {inputs}: k.{kernel}({inputs})")
    node = node or "".join(part.capitalize() for part in name.split("_")) + "Backward0"
    spec = OPS[name] = Op(forward, name, node, promote, True, refuses, scalar_node)
    return _pointwise(spec, kernel)


def _pointwise(spec, kernel):
    """The fast function of a pointwise op, with the declaring methods on it."""
    call = (_unary if len(spec.inputs) == 1 else _binary)(spec, kernel)
    call.spec = spec
    call.kernel = kernel
    call.vjp = spec.vjp
    call.joint_vjp = spec.joint_vjp
    call.__name__ = call.__qualname__ = spec.name
    call.__doc__ = spec.__doc__
    return call


def _bound(spec, kernel):
    """The forward with the NumPy engine in place."""
    if kernel is not None:
        return getattr(NUMPY, kernel)
    forward = spec.forward
    return lambda *arrays: forward(NUMPY, *arrays)


def _unary(spec, kernel):
    """The call of a pointwise op of one input. In line: the common case, a NumPy array that needs no promotion."""
    forward, general, record_one = spec.forward, spec.__call__, spec.record_one
    lowest, highest = spec.lowest, min(spec.highest, 22)
    run = None

    def call(x):
        nonlocal run
        if not isinstance(x, Tensor):
            return forward(engine_of(x), x)
        a = x._a
        grad = modes.grad
        if type(a) is not _ndarray or not lowest <= a.dtype.num <= highest or grad is None:
            return general(x)
        if x._view is not None:
            refresh(x)
        if run is None:
            run = _bound(spec, kernel)
        token = set_errors(SILENT)
        try:
            r = run(a)
        except Exception as error:
            raise translated(spec, error, (a,), {}) from error
        finally:
            reset_errors(token)
        if type(r) is not _ndarray:
            r = np.asarray(r)
        t = _new(Tensor)
        t._a = r
        t._storage = t._view = t._grad = t._hooks = t._node = None
        t._nr = 0
        t._rg = False
        if x._rg and grad:
            record_one(x, a, r, t, None)
        return t

    return call


def _binary(spec, kernel):
    """The call of a pointwise op of two inputs. In line: NumPy arrays of one dtype, or an array and a number."""
    general, plans = spec.__call__, {}
    Node, ScalarNode = spec.Node, spec.ScalarNode
    lowest, highest = spec.lowest, min(spec.highest, 22)
    integers = lowest < 11
    run = None

    def call(x, y):
        nonlocal run
        try:
            a = x._a
            if type(y) is float or type(y) is int:
                if not 11 <= a.dtype.num <= 13 and not (integers and type(y) is int and a.dtype is _int64):
                    return general(x, y)
                b, y_rg = y, False
            else:
                b = y._a
                dtype = a.dtype
                if dtype is not b.dtype or type(b) is not _ndarray or not lowest <= dtype.num <= highest:
                    return general(x, y)
                if y._view is not None:
                    refresh(y)
                y_rg = y._rg
        except AttributeError:
            return general(x, y)
        grad = modes.grad
        if grad is None or type(a) is not _ndarray:
            return general(x, y)
        if x._view is not None:
            refresh(x)
        if run is None:
            run = _bound(spec, kernel)
        token = set_errors(SILENT)
        try:
            r = run(a, b)
        except Exception as error:
            raise translated(spec, error, (a, b), {}) from error
        finally:
            reset_errors(token)
        if type(r) is not _ndarray:
            r = np.asarray(r)
        t = _new(Tensor)
        t._a = r
        t._storage = t._view = t._grad = t._hooks = t._node = None
        t._nr = 0
        t._rg = False
        x_rg = x._rg
        if grad and (x_rg or y_rg) and r.dtype.num >= 11:
            plan = plans.get((x_rg, y_rg))
            if plan is None:
                plan = plans[x_rg, y_rg] = spec.plan((x_rg, y_rg))
            if plan.backward is None:
                return t
            node = _new(ScalarNode if b is y else Node)
            node.next = (
                None if not x_rg else (x, LEAF) if x._node is None else (x._node, x._nr),
                None if not y_rg else (y, LEAF) if y._node is None else (y._node, y._nr),
            )
            node.seq = tape.next_sequence()
            node.shape = r.shape
            node.dtype = r.dtype
            node.backward = plan.backward
            if plan.saves:
                if plan.only_inputs and not modes.watched:
                    plan.save_pair(node, x, y, a, b)
                else:
                    plan.save(node, (x, y), (a, b), r, t)
                    if modes.anomaly:
                        node.trace = tape.here()
            elif modes.watched and modes.anomaly:
                node.trace = tape.here()
            t._node = node
            t._rg = True
        return t

    return call


__all__ = ["OPS", "Op", "kernel_op", "op", "promoted", "result_dtype"]
