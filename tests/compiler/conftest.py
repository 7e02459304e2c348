"""Programs are compiled quickly here: XLA's optimizations take most of the time, and are not what is tested.

Tests marked ``optimized`` run programs as users have them.
"""

import pytest

QUICK = {
    "xla_backend_optimization_level": 0,
    "xla_cpu_parallel_codegen_split_count": 1,
    "xla_llvm_disable_expensive_passes": True,
}


@pytest.fixture(autouse=True)
def _compile_quickly(request, monkeypatch):
    if request.node.get_closest_marker("jax") and not request.node.get_closest_marker("optimized"):
        monkeypatch.setattr("flambeau.compiler._segment.COMPILER_OPTIONS", QUICK)
