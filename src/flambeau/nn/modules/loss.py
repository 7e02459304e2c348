"""Losses as modules; the computations are in ``functional``.

All take ``reduction``: "mean" or "sum" reduces over the elements, "none" does not.
"""

from __future__ import annotations

import warnings

from .. import functional as F
from ._loss import _Loss, _WeightedLoss
from .linear_cross_entropy import LinearCrossEntropyLoss as LinearCrossEntropyLoss
from .margin_loss import *  # noqa: F403 - PyTorch has them in this file too

__all__ = ["BCELoss", "BCEWithLogitsLoss", "CTCLoss", "CrossEntropyLoss", "GaussianNLLLoss", "HuberLoss", "KLDivLoss",
           "L1Loss", "MSELoss", "NLLLoss", "NLLLoss2d", "PoissonNLLLoss", "SmoothL1Loss"]

NLL_2D = "`NLLLoss2d` has been deprecated. Please use `NLLLoss` instead as a drop-in replacement."


class L1Loss(_Loss):
    """The absolute difference of input and target."""

    def forward(self, input, target):
        return F.l1_loss(input, target, reduction=self.reduction)


class MSELoss(_Loss):
    """The squared difference of input and target.

    Example::

        >>> MSELoss()(tensor([1., 2.]), tensor([1., 4.]))
        tensor(2.)
    """

    def forward(self, input, target):
        return F.mse_loss(input, target, reduction=self.reduction)


class SmoothL1Loss(_Loss):
    """``L1Loss``, but quadratic where the difference is below ``beta``."""

    def __init__(self, size_average=None, reduce=None, reduction="mean", beta=1.0):
        super().__init__(size_average, reduce, reduction)
        self.beta = beta

    def forward(self, input, target):
        return F.smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta)


class HuberLoss(_Loss):
    """Half the squared difference up to ``delta``, linear beyond."""

    __constants__ = ["reduction", "delta"]

    def __init__(self, reduction="mean", delta=1.0):
        if not isinstance(delta, (int, float)):
            raise TypeError(f"delta must be a float or int, got: {type(delta)}")
        super().__init__(reduction=reduction)
        self.delta = delta

    def forward(self, input, target):
        return F.huber_loss(input, target, reduction=self.reduction, delta=self.delta)


class KLDivLoss(_Loss):
    """The Kullback-Leibler divergence; ``reduction="batchmean"`` matches its definition.

    Args:
        log_target: whether the target consists of log-probabilities too.
    """

    def __init__(self, size_average=None, reduce=None, reduction="mean", log_target=False):
        super().__init__(size_average, reduce, reduction)
        self.log_target = log_target

    def forward(self, input, target):
        return F.kl_div(input, target, reduction=self.reduction, log_target=self.log_target)


class BCELoss(_WeightedLoss):
    """The binary cross-entropy of probabilities with targets between 0 and 1."""

    def forward(self, input, target):
        return F.binary_cross_entropy(input, target, weight=self.weight, reduction=self.reduction)


class BCEWithLogitsLoss(_Loss):
    """``BCELoss`` of the sigmoid of the input, numerically stable.

    Args:
        weight: the weight of each element.
        pos_weight: the weight of the positive class.
    """

    def __init__(self, weight=None, size_average=None, reduce=None, reduction="mean", pos_weight=None):
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)
        self.register_buffer("pos_weight", pos_weight)

    def forward(self, input, target):
        return F.binary_cross_entropy_with_logits(input, target, self.weight, pos_weight=self.pos_weight,
                                                  reduction=self.reduction)


