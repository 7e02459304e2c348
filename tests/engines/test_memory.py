"""The cache of large memory blocks: ownership, size limits, and that blocks are returned clean."""

import contextvars
import gc
import os
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from numpy._core.multiarray import get_handler_name

import flambeau
from engines.test_native import needs_native
from flambeau._fp_errors import run_in_fp_context

pytestmark = needs_native
SIZE = 1 << 20  # elements


@pytest.fixture(autouse=True)
def kernels():
    from flambeau import _kernels

    gc.collect()
    _kernels.give_back_blocks()
    yield _kernels
    _kernels.give_back_blocks()


def place(array):
    return array.__array_interface__["data"][0]


def large(value=1.0, size=SIZE):
    return run_in_fp_context(np.full, size, np.float32(value))


def test_memory_is_used_again(kernels):
    a = large()
    before = place(a)
    del a
    assert place(large(2.0)) == before
    assert place(large(2.0, SIZE - 1000)) == before  # sizes are rounded


def test_only_ops_get_it():
    assert get_handler_name(np.ones(SIZE)) == "default_allocator"
    assert get_handler_name(contextvars.copy_context().run(np.ones, SIZE)) == "default_allocator"
    x = flambeau.ones(1000, 1000)
    for result in (x + x, x.relu(), x @ x):
        assert get_handler_name(result.detach().numpy().base) == "flambeau"


def test_zeros_are_zeros():
    large(7.0)
    assert not run_in_fp_context(np.zeros, SIZE, np.float32).any()


@pytest.mark.parametrize("sizes", [(100_000, 10), (100_000, 300_000), (10, 300_000), (100_000, 100_001)])
def test_resize(sizes):
    before, after = sizes
    a = run_in_fp_context(np.arange, float(before))
    a.resize(after, refcheck=False)
    n = min(sizes)
    assert (a[:n] == np.arange(n)).all() and not a[n:].any()


def test_empty_arrays_with_large_dimensions():
    assert run_in_fp_context(np.empty, (0, SIZE)).size == 0


def test_what_waits_is_bounded_and_given_back(kernels):
    several = [large(size=SIZE + i * SIZE // 2) for i in range(4)]
    used = sum(a.nbytes for a in several)
    del several
    for i in range(40):
        large(size=SIZE // 4 + i * 5000)
    waits = kernels.give_back_blocks()
    assert 0 < waits <= 1.5 * max(used, kernels.give_back_blocks())
    assert kernels.give_back_blocks() == 0


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads how much memory this process has from /proc")
def test_what_is_given_back_leaves_no_gaps(kernels):
    """Whatever lies after it: in a heap, only what is at its end returns to the system."""
    def resident():
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    for _ in range(3):  # malloc makes no mappings for sizes that have come back from them
        large(size=4 * SIZE)
        kernels.give_back_blocks()
    before = resident()
    some = [large(size=SIZE) for _ in range(80)]
    used = resident() - before
    some = some[::2]
    kernels.give_back_blocks()
    assert used > 70 * some[0].nbytes
    assert resident() - before < 0.6 * used


def test_blocks_of_one_size_come_and_go_in_any_order(kernels):
    several = [large(i) for i in range(8)]
    places = {place(a) for a in several}
    assert len(places) == 8
    for i in (3, 0, 7):
        several[i] = None
    several[7] = large(9.0)
    assert {place(a) for a in several if a is not None} < places
    assert kernels.give_back_blocks() == 2 * several[7].nbytes
    several[0] = large(10.0)
    assert [a[-1] for a in several if a is not None] == [10, 1, 2, 4, 5, 6, 9]
    several.clear()
    assert 0 < kernels.give_back_blocks() <= 8 * SIZE * 4
    assert kernels.give_back_blocks() == 0


def test_many_threads():
    wrong = []

    def work(number):
        for i in range(200):
            a = flambeau.full((30_000 + 1000 * (i % 7),), float(number))
            b = a + a
            if not bool((b == 2 * number).all()):
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_gradients_use_our_allocator_and_numpy_keeps_its_own(kernels):
    names = []
    x = flambeau.ones(SIZE, requires_grad=True)
    y = x * 1.0
    y.register_hook(lambda g: names.append(get_handler_name(np.ones(SIZE))))
    (y[1:].sum() + y.sum()).backward()
    assert get_handler_name(x.grad.numpy().base) == names[0] == "flambeau"
    assert get_handler_name(np.ones(SIZE)) == get_handler_name() == "default_allocator"
    with pytest.raises(TypeError, match="handler"):
        kernels.exchange_handler(3)
