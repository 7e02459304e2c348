"""The data of histograms and precision-recall curves."""

import functools

import numpy as np

EMPTY = "The input has no element."
SHAPES = "labels, predictions and weights should have one shape, got {labels}, {predictions} and {weights}"
_LEAST = 1e-7


@functools.cache
def default_edges():
    """Bucket edges that grow by 10%, on both sides of zero."""
    edges, edge = [], 1e-12
    while edge < 1e20:
        edges.append(edge)
        edge *= 1.1
    return np.array([-edge for edge in reversed(edges)] + [0] + edges)


def histogram(values, bins, max_bins):
    """(counts, upper edges) of the buckets from the minimum to the maximum; the first count is zero."""
    if values.size == 0:
        raise ValueError(EMPTY)
    counts, edges = np.histogram(values, bins=bins)
    if max_bins is not None and len(counts) > max_bins:
        counts, edges = _merge(counts, edges, len(counts) // max_bins)
    filled = np.flatnonzero(counts)
    if not filled.size:
        raise ValueError("The histogram is empty: no value lies in its bins.")
    first, last = filled[0], filled[-1] + 1
    return np.concatenate([[0], counts[first:last]]), edges[first: last + 1]


def _merge(counts, edges, step):
    """Merges every `step` buckets."""
    return np.add.reduceat(counts, np.arange(0, len(counts), step)), np.append(edges[:-1][::step], edges[-1])


def precision_recall(labels, predictions, thresholds, weights):
    """(true positives, false positives, true negatives, false negatives, precision, recall) by threshold."""
    weights = np.ones(labels.shape) if weights is None else np.broadcast_to(weights, labels.shape)
    if labels.shape != predictions.shape:
        shapes = {"labels": labels.shape, "predictions": predictions.shape, "weights": weights.shape}
        raise ValueError(SHAPES.format(**shapes))
    buckets = np.floor(predictions * (thresholds - 1)).astype(np.int64)
    positive = labels.astype(float)
    tp, fp = (_reverse_cumsum(buckets, share * weights, thresholds) for share in (positive, 1 - positive))
    tn, fn = fp[0] - fp, tp[0] - tp
    return np.stack([tp, fp, tn, fn, tp / np.maximum(_LEAST, tp + fp), tp / np.maximum(_LEAST, tp + fn)])


def _reverse_cumsum(buckets, weights, count):
    """The weight in each bucket and those above."""
    found, _ = np.histogram(buckets, bins=count, range=(0, count - 1), weights=weights)
    return found[::-1].cumsum()[::-1]