class NLLLoss(_WeightedLoss):
    """The negative log-likelihood of the target class, given log-probabilities.

    Args:
        weight: the weight of each class.
        ignore_index: targets with this value are ignored.

    Shape:
        - Input: ``(N, C, *)`` or ``(C)``
        - Target: ``(N, *)`` or ``()``
    """

    __constants__ = ["ignore_index", "reduction"]

    def __init__(self, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"):
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index

    def forward(self, input, target):
        return F.nll_loss(input, target, weight=self.weight, ignore_index=self.ignore_index, reduction=self.reduction)


class NLLLoss2d(NLLLoss):
    """Deprecated: use ``NLLLoss``, which accepts images too."""

    def __init__(self, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"):
        warnings.warn(NLL_2D, FutureWarning, stacklevel=2)
        super().__init__(weight, size_average, ignore_index, reduce, reduction)


class PoissonNLLLoss(_Loss):
    """The Poisson negative log-likelihood of counts, given the rate or its logarithm.

    Args:
        log_input: whether the input is the logarithm of the rate.
        full: adds Stirling's approximation of the term that does not depend on the input.
        eps: added to a rate before taking its logarithm.
    """

    __constants__ = ["log_input", "full", "eps", "reduction"]

    def __init__(self, log_input=True, full=False, size_average=None, eps=1e-8, reduce=None, reduction="mean"):
        super().__init__(size_average, reduce, reduction)
        self.log_input = log_input
        self.full = full
        self.eps = eps

    def forward(self, log_input, target):
        return F.poisson_nll_loss(log_input, target, log_input=self.log_input, full=self.full, eps=self.eps,
                                  reduction=self.reduction)


class GaussianNLLLoss(_Loss):
    """The negative log-likelihood of the target under normal distributions, given means and variances.

    Args:
        full: adds the constant ``log(2 pi) / 2``.
        eps: the lower bound of variances.

    Shape:
        - Input, target: ``(N, *)`` or ``(*)``
        - Var: same as the input; the last dimension may have size 1 or be missing
    """

    __constants__ = ["full", "eps", "reduction"]

    def __init__(self, *, full=False, eps=1e-6, reduction="mean"):
        super().__init__(None, None, reduction)
        self.full = full
        self.eps = eps

    def forward(self, input, target, var):
        return F.gaussian_nll_loss(input, target, var, full=self.full, eps=self.eps, reduction=self.reduction)


class CrossEntropyLoss(_WeightedLoss):
    """The cross-entropy of unnormalized scores (logits) with the target.

    Args:
        weight: the weight of each class.
        ignore_index: targets with this value are ignored.
        label_smoothing: the part of the target distribution, from 0 to 1, that is spread evenly over all classes.

    Shape:
        - Input: ``(N, C, *)`` or ``(C)``
        - Target: ``(N, *)`` or ``()``, class indices; or the shape of the input, class probabilities

    Example::

        >>> CrossEntropyLoss()(tensor([[0., 0.]]), tensor([1]))
        tensor(0.6931)
    """

    __constants__ = ["ignore_index", "reduction", "label_smoothing"]

    def __init__(self, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean",
                 label_smoothing=0.0):
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing

    def forward(self, input, target):
        return F.cross_entropy(input, target, weight=self.weight, ignore_index=self.ignore_index,
                               reduction=self.reduction, label_smoothing=self.label_smoothing)


class CTCLoss(_Loss):
    """Connectionist temporal classification: the negative log-likelihood of label sequences over all alignments.

    Args:
        blank: the class that represents no label.
        reduction: "mean" divides each loss by its target length first.
        zero_infinity: replaces infinite losses, of inputs that are too short, and their gradients by zero.

    Shape:
        - Log_probs: ``(T, N, C)`` or ``(T, C)``
        - Targets: ``(N, S)``, or all labels concatenated
        - Input_lengths, target_lengths: ``(N)`` or ``()``

    Example::

        >>> log_probs = tensor([[[0.1, 0.9]], [[0.6, 0.4]]]).log()
        >>> CTCLoss()(log_probs, tensor([[1]]), (2,), (1,))  # 1 1, 1 blank or blank 1
        tensor(0.0619)
    """

    __constants__ = ["blank", "reduction"]

    blank: int
    zero_infinity: bool

    def __init__(self, blank=0, reduction="mean", zero_infinity=False):
        super().__init__(reduction=reduction)
        self.blank = blank
        self.zero_infinity = zero_infinity

    def forward(self, log_probs, targets, input_lengths, target_lengths):
        return F.ctc_loss(log_probs, targets, input_lengths, target_lengths, self.blank, self.reduction,
                          self.zero_infinity)
