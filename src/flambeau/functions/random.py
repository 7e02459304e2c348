"""Random sampling, with PyTorch's random number streams."""

import math
from functools import partial

import numpy as np

from .. import _dtypes
from .._device import CPU, META, chosen, resolve, strided
from .._dtypes import type_word
from .._layout import is_contiguous, preserved_strides
from .._modes import in_use, modes
from .._tensor import Tensor, engine_for, wrap
from ..engines import NUMPY, engine_on, is_traced, on_host
from ..ops.random import redrawn
from ..random import default_generator, source
from ._args import as_int, need_tensor, nonnegative, np_dtype_of, shape_from
from ._attach import methods
from ._out import out_variant, own, resize_without_warning, same
from ._randomness import draw_samples, draws_by_level, sampling_levels
from ._types import typed
from .like import create, empty_like, shape_of_arguments

__all__ = [
    "bernoulli", "multinomial", "normal", "rand", "rand_like", "randint", "randint_like", "randn", "randn_like",
    "randperm",
]

MOST_CATEGORIES = 2**24  # the integers that float32 represents exactly


def blank_like(like, dtype):
    """Uninitialised memory with the strides of a tensor, including gaps, which affect the order of drawing."""
    if like.is_contiguous():
        return np.empty(like._a.shape, dtype)
    shape, strides = like._a.shape, like.stride()
    dense = np.ndarray(shape, dtype, strides=tuple([s * dtype.itemsize for s in preserved_strides(shape, strides)]))
    gaps = dense.flags.c_contiguous and not is_contiguous(shape, strides)
    return np.empty((*shape, 2), dtype)[..., 0] if gaps else dense


def elements(value):
    """A parameter of a sampling kernel: a number, or an array that NumPy can read (tracing rejects others)."""
    if not isinstance(value, Tensor):
        return value
    return value._a if is_traced(value._a) else on_host(value._a, "a draw")


def tensor_like(array, like):
    """A tensor of the drawn numbers, on the device of `like`."""
    t = wrap(np.asarray(array))
    return t if like.device is CPU else t.to(like.device)


def draw_like(t, blank, draw):
    """The result of ``draw(blank)`` as a tensor on the device of `t`; inside vmaps with memory for all samples."""
    if not sampling_levels():
        return tensor_like(draw(blank), t)
    return draw_samples(lambda shape: tensor_like(draw(np.empty(shape, blank.dtype)), t), blank.shape)


class Draw:
    """A sampling kernel, by name, and its parameters."""

    def __init__(self, kernel, *values):
        self.kernel = kernel
        self.values = values

    def fill(self, generator, array, device=CPU):
        """Fills a NumPy array, whose numbers may be meant for another device, and returns it."""
        getattr(NUMPY, self.kernel)(source(generator, device), array, *self.values)
        return array

    def on_device(self, generator, shape, dtype, device):
        """An array of numbers that a device draws itself; None if they must be drawn on the CPU and copied.

        That is the case for a given CPU generator, and inside vmaps.
        """
        is_given = generator is not None and source(generator, device).device.type == "cpu"
        if device is CPU or device is META or is_given or sampling_levels():
            return None
        return engine_on(device).draw(self.kernel, source(generator, device), shape, dtype, device, *self.values)


def is_eager_on_cpu(layout, device):
    """Whether a draw is for a new tensor on the CPU, outside of transforms and traces."""
    on_cpu = (device is None and not chosen.default) or resolve(device) is CPU
    return on_cpu and layout is None and not in_use.levels and not (in_use.traced and modes.tracer.active)


def _draw(name, new, kernel, values, shape, dtype, out, generator, layout, device, requires_grad):
    """A tensor of a shape, from a kernel that draws into a `new` array, or that fills one; on the meta device, nothing
    is drawn."""
    if out is None and is_eager_on_cpu(layout, device):
        generator = default_generator if generator is None else source(generator)
        t = wrap(new(generator, shape, dtype, values[0], values[1]))
        if requires_grad:
            t.requires_grad = True
        return t
    draw = Draw(kernel, *values)
    return draw_samples(partial(_draw_plain, name, draw, out, generator, layout, dtype, device, requires_grad), shape)


def _draw_plain(name, draw, out, generator, layout, dtype, device, requires_grad, shape):
    device = out.device if device is None and out is not None else device
    drawn = None
    if out is None and layout in (None, strided):
        drawn = draw.on_device(generator, shape, dtype, resolve(device))
    if drawn is not None:
        return wrap(drawn, resolve(device)).requires_grad_(requires_grad)

    def make(shape, dtype):
        return draw.fill(generator, _memory(shape, dtype, out), resolve(device))

    return create(name, make, shape, dtype, layout, device, requires_grad)


def _memory(shape, dtype, out):
    """Uninitialised memory for random numbers; with ``out=``, of its dtype and memory order.

    The order matters because numbers are drawn in memory order.
    """
    if out is None or out.device is META:
        return np.empty(shape, dtype)
    return blank_like(out, out._a.dtype) if out._a.shape == shape else np.empty(shape, out._a.dtype)


