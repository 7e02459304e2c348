"""The profiler: continuous or scheduled recording."""

from __future__ import annotations

import enum
import os
import socket
import time

from ..autograd.profiler_util import EventList
from ._modules import ModuleProfile

WRONG_SCHEDULE = "Invalid profiler schedule arguments"
NOTHING = "the profile has not recorded anything yet: it does so in its context, at the steps of its schedule"


class ProfilerActivity(enum.Enum):
    """What can be recorded; everything is recorded on the CPU."""

    CPU = 0
    XPU = 1
    MTIA = 2
    CUDA = 3
    HPU = 4


class ProfilerAction(enum.Enum):
    """What the profiler does in a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


def supported_activities():
    """The supported activities."""
    return {ProfilerActivity.CPU}


def schedule(*, wait, warmup, active, repeat=0, skip_first=0, skip_first_wait=0):
    """A function from the step number to an action: cycles of waiting, warming up and recording."""
    if wait < 0 or warmup < 0 or active <= 0 or repeat < 0 or skip_first < 0:
        raise AssertionError(WRONG_SCHEDULE)

    def action(step):
        if step < skip_first:
            return ProfilerAction.NONE
        step -= skip_first
        if skip_first_wait:
            step += wait
        cycle = wait + warmup + active
        if repeat and step // cycle >= repeat:
            return ProfilerAction.NONE
        place = step % cycle
        if place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if place < cycle - 1 else ProfilerAction.RECORD_AND_SAVE

    return action


def tensorboard_trace_handler(dir_name, worker_name=None, use_gzip=False):
    """A handler that writes timelines to a folder for TensorBoard's plugin."""
    ending = "json.gz" if use_gzip else "json"

    def handle(prof):
        os.makedirs(dir_name, exist_ok=True)
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        prof.export_chrome_trace(os.path.join(dir_name, f"{worker}.{time.time_ns() // 1000000}.pt.trace.{ending}"))

    return handle


RECORDING = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)


class profile:
    """Records the calls of ops, backward nodes and modules, with their times.

    Args:
        activities: accepted; what runs on the CPU is recorded.
        schedule: says for each step, which ``step()`` ends, whether it is recorded; all is if there is none.
        on_trace_ready: is called with the profile whenever a recording is complete.
        record_shapes: keep the shapes of the operands.
        profile_memory: count the bytes of the results of ops.
        with_stack: keep the lines of Python that led to each call.
        with_flops: count the floating-point operations of products.
        with_modules, experimental_config, execution_trace_observer, acc_events, custom_trace_id_callback,
            post_processing_timeout_s: accepted, without effect. Modules are always recorded.
    """

    def __init__(self, *, activities=None, schedule=None, on_trace_ready=None, record_shapes=False,
                 profile_memory=False, with_stack=False, with_flops=False, with_modules=False, experimental_config=None,
                 execution_trace_observer=None, acc_events=False, use_cuda=None, custom_trace_id_callback=None,
                 post_processing_timeout_s=None):
        self.schedule = schedule or (lambda step: ProfilerAction.RECORD)
        self.on_trace_ready = on_trace_ready
        self._settings = {"record_shapes": record_shapes, "profile_memory": profile_memory, "with_stack": with_stack,
                          "with_flops": with_flops}
        self.step_num = 0
        self.current_action = self.schedule(0)
        self.profiler: ModuleProfile | None = None  # of the latest recording
        self._is_recording = False

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *exc):
        self.stop()

    def start(self):
        """Begins with step 0."""
        if self.current_action in RECORDING:
            self._begin()

    def stop(self):
        """Ends; what was recorded is complete."""
        if self._is_recording:
            self._end()

    def step(self):
        """Ends the current step and starts the next."""
        before, self.step_num = self.current_action, self.step_num + 1
        self.current_action = self.schedule(self.step_num)
        if self._is_recording and (before is ProfilerAction.RECORD_AND_SAVE or self.current_action not in RECORDING):
            self._end()
        if not self._is_recording and self.current_action in RECORDING:
            self._begin()

    def _begin(self):
        self.profiler, self._is_recording = ModuleProfile(**self._settings), True
        self.profiler.__enter__()

    def _end(self):
        self.profiler.__exit__()
        self._is_recording = False
        if self.on_trace_ready is not None:
            self.on_trace_ready(self)

    # ---- what was recorded

    @property
    def _recorded(self):
        if self.profiler is None:
            raise AssertionError(NOTHING)
        return self.profiler

    def events(self):
        """All calls of ops, backward nodes and named parts."""
        return self._recorded.function_events

    def modules(self):
        """All module calls, named by path."""
        return EventList(event for event in self._recorded.all_events if event.kind == "module")

    def key_averages(self, group_by_input_shape=False, group_by_stack_n=0, group_by_overload_name=False):
        """Statistics by name; ``.table(sort_by="cpu_time_total")`` formats them."""
        return self._recorded.key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def export_chrome_trace(self, path):
        """Writes the timeline, with modules, for chrome://tracing and Perfetto."""
        self._recorded.export_chrome_trace(path)

    def export_stacks(self, path, metric="self_cpu_time_total"):
        """Writes the data for flame graphs; requires ``with_stack=True``."""
        self._recorded.export_stacks(path, metric)
