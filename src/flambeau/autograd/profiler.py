"""The autograd profiler: a context that records ops and backward nodes. ``torch.profiler`` adds modules and schedules.

Example::

    >>> from flambeau import randn
    >>> from flambeau.autograd import profiler
    >>> with profiler.profile(with_flops=True) as prof:
    ...     _ = randn(2, 3) @ randn(3, 4)
    >>> [(row.key, row.flops) for row in prof.key_averages() if row.flops]
    [('aten::mm', 48)]
"""

from __future__ import annotations

import functools
import sys

from ._recorder import Call, Recorder, _running
from .profiler_util import EventList, FunctionEvent

__all__ = ["EventList", "FunctionEvent", "emit_itt", "emit_nvtx", "profile", "record_function"]

NOTHING = "Profiler didn't finish running: it has not recorded anything yet. It does so in its context"
TWICE = "Profiler context manager is not reentrant: make a new one"
NO_MARKS = "{name} is not supported: there are no external tools to annotate calls for. Use torch.profiler.profile()."


class profile:
    """Records the calls of ops and backward nodes, with their times.

    Args:
        enabled: whether it records at all.
        record_shapes: keep the shapes of the operands.
        with_flops: count the floating-point operations of products.
        profile_memory: count the bytes of the results of ops.
        with_stack: record the Python stack of each call.
        use_cuda, use_device, with_modules, use_kineto, use_cpu, experimental_config, acc_events,
            custom_trace_id_callback, post_processing_timeout_s, activity_filters: accepted, without effect.
    """

    _recorder_class = Recorder

    def __init__(self, enabled=True, *, use_cuda=False, use_device=None, record_shapes=False, with_flops=False,
                 profile_memory=False, with_stack=False, with_modules=False, use_kineto=False, use_cpu=True,
                 experimental_config=None, acc_events=False, custom_trace_id_callback=None,
                 post_processing_timeout_s=None, activity_filters=None):
        self.enabled = enabled
        self._recorder = self._recorder_class(record_shapes, profile_memory, with_stack, with_flops)
        self.entered = False

    def __enter__(self):
        if self.enabled:
            if self.entered:
                raise RuntimeError(TWICE)
            self.entered = True
            self._recorder.start()
        return self

    def __exit__(self, *exc):
        if self.enabled:
            self._recorder.stop()

    @property
    def all_events(self):
        """All calls, including those of modules if recorded."""
        if not self.entered:
            raise RuntimeError(NOTHING)
        return self._recorder.events

    @property
    def function_events(self):
        """All calls of ops, backward nodes and named parts."""
        return EventList(event for event in self.all_events if event.kind != "module")

    def key_averages(self, group_by_input_shape=False, group_by_stack_n=0, group_by_overload_name=False):
        """Calls grouped by name; ``.table(sort_by="cpu_time_total")`` shows them."""
        return self.function_events.key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def total_average(self):
        """All calls together."""
        return self.function_events.total_average()

    @property
    def self_cpu_time_total(self):
        """The total time of all calls in microseconds, without double counting."""
        return self.function_events.self_cpu_time_total

    def table(self, *args, **kwargs):
        """The calls as a text table; see ``EventList.table``."""
        return self.function_events.table(*args, **kwargs)

    def export_chrome_trace(self, path):
        """Writes the timeline for chrome://tracing and Perfetto."""
        self.all_events.export_chrome_trace(path)

    def export_stacks(self, path, metric="self_cpu_time_total"):
        """Writes stacks for flame graphs; needs ``with_stack=True``."""
        self.function_events.export_stacks(path, metric)

    def __str__(self):
        return str(self.function_events) if self.entered else "<unfinished torch.autograd.profile>"


class record_function:
    """A context or decorator that labels a region in the timeline.

    Args:
        name: the name.
        args: an annotation, stored with the name.
    """

    def __init__(self, name, args=None):
        self.name, self.args = name, args
        self._recorders: list = []

    def __enter__(self):
        self._recorders = list(_running)
        for recorder in self._recorders:
            recorder.enter(Call(None, self.name, "user", caller=sys._getframe(1)))
        return self

    def __exit__(self, *exc):
        for recorder in self._recorders:
            if recorder.stack:
                recorder.leave()

    def __call__(self, function):
        @functools.wraps(function)
        def inside(*args, **kwargs):
            with record_function(self.name, self.args):
                return function(*args, **kwargs)

        return inside


class emit_nvtx:
    """Annotations for NVIDIA's profilers, which are not supported: entering an enabled context raises."""

    def __init__(self, enabled=True, record_shapes=False):
        self.enabled = enabled

    def __enter__(self):
        if self.enabled:
            raise NotImplementedError(NO_MARKS.format(name=type(self).__name__))
        return self

    def __exit__(self, *exc):
        pass


class emit_itt(emit_nvtx):
    """Annotations for Intel's profilers, which are not supported: entering an enabled context raises."""
