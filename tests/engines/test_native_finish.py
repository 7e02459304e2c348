"""Fused epilogues of kernels against separate NumPy passes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engines.test_native import FLOATS, arrays, both, needs_native, same, width  # noqa: F401
from engines.test_native_conv import convolutions, threads  # noqa: F401
from flambeau.engines import NUMPY

ACTIVATIONS = [
    (None, ()), ("relu", ()), ("clip", (0.0, 6.0)), ("clip", (-0.5, 0.25)), ("leaky_relu", (0.1,)), ("silu", ()),
    ("hardswish", ()), ("gelu", ()), ("tanh", ()), ("sigmoid", ()), ("elu", (1.0, 1.0, 1.0)),
]
# (samples, channels, results, size), kernel, stride, padding, dilation, groups: one for each way to convolve
CONVOLUTIONS = {
    "one tap": ((2, 20, 30, (9, 11)), (1, 1), (1, 1), (0, 0), (1, 1), 1),
    "one tap of many channels": ((2, 600, 14, (5, 7)), (1, 1), (1, 1), (0, 0), (1, 1), 1),
    "one tap with steps": ((2, 20, 30, (23, 25)), (1, 1), (2, 2), (0, 0), (1, 1), 1),
    "one tap with steps across images": ((3, 40, 30, (9, 8)), (1, 1), (2, 1), (0, 0), (1, 1), 1),
    "tiles across images": ((5, 3, 7, (3, 5)), (1, 1), (1, 1), (0, 0), (1, 1), 1),
    "few channels": ((2, 3, 5, (17, 19)), (3, 3), (1, 1), (1, 1), (1, 1), 1),
    "many taps": ((2, 300, 5, (9, 9)), (3, 3), (1, 1), (1, 1), (1, 1), 1),
    "channels in lanes": ((2, 24, 40, (12, 13)), (3, 3), (2, 2), (1, 1), (1, 1), 1),
    "weights packed in turn": ((1, 64, 300, (4, 4)), (3, 3), (2, 2), (1, 1), (1, 1), 1),
    "winograd": ((2, 32, 40, (21, 22)), (3, 3), (1, 1), (1, 1), (1, 1), 1),
    "groups": ((2, 24, 48, (9, 8)), (3, 3), (1, 1), (1, 1), (2, 1), 3),
    "planes": ((2, 5, 5, (9, 150)), (3, 3), (1, 1), (1, 1), (1, 1), 5),
    "planes in lanes": ((2, 21, 21, (9, 10)), (3, 3), (2, 2), (1, 1), (1, 1), 21),
    "all of the image": ((3, 4, 6, (5, 5)), (5, 5), (1, 1), (0, 0), (1, 1), 1),
    "sequences": ((2, 6, 9, (40,)), (5,), (2,), (2,), (1,), 1),
    "volumes": ((1, 3, 9, (5, 6, 7)), (2, 3, 2), (1, 1, 1), (1, 0, 0), (1, 1, 1), 1),
}


def numbers(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape)


def finishes(channels, dtype):
    scale, shift = (numbers(seed, channels).astype(dtype) for seed in (1, 2))
    for name, its_numbers in ACTIVATIONS:
        yield scale, shift, name, its_numbers
        if name is not None:
            yield None, None, name, its_numbers


def by_passes(y, finish):
    with np.errstate(all="ignore"):
        return NUMPY.finish.__wrapped__(y, finish)


def rounding(dtype):
    return {"rtol": 1e-4, "atol": 1e-4} if dtype == np.float32 else {"rtol": 1e-11, "atol": 1e-11}


@needs_native
@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("case", CONVOLUTIONS.values(), ids=CONVOLUTIONS)
def test_convolutions(case, dtype, biased):
    (samples, channels, results, size), kernel, stride, padding, dilation, groups = case
    x = numbers(3, samples, channels, *size).astype(dtype)
    weight = (numbers(4, results, channels // groups, *kernel) / np.sqrt(channels * np.prod(kernel))).astype(dtype)
    bias = numbers(5, results).astype(dtype) if biased else None
    y = NUMPY.conv.__wrapped__(x, weight, stride, padding, dilation, groups, None, bias)
    for finish in finishes(results, dtype):
        ours = NUMPY.conv(x, weight, stride, padding, dilation, groups, None, bias, finish)
        same(ours, by_passes(y, finish), **rounding(dtype))


@needs_native
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("case", CONVOLUTIONS.values(), ids=CONVOLUTIONS)
def test_transposed_convolutions(case, dtype):
    (samples, channels, results, size), kernel, stride, padding, dilation, groups = case
    weight = (numbers(4, results, channels // groups, *kernel) / np.sqrt(results * np.prod(kernel))).astype(dtype)
    y = NUMPY.conv(numbers(3, samples, channels, *size).astype(dtype), weight, stride, padding, dilation, groups)
    x = NUMPY.conv_input.__wrapped__(y, weight, size, stride, padding, dilation, groups)
    for finish in finishes(channels, dtype):
        ours = NUMPY.conv_input(y, weight, size, stride, padding, dilation, groups, None, finish)
        same(ours, by_passes(x, finish), **rounding(dtype))


@needs_native
@pytest.mark.parametrize("where", [0, 5000, -1])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("case", CONVOLUTIONS.values(), ids=CONVOLUTIONS)
def test_what_is_not_finite_goes_where_it_must(case, value, where):
    (samples, channels, results, size), *how = case
    kernel, stride, padding, dilation, groups = how
    x = numbers(3, samples, channels, *size).astype(np.float32)
    x.reshape(-1)[min(where, x.size - 1)] = value
    weight = numbers(4, results, channels // groups, *kernel).astype(np.float32)
    y = NUMPY.conv(x, weight, stride, padding, dilation, groups)
    for finish in finishes(results, np.float32):
        ours, right = NUMPY.conv(x, weight, stride, padding, dilation, groups, None, None, finish), by_passes(y, finish)
        assert (np.isnan(ours) == np.isnan(right)).all()
        assert (ours == right)[np.isinf(right)].all()


@needs_native
@given(convolutions(), st.sampled_from(ACTIVATIONS), st.booleans())
@settings(max_examples=40, deadline=None)
def test_convolutions_of_all_kinds(case, activation, scaled):
    x, weight, _, how = case
    scale, shift = (numbers(seed, len(weight)).astype(x.dtype) if scaled else None for seed in (1, 2))
    finish = (scale, shift, *activation)
    ours = NUMPY.conv(x, weight, *how, None, None, finish)
    same(ours, by_passes(NUMPY.conv.__wrapped__(x, weight, *how), finish), rtol=2e-3, atol=2e-3)


@needs_native
@pytest.mark.parametrize("shape", [(3, 4, 5), (40, 70, 33), (7, 300, 260), (600, 40, 300), (300, 64, 600), (200, 150, 400)])
@pytest.mark.parametrize("dtype", FLOATS)
def test_products(shape, dtype):
    from flambeau import _kernels

    rows, depth, columns = shape
    x, weight = numbers(1, rows, depth).astype(dtype), (numbers(2, columns, depth) / np.sqrt(depth)).astype(dtype)
    bias = numbers(3, columns).astype(dtype)
    y = x @ weight.T + bias
    for tiles in (False, True):
        before = _kernels.use_tiles(tiles)
        try:
            for name, its_numbers in ACTIVATIONS[1:]:
                finish = (None, None, name, its_numbers)
                same(NUMPY.linear(x, weight, bias, finish), by_passes(y, finish), **rounding(dtype))
        finally:
            _kernels.use_tiles(before)


@needs_native
@given(arrays((*FLOATS, np.float16)), st.sampled_from(ACTIVATIONS), st.booleans())
@settings(max_examples=100, deadline=None)
def test_finishing_alone(x, activation, scaled):
    if x.ndim < 2 or x.shape[1] == 0:
        x, scaled = x.reshape(1, -1), False
    scale, shift = (numbers(seed, x.shape[1]).astype(x.dtype) if scaled else None for seed in (1, 2))
    eps = float(np.finfo(x.dtype).eps)
    same(*both("finish", x, (scale, shift, *activation)), rtol=16 * eps, atol=16 * eps)


@needs_native
@pytest.mark.parametrize("how", [
    (None, None, "nothing", ()), (None, None, "relu", (1.0,)), (np.ones(3, np.float32), np.ones(5, np.float32), None, ()),
    (None, None), (None, None, "relu_pull", ()),
])
def test_what_cannot_follow_is_refused(how):
    with pytest.raises((AttributeError, TypeError, ValueError)):
        NUMPY.finish(np.ones((2, 3), np.float32), how)
