"""Every op in programs compiled by jax, against the same op on NumPy arrays: results and gradients.

The tables in ``xla_rows_*.py`` say what each op is called with.
"""

import numpy as np
import pytest

import flambeau as torch
from engines.xla_cases import FIRST, ROWS, Case, check_traced, chunks
from flambeau.ops._op import OPS

pytestmark = pytest.mark.jax

SPARSE = {name for name, op in OPS.items() if op.forward.__module__.endswith("ops.sparse")}
UNTRACED = {
    **dict.fromkeys(SPARSE, "it takes or returns sparse arrays, which tests/test_sparse.py has on both engines"),
    **dict.fromkeys(("nonzero", "unique2", "unique_dim", "unique_consecutive"), "how much it returns depends on the elements"),
    "move": "it takes elements from one device to another",
    "dropout_factors": "NumPy draws by no key: tests/engines/test_xla_attention.py has its factors",
}


def test_every_op_has_a_row():
    names = {row.name for row in ROWS}
    assert not names - set(OPS), "these ops are no more"
    assert not set(OPS) - names - set(UNTRACED), "add rows for these ops to tests/engines/xla_rows_*.py"


def test_every_differentiable_op_has_a_row_with_gradient():
    wanted = {name for name, op in OPS.items() if op.differentiable} - set(UNTRACED)
    assert not wanted - {row.name for row in FIRST if row.has_gradient()}, "the first row of these is to have one"


@pytest.mark.parametrize("rows", chunks(ROWS))
def test_agrees_with_numpy(jax, rows):
    check_traced(jax, [Case(row) for row in rows])


@pytest.mark.parametrize("rows", chunks(FIRST, 50))
def test_single_precision_stays_single(jax, rows):
    """A float64 may slip in on either engine: the dtypes of results and gradients are to be the same."""
    for case in [Case(row, dtype=np.float32) for row in rows]:
        got = jax.tree.leaves(jax.eval_shape(case.call, *case.arguments()))
        want = [a for part in case.want for a in part if a is not None]
        assert [(a.dtype, a.shape) for a in got] == [(a.dtype, a.shape) for a in want], case.row


@pytest.mark.parametrize("row", [row for row in ROWS if row.refuses], ids=lambda row: row.name)
def test_missing_derivatives_are_refused(jax, row):
    def program(*arrays):
        return row.run(row.with_variable(row.draw(), arrays), row.cotangents(row.draw()))

    with pytest.raises(RuntimeError, match=r"derivative for .* not implemented"):
        jax.eval_shape(program, *row.variable(row.draw()))


@pytest.mark.parametrize("correction", [3, 3.5, 4])
def test_variances_without_degrees_of_freedom_are_those_of_the_cpu(correction):
    for x in (torch.arange(3.0), torch.ones(3)):
        for name in ("var", "std"):
            with pytest.warns(UserWarning, match="degrees of freedom"):
                ours, theirs = [getattr(t, name)(correction=correction).item() for t in (x.to("xla"), x)]
            assert ours == pytest.approx(theirs, nan_ok=True)
