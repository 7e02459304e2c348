"""Counting: histograms and bincount."""

import math

import numpy as np

from .._device import META
from .._dtypes import HALF, type_word
from .._tensor import Tensor
from ._args import allocating, as_number, need_tensor, tensor_on
from ._attach import methods
from ._out import out_variant, same
from ._results import result
from ._types import typed
from .like import create

__all__ = ["bincount", "histc", "histogram", "histogramdd"]

_HISTOGRAM = result("histogram", "hist", "bin_edges")
_HISTOGRAMDD = result("histogramdd", "hist", "bin_edges")


@allocating
def bincount(input, weights=None, minlength=0):
    """How often each of 0, 1, 2, ... occurs, or the sum of the weights at its occurrences."""
    need_tensor(input, "bincount")
    a = input._a
    if a.dtype.kind not in "iu":
        raise NotImplementedError(f"\"bincount_cpu\" not implemented for '{type_word(input.dtype)}'")
    if minlength < 0:
        raise RuntimeError(f"minlength should be >= 0, got {minlength}")
    if a.ndim != 1 or (a.size and a.min() < 0):
        raise RuntimeError(
            f"bincount only supports 1-d non-negative integral inputs, got {input.dtype} {list(a.shape)}"
        )
    if weights is not None and weights._a.shape != a.shape:
        raise RuntimeError(
            f"weights should be 1-d and have the same length as input: {list(weights.shape)} against "
            f"{list(a.shape)}"
        )
    if a.size == 0 or weights is None:
        return tensor_on(np.bincount(a.astype(np.int64, copy=False), None, minlength), input.device)
    found = np.bincount(a, weights._a, minlength)
    return tensor_on(found.astype(np.float32) if weights._a.dtype == np.float32 else found, input.device)


@out_variant(dtype=same, aliases="any", differentiable=False)
@allocating
@typed(bins=int)
def histc(input, bins=100, min=0, max=0):
    """Counts in bins of equal width from ``min`` to ``max``; if these are equal, over the range of the data."""
    need_tensor(input, "histc")
    min, max = as_number(min, "histc", "min"), as_number(max, "histc", "max")
    own = input._a.dtype
    a = (input._a.astype(np.float32) if own in HALF else _floating(input, "histogram_cpu")).reshape(-1)
    if bins <= 0:
        raise RuntimeError(f"torch.histc(): bins must be > 0, but got {bins}")
    if input.device is META:
        found = create("histc", None, (bins,), own, None, META, False)
    else:
        a = np.asarray(a)
        counts = _even_counts(a, *_even_range(a, float(min), float(max)), bins)
        found = tensor_on(counts.astype(own), input.device)
    return found


def _even_range(a, low, high):
    """The range of the bins, as given or taken from the data."""
    if low == high and a.size:
        low, high = float(a.min()), float(a.max())
    if low == high:
        low, high = low - 1, high + 1
    if not (math.isfinite(low) and math.isfinite(high)):
        raise RuntimeError(f"torch.histc: range of [{low}, {high}] is not finite")
    if low > high:
        raise RuntimeError(f"torch.histc: max must be larger than min, got min={low}, max={high}")
    return low, high


def _even_counts(a, low, high, bins):
    """Counts in bins of equal width; the bin of an element is computed from its distance to the left end."""
    kept = a[(a >= low) & (a <= high)]
    place = ((kept - a.dtype.type(low)) * a.dtype.type(bins / (high - low))).astype(np.int64)
    return np.bincount(np.minimum(place, bins - 1), None, bins)


def _counting_input(input):
    """The elements in the dtype they are counted in: float32 for half precision."""
    return input._a.astype(np.float32) if input._a.dtype in HALF else _floating(input, "histogramdd")


def _floating(input, kernel):
    if input._a.dtype.char not in "fd":
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{type_word(input.dtype)}', only floats")
    return input._a


@out_variant(dtype=same)
@allocating
def histogram(input, bins=100, *, range=None, weight=None, density=False):
    """The counts, weights or densities in bins of equal width or between given edges; and the edges."""
    need_tensor(input, "histogram")
    shape = input._a.shape
    if weight is not None and weight._a.shape != shape:
        raise RuntimeError(
            f"torch.histogram(): weight should have the shape of the input: {list(weight.shape)} against "
            f"{list(shape)}"
        )
    a = _counting_input(input).reshape(-1, 1)
    weights = None if weight is None else weight._a.reshape(-1)
    hist, edges = _histogram(a, _edges(a, input, [bins], range), weights, density)
    return _HISTOGRAM(*[tensor_on(found.astype(input._a.dtype), input.device) for found in (hist, edges[0])])


