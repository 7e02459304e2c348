"""Tracing: what a function touches outside of itself becomes an input of a program, what it changes an output.

While a trace runs, the slots of Tensor that hold its elements and its gradient are watched. The first read of a tensor
from outside lifts it: from there on it holds a placeholder of the program, until the trace ends and everything is put
back. Nobody lists the state of a model, and nothing of it is taken for a constant.

Tensors that are made inside of a trace hold traced arrays, or NumPy arrays where nothing they come from was traced.
Those are constants of the program, and may decide what it does. They are read-only: a write makes traced arrays of
them.
"""

from __future__ import annotations

import contextlib
import threading
import weakref

import jax
import numpy as np
from jax.extend.core import Primitive

from .._cells import Cell
from .._modes import ever, modes
from .._tensor import Storage, Tensor, refresh, replay
from ._watch import Watch

ESCAPED = (
    "this tensor was made while {name} was traced to be compiled, and was kept outside of it without being returned: "
    "it has no elements. Return it from the compiled function, or keep it as an attribute of a module."
)
SHARED_WRITE = (
    "{name} cannot be compiled: it writes to a tensor {written} whose memory it also reaches as another tensor "
    "{other}. Take both from one tensor inside of the function (as views of it), or clone() one of them."
)
GIVEN_HISTORY = (
    "{name} cannot be compiled: an in-place operation in it puts a tensor from outside, {tensor}, into the graph. "
    "Write to a clone() of it, or under no_grad()."
)
CHANGED_FLAG = "{name} cannot be compiled: it changes requires_grad of a tensor from outside, {tensor}."
DRAWN_BY_VALUE = (
    "{name} cannot be compiled: {kernel} draws numbers that depend on the elements of a tensor, which are not known "
    "while it is traced. Draw rand() or randn() and say it with tensors, or draw outside of what is compiled."
)
UNUSED_DRAW = "{name} cannot be compiled: numbers that {kernel} drew were not used as a tensor."

given = Primitive("given")  # an input of the program: `index` says which
given.def_abstract_eval(lambda *, index, shape, dtype: jax.core.ShapedArray(shape, dtype))

_one_at_a_time = threading.Lock()
_slot_a, _slot_grad = Tensor.__dict__["_a"], Tensor.__dict__["_grad"]


class Lifted:
    """A tensor from outside: what it holds inside of the trace, and how it was before."""

    def __init__(self, t, array, index, traced):
        self.tensor = t
        self.array = array
        self.index = index  # of its place among the inputs
        self.traced = self.now = traced
        self.storage = t._storage
        self.place = (t._node, t._nr, t._rg, t._view, t._hooks)
        self.memory = (self.storage.cell, self.storage.array, self.storage.version)

    @property
    def written(self):
        return self.now is not self.traced

    def restore(self):
        t = self.tensor
        t._node, t._nr, t._rg, t._view, t._hooks = self.place
        t._storage = self.storage
        self.storage.cell, self.storage.array, self.storage.version = self.memory

    def __str__(self):
        return f"{self.array.dtype.name}{list(self.array.shape)}"


class Drawn:
    """Random numbers that the program is given: drawn anew before every run, in the order of the trace."""

    def __init__(self, kernel, generator, args, kwargs, result):
        self.kernel = kernel
        self.generator = generator
        self.args = args
        self.kwargs = kwargs
        self.fills = bool(args) and args[0] is result  # whether the kernel fills an array that it is given
        self.array = result
        self.used = False

    def draw(self):
        args = (np.empty_like(self.array), *self.args[1:]) if self.fills else self.args
        return self.kernel(self.generator, *args, **self.kwargs)


