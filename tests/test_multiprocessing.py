"""Tensors shared between processes, and processes that fail."""

import gc
import os
import pathlib
import pickle
import tempfile
import time

import pytest

import _processes
import flambeau
from flambeau import multiprocessing as mp
from flambeau.utils.data import DataLoader

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")


def through_a_pipe(*values):
    """The values, sent and received by this process."""
    one, two = mp.Pipe()
    with one, two:
        one.send(values)
        return two.recv()


def test_a_tensor_that_is_sent_is_shared():
    x = flambeau.arange(6.0).reshape(2, 3)
    got, = through_a_pipe(x)
    assert x.is_shared() and got.is_shared() and flambeau.equal(got, x)
    got.fill_(9)
    assert x.sum() == 54


VIEWS = {
    "the same twice": lambda x: (x, x), "a transpose": lambda x: (x, x.t()), "a row": lambda x: (x, x[1]), "a column": lambda x: (x, x[:, 2]),
    "flat": lambda x: (x.view(-1), x), "reversed memory": lambda x: (x.t()[1:], x),
}


@pytest.mark.parametrize("name", VIEWS)
def test_views_stay_views(name):
    base = flambeau.arange(12.0).reshape(3, 4).share_memory_()
    sent = VIEWS[name](base)
    got = through_a_pipe(*sent)
    for a, b in zip(sent, got):
        assert a.stride() == b.stride() and a.storage_offset() == b.storage_offset() and flambeau.equal(a, b)
    assert got[0].untyped_storage() == got[1].untyped_storage()
    got[1].fill_(-7)
    assert flambeau.equal(got[0], sent[0]) and base.eq(-7).sum() == got[1].numel()


KINDS = {
    "a parameter": lambda: flambeau.nn.Parameter(flambeau.ones(2)), "a leaf": lambda: flambeau.ones(2, requires_grad=True),
    "bfloat16": lambda: flambeau.ones(3, dtype=flambeau.bfloat16), "bool": lambda: flambeau.tensor([True, False]), "empty": lambda: flambeau.ones(0, 3),
    "a number": lambda: flambeau.tensor(3), "complex": lambda: flambeau.ones(2, dtype=flambeau.complex64), "meta": lambda: flambeau.ones(2, device="meta"),
}


@pytest.mark.parametrize("name", KINDS)
def test_kinds_of_tensors(name):
    x = KINDS[name]()
    got, = through_a_pipe(x)
    assert type(got) is type(x) and got.dtype == x.dtype and got.shape == x.shape and got.requires_grad == x.requires_grad
    assert got.device == x.device and got.grad is None
    if name != "meta":
        assert got.is_shared() and flambeau.equal(got, x)


def test_what_has_a_history_is_refused():
    with pytest.raises(RuntimeError, match="Cowardly refusing to serialize non-leaf tensor which requires_grad"):
        through_a_pipe(flambeau.ones(2, requires_grad=True) * 2)


def test_storages_and_modules():
    x = flambeau.ones(4)
    storage, module = through_a_pipe(x.share_memory_().untyped_storage(), flambeau.nn.Linear(2, 2).share_memory())
    storage.fill_(0)
    assert not x.any() and all(p.is_shared() for p in module.parameters())


def test_share_memory_keeps_the_elements():
    x = flambeau.arange(6.0).reshape(2, 3).t()
    assert not x.is_shared()
    y = x.share_memory_()
    assert y is x and x.is_shared() and x.tolist() == [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]] and x.stride() == (1, 3)
    address = x.data_ptr()
    assert x.share_memory_().data_ptr() == address


@needs_fork
def test_a_batch_of_a_worker_can_be_sent_on():
    """The worker uses the memory of a batch again; what was sent on must not change."""
    rows = flambeau.arange(30.0).reshape(30, 1).expand(30, 9000).contiguous()
    sent = [through_a_pipe(batch)[0] for batch in DataLoader(rows, num_workers=1, multiprocessing_context="fork")]
    assert [x[0, 0].item() for x in sent] == list(range(30))