@allocating
def histogramdd(input, bins, range=None, weight=None, density=False):
    """The histogram of points whose coordinates are in the last dimension; see ``histogram``."""
    need_tensor(input, "histogramdd")
    if input._a.ndim < 2:
        raise RuntimeError(
            f"torch.histogramdd: input tensor should have at least 2 dimensions, but got {input._a.ndim}"
        )
    if weight is not None and weight._a.shape != input._a.shape[:-1]:
        raise RuntimeError(
            "torch.histogramdd: if weight tensor is provided it should have the same shape as the input "
            f"tensor excluding its innermost dimension, but got input with shape {list(input.shape)} and "
            f"weight with shape {list(weight.shape)}"
        )
    d, count = input._a.shape[-1], math.prod(input._a.shape[:-1])
    a = _counting_input(input).reshape(count, d)
    bins = [bins] * d if isinstance(bins, int) else list(bins)
    if len(bins) != d:
        raise RuntimeError(
            "torch.histogramdd: The size of bins must be equal to the innermost dimension of the input. Expected "
            f"{d} sequences of bin edges or numbers of bins but got {len(bins)}"
        )
    weights = None if weight is None else weight._a.reshape(-1)
    hist, edges = _histogram(a, _edges(a, input, bins, range), weights, density)
    hist, *edges = [tensor_on(found.astype(input._a.dtype), input.device) for found in (hist, *edges)]
    return _HISTOGRAMDD(hist, tuple(edges))


def _edges(a, input, bins, ranges):
    """The bin edges of each coordinate, in the dtype of `a`, the elements of the input."""
    d = a.shape[1]
    if ranges is not None and len(ranges) != 2 * d:
        raise RuntimeError(
            f"torch.histogramdd: for a {d}-dimensional histogram range should have {2 * d} elements, but "
            f"got {len(ranges)}"
        )
    edges = []
    for i, b in enumerate(bins):
        if isinstance(b, Tensor):
            if b._a.ndim != 1 or not b._a.size:
                raise RuntimeError(
                    f"torch.histogramdd: bins tensor should have one dimension, but got {b._a.ndim} "
                    f"dimensions in the bins tensor for dimension {i}"
                )
            if b._a.dtype != input._a.dtype:
                raise RuntimeError(
                    "torch.histogramdd: input tensor and bins tensors should have the same dtype, but got "
                    f"input with dtype {input.dtype} and bins for dimension {i} with dtype {b.dtype}"
                )
            edges.append(b._a.astype(a.dtype))
            continue
        if b <= 0:
            raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {b} for dimension {i}")
        low, high = _range(a[:, i], None if ranges is None else ranges[2 * i:2 * i + 2], i)
        edges.append(np.linspace(low, high, b + 1, dtype=a.dtype))
    return edges


def _range(a, given, i):
    low, high = given if given is not None else (float(a.min()), float(a.max())) if a.size else (0.0, 1.0)
    if not (math.isfinite(low) and math.isfinite(high)):
        raise RuntimeError(f"torch.histogramdd: dimension {i}'s range [{low}, {high}] is not finite")
    if low > high:
        raise RuntimeError(
            f"torch.histogramdd: min should not exceed max, but got min {low} max {high} for dimension {i}"
        )
    return (low - 0.5, high + 0.5) if low == high else (low, high)


def _histogram(a, edges, weights, density):
    """The histogram over all coordinates, and the edges."""
    shape = [len(e) - 1 for e in edges]
    inside = np.full(len(a), bool(edges))  # points without coordinates are in no bin
    flat = np.zeros(len(a), np.int64)
    for column, e in zip(a.T, edges, strict=True):
        inside &= (column >= e[0]) & (column <= e[-1])
        place = np.searchsorted(e, column, "right") - 1
        flat = flat * (len(e) - 1) + np.minimum(place, len(e) - 2)
    found = np.bincount(flat[inside], None if weights is None else weights[inside], math.prod(shape))
    found = found.reshape(shape).astype(a.dtype)
    if density:
        found = found / found.sum()
        for i, e in enumerate(edges):
            found = found / np.expand_dims(np.diff(e), tuple(j for j, _ in enumerate(edges) if j != i))
        found = found.astype(a.dtype)
    return found, edges


methods(bincount, histc, histogram)
