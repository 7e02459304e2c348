"""jax for the tests of the XLA engine."""

import pytest


@pytest.fixture(scope="package")
def jax():
    """jax in double precision."""
    jax = pytest.importorskip("jax")
    before = jax.config.read("jax_enable_x64")
    jax.config.update("jax_enable_x64", True)
    yield jax
    jax.config.update("jax_enable_x64", before)
