"""Float32 rounding errors of convolutions against float64, compared with PyTorch's on the same numbers.

PyTorch's were recorded from 2.13 with oneDNN on AVX2: root mean squares, relative to the root mean square of the values.
"""

import numpy as np
import pytest

import flambeau as torch
from engines.test_native import width  # noqa: F401

# samples, channels, out channels, side, and PyTorch's errors of the result, of the gradients of the input and the weight
RECORDED = [
    (2, 16, 16, 32, 2.1e-7, 2.1e-7, 7.9e-7),
    (2, 32, 32, 32, 3.0e-7, 2.2e-7, 7.9e-7),
    (2, 64, 64, 32, 4.2e-7, 2.2e-7, 8.0e-7),
    (2, 128, 128, 16, 5.9e-7, 2.2e-7, 3.9e-7),
    (4, 256, 256, 14, 8.3e-7, 3.0e-7, 4.8e-7),
    (2, 16, 64, 32, 2.1e-7, 2.2e-7, 7.9e-7),
    (2, 64, 16, 32, 4.2e-7, 2.1e-7, 7.9e-7),
]
MOST = 1.5  # of PyTorch's error


def results(x, weight, g, dtype):
    """The convolution with a kernel of 3x3, and its gradients."""
    x, weight = [torch.tensor(a.astype(dtype), requires_grad=True) for a in (x, weight)]
    y = torch.nn.functional.conv2d(x, weight, padding=1)
    y.backward(torch.tensor(g.astype(dtype)))
    return [t.detach().numpy() for t in (y, x.grad, weight.grad)]


@pytest.mark.parametrize("case", RECORDED, ids=lambda case: "x".join(map(str, case[:4])))
def test_rounding_errors_are_about_those_of_pytorch(case):
    samples, channels, out, side, *recorded = case
    draw = np.random.RandomState(0).randn
    x, g = draw(samples, channels, side, side).astype("f"), draw(samples, out, side, side).astype("f")
    weight = (draw(out, channels, 3, 3) / np.sqrt(9 * channels)).astype("f")
    ours, exact = results(x, weight, g, np.float32), results(x, weight, g, np.float64)
    errors = [np.sqrt(np.mean((a - b) ** 2) / np.mean(b**2)) for a, b in zip(ours, exact)]
    assert all(error <= MOST * theirs for error, theirs in zip(errors, recorded)), (errors, recorded)
