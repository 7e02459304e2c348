"""Convolutions."""

from ... import _dtypes
from ..._dtypes import int64
from ..._modes import in_use
from ..._tensor import Tensor
from ...functions._args import need_tensor
from ...functions._autocast import autocast
from ...functions.padding import pad
from ...ops import conv as ops
from ...ops._errors import refuse_kinds
from ._sizes import per_dim

__all__ = ["conv1d", "conv2d", "conv3d", "conv_tbc", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d"]

RANK = "Expected {low}D (unbatched) or {high}D (batched) input to {name}, but got input of size: {shape}"
WEIGHT_RANK = (
    "Expected {weight_rank}-dimensional input for {weight_rank}-dimensional weight {weight}, but got "
    "{rank}-dimensional input of size {shape} instead: {name} takes weights of {wanted} dimensions"
)
FLAT_WEIGHT = "{name}: weight should have at least three dimensions, but got weight of size {weight}"
CHANNELS = (
    "Given {what}, weight of size {weight}, expected input{input} to have {wanted} channels, but got {got} channels "
    "instead"
)
TOO_FEW = "Given groups={groups}, expected weight to be at least {groups} at dimension 0, but got size {weight}"
GROUPS = "Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, but got size {weight}"
NO_PIXELS = "Only zero batch or zero channel inputs are supported, but got input shape: {shape}"
EMPTY_KERNEL = "{name}: kernel size should be greater than zero, but got weight of size {weight}"
BIAS = (
    "Given {what}weight of size {weight}, expected bias to be 1-dimensional with {wanted} elements, but got bias of "
    "size {bias} instead"
)
TOO_SMALL = (
    "Calculated padded input size per channel: {padded}. Kernel size: {kernel}. Kernel size can't be greater than "
    "actual input size"
)
NOT_SAME = "{name}: Input type ({input}) and {other} type ({wrong}) should be the same; convert one of them{words}"
WORDS = ": expected scalar type {input} but found {weight}"


def conv1d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """The convolution of sequences ``(N, C, L)`` or ``(C, L)`` with ``weight`` ``(O, C / groups, K)``."""
    return _conv(input, weight, bias, stride, padding, dilation, groups, 1, "conv1d")


def conv2d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """The convolution of images ``(N, C, H, W)`` or ``(C, H, W)`` with ``weight`` ``(O, C / groups, KH, KW)``.

    ``padding`` is a number, one for each dimension, ``"valid"`` (none) or ``"same"`` (the result has the input's
    size; only without stride).
    """
    return _conv(input, weight, bias, stride, padding, dilation, groups, 2, "conv2d")


def conv3d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """The convolution of volumes ``(N, C, D, H, W)`` or ``(C, D, H, W)`` with ``weight``."""
    return _conv(input, weight, bias, stride, padding, dilation, groups, 3, "conv3d")


def conv_transpose1d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    """The transposed convolution of sequences with ``weight`` ``(C, O / groups, K)``."""
    return _conv_transpose(input, weight, bias, stride, padding, output_padding, groups, dilation, 1)


def conv_transpose2d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    """The transposed convolution of images with ``weight`` ``(C, O / groups, KH, KW)``.

    It is the gradient of ``conv2d`` with respect to its input, and upsamples by ``stride``.
    """
    return _conv_transpose(input, weight, bias, stride, padding, output_padding, groups, dilation, 2)


def conv_transpose3d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    """The transposed convolution of volumes with ``weight`` ``(C, O / groups, KD, KH, KW)``."""
    return _conv_transpose(input, weight, bias, stride, padding, output_padding, groups, dilation, 3)


def conv_tbc(input, weight, bias, pad=0):
    """``conv1d`` of sequences ``(T, B, C)`` with ``weight`` ``(K, C, O)``."""
    bias = bias.to(input.dtype) if isinstance(bias, Tensor) else bias  # of any dtype
    out = conv1d(input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, padding=pad)
    return out.permute(2, 0, 1).contiguous()


def _conv(input, weight, bias, stride, padding, dilation, groups, n, name):
    if in_use.autocast:
        input, weight, bias = autocast(name, input, weight, bias)
    if isinstance(padding, str) and isinstance(bias, Tensor):
        bias = bias.to(input.dtype)  # with numbers as padding, PyTorch refuses another dtype
    input, settings = convolution_settings(input, weight, bias, stride, padding, dilation, groups, n, name)
    if input._a.ndim == n + 2:
        return ops.convolution(input, weight, bias, **settings)
    return ops.convolution(input.unsqueeze(0), weight, bias, **settings).squeeze(0)


def convolution_settings(input, weight, bias, stride, padding, dilation, groups, n, name):
    """(The input, padded if the op cannot pad it; the settings of the op). Raises for invalid arguments."""
    _check_tensors(input, weight, bias, n, name)
    stride, dilation = per_dim(stride, n, name, "stride"), per_dim(dilation, n, name, "dilation")
    kernel = weight._a.shape[2:]
    if isinstance(padding, str):
        input, padding = _named_padding(input, kernel, stride, padding, dilation, n, name)
    else:
        padding = per_dim(padding, n, name, "padding")
    _check_settings(stride, padding, dilation, groups, name)
    shape, size = input._a.shape, weight._a.shape
    _check_weight(size, groups)
    if shape[-n - 1] != size[1] * groups:
        raise RuntimeError(CHANNELS.format(what=f"groups={groups}", weight=list(size), input=list(shape),
                                           wanted=size[1] * groups, got=shape[-n - 1]))
    _check_bias(bias, size[0], size, "")
    _check_sizes(shape[-n:], kernel, padding, dilation)
    if 0 in kernel:
        raise RuntimeError(EMPTY_KERNEL.format(name=name, weight=list(size)))
    refuse_kinds(name, input._a, "b")
    _check_not_empty(shape, n)
    return input, {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}


def _conv_transpose(input, weight, bias, stride, padding, output_padding, groups, dilation, n):
    if in_use.autocast:
        input, weight, bias = autocast(f"conv_transpose{n}d", input, weight, bias)
    settings = transposed_settings(input, weight, bias, stride, padding, output_padding, groups, dilation, n)
    if input._a.ndim == n + 2:
        return ops.convolution_transposed(input, weight, bias, **settings)
    return ops.convolution_transposed(input.unsqueeze(0), weight, bias, **settings).squeeze(0)


def transposed_settings(input, weight, bias, stride, padding, output_padding, groups, dilation, n):
    """The settings of the op; raises for invalid arguments."""
    name = f"conv_transpose{n}d"
    _check_tensors(input, weight, bias, n, name)
    stride, padding = per_dim(stride, n, name, "stride"), per_dim(padding, n, name, "padding")
    extra, dilation = per_dim(output_padding, n, name, "output_padding"), per_dim(dilation, n, name, "dilation")
    _check_settings(stride, padding, dilation, groups, name)
    shape, size = input._a.shape, weight._a.shape
    _check_weight(size, groups)
    if shape[-n - 1] != size[0]:
        raise RuntimeError(CHANNELS.format(what="transposed=1", weight=list(size), input=list(shape), wanted=size[0],
                                           got=shape[-n - 1]))
    _check_bias(bias, size[1] * groups, size, "transposed=1, ")
    for e, s, d in zip(extra, stride, dilation, strict=True):
        if e < 0:
            raise RuntimeError(f"{name}(): negative output_padding is not supported, got {list(extra)}")
        if e >= s and e >= d:
            raise RuntimeError(f"output padding must be smaller than either stride or dilation, but got output_padding "
                               f"{list(extra)}, stride {list(stride)} and dilation {list(dilation)}")
    spatial = tuple([
        (m - 1) * s - 2 * p + d * (k - 1) + e + 1
        for m, s, p, d, k, e in zip(shape[-n:], stride, padding, dilation, size[2:], extra, strict=True)
    ])
    samples = shape[0] if len(shape) == n + 2 else 1
    several = groups > 1 or samples > 1  # of several, one of PyTorch's kernels makes an empty result
    may_be_empty = not samples or (several and all(e < s for e, s in zip(extra, stride, strict=True)))
    if min(spatial) < (0 if may_be_empty else 1):
        raise RuntimeError(f"Given input size per channel: {tuple(shape[-n:])}. Calculated output size per channel: "
                           f"{spatial}. Output size is too small")
    if 0 in size[2:]:
        raise RuntimeError(EMPTY_KERNEL.format(name=name, weight=list(size)))
    if input.dtype is not int64:
        refuse_kinds(name, input._a, "bi")
    _check_not_empty(shape, n)
    return {"spatial": spatial, "stride": stride, "padding": padding, "dilation": dilation, "groups": groups}


def _named_padding(input, kernel, stride, padding, dilation, n, name):
    """(input, padding) for ``"same"`` and ``"valid"``; uneven padding is applied to the input here, at the end."""
    if padding == "valid":
        return input, (0,) * n
    if padding != "same":
        raise RuntimeError(f"{name}(): Invalid padding string: {padding!r}, should be 'valid' or 'same'")
    if any([s != 1 for s in stride]):
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    total = [d * (k - 1) for d, k in zip(dilation, kernel, strict=True)]
    if any([t % 2 for t in total]):
        input = pad(input, [amount for t in reversed(total) for amount in (0, t % 2)])
    return input, tuple([t // 2 for t in total])


def _check_tensors(input, weight, bias, n, name):
    if not isinstance(input, Tensor):
        need_tensor(input, name)
    if not isinstance(weight, Tensor):
        need_tensor(weight, name, "weight", 2)
    if bias is not None and not isinstance(bias, Tensor):
        need_tensor(bias, name, "bias", 3)
    if input._a.ndim not in (n + 1, n + 2):
        raise RuntimeError(RANK.format(low=n + 1, high=n + 2, name=name, shape=list(input._a.shape)))
    if weight._a.ndim != n + 2:
        message = FLAT_WEIGHT if weight._a.ndim < 3 else WEIGHT_RANK
        raise RuntimeError(message.format(
            name=name, wanted=n + 2, weight_rank=weight._a.ndim, weight=list(weight._a.shape), rank=n + 2,
            shape=list(input._a.shape if input._a.ndim == n + 2 else (1, *input._a.shape)),
        ))
    if weight._a.dtype != input._a.dtype or (bias is not None and bias._a.dtype != input._a.dtype):
        raise _mixed_dtypes(input, weight, bias, name)


def _mixed_dtypes(input, weight, bias, name):
    """The error for mixed dtypes: PyTorch checks the bias first, with C++ names of the dtypes."""
    if bias is not None and bias.dtype is not input.dtype:
        own, other = [_dtypes.C_NAMES.get(t.dtype.name, t.dtype.name) for t in (input, bias)]
        return RuntimeError(NOT_SAME.format(name=name, other="bias", input=own, wrong=other, words=""))
    words = WORDS.format(input=_dtypes.type_word(input.dtype), weight=_dtypes.type_word(weight.dtype))
    return RuntimeError(NOT_SAME.format(name=name, other="weight", input=input.dtype, wrong=weight.dtype, words=words))


def _check_settings(stride, padding, dilation, groups, name):
    if min(padding) < 0:
        raise RuntimeError(f"{name}(): negative padding is not supported, got {list(padding)}")
    if min(stride) < 1:
        raise RuntimeError(f"{name}(): non-positive stride is not supported, got {list(stride)}")
    if min(dilation) < 1:
        raise RuntimeError(f"{name}(): dilation should be greater than zero, got {list(dilation)}")
    if groups < 1:
        raise RuntimeError(f"{name}(): non-positive groups is not supported, got {groups}")


def _check_weight(size, groups):
    if size[0] < groups:
        raise RuntimeError(TOO_FEW.format(groups=groups, weight=list(size)))
    if size[0] % groups:
        raise RuntimeError(GROUPS.format(groups=groups, weight=list(size)))


def _check_bias(bias, wanted, weight, what):
    if bias is not None and bias._a.shape != (wanted,):
        raise RuntimeError(BIAS.format(what=what, weight=list(weight), wanted=wanted, bias=list(bias._a.shape)))


def _check_not_empty(shape, n):
    """Raises for images without pixels, unless the batch is empty."""
    if 0 in shape[-n:] and 0 not in shape[:-n]:
        raise RuntimeError(NO_PIXELS.format(shape=list(shape)))


def _check_sizes(spatial, kernel, padding, dilation):
    for m, k, p, d in zip(spatial, kernel, padding, dilation, strict=True):
        if m + 2 * p < d * (k - 1) + 1:
            padded = tuple([m + 2 * p for m, p in zip(spatial, padding, strict=True)])
            reach = tuple([d * (k - 1) + 1 for k, d in zip(kernel, dilation, strict=True)])
            raise RuntimeError(TOO_SMALL.format(padded=padded, kernel=reach))
