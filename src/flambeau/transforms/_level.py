"""Levels: how ops are dispatched on tensors of a transform.

Every active transform (``vmap``, forward mode) is a Level; inner ones are higher. A tensor of a level holds a
LevelArray, which wraps tensors of a lower level; see ``engines/levels.py``. An op is dispatched to the highest level
among its operands, whose rule for the op calls ops on the wrapped tensors, and so on down to plain arrays.

Each level has its own graph. An op on tensors of a level is recorded there if they require grad, as usual; the ops
that its rule calls are recorded below. Therefore ``grad`` needs no level: inside ``vmap`` it differentiates on the
graph of the vmap's level, while recording continues on the levels below.
"""

import functools

import numpy as np

from .._modes import in_use, modes
from .._tensor import Tensor, engine_for, wrap
from ..autograd._writes import assign, write
from ..engines import engine_of, on_host
from ..engines.levels import LevelArray, innermost
from ..ops._op import OPS
from ..ops.shape import cast

ESCAPED = (
    "Either your tensor may have escaped from inside a function being vmapped, and is used after the vmap has ended: "
    "it stands for the values of all samples at once. Return it from the function instead."
)


NEEDS_SETUP = (
    "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, ...), it must override "
    "the setup_context staticmethod: forward(*args) then takes no ctx, and setup_context(ctx, inputs, output) notes "
    "what backward needs."
)


class Level:
    """An active transform. Entering it as a context manager makes it the innermost one."""

    def __init__(self):
        self.depth = 0  # counted from 1 while active

    def __enter__(self):
        in_use.levels = True
        self.depth = modes.levels[-1].depth + 1 if modes.levels else 1
        modes.levels.append(self)
        return self

    def __exit__(self, *exc):
        modes.levels.remove(self)
        self.depth = 0

    # ---- what a kind of level defines

    def apply(self, op, operands, settings):
        """The result of an op, a LevelArray or a tuple of them, for LevelArrays of this level, numbers and None."""
        raise NotImplementedError

    def lift(self, t):
        """Wraps a tensor of a lower level in a LevelArray of this level."""
        return LevelArray(self, t)

    takes_any_function = False  # including Functions whose forward takes the ctx

    def call_function(self, cls, args, separate):
        """Applies a user-defined Function to operands that include tensors of this level.

        It must have a `separate` ``setup_context``, which is called again for the graph of this level.
        """
        if not (separate or self.takes_any_function):
            raise RuntimeError(NEEDS_SETUP)
        return self.apply_function(cls, args)

    # ---- calls of ops

    def call(self, op, inputs, settings):
        """Applies an op to operands that include tensors; recorded if those of this level require grad."""
        arrays = [self.enter(x) for x in inputs]
        result = self.run(op, arrays, settings)
        own = [x if isinstance(x, Tensor) and x._a is a else a for x, a in zip(inputs, arrays)]
        recording = any([isinstance(x, Tensor) and x._rg for x in own])
        return op.wrap_results(own, arrays, result, settings, recording)

    def compute(self, op, inputs, settings):
        """Applies an op to arrays only, as in backward."""
        arrays = [self.enter(x) for x in inputs]
        if settings.get("into"):
            settings = {name: value for name, value in settings.items() if name != "into"}
            return self.write(arrays[0], self.compute(op, arrays, settings))
        return self.run(op, arrays, settings)

    def run(self, op, arrays, settings):
        """``apply``; in an unrecorded backward pass, lower levels may still record."""
        grad, running = modes.grad, modes.running
        if running is None or self.depth > running.below:
            return self.apply(op, arrays, settings)
        modes.grad = True
        try:
            return self.apply(op, arrays, settings)
        finally:
            modes.grad = grad

    def enter(self, x):
        """Converts an operand to this level."""
        if isinstance(x, Tensor):
            a = x._a
            if isinstance(a, LevelArray) and a.level is self:
                self.check_alive()
                return a
            return self.lift(x)
        if isinstance(x, LevelArray):
            return x if x.level is self else self.lift(wrap(x))
        return self.lift(wrap(np.asarray(x) if isinstance(x, np.generic) else x)) if hasattr(x, "dtype") else x

    def check_alive(self):
        if not self.depth:
            raise RuntimeError(ESCAPED)

    def op(self, name, *operands, **settings):
        """Applies an op, by name, to arrays."""
        return OPS[name].function(*operands, **settings)

    def ufunc(self, kernel, operands):
        """Applies the op whose forward is the given kernel to arrays."""
        return ops_by_kernel()[kernel].call(operands, {})

    # ---- arrays

    def constant(self, like, value, dtype, shape):
        """A constant array of this level, on the device of another array."""
        like = innermost(like)
        zeros = wrap(engine_of(like).zeros_like(like, dtype=dtype, shape=tuple(shape)))
        return self.lift(zeros + value if value else zeros)

    def elements(self, array, what):
        """The elements as a NumPy array; `what` names the caller in errors."""
        return on_host(array.value._a, what)

    def describe(self, array, text_of):
        """The repr of a tensor of this level; `text_of` formats other tensors."""
        return text_of(array.value)

    def like(self, array, t):
        """Makes the new tensor `t` writable like `array`: batched if that is batched."""
        below = array.value._a
        return below.level.like(below, t) if isinstance(below, LevelArray) else t

    def detach(self, array):
        """Detaches an array's tensor from the graphs of all levels."""
        return self.lift(array.value.detach())

    def write(self, into, x):
        """Writes an array, or a number, to another one of this level."""
        value = self.enter(x).value
        if value._a.dtype != into.dtype:
            value = cast(value, dtype=into.dtype)
        assign(into.value, value, "copy_")
        return into

    def prepare_write(self, t, arrays):
        """Prepares `t` for being written to with something computed from `arrays`."""

    def fill(self, into, value):
        """Fills an array of this level with a number."""
        t = into.value
        write(t, "fill_", engine_for(t).fill, value)


@functools.cache
def ops_by_kernel():
    """The ops whose forward is a single kernel, by kernel name; for products, the one for any ranks."""
    found = {op.kernel: op for op in OPS.values() if op.kernel is not None}
    return found | {"matmul": OPS["matmul_batched"]}
