"""Whole models on the CPU: a training step and a forward, Flambeau and PyTorch.

Each library runs in its own process, so that their threads do not compete; rounds alternate. ``--busy N`` keeps N other
processes busy meanwhile, as on a shared machine. ``--models`` takes substrings of names. A table takes no more than
about ``--minutes``: slow models get fewer rounds, but at least two::

    python bench/cpu.py --models LeNet ResNet-18
    python bench/cpu.py --busy 2
    python bench/cpu.py --scaling
"""

import argparse
import datetime
import importlib
import importlib.metadata
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
from pathlib import Path
from time import perf_counter, sleep

from _harness import RESULTS, THREAD_VARIABLES, cpu_model, format_seconds, markdown_table
from _models import MODELS, SCALED

LIBRARIES = ("flambeau", "torch")
KINDS = ("train", "inference")
BUSY = "while True: pass"
SETTLING = 0.3  # seconds before a turn: the threads of the other library may spin for a while after theirs
LEAST_ROUNDS = 2  # one started by each library


# ---- the process of one library: reads jobs from stdin, writes a line of JSON for each


def serve(name, model, threads):
    t = importlib.import_module(name)
    t.set_num_threads(threads)
    t.manual_seed(0)
    runs = dict(zip(KINDS, maker_of(model)(t), strict=True))
    answer(loss=float(runs["train"]().item()))
    runs["train"]()
    runs["inference"]()
    for line in sys.stdin:
        kind, least = line.split()
        seconds = seconds_a_call(runs[kind], float(least))
        answer(seconds=seconds, peak=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


def maker_of(model):
    """The function that creates a model; scaled models have their size after a colon."""
    family, _, size = model.partition(":")
    return SCALED[family][int(size)] if size else MODELS[model]


def answer(**values):
    print(json.dumps(values), flush=True)


def seconds_a_call(run, least):
    """The mean time of a call, over as many calls as take `least` seconds together."""
    calls, start = 0, perf_counter()
    while (passed := perf_counter() - start) < least or not calls:
        run()
        calls += 1
    return passed / calls if calls > 1 else perf_counter() - start


# ---- the process that compares


class Library:
    """The other end of ``serve``."""

    def __init__(self, name, model, threads):
        env = os.environ | dict.fromkeys(THREAD_VARIABLES, str(threads))
        command = [sys.executable, __file__, "--serve", name, model, "--threads", str(threads)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)
        self.loss = self.read()["loss"]

    def read(self):
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the process ended with {self.process.wait()}")
        return json.loads(line)

    def time(self, kind, seconds):
        sleep(SETTLING)
        self.process.stdin.write(f"{kind} {seconds}\n")
        self.process.stdin.flush()
        return self.read()

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Budget:
    """The time for a table, shared evenly among the remaining comparisons."""

    def __init__(self, minutes, comparisons):
        self.end = perf_counter() + 60 * minutes
        self.comparisons = comparisons

    def next_end(self):
        """When the next comparison should be done."""
        now = perf_counter()
        share = max(self.end - now, 0.0) / self.comparisons
        self.comparisons -= 1
        return now + share


def compare(model, options, end, threads=None, kinds=KINDS):
    """{kind: (our seconds, theirs), one each per round}, (our peak memory, theirs).

    No round starts that would end after `end`, if it takes as long as the one before.
    """
    libraries = []
    try:
        for name in LIBRARIES:
            libraries.append(Library(name, model, threads or options.threads))
        ours, theirs = [library.loss for library in libraries]
        if not abs(ours - theirs) <= 1e-3 * max(1.0, abs(theirs)):
            raise ValueError(f"the libraries have different losses: {ours} and {theirs}")
        times, peaks = {kind: ([], []) for kind in kinds}, [0, 0]
        start = perf_counter()
        for round_ in range(options.rounds):
            before, start = start, perf_counter()
            if round_ >= LEAST_ROUNDS and start + (start - before) > end:
                break
            for kind in kinds:
                for side in (0, 1) if round_ % 2 == 0 else (1, 0):
                    result = libraries[side].time(kind, options.seconds)
                    times[kind][side].append(result["seconds"])
                    peaks[side] = result["peak"]
        return times, peaks
    finally:
        for library in libraries:
            library.close()


def median_ratio(times):
    return statistics.median(a / b for a, b in zip(*times, strict=True))


def cells_of(model, times, peaks):
    cells = [model]
    for kind in KINDS:
        cells += [format_seconds(statistics.median(side)) for side in times[kind]]
        cells.append(f"{median_ratio(times[kind]):.2f}")
    return [*cells, f"{peaks[0] / peaks[1]:.2f}"]


def setting(options):
    return [
        f"- {cpu_model()}, {os.cpu_count()} cores, threads={options.threads}, load average {os.getloadavg()[0]:.1f}, "
        f"other busy processes: {options.busy}",
        f"- PyTorch {importlib.metadata.version('torch')}, Python {platform.python_version()}, "
        f"{datetime.date.today().isoformat()}, {LEAST_ROUNDS} to {options.rounds} interleaved rounds, "
        "one process per library",
        "- times are medians; ratio = median of Flambeau / PyTorch per round, memory = ratio of the peaks; "
        "lower is better",
    ]


def main(options):
    header = ["model", "train", "PyTorch", "ratio", "inference", "PyTorch", "ratio", "memory"]
    chosen = [model for model in MODELS if not options.models or any(part in model for part in options.models)]
    busy = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(options.busy)]
    rows, ratios, failed = [], {kind: [] for kind in KINDS}, False
    budget = Budget(options.minutes, len(chosen))
    print("  ".join(header))
    try:
        for model in chosen:
            try:
                times, peaks = compare(model, options, budget.next_end())
            except Exception as error:  # a model that cannot run must not hide the others
                failed = True
                rows.append([model, f"{type(error).__name__}: {error}", *[""] * 6])
            else:
                rows.append(cells_of(model, times, peaks))
                for kind in KINDS:
                    ratios[kind].append(median_ratio(times[kind]))
            print("  ".join(rows[-1]), flush=True)
    finally:
        for process in busy:
            process.kill()
            process.wait()
    if ratios["train"]:
        means = [f"{statistics.geometric_mean(ratios[kind]):.2f}" for kind in KINDS]
        rows.append(["geometric mean", "", "", means[0], "", "", means[1], ""])
        print("  ".join(rows[-1]))
    if not options.models:
        name = "cpu_busy" if options.busy else "cpu"
        lines = [f"# {name}", "", *setting(options), "", *markdown_table(header, rows)]
        (Path(RESULTS) / f"{name}.md").write_text("\n".join(lines) + "\n")
    sys.exit(failed)


