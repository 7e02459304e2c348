"""Losses."""

import math

import numpy as np

from ... import _dtypes
from ..._modes import in_use, no_grad
from ..._tensor import Tensor
from ...engines import demand
from ...functions._args import need_constant, need_tensor
from ...functions._autocast import autocast
from ...functions._types import number_in, typed
from ...functions.broadcast import broadcast_tensors
from ...functions.elementary import xlogy
from ...functions.like import ones_like
from ...functions.reduce import log_softmax
from ...ops import loss as ops
from ...ops._errors import not_implemented, refuse_kinds
from ...ops.pointwise import by_number
from ._reduction import in_dtype_of, reduce_loss, resolve_reduction, warn_at_user

__all__ = [
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "cross_entropy", "gaussian_nll_loss", "huber_loss",
    "kl_div", "l1_loss", "mse_loss", "nll_loss", "poisson_nll_loss", "smooth_l1_loss",
]

OTHER_SIZE = (
    "Using a target size ({target}) that is different to the input size ({input}). This will likely lead to incorrect "
    "results due to broadcasting. Please ensure they have the same size."
)
BINARY_SIZE = (
    "Using a target size ({target}) that is different to the input size ({input}) is deprecated. Please ensure they "
    "have the same size."
)
LOGITS_SIZE = "Target size ({target}) must be the same as input size ({input})"
WEIGHT_SIZE = "Weights and input must have the same size, but got {weight} and {input}."
CLASS_TYPE = "expected target dtype to be Long or Byte, but got {word}: the target holds the numbers of classes"
NO_CLASSES = "Dimension specified as 1 but tensor has no dimensions: cross_entropy needs one score for each class"
BATCH_SIZE = "Expected input batch_size ({input}) to match target batch_size ({target})."
CLASS_WEIGHTS = (
    "weight tensor should be defined either for all {classes} classes or no classes but got weight tensor of shape: "
    "{got}"
)
VARIANCE_SIZE = (
    "var is of incorrect size: {var} for an input of {input}. It has the size of the input, one element along one of "
    "its dimensions, or lacks the last one."
)
FLOATS = "{name}: {kind} inputs not supported: convert the input ({input}) and the target ({target}) to floating point"
KL_MEAN = (
    "reduction: 'mean' divides the total loss by both the batch size and the support size.'batchmean' divides only by "
    "the batch size, and aligns with the KL div math definition.'mean' will be changed to behave the same as "
    "'batchmean' in the next major release."
)


# ---- arguments


def _check(input, target, name, size_average, reduce, reduction):
    """Checks the arguments; returns the reduction."""
    if not isinstance(input, Tensor):
        need_tensor(input, name)
    if not isinstance(target, Tensor):
        need_tensor(target, name, "target", 2)
    return resolve_reduction(size_average, reduce, reduction)


def _same_size(input, target):
    """Broadcasts both tensors, with a warning if their sizes differ."""
    if input._a.shape == target._a.shape:
        return input, target
    warn_at_user(OTHER_SIZE.format(target=target.size(), input=input.size()))
    return broadcast_tensors(input, target)


def _apply_weight(loss, weight, reduction):
    """A loss weighted elementwise; its mean is the weighted mean."""
    if weight._a.shape != loss._a.shape:
        raise ValueError(WEIGHT_SIZE.format(weight=list(weight.shape), input=list(loss.shape)))
    loss = loss * weight
    return loss if reduction == "none" else loss.sum() / weight.sum() if reduction == "mean" else loss.sum()


# ---- distances


def mse_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """The squared difference of each element, reduced as ``reduction`` says: "mean", "sum" or "none"."""
    reduction = _check(input, target, "mse_loss", size_average, reduce, reduction)
    input, target = _same_size(input, target)
    if weight is None:
        return ops.mse_loss(input, target, reduction=reduction)
    return _apply_weight(ops.mse_loss(input, target, reduction="none"), weight, reduction)


def l1_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    """The absolute difference of each element, reduced."""
    reduction = _check(input, target, "l1_loss", size_average, reduce, reduction)
    input, target = _same_size(input, target)
    loss = (input - target).abs()
    return reduce_loss(loss, reduction) if weight is None else _apply_weight(loss, weight, reduction)


