"""Random draws: PyTorch's numbers for PyTorch's seeds."""

from __future__ import annotations

import contextlib
import functools
import math
import os

import numpy as np

from .. import _dtypes
from .._device import CPU, META, resolve, strided
from .._dtypes import type_word
from .._generator import Generator
from .._layout import is_contiguous, preserved_strides
from .._modes import in_use, modes
from .._tensor import Tensor, engine_for, wrap
from ..autograd._writes import assign, check_history, check_writable, in_graph, write
from ..engines import NUMPY, engine_on, is_traced, on_host
from ..ops.random import redrawn
from ._args import as_int, need_tensor, nonnegative, np_dtype_of, shape_from
from ._attach import methods
from ._out import out_variant, own, resize_silently, same
from ._randomness import check_in_place, draw_samples, draws_by_level, sampling_levels
from ._types import typed
from .like import create, empty_like, shape_of_arguments

__all__ = [
    "bernoulli", "default_generator", "fork_rng", "get_rng_state", "initial_seed", "manual_seed",
    "multinomial", "normal", "rand", "rand_like", "randint", "randint_like", "randn", "randn_like",
    "randperm", "seed", "set_rng_state",
]

default_generator = Generator()
if hasattr(os, "register_at_fork"):  # a fork waits for who draws, or the child would find the lock taken for ever
    _lock = default_generator._lock
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)
MOST_CATEGORIES = 2**24  # that a float32 counts one by one


# ---- the default generator


def manual_seed(seed):
    """Seeds the default generator, and returns it."""
    return default_generator.manual_seed(int(seed))


def seed():
    """Seeds the default generator from the operating system, and returns the seed."""
    return default_generator.seed()


def initial_seed():
    """The seed of the default generator."""
    return default_generator.initial_seed()


def get_rng_state():
    """The state of the default generator, as a tensor of bytes."""
    return default_generator.get_state()


def set_rng_state(new_state):
    """Puts the default generator into a state that ``get_rng_state`` gave."""
    default_generator.set_state(new_state)


@contextlib.contextmanager
def fork_rng(devices=None, enabled=True, _caller="fork_rng", _devices_kw="devices", device_type=None):
    """Afterwards the default generator is where it was before."""
    if not enabled:
        yield
        return
    before = default_generator.get_state()
    try:
        yield
    finally:
        default_generator.set_state(before)


def source(generator, device=CPU):
    """The generator to draw from, for numbers on a device: of that device, or of the CPU."""
    if generator is None:
        return default_generator
    if not isinstance(generator, Generator):
        raise TypeError(f"argument 'generator' must be Generator, not {type(generator).__name__}")
    if generator.device.type not in ("cpu", device.type):
        raise RuntimeError(f"Expected a '{device.type}' device type for generator but found '{generator.device}'")
    return generator


# ---- new tensors


def blank_like(like, dtype):
    """Uninitialised memory in the order of a tensor, with gaps where it has gaps: what is drawn depends on both."""
    if like.is_contiguous():
        return np.empty(like._a.shape, dtype)
    shape, strides = like._a.shape, like.stride()
    dense = np.ndarray(shape, dtype, strides=tuple([s * dtype.itemsize for s in preserved_strides(shape, strides)]))
    gaps = dense.flags.c_contiguous and not is_contiguous(shape, strides)
    return np.empty((*shape, 2), dtype)[..., 0] if gaps else dense


def elements(value):
    """What a kernel draws by: a number, or an array that NumPy can read. (What is traced, the trace refuses.)"""
    if not isinstance(value, Tensor):
        return value
    return value._a if is_traced(value._a) else on_host(value._a, "a draw")


def tensor_like(array, like):
    """A tensor of numbers that were drawn, on the device of another one."""
    t = wrap(np.asarray(array))
    return t if like.device is CPU else t.to(like.device)


def draw_like(t, blank, draw):
    """What ``draw(blank)`` draws, as a tensor where `t` is; inside of vmaps in memory for all their samples."""
    if not sampling_levels():
        return tensor_like(draw(blank), t)
    return draw_samples(lambda shape: tensor_like(draw(np.empty(shape, blank.dtype)), t), blank.shape)


