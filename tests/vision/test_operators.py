"""The operators of torchvision's extension, compared with torchvision 0.28 on PyTorch: values, indices, gradients."""

import importlib

import numpy as np
import pytest

import flambeau
from _programs import Programs, differences
from flambeau.autograd import gradcheck, gradgradcheck
from flambeau.vision.operators import OPERATORS

programs = Programs("vision_operators.json")


def operators(t):
    """The operators by name, of Flambeau or of torchvision."""
    if t is flambeau:
        return OPERATORS
    importlib.import_module("torchvision")
    return {name: getattr(t.ops.torchvision, name) for name in ("nms", "roi_align", "roi_pool", "ps_roi_align", "ps_roi_pool", "deform_conv2d")}


def drawn(t, *shape, seed=0, dtype="float32", low=-1.0, high=1.0):
    array = np.random.default_rng(seed).uniform(low, high, shape)
    return t.from_numpy(array).to(getattr(t, dtype))


def with_gradients(function, *inputs):
    """The result, and the gradients of the inputs where each element of the result counts differently."""
    inputs = [x.requires_grad_() for x in inputs]
    out = function(*inputs)
    first = out[0] if isinstance(out, tuple) else out
    (first * first.cos()).sum().backward()
    return [*(out if isinstance(out, tuple) else [out]), *(x.grad for x in inputs)]


# (image, x1, y1, x2, y2): inside, over every border, outside, on whole and half numbers, a point, turned around
REGIONS = [
    [0, 1, 1, 5, 4], [1, -3, -2, 2.5, 3.25], [0, 4.5, 3.5, 12, 11], [1, 20, 20, 30, 30], [0, 2.5, 2.5, 2.5, 2.5],
    [1, 0, 0, 7, 6], [0, -9, -9, -5, -5], [1, 0.49, 0.51, 6.5, 5.5],
]


def regions(t, dtype="float32"):
    return t.tensor(REGIONS, dtype=getattr(t, dtype))


@programs
def suppression(t):
    nms = operators(t)["nms"]
    corners = drawn(t, 40, 2, low=0, high=10)
    boxes = t.cat([corners, corners + drawn(t, 40, 2, seed=1, low=0, high=5)], 1)
    scores = drawn(t, 40, seed=2).mul(5).round()  # with ties
    flat = t.zeros(3, 4)
    same = t.tensor([[0.0, 0, 2, 2]]).repeat(3, 1)
    return [
        *(nms(boxes, scores, threshold) for threshold in (0.0, 0.1, 0.5, 1.0)), nms(boxes.double(), scores.double(), 0.3),
        nms(flat, t.tensor([1.0, 3, 2]), 0.5), nms(same, t.tensor([1.0, 1, 1]), 0.5), nms(t.zeros(0, 4), t.zeros(0), 0.5),
    ]


@programs
def aligned_means(t):
    roi_align = operators(t)["roi_align"]
    return [
        with_gradients(lambda x, s=settings: roi_align(x, regions(t), *s), drawn(t, 2, 2, 6, 7))
        for settings in [(1.0, 2, 3, 2, True), (1.0, 2, 3, 2, False), (0.5, 3, 2, -1, True), (1.3, 1, 1, 0, False), (1.0, 2, 2, 1, True)]
    ]


@programs
def aligned_means_of_doubles(t):
    roi_align = operators(t)["roi_align"]
    return with_gradients(lambda x: roi_align(x, regions(t, "float64"), 0.7, 2, 2, 2, True), drawn(t, 2, 1, 5, 5, dtype="float64"))


@programs
def no_regions(t):
    names = operators(t)
    x, none = drawn(t, 1, 4, 3, 3), t.zeros(0, 5)
    return [names["roi_align"](x, none, 1.0, 2, 2, 2, True), *names["roi_pool"](x, none, 1.0, 2, 2), *names["ps_roi_pool"](x, none, 1.0, 2, 2)]


@programs
def maxima(t):
    roi_pool = operators(t)["roi_pool"]
    return [
        with_gradients(lambda x, s=settings: roi_pool(x, regions(t), *s), drawn(t, 2, 2, 6, 7).mul(4).round())  # with ties
        for settings in [(1.0, 2, 3), (0.5, 3, 2), (1.3, 1, 1)]
    ]


@programs
def means_by_position(t):
    ps_roi_pool, x = operators(t)["ps_roi_pool"], drawn(t, 2, 12, 6, 7)
    inside = regions(t)[:1]  # near the last row and column torchvision's gradient is not that of its values
    return [
        *(ps_roi_pool(x, regions(t), *settings) for settings in [(1.0, 2, 3), (0.5, 3, 2), (1.3, 2, 2)]),
        with_gradients(lambda x: ps_roi_pool(x, inside, 1.0, 2, 3), x),
    ]


@programs
def aligned_means_by_position(t):
    ps_roi_align = operators(t)["ps_roi_align"]
    return [
        with_gradients(lambda x, s=settings: ps_roi_align(x, regions(t), *s), drawn(t, 2, 12, 6, 7))
        for settings in [(1.0, 2, 3, 2), (0.5, 3, 2, 1), (1.3, 2, 2, 2)]
    ]


