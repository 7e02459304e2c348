"""A profile of a model: a table, and a flame graph as an HTML page."""

import html
import json
from importlib import resources

from ..profiler import profile as Profile
from ..profiler import record_function
from ._run import preserve_state, scalar_of

__all__ = ["ProfileReport", "profile"]


class ProfileReport:
    """The calls in one forward and backward.

    Attributes:
        flame: the call tree: ``{"name", "time" in microseconds, "inside": [...]}``.
    """

    def __init__(self, title, recorded):
        self.title = title
        self._recorded = recorded
        self.flame = nest([*recorded.events(), *recorded.modules()])

    def __str__(self):
        return self._recorded.key_averages().table(sort_by="self_cpu_time_total", row_limit=15)

    def html(self):
        """The flame graph as a self-contained page."""
        page = (resources.files(__package__) / "flame.html").read_text(encoding="utf-8")
        text = json.dumps(self.flame, separators=(",", ":")).replace("<", "\\u003c")
        return page.replace("TITLE", html.escape(self.title)).replace('"DATA"', text)

    def save(self, path):
        """Writes the page to a file."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.html())


def profile(model, *inputs, loss=None, path=None, warmup=1):
    """Profiles one forward and backward of a model, by op, backward node and module.

    Gradients, buffers and the random state are restored afterwards.

    Args:
        model: the model.
        inputs: the model's inputs.
        loss: a function from the output to a scalar; by default the sum of the output.
        path: a file to write the flame graph to.
        warmup: the number of warmup runs.

    Returns:
        a ``ProfileReport``: print it for the table.

    Example::

        >>> report = flambeau.debug.profile(nn.Sequential(nn.Linear(8, 8), nn.ReLU()), flambeau.ones(2, 8))
        >>> [part["name"] for part in report.flame["inside"]]
        ['forward', 'backward']
    """
    def run():
        with record_function("forward"):
            root = scalar_of(model(*inputs), loss)
        if root is not None:
            with record_function("backward"):
                root.backward()

    with preserve_state(model):
        for _ in range(warmup):
            run()
        with Profile() as recorded:
            run()
    report = ProfileReport(type(model).__name__, recorded)
    if path is not None:
        report.save(path)
    return report


def nest(events):
    """Builds the call tree from start and end times."""
    events = sorted(events, key=lambda event: (event.start, -event.end))
    root = {"name": "all", "time": 0.0, "inside": []}
    stack = [(float("inf"), root)]
    for event in events:
        while event.start >= stack[-1][0]:
            stack.pop()
        part = {"name": event.name, "time": round(event.end - event.start, 1), "inside": []}
        stack[-1][1]["inside"].append(part)
        stack.append((event.end, part))
    root["time"] = round(sum(part["time"] for part in root["inside"]), 1)
    return root
