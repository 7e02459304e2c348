"""The levels of ``vmap``: tensors with a batch dimension that is hidden from the mapped function."""

import contextlib
import textwrap
import warnings

from .._modes import modes
from .._tensor import wrap
from ..engines import engine_of
from ..engines.levels import LevelArray
from ..ops._promotion import computed_dtype
from ..ops.join import stack
from ..ops.shape import basic_index, cast, clone, expand, permute
from ._level import Level

ITEM = (
    "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling .item() on a Tensor: "
    "it is another number in each sample. Rewrite it with operations on tensors, or compute the number outside of vmap."
)
CONTROL_FLOW = (
    "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow, which would have to go "
    "both ways at once. Say it with where(), or decide outside of vmap."
)
ELEMENTS = (
    "vmap: {what} needs the elements of a tensor that is mapped over: Cannot access data pointer of Tensor that "
    "doesn't have storage. Do it outside of vmap."
)
INPLACE = (
    "vmap: inplace arithmetic(self, *extra_args) is not possible because there exists a Tensor `other` in extra_args "
    "that has more elements than `self`. This happened due to `other` being vmapped over but `self` not being vmapped "
    "over in a vmap. Use the out-of-place operator, or make `self` from a tensor that is mapped over."
)
OUT_RANGE = "Dimension out of range (expected to be in range of [{low}, {high}], but got {dim})"
SLOW = (
    "There is a performance drop because we have not yet implemented the batching rule for {op}: it is computed sample "
    "by sample."
)


class Batched(LevelArray):
    """A tensor whose first dimension, if `batched`, is the batch dimension of a vmap. Otherwise all samples share the
    tensor."""

    __slots__ = ("batched",)

    def __init__(self, level, value, batched=True):
        self.level = level
        self.value = value
        self.batched = batched
        array = value._a
        self.shape = array.shape[1:] if batched else array.shape
        self.dtype = array.dtype

    @property
    def strides(self):
        return self.value.stride()[self.batched:]