def smooth_l1_loss(input, target, size_average=None, reduce=None, reduction="mean", beta=1.0):
    """``l1_loss``, but quadratic where the difference is below ``beta``."""
    reduction = _check(input, target, "smooth_l1_loss", size_average, reduce, reduction)
    input, target = _same_size(input, target)
    if not beta >= 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    if beta == 0:
        return reduce_loss((input - target).abs(), reduction)
    return ops.smooth_l1_loss(input, target, reduction=reduction, beta=number_in(beta, "smooth_l1_loss", "beta", 6))


def huber_loss(input, target, reduction="mean", delta=1.0, weight=None):
    """Half the squared difference up to ``delta``, linear beyond."""
    reduction = _check(input, target, "huber_loss", None, None, reduction)
    input, target = _same_size(input, target)
    delta = number_in(delta, "huber_loss", "delta", 4)
    if not delta > 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    if weight is None:
        return in_dtype_of(input, ops.huber_loss(input, target, reduction=reduction, delta=delta))
    if weight._a.shape != input._a.shape:
        raise ValueError(WEIGHT_SIZE.format(weight=list(weight.shape), input=list(input.shape)))
    loss = in_dtype_of(input, ops.huber_loss(input, target, reduction="none", delta=delta))
    return reduce_loss(loss * weight, reduction)


# ---- distributions


def kl_div(input, target, size_average=None, reduce=None, reduction="mean", log_target=False):
    """The Kullback-Leibler divergence between ``target`` and the log-probabilities ``input``, elementwise.

    ``reduction="batchmean"`` divides the sum by the number of samples, as the definition does.
    """
    batchmean = reduction == "batchmean" and size_average is None and reduce is None
    if reduction == "mean" and size_average is None and reduce is None:
        warn_at_user(KL_MEAN)
    reduction = _check(input, target, "kl_div", size_average, reduce, "sum" if batchmean else reduction)
    _need_floats(input, target, "kl_div")
    loss = target.exp() * (target - input) if log_target else xlogy(target, target) - target * input
    loss = reduce_loss(loss, reduction)
    return loss / input.size(0) if batchmean and input.dim() != 0 else loss


def _need_floats(input, target, name):
    categories = {input.dtype.category, target.dtype.category}
    if categories != {_dtypes.FLOAT}:
        kind = "Complex" if _dtypes.COMPLEX in categories else "Integral"
        raise RuntimeError(FLOATS.format(name=name, kind=kind, input=input.dtype, target=target.dtype))


