"""Several processes that run one function, and what they raise."""

from __future__ import annotations

import contextlib
import ctypes
import multiprocessing
import multiprocessing.connection
import os
import signal
import sys
import tempfile
import time
import traceback
import warnings

RAISED = "\n\n-- Process {index} terminated with the following error:\n{text}"
BY_SIGNAL = "process {index} terminated with signal {name}"
BY_EXIT = "process {index} terminated with exit code {code}"
ONLY_SPAWN = (
    "This method only supports start_method=spawn (got: {method}).\nTo use a different start_method use:\n\t\t "
    "torch.multiprocessing.start_processes(...)"
)
PR_SET_PDEATHSIG = 1


class ProcessException(Exception):
    """A process of several has failed: the number of it, and its pid."""

    def __init__(self, msg: str, error_index: int, pid: int):
        super().__init__(msg)
        self.msg = msg
        self.error_index = error_index
        self.pid = pid

    def __reduce__(self):
        return type(self), (self.msg, self.error_index, self.pid)


class ProcessRaisedException(ProcessException):
    """A process has raised an exception, whose traceback is in the message."""

    def __init__(self, msg: str, error_index: int, error_pid: int):
        super().__init__(msg, error_index, error_pid)


class ProcessExitedException(ProcessException):
    """A process was killed, or has exited with a code that is not 0."""

    def __init__(self, msg: str, error_index: int, error_pid: int, exit_code: int, signal_name: str | None = None):
        super().__init__(msg, error_index, error_pid)
        self.exit_code = exit_code
        self.signal_name = signal_name

    def __reduce__(self):
        return type(self), (self.msg, self.error_index, self.pid, self.exit_code, self.signal_name)


def _run(fn, index, args, error_file):
    """What a process does: it calls the function, and leaves the traceback of an exception in a file."""
    _die_with_parent()
    try:
        fn(index, *args)
    except KeyboardInterrupt:
        pass  # the parent is interrupted too
    except Exception:
        with open(error_file, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(traceback.format_exc())
        sys.exit(1)


def _die_with_parent():
    """Has Linux interrupt this process when its parent is gone."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGINT)


class ProcessContext:
    """Processes that run one function; ``join`` waits for them."""

    def __init__(self, processes, error_files):
        self.processes = processes
        self.error_files = error_files
        self.sentinels = {process.sentinel: index for index, process in enumerate(processes)}

    def pids(self):
        """The pids of the processes."""
        return [int(process.pid) for process in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Waits until a process has ended; True if none is left.

        If one has failed, the others are terminated, and what has happened is raised.

        Args:
            timeout: seconds to wait at most.
            grace_period: seconds that the others have to end by themselves, before they are killed.
        """
        if not self.sentinels:
            return True
        for sentinel in multiprocessing.connection.wait(self.sentinels, timeout=timeout):
            index = self.sentinels.pop(sentinel)
            self.processes[index].join()
            if self.processes[index].exitcode != 0:
                self._end_others(grace_period)
                self._raise_failure(index)
        if not self.sentinels:
            self._remove_files()
        return not self.sentinels

    def _end_others(self, grace_period):
        for process in self.processes:
            if process.is_alive():
                process.terminate()
        deadline = None if grace_period is None else time.monotonic() + grace_period
        for process in self.processes:
            process.join(None if deadline is None else max(deadline - time.monotonic(), 0))
            if process.is_alive():
                process.kill()
                process.join()

    def _raise_failure(self, index):
        process = self.processes[index]
        with open(self.error_files[index], encoding="utf-8", errors="surrogateescape") as file:
            text = file.read()
        self._remove_files()
        if text:
            raise ProcessRaisedException(RAISED.format(index=index, text=text), index, process.pid)
        code = process.exitcode
        if code >= 0:
            raise ProcessExitedException(BY_EXIT.format(index=index, code=code), index, process.pid, code)
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = f"<Unknown signal {-code}>"
        raise ProcessExitedException(BY_SIGNAL.format(index=index, name=name), index, process.pid, code, name)

    def _remove_files(self):
        for path in self.error_files:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)


class SpawnContext(ProcessContext):
    """A ProcessContext of processes that are spawned."""


def start_processes(fn, args=(), nprocs=1, join=True, daemon=False, start_method="spawn"):
    """Starts processes that call ``fn(index, *args)``.

    Args:
        fn: the function; to be spawned it must be at the top of a module.
        args: its further arguments. Tensors among them are shared.
        nprocs: the number of processes.
        join: whether to wait until all have ended; otherwise a ProcessContext is returned.
        daemon: whether they end with this process, and may have no processes of their own.
        start_method: "spawn", "fork" or "forkserver".
    """
    context = multiprocessing.get_context(start_method)
    processes, error_files = [], []
    for index in range(nprocs):
        handle, path = tempfile.mkstemp(prefix="flambeau-error-")
        os.close(handle)
        process = context.Process(target=_run, args=(fn, index, args, path), daemon=daemon)
        process.start()
        processes.append(process)
        error_files.append(path)
    started = ProcessContext(processes, error_files)
    if not join:
        return started
    while not started.join():
        pass


def spawn(fn, args=(), nprocs=1, join=True, daemon=False, start_method="spawn"):
    """Spawns processes that call ``fn(index, *args)``; see ``start_processes``."""
    if start_method != "spawn":
        warnings.warn(ONLY_SPAWN.format(method=start_method), FutureWarning, stacklevel=2)
    return start_processes(fn, args, nprocs, join, daemon, start_method)
