"""jax for the tests of the XLA engine."""

import pytest

from flambeau.backends import cudnn


@pytest.fixture(scope="package")
def jax():
    """jax in double precision."""
    jax = pytest.importorskip("jax")
    before = jax.config.read("jax_enable_x64")
    jax.config.update("jax_enable_x64", True)
    yield jax
    jax.config.update("jax_enable_x64", before)


@pytest.fixture(autouse=True)
def _exact_products(monkeypatch):
    """On a GPU convolutions and recurrent layers are not rounded, so that they can be compared."""
    monkeypatch.setattr(cudnn, "allow_tf32", False)