@out_variant(dtype=own, fit=resize_without_warning)
def rand(*args, size=None, generator=None, out=None, dtype=None, layout=None, device=None, pin_memory=False,
         requires_grad=False, names=None):
    """Uniform numbers in [0, 1)."""
    shape = NUMPY.plain_shape(args) or shape_of_arguments("rand", args, size)
    return _draw("rand", NUMPY.new_uniform, "fill_uniform", (0.0, 1.0), shape, np_dtype_of(dtype), out, generator,
                 layout, device, requires_grad)


@out_variant(dtype=own, fit=resize_without_warning)
def randn(*args, size=None, generator=None, out=None, dtype=None, layout=None, device=None, pin_memory=False,
          requires_grad=False, names=None):
    """Normal numbers with mean 0 and standard deviation 1."""
    shape = NUMPY.plain_shape(args) or shape_of_arguments("randn", args, size)
    return _draw("randn", NUMPY.new_normal, "fill_normal", (0.0, 1.0), shape, np_dtype_of(dtype), out, generator,
                 layout, device, requires_grad)


@out_variant(dtype=own, fit=resize_without_warning)
def randint(*args, low=None, high=None, size=None, generator=None, out=None, dtype=None, layout=None, device=None,
            pin_memory=False, requires_grad=False):
    """Integers in [low, high): ``randint(high, size)`` or ``randint(low, high, size)``."""
    if size is None:
        if not args or not isinstance(args[-1], (tuple, list)):
            raise TypeError("randint() expects a size: randint(high, (2, 3)) or randint(low, high, (2, 3))")
        args, size = args[:-1], args[-1]
    if len(args) + (low is not None) + (high is not None) > 2:
        raise TypeError("randint() takes at most low, high and size")
    if len(args) == 2:
        low, high = args
    elif args:
        low, high = (args[0], high) if high is not None else (low, args[0])
    low = 0 if low is None else as_int(low, "randint", "low")
    high = high if type(high) is int else as_int(high, "randint", "high")
    if low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    shape = NUMPY.plain_shape((size,)) or nonnegative(shape_from((tuple(size),), name="randint"))
    dtype = np_dtype_of(dtype, _dtypes.int64)
    return _draw("randint", NUMPY.new_random, "fill_random", (low, high), shape, dtype, out, generator, layout, device,
                 requires_grad)


@out_variant(dtype=own, fit=resize_without_warning)
def randperm(n, *, generator=None, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False):
    """A random permutation of 0, …, n - 1."""
    n = as_int(n, "randperm", "n")
    if n < 0:
        raise RuntimeError(f"n must be non-negative, got {n}")
    np_dtype = np_dtype_of(dtype, _dtypes.int64)
    if is_eager_on_cpu(layout, device):
        t = wrap(NUMPY.new_permutation(source(generator), (n,), np_dtype))
        if requires_grad:
            t.requires_grad = True
        return t
    if resolve(device) is META:
        return create("randperm", np.empty, (n,), np_dtype, layout, device, requires_grad)
    t = draw_samples(lambda shape: _permutations(generator, shape, np_dtype, resolve(device)), (n,))
    t.requires_grad = requires_grad
    return t


def _permutations(generator, shape, dtype, device):
    """Random permutations along the last dimension."""
    *lead, n = shape
    drawn = Draw("permutation").on_device(generator, shape, dtype, device)
    if drawn is not None:
        return wrap(drawn, device)
    generator = source(generator, device)
    if not lead:
        return wrap(NUMPY.permutation(generator, n, dtype)).to(device)
    rows = [NUMPY.permutation(generator, n, dtype) for _ in range(math.prod(lead))]
    return wrap(np.stack(rows).reshape(shape)).to(device)


def _like(input, name, new, kernel, values, generator, requires_grad, dtype, layout, device, memory_format):
    need_tensor(input, name)
    a = input._a
    is_plain = layout is None and device is None and memory_format is None and engine_for(input) is NUMPY
    if is_plain and not in_use.levels and a.flags.c_contiguous and 1 not in a.shape:
        own = a.dtype if dtype is None else np_dtype_of(dtype)
        return _draw(name, new, kernel, values, a.shape, own, None, generator, None, CPU, requires_grad)
    draw = Draw(kernel, *values)
    if sampling_levels():
        place = np_dtype_of(dtype or input.dtype), device or input.device
        return draw_samples(partial(_draw_plain, name, draw, None, generator, None, *place, requires_grad), a.shape)
    device = resolve(device or input.device)
    t = empty_like(input, dtype=dtype, layout=layout, memory_format=memory_format,
                   device=META if device is META else CPU)
    drawn = draw.on_device(generator, t._a.shape, t._a.dtype, device) if t.is_contiguous() else None
    if drawn is not None:
        t = wrap(drawn, device)
    elif device is not META:
        draw.fill(generator, t._a, device)
        t = t.to(device)
    t.requires_grad = requires_grad
    return t


def rand_like(input, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False, memory_format=None,
              generator=None):
    """``rand`` with the shape and dtype of another tensor."""
    return _like(input, "rand_like", NUMPY.new_uniform, "fill_uniform", (0.0, 1.0), generator, requires_grad, dtype,
                 layout, device, memory_format)


