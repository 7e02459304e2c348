"""Fractional max pooling: windows at random steps."""

from ..._signatures import set_name
from ...functions._args import as_int, need_tensor
from ...functions.random import rand
from ...ops import pooling as ops

__all__ = [
    "fractional_max_pool2d", "fractional_max_pool2d_with_indices", "fractional_max_pool3d",
    "fractional_max_pool3d_with_indices",
]

NO_SIZE = "{name} requires specifying either an output_size or an output_ratio"
RATIOS = "{name}(): output_ratio has no len(): it must be a tuple with a number for each of {n} dimensions, not {kind}"
WRONG_RATIOS = "{name} requires output_ratio to either be a single Int or tuple of Ints with {n} entries, got {ratio}"
NOT_INTS = "{name}: {argument} must either be a single Int or tuple of Ints with {n} entries, got {value}"
RANK = "Dimension out of range: {name} expects input with {low} dimensions, or {high} with the batch's, but got {shape}"
TOO_MANY = "{name}(): Expected {low}D or {high}D tensor, but got: {shape}"
EMPTY = (
    "{name}(): Expected input to have non-zero size for non-batch dimensions, but got {shape} with dimension {dim} "
    "being empty."
)
TOO_LARGE = (
    "{name}(): pool size {size} too large relative to input size {n} in dimension {dim}: {m} windows need at least "
    "{need} elements"
)
KERNEL = "{name}() kernel_size must be greater than zero, but got {value}: a window without elements has no largest one"
SAMPLES_DTYPE = "{name}: Expect _random_samples to have the same dtype as input, {input}, but got {got}"
SAMPLES_RANK = "{name}: Expect _random_samples to have 3 dimensions, got {ndim}"
SAMPLES_SIZE = "{name}: Expect _random_samples.size({dim}) equals to {what} {want}; got {got}."


def _fractional_max_pool(n):
    name = f"fractional_max_pool{n}d"

    def with_indices(input, kernel_size, output_size=None, output_ratio=None, return_indices=False,
                     _random_samples=None):
        need_tensor(input, name)
        shape = tuple(input.shape)
        if len(shape) < n + 1:
            raise IndexError(RANK.format(name=name, low=n + 1, high=n + 2, shape=list(shape)))
        sizes = _sizes(shape[-n:], output_size, output_ratio, n, name)
        samples = _random_samples
        if samples is None:
            samples = rand(1 if len(shape) == n + 1 else shape[0], shape[-n - 1], n, dtype=input.dtype,
                           device=input.device)
        kernel = _ints(kernel_size, "kernel_size", n, name)
        _check(input, samples, shape, kernel, sizes, n, name)
        if n == 2:
            samples = samples.flip(-1)  # for images, the first sample is for the width
        if len(shape) == n + 2:
            return ops.fractional_max_pool(input, samples[: shape[0]], kernel=kernel, sizes=sizes)
        found = ops.fractional_max_pool(input.unsqueeze(0), samples[:1], kernel=kernel, sizes=sizes)
        return tuple([part.squeeze(0) for part in found])

    def fractional_max_pool(input, kernel_size, output_size=None, output_ratio=None, return_indices=False,
                            _random_samples=None):
        found = with_indices(input, kernel_size, output_size, output_ratio, return_indices, _random_samples)
        return found if return_indices else found[0]

    doc = "Maxima over windows in random steps{}. See ``FractionalMaxPool{}d``."
    return (set_name(fractional_max_pool, name, doc.format("", n)),
            set_name(with_indices, name + "_with_indices", doc.format(", and their places", n)))


def _sizes(spatial, output_size, output_ratio, n, name):
    """The number of windows along each dimension."""
    if output_size is not None:
        return _ints(output_size, "output_size", n, name)
    if output_ratio is None:
        raise ValueError(NO_SIZE.format(name=name))
    if n == 3 and isinstance(output_ratio, (int, float)):
        output_ratio = (output_ratio,) * n
    if not isinstance(output_ratio, (tuple, list)):
        raise TypeError(RATIOS.format(name=name, n=n, kind=type(output_ratio).__name__))
    if len(output_ratio) != n:
        kind = ValueError if len(output_ratio) > n else IndexError
        raise kind(WRONG_RATIOS.format(name=name, n=n, ratio=output_ratio))
    return tuple([int(size * ratio) for size, ratio in zip(spatial, output_ratio, strict=True)])


def _ints(value, argument, n, name):
    if not isinstance(value, (tuple, list)):
        return (as_int(value, name, argument),) * n
    if len(value) not in (1, n):
        raise RuntimeError(NOT_INTS.format(name=name, argument=argument, n=n, value=tuple(value)))
    return tuple([as_int(v, name, argument) for v in value]) * (n // len(value))


def _check(input, samples, shape, kernel, sizes, n, name):
    batched = len(shape) == n + 2
    if len(shape) > n + 2:
        raise RuntimeError(TOO_MANY.format(name=name, low=n + 1, high=n + 2, shape=list(shape)))
    if min(kernel) < 1:
        raise RuntimeError(KERNEL.format(name=name, value=min(kernel)))
    for dim in range(1, len(shape)):
        if not shape[dim]:
            raise RuntimeError(EMPTY.format(name=name, shape=list(shape), dim=dim))
    for dim, (m, size, length) in enumerate(zip(sizes, kernel, shape[-n:], strict=True), len(shape) - n):
        need = m + size - (n == 2)  # as in PyTorch, volumes need one element more
        if need > length:
            raise RuntimeError(TOO_LARGE.format(name=name, size=size, n=length, dim=dim, m=m, need=need))
    if samples.dtype is not input.dtype:
        raise RuntimeError(SAMPLES_DTYPE.format(name=name, input=input.dtype, got=samples.dtype))
    if samples.ndim != 3:
        raise RuntimeError(SAMPLES_RANK.format(name=name, ndim=samples.ndim))
    wanted = (shape[0] if batched else 1, shape[-n - 1], n)
    for dim, what in ((1, "input channel size"), (2, "the number of dimensions"), (0, "input batch size")):
        if samples.shape[dim] != wanted[dim] and (dim or samples.shape[0] < wanted[0]):
            raise RuntimeError(SAMPLES_SIZE.format(name=name, dim=dim, what=what, want=wanted[dim],
                                                   got=samples.shape[dim]))


fractional_max_pool2d, fractional_max_pool2d_with_indices = _fractional_max_pool(2)
fractional_max_pool3d, fractional_max_pool3d_with_indices = _fractional_max_pool(3)
