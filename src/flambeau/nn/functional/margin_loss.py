"""Margin losses."""

import math

from ..._dtypes import int64, type_word
from ..._size import broadcasts
from ...engines import demand
from ...functions._args import need_constant, need_tensor
from ...functions._results import rename_node
from ...functions._types import number_in, typed
from ...functions.elementary import sqrt
from ...functions.pointwise import minimum, where
from ...ops import margin_loss as ops
from ...ops._errors import refuse_kinds
from ...ops.pointwise import by_number
from ._reduction import in_dtype_of, reduce_loss, resolve_reduction
from .activation import logsigmoid
from .distance import pairwise_distance

__all__ = [
    "cosine_embedding_loss", "hinge_embedding_loss", "margin_ranking_loss", "multi_margin_loss",
    "multilabel_margin_loss", "multilabel_soft_margin_loss", "soft_margin_loss", "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
]

NO_BROADCAST = "output with shape {input} doesn't match the broadcast shape {shape}: the target must match the input"
RANKS = (
    "margin_ranking_loss : All input tensors should have same dimension but got sizes: input1: {a}, input2: {b}, "
    "target: {target}"
)
COSINE_TARGET = "0D or 1D target tensor expected, multi-target not supported; got {target}: one sign for each pair"
COSINE_RANKS = "{target}D target tensor expects {input}D input tensors, but found inputs with sizes {a} and {b}."
TRIPLET_RANKS = (
    "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: anchor "
    "{anchor}D, positive {positive}D, and negative {negative}D inputs"
)
MARGIN = "margin must be greater than 0, got {margin}"
EXPECTED_VECTORS = "Expected non-empty vector or matrix with optional 0-dim batch size, but got: {shape}"
MULTI_TARGET = (
    "multi_margin_loss: target tensor should be 1-D with size equal to the number of input samples (batch size). "
    "Expected target size [{samples}], but got {target}. Input has shape {input}."
)
MULTI_WEIGHT = "inconsistent weight size, expected {classes} but got {weight}: one weight for each class"
MULTI_TYPE = "expected scalar type {want} but found {got}: convert the {what} of multi_margin_loss"
MULTI_RANGE = "multi_margin_loss: target out of range: {got} is not one of the {classes} classes"
LABEL_TARGET = "inconsistent target size: {target} for input of size: {input}: expected a label slot for each class"
LABEL_TYPE = "multilabel_margin_loss: expected scalar type Long but found {got}: convert the target by .long()"
LABEL_RANGE = (
    "multilabel_margin_loss: argument #2 'target' is out of range: {got} is not one of the {classes} classes; "
    "-1 terminates the labels"
)


def _need_tensors(name, **tensors):
    for place, (argument, value) in enumerate(tensors.items(), 1):
        need_tensor(value, name, argument, place)


# ---- a sign as the target


@typed(margin=float)
def hinge_embedding_loss(input, target, margin=1.0, size_average=None, reduce=None, reduction="mean"):
    """The distance where the target is 1, ``max(0, margin - distance)`` where it is -1."""
    _need_tensors("hinge_embedding_loss", input=input, target=target)
    reduction = resolve_reduction(size_average, reduce, reduction)
    margin = margin if input.is_floating_point() or input.is_complex() else int(margin)
    near = where(target != -1, input, 0)
    far = where(target != 1, (margin - input).clamp_min(0), 0)
    return reduce_loss(near + far, reduction)


def margin_ranking_loss(input1, input2, target, margin=0, size_average=None, reduce=None, reduction="mean"):
    """``max(0, -target * (input1 - input2) + margin)``."""
    _need_tensors("margin_ranking_loss", input1=input1, input2=input2, target=target)
    reduction = resolve_reduction(size_average, reduce, reduction)
    if not input1._a.ndim == input2._a.ndim == target._a.ndim:
        raise RuntimeError(RANKS.format(a=input1.shape, b=input2.shape, target=target.shape))
    return reduce_loss(by_number(-target * (input1 - input2) + margin).clamp_min(0), reduction)


