"""Single convolutions on the CPU, forward and both gradients: GFLOP/s compared with PyTorch's and the machine's peak.

Each library runs in its own process, rounds alternate, and the best of all rounds counts. GFLOP/s are those of direct
convolution, whatever the algorithm, so an algorithm with fewer multiplications can exceed the peak, which is measured
by a loop of multiply-adds only. ``--cases`` takes substrings of names::

    python bench/conv.py --cases 3x3 --threads 1 2
"""

import argparse
import ctypes
import datetime
import importlib
import json
import math
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from time import perf_counter

from _harness import RESULTS, THREAD_VARIABLES, cpu_model, markdown_table

LIBRARIES = ("flambeau", "torch")
KINDS = ("forward", "to the input", "to the weight")

# batch, channels, out channels, side, kernel, stride: the layers of ResNet-18 on 32x32 and ResNet-50 on 224x224, LeNet
SHAPES = [
    (16, 64, 64, 32, 3, 1), (16, 128, 128, 16, 3, 1), (16, 256, 256, 8, 3, 1), (16, 512, 512, 4, 3, 1),
    (16, 64, 128, 32, 3, 2), (16, 64, 128, 32, 1, 2), (4, 64, 64, 56, 3, 1), (4, 128, 128, 28, 3, 1),
    (4, 256, 256, 14, 3, 1), (4, 512, 512, 7, 3, 1), (4, 64, 256, 56, 1, 1), (4, 256, 64, 56, 1, 1),
    (4, 512, 128, 28, 1, 1), (4, 256, 1024, 14, 1, 1), (4, 512, 2048, 7, 1, 1), (4, 128, 128, 56, 3, 2),
    (4, 3, 64, 224, 7, 2), (64, 1, 32, 28, 3, 1), (64, 32, 64, 14, 3, 1),
]
CASES = {f"{n}x{c}x{s}x{s} to {out}, {k}x{k}, stride {stride}": (n, c, out, s, k, stride)
         for n, c, out, s, k, stride in SHAPES}

PEAK = """
#include <time.h>
#if defined(__AVX512F__)
typedef float vector __attribute__((vector_size(64)));
#elif defined(__AVX2__)
typedef float vector __attribute__((vector_size(32)));
#else
typedef float vector __attribute__((vector_size(16)));
#endif
double peak(void)
{
    vector a = {0}, b = {0}, s0 = a, s1 = a, s2 = a, s3 = a, s4 = a, s5 = a, s6 = a, s7 = a, s8 = a, s9 = a;
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (long i = 0; i < 2000000; i++) {
        s0 = s0 * a + b; s1 = s1 * a + b; s2 = s2 * a + b; s3 = s3 * a + b; s4 = s4 * a + b;
        s5 = s5 * a + b; s6 = s6 * a + b; s7 = s7 * a + b; s8 = s8 * a + b; s9 = s9 * a + b;
        __asm__ volatile("" : "+x"(s0), "+x"(s1), "+x"(s2), "+x"(s3), "+x"(s4));
        __asm__ volatile("" : "+x"(s5), "+x"(s6), "+x"(s7), "+x"(s8), "+x"(s9));
    }
    clock_gettime(CLOCK_MONOTONIC, &to);
    return 2e6 * 20 * sizeof(vector) / 4 / ((to.tv_sec - from.tv_sec) * 1e9 + (to.tv_nsec - from.tv_nsec));
}
"""


