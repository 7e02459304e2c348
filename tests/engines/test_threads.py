"""The thread pool of the native kernels: thread counts, forks, concurrent users, and effects on NumPy."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import flambeau
from engines.test_native import FLOATS, arrays, both, needs_native, same
from flambeau.engines import NUMPY
from flambeau.engines.numpy import native
from flambeau.engines.numpy import threads as counting


@pytest.fixture(params=[1, 2, 4])
def count(request):
    """Each test with so many threads."""
    before = flambeau.get_num_threads()
    flambeau.set_num_threads(request.param)
    yield request.param
    flambeau.set_num_threads(before)


@pytest.fixture(params=[None, 16, 32, 64])
def tiles(request):
    """Products as they come, and by tiles of vectors of so many bytes."""
    if request.param is None or not native.NAMES:
        yield
        return
    from flambeau import _kernels

    if _kernels.use_width(request.param) != request.param:
        pytest.skip(f"this processor has no vectors of {request.param} bytes")
    _kernels.use_tiles(True)
    yield
    _kernels.use_tiles(False)
    _kernels.use_width(64)


def large_operands():
    rng = np.random.default_rng(0)
    return rng.standard_normal((301, 200)).astype(np.float32), rng.standard_normal((200, 407)).astype(np.float32)


# ---- products


@st.composite
def operands(draw):
    """Two arrays that can be multiplied, with dimensions before the last two that broadcast."""
    m, k, n = (draw(st.integers(0, 40)) for _ in range(3))
    batch = draw(st.lists(st.integers(1, 3), max_size=2))
    dtypes = (draw(st.sampled_from((*FLOATS, np.float16))),)
    a, b = (draw(arrays(dtypes, (*[draw(st.sampled_from([1, s])) for s in batch], *shape), st.just(0.0)))
            for shape in ((m, k), (k, n)))
    if draw(st.booleans()):
        a = a.swapaxes(-1, -2).copy().swapaxes(-1, -2)
    if draw(st.booleans()):
        b = np.ascontiguousarray(b.swapaxes(-1, -2)).swapaxes(-1, -2)
    return a, b


@needs_native
@given(operands())
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_products_are_those_of_numpy(tiles, pair):
    same(*both("matmul", *pair), rtol=1e-3, atol=1e-4 if pair[0].dtype != np.float16 else 1e-2)


@needs_native
@given(st.data())
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_linear(tiles, data):
    dtypes = (data.draw(st.sampled_from(FLOATS)),)
    features, out = data.draw(st.integers(1, 40)), data.draw(st.integers(1, 40))
    lead = data.draw(st.lists(st.integers(0, 5), min_size=1, max_size=3))
    x, weight = (data.draw(arrays(dtypes, shape, st.just(0.0))) for shape in ((*lead, features), (out, features)))
    bias = data.draw(st.one_of(st.none(), arrays(dtypes, (out,), st.sampled_from([0.0, np.inf, np.nan]))))
    same(*both("linear", x, weight, bias), rtol=1e-3, atol=1e-4)


@needs_native
@pytest.mark.parametrize("m, k, n", [
    (301, 200, 407), (1, 4000, 3000), (3000, 4000, 1), (7, 50000, 5), (700, 3, 900),
    (70, 512, 40), (40, 512, 70), (200, 1024, 300),  # rows whose lines have the same places in a cache
])
def test_large_products(m, k, n, count, tiles):
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((m, k)), rng.standard_normal((n, k))
    bias = rng.standard_normal(n)
    np.testing.assert_allclose(NUMPY.matmul(a, b.T), a @ b.T, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(NUMPY.linear(a, b, bias), a @ b.T + bias, rtol=1e-9, atol=1e-9)


@needs_native
def test_large_batches(count):
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((3, 5, 1, 60, 70)), rng.standard_normal((1, 2, 70, 80))
    np.testing.assert_allclose(NUMPY.matmul(a, b), a @ b, rtol=1e-9, atol=1e-9)


def test_products_with_what_is_not_finite(tiles):
    a, b = large_operands()
    a[3, 5], a[200, 7], b[0, 400] = np.nan, np.inf, -np.inf
    with np.errstate(all="ignore"):
        ours, right = NUMPY.matmul(a, b), a @ b
    assert (np.isnan(ours) == np.isnan(right)).all()
    assert (np.isinf(ours) == np.isinf(right)).all()


# ---- the pool


def test_threads_of_the_program_use_the_pool_at_once(count):
    a, b = large_operands()
    right, wrong = a @ b, []

    def work():
        for _ in range(20):
            if not np.allclose(NUMPY.matmul(a, b), right, atol=1e-3):
                wrong.append(1)

    users = [threading.Thread(target=work) for _ in range(3)]
    for user in users:
        user.start()
    for user in users:
        user.join()
    assert not wrong


@needs_native  # the pool of NumPy's own BLAS does not survive a fork in the midst of a product
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_has_a_pool_of_its_own():
    program = """
