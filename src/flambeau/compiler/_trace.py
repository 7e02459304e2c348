"""Tracing: what a function reads from outside becomes an input of a program, what it changes an output.

During tracing, the slots of Tensor with its elements and gradient are watched. The first read of a tensor from outside
*lifts* it: it holds a placeholder of the program until the trace ends and everything is restored. No list of the
model's state is needed, and no state is treated as constant.

Tensors created during tracing hold traced arrays, or NumPy arrays if they do not depend on anything traced. The latter
are constants, whose elements may be read. They are read-only: a write converts them to traced arrays.
"""

import contextlib
import threading
import weakref

import jax
import numpy as np

from .. import _dtypes
from .._device import CPU, current_index, get_default_device, set_current_index, set_default_device, strided
from .._interrupts import defer_interrupts
from .._modes import NO_TRACER, Tracer, in_use, modes
from .._storage import DeviceStorage, Storage
from .._tensor import Tensor, refresh, storage_of, wrap
from ..engines import NUMPY, engine_of, is_traced
from ..engines._views import ViewArray, replay, value_of
from ..ops.shape import as_strided, view
from ._compiled import NotYet
from ._floats import Floats, TracedFloat, constants
from ._inputs import overlap
from ._lifted import SLOTS, XLA, Lifted, RandomDraw, chain_of, describe, hooks_of, is_uniform, program_input, slot_a
from ._patches import collecting_errors, was_caught_by_user
from ._records import FloatInput
from ._take_back import do_unless
from ._watch import Watch, without_profile
from ._watched_slots import WATCHED, EscapedArray, missing_attribute

