"""Padding."""

from .._modes import in_use
from .._tensor import Tensor
from ..ops._errors import refuse_kinds
from ..ops.move import constant_pad, pad_edges
from ._args import need_tensor, shape_from
from ._autocast import autocast
from ._data import scalar_for

__all__ = ["pad"]

MODES = {"constant": None, "reflect": "reflect", "replicate": "edge", "circular": "wrap"}
CROPPED = (
    "pad(): narrow(): length must be non-negative: dimension {dim} of size {n} cannot be cropped by ({before}, {after})"
)


def pad(input, pad, mode="constant", value=None):
    """Pads a tensor: ``pad`` has (before, after) for the last dimension, then for the one before it, and so on.

    Args:
        pad: amounts, two for each padded dimension; negative ones crop.
        mode: "constant" fills with ``value``; "reflect" mirrors, "replicate" repeats the edge, "circular" wraps around.
            The last three pad the last 1, 2 or 3 dimensions of a tensor with one or two more dimensions.
    """
    if not isinstance(input, Tensor):
        need_tensor(input, "pad")
    amounts = shape_from((pad,), "pad")
    ndim = input._a.ndim
    if len(amounts) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if len(amounts) > 2 * ndim:
        raise RuntimeError(
            "Padding length should be less than or equal to two times the input dimension but got padding length "
            f"{len(amounts)} and input of dimension {ndim}"
        )
    count = len(amounts) // 2
    pads = ((0, 0),) * (ndim - count) + tuple([amounts[2 * i: 2 * i + 2] for i in range(count - 1, -1, -1)])
    if mode == "constant":
        check_constant(pads, input._a.shape)
        if isinstance(value, complex):
            raise TypeError("pad(): argument 'value' (position 4) must be float, not complex")
        is_filled = any(amount > 0 for amount in amounts)  # PyTorch does not check a value that is not stored
        return constant_pad(input, pads=pads, value=fill_for(input, value) if is_filled else 0)
    if mode not in MODES:
        raise NotImplementedError(f"Unrecognised padding mode {mode}; it is one of {', '.join(MODES)}")
    if value is not None and value != 0:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    check_edges(pads, input._a.shape, count, mode)
    if mode != "circular":
        refuse_kinds(f"pad: {mode}", input._a, "b")
        if in_use.autocast:
            input, = autocast(f"{mode}_pad{count}d", input)
    return pad_edges(input, pads=pads, mode=MODES[mode], dims=count)


def check_constant(pads, shape):
    for d, ((before, after), n) in enumerate(zip(pads, shape)):
        if n + before + after < 0:
            raise RuntimeError(
                f"The input size {n}, plus negative padding {before} and {after}, resulted in a negative output size, "
                f"which is invalid. Check dimension {d} of your input."
            )
        if crops_too_much(before, after, n):
            raise RuntimeError(CROPPED.format(dim=d, n=n, before=before, after=after))


def crops_too_much(before, after, n):
    """Whether cropping removes more than there is, regardless of padding on the other side."""
    return n + min(before, 0) + min(after, 0) < 0


def check_edges(pads, shape, count, mode):
    ndim = len(shape)
    if not 1 <= count <= 3 or ndim not in (count + 1, count + 2):
        raise NotImplementedError(
            "Only 2D, 3D, 4D, 5D padding with non-constant padding are supported for now: the last 1, 2 or 3 "
            f"dimensions of a tensor with one or two more, not {count} of {ndim}"
        )
    if mode != "circular" and 0 in shape[ndim - count - 1:]:
        raise RuntimeError(f"pad(): expected the padded dimensions and channels to be non-empty, but got {list(shape)}")
    for d in range(ndim - count, ndim):
        (before, after), n = pads[d], shape[d]
        left = n + min(before, 0) + min(after, 0)  # all that goes round
        most = {"reflect": n - 1, "circular": max(left, 0), "replicate": max(before, after)}[mode]
        if max(before, after) > most:
            raise RuntimeError(
                f"Padding size should be less than {'or equal to ' if mode == 'circular' else ''}the corresponding "
                f"input dimension, but got: padding ({before}, {after}) at dimension {d} of input {list(shape)}"
            )
        if mode == "circular" and crops_too_much(before, after, n):
            raise RuntimeError(CROPPED.format(dim=d, n=n, before=before, after=after))
        if n + before + after < (mode != "circular"):
            raise RuntimeError(
                f"input (of size {n} at dimension {d}) is too small for padding ({before}, {after}): nothing is left"
            )


def fill_for(input, value):
    """The fill value; PyTorch takes it as a float, so that -1 does not fit uint8."""
    if value is None:
        return 0
    return scalar_for(float(value) if isinstance(value, int) else value, input._a.dtype)