@programs
def deformed_convolutions(t):
    deform_conv2d = operators(t)["deform_conv2d"]

    def one(groups, offset_groups, use_mask, stride=(1, 1), padding=(0, 0), dilation=(1, 1), spread=1.5):
        x, weight = drawn(t, 2, 4, 6, 5), drawn(t, 4, 4 // groups, 3, 2, seed=1)
        size = [(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, p, d, k, s in zip((6, 5), padding, dilation, (3, 2), stride)]
        offset = drawn(t, 2, 2 * offset_groups * 6, *size, seed=2).mul(spread)
        mask = drawn(t, 2, offset_groups * 6, *size, seed=3) if use_mask else t.zeros(2, 1)
        return with_gradients(
            lambda *tensors: deform_conv2d(*tensors, *stride, *padding, *dilation, groups, offset_groups, use_mask),
            x, weight, offset, mask, drawn(t, 4, seed=4),
        )

    return [
        one(1, 1, False)[:4], one(1, 1, True), one(2, 2, True, stride=(2, 1), padding=(1, 2)),
        one(4, 2, True, dilation=(2, 3), padding=(2, 1)), one(1, 1, True, spread=6), one(2, 1, True, spread=0.0),
    ]


@pytest.mark.parametrize("name", programs.names())
def test_as_recorded(name):
    assert differences(programs.run(name, flambeau), programs.recorded(name)) == []


@pytest.mark.oracle
@pytest.mark.parametrize("name", programs.names())
def test_as_torchvision_does(name):
    import torch

    try:
        importlib.import_module("torchvision.extension")._assert_has_ops()
    except (ImportError, RuntimeError) as error:
        pytest.skip(f"torchvision's extension does not go with this PyTorch: {error}")
    assert differences(programs.run(name, torch), programs.recorded(name)) == []


LINEAR = {
    "roi_align": ((1, 2, 4, 4), (0.9, 2, 2, 2, True)),
    "ps_roi_align": ((1, 8, 4, 4), (0.9, 2, 2, 2)),
    "ps_roi_pool": ((1, 8, 4, 4), (0.9, 2, 2)),
    "roi_pool": ((1, 2, 4, 4), (0.9, 2, 2)),
}


@pytest.mark.parametrize("name", LINEAR)
def test_gradients_by_differences(name):
    shape, settings = LINEAR[name]
    rois = flambeau.tensor([[0, 0.3, 0.2, 3.6, 3.1], [0, 1, 1, 2, 3]], dtype=flambeau.float64)

    def pooled(x):
        out = OPERATORS[name](x, rois, *settings)
        return out[0] if isinstance(out, tuple) else out

    x = drawn(flambeau, *shape, dtype="float64").requires_grad_()
    assert gradcheck(pooled, x)
    assert gradgradcheck(lambda x: pooled(x * x), x)


def test_gradients_of_a_deformed_convolution_by_differences():
    tensors = [
        drawn(flambeau, *shape, dtype="float64", seed=seed).requires_grad_()
        for seed, shape in enumerate([(1, 2, 4, 4), (2, 2, 2, 2), (1, 8, 3, 3), (1, 4, 3, 3), (2,)])
    ]

    def convolve(*tensors):
        return OPERATORS["deform_conv2d"](*tensors, 1, 1, 0, 0, 1, 1, 1, 1, True)

    assert gradcheck(convolve, tensors)
    assert gradgradcheck(convolve, tensors)


def test_known_values():
    """The means of the quarters of a square; the boxes that a better one covers by half."""
    x = flambeau.arange(16.0).view(1, 1, 4, 4)
    whole = flambeau.tensor([[0.0, 0, 0, 4, 4]])
    assert OPERATORS["roi_align"](x, whole, 1.0, 2, 2, 2, True).flatten().tolist() == [2.5, 4.5, 10.5, 12.5]
    boxes = flambeau.tensor([[0.0, 0, 4, 4], [0, 0, 4, 3], [5, 5, 6, 6]])
    assert OPERATORS["nms"](boxes, flambeau.tensor([0.5, 0.9, 0.1]), 0.5).tolist() == [1, 2]


WRONG = {
    "boxes of three": (lambda: OPERATORS["nms"](flambeau.zeros(2, 3), flambeau.zeros(2), 0.5), "boxes should have 4 elements"),
    "scores too many": (lambda: OPERATORS["nms"](flambeau.zeros(2, 4), flambeau.zeros(3), 0.5), "same number of elements"),
    "regions of four": (lambda: OPERATORS["roi_align"](flambeau.zeros(1, 1, 2, 2), flambeau.zeros(1, 4), 1.0, 1, 1, 1, True), r"Tensor\[K, 5\]"),
    "two dtypes": (lambda: OPERATORS["roi_pool"](flambeau.zeros(1, 1, 2, 2), flambeau.zeros(1, 5).double(), 1.0, 1, 1), "same type"),
    "channels": (lambda: OPERATORS["ps_roi_pool"](flambeau.zeros(1, 3, 2, 2), flambeau.zeros(1, 5), 1.0, 2, 1), "multiple of pooling"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_calls(name):
    call, message = WRONG[name]
    with pytest.raises(RuntimeError, match=message):
        call()
