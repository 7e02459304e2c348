"""Levels: what an op does when it meets tensors of a transform.

Each transform that is under way (``vmap``, forward mode) is a Level; those inside of others are higher. A tensor of a
level holds a LevelArray, which stands for a tensor further down; see ``engines/levels.py``. An op computes at the
highest level among its operands: the level takes the tensors that they stand for, applies its rule for the op, which
calls ops on those tensors, and so reaches the next level down, and in the end arrays.

Each level has a graph of its own. An op on tensors of a level is recorded there if they require gradients, as
everywhere; the ops that its rule calls are recorded below. So ``grad`` needs no level: inside of ``vmap`` it
differentiates on the graph of the vmap's level, and what is outside goes on recording beneath.
"""

from __future__ import annotations

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
    """A transform that is under way. As a context manager it is the innermost one inside."""

    def __init__(self):
        self.depth = 0  # counted from 1 while it is under way

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
        """The result of an op, a LevelArray or a tuple of them, on LevelArrays of this level, numbers and None."""
        raise NotImplementedError

    def lift(self, t):
        """The LevelArray by which a tensor from below, which knows nothing of this level, stands here."""
        return LevelArray(self, t)

    takes_any_function = False  # also Functions whose forward takes the ctx

    def call_function(self, cls, args, separate):
        """The output of a user's Function on operands of which some are tensors of this level.

        It must have a ``setup_context``, `separate` from its forward: that is called anew for the graph of this level.
        """
        if not (separate or self.takes_any_function):
            raise RuntimeError(NEEDS_SETUP)
        return self.apply_function(cls, args)

    # ---- calls of ops

    def call(self, op, inputs, settings):
        """An op on operands of which some are tensors; recorded where those of this level require gradients."""
        arrays = [self.enter(x) for x in inputs]
        result = self.run(op, arrays, settings)
        own = [x if isinstance(x, Tensor) and x._a is a else a for x, a in zip(inputs, arrays)]
        recording = any([isinstance(x, Tensor) and x._rg for x in own])
        return op.wrap_results(own, arrays, result, settings, recording)

    def compute(self, op, inputs, settings):
        """An op on arrays alone, as in backward."""
        arrays = [self.enter(x) for x in inputs]
        if settings.get("into"):
            settings = {name: value for name, value in settings.items() if name != "into"}
            return self.write(arrays[0], self.compute(op, arrays, settings))
        return self.run(op, arrays, settings)

    def run(self, op, arrays, settings):
        """``apply``; in a pass of backward that is not recorded itself, the levels below its own may record."""
        grad, running = modes.grad, modes.running
        if running is None or self.depth > running.below:
            return self.apply(op, arrays, settings)
        modes.grad = True
        try:
            return self.apply(op, arrays, settings)
        finally:
            modes.grad = grad

    def enter(self, x):
        """An operand as this level takes it."""
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
        """An op by its name, on arrays."""
        return OPS[name].function(*operands, **settings)

    def ufunc(self, kernel, operands):
        """The op whose forward is a kernel, on arrays."""
        return ops_by_kernel()[kernel].call(operands, {})

    # ---- arrays

    def constant(self, like, value, dtype, shape):
        """An array of one value, where another one is."""
        like = innermost(like)
        zeros = wrap(engine_of(like).zeros_like(like, dtype=dtype, shape=tuple(shape)))
        return self.lift(zeros + value if value else zeros)

    def elements(self, array, what):
        """The elements as a NumPy array, for `what`."""
        return on_host(array.value._a, what)

    def describe(self, array, text_of):
        """How a tensor of this level prints; `text_of` says how others do."""
        return text_of(array.value)

    def like(self, array, t):
        """A new tensor `t`, to be written to as one like `array`: it differs from sample to sample where that does."""
        below = array.value._a
        return below.level.like(below, t) if isinstance(below, LevelArray) else t

    def detach(self, array):
        """An array for the same tensor out of the graphs of all levels."""
        return self.lift(array.value.detach())

    def write(self, into, x):
        """Writes an array, or a number, over another one of this level."""
        value = self.enter(x).value
        if value._a.dtype != into.dtype:
            value = cast(value, dtype=into.dtype)
        assign(into.value, value, "copy_")
        return into

    def prepare_write(self, t, arrays):
        """`t` is about to be written to, with something made of `arrays`."""

    def fill(self, into, value):
        """Writes a number over an array of this level."""
        t = into.value
        write(t, "fill_", engine_for(t).fill, value)


@functools.cache
def ops_by_kernel():
    """The ops whose forward is one kernel, by the name of the kernel; and of products the one for any ranks."""
    found = {op.kernel: op for op in OPS.values() if op.kernel is not None}
    return found | {"matmul": OPS["matmul_batched"]}