def soft_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """``log(1 + exp(-target * input))``, the logistic loss for targets 1 and -1."""
    _need_tensors("soft_margin_loss", input=input, target=target)
    need_constant(target, "soft_margin_loss", "target")
    reduction = resolve_reduction(size_average, reduce, reduction)
    if not broadcasts(target._a.shape, input._a.shape):
        shape = (input * target).shape  # raises if the shapes do not broadcast
        raise RuntimeError(NO_BROADCAST.format(input=list(input.shape), shape=list(shape)))
    if input.is_complex() or target.is_complex():
        loss = reduce_loss((1 + (-input * target).exp()).log(), reduction)
    else:
        loss = ops.soft_margin_loss(input, target, reduction=reduction)
    return rename_node(in_dtype_of(input, loss), "SoftMarginLossBackward0")


def cosine_embedding_loss(input1, input2, target, margin=0, size_average=None, reduce=None, reduction="mean"):
    """One minus the cosine similarity where the target is 1, its excess over the margin where it is -1.

    Shape:
        - input1, input2: ``(N, D)`` or ``(D)``
        - target: ``(N)`` or ``()``
    """
    _need_tensors("cosine_embedding_loss", input1=input1, input2=input2, target=target)
    reduction = resolve_reduction(size_average, reduce, reduction)
    rank = target._a.ndim
    if rank > 1:
        raise RuntimeError(COSINE_TARGET.format(target=list(target.shape)))
    if input1._a.ndim != rank + 1 or input2._a.ndim != rank + 1:
        shapes = list(input1.shape), list(input2.shape)
        raise RuntimeError(COSINE_RANKS.format(target=rank, input=rank + 1, a=shapes[0], b=shapes[1]))
    squares = [(x * x).sum(rank) + ops.SMALLEST_SQUARE for x in (input1, input2)]
    cosine = (input1 * input2).sum(rank) / sqrt(squares[0] * squares[1])
    near = where(target == 1, 1 - cosine, 0.0)
    far = where(target == -1, by_number(cosine - margin).clamp_min(0), 0.0)
    return reduce_loss(near + far, reduction)


# ---- triplets


def triplet_margin_loss(
    anchor, positive, negative, margin=1.0, p=2, eps=1e-6, swap=False, size_average=None, reduce=None, reduction="mean"
):
    """``max(0, d(anchor, positive) - d(anchor, negative) + margin)``.

    Args:
        p, eps: as for ``pairwise_distance``.
        swap: uses the distance from positive to negative if that is smaller.
    """
    _need_tensors("triplet_margin_loss", anchor=anchor, positive=positive, negative=negative)
    reduction = resolve_reduction(size_average, reduce, reduction)
    return _triplet_loss(anchor, positive, negative, lambda a, b: pairwise_distance(a, b, p, eps), margin, swap,
                         reduction)


def triplet_margin_with_distance_loss(
    anchor, positive, negative, *, distance_function=None, margin=1.0, swap=False, reduction="mean"
):
    """``triplet_margin_loss`` with a custom distance function; by default ``pairwise_distance``."""
    reduction = resolve_reduction(None, None, reduction)
    return _triplet_loss(anchor, positive, negative, distance_function or pairwise_distance, margin, swap, reduction)


def _triplet_loss(anchor, positive, negative, distance, margin, swap, reduction):
    if margin <= 0:
        raise ValueError(MARGIN.format(margin=margin))
    if not anchor.dim() == positive.dim() == negative.dim():
        raise RuntimeError(TRIPLET_RANKS.format(anchor=anchor.dim(), positive=positive.dim(), negative=negative.dim()))
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = minimum(far, distance(positive, negative))
    return reduce_loss((by_number(near + margin) - far).clamp_min(0), reduction)


# ---- classes


