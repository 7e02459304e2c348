"""The native kernels against their twins in NumPy on arrays large enough to be split over threads, in odd parts."""

import numpy as np
import pytest

import flambeau
from engines.test_native import FLOATS, both, needs_native, same
from flambeau.engines import NUMPY

pytestmark = needs_native
SHAPES = [(300_007,), (577, 523), (5, 61, 1031), (3, 7, 129, 113)]
NAN = float("nan")


@pytest.fixture(params=[1, 3])
def threads(request):
    before = flambeau.get_num_threads()
    flambeau.set_num_threads(request.param)
    yield request.param
    flambeau.set_num_threads(before)


class Draw:
    """Arrays of one dtype and of one shape, or of such as go with it."""

    def __init__(self, shape, dtype):
        self.rng, self.shape, self.dtype = np.random.default_rng(len(shape)), shape, dtype
        self.axis = len(shape) // 2
        self.row = tuple([1 if d == self.axis else n for d, n in enumerate(shape)])

    def x(self, shape=None):
        return self.rng.standard_normal(self.shape if shape is None else shape).astype(self.dtype)

    def places(self, count=None):
        shape = tuple([count if d == self.axis and count else n for d, n in enumerate(self.shape)])
        return self.rng.integers(0, self.shape[self.axis], shape)

    def per_channel(self, ndim):
        return self.x((1, self.shape[1], *[1] * (ndim - 2)))


CURVES = {
    "erf": (), "sign": (), "relu": (), "leaky_relu": (0.2,), "elu": (1.5, 1.0, 1.0), "sigmoid": (), "log_sigmoid": (), "softplus": (1.0, 20.0),
    "gelu": (), "gelu_tanh": (), "clip": (-0.5, 0.7), "hardsigmoid": (), "hardswish": (), "hardshrink": (0.5,),
    "softshrink": (0.5,), "silu": (), "mish": (), "replace_nonfinite": (0.0, 1.0, -1.0),
}
PULLS = {
    "threshold_pull": (0.0,), "leaky_relu_pull": (0.2,), "elu_pull": (1.5, 1.0, 1.0), "gelu_pull": (), "gelu_tanh_pull": (),
    "hardtanh_pull": (-0.5, 0.7), "hardsigmoid_pull": (), "hardswish_pull": (), "hardshrink_pull": (0.5,), "silu_pull": (),
    "mish_pull": (), "smooth_l1": (0.5,), "smooth_l1_slope": (0.5,), "huber": (0.5,), "huber_slope": (0.5,), "lerp": (0.25,),
}
PAIRS = ("add", "subtract", "multiply", "divide", "hypot", "logaddexp", "floor_divide", "remainder", "fmod", "div_trunc")
ACT = (-0.5, 0.75, 0.0)
CASES = {
    **{name: lambda d, numbers=numbers: (d.x(), *numbers) for name, numbers in CURVES.items()},
    **{name: lambda d, numbers=numbers: (d.x(), d.x(), *numbers) for name, numbers in PULLS.items()},
    **{name: lambda d: (d.x(), d.x()) for name in PAIRS},
    **{f"{name} of rows": lambda d: (d.x(), d.x(d.row)) for name in PAIRS},
    "maximum": lambda d: (d.x(), 0.25), "minimum": lambda d: (d.x(), np.asarray(0.25, d.dtype)),
    "gather": lambda d: (d.x(), d.places(), d.axis), "gather few": lambda d: (d.x(), d.places(3), d.axis),
    "scatter": lambda d: (d.x(), np.argsort(d.x(), d.axis), d.x(), d.axis),
    "scatter a number": lambda d: (d.x(), d.places(), 2.5, d.axis),
    "scatter sums": lambda d: (d.x(), d.places(), d.x(), d.axis, "add"),
    "cumsum": lambda d: (d.x(), d.axis), "cumprod": lambda d: (d.x(), d.axis),
    "running_max": lambda d: (d.x(), d.axis), "running_min": lambda d: (d.x(), d.axis),
    "sum": lambda d: (d.x(), d.axis, False), "mean": lambda d: (d.x(), None, True), "prod": lambda d: (d.x(), d.axis, True),
    "softmax": lambda d: (d.x(), d.axis), "log_softmax": lambda d: (d.x(), len(d.shape) - 1),
    "softmax_pull": lambda d: (d.x(), d.x(), d.axis), "log_softmax_pull": lambda d: (d.x(), d.x(), d.axis),
    "normalize": lambda d: (d.x(), d.x(d.shape[-1:]), None, (len(d.shape) - 1,), 1e-5),
    "concatenate": lambda d: ([d.x(), d.x(d.row)], d.axis), "stack": lambda d: ([d.x(), d.x()], d.axis),
    "cast": lambda d: (d.x(), np.dtype(np.float16)), "copy": lambda d: (d.x().swapaxes(0, -1),),
}
OF_CHANNELS = {
    "normalize_act": lambda d: (d.x(), *[d.x(d.shape[1:2]) for _ in range(2)], 1e-5, ACT),
    "normalize_act_again": lambda d: (
        d.x(), *[d.x(d.shape[1:2]) for _ in range(2)], d.per_channel(len(d.shape)), d.per_channel(len(d.shape)) ** 2, 1e-5, ACT),
    "normalize of channels": lambda d: (
        d.x(), None, d.per_channel(len(d.shape)), (0, *range(2, len(d.shape))), 1e-5),
    "finish": lambda d: (d.x(), (d.x(d.shape[1:2]), d.x(d.shape[1:2]), "clip", (-0.5, 0.75))),
    "finish by a curve": lambda d: (d.x(), (None, None, "silu", ())),
}