def peak(threads):
    """GFLOP/s of multiply-adds in registers on this many threads; None without a compiler."""
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder) / "peak.c", Path(folder) / "peak.so"
        source.write_text(PEAK)
        command = ["cc", "-O2", "-march=native", "-ffp-contract=fast", "-shared", "-fPIC", source, "-o", library]
        try:
            subprocess.run(command, check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            return None
        function = ctypes.CDLL(str(library)).peak
    function.restype = ctypes.c_double
    rates = [[] for _ in range(threads)]

    def run(own):
        own.extend(function() for _ in range(20))

    workers = [threading.Thread(target=run, args=(own,)) for own in rates]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return sum(map(max, rates))


# ---- the process of one library: reads jobs from stdin, writes seconds per call


def runs_of(t, case):
    n, c, out, side, kernel, stride = CASES[case]
    t.manual_seed(0)
    x, w = t.randn(n, c, side, side), t.randn(out, c, kernel, kernel)

    def convolve(x, w):
        return t.nn.functional.conv2d(x, w, stride=stride, padding=kernel // 2)

    g = t.randn(*convolve(x, w).shape)

    def backward_to(leaf, convolve_leaf):
        y = convolve_leaf(leaf.requires_grad_())
        return lambda: t.autograd.grad(y, leaf, g, retain_graph=True)

    return dict(zip(KINDS, (
        lambda: convolve(x, w),
        backward_to(x.clone(), lambda leaf: convolve(leaf, w)),
        backward_to(w.clone(), lambda leaf: convolve(x, leaf)),
    ), strict=True))


def serve(name, threads):
    t = importlib.import_module(name)
    t.set_num_threads(threads)
    case = runs = None
    for line in sys.stdin:
        wanted, kind, seconds = json.loads(line)
        if wanted != case:
            case, runs = wanted, runs_of(t, wanted)
            for run in runs.values():
                run()
        print(best_of(runs[kind], seconds), flush=True)


def best_of(run, seconds):
    best, end = math.inf, perf_counter() + seconds
    while perf_counter() < end or best == math.inf:
        start = perf_counter()
        run()
        best = min(best, perf_counter() - start)
    return best


# ---- the process that compares


class Library:
    """The other end of ``serve``."""

    def __init__(self, name, threads):
        env = os.environ | dict.fromkeys(THREAD_VARIABLES, str(threads))
        command = [sys.executable, __file__, "--serve", name, str(threads)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)

    def time(self, *what):
        self.process.stdin.write(json.dumps(what) + "\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def compare(threads, cases, options):
    """Rows (case, kind, GFLOP/s of ours and of theirs, our share of the peak, ratio of times) and the ratios."""
    limit, rows, ratios = peak(threads), [], []
    libraries = [Library(name, threads) for name in LIBRARIES]
    for case in cases:
        n, c, out, side, kernel, stride = CASES[case]
        work = 2e-9 * n * c * out * kernel**2 * ((side - 1) // stride + 1) ** 2
        for kind in KINDS:
            times = [min(column) for column in zip(*[
                [library.time(case, kind, options.seconds) for library in libraries] for _ in range(options.rounds)
            ])]
            ratios.append(times[0] / times[1])
            share = f"{work / times[0] / limit:.0%}" if limit else ""
            rates = [f"{work / seconds:.0f}" for seconds in times]
            cells = [case, kind, str(threads), *rates, share, f"{ratios[-1]:.2f}"]
            rows.append(cells)
            print("  ".join(cells), flush=True)
    for library in libraries:
        library.close()
    return limit, rows, ratios


def main(options):
    cases = [case for case in CASES if not options.cases or any(part in case for part in options.cases)]
    header = ["case", "what", "threads", "Flambeau GFLOP/s", "PyTorch GFLOP/s", "share of the peak", "ratio of times"]
    lines, table = [], []
    print("  ".join(header))
    for threads in options.threads:
        limit, rows, ratios = compare(threads, cases, options)
        table += rows
        lines.append(f"- {threads} threads: peak {limit or math.nan:.0f} GFLOP/s, geometric mean of the ratios "
                     f"{statistics.geometric_mean(ratios):.2f}")
        print(lines[-1])
    if not options.cases:
        about = f"- {cpu_model()}, Python {platform.python_version()}, {datetime.date.today().isoformat()}, best of " \
                f"{options.rounds} interleaved rounds"
        text = ["# conv", "", about, *lines, "", *markdown_table(header, table)]
        (RESULTS / "conv.md").write_text("\n".join(text) + "\n")


def read_options():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cases", nargs="*", help="substrings of names; by default all, and the table is written")
    parser.add_argument("--threads", nargs="*", type=int, default=[1, 2])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.1, help="minimum time that a library runs in a round")
    parser.add_argument("--serve", nargs=2, metavar=("LIBRARY", "THREADS"), help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    options = read_options()
    if options.serve:
        serve(options.serve[0], int(options.serve[1]))
    else:
        main(options)
