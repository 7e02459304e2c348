"""Connectionist temporal classification: the loss of label sequences without alignment."""

import math

import numpy as np

from ..._dtypes import FLOAT, HALF, int64, type_word
from ..._tensor import Tensor
from ...engines import demand, is_traced
from ...functions._args import need_tensor
from ...functions.creation import arange
from ...functions.from_data import tensor
from ...functions.pointwise import where
from ...ops import ctc_loss as ops
from ._reduction import resolve_reduction

__all__ = ["ctc_loss"]

LENGTH_TYPES = (Tensor, (tuple, list))
LENGTHS = (
    "ctc_loss() received an invalid combination of arguments: input_lengths and target_lengths must both be tuples of "
    "ints or both be Tensors, got {inputs} and {targets}"
)
INTEGRAL = "{name} must be integral, but got {dtype}"
SIZES = "{name} must be of size batch_size, {batch}, but got {got}"
LOG_PROBS_RANK = "Expected 3-dimensional tensor (T, N, C), or (T, C), but got {ndim}-dimensional tensor for log_probs"
EMPTY = "log_probs tensor must not be empty, but got {shape}"
NOT_IMPLEMENTED = "\"ctc_loss_cpu\" not implemented for '{word}'; convert log_probs by .float()"
BLANK = "blank must be in label range: {blank} is not one of the {classes} classes"
TARGETS_RANK = "Expected 1 to 2 dimensions, but got {ndim}-dimensional tensor for targets"
TARGETS_BATCH = "Expected tensor to have size {batch} at dimension 0, but got size {got} for targets"
TARGETS_SUM = (
    "Expected tensor to have size {total} at dimension 0, but got size {got} for targets: concatenated, they are as "
    "long as the target_lengths together"
)
TARGETS_LENGTH = "Expected tensor to have size at least {length} at dimension 1, but got size {got} for targets"
LEAST = "Expected {name} to have value at least 0, but got value {got}"
MOST = "Expected input_lengths to have value at most {time}, but got value {got}"
LABELS = "ctc_loss: target {got} is out of range: there are {classes} classes"


def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction="mean", zero_infinity=False):
    """The negative log-likelihood of label sequences, summed over all alignments with the input.

    Args:
        log_probs: log-probabilities of the classes at each time, such as from ``log_softmax``.
        targets: the labels: a row per sample, or all of them concatenated.
        input_lengths, target_lengths: the lengths of each sample and its labels.
        blank: the class that represents no label.
        reduction: "mean" divides each loss by its target length first.
        zero_infinity: replaces infinite losses, of inputs that are too short, and their gradients by zero.

    Shape:
        - log_probs: ``(T, N, C)`` or ``(T, C)``
        - targets: ``(N, S)`` or ``(sum(target_lengths))``
        - input_lengths, target_lengths: ``(N)`` or ``()``
        - Output: ``()``, or with reduction "none" that of ``input_lengths``
    """
    need_tensor(log_probs, "ctc_loss", "log_probs")
    need_tensor(targets, "ctc_loss", "targets", 2)
    reduction = resolve_reduction(None, None, reduction)
    if not any([isinstance(input_lengths, kinds) and isinstance(target_lengths, kinds) for kinds in LENGTH_TYPES]):
        names = [type(x).__name__ for x in (input_lengths, target_lengths)]
        raise TypeError(LENGTHS.format(inputs=names[0], targets=names[1]))
    is_batched = log_probs._a.ndim > 2
    if log_probs._a.ndim == 2:
        log_probs = log_probs.unsqueeze(1)
    _check_log_probs(log_probs, blank)
    times, batch, classes = log_probs._a.shape
    inputs = _lengths(input_lengths, "input_lengths", batch, log_probs)
    lengths = _lengths(target_lengths, "target_lengths", batch, log_probs)
    highest = inputs._a.max()
    demand(highest <= times, highest, lambda got: RuntimeError(MOST.format(time=times, got=got)))
    if not is_batched and targets._a.ndim == 1:
        targets = targets.unsqueeze(0)
    labels = _labels(targets.to(int64), lengths, blank, classes, batch)
    loss = ops.ctc_loss(log_probs, labels, inputs, lengths, blank=blank, zero_infinity=bool(zero_infinity))[0]
    if zero_infinity:
        loss = where(loss == math.inf, 0.0, loss)
    if reduction == "mean":
        return (loss / lengths.clamp_min(1)).mean()
    loss = loss.sum() if reduction == "sum" else loss
    return loss if is_batched else loss.reshape(())


def _check_log_probs(log_probs, blank):
    shape = log_probs._a.shape
    if len(shape) != 3:
        raise RuntimeError(LOG_PROBS_RANK.format(ndim=len(shape)))
    if not log_probs._a.size:
        raise RuntimeError(EMPTY.format(shape=list(shape)))
    if log_probs.dtype.category != FLOAT or log_probs._a.dtype in HALF:
        raise NotImplementedError(NOT_IMPLEMENTED.format(word=type_word(log_probs.dtype)))
    if not 0 <= blank < shape[2]:
        raise RuntimeError(BLANK.format(blank=blank, classes=shape[2]))


def _lengths(lengths, name, batch, like):
    """The lengths as a tensor (N) of integers, on the device of `like`."""
    if not isinstance(lengths, Tensor):
        lengths = tensor([int(n) for n in lengths], dtype=int64, device=like.device)
    if lengths._a.dtype.kind not in "iu":
        raise RuntimeError(INTEGRAL.format(name=name, dtype=lengths.dtype))
    lengths = lengths.reshape(-1).to(like.device, int64)
    if lengths._a.shape != (batch,):
        raise RuntimeError(SIZES.format(name=name, batch=batch, got=lengths._a.size))
    lowest = lengths._a.min()
    demand(lowest >= 0, lowest, lambda got: RuntimeError(LEAST.format(name=name, got=got)))
    return lengths


def _labels(targets, lengths, blank, classes, batch):
    """The labels as a matrix (N, S), padded with the blank."""
    if not 1 <= targets._a.ndim <= 2:
        raise RuntimeError(TARGETS_RANK.format(ndim=targets._a.ndim))
    labels = _pad_targets(targets, lengths) if targets._a.ndim == 1 else targets
    if labels._a.shape[0] != batch:
        raise RuntimeError(TARGETS_BATCH.format(batch=batch, got=labels._a.shape[0]))
    size, longest = labels._a.shape[1], lengths._a.max()
    demand(longest <= size, longest, lambda got: RuntimeError(TARGETS_LENGTH.format(length=got, got=size)))
    behind = arange(size, device=lengths.device) >= lengths.unsqueeze(1)
    labels = labels.masked_fill(behind, blank)
    if size:
        for extreme in (labels._a.min(), labels._a.max()):
            demand((extreme >= 0) & (extreme < classes), extreme,
                   lambda got: RuntimeError(LABELS.format(got=got, classes=classes)))
    return labels


def _pad_targets(targets, lengths):
    """Concatenated targets as a padded matrix; if the lengths are traced, each row has room for all labels."""
    count, total = targets._a.size, lengths._a.sum()
    demand(total == count, total, lambda got: RuntimeError(TARGETS_SUM.format(total=got, got=count)))
    size = count if is_traced(lengths._a) else int(np.asarray(lengths._a).max())
    starts = (lengths.cumsum(0) - lengths).unsqueeze(1)
    if not count:
        return targets.reshape(0).expand(lengths._a.size, 0)
    return targets[(starts + arange(size, device=lengths.device)).clamp(max=count - 1)]
