"""The multi-label margin loss."""

import numpy as np

from .. import NUMPY as engine


@engine.kernel
def multilabel_margin(x, target):
    """(loss of each row, its derivative by x), computed for one label of all rows at a time."""
    rows, classes = np.arange(x.shape[0]), x.shape[1]
    valid = np.logical_and.accumulate(target >= 0, axis=1)
    safe = np.where(valid, target, 0)
    wrong = np.ones(x.shape, bool)
    wrong[np.broadcast_to(rows[:, None], x.shape)[valid], safe[valid]] = False
    loss, slopes = np.zeros(x.shape[0], x.dtype), np.zeros_like(x)
    for place in range(valid.sum(1).max(initial=0)):
        label, counts = safe[:, place], valid[:, place, None]
        short = 1 - x[rows, label][:, None] + x
        hit = (short > 0) & wrong & counts
        loss += np.where(hit, short, 0).sum(1)
        slopes += hit
        slopes[rows, label] -= hit.sum(1)
    return loss / classes, slopes / classes
