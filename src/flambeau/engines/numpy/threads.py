"""The number of threads of native kernels and BLAS.

The extension has one thread pool. It splits large matrix products, and multiplies the parts by its own kernels or,
where that is faster, by NumPy's OpenBLAS with one thread per part. Only these calls are affected: other products of the
program keep OpenBLAS's own threads, unless ``set_num_threads`` is called.
"""

import ctypes
import glob
import math
import os

import numpy as np

from .. import NUMPY as engine


def default_count():
    """``OMP_NUM_THREADS``, or the cores that this process may use."""
    first = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    if first.isdecimal() and int(first) > 0:
        return int(first)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, quota() or cores)


def quota():
    """The cores that the control group of this process may use, rounded up; None if it has no limit."""
    limits = []
    for folder in group_folders():
        limits += [limit for limit in (limit_of_v2(folder), limit_of_v1(folder)) if limit is not None]
    return max(1, math.ceil(min(limits))) if limits else None


def group_folders():
    """The folders of this process's control group and its parents, as seen from inside a container or outside."""
    folders = ["/sys/fs/cgroup", "/sys/fs/cgroup/cpu"]
    for line in (read("/proc/self/cgroup") or "").splitlines():
        number, controllers, path = line.split(":", 2)
        if number == "0" or "cpu" in controllers.split(","):
            root = "/sys/fs/cgroup" if number == "0" else "/sys/fs/cgroup/cpu"
            while path.strip("/"):
                folders.append(root + path)
                path = os.path.dirname(path)
    return folders


def limit_of_v2(folder):
    allowed, _, period = (read(folder + "/cpu.max") or "max").partition(" ")
    return None if allowed.strip() == "max" else int(allowed) / int(period)


def limit_of_v1(folder):
    allowed, period = read(folder + "/cpu.cfs_quota_us"), read(folder + "/cpu.cfs_period_us")
    return None if allowed is None or period is None or int(allowed) < 0 else int(allowed) / int(period)


def read(path):
    try:
        with open(path) as file:
            return file.read().strip()
    except OSError:
        return None


def blas_paths():
    """The OpenBLAS that is bundled with NumPy; another BLAS keeps its own number of threads."""
    root = os.path.dirname(np.__file__)
    return glob.glob(root + ".libs/*openblas*") + glob.glob(root + "/.dylibs/*openblas*")


class Threads:
    """The maximum number of threads per operation."""

    def __init__(self):
        self.count = default_count()
        self.kernels = None  # the extension, if it is used

    def connect(self, kernels):
        """Sets the thread count in the extension, and passes it NumPy's BLAS."""
        self.kernels = kernels
        kernels.set_threads(self.count)
        any(kernels.use_blas(path) for path in blas_paths())

    def set(self, count):
        self.count = count
        if self.kernels is not None:
            self.kernels.set_threads(count)
            self.kernels.set_blas_threads(count)
            return
        for path in blas_paths():
            setter = getattr(ctypes.CDLL(path), "scipy_openblas_set_num_threads64_", None)
            if setter is not None:
                setter(count)


threads = Threads()


@engine.kernel
def thread_count():
    """The maximum number of threads per operation."""
    return threads.count


@engine.kernel
def set_thread_count(count):
    """Sets the maximum number of threads per operation, for the pool and for OpenBLAS itself."""
    threads.set(count)
