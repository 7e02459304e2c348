"""Recording: Python tells of every call while a profile runs, and those of ops, nodes and modules are kept.

Nothing in the ops knows of it, so that it costs nothing when no profile runs.
"""

from __future__ import annotations

import functools
import sys
import threading
import time

from .._tape import OpNode
from .._tensor import Tensor
from ..nn.modules.module import Module
from ._events import EventList, FunctionEvent

_running: list[Recorder] = []  # the innermost last


class Recorder:
    """Keeps the calls of ops, backward nodes and modules while it is started."""

    def __init__(self, with_shapes=False):
        self.with_shapes = with_shapes
        self.events = EventList()
        self._open = threading.local()
        self._paths: dict[int, str] = {}
        self._kinds = {Module.__call__.__code__: self._module, OpNode._pull.__code__: self._node}

    def start(self):
        """Records from now on, in this thread and in those that begin."""
        _running.append(self)
        self._before = sys.getprofile()
        threading.setprofile(self._tell)
        sys.setprofile(self._tell)

    def stop(self):
        """Records no more."""
        sys.setprofile(self._before)
        threading.setprofile(None)
        _running.remove(self)

    # ---- calls

    def _tell(self, frame, event, arg):
        if event == "call":
            code = frame.f_code
            describe = self._kinds.get(code, self)
            if describe is self:  # not seen before
                describe = self._kinds[code] = self._op if is_call_of_op(code) else None
            if describe is not None:
                self.enter(frame, *describe(frame))
        elif event == "return" and self._stack() and self._stack()[-1][0] is frame:
            self.leave()

    def _stack(self):
        try:
            return self._open.stack
        except AttributeError:
            self._open.stack = []
            return self._open.stack

    def enter(self, frame, name, kind, shapes=()):
        """A call begins."""
        self._stack().append([frame, name, kind, list(shapes), time.perf_counter_ns(), 0])

    def leave(self):
        """The innermost call ends."""
        _, name, kind, shapes, start, inside = self._stack().pop()
        end = time.perf_counter_ns()
        if kind != "module" and self._stack():
            outer = next((call for call in reversed(self._stack()) if call[2] != "module"), None)
            if outer is not None:
                outer[5] += end - start
        own = 0 if kind == "module" else end - start - inside
        self.events.append(FunctionEvent(
            name, start / 1e3, end / 1e3, threading.get_native_id(), kind, shapes, own / 1e3
        ))

    # ---- what calls are

    def _op(self, frame):
        values = frame.f_locals
        name = values["recorder"].__self__.name if "recorder" in values else values["op"].name
        return f"aten::{name}", "op", self._shapes(values)

    def _node(self, frame):
        return f"autograd::{type(frame.f_locals['self']).__name__}", "backward"

    def _module(self, frame):
        module = frame.f_locals["self"]
        if id(module) not in self._paths:
            self._paths.update({id(m): path or type(module).__name__ for path, m in module.named_modules()})
        path = self._paths[id(module)]
        return f"nn.Module: {path} ({type(module).__name__})", "module"

    def _shapes(self, values):
        if not self.with_shapes:
            return []
        return [list(value._a.shape) for value in values.values() if isinstance(value, Tensor)]


def is_call_of_op(code):
    """Whether this is a call that was generated for an op."""
    return code.co_name == "call" and code.co_filename.startswith("<call of") and "recorder" in code.co_freevars


class record_function:
    """A context or decorator that gives what runs in it a name in the timeline.

    Args:
        name: the name.
        args: a note, which is kept with the name.
    """

    def __init__(self, name, args=None):
        self.name, self.args = name, args
        self._recorder = None

    def __enter__(self):
        self._recorder = _running[-1] if _running else None
        if self._recorder is not None:
            self._recorder.enter(self, self.name, "user")
        return self

    def __exit__(self, *exc):
        if self._recorder is not None and self._recorder._stack():
            self._recorder.leave()

    def __call__(self, function):
        @functools.wraps(function)
        def inside(*args, **kwargs):
            with record_function(self.name, self.args):
                return function(*args, **kwargs)

        return inside
