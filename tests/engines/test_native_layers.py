"""The native kernels of pooling and resampling against their twins in NumPy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engines.test_native import FLOATS, arrays, both, indices, needs_native, same, width  # noqa: F401
from flambeau.engines import NUMPY
from flambeau.engines.numpy.conv import out_sizes
from flambeau.ops.pooling import all_ranges

DTYPES = (*FLOATS, np.float16, np.int64)


def per_dim(draw, n, low, high):
    return tuple([draw(st.integers(low, high)) for _ in range(n)])


@st.composite
def planes(draw, dtypes=DTYPES, n=None, most=9):
    """Arrays of samples, channels and one to three more dimensions."""
    n = n or draw(st.integers(1, 3))
    return draw(arrays((draw(st.sampled_from(dtypes)),), (*per_dim(draw, 2, 1, 3), *per_dim(draw, n, 1, most))))


@needs_native
@given(st.data())
@settings(max_examples=200, deadline=None)
def test_max_pool(data):
    x = data.draw(planes())
    spatial, n = x.shape[2:], x.ndim - 2
    kernel, dilation, stride = (per_dim(data.draw, n, 1, 3) for _ in range(3))
    padding = tuple([data.draw(st.integers(0, (d * (k - 1) + 1) // 2)) for k, d in zip(kernel, dilation, strict=True)])
    out = tuple([max(m + data.draw(st.integers(0, 1)), 1) for m in out_sizes(spatial, kernel, stride, padding, dilation)])
    same(*both("max_pool", x, kernel, stride, padding, dilation, out))


@needs_native
@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("dtype", FLOATS)
def test_max_pool_of_long_rows(stride, dtype):
    x = np.random.default_rng(0).integers(-9, 9, (2, 3, 5, 700)).astype(dtype)
    x[0, 0, 2, 100:300:7], x[1, 2, 3, 650:] = np.nan, -np.inf
    out = out_sizes(x.shape[2:], (3, 4), (2, stride), (1, 2), (1, 2))
    same(*both("max_pool", x, (3, 4), (2, stride), (1, 2), (1, 2), out))


@needs_native
@pytest.mark.parametrize("columns", [*range(2, 20), 31, 32, 33, 35, 66, 261])
@pytest.mark.parametrize("dtype", FLOATS)
def test_max_pool_of_whole_and_cut_vectors(columns, dtype, width):  # noqa: F811
    x = np.random.default_rng(columns).integers(-9, 9, (3, 2, 5, columns)).astype(dtype)
    x[0, 0, 2, ::3], x[2, 1, :, -2:], x[2, 1, 3, -1] = np.nan, -np.inf, np.nan
    for kernel, stride, padding in (((2, 2), (2, 2), (0, 0)), ((3, 3), (2, 2), (1, 1)), ((2, 3), (1, 1), (1, 0))):
        sizes = out_sizes(x.shape[2:], kernel, stride, padding, (1, 1))
        if min(sizes) > 0:
            same(*both("max_pool", x, kernel, stride, padding, (1, 1), sizes))


@needs_native
@given(st.data())
@settings(max_examples=200, deadline=None)
def test_sums_over_windows(data):
    x = data.draw(planes((*FLOATS, np.int64)))
    x = x if x.dtype.kind == "i" else np.nan_to_num(x, posinf=1.0, neginf=-1.0).clip(-10, 10)
    spatial, n = x.shape[2:], x.ndim - 2
    kernel, stride, padding = (per_dim(data.draw, n, low, 3) for low in (1, 1, 0))
    out = tuple([max(m + data.draw(st.integers(0, 1)), 1) for m in out_sizes(spatial, kernel, stride, padding, (1,) * n)])
    rtol = 1e-4 if x.dtype == np.float32 else 1e-12
    same(*both("window_sum", x, kernel, stride, padding, out), rtol, rtol)
    g = np.broadcast_to(x[:, :, *[slice(1)] * n], (*x.shape[:2], *out))
    same(*both("window_spread", g, kernel, stride, padding, spatial), rtol, rtol)


@needs_native
@given(st.data())
@settings(max_examples=100, deadline=None)
def test_elements_put_in_rows_of_zeros(data):
    rows, count, size = per_dim(data.draw, 3, 1, 9)
    g = data.draw(arrays((data.draw(st.sampled_from(DTYPES)),), (rows, min(count, size))))
    index = np.stack([np.random.default_rng(i).permutation(size)[:g.shape[1]] for i in range(rows)])
    index -= data.draw(st.sampled_from([0, size]))  # from the end
    same(*both("put_along", g, index, 1, (rows, size)))


@needs_native
def test_put_out_of_bounds_is_left_to_the_twin():
    with pytest.raises(IndexError):
        NUMPY.put_along(np.ones((1, 2), np.float32), np.array([[0, 3]]), 1, (1, 3))


@needs_native
@given(st.data())
@settings(max_examples=200, deadline=None)
def test_pooling_over_ranges(data):
    x = data.draw(planes((*FLOATS, np.int64)))
    sizes = per_dim(data.draw, x.ndim - 2, 1, 6)
    ranges = all_ranges(x.shape[2:], sizes)
    same(*both("ranges_max", x, ranges))
    if x.dtype.kind == "f":
        rtol = 1e-4 if x.dtype == np.float32 else 1e-12
        x = np.nan_to_num(x, posinf=1.0, neginf=-1.0).clip(-10, 10)
        same(*both("ranges_mean", x, ranges), rtol, rtol)
        g = np.broadcast_to(x[:, :, *[slice(1)] * len(sizes)], (*x.shape[:2], *sizes))
        same(*both("ranges_spread", g, ranges, x.shape[2:]), rtol, rtol)


@needs_native
@given(st.data())
@settings(max_examples=200, deadline=None)
def test_resampling(data):
    x = data.draw(planes((*FLOATS, np.int64)))
    axis = data.draw(st.integers(2, x.ndim - 1))
    index = data.draw(indices(per_dim(data.draw, 2, 1, 11), x.shape[axis] + 1)) - 1  # below 0 is outside
    weights = data.draw(arrays((x.dtype,), index.shape, st.just(0.0)))
    rtol = 1e-4 if x.dtype == np.float32 else 1e-12
    same(*both("resample_axis", x.clip(-10, 10), index, weights, axis), rtol, rtol)


@needs_native
@given(st.data())
@settings(max_examples=200, deadline=None)
def test_sums_at_places(data):
    dtypes = (data.draw(st.sampled_from((*FLOATS, np.int64))),)
    samples, channels, size, taps, places = per_dim(data.draw, 5, 1, 6)
    x = data.draw(arrays(dtypes, (samples, channels, size), st.just(0.0)))
    g = data.draw(arrays(dtypes, (samples, channels, places), st.just(0.0)))
    weights = data.draw(arrays(dtypes, (samples, taps, places), st.just(0.0)))
    index = data.draw(indices(weights.shape, size + 1)) - 1
    rtol = 1e-4 if x.dtype == np.float32 else 1e-12
    same(*both("sum_places", x, index, weights), rtol, rtol)
    same(*both("spread_places", g, index, weights, size), rtol, rtol)
    same(*both("dot_places", g, x, index), rtol, rtol)


@needs_native
@pytest.mark.parametrize("wrong", [3, 2**62])
def test_indices_out_of_bounds_are_left_to_the_twin(wrong):
    x, weights, index = np.ones((1, 1, 3), np.float32), np.ones((1, 1, 2), np.float32), np.array([[[0, wrong]]])
    for name, arguments in (("sum_places", (x, index, weights)), ("dot_places", (weights, x, index)),
                            ("spread_places", (weights, index, weights, 3)),
                            ("resample_axis", (x, index[0], weights[0], 2))):
        with pytest.raises(IndexError):
            getattr(NUMPY, name)(*arguments)


@needs_native
@given(planes(FLOATS))
@settings(max_examples=100, deadline=None)
def test_scale_and_shift(x):
    scale = np.arange(x.shape[1], dtype=x.dtype).reshape(-1, *[1] * (x.ndim - 2))[None]
    same(*both("scale_shift", x, scale, scale + 1), 1e-6, 1e-6)