class Draw:
    """A kernel that draws, by name, and the values that it draws by."""

    def __init__(self, kernel, *values):
        self.kernel = kernel
        self.values = values

    def fill(self, generator, array, device=CPU):
        """Fills an array of NumPy's, with numbers that go to a device, and returns it."""
        getattr(NUMPY, self.kernel)(source(generator, device), array, *self.values)
        return array

    def new(self, shape, generator, dtype):
        return self.fill(generator, np.empty(shape, dtype))

    def on_device(self, generator, shape, dtype, device):
        """An array of numbers that a device draws itself; None: they are to be drawn on the CPU, and moved.

        So they are by a generator of the CPU's that is given, and inside of vmaps.
        """
        is_given = generator is not None and source(generator, device).device.type == "cpu"
        if device is CPU or device is META or is_given or sampling_levels():
            return None
        return engine_on(device).draw(self.kernel, source(generator, device), shape, dtype, device, *self.values)


UNIFORM, NORMAL = Draw("fill_uniform"), Draw("fill_normal")


def _draw(name, draw, shape, dtype, out, generator, layout, device, requires_grad):
    """A tensor of a shape, filled by a Draw; on the meta device nothing is drawn."""
    if out is None and layout is None and not in_use.levels and resolve(device) is CPU:
        t = wrap(NUMPY.allocate(draw.new, shape, np_dtype_of(dtype), generator))
        if requires_grad:
            t.requires_grad = True
        return t
    return draw_samples(
        lambda shape: _draw_plain(name, draw, shape, out, generator, layout, dtype, device, requires_grad), shape
    )


def _draw_plain(name, draw, shape, out, generator, layout, dtype, device, requires_grad):
    device = out.device if device is None and out is not None else device
    drawn = None
    if out is None and layout in (None, strided):
        drawn = draw.on_device(generator, shape, np_dtype_of(dtype), resolve(device))
    if drawn is not None:
        return wrap(drawn, resolve(device)).requires_grad_(requires_grad)

    def make(shape, dtype):
        return draw.fill(generator, _memory(shape, dtype, out), resolve(device))

    return create(name, make, shape, np_dtype_of(dtype), layout, device, requires_grad)


def _memory(shape, dtype, out):
    """Uninitialised memory for random numbers; if there is an ``out=``, of its dtype and with its order in memory.

    For numbers are drawn in the order in which they lie.
    """
    if out is None or out.device is META:
        return np.empty(shape, dtype)
    return blank_like(out, out._a.dtype) if out._a.shape == shape else np.empty(shape, out._a.dtype)


@out_variant(dtype=own, fit=resize_silently)
def rand(*args, size=None, generator=None, out=None, dtype=None, layout=None, device=None, pin_memory=False,
         requires_grad=False, names=None):
    """Uniform numbers in [0, 1)."""
    shape = shape_of_arguments("rand", args, size)
    return _draw("rand", UNIFORM, shape, dtype, out, generator, layout, device, requires_grad)


@out_variant(dtype=own, fit=resize_silently)
def randn(*args, size=None, generator=None, out=None, dtype=None, layout=None, device=None, pin_memory=False,
          requires_grad=False, names=None):
    """Normal numbers with mean 0 and deviation 1."""
    shape = shape_of_arguments("randn", args, size)
    return _draw("randn", NORMAL, shape, dtype, out, generator, layout, device, requires_grad)


@out_variant(dtype=own, fit=resize_silently)
def randint(*args, low=None, high=None, size=None, generator=None, out=None, dtype=None, layout=None, device=None,
            pin_memory=False, requires_grad=False):
    """Integers in [low, high): ``randint(high, size)`` or ``randint(low, high, size)``."""
    args = list(args)
    if size is None:
        if not args or not isinstance(args[-1], (tuple, list)):
            raise TypeError("randint() expects a size: randint(high, (2, 3)) or randint(low, high, (2, 3))")
        size = args.pop()
    if len(args) + (low is not None) + (high is not None) > 2:
        raise TypeError("randint() takes at most low, high and size")
    if len(args) == 2:
        low, high = args
    elif args:
        low, high = (args[0], high) if high is not None else (low, args[0])
    low, high = as_int(0 if low is None else low, "randint", "low"), as_int(high, "randint", "high")
    if low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    shape = nonnegative(shape_from((tuple(size),), "randint"))
    dtype = dtype or _dtypes.int64
    return _draw("randint", Draw("fill_random", low, high), shape, dtype, out, generator, layout, device,
                 requires_grad)


