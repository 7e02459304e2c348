"""The native kernels against their twins in NumPy, on all kinds of inputs."""

import copy
import gc
import math
import os
import subprocess
import sys
import threading
import time

import ml_dtypes
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import _normal32
import flambeau
from flambeau import _dtypes
from flambeau.engines import NUMPY
from flambeau.engines.numpy import native

needs_native = pytest.mark.skipif(
    not native.NAMES, reason="flambeau._kernels was not built, or FLAMBEAU_NATIVE=0 turns it off"
)
FLOATS = (np.float32, np.float64)
ODD = (np.float16, np.int64, np.int32, np.bool_, np.complex64, np.dtype(">f4"), np.object_)
SPECIAL = st.sampled_from([0.0, -0.0, 1.0, -1.5, np.inf, -np.inf, np.nan, 1e30, 1e-40, 100.0, -100.0])


@pytest.fixture(params=[16, 32, 64], autouse=True)
def width(request):
    """Each test with all vectors that this processor has."""
    if not native.NAMES:
        yield
        return
    from flambeau import _kernels

    if _kernels.use_width(request.param) != request.param:
        pytest.skip(f"this processor has no vectors of {request.param} bytes")
    yield
    _kernels.use_width(64)


def both(name, *arguments, **named):
    """What the native kernel and its twin return."""
    kernel = getattr(NUMPY, name)
    with np.errstate(all="ignore"):
        return kernel(*arguments, **named), kernel.__wrapped__(*arguments, **named)


def same(ours, twin, rtol=0.0, atol=0.0):
    if isinstance(twin, tuple):
        assert len(ours) == len(twin)
        for a, b in zip(ours, twin):
            same(a, b, rtol, atol)
        return
    ours, twin = np.asarray(ours), np.asarray(twin)
    assert (ours.dtype, ours.shape) == (twin.dtype, twin.shape)
    np.testing.assert_allclose(ours, twin, rtol=rtol, atol=atol)


def strided(draw, array):
    """The same elements, lying in memory in another way."""
    how = draw(st.sampled_from(["rows", "columns", "gaps", "backwards", "offset", "frozen"]))
    if how == "columns":
        return np.asfortranarray(array)
    if how == "gaps":
        wide = np.repeat(array[..., None], 2, axis=-1)
        return wide[..., 0]
    if how == "backwards":
        return np.ascontiguousarray(array[::-1])[::-1] if array.ndim else array
    if how == "offset":  # so that elements do not begin where a vector would
        flat = np.empty(array.size + 1, array.dtype)[1:]
        flat[...] = array.reshape(-1)
        return flat.reshape(array.shape)
    if how == "frozen":
        array = array.copy()
        array.flags.writeable = False
    return array


@st.composite
def arrays(draw, dtypes=FLOATS, shape=None, elements=None):
    """Arrays of few dimensions, with elements of any size, infinite ones and none."""
    dtype = np.dtype(draw(st.sampled_from(dtypes)))
    if shape is None:
        shape = draw(hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=40))
        if np.prod(shape) > 20000:
            shape = shape[:2]
    seed = draw(st.integers(0, 2**32 - 1))
    array = np.array(np.random.default_rng(seed).standard_normal(shape) * (1 if dtype.kind in "fc" else 10))
    if dtype.kind in "fc" and array.size:
        for value in draw(st.lists(SPECIAL if elements is None else elements, max_size=3)):
            array.reshape(-1)[draw(st.integers(0, array.size - 1))] = value
    with np.errstate(all="ignore"):
        return strided(draw, array.astype(dtype))


def axes_of(ndim):
    if not ndim:
        return st.none()
    some = st.lists(st.integers(-ndim, ndim - 1), unique_by=lambda a: a % ndim, max_size=ndim).map(tuple)
    return st.one_of(st.none(), st.integers(-ndim, ndim - 1), some)


# ---- the extension as a whole


def test_everything_works_without_the_extension():
    program = (
        "import flambeau as t; from flambeau.engines.numpy import native; assert not native.NAMES;"
        "x = t.arange(6.).reshape(2, 3).requires_grad_();"
        "y = t.nn.functional.gelu(t.nn.functional.layer_norm(t.cat([x, x]).softmax(1), (3,))).sum(); y.backward();"
        "assert x.grad.shape == (2, 3)"
    )
    env = os.environ | {"FLAMBEAU_NATIVE": "0"}
    subprocess.run([sys.executable, "-c", program], check=True, env=env, timeout=120)


def test_it_was_built_where_it_must_be():
    if os.environ.get("FLAMBEAU_REQUIRE_NATIVE"):
        assert native.NAMES


@needs_native
def test_a_kernel_has_its_name_and_its_twin():
    for name in native.NAMES:
        kernel = getattr(NUMPY, name)
        assert kernel.__name__ == name == kernel.__wrapped__.__name__
        assert repr(kernel) == f"<native kernel {name}>"


@needs_native
@pytest.mark.parametrize("arguments", [(), ("nothing", len), (1, len), ("sum", 1), ("sum",)])
def test_kernels_are_constructed_from_a_name_and_a_twin(arguments):
    from flambeau import _kernels

    with pytest.raises((TypeError, KeyError)):
        _kernels.kernel(*arguments)


@needs_native
def test_wrong_calls_are_for_the_twin_to_refuse():
    x = np.ones(3, np.float32)
    for arguments, named in [((), {}), ((x, 0, False, None, 5), {}), ((x,), {"x": x}), ((x,), {"nonsense": 1})]:
        with pytest.raises(TypeError):
            NUMPY.sum(*arguments, **named)
    keys = {"".join(["ax", "is"]): 0, "".join(["keep", "dims"]): True}  # not the strings that the kernel holds
    assert NUMPY.sum(x, **keys).shape == (1,)


@needs_native
@pytest.mark.parametrize("name", native.NAMES)
@pytest.mark.parametrize("wrong", [None, 3, "text", [1.0], np.float32(2), np.ones(3, object), np.ones((2, 2), ">f4"),
                                   np.ma.ones(4), np.zeros(2, "f4,i8"), np.array(["a"])], ids=repr)
def test_unusual_arguments_are_left_to_the_twin(name, wrong):
    kernel = getattr(NUMPY, name)
    for count in range(1, 6):
        outcomes = []
        for function in (kernel, kernel.__wrapped__):
            try:
                with np.errstate(all="ignore"):
                    outcomes.append(repr(function(*[copy.copy(wrong)] * count)))  # one of them may be written to
            except Exception as error:
                outcomes.append(type(error))
        assert outcomes[0] == outcomes[1]


