"""Interpolation: every mode, up and down, on floats and bytes."""

import itertools

import numpy as np
import pytest

import flambeau
import flambeau.nn.functional as F
from _layers import wave
from _oracle import assert_same, to_torch

MODES = [
    ("nearest", 1), ("nearest", 2), ("nearest", 3), ("nearest-exact", 1), ("nearest-exact", 2), ("linear", 1),
    ("bilinear", 2), ("bicubic", 2), ("trilinear", 3), ("area", 1), ("area", 2), ("area", 3),
]
HOW = [{"size": 1}, {"size": 3}, {"size": 11}, {"scale_factor": 0.5}, {"scale_factor": 1.7},
       {"scale_factor": 2.3, "recompute_scale_factor": True}]
ALIGNABLE = ("linear", "bilinear", "trilinear", "bicubic")
CASES = [
    {"mode": mode, "n": n, "align_corners": align, **how}
    for (mode, n), align, how in itertools.product(MODES, (None, True), HOW) if align is None or mode in ALIGNABLE
]
SMOOTH = [
    {"mode": mode, "n": 2, "align_corners": align, "antialias": True, **how}
    for mode, align, how in itertools.product(("bilinear", "bicubic", "lanczos"), (None, True), HOW)
    if align is None or mode != "lanczos"
]


def ids(case):
    return " ".join([f"{name}={value}" for name, value in case.items()])


def bytes_of(*shape):
    return ((wave(flambeau, *shape) + 1) * 127).byte()


@pytest.mark.oracle
@pytest.mark.parametrize("case", CASES + SMOOTH, ids=ids)
def test_agrees_with_torch(case):
    torch = pytest.importorskip("torch")
    case = dict(case)
    x = wave(flambeau, 2, 3, *(9, 7, 5)[: case.pop("n")]).requires_grad_()
    theirs = to_torch(x.detach()).requires_grad_()
    got, want = F.interpolate(x, **case), torch.nn.functional.interpolate(theirs, **case)
    assert_same(got, want, rtol=1e-4, atol=1e-5)
    (got * got.detach().cos()).sum().backward()
    (want * want.detach().cos()).sum().backward()
    assert_same(x.grad, theirs.grad, rtol=1e-4, atol=1e-5)


@pytest.mark.oracle
@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "bilinear", "bicubic"])
@pytest.mark.parametrize("antialias", [False, True])
@pytest.mark.parametrize("size", [(5, 4), (20, 13), (9, 30)], ids=str)
def test_bytes_agree_with_torch(mode, antialias, size):
    torch = pytest.importorskip("torch")
    if antialias and "nearest" in mode:
        mode = "lanczos"
    x = bytes_of(2, 3, 9, 11)
    want = torch.nn.functional.interpolate(to_torch(x), size, mode=mode, antialias=antialias)
    assert_same(F.interpolate(x, size, mode=mode, antialias=antialias), want)


def test_known_values():
    x = flambeau.tensor([[[0.0, 1.0, 4.0]]])
    assert F.interpolate(x, 5).tolist() == [[[0, 0, 1, 1, 4]]]
    assert F.interpolate(x, 5, mode="linear", align_corners=True).tolist() == [[[0, 0.5, 1, 2.5, 4]]]
    assert F.interpolate(x, scale_factor=2, mode="linear").tolist() == [[[0, 0.25, 0.75, 1.75, 3.25, 4]]]


def test_infinities_stay_where_they_are():
    x = flambeau.zeros(1, 1, 4)
    x[..., 0] = flambeau.inf
    assert F.interpolate(x, 40, mode="linear").isfinite().sum() == 25


def test_a_smaller_image_with_antialias_has_the_mean_of_a_row():
    """Also where one column is left."""
    x = flambeau.arange(24.0).reshape(1, 1, 12, 2)
    assert F.interpolate(x, (12, 1), mode="bilinear", antialias=True).flatten().tolist() == [2 * i + 0.5 for i in range(12)]


def test_nothing_but_the_shape_is_kept_for_backward():
    kept = []
    with flambeau.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t) or t, lambda t: t):
        F.interpolate(flambeau.ones(1, 1, 4, 4, requires_grad=True), 8, mode="bicubic")
    assert not kept


@pytest.mark.parametrize("name", ["upsample", "upsample_nearest", "upsample_bilinear"])
def test_old_names_warn(name):
    x = wave(flambeau, 1, 1, 2, 3)
    how = {"mode": "bilinear", "align_corners": True} if name == "upsample_bilinear" else {}
    with pytest.warns(UserWarning, match=f"{name}` is deprecated"):
        found = getattr(F, name)(x, scale_factor=2)
    np.testing.assert_array_equal(found.numpy(), F.interpolate(x, scale_factor=2, **how).numpy())
