"""Native kernels that replace several ops, against these ops: they have no twin in NumPy."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import flambeau
from engines.test_native import FLOATS, needs_native, width  # noqa: F401
from flambeau._tensor import wrap
from flambeau.engines import NUMPY
from flambeau.nn import functional

MODES, PADDINGS = ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection")
SPECIAL = (np.nan, np.inf, -np.inf, 1e30, -1.0, 1.0, 0.0)


def with_gradients(function, tensors):
    """The result of a function of tensors, and their gradients."""
    tensors = [wrap(x.copy()).requires_grad_() for x in tensors]
    out = function(*tensors)
    weights = np.random.default_rng(0).standard_normal(out.shape).astype(out.numpy(force=True).dtype)
    grads = flambeau.autograd.grad(out, tensors, wrap(weights))
    return [x.numpy(force=True) for x in (out, *grads)]


def both(kernels, function, *tensors):
    """With the kernels, and with those that say that there is none."""
    with np.errstate(all="ignore"), pytest.MonkeyPatch.context() as patch:
        ours = with_gradients(function, tensors)
        for name in kernels:
            patch.setattr(NUMPY, name, getattr(NUMPY, name).__wrapped__)
        return ours, with_gradients(function, tensors)


def agree(ours, ops, dtype):
    tolerance = 1e-5 if dtype == np.float32 else 1e-12
    for a, b in zip(ours, ops, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


GRIDS = [case for case in itertools.product(MODES, PADDINGS, (True, False), (2, 3)) if case[0] != "bicubic" or case[3] == 2]


@needs_native
@pytest.mark.parametrize(("mode", "padding", "align", "dims"), GRIDS)
@pytest.mark.parametrize("dtype", FLOATS)
def test_grid_sample(mode, padding, align, dims, dtype):
    rng = np.random.default_rng(0)
    for sizes in ((1, 4, 3)[:dims], (5, 1, 2)[:dims]):
        x = rng.standard_normal((2, 3, *sizes)).astype(dtype)
        grid = rng.uniform(-1.6, 1.6, (2, *(4, 5, 2)[:dims], dims)).astype(dtype)
        agree(*both(["grid_corners"], lambda x, grid: functional.grid_sample(
            x, grid, mode=mode, padding_mode=padding, align_corners=align), x, grid), dtype)


@needs_native
@pytest.mark.parametrize(("mode", "padding", "align", "dims"), GRIDS)
def test_places_that_are_no_numbers(mode, padding, align, dims):
    grid = np.zeros((1, len(SPECIAL), *[1] * (dims - 1), dims), np.float32)
    grid[..., 0].reshape(-1)[:] = SPECIAL
    arguments = (grid, (3, 4, 5)[:dims], mode, padding, align)
    index, weights, slopes = NUMPY.grid_corners(*arguments, True)
    assert index.max() < np.prod(arguments[1])
    assert not np.nan_to_num(weights[index < 0]).any()
    assert slopes.shape == (dims, *weights.shape)
    assert NUMPY.grid_corners(*arguments, False)[2] is None


@needs_native
@given(st.integers(0, 40), st.integers(1, 20), st.sampled_from(FLOATS), st.sampled_from(["mean", "sum", "none"]), st.data())
@settings(max_examples=80, deadline=None)
def test_the_loss_of_classes(rows, classes, dtype, reduction, data):
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    target = rng.integers(0, classes, rows)
    ignore = data.draw(st.sampled_from([-100, 0, 3]))
    target[rng.random(rows) < 0.2] = ignore if ignore < classes else 0
    x = rng.standard_normal((rows, classes)).astype(dtype)
    agree(*both(["nll_of_rows", "nll_of_rows_pull"], lambda x: functional.nll_loss(
        x, wrap(target), ignore_index=ignore, reduction=reduction), x), dtype)


@needs_native
@pytest.mark.parametrize("wrong", [3, -1, 2**40])
def test_targets_out_of_bounds_are_for_ops_to_refuse(wrong):
    x, target = np.zeros((2, 3), np.float32), np.array([0, wrong])
    assert NUMPY.nll_of_rows(x, target, -100, "mean") is None
    assert NUMPY.nll_of_rows_pull(np.ones((), np.float32), target, -100, "mean", 3) is None
    with pytest.raises(IndexError):
        functional.nll_loss(wrap(x), wrap(target))


@needs_native
@given(st.integers(1, 9), st.integers(1, 3), st.integers(2, 6), st.integers(0, 20), st.sampled_from(FLOATS), st.data())
@settings(max_examples=120, deadline=None)
def test_alignments_of_labels(times, samples, classes, most, dtype, data):
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    blank, most = data.draw(st.integers(0, classes - 1)), most if times > 4 else most % 3
    labels = rng.integers(0, classes, (samples, most))
    durations, lengths = (rng.integers(0, n + 1, samples).tolist() for n in (times, most))
    x = rng.standard_normal((samples, times, classes)) * data.draw(st.sampled_from([1, 30]))
    if data.draw(st.booleans()):
        x -= np.log(np.exp(x).sum(2, keepdims=True))
    x[rng.random(x.shape) < data.draw(st.sampled_from([0, 0.02]))] = -np.inf
    agree(*both(["ctc_forward", "ctc_backward"], lambda x: functional.ctc_loss(
        x.transpose(0, 1), wrap(labels), durations, lengths, blank, "none"), x.astype(dtype)), dtype)