def multi_margin_loss(input, target, p=1, margin=1.0, weight=None, size_average=None, reduce=None, reduction="mean"):
    """The mean over classes i of ``max(0, margin - x[target] + x[i]) ** p``.

    Shape:
        - input: ``(N, C)`` or ``(C)``
        - target: ``(N)`` or ``()``, class indices
        - weight: ``(C)``, the weight of each class
    """
    _need_tensors("multi_margin_loss", input=input, target=target)
    reduction = resolve_reduction(size_average, reduce, reduction)
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    p, margin = int(p), number_in(margin, "multi_margin_loss", "margin", 4)
    _check_multi_margin(input, target, weight)
    need_constant(weight, "multi_margin_loss", "weight")
    classes = input._a.shape[-1] if input._a.ndim else 1
    labels = target.reshape(-1)
    scores = input.reshape(labels._a.size, classes)
    loss = ops.multi_margin_loss(scores, labels, weight, p=p, margin=margin)
    if input._a.ndim < 2:
        loss = loss.reshape(target._a.shape)
    return rename_node(reduce_loss(loss, reduction), "MultiMarginLossBackward0")


def _check_multi_margin(input, target, weight):
    refuse_kinds("multi_margin_loss", input._a, "bic")
    shape = input._a.shape
    samples, classes = shape[0] if len(shape) == 2 else 1, shape[-1] if shape else 1
    if len(shape) > 2 or not classes:
        raise RuntimeError(EXPECTED_VECTORS.format(shape=list(shape)))
    if target._a.ndim > 1 or target._a.size != samples:
        raise RuntimeError(MULTI_TARGET.format(samples=samples, target=list(target.shape), input=list(shape)))
    if weight is not None and weight._a.ndim != 1:
        raise ValueError(f"weight must be one-dimensional, one number for each class, but got {list(weight.shape)}")
    if weight is not None and weight._a.shape != (classes,):
        raise RuntimeError(MULTI_WEIGHT.format(classes=classes, weight=list(weight.shape)))
    if weight is not None and weight.dtype is not input.dtype:
        words = type_word(input.dtype), type_word(weight.dtype)
        raise RuntimeError(MULTI_TYPE.format(want=words[0], got=words[1], what="weights"))
    if target.dtype is not int64:
        raise RuntimeError(MULTI_TYPE.format(want="Long", got=type_word(target.dtype), what="target"))
    _check_labels(target, 0, classes, MULTI_RANGE)


def _check_labels(target, lowest, classes, message):
    if target._a.size:
        low, high = target._a.min(), target._a.max()
        demand(low >= lowest, low, lambda got: RuntimeError(message.format(got=got, classes=classes)))
        demand(high < classes, high, lambda got: RuntimeError(message.format(got=got, classes=classes)))


def multilabel_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    """The sum of ``max(0, 1 - (x[target] - x[other]))`` over all targets and other classes, divided by the class count.

    Shape:
        - input: ``(N, C)`` or ``(C)``
        - target: same as input: class indices, terminated by -1
    """
    _need_tensors("multilabel_margin_loss", input=input, target=target)
    reduction = resolve_reduction(size_average, reduce, reduction)
    shape = input._a.shape
    if len(shape) > 2 or (shape and not shape[-1]):
        raise RuntimeError(EXPECTED_VECTORS.format(shape=list(shape)))
    fits = target._a.ndim < 2 and target._a.size == math.prod(shape) if len(shape) < 2 else target._a.shape == shape
    if not fits:
        raise RuntimeError(LABEL_TARGET.format(target=list(target.shape), input=list(shape)))
    refuse_kinds("multilabel_margin_loss", input._a, "bic")
    classes = shape[-1] if shape else 1
    _check_labels(target, -1, classes, LABEL_RANGE)
    if target.dtype is not int64:
        raise RuntimeError(LABEL_TYPE.format(got=type_word(target.dtype)))
    loss = ops.multilabel_margin_loss(input.reshape(-1, classes), target.reshape(-1, classes))[0]
    return rename_node(reduce_loss(loss.reshape(shape[:-1]), reduction), "MultilabelMarginLossBackward0")


def multilabel_soft_margin_loss(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    """The binary cross-entropy of each class, averaged over the classes.

    Shape:
        - input, target: ``(*, C)``: scores, and 0 or 1 for each class
        - weight: the weight of each class
    """
    _need_tensors("multilabel_soft_margin_loss", input=input, target=target)
    reduction = resolve_reduction(size_average, reduce, reduction)
    loss = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))
    if weight is not None:
        loss = loss * weight
    return reduce_loss(loss.sum(input.dim() - 1) / input.size(-1), reduction)
