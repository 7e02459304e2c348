"""jax for the tests of the XLA engine."""

import pytest

FLAGS = {"jax_enable_x64": True, "jax_disable_most_optimizations": True}


@pytest.fixture(scope="package")
def jax():
    """jax in double precision, compiling as fast as it can."""
    jax = pytest.importorskip("jax")
    before = {name: jax.config.read(name) for name in FLAGS}
    for name, value in FLAGS.items():
        jax.config.update(name, value)
    yield jax
    for name, value in before.items():
        jax.config.update(name, value)