@needs_native
def test_references_balance():
    x, pieces, axis = np.ones((50, 8), np.float32), [np.ones((2, 2), np.float32)] * 2, (0, 1)
    wrong, last = [np.ones(2, object)] * 2, (1,)
    row, column = x[0].copy(), x[:, :1].copy()
    broadcast = np.broadcast_to(np.float32(1), x.shape)
    half, brain = np.ones((50, 8), np.float16), _dtypes.bfloat16.np
    index, places, nothing = np.array([0, 2, 1]), np.zeros((3, 8), np.int64), np.zeros((3, 8), np.float32)
    three, kernel = np.ones(3, np.float32), np.ones((1, 1, 1, 1), np.float32)
    image, boxes, taps = x[None, None], (((0, 2), (1, 50)), ((0, 8),)), np.zeros((3, 8), np.int64)

    def calls():
        NUMPY.sum(x, axis=axis, keepdims=True)
        NUMPY.total(x)
        NUMPY.mean(x, axis)
        NUMPY.concatenate(pieces)
        NUMPY.concatenate(tuple(pieces), 1)
        NUMPY.concatenate(wrong)
        NUMPY.stack(pieces, 1)
        NUMPY.multiply(x, x[:1])
        NUMPY.expand_dims(x, 1)
        NUMPY.broadcast_to(x, (3, *x.shape))
        NUMPY.new_dims(x, (None, ...))
        NUMPY.view_contiguous(x, (-1,))
        NUMPY.softmax(x, 1)
        NUMPY.log_softmax_pull(x, x, axis=1)
        NUMPY.gelu_pull(broadcast, x)
        NUMPY.threshold_pull(broadcast, x, 0.5)
        NUMPY.leaky_relu(x, 0.5)
        NUMPY.leaky_relu_pull(broadcast, x, 0.5)
        NUMPY.elu_pull(broadcast, x, 1.0, 1.0, 1.0)
        NUMPY.clip(x, 0.0, 6.0)
        NUMPY.huber(broadcast, x, 0.5)
        NUMPY.overwrite(x, "relu", ())
        NUMPY.overwrite(x, "clip", (0.0, 6))
        NUMPY.erf(x)
        NUMPY.cumsum(x, 0)
        NUMPY.cumprod(x, 0)
        NUMPY.hypot(x, x[:1])
        NUMPY.maximum(x, 0.5)
        NUMPY.deviation(row, last[0] - 1, False, 1)
        NUMPY.replace_nonfinite(x, 0.0, 1.0, -1.0)
        NUMPY.lerp(broadcast, x, 0.5)
        NUMPY.gather(x, places, 0)
        NUMPY.scatter(x, places, nothing, 0)
        NUMPY.scatter(x, places, 0.5, 0)
        NUMPY.scatter(nothing, places, x[:3], 0, "add", True)
        NUMPY.add_rows(x, index, nothing)
        NUMPY.scatter_add(x, places, nothing, 0)
        NUMPY.normalize(x, row, row, last, 1e-5)
        NUMPY.normalize_pull(broadcast, x, row, last, column, column, column, column, 1e-5)
        NUMPY.prod(x, axis)
        NUMPY.sign(x)
        NUMPY.floor_divide(x, x)
        NUMPY.remainder(x, 0.5)
        NUMPY.remainder(x, broadcast)
        NUMPY.fmod(places, places + 1)
        NUMPY.div_trunc(x, x)
        NUMPY.running_max(x, 1)
        NUMPY.top_order(x, 3, 1, True, True)
        NUMPY.top_order(x, 3, 0, True, True)
        NUMPY.copy(x[:, ::-1])
        NUMPY.copy(broadcast)
        NUMPY.cast(x, half.dtype)
        NUMPY.cast(x, brain)
        NUMPY.write(half, x)
        NUMPY.write(half, broadcast)
        NUMPY.combine_narrow(half, half, "add")
        NUMPY.matmul(x.T, x[:, :4])  # not x.T @ x, which is NumPy's: its dot keeps a reference to the dtype
        NUMPY.linear(x, nothing, three)
        NUMPY.conv(image, image, (1, 1), (1, 1), (1, 1), 1, None, None)
        NUMPY.conv_input(np.broadcast_to(np.float32(1), image.shape), kernel, (50, 8), (1, 1), (0, 0), (1, 1), 1)
        NUMPY.conv_weight(image, image, (1, 1), (1, 1), (0, 0), (1, 1), 1)
        NUMPY.max_pool(image, (2, 2), (2, 2), (0, 0), (1, 1), (25, 4))
        NUMPY.ranges_max(image, boxes)
        NUMPY.ranges_mean(image, boxes)
        NUMPY.ranges_spread(np.broadcast_to(np.float32(1), (1, 1, 2, 1)), boxes, (50, 8))
        NUMPY.resample_axis(image.swapaxes(2, 3), taps, nothing, 3)
        NUMPY.sum_places(image[0], places[None], nothing[None])
        NUMPY.spread_places(broadcast[None], places[None], nothing[None], 5)
        NUMPY.dot_places(image[0], image[0], taps[None])

    held = [x, x.dtype, half, half.dtype, brain, pieces, pieces[0], axis, last, row, column, broadcast, index, places, nothing, wrong[0], boxes,
            taps]
    held += [three, kernel, image, NotImplemented, None]
    calls()
    gc.collect()  # what other tests left behind would go meanwhile, and take its references along
    before = [sys.getrefcount(o) for o in held]
    for _ in range(1000):
        calls()
    after = [sys.getrefcount(o) for o in held]
    assert max(abs(a - b) for a, b in zip(before, after)) < 100


@needs_native
def test_threads_work_side_by_side():
    x = np.random.default_rng(0).standard_normal((400, 1000)).astype(np.float32)
    right, wrong = x.sum(dtype=np.float64), []

    def work():
        for _ in range(50):
            if abs(NUMPY.total(x) - right) > 0.1 or NUMPY.concatenate([x, x]).shape != (800, 1000):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


# ---- joining


@needs_native
@given(st.data())
@settings(max_examples=100, deadline=None)
def test_concatenate(data):
    shape = list(data.draw(hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5)))
    axis = data.draw(st.integers(-len(shape) - 1, len(shape)))
    dtypes = data.draw(st.sampled_from([(t,) for t in (*FLOATS, *ODD)] + [FLOATS, (np.float32, np.int64)]))
    pieces = []
    for _ in range(data.draw(st.integers(0, 4))):
        if -len(shape) <= axis < len(shape):
            shape[axis] = data.draw(st.integers(0, 4))
        pieces.append(data.draw(arrays(dtypes, tuple(shape))))
    pieces = data.draw(st.sampled_from([list, tuple]))(pieces)
    try:
        twin = NUMPY.concatenate.__wrapped__(pieces, axis)
    except Exception as error:
        with pytest.raises(type(error)):
            NUMPY.concatenate(pieces, axis)
        return
    ours = NUMPY.concatenate(pieces, axis=axis)
    assert ours.strides == twin.strides or not ours.size or 1 in ours.shape
    assert not any(np.shares_memory(ours, piece) for piece in pieces)
    if ours.dtype == object:
        assert ours.tolist() == twin.tolist()
    else:
        same(ours, twin)


@needs_native
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_concatenate_of_many(axis):
    rng = np.random.default_rng(0)
    pieces = [rng.standard_normal([rng.integers(0, 4) if d == axis else 3 for d in range(3)]) for _ in range(100)]
    same(*both("concatenate", pieces, axis))


@needs_native
def test_concatenate_of_impossibly_many():
    empty = np.empty((2**60, 0), np.float32)
    for function in (NUMPY.concatenate, NUMPY.concatenate.__wrapped__):
        with pytest.raises(ValueError):
            function([empty] * 8)


# ---- sums


def rounding_of_sums(x):
    """How much two sums of elements of x may differ, in any order."""
    if x.dtype.kind != "f":
        return {}
    size = np.abs(np.nan_to_num(x.astype(np.float64), posinf=0, neginf=0)).sum()
    return {"rtol": 40 * float(np.finfo(x.dtype).eps), "atol": 10 * float(np.finfo(x.dtype).eps * size)}


@needs_native
@given(st.data(), st.sampled_from(["sum", "mean"]), st.booleans())
@settings(max_examples=100, deadline=None)
def test_sums(data, name, keep):
    x = data.draw(arrays((*FLOATS, *FLOATS, np.int64, np.float16) if name == "sum" else FLOATS))
    axis = data.draw(axes_of(x.ndim))
    if name == "mean" and isinstance(axis, int | tuple):  # the twin counts elements by axes from the front
        axis = axis % x.ndim if isinstance(axis, int) else tuple(a % x.ndim for a in axis)
    ours, twin = both(name, x, axis=axis, keepdims=keep)
    same(ours, twin, **rounding_of_sums(x))


@needs_native
@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("shape", [(300000,), (1000, 301), (5, 70000), (70000, 5), (20, 3, 5001), (3, 5001, 20)])
@pytest.mark.parametrize("axis", [None, 0, -1])
def test_large_sums(shape, axis, dtype):
    x = np.random.default_rng(0).standard_normal(shape).astype(dtype)
    right, eps = x.astype(np.float64).sum(axis), float(ml_dtypes.finfo(dtype).eps)
    ours = np.asarray(NUMPY.sum(x, axis=axis))
    assert ours.dtype == x.dtype
    np.testing.assert_allclose(ours.astype(np.float64), right, rtol=eps, atol=x.size / right.size * 1e-7)


