"""The norms of parameters, gradients and updates over the steps of a training."""

from __future__ import annotations

from typing import NamedTuple

from .._modes import no_grad
from ..optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

__all__ = ["Sample", "watch"]

BARS = "▁▂▃▄▅▆▇█"


class Sample(NamedTuple):
    """The norms of one parameter at one step of the optimizer."""

    step: int
    weight: float
    grad: float | None  # None: it had no gradient
    update: float

    @property
    def ratio(self):
        """How large the update was beside the weight; around 1e-3 is usual."""
        return self.update / self.weight if self.weight else float("inf") if self.update else 0.0


class watch:
    """Keeps a history of the norms of a model's parameters, taken at the steps of any optimizer that holds them.

    It works from when it is made until it is removed, by ``remove()`` or at the end of its ``with`` block.

    Args:
        model: the model.
        every: how many steps lie between two samples. A sample copies the parameters, to measure the update.

    Attributes:
        history: for each name of a parameter the list of its samples.

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
            raise ValueError(f"watch takes a sample every 1 or more steps, got every={every}")
        self.history = {name: [] for name, _ in model.named_parameters()}
        self._model, self._every = model, every
        self._step = 0
        self._before = {}
        self._handles = [
            register_optimizer_step_pre_hook(self._keep), register_optimizer_step_post_hook(self._sample),
        ]

    def remove(self):
        """Takes no more samples."""
        for handle in self._handles:
            handle.remove()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.remove()

    def _named_parameters(self, optimizer):
        """The (name, parameter) pairs of the model that an optimizer holds."""
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
        """A table: for each parameter its last norms, and the course of its gradient's."""
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
    """Numbers as a line of bars."""
    values = values[:: max(1, -(-len(values) // width))]
    finite = [v for v in values if v - v == 0]
    top = max(finite, default=0.0) or 1.0
    return "".join(BARS[min(int(v / top * 7.999), 7)] if v - v == 0 else "!" for v in values)


def table(rows):
    """Rows of words as lines, the first column left and the others right, but for the last."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for first, *middle, last in rows:
        cells = [first.ljust(widths[0]), *(c.rjust(w) for c, w in zip(middle, widths[1:])), last]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)