def randn_like(input, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False,
               memory_format=None, generator=None):
    """``randn`` with the shape and dtype of another tensor."""
    return _like(input, "randn_like", NUMPY.new_normal, "fill_normal", (0.0, 1.0), generator, requires_grad, dtype,
                 layout, device, memory_format)


def randint_like(input, *args, low=None, high=None, dtype=None, layout=None, device=None, pin_memory=False,
                 requires_grad=False, memory_format=None, generator=None):
    """``randint`` with the shape and dtype of x: ``randint_like(x, high)`` or ``randint_like(x, low, high)``."""
    if len(args) == 2:
        low, high = args
    elif args:
        low, high = (args[0], high) if high is not None else (low, args[0])
    if isinstance(high, Tensor):
        high = high.item()
    low, high = as_int(0 if low is None else low, "randint_like", "low"), as_int(high, "randint_like", "high")
    return _like(input, "randint_like", NUMPY.new_random, "fill_random", (low, high), generator, requires_grad, dtype,
                 layout, device, memory_format)


def floating(result, out, name, args):
    """Dtypes that normal numbers can be drawn in."""
    if not _dtypes.is_inexact(out.np):
        raise NotImplementedError(f"\"normal_kernel_cpu\" not implemented for '{type_word(out)}'")


@out_variant(dtype=floating)
@draws_by_level
def normal(mean=0.0, std=1.0, size=None, *, generator=None, out=None, dtype=None, layout=None, device=None,
           pin_memory=False, requires_grad=False):
    """Normal numbers: one per mean and standard deviation, or of a given ``size`` with numbers for both."""
    if not isinstance(mean, Tensor) and not isinstance(std, Tensor):
        if size is None:
            raise TypeError("normal() needs a size when mean and std are numbers")
        shape = NUMPY.plain_shape((size,)) or nonnegative(shape_from((size,), name="normal"))
        return _draw("normal", NUMPY.new_normal, "fill_normal", (mean, std), shape, np_dtype_of(dtype), out, generator,
                     layout, device, requires_grad)
    if isinstance(std, Tensor) and std._a.dtype.kind == "c":
        raise RuntimeError(f"normal expects standard deviation to be non-complex, got {std.dtype}")
    like = mean if isinstance(mean, Tensor) else std
    arrays = elements(mean), elements(std)
    memory = _memory(np.broadcast_shapes(*map(np.shape, arrays)), like.dtype.np, out)
    result = tensor_like(NUMPY.fill_normal_each(source(generator, like.device), memory, *arrays), like)
    node = f"NormalBackward{isinstance(mean, Tensor) + 2 * isinstance(std, Tensor)}"
    for given in (mean, std):
        if modes.grad and isinstance(given, Tensor) and given.requires_grad:
            result = redrawn(given, result, node=node)
    return result


def by_probabilities(result, out, name, args):
    """Any dtype; PyTorch supports ``out=`` only with a tensor of probabilities."""
    if args[1] is not None:
        raise TypeError(f"{name}() received an invalid combination of arguments: p= and out= cannot be combined")


@out_variant(dtype=by_probabilities, fit=resize_without_warning)
@draws_by_level
def bernoulli(input, p=None, *, generator=None, out=None):
    """Ones with the probabilities in `input` (or with probability `p`, in the shape of `input`)."""
    need_tensor(input, "bernoulli")
    if input.device is META:
        return input.detach().clone()
    array = _memory(input._a.shape, input._a.dtype, out)
    generator = source(generator, input.device)
    result = tensor_like(NUMPY.fill_bernoulli(generator, array, elements(input) if p is None else p), input)
    if modes.grad and input.requires_grad:
        result = redrawn(input, result, node="BernoulliBackward0")
    return result


def _bernoulli(self, p=None, *, generator=None):
    """Ones with the probabilities in the tensor (or with probability `p`, in its shape)."""
    return bernoulli(self, p, generator=generator)


@out_variant(dtype=same, fit=resize_without_warning, aliases="any")
@draws_by_level
@typed(num_samples=int, replacement=bool)
def multinomial(input, num_samples, replacement=False, *, generator=None):
    """Indices drawn with the last dimension of `input` as weights."""
    need_tensor(input, "multinomial")
    if input.dtype.category != _dtypes.FLOAT:
        raise RuntimeError("multinomial only supports floating-point dtypes for input, got: " + str(input.dtype))
    if input._a.ndim and input._a.shape[-1] > MOST_CATEGORIES:
        raise RuntimeError(f"number of categories cannot exceed 2^24, got {input._a.shape[-1]}")
    n = as_int(num_samples, "multinomial", "num_samples")
    if input.device is META:
        result = create("multinomial", None, (*input._a.shape[:-1], n), np.dtype(np.int64), None, META, False)
    else:
        generator = source(generator, input.device)
        result = tensor_like(NUMPY.multinomial(generator, elements(input), n, replacement), input)
    return result


methods(multinomial, bernoulli=_bernoulli)
