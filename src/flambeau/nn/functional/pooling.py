"""Pooling."""

import math

from ..._dtypes import int64
from ..._signatures import set_name
from ..._tensor import Tensor
from ...functions._args import need_tensor
from ...ops import pooling as ops
from ...ops._errors import refuse_kinds
from ...ops.activation import relu
from ...ops.pointwise import sign
from ._sizes import per_dim

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d",
    "adaptive_max_pool1d_with_indices", "adaptive_max_pool2d", "adaptive_max_pool2d_with_indices",
    "adaptive_max_pool3d", "adaptive_max_pool3d_with_indices", "avg_pool1d", "avg_pool2d", "avg_pool3d", "lp_pool1d",
    "lp_pool2d", "lp_pool3d", "max_pool1d", "max_pool1d_with_indices", "max_pool2d", "max_pool2d_with_indices",
    "max_pool3d", "max_pool3d_with_indices", "max_unpool1d", "max_unpool2d", "max_unpool3d",
]

RANK = "{name}: non-empty {low}D or {high}D (batch mode) tensor expected for input, but got:{shape}"
SIZE = (
    "{name}: Expected {low}D or {high}D (batch mode) tensor with optional 0 dim batch size for input, but got:{shape}"
)
SIZE_OF_VOLUMES = (
    "{name}(): Expected input's non-batch dimensions to have positive length, but input has a shape of {shape}"
)
EMPTY = (
    "{name}(): Expected input to have non-zero size for non-batch dimensions, but input has sizes {shape} with "
    "dimension {dim} being empty"
)
NOT_POSITIVE = "{name}() {argument} must be greater than zero, but got {value}"
NEGATIVE_PADDING = "{name}(): pad must be non-negative, but got pad: {value}"
TOO_MUCH_PADDING = (
    "{name}(): pad should be at most half of effective kernel size, but got pad={padding}, kernel_size={kernel} and "
    "dilation={dilation}"
)
MORE_THAN_HALF = (
    "{name}(): padding should be at most half of kernel size, whatever the dilation: pad should be smaller than or "
    "equal to half of kernel size, but got padding={padding} and kernel_size={kernel}"
)
SMALLER_THAN_KERNEL = (
    "{name}(): input image (T: {sizes[0]} H: {sizes[1]} W: {sizes[2]}) smaller than kernel size (kT: {kernel[0]} "
    "kH: {kernel[1]} kW: {kernel[2]}). Pad the input first."
)
TOO_SMALL = (
    "{name}(): Given input size: {shape}. Calculated output size: {out}. Output size is too small. Invalid computed "
    "output size: {smallest}"
)
ONE_SIZE = "{name}() argument 'output_size' should contain one int (got {count})"
SIZES = "{name}: output_size must be {n} values, or one for all dimensions, but got {sizes}"
NEGATIVE_SIZE = (
    "{name}(): elements of output_size must be greater than or equal to 0 but received {sizes}. Trying to create "
    "tensor with negative dimension {smallest}"
)


# ---- arguments


def _add_batch(input, n, name, may_be_empty=False):
    """(input with a batch dimension, whether it had one)."""
    if not isinstance(input, Tensor):
        need_tensor(input, name)
    shape = input._a.shape
    if len(shape) not in (n + 1, n + 2):
        message = SIZE if n == 1 else RANK
    elif 0 in shape[-n - 1:] and not may_be_empty:
        message = SIZE_OF_VOLUMES if n == 3 else SIZE
    else:
        return (input, True) if len(shape) == n + 2 else (input.unsqueeze(0), False)
    raise RuntimeError(message.format(name=name, low=n + 1, high=n + 2, shape=list(shape)))


def _remove_batch(result, batched):
    if batched:
        return result
    return tuple([r.squeeze(0) for r in result]) if isinstance(result, tuple) else result.squeeze(0)