@out_variant(dtype=own, fit=resize_silently)
def randperm(n, *, generator=None, dtype=None, layout=None, device=None, pin_memory=False,
             requires_grad=False):
    """A random order of 0, …, n - 1."""
    n = as_int(n, "randperm", "n")
    if n < 0:
        raise RuntimeError(f"n must be non-negative, got {n}")
    np_dtype = np_dtype_of(dtype, _dtypes.int64)
    if resolve(device) is META:
        return create("randperm", np.empty, (n,), np_dtype, layout, device, requires_grad)
    t = draw_samples(lambda shape: _permutations(generator, shape, np_dtype, resolve(device)), (n,))
    t.requires_grad = requires_grad
    return t


def _permutations(generator, shape, dtype, device):
    """Random orders along the last dimension."""
    *lead, n = shape
    drawn = Draw("permutation").on_device(generator, shape, dtype, device)
    if drawn is not None:
        return wrap(drawn, device)
    generator = source(generator, device)
    if not lead:
        return wrap(NUMPY.permutation(generator, n, dtype)).to(device)
    rows = [NUMPY.permutation(generator, n, dtype) for _ in range(math.prod(lead))]
    return wrap(np.stack(rows).reshape(shape)).to(device)


def _like(input, name, draw, generator, requires_grad, **options):
    need_tensor(input, name)
    if sampling_levels():
        options = {"dtype": options["dtype"] or input.dtype, "device": options["device"] or input.device}
        return draw_samples(
            lambda shape: _draw_plain(name, draw, shape, None, generator, None, requires_grad=requires_grad, **options),
            input._a.shape,
        )
    device = resolve(options.pop("device") or input.device)
    t = empty_like(input, **options, device=META if device is META else CPU)
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
    """``rand`` of the shape and dtype of another tensor."""
    return _like(input, "rand_like", Draw("fill_uniform"), generator, requires_grad, dtype=dtype, layout=layout,
                 device=device, memory_format=memory_format)


def randn_like(input, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False,
               memory_format=None, generator=None):
    """``randn`` of the shape and dtype of another tensor."""
    return _like(input, "randn_like", Draw("fill_normal"), generator, requires_grad, dtype=dtype, layout=layout,
                 device=device, memory_format=memory_format)


def randint_like(input, *args, low=None, high=None, dtype=None, layout=None, device=None, pin_memory=False,
                 requires_grad=False, memory_format=None, generator=None):
    """``randint`` of the shape and dtype of x: ``randint_like(x, high)`` or ``randint_like(x, low, high)``."""
    if len(args) == 2:
        low, high = args
    elif args:
        low, high = (args[0], high) if high is not None else (low, args[0])
    if isinstance(high, Tensor):
        high = high.item()
    low, high = as_int(0 if low is None else low, "randint_like", "low"), as_int(high, "randint_like", "high")
    return _like(input, "randint_like", Draw("fill_random", low, high), generator, requires_grad, dtype=dtype,
                 layout=layout, device=device, memory_format=memory_format)


def floating(result, out, name, args):
    """All dtypes that have normal numbers."""
    if not _dtypes.is_inexact(out.np):
        raise NotImplementedError(f"\"normal_kernel_cpu\" not implemented for '{type_word(out)}'")


@out_variant(dtype=floating)
@draws_by_level
def normal(mean=0.0, std=1.0, size=None, *, generator=None, out=None, dtype=None, layout=None, device=None,
           pin_memory=False, requires_grad=False):
    """Normal numbers: around each mean with each deviation, or of a given ``size`` with one of each."""
    if not isinstance(mean, Tensor) and not isinstance(std, Tensor):
        if size is None:
            raise TypeError("normal() needs a size when mean and std are numbers")
        shape = nonnegative(shape_from((size,), "normal"))
        return _draw("normal", Draw("fill_normal", mean, std), shape, dtype, out, generator, layout, device,
                     requires_grad)
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
    """Any dtype; PyTorch has an ``out=`` for tensors of probabilities only."""
    if args[1] is not None:
        raise TypeError(f"{name}() received an invalid combination of arguments: p= and out= do not go together")


