"""Does not compile a program again that an earlier test has compiled."""

import importlib.util

import pytest

from flambeau.backends import cudnn


@pytest.fixture(scope="session", autouse=True)
def _compile_once(tmp_path_factory):
    if importlib.util.find_spec("jax") is None:
        yield
        return
    import jax
    from jax.experimental.compilation_cache.compilation_cache import reset_cache

    settings = {
        "jax_compilation_cache_dir": str(tmp_path_factory.mktemp("programs")),
        "jax_persistent_cache_min_compile_time_secs": 0,
        "jax_persistent_cache_min_entry_size_bytes": -1,
    }
    before = {name: getattr(jax.config, name) for name in settings}

    def use(values):
        for name, value in values.items():
            jax.config.update(name, value)
        reset_cache()

    use(settings)
    yield
    use(before)


@pytest.fixture(autouse=True)
def _exact_products(monkeypatch):
    """On a GPU convolutions and recurrent layers are not rounded, so that they can be compared."""
    monkeypatch.setattr(cudnn, "allow_tf32", False)