def _windows(kernel_size, stride, padding, dilation, n, name):
    """The settings of pooling: one number for each dimension."""
    kernel = per_dim(kernel_size, n, name, "kernel_size")
    stride = kernel if stride is None or stride == [] or stride == () else per_dim(stride, n, name, "stride")
    padding, dilation = per_dim(padding, n, name, "padding"), per_dim(dilation, n, name, "dilation")
    for argument, values in (("kernel_size", kernel), ("stride", stride), ("dilation", dilation)):
        if min(values) < 1:
            raise RuntimeError(NOT_POSITIVE.format(name=name, argument=argument, value=min(values)))
    if min(padding) < 0:
        raise RuntimeError(NEGATIVE_PADDING.format(name=name, value=min(padding)))
    for p, k, d in zip(padding, kernel, dilation, strict=True):
        if p > (d * (k - 1) + 1) // 2:
            raise RuntimeError(TOO_MUCH_PADDING.format(name=name, padding=p, kernel=k, dilation=d))
        if p > k // 2:
            raise RuntimeError(MORE_THAN_HALF.format(name=name, padding=p, kernel=k))
    return {"kernel": kernel, "stride": stride, "padding": padding, "dilation": dilation}


def _sizes(input, windows, ceil_mode, name):
    """The number of windows along each dimension."""
    shape = input._a.shape[2:]
    out = tuple([_count(*sizes, ceil_mode) for sizes in zip(shape, *windows.values(), strict=True)])
    if min(out) < 1:
        shape = tuple(input._a.shape[1:])
        raise RuntimeError(TOO_SMALL.format(name=name, shape=shape, out=out, smallest=min(out)))
    return out


def _count(n, k, s, p, d, ceil_mode):
    """The number of windows along a dimension."""
    last = n + 2 * p - d * (k - 1) - 1
    count = (last + (s - 1 if ceil_mode else 0)) // s + 1
    return count - 1 if ceil_mode and (count - 1) * s >= n + p else count


# ---- maxima


def _max_pool(n):
    name = f"max_pool{n}d"

    def with_indices(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
        windows = _windows(kernel_size, stride, padding, dilation, n, name)
        input, batched = _add_batch(input, n, name)
        return _remove_batch(ops.max_pool(input, **windows, sizes=_sizes(input, windows, ceil_mode, name)), batched)

    def max_pool(input, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False, return_indices=False):
        if n == 1 and not return_indices and isinstance(input, Tensor):
            refuse_kinds(name, input._a, "bi")
        found = with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)
        return found if return_indices else found[0]

    doc = "The largest element of each window, {} its place. See ``MaxPool{}d``."
    return (set_name(max_pool, name, doc.format("with ``return_indices``", n)),
            set_name(with_indices, name + "_with_indices", doc.format("and", n)))


def _adaptive_max_pool(n):
    name = f"adaptive_max_pool{n}d"

    def with_indices(input, output_size, return_indices=False):
        input, batched, sizes = _adaptive(input, output_size, n, name)
        _check_not_empty(input, batched, name, 1)
        return _remove_batch(ops.adaptive_max_pool(input, sizes=sizes), batched)

    def adaptive_max_pool(input, output_size, return_indices=False):
        found = with_indices(input, output_size)
        return found if return_indices else found[0]

    doc = "The largest elements of ``output_size`` windows, {} their places."
    return (set_name(adaptive_max_pool, name, doc.format("with ``return_indices``")),
            set_name(with_indices, name + "_with_indices", doc.format("and")))


def _adaptive(input, output_size, n, name):
    """(batched input, whether it was batched, output sizes) of adaptive pooling; None keeps a size."""
    if output_size is None or (n == 1 and output_size in ((None,), [None])):
        raise TypeError(f"{name}(): argument 'output_size' must be tuple of ints, not {output_size}: the dimensions of "
                        f"images and volumes keep their size by a None in a tuple for each, as in {(None, 2)}")
    several = isinstance(output_size, (tuple, list))
    sizes = output_size if several else (output_size,) * n
    if n > 1 and several and isinstance(input, Tensor) and input._a.ndim <= len(sizes):
        raise ValueError(f"{name}(): Input dimension should be at least {len(sizes) + 1}, but got {list(input.shape)}")
    input, batched = _add_batch(input, n, name, may_be_empty=True)
    if len(sizes) == 1:
        sizes = tuple(sizes) * n
    if len(sizes) != n:
        raise RuntimeError(ONE_SIZE.format(name=name, count=len(sizes)) if n == 1 else
                           SIZES.format(name=name, n=n, sizes=list(sizes)))
    given = [m if size is None else size for size, m in zip(sizes, input._a.shape[2:], strict=True)]
    found = per_dim(given, n, name, "output_size")
    if min(found) < 0:
        raise RuntimeError(NEGATIVE_SIZE.format(name=name, sizes=list(found), smallest=min(found)))
    return input, batched, found


