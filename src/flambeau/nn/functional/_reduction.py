"""The reduction of losses."""

import sys
import warnings

from ...autograd._writes import check_cast

LEGACY = "size_average and reduce args will be deprecated, please use reduction='{reduction}' instead."
UNKNOWN = "{reduction} is not a valid value for reduction: it is 'none', 'mean' or 'sum'"
PACKAGE = __name__.partition(".")[0] + "."


def warn_at_user(message):
    """Issues a warning at the user's line that names the layer whose ``forward`` called the function."""
    frame, level, layer = sys._getframe(1), 2, None
    while frame.f_back is not None:
        if layer is None and frame.f_code.co_name == "forward" and "self" in frame.f_locals:
            layer = type(frame.f_locals["self"]).__name__
        if not frame.f_globals.get("__name__", "").startswith(PACKAGE):
            break
        frame, level = frame.f_back, level + 1
    warnings.warn(f"{message} (in {layer})" if layer else message, UserWarning, stacklevel=level)


def legacy_reduction(size_average, reduce):
    """The ``reduction`` equivalent to the deprecated pair of flags."""
    size_average = True if size_average is None else size_average
    reduce = True if reduce is None else reduce
    reduction = "none" if not reduce else "mean" if size_average else "sum"
    warn_at_user(LEGACY.format(reduction=reduction))
    return reduction


def resolve_reduction(size_average, reduce, reduction):
    """The reduction, from the argument or the deprecated flags."""
    if size_average is not None or reduce is not None:
        return legacy_reduction(size_average, reduce)
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(UNKNOWN.format(reduction=reduction))
    return reduction


def reduce_loss(loss, reduction):
    return loss if reduction == "none" else loss.mean() if reduction == "mean" else loss.sum()


def in_dtype_of(own, loss):
    """The loss in the dtype of a tensor, as if stored in that tensor."""
    if loss.dtype is own.dtype:
        return loss
    check_cast(loss.dtype, own.dtype)
    return loss.to(own.dtype)
