"""Pixel shuffles, between channels and pixels, and channel shuffles."""

from .._device import contiguous_format
from ._op import op


def in_rows(k, x, shape):
    """The elements in row-major order and a new shape, always in new memory."""
    return k.copy_as(x, x.dtype, contiguous_format).reshape(shape)


@op(row_major=True)
def pixel_shuffle(k, x, *, factor):
    """(..., channels * factor², height, width) as (..., channels, height * factor, width * factor)."""
    *lead, channels, height, width = x.shape
    n = len(lead)
    boxes = x.reshape(*lead, channels // factor**2, factor, factor, height, width)
    mixed = k.transpose(boxes, (*range(n), n, n + 3, n + 1, n + 4, n + 2))
    return in_rows(k, mixed, (*lead, channels // factor**2, height * factor, width * factor))


@op(row_major=True)
def pixel_unshuffle(k, x, *, factor):
    """The inverse of ``pixel_shuffle``."""
    *lead, channels, height, width = x.shape
    n = len(lead)
    boxes = x.reshape(*lead, channels, height // factor, factor, width // factor, factor)
    mixed = k.transpose(boxes, (*range(n), n, n + 2, n + 4, n + 1, n + 3))
    return in_rows(k, mixed, (*lead, channels * factor**2, height // factor, width // factor))


pixel_shuffle.vjp(x=lambda g, factor: pixel_unshuffle(g, factor=factor))
pixel_unshuffle.vjp(x=lambda g, factor: pixel_shuffle(g, factor=factor))


@op(row_major=True)
def channel_shuffle(k, x, *, groups):
    """The first channel of each of the groups, then the second of each, and so on."""
    samples, channels, *spatial = x.shape
    return in_rows(k, k.swapaxes(x.reshape(samples, groups, channels // groups, *spatial), 1, 2), x.shape)


channel_shuffle.vjp(x=lambda g, x_shape, groups: channel_shuffle(g, groups=x_shape[1] // groups or 1))