class Trace:
    """One run of a function with placeholders for what comes from outside.

    Args:
        name: of the function, for messages.
        arguments: the tensors among its arguments.
    """

    def __init__(self, name, arguments):
        self.name = name
        self.thread = threading.get_ident()
        self.inputs = []  # by index: Lifted, Drawn, or the shape and dtype of an output's gradient
        self.lifted = {}  # id -> Lifted
        self.inside = {}  # id -> weak reference to a tensor that was made inside
        self.drawn = {}  # id of an array -> (Drawn, its placeholder)
        self.grads = {}  # id -> [tensor from outside, its gradient before, and now]
        self.required = []  # (what must hold, the value that is wrong if it does not, the error made of it)
        self.watch = Watch(arguments)
        self.paused = False

    @contextlib.contextmanager
    def running(self):
        """The trace is on: slots are watched. Afterwards all is as it was."""
        with _one_at_a_time:
            modes.trace, ever.traced = self, True
            Tensor._a, Tensor._grad = WatchedArray(self), WatchedGrad(self)
            try:
                with self.watch.running():
                    yield
            finally:
                Tensor._a, Tensor._grad = _slot_a, _slot_grad
                modes.trace = None
                self.restore()

    def restore(self):
        for lifted in reversed(self.lifted.values()):
            lifted.restore()
        escaped = Escaped(self.name)
        for reference in list(self.inside.values()):
            t = reference()
            if t is not None and not isinstance(t._a, np.ndarray):
                t._a = escaped

    @contextlib.contextmanager
    def pause(self):
        """Things are seen as they are outside."""
        before, self.paused = self.paused, True
        try:
            yield
        finally:
            self.paused = before

    def on(self):
        return not self.paused and threading.get_ident() == self.thread

    # ---- inputs

    def placeholder(self, what, shape, dtype):
        """A new input of the program."""
        self.inputs.append(what)
        return given.bind(index=len(self.inputs) - 1, shape=tuple(shape), dtype=np.dtype(dtype))

    def lift(self, t, array):
        """Makes a tensor from outside an input."""
        with self.pause():
            if t._storage is None:
                t._storage = Storage(array)
            if t._view is not None:
                refresh(t)
        traced = self.placeholder(None, array.shape, array.dtype)
        lifted = self.lifted[id(t)] = self.inputs[-1] = Lifted(t, array, len(self.inputs) - 1, traced)
        if t._node is not None:
            t._hooks = None  # they stay on the node, outside
        t._node, t._nr, t._view = None, 0, None
        if not array.flags.c_contiguous:
            t._storage.cell = Cell(t, like=array)
        elif t._storage.cell is not None:
            t._storage.cell = None
        return lifted.traced

    def draw(self, kernel, generator, args, kwargs):
        """What a kernel draws, for a constant array that stands for the numbers of every run."""
        if any(isinstance(v, jax.core.Tracer) for v in args):
            raise RuntimeError(DRAWN_BY_VALUE.format(name=self.name, kernel=kernel.__name__))
        given_array = args[0] if args and isinstance(args[0], np.ndarray) else None
        filled = args if given_array is None else (np.empty_like(given_array), *args[1:])
        mark = generator._get_state_bytes()
        modes.trace = None
        try:
            result = kernel(generator, *filled, **kwargs)
        finally:
            modes.trace = self
            generator._set_state_bytes(mark)
        if given_array is not None and result is filled[0]:
            result = given_array
        drawn = Drawn(kernel, generator, args, kwargs, result)
        self.drawn[id(result)] = (drawn, self.placeholder(drawn, result.shape, result.dtype))
        return result

    def require(self, holds, wrong, error):
        """The program raises ``error(wrong)`` unless it finds `holds` to be true."""
        self.required.append((holds, wrong, error))

    # ---- tensors made inside

    def born(self, t):
        key, inside = id(t), self.inside
        inside[key] = weakref.ref(t, lambda _: inside.pop(key, None))

    def constant(self, t, array):
        """What a tensor made inside reads as: an array that is drawn, or the constant itself."""
        found = self.drawn.get(id(array))
        if found is None:
            return array
        drawn, traced = found
        drawn.used = True
        _slot_a.__set__(t, traced)
        return traced

    def adopt(self, t):
        """Makes traced arrays of a constant, and of all that shares its memory, so that it can be written to."""
        base = t if t._view is None else t._view.base
        array = base._a
        if type(array) is not np.ndarray or id(base) not in self.inside:
            return
        storage = base._storage
        family = [base] if storage is None else [
            member for member in (reference() for reference in list(self.inside.values()))
            if member is not None and member._storage is storage
        ]
        _slot_a.__set__(base, jax.numpy.asarray(array))
        if len(family) == 1:
            return
        cell = storage.cell = Cell(base)
        for member in family:
            if member is not base:
                chain = () if member._view is None else member._view.chain
                _slot_a.__set__(member, replay(cell.whole, chain))
                cell.show(member, chain)

    # ---- the end

    def check(self):
        """Raises where what the function did to the outside cannot be done by a program."""
        roots = list(self.lifted.values())
        for lifted in roots:
            t = lifted.tensor
            if t._node is not None:
                raise RuntimeError(GIVEN_HISTORY.format(name=self.name, tensor=lifted))
            if t._rg is not lifted.place[2]:
                raise RuntimeError(CHANGED_FLAG.format(name=self.name, tensor=lifted))
            if lifted.written:
                for other in roots:
                    if other is not lifted and np.may_share_memory(lifted.array, other.array):
                        raise RuntimeError(SHARED_WRITE.format(name=self.name, written=lifted, other=other))

    def check_draws(self):
        """Raises if numbers were drawn and used in a way that cannot be traced."""
        for drawn, _ in self.drawn.values():
            if not drawn.used:
                raise RuntimeError(UNUSED_DRAW.format(name=self.name, kernel=drawn.kernel.__name__))