class VmapLevel(Level):
    """A vmap over `size` samples. Its ``randomness`` is "error", "different" or "same"."""

    def __init__(self, size, randomness="error"):
        super().__init__()
        self.size = size
        self.randomness = randomness

    def lift(self, t):
        return Batched(self, t, False)

    def apply_function(self, cls, args):
        from .functions import map_function

        return map_function(self, cls, args)

    def apply(self, op, operands, settings):
        arrays = [x for x in operands if isinstance(x, Batched)]
        if not any([x.batched for x in arrays]):
            result = op.function(*[x.value if isinstance(x, Batched) else x for x in operands], **settings)
            return self.give(result, False)
        if op.promote is not None and any([x.dtype is not arrays[0].dtype for x in arrays]):
            operands = self.promote(operands, op.promote)
        rule = rule_of(op)
        result = loop(op, operands, settings, self.size) if rule is None else rule(op, operands, settings, self.size)
        return self.give(result, True)

    def give(self, result, batched):
        """Wraps the results of an op on the lower level in arrays of this level."""
        if isinstance(result, tuple):
            return tuple([Batched(self, t, batched) for t in result])
        return Batched(self, result, batched)

    @staticmethod
    def promote(operands, how):
        """Casts 0-dim operands to the dtype of computation: below, the batch dimension would raise their priority."""
        dtype = computed_dtype([wrap(x) if isinstance(x, Batched) else x for x in operands], how).np
        return [
            Batched(x.level, cast(x.value, dtype=dtype), x.batched)
            if isinstance(x, Batched) and not x.shape and x.dtype != dtype else x
            for x in operands
        ]

    def elements(self, array, what):
        if array.batched:
            raise RuntimeError(CONTROL_FLOW if what == "if" else ITEM if "item" in what else ELEMENTS.format(what=what))
        return super().elements(array, what)

    def detach(self, array):
        return Batched(self, array.value.detach(), array.batched)

    def prepare_write(self, t, arrays):
        operands = [self.enter(x) for x in arrays]
        if not self.enter(t).batched and any([isinstance(x, Batched) and x.batched for x in operands]):
            raise RuntimeError(INPLACE)

    def write(self, into, x):
        x = self.enter(x)
        own = isinstance(into, Batched) and into.level is self
        if x.batched and not (own and into.batched):
            raise RuntimeError(INPLACE)
        if not own:
            return engine_of(into, x.value._a).write(into, x.value._a)
        missing = len(into.shape) - len(x.shape)
        if x.batched and missing:
            key = (slice(None), *[None] * missing, ...)
            x = Batched(self, basic_index(x.value, key=key, node="UnsqueezeBackward0"))
        return super().write(into, x)

    def describe(self, array, text_of):
        value = textwrap.indent(text_of(array.value), "    ")
        return f"BatchedTensor(lvl={self.depth}, bdim={0 if array.batched else None}, value=\n{value}\n)"

    # ---- tensors from below

    def batch(self, t):
        """Wraps a tensor of a lower level, whose first dimension is the batch dimension."""
        return wrap(Batched(self, t), t.device)

    def is_batched(self, t):
        """Whether a tensor is batched at this level; also for tensors of inner levels that wrap batched ones."""
        array = t._a
        while isinstance(array, LevelArray):
            if array.level is self:
                return array.batched
            array = array.value._a
        return False

    def spread(self, t):
        """The wrapped tensor, with the batch dimension first."""
        return with_batch_dim(self.enter(t), self.size)

    def like(self, array, t):
        own = t._a
        if isinstance(own, Batched) and own.level is self:
            value = super().like(array, own.value)
            return t if value is own.value else wrap(Batched(self, value, own.batched))
        t = super().like(array, t)
        if not array.batched:
            return t
        return self.batch(clone(expand(leading(t), shape=(self.size, *t._a.shape))))

    @contextlib.contextmanager
    def suspend(self):
        """A context in which this level is inactive, to operate on the level below."""
        place = modes.levels.index(self)
        modes.levels.remove(self)
        try:
            yield
        finally:
            modes.levels.insert(place, self)

    def stack_outputs(self, t, out_dim):
        """A result of the mapped function, with the batch dimension at `out_dim`."""
        a = t._a
        if isinstance(a, Batched) and a.level is self:
            value = with_batch_dim(a, self.size)
        else:
            value = expand(leading(t), shape=(self.size, *t._a.shape))
        n = value._a.ndim
        if not -n <= out_dim < n:
            raise IndexError(OUT_RANGE.format(low=-n, high=n - 1, dim=out_dim))
        return move_axis(value, 0, out_dim) if out_dim else value


def rule_of(op):
    """The batching rule of an op; None if it must be computed sample by sample."""
    from .batching import find_rule

    return find_rule(op)


def with_batch_dim(x, size):
    """The tensor of an array, with the batch dimension first."""
    return x.value if x.batched else expand(leading(x.value), shape=(size, *x.shape))


def leading(t):
    """Adds a leading dimension of size one."""
    return basic_index(t, key=(None, ...), node="UnsqueezeBackward0")


def move_axis(t, source, to):
    """A view of a tensor with one dimension moved."""
    n = t._a.ndim
    axes = [i for i in range(n) if i != source % n]
    axes.insert(to % n, source % n)
    return permute(t, axes=tuple(axes))


def loop(op, operands, settings, size):
    """Computes an op without a batching rule sample by sample."""
    warnings.warn(SLOW.format(op=op.name), UserWarning, stacklevel=2)
    results = [op.function(*[sample(x, i) for x in operands], **settings) for i in range(size)]
    if isinstance(results[0], tuple):
        return tuple([stack(*parts, axis=0) for parts in zip(*results, strict=True)])
    return stack(*results, axis=0)


def sample(x, i):
    """The i-th sample of an operand."""
    if not isinstance(x, Batched):
        return x
    return basic_index(x.value, key=(i, ...), node="SelectBackward0") if x.batched else x.value
