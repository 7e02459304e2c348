"""Microbenchmarks: ``Timer("x + y", globals={...}).blocked_autorange()``."""

from __future__ import annotations

import statistics
import timeit
from dataclasses import dataclass, field

from ..functions.settings import get_num_threads, set_num_threads

__all__ = ["Measurement", "Timer"]

_UNITS = (("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9))


@dataclass
class Measurement:
    """The times of several runs, in seconds, with a description of the statement.

    Each of ``times`` is the time of one call, averaged over a run of `number_per_run` calls.
    """

    number_per_run: int
    raw_times: list[float]
    stmt: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    num_threads: int = 1
    metadata: dict = field(default_factory=dict)

    @property
    def times(self):
        """Seconds per call, for each run."""
        return [time / self.number_per_run for time in self.raw_times]

    @property
    def mean(self):
        """The mean of the times."""
        return statistics.mean(self.times)

    @property
    def median(self):
        """The median of the times."""
        return statistics.median(self.times)

    @property
    def iqr(self):
        """The interquartile range of the times."""
        if len(self.times) < 2:
            return 0.0
        low, _, high = statistics.quantiles(self.times, n=4, method="inclusive")
        return high - low

    @property
    def title(self):
        """A short name of what was measured."""
        return self.label or self.stmt

    def __repr__(self):
        unit, size = next(((u, s) for u, s in _UNITS if self.median >= s), _UNITS[-1])
        runs = f"{len(self.raw_times)} measurement{'s' * (len(self.raw_times) > 1)}, {self.number_per_run} runs each"
        threads = f"{self.num_threads} thread{'s' * (self.num_threads > 1)}"
        median = f"{self.median / size:.2f} {unit} (median)"
        return f"<{__name__}.Measurement: {self.title}>\n  {median}\n  {runs}, {threads}"


class Timer:
    """Times a statement, by default with one thread.

    Args:
        stmt: the code to time.
        setup: code to run once before.
        globals: the names that both can use.
        num_threads: the number of threads the statement may use.
    """

    def __init__(self, stmt="pass", setup="pass", global_setup="", timer=timeit.default_timer, globals=None,
                 label=None, sub_label=None, description=None, env=None, num_threads=1, language=None):
        self._about = {"stmt": stmt, "label": label, "sub_label": sub_label, "description": description,
                       "num_threads": num_threads}
        self._timer = timeit.Timer(stmt, setup, timer, dict(globals or {}))

    def _run(self, number):
        before = get_num_threads()
        set_num_threads(self._about["num_threads"])
        try:
            return self._timer.timeit(number)
        finally:
            set_num_threads(before)

    def timeit(self, number=1000000):
        """Times a single run of `number` calls, after a short warmup."""
        self._run(max(number // 100, 2))
        return Measurement(number, [self._run(number)], **self._about)

    def blocked_autorange(self, callback=None, min_run_time=0.2):
        """Times runs of enough calls to make the clock's overhead negligible, for at least `min_run_time` seconds."""
        number, taken = 1, 0.0
        while (taken := self._run(number)) < min_run_time / 1000:
            number *= 10
        times = [taken]
        while sum(times) < min_run_time:
            times.append(self._run(number))
            if callback is not None:
                callback(number, times[-1])
        return Measurement(number, times, **self._about)

    def adaptive_autorange(self, threshold=0.1, *, min_run_time=0.01, max_run_time=10.0, callback=None):
        """Repeats runs until the interquartile range of the times is less than `threshold` of their median."""
        found = self.blocked_autorange(callback, min_run_time)
        while len(found.raw_times) < 3 or found.iqr > threshold * found.median:
            if sum(found.raw_times) > max_run_time:
                break
            found.raw_times.append(self._run(found.number_per_run))
        return found
