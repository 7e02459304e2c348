"""The main loop of a DataLoader's worker process."""

from __future__ import annotations

import contextlib
import os
import random
import select
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...._storage import Storage
from ...._tensor import Tensor, engine_for, wrap
from ...._utils import ExceptionWrapper
from ....engines import NUMPY
from ....functions.settings import set_num_threads
from ....random import manual_seed
from ..dataset import IterableDataset
from .channel import Channel
from .fetch import fetcher_for
from .segments import INLINE, Segments, dump, load

BATCH, ERROR, END = range(3)  # the kind of an answer, its first byte
RESUME = -1  # the number of the message that starts another epoch
PARENT_CHECK = 5  # seconds without a message until a worker checks that its parent is alive

_info: WorkerInfo | None = None
_segments: Segments | None = None


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """Information about a worker process.

    Attributes:
        id: its index.
        num_workers: the number of workers of the loader.
        seed: its random seed: that of the epoch plus ``id``.
        dataset: its copy of the dataset.
    """

    id: int
    num_workers: int
    seed: int
    dataset: Any
    rng: Any = None
    worker_method: str | None = "multiprocessing"


def get_worker_info() -> WorkerInfo | None:
    """Information about this worker process; None outside of one."""
    return _info


def stack_shared(batch):
    """Stacks tensors into memory shared with the parent; None if that does not apply."""
    if _segments is None:
        return None
    first = batch[0]
    nbytes = first.numel() * first.element_size() * len(batch)
    if nbytes <= INLINE or not all([_same_kind(t, first) for t in batch]):
        return None
    array = _segments.array(nbytes).view(first._a.dtype).reshape(len(batch), *first._a.shape)
    np.stack([t._a for t in batch], out=array)
    out = wrap(array)
    out._storage = Storage(array)
    out._storage.shared = True
    return out


def _same_kind(t, first):
    """Whether a sample is a tensor that can be copied next to the first one without conversion."""
    return (isinstance(t, Tensor) and engine_for(t) is NUMPY and t._a.dtype == first._a.dtype
            and t._a.shape == first._a.shape and not t.requires_grad)


@dataclass
class Job:
    """What a worker receives on start."""

    id: int
    num_workers: int
    base_seed: int
    dataset: Any
    auto_collation: bool
    collate_fn: Callable
    drop_last: bool
    init_fn: Callable | None

    @property
    def seed(self):
        return self.base_seed + self.id

    def fetcher(self):
        return fetcher_for(self.dataset, self.auto_collation, self.collate_fn, self.drop_last)


def run(job, sock, peer=None):
    """Answers the parent's messages until it closes the socket.

    Args:
        job: the Job.
        sock: this end of the connection.
        peer: the parent's end if a fork has copied it; closed so that this worker notices when the parent closes it.
    """
    global _info, _segments
    if peer is not None:
        peer.close()
    set_num_threads(1)
    _seed_everything(job)
    _info = WorkerInfo(job.id, job.num_workers, job.seed, job.dataset)
    _segments = Segments()
    with contextlib.suppress(KeyboardInterrupt, EOFError, ConnectionError):  # the parent is interrupted too, or gone
        _answer_all(Answers(job, Channel(sock)))


def _seed_everything(job):
    random.seed(job.seed)
    manual_seed(job.seed)
    words = [job.id, job.base_seed & 0xFFFFFFFF, job.base_seed >> 32]
    np.random.seed(np.random.SeedSequence(words).generate_state(4))


def _answer_all(answers):
    parent = os.getppid()
    listening = select.poll()
    listening.register(answers.channel, select.POLLIN)
    while True:
        if listening.poll(1000 * PARENT_CHECK):
            answers.answer()
        elif os.getppid() != parent:
            return


class Answers:
    """A worker's answers to the messages of its parent."""

    def __init__(self, job, channel):
        self.job = job
        self.channel = channel
        self.iterable = isinstance(job.dataset, IterableDataset)
        self.where = f"in DataLoader worker process {job.id}"
        self.ended = False
        self.broken = None  # the exception that occurred on start
        self._start(job.init_fn)

    def _start(self, init_fn=None):
        try:
            if init_fn is not None:
                init_fn(self.job.id)
            self.fetch = self.job.fetcher()
        except Exception:
            self.broken = ExceptionWrapper(where=self.where)

    def answer(self):
        """Answers the next message."""
        number, payload, _ = self.channel.receive()
        index, released = load(payload)
        for segment in released:
            _segments.release(segment)
        if number == RESUME:
            self.ended = False
            if self.broken is None:
                self._start()
        elif not self.ended:
            self._send(number, *self._batch(index))

    def _batch(self, index):
        if self.broken is not None:
            return ERROR, self.broken
        try:
            return BATCH, self.fetch(index)
        except StopIteration:
            if not self.iterable:
                return ERROR, ExceptionWrapper(where=self.where)
            self.ended = True
            return END, None
        except Exception:
            return ERROR, ExceptionWrapper(where=self.where)

    def _send(self, number, kind, value):
        try:
            payload, loans = dump((kind, value), _segments)
        except Exception:
            payload, loans = self._dump_error(value)
        self.channel.send(number, payload, loans, _segments)

    def _dump_error(self, value):
        """Converts unpicklable values to errors; of an unpicklable error, only the text is kept."""
        error = value if isinstance(value, ExceptionWrapper) else ExceptionWrapper(where=self.where)
        if error is value:
            error.exc_type = RuntimeError
        return dump((ERROR, error), _segments)
