"""Tracks the norms of parameters, gradients and updates during training."""

from __future__ import annotations

from typing import NamedTuple

from .._modes import no_grad
from ..optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

__all__ = ["Sample", "watch"]

BARS = "▁▂▃▄▅▆▇█"


class Sample(NamedTuple):
    """The norms of a parameter at one optimizer step."""

    step: int
    weight: float
    grad: float | None  # None: no gradient
    update: float

    @property
    def ratio(self):
        """The norm of the update relative to that of the weight; about 1e-3 is typical."""
        return self.update / self.weight if self.weight else float("inf") if self.update else 0.0


class watch:
    """Records the norms of a model's parameters at the steps of any optimizer that updates them.

    It is active from construction until ``remove()`` or the end of its ``with`` block.

    Args:
        model: the model.
        every: the interval between samples, in steps. A sample copies the parameters to measure the update.

    Attributes:
        history: the samples of each parameter, by name.

    Example::

        >>> model = nn.Linear(2, 1)
        >>> optimizer = flambeau.optim.SGD(model.parameters(), lr=0.1)
        >>> with flambeau.debug.watch(model) as norms:
        ...     for _ in range(3):
        ...         model(flambeau.ones(1, 2)).sum().backward()
        ...         optimizer.step()
        >>> [round(sample.grad, 3) for sample in norms.history["weight"]]
        [1.414, 2.828, 4.243]
    """

    def __init__(self, model, every=1):
        if every < 1:
            raise ValueError(f"watch: every must be at least 1, got every={every}")
        self.history = {name: [] for name, _ in model.named_parameters()}
        self._model, self._every = model, every
        self._step = 0
        self._before = {}
        self._handles = [register_optimizer_step_pre_hook(self._keep), register_optimizer_step_post_hook(self._sample)]

    def remove(self):
        """Stops recording."""
        for handle in self._handles:
            handle.remove()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.remove()

    def _named_parameters(self, optimizer):
        """The (name, parameter) pairs of the model that belong to an optimizer."""
        held = {id(p) for group in optimizer.param_groups for p in group["params"]}
        return [(name, p) for name, p in self._model.named_parameters() if id(p) in held]

    def _keep(self, optimizer, args, kwargs):
        if self._step % self._every == 0:
            self._before = {name: p.detach().clone() for name, p in self._named_parameters(optimizer)}

    @no_grad()
    def _sample(self, optimizer, args, kwargs):
        pairs = self._named_parameters(optimizer)
        for name, p in pairs:
            if name in self._before:
                old = self._before.pop(name)
                grad = None if p.grad is None else p.grad.norm().item()
                samples = self.history.setdefault(name, [])
                samples.append(Sample(self._step, old.norm().item(), grad, (p - old).norm().item()))
        self._step += bool(pairs)

    def __str__(self):
        """A table of each parameter's latest norms and the history of its gradient norm."""
        rows = [("parameter", "weight", "gradient", "update/weight", "gradient over time")]
        for name, samples in self.history.items():
            if not samples:
                rows.append((name, "-", "-", "-", "no step has changed it"))
                continue
            last = samples[-1]
            grad = "none" if last.grad is None else f"{last.grad:.3g}"
            course = curve([s.grad or 0.0 for s in samples])
            rows.append((name, f"{last.weight:.3g}", grad, f"{last.ratio:.1e}", course))
        return table(rows)


def curve(values, width=40):
    """Draws numbers as a sparkline."""
    values = values[:: max(1, -(-len(values) // width))]
    finite = [v for v in values if v - v == 0]
    top = max(finite, default=0.0) or 1.0
    return "".join(BARS[min(int(v / top * 7.999), 7)] if v - v == 0 else "!" for v in values)


def table(rows):
    """Formats rows as lines, with the first and last columns left-aligned and the others right-aligned."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for first, *middle, last in rows:
        cells = [first.ljust(widths[0]), *(c.rjust(w) for c, w in zip(middle, widths[1:])), last]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)
