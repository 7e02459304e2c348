"""Sliding windows of images as columns (im2col), and back."""

import math

from ...functions._args import as_int, need_tensor
from ...ops import fold as ops
from ...ops._errors import refuse_kinds

__all__ = ["fold", "unfold"]

NOT_TWO = "{name}: It is expected {argument} equals to 2 numbers, or is one for both, but got size {count}"
NOT_POSITIVE = "{name}: {argument} should be greater than zero, but got {value}"
NEGATIVE = "{name}: padding should be non-negative, but got {value}"
IMAGES = (
    "unfold: Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for input, "
    "but got: {shape}"
)
COLUMNS = (
    "fold: Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and non-zero dimensions for "
    "input, but got: {shape}"
)
TOO_SMALL = (
    "Given input with spatial size {spatial}, {windows}, calculated shape of the array of sliding blocks as {out}, but "
    "its components must be at least one."
)
DIVISIBLE = (
    "Expected size of input's dimension {dim} to be divisible by the product of kernel_size, but got "
    "input.size({dim})={got} and kernel_size={kernel}."
)
BLOCKS = (
    "Given output_size={sizes}, {windows}, expected size of input's dimension {dim} to match the calculated number of "
    "sliding blocks {blocks}, but got input.size({dim})={got}."
)


def unfold(input, kernel_size, dilation=1, padding=0, stride=1):
    """The windows of images ``(N, C, H, W)`` as columns: ``(N, C * kernel, windows)``. See ``Unfold``."""
    need_tensor(input, "unfold")
    windows = _windows("unfold", kernel_size, dilation, padding, stride)
    shape = tuple(input.shape)
    if len(shape) < 3 and shape[1:] != (0,):
        raise IndexError(f"Dimension out of range: {IMAGES.format(shape=list(shape))}")
    if len(shape) > 4 or 0 in shape[-3:]:
        raise RuntimeError(IMAGES.format(shape=list(shape)))
    out = _blocks(shape[-2:], windows)
    if min(out) < 1:
        raise RuntimeError(TOO_SMALL.format(spatial=shape[-2:], windows=_describe(windows), out=out))
    if input._a.dtype.kind != "b":
        refuse_kinds("unfold", input._a, "i")
    if len(shape) == 4:
        return ops.im2col(input, **windows)
    return ops.im2col(input.unsqueeze(0), **windows).squeeze(0)


def fold(input, output_size, kernel_size, dilation=1, padding=0, stride=1):
    """The images ``(N, C, *output_size)`` that are the sum of windows, passed as columns. See ``Fold``."""
    need_tensor(input, "fold")
    sizes = _pair("fold", "output_size", output_size)
    windows = _windows("fold", kernel_size, dilation, padding, stride)
    shape = tuple(input.shape)
    if len(shape) not in (2, 3) or 0 in shape[-2:]:
        raise RuntimeError(COLUMNS.format(shape=list(shape)))
    if shape[-2] % math.prod(windows["kernel"]):
        raise RuntimeError(DIVISIBLE.format(dim=len(shape) - 2, got=shape[-2], kernel=windows["kernel"]))
    out = _blocks(sizes, windows)
    if math.prod(out) != shape[-1] or min(out) < 1:
        blocks = f"{out[0]} * {out[1]} = {math.prod(out)}"
        raise RuntimeError(BLOCKS.format(sizes=sizes, windows=_describe(windows), dim=len(shape) - 1, blocks=blocks,
                                         got=shape[-1]))
    if input._a.dtype.kind != "b":
        refuse_kinds("fold", input._a, "i")
    if len(shape) == 3:
        return ops.col2im(input, sizes=sizes, **windows)
    return ops.col2im(input.unsqueeze(0), sizes=sizes, **windows).squeeze(0)


def _pair(name, argument, value):
    """A pair of ints from one or two."""
    if not isinstance(value, (tuple, list)):
        return (as_int(value, name, argument),) * 2
    if len(value) != 2:
        raise RuntimeError(NOT_TWO.format(name=name, argument=argument, count=len(value)))
    return tuple([as_int(v, name, argument) for v in value])


def _windows(name, kernel_size, dilation, padding, stride):
    given = {"kernel": kernel_size, "dilation": dilation, "padding": padding, "stride": stride}
    names = {"kernel": "kernel_size"}
    found = {key: _pair(name, names.get(key, key), value) for key, value in given.items()}
    for key in ("kernel", "dilation", "stride"):
        if min(found[key]) < 1:
            raise RuntimeError(NOT_POSITIVE.format(name=name, argument="kernel size" if key == "kernel" else key,
                                                   value=found[key]))
    if min(found["padding"]) < 0:
        raise RuntimeError(NEGATIVE.format(name=name, value=found["padding"]))
    return found


def _blocks(spatial, windows):
    """The number of windows along each dimension."""
    return tuple([
        (n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, d, p, s in zip(spatial, *windows.values(), strict=True)
    ])


def _describe(windows):
    return ", ".join([f"{'kernel_size' if key == 'kernel' else key}={value}" for key, value in windows.items()])
