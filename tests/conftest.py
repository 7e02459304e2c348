"""Skips tests whose marker names something that this machine lacks.

A module that imports torch or jax at its top must do so by ``pytest.importorskip``, so that it can
still be collected where they are absent. With FLAMBEAU_REQUIRE_ORACLE set, a missing torch, jax or
tensorboard fails the test instead of skipping it.
"""

import gc
import importlib.metadata
import importlib.util
import os
from functools import cache

import hypothesis
import pytest

ORACLE = "2.13.0"

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # the processes of a test run share a GPU
os.environ.setdefault("FLAMBEAU_CACHE", "0")  # programs that a user has kept on disk decide no test, and no test adds to them

# Programs are compiled quickly: XLA's optimizations take most of the time, and are not what is tested.
# Tests marked "optimized" run programs as users have them, and so do all where jax has an accelerator.
QUICK = ("--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
         " --xla_cpu_parallel_codegen_split_count=1 --xla_backend_extra_options=xla_cpu_disable_new_fusion_emitters")
OPTIMIZED = {"xla_backend_optimization_level": 3, "xla_llvm_disable_expensive_passes": False,
             "xla_cpu_parallel_codegen_split_count": 32, "xla_backend_extra_options": ""}
ON_CPU = os.environ.get("JAX_PLATFORMS") == "cpu" or importlib.util.find_spec("jax_plugins") is None
if ON_CPU:
    os.environ["XLA_FLAGS"] = f"{QUICK} {os.environ.get('XLA_FLAGS', '')}"

hypothesis.settings.register_profile("flambeau", deadline=None)
hypothesis.settings.load_profile("flambeau")


@cache
def _lacks_oracle():
    try:
        found = importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        return f"needs torch=={ORACLE}, which is not installed"
    if found.partition("+")[0] != ORACLE:
        return f"needs torch=={ORACLE}, found {found}"
    return None


@cache
def _lacks_jax():
    return None if importlib.util.find_spec("jax") else "needs jax, which is not installed"


@cache
def _lacks_gpu():
    if reason := _lacks_jax():
        return reason
    import jax

    return None if jax.default_backend() != "cpu" else "needs an accelerator, jax sees only the CPU"


@cache
def _lacks_tensorboard():
    return None if importlib.util.find_spec("tensorboard") else "needs tensorboard, which is not installed"


LACKS = {"oracle": _lacks_oracle, "jax": _lacks_jax, "gpu": _lacks_gpu, "tensorboard": _lacks_tensorboard}
MARKERS = {"torch": "oracle", "jax": "jax", "tensorboard": "tensorboard"}  # of what is imported
UNMARKED = "needs {module} and is not marked {marker!r}: where {module} is installed, the marked tests alone are run"


def pytest_runtest_setup(item):
    for marker, lacks in LACKS.items():
        if item.get_closest_marker(marker) and (reason := lacks()):
            if marker != "gpu" and os.environ.get("FLAMBEAU_REQUIRE_ORACLE"):
                pytest.fail(reason, pytrace=False)
            pytest.skip(reason)
    if item.get_closest_marker("jax"):
        importlib.import_module("flambeau.engines.xla")  # it makes itself known for the arrays of jax


def _unmarked(reason, is_marked):
    """What is wrong with a test that was skipped for want of a module; None if nothing is."""
    for module, marker in MARKERS.items():
        if f"could not import '{module}" in reason and not is_marked(marker):
            return UNMARKED.format(module=module, marker=marker)
    return None


def _fail_if_unmarked(report, reason, is_marked):
    if report.skipped and (message := _unmarked(reason, is_marked)):
        report.outcome, report.longrepr = "failed", message
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    return _fail_if_unmarked(report, str(call.excinfo and call.excinfo.value), item.get_closest_marker)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    report = yield
    return _fail_if_unmarked(report, str(report.longrepr), lambda name: f"mark.{name}" in collector.path.read_text())


@pytest.fixture(autouse=True)
def _optimized(request, monkeypatch):
    if ON_CPU and request.node.get_closest_marker("optimized"):
        for module in ("flambeau.compiler._segment", "flambeau.engines.xla._programs"):
            options = importlib.import_module(module).COMPILER_OPTIONS
            monkeypatch.setattr(f"{module}.COMPILER_OPTIONS", {**options, **OPTIMIZED})


@pytest.fixture
def no_cycle_collector():
    """Reference counting alone frees what the test drops."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()
