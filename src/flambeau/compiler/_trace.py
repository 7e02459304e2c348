"""Tracing: what a function touches outside of itself becomes an input of a program, what it changes an output.

While a trace runs, the slots of Tensor that hold its elements and its gradient are watched. The first read of a tensor
from outside lifts it: from there on it holds a placeholder of the program, until the trace ends and everything is put
back. Nobody lists the state of a model, and nothing of it is taken for a constant.

Tensors that are created inside of a trace hold traced arrays, or NumPy arrays where nothing they come from was traced.
Those are constants of the program, and may decide what it does. They are read-only: a write makes traced arrays of
them.
"""

import contextlib
import threading
import weakref

import jax
import numpy as np

from .. import _dtypes
from .._device import CPU, current_index, get_default_device, set_current_index, set_default_device, strided
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
from ._watched_slots import WATCHED, Escaped

TWO_DEVICES = (
    "{name} cannot be compiled: Expected all tensors to be on the same device, but found at least two devices, {first} "
    "and {other}. A program runs on one device: move all its tensors there first, or compile a function for each."
)
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
BEGINS_LATER = (
    "{name} cannot be compiled: it names elements by their offset in memory (as_strided) of a tensor from outside, "
    "{tensor}, that is a part of another one. Leave storage_offset out, or pass the whole tensor."
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

ARITHMETIC_SETTINGS = ("add_scaled", "sub_scaled", "addcmul", "addcdiv")  # ops that multiply by their setting

SHARED_WITH_NUMPY = (
    "it writes to a tensor that shares its memory with a NumPy array or another object. Write to that itself, or to a "
    "clone() of the tensor"
)
SPARSE = "it uses a sparse tensor, which a program does not take"

_one_at_a_time = threading.Lock()
MODES = ("mode of recording (no_grad, enable_grad)", "default dtype", "default device", "current device")


class Trace(Tracer):
    """One run of a function with placeholders for what comes from outside.

    Args:
        name: of the function, for messages.
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
        self.inside = {}  # id -> weak reference to a tensor that was created inside
        self.draws = []  # in order: (result, what ``drawn`` has of it)
        self.replay = None  # an iterator over some of them, while a computation is done again
        self.draws_by_array = {}  # id of an array -> (RandomDraw, its placeholder)
        self.grads = {}  # id -> [tensor from outside, its gradient before, and now]
        self.requirements = []  # (what must hold, the value that is wrong if it does not, the error for it)
        self.equal = {}  # a number -> (its placeholder, inputs that must be equal for it to stand for all of them)
        self.from_start = []  # those of which elements are named by their offset in memory
        self.lines = []  # (file, line) where each of these was asked for
        self.device = CPU  # on which the program runs
        self.floats = Floats(self.float_placeholder) if takes_floats else None
        self.watch = Watch(arguments, call, self.floats)
        self.differentiates = False  # whether the function itself runs a backward
        self.hooks = {}  # id of a tensor from outside -> HooksSnapshot
        self.suspects = []  # errors of jax
        self.refusal = None  # the error that a need for elements has raised
        self.modes = modes_now()
        self.is_paused = False

    @contextlib.contextmanager
    def running(self):
        """The trace is on: slots are watched. Afterwards all is as it was."""
        with _one_at_a_time:
            modes.tracer, in_use.traced = self, True
            for name, watched in WATCHED.items():
                setattr(Tensor, name, watched(self))
            try:
                with self.watch.running(), collecting_errors(TRACED_ERRORS, self.suspects):
                    yield
            finally:
                for name, slot in SLOTS.items():
                    setattr(Tensor, name, slot)
                modes.tracer = NO_TRACER
                if self.floats is not None:
                    self.floats.is_active = False
                self.restore()

    def release(self):
        """Lets go of tensors from outside, and of their arrays: a program takes the memory of what nobody else holds.
        """
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
        escaped = Escaped(self.name)
        for reference in list(self.inside.values()):
            t = reference()
            if t is not None and is_traced(t._a):
                t._a = escaped

    @contextlib.contextmanager
    def pause(self):
        """Things are seen as they are outside."""
        before, self.is_paused = self.is_paused, True
        try:
            yield
        finally:
            self.is_paused = before

    def is_active_here(self):
        return not self.is_paused and threading.get_ident() == self.thread

    # ---- inputs

    def placeholder(self, what, shape, dtype, is_number=False):
        """A new input of the program; a number has no dtype of its own where it meets arrays."""
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
        """A computation, which is one equation if the program runs on a device that could record it."""
        if self.device is not CPU:
            found = XLA.call_shared(function, args, settings, self.device, self.require)
            if found is not NotImplemented:
                return found
        return call(function, args, settings)

    def settings_of(self, op, settings):
        """The settings of a call: floats from outside are constants in them, unless the op only multiplies by them."""
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
        """The program runs on the one device that it has tensors on; there may be others on the CPU."""
        if self.device is CPU:
            self.device = device
        elif device is not CPU and device is not self.device:
            raise self.refuse(RuntimeError(TWO_DEVICES.format(name=self.name, first=self.device, other=device)))

    def draw(self, kernel, generator, args, kwargs):
        """What a kernel draws, for a constant array that stands for the numbers of every run."""
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
        """What was drawn at this place before, in the memory that is to be filled now."""
        result, found = next(self.replay)
        if found[0].fills:
            result = args[0]
            self.draws_by_array[id(result)] = found
            self.draws.append((result, found))  # keeps it alive, and with it its id
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
        """A leaf like `t`, which XLA does not take for it, nor has before the gradients that need the computation."""
        grads = modes.running.grads if modes.running is not None else None
        grads = [g._a if isinstance(g, Tensor) else g for g in (grads if isinstance(grads, list) else [grads])]
        array, *_ = jax.lax.optimization_barrier([value_of(t._a), *[value_of(g) for g in grads if is_traced(g)]])
        return wrap(XLA.with_layout(array, t.stride()), t.device).requires_grad_(t.requires_grad)

    def common_number(self, t):
        """The number that stands for the elements of all tensors on the CPU, from outside, that have this one."""
        _ = t._a  # lifted now
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
        """What ``draw()`` returns, with the generator as it was."""
        modes.tracer = NO_TRACER
        try:
            mark = generator._get_state_bytes()
            result = draw()
            generator._set_state_bytes(mark)
        finally:
            modes.tracer = self
        return result

    def draw_key(self, draw, generator):
        """Words that ``draw(generator)`` draws, as an input of the program, from which it draws numbers itself."""
        if self.replay is not None:
            return next(self.replay)[0]
        words = self.rehearse(generator, lambda: draw(generator))
        found = self.placeholder(RandomDraw(draw, generator, (), {}, words), words.shape, words.dtype)
        self.draws.append((found, None))
        return found

    def on_device(self, array):
        """A constant, or an array that is drawn, on the device."""
        found = self.draws_by_array.get(id(array))
        if found is None:
            if is_uniform(array):  # no need to have it in the program
                return jax.numpy.full(array.shape, array.flat[0])
            return jax.numpy.asarray(array)
        drawn, traced = found
        drawn.is_used = True
        return traced

    def require(self, holds, wrong, error):
        """The program raises ``error(wrong)`` unless it finds `holds` to be true."""
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
        """Notes an error that must not be caught: what comes after it is not what the function does."""
        self.refusal = error
        return error

    def postpone(self, error):
        if self.watch.volatile is None:  # otherwise it may have done what must not be done again
            error = self.watch.error = NotYet()
        return self.refuse(error)

    def do_unless(self, condition, function):
        """What a function returns that a program runs, and takes back where it finds that the condition holds."""
        return do_unless(self, condition, function)

    def is_refusal(self, error):
        """Whether an error says that the function cannot be compiled at all."""
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
        """What a tensor created inside reads as: an array that is drawn, or the constant itself."""
        found = self.draws_by_array.get(id(array))
        if found is None:
            return array
        drawn, traced = found
        drawn.is_used = True
        self.make_traced(t, traced, array)
        return slot_a.__get__(t)

    def make_traced(self, t, traced, array):
        """Gives a tensor a traced array with the layout of the one it had."""
        traced = XLA.with_layout(traced, NUMPY.strides_of(array))
        t._storage = DeviceStorage(traced, XLA, CPU)
        slot_a.__set__(t, traced)

    def prepare_write(self, t):
        """Makes traced arrays of a constant, and of all that shares its memory, so that it can be written to."""
        if engine_of(t._a) is not NUMPY:  # now that a tensor from outside was lifted
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
        """Makes `member`, whose array lay in the same memory as the one of `base`, a view of it again."""
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
        """Raises where what the function did to the outside cannot be done by a program."""
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
        """Raises if numbers were drawn and used in a way that cannot be traced."""
        for drawn, _ in self.draws_by_array.values():
            if not drawn.is_used:
                raise RuntimeError(UNUSED_DRAW.format(name=self.name, kernel=drawn.kernel.__name__))


def modes_now():
    return modes.grad, _dtypes.get_default_dtype(), get_default_device(), current_index("cuda")
