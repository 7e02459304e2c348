"""The native convolutions against their twins in NumPy: forward, and gradients of input and weight."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import flambeau
from engines.test_native import FLOATS, arrays, both, needs_native, same, width  # noqa: F401
from engines.test_native_layers import per_dim
from flambeau.engines import NUMPY
from flambeau.engines.numpy.conv import out_sizes


@pytest.fixture(autouse=True)
def threads():
    before = flambeau.get_num_threads()
    yield
    flambeau.set_num_threads(before)


ZEROS = st.just(0.0)
MOST = {1: 60, 2: 18, 3: 8}  # elements of a side, by the number of dimensions


@st.composite
def convolutions(draw, elements=ZEROS):
    """(x, weight, gradient of the result, settings) of convolutions of all kinds."""
    n = draw(st.integers(1, 3))
    groups = draw(st.sampled_from([1, 1, 2, 3]))
    channels, results = (groups * draw(st.integers(1, 14)) for _ in range(2))
    if draw(st.integers(0, 3)) == 0:
        groups = channels = results = draw(st.integers(2, 5))  # a kernel for each channel
    kernel, stride, dilation = per_dim(draw, n, 1, 4), per_dim(draw, n, 1, 3), per_dim(draw, n, 1, 3)
    padding, samples = per_dim(draw, n, 0, 4), draw(st.integers(1, 3))
    least = [max(1, d * (k - 1) + 1 - 2 * p) for k, d, p in zip(kernel, dilation, padding, strict=True)]
    spatial = tuple([draw(st.integers(low, max(low, MOST[n]))) for low in least])
    out = out_sizes(spatial, kernel, stride, padding, dilation)
    dtypes = (draw(st.sampled_from(FLOATS)),)
    x, weight, g = (draw(arrays(dtypes, shape, elements)) for shape in (
        (samples, channels, *spatial), (results, channels // groups, *kernel), (samples, results, *out)))
    return x, weight, g, (stride, padding, dilation, groups)


def rounding(*operands):
    return {"rtol": 1e-3, "atol": 1e-3} if operands[0].dtype == np.float32 else {"rtol": 1e-9, "atol": 1e-9}


@needs_native
@given(convolutions(), st.data())
@settings(max_examples=80, deadline=None)
def test_convolutions(case, data):
    x, weight, g, how = case
    flambeau.set_num_threads(data.draw(st.sampled_from([1, 2, 4])))
    bias = data.draw(st.one_of(st.none(), arrays((x.dtype,), (weight.shape[0],))))
    of_input = data.draw(st.one_of(st.none(), arrays((x.dtype,), (x.shape[1],))))
    out = tuple([data.draw(st.integers(1, n)) for n in g.shape[2:]])
    same(*both("conv", x, weight, *how, None, bias), **rounding(x))
    same(*both("conv", x, weight, *how, out, bias), **rounding(x))
    same(*both("conv_input", g, weight, x.shape[2:], *how, of_input), **rounding(x))
    same(*both("conv_weight", x, g, weight.shape[2:], *how), **rounding(x))


@needs_native
@given(convolutions(st.sampled_from([np.inf, -np.inf, np.nan])))
@settings(max_examples=50, deadline=None)
def test_what_is_not_finite_goes_where_it_must(case):
    x, weight, g, how = case
    ours, twin = both("conv", x, weight, *how)
    assert (np.isfinite(ours) == np.isfinite(twin)).all()
    ours, twin = both("conv_weight", x, g, weight.shape[2:], *how)
    assert (np.isfinite(ours) == np.isfinite(twin)).all()
    ours, twin = both("conv_input", g, np.nan_to_num(weight, posinf=1, neginf=1), x.shape[2:], *how)
    assert (np.isfinite(ours) == np.isfinite(twin)).all()


LARGE = [  # samples, channels, results, groups, spatial, kernel, stride, padding, dilation
    (4, 40, 70, 1, (20, 20), (3, 3), (1, 1), (1, 1), (1, 1)),
    (9, 130, 50, 1, (4, 4), (3, 3), (1, 1), (1, 1), (1, 1)),
    (2, 300, 33, 1, (14, 14), (1, 1), (1, 1), (0, 0), (1, 1)),
    (2, 3, 20, 1, (65, 65), (7, 7), (2, 2), (3, 3), (1, 1)),
    (2, 64, 64, 32, (12, 12), (3, 3), (1, 1), (1, 1), (1, 1)),
    (3, 31, 31, 31, (40, 41), (3, 3), (2, 2), (1, 1), (1, 1)),
    (2, 37, 37, 37, (7, 7), (3, 3), (1, 1), (1, 1), (1, 1)),
    (2, 19, 19, 19, (12, 15), (5, 4), (3, 2), (2, 0), (1, 2)),
    (1, 20, 20, 20, (5, 6, 7), (3, 3, 3), (2, 1, 2), (1, 0, 1), (1, 1, 1)),
    (3, 8, 9, 1, (3000,), (9,), (1,), (8,), (2,)),
    (1, 9, 8, 1, (11, 12, 13), (3, 3, 3), (1, 2, 1), (1, 0, 1), (1, 1, 1)),
    (1, 2, 3, 1, (40, 400), (17, 17), (1, 1), (0, 0), (1, 1)),
    (3, 33, 17, 1, (19, 26), (3, 3), (1, 1), (0, 0), (1, 1)),
    (5, 20, 50, 1, (13, 9), (3, 3), (1, 1), (2, 2), (1, 1)),
    (2, 24, 16, 1, (31, 30), (3, 3), (1, 1), (2, 1), (1, 1)),
    (4, 130, 330, 1, (7, 6), (3, 3), (1, 1), (1, 1), (1, 1)),  # weights are more than places: panel by panel
    (9, 40, 33, 1, (4, 4), (4, 4), (1, 1), (0, 0), (1, 1)),
    (5, 70, 40, 1, (9, 7), (4, 4), (2, 2), (1, 1), (1, 1)),
    (3, 20, 50, 1, (15, 13), (1, 1), (2, 2), (0, 0), (1, 1)),
    # kernels of one tap: all places or some, of samples together or one by one, with rows a page apart, of few channels
    (4, 70, 150, 1, (7, 7), (1, 1), (1, 1), (0, 0), (1, 1)),
    (3, 150, 40, 1, (9, 14), (1, 1), (2, 3), (0, 0), (1, 1)),
    (2, 130, 140, 1, (16, 16), (1, 1), (1, 1), (0, 0), (1, 1)),
    (2, 100, 70, 1, (32, 32), (1, 1), (1, 1), (0, 0), (1, 1)),
    (2, 70, 100, 1, (41, 40), (1, 1), (2, 2), (0, 0), (1, 1)),
    (2, 7, 60, 1, (30, 33), (1, 1), (1, 1), (0, 0), (1, 1)),
    (2, 30, 33, 1, (5, 3, 4), (1, 1, 1), (2, 1, 3), (0, 0, 0), (1, 1, 1)),
    (3, 1024, 50, 1, (6,), (1,), (1,), (0,), (1,)),
    # the same with more to be laid out anew than is at once: few places in each sample, or many
    (2000, 20, 22, 1, (11, 11), (1, 1), (1, 1), (0, 0), (1, 1)),
    (29, 20, 22, 1, (100, 161), (1, 1), (1, 2), (0, 0), (1, 1)),
    (2, 130, 34, 2, (8, 9), (3, 2), (2, 3), (2, 1), (2, 1)),
    (2, 40, 24, 1, (6, 5, 7), (3, 3, 3), (2, 1, 2), (1, 1, 2), (1, 2, 1)),
    (1, 600, 40, 1, (5, 6), (3, 3), (2, 1), (0, 2), (1, 1)),
    (2, 1024, 32, 1, (6, 6), (2, 2), (2, 2), (0, 0), (1, 1)),
    (3, 3, 40, 1, (18, 17), (4, 4), (2, 2), (1, 1), (1, 1)),
    (4, 1, 32, 1, (12, 12), (3, 3), (1, 1), (1, 1), (1, 1)),
    (2, 2, 33, 1, (9, 8, 7), (2, 3, 2), (2, 1, 2), (1, 1, 0), (1, 2, 1)),
    (30, 3, 16, 1, (40, 40), (3, 3), (1, 1), (1, 1), (1, 1)),
    (2, 24, 150, 1, (5, 4), (3, 3), (1, 1), (1, 1), (1, 1)),
    # strides that leap over the image, so that the result meets little more than padding
    (8, 4, 64, 1, (4,), (5,), (120000,), (40000,), (1,)),
    (8, 4, 40, 1, (4, 5), (3, 3), (9, 9000), (1, 4000), (1, 1)),
    (8, 40, 40, 40, (4, 5), (3, 3), (9, 90), (1, 40), (1, 1)),
    (8, 4, 40, 1, (3, 4), (3, 3), (1, 700), (1, 700), (1, 700)),
    (2, 32, 40, 1, (5, 6), (3, 3), (2**30, 2**30), (1, 1), (1, 1)),
    (2, 32, 40, 1, (5, 6), (3, 3), (2**30, 2), (1, 1), (2, 1)),
    (2, 20, 40, 1, (1, 40), (1, 1), (3, 1), (1, 0), (1, 1)),
    (1, 20, 40, 1, (1, 1, 40), (1, 1, 1), (4, 1, 1), (2, 0, 0), (1, 1, 1)),
]


@needs_native
@pytest.mark.parametrize("case", LARGE, ids=str)
@pytest.mark.parametrize("dtype", FLOATS)
def test_large_convolutions(case, dtype):
    samples, channels, results, groups, spatial, kernel, *how = case
    rng = np.random.default_rng(0)
    x = rng.standard_normal((samples, channels, *spatial)).astype(dtype)
    weight = rng.standard_normal((results, channels // groups, *kernel)).astype(dtype)
    g = rng.standard_normal((samples, results, *out_sizes(spatial, kernel, *how))).astype(dtype)
    for name, arguments in (("conv", (x, weight)), ("conv_input", (g, weight, spatial)), ("conv_weight", (x, g, kernel))):
        exact = [a.astype(np.float64) for a in arguments[:2]]
        right = getattr(NUMPY, name).__wrapped__(*exact, *arguments[2:], *how, groups)
        for count in (1, 2, 4):
            flambeau.set_num_threads(count)
            ours = getattr(NUMPY, name)(*arguments, *how, groups)
            assert ours.dtype == dtype
            assert abs(ours - right).max() <= (2e-6 if dtype == np.float32 else 1e-14) * abs(right).max()


@needs_native
@pytest.mark.parametrize("channels", [3, 40])
def test_inputs_get_a_bias(channels):
    rng = np.random.default_rng(0)
    g, weight = rng.standard_normal((2, 20, 5, 6)), rng.standard_normal((20, channels, 4, 4))
    how = (10, 12), (2, 2), (1, 1), (1, 1), 1, rng.standard_normal(channels)
    same(*both("conv_input", g, weight, *how), rtol=1e-12, atol=1e-12)


@needs_native
@pytest.mark.parametrize("count", [1, 2])
def test_results_get_a_bias(count):
    flambeau.set_num_threads(count)
    rng = np.random.default_rng(0)
    x, weight = rng.standard_normal((2, 24, 5, 4)), rng.standard_normal((150, 24, 3, 3))
    how = (1, 1), (1, 1), (1, 1), 1, None, rng.standard_normal(150)
    same(*both("conv", x, weight, *how), rtol=1e-12, atol=1e-12)


@needs_native
@pytest.mark.parametrize("side", [5, 13])
@pytest.mark.parametrize("step", [1, 2])
def test_kernels_of_one_tap_get_a_bias(side, step):
    rng = np.random.default_rng(0)
    x, weight = rng.standard_normal((3, 24, side, side)), rng.standard_normal((30, 24, 1, 1))
    how = (step, step), (0, 0), (1, 1), 1
    g = NUMPY.conv.__wrapped__(x, weight, *how)
    same(*both("conv", x, weight, *how, None, rng.standard_normal(30)), rtol=1e-12, atol=1e-12)
    same(*both("conv_input", g, weight, (side, side), *how, rng.standard_normal(24)), rtol=1e-12, atol=1e-12)


@needs_native
@pytest.mark.parametrize("groups", [1, 32])
def test_padding_beyond_any_memory_is_refused(groups):
    """More elements than can be counted: their number must not wrap around to a small one."""
    far, ones = (2**30,) * 3, (1, 1, 1)
    x, g = np.ones((8, 32, *ones), np.float32), np.ones((8, 32, 3, 3, 2), np.float32)
    weight = np.ones((32, 32 // groups, 1, 1, 2), np.float32)
    for name, arguments in (("conv", (x, weight)), ("conv_input", (g, weight, ones)), ("conv_weight", (x, g, (1, 1, 2)))):
        with pytest.raises((MemoryError, ValueError)):
            getattr(NUMPY, name)(*arguments, far, far, ones, groups)


@needs_native
@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, 3e38])
@pytest.mark.parametrize(("samples", "channels", "results", "side"), [(2, 16, 20, 24), (8, 290, 300, 5)], ids=str)
@pytest.mark.parametrize("name", ["conv", "conv_input", "conv_weight"])
def test_tiles_keep_what_is_not_finite_apart(name, samples, channels, results, side, value):
    """Kernels of 3x3 are summed in tiles, whose places share products: one that is not finite must not reach all."""
    rng = np.random.default_rng(0)
    shapes = {"x": (samples, channels, side, side), "weight": (results, channels, 3, 3), "g": (samples, results, side, side)}
    arrays = {"conv": ["x", "weight"], "conv_input": ["g", "weight"], "conv_weight": ["x", "g"]}[name]
    x, y = (rng.standard_normal(shapes[array]).astype(np.float32) for array in arrays)
    x[1, 3, 2, 3] = value
    sizes = {"conv": (), "conv_input": ((side, side),), "conv_weight": ((3, 3),)}[name]
    ours, twin = both(name, x, y, *sizes, (1, 1), (1, 1), (1, 1), 1)
    assert (np.isfinite(ours) == np.isfinite(twin)).all()
    assert not np.isfinite(ours).all() or value == 3e38


@needs_native
@pytest.mark.parametrize("name", ["conv", "conv_input", "conv_weight"])
def test_channels_last_images_are_copied_once(name):
    """A kernel takes what lies channels-last as it takes what is contiguous, instead of leaving it to its twin."""
    rng = np.random.default_rng(0)
    shapes = {
        "conv": [(2, 16, 9, 8), (20, 16, 3, 3)], "conv_input": [(2, 20, 9, 8), (20, 16, 3, 3)],
        "conv_weight": [(2, 16, 9, 8), (2, 20, 9, 8)],
    }[name]
    sizes = {"conv": (), "conv_input": ((9, 8),), "conv_weight": ((3, 3),)}[name]
    plain = [rng.standard_normal(shape).astype(np.float32) for shape in shapes]
    last = [np.ascontiguousarray(a.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2) for a in plain]
    kernel = getattr(NUMPY, name)
    assert (kernel(*last, *sizes, (1, 1), (1, 1), (1, 1), 1) == kernel(*plain, *sizes, (1, 1), (1, 1), (1, 1), 1)).all()
