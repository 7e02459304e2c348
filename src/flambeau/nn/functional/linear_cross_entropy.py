"""The cross-entropy of a linear map of the input, computed at once or in chunks of rows."""

from __future__ import annotations

import math
import warnings
from typing import Literal, NamedTuple

from ..._dtypes import bfloat16, dtype, float16, float32, float64, int64
from ...functions._args import need_tensor
from ...ops import linear_cross_entropy as ops
from ._reduction import resolve_reduction
from .linear import linear
from .loss import check_classes, cross_entropy

__all__ = ["linear_cross_entropy"]

INPUT_RANK = "expected input with dimensionality 1 or 2, got {ndim}: (N, in_features) or (in_features)"
WEIGHT_RANK = "expected linear_weight with dimensionality at least 2, got {ndim}: (C, ..., in_features)"
IN_FEATURES = "expected equal input and linear_weight last dimensions (in_features), got {a} and {b}, respectively"
BIAS_SHAPE = "expected linear_bias shape {want}, got {got}"
IGNORED_PROBABILITIES = "ignore_index cannot be specified when target contains probabilities"
UNBATCHED = (
    "K-dimensional loss defined by linear_weight shape {weight} requires batched input, (N, {features}), got unbatched "
    "input with shape {input}: add a dimension for the batch, input.unsqueeze(0)"
)
NOT_IN_CHUNKS = (
    "linear_cross_entropy: ``options`` ignored; chunked path needs label_smoothing == 0, target.dtype == int64, "
    "out_features == (). Got label_smoothing={smoothing}, target.dtype={dtype}, out_features={out_features}."
)
DTYPES = (None, float16, bfloat16, float32, float64)
FEWEST_ROWS = 32  # of a chunk, below which matrix products become slow


class _Options(NamedTuple):
    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: Literal["accurate", "balanced", "compact", "auto"] = "auto"
    acc_dtype: dtype | None = None


class LinearCrossEntropyOptions(_Options):
    """Chunking options of ``linear_cross_entropy``, which avoid storing the scores of all rows at once.

    Args:
        allow_retain_graph: accepted; a second backward is always possible.
        batch_chunk_size: the number of rows per chunk.
        chunking_method: without a size: "aspect_ratio:r" chooses chunks whose scores take about ``r`` times the memory
            of the input; "aspect_ratio" and "auto" choose ``r``; None uses one chunk.
        acc_policy, acc_dtype: accepted; sums are accumulated at least in float32.
    """

    __slots__ = ()

    def __new__(cls, allow_retain_graph=False, batch_chunk_size=None, chunking_method="auto", acc_policy="auto",
                acc_dtype=None):
        self = super().__new__(cls, allow_retain_graph, batch_chunk_size, chunking_method, acc_policy, acc_dtype)
        if batch_chunk_size is not None and (not isinstance(batch_chunk_size, int) or batch_chunk_size <= 0):
            raise ValueError(f"batch_chunk_size must be positive int or None, got {batch_chunk_size}")
        if self._ratio() is None:
            raise ValueError(f"invalid chunking_method: {chunking_method!r}: None, 'auto' or 'aspect_ratio:2'")
        if acc_policy not in ("accurate", "balanced", "compact", "auto"):
            raise ValueError(f"invalid acc_policy: {acc_policy!r}: 'accurate', 'balanced', 'compact' or 'auto'")
        if acc_dtype not in DTYPES:
            raise ValueError(f"acc_dtype must be None or a floating dtype, got {acc_dtype!r}")
        return self

    def _ratio(self):
        """The ratio of a chunk's scores to the input in memory; None for an unknown method."""
        if self.chunking_method is None:
            return math.inf
        method, _, ratio = str(self.chunking_method).partition(":")
        try:
            return {"auto": 2.0, "aspect_ratio": float(ratio or 2)}.get(method)
        except ValueError:
            return None

    def rows(self, count, in_features, classes):
        """The number of rows in a chunk."""
        if self.batch_chunk_size is not None:
            return self.batch_chunk_size
        wanted = self._ratio() * count * in_features / max(classes, 1)
        return max(count if wanted >= count else math.ceil(wanted), FEWEST_ROWS)