def test_queues_of_a_spawned_process():
    context = mp.get_context("spawn")
    inbox, outbox = context.Queue(), context.Queue()
    process = context.Process(target=_processes.fill_what_comes, args=(inbox, outbox))
    process.start()
    x, p = flambeau.ones(2, 3), flambeau.nn.Parameter(flambeau.zeros(4))
    found = []
    for t in (x, p):
        inbox.put(t)
        found.append(outbox.get(timeout=60))
        back = outbox.get(timeout=60)
        assert back.untyped_storage() == t.untyped_storage()
    inbox.put(None)
    assert outbox.get(timeout=60) is None
    process.join(60)
    assert process.exitcode == 0 and found == [[[2, 3], True, 6.0], [[4], True, 0.0]]
    assert x.eq(5).all() and p.eq(5).all()


@needs_fork
def test_forked_processes_write_to_shared_memory_only():
    shared, private = flambeau.zeros(3).share_memory_(), flambeau.zeros(3)
    for x in (shared, private):
        mp.start_processes(_processes.write_index, (x,), nprocs=3, start_method="fork")
    assert shared.tolist() == [1.0, 2.0, 3.0] and private.tolist() == [0.0] * 3


def test_spawned_processes_write_to_what_they_are_given():
    x = flambeau.zeros(2)
    assert mp.spawn(_processes.write_index, (x,), nprocs=2) is None
    assert x.is_shared() and x.tolist() == [1.0, 2.0]


def error_files():
    return set(pathlib.Path(tempfile.gettempdir()).glob("flambeau-error-*"))


@needs_fork
def test_a_process_that_raises_ends_the_others():
    before, start = error_files(), time.monotonic()
    context = mp.start_processes(_processes.fail_in_second, nprocs=2, join=False, start_method="fork")
    with pytest.raises(mp.ProcessRaisedException, match=r"(?s)-- Process 1 terminated with the following error:\nTraceback.*the second fails") as caught:
        while not context.join():
            pass
    assert time.monotonic() - start < 30
    assert caught.value.error_index == 1 and caught.value.pid == context.pids()[1]
    assert not any(process.is_alive() for process in context.processes) and error_files() <= before
    assert pickle.loads(pickle.dumps(caught.value)).error_index == 1


@needs_fork
@pytest.mark.parametrize("how, message, name", [("kill", "process 0 terminated with signal SIGKILL", "SIGKILL"), ("exit", "process 0 terminated with exit code 7", None)])
def test_a_process_that_ends_is_reported(how, message, name):
    with pytest.raises(mp.ProcessExitedException, match=f"^{message}$") as caught:
        mp.start_processes(_processes.end_itself, (how,), start_method="fork")
    assert caught.value.signal_name == name and caught.value.exit_code == (7 if name is None else -9)
    assert pickle.loads(pickle.dumps(caught.value)).signal_name == name


def test_another_start_method_is_said_elsewhere():
    with pytest.warns(FutureWarning, match="This method only supports start_method=spawn"):
        mp.spawn(_processes.write_index, (flambeau.zeros(1),), start_method="fork")
    with pytest.raises(ValueError, match="cannot find context for 'nope'"):
        mp.start_processes(_processes.write_index, start_method="nope")


def test_nothing_to_start():
    assert mp.start_processes(_processes.write_index, nprocs=0, join=False).join() is True


def test_sharing_strategies():
    assert mp.get_sharing_strategy() == "file_descriptor" and "file_system" in mp.get_all_sharing_strategies()
    with pytest.raises(AssertionError, match="invalid sharing strategy 'nope'"):
        mp.set_sharing_strategy("nope")


@pytest.mark.oracle
def test_the_names_are_pytorchs():
    torch = pytest.importorskip("torch")
    assert set(torch.multiprocessing.__all__) <= set(mp.__all__)


@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="counts by Linux's /proc")
def test_dropped_tensors_leave_no_descriptor():
    through_a_pipe(flambeau.ones(2))  # starts the thread that hands out descriptors
    gc.collect()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        through_a_pipe(flambeau.ones(2), flambeau.zeros(3))
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) <= before