@needs_native
@given(arrays((*FLOATS, *FLOATS, np.int64, np.float16)), st.data(), st.booleans())
@settings(max_examples=100, deadline=None)
def test_products(x, data, keep):
    if x.dtype.kind == "f":  # close to one, lest products in one order overflow and in another one not
        x = strided(data.draw, np.where(np.isfinite(x) & (x != 0), 1 + np.clip(x, -5, 5) / 1000, x).astype(x.dtype))
    same(*both("prod", x, axis=data.draw(axes_of(x.ndim)), keepdims=keep), rtol=1e-3 if x.dtype == np.float16 else 1e-4)


@needs_native
@given(arrays())
@settings(max_examples=100, deadline=None)
def test_total(x):
    same(*both("total", x), **rounding_of_sums(x))


@needs_native
@given(st.data(), st.sampled_from(["variance", "deviation"]), st.booleans(), st.sampled_from([0, 1, 2.5, 4]))
@settings(max_examples=150, deadline=None)
def test_moments(data, name, keep, correction):
    shape = data.draw(hnp.array_shapes(min_dims=0, max_dims=3, min_side=1, max_side=9))
    x = data.draw(arrays((*FLOATS, *FLOATS, np.complex64), shape, st.sampled_from([np.inf, np.nan, 100.0, -100.0])))
    axis = data.draw(st.one_of(st.none(), *[st.integers(0, x.ndim - 1)] * bool(x.ndim)))
    ours, twin = both(name, x, axis, keep, correction)
    same(ours, twin, rtol=1e-4 if x.dtype == np.complex64 else 64 * np.finfo(x.dtype).eps, atol=1e-12)


@needs_native
@pytest.mark.parametrize("shape", [(3, 1, 5, 1, 4, 1, 2), (1, 2, 1, 3, 1, 2, 1), (2, 300, 3, 5)])
def test_sums_of_many_runs(shape):
    x = np.random.default_rng(0).standard_normal(shape)
    for mask in range(1, 2 ** len(shape)):
        axis = tuple(i for i in range(len(shape)) if mask >> i & 1)
        np.testing.assert_allclose(NUMPY.sum(x, axis), x.sum(axis), rtol=1e-10, atol=1e-11)


@needs_native
@pytest.mark.parametrize("offset", [0.0, 1.0])
@pytest.mark.parametrize("shape, axis", [
    ((300_003,), None), ((100, 1000), None), ((30_000, 10), 0), ((10, 30_000), 1), ((5000, 30), 0), ((500, 500), 0),
])
def test_sums_round_no_worse_than_pairwise_ones(shape, axis, offset):
    ours, pairwise = [], []
    for seed in range(20):
        x = (np.random.default_rng(seed).standard_normal(shape) + offset).astype(np.float32)
        exact = x.sum(axis, dtype=np.float64)
        ours.append(NUMPY.sum(x, axis) - exact)
        rows = x if axis == 1 or axis is None else np.ascontiguousarray(x.T)
        pairwise.append(rows.sum(None if axis is None else 1) - exact)
    assert np.std(ours) <= 1.5 * np.std(pairwise)


# ---- softmax


def few_ulps(dtype, n=8):
    return {"rtol": n * float(np.finfo(dtype).eps), "atol": float(2 * np.finfo(dtype).tiny)}


@needs_native
@given(arrays((*FLOATS, *FLOATS, np.float16)), st.sampled_from(["softmax", "log_softmax"]), st.data())
@settings(max_examples=100, deadline=None)
def test_softmax(x, name, data):
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1)) if x.ndim else 0
    ours, twin = both(name, x, axis)
    bounds = few_ulps(x.dtype)
    if name == "log_softmax":  # a logarithm close to zero has lost the digits of what it is the logarithm of
        bounds["atol"] = 20 * float(np.finfo(x.dtype).eps)
    same(ours, twin, **bounds)


@needs_native
@given(arrays(), st.sampled_from(["softmax_pull", "log_softmax_pull"]), st.data())
@settings(max_examples=100, deadline=None)
def test_gradients_of_softmax(x, name, data):
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1)) if x.ndim else 0
    with np.errstate(all="ignore"):
        out = getattr(NUMPY, name.removesuffix("_pull"))(x, axis)
    g = data.draw(arrays((x.dtype.type,), x.shape))
    same(*both(name, g, out, axis), **rounding_of_sums(g))