def _check_not_empty(input, batched, name, first):
    """Raises for inputs that are empty along a dimension from `first` on, other than the user's first."""
    shape = input._a.shape if batched else input._a.shape[1:]
    for dim in range(max(first - (not batched), 1), len(shape)):
        if not shape[dim]:
            raise RuntimeError(EMPTY.format(name=name, shape=list(shape), dim=dim))


max_pool1d, max_pool1d_with_indices = _max_pool(1)
max_pool2d, max_pool2d_with_indices = _max_pool(2)
max_pool3d, max_pool3d_with_indices = _max_pool(3)
adaptive_max_pool1d, adaptive_max_pool1d_with_indices = _adaptive_max_pool(1)
adaptive_max_pool2d, adaptive_max_pool2d_with_indices = _adaptive_max_pool(2)
adaptive_max_pool3d, adaptive_max_pool3d_with_indices = _adaptive_max_pool(3)


def _max_unpool(input, indices, kernel_size, stride, padding, output_size, n):
    name = f"max_unpool{n}d"
    input, batched = _add_batch(input, n, name)
    kernel = per_dim(kernel_size, n, name, "kernel_size")
    stride = kernel if stride is None else per_dim(stride, n, name, "stride")
    padding = per_dim(padding, n, name, "padding")
    spatial = _unpooled_size(input._a.shape[2:], kernel, stride, padding, output_size, n)
    if indices._a.dtype.name != "int64":
        raise RuntimeError(f"elements in indices should be type int64 but got: {indices.dtype}")
    indices = indices if batched else indices.unsqueeze(0)
    if indices._a.shape != input._a.shape:
        raise RuntimeError(f"Expected shape of indices to be same as that of the input tensor ({list(input.shape)}) "
                           f"but got indices tensor with shape: {list(indices.shape)}")
    refuse_kinds(name, input._a, "bi")
    places = spatial[0]
    for m in spatial[1:]:
        places *= m
    if min(spatial) == 0:
        return _remove_batch(input.flatten(2)[..., :0].reshape(*input.shape[:2], *spatial), batched)
    if indices._a.size and not 0 <= int(indices.min()) <= int(indices.max()) < places:
        raise RuntimeError(f"{name}(): found an invalid max index: the indices reach from {int(indices.min())} to "
                           f"{int(indices.max())}, the output size is {list(spatial)}")
    return _remove_batch(ops.max_unpool(input, indices, spatial=spatial), batched)


def _unpooled_size(spatial, kernel, stride, padding, output_size, n):
    default = [(m - 1) * s + k - 2 * p for m, s, k, p in zip(spatial, stride, kernel, padding, strict=True)]
    if output_size is None:
        return tuple(default)
    output_size = tuple(output_size)
    if len(output_size) == n + 2:
        output_size = output_size[2:]
    if len(output_size) != n:
        raise ValueError(f"output_size should be a sequence containing {n} or {n + 2} elements, but it has a length of "
                         f"'{len(output_size)}'")
    for size, m, s in zip(output_size, default, stride, strict=True):
        if not m - s < size < m + s:
            raise ValueError(f'invalid output_size "{output_size}" (each must be within its stride of {default})')
    return output_size


def max_unpool1d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """A partial inverse of ``max_pool1d``: zeros, with ``input`` at the indices of the maxima."""
    return _max_unpool(input, indices, kernel_size, stride, padding, output_size, 1)


def max_unpool2d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """A partial inverse of ``max_pool2d``: zeros, with ``input`` at the indices of the maxima."""
    return _max_unpool(input, indices, kernel_size, stride, padding, output_size, 2)


def max_unpool3d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """A partial inverse of ``max_pool3d``: zeros, with ``input`` at the indices of the maxima."""
    return _max_unpool(input, indices, kernel_size, stride, padding, output_size, 3)


# ---- means


