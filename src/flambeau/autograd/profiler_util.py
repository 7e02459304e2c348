"""The events of a profile, as lists and tables."""

from __future__ import annotations

import gzip
import json
import os
from dataclasses import dataclass, field

__all__ = ["EventList", "FunctionEvent", "FunctionEventAvg", "Interval"]

WRONG_KEY = "unknown column {key!r} to sort by; expected one of {known}"
WRONG_METRIC = "metric should be one of: {known}, not {metric!r}"
SORTABLE = ("self_cpu_time_total", "cpu_time_total", "cpu_time", "count", "cpu_memory_usage", "self_cpu_memory_usage",
            "flops")
METRICS = ("self_cpu_time_total",)
FLOP_UNITS = ("FLOPs", "KFLOPs", "MFLOPs", "GFLOPs", "TFLOPs", "PFLOPs")


@dataclass
class Interval:
    """A span of time, in microseconds."""

    start: float
    end: float

    def elapsed_us(self):
        """The length."""
        return self.end - self.start


@dataclass
class FunctionEvent:
    """One call: its name, its start and end in microseconds, and other recorded data.

    `stack` is the Python stack, innermost first. Memory is the bytes of the results of the ops in the call; "self"
    excludes nested calls.
    """

    name: str
    start: float
    end: float
    thread: int
    kind: str  # "op", "backward", "module" or "user"
    input_shapes: list = field(default_factory=list)
    stack: list = field(default_factory=list)
    self_cpu_time_total: float = 0.0
    cpu_memory_usage: int = 0
    self_cpu_memory_usage: int = 0
    flops: int | None = None

    count = 1

    @property
    def key(self):
        """The name."""
        return self.name

    @property
    def time_range(self):
        """From begin to end."""
        return Interval(self.start, self.end)

    @property
    def cpu_time_total(self):
        """Microseconds from begin to end."""
        return self.end - self.start

    @property
    def cpu_time(self):
        """The same as the total: there is one call."""
        return self.end - self.start


@dataclass
class FunctionEventAvg:
    """Calls grouped by name."""

    key: str
    count: int = 0
    cpu_time_total: float = 0.0
    self_cpu_time_total: float = 0.0
    cpu_memory_usage: int = 0
    self_cpu_memory_usage: int = 0
    flops: int = 0
    input_shapes: list = field(default_factory=list)
    stack: list = field(default_factory=list)

    @property
    def cpu_time(self):
        """The mean time of a call in microseconds."""
        return self.cpu_time_total / self.count

    def add(self, event):
        """Adds a call."""
        self.count += event.count
        for name in ("cpu_time_total", "self_cpu_time_total", "cpu_memory_usage", "self_cpu_memory_usage"):
            setattr(self, name, getattr(self, name) + getattr(event, name))
        self.flops += event.flops or 0


