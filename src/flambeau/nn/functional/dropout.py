"""Dropout of elements and of channels."""

from __future__ import annotations

import warnings

from ...functions import random as draws

__all__ = ["alpha_dropout", "dropout", "dropout1d", "dropout2d", "dropout3d", "feature_alpha_dropout"]


def _checked(p):
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    return p


def dropout(input, p=0.5, training=True, inplace=False):
    """Zeros elements with probability `p` in training, and scales the others by 1 / (1 - p)."""
    return (draws.dropout_ if inplace else draws.dropout)(input, _checked(p), training)


def alpha_dropout(input, p=0.5, training=False, inplace=False):
    """Dropout that keeps mean and variance under SELU."""
    return (draws.alpha_dropout_ if inplace else draws.alpha_dropout)(input, _checked(p), training)


def feature_alpha_dropout(input, p=0.5, training=False, inplace=False):
    """``alpha_dropout`` of whole channels."""
    return (draws.feature_alpha_dropout_ if inplace else draws.feature_alpha_dropout)(input, _checked(p), training)


def _channels(input, p, training, inplace, name, dims):
    """Drops channels: the second dimension of a batch, the first of a single sample."""
    _checked(p)
    if input.dim() not in (dims + 1, dims + 2):
        warnings.warn(
            f"{name}: Received a {input.dim()}-D input to {name}, which is deprecated and will result in an error in a "
            "future release. To retain the behavior and silence this warning, use dropout instead.", stacklevel=3,
        )
    single = dims == 1 and input.dim() == 2
    if single:
        input = input.unsqueeze_(0) if inplace else input.unsqueeze(0)
    out = (draws.feature_dropout_ if inplace else draws.feature_dropout)(input, p, training)
    if single:
        out = out.squeeze_(0) if inplace else out.squeeze(0)
    return out


def dropout1d(input, p=0.5, training=True, inplace=False):
    """Dropout of whole channels of sequences."""
    return _channels(input, p, training, inplace, "dropout1d", 1)


def dropout2d(input, p=0.5, training=True, inplace=False):
    """Dropout of whole channels of images."""
    return _channels(input, p, training, inplace, "dropout2d", 2)


def dropout3d(input, p=0.5, training=True, inplace=False):
    """Dropout of whole channels of volumes."""
    return _channels(input, p, training, inplace, "dropout3d", 3)
