"""Per-thread switches: whether operations are recorded, and how."""

from __future__ import annotations

import functools
import inspect
import os
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from ._device import CPU
from ._threads import per_thread

_Function = TypeVar("_Function", bound=Callable[..., Any])


class Tracer:
    """The interface through which lower layers talk to a trace. This null implementation is active when none runs."""

    active = False
    device = CPU  # of traced tensors

    def enter_device(self, device):
        """Called when a traced tensor is on a device."""

    def prepare_write(self, t):
        """Called before `t` is written to."""

    def draw(self, kernel, generator, args, kwargs):
        """Returns the numbers that a kernel draws."""
        return kernel(generator, *args, **kwargs)

    def draw_key(self, draw, generator):
        """Returns the key words from ``draw(generator)``, for numbers drawn on a device."""
        return draw(generator)

    def on_device(self, array):
        """Moves a NumPy array to the device of the traced program."""
        return array

    def mark_draws(self):
        """Returns a mark for ``draws_again``."""

    def draws_again(self, mark):
        """A context that repeats the draws since the mark."""

    def begin_recomputation(self, t):
        """Returns `t` as the input of a recomputation, which must not be merged with the first computation."""
        return t

    def common_number(self, t):
        """Returns the element of `t` as a number shared by all tensors with the same element; None: not shared."""

    def settings_of(self, op, settings):
        """Returns the settings to run an op with."""
        return settings

    def computation(self, function):
        """Returns a callable to use for `function`, which computes on arrays and calls no user code."""
        return function

    def call_kernel(self, call, function, args, settings):
        """Returns ``call(function, args, settings)``: a computation on device arrays."""
        return call(function, args, settings)

    def note_offset(self, t):
        """Called when elements are addressed by their offset in the storage of `t`."""

    def require(self, holds, wrong, error):
        """Makes the traced program raise ``error(wrong)`` unless `holds` is true at run time."""

    def refuse(self, error):
        """Returns `error` for the caller to raise; a trace fails even if it is caught."""
        return error

    def postpone(self, error):
        """Like ``refuse``, for what can be traced later: this time it runs without a trace, where that can begin again.
        """
        return error


NO_TRACER = Tracer()


class _Modes(threading.local):
    """The modes of a thread. ``grad`` is True (record), False (do not record) or None (inference mode)."""

    def __init__(self):
        self.grad = True
        self.watched = False  # whether saved-tensor hooks or anomaly mode must see every recorded op
        self.saved_hooks = []  # innermost (pack, unpack) last
        self.saved_hooks_disabled = None  # the message of the error, when disabled
        self.anomaly = False
        self.anomaly_check_nan = True
        self.gradient_check = None  # called with each node that backward has run, and its gradients
        self.grad_layout = True  # whether the gradient of a leaf gets the leaf's strides
        self.running = None  # the current backward pass
        self.tracer = NO_TRACER  # the trace of a function that is being compiled
        self.autocast = None  # the function that casts inputs, inside autocast
        self.levels = []  # of the active transforms (vmap, forward mode), outermost first
        self.transforms = 0  # the number of active func transforms
        self.lazy = os.environ.get("FLAMBEAU_LAZY", "1") != "0"  # whether devices that can record calls lazily do so

    def set_anomaly(self, on, check_nan):
        self.anomaly, self.anomaly_check_nan = bool(on), bool(check_nan)
        self.watched = self.anomaly or bool(self.saved_hooks)
        in_use.watched = in_use.watched or self.watched

    def set_autocast(self, casts):
        self.autocast = casts
        in_use.autocast = in_use.autocast or casts is not None

    def push_saved_hooks(self, pack, unpack):
        self.saved_hooks.append((pack, unpack))
        self.watched = in_use.watched = True

    def pop_saved_hooks(self):
        self.saved_hooks.pop()
        self.watched = self.anomaly or bool(self.saved_hooks)


class _InUse:
    """Features that some thread has used; until then, ops need not check their thread's modes for them."""

    def __init__(self):
        self.inference = False  # entered inference mode
        self.watched = False  # watched recordings
        self.traced = False  # traced a function
        self.autocast = False  # entered autocast
        self.recorders = False  # used a device whose calls are recorded
        self.levels = False  # transformed a function, so that arrays may be LevelArrays


modes = per_thread(_Modes())
in_use = _InUse()