@out_variant(dtype=by_probabilities, fit=resize_silently)
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


@out_variant(dtype=same, fit=resize_silently, aliases="any")
@draws_by_level
@typed(num_samples=int, replacement=bool)
def multinomial(input, num_samples, replacement=False, *, generator=None):
    """Indices drawn with the weights in the last dimension of `input`."""
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


# ---- in place


def _fill(t, name, kernel, generator, *values):
    """Draws into a tensor's own memory; a recorded tensor forgets where it came from."""
    check_in_place(t)
    check_writable(t)
    recorded = modes.grad and in_graph(t)
    if recorded:
        check_history(t)
    if t.device is META:
        return t

    draw = Draw(kernel, *values)
    fill = functools.partial(draw.fill, generator, device=t.device)
    if not recorded and engine_for(t) is NUMPY:
        return write(t, name, fill)
    drawn = draw.on_device(generator, t._a.shape, t._a.dtype, t.device)
    value = draw_like(t, blank_like(t, t._a.dtype), fill) if drawn is None else wrap(drawn, t.device)
    node = f"{name.title().replace('_', '')}Backward0"
    return assign(t, redrawn(t, value, node=node), name, False)


@typed(from_=float, to=float)
def uniform_(self, from_=0.0, to=1.0, *, generator=None, **kwargs):
    """Fills the tensor with uniform numbers in [from, to)."""
    low = kwargs.pop("from", from_)
    if kwargs:
        raise TypeError(f"uniform_() got an unexpected keyword argument '{next(iter(kwargs))}'")
    return _fill(self, "uniform_", "fill_uniform", generator, low, to)


@typed(mean=float, std=float)
def normal_(self, mean=0.0, std=1.0, *, generator=None):
    """Fills the tensor with normal numbers."""
    return _fill(self, "normal_", "fill_normal", generator, mean, std)


def random_(self, *args, generator=None, to=None, **kwargs):
    """Fills the tensor with integers: ``random_()``, ``random_(to)`` or ``random_(from, to)``."""
    low = kwargs.pop("from", None)
    if kwargs:
        raise TypeError(f"random_() got an unexpected keyword argument '{next(iter(kwargs))}'")
    if len(args) == 2:
        low, to = args
    elif args:
        low, to = (low, args[0]) if to is None else (args[0], to)
    if low is None and to is not None:
        low = 0
    return _fill(self, "random_", "fill_random", generator, low, to)


def bernoulli_(self, p=0.5, *, generator=None):
    """Fills the tensor with ones (with probability `p`) and zeros."""
    return _fill(self, "bernoulli_", "fill_bernoulli", generator, elements(p))


@typed(lambd=float)
def exponential_(self, lambd=1, *, generator=None):
    """Fills the tensor with exponential numbers of rate `lambd`."""
    return _fill(self, "exponential_", "fill_exponential", generator, lambd)


@typed(p=float)
def geometric_(self, p, *, generator=None):
    """Fills the tensor with the numbers of trials up to a success of probability `p`."""
    return _fill(self, "geometric_", "fill_geometric", generator, p)


@typed(median=float, sigma=float)
def cauchy_(self, median=0, sigma=1, *, generator=None):
    """Fills the tensor with Cauchy numbers."""
    return _fill(self, "cauchy_", "fill_cauchy", generator, median, sigma)


@typed(mean=float, std=float)
def log_normal_(self, mean=1, std=2, *, generator=None):
    """Fills the tensor with exponentials of normal numbers."""
    return _fill(self, "log_normal_", "fill_log_normal", generator, mean, std)


methods(bernoulli_, cauchy_, exponential_, geometric_, log_normal_, multinomial, normal_, random_, uniform_,
        bernoulli=_bernoulli)
