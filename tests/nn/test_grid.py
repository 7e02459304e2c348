"""Grid sampling: every mode and padding, coordinates far outside, and two derivatives."""

import itertools

import pytest

import flambeau
import flambeau.nn.functional as F
from _layers import wave
from _oracle import assert_same, to_torch

MODES = [("bilinear", 2), ("bilinear", 3), ("nearest", 2), ("nearest", 3), ("bicubic", 2)]
CASES = list(itertools.product(MODES, ("zeros", "border", "reflection"), (False, True), ((4, 5, 3), (1, 6, 2))))


def places(*shape, reach=1.7):
    """Coordinates within and around the image."""
    return (wave(flambeau, *shape, step=2.3) * reach).double()


@pytest.mark.oracle
@pytest.mark.parametrize(("kind", "padding", "align", "sizes"), CASES, ids=str)
def test_agrees_with_torch(kind, padding, align, sizes):
    torch = pytest.importorskip("torch")
    mode, n = kind
    ours = wave(flambeau, 2, 3, *sizes[:n]).double().requires_grad_(), places(2, *(2, 3, 2)[:n], n).requires_grad_()
    theirs = [to_torch(t.detach()).requires_grad_() for t in ours]
    assert_same(run(flambeau, ours, mode, padding, align), run(torch, theirs, mode, padding, align),
                rtol=1e-9, atol=1e-10)


def run(t, inputs, mode, padding, align):
    """The result, its gradients, and the gradients of those."""
    out = t.nn.functional.grid_sample(*inputs, mode, padding, align)
    first = t.autograd.grad((out * out.detach().cos()).sum(), inputs, create_graph=True)
    if mode == "nearest":
        return [out, *first]
    return [out, *first, *t.autograd.grad(sum((g * g).sum() for g in first), inputs)]


@pytest.mark.oracle
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_other_precisions_agree_with_torch(dtype):
    torch = pytest.importorskip("torch")
    ours = [t.to(getattr(flambeau, dtype)) for t in (wave(flambeau, 1, 2, 4, 5), places(1, 3, 3, 2))]
    want = torch.nn.functional.grid_sample(*map(to_torch, ours), align_corners=False)
    step = flambeau.finfo(ours[0].dtype).eps
    assert_same(F.grid_sample(*ours, align_corners=False), want, rtol=4 * step, atol=4 * step)


@pytest.mark.oracle
@pytest.mark.parametrize("where", ["image", "gradient"])
@pytest.mark.parametrize(("mode", "padding", "align"), list(itertools.product(
    ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection"), (False, True))))
@pytest.mark.parametrize("value", ["nan", "inf"])
def test_zero_padding_ignores_nonfinite_pixels(value, mode, padding, align, where):
    torch, results = pytest.importorskip("torch"), []
    for t in (flambeau, torch):
        x, g = t.ones(1, 1, 3, 4), t.ones(1, 1, 1, 8)
        for place in ((0, 0, 0, 0), (0, 0, 2, 3)) if where == "image" else ((0, 0, 0, 0), (0, 0, 0, 5)):
            (x if where == "image" else g)[place] = float(value)
        grid = t.tensor([[-1.0, -1.0], [1.0, 1.0], [1.0, 1.05], [-1.2, -1.0], [-1 / 3, -1.0], [0.5, 1.0], [3.0, 1.0], [0.0, 0.0]])
        inputs = x.requires_grad_(), grid.reshape(1, 1, 8, 2).requires_grad_()
        out = t.nn.functional.grid_sample(*inputs, mode, padding, align)
        results.append([out, *t.autograd.grad(out, inputs, g)])
    assert_same(*results)


@pytest.mark.oracle
@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "1e30", "-1e30"])
@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
def test_coordinates_beyond_all_bounds(value, mode):
    torch = pytest.importorskip("torch")
    x, grid = wave(flambeau, 1, 1, 3, 4), flambeau.tensor([float(value), 0.0]).reshape(1, 1, 1, 2)
    want = torch.nn.functional.grid_sample(to_torch(x), to_torch(grid), mode, "border", False)
    assert_same(F.grid_sample(x, grid, mode, "border", False), want)


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore:Since version 1.3.0")
@pytest.mark.parametrize("size", [(2, 3, 4, 5), (2, 1, 1, 3), (2, 1, 3, 1, 2)], ids=str)
@pytest.mark.parametrize("align", [False, True])
def test_affine_grid_agrees_with_torch(size, align):
    torch = pytest.importorskip("torch")
    n = len(size) - 2
    ours = wave(flambeau, 2, n, n + 1).requires_grad_()
    theirs = to_torch(ours.detach()).requires_grad_()
    got, want = F.affine_grid(ours, size, align), torch.nn.functional.affine_grid(theirs, size, align)
    assert_same(got, want, rtol=1e-5, atol=1e-6)
    got.square().sum().backward()
    want.square().sum().backward()
    assert_same(ours.grad, theirs.grad, rtol=1e-5, atol=1e-6)


def test_the_identity_reads_the_image():
    x = wave(flambeau, 2, 3, 4, 5)
    theta = flambeau.tensor([[1.0, 0, 0], [0, 1, 0]]).expand(2, 2, 3)
    for align in (False, True):
        found = F.grid_sample(x, F.affine_grid(theta, x.shape, align), align_corners=align)
        flambeau.testing.assert_close(found, x, rtol=1e-5, atol=1e-6)


def test_missing_align_corners_warns():
    with pytest.warns(UserWarning, match="align_corners=False since 1.3.0"):
        F.grid_sample(flambeau.zeros(1, 1, 2, 2), flambeau.zeros(1, 1, 1, 2))
    with pytest.warns(UserWarning, match="unit-size grids"):
        F.affine_grid(flambeau.zeros(1, 2, 3), (1, 1, 1, 2), align_corners=True)


def test_only_the_inputs_are_kept_for_backward():
    kept = []
    x, grid = flambeau.ones(1, 8, 4, 4, requires_grad=True), flambeau.zeros(1, 4, 4, 2, requires_grad=True)
    with flambeau.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t.numel()) or t, lambda t: t):
        F.grid_sample(x, grid, "bicubic", align_corners=False)
    assert sum(kept) == x.numel() + grid.numel()
