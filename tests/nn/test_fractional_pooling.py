"""Fractional max pooling gives PyTorch's results for the same seed."""

import pytest

import flambeau
from _layers import wave
from _oracle import assert_same, to_torch

nn = flambeau.nn

CASES = [
    # the shape of the input, the kernel, how many windows
    ((2, 3, 9, 8), 2, (4, 5)),
    ((3, 9, 8), (2, 3), (5, 1)),
    ((1, 2, 12, 10), 3, (10, 8)),
    ((2, 2, 7, 8, 9), 2, (3, 4, 5)),
    ((2, 9, 8, 7), (1, 2, 3), 2),
    ((0, 4, 4), 2, (2, 2)),
    ((0, 3, 4, 4), 2, (2, 2)),
]


@pytest.mark.oracle
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("shape", "kernel", "sizes"), CASES, ids=str)
def test_the_same_seed_gives_the_windows_of_torch(shape, kernel, sizes, dtype):
    torch = pytest.importorskip("torch")
    x = wave(flambeau, *shape).to(getattr(flambeau, dtype))
    n = len(sizes) if isinstance(sizes, tuple) else 3
    results = []
    for t, values in ((flambeau, x), (torch, to_torch(x))):
        t.manual_seed(7)
        pool = getattr(t.nn.functional, f"fractional_max_pool{n}d")
        results.append([*pool(values, kernel, sizes, return_indices=True), t.rand(2)])
    assert_same(*results)


@pytest.mark.parametrize("n", [2, 3])
def test_fractional_pooling_draws_from_the_generator(n):
    pool = getattr(nn, f"FractionalMaxPool{n}d")(2, 3)
    x = flambeau.randn(2, 3, *[9] * n)
    flambeau.manual_seed(1)
    first = pool(x)
    assert (pool(x) != first).any()
    flambeau.manual_seed(1)
    assert (pool(x) == first).all()


def test_fractional_pooling_can_be_undone():
    x = flambeau.arange(36.0).reshape(1, 1, 6, 6)
    values, places = flambeau.nn.functional.fractional_max_pool2d_with_indices(x, 2, 3)
    back = nn.MaxUnpool2d(2)(values, places, output_size=(6, 6))
    assert (back.flatten()[places.flatten()] == values.flatten()).all() and back.count_nonzero() == 9
