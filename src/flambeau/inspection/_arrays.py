"""Arrays on a page: histograms, and 8-bit images."""

import base64

import numpy as np

from .._device import strided
from .._modes import no_grad

__all__ = ["histogram", "pictures", "statistics"]

BINS = 32
MOST_PICTURES = 16
MOST_PIXELS = 48  # per side
MOST_ELEMENTS = 1_000_000  # of a histogram: larger arrays are subsampled


def array_of(t):
    """A tensor's elements as a real NumPy array."""
    with no_grad():
        t = t.detach().cpu()
        t = t if t.layout is strided else t.to_dense()
        return (t.abs() if t.is_complex() else t).float().numpy()


def histogram(values):
    """{low, high, counts} of the finite numbers; None if there are none."""
    if not values.size:
        return None
    low, high = values.min(), values.max()
    if low == high:  # NumPy's default width of 1 around a constant is too narrow for large numbers
        low, high = (low - abs(low) / 2, high + abs(high) / 2) if low else (-0.5, 0.5)
    counts, edges = np.histogram(values, BINS, (low, high))
    return {"low": round_number(edges[0]), "high": round_number(edges[-1]), "counts": counts.tolist()}


def statistics(t):
    """Histogram, mean, deviation, norm and number of non-finite elements of a tensor, subsampled if large."""
    flat = array_of(t).reshape(-1)
    finite = np.isfinite(flat)
    bad = int(flat.size - np.count_nonzero(finite))
    values = flat[finite] if bad else flat
    norm = np.sqrt(np.einsum("i,i->", values, values, dtype=np.float64))  # in float32, squares may overflow
    values = values[:: max(1, values.size // MOST_ELEMENTS)].astype(np.float64)
    of = (lambda x: round_number(x(values))) if values.size else lambda x: None
    return {
        "shape": list(t.shape), "histogram": histogram(values), "nonfinite": bad, "norm": round_number(norm),
        "mean": of(np.mean), "std": of(np.std), "zeros": of(lambda x: np.mean(x == 0)),
    }


def pictures(title, array):
    """A strip of images from an array (images, height, width) or (images, 3, height, width), each with its contrast
    stretched."""
    array = np.asarray(array, np.float32)[:MOST_PICTURES]
    steps = [max(1, -(-n // MOST_PIXELS)) for n in array.shape[-2:]]
    array = np.nan_to_num(array[..., :: steps[0], :: steps[1]], posinf=0.0, neginf=0.0)
    flat = array.reshape(len(array), -1)
    low, high = flat.min(1), flat.max(1)
    spread = np.where(high > low, high - low, 1.0)
    scaled = ((flat - low[:, None]) / spread[:, None] * 255).astype(np.uint8).reshape(array.shape)
    if scaled.ndim == 4:
        scaled = np.moveaxis(scaled, 1, -1)
    return {
        "title": title, "count": len(scaled), "height": scaled.shape[1], "width": scaled.shape[2],
        "channels": 3 if scaled.ndim == 4 else 1, "pixels": base64.b64encode(scaled.tobytes()).decode(),
    }


def round_number(x):
    """Rounds a number to a few digits, to keep pages small."""
    return float(f"{x:.4g}")
