"""The native kernels of batch norms fused with an activation against their twins in NumPy."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engines.test_native import FLOATS, both, needs_native, same, width  # noqa: F401
from flambeau.engines import NUMPY

ACTS = [(0.0, math.nan, 0.0), (-0.5, 0.25, 0.0), (0.0, 6.0, 0.0), (0.0, math.nan, 0.2)]
SHAPES = [(2, 3, 5), (1, 1, 40), (3, 2, 4, 9), (2, 5, 1, 1), (4, 3, 33, 67), (2, 3, 2, 3, 4)]


def operands(shape, dtype, seed=0):
    """x, weight, bias, and a gradient."""
    rng = np.random.default_rng(seed)
    x, g = (rng.standard_normal(shape).astype(dtype) for _ in range(2))
    weight, bias = (rng.uniform(-1, 1, shape[1]).astype(dtype) for _ in range(2))
    return x, weight, bias, g


def tolerance(dtype):
    return 2e-5 if dtype == np.float32 else 1e-12


@needs_native
@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", SHAPES)
def test_forward(shape, dtype, act):
    x, weight, bias, _ = operands(shape, dtype)
    ours, twin = both("normalize_act", x, weight, bias, 1e-5, act)
    same(ours, twin, tolerance(dtype), tolerance(dtype))
    y, mean, var = ours
    again, its_twin = both("normalize_act_again", x, weight, bias, mean, var, 1e-5, act)
    assert again.tobytes() == y.tobytes()
    same(again, its_twin, tolerance(dtype), tolerance(dtype))


@needs_native
@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", SHAPES)
def test_gradient(shape, dtype, act):
    x, weight, bias, g = operands(shape, dtype)
    _, mean, var = NUMPY.normalize_act(x, weight, bias, 1e-5, act)
    for g_y in (g, np.broadcast_to(g[:1, :, ..., :1], shape)):
        for g_mean, g_var in ((np.zeros_like(mean), np.zeros_like(mean)), (mean + 1, var - 2)):
            ours, twin = both("normalize_act_pull", g_y, x, weight, bias, mean, var, g_mean, g_var, 1e-5, act)
            same(ours, twin, 5 * tolerance(dtype), 5 * tolerance(dtype) * g[0, 0].size ** 0.5)


@needs_native
@given(st.integers(1, 4), st.integers(1, 70), st.sampled_from(ACTS), st.integers(0, 10**6))
@settings(max_examples=100, deadline=None)
def test_rows_of_any_length(channels, n, act, seed):
    x, weight, bias, g = operands((3, channels, n), np.float64, seed)
    ours, twin = both("normalize_act", x, weight, bias, 1e-5, act)
    same(ours, twin, 1e-10, 1e-10)
    zero = np.zeros_like(ours[1])
    same(*both("normalize_act_pull", g, x, weight, bias, *ours[1:], zero, zero, 1e-5, act), 1e-9, 1e-9)


@needs_native
def test_values_that_are_not_finite():
    x, weight, bias, g = operands((2, 3, 4, 20), np.float32)
    x[0, 0, 0, 0], x[1, 1, 2, 3], g[0, 2, 1, 1] = np.nan, np.inf, np.inf
    for act in ACTS:
        (y, mean, var), twin = both("normalize_act", x, weight, bias, 1e-5, act)
        same((y, mean, var), twin, 1e-5, 1e-5)
        zero = np.zeros_like(mean)
        same(*both("normalize_act_pull", g, x, weight, bias, mean, var, zero, zero, 1e-5, act), 1e-4, 1e-4)


@needs_native
def test_what_is_for_the_twin_to_do():
    x, weight, bias, _ = operands((2, 3, 4, 5), np.float32)
    act = ACTS[0]
    right = NUMPY.normalize_act(x, weight, bias, 1e-5, act)
    strided = np.moveaxis(np.ascontiguousarray(np.moveaxis(x, 1, -1)), -1, 1)
    same(NUMPY.normalize_act(strided, weight, bias, 1e-5, act), right, 1e-5, 1e-5)
    same(NUMPY.normalize_act(x, weight.astype(np.float64), bias, 1e-5, act)[0].astype(np.float32), right[0], 1e-5, 1e-5)
    for wrong in (weight[:2], weight[None, :2]):
        with pytest.raises(ValueError, match=r"reshape|broadcast"):
            NUMPY.normalize_act(x, wrong, bias, 1e-5, act)