class _ModeContext:
    """A context manager that is also a decorator for functions, generators and methods."""

    def __call__(self, func: _Function) -> _Function:
        if inspect.isclass(func):
            raise TypeError(
                f"{type(self).__name__} cannot decorate the class {func.__name__}; decorate its methods instead"
            )
        if inspect.isgeneratorfunction(func):
            return self._wrap_generator(func)

        @functools.wraps(func)
        def inside(*args, **kwargs):
            with self.clone():
                return func(*args, **kwargs)

        return inside  # type: ignore[return-value]

    def clone(self):
        """A copy of the context, for another use."""
        return type(self)()

    def _wrap_generator(self, func):
        """The generator's body runs in the mode; the caller's mode is restored whenever it yields."""

        @functools.wraps(func)
        def inside(*args, **kwargs):
            generator = func(*args, **kwargs)
            send, value = generator.send, None
            while True:
                try:
                    with self.clone():
                        item = send(value)
                except StopIteration as stop:
                    return stop.value
                try:
                    send, value = generator.send, (yield item)
                except GeneratorExit:
                    with self.clone():
                        generator.close()
                    raise
                except BaseException as error:
                    send, value = generator.throw, error

        return inside


class no_grad(_ModeContext):
    """Disables recording. Usable as a context manager and as a decorator.

    Example::

        >>> x = flambeau.ones(2, requires_grad=True)
        >>> with flambeau.no_grad():
        ...     y = x * 2
        >>> y.requires_grad
        False
    """

    _value = False

    def __new__(cls, orig_func=None):
        self = object.__new__(cls)
        return self(orig_func) if orig_func is not None else self

    def __init__(self, orig_func=None):
        pass

    def __enter__(self):
        self._before = modes.grad
        if modes.grad is not None:
            modes.grad = self._value

    def __exit__(self, *exc):
        modes.grad = self._before


class enable_grad(no_grad):
    """Enables recording, also within ``no_grad``."""

    _value = True


class set_grad_enabled(_ModeContext):
    """Switches recording on or off, at once; as a context manager it is undone at the end."""

    def __init__(self, mode):
        if not isinstance(mode, bool):
            raise TypeError("set_grad_enabled(): argument 'enabled' (position 1) must be bool, "
                            f"not {type(mode).__name__}")
        self.mode = mode
        self._before = modes.grad
        self.__enter__()

    def __call__(self, func):
        modes.grad = self._before
        return super().__call__(func)

    def __enter__(self):
        if modes.grad is not None:
            modes.grad = self.mode

    def __exit__(self, *exc):
        modes.grad = self._before

    def clone(self):
        """A copy of the context, for another use."""
        return type(self)(self.mode)

    def __str__(self):
        return f"torch.autograd.grad_mode.set_grad_enabled(mode={self.mode})"

    def __repr__(self):
        return f"set_grad_enabled(mode={self.mode})"


class inference_mode(_ModeContext):
    """Like ``no_grad``, but tensors created inside can never take part in recorded operations later."""

    def __new__(cls, mode=True):
        self = object.__new__(cls)
        if callable(mode) and not isinstance(mode, bool):
            self.mode = True
            return self(mode)
        return self

    def __init__(self, mode=True):
        self.mode = bool(mode)

    def __enter__(self):
        self._before = modes.grad
        modes.grad = None if self.mode else True
        in_use.inference = in_use.inference or self.mode

    def __exit__(self, *exc):
        modes.grad = self._before

    def clone(self):
        """A copy of the context, for another use."""
        return type(self)(self.mode)


class eager(_ModeContext):
    """Makes operations on accelerators run eagerly, one by one, instead of being recorded and run together.

    That is slow, but shows where an error comes from. ``FLAMBEAU_LAZY=0`` in the environment does it for a whole
    process. On the CPU operations always run at once.

    Example::

        >>> with flambeau.eager():
        ...     flambeau.ones(2) + 1
        tensor([2., 2.])
    """

    def __enter__(self):
        self._before, modes.lazy = modes.lazy, False

    def __exit__(self, *exc):
        modes.lazy = self._before


def is_grad_enabled():
    """Whether operations are being recorded in this thread."""
    return modes.grad is True


def is_inference_mode_enabled():
    """Whether this thread is inside ``inference_mode``."""
    return modes.grad is None
