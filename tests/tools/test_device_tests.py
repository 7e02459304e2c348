"""``tools/device_tests.py`` runs its tests only on accelerators."""

import pytest


@pytest.mark.jax
def test_what_it_names_is_there():
    import device_tests

    assert [name for name in device_tests.TESTS if not (device_tests.ROOT / "tests" / name).exists()] == []