def binary_cross_entropy(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    """The binary cross-entropy of the probabilities ``input`` with ``target``."""
    reduction = _check(input, target, "binary_cross_entropy", size_average, reduce, reduction)
    if input._a.shape != target._a.shape:
        raise ValueError(BINARY_SIZE.format(target=target.size(), input=input.size()))
    if input._a.dtype != target._a.dtype:
        raise RuntimeError(f"Found dtype {target.dtype} but expected {input.dtype}: convert the target of "
                           "binary_cross_entropy to the dtype of the input")
    need_constant(weight, "binary_cross_entropy", "weight")
    if weight is not None:
        weight = weight.expand(_broadcast(weight._a.shape, target._a.shape))
    return ops.binary_cross_entropy(input, target, weight, reduction=reduction)


def _broadcast(shape, other):
    """The common broadcast shape."""
    try:
        return np.broadcast_shapes(shape, other)
    except ValueError:
        raise RuntimeError(f"a weight of size {list(shape)} does not broadcast to the target's {list(other)}") from None


def binary_cross_entropy_with_logits(
    input, target, weight=None, size_average=None, reduce=None, reduction="mean", pos_weight=None
):
    """``binary_cross_entropy`` of ``sigmoid(input)``, in a form that does not overflow."""
    reduction = _check(input, target, "binary_cross_entropy_with_logits", size_average, reduce, reduction)
    if input._a.shape != target._a.shape:
        raise ValueError(LOGITS_SIZE.format(target=target.size(), input=input.size()))
    need_constant(weight, "binary_cross_entropy_with_logits", "weight")
    need_constant(pos_weight, "binary_cross_entropy_with_logits", "pos_weight")
    refuse_kinds("log_sigmoid", input._a, "bi")
    loss = ops.binary_cross_entropy_with_logits(input, target, weight, pos_weight, reduction=reduction)
    return in_dtype_of(target, loss)


@typed(log_input=bool)
def poisson_nll_loss(
    input, target, log_input=True, full=False, size_average=None, eps=1e-8, reduce=None, reduction="mean"
):
    """The Poisson negative log-likelihood of the counts ``target``, without the term that does not depend on ``input``.

    Args:
        log_input: whether ``input`` is the logarithm of the rate; if not, ``eps`` is added before taking its logarithm.
        full: adds Stirling's approximation of the omitted term where the target is above 1.
    """
    reduction = _check(input, target, "poisson_nll_loss", size_average, reduce, reduction)
    loss = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        stirling = target * target.log() - target + 0.5 * (2 * math.pi * target).log()
        loss = loss + stirling.masked_fill(target <= 1, 0)
    return reduce_loss(loss, reduction)


def gaussian_nll_loss(input, target, var, full=False, eps=1e-6, reduction="mean"):
    """The negative log-likelihood of ``target`` under normal distributions with mean ``input`` and variance ``var``.

    Args:
        var: a float, or a tensor of the shape of ``input``, except that one dimension may have size 1 or the last one
            may be missing.
        full: adds the constant ``log(2 pi) / 2``.
        eps: the lower bound of variances, which does not affect their gradients.
    """
    if isinstance(var, float):
        var = ones_like(input) * var
    need_tensor(var, "gaussian_nll_loss", "var", 3)
    own, shape = var._a.shape, input._a.shape
    if own != shape and own == shape[:-1]:
        var = var.unsqueeze(-1)
    elif len(own) != len(shape) or [n for n, m in zip(own, shape, strict=True) if n != m] not in ([], [1]):
        raise ValueError(VARIANCE_SIZE.format(var=list(own), input=list(shape)))
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"{reduction} is not valid: reduction is 'none', 'mean' or 'sum'")
    if var._a.size:
        lowest = var._a.min()
        demand(~(var._a < 0).any(), lowest, lambda got: ValueError(f"var has negative entry/entries: {got}"))
    var = var.clone()
    with no_grad():
        var.clamp_(min=eps)
    loss = 0.5 * (var.log() + (input - target) ** 2 / var)
    return reduce_loss(loss + 0.5 * math.log(2 * math.pi) if full else loss, reduction)


# ---- classes


