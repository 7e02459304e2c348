"""Second gradients, in programs compiled by jax."""

import pytest

from engines.xla_cases import FIRST, Case, check_traced, chunks
from engines.xla_row import Row

pytestmark = pytest.mark.jax

TWICE = [row for row in FIRST if row.has_gradient() and not row.refuses and row.differentiable_twice]


@pytest.mark.parametrize("rows", chunks(TWICE))
def test_agrees_with_numpy(jax, rows):
    check_traced(jax, [Case(row, Row.run_twice) for row in rows])
