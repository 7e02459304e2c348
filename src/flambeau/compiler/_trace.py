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

from .. import _dtypes
from .._cells import Cell, in_memory
from .._modes import ever, modes
from .._tensor import Storage, Tensor, refresh, replay, storage_of, wrap
from ._lifted import SLOTS, Drawn, Lifted, described, hooks_of, lies_in_rows, overlap, program_input, shows, slot_a
from ._patches import noting, was_caught_by_user
from ._slots import WATCHED, Escaped
from ._watch import Watch

SHARED_WRITE = (
    "{name} cannot be compiled: it writes to a tensor {written} whose memory it also reaches as another tensor "
    "{other}. Take both from one tensor inside of the function (as views of it), or clone() one of them."
)
GIVEN_HISTORY = (
    "{name} cannot be compiled: an in-place operation in it puts a tensor from outside, {tensor}, into the graph. "
    "Write to a clone() of it, or under no_grad()."
)
CHANGED_FLAG = (
    "{name} cannot be compiled: it changes requires_grad of a tensor from outside, {tensor}. Change it before or after "
    "calling the function."
)
CHANGED_HOOKS = (
    "{name} cannot be compiled: it adds or removes hooks of a tensor from outside, {tensor}, or has it retain its "
    "gradient. Do it before or after calling the function."
)
CHANGED_MEMORY = (
    "{name} cannot be compiled: it gives a tensor from outside, {tensor}, another shape, dtype or memory. Write to it "
    "with copy_(), or make a new tensor."
)
CHANGED_MODE = (
    "{name} cannot be compiled: it leaves behind another {mode} than it found. Set it before calling the function, or "
    "for a while only, with a context manager."
)
CHANGED_ATTRIBUTES = (
    "{name} cannot be compiled: it sets an attribute on a tensor from outside, {tensor}. Keep that in a module, or in "
    "another object."
)
DRAWN_BY_VALUE = (
    "{name} cannot be compiled: {kernel} draws numbers that depend on the elements of a tensor, which are not known "
    "while it is traced. Draw rand() or randn() and say it with tensors, or draw outside of what is compiled."
)
UNUSED_DRAW = "{name} cannot be compiled: numbers that {kernel} drew were not used as a tensor."

TRACED_ERRORS = (jax.errors.ConcretizationTypeError, jax.errors.TracerArrayConversionError,
                 jax.errors.TracerBoolConversionError, jax.errors.TracerIntegerConversionError,
                 jax.errors.NonConcreteBooleanIndexError)

_one_at_a_time = threading.Lock()
MODES = ("mode of recording (no_grad, enable_grad)", "default dtype")


