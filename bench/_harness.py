"""Interleaved benchmarks: the same code on Flambeau and on PyTorch, in turns, in one process.

A case is a function of the library that returns the callable to be timed::

    suite = Suite("eager")

    @suite.case("a + b, 4x4")
    def _(t):
        a, b = t.randn(4, 4), t.randn(4, 4)
        return lambda: a + b

    suite.main()

The rounds alternate between the libraries, so a busy machine slows both. Ratios are Flambeau's time
over PyTorch's: below 1, Flambeau is faster.
"""

import datetime
import gc
import os
import platform
import statistics
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

RESULTS = Path(__file__).parent / "results"
ROUNDS = 15
ROUND_SECONDS = 0.01
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
IMPORT_TIMER = "from time import perf_counter as t; a = t(); import {}; print(t() - a)"


@dataclass(frozen=True)
class Result:
    name: str
    ours: list[float]  # seconds a call, one per round
    theirs: list[float]

    @property
    def best_ratio(self) -> float:
        return min(self.ours) / min(self.theirs)

    @property
    def median_ratio(self) -> float:
        return statistics.median(a / b for a, b in zip(self.ours, self.theirs))

    def cells(self) -> list[str]:
        times = [format_seconds(min(self.ours)), format_seconds(min(self.theirs))]
        return [self.name, *times, f"{self.best_ratio:.2f}", f"{self.median_ratio:.2f}"]


@dataclass(frozen=True)
class Failure:
    name: str
    error: Exception

    def cells(self) -> list[str]:
        message = str(self.error).partition("\n")[0].replace("|", "\\|")
        return [self.name, f"{type(self.error).__name__}: {message}", "", "", ""]


class Suite:
    """The cases of one benchmark, whose table is written to ``bench/results/<name>.md``."""

    def __init__(self, name: str, threads: int = 1, notes: tuple[str, ...] = ()):
        if "numpy" in sys.modules:
            raise RuntimeError("numpy is already imported, so its thread count can no longer be set")
        os.environ.update(dict.fromkeys(THREAD_VARIABLES, str(threads)))
        import torch

        import flambeau

        torch.set_num_threads(threads)
        gc.freeze()  # so that collections scan what the cases allocate, not the two libraries

        self.name = name
        self.threads = threads
        self.notes = notes  # below the table
        self.ours = flambeau
        self.theirs = torch
        self.measurements: list[tuple[str, Callable[[], Result]]] = []

    def case(self, name: str):
        """Registers a function ``make(library) -> callable`` as a case."""

        def register(make):
            self.measurements.append((name, lambda: self._compare(name, make)))
            return make

        return register

    def import_time(self, rounds: int = 5):
        """Registers the time of importing each library in a fresh interpreter."""
        self.measurements.append(("import", lambda: compare_imports("flambeau", "torch", rounds)))

    def main(self) -> None:
        """Runs all cases, prints the table and writes it; exits with 1 if a case could not run."""
        header = ["case", "Flambeau", "PyTorch", "ratio of bests", "median ratio"]
        print("  ".join(header))
        rows: list[Result | Failure] = []
        for name, measure in self.measurements:
            try:
                rows.append(measure())
            except Exception as error:  # a case that cannot run yet must not hide the others
                rows.append(Failure(name, error))
            print("  ".join(rows[-1].cells()), flush=True)
        lines = [f"# {self.name}", "", *self._setting(), ""]
        lines += markdown_table(header, [row.cells() for row in rows])
        lines += ["", *[f"- {note}" for note in self.notes]] if self.notes else []
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / f"{self.name}.md").write_text("\n".join(lines) + "\n")
        sys.exit(any(isinstance(row, Failure) for row in rows))

    def _compare(self, name, make) -> Result:
        runs = []
        for library in (self.ours, self.theirs):
            library.manual_seed(0)
            runs.append(make(library))
        check_agreement(*(plain(run()) for run in runs))
        counts = [calls_per_round(run) for run in runs]
        times: tuple[list[float], list[float]] = ([], [])
        for round_ in range(ROUNDS):
            for side in (0, 1) if round_ % 2 == 0 else (1, 0):
                times[side].append(seconds_a_call(runs[side], counts[side]))
        return Result(name, *times)

    def _setting(self) -> list[str]:
        import numpy

        versions = f"Flambeau {self.ours.__version__}, PyTorch {self.theirs.__version__}"
        return [
            f"- {versions}, NumPy {numpy.__version__}, Python {platform.python_version()}",
            f"- {cpu_model()}, {os.cpu_count()} cores, threads={self.threads}, load average {os.getloadavg()[1]:.1f}",
            f"- {datetime.date.today().isoformat()}, {ROUNDS} interleaved rounds",
            "- times are the best of all rounds; ratio = Flambeau / PyTorch, lower is better",
        ]


def compare_imports(ours: str, theirs: str, rounds: int = 5) -> Result:
    """Imports two modules in fresh interpreters, in turns, after one unmeasured import of each."""
    times: dict[str, list[float]] = {ours: [], theirs: []}
    for module in times:
        _import_seconds(module)
    for _ in range(rounds):
        for module, seconds in times.items():
            seconds.append(_import_seconds(module))
    return Result("import", times[ours], times[theirs])


def _import_seconds(module: str) -> float:
    command = [sys.executable, "-I", "-c", IMPORT_TIMER.format(module)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def seconds_a_call(run, calls: int) -> float:
    repeat = range(calls)
    start = perf_counter()
    for _ in repeat:
        run()
    return (perf_counter() - start) / calls


def calls_per_round(run) -> int:
    calls = 1
    while (seconds := seconds_a_call(run, calls) * calls) < ROUND_SECONDS:
        calls = max(2 * calls, int(calls * ROUND_SECONDS / max(seconds, 1e-9)))
        calls = min(calls, 1_000_000)
    return calls


def plain(value):
    """A case's result as Python numbers and lists."""
    return value.detach().tolist()


def check_agreement(ours, theirs) -> None:
    """Refuses to compare the times of two computations with different results."""
    if isinstance(theirs, list):
        if not isinstance(ours, list) or len(ours) != len(theirs):
            raise ValueError("the libraries return different shapes")
        for a, b in zip(ours, theirs):
            check_agreement(a, b)
    elif not abs(ours - theirs) <= 1e-3 * max(1.0, abs(theirs)):
        raise ValueError(f"the libraries return different values: {ours} and {theirs}")


def format_seconds(seconds: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if seconds * scale >= 1:
            return f"{seconds * scale:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def markdown_table(header: list[str], rows: list[list[str]]) -> list[str]:
    rule = ["---", *["---:"] * (len(header) - 1)]
    return [f"| {' | '.join(cells)} |" for cells in (header, rule, *rows)]


def cpu_model() -> str:
    """The processor's name, and its family, since there are virtual machines that give the same name to all."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    fields = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
    name = fields.get("model name") or platform.processor() or platform.machine()
    return f"{name}, family {fields['cpu family']}" if "cpu family" in fields else name
