"""A linear layer fused with the cross-entropy loss."""

import math

from .. import functional as F
from ..functional.linear_cross_entropy import LinearCrossEntropyOptions as LinearCrossEntropyOptions
from ._loss import _WeightedLoss
from .linear import Linear

__all__ = ["LinearCrossEntropyLoss", "LinearCrossEntropyOptions"]


class LinearCrossEntropyLoss(_WeightedLoss):
    """A linear layer followed by the cross-entropy loss.

    Args:
        in_features: the size of each input sample.
        num_classes: the number of classes ``C``.
        out_features: sizes of additional dimensions, if each input has several losses.
        bias: whether the linear layer has a bias.
        weight, reduction, ignore_index, label_smoothing: as for ``CrossEntropyLoss``.
        options: a ``LinearCrossEntropyOptions``, which saves memory if there are many classes.

    Shape:
        - Input: ``(N, in_features)`` or ``(in_features)``
        - Target: ``(N, *out_features)`` or ``()``: classes; or ``(N, C, *out_features)`` or ``(C)``: probabilities
    """

    __constants__ = ["num_classes", "out_features", "reduction", "ignore_index", "label_smoothing"]

    def __init__(self, in_features, num_classes, *, out_features=(), bias=False, device=None, dtype=None,
                 reduction="mean", weight=None, ignore_index=None, label_smoothing=0.0, options=None):
        if weight is not None and tuple(weight.shape) != (num_classes,):
            raise RuntimeError(f"expected weight shape to be {(num_classes,)}, got {tuple(weight.shape)}")
        if label_smoothing < 0.0 or label_smoothing > 1.0:
            raise RuntimeError(f"expected label_smoothing to be in range [0, 1], got {label_smoothing}")
        super().__init__(weight=weight, reduction=reduction)
        self.num_classes = num_classes
        self.out_features = tuple(out_features)
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing
        self.options = options
        outputs = num_classes * math.prod(self.out_features)
        self.linear = Linear(in_features, outputs, bias=bias, device=device, dtype=dtype)

    def forward(self, input, target):
        weight, bias = self.linear.weight, self.linear.bias
        shape = self.num_classes, *self.out_features
        return F.linear_cross_entropy(
            input, weight.reshape(*shape, self.linear.in_features), target,
            linear_bias=None if bias is None else bias.reshape(shape), weight=self.weight, reduction=self.reduction,
            ignore_index=self.ignore_index, label_smoothing=self.label_smoothing, options=self.options,
        )

    def extra_repr(self):
        return (
            f"in_features={self.linear.in_features}, num_classes={self.num_classes}, out_features={self.out_features}, "
            f"bias={self.linear.bias is not None}, reduction={self.reduction}, ignore_index={self.ignore_index}, "
            f"label_smoothing={self.label_smoothing}, options={self.options}"
        )