def _avg_pool(input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override, n):
    name = f"avg_pool{n}d"
    windows = _windows(kernel_size, stride, padding, 1, n, name)
    input, batched = _add_batch(input, n, name)
    if divisor_override == 0:
        raise RuntimeError("divisor must be not zero")
    if input.dtype is not int64:
        refuse_kinds(name, input._a, "bi")
    sizes = _sizes(input, windows, ceil_mode, name)
    if n == 3:
        _check_not_smaller(input._a.shape[2:], windows["kernel"], name)
    del windows["dilation"]
    result = ops.avg_pool(input, **windows, sizes=sizes, include_pad=bool(count_include_pad), override=divisor_override)
    return _remove_batch(result, batched)


def _check_not_smaller(sizes, kernel, name):
    """Raises for volumes smaller than a window, whatever the padding."""
    if any(size < k for size, k in zip(sizes, kernel, strict=True)):
        raise RuntimeError(SMALLER_THAN_KERNEL.format(name=name, sizes=sizes, kernel=kernel))


def avg_pool1d(input, kernel_size, stride=(), padding=0, ceil_mode=False, count_include_pad=True):
    """The mean of each window of sequences. See ``AvgPool1d``."""
    return _avg_pool(input, kernel_size, stride, padding, ceil_mode, count_include_pad, None, 1)


def avg_pool2d(
    input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None
):
    """The mean of each window of images. See ``AvgPool2d``."""
    return _avg_pool(input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override, 2)


def avg_pool3d(
    input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None
):
    """The mean of each window of volumes. See ``AvgPool3d``."""
    return _avg_pool(input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override, 3)


def _adaptive_avg_pool(input, output_size, n):
    name = f"adaptive_avg_pool{n}d"
    if n > 1 and type(output_size) is int and output_size == 1:  # a plain mean, of any number of dimensions
        return need_tensor(input, name).mean(tuple(range(-n, 0)), keepdim=True)
    input, batched, out = _adaptive(input, output_size, n, name)
    if out == (1,) * n and (n > 1 or 0 in input._a.shape):
        return _remove_batch(input.mean(tuple(range(-n, 0)), keepdim=True), batched)
    _check_not_empty(input, batched, name, 1 if n == 3 else 2)
    return _remove_batch(ops.adaptive_avg_pool(input, sizes=out), batched)


def adaptive_avg_pool1d(input, output_size):
    """The means of ``output_size`` windows of sequences."""
    return _adaptive_avg_pool(input, output_size, 1)


def adaptive_avg_pool2d(input, output_size):
    """The means of ``output_size`` windows of images: one number, or one per dimension; None keeps a size."""
    return _adaptive_avg_pool(input, output_size, 2)


def adaptive_avg_pool3d(input, output_size):
    """The means of ``output_size`` windows of volumes."""
    return _adaptive_avg_pool(input, output_size, 3)


# ---- p-norms


def _lp_pool(mean_of, largest_of, input, norm_type, kernel_size, stride, ceil_mode, n):
    power = float(norm_type)
    if math.isinf(power):  # the limit: the largest magnitude, or the smallest
        sense = math.copysign(1.0, power)
        return largest_of(input.abs() * sense, kernel_size, stride, 0, 1, ceil_mode) * sense
    if n == 1 and isinstance(kernel_size, (tuple, list)):
        raise TypeError(f"lp_pool1d(): argument 'kernel_size' must be int, not {type(kernel_size).__name__}")
    mean = mean_of(input.pow(norm_type), kernel_size, stride, 0, ceil_mode)
    count = 1
    for k in per_dim(kernel_size, n, f"lp_pool{n}d", "kernel_size"):
        count *= k
    return (sign(mean) * relu(mean.abs())).mul(count).pow(1.0 / power)


def lp_pool1d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    """The p-norm of each window of sequences."""
    return _lp_pool(avg_pool1d, max_pool1d, input, norm_type, kernel_size, stride, ceil_mode, 1)


def lp_pool2d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    """The p-norm of each window of images."""
    return _lp_pool(avg_pool2d, max_pool2d, input, norm_type, kernel_size, stride, ceil_mode, 2)


def lp_pool3d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    """The p-norm of each window of volumes."""
    return _lp_pool(avg_pool3d, max_pool3d, input, norm_type, kernel_size, stride, ceil_mode, 3)
