"""What ``import flambeau`` does not do."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize("module", ["jax", "scipy", "torch"])
def test_import_leaves_heavy_modules_alone(module):
    """jax belongs to the XLA engine, which a tensor on the CPU never needs; scipy and torch are not used at all."""
    program = f"""
import sys
import flambeau
x = flambeau.ones(3, requires_grad=True)
(x * x).sum().backward()
loaded = sorted(name for name in sys.modules if name.partition(".")[0] == {module!r})
sys.exit(", ".join(loaded) or 0)
"""
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert found.returncode == 0, found.stderr


def test_import_leaves_functions_alone():
    """An object of a subclass of Tensor makes every function ask its arguments, which costs time: the package has none."""
    program = "import flambeau, sys; sys.exit(hasattr(flambeau.add, '__wrapped__'))"
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0


EXTRAS = {"safetensors": "flambeau.serialization.safetensors", "tensorboard": "flambeau.utils.tensorboard"}


@pytest.mark.parametrize("package", EXTRAS)
@pytest.mark.parametrize("statement", ["import {}", "import flambeau; {}"], ids=["import", "attribute"])
def test_a_package_that_is_not_installed_is_named(package, statement):
    program = f"import sys; sys.modules[{package!r}] = None; {statement.format(EXTRAS[package])}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "ImportError" in done.stderr and f"pip install 'flambeau[{package}]'" in done.stderr
