"""In-place methods, which write their result to the tensor's memory, all through ``autograd._writes``.

There are three kinds. ``inplace`` derives the method from any function by assigning its result.
``inplace_arithmetic`` makes those of +, -, * and /, which compute directly into memory. ``inplace_op`` runs an op that
changes only some elements, and writes just these.
"""

import functools
import inspect

import numpy as np

from .. import _dtypes
from .._device import strided
from .._fp_errors import call_without_fp_warnings
from .._modes import in_use, modes
from .._tensor import Tensor, engine_for, refresh, wrap
from ..autograd._writes import (
    assign,
    at_place_of,
    check_cast,
    check_history,
    check_writable,
    in_graph,
    join_level,
    snapshot,
    take_history,
    write,
)
from ..engines import NUMPY
from ._args import need_tensor
from ._data import LARGEST_HALF
from ._out import out_variant, same
from ._wrong_type import method_of

_FLOATS = frozenset(map(np.dtype, (np.float32, np.float64)))
PIECE = 1 << 16  # elements per piece: a few arrays of that size fit in the cache


# ---- any function


def inplace(function, name, elementwise=False, kernel=None, recorded=None):
    """Makes the method ``name``, which runs `function` on the tensor and stores the result in it.

    Args:
        elementwise: whether each element of the result depends only on the elements at its index. Large tensors are
            then processed in pieces, which avoids a temporary of their size.
        kernel: maps the arguments after the tensor to (the name of an equivalent kernel, *its numbers). The kernel then
            writes to memory directly, unless the arguments are not numbers: the function then reports the error.
        recorded: the function to record instead, if its gradient is computed from the result.
    """
    compute = getattr(function, "method", function)  # the variant without out=
    recorded = recorded or compute
    check = getattr(function, "check", None)  # validates arguments, where PyTorch does so before it checks the memory

    @functools.wraps(function)
    def method(self, *args, **kwargs):
        if not isinstance(self, Tensor):  # torch.exp_ and others are also functions
            need_tensor(self, name)
        if check is not None:
            check(self, *args, **kwargs)
        check_writable(self)
        if modes.grad and (in_graph(self) or any_requires_grad(args) or any_requires_grad(kwargs.values())
                           or not engine_for(self).computes):  # recorded below
            check_history(self)
            return assign(self, recorded(snapshot(self), *args, **kwargs), name, False)
        if kernel is not None and is_plain(self):
            found = kernel_for(kernel, args, kwargs)
            if found is not None:
                return call_without_fp_warnings(write, self, name, NUMPY.overwrite, *found)
        if elementwise and can_split(self, args, kwargs):
            return write(self, name, fill_in_pieces, compute, args, kwargs)
        return assign(self, compute(self, *args, **kwargs), name)

    signature = inspect.signature(function)
    parameters = [p for p in signature.parameters.values() if p.name != "out"]
    method.__signature__ = signature.replace(parameters=parameters)
    method.__doc__ = f"In-place form of ``{name.rstrip('_')}``: the result replaces the tensor's elements."
    return method_of(method, name)


def is_plain(t):
    """Whether the tensor is writable contiguous CPU memory."""
    return engine_for(t) is NUMPY and t._a.dtype in _FLOATS and t._a.flags.c_contiguous and not modes.tracer.active


def kernel_for(kernel, args, kwargs):
    """(The name of a kernel, its numbers) if every floating dtype can hold these numbers; otherwise None."""
    try:
        name, *numbers = kernel(*args, **kwargs)
        fits = all([type(n) in (int, float) and -LARGEST_HALF <= n <= LARGEST_HALF for n in numbers])
    except TypeError:  # the function raises the right error
        return None
    return (name, tuple([float(n) for n in numbers])) if fits else None


def any_requires_grad(values):
    """Whether any of the values, or an item of a list among them, is a tensor that requires grad."""
    for v in values:
        if v.requires_grad if isinstance(v, Tensor) else isinstance(v, (tuple, list)) and any_requires_grad(v):
            return True
    return False


def can_split(t, args, kwargs):
    """Whether the tensor is large and can be processed in pieces: no operand partially overlaps it."""
    if t._a.size <= 2 * PIECE or modes.tracer.active:
        return False
    others = [x for x in (*args, *kwargs.values()) if isinstance(x, Tensor)]
    return all([engine_for(x) is NUMPY for x in (t, *others)]) and all([splits_alike(t._a, x._a) for x in others])


def splits_alike(array, other):
    """Whether `other` broadcasts to `array` and either does not overlap it or is the same view of its memory."""
    if np.may_share_memory(array, other):
        return array.ctypes.data == other.ctypes.data and array.strides == other.strides and array.shape == other.shape
    sizes = array.shape[array.ndim - other.ndim :]
    return other.ndim <= array.ndim and all([n in (1, size) for n, size in zip(other.shape, sizes)])