def linear_cross_entropy(
    input, linear_weight, target, *, linear_bias=None, weight=None, reduction="mean", ignore_index=None,
    label_smoothing=0.0, options=None,
):
    """``cross_entropy(linear(input, linear_weight, linear_bias), target)``.

    Args:
        weight, reduction, label_smoothing: as for ``cross_entropy``.
        ignore_index: as for ``cross_entropy``; by default -100 for classes. It must not be given for probabilities.
        options: a ``LinearCrossEntropyOptions``, which saves memory if there are many classes.

    Shape:
        - input: ``(N, in_features)`` or ``(in_features)``
        - linear_weight: ``(C, in_features)``, or ``(C, *, in_features)`` for several losses per row
        - linear_bias: ``(C)`` or ``(C, *)``
        - target: ``(N, *)`` or ``()``: classes; or ``(N, C, *)`` or ``(C)``: probabilities
    """
    _check(input, linear_weight, target, linear_bias)
    classes, *out_features, in_features = linear_weight._a.shape
    is_probability = target.dtype.is_floating_point
    if is_probability and ignore_index is not None:
        raise RuntimeError(IGNORED_PROBABILITIES)
    ignore_index = -100 if ignore_index is None else ignore_index
    if options is not None:
        if label_smoothing == 0 and target.dtype is int64 and not out_features:
            return _in_chunks(input, linear_weight, target, linear_bias, weight, reduction, ignore_index, options)
        warnings.warn(NOT_IN_CHUNKS.format(smoothing=label_smoothing, dtype=target.dtype,
                                           out_features=tuple(out_features)), UserWarning, stacklevel=2)
    bias = None if linear_bias is None else linear_bias.reshape(-1)
    scores = linear(input, linear_weight.reshape(-1, in_features), bias)
    if out_features:
        scores = scores.reshape(-1, classes, *out_features)
    return cross_entropy(scores, target, weight, ignore_index=ignore_index, reduction=reduction,
                         label_smoothing=label_smoothing)


def _check(input, linear_weight, target, linear_bias):
    for place, (name, value) in enumerate(
        {"input": input, "linear_weight": linear_weight, "target": target}.items(), 1
    ):
        need_tensor(value, "linear_cross_entropy", name, place)
    shape, own = input._a.shape, linear_weight._a.shape
    if not 1 <= len(shape) <= 2:
        raise RuntimeError(INPUT_RANK.format(ndim=len(shape)))
    if len(own) < 2:
        raise RuntimeError(WEIGHT_RANK.format(ndim=len(own)))
    if shape[-1] != own[-1]:
        raise RuntimeError(IN_FEATURES.format(a=shape[-1], b=own[-1]))
    if len(own) > 2 and len(shape) == 1:
        raise RuntimeError(UNBATCHED.format(weight=tuple(own), features=own[-1], input=tuple(shape)))
    if linear_bias is not None and linear_bias._a.shape != own[:-1]:
        raise RuntimeError(BIAS_SHAPE.format(want=tuple(own[:-1]), got=tuple(linear_bias._a.shape)))


def _in_chunks(input, linear_weight, target, linear_bias, weight, reduction, ignore_index, options):
    reduction = resolve_reduction(None, None, reduction)
    classes, in_features = linear_weight._a.shape
    check_classes((*input._a.shape[:-1], classes), input.dtype, target, weight, "linear_cross_entropy")
    rows, labels = input.reshape(-1, in_features), target.reshape(-1)
    size = options.rows(rows._a.shape[0], in_features, classes)
    loss, weights, _ = ops.linear_cross_entropy(rows, linear_weight, linear_bias, labels, weight, ignore=ignore_index,
                                                size=size)
    if reduction == "none":
        return loss.reshape(target._a.shape)
    return loss.sum() / weights.detach().sum() if reduction == "mean" else loss.sum()
