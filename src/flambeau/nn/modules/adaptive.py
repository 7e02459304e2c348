"""Adaptive softmax, for many classes most of which are rare."""

from __future__ import annotations

from typing import NamedTuple

from ..._tensor import Tensor
from ...engines import demand, is_traced
from ...functions.join import cat
from ...functions.pointwise import where
from .. import functional as F
from .container import ModuleList, Sequential
from .linear import Linear
from .module import Module

__all__ = ["AdaptiveLogSoftmaxWithLoss"]

NO_CUTOFFS = "cutoffs should be a sequence of length larger than 0"
CUTOFFS = (
    "cutoffs should be a sequence of unique, positive integers sorted in an increasing order, where each value is "
    "between 1 and n_classes-1; got {cutoffs} for {classes} classes"
)
TARGET_RANK = "0D or 1D target tensor expected, multi-target not supported; got {target}"
INPUT_RANK = "{target}D target tensor expects {input}D input tensors, but found inputs with size {got}"
BATCH = "Input and target should have the same size in the batch dimension, got {input} and {target}."
TARGET_RANGE = "Target values should be in [0, {last}], but {got} was found."


class _ASMoutput(NamedTuple):
    output: Tensor
    loss: Tensor


class AdaptiveLogSoftmaxWithLoss(Module):
    """The log-softmax over groups of classes, which are sorted by frequency.

    The head computes the scores of the frequent classes and of the groups of rarer ones. Each group has a smaller
    projection of its own, which is only computed for targets in the group.

    Args:
        in_features: the size of each input sample.
        n_classes: the number of classes.
        cutoffs: the class with which each group begins; the first group is in the head.
        div_value: each group projects to ``in_features / div_value ** number`` features.
        head_bias: whether the head has a bias.

    Shape:
        - Input: ``(N, in_features)`` or ``(in_features)``
        - Target: ``(N)`` or ``()``
        - Output: the log-probabilities of the targets, and the mean loss
    """

    in_features: int
    n_classes: int
    cutoffs: list[int]
    div_value: float
    head_bias: bool
    head: Linear
    tail: ModuleList

    def __init__(self, in_features, n_classes, cutoffs, div_value=4.0, head_bias=False, device=None, dtype=None):
        super().__init__()
        cutoffs = list(cutoffs)
        if not cutoffs:
            raise ValueError(NO_CUTOFFS)
        if (cutoffs != sorted(set(cutoffs)) or min(cutoffs) <= 0 or max(cutoffs) > n_classes - 1
                or any(int(c) != c for c in cutoffs)):
            raise ValueError(CUTOFFS.format(cutoffs=cutoffs, classes=n_classes))
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = [*cutoffs, n_classes]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size = self.cutoffs[0]
        self.n_clusters = len(self.cutoffs) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        self.head = Linear(in_features, self.head_size, bias=head_bias, device=device, dtype=dtype)
        self.tail = ModuleList()
        for i, (first, last) in enumerate(self._groups()):
            size = int(in_features // div_value ** (i + 1))
            self.tail.append(Sequential(
                Linear(in_features, size, bias=False, device=device, dtype=dtype),
                Linear(size, last - first, bias=False, device=device, dtype=dtype),
            ))

    def _groups(self):
        """The (start, end) class range of each group outside the head."""
        return list(zip(self.cutoffs[:-1], self.cutoffs[1:], strict=True))

    def reset_parameters(self):
        """Reinitializes all weights."""
        self.head.reset_parameters()
        for projection, scores in self.tail:
            projection.reset_parameters()
            scores.reset_parameters()

    def forward(self, input_, target_):
        """``(output, loss)``: the log-probability of each target, and the negative mean of these."""
        self._check(input_, target_)
        rows, labels = (input_, target_) if target_.dim() else (input_.unsqueeze(0), target_.unsqueeze(0))
        in_head = labels.clamp(max=self.shortlist_size - 1)
        for i, (first, last) in enumerate(self._groups()):
            in_head = where((labels >= first) & (labels < last), self.shortlist_size + i, in_head)
        output = F.log_softmax(self.head(rows), 1).gather(1, in_head.unsqueeze(1)).squeeze(1)
        for layer, (first, last) in zip(self.tail, self._groups(), strict=True):
            output = self._add_group(output, layer, rows, labels - first, last - first)
        loss = (-output).mean()
        return _ASMoutput(output if target_.dim() else output.squeeze(0), loss)

    @staticmethod
    def _add_group(output, layer, rows, places, size):
        """Adds the log-probabilities within a group to the outputs of rows whose target is in it."""
        mine = (places >= 0) & (places < size)
        if is_traced(mine._a):  # the selection is traced: all rows are computed
            found = F.log_softmax(layer(rows), 1).gather(1, places.clamp(0, size - 1).unsqueeze(1)).squeeze(1)
            return where(mine, output + found, output)
        index = mine.nonzero().squeeze(1)
        if not index.numel():
            return output
        scores = F.log_softmax(layer(rows[index]), 1)
        return output.index_add(0, index, scores.gather(1, places[index].unsqueeze(1)).squeeze(1))

    def _check(self, input, target):
        if target.dim() > 1:
            raise RuntimeError(TARGET_RANK.format(target=list(target.shape)))
        if input.dim() == target.dim() + 1:
            if target.dim() and input.shape[0] != target.shape[0]:
                raise RuntimeError(BATCH.format(input=input.shape[0], target=target.shape[0]))
        elif target.dim() and input.dim() == 1:
            raise RuntimeError(BATCH.format(input="one sample", target=target.shape[0]))
        else:
            raise RuntimeError(INPUT_RANK.format(target=target.dim(), input=target.dim() + 1, got=input.shape))
        for extreme in (target._a.min(), target._a.max()) if target._a.size else ():
            demand((extreme >= 0) & (extreme < self.n_classes), extreme,
                   lambda got: RuntimeError(TARGET_RANGE.format(last=self.n_classes - 1, got=got)))

    def log_prob(self, input):
        """The log-probabilities of all classes, ``(N, n_classes)``."""
        return self._get_full_log_prob(input, self.head(input))

    def _get_full_log_prob(self, input, head_output):
        head = F.log_softmax(head_output, 1)
        groups = [head[:, : self.shortlist_size]]
        for i, layer in enumerate(self.tail):
            groups.append(F.log_softmax(layer(input), 1) + head[:, self.shortlist_size + i].unsqueeze(1))
        return cat(groups, 1)

    def predict(self, input):
        """The most probable class of each sample; groups are evaluated only where needed."""
        head = self.head(input)
        best = head.argmax(1)
        if is_traced(best._a):
            return self.log_prob(input).argmax(1)
        rare = (best >= self.shortlist_size).nonzero().squeeze(1)
        if not rare.numel():
            return best
        return best.index_copy(0, rare, self._get_full_log_prob(input[rare], head[rare]).argmax(1))
