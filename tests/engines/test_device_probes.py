"""Foot-guns on a device: programs whose results would be stale or wrong if a recorded call ran late, twice, or never.

Each must give the same on a device, on the CPU, and in PyTorch: the elements, or the type of an error.
"""

import numpy as np
import pytest

import flambeau
from engines import device_probes_graphs, device_probes_programs, device_probes_training, device_probes_views
from engines.device_probes import PROBES

pytestmark = pytest.mark.jax

FILES = device_probes_views, device_probes_training, device_probes_graphs, device_probes_programs


def test_there_are_many_probes():
    assert [sum(f.__module__ == file.__name__ for f in PROBES.values()) > 10 for file in FILES] == [True] * 4


def plain(x):
    """A result as elements, in containers of Python."""
    if isinstance(x, (tuple, list)):
        return [plain(item) for item in x]
    if hasattr(x, "detach"):
        return x.detach().cpu().numpy()
    return list(x) if isinstance(x, flambeau.Size) else x


def assert_same(got, want, where=""):
    if isinstance(want, list):
        assert isinstance(got, list) and len(got) == len(want), where
        for i, (a, b) in enumerate(zip(got, want, strict=True)):
            assert_same(a, b, f"{where}[{i}]")
    elif isinstance(want, np.ndarray):
        assert got.dtype == want.dtype and got.shape == want.shape, (where, got, want)
        np.testing.assert_allclose(got, want, rtol=2e-5, atol=1e-6, err_msg=where)
    elif isinstance(want, float):
        assert got == pytest.approx(want, rel=1e-5, nan_ok=True), where
    else:
        assert type(got) is type(want) and got == want, (where, got, want)


@pytest.mark.parametrize("name", PROBES)
def test_a_device_gives_what_the_cpu_gives(name):
    assert_same(plain(PROBES[name](flambeau, "xla")), plain(PROBES[name](flambeau, "cpu")))


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore:.*torch.jit.script.*:DeprecationWarning")  # of PyTorch's forward mode
@pytest.mark.parametrize("name", PROBES)
def test_a_device_gives_what_pytorch_gives(name):
    torch = pytest.importorskip("torch")
    assert_same(plain(PROBES[name](flambeau, "xla")), plain(PROBES[name](torch, "cpu")))
