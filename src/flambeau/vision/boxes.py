"""Non-maximum suppression of boxes."""

import numpy as np

import flambeau as torch

BOXES_2D = "boxes should be a 2d tensor, got {dim}D"
FOUR = "boxes should have 4 elements in dimension 1, got {size}"
SCORES_1D = "scores should be a 1d tensor, got {dim}D"
SAME_NUMBER = "boxes and scores should have same number of elements in dimension 0, got {boxes} and {scores}"


def nms(dets, scores, iou_threshold):
    """The indices of the boxes to keep, by decreasing score: none overlaps a better one by more than the threshold."""
    torch._check(dets.dim() == 2, lambda: BOXES_2D.format(dim=dets.dim()))
    torch._check(dets.size(1) == 4, lambda: FOUR.format(size=dets.size(1)))
    torch._check(scores.dim() == 1, lambda: SCORES_1D.format(dim=scores.dim()))
    torch._check(len(dets) == len(scores), lambda: SAME_NUMBER.format(boxes=len(dets), scores=len(scores)))
    order = scores.detach().argsort(stable=True, descending=True).numpy(force=True)
    boxes = dets.numpy(force=True)[order]
    areas = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    waiting, keep = np.arange(len(boxes)), []
    while waiting.size:
        best, rest = waiting[0], waiting[1:]
        keep.append(best)
        low = np.maximum(boxes[best, :2], boxes[rest, :2])
        high = np.minimum(boxes[best, 2:], boxes[rest, 2:])
        shared = np.prod(np.maximum(high - low, 0), axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):  # boxes without area
            waiting = rest[~(shared / (areas[best] + areas[rest] - shared) > iou_threshold)]
    return torch.from_numpy(order[keep]).to(dets.device)
