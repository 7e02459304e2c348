"""Recording of calls for the profiler, by Python's profile function: calls of ops and of backward nodes.

Ops have no code for it, so there is no cost when nothing is recorded.
"""

from __future__ import annotations

import sys
import threading
import time

from .._tape import OpNode
from .._tensor import Tensor
from ..ops._calls import on_arrays
from ._flops import flops_of
from .profiler_util import EventList, FunctionEvent

_running: list[Calls] = []
_before: list = [None, None]  # the profile functions that were set before the first recorder


class Call:
    """A call in progress. `op` and `node` are None if it is neither's; `operands` are those of the op.

    It ends when its `frame` returns; one that is ended explicitly has None, and was started in the frame `caller`.
    """

    __slots__ = ("caller", "frame", "inside_bytes", "inside_ns", "kind", "name", "node", "op", "operands", "start")

    def __init__(self, frame, name, kind, op=None, operands=(), node=None, caller=None):
        self.frame, self.name, self.kind, self.op, self.operands, self.node = frame, name, kind, op, operands, node
        self.caller = caller or frame
        self.inside_ns = self.inside_bytes = 0
        self.start = time.perf_counter_ns()


class Calls:
    """Observes calls of ops and backward nodes while it is started; each is reported when it ends.

    ``kinds`` describes calls of other functions: functions from a frame to a ``Call``, by code object.
    """

    def __init__(self):
        self._open = threading.local()
        self.kinds = {OpNode._pull.__code__: call_of_node, on_arrays.__code__: call_on_arrays}

    def start(self):
        """Starts observing, in this thread and in new ones."""
        if not _running:
            _before[:] = sys.getprofile(), threading.getprofile()
        _running.append(self)
        threading.setprofile(tell)
        sys.setprofile(tell)

    def stop(self):
        """Stops observing; recorders may be stopped in any order."""
        _running.remove(self)
        if not _running:
            sys.setprofile(_before[0])
            threading.setprofile(_before[1])

    @property
    def stack(self):
        """This thread's calls in progress, the innermost last."""
        try:
            return self._open.stack
        except AttributeError:
            self._open.stack = []
            return self._open.stack

    def on_call(self, frame):
        """Called when Python starts a call."""
        code = frame.f_code
        describe = self.kinds.get(code, self)
        if describe is self:  # new
            describe = self.kinds[code] = call_of_op if is_call_of_op(code) else None
        if describe is not None:
            call = describe(frame)
            if call is not None and not self._has_begun(call):
                self.enter(call)

    def _has_begun(self, call):
        """Whether this continues the innermost call: that of an op, which calls itself with arrays."""
        return call.op is not None and bool(self.stack) and self.stack[-1].op is call.op

    def on_return(self, frame, result):
        """Called when Python ends a call."""
        if self.stack and self.stack[-1].frame is frame:
            self.leave(result)

    def enter(self, call):
        """A call begins."""
        self.stack.append(call)

    def leave(self, result=None):
        """The innermost call ends."""
        self.on_end(self.stack.pop(), result)

    def on_end(self, call, result):
        """Handles a call that has ended."""
        raise NotImplementedError


def tell(frame, event, arg):
    """The profile function."""
    if event == "call":
        for calls in _running:
            calls.on_call(frame)
    elif event == "return":
        for calls in _running:
            calls.on_return(frame, arg)


# ---- what calls are


def is_call_of_op(code):
    """Whether this is the generated call of an op."""
    return code.co_name == "call" and code.co_filename.startswith("<call of") and "recorder" in code.co_freevars


def call_of_op(frame):
    values, code = frame.f_locals, frame.f_code
    op = values["recorder"].__self__
    operands = [values[name] for name in code.co_varnames[:code.co_argcount]]
    return Call(frame, f"aten::{op.name}", "op", op, [*operands, *values.get("inputs", ())])


def call_on_arrays(frame):
    """Detects ops that backward computes on arrays without their generated call."""
    values = frame.f_locals
    return Call(frame, f"aten::{values['op'].name}", "op", values["op"], values["inputs"])


def call_of_node(frame):
    node = frame.f_locals["self"]
    return Call(frame, f"autograd::{type(node).__name__}", "backward", node=node)


# ---- events


class Recorder(Calls):
    """Records calls as events.

    Args:
        shapes, memory, stack, flops: whether to record the shapes of operands, the bytes of results, the Python
            stack, and the floating-point operations.
    """

    def __init__(self, shapes=False, memory=False, stack=False, flops=False):
        super().__init__()
        self.with_shapes, self.with_memory, self.with_stack, self.with_flops = shapes, memory, stack, flops
        self.events = EventList()

    def on_end(self, call, result):
        """Records an event."""
        end = time.perf_counter_ns()
        own_bytes = bytes_of(call, result) if self.with_memory else 0
        memory = own_bytes + call.inside_bytes if call.op is None else own_bytes
        outer = next((c for c in reversed(self.stack) if c.kind != "module"), None)
        if outer is not None and call.kind != "module":
            outer.inside_ns += end - call.start
            outer.inside_bytes += memory
        own = 0 if call.kind == "module" else end - call.start - call.inside_ns
        self.events.append(FunctionEvent(
            call.name, call.start / 1e3, end / 1e3, threading.get_native_id(), call.kind, self._shapes(call),
            lines_of(call.caller) if self.with_stack else [], own / 1e3, memory, own_bytes,
            flops_of(call, result, self.stack)[1] if self.with_flops else None,
        ))

    def _shapes(self, call):
        return [list(x.shape) for x in call.operands if isinstance(x, Tensor)] if self.with_shapes else []


def bytes_of(call, result):
    """The bytes that an op has allocated for its results; none for views."""
    if call.op is None:
        return 0
    results = result if isinstance(result, (tuple, list)) else [result]
    return sum(x.nbytes for x in results if hasattr(x, "nbytes") and owner_of(x) is None)


def owner_of(x):
    """The tensor or array whose memory this one shares, or None."""
    return x._base if isinstance(x, Tensor) else getattr(x, "base", None)


def lines_of(frame):
    """The Python stack of a call, innermost first, without generated code."""
    lines = []
    while frame is not None:
        code = frame.f_code
        if not code.co_filename.startswith("<call of"):
            lines.append(f"{code.co_filename}({frame.f_lineno}): {code.co_name}")
        frame = frame.f_back
    return lines