def agree(ours, twin, dtype):
    exact = 2e-5 if dtype == np.float32 else 1e-12
    same(ours, twin, rtol=exact, atol=30 * exact)


def compare(name, arguments, dtype):
    agree(*both(name, *arguments), dtype)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", CASES)
def test_large_arrays(name, dtype, threads):
    for shape in SHAPES:
        compare(name.partition(" ")[0], CASES[name](Draw(shape, dtype)), dtype)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", OF_CHANNELS)
def test_large_images(name, dtype, threads):
    for shape in SHAPES[2:]:
        compare(name.partition(" ")[0], OF_CHANNELS[name](Draw(shape, dtype)), dtype)


@pytest.mark.parametrize("dtype", FLOATS)
def test_gradients_of_large_images(dtype, threads):
    """Of elements that are not near the ends of a piece of the activation."""
    for shape in SHAPES[2:]:
        d = Draw(shape, dtype)
        x, weight, bias = d.x(), d.x(shape[1:2]), d.x(shape[1:2])
        _, mean, var = NUMPY.normalize(x, None, None, (0, *range(2, len(shape))), 1e-5)
        y = NUMPY.normalize_act_again(x, weight, bias, mean, var, 1e-5, (NAN, NAN, 0.0))
        g = np.where(np.minimum(abs(y - ACT[0]), abs(y - ACT[1])) < 1e-3, 0, d.x())
        compare("normalize_act_pull", (g, x, weight, bias, mean, var, *[d.per_channel(len(shape))] * 2, 1e-5, ACT), dtype)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ["add_rows", "scatter_add", "scatter", "write"])
def test_writes_to_large_arrays(name, dtype, threads):
    for shape in SHAPES:
        d = Draw(shape, dtype)
        x, count = d.x(), 4001 if len(shape) == 1 else 3
        arguments = {
            "add_rows": (d.rng.integers(0, shape[0], count), d.x((count, *shape[1:]))), "scatter_add": (d.places(), d.x(), d.axis), "scatter": (np.argsort(d.x(), d.axis), d.x(), d.axis, None, True),
            "write": (d.x().swapaxes(0, -1).copy().swapaxes(0, -1),),
        }[name]
        ours, twin = x.copy(), x.copy()
        getattr(NUMPY, name)(ours, *arguments)
        getattr(NUMPY, name).__wrapped__(twin, *arguments)
        agree(ours, twin, dtype)


@pytest.mark.parametrize("dtype", FLOATS)
def test_many_places_of_samples(dtype, threads):
    d = Draw((3, 5, 701), dtype)
    x, g, index = d.x(), d.x((3, 5, 2003)), d.rng.integers(-1, 701, (3, 4, 2003))
    weights = d.x(index.shape)
    compare("sum_places", (x, index, weights), dtype)
    compare("spread_places", (g, index, weights, 701), dtype)
    compare("dot_places", (g, x, index), dtype)
    compare("resample_axis", (x, index[0], weights[0], 2), dtype)
    compare("resample_axis", (x, index[0] % 5, weights[0], 1), dtype)


@pytest.mark.parametrize("dtype", FLOATS)
def test_corners_of_many_places(dtype, threads):
    grid = Draw((9, 17, 19, 2), dtype).x()
    ours = NUMPY.grid_corners(grid, (23, 29), "bilinear", "reflection", False, True)
    for i in range(len(grid)):
        own = NUMPY.grid_corners(grid[i : i + 1], (23, 29), "bilinear", "reflection", False, True)
        for all_of_them, found, axis in zip(ours, own, (0, 0, 1), strict=True):
            assert found.tobytes() == all_of_them.take([i], axis).tobytes()