class EventList(list):
    """Calls, or averages of them."""

    @property
    def self_cpu_time_total(self):
        """The total time in microseconds, without double counting."""
        return sum(event.self_cpu_time_total for event in self)

    @property
    def supported_export_stacks_metrics(self):
        """The metrics that ``export_stacks`` supports."""
        return list(METRICS)

    def key_averages(self, group_by_input_shapes=False, group_by_stack_n=0, group_by_overload_name=False):
        """Calls grouped by name, and optionally by shapes and by source location."""
        found = {}
        for event in self:
            shapes = event.input_shapes if group_by_input_shapes else []
            stack = event.stack[:group_by_stack_n]
            average = FunctionEventAvg(event.name, input_shapes=shapes, stack=stack)
            found.setdefault((event.name, str(shapes), *stack), average).add(event)
        return EventList(found.values())

    def total_average(self):
        """All calls together."""
        total = FunctionEventAvg("Total")
        for event in self:
            total.add(event)
        return total

    def table(self, sort_by=None, row_limit=100, max_src_column_width=75, max_name_column_width=55,
              max_shapes_column_width=80, header=None, top_level_events_only=False):
        """The list as a text table, sorted by `sort_by` in descending order; without columns for missing data."""
        rows = sorted_by(self, sort_by)
        rows = rows[:row_limit] if row_limit >= 0 else rows
        columns = self._columns(max_name_column_width, max_shapes_column_width)
        lines = [[title for title, _ in columns], *[[text(event) for _, text in columns] for event in rows]]
        if any(event.stack for event in self):
            lines[0].append("Source Location")
            lines[1:] = [line for event, cells in zip(rows, lines[1:])
                         for line in with_source(cells, event.stack, max_src_column_width)]
        widths = [max(map(len, cells)) for cells in zip(*lines)]
        rule = "  ".join("-" * width for width in widths)
        text = ["  ".join(cell.rjust(width) for cell, width in zip(line, widths)) for line in lines]
        end = f"Self CPU time total: {time_text(self.self_cpu_time_total)}"
        return "\n".join([*([header] if header else []), rule, text[0], rule, *text[1:], rule, end, ""])

    def _columns(self, name_width, shapes_width):
        """(title, text of an event) pairs."""
        total = self.self_cpu_time_total or 1.0
        columns = [
            ("Name", lambda event: shorten(event.key, name_width)),
            ("Self CPU %", lambda event: f"{event.self_cpu_time_total / total:.2%}"),
            ("Self CPU", lambda event: time_text(event.self_cpu_time_total)),
            ("CPU total %", lambda event: f"{event.cpu_time_total / total:.2%}"),
            ("CPU total", lambda event: time_text(event.cpu_time_total)),
            ("CPU time avg", lambda event: time_text(event.cpu_time)),
        ]
        if any(event.cpu_memory_usage for event in self):
            columns += [("CPU Mem", lambda event: memory_text(event.cpu_memory_usage)),
                        ("Self CPU Mem", lambda event: memory_text(event.self_cpu_memory_usage))]
        columns.append(("# of Calls", lambda event: str(event.count)))
        if any(event.input_shapes for event in self):
            columns.append(("Input Shapes", lambda event: shorten(str(event.input_shapes), shapes_width)))
        most = max((event.flops or 0 for event in self), default=0)
        if most:
            unit = min((len(str(most)) - 1) // 3, len(FLOP_UNITS) - 1)
            columns.append((f"Total {FLOP_UNITS[unit]}",
                            lambda event: f"{event.flops / 1000**unit:.3f}" if event.flops else "--"))
        return columns

    def export_chrome_trace(self, path):
        """Writes the timeline for chrome://tracing and Perfetto; compressed if the path ends in ``.gz``."""
        events = [
            {"ph": "X", "cat": event.kind, "name": event.name, "pid": os.getpid(), "tid": event.thread,
             "ts": event.start, "dur": event.cpu_time_total, "args": trace_arguments(event)}
            for event in self
        ]
        with (gzip.open if os.fspath(path).endswith(".gz") else open)(path, "wt") as file:
            json.dump({"traceEvents": events, "displayTimeUnit": "ms"}, file)

    def export_stacks(self, path, metric="self_cpu_time_total"):
        """Writes a line for each call, for flame graphs: its stack, outermost first, and its time."""
        if metric not in METRICS:
            raise ValueError(WRONG_METRIC.format(known=list(METRICS), metric=metric))
        with open(path, "w") as file:
            for event in self:
                if event.stack and int(getattr(event, metric)) > 0:
                    file.write(f"{';'.join(reversed(event.stack))} {int(getattr(event, metric))}\n")

    def __str__(self):
        return self.table()


def sorted_by(events, key):
    """The events sorted by `key` in descending order; unchanged if it is None."""
    if key is None:
        return list(events)
    column = key.replace("cuda", "cpu").replace("device", "cpu")
    if column not in SORTABLE:
        raise AttributeError(WRONG_KEY.format(key=key, known=", ".join(SORTABLE)))
    return sorted(events, key=lambda event: getattr(event, column) or 0, reverse=True)


def with_source(cells, stack, width):
    """The table lines of an event: its own, those of its stack, and a separator."""
    first, *others = [line[-width:] for line in stack] or [""]
    blank = [""] * len(cells)
    return [[*cells, first], *[[*blank, line] for line in others], [*blank, ""]]


def trace_arguments(event):
    """The attributes of a call in the timeline."""
    found = {"Input Dims": event.input_shapes, "Call stack": ";".join(event.stack), "FLOPs": event.flops,
             "Bytes": event.cpu_memory_usage}
    return {name: value for name, value in found.items() if value}


def shorten(text, width):
    """Shortens a text to at most `width` characters."""
    return text if width is None or len(text) <= width else text[:width - 3] + "..."


def time_text(microseconds):
    """A time with a suitable unit."""
    if microseconds >= 1e6:
        return f"{microseconds / 1e6:.3f}s"
    return f"{microseconds / 1e3:.3f}ms" if microseconds >= 1e3 else f"{microseconds:.3f}us"


def memory_text(count):
    """A number of bytes with a suitable unit."""
    for power, unit in ((3, "GB"), (2, "MB"), (1, "KB")):
        if abs(count) >= 1024**power:
            return f"{count / 1024**power:.2f} {unit}"
    return f"{count} B"