@needs_native
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("n", [1, 7, 16, 63, 64, 100, 2047, 2048, 2049, 10_000])
def test_softmax_of_long_and_short_rows(n, dtype):
    x = (np.random.default_rng(n).standard_normal((3, n)) * 20).astype(dtype)
    x[1, n // 2] = np.nan
    away = (x - x.max(1, keepdims=True)).astype(np.longdouble)
    e = np.exp(away)
    np.testing.assert_allclose(NUMPY.softmax(x, 1), e / e.sum(1, keepdims=True), **few_ulps(dtype))
    right = away - np.log(e.sum(1, keepdims=True))
    np.testing.assert_allclose(NUMPY.log_softmax(x, 1), right, rtol=4 * np.finfo(dtype).eps, atol=4 * np.finfo(dtype).eps)


@needs_native
@pytest.mark.parametrize("dtype", FLOATS)
def test_softmax_of_minus_infinity_is_zero(dtype):
    inf = np.inf
    x = np.array([[0, -inf, 1], [-inf, -inf, -inf], [inf, 0, 0], [0, -1e30, -2000]], dtype)
    y = NUMPY.softmax(x, 1)
    assert y[0, 1] == 0 and np.isnan(y[1:3]).all() and y[3].tolist() == [1, 0, 0]
    assert NUMPY.log_softmax(x, 1)[0, 1] == -inf


# ---- normalisation


@st.composite
def normalizations(draw):
    """(x, weight, bias, axes): over the last dimensions, over batches, over groups; seldom over something else."""
    shape = draw(hnp.array_shapes(min_dims=1, max_dims=4, min_side=0, max_side=30))
    shape = shape[:2] if np.prod(shape) > 20000 else shape
    dtypes = (draw(st.sampled_from(FLOATS)),)
    x = draw(arrays(dtypes, shape, st.sampled_from([0.0, np.nan, np.inf, 50.0])))
    axes, of_weight = draw(st.sampled_from(list(layouts(shape))))
    if draw(st.integers(0, 9)) == 0:
        axes = draw(st.sampled_from([axes[:-1], (0,), axes]))
    parameter = st.none() | arrays(dtypes, of_weight, st.just(0.0))
    return x, draw(parameter), draw(parameter), axes


def layouts(shape):
    """(axes, shape of the weight)."""
    n = len(shape)
    for how in range(1, n + 1):
        yield tuple(range(n - how, n)), shape[n - how:]
    if n >= 2:
        yield (0, *range(2, n)), (1, shape[1], *[1] * (n - 2))
    if n == 4:
        yield (2, 3), (1, *shape[1:3], 1)


@needs_native
@example((np.array([[np.inf], [0.1]], "float32"), None, None, (1,)))  # of one row, elements hardly differ
@example((np.array([[np.inf, 0.1]], "float32"), None, None, (0,)))  # of one column
@given(normalizations())
@settings(max_examples=150, deadline=None)
def test_normalize(case):
    x, weight, bias, axes = case
    ours, twin = both("normalize", x, weight, bias, axes, 1e-5)
    tolerance = 2e-4 if x.dtype == np.float32 else 1e-12
    same(ours, twin, rtol=tolerance, atol=tolerance)


@needs_native
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("axes", [(3,), (1, 2, 3), (0, 2, 3), (2, 3), (0,)])
def test_equal_elements_are_normalized_to_zero(dtype, axes):
    shape = (7, 5) if axes == (0,) else (3, 5, 7, 11)
    for number in np.random.default_rng(0).standard_normal(20):
        x = np.full(shape, number, dtype)
        for y, mean, var in both("normalize", x, None, None, axes, 1e-5):
            assert not y.any() and not var.any() and (mean == x.flat[0]).all()


@needs_native
@given(normalizations(), st.data())
@settings(max_examples=150, deadline=None)
def test_gradient_of_normalize(case, data):
    x, weight, _, axes = case
    with np.errstate(all="ignore"):
        _, mean, var = NUMPY.normalize.__wrapped__(x, None, None, axes, 1e-5)
    dtypes = (x.dtype.type,)
    g, g_mean, g_var = (data.draw(arrays(dtypes, a.shape, st.just(0.0))) for a in (x, mean, var))
    ours, twin = both("normalize_pull", g, x, weight, axes, mean, var, g_mean, g_var, 1e-5)
    # Where all elements are one, the gradient is a difference of large numbers.
    with np.errstate(all="ignore"):
        scale = np.nan_to_num(1 / np.sqrt(var + 1e-5)).max(initial=1) ** 2
    tolerance = float(scale) * (1e-4 if x.dtype == np.float32 else 1e-12)
    count = 1 if weight is None else 3  # the gradient of a weight that there is not
    same(ours[:count], twin[:count], rtol=tolerance, atol=tolerance)


# ---- the gates of an LSTM


@needs_native
@given(st.sampled_from(FLOATS), st.integers(0, 5), st.integers(0, 40), st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_gates_of_an_lstm(dtype, rows, n, seed):
    draw = np.random.default_rng(seed)

    def matrix(width, scale=3.0):
        return (draw.standard_normal((rows, width)) * scale).astype(dtype)

    x, hidden, c = matrix(4 * n, draw.choice([1e-3, 1.0, 50.0])), matrix(4 * n, 0.1), matrix(n)
    ours, twin = both("lstm_gates", x, hidden, c)
    tolerance = 16 * float(np.finfo(dtype).eps)
    same(ours, twin, rtol=tolerance, atol=tolerance)
    _, c_new, gates = twin
    ours, twin = both("lstm_gates_pull", matrix(n), matrix(n), matrix(4 * n), gates, c_new, c)
    same(ours, twin, rtol=tolerance, atol=50 * tolerance)


# ---- functions of each element


@needs_native
@given(arrays((*FLOATS, *FLOATS, np.float16)), st.sampled_from(["relu", "sigmoid", "log_sigmoid", "erf", "gelu"]))
@settings(max_examples=100, deadline=None)
def test_functions(x, name):
    ours, twin = both(name, x)
    bounds = few_ulps(ours.dtype, 4)
    if name == "gelu":  # below zero it is a difference, and has the rounding errors of what it is the difference of
        bounds["atol"] = 8 * float(np.finfo(ours.dtype).eps)
    same(ours, twin, **bounds)
    if ours.dtype == x.dtype and "sigmoid" not in name:
        zero = x == 0
        assert (np.signbit(ours[zero]) == np.signbit(x[zero])).all()


SLOPES = st.sampled_from([0.01, 0.2, 0, -0.5, 1, 3.0, np.inf, np.nan])


@needs_native
@given(arrays((*FLOATS, *FLOATS, np.float16)), SLOPES, st.data())
@settings(max_examples=100, deadline=None)
def test_functions_with_numbers(x, slope, data):
    same_bits(*both("leaky_relu", x, slope))
    numbers = [data.draw(st.sampled_from([1.0, 0.5, 2, 1.6732632423543772, -0.25])) for _ in range(3)]
    same(*both("elu", x, *numbers), **few_ulps(x.dtype, 6))
    beta, limit = data.draw(st.sampled_from([1.0, 0.5, 3, -2.0])), data.draw(st.sampled_from([20.0, 1, 0.0, np.nan]))
    same(*both("softplus", x, beta, limit), **few_ulps(x.dtype, 8))


@needs_native
@pytest.mark.parametrize("dtype", FLOATS)
def test_expm1_is_accurate_to_a_few_ulps(dtype):
    x = -np.geomspace(1e-30, 60, 100_001).astype(dtype)
    right = np.expm1(x.astype(np.longdouble))
    error = np.abs(NUMPY.elu(x, 1.0, 1.0, 1.0) - right) / np.spacing(np.abs(right).astype(dtype))
    assert error.max() <= 3


@needs_native
@given(arrays((*FLOATS, np.int64, np.complex64)))
@settings(max_examples=100, deadline=None)
def test_sign(x):
    ours, twin = both("sign", x)
    same(ours, twin)
    assert not np.signbit(ours.real[ours == 0]).any()


DIVISIONS = ("floor_divide", "remainder", "fmod", "div_trunc")
DIVISOR = st.sampled_from([1, -3, 2**40 + 1, 0.1, -0.25, 3.0, 0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, 1e300, 1e-300])


@needs_native
@given(arrays(elements=SPECIAL | DIVISOR), st.sampled_from(DIVISIONS), st.data())
@settings(max_examples=200, deadline=None)
def test_divisions(x, name, data):
    with np.errstate(all="ignore"):
        x = x * x.dtype.type(data.draw(st.sampled_from([1.0, 10.0, 1e6, 1e9, 1e18, 1e-30])))
        if data.draw(st.booleans()):
            x = np.rint(x)
    y = data.draw(DIVISOR | arrays((x.dtype.type,), x.shape, DIVISOR) | arrays((x.dtype.type,), (), DIVISOR))
    if isinstance(y, np.ndarray) and data.draw(st.booleans()):
        y = np.where(np.abs(y) < 1, y, np.rint(y))
    ours, twin = both(name, x, y)
    same(ours, twin)
    assert (np.signbit(ours) == np.signbit(twin))[ours == 0].all()


@needs_native
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", DIVISIONS)
def test_divisions_of_what_is_close_to_a_multiple(name, dtype):
    rng = np.random.default_rng(0)
    y = (rng.standard_normal(20_000) * 10.0 ** rng.integers(-5, 6, 20_000)).astype(dtype)
    for limit in (3, 1000, 2**20, 2**24, 2**40):
        x = (y * rng.integers(-limit, limit, y.size)).astype(dtype)
        for near in (x, np.nextafter(x, dtype(np.inf)), np.nextafter(x, dtype(-np.inf))):
            same_bits(*both(name, near, y))


@needs_native
@given(arrays((np.int8, np.int32, np.int64, np.uint8)), st.sampled_from(DIVISIONS), st.data())
@settings(max_examples=200, deadline=None)
def test_divisions_of_integers(x, name, data):
    lowest = np.iinfo(x.dtype).min
    y = data.draw(arrays((x.dtype.type,), x.shape) | st.integers(1, 100) | st.sampled_from([x.dtype.type(7), np.array(3, x.dtype)]))
    if isinstance(y, np.ndarray) and y.ndim and y.size:
        y = np.where(y == 0, x.dtype.type(1), y) if data.draw(st.booleans()) else y
        x = x.copy()
        for value in data.draw(st.lists(st.sampled_from([lowest, np.iinfo(x.dtype).max, 0]), max_size=3)):
            x.reshape(-1)[data.draw(st.integers(0, x.size - 1))] = value
    if isinstance(y, np.ndarray) and not y.all() and x.size:
        for function in (getattr(NUMPY, name), getattr(NUMPY, name).__wrapped__):
            with pytest.raises(RuntimeError, match="ZeroDivision"):
                function(x, y)
        return
    same(*both(name, x, y))


@needs_native
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("name", DIVISIONS)
def test_divisions_of_large_integers(name, dtype):
    rng, (low, high) = np.random.default_rng(0), (np.iinfo(dtype).min, np.iinfo(dtype).max)
    x, y = rng.integers(low, high, (2, 30_000), dtype, endpoint=True)
    few = rng.integers(1, 50, y.size, dtype) * rng.choice([-1, 1], y.size).astype(dtype)
    ends = np.array([low, low + 1, -2, -1, 0, 1, 2, high - 1, high], dtype)
    medium, other = x >> 14, (y >> 30) | 1  # of int64, those that doubles divide
    medium[::1000] += dtype(1) << (x.itemsize * 8 - 14)
    for a, b in [(x, np.where(y == 0, dtype(1), y)), (x, few), (x - x % few, few), (medium, few), (medium, other),
                 (medium - medium % few, few), np.meshgrid(ends, ends[ends != 0])]:
        same(*both(name, np.ascontiguousarray(a), np.ascontiguousarray(b)))
    for number in (1, -1, 3, -7, int(high), int(low)):
        right = [getattr(int(v), f"__{'mod' if name == 'remainder' else 'floordiv'}__")(number) for v in ends]
        if name in ("remainder", "floor_divide"):
            ours, _ = both(name, ends, number)
            assert ours.tolist() == [(r - low) % 2 ** (8 * ends.itemsize) + low for r in right]


@needs_native
@given(arrays(), st.data())
@settings(max_examples=100, deadline=None)
def test_gradients_of_functions(x, data):
    g = data.draw(arrays((x.dtype.type,), x.shape))
    unit = np.where(np.isfinite(g), np.maximum(np.abs(g), 1), 1).astype(g.dtype)  # errors are parts of g: gelu' has a zero
    ours, twin = both("gelu_pull", g, x)
    same(ours / unit, twin / unit, rtol=1e-5 if x.dtype == np.float32 else 1e-13, atol=1e-6)
    same(*both("threshold_pull", g, x, data.draw(st.sampled_from([0.0, 0.5, -np.inf, np.nan, 1]))))
    same_bits(*both("leaky_relu_pull", g, x, data.draw(SLOPES)))
    numbers = [data.draw(st.sampled_from([1.0, 0.5, 2, 1.6732632423543772])) for _ in range(3)]
    same(*both("elu_pull", g, x, *numbers), rtol=4e-6 if x.dtype == np.float32 else 1e-14, atol=2 * np.finfo(x.dtype).tiny)


def ulps(ours, right):
    """The largest error in units of the last place of the right result."""
    return (np.abs(ours.astype(np.float64) - right) / np.spacing(np.abs(right).astype(ours.dtype))).max()


@needs_native
def test_functions_are_exact_to_a_few_ulps():
    x = np.linspace(-12, 12, 400_001, dtype=np.float32)
    wide = x.astype(np.float64)
    erf = np.array([math.erf(v) for v in wide[::7]])
    assert ulps(NUMPY.erf(x)[::7], erf) <= 2
    assert ulps(NUMPY.sigmoid(x), 1 / (1 + np.exp(-wide))) <= 2.5
    # Softmax of a pair is the exponential of what it is below the other.
    pairs = np.stack([np.zeros_like(x), -np.abs(x)], 1)
    right = np.exp(-np.abs(wide))
    assert ulps(NUMPY.softmax(pairs, 1)[:, 1], right / (1 + right)) <= 3
    half = np.linspace(-1, 4, 300_001, dtype=np.float32)  # further below zero 1 + erf cancels, here as in PyTorch
    right = 0.5 * half.astype(np.float64) * (1 + np.array([math.erf(v * math.sqrt(0.5)) for v in half.tolist()]))
    assert ulps(NUMPY.gelu(half), right) <= 4.5


# ---- half precision

NARROW = (np.dtype(np.float16), _dtypes.bfloat16.np)


def same_bits(ours, twin):
    """Whether two arrays are equal to the last bit, but for what is not a number."""
    assert (ours.dtype, ours.shape) == (twin.dtype, twin.shape)
    nan = twin != twin
    assert ((ours != ours) == nan).all()
    integer = np.dtype(f"u{twin.itemsize}")
    assert (ours.view(integer) == twin.view(integer))[~nan].all()


@needs_native
@pytest.mark.parametrize("narrow", NARROW, ids=str)
def test_every_half_and_what_rounds_to_it(narrow):
    halves = np.arange(2**16, dtype=np.uint16).view(narrow)
    same_bits(*both("cast", halves, np.dtype(np.float32)))
    with np.errstate(all="ignore"):
        bits = halves.astype(np.float32).view(np.int32).astype(np.int64)
    unit = 2 ** (13 if narrow == np.float16 else 16)  # of the last place, unless the half is less than normal
    around = np.concatenate([bits + step for step in (0, 1, -1, unit // 2 - 1, unit // 2, unit // 2 + 1)])
    tiny = np.arange(0x32000000, 0x39000000, 997)
    floats = np.concatenate([around, tiny, tiny + 2**31]).astype(np.uint32).view(np.float32)
    same_bits(*both("cast", floats, narrow))


@needs_native
@given(arrays((np.float32, np.float32, np.float64, np.int64, np.dtype(">f4"))), st.sampled_from(NARROW), st.data())
@settings(max_examples=100, deadline=None)
def test_conversions(x, narrow, data):
    same_bits(*both("cast", x, narrow))
    with np.errstate(all="ignore"):
        half = strided(data.draw, x.astype(narrow))
    for to in (np.float32, np.float64, np.float16):
        same_bits(*both("cast", half, np.dtype(to)))
    for source, dtype in ((x, narrow), (half, np.float32)):
        ours = strided(data.draw, np.zeros(source.shape, dtype))
        if ours.flags.writeable:
            twin = ours.copy()
            with np.errstate(all="ignore"):
                assert NUMPY.write(ours, source) is ours
                NUMPY.write.__wrapped__(twin, source)
            same_bits(np.array(ours), twin)


@needs_native
@given(st.sampled_from(NARROW), st.sampled_from(["add", "subtract", "multiply", "divide"]), st.data())
@settings(max_examples=100, deadline=None)
def test_arithmetic_of_halves(narrow, how, data):
    wide = data.draw(arrays((np.float32,)))
    with np.errstate(all="ignore"):
        x = strided(data.draw, wide.astype(narrow))
        y = strided(data.draw, data.draw(arrays((np.float32,), x.shape)).astype(narrow))
    same_bits(*both("combine_narrow", x, y, how))


@needs_native
def test_write_from_overlapping_memory():
    memory = np.arange(12, dtype=np.float32)
    ours, twin = memory.copy(), memory.copy()
    for write, a in ((NUMPY.write, ours), (NUMPY.write.__wrapped__, twin)):
        write(a.view(np.float16)[:12], a)
    assert ours.tobytes() == twin.tobytes()
    frozen = np.zeros(3, np.float16)
    frozen.flags.writeable = False
    with pytest.raises(ValueError):
        NUMPY.write(frozen, memory[:3])
    with pytest.raises(ValueError):
        NUMPY.write(np.zeros(3, np.float16), memory[:2])


# ---- by index, and running


def indices(shape, size):
    return hnp.arrays(np.int64, shape, elements=st.integers(0, size - 1))


@needs_native
@given(st.data())
@settings(max_examples=100, deadline=None)
def test_add_rows(data):
    shape = data.draw(hnp.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=9))
    dtypes = (data.draw(st.sampled_from((*FLOATS, np.int64, np.float16))),)
    out = data.draw(arrays(dtypes, shape, st.just(0.0)))
    index = data.draw(indices(data.draw(st.integers(0, 30)), shape[0]))
    rows = data.draw(arrays(dtypes, (len(index), *shape[1:]), st.just(0.0)))
    ours, twin = np.array(out), np.array(out, order="K")
    NUMPY.add_rows(ours, index, rows)
    NUMPY.add_rows.__wrapped__(twin, index, rows)
    same(ours, twin, rtol=0 if out.dtype.kind == "i" else 1e-2 if out.dtype == np.float16 else 1e-5, atol=1e-5)


@needs_native
@given(st.data())
@settings(max_examples=100, deadline=None)
def test_scatter_add(data):
    shape = data.draw(hnp.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=7))
    axis = data.draw(st.integers(0, len(shape) - 1))
    dtypes = (data.draw(st.sampled_from((*FLOATS, np.int64))),)
    out = np.array(data.draw(arrays(dtypes, shape, st.just(0.0))), order="C")
    of_index = [data.draw(st.integers(1, 12 if d == axis else n)) if d in (axis, 0) else n for d, n in enumerate(shape)]
    if data.draw(st.booleans()):
        of_index = [data.draw(st.integers(1, n)) for n in of_index]
    index = data.draw(indices(tuple(of_index), shape[axis]))
    values = data.draw(arrays(dtypes, tuple(of_index), st.just(0.0)))
    ours, twin = out.copy(), out.copy()
    NUMPY.scatter_add(ours, index, values, axis)
    NUMPY.scatter_add.__wrapped__(twin, index, values, axis)
    same(ours, twin, rtol=1e-5, atol=1e-5)


def of_axis(data, dtypes):
    """An array, an axis, and indices along it: as many as it has in the other dimensions, or perhaps fewer."""
    shape = data.draw(hnp.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=70))
    axis = data.draw(st.integers(0, len(shape) - 1))
    x = data.draw(arrays(dtypes, shape))
    corner = [data.draw(st.integers(1, 80 if d == axis else n)) if d in (axis, 0) else n for d, n in enumerate(shape)]
    if data.draw(st.booleans()):
        corner = [data.draw(st.integers(1, n)) for n in corner]
    index = np.random.default_rng(data.draw(st.integers(0, 99))).integers(0, shape[axis], corner)
    return x, strided(data.draw, index), axis


@needs_native
@given(st.data())
@settings(max_examples=100, deadline=None)
def test_gather(data):
    x, index, axis = of_axis(data, (*FLOATS, *ODD))
    if x.dtype == object:
        ours, twin = both("gather", x, index, axis)
        assert ours.tolist() == twin.tolist()
    else:
        same(*both("gather", x, index, axis))


@needs_native
@given(st.data(), st.sampled_from([None, None, "add"]), st.booleans())
@settings(max_examples=150, deadline=None)
def test_scatter(data, how, into):
    finite = st.just(0.0) if how else None
    x, index, axis = of_axis(data, (*FLOATS, np.int64, np.int32, np.float16, np.bool_, np.complex64))
    source = data.draw(st.sampled_from(["same", "larger", "number"] if how is None else ["same", "larger"]))
    if how:
        x = np.where(np.isfinite(x), x, x.dtype.type(0))
    if how is None and index.size:  # of two values for one place either may stay: no place comes twice
        row = np.arange(x.shape[axis])[: index.shape[axis]][::-1].reshape([-1 if d == axis else 1 for d in range(x.ndim)])
        shape = [row.size if d == axis else n for d, n in enumerate(index.shape)]
        index = strided(data.draw, np.ascontiguousarray(np.broadcast_to(row, shape)))
    more = source == "larger"
    src = data.draw(arrays((x.dtype,), tuple(n + more for n in index.shape), finite))
    if source == "number":
        src = data.draw(st.sampled_from([0, 1, 2.5, True] if x.dtype.kind == "f" else [0, 1]))
    outcomes = []
    for kernel in (NUMPY.scatter, NUMPY.scatter.__wrapped__):
        target = x.copy()
        with np.errstate(all="ignore"):
            outcomes.append(kernel(target, index, src, axis, how, into))
        assert (outcomes[-1] is target) == into
        if not into:
            assert target.tobytes() == x.tobytes()
    same(*outcomes, rtol=1e-2 if x.dtype == np.float16 else 1e-4, atol=1e-4)


@needs_native
@pytest.mark.parametrize("axis", [0, 1])
def test_many_places_by_several_threads(axis):
    rng = np.random.default_rng(0)
    x, src = rng.standard_normal((2, 500, 700)).astype(np.float32)
    index = np.argsort(rng.random(x.shape), axis)
    threads = flambeau.get_num_threads()
    flambeau.set_num_threads(4)
    try:
        same(*both("gather", x, index, axis))
        same(*both("scatter", x, index, src, axis))
        same(*both("scatter", x, index // 2, src, axis, "add"), rtol=1e-5, atol=1e-5)
    finally:
        flambeau.set_num_threads(threads)


@needs_native
@pytest.mark.parametrize("wrong", [-1, 3, 2**62, -(2**63)])
@pytest.mark.parametrize("into", [False, True])
def test_places_out_of_bounds(wrong, into):
    x, index = np.ones((3, 4), np.float32), np.zeros((2, 4), np.int64)
    index[1, 2] = wrong
    for call in (
        lambda: NUMPY.gather(x, index, 0),
        lambda: NUMPY.scatter(x, index, x[:2] + 1, 0, None, into),
        lambda: NUMPY.scatter(x, index, 2.0, 0, None, into),
        lambda: NUMPY.scatter(x, index, x[:2] + 1, 0, "add", into),
    ):
        with pytest.raises(RuntimeError, match="out of bounds"):
            call()
        assert (x == 1).all()


@needs_native
def test_scatter_from_overlapping_memory():
    index = np.array([[1, 2, 3, 0]])
    for how in (None, "add"):
        outcomes = []
        for kernel in (NUMPY.scatter, NUMPY.scatter.__wrapped__):
            x = np.arange(4, dtype=np.float32)[None]
            outcomes.append(kernel(x, index, x, 1, how, True).tolist())
        assert outcomes[0] == outcomes[1]


@needs_native
@pytest.mark.parametrize("name, arguments", [
    ("add_rows", ()), ("scatter_add", (0,)), ("scatter", (0, None, True)), ("scatter", (0, "add", True)),
])
def test_indices_in_the_memory_of_the_result(name, arguments):
    """What is written there is not read as an index."""
    outcomes = []
    for kernel in (getattr(NUMPY, name), getattr(NUMPY, name).__wrapped__):
        x = np.zeros(4)
        kernel(x, x.view(np.int64), np.full(4, 1e300), *arguments)
        outcomes.append(x.tolist())
    assert outcomes[0] == outcomes[1]


@needs_native
def test_indices_out_of_bounds_change_nothing():
    for wrong in (-1, 3, 2**62, -(2**63)):
        index = np.array([0, wrong])
        for out in (np.zeros((3, 2), np.float32), np.zeros((3, 0), np.float32)):
            rows = np.ones((2, out.shape[1]), np.float32)
            outcomes = []
            for function in (NUMPY.add_rows, NUMPY.add_rows.__wrapped__):
                try:
                    outcomes.append(function(out.copy(), index, rows))
                except Exception as error:
                    outcomes.append(type(error))
            assert outcomes[0] == outcomes[1]
    with pytest.raises((RuntimeError, IndexError)):
        flambeau.zeros(3, 2).scatter_add(0, flambeau.tensor([[0, 5]]), flambeau.ones(1, 2))


@needs_native
def test_rows_may_be_those_of_the_result():
    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    for rows in (x[:2], x[1:3]):
        ours, twin = x.copy(), x.copy()
        start = 0 if rows.base is None or rows[0, 0] == 0 else 1
        NUMPY.add_rows(ours, np.array([1, 0]), ours[start:start + 2])
        NUMPY.add_rows.__wrapped__(twin, np.array([1, 0]), twin[start:start + 2])
        assert ours.tolist() == twin.tolist()


@needs_native
@given(arrays((*FLOATS, *FLOATS, np.int64, np.float16)), st.data())
@settings(max_examples=100, deadline=None)
def test_cumsum(x, data):
    if not x.ndim:
        return
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    with np.errstate(all="ignore"):
        ours = NUMPY.cumsum(x, axis)
        twin = NUMPY.cumsum.__wrapped__(x, axis)
        exact = NUMPY.cumsum.__wrapped__(x.astype(np.float64), axis) if x.dtype == np.float32 else twin
        exact = exact.astype(twin.dtype)
    same(ours, exact, **rounding_of_sums(x))
    assert ours.dtype == twin.dtype


@needs_native
@given(arrays((*FLOATS, *FLOATS, np.int64, np.float16)), st.data())
@settings(max_examples=100, deadline=None)
def test_cumprod(x, data):
    if x.ndim:
        same(*both("cumprod", x, data.draw(st.integers(-x.ndim, x.ndim - 1))))


@needs_native
@given(arrays((*FLOATS, *FLOATS, np.int64, np.float16)), st.sampled_from(["running_max", "running_min"]), st.data())
@settings(max_examples=100, deadline=None)
def test_running_extrema(x, name, data):
    if not x.ndim:
        return
    if data.draw(st.booleans()):  # so that some are met again
        with np.errstate(all="ignore"):
            x = np.rint(x)
    same(*both(name, x, data.draw(st.integers(0, x.ndim - 1))))


LONG_ROWS = [
    lambda rng, n: rng.standard_normal((3, n)), lambda rng, n: np.sort(rng.standard_normal((3, n))),
    lambda rng, n: -np.sort(rng.standard_normal((3, n))), lambda rng, n: np.rint(rng.standard_normal((3, n))),
    lambda rng, n: np.ones((3, n)), lambda rng, n: np.where(rng.random((3, n)) < 3 / n, np.nan, rng.random((3, n))),
    lambda rng, n: np.sort(rng.integers(0, n // 3, (3, n))),
]


@needs_native
@pytest.mark.parametrize("n", [31, 32, 33, 64, 100, 1000])
@pytest.mark.parametrize("make", LONG_ROWS)
def test_long_rows(make, n):
    for dtype in FLOATS:
        x = make(np.random.default_rng(n), n).astype(dtype)
        same(*both("running_max", x, 1))
        same(*both("running_min", x, 1))
        same(*both("prod", 1 + x / (20 + 20 * np.abs(x)), (1,)), rtol=1e-4)
        same(*both("copy", x[:, ::-1]))
        for count in (1, 10, 32):
            for largest in (True, False):
                ours = NUMPY.top_order(x, min(count, n), 1, largest, True)
                np.testing.assert_array_equal(ours, NUMPY.sorting_order(x, 1, largest, True)[:, :count])


# ---- with numbers


@needs_native
@given(arrays((*FLOATS, *FLOATS, np.int64, np.float16)), st.sampled_from(["maximum", "minimum"]), SPECIAL)
@settings(max_examples=100, deadline=None)
def test_extrema_with_a_number(x, name, number):
    same(*both(name, x, number))
    same(*both(name, x, int(number) if np.abs(number) < 1e5 else 3))
    with np.errstate(all="ignore"):
        same(*both(name, x, np.array(number, x.dtype if x.dtype.kind == "f" else np.float32)))
    same(*both(name, x, x[..., ::-1] if x.ndim else x))


@needs_native
@given(arrays((*FLOATS, *FLOATS, np.float16)), st.tuples(SPECIAL, SPECIAL, SPECIAL))
@settings(max_examples=100, deadline=None)
def test_replace_nonfinite(x, numbers):
    same(*both("replace_nonfinite", x, *numbers))


@needs_native
@given(st.data(), st.sampled_from([0.0, 0.3, 0.5, 0.7, 1, -2.0, math.inf, math.nan]))
@settings(max_examples=100, deadline=None)
def test_lerp(data, weight):
    start = data.draw(arrays())
    end = data.draw(arrays((start.dtype,), start.shape))
    same(*both("lerp", start, end, weight), **few_ulps(start.dtype, 4))


# ---- in another order


@needs_native
@given(arrays(), st.booleans(), st.data())
@settings(max_examples=100, deadline=None)
def test_first_few(x, largest, data):
    if not x.size or not x.ndim:
        return
    if data.draw(st.booleans()):  # so that there are equal ones
        x = np.rint(x)
    axis = data.draw(st.integers(0, x.ndim - 1))
    count = data.draw(st.integers(0, x.shape[axis]))
    ours, twin = both("top_order", x, count, axis, largest, True)
    assert (ours.dtype, ours.shape) == (twin.dtype, twin.shape)
    np.testing.assert_array_equal(np.take_along_axis(x, ours, axis), np.take_along_axis(x, twin, axis))
    if x.flags.c_contiguous and axis == x.ndim - 1 and count <= 32:  # equal ones come in the order that they stand in
        order = NUMPY.sorting_order(x, axis, largest, True)
        np.testing.assert_array_equal(ours, order[..., :count])


@needs_native
@given(arrays((*FLOATS, np.int16, np.bool_, np.complex128, np.object_)), st.data())
@settings(max_examples=100, deadline=None)
def test_copies_of_negative_strides(x, data):
    if x.dtype != object:
        x = data.draw(st.sampled_from([x, np.ascontiguousarray(x)]))
    x = x[tuple([slice(None, None, data.draw(st.sampled_from([-1, 1, -2]))) for _ in x.shape])]
    ours, twin = both("copy", x)
    assert (ours.dtype, ours.shape) == (twin.dtype, twin.shape)
    assert ours.strides == twin.strides or not ours.size
    np.testing.assert_array_equal(ours, twin)
    assert ours.flags.owndata and ours.flags.writeable


# ---- random draws


def drawn(name, out, *arguments):
    """What a kernel and its twin fill an array with, and the generators' states after that."""
    kernel, results = getattr(NUMPY, name), []
    for function in (kernel, kernel.__wrapped__):
        generator = flambeau.Generator().manual_seed(11)
        filled = out.copy()
        function(generator, filled, *arguments)
        results.append((filled, generator._get_state_bytes().tobytes()))
    return results


@needs_native
@pytest.mark.parametrize("n", [0, 1, 15, 16, 17, 33, 100, 624, 5000, 20_000])
@pytest.mark.parametrize("name, dtype, arguments", [
    *[("fill_between", dtype, bounds) for dtype in (np.float32, np.float64)
      for bounds in ((0.0, 1.0), (0, 3.7), (-2.5, 2.5), (-0.1, 1e6), (1.0, 1.0))],
    ("fill_between", np.float16, (0.0, 1.0)), ("fill_integers", np.int64, (-3, 10, False)),
    ("fill_integers", np.int64, (7, 1, False)), ("fill_integers", np.int64, (0, 2**28 - 1, False)),
    ("fill_integers", np.int64, (0, 2**28, True)), ("fill_integers", np.int64, (5, 10, True)),
    ("fill_integers", np.int64, (-(2**60), 2**61, True)), ("fill_integers", np.int64, (-(2**63), 2**64, True)),
    *[("fill_integers", dtype, (-7, 20, False)) for dtype in (np.float32, np.float64, np.int32, np.uint8)],
    ("fill_permutation", np.int64, ()), ("fill_permutation", np.float32, ()),
    *[("fill_successes", dtype, arguments) for dtype in (np.float32, np.float64, np.float16, np.bool_)
      for arguments in ((0.3, 1), (0, 1), (1, 1))],
    *[("fill_successes", dtype, (0.7, 0.7)) for dtype in (np.float32, np.float64, np.float16)],
])
def test_draws(name, dtype, arguments, n):
    (ours, state), (twin, twin_state) = drawn(name, np.zeros(n, dtype), *arguments)
    assert ours.tobytes() == twin.tobytes()
    assert state == twin_state


@needs_native
@pytest.mark.parametrize("n", [0, 1, 2, 3, 15, 16, 17, 40, 1000, 1500])
@pytest.mark.parametrize("around", [(0.0, 1.0), (3, 0.5), (0.1, 2.7), (1.5, 0.0)])
def test_normals_are_those_of_the_twin(n, around):
    for dtype in (np.float64, np.float32):
        for waiting in (0, 1):
            results = []
            for function in (NUMPY.fill_normals, NUMPY.fill_normals.__wrapped__):
                generator, out = flambeau.Generator().manual_seed(3), np.zeros(n, dtype)
                function(generator, np.zeros(waiting), 0.0, 1.0)
                function(generator, out, *around)
                results.append((out, generator._get_state_bytes().tobytes()))
            (ours, state), (twin, twin_state) = results
            if dtype is np.float64 or n < 16:  # others are PyTorch's to the last bit, see below
                assert ours.tobytes() == twin.tobytes()
            else:
                np.testing.assert_allclose(ours, twin, rtol=1e-5, atol=1e-6 * around[1])
            assert state == twin_state


@needs_native
@pytest.mark.parametrize("shape", [(), (0, 3), (1,), (2,), (3, 5), (4, 4), (7, 100)])
@pytest.mark.parametrize("name, arguments", [
    ("new_uniform", (0.0, 1.0)), ("new_uniform", (-1.0, 2.0)), ("new_normal", (0.0, 1.0)), ("new_normal", (2, 3.5)),
    ("new_random", (-3, 12)), ("new_random", (-(2**20), 2**20)), ("new_permutation", ()),
])
def test_new_draws_are_those_into_memory(name, arguments, shape):
    if name == "new_permutation":
        shape = (math.prod(shape),)
    for dtype in map(np.dtype, (np.float32, np.float64, np.int64, np.int32)):
        if dtype.kind == "i" and name in ("new_uniform", "new_normal"):
            continue
        for seed in range(3):
            ours, twin = flambeau.Generator().manual_seed(seed), flambeau.Generator().manual_seed(seed)
            found = getattr(NUMPY, name)(ours, shape, dtype, *arguments)
            kernel = {"new_permutation": NUMPY.permutation}.get(name) or getattr(NUMPY, name.replace("new", "fill"))
            expected = (kernel(twin, *shape, dtype) if name == "new_permutation"
                        else kernel(twin, np.empty(shape, dtype), *arguments))
            assert (found.dtype, found.shape, found.tobytes()) == (dtype, shape, expected.tobytes())
            assert ours._get_state_bytes().tobytes() == twin._get_state_bytes().tobytes()


@needs_native
def test_new_draws_wait_for_the_generator():
    generator, began, drawn_at = flambeau.Generator(), threading.Event(), []

    def draw():
        began.set()
        NUMPY.new_uniform(generator, (4,), np.dtype(np.float32), 0.0, 1.0)
        drawn_at.append(released)

    released = False
    with generator._lock:
        thread = threading.Thread(target=draw)
        thread.start()
        began.wait()
        time.sleep(0.05)
        released = True
    thread.join()
    assert drawn_at == [True]


@pytest.mark.parametrize("given, shape", [
    ((2, 3), (2, 3)), (((2, 3),), (2, 3)), (([2, 3],), (2, 3)), ((flambeau.Size([4]),), (4,)), (((),), ()), ((), ()),
    ((5,), (5,)), ((2**70,), (2**70,)), ((-1,), None), ((2, -1), None), ((True,), None), ((2.0,), None),
    ((np.int64(2),), None), ((2, (3,)), None), (((2, (3,)),), None), (("23",), None), ((None,), None),
])
def test_plain_shapes(given, shape):
    kernel = NUMPY.plain_shape
    for function in (kernel, getattr(kernel, "__wrapped__", kernel)):
        found = function(given)
        assert found == shape and type(found) in (tuple, type(None))


@needs_native
@pytest.mark.parametrize("n", [16, 17, 31, 100, 20_000])
def test_normals_are_those_of_pytorch(n):
    (ours, state), (twin, twin_state) = drawn("fill_normals", np.zeros(n, np.float32), 0.0, 1.0)
    np.testing.assert_allclose(ours, twin, rtol=1e-5, atol=1e-6)
    assert state == twin_state
    uniform = flambeau.rand(n // 16 * 16, generator=flambeau.Generator().manual_seed(11)).numpy().reshape(-1, 2, 8)
    exact = np.stack(_normal32.box_muller(uniform[:, 0], uniform[:, 1]), axis=1).reshape(-1)
    whole = n if n % 16 == 0 else n - 16  # the last sixteen were drawn again
    assert ours[:whole].tolist() == exact[:whole].tolist()


@needs_native
def test_draws_from_what_is_no_generator():
    for generator in (None, 3, object(), type("Fake", (), {"_capsule": 5})()):
        with pytest.raises(AttributeError):
            NUMPY.fill_between(generator, np.zeros(4, np.float32), 0.0, 1.0)
        with pytest.raises(AttributeError):
            NUMPY.new_uniform(generator, (4,), np.dtype(np.float32), 0.0, 1.0)


@needs_native
def test_small_tensors_reach_the_kernels():
    x = flambeau.ones(2, 2, requires_grad=True)
    y = flambeau.cat([x, x]).sum()
    y.backward()
    assert y.item() == 8 and x.grad.tolist() == [[2, 2], [2, 2]]


# ---- steps of optimizers

STEPS = {  # kernel -> (kinds of state, numbers, flags)
    "sgd_step": [(0, 5, 3), (1, 5, 3)], "adam_step": [(2, 7, 3), (3, 7, 3)], "adamax_step": [(2, 5, 2)],
    "nadam_step": [(2, 8, 3)], "radam_step": [(2, 7, 3)], "rprop_step": [(2, 4, 1)], "adagrad_step": [(1, 3, 2)],
    "adadelta_step": [(2, 5, 2)], "asgd_step": [(1, 4, 2)],
    "rmsprop_step": [(1, 6, 2), (2, 6, 2), (2, 6, 3), (3, 6, 3)],  # without and with the average gradient
}


@needs_native
@pytest.mark.parametrize("name, kinds, numbers, flags", [(name, *row) for name, rows in STEPS.items() for row in rows])
@settings(max_examples=20)
@given(data=st.data())
def test_steps_of_optimizers(name, kinds, numbers, flags, data):
    """All parameters of a list, whether a loop takes them or the list is left to the twin."""
    parameters = data.draw(st.lists(arrays(elements=st.sampled_from([0.0, 1.0, -2.0, np.inf, np.nan])), max_size=3))
    draw = np.random.default_rng(data.draw(st.integers(0, 99)))
    parameters = [p if p.flags.writeable else p.copy() for p in parameters]
    grads = [draw.standard_normal(p.shape).astype(p.dtype) for p in parameters]
    state = [[np.abs(draw.standard_normal(p.shape)).astype(p.dtype) for p in parameters] for _ in range(kinds)]
    rows = [tuple(draw.uniform(0.1, 0.9, numbers).tolist()) for _ in parameters]
    chosen = tuple(bool(flag) for flag in draw.integers(0, 2, flags))
    if name == "rmsprop_step":
        chosen = (*chosen[:2], flags == 3)
    written = [[[copied(a) for a in kind] for kind in (parameters, *state)] for _ in range(2)]
    kernel = getattr(NUMPY, name)
    with np.errstate(all="ignore"):
        ours = kernel(written[0], grads, rows, chosen)
        kernel.__wrapped__(written[1], grads, rows, chosen)
    assert ours is written[0]
    for got, want in zip(*written, strict=True):
        for a, b in zip(got, want, strict=True):
            same(a, b, rtol=1e-4 if a.dtype == np.float32 else 1e-10, atol=1e-6)


def copied(a):
    """A copy that lies in memory in the same way."""
    out = np.empty_like(a)
    out[...] = a
    return out


@needs_native
def test_steps_decline_what_they_cannot_do():
    """Nothing has changed by then: the twin does all of it."""
    p, q = np.ones(3, np.float32), np.ones(3, np.float16)
    NUMPY.sgd_step([[p, q]], [p.copy(), q.copy()], [(0.5, 0.0, 0.0, 1.0, 0.0)] * 2, (False, False, False))
    assert p.tolist() == q.tolist() == [0.5, 0.5, 0.5]