TWO_DEVICES = (
    "{name} cannot be compiled: Expected all tensors to be on the same device, but found at least two devices, {first} "
    "and {other}. A program runs on one device: move all its tensors there first, or compile a function for each."
)
SHARED_WRITE = (
    "{name} cannot be compiled: it writes to a tensor {written} whose memory it also reaches as another tensor "
    "{other}. Take both from one tensor inside the function (as views of it), or clone() one of them."
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
BEGINS_LATER = (
    "{name} cannot be compiled: it addresses elements by their offset in memory (as_strided), in a tensor from "
    "outside, {tensor}, that is a part of another one. Leave storage_offset out, or pass the whole tensor."
)
CHANGED_MODE = (
    "{name} cannot be compiled: it changes the {mode}. Set it before calling the function, or temporarily with a "
    "context manager."
)
CHANGED_ATTRIBUTES = (
    "{name} cannot be compiled: it sets an attribute on a tensor from outside, {tensor}. Store the value in a module "
    "or another object."
)
DRAWN_BY_VALUE = (
    "{name} cannot be compiled: {kernel} draws numbers that depend on the elements of a tensor, which are not known "
    "while it is traced. Draw with rand() or randn() and compute with tensors, or draw outside the compiled function."
)
UNUSED_DRAW = "{name} cannot be compiled: numbers that {kernel} drew were not used as a tensor."

TRACED_ERRORS = (jax.errors.ConcretizationTypeError, jax.errors.TracerArrayConversionError,
                 jax.errors.TracerBoolConversionError, jax.errors.TracerIntegerConversionError,
                 jax.errors.NonConcreteBooleanIndexError)

ARITHMETIC_SETTINGS = ("add_scaled", "sub_scaled", "addcmul", "addcdiv")  # ops that only multiply by their setting

SHARED_WITH_NUMPY = (
    "it writes to a tensor that shares its memory with a NumPy array or another object. Write to that itself, or to a "
    "clone() of the tensor"
)
SPARSE = "it uses a sparse tensor, which programs do not support"

_one_at_a_time = threading.Lock()
MODES = ("grad mode (no_grad, enable_grad)", "default dtype", "default device", "current device")


class Trace(Tracer):
    """One run of a function with placeholders for values from outside.

    Args:
        name: the function's name in messages.
        arguments: the tensors among its arguments.
        call: all its arguments.
        takes_floats: whether floats from outside may become inputs.
    """

    active = True

    def __init__(self, name, arguments, call, takes_floats):
        self.name = name
        self.thread = threading.get_ident()
        self.inputs = []  # by index: Lifted, RandomDraw, or the shape and dtype of an output's gradient
        self.lifted = {}  # id -> Lifted
        self.inside = {}  # id -> weak reference to a tensor created during tracing
        self.draws = []  # in order: (result, its entry in draws_by_array)
        self.replay = None  # an iterator over some of them, during recomputation
        self.draws_by_array = {}  # id of an array -> (RandomDraw, its placeholder)
        self.grads = {}  # id -> [tensor from outside, its gradient before, its gradient now]
        self.requirements = []  # (condition, the value that violates it, its error)
        self.equal = {}  # number -> (its placeholder, the inputs that must equal it)
        self.from_start = []  # tensors whose elements are accessed by offset in memory
        self.lines = []  # (file, line) of each requirement
        self.device = CPU  # of the program
        self.floats = Floats(self.float_placeholder) if takes_floats else None
        self.watch = Watch(arguments, call, self.floats)
        self.differentiates = False  # whether the function runs a backward
        self.hooks = {}  # id of a tensor from outside -> HooksSnapshot
        self.suspects = []  # errors of jax
        self.refusal = None  # the error raised when elements were needed
        self.modes = modes_now()
        self.is_paused = False

    @contextlib.contextmanager
    def running(self):
        """A context in which the trace is active; everything is restored afterwards."""
        with _one_at_a_time:
            try:
                with defer_interrupts():
                    modes.tracer, in_use.traced = self, True
                    for name, watched in WATCHED.items():
                        setattr(Tensor, name, watched(self))
                    Tensor.__getattr__ = missing_attribute(self.watch)
                with self.watch.running(), collecting_errors(TRACED_ERRORS, self.suspects):
                    yield
            finally:
                with defer_interrupts():
                    self.stop()

    def stop(self):
        """Restores everything."""
        for name, slot in SLOTS.items():
            setattr(Tensor, name, slot)
        if "__getattr__" in Tensor.__dict__:
            del Tensor.__getattr__
        modes.tracer = NO_TRACER
        if self.floats is not None:
            self.floats.is_active = False
        self.restore()

    def release(self):
        """Drops references to tensors from outside and their arrays, so that the program can reuse memory."""
        for lifted in self.lifted.values():
            lifted.array = None
        self.grads.clear()
        self.watch.tensors.clear()
        self.watch.attributes.clear()

    def restore(self):
        modes.grad, dtype, device, index = self.modes
        set_current_index("cuda", index)
        if device is not get_default_device():
            set_default_device(device)
        if dtype is not _dtypes.get_default_dtype():
            _dtypes.set_default_dtype(dtype)
        for lifted in reversed(self.lifted.values()):
            lifted.restore()
        for hooks in self.hooks.values():
            hooks.restore()
        escaped = EscapedArray(self.name)
        for reference in list(self.inside.values()):
            t = reference()
            if t is not None and is_traced(t._a):
                t._a = escaped

    @contextlib.contextmanager
    def pause(self):
        """A context in which tensors read as they are outside."""
        before, self.is_paused = self.is_paused, True
        try:
            yield
        finally:
            self.is_paused = before

    def is_active_here(self):
        return not self.is_paused and threading.get_ident() == self.thread

    # ---- inputs

    def placeholder(self, what, shape, dtype, is_number=False):
        """A new input of the program; numbers are weakly typed."""
        self.inputs.append(what)
        return program_input.bind(index=len(self.inputs) - 1, shape=tuple(shape), dtype=np.dtype(dtype),
                                  weak_type=is_number)

    def float_placeholder(self, compute):
        return self.placeholder(FloatInput(compute), (), np.float64, is_number=True)

    def computation(self, function):
        return without_profile(function)

    def call_kernel(self, call, function, args, settings):
        return without_profile(self.call_shared)(call, function, args, settings)

    def call_shared(self, call, function, args, settings):
        """Runs a computation; on a device that records calls it becomes one equation."""
        if self.device is not CPU:
            found = XLA.call_shared(function, args, settings, self.device, self.require)
            if found is not NotImplemented:
                return found
        return call(function, args, settings)

    def settings_of(self, op, settings):
        """The settings of a call: floats from outside become constants, unless the op only multiplies by them."""
        if op.name in ARITHMETIC_SETTINGS:
            return settings
        return {name: float(value) if type(value) is TracedFloat else value for name, value in settings.items()}

    def lift(self, t, array, device):
        """Makes a tensor from outside an input."""
        if t.layout is not strided:
            self.watch.give_up(SPARSE)
        self.enter_device(device)
        with self.pause():
            if t._storage is None:
                t._storage = Storage(array)
            if t._view is not None:
                refresh(t)
        traced = self.placeholder(None, array.shape, array.dtype)
        lifted = self.lifted[id(t)] = self.inputs[-1] = Lifted(t, array, len(self.inputs) - 1, traced)
        lifted.enter(self.name)
        return lifted.tracer

    def enter_device(self, device):
        """Sets the device of the program: the only one of its tensors besides the CPU."""
        if self.device is CPU:
            self.device = device
        elif device is not CPU and device is not self.device:
            raise self.refuse(RuntimeError(TWO_DEVICES.format(name=self.name, first=self.device, other=device)))

    def draw(self, kernel, generator, args, kwargs):
        """The result of a random kernel: a constant array that represents the numbers of every run."""
        args = constants(args)
        if self.replay is not None:
            return self.draw_again(args)
        if any(isinstance(v, jax.core.Tracer) for v in args):
            raise self.refuse(RuntimeError(DRAWN_BY_VALUE.format(name=self.name, kernel=kernel.__name__)))
        target = args[0] if args and hasattr(args[0], "dtype") else None
        filled = args if target is None else (np.empty_like(target), *args[1:])
        result = self.rehearse(generator, lambda: kernel(generator, *filled, **kwargs))
        if target is not None and result is filled[0]:
            result = target
        drawn = RandomDraw(kernel, generator, args, kwargs, result)
        self.draws_by_array[id(result)] = (drawn, self.placeholder(drawn, result.shape, result.dtype))
        self.draws.append((result, self.draws_by_array[id(result)]))
        return result

    def draw_again(self, args):
        """The numbers drawn by this call before, in the memory that is to be filled now."""
        result, found = next(self.replay)
        if found[0].fills:
            result = args[0]
            self.draws_by_array[id(result)] = found
            self.draws.append((result, found))  # keeps the array, and so its id, alive
        return result

    def mark_draws(self):
        return len(self.draws)

    @contextlib.contextmanager
    def draws_again(self, mark):
        before, self.replay = self.replay, iter(self.draws[mark:])
        try:
            yield
        finally:
            self.replay = before

    def begin_recomputation(self, t):
        """A leaf like `t` that XLA cannot merge with it or compute before the gradients that need it."""
        grads = modes.running.grads if modes.running is not None else None
        grads = [g._a if isinstance(g, Tensor) else g for g in (grads if isinstance(grads, list) else [grads])]
        array, *_ = jax.lax.optimization_barrier([value_of(t._a), *[value_of(g) for g in grads if is_traced(g)]])
        return wrap(XLA.with_layout(array, t.stride()), t.device).requires_grad_(t.requires_grad)

    def common_number(self, t):
        """A number that represents the elements of all tensors on the CPU, from outside, with the same value."""
        _ = t._a  # lifts it
        lifted = self.lifted.get(id(t))
        if lifted is None or lifted.device is not CPU or lifted.current is not lifted.tracer or lifted.array.ndim:
            return None
        key = lifted.array.dtype, lifted.array.tobytes()
        if key not in self.equal:
            self.equal[key] = XLA.number(lifted.tracer), []
        number, members = self.equal[key]
        members.append(lifted.index)
        return number

    def rehearse(self, generator, draw):
        """The result of ``draw()``, with the state of the generator restored."""
        modes.tracer = NO_TRACER
        try:
            mark = generator._get_state_bytes()
            result = draw()
            generator._set_state_bytes(mark)
        finally:
            modes.tracer = self
        return result

    def draw_key(self, draw, generator):
        """The words that ``draw(generator)`` draws, as an input of the program: the key of its own random numbers."""
        if self.replay is not None:
            return next(self.replay)[0]
        words = self.rehearse(generator, lambda: draw(generator))
        found = self.placeholder(RandomDraw(draw, generator, (), {}, words), words.shape, words.dtype)
        self.draws.append((found, None))
        return found

    def on_device(self, array):
        """A constant, or the placeholder of drawn numbers, on the device."""
        found = self.draws_by_array.get(id(array))
        if found is None:
            if is_uniform(array):  # as an equation instead of a constant of its size
                return jax.numpy.full(array.shape, array.flat[0])
            return jax.numpy.asarray(array)
        drawn, traced = found
        drawn.is_used = True
        return traced

    def require(self, holds, wrong, error):
        """Makes the program raise ``error(wrong)`` unless `holds` is true."""
        self.requirements.append((holds, wrong, error))
        self.lines.append(XLA.users_line())

    def note_offset(self, t):
        memory = getattr(storage_of(t), "memory", None)
        for lifted in self.lifted.values():
            if lifted.storage.memory is memory:
                if lifted.outside_offset:
                    raise self.refuse(RuntimeError(BEGINS_LATER.format(name=self.name, tensor=lifted)))
                self.from_start.append(lifted)

    def refuse(self, error):
        """Notes an error that must not be caught: the trace would not follow what the function does next."""
        self.refusal = error
        return error

    def postpone(self, error):
        if self.watch.volatile is None:  # otherwise it may have had side effects
            error = self.watch.error = NotYet()
        return self.refuse(error)

    def do_unless(self, condition, function):
        """Runs a function, whose effects the program undoes if the condition holds."""
        return do_unless(self, condition, function)

    def is_refusal(self, error):
        """Whether an error says that the function cannot be compiled."""
        return error is self.refusal or isinstance(error, TRACED_ERRORS)

    def caught_refusal(self):
        """Such an error, if the function has caught one; otherwise None."""
        if self.refusal is not None:
            return self.refusal
        return next((error for error in self.suspects if was_caught_by_user(error)), None)

    # ---- tensors created inside

    def register_inside(self, t):
        key, inside = id(t), self.inside
        inside[key] = weakref.ref(t, lambda _: inside.pop(key, None))

    def constant(self, t, array):
        """The array of a tensor created during tracing: a placeholder of drawn numbers, or the constant itself."""
        found = self.draws_by_array.get(id(array))
        if found is None:
            return array
        drawn, traced = found
        drawn.is_used = True
        self.make_traced(t, traced, array)
        return slot_a.__get__(t)

    def make_traced(self, t, traced, array):
        """Gives a tensor a traced array with the layout of its previous one."""
        traced = XLA.with_layout(traced, NUMPY.strides_of(array))
        t._storage = DeviceStorage(traced, XLA, CPU)
        slot_a.__set__(t, traced)

    def prepare_write(self, t):
        """Before a write to a constant, converts it and all tensors that share its memory to traced arrays."""
        if engine_of(t._a) is not NUMPY:  # a tensor from outside was lifted
            return
        base = t if t._view is None else t._view.base
        if id(base) not in self.inside:
            return
        array = base._a
        before = base._storage
        if before is not None and before.shared_outside:
            self.watch.give_up(SHARED_WITH_NUMPY)
        family = [] if before is None else [
            (member, slot_a.__get__(member)) for member in (reference() for reference in list(self.inside.values()))
            if member is not None and member._storage is before
        ]
        self.make_traced(base, jax.numpy.asarray(array), array)
        if before is not None:
            base._storage.version = before.version
        others = [(member, own) for member, own in family if member is not base]
        if others:
            memory = base._storage.memory
            slot_a.__set__(base, ViewArray(memory, (), memory.array, NUMPY.strides_of(array)))
        for member, own in others:
            self.join(member, own, base, before)

    def join(self, member, array, base, before):
        """Makes `member`, whose array shared memory with that of `base`, a view of `base` again."""
        strides, offset = NUMPY.strides_of(array), before.offset(array)
        if member._view is not None:
            chain = member._view.chain
        elif (array.shape, strides, offset) == (base._a.shape, base.stride(), 0):
            chain = ()
        else:
            places = dict(size=array.shape, stride=strides, offset=offset, own_stride=(1,), own_offset=0)
            chain = (view, {"shape": (-1,)}, None), (as_strided, places, None)
        memory = base._storage.memory
        member._storage = base._storage
        slot_a.__set__(member, ViewArray(memory, chain, replay(memory.array, chain), strides, offset))

    # ---- the end

    def check(self):
        """Raises if a program cannot make the changes that the function has made outside."""
        if (error := self.caught_refusal()) is not None:
            raise error
        for mode, before, now in zip(MODES, self.modes, modes_now(), strict=True):
            if now is not before:
                raise RuntimeError(CHANGED_MODE.format(name=self.name, mode=mode))
        roots = list(self.lifted.values())
        for lifted in roots:
            self.check_lifted(lifted)
        shared = overlap([(lifted.is_written and not lifted.rebound, lifted.array) for lifted in roots])
        if shared is not None:
            raise RuntimeError(SHARED_WRITE.format(name=self.name, written=roots[shared[0]], other=roots[shared[1]]))
        for before in self.hooks.values():
            if hooks_of(before.tensor) != before.state:
                raise RuntimeError(CHANGED_HOOKS.format(name=self.name, tensor=describe(before.tensor._a)))
        for t in self.watch.tensors_with_other_attributes():
            if id(t) not in self.inside:
                raise RuntimeError(CHANGED_ATTRIBUTES.format(name=self.name, tensor=describe(t._a)))
        for t, flag, _ in self.watch.tensors.values():
            if t._rg is not flag and id(t) not in self.inside:
                raise RuntimeError(CHANGED_FLAG.format(name=self.name, tensor=describe(t._a)))

    def check_lifted(self, lifted):
        t, now = lifted.tensor, lifted.current
        if t._node is not lifted.node:
            raise RuntimeError(GIVEN_HISTORY.format(name=self.name, tensor=lifted))
        if t._rg is not lifted.place[2]:
            raise RuntimeError(CHANGED_FLAG.format(name=self.name, tensor=lifted))
        shape, dtype = lifted.array.shape, lifted.array.dtype
        if t._storage is not lifted.storage:
            memory = getattr(t._storage, "memory", None)
            if any(other.tensor is not t and other.storage.memory is memory for other in self.lifted.values()):
                raise RuntimeError(CHANGED_MEMORY.format(name=self.name, tensor=lifted))
            lifted.rebound = True
            return
        if now.shape != shape or now.dtype != dtype or chain_of(now):
            raise RuntimeError(CHANGED_MEMORY.format(name=self.name, tensor=lifted))

    def check_draws(self):
        """Raises if drawn numbers were used in a way that cannot be traced."""
        for drawn, _ in self.draws_by_array.values():
            if not drawn.is_used:
                raise RuntimeError(UNUSED_DRAW.format(name=self.name, kernel=drawn.kernel.__name__))


def modes_now():
    return modes.grad, _dtypes.get_default_dtype(), get_default_device(), current_index("cuda")
