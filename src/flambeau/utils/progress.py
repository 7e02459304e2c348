"""A progress bar: percentage, count, rate, remaining time, and metrics such as the loss."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Iterator
from time import monotonic
from typing import Any, Generic, TextIO, TypeVar

__all__ = ["Progress"]

T = TypeVar("T")

INTERVAL = 0.1  # seconds between updates
CLEAR = "\r\x1b[K"


class Progress(Generic[T]):
    """Iterates over something and shows its progress on a terminal; elsewhere, it shows nothing.

    Args:
        iterable: the iterable, such as a DataLoader.
        description: the prefix of the line.
        total: the number of steps; by default the length of the iterable, if it has one.
        file: the output stream; by default the standard error stream.

    Example::

        >>> from flambeau.utils.progress import Progress
        >>> loader = Progress(torch.utils.data.DataLoader(range(3)), "epoch 1")
        >>> for batch in loader:
        ...     loader.update(loss=batch.float().mean())
    """

    def __init__(self, iterable: Iterable[T], description: str = "", total: int | None = None,
                 file: TextIO | None = None) -> None:
        self.iterable = iterable
        self.description = description
        self.total = _length_of(iterable) if total is None else total
        self.file = sys.stderr if file is None else file
        self.visible = self.file is not None and self.file.isatty()
        self.count = 0
        self.numbers: dict[str, Any] = {}

    def __len__(self) -> int:
        return len(self.iterable)  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[T]:
        if not self.visible:
            yield from self.iterable
            return
        self.count, self._start, self._drawn = 0, monotonic(), 0.0
        try:
            for item in self.iterable:
                yield item
                self.count += 1
                if monotonic() - self._drawn >= INTERVAL:
                    self._draw()
        finally:
            self._draw()
            self.file.write("\n")

    def update(self, **numbers: Any) -> None:
        """Sets the metrics to show, such as ``loss``. Tensors are only read when the line is drawn."""
        self.numbers.update(numbers)

    def _draw(self):
        self._drawn = monotonic()
        width = shutil.get_terminal_size().columns - 1
        self.file.write(CLEAR + self._line(self._drawn - self._start)[:width])
        self.file.flush()

    def _line(self, seconds):
        rate = self.count / seconds if seconds > 0 else 0.0
        parts = [self.description] if self.description else []
        if self.total:
            parts.append(f"{self.count / self.total:4.0%}")
        parts.append(str(self.count) if self.total is None else f"{self.count}/{self.total}")
        parts += [f"{rate:.1f}/s", _clock(seconds)]
        if self.total is not None and rate and self.count < self.total:
            parts[-1] += f"<{_clock((self.total - self.count) / rate)}"
        return "  ".join(parts + [f"{name} {_short(value)}" for name, value in self.numbers.items()])


def _length_of(iterable):
    try:
        return len(iterable)
    except TypeError:  # no length
        return None


def _clock(seconds):
    minutes, seconds = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


def _short(value):
    if hasattr(value, "item"):
        value = value.item()
    return f"{value:.4g}" if isinstance(value, float) else str(value)