def nll_loss(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"):
    """The negative log-likelihood of the target class, given log-probabilities.

    Shape:
        - input: ``(N, C, *)`` or ``(C)``: log-probabilities.
        - target: ``(N, *)`` or ``()``: classes. Those equal to ``ignore_index`` are ignored.
    """
    reduction = _check(input, target, "nll_loss", size_average, reduce, reduction)
    check_classes(input._a.shape, input.dtype, target, weight, "nll_loss")
    if not _dtypes.is_inexact(input._a.dtype):
        raise not_implemented("nll_loss", input._a.dtype, (input._a,))
    return ops.nll_loss(input, target, weight, ignore=ignore_index, reduction=reduction)[0]


def check_classes(shape, dtype, target, weight, name):
    """Raises unless class indices and class weights match scores of this shape and dtype."""
    need_constant(weight, "nll_loss_forward" if len(shape) < 3 else "nll_loss2d_forward", "weight")
    classes = target._a.shape
    if not shape:
        raise ValueError(f"{name}(): Expected 1 or more dimensions (got 0) for the input")
    if len(shape) == 1:
        _need_classes(target)
    if len(shape) == 1 and classes not in ((), (1,)) and len(classes) < 2:
        raise ValueError(f"For 1D input, 1D target must have size 1, but got target size: {classes[0]}")
    if len(shape) > 1 and shape[0] != (classes[0] if classes else 0):
        raise ValueError(BATCH_SIZE.format(input=shape[0], target=classes[0] if classes else 0))
    if len(shape) < 3 and len(classes) > 1:
        raise RuntimeError(f"0D or 1D target tensor expected, multi-target not supported; got {list(classes)}")
    if len(shape) > 1 and classes != (shape[0], *shape[2:]):
        raise RuntimeError(f"Expected target size {[shape[0], *shape[2:]]}, got {list(classes)} (input: {list(shape)})")
    _need_classes(target)
    if len(shape) > 2 and target.dtype is _dtypes.uint8:
        raise RuntimeError(f"{name}(): expected scalar type Long but found Byte: convert the target by .long()")
    if weight is not None:
        _check_weights(shape, dtype, weight)


def _need_classes(target):
    if target.dtype not in (_dtypes.int64, _dtypes.uint8):
        raise RuntimeError(CLASS_TYPE.format(word=_dtypes.type_word(target.dtype)))


def _check_weights(shape, dtype, weight):
    classes = shape[ops.class_axis(shape)]
    if weight._a.shape != (classes,):
        raise RuntimeError(CLASS_WEIGHTS.format(classes=classes, got=list(weight._a.shape)))
    if weight.dtype is not dtype:
        words = _dtypes.type_word(dtype), _dtypes.type_word(weight.dtype)
        raise RuntimeError("expected scalar type {} but found {} for the weights of the classes".format(*words))


def cross_entropy(
    input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean",
    label_smoothing=0.0,
):
    """The cross-entropy of unnormalized scores (logits) with the target.

    Args:
        target: class indices, or class probabilities in the shape of ``input``.
        weight: the weight of each class.
        ignore_index: targets with this value are ignored.
        label_smoothing: the part of the target distribution, from 0 to 1, that is spread evenly over all classes.

    Shape:
        - input: ``(N, C, *)`` or ``(C)``
        - target: ``(N, *)`` or ``()``; or that of ``input``
    """
    reduction = _check(input, target, "cross_entropy", size_average, reduce, reduction)
    if in_use.autocast:
        input, target, weight = autocast("cross_entropy", input, target, weight)
    label_smoothing = number_in(label_smoothing, "cross_entropy", "label_smoothing", 8)
    if label_smoothing > 1.0:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    shape = input._a.shape
    if not shape and (target._a.shape or target.is_floating_point()):
        raise IndexError(NO_CLASSES)
    dim = ops.class_axis(shape)
    if shape == target._a.shape:
        if ignore_index >= 0:
            raise RuntimeError("ignore_index is not supported for floating point target")
        return _of_probabilities(input, target, weight, reduction, label_smoothing, dim)
    check_classes(shape, input.dtype, target, weight, "cross_entropy")
    scores = log_softmax(input, dim)
    loss, _ = ops.nll_loss(scores, target, weight, ignore=ignore_index, reduction=reduction)
    if not label_smoothing > 0:  # as in PyTorch, NaN and negative values have no effect
        return loss
    smooth = _smooth_loss(scores, target, weight, ignore_index, reduction, dim)
    return by_number(loss * (1 - label_smoothing)) + by_number(smooth * (label_smoothing / max(shape[dim], 1)))


def _by_class(weight, ndim, dim):
    """The class weights, shaped to broadcast to scores of `ndim` dimensions."""
    return weight.view(-1, *[1] * (ndim - 1 - dim))


def _smooth_loss(scores, target, weight, ignore_index, reduction, dim):
    """The loss of a uniform target over the classes, times their number."""
    every = scores if weight is None else scores * _by_class(weight, scores.dim(), dim)
    ignored = target.reshape(()) == ignore_index if scores.dim() == 1 else target == ignore_index
    loss = (-every.sum(dim)).masked_fill(ignored, 0.0)
    if reduction == "none":
        return loss.reshape(target.shape)
    if reduction == "sum":
        return loss.sum()
    if weight is None:
        return loss.sum() / (~ignored).sum()
    return loss.sum() / weight[target.masked_fill(ignored, 0)].masked_fill(ignored, 0.0).sum()


def _of_probabilities(input, target, weight, reduction, label_smoothing, dim):
    if target.dtype.category != _dtypes.FLOAT:
        word = _dtypes.type_word(target.dtype)
        raise RuntimeError(f"Expected floating point type for target with class probabilities, got {word}")
    shape = input._a.shape
    if weight is not None and weight._a.shape != (shape[dim],):
        raise RuntimeError(CLASS_WEIGHTS.format(classes=shape[dim], got=list(weight._a.shape)))
    if label_smoothing > 0:
        target = target * (1 - label_smoothing) + label_smoothing / max(shape[dim], 1)
    loss = log_softmax(input, dim) * target
    if weight is not None:
        loss = loss * _by_class(weight, len(shape), dim)
    if reduction == "none":
        return -loss.sum(dim)
    total = -loss.sum()
    if reduction == "sum":
        return total
    samples = input._a.size // shape[dim] if shape[dim] else 0
    return by_number(total / samples) if samples else total * float("nan")
