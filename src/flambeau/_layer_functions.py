"""Layer functions that are also in ``torch`` itself, some with other signatures than in ``nn.functional``."""

from .nn import functional as F
from .nn.functional import (
    adaptive_avg_pool1d,
    avg_pool1d,
    bilinear,
    channel_shuffle,
    conv1d,
    conv2d,
    conv3d,
    conv_tbc,
    conv_transpose1d,
    conv_transpose2d,
    conv_transpose3d,
    max_pool1d,
    max_pool2d,
    max_pool3d,
    native_channel_shuffle,
    pairwise_distance,
    pixel_shuffle,
    pixel_unshuffle,
    rms_norm,
)

__all__ = [
    "adaptive_avg_pool1d", "adaptive_max_pool1d", "avg_pool1d", "batch_norm", "bilinear",
    "binary_cross_entropy_with_logits", "channel_shuffle", "conv1d", "conv2d", "conv3d", "conv_tbc",
    "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "cosine_embedding_loss", "ctc_loss", "embedding",
    "grid_sampler", "grid_sampler_2d", "grid_sampler_3d", "group_norm", "hinge_embedding_loss", "instance_norm",
    "kl_div", "layer_norm", "margin_ranking_loss", "max_pool1d", "max_pool1d_with_indices", "max_pool2d",
    "max_pool3d", "native_channel_shuffle", "pairwise_distance", "pixel_shuffle", "pixel_unshuffle",
    "poisson_nll_loss", "rms_norm", "triplet_margin_loss",
]

REDUCTIONS = ("none", "mean", "sum")  # by PyTorch's numbers for them
GRID_MODES = ("bilinear", "nearest", "bicubic")
GRID_PADDINGS = ("zeros", "border", "reflection")


def adaptive_max_pool1d(input, output_size):
    """Adaptive max pooling over sequences; returns values and indices."""
    return F.adaptive_max_pool1d_with_indices(input, output_size)


def max_pool1d_with_indices(input, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False):
    """Max pooling over sequences; returns values and indices."""
    return F.max_pool1d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)


def batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, cudnn_enabled):
    """``nn.functional.batch_norm`` with a different argument order."""
    return F.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


def instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, cudnn_enabled):
    """``nn.functional.instance_norm`` with a different argument order."""
    return F.instance_norm(input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps)


def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-05, cudnn_enable=True):
    """Normalizes each sample over the last dimensions, then applies weight and bias."""
    return F.layer_norm(input, normalized_shape, weight, bias, eps)


def group_norm(input, num_groups, weight=None, bias=None, eps=1e-05, cudnn_enabled=True):
    """Normalizes the channels of each sample in ``num_groups`` groups."""
    return F.group_norm(input, num_groups, weight, bias, eps)


def embedding(weight, indices, padding_idx=-1, scale_grad_by_freq=False, sparse=False):
    """The rows of ``weight`` at ``indices``; the row ``padding_idx``, if not negative, gets no gradient."""
    padding = padding_idx if padding_idx >= 0 else None
    return F.embedding(indices, weight, padding, None, 2.0, scale_grad_by_freq, sparse)


def kl_div(input, target, reduction=1, *, log_target=False):
    """The Kullback-Leibler divergence between ``target`` and log-probabilities, elementwise, reduced."""
    loss = F.kl_div(input, target, reduction="none", log_target=log_target)
    return loss if reduction == 0 else loss.mean() if reduction == 1 else loss.sum()


def cosine_embedding_loss(input1, input2, target, margin=0.0, reduction=1):
    """One minus the cosine similarity where the target is 1, its excess over the margin where it is -1; reduced."""
    return F.cosine_embedding_loss(input1, input2, target, margin, reduction=REDUCTIONS[reduction])


def hinge_embedding_loss(input, target, margin=1.0, reduction=1):
    """The distance where the target is 1, ``max(0, margin - distance)`` where it is -1; reduced."""
    return F.hinge_embedding_loss(input, target, margin, reduction=REDUCTIONS[reduction])


def margin_ranking_loss(input1, input2, target, margin=0.0, reduction=1):
    """``max(0, -target * (input1 - input2) + margin)``, reduced."""
    return F.margin_ranking_loss(input1, input2, target, margin, reduction=REDUCTIONS[reduction])


def poisson_nll_loss(input, target, log_input, full, eps, reduction):
    """The negative log-likelihood of the counts ``target``, reduced."""
    return F.poisson_nll_loss(input, target, log_input, full, None, eps, reduction=REDUCTIONS[reduction])


def triplet_margin_loss(anchor, positive, negative, margin=1.0, p=2, eps=1e-6, swap=False, reduction=1):
    """``max(0, d(anchor, positive) - d(anchor, negative) + margin)``, reduced."""
    return F.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, reduction=REDUCTIONS[reduction])


def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction=1, zero_infinity=False):
    """The connectionist temporal classification loss: negative log-likelihood of label sequences, reduced."""
    return F.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, REDUCTIONS[reduction], zero_infinity)


def binary_cross_entropy_with_logits(input, target, weight=None, pos_weight=None, reduction=1):
    """Binary cross-entropy of ``sigmoid(input)`` with ``target``, reduced."""
    return F.binary_cross_entropy_with_logits(input, target, weight, None, None, REDUCTIONS[reduction], pos_weight)


def grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners):
    """``nn.functional.grid_sample`` with integer modes."""
    return F.grid_sample(input, grid, GRID_MODES[interpolation_mode], GRID_PADDINGS[padding_mode], align_corners)


def grid_sampler_2d(input, grid, interpolation_mode, padding_mode, align_corners):
    """``grid_sampler`` for images."""
    return grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners)


def grid_sampler_3d(input, grid, interpolation_mode, padding_mode, align_corners):
    """``grid_sampler`` for volumes."""
    return grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners)
