"""What is alive while a model runs, and which module keeps it."""

from __future__ import annotations

import tracemalloc
from typing import NamedTuple

from ._run import preserve_state, scalar_of
from ._watch import table

__all__ = ["Event", "MemoryReport", "memory"]

NO_TENSOR = "memory() runs backward, and nothing in the output requires a gradient. Give a loss, or backward=False"


class Event(NamedTuple):
    """The bytes alive when the forward or backward of a module began or ended, and the most since the event before."""

    phase: str  # "forward" or "backward"
    moment: str  # "begin" or "end"
    module: str
    alive: int
    peak: int


class MemoryReport:
    """The timeline of a run.

    Attributes:
        events: what was alive when, beyond what was alive before the run.
        peak: the most bytes alive at once.
        kept: for each module the bytes that its forward left alive: its output, and what backward needs.
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
    """Runs a model once, forward and backward, and reports what was alive when, by module.

    Python's allocator is asked, so what is counted is all that arrays and Python objects take on the CPU. Gradients,
    buffers and random numbers are afterwards what they were.

    Args:
        model: the model.
        inputs: the arguments it is called with.
        loss: a function from the model's output to a scalar; by default the sum of all that is in it.
        backward: whether to run backward too.

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
    """Hooks on all modules that note what is alive; a context manager."""

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
        """Notes what is alive now."""
        alive, peak = tracemalloc.get_traced_memory()
        self.events.append(Event(phase, moment, path, alive - self._start, peak - self._start))
        tracemalloc.reset_peak()


def saved_by_module(events):
    """{path: the bytes alive at the end of the module's forward and not at its beginning}, calls summed."""
    kept, begun = {}, []
    for event in events:
        if event.phase == "forward" and event.moment == "begin":
            kept.setdefault(event.module, 0)
            begun.append(event)
        elif event.phase == "forward" and begun and begun[-1].module == event.module:
            kept[event.module] += event.alive - begun.pop().alive
    return kept


def size(count):
    """Bytes in words."""
    for unit in ("B", "KiB", "MiB"):
        if abs(count) < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.2f} GiB"
