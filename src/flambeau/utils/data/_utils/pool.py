"""The worker processes of a DataLoader, from the parent's side."""

import multiprocessing
import os
import pickle
import select
import signal
import socket
import time

from ...._utils import ExceptionWrapper
from ....multiprocessing.reductions import init_reductions
from .channel import Channel
from .segments import MappedSegments, load
from .worker import ERROR, RESUME, run

LOOK = 1.0  # seconds without a message until the parent checks that its workers are alive
GRACE = 5.0  # seconds that workers have to exit

DIED = "DataLoader worker (pid(s) {pid}) exited unexpectedly: DataLoader worker (pid {pid}) {how}"
BY_SIGNAL = "is killed by signal: {name}.{hint}"
BY_EXIT = (
    "exited unexpectedly with exit code {code}. Details are lost due to multiprocessing. Rerunning with num_workers=0 "
    "may give better error trace."
)
OUT_OF_MEMORY = " Who kills so is often the operating system, when memory runs out."


class Worker:
    """A worker process and the connection to it."""

    def __init__(self, process, sock):
        self.process = process
        self.channel = Channel(sock)
        self.segments = MappedSegments()
        self.ended = False  # its dataset is exhausted

    def assign(self, number, index):
        """Sends a task."""
        released = self.segments.released
        told = [released.pop() for _ in range(len(released))]
        self.channel.send_nowait(number, pickle.dumps((index, told), pickle.HIGHEST_PROTOCOL))

    def resume(self):
        """Makes it iterate over its dataset again."""
        self.ended = False
        self.assign(RESUME, None)

    def receive(self):
        """Receives (number, (kind, value)) of its next answer."""
        number, payload, arrays = self.channel.receive(self.segments)
        try:
            return number, load(payload, buffers=arrays)
        except Exception:
            return number, (ERROR, ExceptionWrapper(where="while a batch from a DataLoader worker was unpickled"))

    def describe_death(self):
        """An error message that describes how the process died."""
        self.process.join(LOOK)
        code = self.process.exitcode
        if code is not None and code < 0:
            how = BY_SIGNAL.format(name=signal.strsignal(-code), hint=OUT_OF_MEMORY * (-code == signal.SIGKILL))
        else:
            how = BY_EXIT.format(code=code)
        return DIED.format(pid=self.process.pid, how=how)


def start_workers(jobs, context=None):
    """Starts a worker per job, in a multiprocessing context."""
    context = context or multiprocessing
    forks = context.get_start_method() == "fork"
    if not forks:
        init_reductions()  # the tensors of a dataset are shared with the workers, not copied
    workers = []
    try:
        for job in jobs:
            ours, theirs = socket.socketpair()
            with theirs:
                process = context.Process(target=run, args=(job, theirs, ours if forks else None), daemon=True)
                process.start()
            workers.append(Worker(process, ours))
    except BaseException:
        shut_down(workers, os.getpid())
        raise
    return workers


def wait(workers, everyone, deadline):
    """The first worker with an answer, or None after a while; sends pending data meanwhile."""
    poll = select.poll()
    for worker in everyone:
        if worker.channel.has_unsent:
            poll.register(worker.channel, select.POLLOUT)
    for worker in workers:
        poll.register(worker.channel, select.POLLIN | select.POLLOUT * worker.channel.has_unsent)
    seconds = max(min(LOOK, deadline - time.monotonic()), 0)
    ready = dict(poll.poll(1000 * seconds))
    for worker in everyone:
        if ready.get(worker.channel.fileno(), 0) & select.POLLOUT:
            worker.channel.flush()
    readable = ~select.POLLOUT
    return next((worker for worker in workers if ready.get(worker.channel.fileno(), 0) & readable), None)


def shut_down(workers, owner):
    """Shuts workers down: closes the connections, waits, and kills those still running (only their owner can)."""
    if os.getpid() != owner:
        return
    for worker in workers:
        worker.channel.close()
    deadline = time.monotonic() + GRACE
    for end in (None, "terminate", "kill"):
        for worker in workers:
            if end is not None and worker.process.is_alive():
                getattr(worker.process, end)()
        for worker in workers:
            worker.process.join(max(deadline - time.monotonic(), 0) if end is None else LOOK)
    for worker in workers:
        if not worker.process.is_alive():
            worker.process.close()
    workers.clear()
