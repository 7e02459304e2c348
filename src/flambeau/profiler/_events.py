"""What was recorded, in lists and tables."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field

WRONG_KEY = "there is no column {key!r} to sort by; there are {known}"
COLUMNS = {
    "self_cpu_time_total": "Self CPU", "cpu_time_total": "CPU total", "cpu_time": "CPU time avg", "count": "# of Calls",
}


@dataclass
class FunctionEvent:
    """One call: its name, when it began and ended in microseconds, and what was called in it."""

    name: str
    start: float
    end: float
    thread: int
    kind: str  # "op", "backward", "module" or "user"
    input_shapes: list = field(default_factory=list)
    self_cpu_time_total: float = 0.0  # without what was called in it

    @property
    def key(self):
        """The name."""
        return self.name

    count = 1

    @property
    def cpu_time_total(self):
        """Microseconds from begin to end."""
        return self.end - self.start

    @property
    def cpu_time(self):
        """The same: there was one call."""
        return self.end - self.start


@dataclass
class EventAverage:
    """Calls of one name together."""

    key: str
    count: int = 0
    cpu_time_total: float = 0.0
    self_cpu_time_total: float = 0.0
    input_shapes: list = field(default_factory=list)

    @property
    def cpu_time(self):
        """Microseconds of one call, on average."""
        return self.cpu_time_total / self.count

    def add(self, event):
        """Counts one more call."""
        self.count += 1
        self.cpu_time_total += event.cpu_time_total
        self.self_cpu_time_total += event.self_cpu_time_total


class EventList(list):
    """Calls, or averages of them."""

    @property
    def self_cpu_time_total(self):
        """Microseconds of all of them, each moment counted once."""
        return sum(event.self_cpu_time_total for event in self)

    def key_averages(self, group_by_input_shape=False, group_by_stack_n=0):
        """The calls of one name together, and of one shape if wanted."""
        found = {}
        for event in self:
            shapes = event.input_shapes if group_by_input_shape else []
            found.setdefault((event.name, str(shapes)), EventAverage(event.name, input_shapes=shapes)).add(event)
        return EventList(found.values())

    def total_average(self):
        """All calls together."""
        total = EventAverage("Total")
        for event in self:
            total.add(event)
        return total

    def table(self, sort_by=None, row_limit=100, max_src_column_width=75, max_name_column_width=55,
              max_shapes_column_width=80, header=None, top_level_events_only=False):
        """The list as text, with the most of `sort_by` first."""
        rows = list(self)
        if sort_by is not None:
            key = sort_by.replace("cuda", "cpu").replace("device", "cpu")
            if key not in COLUMNS:
                raise AttributeError(WRONG_KEY.format(key=sort_by, known=", ".join(COLUMNS)))
            rows.sort(key=lambda event: getattr(event, key), reverse=True)
        total = self.self_cpu_time_total or 1.0
        lines = [["Name", "Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg", "# of Calls"]]
        for event in rows[:row_limit] if row_limit >= 0 else rows:
            lines.append([
                event.key[:max_name_column_width], f"{event.self_cpu_time_total / total:.2%}",
                time_text(event.self_cpu_time_total), f"{event.cpu_time_total / total:.2%}",
                time_text(event.cpu_time_total), time_text(event.cpu_time), str(event.count),
            ])
        widths = [max(len(line[i]) for line in lines) for i in range(7)]
        rule = "  ".join("-" * width for width in widths)
        text = ["  ".join(cell.rjust(width) for cell, width in zip(line, widths)) for line in lines]
        end = f"Self CPU time total: {time_text(self.self_cpu_time_total)}"
        return "\n".join([*([header] if header else []), rule, text[0], rule, *text[1:], rule, end, ""])

    def export_chrome_trace(self, path):
        """Writes the timeline for chrome://tracing and Perfetto."""
        events = [
            {"ph": "X", "cat": event.kind, "name": event.name, "pid": os.getpid(), "tid": event.thread,
             "ts": event.start, "dur": event.cpu_time_total,
             "args": {"Input Dims": event.input_shapes} if event.input_shapes else {}}
            for event in self
        ]
        with open(path, "w") as file:
            json.dump({"traceEvents": events, "displayTimeUnit": "ms"}, file)

    def __str__(self):
        return self.table()


def time_text(microseconds):
    """A time with a fitting unit."""
    if microseconds >= 1e6:
        return f"{microseconds / 1e6:.3f}s"
    return f"{microseconds / 1e3:.3f}ms" if microseconds >= 1e3 else f"{microseconds:.3f}us"