class WatchedArray:
    """Stands in for the slot ``Tensor._a`` while a trace runs."""

    def __init__(self, trace):
        self.trace = trace

    def __get__(self, t, owner=None):
        if t is None:
            return self
        array, trace = _slot_a.__get__(t), self.trace
        if not isinstance(array, np.ndarray) or not trace.on():
            return array
        key = id(t)
        lifted = trace.lifted.get(key)
        if lifted is not None:
            return lifted.now
        if key in trace.inside:
            return trace.constant(t, array)
        return trace.lift(t, array) if type(array) is np.ndarray else array

    def __set__(self, t, array):
        trace, key = self.trace, id(t)
        if trace.on():
            if key not in trace.inside and key not in trace.lifted:
                if holds(_slot_a, t):
                    self.__get__(t)  # from outside: lifted before it changes
                else:
                    trace.born(t)
            if type(array) is np.ndarray and array.flags.writeable and id(array) not in trace.drawn:
                array = array.view()
                array.flags.writeable = False
            if key in trace.lifted:
                trace.lifted[key].now = array
                return
        _slot_a.__set__(t, array)


class WatchedGrad:
    """Stands in for the slot ``Tensor._grad`` while a trace runs."""

    def __init__(self, trace):
        self.trace = trace

    def __get__(self, t, owner=None):
        if t is None:
            return self
        return self.note(t)[2] if self.is_outside(t) else _slot_grad.__get__(t)

    def __set__(self, t, grad):
        if self.is_outside(t):
            self.note(t)[2] = grad
        else:
            _slot_grad.__set__(t, grad)

    def is_outside(self, t):
        return self.trace.on() and id(t) not in self.trace.inside and holds(_slot_a, t)

    def note(self, t):
        noted = self.trace.grads.get(id(t))
        if noted is None:
            grad = _slot_grad.__get__(t)
            noted = self.trace.grads[id(t)] = [t, grad, grad]
            if grad is not None:
                self.trace.watch.paths.setdefault(id(grad), t)  # found at t
        return noted


class Escaped:
    """What a tensor holds that outlived the trace it was made in."""

    def __init__(self, name):
        self.__dict__["name"] = name

    def __getattr__(self, attribute):
        raise RuntimeError(ESCAPED.format(name=self.__dict__["name"]))


def holds(slot, t):
    """Whether a slot was ever filled."""
    try:
        slot.__get__(t)
    except AttributeError:
        return False
    return True
