"""Memory use of a model over time, by module."""

from __future__ import annotations

import tracemalloc
from typing import NamedTuple

from ._run import preserve_state, scalar_of
from ._watch import table

__all__ = ["Event", "MemoryReport", "memory"]

NO_TENSOR = "memory() runs backward, and nothing in the output requires a gradient. Pass a loss, or backward=False"


class Event(NamedTuple):
    """The bytes alive at the start or end of a module's forward or backward, and the peak since the previous event."""

    phase: str  # "forward" or "backward"
    moment: str  # "begin" or "end"
    module: str
    alive: int
    peak: int


class MemoryReport:
    """The memory timeline of a run.

    Attributes:
        events: the bytes alive at each event, relative to the start of the run.
        peak: the peak number of bytes alive.
        kept: by module, the bytes its forward left alive: its output, and tensors saved for backward.
    """

    def __init__(self, events):
        self.events = events
        self.peak = max(event.peak for event in events)
        self.saved_bytes = saved_by_module(events)

    def __str__(self):
        top = max(self.saved_bytes.values(), default=0) or 1
        rows = [("module", "kept after forward", "")]
        for name, n in self.saved_bytes.items():
            rows.append((name or "(model)", size(n), "█" * round(30 * max(n, 0) / top)))
        return f"{table(rows)}\npeak: {size(self.peak)}"


def memory(model, *inputs, loss=None, backward=True):
    """Runs forward and backward once, and reports the memory alive at each step, by module.

    Measures Python's allocator, so it counts all arrays and Python objects on the CPU. Gradients, buffers and the
    random state are restored afterwards.

    Args:
        model: the model.
        inputs: the model's inputs.
        loss: a function from the model's output to a scalar; by default the sum of all tensors in the output.
        backward: whether to run backward as well.

    Example::

        >>> report = flambeau.debug.memory(nn.Sequential(nn.Linear(64, 64), nn.ReLU()), flambeau.ones(256, 64))
        >>> report.saved_bytes["0"] >= 256 * 64 * 4
        True
    """
    timeline = Timeline(model)
    with preserve_state(model), timeline:
        root = scalar_of(model(*inputs), loss)
        if backward:
            if root is None:
                raise ValueError(NO_TENSOR)
            root.backward()
        del root
        timeline.tell("backward" if backward else "forward", "end", "")
    return MemoryReport(timeline.events)


class Timeline:
    """A context manager with hooks on all modules that record the memory alive."""

    def __init__(self, model):
        self.events = []
        self._model = model

    def __enter__(self):
        self._traced = tracemalloc.is_tracing()
        if not self._traced:
            tracemalloc.start(1)
        self._start = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        self._handles = [handle for path, module in self._model.named_modules() for handle in self._hooks(path, module)]

    def __exit__(self, *exc):
        for handle in self._handles:
            handle.remove()
        if not self._traced:
            tracemalloc.stop()

    def _hooks(self, path, module):
        tell = self.tell
        return [
            module.register_forward_pre_hook(lambda *_: tell("forward", "begin", path)),
            module.register_forward_hook(lambda *_: tell("forward", "end", path)),
            module.register_full_backward_pre_hook(lambda *_: tell("backward", "begin", path)),
            module.register_full_backward_hook(lambda *_: tell("backward", "end", path)),
        ]

    def tell(self, phase, moment, path):
        """Records the memory alive."""
        alive, peak = tracemalloc.get_traced_memory()
        self.events.append(Event(phase, moment, path, alive - self._start, peak - self._start))
        tracemalloc.reset_peak()


def saved_by_module(events):
    """{path: the growth in bytes alive during the module's forward}, summed over calls."""
    kept, begun = {}, []
    for event in events:
        if event.phase == "forward" and event.moment == "begin":
            kept.setdefault(event.module, 0)
            begun.append(event)
        elif event.phase == "forward" and begun and begun[-1].module == event.module:
            kept[event.module] += event.alive - begun.pop().alive
    return kept


def size(count):
    """Formats a number of bytes."""
    for unit in ("B", "KiB", "MiB"):
        if abs(count) < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.2f} GiB"