def fill_in_pieces(array, compute, args, kwargs):
    """Fills an array in pieces with the results of an elementwise function."""
    arrays = [x._a for x in (*args, *kwargs.values()) if isinstance(x, Tensor) and x._a.ndim]
    flat = all([a.flags.c_contiguous and a.shape == array.shape for a in (array, *arrays)])
    whole = array.reshape(-1) if flat else array
    axis = int(np.argmax(whole.shape))
    step = max(PIECE * whole.shape[axis] // whole.size, 1)
    dtype = _dtypes.from_np(array.dtype)

    def cut(x, start):
        """The part of an argument that broadcasts to one piece."""
        if not isinstance(x, Tensor) or not x._a.ndim:
            return x
        a = x._a.reshape(-1) if flat else x._a
        along = axis - whole.ndim + a.ndim
        if along < 0 or a.shape[along] == 1:
            return x
        return wrap(a[(slice(None),) * along + (slice(start, start + step),)])

    for start in range(0, whole.shape[axis], step):
        piece = whole[(slice(None),) * axis + (slice(start, start + step),)]
        result = compute(wrap(piece), *[cut(x, start) for x in args], **{k: cut(x, start) for k, x in kwargs.items()})
        if start == 0:
            check_cast(result.dtype, dtype)
        call_without_fp_warnings(NUMPY.write, piece, result._a)
    return array


# ---- arithmetic


def inplace_arithmetic(ufunc, name):
    """Makes the in-place method `name`, which lets the ufunc write to memory directly when nothing is recorded."""
    general = getattr(Tensor, name)
    scales = name in ("add_", "sub_")

    def method(self, other, *deprecated, **settings):
        if deprecated:
            return general(self, other, *deprecated, **settings)
        a, alpha = self._a, None
        if settings:
            alpha = settings.get("alpha")
            direct = scales and len(settings) == 1 and type(alpha) is float and isinstance(other, Tensor) \
                and other._a.size <= PIECE
        else:
            direct = True
        grad = modes.grad
        if direct and engine_for(self) is NUMPY and a.dtype in _FLOATS and grad is not None:
            b = other
            if isinstance(other, Tensor):
                b = other._a
                fits = b.dtype is a.dtype and engine_for(other) is NUMPY and (b.shape == a.shape or b.ndim == 0)
                recorded = grad and (in_graph(self) or other._rg or (other._view is not None and other.requires_grad))
            else:
                fits = type(other) is float or (type(other) is int and -(2**63) <= other < 2**63)
                recorded = grad and in_graph(self)
            if fits and not recorded:
                check_writable(self)
                if self._a is not a:  # a constant in a trace, which cannot be written to
                    return general(self, other, **settings)
                if alpha is not None:
                    b = call_without_fp_warnings(np.multiply, b, alpha)
                return call_without_fp_warnings(write, self, name, ufunc, b, a)
        if scales and isinstance(other, Tensor) and other.layout is not strided and not (grad and in_graph(self)):
            check_writable(self)
            scaled = other.detach() * (settings.get("alpha", 1) * (1 if name == "add_" else -1))
            return write(self, name, engine_for(scaled).accumulate, scaled._a)  # a few elements
        return general(self, other, **settings)

    method.__name__, method.__qualname__, method.__doc__ = name, f"Tensor.{name}", general.__doc__
    method.__signature__ = general.__signature__
    return method


# ---- ops that change a few elements


def inplace_op(t, op, inputs, settings, name, overlap=False):
    """Runs ``op(t, *inputs)``, an op with the setting ``into``, in the memory of `t`.

    Elements of `t` must not overlap in memory, unless `overlap` is set.
    """
    if t._view is not None:
        refresh(t)
    if in_use.levels:
        join_level(t, [x._a if isinstance(x, Tensor) else x for x in inputs])
    if not overlap:
        check_writable(t)
    recording = modes.grad and (t._rg or any([isinstance(x, Tensor) and x.requires_grad for x in inputs]))
    if recording:
        check_history(t)
        before = at_place_of(t, t._a)
    used = [t._a, *[copy_if_overlapping(t, x) if isinstance(x, Tensor) else x for x in inputs]]

    def fill(own):
        nonlocal used
        written, used = op.spec.compute((t, *inputs), used, {**settings, "into": True})
        return written

    write(t, name, fill)
    if recording:
        out = wrap(t._a, t.device)
        op.spec.record((before, *inputs), used, t._a, out, settings)
        take_history(t, out)
    return t


def copy_if_overlapping(t, x):
    """The array of an operand, copied if it overlaps `t`, which is written while the operand is read."""
    overlaps = engine_for(t) is engine_for(x) is NUMPY and np.may_share_memory(t._a, x._a)
    return x._a.copy() if overlaps else x._a


def op_methods(prepare=None, *, out=True):
    """Makes the public function (with ``out=`` by default) and adds it to Tensor as a method and an in-place method.

    `prepare` has the signature of the function. It checks the arguments and returns (op, inputs, settings); the first
    input is the tensor itself.
    """
    if prepare is None:
        return functools.partial(op_methods, out=out)
    name = prepare.__name__

    @functools.wraps(prepare)
    def function(*args, **kwargs):
        op, inputs, settings = prepare(*args, **kwargs)
        return op(*inputs, **settings)

    @functools.wraps(prepare)
    def method(self, *args, **kwargs):
        op, inputs, settings = prepare(self, *args, **kwargs)
        return inplace_op(self, op, inputs[1:], settings, name + "_")

    method.__doc__ = f"In-place form of ``{name}``."
    setattr(Tensor, name, method_of(function, name))
    setattr(Tensor, name + "_", method_of(method, name + "_"))
    return out_variant(function, dtype=same) if out else function
