"""Every op under vmap and in forward mode, on the rows of the XLA engine's tests.

The batching rules are compared with a loop over the samples, in all combinations of operands that are mapped over; the
rules of gradients with gradients of the loop; the jvps with the derivative of the vjp.
"""

import re
import warnings

import numpy as np
import pytest

from engines.xla_cases import ROWS, chunks
from engines.xla_row import Given
from flambeau._tensor import wrap
from flambeau.func import jvp, linearize, vjp, vmap
from flambeau.ops._op import OPS

SIZE = 3
SLOW = "There is a performance drop"
DYNAMIC = ("nonzero", "masked_select", "index", "unindex", "index_put")  # masks that differ make shapes that differ
NO_DERIVATIVE = ("special_zeta", "igamma", "igammac", "linalg_ldl_factor_ex", "linalg_ldl_solve")
ONCE = ("linear_cross_entropy", "ctc_loss", "ctc_loss_pull")  # differentiable once
NOT_THE_JACOBIAN = "by_frequency"  # a setting that scales the gradient alone


class Call:
    """A row with its inputs; `places` are those of tensors, `floating` those that can be differentiated by."""

    def __init__(self, row):
        self.row = row
        self.values = row.draw("float64")
        given = [isinstance(g, Given) and isinstance(v, np.ndarray) for g, v in zip(row.given, self.values)]
        self.places = [i for i, is_given in enumerate(given) if is_given]
        self.floating = [i for i in self.places if self.values[i].dtype.kind in "fc"]
        self.inputs = [wrap(v) if is_given else v for v, is_given in zip(self.values, given)]
        self.differentiable = bool(
            self.floating and OPS[row.name].differentiable and not row.refuses and row.name not in NO_DERIVATIVE
        )

    def __call__(self, *inputs):
        return self.row.apply(list(inputs))

    def batches(self):
        """(in_dims, inputs) for each way to map over some of the tensors."""
        several = {(i,) for i in self.places} | {tuple(self.places)}
        for mapped in sorted(several) if self.places else ():
            dims = [0 if i in mapped else None for i in range(len(self.inputs))]
            yield tuple(dims), [batch(x) if d == 0 else x for x, d in zip(self.inputs, dims)]

    def pull(self, *inputs):
        """The gradients of the floating inputs for cotangents of ones."""
        def function(*floating):
            return [out for out in self(*self.replace(inputs, floating)) if out._a.dtype.kind in "fc"]

        outs, pull = vjp(function, *[inputs[i] for i in self.floating])
        return pull([out.new_ones(out.shape) for out in outs])

    def replace(self, inputs, floating):
        inputs = list(inputs)
        for i, t in zip(self.floating, floating):
            inputs[i] = t
        return inputs


def batch(t):
    """Samples near each other: all in the domain of the op."""
    a = t._a
    factors = [1, 0.98, 0.96] if a.dtype.kind in "fc" else [1] * SIZE
    return wrap(np.stack([a * a.dtype.type(f) for f in factors]))


def sample(t, dim, i):
    return wrap(np.asarray(t._a[i])) if dim == 0 else t


def mapped(function, dims, inputs):
    """``vmap(function)``; ops without a rule warn that they are slow, and nothing else warns."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        results = vmap(function, in_dims=dims)(*inputs)
    assert all(str(w.message).startswith(SLOW) for w in found)
    return results


def check(results, singles):
    for place, got in enumerate(results):
        want = np.stack([single[place]._a for single in singles])
        assert got._a.dtype == want.dtype
        np.testing.assert_allclose(got._a, want, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("rows", chunks(ROWS))
def test_batching_rules_are_loops_over_samples(rows):
    for call in map(Call, rows):
        for dims, inputs in call.batches():
            try:
                results = mapped(call, dims, inputs)
            except RuntimeError as error:
                if call.row.name in DYNAMIC and re.search("dynamic shape|differently shaped", str(error)):
                    continue
                raise AssertionError(f"{call.row} over {dims}") from error
            check(results, [call(*[sample(x, d, i) for x, d in zip(inputs, dims)]) for i in range(SIZE)])


@pytest.mark.parametrize("rows", chunks(ROWS))
def test_gradients_are_mapped(rows):
    for call in map(Call, rows):
        for dims, inputs in call.batches() if call.differentiable and call.row.name not in DYNAMIC else ():
            results = mapped(call.pull, dims, inputs)
            check(results, [call.pull(*[sample(x, d, i) for x, d in zip(inputs, dims)]) for i in range(SIZE)])


@pytest.mark.parametrize("rows", chunks(ROWS))
def test_jvps_are_derivatives_of_vjps(rows):
    for call in map(Call, rows):
        if not call.differentiable or call.row.name in ONCE or call.row.settings.get(NOT_THE_JACOBIAN):
            continue

        def function(*floating, call=call):
            return [out for out in call(*call.replace(call.inputs, floating)) if out._a.dtype.kind in "fc"]

        rng = np.random.default_rng(0)
        primals = tuple([call.inputs[i] for i in call.floating])
        tangents = tuple([wrap(np.asarray(rng.normal(size=t._a.shape), t._a.dtype)) for t in primals])
        want = linearize(function, *primals)[1](*tangents)
        got = jvp(function, primals, tangents)[1]
        for g, w in zip(got, want, strict=True):
            number = ~np.isnan(w._a)  # where there is no derivative, the vjp of the vjp may be none
            np.testing.assert_allclose(g._a[number], w._a[number], rtol=1e-7, atol=1e-9)


def test_pointwise_tables_name_ops():
    """The tables name nothing but ops."""
    from flambeau.transforms import jvps
    from flambeau.transforms.batching import RULES

    assert {*RULES, *jvps.LINEAR, *jvps.MULTILINEAR, *jvps.WITH_BIAS, *jvps.AT_ZERO} <= {*OPS}
