"""Every op on concrete jax arrays, outside of a compiled program."""

import pytest

from engines.xla_cases import FIRST, Case, chunks

pytestmark = pytest.mark.jax


@pytest.mark.parametrize("rows", chunks(FIRST))
def test_agrees_with_numpy(jax, rows):
    for case in map(Case, rows):
        got = case.call(*jax.tree.map(jax.numpy.asarray, case.arguments()))
        assert all(isinstance(a, jax.Array) for a in jax.tree.leaves(got)), case.row
        case.check(got)
