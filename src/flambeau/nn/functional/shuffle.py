"""Pixel shuffle and channel shuffle."""

from ...functions._args import as_int, need_tensor
from ...ops import shuffle as ops

__all__ = ["channel_shuffle", "native_channel_shuffle", "pixel_shuffle", "pixel_unshuffle"]

POSITIVE = "{name} expects a positive {argument}, but got {value}"
RANK = "{name} expects input to have at least 3 dimensions, but got input with {ndim} dimension(s)"
DIVISIBLE = "{name} expects {what} to be divisible by {by}, but input.size({dim})={size} is not divisible by {value}"
FLAT = "channel_shuffle expects input with > 2 dims, but got input with sizes {shape}"
NO_GROUPS = "Number of groups to divide channels in must be positive. Value of groups:{groups}"
GROUPS = "Number of channels must be divisible by groups. Got {channels} channels and {groups} groups."


def pixel_shuffle(input, upscale_factor):
    """Rearranges ``(*, C * r², H, W)`` to ``(*, C, H * r, W * r)``, where r is ``upscale_factor``."""
    factor = _check_pixels(input, upscale_factor, "pixel_shuffle", "upscale_factor")
    channels = input.shape[-3]
    if channels % factor**2:
        raise RuntimeError(DIVISIBLE.format(name="pixel_shuffle", what="its input's 'channel' dimension",
                                            by="the square of upscale_factor", dim=-3, size=channels, value=factor**2))
    return ops.pixel_shuffle(input, factor=factor)


def pixel_unshuffle(input, downscale_factor):
    """Rearranges ``(*, C, H * r, W * r)`` to ``(*, C * r², H, W)``, where r is ``downscale_factor``."""
    factor = _check_pixels(input, downscale_factor, "pixel_unshuffle", "downscale_factor")
    for dim, what in ((-2, "height"), (-1, "width")):
        if input.shape[dim] % factor:
            raise RuntimeError(DIVISIBLE.format(name="pixel_unshuffle", what=what, by="downscale_factor", dim=dim,
                                                size=input.shape[dim], value=factor))
    return ops.pixel_unshuffle(input, factor=factor)


def _check_pixels(input, factor, name, argument):
    need_tensor(input, name)
    factor = as_int(factor, name, argument)
    if input.ndim < 3:
        raise RuntimeError(RANK.format(name=name, ndim=input.ndim))
    if factor < 1:
        raise RuntimeError(POSITIVE.format(name=name, argument=argument, value=factor))
    return factor


def channel_shuffle(input, groups):
    """Permutes the channels of ``(N, C, ...)``: the first of each group, then the second, and so on."""
    need_tensor(input, "channel_shuffle")
    groups, shape = as_int(groups, "channel_shuffle", "groups"), tuple(input.shape)
    if len(shape) < 3:
        raise RuntimeError(FLAT.format(shape=list(shape)))
    if groups < 1:
        raise RuntimeError(NO_GROUPS.format(groups=groups))
    if shape[1] % groups:
        raise RuntimeError(GROUPS.format(channels=shape[1], groups=groups))
    return ops.channel_shuffle(input, groups=groups)


def native_channel_shuffle(input, groups):
    """``channel_shuffle``."""
    return channel_shuffle(input, groups)
