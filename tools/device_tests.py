"""Runs the device tests on the accelerator that jax finds. On jax's CPU backend they run with all other tests.

    python tools/device_tests.py             # all of them
    python tools/device_tests.py -n 4 -x     # with arguments of pytest
"""

import sys
from pathlib import Path

import jax
import pytest

ROOT = Path(__file__).parent.parent
TESTS = [
    "test_devices.py", "test_precision.py", "engines/test_lazy.py", "engines/test_lazy_training.py",
    "engines/test_call_cache.py", "engines/test_xla_attention.py", "compiler", "optim/test_compiled.py",
]


def main(arguments):
    if jax.default_backend() == "cpu":
        sys.exit("jax finds no accelerator here; on the CPU these tests run with all others.")
    print(jax.devices())
    no_warnings = ["-p", "no:benchmark"]  # where that plugin is installed it warns of -n, and warnings are errors
    sys.exit(pytest.main([*no_warnings, *[str(ROOT / "tests" / name) for name in TESTS], *arguments]))


if __name__ == "__main__":
    main(sys.argv[1:])
