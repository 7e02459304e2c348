"""The rows of all tables, and how to run one on both engines."""

import importlib
import pkgutil

import numpy as np
import pytest

import flambeau.ops
from engines.xla_row import Row
from engines.xla_rows_index import INDEXING
from engines.xla_rows_layers import LAYERS
from engines.xla_rows_linalg import LINALG
from engines.xla_rows_pointwise import POINTWISE
from engines.xla_rows_reduce import REDUCTIONS
from engines.xla_rows_shape import SHAPES
from flambeau.engines._views import value_of

for _module in pkgutil.iter_modules(flambeau.ops.__path__):
    importlib.import_module(f"flambeau.ops.{_module.name}")

ROWS = [*POINTWISE, *REDUCTIONS, *SHAPES, *INDEXING, *LINALG, *LAYERS]
FIRST = list({row.name: row for row in ROWS[::-1]}.values())[::-1]  # one row of each op


def chunks(rows, size=25):
    return [pytest.param(rows[i : i + size], id=f"{rows[i].name}...") for i in range(0, len(rows), size)]


class Case:
    """A row with its inputs, cotangents, and what comes out on NumPy."""

    def __init__(self, row, run=Row.run, dtype=None):
        self.row, self.run = row, run
        self.values = row.draw(dtype)
        self.cotangents = [] if row.refuses else row.cotangents(self.values)
        self.want = self.call(*self.arguments())

    def arguments(self):
        return self.row.variable(self.values), self.cotangents

    def call(self, arrays, cotangents):
        """Lists of arrays, None among them: results and gradients, for `run` as it is."""
        row, values = self.row, self.row.with_variable(self.values, arrays)
        try:
            return ([value_of(t._a) for t in row.apply(row.tensors(values))],) if row.refuses else self.run(row, values, cotangents)
        except Exception as error:
            error.add_note(f"in the row {row}")
            raise

    def check(self, got):
        got, want = ([a for part in found for a in part] for found in (got, self.want))
        assert [a is None for a in got] == [a is None for a in want], self.row
        for i, (g, w) in enumerate(zip(got, want, strict=True)):
            if w is not None:
                assert_same(g, w, self.row.rtol, f"{self.row}, array {i} of results and gradients")


def assert_same(got, want, rtol, what):
    assert (got.dtype, got.shape) == (want.dtype, want.shape), what
    if want.dtype in (np.float32, np.complex64):
        rtol = 1e-5
    np.testing.assert_allclose(np.asarray(got), want, rtol=rtol, atol=rtol / 100, err_msg=what)


def check_traced(jax, cases):
    """Runs the cases in one compiled program: compiling takes most of the time."""

    def program(arguments):
        return [case.call(*given) for case, given in zip(cases, arguments, strict=True)]

    found = jax.jit(program)([case.arguments() for case in cases])
    for case, got in zip(cases, found, strict=True):
        case.check(got)
