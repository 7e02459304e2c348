"""Programs are compiled quickly here: XLA's optimizations take most of the time, and are not what is tested.

Tests marked ``optimized`` run programs as users have them.
"""

import importlib
import importlib.util

import pytest

QUICK = {
    "xla_backend_optimization_level": 0,
    "xla_cpu_parallel_codegen_split_count": 1,
    "xla_llvm_disable_expensive_passes": True,
    "xla_cpu_use_fusion_emitters": False,
}


@pytest.fixture(autouse=True)
def _compile_quickly(request, monkeypatch):
    if request.node.get_closest_marker("jax") and not request.node.get_closest_marker("optimized"):
        for module in ("flambeau.compiler._segment", "flambeau.engines.xla._programs"):
            options = importlib.import_module(module).COMPILER_OPTIONS
            monkeypatch.setattr(f"{module}.COMPILER_OPTIONS", {**options, **QUICK})


@pytest.fixture(scope="session", autouse=True)
def _compile_once(tmp_path_factory):
    """A program that a test has compiled is not compiled again."""
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