class Trace:
    """One run of a function with placeholders for what comes from outside.

    Args:
        name: of the function, for messages.
        arguments: the tensors among its arguments.
        call: all its arguments.
    """

    def __init__(self, name, arguments, call):
        self.name = name
        self.thread = threading.get_ident()
        self.inputs = []  # by index: Lifted, Drawn, or the shape and dtype of an output's gradient
        self.lifted = {}  # id -> Lifted
        self.inside = {}  # id -> weak reference to a tensor that was made inside
        self.drawn = {}  # id of an array -> (Drawn, its placeholder)
        self.grads = {}  # id -> [tensor from outside, its gradient before, and now]
        self.required = []  # (what must hold, the value that is wrong if it does not, the error made of it)
        self.watch = Watch(arguments, call)
        self.differentiates = False  # whether the function itself runs a backward
        self.hooks = {}  # id of a tensor from outside -> HooksBefore
        self.suspects = []  # errors of jax
        self.refused = None  # the error that a need for elements has raised
        self.modes = modes_now()
        self.paused = False

    @contextlib.contextmanager
    def running(self):
        """The trace is on: slots are watched. Afterwards all is as it was."""
        with _one_at_a_time:
            modes.trace, ever.traced = self, True
            for name, watched in WATCHED.items():
                setattr(Tensor, name, watched(self))
            try:
                with self.watch.running(), noting(TRACED_ERRORS, self.suspects):
                    yield
            finally:
                for name, slot in SLOTS.items():
                    setattr(Tensor, name, slot)
                modes.trace = None
                self.restore()

    def restore(self):
        modes.grad, dtype = self.modes
        if dtype is not _dtypes.get_default_dtype():
            _dtypes.set_default_dtype(dtype)
        for lifted in reversed(self.lifted.values()):
            lifted.restore()
        for hooks in self.hooks.values():
            hooks.restore()
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
        return program_input.bind(index=len(self.inputs) - 1, shape=tuple(shape), dtype=np.dtype(dtype))

    def lift(self, t, array):
        """Makes a tensor from outside an input."""
        with self.pause():
            if t._storage is None:
                t._storage = Storage(array)
            if t._view is not None:
                refresh(t)
        traced = self.placeholder(None, array.shape, array.dtype)
        lifted = self.lifted[id(t)] = self.inputs[-1] = Lifted(t, array, len(self.inputs) - 1, traced)
        lifted.enter(self.name)
        return lifted.traced

    def draw(self, kernel, generator, args, kwargs):
        """What a kernel draws, for a constant array that stands for the numbers of every run."""
        if any(isinstance(v, jax.core.Tracer) for v in args):
            raise RuntimeError(DRAWN_BY_VALUE.format(name=self.name, kernel=kernel.__name__))
        given_array = args[0] if args and isinstance(args[0], np.ndarray) else None
        filled = args if given_array is None else (np.empty_like(given_array), *args[1:])
        modes.trace = None
        try:
            mark = generator._get_state_bytes()
            result = kernel(generator, *filled, **kwargs)
            generator._set_state_bytes(mark)
        finally:
            modes.trace = self
        if given_array is not None and result is filled[0]:
            result = given_array
        drawn = Drawn(kernel, generator, args, kwargs, result)
        self.drawn[id(result)] = (drawn, self.placeholder(drawn, result.shape, result.dtype))
        return result

    def require(self, holds, wrong, error):
        """The program raises ``error(wrong)`` unless it finds `holds` to be true."""
        self.required.append((holds, wrong, error))

    def refuse(self, error):
        """Notes an error that must not be caught: what comes after it is not what the function does."""
        self.refused = error
        return error

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
        slot_a.__set__(t, traced)
        self.lies_like(t, array)
        return traced

    def lay_out(self, spec, inputs, settings, out):
        """Notes how the result of an op would lie in NumPy's memory, where its operands do not lie in rows."""
        memory = [in_memory(x) if isinstance(x, Tensor) else x for x in inputs]
        if all(lies_in_rows(m) for m in memory):
            return
        with self.pause(), contextlib.suppress(Exception):  # that are about elements, which are no real ones here
            tensors = [wrap(np.zeros_like(m)) if isinstance(m, np.ndarray) else m for m in memory]
            arrays = [x._a if isinstance(x, Tensor) else x for x in tensors]
            result, _ = spec.compute(tensors, arrays, settings)
            results, outs = (result, out) if type(out) is tuple else ((result,), (out,))
            for t, array in zip(outs, results, strict=True):
                self.lies_like(t, array)

    def lies_like(self, t, array):
        """A tensor that was made inside lies, as it were, like an array."""
        if not lies_in_rows(array) and type(slot_a.__get__(t)) is not np.ndarray:
            storage_of(t).cell = Cell(t, like=array)

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
        slot_a.__set__(base, jax.numpy.asarray(array))
        if len(family) == 1:
            return
        cell = storage.cell = Cell(base)
        for member in family:
            if member is not base:
                chain = () if member._view is None else member._view.chain
                slot_a.__set__(member, replay(cell.whole, chain))
                cell.show(member, chain)

    # ---- the end

    def check(self):
        """Raises where what the function did to the outside cannot be done by a program."""
        for error in (*self.suspects, self.refused):
            if error is not None and (error is self.refused or was_caught_by_user(error)):
                raise error
        for mode, before, now in zip(MODES, self.modes, modes_now(), strict=True):
            if now is not before:
                raise RuntimeError(CHANGED_MODE.format(name=self.name, mode=mode))
        roots = list(self.lifted.values())
        for lifted in roots:
            self.check_lifted(lifted)
        shared = overlap([(lifted.written and not lifted.rebound, lifted.array) for lifted in roots])
        if shared is not None:
            raise RuntimeError(SHARED_WRITE.format(name=self.name, written=roots[shared[0]], other=roots[shared[1]]))
        for before in self.hooks.values():
            if hooks_of(before.tensor) != before.state:
                raise RuntimeError(CHANGED_HOOKS.format(name=self.name, tensor=described(before.tensor._a)))
        for t in self.watch.tensors_with_other_attributes():
            if id(t) not in self.inside:
                raise RuntimeError(CHANGED_ATTRIBUTES.format(name=self.name, tensor=described(t._a)))
        for t, flag, _ in self.watch.tensors.values():
            if t._rg is not flag and id(t) not in self.inside:
                raise RuntimeError(CHANGED_FLAG.format(name=self.name, tensor=described(t._a)))

    def check_lifted(self, lifted):
        t, cell, now = lifted.tensor, lifted.storage.cell, lifted.now
        if t._node is not lifted.node:
            raise RuntimeError(GIVEN_HISTORY.format(name=self.name, tensor=lifted))
        if t._rg is not lifted.place[2]:
            raise RuntimeError(CHANGED_FLAG.format(name=self.name, tensor=lifted))
        shape, dtype = lifted.array.shape, lifted.array.dtype
        if t._storage is not lifted.storage:
            if any(other.tensor is not t and shows(t._storage.cell, other.tensor) for other in self.lifted.values()):
                raise RuntimeError(CHANGED_MEMORY.format(name=self.name, tensor=lifted))
            lifted.rebound = True
            return
        if (now.shape != shape or now.dtype != dtype
                or (cell is not None and cell.chain(t))):
            raise RuntimeError(CHANGED_MEMORY.format(name=self.name, tensor=lifted))

    def check_draws(self):
        """Raises if numbers were drawn and used in a way that cannot be traced."""
        for drawn, _ in self.drawn.values():
            if not drawn.used:
                raise RuntimeError(UNUSED_DRAW.format(name=self.name, kernel=drawn.kernel.__name__))


def modes_now():
    return modes.grad, _dtypes.get_default_dtype()
