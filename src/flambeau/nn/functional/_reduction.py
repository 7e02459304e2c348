"""What all losses share: the reduction to one number."""

from __future__ import annotations

import warnings

LEGACY = "size_average and reduce args will be deprecated, please use reduction='{reduction}' instead."
UNKNOWN = "{reduction} is not a valid value for reduction: it is 'none', 'mean' or 'sum'"


def legacy_reduction(size_average, reduce, stacklevel=3):
    """The ``reduction`` that the old pair of flags means."""
    size_average = True if size_average is None else size_average
    reduce = True if reduce is None else reduce
    reduction = "none" if not reduce else "mean" if size_average else "sum"
    warnings.warn(LEGACY.format(reduction=reduction), UserWarning, stacklevel=stacklevel)
    return reduction


def resolve_reduction(size_average, reduce, reduction):
    """The reduction to do, by the argument or the old flags."""
    if size_average is not None or reduce is not None:
        return legacy_reduction(size_average, reduce, stacklevel=4)
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(UNKNOWN.format(reduction=reduction))
    return reduction


def reduce_loss(loss, reduction):
    return loss if reduction == "none" else loss.mean() if reduction == "mean" else loss.sum()