# ---- how times grow


def step_times(model, options, budget, threads=None):
    """Our median seconds of a training step, and theirs."""
    times, _ = compare(model, options, budget.next_end(), threads, ("train",))
    return [statistics.median(side) for side in times["train"]]


def growth_rows(options, budget):
    """Steps of models of several sizes; the last column is the time per unit of size, relative to the first."""
    for family, sizes in SCALED.items():
        units = None
        for size in sizes:
            ours, theirs = step_times(f"{family}:{size}", options, budget)
            units = units or (ours / size, theirs / size)
            growth = [f"{seconds / size / unit:.2f}" for seconds, unit in zip((ours, theirs), units, strict=True)]
            yield [family, str(size), format_seconds(ours), format_seconds(theirs), f"{ours / theirs:.2f}", *growth]


def thread_rows(options, budget):
    """Steps with one thread and with two, and the speedup."""
    for model in MODELS:
        one, two = (step_times(model, options, budget, threads) for threads in (1, 2))
        times = [format_seconds(seconds) for pair in zip(one, two, strict=True) for seconds in pair]
        yield [model, *times, *[f"{a / b:.2f}" for a, b in zip(one, two, strict=True)]]


def scaling(options):
    budget = Budget(options.minutes, sum(map(len, SCALED.values())) + 2 * len(MODELS))
    growth = ["model", "size", "train", "PyTorch", "ratio", "per unit", "PyTorch"]
    threads = ["model", "1 thread", "2 threads", "PyTorch, 1", "PyTorch, 2", "speed-up", "PyTorch"]
    tables = [(growth, growth_rows(options, budget)), (threads, thread_rows(options, budget))]
    lines = ["# cpu_scaling", "", *setting(options)]
    for header, found in tables:
        rows, before = [], lines
        print("  ".join(header))
        for row in found:
            rows.append(row)
            print("  ".join(row), flush=True)
            lines = [*before, "", *markdown_table(header, rows)]
            (Path(RESULTS) / "cpu_scaling.md").write_text("\n".join(lines) + "\n")  # a long run may be interrupted


def read_options():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--models", nargs="*", help="substrings of names; by default all, and the table is written")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--minutes", type=float, default=8, help="approximate time for a table")
    parser.add_argument("--seconds", type=float, default=0.5, help="minimum time that a library runs in a round")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--busy", type=int, default=0, help="number of other busy processes")
    parser.add_argument("--scaling", action="store_true", help="times by batch, depth and threads instead")
    parser.add_argument("--serve", nargs=2, metavar=("LIBRARY", "MODEL"), help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    options = read_options()
    if options.serve:
        serve(*options.serve, options.threads)
    elif options.scaling:
        scaling(options)
    else:
        main(options)