import os, threading, warnings
import flambeau as torch
warnings.simplefilter("ignore")  # of threads at a fork, which is the point
torch.set_num_threads(3)
a, b = torch.randn(300, 300), torch.randn(300, 300)
right = a @ b
stop = threading.Event()
others = [threading.Thread(target=lambda: [a @ b for _ in iter(stop.is_set, True)]) for _ in range(2)]
for other in others:  # forks then happen in the midst of products: in the pool, and of who finds it taken
    other.start()
for _ in range(10):
    child = os.fork()
    if child == 0:
        good = all(torch.allclose(a @ b, right, atol=1e-3) for _ in range(5))
        os._exit(0 if good else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert torch.allclose(a @ b, right, atol=1e-3)
stop.set()
for other in others:
    other.join()
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)


def test_numpy_keeps_its_own_threads():
    program = """
import ctypes
import flambeau as torch
from flambeau.engines.numpy.threads import blas_paths
for path in blas_paths():
    blas = ctypes.CDLL(path)
    get, set_ = blas.scipy_openblas_get_num_threads64_, blas.scipy_openblas_set_num_threads64_
    set_(3)
    torch.randn(300, 300) @ torch.randn(300, 300)
    assert get() == 3
    torch.set_num_threads(2)
    assert get() == 2
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)


# ---- how many


@pytest.mark.parametrize("variable, limit, expected", [
    ("3", None, 3), ("3", 1, 3), ("2,4", None, 2), ("", None, 4), ("0", None, 4), ("many", None, 4), ("", 2, 2), ("", 9, 4),
])
def test_the_default_count(variable, limit, expected, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", variable)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1, 2, 3}, raising=False)
    monkeypatch.setattr(counting, "quota", lambda: limit)
    assert counting.default_count() == expected


@pytest.mark.parametrize("files, expected", [
    ({}, None),
    ({"/sys/fs/cgroup/cpu.max": "max 100000"}, None),
    ({"/sys/fs/cgroup/cpu.max": "150000 100000"}, 2),
    ({"/sys/fs/cgroup/cpu.max": "20000 100000"}, 1),
    ({"/sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1", "/sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000"}, None),
    ({"/sys/fs/cgroup/cpu/cpu.cfs_quota_us": "300000", "/sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000"}, 3),
    ({"/proc/self/cgroup": "0::/a/b", "/sys/fs/cgroup/a/cpu.max": "200000 100000",
      "/sys/fs/cgroup/a/b/cpu.max": "max 100000"}, 2),
    ({"/proc/self/cgroup": "4:cpu,cpuacct:/box\n0::/", "/sys/fs/cgroup/cpu/box/cpu.cfs_quota_us": "100000",
      "/sys/fs/cgroup/cpu/box/cpu.cfs_period_us": "100000"}, 1),
])
def test_quotas_of_control_groups(files, expected, monkeypatch):
    monkeypatch.setattr(counting, "read", files.get)
    assert counting.quota() == expected
