"""The native kernels of activations and elementwise losses against their twins in NumPy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engines.test_native import FLOATS, arrays, both, few_ulps, needs_native, same, same_bits, width  # noqa: F401
from flambeau.engines import NUMPY
from flambeau.engines.numpy import native

BOUNDS = st.sampled_from([0.0, 6.0, -1.0, 1, 0.5, np.inf, -np.inf, np.nan])
EXACT = {"hardsigmoid": 0, "hardswish": 0, "hardshrink": 1, "softshrink": 1, "clip": 2}
SMOOTH = ("silu", "mish", "gelu_tanh")
DISTANCES = ("smooth_l1", "smooth_l1_slope", "huber", "huber_slope")


@needs_native
@given(arrays((*FLOATS, *FLOATS, np.float16)), st.sampled_from(sorted(EXACT)), st.data())
@settings(max_examples=200, deadline=None)
def test_piecewise_functions(x, name, data):
    same(*both(name, x, *[data.draw(BOUNDS) for _ in range(EXACT[name])]))


@pytest.mark.parametrize("dtype", FLOATS)
def test_hardsigmoid_is_exact_to_two_ulps(dtype):
    """Near -3, too, where half is no summand that cancels."""
    x = np.concatenate([np.geomspace(1e-7, 6, 1001) - 3, [-3, 3, 0, np.nextafter(dtype(-3), dtype(0))]]).astype(dtype)
    right = (x.astype(np.longdouble) + 3) / 6
    for result in both("hardsigmoid", x) if native.NAMES else [NUMPY.hardsigmoid(x)]:
        assert (np.abs(result - right) <= 2 * np.spacing(right.astype(dtype))).all()


@needs_native
@given(arrays(), st.sampled_from(["hardsigmoid", "hardswish", "hardshrink", "hardtanh"]), st.data())
@settings(max_examples=200, deadline=None)
def test_gradients_of_piecewise_functions(x, name, data):
    numbers = [data.draw(BOUNDS) for _ in range({"hardshrink": 1, "hardtanh": 2}.get(name, 0))]
    same(*both(f"{name}_pull", data.draw(arrays((x.dtype.type,), x.shape)), x, *numbers))


@needs_native
@given(arrays((*FLOATS, *FLOATS, np.float16)), st.sampled_from(SMOOTH))
@settings(max_examples=100, deadline=None)
def test_smooth_functions(x, name):
    ours, twin = both(name, x)
    same(ours, twin, rtol=few_ulps(ours.dtype, 8)["rtol"], atol=8 * float(np.finfo(ours.dtype).eps))


@needs_native
@given(arrays(), st.sampled_from(SMOOTH), st.data())
@settings(max_examples=100, deadline=None)
def test_gradients_of_smooth_functions(x, name, data):
    g = data.draw(arrays((x.dtype.type,), x.shape))
    unit = np.where(np.isfinite(g), np.maximum(np.abs(g), 1), 1).astype(g.dtype)  # errors are parts of g: slopes have zeros
    ours, twin = both(f"{name}_pull", g, x)
    same(ours / unit, twin / unit, rtol=1e-5 if x.dtype == np.float32 else 1e-13, atol=3e-6)


@needs_native
@pytest.mark.parametrize(("name", "exact", "slope"), [
    ("silu", lambda x: x / (1 + np.exp(-x)), lambda x, s: s * (1 + x * (1 - s))),
    ("mish", lambda x: x * np.tanh(np.log1p(np.exp(x))), lambda x, s: _mish_slope(x, s)),
])
def test_smooth_functions_are_exact_to_a_few_ulps(name, exact, slope):
    x = np.linspace(-30, 30, 300_001, dtype=np.float32)
    wide = x.astype(np.longdouble)
    right, steep = exact(wide), slope(wide, 1 / (1 + np.exp(-wide)))
    assert (np.abs(getattr(NUMPY, name)(x) - right) / np.spacing(np.abs(right).astype(np.float32))).max() <= 5
    ours = getattr(NUMPY, f"{name}_pull")(np.ones_like(x), x)
    assert np.abs(ours - steep).max() <= 4 * np.finfo(np.float32).eps


def _mish_slope(x, sigmoid):
    t = np.tanh(np.log1p(np.exp(x)))
    return t + x * (1 - t * t) * sigmoid


@needs_native
@given(arrays(), st.sampled_from(DISTANCES), st.sampled_from([1.0, 0.5, 2, 1e-3]), st.data())
@settings(max_examples=100, deadline=None)
def test_distances(x, name, limit, data):
    same_bits(*both(name, data.draw(arrays((x.dtype.type,), x.shape)), x, limit))


OVERWRITING = {"relu": (), "clip": (0.0, 6.0), "leaky_relu": (0.1,), "silu": (), "hardswish": (), "elu": (1.0, 1.0, 1.0)}


@needs_native
@given(arrays((*FLOATS, np.float16)), st.sampled_from(sorted(OVERWRITING)))
@settings(max_examples=100, deadline=None)
def test_overwriting(x, name):
    x = x if x.flags.writeable else x.copy()
    with np.errstate(all="ignore"):
        twin = NUMPY.overwrite.__wrapped__(x.copy(), name, OVERWRITING[name])
        assert NUMPY.overwrite(x, name, OVERWRITING[name]) is x
    same(x, twin, **few_ulps(x.dtype))


@needs_native
@pytest.mark.parametrize(("name", "numbers", "error"), [
    ("nothing", (), AttributeError), ("relu", (1.0,), TypeError), ("clip", (0.0,), TypeError),
])
def test_what_cannot_overwrite_is_refused(name, numbers, error):
    x = np.ones(3, np.float32)
    with pytest.raises(error):
        NUMPY.overwrite(x, name, numbers)
    assert (x == 1).all()


@needs_native
def test_an_array_that_cannot_be_written_to_is_not_overwritten():
    x = np.full(3, -1, np.float32)
    x.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        NUMPY.overwrite(x, "relu", ())
