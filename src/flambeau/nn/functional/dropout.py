"""Dropout of elements and of channels."""

import warnings

from ...functions import dropout as functions

__all__ = ["alpha_dropout", "dropout", "dropout1d", "dropout2d", "dropout3d", "feature_alpha_dropout"]

UNEXPECTED_DIMS = (
    "{name}: Received a {got}-D input to {name}, which is deprecated and will result in an error in a future release. "
    "Use dropout instead: it drops elements of tensors of any shape."
)
NOT_A_SEQUENCE = (
    "dropout1d: Expected 2D or 3D input, but received a {got}D input. Give it sequences of shape (N, C, L) or (C, L); "
    "dropout2d and dropout3d take images and volumes."
)
BATCH_OF_SEQUENCES = (
    "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout behavior is desired: the "
    "input is taken as (N, C, L). Use dropout1d for sequences, and unsqueeze(0) for a single image."
)


def _check(p):
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    return p


def dropout(input, p=0.5, training=True, inplace=False):
    """Zeros elements with probability `p` in training, and scales the others by 1 / (1 - p)."""
    return (functions.dropout_ if inplace else functions.dropout)(input, _check(p), training)


def alpha_dropout(input, p=0.5, training=False, inplace=False):
    """Dropout that keeps mean and variance under SELU."""
    return (functions.alpha_dropout_ if inplace else functions.alpha_dropout)(input, _check(p), training)


def feature_alpha_dropout(input, p=0.5, training=False, inplace=False):
    """``alpha_dropout`` of whole channels."""
    drop = functions.feature_alpha_dropout_ if inplace else functions.feature_alpha_dropout
    return drop(input, _check(p), training)


def _channels(input, p, training, inplace, single):
    """Drops channels: the second dimension of a batch, the first of a single sample."""
    if single:
        input = input.unsqueeze_(0) if inplace else input.unsqueeze(0)
    out = (functions.feature_dropout_ if inplace else functions.feature_dropout)(input, p, training)
    if single:
        out = out.squeeze_(0) if inplace else out.squeeze(0)
    return out


def _warn_of_dims(input, name, dims):
    if input.dim() not in (dims + 1, dims + 2):
        warnings.warn(UNEXPECTED_DIMS.format(name=name, got=input.dim()), stacklevel=3)


def dropout1d(input, p=0.5, training=True, inplace=False):
    """Dropout of whole channels of sequences, ``(N, C, L)`` or ``(C, L)``."""
    _check(p)
    if input.dim() not in (2, 3):
        raise RuntimeError(NOT_A_SEQUENCE.format(got=input.dim()))
    return _channels(input, p, training, inplace, single=input.dim() == 2)


def dropout2d(input, p=0.5, training=True, inplace=False):
    """Dropout of whole channels of images, ``(N, C, H, W)``; three dimensions are treated as ``(N, C, L)``."""
    _check(p)
    _warn_of_dims(input, "dropout2d", 2)
    if input.dim() == 3:
        warnings.warn(BATCH_OF_SEQUENCES, stacklevel=2)
    return _channels(input, p, training, inplace, single=False)


def dropout3d(input, p=0.5, training=True, inplace=False):
    """Dropout of whole channels of volumes, ``(N, C, D, H, W)`` or ``(C, D, H, W)``."""
    _check(p)
    _warn_of_dims(input, "dropout3d", 3)
    return _channels(input, p, training, inplace, single=input.dim() != 5)
